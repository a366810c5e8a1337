/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From which ports a unicast LID is reached. Ports whose datagrams come into the same
 * switch reach the same ones, so one of them is asked for all (fabric_walk_entry); those
 * of a fabric are gathered by switch and P_Key until something changes.
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
	sources_forget(b->pf);
}

/* -- who sends ------------------------------------------------------------------------ */

/* Ports that reach the same ports with a P_Key; or one alone that comes into no switch. */
struct source {
	int entry;
	uint16_t pkey;
	uint32_t first; /* two of their places; PLACE_NONE: there is no second */
	uint32_t second;
	uint64_t *bits; /* a bit a place */
};

struct sources {
	size_t words; /* of the bits */
	uint32_t count, room;
	struct source *all; /* by P_Key, and of one by entry, but for those alone */
	uint64_t *bits;
};

#define PLACE_NONE UINT32_MAX

void sources_forget(struct path_fabric *pf)
{
	struct sources *s = pf->sources;

	pf->sources = NULL;
	if (!s)
		return;
	free(s->all);
	free(s->bits);
	free(s);
}

static int by_pkey_and_entry(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	if (x->pkey != y->pkey)
		return x->pkey < y->pkey ? -1 : 1;
	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static uint32_t count_pkeys(const struct path_fabric *pf)
{
	uint32_t n = 0;

	for (uint32_t place = 0; place < pf->room; place++)
		if (pf->places[place])
			n += pf->places[place]->pkey_count;
	return n;
}

/* One for each port and P_Key. */
static void list_all(const struct path_fabric *pf, struct sources *s)
{
	for (uint32_t place = 0; place < pf->room; place++) {
		const struct bound_port *b = pf->places[place];

		for (unsigned int i = 0; b && i < b->pkey_count; i++)
			s->all[s->count++] = (struct source){
				.entry = fabric_walk_entry(b->port, b->pkeys[i]),
				.pkey = b->pkeys[i],
				.first = place,
				.second = PLACE_NONE,
			};
	}
}

/* Those alike become one. */
static void unite(struct sources *s)
{
	uint32_t count = 0;

	qsort(s->all, s->count, sizeof(*s->all), by_pkey_and_entry);
	for (uint32_t i = 0; i < s->count; i++) {
		struct source *last = count ? &s->all[count - 1] : NULL;
		uint32_t place = s->all[i].first;

		if (last && last->entry >= 0 && last->entry == s->all[i].entry &&
		    last->pkey == s->all[i].pkey) {
			last->second = place;
		} else {
			last = &s->all[count];
			*last = s->all[i];
			last->bits = s->bits + count++ * s->words;
		}
		last->bits[place / 64] |= 1ull << (place % 64);
	}
	s->count = count;
}

/* Null: no memory. */
static struct sources *gather(const struct path_fabric *pf)
{
	struct sources *s = calloc(1, sizeof(*s));
	uint32_t count = count_pkeys(pf);

	if (!s)
		return NULL;
	s->words = (pf->room + 63) / 64;
	s->all = calloc(count + 1, sizeof(*s->all));
	s->bits = calloc((count + 1) * (s->words + 1), sizeof(*s->bits));
	if (!s->all || !s->bits) {
		free(s->all);
		free(s->bits);
		free(s);
		return NULL;
	}
	list_all(pf, s);
	unite(s);
	return s;
}

/* -- the question -------------------------------------------------------------------- */

static bool arrives_from(const struct path_fabric *pf, uint32_t place)
{
	return fabric_arrives(pf->config.fabric, pf->places[place]->port);
}

/* Two are asked, for one may have the LID itself, and keep what is sent to it. */
static bool arrives_from_any(const struct path_fabric *pf, const struct source *s,
			     uint32_t to)
{
	return (s->first != to && arrives_from(pf, s->first)) ||
	       (s->second != to && s->second != PLACE_NONE &&
		arrives_from(pf, s->second));
}

/* The port itself is none of the alike: nothing comes back by where it came in. */
static void ask(const struct path_fabric *pf, const struct source *s, uint32_t to,
		uint64_t *ret, size_t words)
{
	uint64_t own = to / 64 < words ? ret[to / 64] & 1ull << (to % 64) : 0;

	if (arrives_from_any(pf, s, to))
		for (size_t i = 0; i < words; i++)
			ret[i] |= s->bits[i];
	if (to / 64 >= words || !(s->bits[to / 64] >> (to % 64) & 1))
		return;
	ret[to / 64] &= ~(1ull << (to % 64));
	if (own || arrives_from(pf, to))
		ret[to / 64] |= 1ull << (to % 64);
}

void path_senders(void *arg, uint32_t place, uint16_t lid, uint64_t *ret,
		  unsigned int words)
{
	struct path_fabric *pf = arg;
	const struct bound_port *b = bound_at(pf, place);
	const struct sources *s;

	if (!b)
		return;
	if (pf->sources_generation != path_senders_generation(pf))
		sources_forget(pf);
	pf->sources_generation = path_senders_generation(pf);
	if (!pf->sources)
		pf->sources = gather(pf);
	s = pf->sources;
	for (uint32_t i = 0; s && i < s->count; i++) {
		if (i == 0 || s->all[i].pkey != s->all[i - 1].pkey)
			fabric_arrivals_begin(pf->config.fabric, b->port, lid,
					      s->all[i].pkey);
		ask(pf, &s->all[i], place, ret, s->words < words ? s->words : words);
	}
}
