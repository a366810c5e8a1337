// SPDX-License-Identifier: BSD-2-Clause
/*
 * The tables of a site, both sides. Written by verbcastd's one thread, read by every
 * engine without a lock (tables.h).
 *
 * T1/T2  member word, then generation with release | generation with acquire, then words
 * T3     an entry's generation is raised, with a release fence behind it, before its MGID
 *        changes | generation before and after reading the MGID, acquire fence between
 * T7     an entry's generation, then the youngest  | the youngest with acquire, then
 *        of all with release                       | the entry's: it stays as long
 * T6     `naming` odd, release fence, the name, `since`, then even with release | even
 *        with acquire, the same, acquire fence, the same `naming`
 * T4     chain generation odd, change, even        | a look that found nothing is
 * T5     the same of qps[]                          | repeated if it moved meanwhile
 *
 * What readers get hold of is checked before it is used as an index, and every walk is
 * bounded, so that a damaged file costs time and no more.
 */
#include "shm/tables.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "shm/memfile.h"

#define GROUP_WALK_MAX 4096u /* longest chain a reader follows */
#define LOOK_AGAIN_MAX 1000u

/* -- reading ------------------------------------------------------------------------- */

int shm_tables_check(const struct shm_tables *t, size_t bytes)
{
	if (bytes < sizeof(*t) || t->h.magic != SHM_TABLES_MAGIC ||
	    t->h.layout_version != SHM_LAYOUT_VERSION || t->h.file_bytes != sizeof(*t))
		return -EPROTO;
	return 0;
}

static uint64_t mix64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* The words of an MGID, which may be changing while we look (T3 tells). */
static uint64_t mgid_load(const struct shm_group *g, unsigned int i)
{
	const _Atomic uint64_t *words = (const void *)g->mgid;

	return atomic_load_explicit(&words[i], memory_order_relaxed);
}

struct group_key {
	uint64_t mgid[2];
	uint32_t ingress;
	uint32_t mlid;
};

static struct group_key group_key(uint32_t ingress, const uint8_t mgid[16], uint16_t mlid)
{
	struct group_key key = { .ingress = ingress, .mlid = mlid };

	memcpy(key.mgid, mgid, 16);
	return key;
}

/* The MLID is left out: entries that differ in it alone are found together. */
static uint32_t group_bucket(const struct shm_tables *t, const struct group_key *key)
{
	uint64_t h = mix64(key->mgid[0] ^ t->h.site_id);

	h = mix64(h ^ key->mgid[1]);
	return (uint32_t)mix64(h + key->ingress) % SHM_GROUP_BUCKETS;
}

static uint32_t ingress_load(const struct shm_group *g)
{
	return __atomic_load_n(&g->ingress, __ATOMIC_RELAXED);
}

static bool group_is(const struct shm_group *g, const struct group_key *key,
		     bool any_mlid)
{
	return mgid_load(g, 0) == key->mgid[0] && mgid_load(g, 1) == key->mgid[1] &&
	       ingress_load(g) == key->ingress &&
	       (any_mlid ||
		atomic_load_explicit(&g->mlid, memory_order_relaxed) == key->mlid) &&
	       atomic_load_explicit(&g->linked, memory_order_relaxed);
}

static uint32_t group_walk(const struct shm_tables *t, const struct group_key *key,
			   bool any_mlid)
{
	uint32_t bucket = group_bucket(t, key);
	uint32_t i =
		atomic_load_explicit(&t->group_buckets[bucket], memory_order_acquire) - 1;

	for (uint32_t n = 0; i < SHM_GROUPS_MAX && n < GROUP_WALK_MAX; n++) {
		if (group_is(&t->groups[i], key, any_mlid))
			return i;
		i = atomic_load_explicit(&t->groups[i].next, memory_order_acquire);
	}
	return SHM_NONE;
}

