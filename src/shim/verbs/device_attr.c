// SPDX-License-Identifier: BSD-2-Clause
/* What an open device says of itself; learned when the generation began. */
#include <errno.h>
#include <string.h>

#include "shim/export.h"
#include "context.h"

VC_EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	const struct uapi_device *d = &context_of(context)->device->attr;

	if (process_state(process_of(context)) != PROCESS_LIVE)
		return ENODEV;
	*attr = (struct ibv_device_attr){
		.node_guid = d->node_guid,
		.sys_image_guid = d->sys_image_guid,
		.max_mr_size = d->max_mr_size,
		.page_size_cap = d->page_size_cap,
		.vendor_id = d->vendor_id,
		.vendor_part_id = d->vendor_part_id,
		.hw_ver = d->hw_ver,
		.max_qp = d->max_qp,
		.max_qp_wr = d->max_qp_wr,
		.device_cap_flags = d->device_cap_flags,
		.max_sge = d->max_sge,
		.max_cq = d->max_cq,
		.max_cqe = d->max_cqe,
		.max_mr = d->max_mr,
		.max_pd = d->max_pd,
		.max_mcast_grp = d->max_mcast_grp,
		.max_mcast_qp_attach = d->max_mcast_qp_attach,
		.max_total_mcast_qp_attach = d->max_total_mcast_qp_attach,
		.max_ah = d->max_ah,
		.max_srq = d->max_srq,
		.max_srq_wr = d->max_srq_wr,
		.max_srq_sge = d->max_srq_sge,
		.max_pkeys = d->max_pkeys,
		.local_ca_ack_delay = d->local_ca_ack_delay,
		.phys_port_cnt = d->phys_port_cnt,
	};
	memcpy(attr->fw_ver, d->fw_ver, sizeof(attr->fw_ver));
	return 0;
}
