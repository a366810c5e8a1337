// SPDX-License-Identifier: BSD-2-Clause
/*
 * Deliveries that deliver.h leaves: receives in several pieces, too small, or of memory
 * that the queue pair may not write.
 */
#include "engine/deliver.h"
#include "engine/faults.h"

void delay_receive(struct engine_qp *qp, const struct rx_datagram *d)
{
	uint32_t ms = faults_completion_ms(qp, &qp->engine->faults.rx,
					   fault_opcode(d->flags & SHM_LOG_WITH_IMM));

	if (ms)
		cq_stall(qp->config.recv_cq, ms);
}

static void complete_error(struct engine_qp *qp, uint64_t wr_id,
			   enum ibv_wc_status status)
{
	struct ibv_wc wc = {
		.wr_id = wr_id,
		.status = status,
		.opcode = IBV_WC_RECV,
		.qp_num = qp->config.qpn,
	};

	take_receive(qp);
	cq_push(qp->config.recv_cq, &wc, qp);
}

/* The receive names memory it may not: an error completion, and the queue pair is broken. */
static enum drop_reason complete_prot_error(struct engine_qp *qp, uint64_t wr_id)
{
	complete_error(qp, wr_id, IBV_WC_LOC_PROT_ERR);
	qp_fail(qp);
	return DROP_RECV_PROT;
}

/*
 * Too small: that datagram is lost. A queue pair's own receive stays (spec/kernel 7.1); a
 * shared one is used up with an error (4.6), lest it stand in the way of all who share it.
 */
static enum drop_reason complete_too_small(struct engine_qp *qp, uint64_t wr_id)
{
	if (qp->config.srq)
		complete_error(qp, wr_id, IBV_WC_REM_INV_REQ_ERR);
	return DROP_RECV_TOO_SMALL;
}

static uint64_t sges_bytes(const struct recv_entry *entry)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < entry->num_sge; i++)
		bytes += entry->sge[i].length;
	return bytes;
}

/* Lay `bytes` of `from` behind what was laid before. */
struct scatter {
	const struct engine_qp *qp;
	const struct ibv_sge *sge;
	uint32_t offset; /* in *sge */
};

static void scatter_put(struct scatter *s, const uint8_t *from, uint32_t bytes)
{
	while (bytes) {
		uint32_t n = s->sge->length - s->offset;
		uint8_t *to;

		if (n > bytes)
			n = bytes;
		to = n ? receive_memory(s->qp, s->sge, s->sge->length) : NULL;
		if (to)
			copy_payload(to + s->offset, from, n);
		from += n;
		bytes -= n;
		s->offset += n;
		if (s->offset == s->sge->length) {
			s->sge++;
			s->offset = 0;
		}
	}
}

/* Several elements: all those needed are checked before the first is written. */
static bool scatter(const struct engine_qp *qp, const struct recv_entry *entry,
		    const struct rx_datagram *d)
{
	struct scatter s = { .qp = qp, .sge = entry->sge };
	uint32_t rest = tx_rest_of(d->length);
	uint64_t left = GRH_BYTES + d->length;

	for (const struct ibv_sge *sge = entry->sge; left; sge++) {
		if (sge->length && !receive_memory(qp, sge, sge->length))
			return false;
		left -= sge->length < left ? sge->length : left;
	}
	scatter_put(&s, d->header, GRH_BYTES);
	scatter_put(&s, d->slot->payload, d->length - rest);
	scatter_put(&s, d->rest, rest);
	return true;
}

enum drop_reason deliver_slow(struct engine_qp *qp, const struct rx_datagram *d,
			      const struct recv_entry *entry)
{
	if (sges_bytes(entry) < GRH_BYTES + d->length)
		return complete_too_small(qp, entry->wr_id);
	if (!scatter(qp, entry, d))
		return complete_prot_error(qp, entry->wr_id);
	if (!rx_still_there(d))
		return DROP_LAGGED;
	return complete_receive(qp, entry->wr_id, d);
}
