/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UDP multicast on loopback: what a user without RDMA writes first. Batches of one go by
 * sendto and recv, larger ones by sendmmsg and recvmmsg.
 */
#include <errno.h>
#include <sys/socket.h>

#include "harness/buffers.h"
#include "transport/udp.h"

struct mcast_endpoint {
	struct endpoint endpoint;
	struct udp_pair udp;
	struct buffers source, sink;
	struct iovec source_iov[BUFFERS_POLL], sink_iov[BUFFERS_POLL];
	struct mmsghdr outgoing[BUFFERS_POLL], incoming[BUFFERS_POLL];
};

static void prepare_headers(struct mcast_endpoint *m)
{
	const struct endpoint_config *c = &m->endpoint.config;

	for (unsigned int i = 0; i < c->batch; i++) {
		message_prepare(buffers_at(&m->source, i), c->size);
		m->source_iov[i] = (struct iovec){ buffers_at(&m->source, i), c->size };
		m->outgoing[i].msg_hdr.msg_iov = &m->source_iov[i];
		m->outgoing[i].msg_hdr.msg_iovlen = 1;
		m->outgoing[i].msg_hdr.msg_name = &m->udp.to;
		m->outgoing[i].msg_hdr.msg_namelen = sizeof(m->udp.to);
	}
	for (unsigned int i = 0; i < BUFFERS_POLL; i++) {
		m->sink_iov[i] = (struct iovec){ buffers_at(&m->sink, i), c->size };
		m->incoming[i].msg_hdr.msg_iov = &m->sink_iov[i];
		m->incoming[i].msg_hdr.msg_iovlen = 1;
	}
}

static int mcast_open(const struct endpoint_config *c, struct endpoint **ret)
{
	struct mcast_endpoint *m;
	int r;

	if (c->batch > BUFFERS_POLL)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->endpoint.config = *c;
	r = udp_open(&m->udp, c);
	if (r)
		goto free_endpoint;
	r = -ENOMEM;
	if (buffers_init(&m->source, c->size, 0, c->batch) ||
	    buffers_init(&m->sink, c->size, 0, BUFFERS_POLL))
		goto free_buffers;
	m->endpoint.capacity = m->udp.capacity;
	prepare_headers(m);
	*ret = &m->endpoint;
	return 0;

free_buffers:
	buffers_fini(&m->source);
	udp_close(&m->udp);
free_endpoint:
	free(m);
	return r;
}

static void mcast_send(struct endpoint *e, uint64_t word)
{
	struct mcast_endpoint *m = (struct mcast_endpoint *)e;
	unsigned int batch = e->config.batch, sent = 0;

	for (unsigned int i = 0; i < batch; i++)
		message_fill(buffers_at(&m->source, i), e->config.size, word + i);
	if (batch == 1) {
		sendto(m->udp.out, m->source.memory, e->config.size, 0,
		       (struct sockaddr *)&m->udp.to, sizeof(m->udp.to));
		return;
	}
	while (sent < batch) {
		int r = sendmmsg(m->udp.out, m->outgoing + sent, batch - sent, 0);

		/* What cannot be sent the receiver counts as lost. */
		sent += r > 0 ? (unsigned int)r : 1;
	}
}

static unsigned int mcast_receive(struct endpoint *e, struct inbox *in)
{
	struct mcast_endpoint *m = (struct mcast_endpoint *)e;
	int n;

	if (e->config.batch == 1) {
		ssize_t len = recv(m->udp.in, m->sink.memory, e->config.size,
				   MSG_TRUNC | (e->config.sleeps ? 0 : MSG_DONTWAIT));

		if (len < 0)
			return 0;
		inbox_take(in, m->sink.memory, (size_t)len);
		return 1;
	}
	n = recvmmsg(m->udp.in, m->incoming, BUFFERS_POLL, MSG_DONTWAIT | MSG_TRUNC,
		     NULL);
	for (int i = 0; i < n; i++)
		inbox_take(in, buffers_at(&m->sink, (unsigned int)i),
			   m->incoming[i].msg_len);
	return n > 0 ? (unsigned int)n : 0;
}

/* The call that receives has slept already. */
static void mcast_wait(struct endpoint *e)
{
}

static void mcast_close(struct endpoint *e)
{
	struct mcast_endpoint *m = (struct mcast_endpoint *)e;

	buffers_fini(&m->source);
	buffers_fini(&m->sink);
	udp_close(&m->udp);
	free(m);
}

const struct transport transport_mcast = {
	.name = "mcast",
	.what = "UDP multicast on loopback (sendto; sendmmsg for batches)",
	.open = mcast_open,
	.send = mcast_send,
	.receive = mcast_receive,
	.wait = mcast_wait,
	.close = mcast_close,
};
