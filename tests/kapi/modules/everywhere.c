// SPDX-License-Identifier: BSD-2-Clause
/*
 * A consumer on every device of every node: it binds an id of rdma_cm, joins a group with it,
 * and attaches a queue pair; when the device goes it gives all back. What happens is said in
 * a file, a line each:
 *
 *	report=FILE    that file
 *	group=A.B.C.D  the group
 *	port=N         of the UDP port space, which the ids are bound to
 *	reuse=1        others may have the port, too
 *
 *	added NAME NODE PORT       bound there, joined and attached
 *	refused NAME NODE ERRNO    by rdma_bind_addr
 *	heard NAME NODE COUNT      a datagram, the so-manieth
 *	removal NAME NODE          an id has heard DEVICE_REMOVAL
 *	removed NAME NODE COUNT    so many datagrams have come
 *	wrong NAME NODE WHAT RESULT
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <rdma/rdma_cm.h>
#include <verbcast/kapi.h>

#include "report.h"

MODULE_LICENSE("Dual BSD/GPL");

#define GRH_BYTES 40
#define ROOM      2048
#define DEPTH     32

static char *group = "239.1.2.99";
module_param(group, charp, 0);
static int port;
module_param(port, int, 0);
static int reuse;
module_param(reuse, int, 0);

struct place {
	struct ib_device *device;
	unsigned int node;
	struct rdma_cm_id *id;
	struct completion told;
	int status; /* of the join */
	bool joined, attached;
	union ib_gid mgid;
	u16 mlid;
	u32 qkey;
	struct completion going;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_cqe cqe;
	atomic_t count;
	bool started; /* there are receives */
	u8 *memory;
};

static void must(const struct place *p, const char *what, int r)
{
	if (r)
		say("wrong %s %u %s %d", p->device->name, p->node, what, r);
}

/* -- rdma_cm --------------------------------------------------------------------------- */

static int cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct place *p = id->context;
	const struct rdma_ah_attr *ah = &event->param.ud.ah_attr;

	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		say("removal %s %u %d", p->device->name, p->node, event->status);
		complete(&p->going);
		return 0;
	}
	p->status = event->status;
	p->joined = event->event == RDMA_CM_EVENT_MULTICAST_JOIN;
	if (p->joined) {
		p->mgid = ah->grh.dgid;
		p->mlid = rdma_ah_get_dlid(ah);
		p->qkey = event->param.ud.qkey;
	}
	complete(&p->told);
	return 0;
}

static bool is_ipv4(const union ib_gid *gid)
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

/* The first IPv4 address of the port: on InfiniBand that of the node (198.18.0.0/15). */
static int own_address(const struct place *p, struct sockaddr_in *ret)
{
	union ib_gid gid;

	*ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	if (rdma_protocol_ib(p->device, 1)) {
		ret->sin_addr.s_addr = htonl(0xc6120001u + p->node);
		return 0;
	}
	for (int i = 0; i < 16; i++) {
		if (rdma_query_gid(p->device, 1, i, &gid) || !is_ipv4(&gid))
			continue;
		memcpy(&ret->sin_addr, gid.raw + 12, 4);
		return 0;
	}
	return -EADDRNOTAVAIL;
}

static int join(struct place *p)
{
	struct sockaddr_in own, to = { .sin_family = AF_INET };
	int r = own_address(p, &own);

	if (r)
		return r;
	p->id = rdma_create_id(kapi_node_net(p->node), cm_event, p, RDMA_PS_UDP,
			       IB_QPT_UD);
	if (IS_ERR(p->id))
		return PTR_ERR(p->id);
	must(p, "rdma_set_reuseaddr", rdma_set_reuseaddr(p->id, reuse));
	r = rdma_bind_addr(p->id, (struct sockaddr *)&own);
	if (r) {
		say("refused %s %u %d", p->device->name, p->node, r);
		return r;
	}
	to.sin_addr.s_addr = in_aton(group);
	r = rdma_join_multicast(p->id, (struct sockaddr *)&to, BIT(FULLMEMBER_JOIN), p);
	if (r)
		return r;
	wait_for_completion(&p->told);
	return p->joined ? 0 : p->status;
}

/* -- datagrams ------------------------------------------------------------------------- */

