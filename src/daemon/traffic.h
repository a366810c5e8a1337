/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the programs of a node have sent and received by its vib0, for the counters of the
 * fabric's port: of living queue pairs by the counters that their engines write, of others
 * by what those were at last. Read when somebody asks, so that no datagram pays for it.
 */
#ifndef DAEMON_TRAFFIC_H
#define DAEMON_TRAFFIC_H

#include "daemon/slots.h"
#include "fabric/net/fabric.h"
#include "hca/hca.h"

struct traffic_sum {
	uint64_t sent, sent_bytes, received, received_bytes;
};

/* Of one port; zero is a good beginning. */
struct traffic {
	struct traffic_sum left; /* by queue pairs that are no more */
	struct traffic_sum told; /* to the fabric */
};

/* One of the port's goes, and its counters with it. */
void traffic_qp_left(struct traffic *t, const struct shm_counters *counters,
		     uint32_t index);
/* Tell the fabric what has been moved since the last time. */
void traffic_tell(struct traffic *t, const struct slots *slots,
		  const struct hca_device *device, struct fabric_port *port);

#endif
