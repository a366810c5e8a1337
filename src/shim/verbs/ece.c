// SPDX-License-Identifier: BSD-2-Clause
/* Enhanced connection establishment: this device has no options to negotiate. */
#include <errno.h>
#include <infiniband/verbs.h>

#include "shim/export.h"

VC_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (ece->comp_mask)
		return EINVAL;
	return EOPNOTSUPP;
}

VC_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	*ece = (struct ibv_ece){ 0 };
	return 0;
}
