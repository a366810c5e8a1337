/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations about the site itself: hello, leases, status, stop, and what processes
 * ask about each other's memory. What these mean the daemon knows (struct uapi_site_ops);
 * here the fields are checked.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pidfd.h"
#include "uapi/server/server_priv.h"

static struct connection *connection_of(struct uapi_client *client)
{
	return container_of(client, struct connection, client);
}

static const struct uapi_server_config *config_of(struct uapi_client *client)
{
	return &connection_of(client)->server->config;
}

static bool is_string(const char *s, size_t size)
{
	return memchr(s, 0, size) != NULL;
}

/* A program's name goes into people's terminals and into JSON: printable ASCII only. */
static void copy_printable(char *to, const char *from, size_t size)
{
	size_t i;

	for (i = 0; i + 1 < size && from[i]; i++)
		to[i] = from[i] >= 0x20 && from[i] < 0x7f ? from[i] : '?';
	to[i] = '\0';
}

static uint32_t count_devices(struct ib_node *node)
{
	uint32_t n = 0;

	while (ib_node_device(node, n))
		n++;
	return n;
}

/* -- hello -------------------------------------------------------------------------- */

/* The first three words are the same in every version, the rest only in ours. */
static int check_version(const struct uapi_server_config *config,
			 const struct uapi_hello *h, size_t bytes)
{
	if (bytes < offsetof(struct uapi_hello, pid) || h->magic != UAPI_MAGIC)
		return -EINVAL;
	if (h->version != UAPI_VERSION)
		return -EPROTO;
	if (bytes != sizeof(*h))
		return -EINVAL;
	/* A tool maps nothing, so it may be of another layout. */
	if (!(h->flags & UAPI_HELLO_TOOL) && h->layout_version != config->layout_version)
		return -EPROTO;
	return 0;
}

static int check_hello(const struct uapi_hello *h, const struct uapi_fds *fds)
{
	if (h->flags & ~(uint32_t)UAPI_HELLO_TOOL || h->reserved || fds->in_count > 1)
		return -EINVAL;
	if (!is_string(h->node, sizeof(h->node)) ||
	    !is_string(h->program, sizeof(h->program)))
		return -EINVAL;
	return 0;
}

/* Watch the process behind the connection. A client that sends no descriptor gets one
 * of our making, unless the kernel has none at all. */
static int adopt_pidfd(struct connection *c, const struct uapi_hello *h,
		       struct uapi_fds *fds)
{
	pid_t inner = (pid_t)h->pid;
	int fd, r;

	fd = fds->in_count ? fds->in[0] : pidfd_open_process(c->pid);
	if (fd == -ENOSYS)
		return 0;
	if (fd < 0)
		return fd;
	r = connection_check_pidfd(c, fd, &inner);
	if (!r && inner != (pid_t)h->pid)
		r = -EPERM;
	if (!r)
		r = connection_watch_pidfd(c, fd);
	if (r < 0) {
		if (!fds->in_count)
			close(fd);
		return r;
	}
	fds->in[0] = -1; /* taken over, where it came from there */
	return 0;
}

static int open_modules(struct connection *c, struct ib_node *node, uint32_t slot)
{
	struct uapi_server *s = c->server;
	int r;

	c->client = (struct uapi_client){
		.server = s,
		.loop = s->config.loop,
		.limits = &s->config.limits,
		.node = node,
		.slot = slot,
		.privileged = c->uid == 0,
	};
	r = verbs_client_open(&c->client);
	if (!r)
		r = cm_client_open(&c->client);
	if (r < 0) {
		cm_client_close(&c->client);
		verbs_client_close(&c->client);
	}
	return r;
}

static int hello_process(struct connection *c, struct ib_node *node,
			 const struct uapi_hello *h, struct uapi_hello_reply *reply,
			 struct uapi_fds *fds)
{
	const struct uapi_server_config *config = &c->server->config;
	struct uapi_process process;
	char program[64];
	int event_fd, r;

	if (c->server->process_count >= config->limits.max_clients)
		return -EUSERS;
	copy_printable(program, h->program, sizeof(program));
	r = connection_open_events(c, &event_fd);
	if (r < 0)
		return r;
	r = config->ops->process_open(config->arg, node, c->pid, program, &process);
	if (r < 0)
		goto close_event;
	r = open_modules(c, node, process.slot);
	if (r < 0)
		goto close_process;
	reply->slot = process.slot;
	reply->incarnation = process.incarnation;
	reply->tables_bytes = config->ops->tables_bytes(config->arg);
	fds->out[0] = event_fd;
	fds->out[1] = config->ops->tables_fd(config->arg);
	fds->out[2] = process.doorbell_fd;
	fds->out[3] = process.counters_fd;
	fds->out_count = 4;
	fds->close_out = 1u << 0;
	c->state = CONNECTION_PROCESS;
	c->server->process_count++;
	uapi_server_presence(c->server, false);
	return 0;

close_process:
	config->ops->process_close(config->arg, process.slot);
close_event:
	close(event_fd);
	return r;
}

