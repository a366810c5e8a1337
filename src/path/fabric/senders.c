/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From which ports a unicast LID is reached.
 *
 * A walk asks for a P_Key, where the HCA asks for none: a datagram has one of those in its
 * port's table, so a port is reached when it is by one of them. Whether that of a datagram
 * is the right one its receiver says.
 */
#include <stdlib.h>
#include <string.h>

#include "path/fabric/fabric_path_priv.h"

/* -- P_Keys -------------------------------------------------------------------------- */

static bool has_pkey(const uint16_t *pkeys, unsigned int count, uint16_t pkey)
{
	for (unsigned int i = 0; i < count; i++)
		if (pkeys[i] == pkey)
			return true;
	return false;
}

void bound_pkeys_read(struct bound_port *b)
{
	struct fabric_port_info info;

	fabric_port_info(b->port, &info);
	b->pkey_count = 0;
	for (unsigned int i = 0; i < info.pkey_count && i < PATH_PKEYS_MAX; i++)
		if (info.pkeys[i] & ~IB_PKEY_FULL_MEMBER &&
		    !has_pkey(b->pkeys, b->pkey_count, info.pkeys[i]))
			b->pkeys[b->pkey_count++] = info.pkeys[i];
	b->pf->pkeys_stale = true;
}

/* False: no memory. */
static bool gather(struct path_fabric *pf, const struct bound_port *b)
{
	for (unsigned int i = 0; i < b->pkey_count; i++) {
		if (has_pkey(pf->pkeys, pf->pkey_count, b->pkeys[i]))
			continue;
		if (pf->pkey_count == pf->pkey_room) {
			unsigned int room = 2 * pf->pkey_room + PATH_PKEYS_MAX;
			uint16_t *pkeys = realloc(pf->pkeys, room * sizeof(*pkeys));

			if (!pkeys)
				return false;
			pf->pkeys = pkeys;
			pf->pkey_room = room;
		}
		pf->pkeys[pf->pkey_count++] = b->pkeys[i];
	}
	return true;
}

/* Without memory some are missing until the next question. */
static void gather_all(struct path_fabric *pf)
{
	pf->pkey_count = 0;
	pf->pkeys_stale = false;
	for (uint32_t place = 0; place < pf->room; place++)
		if (pf->places[place] && !gather(pf, pf->places[place]))
			pf->pkeys_stale = true;
}

/* -- the question -------------------------------------------------------------------- */

static void ask_all(struct path_fabric *pf, uint16_t pkey, uint64_t *ret,
		    unsigned int words)
{
	for (uint32_t place = 0; place < pf->room && place < 64 * words; place++) {
		const struct bound_port *b = pf->places[place];
		uint64_t bit = 1ull << (place % 64);

		if (!b || ret[place / 64] & bit ||
		    !has_pkey(b->pkeys, b->pkey_count, pkey))
			continue;
		if (fabric_arrives(pf->config.fabric, b->port))
			ret[place / 64] |= bit;
	}
}

void path_senders(void *arg, uint32_t place, uint16_t lid, uint64_t *ret,
		  unsigned int words)
{
	struct path_fabric *pf = arg;
	const struct bound_port *b = bound_at(pf, place);

	if (!b)
		return;
	if (pf->pkeys_stale)
		gather_all(pf);
	for (unsigned int i = 0; i < pf->pkey_count; i++) {
		fabric_arrivals_begin(pf->config.fabric, b->port, lid, pf->pkeys[i]);
		ask_all(pf, pf->pkeys[i], ret, words);
	}
}