static uint32_t group_look(const struct shm_tables *t, const struct group_key *key,
			   bool any_mlid)
{
	uint64_t before, after;
	uint32_t entry;

	for (unsigned int i = 0; i < LOOK_AGAIN_MAX; i++) {
		before = atomic_load_explicit(&t->h.groups_generation,
					      memory_order_acquire);
		entry = group_walk(t, key, any_mlid);
		if (entry != SHM_NONE)
			return entry;
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&t->h.groups_generation,
					     memory_order_relaxed);
		if (before == after && !(before & 1)) /* T4 */
			break;
	}
	return SHM_NONE;
}

uint32_t shm_group_find(const struct shm_tables *t, uint32_t ingress,
			const uint8_t mgid[16], uint16_t mlid)
{
	struct group_key key = group_key(ingress, mgid, mlid);

	return group_look(t, &key, false);
}

bool shm_group_exists(const struct shm_tables *t, uint32_t ingress,
		      const uint8_t mgid[16])
{
	struct group_key key = group_key(ingress, mgid, 0);

	return group_look(t, &key, true) != SHM_NONE;
}

bool shm_group_read(const struct shm_tables *t, uint32_t entry, uint32_t ingress,
		    const uint8_t mgid[16], uint16_t mlid,
		    uint64_t members[SHM_SLOT_WORDS], uint64_t *ret_generation)
{
	struct group_key key = group_key(ingress, mgid, mlid);
	const struct shm_group *g;
	uint64_t generation;

	if (entry >= SHM_GROUPS_MAX)
		return false;
	g = &t->groups[entry];
	generation = atomic_load_explicit(&g->generation, memory_order_acquire); /* T2 */
	for (unsigned int w = 0; w < SHM_SLOT_WORDS; w++)
		members[w] = atomic_load_explicit(&g->members[w], memory_order_relaxed);
	if (!group_is(g, &key, false))
		return false;
	atomic_thread_fence(memory_order_acquire); /* T3 */
	*ret_generation = generation;
	return atomic_load_explicit(&g->generation, memory_order_relaxed) == generation;
}

/* The generation before the bit: then a later one shows if the bit is not its own. */
static void view_fill(const struct shm_group *g, uint32_t slot,
		      struct shm_group_view *ret)
{
	uint64_t mgid[2] = { mgid_load(g, 0), mgid_load(g, 1) };

	memcpy(ret->mgid, mgid, sizeof(mgid));
	ret->ingress = ingress_load(g);
	ret->mlid = (uint16_t)atomic_load_explicit(&g->mlid, memory_order_relaxed);
	ret->since = atomic_load_explicit(&g->since, memory_order_relaxed);
	ret->generation =
		atomic_load_explicit(&g->generation, memory_order_acquire); /* T2 */
	ret->member = atomic_load_explicit(&g->members[slot / 64 % SHM_SLOT_WORDS],
					   memory_order_relaxed) >>
			      (slot % 64) &
		      1;
}

bool shm_group_view(const struct shm_tables *t, uint32_t entry, uint32_t slot,
		    struct shm_group_view *ret)
{
	const struct shm_group *g;

	if (entry >= SHM_GROUPS_MAX)
		return false;
	g = &t->groups[entry];
	for (unsigned int i = 0; i < LOOK_AGAIN_MAX; i++) {
		uint32_t naming = atomic_load_explicit(&g->naming, memory_order_acquire);

		if (naming & 1)
			continue;
		view_fill(g, slot, ret);
		atomic_thread_fence(memory_order_acquire); /* T6 */
		if (atomic_load_explicit(&g->naming, memory_order_relaxed) == naming)
			return ret->ingress < SHM_PORTS_MAX;
	}
	return false;
}

static uint32_t qp_bucket(uint64_t word)
{
	return (uint32_t)mix64(word >> 24) % SHM_QP_BUCKETS;
}

/* Where (device, qpn) lies, or the empty bucket in its stead. */
static uint32_t qp_probe(const struct shm_tables *t, uint64_t key, uint64_t *ret_word)
{
	uint32_t b = qp_bucket(key);
	uint64_t word = 0;

	for (uint32_t n = 0; n < SHM_QP_BUCKETS; n++, b = (b + 1) % SHM_QP_BUCKETS) {
		word = atomic_load_explicit(&t->qps[b], memory_order_acquire);
		if (!word || word >> 24 == key >> 24)
			break;
	}
	*ret_word = word;
	return b;
}

