// SPDX-License-Identifier: BSD-2-Clause
/*
 * Address handles, and the address of whoever sent a datagram. The attributes are
 * checked here against the port's tables (spec/userland 2.4, spec/kernel's rules for
 * RoCE); what they reach is the engine's business.
 */
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>

#include "shim/export.h"
#include "ah.h"
#include "port.h"

#define GRH_BYTES 40u
#define IPV4_AT   20u /* in the GRH area, on RoCE v2 over IPv4 */

static int check_attr(const struct ibv_context *context, const struct ibv_ah_attr *attr)
{
	const struct shm_port *port = port_find(context, attr->port_num);
	struct shm_gid_entry gid;

	if (!port)
		return -EINVAL;
	if (!attr->is_global)
		return port->link_layer == SHM_LINK_ETHERNET ? -EINVAL : 0;
	return port_gid(port, attr->grh.sgid_index, &gid) ? 0 : -EINVAL;
}

size_t ah_bytes(void)
{
	return sizeof(struct verbs_ah) + engine_ah_bytes();
}

VC_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct device_context *c = context_of(pd->context);
	struct verbs_ah *ah;
	int r;

	if (process_state(c->process) != PROCESS_LIVE)
		return null_errno(-ENODEV);
	r = check_attr(pd->context, attr);
	if (r < 0)
		return null_errno(r);
	ah = pool_alloc(&c->process->ahs);
	if (!ah)
		return null_errno(-ENOMEM);
	*ah = (struct verbs_ah){ .ah.engine = (struct engine_ah *)(ah + 1) };
	r = engine_ah_init(c->process->engine, pd->handle, port_index(c, attr->port_num),
			   attr, ah->ah.engine);
	if (r < 0) {
		pool_free(&c->process->ahs, ah);
		return null_errno(r);
	}
	ah->process = process_ref(c->process);
	ah->ah.ibv_ah.context = pd->context;
	ah->ah.ibv_ah.pd = pd;
	return &ah->ah.ibv_ah;
}

VC_EXPORT int ibv_destroy_ah(struct ibv_ah *ibv)
{
	struct verbs_ah *ah = ah_of(ibv);
	struct process *p = ah->process;

	if (!process_forked(p)) {
		engine_ah_fini(ah->ah.engine);
		pool_free(&p->ahs, ah);
	}
	process_put(p);
	return 0;
}

/* The RoCE v2 types differ in the header that carried the datagram, and so do the GIDs. */
static int find_local_gid(const struct shm_port *port, const uint8_t gid[16])
{
	bool ethernet = port->link_layer == SHM_LINK_ETHERNET;
	struct shm_gid_entry e;

	for (uint32_t i = 0; i < SHM_GIDS_MAX; i++)
		if (port_gid(port, i, &e) && memcmp(e.gid, gid, sizeof(e.gid)) == 0 &&
		    (!ethernet || e.type == SHM_GID_ROCE_V2))
			return i;
	return -EINVAL;
}

static uint16_t ip_sum(const struct iphdr *ip)
{
	const uint8_t *p = (const uint8_t *)ip;
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(*ip); i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Only a right header checksum tells IPv4 from the second half of an IPv6 header. */
static bool is_ipv4(const struct iphdr *ip)
{
	return ip->version == 4 && ip->ihl == 5 && ip_sum(ip) == 0xffff;
}

static void map_ipv4(uint32_t address, uint8_t gid[16])
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, &address, 4);
}

/* Who sent it, and to which GID of ours, from the 40 bytes in front of the payload. */
static void read_grh(const struct shm_port *port, const struct ibv_grh *grh,
		     struct ibv_ah_attr *attr, uint8_t local[16])
{
	uint32_t word = ntohl(grh->version_tclass_flow);
	struct iphdr ip;

	memcpy(&ip, (const char *)grh + IPV4_AT, sizeof(ip));
	if (port->link_layer == SHM_LINK_ETHERNET && is_ipv4(&ip)) {
		map_ipv4(ip.saddr, attr->grh.dgid.raw);
		map_ipv4(ip.daddr, local);
		attr->grh.traffic_class = ip.tos;
	} else {
		memcpy(attr->grh.dgid.raw, &grh->sgid, 16);
		memcpy(local, &grh->dgid, 16);
		attr->grh.traffic_class = word >> 20 & 0xff;
		attr->grh.flow_label = word & 0xfffff;
	}
	attr->grh.hop_limit = 0xff;
}

/* A reply to a multicast datagram fails: its destination is in no table. */
VC_EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num,
				  struct ibv_wc *wc, struct ibv_grh *grh,
				  struct ibv_ah_attr *attr)
{
	const struct shm_port *port = port_find(context, port_num);
	uint8_t local[16];
	int index;

	if (!port)
		return minus_errno(-EINVAL);
	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port_num;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return port->link_layer == SHM_LINK_ETHERNET ? minus_errno(-EINVAL) : 0;
	attr->is_global = 1;
	read_grh(port, grh, attr, local);
	index = find_local_gid(port, local);
	if (index < 0)
		return minus_errno(index);
	attr->grh.sgid_index = index;
	return 0;
}

VC_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					       struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) < 0)
		return NULL;
	return ibv_create_ah(pd, &attr);
}
static_assert(sizeof(struct ibv_grh) == GRH_BYTES, "the GRH area");
