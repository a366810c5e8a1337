/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Telling those outside: who is attached to a port, once for all that changed since he was
 * told last, and never from inside the call that changed it.
 */
#include "fabric/net/fabric_priv.h"

static void tell_of_routes(struct fabric *f)
{
	if (f->routes_changed)
		f->routes_changed(f->arg);
}

void net_multicast_changed(struct fabric *f, uint32_t block, uint32_t rows)
{
	uint32_t first = block * NET_MFT_BLOCK;

	f->generation++;
	for (uint32_t left = rows; left; left &= left - 1) {
		uint32_t index = first + (uint32_t)__builtin_ctz(left);

		f->mlid_generations[index & (NET_MLIDS - 1)] = f->generation;
	}
	if (f->multicast_changed)
		f->multicast_changed(f->arg, (uint16_t)(IB_LID_MULTICAST_BASE + first),
				     rows);
	tell_of_routes(f);
}

void net_routes_changed(struct fabric *f)
{
	f->unicast_generation = ++f->generation;
	tell_of_routes(f);
}

void net_count_sent(struct fabric *f, uint16_t first_lid, uint16_t last_lid)
{
	if (f->carry)
		f->carry(f->arg, first_lid, last_lid);
}

/* What changes because of what is told here is told at the next run. Who detaches, takes
 * his notice off whichever list it is on. */
static void tell_all(struct timer *timer)
{
	struct fabric *f = container_of(timer, struct fabric, notify);
	struct list due = LIST_INIT(due);

	list_for_each_safe(l, &f->notices) {
		list_remove(l);
		list_append(&due, l);
	}
	while (!list_empty(&due)) {
		struct net_end *end = container_of(due.next, struct net_end, notice);
		unsigned int changes = end->changes;

		list_remove(&end->notice);
		end->changes = 0;
		end->ops->changed(end->arg, changes);
	}
}

void net_notify_init(struct fabric *f)
{
	list_init(&f->notices);
	timer_init(&f->notify, f->timers, tell_all);
}

void net_port_changed(struct fabric_port *p, unsigned int changes)
{
	struct net_end *end = p->end;
	struct fabric *f = p->node->fabric;

	if (!changes || !end || !end->ops || !end->ops->changed)
		return;
	if (!end->changes)
		list_append(&f->notices, &end->notice);
	end->changes |= changes;
	if (!f->notify.armed)
		timer_arm(&f->notify, 0);
}

void fabric_port_attach(struct fabric_port *port, const struct fabric_port_ops *ops,
			void *arg)
{
	list_remove(&port->end->notice);
	port->end->changes = 0;
	port->end->ops = ops;
	port->end->arg = arg;
}

/* The SM hears of it by trap 144, once there is one (spec/sa-sm 5.3). */
void fabric_port_set_issm(struct fabric_port *port, enum fabric_issm by, bool issm)
{
	unsigned int *sm_by = &port->end->sm_by;
	uint32_t mask = port->info.cap_mask & ~(uint32_t)SMP_CAP_SM;

	*sm_by = issm ? *sm_by | 1u << by : *sm_by & ~(1u << by);
	if (*sm_by)
		mask |= SMP_CAP_SM;
	if (!port->node->powered || mask == port->info.cap_mask)
		return;
	port->info.cap_mask = mask;
	net_port_changed(port, FABRIC_PORT_OTHER);
	net_trap_raise(&port->end->local_trap);
}
