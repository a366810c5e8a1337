/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every user of an RDMA device here needs first: the device, one protection domain,
 * a GID for multicast, and a UD queue pair that is ready to send. Plain libibverbs: runs
 * through `verbcast run`, on Soft-RoCE and on hardware.
 */
#ifndef BENCH_RDMA_H
#define BENCH_RDMA_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define RDMA_QKEY          0x1ee7beefu
#define RDMA_MULTICAST_QPN 0xffffffu
/* Numbers of groups within a run: forward ones count from 0. */
#define RDMA_GROUPS_MAX    131071u
#define RDMA_GROUP_BACK    131071u

struct rdma {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	int gid_index;
	bool ipv4; /* that GID is an IPv4-mapped one */
};

/* `name` null: the first device. 0 or negative errno. */
int rdma_open_device(struct rdma *r, const char *name);
void rdma_close_device(struct rdma *r);

/* To ready-to-send. 0 or negative errno. */
int rdma_start_ud(struct rdma *r, struct ibv_qp *qp);

/* Group `number` of a run: 239.x.y.z mapped, or ff15::, as the GID asks for. */
union ibv_gid rdma_group(const struct rdma *r, uint32_t run, uint32_t number);

/* An address handle for it. Null with errno. */
struct ibv_ah *rdma_address(struct rdma *r, const union ibv_gid *group);

/* A socket that is a member of the group at the IP layer, on the device's interface. Soft-RoCE
 * hears no group that nobody joined so (spec/performance 3). Descriptor or negative errno. */
int rdma_ip_join(struct rdma *r, const union ibv_gid *group);

#endif
