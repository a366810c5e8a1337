// SPDX-License-Identifier: BSD-2-Clause
// links: ibumad
/*
 * Requests to a subnet administrator, at random from a seed, valid and not, one after the
 * other; and what it says. The lines are the same for the same seed on the same fabric,
 * whatever LIDs the subnet manager has given, so two administrators can be compared:
 *
 *	sa_requests SEED COUNT
 *	number TAB request TAB outcome
 *
 * What is known to differ between ours and OpenSM is not among them. It is asked for one by
 * one, and has a name:
 *
 *	sa_requests differences
 *	name TAB outcome
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAD_BYTES   256u
#define LONG_BYTES  (256u << 10)
#define SA_DATA     56u
#define SA_QKEY     0x80010000u
#define TIMEOUT_MS  20000
#define SILENCE_MS  150 /* after the answer to a later question */
#define NODES_MAX   16u
#define CHOSEN_MAX  512u
#define STATE_EVERY 40u

enum method {
	GET = 1,
	SET = 2,
	REPORT = 6,
	TABLE = 0x12,
	TRACE = 0x13,
	MULTI = 0x14,
	DELETE = 0x15
};
enum attribute {
	CLASS_PORT_INFO = 1,
	INFORM = 3,
	NODE = 0x11,
	PORT = 0x12,
	SWITCH = 0x14,
	LFT = 0x15,
	MFT = 0x17, /* not asked for: OpenSM writes, and shows, more blocks */
	SM_INFO = 0x18,
	LINK = 0x20,
	GUID_INFO = 0x30,
	SERVICE = 0x31,
	PKEY = 0x33,
	PATH = 0x35,
	MCMEMBER = 0x38,
	INFORM_RECORD = 0xf3,
	UNKNOWN = 0xff,
};

struct buffer {
	struct ib_user_mad umad;
	uint8_t mad[LONG_BYTES];
};
static struct buffer out, in;
static int port, agent, sm_lid;
static uint32_t next_tid = 1;

struct request {
	uint8_t method;
	uint16_t attribute;
	uint32_t modifier;
	uint64_t mask, key;
	uint8_t data[200];
};

