// SPDX-License-Identifier: BSD-2-Clause
// links: vc_engine
/*
 * The follower of a log against whatever its owner may put there: it ends, reads nothing
 * outside the log, writes nothing outside the posted receives, and completes no more than
 * was posted, with lengths that were possible.
 *
 * The input is a list of stores into the log of another process, 11 bytes each: what,
 * which position, which value. After every few of them the engine runs.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "shm/log.h"

#define SLOT        1u
#define PEER        3u
#define PD          1u
#define LKEY        77u
#define RECEIVES    16u
#define RECEIVE     1064u /* room for 1024 bytes */
#define GUARD       64u
#define STORE_BYTES 11u
#define STORES_MAX  512u
#define TURN_EVERY  4u

static struct shm_tables *tables;
static struct shm_doorbell *doorbell;
static struct shm_counters *counters;
static int log_fd;

enum what {
	WORD_FIRST = 0, /* one of the eight words of a slot */
	WORD_LAST = 7,
	PUBLISH, /* the right sequence word, and the head behind it */
	HEAD,
	PAYLOAD,
	HONEST, /* a datagram to our group with the value for its shape */
	ROLL,   /* the bit in our doorbell, and the sender's state */
	WHATS,
};

static int map_peer(void *arg, uint32_t slot, struct engine_peer *ret)
{
	if (slot != PEER)
		return -2; /* ENOENT */
	ret->incarnation = 1;
	ret->dead = false;
	ret->doorbell_fd = -1;
	ret->log_fd = dup(log_fd);
	return 0;
}

static int publish_log(void *arg, int fd)
{
	return -1;
}

static void drained(void *arg, uint32_t slot, uint32_t incarnation)
{
}

static void cq_event(void *arg, void *context)
{
}

static void async_event(void *arg, enum ibv_event_type event, void *context)
{
}

static const struct engine_ops ops = { map_peer, publish_log, drained, cq_event,
				       async_event };

static void site_open(void)
{
	uint8_t mgid[16] = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 1 };
	uint32_t entry;
	int fd;

	if (shm_tables_create(&fd, &tables) < 0 ||
	    shm_doorbell_create(SLOT, 1, &fd) < 0 ||
	    shm_doorbell_map(fd, &doorbell) < 0 || shm_counters_create(SLOT, &fd) < 0 ||
	    shm_counters_map(fd, 1, &counters) < 0 ||
	    shm_group_link(tables, 0, mgid, 0, &entry) < 0)
		abort();
	tables->ports[0].link_layer = SHM_LINK_ETHERNET;
	tables->ports[0].pkeys[0] = 0xffff;
	tables->ports[0].gids[0].type = SHM_GID_ROCE_V2;
	tables->ports[0].gids[0].gid[15] = 1;
	tables->ports[0].gids[0].valid = 1;
}

static void store(struct shm_log *log, const uint8_t *data)
{
	uint16_t position = (uint16_t)(data[1] | data[2] << 8);
	struct shm_log_slot *slot = &log->slots[position % SHM_LOG_SLOTS];
	_Atomic uint64_t *words = &slot->sequence;
	uint64_t value;

	memcpy(&value, data + 3, 8);
	switch (data[0] % WHATS) {
	case PUBLISH:
		atomic_store(&slot->sequence, 2 * ((uint64_t)position + 1));
		atomic_store(&log->h.head, (uint64_t)position + 2);
		break;
	case HEAD:
		atomic_store(&log->h.head, value);
		break;
	case PAYLOAD:
		memcpy(log->payload + value % (SHM_LOG_PAYLOAD - 8), &value, 8);
		break;
	case HONEST:
		atomic_store(&slot->generation, 100);
		atomic_store(&slot->route, shm_log_pair(0, position));
		atomic_store(&slot->numbers, shm_log_pair(0xffffff, 0x11));
		atomic_store(&slot->keys, shm_log_pair(5, 0));
		atomic_store(&slot->gids, 0);
		atomic_store(&slot->shape, (value & ~0xffff0000ull) | 0xffff0000ull);
		break;
	case ROLL:
		atomic_store(&doorbell->words[0], value);
		atomic_store(&tables->slots[PEER].state, (uint32_t)(value >> 32) % 3);
		break;
	default:
		atomic_store(&words[data[0] % WHATS], value);
		break;
	}
}

