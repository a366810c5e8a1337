/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the SA asks of ports: attributes that no sweep reads, for records that nobody may
 * ever want (spec/sa-sm 4.1).
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <string.h>

static void answered(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct sm_question *q = smp->question;

	q->smp = NULL;
	smp->question = NULL;
	q->answered(q, error, data);
}

int sm_ask(struct sm *sm, struct sm_question *q, const struct subnet_port *port,
	   uint16_t attr, uint32_t mod, const uint8_t *data)
{
	struct subnet_port *to = &port->node->ports[port->num];
	uint8_t method = data ? MAD_METHOD_SET : MAD_METHOD_GET;
	struct sm_smp *smp = sm_smp_new(sm, SM_KIND_ASK, to, method, attr, mod, answered);

	if (!smp)
		return -ENOMEM;
	if (data)
		memcpy(smp->data, data, SMP_DATA_BYTES);
	smp->question = q;
	q->smp = smp;
	sm_smp_queue(smp);
	return 0;
}

void sm_question_drop(struct sm_question *q)
{
	if (q->smp)
		sm_smp_forget(q->smp);
}
