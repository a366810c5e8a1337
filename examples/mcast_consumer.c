// SPDX-License-Identifier: BSD-2-Clause
/*
 * A consumer of the kernel API that listens to a multicast group, as a module would in
 * Linux. The same source runs in verbcastd (`verbcast insmod mcast_consumer.so`), where it
 * meets every program of the site, and in a program of its own (kapi_module_load).
 *
 *   group=224.0.1.9     an IPv4 group
 *   device=vroce0       where; on an InfiniBand device the group is joined with the subnet
 *                       administrator first, as mckey's would be
 *
 * What arrives is counted and reported when the module goes.
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("Counts the datagrams of a multicast group");

#define GRH_BYTES  40
#define DATA_BYTES 4096
#define DEPTH      64

static char *group = "224.0.1.9";
module_param(group, charp, 0444);
MODULE_PARM_DESC(group, "IPv4 group to listen to");

static char *device = "vroce0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the RDMA device");

struct buffer {
	struct ib_cqe cqe;
	struct listener *listener;
	u64 dma;
	u8 bytes[GRH_BYTES + DATA_BYTES];
};

struct listener {
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	union ib_gid mgid;
	u16 mlid;
	u32 qkey;
	bool attached;
	struct ib_sa_multicast *member;
	struct completion joined;
	int join_status;
	atomic64_t datagrams;
	bool started; /* there are receives */
	struct buffer buffers[DEPTH];
};

static struct ib_sa_client sa_client;

static int post(struct buffer *b)
{
	struct ib_sge sge = {
		.addr = b->dma,
		.length = sizeof(b->bytes),
		.lkey = b->listener->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &b->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(b->listener->qp, &wr, NULL);
}

/* When the queue pair has been drained none is left that might post again. */
static void received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct buffer *b = container_of(wc->wr_cqe, struct buffer, cqe);

	if (wc->status != IB_WC_SUCCESS)
		return;
	if (atomic64_inc_return(&b->listener->datagrams) == 1)
		pr_info("mcast_consumer: first datagram, %u bytes from QP %u\n",
			wc->byte_len - GRH_BYTES, wc->src_qp);
	post(b);
}

static int joined(int status, struct ib_sa_multicast *multicast)
{
	struct listener *l = multicast->context;

	/* -ENETRESET comes later, when the membership is lost; it is not renewed here. */
	if (status == -ENETRESET)
		return 0;
	l->join_status = status;
	if (!status) {
		l->mgid = multicast->rec.mgid;
		l->mlid = be16_to_cpu(multicast->rec.mlid);
		l->qkey = be32_to_cpu(multicast->rec.qkey);
	}
	complete(&l->joined);
	return 0;
}

/* The group that rdma_cm makes of an IPv4 address in port space UDP. */
static void ib_group(__be32 addr, u16 pkey, union ib_gid *mgid)
{
	memset(mgid, 0, sizeof(*mgid));
	mgid->raw[0] = 0xff;
	mgid->raw[1] = 0x12;
	mgid->raw[2] = 0x40;
	mgid->raw[3] = 0x01;
	mgid->raw[4] = pkey >> 8;
	mgid->raw[5] = pkey & 0xff;
	memcpy(mgid->raw + 12, &addr, sizeof(addr));
	mgid->raw[12] &= 0x0f;
}

static int join(struct listener *l, __be32 addr)
{
	const ib_sa_comp_mask mask =
		IB_SA_MCMEMBER_REC_MGID | IB_SA_MCMEMBER_REC_PORT_GID |
		IB_SA_MCMEMBER_REC_PKEY | IB_SA_MCMEMBER_REC_JOIN_STATE |
		IB_SA_MCMEMBER_REC_QKEY | IB_SA_MCMEMBER_REC_SL |
		IB_SA_MCMEMBER_REC_FLOW_LABEL | IB_SA_MCMEMBER_REC_TRAFFIC_CLASS;
	struct ib_sa_mcmember_rec rec = {
		.qkey = cpu_to_be32(l->qkey),
		.join_state = BIT(FULLMEMBER_JOIN),
	};
	u16 pkey;
	int ret;

	ret = ib_query_pkey(l->ibdev, 1, 0, &pkey);
	if (!ret)
		ret = rdma_query_gid(l->ibdev, 1, 0, &rec.port_gid);
	if (ret)
		return ret;
	rec.pkey = cpu_to_be16(pkey);
	ib_group(addr, pkey, &rec.mgid);
	l->member = ib_sa_join_multicast(&sa_client, l->ibdev, 1, &rec, mask, GFP_KERNEL,
					 joined, l);
	if (IS_ERR(l->member)) {
		ret = PTR_ERR(l->member);
		l->member = NULL;
		return ret;
	}
	wait_for_completion(&l->joined);
	return l->join_status;
}

