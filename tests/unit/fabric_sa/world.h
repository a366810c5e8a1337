/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server over a small subnet, its clients, and time. Requests are written as text:
 *
 *	"H2 set create mgid=ff12::1 js=1 -qkey"
 *
 * host, method, then components of an MCMemberRecord; `create` and `join` name the masks
 * that clients use, `name=value` sets a component and its bit, `-name` takes the bit away,
 * `~name=value` sets the component without its bit. PortGID is the host's own unless
 * `port=H3` says otherwise.
 */
#ifndef FABRIC_SA_WORLD_H
#define FABRIC_SA_WORLD_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "harness/harness.h"
#include "mad/rmpp.h"
#include "unit/fabric_sa/inform.h"
#include "unit/fabric_sa/small_subnet.h"

#define WORLD_SENT_MAX 4096u
#define NO_ANSWER      (-1)

#define JOIN_MASK (SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_JOIN_STATE)
#define CREATE_MASK                                                          \
	(JOIN_MASK | SA_MCM_QKEY | SA_MCM_TCLASS | SA_MCM_PKEY | SA_MCM_SL | \
	 SA_MCM_FLOW_LABEL)

/* A MAD that the server sent. */
struct world_mad {
	struct ib_packet packet;
	struct mad_header mad;
	struct sa_header sa;
	uint8_t bytes[MAD_BYTES];
};

struct world {
	struct timer_queue timers;
	struct random random;
	struct sm sm;
	struct sa_server *server;
	struct world_mad sent[WORLD_SENT_MAX];
	unsigned int sent_count;
	uint64_t tid;
	bool mute; /* sent MADs are counted, not kept */
};

/* A request before it is sent. */
struct world_ask {
	unsigned int host;
	struct mad_header mad;
	struct sa_header sa;
	struct sa_mcmember rec;
	struct rmpp_header rmpp;
	uint8_t data[SA_DATA_BYTES];
	bool raw; /* `data` counts, not `rec` */
};

static inline void world_sent(void *arg, const struct ib_packet *packet)
{
	struct world *w = arg;
	struct world_mad *m = &w->sent[w->mute ? 0 : w->sent_count];

	assert_int_equal(packet->length, MAD_BYTES);
	w->sent_count++;
	if (w->mute)
		return;
	assert_true(w->sent_count < WORLD_SENT_MAX);
	memcpy(m->bytes, packet->payload, MAD_BYTES);
	m->packet = *packet;
	m->packet.payload = m->bytes;
	mad_header_get(m->bytes, &m->mad);
	sa_header_get(m->bytes, &m->sa);
}

static inline void world_init_with(struct world *w, unsigned int hosts,
				   const struct sm_partition *partitions,
				   unsigned int count)
{
	struct sa_server_config config = { .timers = &w->timers,
					   .random = &w->random,
					   .partitions = partitions,
					   .partition_count = count };

	memset(w, 0, sizeof(*w));
	random_seed(&w->random, 1);
	timer_queue_init(&w->timers, 0, NULL, NULL);
	small_subnet_init(&w->sm, hosts, &w->timers);
	w->sm.sent = world_sent;
	w->sm.arg = w;
	assert_int_equal(sa_server_create(&config, &w->server), 0);
	sa_server_set_sm(w->server, &w->sm);
	sa_server_sm_ops.up(w->server);
}

static inline struct world *world_create(unsigned int hosts)
{
	struct world *w = malloc(sizeof(*w));

	assert_non_null(w);
	world_init_with(w, hosts, NULL, 0);
	return w;
}

static inline void world_destroy(struct world *w)
{
	sa_server_destroy(w->server);
	small_subnet_fini(&w->sm);
	free(w);
}

/* What is due within `ns`. */
static inline void world_run(struct world *w, uint64_t ns)
{
	uint64_t end = w->timers.now_ns + ns;

	while (timer_queue_next(&w->timers) <= end)
		timer_queue_run(&w->timers, timer_queue_next(&w->timers));
	timer_queue_run(&w->timers, end);
}

/* -- requests in words --------------------------------------------------------------- */

static inline unsigned int world_host(const char *text)
{
	if (text[0] != 'H')
		fail_msg("no host: %s", text);
	return (unsigned int)strtoul(text + 1, NULL, 10);
}

static inline void world_gid(union ib_gid *gid, const char *text)
{
	if (text[0] == 'H')
		small_gid(gid, SMALL_PREFIX, small_guid(world_host(text)));
	else if (inet_pton(AF_INET6, text, gid->raw) != 1)
		fail_msg("no GID: %s", text);
}