uint32_t shm_qp_find(const struct shm_tables *t, uint32_t device, uint32_t qpn)
{
	uint64_t key = shm_qp_pack(device, qpn, 0);
	uint32_t before, after;
	uint64_t word;

	for (unsigned int i = 0; i < LOOK_AGAIN_MAX; i++) {
		before = atomic_load_explicit(&t->h.qps_generation, memory_order_acquire);
		qp_probe(t, key, &word);
		if (word >> 24 == key >> 24)
			return (uint32_t)(word & 0xffffff) % SHM_SLOTS_MAX;
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&t->h.qps_generation, memory_order_relaxed);
		if (before == after && !(before & 1)) /* T5 */
			break;
	}
	return SHM_NONE;
}

/* -- writing ------------------------------------------------------------------------- */

int shm_tables_create(int *ret_fd, struct shm_tables **ret_tables)
{
	struct shm_tables *t;
	void *p;
	int r;

	r = shm_memfile_create_mapped("verbcast-tables", sizeof(*t), ret_fd, &p);
	if (r < 0)
		return r;
	t = p;
	if (getrandom(&t->h.site_id, sizeof(t->h.site_id), GRND_NONBLOCK) < 0)
		t->h.site_id = (uintptr_t)p; /* a weak seed is better than no site */
	t->h.header_bytes = sizeof(t->h);
	t->h.file_bytes = sizeof(*t);
	t->h.layout_version = SHM_LAYOUT_VERSION;
	t->h.magic = SHM_TABLES_MAGIC;
	*ret_tables = t;
	return 0;
}

void shm_tables_destroy(int fd, struct shm_tables *t)
{
	shm_memfile_unmap(t, sizeof(*t));
	if (fd >= 0)
		close(fd);
}

static void chains_begin(struct shm_tables *t)
{
	atomic_fetch_add_explicit(&t->h.groups_generation, 1,
				  memory_order_relaxed); /* T4 */
	atomic_thread_fence(memory_order_release);
}

static void chains_end(struct shm_tables *t)
{
	atomic_fetch_add_explicit(&t->h.groups_generation, 1,
				  memory_order_release); /* T4 */
}

/* Take the entry that has been free for longest, or one that was never used: the former
 * rest for a while, since what is stamped with them may be on its way. */
static uint32_t group_alloc(struct shm_tables *t)
{
	bool unused = t->h.groups_used < SHM_GROUPS_MAX;
	uint32_t entry;

	if (unused && t->h.groups_free_count <= SHM_GROUPS_RESTING)
		return t->h.groups_used++;
	if (!t->h.groups_free)
		return SHM_NONE;
	entry = t->h.groups_free - 1;
	t->h.groups_free = t->groups[entry].free_next;
	t->h.groups_free_count--;
	return entry;
}

static void group_free(struct shm_tables *t, uint32_t entry)
{
	t->groups[entry].free_next = 0;
	if (t->h.groups_free)
		t->groups[t->h.groups_free_last - 1].free_next = entry + 1;
	else
		t->h.groups_free = entry + 1;
	t->h.groups_free_last = entry + 1;
	t->h.groups_free_count++;
}

static uint64_t group_next_generation(struct shm_tables *t, struct shm_group *g)
{
	uint64_t next = atomic_load_explicit(&t->h.generation, memory_order_relaxed) + 1;

	atomic_store_explicit(&g->generation, next, memory_order_release);
	atomic_store_explicit(&t->h.generation, next, memory_order_release); /* T7 */
	return next;
}

