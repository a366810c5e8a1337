/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/rdma.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool gid_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	if (!list)
		return NULL;
	errno = ENODEV;
	for (struct ibv_device **d = list; *d && !context; d++)
		if (!name || !strcmp(ibv_get_device_name(*d), name))
			context = ibv_open_device(*d);
	ibv_free_device_list(list);
	return context;
}

/* RoCE v2 over IPv4 where there is one: it alone leaves a Soft-RoCE port as multicast. */
static void choose_gid(struct rdma *r)
{
	struct ibv_gid_entry entry;

	r->gid_index = 0;
	for (int i = 0; i < r->port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(r->context, 1, (uint32_t)i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2 || !gid_is_ipv4(&entry.gid))
			continue;
		r->gid_index = i;
		r->ipv4 = true;
		return;
	}
}

int rdma_open_device(struct rdma *r, const char *name)
{
	int error;

	memset(r, 0, sizeof(*r));
	r->context = open_named(name);
	if (!r->context)
		return errno ? -errno : -ENODEV;
	error = ibv_query_device(r->context, &r->device);
	if (!error)
		error = ibv_query_port(r->context, 1, &r->port);
	if (!error && r->port.state != IBV_PORT_ACTIVE)
		error = ENETDOWN;
	if (!error) {
		choose_gid(r);
		r->pd = ibv_alloc_pd(r->context);
		error = r->pd ? 0 : errno;
	}
	if (error)
		rdma_close_device(r);
	return -error;
}

void rdma_close_device(struct rdma *r)
{
	if (r->pd)
		ibv_dealloc_pd(r->pd);
	if (r->context)
		ibv_close_device(r->context);
	r->pd = NULL;
	r->context = NULL;
}

int rdma_start_ud(struct rdma *r, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = RDMA_QKEY,
	};
	int error = ibv_modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	attr.qp_state = IBV_QPS_RTR;
	if (!error)
		error = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (!error)
		error = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return -error;
}

/* 24 bits are free below 239/8: 7 tell runs apart, 17 number the group. */
union ibv_gid rdma_group(const struct rdma *r, uint32_t run, uint32_t number)
{
	uint32_t low = htonl(0xef000000u | (run & 0x7f) << 17 | number);
	union ibv_gid group;

	memset(&group, 0, sizeof(group));
	if (r->ipv4) {
		group.raw[10] = 0xff;
		group.raw[11] = 0xff;
	} else {
		group.raw[0] = 0xff;
		group.raw[1] = 0x15;
	}
	memcpy(group.raw + 12, &low, 4);
	return group;
}

struct ibv_ah *rdma_address(struct rdma *r, const union ibv_gid *group)
{
	struct ibv_ah_attr attr = {
		.grh = { .dgid = *group,
			 .sgid_index = (uint8_t)r->gid_index,
			 .hop_limit = 1 },
		.dlid = 0xc000,
		.is_global = 1,
		.port_num = 1,
	};

	return ibv_create_ah(r->pd, &attr);
}

int rdma_ip_join(struct rdma *r, const union ibv_gid *group)
{
	struct ip_mreq join;
	union ibv_gid own;
	int fd;

	if (!r->ipv4 || ibv_query_gid(r->context, 1, r->gid_index, &own))
		return -EAFNOSUPPORT;
	memcpy(&join.imr_multiaddr, group->raw + 12, 4);
	memcpy(&join.imr_interface, own.raw + 12, 4);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof(join))) {
		close(fd);
		return -EADDRNOTAVAIL;
	}
	return fd;
}
