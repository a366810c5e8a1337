/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/admin_priv.h"
#include "daemon/shown_group.h"

#define UP_LOOK_NS   (2 * TIMER_MS)
#define UP_WITHIN_NS (60000 * TIMER_MS)

/* `fabric up` waits until the subnet manager has brought all up, and the interfaces have
 * joined what a join of rdma_cm starts from. That takes them no time but the loop's, or
 * until they ask a second time, so looks are counted: in some partitions they never do. */
#define UP_LOOKS 250
struct up {
	struct list link; /* in admin_site.ups */
	struct site *site;
	struct uapi_admin_call *call;
	struct timer timer;
	uint64_t until_ns;
	unsigned int looks; /* while only interfaces were waited for */
};

/* -- up ------------------------------------------------------------------------------ */

static void answer_up(struct site *s, struct uapi_admin_call *call)
{
	struct admin_text t;
	char names[256];

	if (!admin_text_begin(&t, call))
		return;
	admin_name_nodes(s, names, sizeof(names));
	fprintf(t.out, "site %s is up: nodes %s\n", s->paths->name, names);
	if (!site_fabric_is_up(s->fabric))
		fprintf(t.out, "the subnet manager has not brought up all of it yet\n");
	admin_text_answer(&t, call);
}

static void forget_up(struct up *up)
{
	timer_disarm(&up->timer);
	list_remove(&up->link);
	free(up);
}

static bool is_up(struct up *up)
{
	const struct site *s = up->site;

	if (!site_fabric_is_up(s->fabric))
		return false;
	return !site_fabric_sm(s->fabric) || nodes_are_up(s->nodes) ||
	       ++up->looks > UP_LOOKS;
}

static void look(struct timer *timer)
{
	struct up *up = container_of(timer, struct up, timer);

	if (is_up(up) || timer->queue->now_ns >= up->until_ns) {
		answer_up(up->site, up->call);
		forget_up(up);
	} else {
		timer_arm(timer, UP_LOOK_NS);
	}
}

static void wait_until_up(struct site *s, struct uapi_admin_call *call)
{
	struct timer_queue *queue = timers_queue(s->timers);
	struct up *up = calloc(1, sizeof(*up));

	if (!up) {
		admin_refuse(call, "verbcastd is out of memory");
		return;
	}
	up->site = s;
	up->call = call;
	up->until_ns = queue->now_ns + UP_WITHIN_NS;
	timer_init(&up->timer, queue, look);
	list_append(&s->admin.ups, &up->link);
	timer_arm(&up->timer, 0);
}

bool admin_fabric_gone(struct admin_site *a, struct uapi_admin_call *call)
{
	list_for_each_safe(pos, &a->ups) {
		struct up *up = container_of(pos, struct up, link);

		if (up->call != call)
			continue;
		forget_up(up);
		return true;
	}
	return false;
}

void admin_fabric_fini(struct admin_site *a)
{
	list_for_each_safe(pos, &a->ups)
		forget_up(container_of(pos, struct up, link));
}

void admin_fabric_up(struct site *s, struct uapi_admin_call *call,
		     const struct admin_request *r)
{
	char have[256];

	if (!admin_shape_equal(&r->shape, &s->options->shape)) {
		if (site_yield(s, call))
			return;
		admin_shape_print(&s->options->shape, have, sizeof(have));
		admin_refuse(call,
			     "site %s runs already, with the fabric %s: end it by "
			     "`verbcast stop --site %s` and try again, or take another "
			     "--site",
			     s->paths->name, have, s->paths->name);
		return;
	}
	site_stay(s);
	wait_until_up(s, call);
}

/* -- show ---------------------------------------------------------------------------- */

static void show(struct site *s, struct uapi_admin_call *call,
		 const struct admin_request *r, const struct shown_group *g)
{
	struct admin_text t;

	if (r->json) {
		admin_json_answer(call, admin_show_json(s, g));
	} else if (admin_text_begin(&t, call)) {
		(r->graphviz ? admin_show_graph : admin_show_text)(s, g, t.out);
		admin_text_answer(&t, call);
	}
}

void admin_fabric_show(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r)
{
	const union ib_gid *mgid = r->components & SA_MCM_MGID ? &r->group.mgid : NULL;
	struct shown_group g;
	int error;

	if (!r->components) {
		show(s, call, r, NULL);
		return;
	}
	error = shown_group_init(&g, s, mgid, r->group.mlid);
	if (error == -ENOMEM)
		admin_refuse(call, "verbcastd is out of memory");
	else if (error && mgid)
		admin_refuse(call,
			     site_fabric_sa(s->fabric)
				     ? "there is no such group (verbcast group list)"
				     : "no subnet administrator of ours runs: one of "
				       "another knows the group's MLID");
	else
		show(s, call, r, &g);
	shown_group_fini(&g);
}

/* -- what an operator does ------------------------------------------------------------ */

void admin_fabric_sm(struct site *s, struct uapi_admin_call *call,
		     const struct admin_request *r)
{
	int error = r->on ? site_fabric_start_sm(s->fabric, r->node, r->priority, r->lmc)
			  : site_fabric_stop_sm(s->fabric, r->node);

	switch (error) {
	case 0:
		admin_done(call);
		break;
	case -EALREADY:
		admin_refuse(call, "the subnet manager %s already",
			     r->on ? "runs" : "is stopped");
		break;
	case -ENODEV:
		admin_refuse(call, "the fabric was made without a subnet manager");
		break;
	case -ENOENT:
		admin_refuse(call,
			     r->on ? "the fabric has no node '%.80s'"
				   : "there is no subnet manager behind '%.80s'",
			     r->node);
		break;
	case -ERANGE:
		admin_refuse(call, "the fabric has more ports than there are LIDs for "
				   "with this LMC");
		break;
	case -ENOSPC:
		admin_refuse(call, "there are %u subnet managers already", MANAGERS_MAX);
		break;
	default:
		admin_refuse(call, "the subnet manager: %s", strerror(-error));
	}
}

void admin_fabric_link(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r)
{
	struct fabric *net = site_fabric_net(s->fabric);
	int error = fabric_link_set(net, r->node, r->port, r->on);

	if (!error)
		admin_done(call);
	else if (error == -ENOENT)
		admin_refuse(
			call,
			"the fabric has no node '%.80s', or that has no link at port "
			"%u (verbcast fabric show)",
			r->node, r->port);
	else
		admin_refuse(call, "the link: %s", strerror(-error));
}

void admin_fabric_node(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r)
{
	int error = fabric_power_set(site_fabric_net(s->fabric), r->node, r->on);

	if (!error)
		admin_done(call);
	else if (error == -ENOENT)
		admin_refuse(call, "the fabric has no node '%.80s'", r->node);
	else
		admin_refuse(call, "the node: %s", strerror(-error));
}

void admin_fabric_loss(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r)
{
	fabric_trouble_set(site_fabric_net(s->fabric),
			   &(struct fabric_trouble){ .loss = r->rate });
	admin_done(call);
}
