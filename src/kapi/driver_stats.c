// SPDX-License-Identifier: BSD-2-Clause
/*
 * The counters of a port of the site's devices: what its queue pairs of this process have
 * sent, received and discarded, by reason. The values are the engine's own.
 */
#include "kapi/driver_priv.h"

#include "shm/counters.h"

enum {
	TX_DATAGRAMS,
	TX_BYTES,
	RX_DATAGRAMS,
	RX_BYTES,
	FIRST_DROP,
};

static const struct rdma_stat_desc descs[] = {
	[TX_DATAGRAMS] = { .name = "tx_datagrams" },
	[TX_BYTES] = { .name = "tx_bytes" },
	[RX_DATAGRAMS] = { .name = "rx_datagrams" },
	[RX_BYTES] = { .name = "rx_bytes" },
#define DROP(reason, text) { .name = "drop_" #reason },
#include "shm/drop_reasons.def"
#undef DROP
};
static_assert(ARRAY_SIZE(descs) == FIRST_DROP + DROP_REASONS, "a counter a reason");

static struct rdma_hw_stats *alloc_port_stats(struct ib_device *device, u32 port_num)
{
	return rdma_alloc_hw_stats_struct(descs, ARRAY_SIZE(descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static void add_qp(u64 *values, const struct shm_qp_counters *c)
{
	values[TX_DATAGRAMS] += atomic_load_explicit(&c->sent, memory_order_relaxed);
	values[TX_BYTES] += atomic_load_explicit(&c->sent_bytes, memory_order_relaxed);
	values[RX_DATAGRAMS] += atomic_load_explicit(&c->received, memory_order_relaxed);
	values[RX_BYTES] +=
		atomic_load_explicit(&c->received_bytes, memory_order_relaxed);
	for (int i = 0; i < DROP_REASONS && i < (int)ARRAY_SIZE(c->drops); i++)
		values[FIRST_DROP + i] +=
			atomic_load_explicit(&c->drops[i], memory_order_relaxed);
}

static int get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port,
			int index)
{
	struct drv_device *d = to_device(ib);
	const struct shm_counters *counters = kapi_host_process(d->node)->counters;
	u64 values[ARRAY_SIZE(descs)] = { 0 };
	struct drv_qp *qp;

	mutex_lock(&d->qps_lock);
	list_for_each_entry(qp, &d->qps, link)
		if (qp->ib.port == port)
			add_qp(values, &counters->qps[qp->counters]);
	mutex_unlock(&d->qps_lock);
	memcpy(stats->value, values, sizeof(values));
	return ARRAY_SIZE(descs);
}

const struct ib_device_ops driver_stat_ops = {
	.alloc_hw_port_stats = alloc_port_stats,
	.get_hw_stats = get_hw_stats,
};
