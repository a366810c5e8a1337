/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Carrying out commands: admin.c reads them, admin_fabric.c, admin_sa.c and admin_group.c
 * have one function a verb. Each answers its call exactly once, at once or later.
 */
#ifndef DAEMON_ADMIN_PRIV_H
#define DAEMON_ADMIN_PRIV_H

#include <stdio.h>

#include "admin/admin.h"
#include "daemon/admin.h"
#include "daemon/site.h"

struct cJSON;
struct shown_group;

enum admin_exit {
	ADMIN_DONE = 0,
	ADMIN_FAILED = 1,
	ADMIN_MISUSED = 2,
};

/* -- answers ------------------------------------------------------------------------- */

/* Refuse, with a sentence. */
void admin_refuse(struct uapi_admin_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void admin_done(struct uapi_admin_call *call);

/* Text that grows. */
struct admin_text {
	FILE *out;
	char *text;
	size_t length;
};
/* False: the call was refused for want of memory. */
bool admin_text_begin(struct admin_text *t, struct uapi_admin_call *call);
void admin_text_answer(struct admin_text *t, struct uapi_admin_call *call);
/* Takes `json` over. */
void admin_json_answer(struct uapi_admin_call *call, struct cJSON *json);

/* -- commands ------------------------------------------------------------------------ */

typedef void (*admin_fn)(struct site *s, struct uapi_admin_call *call,
			 const struct admin_request *r);

void admin_nodes(struct site *s, struct uapi_admin_call *call,
		 const struct admin_request *r);
void admin_fabric_up(struct site *s, struct uapi_admin_call *call,
		     const struct admin_request *r);
void admin_fabric_show(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r);
void admin_fabric_sm(struct site *s, struct uapi_admin_call *call,
		     const struct admin_request *r);
void admin_fabric_link(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r);
void admin_fabric_loss(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r);
void admin_fabric_node(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r);
void admin_sa_fault(struct site *s, struct uapi_admin_call *call,
		    const struct admin_request *r);
void admin_group_list(struct site *s, struct uapi_admin_call *call,
		      const struct admin_request *r);
void admin_group_join(struct site *s, struct uapi_admin_call *call,
		      const struct admin_request *r);
void admin_group_leave(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r);

void admin_fault_add(struct site *s, struct uapi_admin_call *call,
		     const struct admin_request *r);
void admin_fault_list(struct site *s, struct uapi_admin_call *call,
		      const struct admin_request *r);
void admin_fault_clear(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r);

void admin_module(struct site *s, struct uapi_admin_call *call,
		  const struct admin_request *r);

/* True: the call was one of these, and is forgotten. */
bool admin_fabric_gone(struct admin_site *a, struct uapi_admin_call *call);
bool admin_group_gone(struct admin_site *a, struct uapi_admin_call *call);
void admin_fabric_fini(struct admin_site *a);
void admin_group_fini(struct admin_site *a);

/* The node that is asked for; null: refused, naming those there are. */
struct node *admin_find_node(struct site *s, struct uapi_admin_call *call,
			     const char *name);
/* "h1, h2, h3 and 5 more" */
void admin_name_nodes(const struct site *s, char *to, size_t room);
/* How a port is in a group: "full+send-only". */
#define ADMIN_JOIN_STATE_ROOM 64
void admin_join_state_text(uint8_t state, char to[ADMIN_JOIN_STATE_ROOM]);
/* The fabric, as a tree for people, as JSON (admin_show.c) and as a graph (show_graph.c),
 * with a group marked; null: none. */
void admin_show_text(const struct site *s, const struct shown_group *g, FILE *out);
struct cJSON *admin_show_json(const struct site *s, const struct shown_group *g);
void admin_show_graph(const struct site *s, const struct shown_group *g, FILE *out);

#endif
