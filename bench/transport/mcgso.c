/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UDP multicast with segmentation out (UDP_SEGMENT) and coalescing in (UDP_GRO): the best
 * that sockets can do on one host. One call carries up to 64 KiB or 64 messages.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include "harness/buffers.h"
#include "transport/udp.h"

#define GSO_BYTES    65000u
#define GSO_SEGMENTS 64u

struct mcgso_endpoint {
	struct endpoint endpoint;
	struct udp_pair udp;
	uint8_t *source; /* messages end to end: UDP_SEGMENT cuts one run of bytes */
	uint8_t *sink;
	unsigned int segments; /* messages a call */
};

static int enable_offload(struct udp_pair *p, size_t size)
{
	int segment = (int)size, on = 1;

	if (setsockopt(p->out, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)) ||
	    setsockopt(p->in, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)))
		return -errno;
	return 0;
}

static int mcgso_open(const struct endpoint_config *c, struct endpoint **ret)
{
	struct mcgso_endpoint *m;
	int r = -ENOMEM;

	/* One message a call is plain UDP multicast. */
	if (c->batch == 1 || c->sleeps)
		return -EOPNOTSUPP;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->source = malloc(c->batch * c->size);
	m->sink = malloc((1 << 16) + MESSAGE_MTU);
	if (!m->source || !m->sink)
		goto free_endpoint;
	for (unsigned int i = 0; i < c->batch; i++)
		message_prepare(m->source + i * c->size, c->size);
	r = udp_open(&m->udp, c);
	if (r)
		goto free_endpoint;
	r = enable_offload(&m->udp, c->size);
	if (r)
		goto close_sockets;
	m->segments = (unsigned int)(GSO_BYTES / c->size);
	if (m->segments > GSO_SEGMENTS)
		m->segments = GSO_SEGMENTS;
	m->endpoint.capacity = m->udp.capacity;
	*ret = &m->endpoint;
	return 0;

close_sockets:
	udp_close(&m->udp);
free_endpoint:
	free(m->sink);
	free(m->source);
	free(m);
	return r;
}

static void mcgso_send(struct endpoint *e, uint64_t word)
{
	struct mcgso_endpoint *m = (struct mcgso_endpoint *)e;
	unsigned int batch = e->config.batch, sent, n;
	size_t size = e->config.size;

	for (unsigned int i = 0; i < batch; i++)
		message_fill(m->source + i * size, size, word + i);
	for (sent = 0; sent < batch; sent += n) {
		n = batch - sent < m->segments ? batch - sent : m->segments;
		sendto(m->udp.out, m->source + sent * size, n * size, 0,
		       (struct sockaddr *)&m->udp.to, sizeof(m->udp.to));
	}
}

static unsigned int mcgso_receive(struct endpoint *e, struct inbox *in)
{
	struct mcgso_endpoint *m = (struct mcgso_endpoint *)e;
	unsigned int taken = 0;
	ssize_t len = recv(m->udp.in, m->sink, 1 << 16, MSG_DONTWAIT);

	/* All messages are of one size, so the segment size need not be asked for. */
	for (ssize_t at = 0; at < len; at += (ssize_t)e->config.size, taken++) {
		size_t rest = (size_t)(len - at);

		inbox_take(in, m->sink + at,
			   rest < e->config.size ? rest : e->config.size);
	}
	return taken;
}

static void mcgso_close(struct endpoint *e)
{
	struct mcgso_endpoint *m = (struct mcgso_endpoint *)e;

	udp_close(&m->udp);
	free(m->source);
	free(m->sink);
	free(m);
}

const struct transport transport_mcgso = {
	.name = "mcgso",
	.what = "UDP multicast with UDP_SEGMENT and UDP_GRO, batches only",
	.open = mcgso_open,
	.send = mcgso_send,
	.receive = mcgso_receive,
	.close = mcgso_close,
};
