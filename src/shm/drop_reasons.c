// SPDX-License-Identifier: BSD-2-Clause
#include "shm/drop_reasons.h"

#include <assert.h>
#include <stddef.h>

#include "shm/counters.h"

static_assert(DROP_MEMBER_REASONS <= 14, "they are counted in shm_member_counters.drops");
static_assert(DROP_REASONS <= 28, "they are counted in shm_qp_counters.drops");

static const struct {
	const char *name, *text;
} reasons[] = {
#define DROP(name, text) { #name, text },
#include "shm/drop_reasons.def"
#undef DROP
};

const char *drop_reason_name(int reason)
{
	return reason >= 0 && reason < DROP_REASONS ? reasons[reason].name : NULL;
}

const char *drop_reason_text(int reason)
{
	return reason >= 0 && reason < DROP_REASONS ? reasons[reason].text : NULL;
}
