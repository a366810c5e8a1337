// SPDX-License-Identifier: BSD-2-Clause
/*
 * Counters of ports, as drivers keep them (struct rdma_hw_stats).
 */
#include <rdma/ib_verbs.h>
#include <verbcast/kapi.h>

struct rdma_hw_stats *rdma_alloc_hw_stats_struct(const struct rdma_stat_desc *descs,
						 int num_counters, unsigned long lifespan)
{
	struct rdma_hw_stats *stats;

	if (num_counters < 0)
		return NULL;
	stats = kzalloc(struct_size(stats, value, num_counters), GFP_KERNEL);
	if (!stats)
		return NULL;
	stats->is_disabled =
		kcalloc(BITS_TO_LONGS(num_counters), sizeof(long), GFP_KERNEL);
	if (!stats->is_disabled) {
		kfree(stats);
		return NULL;
	}
	/* Optional ones are off until somebody wants them. */
	for (int i = 0; i < num_counters; i++)
		if (descs[i].flags & IB_STAT_FLAG_OPTIONAL)
			set_bit(i, stats->is_disabled);
	mutex_init(&stats->lock);
	stats->descs = descs;
	stats->num_counters = num_counters;
	stats->lifespan = msecs_to_jiffies(lifespan);
	return stats;
}

void rdma_free_hw_stats_struct(struct rdma_hw_stats *stats)
{
	if (!stats)
		return;
	mutex_destroy(&stats->lock);
	kfree(stats->is_disabled);
	kfree(stats);
}

int rdma_update_hw_stats(struct ib_device *device, u32 port_num,
			 struct rdma_hw_stats *stats)
{
	int r = 0;

	if (!device->ops.get_hw_stats)
		return -EOPNOTSUPP;
	mutex_lock(&stats->lock);
	if (!stats->timestamp ||
	    time_after(jiffies, stats->timestamp + stats->lifespan)) {
		r = device->ops.get_hw_stats(device, stats, port_num,
					     stats->num_counters);
		if (r >= 0)
			stats->timestamp = jiffies;
	}
	mutex_unlock(&stats->lock);
	return r < 0 ? r : 0;
}

struct rdma_hw_stats *rdma_get_hw_stats(struct ib_device *device, u32 port_num)
{
	struct rdma_hw_stats *stats;
	int r;

	if (!device->ops.alloc_hw_port_stats || !device->ops.get_hw_stats)
		return ERR_PTR(-EOPNOTSUPP);
	if (!rdma_is_port_valid(device, port_num))
		return ERR_PTR(-EINVAL);
	stats = device->ops.alloc_hw_port_stats(device, port_num);
	if (!stats)
		return ERR_PTR(-ENOMEM);
	r = rdma_update_hw_stats(device, port_num, stats);
	if (r < 0) {
		rdma_free_hw_stats_struct(stats);
		return ERR_PTR(r);
	}
	return stats;
}