struct client {
	struct engine *engine;
	struct engine_cq *cq;
	struct engine_qp *qp;
	uint8_t *memory;
	uint32_t completed;
};

static void client_open(struct client *c)
{
	const struct engine_config config = { .tables = tables,
					      .doorbell = doorbell,
					      .counters = counters,
					      .slot = SLOT,
					      .incarnation = 1,
					      .ops = &ops };
	struct engine_qp_config qp = { .qpn = 0x22,
				       .type = IBV_QPT_UD,
				       .pd = PD,
				       .cap = { .max_recv_wr = RECEIVES,
						.max_recv_sge = 2 } };
	const struct engine_qp_attr attr = { .state = IBV_QPS_RTR,
					     .port_num = 1,
					     .qkey = 5 };
	size_t bytes = RECEIVES * (RECEIVE + GUARD);

	c->memory = malloc(bytes);
	if (!c->memory || engine_open(&config, &c->engine) < 0 ||
	    engine_cq_create(c->engine, 64, NULL, &c->cq) < 0 ||
	    engine_mr_add(c->engine, PD, LKEY, c->memory, 0, bytes,
			  IBV_ACCESS_LOCAL_WRITE) < 0)
		abort();
	memset(c->memory, 0xa5, bytes);
	qp.send_cq = qp.recv_cq = c->cq;
	if (engine_qp_create(c->engine, &qp, &c->qp) < 0)
		abort();
	engine_qp_modify(c->qp, &attr);
	engine_qp_attach(c->qp, 0, 100, 0);
	for (uint32_t i = 0; i < RECEIVES; i++) {
		uint64_t at = (uint64_t)i * (RECEIVE + GUARD);
		struct ibv_sge sge[2] = { { at, 100, LKEY },
					  { at + 100, RECEIVE - 100, LKEY } };
		struct ibv_recv_wr *bad,
			wr = { .wr_id = i, .sg_list = sge, .num_sge = 2 };

		if (i % 2) {
			sge[0].length = RECEIVE;
			wr.num_sge = 1;
		}
		engine_qp_post_recv(c->qp, &wr, &bad);
	}
}

static void run(struct client *c)
{
	struct ibv_wc wc[8];
	int n;

	engine_turn(c->engine);
	n = engine_cq_poll(c->cq, 8, wc);
	for (int i = 0; i < n; i++)
		if (wc[i].status != IBV_WC_SUCCESS || wc[i].byte_len < 40 ||
		    wc[i].byte_len > RECEIVE || wc[i].qp_num != 0x22 ||
		    wc[i].src_qp > 0xffffff)
			abort();
	c->completed += (uint32_t)n;
}

static void client_close(struct client *c)
{
	for (uint32_t i = 0; i < RECEIVES; i++)
		for (uint32_t g = 0; g < GUARD; g++)
			if (c->memory[i * (RECEIVE + GUARD) + RECEIVE + g] != 0xa5)
				abort();
	if (c->completed > RECEIVES)
		abort();
	engine_qp_destroy(c->qp);
	engine_cq_destroy(c->cq);
	engine_close(c->engine);
	free(c->memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client c = { 0 };
	struct shm_log *log;
	size_t stores = size / STORE_BYTES;

	if (!tables)
		site_open();
	if (shm_log_create(PEER, 1, &log_fd, &log) < 0)
		return 0;
	atomic_store(&tables->slots[PEER].incarnation, 1);
	atomic_store(&tables->slots[PEER].state, SHM_SLOT_LIVE);
	client_open(&c);
	shm_doorbell_ring(doorbell, PEER);
	run(&c);
	for (size_t i = 0; i < stores && i < STORES_MAX; i++) {
		store(log, data + i * STORE_BYTES);
		if (i % TURN_EVERY == TURN_EVERY - 1)
			run(&c);
	}
	for (unsigned int i = 0; i < 200; i++)
		run(&c);
	client_close(&c);
	shm_log_unmap(log);
	close(log_fd);
	return 0;
}