static void die(const char *what)
{
	fprintf(stderr, "sa_requests: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* -- random numbers, and fields ---------------------------------------------------------- */

static uint64_t state;

static uint64_t next_random(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static unsigned int below(unsigned int bound)
{
	return (unsigned int)(next_random() % bound);
}

static bool chance(unsigned int percent)
{
	return below(100) < percent;
}

#define ONE_OF(array) ((array)[below(sizeof(array) / sizeof((array)[0]))])

static void put(uint8_t *at, uint64_t value, unsigned int bytes)
{
	while (bytes--) {
		at[bytes] = (uint8_t)value;
		value >>= 8;
	}
}

static uint64_t get(const uint8_t *at, unsigned int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

/* -- asking ------------------------------------------------------------------------------ */

static uint32_t transmit(const struct request *r)
{
	uint8_t *mad = umad_get_mad(&out.umad);

	memset(&out, 0, sizeof(out.umad) + MAD_BYTES);
	mad[0] = 1;
	mad[1] = 3;
	mad[2] = 2;
	mad[3] = r->method;
	put(mad + 8, next_tid, 8);
	put(mad + 16, r->attribute, 2);
	put(mad + 20, r->modifier, 4);
	put(mad + 36, r->key, 8);
	put(mad + 48, r->mask, 8);
	memcpy(mad + SA_DATA, r->data, sizeof(r->data));
	umad_set_addr(&out.umad, sm_lid, 1, 0, SA_QKEY);
	if (umad_send(port, agent, &out.umad, MAD_BYTES, TIMEOUT_MS, 0) < 0)
		die("send");
	return next_tid++;
}

/* What comes within the time, of whatever transaction; 0: nothing. What was met by silence
 * comes back some day. */
static uint32_t receive(int timeout_ms, int *ret_length)
{
	do {
		*ret_length = LONG_BYTES;
		if (umad_recv(port, &in.umad, ret_length, timeout_ms) < 0)
			return 0;
	} while (umad_status(&in.umad));
	return (uint32_t)get((uint8_t *)umad_get_mad(&in.umad) + 8, 8);
}

/*
 * Silence is known by the answer to a question that was asked after it, and some time more,
 * since an administrator may have several threads.
 */
static bool ask(const struct request *r, int *ret_length)
{
	static const struct request later = { .method = GET,
					      .attribute = CLASS_PORT_INFO };
	uint32_t tid = transmit(r), got, marker;

	got = receive(SILENCE_MS, ret_length);
	while (got && got != tid)
		got = receive(SILENCE_MS, ret_length);
	if (got == tid)
		return true;
	marker = transmit(&later);
	do {
		got = receive(TIMEOUT_MS, ret_length);
		if (!got)
			die("no answer to anything");
		if (got == tid) {
			struct buffer *kept = malloc(sizeof(*kept));
			int length;

			/* It was only slow; the marker's answer is still to come. */
			if (!kept)
				die("memory");
			memcpy(kept, &in, sizeof(*kept));
			while (receive(TIMEOUT_MS, &length) != marker)
				;
			memcpy(&in, kept, sizeof(*kept));
			free(kept);
			return true;
		}
	} while (got != marker);
	do
		got = receive(SILENCE_MS, ret_length);
	while (got && got != tid);
	return got == tid;
}

/* -- the fabric, by names ---------------------------------------------------------------- */

static struct node {
	uint64_t port_guid;
	unsigned int lid;
	char name[65];
} nodes[NODES_MAX];
static unsigned int node_count, own;

static int by_guid(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return x->port_guid < y->port_guid ? -1 : x->port_guid > y->port_guid;
}

static void learn_nodes(void)
{
	const struct request r = { .method = TABLE, .attribute = NODE };
	const uint8_t *mad = umad_get_mad(&in.umad);
	int length;

	if (!ask(&r, &length))
		die("no NodeRecords");
	for (int at = SA_DATA; at + 112 <= length && node_count < NODES_MAX; at += 112) {
		struct node *n = &nodes[node_count++];

		n->lid = (unsigned int)get(mad + at, 2);
		n->port_guid = get(mad + at + 4 + 20, 8);
		memcpy(n->name, mad + at + 44, 64);
	}
	qsort(nodes, node_count, sizeof(nodes[0]), by_guid);
}

static const char *lid_name(unsigned int lid)
{
	static char text[4][70];
	static unsigned int turn;
	char *t = text[turn++ % 4];

	for (unsigned int i = 0; i < node_count; i++)
		if (nodes[i].lid == lid)
			return nodes[i].name;
	snprintf(t, sizeof(text[0]), "%x", lid);
	return t;
}

/* MGIDs of the administrator's choice, in the order in which they were made. */
static uint8_t chosen[CHOSEN_MAX][16];
static unsigned int chosen_count;

static const char *gid_name(const uint8_t *gid)
{
	static char text[4][70];
	static unsigned int turn;
	char *t = text[turn++ % 4];

	for (unsigned int i = 0; i < chosen_count; i++) {
		if (memcmp(chosen[i], gid, 16) == 0) {
			snprintf(t, sizeof(text[0]), "chosen%u", i);
			return t;
		}
	}
	for (unsigned int i = 0; i < node_count; i++) {
		if (get(gid + 8, 8) == nodes[i].port_guid) {
			snprintf(t, sizeof(text[0]), "%" PRIx64 ":%s", get(gid, 8),
				 nodes[i].name);
			return t;
		}
	}
	snprintf(t, sizeof(text[0]), "%" PRIx64 ":%" PRIx64, get(gid, 8),
		 get(gid + 8, 8));
	return t;
}

/* -- records, as text -------------------------------------------------------------------- */

static int member_text(const uint8_t *r, char *to, size_t room)
{
	return snprintf(to, room,
			"%s %s q%x m%x mtu%u tc%u p%x rate%u life%u sl%u flow%x hop%u "
			"scope%u js%x%s",
			gid_name(r), gid_name(r + 16), (unsigned int)get(r + 32, 4),
			(unsigned int)get(r + 36, 2), r[38], r[39],
			(unsigned int)get(r + 40, 2), r[42], r[43], r[44] >> 4,
			(unsigned int)get(r + 44, 4) >> 8 & 0xfffff, r[47], r[48] >> 4,
			r[48] & 0xf, r[49] & 0x81 ? " proxy" : "");
}

static int path_text(const uint8_t *r, char *to, size_t room)
{
	return snprintf(to, room,
			"%s %s d%s s%s flow%x hop%u tc%u rev%u n%u p%x qos%x sl%u mtu%u "
			"rate%u life%u pref%u",
			gid_name(r + 8), gid_name(r + 24),
			lid_name((unsigned int)get(r + 40, 2)),
			lid_name((unsigned int)get(r + 42, 2)),
			(unsigned int)get(r + 44, 4) >> 8 & 0xfffff, r[47], r[48],
			r[49] >> 7, r[49] & 0x7f, (unsigned int)get(r + 50, 2),
			(unsigned int)get(r + 52, 2) >> 4, r[53] & 0xf, r[54], r[55],
			r[56], r[57]);
}

static int service_text(const uint8_t *r, char *to, size_t room)
{
	/* A lease gets shorter. */
	return snprintf(to, room, "id%" PRIx64 " %s p%x %s name%.8s", get(r, 8),
			gid_name(r + 8), (unsigned int)get(r + 24, 2),
			get(r + 28, 4) == UINT32_MAX ? "for ever" : "leased", r + 48);
}

/* The LID of a record that begins with one, and what follows as it is. */
static int lid_text(const uint8_t *r, unsigned int bytes, char *to, size_t room)
{
	int n = snprintf(to, room, "%s ", lid_name((unsigned int)get(r, 2)));

	for (unsigned int i = 2; i < bytes && (size_t)n + 3 < room; i++)
		n += snprintf(to + n, room - (size_t)n, "%02x", r[i]);
	return n;
}

static int link_text(const uint8_t *r, char *to, size_t room)
{
	return snprintf(to, room, "%s[%u] %s[%u]", lid_name((unsigned int)get(r, 2)),
			r[2], lid_name((unsigned int)get(r + 4, 2)), r[3]);
}

static int inform_text(const uint8_t *r, char *to, size_t room)
{
	return snprintf(to, room, "%s %u-%u g%u sub%u type%u trap%u qpn%x prod%x",
			gid_name(r), (unsigned int)get(r + 16, 2),
			(unsigned int)get(r + 18, 2), r[22], r[23],
			(unsigned int)get(r + 24, 2), (unsigned int)get(r + 26, 2),
			(unsigned int)get(r + 28, 3), (unsigned int)get(r + 33, 3));
}

static int record_text(uint16_t attribute, const uint8_t *r, unsigned int stride,
		       char *to, size_t room)
{
	switch (attribute) {
	case MCMEMBER:
		return member_text(r, to, room);
	case PATH:
		return path_text(r, to, room);
	case SERVICE:
		return service_text(r, to, room);
	case LINK:
		return link_text(r, to, room);
	case INFORM:
		return inform_text(r, to, room);
	case INFORM_RECORD:
		return snprintf(to, room, "%s ", gid_name(r)) +
		       inform_text(r + 24, to + strlen(to), room - strlen(to));
	case NODE:
		return lid_text(r, 108, to, room);
	case SM_INFO: /* one behind a switch, the other beside a host's programs */
		return snprintf(to, room, "the SM");
	case PKEY:
	case GUID_INFO:
		return lid_text(r, 4, to, room);
	case PORT: /* what the manager has chosen is not the question */
		return lid_text(r, 4, to, room);
	default:
		return lid_text(r, stride < 4 ? stride : 4, to, room);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

#define RECORDS_MAX 4096u

static void print_records(const struct request *r, int length)
{
	const uint8_t *mad = umad_get_mad(&in.umad);
	unsigned int stride = (unsigned int)get(mad + 44, 2) * 8, count = 0;
	static char *texts[RECORDS_MAX];

	if (r->attribute == CLASS_PORT_INFO) {
		printf(" caps %x %x", (unsigned int)get(mad + SA_DATA + 2, 2),
		       (unsigned int)get(mad + SA_DATA + 4, 4));
		return;
	}
	for (unsigned int at = SA_DATA;
	     stride && at + stride <= (unsigned int)length && count < RECORDS_MAX;
	     at += stride) {
		char text[512];

		record_text(r->attribute, mad + at, stride, text, sizeof(text));
		texts[count++] = strdup(text);
		if (r->method != TABLE)
			break;
	}
	qsort(texts, count, sizeof(texts[0]), by_text);
	for (unsigned int i = 0; i < count; i++) {
		printf("; %s", texts[i]);
		free(texts[i]);
	}
}

/* -- requests ---------------------------------------------------------------------------- */

static void put_port_gid(uint8_t *at)
{
	put(at, chance(97) ? 0xfe80000000000000ull : 0xfec0000000000000ull, 8);
	put(at + 8,
	    chance(75)   ? nodes[own].port_guid
	    : chance(90) ? nodes[below(node_count)].port_guid
			 : 0x1234,
	    8);
}

/* Groups of those who only send, as full members: who is that beside something else leaves
 * differently (see differences). */
#define SENDERS 3

/* True: it is one of those. */
static bool put_mgid(uint8_t *at)
{
	static const uint64_t prefixes[] = {
		0xff12401bffff0000, 0xff12401bffff0000, 0xff12601bffff0000,
		0xff12000000000000, 0xff12000000000000, 0xff15400100000000,
		0xff02000000000000, 0xff12a01b00000000, 0xff15a01bfe800000,
		0xff22000000000000, 0xfe80000000000000, 0xff12401b80010000,
		0xff15401bffff0000, 0xff10000000000000, 0xff72401bffff0000,
	};
	static const uint64_t suffixes[] = { 1, 2, 3, 0x10000, 0xffffffff };

	unsigned int choice = below(80);

	/* What is drawn does not depend on what was answered. */
	put(at, ONE_OF(prefixes), 8);
	put(at + 8, ONE_OF(suffixes), 8);
	if (choice < 8 && choice < chosen_count)
		memcpy(at, chosen[choice], 16);
	else if (choice >= 77)
		memset(at, 0, 16);
	return choice >= 8 && choice < 77 && at[15] == SENDERS;
}

static uint8_t selected(const uint8_t *codes, unsigned int count)
{
	return (uint8_t)((chance(60) ? 2u : below(4)) << 6 | codes[below(count)]);
}

/* What the two are known to see differently is asked for one by one: see differences. */
static void fill_member(struct request *r)
{
	static const uint8_t mtus[] = { 0, 1, 2, 3, 4, 4, 4, 5, 6 };
	static const uint8_t rates[] = { 0, 1, 2, 2, 3, 3, 5, 6, 7, 7, 16, 22, 23 };
	static const uint8_t slow[] = { 2, 3, 5 };
	static const uint8_t lives[] = { 0, 18, 18 };
	static const uint8_t states[] = { 1, 1, 1, 1, 1, 2, 3, 4, 5, 7, 0 };
	static const uint8_t senders_states[] = { 8, 8, 8, 0 };
	static const uint16_t pkeys[] = { 0xffff, 0xffff, 0xffff, 0xffff,
					  0x7fff, 0x8001, 0,      0x8000 };
	static const uint16_t mlids[] = { 0, 0, 0, 0xc001, 0xc010, 0xc3ff, 0xbfff, 0x1 };
	static const uint32_t qkeys[] = { 0xb1b, 0xb1b, 0xb1b, 0x1234 };
	uint8_t *d = r->data;
	bool senders;

	senders = put_mgid(d);
	put_port_gid(d + 16);
	put(d + 32, ONE_OF(qkeys), 4);
	put(d + 36, ONE_OF(mlids), 2);
	d[38] = selected(mtus, sizeof(mtus));
	d[39] = chance(90) ? 0 : 3;
	put(d + 40, ONE_OF(pkeys), 2);
	d[42] = selected(rates, sizeof(rates));
	if (d[42] >> 6 == 1)
		d[42] = (uint8_t)(0x40 | ONE_OF(slow));
	d[43] = r->mask & 0x800 ? selected(lives, sizeof(lives)) : 0;
	put(d + 44,
	    (chance(90) ? 0ull : 1ull) << 28 | (chance(90) ? 0u : 0x77u) << 8 |
		    (chance(80) || !(r->mask & 0x4000) ? 0u : 5u),
	    4);
	d[48] = (uint8_t)((chance(80) ? 2u : below(16)) << 4 |
			  (senders ? ONE_OF(senders_states) : ONE_OF(states)));
}

#define JOIN_MASK   0x10003ull
#define CREATE_MASK 0x130c7ull

static uint64_t member_mask(void)
{
	static const uint64_t masks[] = { JOIN_MASK,   CREATE_MASK, CREATE_MASK,
					  CREATE_MASK, 0x173f7,     0x1b3f7,
					  0x10083 };
	uint64_t mask = ONE_OF(masks);

	if (chance(30))
		mask |= 1ull << below(18);
	if (chance(8))
		mask &= ~(1ull << below(18));
	return chance(2) ? next_random() & 0x3ffff : mask;
}

static void member(struct request *r)
{
	static const uint8_t methods[] = { SET,    SET,    SET,    SET, SET,   SET,
					   DELETE, DELETE, DELETE, GET, TABLE, TABLE };

	r->attribute = MCMEMBER;
	r->method = ONE_OF(methods);
	r->mask = member_mask();
	fill_member(r);
	if (r->method == DELETE && chance(80))
		r->mask = JOIN_MASK;
	if (r->method == GET || r->method == TABLE) {
		/* Few components, or nothing is ever found. */
		r->mask = chance(20) ? 0 : 1ull << below(18);
		if (chance(50))
			r->mask |= 1;
		if (chance(30))
			r->mask |= 1ull << below(18);
		r->mask &= ~(1ull << 17);
		put(r->data + 16, 0xfe80000000000000ull, 8);
		r->key = chance(60) ? 0 : 1;
	}
}

static void path(struct request *r)
{
	uint8_t *d = r->data;

	r->attribute = PATH;
	r->method = chance(60) ? GET : TABLE;
	put(d + 8, 0xfe80000000000000ull, 8);
	put(d + 16, nodes[below(node_count)].port_guid, 8);
	put(d + 24, 0xfe80000000000000ull, 8);
	put(d + 32,
	    chance(70) ? nodes[own].port_guid : nodes[below(node_count)].port_guid, 8);
	if (chance(5))
		put(d + 16, 0x1234, 8);
	put(d + 40, nodes[below(node_count)].lid, 2);
	put(d + 42, nodes[own].lid, 2);
	d[48] = chance(90) ? 0 : 3;
	d[49] = (uint8_t)(chance(50) ? 0x81 : 0x01);
	put(d + 50, chance(85) ? 0xffff : 0x8001, 2);
	d[54] = (uint8_t)(below(4) << 6 | (1 + below(5)));
	d[55] = (uint8_t)(below(4) << 6 | (2 + below(6)));
	r->mask = 0xc; /* DGID, SGID */
	if (chance(50))
		r->mask |= 0x1000; /* NumbPath */
	if (chance(30))
		r->mask |= 0x2000; /* P_Key */
	if (chance(20))
		r->mask |= 0x800; /* Reversible */
	if (chance(15))
		r->mask |= 0x30000; /* MTU */
	if (chance(10))
		r->mask = 0x30 | (chance(50) ? 0x1000 : 0); /* LIDs */
	if (chance(10))
		put(d + 8, 0xff12401bffff0000ull, 8); /* there is no such group */
}

static void service(struct request *r)
{
	static const uint8_t methods[] = { SET, SET, DELETE, GET, TABLE };
	uint8_t *d = r->data;

	r->attribute = SERVICE;
	r->method = ONE_OF(methods);
	if (r->method == GET || r->method == TABLE)
		r->mask = below(8);
	else if (r->method == SET)
		r->mask = chance(85) ? 0x7 : (next_random() & 0x7f) | 4;
	else
		r->mask = 0x7;
	put(d, 0x1000 + below(4), 8);
	put_port_gid(d + 8);
	put(d + 24, chance(90) ? 0xffff : 0x8001, 2);
	put(d + 28, chance(50) ? UINT32_MAX : 100000, 4);
	snprintf((char *)d + 48, 64, "s%u", below(3));
}

static void inform(struct request *r)
{
	static const uint16_t traps[] = { 64, 65, 66, 67, 128, 144, 256, 0xffff };
	uint8_t *d = r->data;

	r->attribute = INFORM;
	r->method = chance(95) ? SET : GET;
	put(d + 16, chance(90) ? 0xffff : 1, 2);
	d[22] = chance(90);
	d[23] = (uint8_t)(chance(60) ? 1 : chance(90) ? 0 : 2);
	put(d + 24, chance(70) ? 0xffff : below(5), 2);
	put(d + 26, ONE_OF(traps), 2);
	put(d + 28, 1, 3);
	d[31] = 18;
	put(d + 33, 0xffffff, 3);
}

static void subnet(struct request *r)
{
	static const uint16_t attributes[] = { NODE,    PORT,      SWITCH,
					       LFT,     LINK,      PKEY,
					       SM_INFO, GUID_INFO, INFORM_RECORD };

	r->attribute = ONE_OF(attributes);
	r->method = chance(30) ? GET : TABLE;
	if (r->attribute != INFORM_RECORD)
		put(r->data, nodes[below(node_count)].lid, 2);
	r->mask = chance(75);
	if (r->attribute == NODE && chance(50)) {
		r->mask = 1ull << (chance(50) ? 4 : 8);
		r->data[4 + 2] = (uint8_t)(1 + below(3));
		put(r->data + 4 + 20, nodes[below(node_count)].port_guid, 8);
	}
	if (r->attribute == PORT && chance(50)) {
		r->mask |= 2;
		r->data[2] = (uint8_t)below(6);
	}
	if (r->attribute == INFORM_RECORD)
		r->mask = 0;
	if (r->attribute == SM_INFO) /* they are not in the same place */
		r->mask = 0;
}

/* Few of them, since silence takes long. */
static void odd(struct request *r)
{
	switch (below(7)) {
	case 0:
		r->attribute = UNKNOWN;
		r->method = GET;
		break;
	case 1:
		r->attribute = MCMEMBER;
		r->method = MULTI;
		fill_member(r);
		break;
	case 2:
		r->attribute = (uint16_t)(chance(50) ? NODE : PATH);
		r->method = chance(50) ? SET : DELETE;
		break;
	case 3:
		member(r);
		r->key = 2;
		break;
	case 4:
		r->attribute = CLASS_PORT_INFO;
		r->method = TABLE;
		break;
	case 5:
		r->attribute = MCMEMBER;
		r->method = TRACE;
		break;
	default:
		r->attribute = (uint16_t)(chance(50) ? 0x39 : 0x3b);
		r->method = TABLE;
	}
}

static void print_request(const struct request *r)
{
	char text[512];

	printf("method %02x attribute %02x mask %" PRIx64 " key %" PRIx64, r->method,
	       r->attribute, r->mask, r->key);
	record_text(r->attribute, r->data, 8, text, sizeof(text));
	printf(" %s", text);
}

static void note_chosen(const struct request *r)
{
	const uint8_t *mad = umad_get_mad(&in.umad);
	static const uint8_t zero[16];

	if (r->attribute == MCMEMBER && r->method == SET && !get(mad + 4, 2) &&
	    memcmp(r->data, zero, 16) == 0 && chosen_count < CHOSEN_MAX)
		memcpy(chosen[chosen_count++], mad + SA_DATA, 16);
}

static void exchange(unsigned int number, const struct request *r)
{
	const uint8_t *mad = umad_get_mad(&in.umad);
	int length;

	printf("%u\t", number);
	print_request(r);
	if (!ask(r, &length)) {
		printf("\tsilence\n");
		return;
	}
	note_chosen(r);
	printf("\tmethod %02x status %04x", mad[3], (unsigned int)get(mad + 4, 2));
	if (!get(mad + 4, 2))
		print_records(r, length);
	putchar('\n');
}

static void compare_states(unsigned int number)
{
	exchange(number,
		 &(struct request){ .method = TABLE, .attribute = MCMEMBER, .key = 1 });
	exchange(number, &(struct request){ .method = TABLE, .attribute = MCMEMBER });
	exchange(number,
		 &(struct request){ .method = TABLE, .attribute = SERVICE, .key = 1 });
	exchange(number, &(struct request){
				 .method = TABLE, .attribute = INFORM_RECORD, .key = 1 });
}

/* -- known differences ------------------------------------------------------------------- */

static void say_outcome(const struct request *r)
{
	const uint8_t *mad = umad_get_mad(&in.umad);
	int length;

	if (!ask(r, &length)) {
		printf("silence\n");
		return;
	}
	printf("status %04x", (unsigned int)get(mad + 4, 2));
	if (!get(mad + 4, 2))
		print_records(r, length);
	putchar('\n');
}

static void named(const char *name, const struct request *r)
{
	printf("%s\t", name);
	say_outcome(r);
}

static void must(const struct request *r)
{
	int length;

	if (!ask(r, &length) || get((uint8_t *)umad_get_mad(&in.umad) + 4, 2))
		die("what should not differ is refused");
}

/* A group of the number; this port, this state. */
static struct request group(uint8_t method, uint8_t number, uint64_t mask, uint8_t states)
{
	struct request r = { .method = method, .attribute = MCMEMBER, .mask = mask };

	put(r.data, 0xff12000000000000ull, 8);
	put(r.data + 8, 0xd1ff00 + number, 8);
	put(r.data + 16, 0xfe80000000000000ull, 8);
	put(r.data + 24, nodes[own].port_guid, 8);
	put(r.data + 32, 0x1234, 4);
	put(r.data + 40, 0xffff, 2);
	r.data[48] = 0x20 | states;
	return r;
}

static void differ_in_groups(void)
{
	struct request r = group(SET, 1, CREATE_MASK, 1);

	r.data[43] = 0x80 | 18;
	r.data[47] = 5;
	named("unnamed-components", &r);
	r = group(SET, 2, CREATE_MASK, 1);
	r.data[49] = 0x80;
	must(&r);
	r = group(GET, 2, 1, 0);
	named("creator-proxy", &r);
	r = group(TABLE, 2, 3, 0);
	r.key = 1;
	put(r.data + 16, 0xfec0000000000000ull, 8);
	named("member-prefix", &r);
	r.mask = 0x20001;
	named("member-proxy", &r);
	r = group(SET, 3, CREATE_MASK | 0x300, 1);
	r.data[42] = 0x40 | 7;
	named("rate-below-40", &r);
	r = group(SET, 4, CREATE_MASK, 9);
	must(&r);
	r = group(DELETE, 4, JOIN_MASK, 1);
	named("send-only-remains", &r);
	r = group(SET, 5, CREATE_MASK, 8);
	must(&r);
	r = group(SET, 5, CREATE_MASK, 4);
	must(&r);
	r = group(DELETE, 5, JOIN_MASK, 8);
	named("send-only-was-last", &r);
}

static struct request path_to(uint64_t high, uint64_t low, uint64_t mask)
{
	struct request r = { .method = GET, .attribute = PATH, .mask = 0xc | mask };

	put(r.data + 8, high, 8);
	put(r.data + 16, low, 8);
	put(r.data + 24, 0xfe80000000000000ull, 8);
	put(r.data + 32, nodes[own].port_guid, 8);
	return r;
}

static void differ_in_paths(void)
{
	const uint64_t other = nodes[(own + 1) % 4].port_guid;
	struct request r = group(SET, 6, CREATE_MASK, 1);

	put(r.data + 24, other, 8);
	must(&r);
	r = path_to(0xff12000000000000ull, 0xd1ff06, 0);
	named("path-of-no-member", &r);
	r = group(SET, 7, CREATE_MASK, 1);
	put(r.data + 40, 0x7fff, 2);
	must(&r);
	r = path_to(0xff12000000000000ull, 0xd1ff07, 0x30000);
	r.data[54] = 0x80 | 1;
	named("path-to-group-mtu", &r);
	r = path_to(0xfe80000000000000ull, other, 0xc0000);
	r.data[55] = 0x80 | 2;
	named("path-slower", &r);
	r.data[55] = 0x40 | 7;
	named("path-below-40", &r);
	r = path_to(0xfe80000000000000ull, other, 0x300000);
	r.data[56] = 0x80 | 17;
	named("path-life-time", &r);
}

static struct request subscription(uint8_t subscribe, uint64_t high, uint64_t low)
{
	struct request r = { .method = SET, .attribute = INFORM };

	put(r.data, high, 8);
	put(r.data + 8, low, 8);
	put(r.data + 16, 0xffff, 2);
	r.data[22] = 1;
	r.data[23] = subscribe;
	put(r.data + 24, 0xffff, 2);
	put(r.data + 26, 66, 2);
	put(r.data + 28, 1, 3);
	put(r.data + 33, 0xffffff, 3);
	return r;
}

static void differ_in_the_rest(void)
{
	const uint64_t prefix = 0xfe80000000000000ull, mine = nodes[own].port_guid;
	struct request r = subscription(1, prefix, mine);

	must(&r);
	r = subscription(0, 0, 0);
	named("subscription-gid", &r);
	r = subscription(1, 0xfec0000000000000ull, mine);
	named("subscription-prefix", &r);
	r = (struct request){ .method = SET, .attribute = SERVICE, .mask = 0x43 };
	put(r.data, 0x7001, 8);
	put(r.data + 8, prefix, 8);
	put(r.data + 16, mine, 8);
	memcpy(r.data + 48, "one", 3);
	must(&r);
	r.method = TABLE;
	r.mask = 1;
	named("service-pkey", &r);
	named("capabilities",
	      &(struct request){ .method = GET, .attribute = CLASS_PORT_INFO });
}

static void find_own(void)
{
	umad_port_t p = { 0 };

	if (umad_get_port(NULL, 0, &p) < 0)
		die("port");
	sm_lid = (int)p.sm_lid;
	learn_nodes();
	while (own < node_count && nodes[own].lid != p.base_lid)
		own++;
	umad_release_port(&p);
	if (own == node_count)
		die("this node is not there");
}

/* The nodes' own interfaces are in before anything is compared: the broadcast group has as
 * many members as there are other adapters, and ours. */
static void wait_for_interfaces(unsigned int adapters)
{
	const struct request r = { .method = TABLE, .attribute = MCMEMBER, .key = 1 };
	const struct timespec pause = { .tv_nsec = 50000000 };
	const uint8_t *mad = umad_get_mad(&in.umad);
	unsigned int members = 0;

	for (int tries = 0; members < adapters; tries++) {
		int length;

		if (tries == 1000)
			die("the interfaces are not in the broadcast group");
		if (tries)
			nanosleep(&pause, NULL);
		members = ask(&r, &length) && get(mad + 44, 2)
				  ? ((unsigned int)length - SA_DATA) / 56
				  : 0;
	}
}

static unsigned int count_adapters(void)
{
	const struct request r = {
		.method = TABLE, .attribute = NODE, .mask = 0x10, .data = { [6] = 1 }
	};
	int length;

	if (!ask(&r, &length))
		die("no NodeRecords");
	return ((unsigned int)length - SA_DATA) / 112;
}

int main(int argc, char **argv)
{
	static void (*const kinds[])(struct request * r) = {
		member, member, member,  member, member, member, member,
		path,   path,   service, inform, subnet, subnet,
	};
	bool known = argc == 2 && strcmp(argv[1], "differences") == 0;
	unsigned int count = argc == 3 ? (unsigned int)strtoul(argv[2], NULL, 0) : 0;

	if (argc != 3 && !known)
		return 2;
	state = strtoull(argv[1], NULL, 0);
	if (umad_init() < 0 || (port = umad_open_port(NULL, 0)) < 0)
		die("open");
	agent = umad_register(port, 3, 2, 1, NULL);
	if (agent < 0)
		die("register");
	find_own();
	wait_for_interfaces(count_adapters());
	if (known) {
		differ_in_groups();
		differ_in_paths();
		differ_in_the_rest();
	}
	for (unsigned int i = 1; i <= count; i++) {
		struct request r = { 0 };

		if (below(100) < 2)
			odd(&r);
		else
			ONE_OF(kinds)(&r);
		exchange(i, &r);
		if (i % STATE_EVERY == 0)
			compare_states(i);
	}
	umad_close_port(port);
	return 0;
}