static inline uint8_t world_method(const char *text)
{
	static const struct {
		const char *name;
		uint8_t method;
	} methods[] = {
		{ "set", MAD_METHOD_SET },
		{ "get", MAD_METHOD_GET },
		{ "table", MAD_METHOD_GET_TABLE },
		{ "delete", MAD_METHOD_DELETE },
		{ "multi", MAD_METHOD_GET_MULTI },
		{ "trace", MAD_METHOD_GET_TRACE_TABLE },
		{ "report", MAD_METHOD_REPORT },
	};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (strcmp(methods[i].name, text) == 0)
			return methods[i].method;
	}
	fail_msg("no method: %s", text);
	return 0;
}

struct world_field {
	const char *name;
	uint64_t bits;
	size_t offset, size;
};

#define WORLD_FIELD(name, bits, member)                           \
	{                                                         \
		name, bits, offsetof(struct sa_mcmember, member), \
			sizeof(((struct sa_mcmember *)0)->member) \
	}
static const struct world_field world_fields[] = {
	WORLD_FIELD("mgid", SA_MCM_MGID, mgid),
	WORLD_FIELD("port", SA_MCM_PORT_GID, port_gid),
	WORLD_FIELD("qkey", SA_MCM_QKEY, qkey),
	WORLD_FIELD("mlid", SA_MCM_MLID, mlid),
	WORLD_FIELD("mtusel", SA_MCM_MTU_SELECTOR, mtu_selector),
	WORLD_FIELD("mtu", SA_MCM_MTU, mtu),
	WORLD_FIELD("tclass", SA_MCM_TCLASS, tclass),
	WORLD_FIELD("pkey", SA_MCM_PKEY, pkey),
	WORLD_FIELD("ratesel", SA_MCM_RATE_SELECTOR, rate_selector),
	WORLD_FIELD("rate", SA_MCM_RATE, rate),
	WORLD_FIELD("lifesel", SA_MCM_LIFETIME_SELECTOR, lifetime_selector),
	WORLD_FIELD("life", SA_MCM_LIFETIME, lifetime),
	WORLD_FIELD("sl", SA_MCM_SL, sl),
	WORLD_FIELD("flow", SA_MCM_FLOW_LABEL, flow_label),
	WORLD_FIELD("hop", SA_MCM_HOP_LIMIT, hop_limit),
	WORLD_FIELD("scope", SA_MCM_SCOPE, scope),
	WORLD_FIELD("js", SA_MCM_JOIN_STATE, join_state),
	WORLD_FIELD("proxy", SA_MCM_PROXY_JOIN, proxy_join),
};

static inline const struct world_field *world_field_find(const char *name)
{
	for (size_t i = 0; i < sizeof(world_fields) / sizeof(world_fields[0]); i++) {
		if (strcmp(world_fields[i].name, name) == 0)
			return &world_fields[i];
	}
	return NULL;
}

static inline void world_field_set(const struct world_field *f, struct sa_mcmember *rec,
				   const char *text)
{
	uint8_t *place = (uint8_t *)rec + f->offset;
	unsigned long value;

	if (f->size == 16) {
		world_gid((union ib_gid *)place, text);
		return;
	}
	value = strtoul(text, NULL, 16);
	memcpy(place, &value, f->size); /* little-endian machines, as all of ours */
}

static inline uint64_t world_field_get(const struct world_field *f,
				       const struct sa_mcmember *rec)
{
	uint64_t value = 0;

	memcpy(&value, (const uint8_t *)rec + f->offset, f->size);
	return value;
}

/* "=2048" and the like, as the tables of the specification write them. */
static inline bool world_ask_bound(struct world_ask *ask, const char *name,
				   const char *value)
{
	static const char selectors[] = "><=*";
	const char *at = strchr(selectors, value[0]);
	bool mtu = strcmp(name, "mtu") == 0;

	if (!at || !*at || (!mtu && strcmp(name, "rate") != 0))
		return false;
	if (mtu) {
		ask->rec.mtu_selector = (uint8_t)(at - selectors);
		ask->rec.mtu = (uint8_t)strtoul(value + 1, NULL, 10);
		ask->sa.comp_mask |= SA_MCM_MTU | SA_MCM_MTU_SELECTOR;
	} else {
		ask->rec.rate_selector = (uint8_t)(at - selectors);
		ask->rec.rate = (uint8_t)strtoul(value + 1, NULL, 10);
		ask->sa.comp_mask |= SA_MCM_RATE | SA_MCM_RATE_SELECTOR;
	}
	return true;
}