int site_hello(struct connection *c, const void *body, size_t bytes,
	       struct uapi_hello_reply *reply, struct uapi_fds *fds)
{
	const struct uapi_server_config *config = &c->server->config;
	const struct uapi_hello *h = body;
	struct ib_node *node;
	int r;

	reply->version = UAPI_VERSION;
	reply->layout_version = config->layout_version;
	copy_printable(reply->site, config->ops->site_name(config->arg),
		       sizeof(reply->site));
	copy_printable(reply->release, VERBCAST_VERSION, sizeof(reply->release));
	r = check_version(config, h, bytes);
	if (!r)
		r = check_hello(h, fds);
	if (!r)
		r = adopt_pidfd(c, h, fds);
	if (r < 0)
		return r;
	node = config->ops->find_node(config->arg, h->node);
	if (!node)
		return -ENODEV;
	reply->devices = count_devices(node);
	reply->node = ib_node_index(node);
	if (!(h->flags & UAPI_HELLO_TOOL))
		return hello_process(c, node, h, reply, fds);
	c->client.server = c->server;
	c->client.loop = config->loop;
	c->client.limits = &config->limits;
	c->client.node = node;
	c->state = CONNECTION_TOOL;
	return 0;
}

void site_goodbye(struct connection *c)
{
	const struct uapi_server_config *config = &c->server->config;

	umad_client_close(&c->client);
	if (c->state != CONNECTION_PROCESS)
		return;
	cm_client_close(&c->client);
	verbs_client_close(&c->client);
	config->ops->process_close(config->arg, c->client.slot);
	c->server->process_count--;
	uapi_server_presence(c->server, false);
}

/* -- leases, status, stop ----------------------------------------------------------- */

static int site_lease(struct uapi_client *client, const void *request, void *reply,
		      struct uapi_fds *fds)
{
	struct connection *c = connection_of(client);
	const struct uapi_lease *l = request;
	pid_t inner;
	int r;

	if (l->flags > 1 || l->reserved || fds->in_count != 1)
		return -EINVAL;
	r = connection_check_pidfd(c, fds->in[0], &inner);
	if (r < 0)
		return r;
	r = uapi_lease_add(c->server, c->pid, fds->in[0], l->flags);
	if (r < 0)
		return r;
	fds->in[0] = -1;
	return 0;
}

static int site_status(struct uapi_client *client, const void *request, void *reply,
		       struct uapi_fds *fds)
{
	const struct uapi_server_config *config = config_of(client);
	struct uapi_status_reply *s = reply;
	int r;

	r = config->ops->status(config->arg, &fds->out[0], &s->bytes);
	if (r < 0)
		return r;
	fds->out_count = 1;
	fds->close_out = 1u << 0;
	return 0;
}

static int site_stop(struct uapi_client *client, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	const struct uapi_server_config *config = config_of(client);

	log_info("stopped by process %d", (int)connection_of(client)->pid);
	config->ops->stop(config->arg);
	return 0;
}

/* -- what processes ask about each other -------------------------------------------- */

static int site_map_peer(struct uapi_client *client, const void *request, void *reply,
			 struct uapi_fds *fds)
{
	const struct uapi_server_config *config = config_of(client);
	struct uapi_peer peer = { .doorbell_fd = -1, .log_fd = -1, .process_fd = -1 };
	const struct uapi_map_peer *q = request;
	struct uapi_map_peer_reply *a = reply;
	int r;

	if (q->reserved)
		return -EINVAL;
	r = config->ops->map_peer(config->arg, client->slot, q->slot, &peer);
	if (r < 0)
		return r;
	a->incarnation = peer.incarnation;
	a->dead = peer.dead;
	a->has_doorbell = peer.doorbell_fd >= 0;
	a->has_log = peer.log_fd >= 0;
	a->has_process = peer.process_fd >= 0;
	if (a->has_doorbell)
		fds->out[fds->out_count++] = peer.doorbell_fd;
	if (a->has_log)
		fds->out[fds->out_count++] = peer.log_fd;
	if (a->has_process)
		fds->out[fds->out_count++] = peer.process_fd;
	return 0;
}

static int site_publish_log(struct uapi_client *client, const void *request, void *reply,
			    struct uapi_fds *fds)
{
	const struct uapi_server_config *config = config_of(client);
	int r;

	if (fds->in_count != 1)
		return -EINVAL;
	r = config->ops->publish_log(config->arg, client->slot, fds->in[0]);
	if (!r)
		fds->in[0] = -1;
	return r;
}

static int site_drained(struct uapi_client *client, const void *request, void *reply,
			struct uapi_fds *fds)
{
	const struct uapi_server_config *config = config_of(client);
	const struct uapi_drained *d = request;

	return config->ops->drained(config->arg, client->slot, d->slot, d->incarnation);
}

const struct uapi_command site_commands[] = {
	{ UAPI_LEASE, site_lease },
	{ UAPI_STATUS, site_status },
	{ UAPI_STOP, site_stop },
	{ UAPI_MAP_PEER, site_map_peer },
	{ UAPI_PUBLISH_LOG, site_publish_log },
	{ UAPI_DRAINED, site_drained },
	{ 0, NULL },
};
