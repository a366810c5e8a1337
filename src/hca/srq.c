/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues: their limits, and how deep each was granted. What is posted, and
 * whether the limit is armed still, the engine of the process knows.
 */
#include "hca/hca_priv.h"

static struct hca_srq *to_hca_srq(const struct ib_srq *srq)
{
	return container_of(srq, struct hca_srq, ib);
}

static int check_create(const struct hca_limits *limits, const struct ib_srq *srq,
			const struct ib_srq_init_attr *attr)
{
	/* The data path runs in the owner's process; the daemon has none. */
	if (!srq->pd->context || attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (attr->attr.max_wr == 0 || attr->attr.max_wr > limits->max_srq_wr)
		return -EINVAL;
	return attr->attr.max_sge > limits->max_srq_sge ? -EINVAL : 0;
}

int hca_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr)
{
	struct hca_device *dev = to_hca_device(ib->device);
	int r;

	r = check_create(&dev->limits, ib, attr);
	if (r < 0)
		return r;
	if (dev->use.srqs >= dev->limits.max_srq)
		return -ENOMEM;
	dev->use.srqs++;
	attr->attr.srq_limit = 0; /* armed by modify alone */
	to_hca_srq(ib)->attr = attr->attr;
	return 0;
}

/* All of it or nothing. Whether a smaller queue holds what is posted, and whether the limit
 * set before is armed still and fits it, the engine knows. */
int hca_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask attr_mask)
{
	const struct hca_limits *limits = &to_hca_device(ib->device)->limits;
	struct ib_srq_attr to = to_hca_srq(ib)->attr;

	if (attr_mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	if (attr_mask & IB_SRQ_MAX_WR)
		to.max_wr = attr->max_wr;
	if (to.max_wr == 0 || to.max_wr > limits->max_srq_wr)
		return -EINVAL;
	if (attr_mask & IB_SRQ_LIMIT) {
		/* The queue could not but be below it. */
		if (attr->srq_limit > to.max_wr)
			return -EINVAL;
		to.srq_limit = attr->srq_limit;
	}
	to_hca_srq(ib)->attr = to;
	return 0;
}

int hca_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	*attr = to_hca_srq(ib)->attr;
	return 0;
}

int hca_destroy_srq(struct ib_srq *ib)
{
	to_hca_device(ib->device)->use.srqs--;
	return 0;
}
