/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two threads that consumers' callbacks come from, beside the loop: "kapi-events", for
 * events of devices and queue pairs and for devices coming and going, in order; and
 * "kapi-comp", for completions.
 */
#ifndef KAPI_EVENTS_H
#define KAPI_EVENTS_H

#include <rdma/ib_verbs.h>

int events_begin(void);
void events_end(void);
/* What is queued has been done; after kapi_calls_stop, by the loop's thread. */
void events_drain(void);

/* Do it on kapi-events, after what was put there before. `w` is the caller's until then. */
void events_queue(struct work_struct *w);
/* All that was put there has been done. False: called from there, or from the loop, which
 * what is there may be waiting for. */
bool events_flush(void);
void completions_queue(struct work_struct *w);
/* What has been queued there is over; not from there. */
void completions_pass(void);
/* This is kapi-comp. */
bool completions_are_here(void);

/* An event of one object, for its own handler, from anywhere: copied. */
void events_tell(void (*handler)(struct ib_event *event, void *context), void *context,
		 const struct ib_event *event);

#endif
