/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_DROP_REASONS_H
#define SHM_DROP_REASONS_H

enum drop_reason {
#define DROP(name, text) DROP_##name,
#include "shm/drop_reasons.def"
#undef DROP
	DROP_REASONS,
	DROP_NONE = -1,
};

#define DROP_MEMBER_REASONS (DROP_FAULT + 1)

/* "NO_RECV_WQE", and the sentence behind it; null for a number out of range. */
const char *drop_reason_name(int reason);
const char *drop_reason_text(int reason);

#endif