static void group_name(struct shm_tables *t, struct shm_group *g,
		       const struct group_key *key, const uint64_t *members)
{
	_Atomic uint64_t *words = (void *)g->mgid;
	uint64_t value;

	group_next_generation(t, g); /* T3 */
	atomic_fetch_add_explicit(&g->naming, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&words[0], key->mgid[0], memory_order_relaxed);
	atomic_store_explicit(&words[1], key->mgid[1], memory_order_relaxed);
	__atomic_store_n(&g->ingress, key->ingress, __ATOMIC_RELAXED);
	atomic_store_explicit(&g->mlid, key->mlid, memory_order_relaxed);
	for (unsigned int w = 0; w < SHM_SLOT_WORDS; w++) {
		value = members ? members[w] : 0;
		atomic_store_explicit(&g->members[w], value, memory_order_relaxed);
	}
	atomic_store_explicit(&g->linked, 1, memory_order_release);
	atomic_store_explicit(
		&g->since,
		atomic_load_explicit(&t->h.generation, memory_order_relaxed) + 1,
		memory_order_relaxed);
	group_next_generation(t, g);                                    /* T2 */
	atomic_fetch_add_explicit(&g->naming, 1, memory_order_release); /* T6 */
}

static void chain_add(struct shm_tables *t, uint32_t entry, const struct group_key *key)
{
	_Atomic uint32_t *bucket = &t->group_buckets[group_bucket(t, key)];
	uint32_t first;

	/* 0 - 1 is SHM_NONE, the end of a chain. */
	first = atomic_load_explicit(bucket, memory_order_relaxed) - 1;
	atomic_store_explicit(&t->groups[entry].next, first, memory_order_release);
	atomic_store_explicit(bucket, entry + 1, memory_order_release);
}

static void chain_remove(struct shm_tables *t, uint32_t entry,
			 const struct group_key *key)
{
	_Atomic uint32_t *bucket = &t->group_buckets[group_bucket(t, key)];
	uint32_t next =
		atomic_load_explicit(&t->groups[entry].next, memory_order_relaxed);
	uint32_t i;

	i = atomic_load_explicit(bucket, memory_order_relaxed) - 1;
	if (i == entry) {
		atomic_store_explicit(bucket, next + 1, memory_order_release);
		return;
	}
	while (i < SHM_GROUPS_MAX) {
		_Atomic uint32_t *link = &t->groups[i].next;

		i = atomic_load_explicit(link, memory_order_relaxed);
		if (i == entry) {
			atomic_store_explicit(link, next, memory_order_release);
			return;
		}
	}
}

static struct group_key key_of(const struct shm_group *g)
{
	return group_key(g->ingress, g->mgid,
			 (uint16_t)atomic_load_explicit(&g->mlid, memory_order_relaxed));
}

int shm_group_link(struct shm_tables *t, uint32_t ingress, const uint8_t mgid[16],
		   uint16_t mlid, uint32_t *ret_entry)
{
	struct group_key key = group_key(ingress, mgid, mlid);
	uint32_t entry = group_alloc(t);

	if (entry == SHM_NONE)
		return -ENOSPC;
	chains_begin(t);
	group_name(t, &t->groups[entry], &key, NULL);
	chain_add(t, entry, &key);
	chains_end(t);
	*ret_entry = entry;
	return 0;
}

/* Within chains_begin and chains_end. */
static void group_drop(struct shm_tables *t, uint32_t entry, const struct group_key *key)
{
	struct shm_group *g = &t->groups[entry];

	chain_remove(t, entry, key);
	atomic_store_explicit(&g->linked, 0, memory_order_relaxed);
	group_next_generation(t, g);
	group_free(t, entry);
}

void shm_group_unlink(struct shm_tables *t, uint32_t entry)
{
	struct group_key key = key_of(&t->groups[entry]);

	if (!atomic_load_explicit(&t->groups[entry].linked, memory_order_relaxed))
		return;
	chains_begin(t);
	group_drop(t, entry, &key);
	chains_end(t);
}

/* The new one stands before the old one in the chain until that is gone: whoever looks
 * finds one of them, and each with all of its members. */
