// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sizes and offsets that compiled programs have built in (spec/userland 2.1 to 2.5),
 * for x86-64 and every other LP64 machine: the headers we are compiled with must agree,
 * and our own objects must begin with the public ones. Later headers only add: they are
 * held to the offsets, and to sizes that may grow where noted.
 */
#include <assert.h>
#include <stddef.h>
#include <infiniband/verbs.h>

#include "ah.h"
#include "channel.h"
#include "context.h"
#include "cq.h"
#include "device.h"
#include "pd.h"
#include "qp.h"

#define AT(type, field, offset) \
	static_assert(offsetof(struct type, field) == (offset), #type "." #field)
#define SIZE(type, size)       static_assert(sizeof(struct type) == (size), #type)
#define SIZE_LEAST(type, size) static_assert(sizeof(struct type) >= (size), #type)
/* Slots of verbs_context keep their distance to the public context, which is last. */
#define SLOT(field, offset)                                                    \
	static_assert(offsetof(struct verbs_context, context) -                \
				      offsetof(struct verbs_context, field) == \
			      320 - (offset),                                  \
		      "verbs_context." #field)

#ifdef __LP64__
SIZE(ibv_device, 664);
AT(ibv_device, node_type, 16);
AT(ibv_device, transport_type, 20);
AT(ibv_device, name, 24);
AT(ibv_device, dev_name, 88);
AT(ibv_device, dev_path, 152);
AT(ibv_device, ibdev_path, 408);
AT(verbs_device, ibv, 0);
AT(verbs_device, foreign, 664);

SIZE(ibv_context, 328);
AT(ibv_context, device, 0);
AT(ibv_context, ops, 8);
AT(ibv_context, cmd_fd, 264);
AT(ibv_context, async_fd, 268);
AT(ibv_context, num_comp_vectors, 272);
AT(ibv_context, mutex, 280);
AT(ibv_context, abi_compat, 320);
SIZE(ibv_context_ops, 256);
AT(ibv_context_ops, alloc_mw, 56);
AT(ibv_context_ops, bind_mw, 64);
AT(ibv_context_ops, dealloc_mw, 72);
AT(ibv_context_ops, poll_cq, 88);
AT(ibv_context_ops, req_notify_cq, 96);
AT(ibv_context_ops, post_srq_recv, 160);
AT(ibv_context_ops, post_send, 200);
AT(ibv_context_ops, post_recv, 208);

SIZE_LEAST(verbs_context, 648);
SLOT(sz, 312);
SLOT(query_port, 0);
SLOT(modify_cq, 136);
SLOT(query_rt_values, 192);
SLOT(create_cq_ex, 200);
SLOT(query_device_ex, 216);
SLOT(ibv_create_flow, 240);
SLOT(open_qp, 256);
SLOT(create_qp_ex, 264);
SLOT(get_srq_num, 272);
SLOT(create_srq_ex, 280);
SLOT(open_xrcd, 288);
SLOT(close_xrcd, 296);
static_assert(offsetof(struct device_context, verbs) + sizeof(struct verbs_context) ==
		      sizeof(struct device_context),
	      "the public context ends ours");

SIZE(ibv_pd, 16);
AT(ibv_pd, handle, 8);
AT(verbs_pd, ibv, 0);
SIZE(ibv_mr, 48);
SIZE(ibv_mw, 32);
SIZE(ibv_ah, 24);
AT(verbs_ah, ah.ibv_ah, 0);
SIZE(ibv_comp_channel, 16);
AT(ibv_comp_channel, fd, 8);
AT(verbs_channel, ibv, 0);

SIZE(ibv_cq, 128);
SIZE(ibv_cq_ex, 288);
AT(ibv_cq_ex, comp_mask, 128);
AT(ibv_cq_ex, status, 132);
AT(ibv_cq_ex, wr_id, 136);
AT(ibv_cq_ex, start_poll, 144);
AT(ibv_cq_ex, read_completion_wallclock_ns, 280);
AT(verbs_cq, ex, 0);

SIZE(ibv_qp, 160);
SIZE_LEAST(ibv_qp_ex, 352);
AT(ibv_qp_ex, comp_mask, 160);
AT(ibv_qp_ex, wr_id, 168);
AT(ibv_qp_ex, wr_flags, 176);
AT(ibv_qp_ex, wr_atomic_cmp_swp, 184);
AT(ibv_qp_ex, wr_complete, 328);
AT(ibv_qp_ex, wr_atomic_write, 344);
AT(verbs_qp, ex, 0);

SIZE(ibv_wc, 48);
SIZE(ibv_send_wr, 128);
SIZE(ibv_recv_wr, 32);
SIZE(ibv_device_attr, 232);
SIZE_LEAST(ibv_device_attr_ex, 400);
SIZE_LEAST(ibv_port_attr, 52);
AT(ibv_port_attr, link_layer, 46);
AT(ibv_port_attr, flags, 47);
AT(ibv_port_attr, port_cap_flags2, 48);
SIZE(ibv_gid_entry, 32);
SIZE(ibv_qp_attr, 144);
SIZE(ibv_qp_init_attr, 64);
SIZE_LEAST(ibv_qp_init_attr_ex, 136);
SIZE_LEAST(ibv_cq_init_attr_ex, 56);
SIZE(ibv_async_event, 16);
SIZE(ibv_ah_attr, 32);
SIZE(ibv_global_route, 24);
#endif
