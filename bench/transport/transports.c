/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/transport.h"

const struct transport *const transports[] = {
#ifdef BENCH_WITH_VERBS
	&transport_verbs,
	&transport_verbs_poll,
#endif
	&transport_ring,
	&transport_mcast,
	&transport_mcgso,
#ifdef BENCH_WITH_ZMQ
	&transport_zmq,
#endif
	NULL,
};

const struct transport *const transports_attach[] = {
#ifdef BENCH_WITH_VERBS
	&transport_attach,
#endif
	&transport_seqpacket,
	NULL,
};

const struct transport *transport_find(const struct transport *const *table,
				       const char *name, size_t length)
{
	for (; *table; table++)
		if (!strncmp((*table)->name, name, length) && !(*table)->name[length])
			return *table;
	return NULL;
}