static int post(struct place *p, void *to)
{
	struct ib_sge sge = { .addr = (uintptr_t)to,
			      .length = ROOM,
			      .lkey = p->pd->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_cqe = &p->cqe, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(p->qp, &wr, NULL);
}

/* One buffer is like another: what is in it nobody reads. When the queue pair has been
 * drained none is left that might post again. */
static void received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct place *p = container_of(wc->wr_cqe, struct place, cqe);

	if (wc->status == IB_WC_SUCCESS) {
		post(p, p->memory);
		say("heard %s %u %d", p->device->name, p->node,
		    atomic_inc_return(&p->count));
	}
}

static int hear(struct place *p)
{
	struct ib_qp_init_attr init = { .qp_type = IB_QPT_UD,
					.cap = { .max_recv_wr = DEPTH + 1,
						 .max_recv_sge = 1 } };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	int r;

	p->pd = ib_alloc_pd(p->device, 0);
	if (IS_ERR(p->pd))
		return PTR_ERR(p->pd);
	p->cq = ib_alloc_cq_any(p->device, p, DEPTH + 1, IB_POLL_WORKQUEUE);
	if (IS_ERR(p->cq))
		return PTR_ERR(p->cq);
	init.send_cq = init.recv_cq = p->cq;
	p->qp = ib_create_qp(p->pd, &init);
	if (IS_ERR(p->qp))
		return PTR_ERR(p->qp);
	attr.qkey = p->qkey;
	r = ib_modify_qp(p->qp, &attr,
			 IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	p->started = !r;
	for (int i = 0; i < DEPTH && !r; i++)
		r = post(p, p->memory);
	attr.qp_state = IB_QPS_RTR;
	if (!r)
		r = ib_modify_qp(p->qp, &attr, IB_QP_STATE);
	if (!r)
		r = ib_attach_mcast(p->qp, &p->mgid, p->mlid);
	p->attached = !r;
	return r;
}

static void end(struct place *p)
{
	if (p->attached)
		must(p, "ib_detach_mcast", ib_detach_mcast(p->qp, &p->mgid, p->mlid));
	if (p->started)
		ib_drain_rq(p->qp);
	if (!IS_ERR_OR_NULL(p->qp))
		must(p, "ib_destroy_qp", ib_destroy_qp(p->qp));
	if (!IS_ERR_OR_NULL(p->cq))
		ib_free_cq(p->cq);
	if (!IS_ERR_OR_NULL(p->pd))
		ib_dealloc_pd(p->pd);
	if (!IS_ERR_OR_NULL(p->id))
		rdma_destroy_id(p->id);
	kfree(p->memory);
	kfree(p);
}

/* -- the consumer ---------------------------------------------------------------------- */

static struct ib_client client;

static int add_one(struct ib_device *device)
{
	struct place *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int r;

	if (!p)
		return -ENOMEM;
	p->device = device;
	p->node = kapi_device_node(device);
	init_completion(&p->told);
	init_completion(&p->going);
	p->cqe.done = received;
	p->memory = kzalloc(ROOM, GFP_KERNEL);
	r = p->memory ? join(p) : -ENOMEM;
	if (!r)
		r = hear(p);
	if (r) {
		say("failed %s %u %d", p->device->name, p->node, r);
		end(p);
		return r;
	}
	ib_set_client_data(device, &client, p);
	say("added %s %u %d", p->device->name, p->node,
	    ntohs(((struct sockaddr_in *)&p->id->route.addr.src_addr)->sin_port));
	return 0;
}

/* A device that goes has told its ids, or is about to. */
static void remove_one(struct ib_device *device, void *data)
{
	struct place *p = data;
	struct ib_port_attr attr;

	if (ib_query_port(device, 1, &attr) || attr.state != IB_PORT_ACTIVE)
		wait_for_completion_timeout(&p->going, 10 * HZ);
	say("removed %s %u %d", p->device->name, p->node, atomic_read(&p->count));
	end(p);
}

static struct ib_client client = { .name = "everywhere",
				   .add = add_one,
				   .remove = remove_one };

static int __init begin(void)
{
	return ib_register_client(&client);
}

static void __exit leave(void)
{
	ib_unregister_client(&client);
}

module_init(begin);
module_exit(leave);