static inline void world_ask_value(struct world_ask *ask, const char *name,
				   const char *value, bool masked)
{
	const struct world_field *f = world_field_find(name);

	if (world_ask_bound(ask, name, value))
		return;
	if (f) {
		world_field_set(f, &ask->rec, value);
		if (masked)
			ask->sa.comp_mask |= f->bits;
	} else if (strcmp(name, "key") == 0) {
		ask->sa.sm_key = strtoull(value, NULL, 16);
	} else if (strcmp(name, "attr") == 0) {
		ask->mad.attr_id = (uint16_t)strtoul(value, NULL, 16);
	} else if (strcmp(name, "mod") == 0) {
		ask->mad.attr_mod = (uint32_t)strtoul(value, NULL, 16);
	} else if (strcmp(name, "version") == 0) {
		ask->mad.class_version = (uint8_t)strtoul(value, NULL, 16);
	} else if (strcmp(name, "rmpp") == 0) {
		ask->rmpp.flags = (uint8_t)strtoul(value, NULL, 16);
	} else {
		fail_msg("no component: %s", name);
	}
}

static inline void world_ask_word(struct world_ask *ask, char *word)
{
	char *value = strchr(word, '=');

	if (strcmp(word, "create") == 0) {
		ask->sa.comp_mask |= CREATE_MASK;
		ask->rec.qkey = 0x1234;
		ask->rec.pkey = 0xffff;
	} else if (strcmp(word, "join") == 0) {
		ask->sa.comp_mask |= JOIN_MASK;
	} else if (word[0] == '-') {
		ask->sa.comp_mask &= ~world_field_find(word + 1)->bits;
	} else if (value) {
		*value = 0;
		world_ask_value(ask, word + (word[0] == '~'), value + 1, word[0] != '~');
	} else {
		fail_msg("no word: %s", word);
	}
}

static inline void world_ask_parse(struct world *w, struct world_ask *ask,
				   const char *text)
{
	char copy[256], *word, *save;

	memset(ask, 0, sizeof(*ask));
	ask->mad = (struct mad_header){ .base_version = 1,
					.mgmt_class = MAD_CLASS_SUBN_ADM,
					.class_version = 2,
					.tid = 0x100000000ull + ++w->tid,
					.attr_id = SA_MCMEMBER_RECORD };
	snprintf(copy, sizeof(copy), "%s", text);
	ask->host = world_host(strtok_r(copy, " ", &save));
	ask->mad.method = world_method(strtok_r(NULL, " ", &save));
	small_gid(&ask->rec.port_gid, SMALL_PREFIX, small_guid(ask->host));
	while ((word = strtok_r(NULL, " ", &save)))
		world_ask_word(ask, word);
}

static inline void world_ask_put(const struct world_ask *ask, uint8_t bytes[MAD_BYTES])
{
	memset(bytes, 0, MAD_BYTES);
	mad_header_put(bytes, &ask->mad);
	rmpp_header_put(bytes, &ask->rmpp);
	sa_header_put(bytes, &ask->sa);
	if (ask->raw)
		memcpy(bytes + SA_DATA, ask->data, SA_DATA_BYTES);
	else
		sa_mcmember_put(bytes + SA_DATA, &ask->rec);
}

static inline void world_deliver(struct world *w, unsigned int host,
				 const uint8_t bytes[MAD_BYTES])
{
	struct ib_packet packet = small_packet((uint16_t)host, 1, bytes, MAD_BYTES);

	sa_server_sm_ops.receive(w->server, &packet);
}

static inline void world_ask_send(struct world *w, const struct world_ask *ask)
{
	uint8_t bytes[MAD_BYTES];

	world_ask_put(ask, bytes);
	world_deliver(w, ask->host, bytes);
}

/* The answer to a request that was sent, if it has come. */
static inline const struct world_mad *world_answer(const struct world *w,
						   const struct world_ask *ask)
{
	for (unsigned int i = 0; i < w->sent_count; i++) {
		const struct world_mad *m = &w->sent[i];

		if (m->mad.tid == ask->mad.tid && m->packet.dlid == ask->host &&
		    (m->mad.method & MAD_METHOD_RESPONSE))
			return m;
	}
	return NULL;
}

/* Ask, let everything happen that is due, and see. Null: no answer. */
static inline const struct world_mad *world_do(struct world *w,
					       const struct world_ask *ask)
{
	w->sent_count = 0;
	world_ask_send(w, ask);
	world_run(w, 0);
	return world_answer(w, ask);
}

