/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ZeroMQ publish and subscribe over its ipc transport (Unix sockets), at default tuning
 * but for the queue lengths, which are unlimited so that nothing is dropped.
 */
#include <errno.h>
#include <stdio.h>
#include <zmq.h>

#include "harness/buffers.h"
#include "transport/transport.h"

#define SUBSCRIBE_TIMEOUT_MS 5000

struct zmq_endpoint {
	struct endpoint endpoint;
	void *context;
	void *out; /* XPUB: it hears who subscribes */
	void *in;
	struct buffers source, sink;
};

/* An abstract name: nothing is left in the file system, whoever is killed. */
static void socket_path(char path[64], uint32_t run, unsigned int worker)
{
	snprintf(path, 64, "ipc://@verbcast-bench-%u-%u", run, worker);
}

static int bind_out(struct zmq_endpoint *z, const struct endpoint_config *c)
{
	int unlimited = 0, none = 0, every = 1, timeout = SUBSCRIBE_TIMEOUT_MS;
	char path[64];

	z->out = zmq_socket(z->context, ZMQ_XPUB);
	if (!z->out)
		return -errno;
	zmq_setsockopt(z->out, ZMQ_SNDHWM, &unlimited, sizeof(unlimited));
	zmq_setsockopt(z->out, ZMQ_LINGER, &none, sizeof(none));
	zmq_setsockopt(z->out, ZMQ_XPUB_VERBOSE, &every, sizeof(every));
	zmq_setsockopt(z->out, ZMQ_RCVTIMEO, &timeout, sizeof(timeout));
	socket_path(path, c->run, c->worker);
	return zmq_bind(z->out, path) ? -errno : 0;
}

static int connect_in(struct zmq_endpoint *z, const struct endpoint_config *c)
{
	unsigned int from = c->worker ? 0 : 1, to = c->worker ? 0 : c->receivers;
	int unlimited = 0, none = 0;
	char path[64];

	z->in = zmq_socket(z->context, ZMQ_SUB);
	if (!z->in)
		return -errno;
	zmq_setsockopt(z->in, ZMQ_RCVHWM, &unlimited, sizeof(unlimited));
	zmq_setsockopt(z->in, ZMQ_LINGER, &none, sizeof(none));
	zmq_setsockopt(z->in, ZMQ_SUBSCRIBE, "", 0);
	for (unsigned int w = from; w <= to; w++) {
		socket_path(path, c->run, w);
		if (zmq_connect(z->in, path))
			return -errno;
	}
	return 0;
}

static void zmq_end(struct endpoint *e)
{
	struct zmq_endpoint *z = (struct zmq_endpoint *)e;

	if (z->in)
		zmq_close(z->in);
	if (z->out)
		zmq_close(z->out);
	if (z->context)
		zmq_ctx_term(z->context);
	buffers_fini(&z->source);
	buffers_fini(&z->sink);
	free(z);
}

static int zmq_begin(const struct endpoint_config *c, struct endpoint **ret)
{
	struct zmq_endpoint *z;
	int r = -ENOMEM;

	if (c->sleeps)
		return -EOPNOTSUPP;
	z = calloc(1, sizeof(*z));
	if (!z)
		return -ENOMEM;
	z->context = zmq_ctx_new();
	if (z->context && !buffers_init(&z->source, c->size, 0, c->batch) &&
	    !buffers_init(&z->sink, c->size, 0, BUFFERS_POLL))
		r = bind_out(z, c);
	if (r) {
		zmq_end(&z->endpoint);
		return r;
	}
	for (unsigned int i = 0; i < c->batch; i++)
		message_prepare(buffers_at(&z->source, i), c->size);
	z->endpoint.capacity = UINT32_MAX;
	*ret = &z->endpoint;
	return 0;
}

/* A publisher drops what nobody subscribes to: connect when all are bound, then wait
 * until every subscriber was heard. */
static int zmq_meet(struct endpoint *e)
{
	struct zmq_endpoint *z = (struct zmq_endpoint *)e;
	unsigned int expected = e->config.worker ? 1 : e->config.receivers;
	char subscription[8];
	int r = connect_in(z, &e->config);

	for (unsigned int i = 0; !r && i < expected; i++)
		if (zmq_recv(z->out, subscription, sizeof(subscription), 0) < 0)
			r = -ENOTCONN;
	return r;
}

static void zmq_publish(struct endpoint *e, uint64_t word)
{
	struct zmq_endpoint *z = (struct zmq_endpoint *)e;

	for (unsigned int i = 0; i < e->config.batch; i++) {
		void *source = buffers_at(&z->source, i);

		message_fill(source, e->config.size, word + i);
		zmq_send(z->out, source, e->config.size, 0);
	}
}

static unsigned int zmq_take(struct endpoint *e, struct inbox *in)
{
	struct zmq_endpoint *z = (struct zmq_endpoint *)e;
	unsigned int taken;

	for (taken = 0; taken < BUFFERS_POLL; taken++) {
		void *sink = buffers_at(&z->sink, taken);
		int len = zmq_recv(z->in, sink, e->config.size, ZMQ_DONTWAIT);

		if (len < 0)
			break;
		inbox_take(in, sink, (size_t)len);
	}
	return taken;
}

const struct transport transport_zmq = {
	.name = "zmq",
	.what = "ZeroMQ publish/subscribe, ipc",
	.lossless = true,
	.open = zmq_begin,
	.connect = zmq_meet,
	.send = zmq_publish,
	.receive = zmq_take,
	.close = zmq_end,
};