static int find_group(struct listener *l)
{
	__be32 addr = in_aton(group);

	l->qkey = 0x01234567;
	if (rdma_cap_ib_mcast(l->ibdev, 1))
		return join(l, addr);
	/* RoCE v2: the address itself, and nobody to ask. */
	memset(&l->mgid, 0, sizeof(l->mgid));
	l->mgid.raw[10] = l->mgid.raw[11] = 0xff;
	memcpy(l->mgid.raw + 12, &addr, sizeof(addr));
	return 0;
}

static int start_qp(struct listener *l)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qkey = l->qkey,
	};
	int ret;

	ret = ib_modify_qp(l->qp, &attr,
			   IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	l->started = !ret;
	for (int i = 0; i < DEPTH && !ret; i++)
		ret = post(&l->buffers[i]);
	attr.qp_state = IB_QPS_RTR;
	if (!ret)
		ret = ib_modify_qp(l->qp, &attr, IB_QP_STATE);
	return ret;
}

static int create_qp(struct listener *l)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UD,
		.send_cq = l->cq,
		.recv_cq = l->cq,
		/* One more, for draining. */
		.cap = { .max_recv_wr = DEPTH + 1, .max_recv_sge = 1 },
	};

	l->qp = ib_create_qp(l->pd, &init);
	return PTR_ERR_OR_ZERO(l->qp);
}

static void prepare_buffers(struct listener *l)
{
	for (int i = 0; i < DEPTH; i++) {
		struct buffer *b = &l->buffers[i];

		b->listener = l;
		b->cqe.done = received;
		b->dma = ib_dma_map_single(l->ibdev, b->bytes, sizeof(b->bytes),
					   DMA_FROM_DEVICE);
	}
}

/* In the reverse order; whatever of it there is. */
static void stop_listening(struct listener *l)
{
	if (l->member)
		ib_sa_free_multicast(l->member);
	if (l->attached)
		ib_detach_mcast(l->qp, &l->mgid, l->mlid);
	if (l->started)
		ib_drain_rq(l->qp);
	if (!IS_ERR_OR_NULL(l->qp))
		ib_destroy_qp(l->qp);
	if (!IS_ERR_OR_NULL(l->cq))
		ib_free_cq(l->cq);
	if (!IS_ERR_OR_NULL(l->pd))
		ib_dealloc_pd(l->pd);
	kfree(l);
}

static int start_listening(struct listener *l)
{
	int ret;

	l->pd = ib_alloc_pd(l->ibdev, 0);
	if (IS_ERR(l->pd))
		return PTR_ERR(l->pd);
	l->cq = ib_alloc_cq_any(l->ibdev, l, DEPTH + 1, IB_POLL_WORKQUEUE);
	if (IS_ERR(l->cq))
		return PTR_ERR(l->cq);
	prepare_buffers(l);
	ret = find_group(l);
	if (!ret)
		ret = create_qp(l);
	if (!ret)
		ret = start_qp(l);
	if (!ret)
		ret = ib_attach_mcast(l->qp, &l->mgid, l->mlid);
	l->attached = !ret;
	return ret;
}

static struct ib_client client;

static int add_one(struct ib_device *ibdev)
{
	struct listener *l;
	int ret;

	if (strcmp(ibdev->name, device))
		return -EOPNOTSUPP;
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return -ENOMEM;
	l->ibdev = ibdev;
	init_completion(&l->joined);
	ret = start_listening(l);
	if (ret) {
		pr_err("mcast_consumer: cannot listen on %s: %d\n", ibdev->name, ret);
		stop_listening(l);
		return ret;
	}
	ib_set_client_data(ibdev, &client, l);
	pr_info("mcast_consumer: listening to %s on %s\n", group, ibdev->name);
	return 0;
}

static void remove_one(struct ib_device *ibdev, void *client_data)
{
	struct listener *l = client_data;

	pr_info("mcast_consumer: %lld datagrams on %s\n", atomic64_read(&l->datagrams),
		ibdev->name);
	stop_listening(l);
}

static struct ib_client client = {
	.name = "mcast_consumer",
	.add = add_one,
	.remove = remove_one,
};

static int __init mcast_consumer_init(void)
{
	int ret;

	ib_sa_register_client(&sa_client);
	ret = ib_register_client(&client);
	if (ret)
		ib_sa_unregister_client(&sa_client);
	return ret;
}

static void __exit mcast_consumer_exit(void)
{
	ib_unregister_client(&client);
	ib_sa_unregister_client(&sa_client);
}

module_init(mcast_consumer_init);
module_exit(mcast_consumer_exit);
