// SPDX-License-Identifier: BSD-2-Clause
/* The kernel's half of both_test.c. */
#include <rdma/rdma_cm.h>

#include "both.h"

static int handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

int both_kernel(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct rdma_cm_id *id;
	int r;

	id = rdma_create_id(&init_net, handler, NULL, RDMA_PS_UDP, IB_QPT_UD);
	if (IS_ERR(id))
		return PTR_ERR(id);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	r = rdma_bind_addr(id, (struct sockaddr *)&in);
	if (r == 0)
		r = rdma_join_multicast(id, (struct sockaddr *)&in, 1, NULL);
	rdma_leave_multicast(id, (struct sockaddr *)&in);
	rdma_destroy_id(id);
	return r;
}
