// SPDX-License-Identifier: BSD-2-Clause
// links: vc_shm
/*
 * The reader of the site's tables against a damaged file: whatever stands there, a look-up
 * ends, stays inside, and answers with an index in range.
 *
 * The input is a list of stores into an empty table file, 13 bytes each: region, index,
 * value. Then every look-up is made, with keys that the stores may have met.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shm/faults.h"

#define STORE_BYTES 13
#define STORES_MAX  256

static struct shm_tables *tables;

struct region {
	size_t offset, bytes;
};

#define REGION(field)                                                     \
	{                                                                 \
		offsetof(struct shm_tables, field), sizeof(tables->field) \
	}
static const struct region regions[] = {
	REGION(h),      REGION(slots), REGION(ports),  REGION(qps), REGION(group_buckets),
	REGION(groups), REGION(reach), REGION(faults),
};

struct store {
	uint8_t region;
	uint32_t index;
	uint64_t value;
};

static struct store store_read(const uint8_t *data)
{
	struct store s = { .region = data[0] };

	memcpy(&s.index, data + 1, sizeof(s.index));
	memcpy(&s.value, data + 5, sizeof(s.value));
	return s;
}

static uint64_t *store_place(const struct store *s)
{
	const struct region *r = &regions[s->region % (sizeof(regions) / sizeof(*r))];

	return (uint64_t *)((uint8_t *)tables + r->offset) +
	       s->index % (r->bytes / sizeof(uint64_t));
}

static void look_up(uint32_t ingress, const uint8_t mgid[16], uint32_t qpn)
{
	uint64_t members[SHM_SLOT_WORDS], generation;
	uint32_t entry = shm_group_find(tables, ingress, mgid, (uint16_t)qpn);
	uint32_t slot = shm_qp_find(tables, ingress, qpn);
	struct shm_fault rules[SHM_FAULTS_MAX];
	struct shm_group_view view;
	uint32_t faults;

	if (entry != SHM_NONE && entry >= SHM_GROUPS_MAX)
		abort();
	if (slot != SHM_NONE && slot >= SHM_SLOTS_MAX)
		abort();
	shm_group_read(tables, entry, ingress, mgid, 0, members, &generation);
	shm_group_read(tables, qpn, ingress, mgid, 0, members, &generation);
	shm_group_exists(tables, ingress, mgid);
	if (shm_group_view(tables, qpn, ingress, &view) && view.ingress >= SHM_PORTS_MAX)
		abort();
	shm_reaches(tables, ingress, (uint16_t)qpn);
	shm_faults_read(tables, rules, &faults);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t stores = size / STORE_BYTES;
	uint8_t mgid[16] = { 0 };

	if (!tables)
		tables = mmap(NULL, sizeof(*tables), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (tables == MAP_FAILED)
		abort();
	if (stores > STORES_MAX)
		stores = STORES_MAX;
	for (size_t i = 0; i < stores; i++) {
		struct store s = store_read(data + i * STORE_BYTES);

		*store_place(&s) = s.value;
	}
	shm_tables_check(tables, sizeof(*tables));
	look_up(0, mgid, 0);
	for (size_t i = 0; i < stores; i++) {
		struct store s = store_read(data + i * STORE_BYTES);

		memcpy(mgid + 8 * (i & 1), &s.value, 8);
		look_up(s.index & 3, mgid, (uint32_t)s.value);
	}
	for (size_t i = 0; i < stores; i++) {
		struct store s = store_read(data + i * STORE_BYTES);

		*store_place(&s) = 0;
	}
	return 0;
}
