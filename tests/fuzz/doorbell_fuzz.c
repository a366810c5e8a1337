// SPDX-License-Identifier: BSD-2-Clause
// links: vc_engine
/*
 * A sender and a receiver whose doorbells somebody writes over while they talk: every
 * call ends, and since no more is sent than a log holds, all of it arrives, once, whole
 * and in order, whatever bits, cursors and flags say.
 *
 * The input is a list of stores, 11 bytes each: what, which slot or word, which value.
 * After each of them something is sent, or polled for, or both.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/process_state.h"
#include "engine/engine.h"
#include "shm/log.h"

#define SENDER      1u
#define RECEIVER    2u
#define SIDES       3u /* by slot; 0 is nobody's */
#define PD          1u
#define LKEY        77u
#define RECEIVES    64u
#define BYTES       80u /* of a datagram: 64 in the slot, 16 behind it */
#define STRIDE      (40 + BYTES)
#define STORE_BYTES 11u
#define STORES_MAX  256u
#define POLLS       70000u /* every slot is visited within so many */

enum what {
	SUMMARY,
	WORD,
	CURSOR_POSITION,
	CURSOR_INCARNATION,
	WAKES,
	SLEEPING,
	KICKS,
	HEADER,
	WHATS, /* above it, bits: 8 the sender's doorbell, 16 send, 32 poll, 64 arm */
};

struct side {
	uint32_t slot;
	struct shm_doorbell *doorbell;
	struct shm_counters *counters;
	struct engine *engine;
	struct engine_cq *cq;
	struct engine_qp *qp;
	uint8_t memory[RECEIVES * STRIDE];
};

static struct shm_tables *tables;
static int doorbell_fds[SIDES], counters_fd, log_fds[SIDES];
static struct side sender, receiver;
static struct engine_verbs_ah ah;
static uint32_t sent, received;

static int map_peer(void *arg, uint32_t slot, struct engine_peer *ret)
{
	if (slot != SENDER && slot != RECEIVER)
		return -ENOENT;
	*ret = (struct engine_peer){
		.incarnation = 1,
		.doorbell_fd = fcntl(doorbell_fds[slot], F_DUPFD_CLOEXEC, 0),
		.log_fd =
			log_fds[slot] < 0 ? -1 : fcntl(log_fds[slot], F_DUPFD_CLOEXEC, 0),
	};
	return 0;
}

static int publish_log(void *arg, int fd)
{
	const struct side *side = arg;

	log_fds[side->slot] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return 0;
}

static void drained(void *arg, uint32_t slot, uint32_t incarnation)
{
}

static void cq_event(void *arg, void *context)
{
}

static void async_event(void *arg, enum ibv_event_type event, void *context)
{
	abort();
}

static const struct engine_ops ops = { map_peer, publish_log, drained, cq_event,
				       async_event };
static const uint8_t mgid[16] = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 1 };

static void expect(int condition)
{
	if (!condition)
		abort();
}

/* -- the site --------------------------------------------------------------------------- */

static void site_open(void)
{
	uint32_t entry;
	int fd;

	expect(!shm_tables_create(&fd, &tables));
	tables->ports[0].link_layer = SHM_LINK_ETHERNET;
	tables->ports[0].port_num = 1;
	tables->ports[0].state = IBV_PORT_ACTIVE;
	tables->ports[0].active_mtu = IBV_MTU_4096;
	tables->ports[0].pkeys[0] = 0xffff;
	tables->ports[0].gids[0].type = SHM_GID_ROCE_V2;
	tables->ports[0].gids[0].gid[15] = 1;
	tables->ports[0].gids[0].valid = 1;
	expect(!shm_group_link(tables, 0, mgid, 0, &entry) && !entry);
	shm_group_set(tables, 0, RECEIVER);
	for (uint32_t slot = SENDER; slot <= RECEIVER; slot++) {
		atomic_store(&tables->slots[slot].incarnation, 1);
		atomic_store(&tables->slots[slot].state, SHM_SLOT_LIVE);
	}
	expect(!shm_counters_create(SENDER, &counters_fd));
}

static void side_open(struct side *s, uint32_t slot)
{
	const struct engine_qp_attr attr = { .state = IBV_QPS_RTR,
					     .port_num = 1,
					     .qkey = 5 };
	struct engine_qp_attr rts = attr;
	struct engine_config config = {
		.tables = tables, .slot = slot, .incarnation = 1, .ops = &ops, .arg = s
	};
	struct engine_qp_config qp = { .qpn = slot,
				       .type = IBV_QPT_UD,
				       .pd = PD,
				       .cap = { .max_send_wr = 4,
						.max_recv_wr = RECEIVES,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = BYTES } };

	s->slot = slot;
	log_fds[slot] = -1;
	expect(!shm_doorbell_create(slot, 1, &doorbell_fds[slot]));
	expect(!shm_doorbell_map(doorbell_fds[slot], &s->doorbell));
	expect(!shm_counters_map(counters_fd, 1, &s->counters));
	config.doorbell = s->doorbell;
	config.counters = s->counters;
	expect(!engine_open(&config, &s->engine));
	expect(!engine_cq_create(s->engine, 256, NULL, &s->cq));
	expect(!engine_mr_add(s->engine, PD, LKEY, s->memory, 0, sizeof(s->memory),
			      IBV_ACCESS_LOCAL_WRITE));
	qp.send_cq = qp.recv_cq = s->cq;
	expect(!engine_qp_create(s->engine, &qp, &s->qp));
	engine_qp_modify(s->qp, &attr);
	rts.state = IBV_QPS_RTS;
	engine_qp_modify(s->qp, &rts);
}