int shm_group_relink(struct shm_tables *t, uint32_t entry,
		     const uint64_t changed[SHM_SLOT_WORDS], bool in, uint32_t *ret_entry)
{
	struct group_key key = key_of(&t->groups[entry]);
	uint64_t members[SHM_SLOT_WORDS];
	uint32_t to = group_alloc(t);

	if (to == SHM_NONE)
		return -ENOSPC;
	for (unsigned int w = 0; w < SHM_SLOT_WORDS; w++) {
		members[w] = atomic_load_explicit(&t->groups[entry].members[w],
						  memory_order_relaxed);
		members[w] = in ? members[w] | changed[w] : members[w] & ~changed[w];
	}
	chains_begin(t);
	group_name(t, &t->groups[to], &key, members);
	chain_add(t, to, &key);
	group_drop(t, entry, &key);
	chains_end(t);
	*ret_entry = to;
	return 0;
}

uint64_t shm_group_set(struct shm_tables *t, uint32_t entry, uint32_t slot)
{
	struct shm_group *g = &t->groups[entry];

	atomic_fetch_or_explicit(&g->members[slot / 64], 1ull << (slot % 64),
				 memory_order_relaxed); /* T1 */
	return group_next_generation(t, g);
}

uint64_t shm_group_clear(struct shm_tables *t, uint32_t entry, uint32_t slot)
{
	struct shm_group *g = &t->groups[entry];

	atomic_fetch_and_explicit(&g->members[slot / 64], ~(1ull << (slot % 64)),
				  memory_order_relaxed); /* T1 */
	return group_next_generation(t, g);
}

int shm_qp_link(struct shm_tables *t, uint32_t device, uint32_t qpn, uint32_t slot)
{
	uint64_t word, key = shm_qp_pack(device, qpn, slot);
	uint32_t bucket = qp_probe(t, key, &word);

	if (word)
		return word >> 24 == key >> 24 ? -EEXIST : -ENOSPC;
	if (t->h.qps_linked == SHM_QPS_MAX)
		return -ENOSPC;
	atomic_store_explicit(&t->qps[bucket], key, memory_order_release);
	t->h.qps_linked++;
	return 0;
}

/* Fill the hole with the next entry that may lie there, leaving a hole further on, until
 * none follows. An entry is in two places for a moment, never in none. */
static void qps_shift_back(struct shm_tables *t, uint32_t hole)
{
	for (uint32_t b = (hole + 1) % SHM_QP_BUCKETS;; b = (b + 1) % SHM_QP_BUCKETS) {
		uint64_t word = atomic_load_explicit(&t->qps[b], memory_order_relaxed);
		uint32_t home = qp_bucket(word);

		if (!word)
			break;
		/* Movable unless its home lies cyclically in (hole, b]. */
		if ((b - home) % SHM_QP_BUCKETS < (b - hole) % SHM_QP_BUCKETS)
			continue;
		atomic_store_explicit(&t->qps[hole], word, memory_order_release);
		hole = b;
	}
	atomic_store_explicit(&t->qps[hole], 0, memory_order_release);
}

void shm_qp_unlink(struct shm_tables *t, uint32_t device, uint32_t qpn)
{
	uint64_t word, key = shm_qp_pack(device, qpn, 0);
	uint32_t bucket = qp_probe(t, key, &word);

	if (word >> 24 != key >> 24)
		return;
	atomic_fetch_add_explicit(&t->h.qps_generation, 1, memory_order_relaxed); /* T5 */
	atomic_thread_fence(memory_order_release);
	qps_shift_back(t, bucket);
	atomic_fetch_add_explicit(&t->h.qps_generation, 1, memory_order_release);
	t->h.qps_linked--;
}

bool shm_reach_set(struct shm_tables *t, uint32_t port, uint16_t lid, bool reached)
{
	_Atomic uint64_t *word = &t->reach[port].lids[lid / 64];
	uint64_t bit = 1ull << (lid % 64);
	uint64_t before;

	if (reached)
		before = atomic_fetch_or_explicit(word, bit, memory_order_release);
	else
		before = atomic_fetch_and_explicit(word, ~bit, memory_order_release);
	return !(before & bit) == reached;
}
