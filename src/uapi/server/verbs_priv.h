/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the files of the verbs commands: verbs_cmd.c (the table, devices and what is
 * made on them), srq_cmd.c (shared receive queues) and qp_cmd.c (queue pairs and their
 * groups).
 */
#ifndef UAPI_SERVER_VERBS_PRIV_H
#define UAPI_SERVER_VERBS_PRIV_H

#include "uapi/server/command_priv.h"

/* A device that a client opened. */
struct verbs_context {
	struct ib_ucontext *ib;
	struct uapi_client *client;
	struct ib_event_handler events;
};

/* The context must be given by a handle of the same client; null else. */
struct verbs_context *verbs_context_find(struct uapi_client *c, uint32_t handle);

int verbs_create_srq(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds);
int verbs_modify_srq(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds);
int verbs_query_srq(struct uapi_client *c, const void *request, void *reply,
		    struct uapi_fds *fds);
int verbs_destroy_srq(struct uapi_client *c, const void *request, void *reply,
		      struct uapi_fds *fds);

int verbs_create_qp(struct uapi_client *c, const void *request, void *reply,
		    struct uapi_fds *fds);
int verbs_modify_qp(struct uapi_client *c, const void *request, void *reply,
		    struct uapi_fds *fds);
int verbs_destroy_qp(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds);
int verbs_attach_mcast(struct uapi_client *c, const void *request, void *reply,
		       struct uapi_fds *fds);
int verbs_detach_mcast(struct uapi_client *c, const void *request, void *reply,
		       struct uapi_fds *fds);

/* Detach and destroy every queue pair of the context (null: of the client). */
void verbs_release_qps(struct uapi_client *c, const struct ib_ucontext *context);

#endif
