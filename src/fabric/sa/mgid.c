/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which MGIDs a client may create, and those that we assign (spec/sa-sm 1.8); GIDs of
 * ports on the side.
 *
 *	ff FS xx xx ...   F: flags, S: scope, x: signature
 */
#include "fabric/sa/server_priv.h"

#define SIGNATURE_IPV4 0x401bu
#define SIGNATURE_IPV6 0x601bu
#define SIGNATURE_SA   0xa01bu /* of MGIDs that the SA assigns */
#define RESERVED_FLAGS 0xe0u
#define TRANSIENT      0x10u
#define LINK_LOCAL     2u
#define DEFAULT_PREFIX 0xfe80000000000000ull

uint64_t sa_gid_prefix(const union ib_gid *gid)
{
	return wire_get64(gid->raw);
}

uint64_t sa_gid_guid(const union ib_gid *gid)
{
	return wire_get64(gid->raw + 8);
}

void sa_gid_put(union ib_gid *gid, uint64_t prefix, uint64_t guid)
{
	wire_put64(gid->raw, prefix);
	wire_put64(gid->raw + 8, guid);
}

bool sa_gid_is_here(const struct sa_server *s, const union ib_gid *gid)
{
	uint64_t prefix = sa_gid_prefix(gid);

	return prefix == sm_subnet(s->sm)->prefix || prefix == DEFAULT_PREFIX;
}

static unsigned int signature(const union ib_gid *mgid)
{
	return wire_get16(mgid->raw + 2);
}

static uint8_t scope(const union ib_gid *mgid)
{
	return mgid->raw[1] & 0xf;
}

/* The IPv4 broadcast group of the same scope and P_Key. */
static void broadcast_of(const union ib_gid *mgid, union ib_gid *ret)
{
	*ret = (union ib_gid){ .raw = { 0xff, TRANSIENT | scope(mgid), 0x40, 0x1b,
					mgid->raw[4], mgid->raw[5] } };
	memset(ret->raw + 12, 0xff, 4);
}

/* An IP group is made to the measure of its broadcast group. */
static int ip_check(const struct sa_server *s, const struct sa_mcmember *rec,
		    uint64_t mask)
{
	const struct sa_group *broadcast;
	union ib_gid mgid;

	broadcast_of(&rec->mgid, &mgid);
	if (gid_equal(mgid.raw, rec->mgid.raw))
		return 0;
	broadcast = sa_group_by_mgid(s, &mgid);
	if (!broadcast || !sa_mcmember_agrees(&broadcast->rec, rec, mask))
		return SA_REQ_INVALID;
	return 0;
}

int sa_mgid_check(const struct sa_server *s, const struct sa_mcmember *rec, uint64_t mask)
{
	const union ib_gid *mgid = &rec->mgid;

	if (mgid->raw[0] != 0xff)
		return SA_REQ_INVALID;
	switch (signature(mgid)) {
	case SIGNATURE_IPV4:
	case SIGNATURE_IPV6:
		return ip_check(s, rec, mask);
	case SIGNATURE_SA:
		if (scope(mgid) == LINK_LOCAL)
			return SA_REQ_INVALID;
		break;
	}
	return mgid->raw[1] & RESERVED_FLAGS ? SA_REQ_INVALID : 0;
}

/*
 * Differs: OpenSM writes its counter over bytes 10 to 13, into the prefix, and in the
 * host's byte order.
 */
bool sa_mgid_assign(struct sa_server *s, uint8_t in_scope, union ib_gid *ret)
{
	/* Each try meets another MGID, and there are no more groups than MLIDs. */
	for (uint32_t i = 0; i <= SA_MLIDS_MAX; i++) {
		uint32_t n = s->next_mgid++;

		memset(ret, 0, sizeof(*ret));
		ret->raw[0] = 0xff;
		ret->raw[1] = TRANSIENT | (in_scope & 0xf);
		wire_put16(ret->raw + 2, SIGNATURE_SA);
		wire_put64(ret->raw + 4, sm_subnet(s->sm)->prefix);
		wire_put32(ret->raw + 12, n);
		if (!sa_group_by_mgid(s, ret))
			return true;
	}
	return false;
}