/* The answer to a subscription, or to its end; null: none. */
static inline const struct world_mad *world_inform(struct world *w, unsigned int host,
						   uint64_t key,
						   const struct sa_inform_info *info)
{
	struct world_ask ask;
	char text[32];

	snprintf(text, sizeof(text), "H%u set attr=3", host);
	world_ask_parse(w, &ask, text);
	ask.raw = true;
	ask.sa.sm_key = key;
	sa_inform_info_put(ask.data, info);
	return world_do(w, &ask);
}

/* A request of another attribute than MCMemberRecord. */
static inline struct world_ask world_ask_of(struct world *w, const char *text,
					    uint64_t mask)
{
	struct world_ask ask;

	world_ask_parse(w, &ask, text);
	ask.raw = true;
	ask.sa.comp_mask = mask;
	return ask;
}

static inline int world_status(struct world *w, const char *text)
{
	const struct world_mad *m;
	struct world_ask ask;

	world_ask_parse(w, &ask, text);
	m = world_do(w, &ask);
	return m ? m->mad.status : NO_ANSWER;
}

/* The record that answers; the status must be 0. */
static inline struct sa_mcmember world_record(struct world *w, const char *text)
{
	const struct world_mad *m;
	struct world_ask ask;
	struct sa_mcmember rec;

	world_ask_parse(w, &ask, text);
	m = world_do(w, &ask);
	if (!m || m->mad.status)
		fail_msg("%s: %x", text, m ? m->mad.status : 0xffffu);
	sa_mcmember_get(m->bytes + SA_DATA, &rec);
	return rec;
}

#define world_assert(w, text, status) assert_int_equal(world_status(w, text), status)

/* -- tables -------------------------------------------------------------------------- */

/* The answer to a GetTable as a client has it, through RMPP. */
struct world_table {
	struct world *w;
	struct world_ask ask;
	struct rmpp_receiver *receiver;
	unsigned int taken; /* of what the server sent */
	bool done;
	int error;
	struct sa_header sa;
	unsigned int count, stride;
	uint8_t *records;
};

static inline void world_table_ack(void *arg, const uint8_t mad[MAD_BYTES])
{
	struct world_table *t = arg;

	world_deliver(t->w, t->ask.host, mad);
}

static inline void world_table_done(void *arg, int error, const uint8_t *message,
				    size_t length)
{
	struct world_table *t = arg;

	t->done = true;
	t->error = error;
	if (error)
		return;
	sa_header_get(message, &t->sa);
	t->stride = t->sa.attr_offset * 8u;
	assert_true(length >= SA_DATA);
	length -= SA_DATA;
	assert_int_equal(t->stride ? length % t->stride : length, 0);
	t->count = t->stride ? (unsigned int)(length / t->stride) : 0;
	t->records = malloc(length + 1);
	memcpy(t->records, message + SA_DATA, length);
}

static inline void world_table_begin(struct world *w, struct world_table *t,
				     const struct world_ask *ask)
{
	struct rmpp_receiver_config config = { .timers = &w->timers,
					       .timeout_ns = 10000 * TIMER_MS,
					       .send = world_table_ack,
					       .done = world_table_done,
					       .arg = t };

	memset(t, 0, sizeof(*t));
	t->w = w;
	t->ask = *ask;
	assert_int_equal(rmpp_receiver_create(&config, &t->receiver), 0);
	world_ask_send(w, ask);
}

/* Take what has been sent for it; the answer may make more be sent. */
static inline void world_table_step(struct world_table *t)
{
	struct world *w = t->w;

	while (t->taken < w->sent_count) {
		const struct world_mad *m = &w->sent[t->taken++];

		if (m->mad.tid == t->ask.mad.tid &&
		    m->mad.method == (t->ask.mad.method | MAD_METHOD_RESPONSE) &&
		    !m->mad.status)
			rmpp_receiver_receive(t->receiver, m->bytes);
	}
}

static inline void world_table_end(struct world_table *t)
{
	rmpp_receiver_destroy(t->receiver);
	free(t->records);
}

static inline void world_table_get(struct world *w, struct world_table *t,
				   const struct world_ask *ask)
{
	w->sent_count = 0;
	world_table_begin(w, t, ask);
	for (unsigned int i = 0; i < WORLD_SENT_MAX && !t->done; i++) {
		world_run(w, 0);
		world_table_step(t);
	}
	assert_true(t->done);
	assert_int_equal(t->error, 0);
	/* The last acknowledgement ends the server's side. */
	world_run(w, 0);
}

/* So many records answer. */
static inline unsigned int world_count(struct world *w, const char *text)
{
	struct world_table t;
	struct world_ask ask;
	unsigned int count;

	world_ask_parse(w, &ask, text);
	world_table_get(w, &t, &ask);
	count = t.count;
	world_table_end(&t);
	return count;
}

#endif
