/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linux's network namespaces are the nodes of a site here: init_net is the first,
 * kapi_node_net (verbcast/kapi.h) any.
 */
#ifndef KAPI_NET_NET_NAMESPACE_H
#define KAPI_NET_NET_NAMESPACE_H

struct net {
	unsigned int node;
};

extern struct net init_net __asm__("kapi_init_net")
	__attribute__((visibility("default")));

#endif
