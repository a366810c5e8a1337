// SPDX-License-Identifier: BSD-2-Clause
/*
 * Polling an extended completion queue by brackets (spec/userland 2.5): start_poll takes
 * a completion out of the engine, next_poll the next, and the readers read it. A bracket
 * is one thread's, so it holds a lock; ENOENT from start_poll opens none.
 */
#include "cq.h"

static struct verbs_cq *of(struct ibv_cq_ex *cq)
{
	return (struct verbs_cq *)cq;
}

static int take_completion(struct verbs_cq *cq)
{
	int n;

	if (process_forked(cq->process))
		return ENODEV;
	n = engine_cq_poll(cq->engine, 1, &cq->wc);
	if (n < 0)
		return -n;
	if (n == 0)
		return ENOENT;
	cq->ex.wr_id = cq->wc.wr_id;
	cq->ex.status = cq->wc.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	int r;

	if (attr->comp_mask)
		return EINVAL;
	pthread_mutex_lock(&of(cq)->bracket);
	r = take_completion(of(cq));
	if (r)
		pthread_mutex_unlock(&of(cq)->bracket);
	return r;
}

static int next_poll(struct ibv_cq_ex *cq)
{
	return take_completion(of(cq));
}

static void end_poll(struct ibv_cq_ex *cq)
{
	pthread_mutex_unlock(&of(cq)->bracket);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
	return of(cq)->wc.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
	return of(cq)->wc.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
	return of(cq)->wc.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
	return of(cq)->wc.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
	return of(cq)->wc.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
	return of(cq)->wc.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *cq)
{
	return of(cq)->wc.wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *cq)
{
	return of(cq)->wc.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *cq)
{
	return of(cq)->wc.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	return of(cq)->wc.dlid_path_bits;
}

/* The slots of what cq_create_ex refuses stay NULL. */
void cq_fill_ex(struct ibv_cq_ex *cq)
{
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_byte_len = read_byte_len;
	cq->read_imm_data = read_imm_data;
	cq->read_qp_num = read_qp_num;
	cq->read_src_qp = read_src_qp;
	cq->read_wc_flags = read_wc_flags;
	cq->read_slid = read_slid;
	cq->read_sl = read_sl;
	cq->read_dlid_path_bits = read_dlid_path_bits;
}
