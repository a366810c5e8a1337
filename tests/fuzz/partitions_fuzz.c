// SPDX-License-Identifier: BSD-2-Clause
// links: vc_fabric_sm
/*
 * The parser of partitions against any text: it ends, says on what line it is wrong, and
 * what it accepts is within the bounds that SM and SA rely on.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/sm/partitions.h"

static uint64_t guid_of(void *arg, const char *name)
{
	return name[0] == 'h' ? 1 : 0;
}

static void check(const struct sm_partition *p)
{
	if (!p->pkey || p->pkey > 0x7fff || p->mtu > 5 || p->rate > 22 || p->sl > 15 ||
	    !p->name[0] || !memchr(p->name, '\0', sizeof(p->name)))
		abort();
	for (unsigned int i = 0; i < p->group_count; i++)
		if (p->groups[i].mgid[0] != 0xff || p->groups[i].mtu > 5 ||
		    p->groups[i].rate > 22 || p->groups[i].flow_label > 0xfffff)
			abort();
	for (unsigned int i = 0; i < p->member_count; i++)
		if (p->members[i].kind > SM_MEMBER_SELF)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sm_partitions *p = NULL;
	char error[100] = "";

	if (sm_partitions_parse((const char *)data, size, guid_of, NULL, &p, error,
				sizeof(error)) < 0) {
		if (p || strncmp(error, "line ", 5) != 0 ||
		    !memchr(error, '\0', sizeof(error)))
			abort();
		return 0;
	}
	for (unsigned int i = 0; i < p->count; i++)
		check(&p->list[i]);
	sm_partitions_destroy(p);
	return 0;
}
