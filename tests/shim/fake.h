/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A libibverbs and a verbcastd that are pretended: requests are recorded and answered as
 * the test says, events are spoken by the test. All of it is of one thread, but for the
 * events, which a test may speak from another, as the real event thread does.
 */
#ifndef SHIM_FAKE_H
#define SHIM_FAKE_H

#include <stdatomic.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "harness/harness.h"
#include "shim/verbs/process.h"

#define FAKE_CALLS 256

struct fake_call {
	unsigned int op; /* 0: one of verbs, by name */
	const char *verb;
	int mask; /* ibv_modify_qp */
	struct ibv_qp_attr attr;
	union ibv_gid gid; /* attach, detach */
	uint32_t handle;   /* leave, destroy */
	uint32_t flags;    /* join */
};

struct fake {
	unsigned int generation;
	int devices;       /* what ibv_get_device_list shows */
	int result;        /* of the next requests: 0 or a negative errno */
	int attach_result; /* positive errno */
	int modify_result; /* positive errno, for the state below */
	enum ibv_qp_state modify_fails;
	bool create_qp_fails;
	bool event_in_join; /* the JOIN event outruns the reply */
	bool answer_sync;   /* requests are answered by their event at once */
	int answer_status;
	enum rdma_cm_event_type answer_event; /* instead of the good one; 0: none */
	struct fake_call calls[FAKE_CALLS];
	unsigned int call_count;
	uint64_t last_id_uid, last_join_uid;
	uint32_t last_handle;
	int objects;                  /* verbs objects that are alive */
	int daemon_ids, daemon_joins; /* what verbcastd holds */
};

extern struct fake fake;

/* cmocka fixtures: everything as new; nothing may be left. */
int fake_setup(void **state);
int fake_teardown(void **state);
#define shim_test(fn) cmocka_unit_test_setup_teardown(fn, fake_setup, fake_teardown)

/* What verbcastd says. */
void fake_say(const struct uapi_cm_event *event);
void fake_say_joined(uint64_t id_uid, uint64_t join_uid, const char *group);
void fake_say_resolved(uint64_t id_uid);
void fake_die(void);

/* How often a request, or a verb, has been seen. */
unsigned int fake_count(unsigned int op);
unsigned int fake_count_verb(const char *verb);
struct fake_call *fake_last(const char *verb);

/* Whether the thread with this number (0: not started) sleeps, as /proc says: no other
 * sign shows that a call blocks. */
bool fake_is_asleep(atomic_int *tid);

/* Addresses as programs write them. */
struct sockaddr *fake_addr(const char *text, uint16_t port);

#endif
