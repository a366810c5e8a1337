/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens to ports and devices, and then to groups (spec/kernel 2.9). Where the SA is
 * is looked up before any member hears of it, so that a join from its callback finds it.
 * Differs: in Linux such a join may find none yet (spec/kernel 7.1).
 */
#include "core/sa/sa_priv.h"

enum effect {
	REFRESH = 1u << 0, /* where the SA is */
	RESET = 1u << 1,   /* groups are lost */
	CHECK = 1u << 2,   /* groups are lost if their P_Key has moved */
};

/* SM_CHANGE does not touch groups: a new SM that needs to hear of them says so, by
 * CLIENT_REREGISTER. */
static unsigned int effects(enum ib_event_type type)
{
	switch (type) {
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
		return REFRESH | RESET;
	case IB_EVENT_PKEY_CHANGE:
		return REFRESH | CHECK;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_SM_CHANGE:
		return REFRESH;
	default:
		return 0;
	}
}

/* A check gives way to a loss, and nothing to a check. */
static void strike(struct sa_group *group, enum sa_group_state state)
{
	if (group->state == SA_GROUP_IDLE)
		timer_arm(&group->worker, 0);
	if (group->state != SA_GROUP_ERROR)
		group->state = state;
	group->regained = 0;
}

static void strike_all(struct sa_port *port, enum sa_group_state state)
{
	list_for_each(l, &port->groups)
		strike(container_of(l, struct sa_group, link), state);
}

void ib_sa_port_lose_groups(struct sa_port *port)
{
	strike_all(port, SA_GROUP_ERROR);
}

void ib_sa_event(struct ib_client *client, const struct ib_event *event)
{
	unsigned int what = effects(event->event);
	struct sa_port *port;
	int r;

	(void)client;
	if (!what)
		return;
	port = ib_sa_port_find(event->device, event->element.port_num, &r);
	if (!port)
		return;
	ib_sa_port_refresh(port);
	if (what & RESET)
		strike_all(port, SA_GROUP_ERROR);
	else if (what & CHECK)
		strike_all(port, SA_GROUP_PKEY_EVENT);
}
