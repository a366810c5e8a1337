/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of `verbcast run --netns`, ops 9 to 11. Network namespaces are made by
 * whoever first needs one, and live here, as descriptors: one for each node, and one in
 * which those are bridged to each other. verbcastd does not enter them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/nsfs.h>

#include "core/ipoib/ipoib.h"
#include "uapi/server/server_priv.h"

#define IP4_PREFIX 15u
#define IP6_PREFIX 64u

/* Its place, or null: no memory. */
static int *place_of(struct uapi_netns_store *store, uint32_t index)
{
	int *fds;

	if (index < store->count)
		return &store->fds[index];
	fds = realloc(store->fds, (index + 1) * sizeof(*fds));
	if (!fds)
		return NULL;
	store->fds = fds;
	while (store->count <= index)
		fds[store->count++] = -1;
	return &fds[index];
}

/* The hub's place is the first, behind it are the nodes'. */
static int find(struct uapi_client *c, const struct uapi_netns *which, int **ret)
{
	uint32_t index = 0;

	if (which->reserved || which->which > UAPI_NETNS_NODE)
		return -EINVAL;
	if (which->which == UAPI_NETNS_NODE)
		index = 1 + ib_node_index(c->node);
	*ret = place_of(&c->server->netns, index);
	return *ret ? 0 : -ENOMEM;
}

static bool is_network_namespace(int fd)
{
	return ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET;
}

static int netns_get(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	int *place;
	int r = find(c, request, &place);

	if (r < 0)
		return r;
	if (*place < 0)
		return -ENOENT;
	fds->out[0] = *place;
	fds->out_count = 1;
	return 0;
}

static int netns_put(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	int *place;
	int r = find(c, request, &place);

	if (r < 0)
		return r;
	if (fds->in_count != 1 || !is_network_namespace(fds->in[0]))
		return -EINVAL;
	if (*place >= 0)
		return -EEXIST;
	*place = fds->in[0];
	fds->in[0] = -1;
	return 0;
}

static int netns_address(struct uapi_client *c, const void *request, void *reply,
			 struct uapi_fds *fds)
{
	struct uapi_netns_address *a = reply;
	struct ipoib_addresses addresses;

	ipoib_default_addresses(ib_node_index(c->node) + 1, &addresses);
	memcpy(a->ip4, &addresses.ip4.sin_addr, sizeof(a->ip4));
	memcpy(a->ip6, &addresses.ip6.sin6_addr, sizeof(a->ip6));
	a->ip4_prefix = IP4_PREFIX;
	a->ip6_prefix = IP6_PREFIX;
	return 0;
}

void netns_close(struct uapi_netns_store *store)
{
	for (uint32_t i = 0; i < store->count; i++)
		if (store->fds[i] >= 0)
			close(store->fds[i]);
	free(store->fds);
	*store = (struct uapi_netns_store){ 0 };
}

const struct uapi_command netns_commands[] = {
	{ UAPI_NETNS_GET, netns_get },
	{ UAPI_NETNS_PUT, netns_put },
	{ UAPI_NETNS_ADDRESS, netns_address },
	{ 0, NULL },
};
