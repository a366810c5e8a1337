// SPDX-License-Identifier: BSD-2-Clause
/*
 * rdma_getaddrinfo: the system's getaddrinfo, first answer, in rdma_cm's words (spec/
 * userland 3.2). Name errors are returned as getaddrinfo's own codes. There is no
 * address service to be asked for routes.
 */
#include <endian.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/ib.h>

#include "cm.h"

static bool wants_ib(const struct rdma_addrinfo *hints)
{
	return hints && (hints->ai_flags & RAI_FAMILY) && hints->ai_family == AF_IB;
}

static int protocol_of(const struct rdma_addrinfo *hints)
{
	switch (hints->ai_port_space) {
	case RDMA_PS_TCP:
		return IPPROTO_TCP;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IPPROTO_UDP;
	default:
		return 0;
	}
}

static int socket_type_of(const struct rdma_addrinfo *hints)
{
	switch (hints->ai_qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return SOCK_STREAM;
	case IBV_QPT_UD:
		return SOCK_DGRAM;
	default:
		return 0;
	}
}

/* A GID has the form of an IPv6 address, and no name. */
static void translate_hints(const struct rdma_addrinfo *hints, struct addrinfo *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (hints->ai_flags & RAI_PASSIVE)
		ret->ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST || wants_ib(hints))
		ret->ai_flags |= AI_NUMERICHOST;
	if (wants_ib(hints))
		ret->ai_family = AF_INET6;
	else if (hints->ai_flags & RAI_FAMILY)
		ret->ai_family = hints->ai_family;
	ret->ai_socktype = socket_type_of(hints);
	if (ret->ai_socktype)
		ret->ai_protocol = protocol_of(hints);
}

static int copy_address(const struct sockaddr *from, socklen_t length,
			struct sockaddr **ret, socklen_t *ret_length)
{
	*ret = calloc(1, length);
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, from, length);
	*ret_length = length;
	return 0;
}

/* The service of an AF_IB address: port space and port, both exact if there is a port. */
static int copy_ib_address(const struct sockaddr_in6 *from, int port_space,
			   struct sockaddr **ret, socklen_t *ret_length)
{
	uint64_t port = be16toh(from->sin6_port);
	struct sockaddr_ib ib = {
		.sib_family = AF_IB,
		.sib_pkey = htobe16(0xffff),
		.sib_flowinfo = from->sin6_flowinfo,
		.sib_scope_id = from->sin6_scope_id,
		.sib_sid = htobe64(((uint64_t)port_space << 16) | port),
		.sib_sid_mask =
			htobe64(RDMA_IB_IP_PS_MASK | (port ? RDMA_IB_IP_PORT_MASK : 0)),
	};

	memcpy(&ib.sib_addr, &from->sin6_addr, sizeof(ib.sib_addr));
	return copy_address((struct sockaddr *)&ib, sizeof(ib), ret, ret_length);
}

/* The answer's address goes to the side that the hints mean. */
static int take_address(struct rdma_addrinfo *rai, const struct addrinfo *ai, bool ib)
{
	bool passive = rai->ai_flags & RAI_PASSIVE;
	struct sockaddr **addr = passive ? &rai->ai_src_addr : &rai->ai_dst_addr;
	socklen_t *length = passive ? &rai->ai_src_len : &rai->ai_dst_len;

	if (!ib)
		return copy_address(ai->ai_addr, ai->ai_addrlen, addr, length);
	rai->ai_family = AF_IB;
	return copy_ib_address((struct sockaddr_in6 *)ai->ai_addr, rai->ai_port_space,
			       addr, length);
}

static int take_name(struct rdma_addrinfo *rai, const struct addrinfo *ai)
{
	char *name;

	if (!ai->ai_canonname)
		return 0;
	name = strdup(ai->ai_canonname);
	if (!name)
		return -ENOMEM;
	if (rai->ai_flags & RAI_PASSIVE)
		rai->ai_src_canonname = name;
	else
		rai->ai_dst_canonname = name;
	return 0;
}

static void take_types(struct rdma_addrinfo *rai, const struct addrinfo *ai,
		       const struct rdma_addrinfo *hints)
{
	bool datagram = hints && ai->ai_socktype == SOCK_DGRAM;

	rai->ai_qp_type = hints ? hints->ai_qp_type : 0;
	if (!rai->ai_qp_type)
		rai->ai_qp_type = datagram ? IBV_QPT_UD : IBV_QPT_RC;
	rai->ai_port_space = hints ? hints->ai_port_space : 0;
	if (!rai->ai_port_space)
		rai->ai_port_space = datagram ? RDMA_PS_UDP : RDMA_PS_TCP;
}

/* 0, an EAI_ code (negative), or -1 with errno. */
static int ask_system(const char *node, const char *service,
		      const struct rdma_addrinfo *hints, struct rdma_addrinfo *rai)
{
	struct addrinfo ai_hints, *ai;
	int r;

	if (hints)
		translate_hints(hints, &ai_hints);
	r = getaddrinfo(node, service, hints ? &ai_hints : NULL, &ai);
	if (r)
		return r;
	rai->ai_flags = hints ? hints->ai_flags : 0;
	rai->ai_family = ai->ai_family;
	take_types(rai, ai, hints);
	r = take_address(rai, ai, wants_ib(hints));
	if (r == 0)
		r = take_name(rai, ai);
	freeaddrinfo(ai);
	return cm_result(r);
}

/* Without a name everything is in the hints. */
static int copy_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo *rai)
{
	rai->ai_flags = hints->ai_flags;
	rai->ai_family = hints->ai_family;
	rai->ai_qp_type = hints->ai_qp_type;
	rai->ai_port_space = hints->ai_port_space;
	if (!hints->ai_dst_len)
		return 0;
	return cm_result(copy_address(hints->ai_dst_addr, hints->ai_dst_len,
				      &rai->ai_dst_addr, &rai->ai_dst_len));
}

static int fill(const char *node, const char *service, const struct rdma_addrinfo *hints,
		struct rdma_addrinfo *rai)
{
	int r;

	if (node || service)
		r = ask_system(node, service, hints, rai);
	else
		r = copy_hints(hints, rai);
	if (r || !hints || rai->ai_src_len || !hints->ai_src_len)
		return r;
	return cm_result(copy_address(hints->ai_src_addr, hints->ai_src_len,
				      &rai->ai_src_addr, &rai->ai_src_len));
}

VC_EXPORT int rdma_getaddrinfo(const char *node, const char *service,
			       const struct rdma_addrinfo *hints,
			       struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *rai;
	int r;

	if (!node && !service && !hints)
		return cm_result(-EINVAL);
	rai = calloc(1, sizeof(*rai));
	if (!rai)
		return cm_result(-ENOMEM);
	r = fill(node, service, hints, rai);
	if (r) {
		rdma_freeaddrinfo(rai);
		return r;
	}
	*res = rai;
	return 0;
}

VC_EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	struct rdma_addrinfo *next;

	for (; res; res = next) {
		next = res->ai_next;
		free(res->ai_connect);
		free(res->ai_route);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res);
	}
}