static void side_close(struct side *s)
{
	engine_qp_destroy(s->qp);
	engine_cq_destroy(s->cq);
	engine_close(s->engine);
	shm_counters_unmap(s->counters);
	shm_doorbell_unmap(s->doorbell);
	close(doorbell_fds[s->slot]);
	if (log_fds[s->slot] >= 0)
		close(log_fds[s->slot]);
}

static void post_receive(uint64_t n)
{
	struct ibv_sge sge = { n * STRIDE, STRIDE, LKEY };
	struct ibv_recv_wr *bad, wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 };

	expect(!engine_qp_post_recv(receiver.qp, &wr, &bad));
}

static void both_open(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

	sent = received = 0;
	side_open(&sender, SENDER);
	side_open(&receiver, RECEIVER);
	memcpy(attr.grh.dgid.raw, mgid, 16);
	expect(!engine_ah_create(sender.engine, PD, 0, &attr, &ah.engine));
	expect(!engine_qp_attach(receiver.qp, 0, 1, 0));
	for (uint64_t n = 0; n < RECEIVES; n++)
		post_receive(n);
}

static void both_close(void)
{
	engine_ah_destroy(ah.engine);
	side_close(&sender);
	side_close(&receiver);
}

/* -- what they do ------------------------------------------------------------------------- */

static void fill(uint8_t bytes[BYTES], uint32_t number)
{
	for (uint32_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(number * 7 + i);
}

/* No more than fit into the receive queue are on their way at any time. */
static void send_one(void)
{
	uint8_t bytes[BYTES];
	struct ibv_sge sge = { (uintptr_t)bytes, BYTES, 0 };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.wr.ud = { .ah = &ah.ibv_ah, .remote_qpn = 0xffffff, .remote_qkey = 5 },
	};

	if (sent - received >= RECEIVES)
		return;
	fill(bytes, sent++);
	expect(!engine_qp_post_send(sender.qp, &wr, &bad));
}

static void poll_one(void)
{
	uint8_t bytes[BYTES];
	struct ibv_wc wc;

	if (!engine_cq_poll(receiver.cq, 1, &wc))
		return;
	fill(bytes, received++);
	expect(received <= sent && wc.status == IBV_WC_SUCCESS && wc.src_qp == SENDER);
	expect(wc.byte_len == STRIDE);
	expect(!memcmp(receiver.memory + wc.wr_id * STRIDE + 40, bytes, BYTES));
	post_receive(wc.wr_id);
}

static void store(const uint8_t *data)
{
	struct shm_doorbell *d = (data[0] & 8 ? &sender : &receiver)->doorbell;
	uint32_t which = data[1] | (uint32_t)data[2] << 8;
	struct shm_cursor *cursor = &d->cursors[which % SHM_SLOTS_MAX];
	uint64_t value;

	memcpy(&value, data + 3, sizeof(value));
	switch ((enum what)(data[0] % WHATS)) {
	case SUMMARY:
		atomic_store(&d->summary, value);
		break;
	case WORD:
		atomic_store(&d->words[which % SHM_SLOT_WORDS], value);
		break;
	case CURSOR_POSITION:
		atomic_store(&cursor->position, value);
		break;
	case CURSOR_INCARNATION:
		atomic_store(&cursor->incarnation, (uint32_t)value);
		break;
	case WAKES:
		atomic_store(&d->wakes, (uint32_t)value);
		break;
	case SLEEPING:
		atomic_store(&d->sleeping, (uint32_t)value);
		break;
	case KICKS:
		atomic_store(&d->kicks, (uint32_t)value);
		break;
	default:
		memcpy((uint8_t *)d + which % 7 * 8, &value, sizeof(value));
		break;
	}
}

static void poll_all(void)
{
	for (uint32_t i = 0; i < POLLS && received < sent; i++)
		poll_one();
}

/* A helper may have been kept from its CPU with the engine's lock, or with a log that it was
 * asking for. */
static void let_helpers_sleep(void)
{
	while (process_state_of(getpid()) == PROCESS_RUNNABLE)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!tables)
		site_open();
	both_open();
	for (size_t i = 0; i < size / STORE_BYTES && i < STORES_MAX; i++) {
		const uint8_t what = data[i * STORE_BYTES];

		store(data + i * STORE_BYTES);
		if (what & 16)
			send_one();
		if (what & 32)
			poll_one();
		if (what & 64)
			engine_cq_arm(receiver.cq, false);
		if (what & 128)
			engine_turn(sender.engine);
	}
	send_one();
	poll_all();
	if (received < sent) {
		let_helpers_sleep();
		poll_all();
	}
	expect(received == sent);
	both_close();
	return 0;
}
