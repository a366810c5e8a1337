// SPDX-License-Identifier: BSD-2-Clause
/*
 * A consumer that joins a group with the subnet administrator, and says in a file what its
 * callback hears, a status a line:
 *
 *	report=FILE   that file
 *	node=N        of which node's vib0
 *	group=MGID    as an IPv6 address
 *	members=N     so many at once
 *	rejoin=1      joins again: after -ENETRESET from inside the callback, after other errors
 *	              a fifth of a second later
 *	release=1     the callback returns non-zero
 *
 *	joins N       begun, by member N
 *	told N STATUS
 *	gone          all is given back
 */
#include <arpa/inet.h>
#include <linux/module.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>
#include <verbcast/kapi.h>

#include "mcmember.h"
#include "report.h"

MODULE_LICENSE("Dual BSD/GPL");

#define MEMBERS_MAX 200
#define QKEY        0x11111111

static int node;
module_param(node, int, 0);
static char *group = "ff15:a01b::7";
module_param(group, charp, 0);
static int members = 1;
module_param(members, int, 0);
static int rejoin;
module_param(rejoin, int, 0);
static int release;
module_param(release, int, 0);

static struct ib_sa_client sa;
static struct ib_device *device;
static bool leaving;

static struct member {
	int number;
	struct ib_sa_multicast *multicast;
	bool failed; /* it has, and is to be freed */
	struct delayed_work again;
	struct mutex lock; /* over what is above */
} all[MEMBERS_MAX];

static int told(int status, struct ib_sa_multicast *multicast);

static void join(struct member *m)
{
	struct ib_sa_mcmember_rec rec = {
		.qkey = cpu_to_be32(QKEY),
		.pkey = cpu_to_be16(0xffff),
		.join_state = BIT(FULLMEMBER_JOIN),
	};
	struct ib_sa_multicast *multicast;

	inet_pton(AF_INET6, group, rec.mgid.raw);
	rdma_query_gid(device, 1, 0, &rec.port_gid);
	say("joins %d", m->number);
	multicast = ib_sa_join_multicast(&sa, device, 1, &rec, MCMEMBER_CREATE_MASK,
					 GFP_KERNEL, told, m);
	if (IS_ERR(multicast)) {
		say("told %d %ld", m->number, PTR_ERR(multicast));
		return;
	}
	if (!release) /* else it may have gone already */
		m->multicast = multicast;
}

static void again(struct work_struct *w)
{
	struct member *m = container_of(to_delayed_work(w), struct member, again);

	mutex_lock(&m->lock);
	if (m->failed)
		ib_sa_free_multicast(m->multicast);
	if (m->failed)
		m->multicast = NULL;
	m->failed = false;
	if (!m->multicast && !READ_ONCE(leaving))
		join(m);
	mutex_unlock(&m->lock);
}

/* From the loop, where a thread that is joining may be waiting for us: the lock is tried.
 * With it the member goes by what this returns, else by the work. */
static int told(int status, struct ib_sa_multicast *multicast)
{
	struct member *m = multicast->context;

	say("told %d %d", m->number, status);
	if (release || !status || !rejoin || READ_ONCE(leaving))
		return release;
	if (!mutex_trylock(&m->lock)) {
		m->failed = true;
		schedule_delayed_work(&m->again, HZ / 5);
		return 0;
	}
	m->multicast = NULL;
	if (status == -ENETRESET)
		join(m);
	schedule_delayed_work(&m->again, HZ / 5);
	mutex_unlock(&m->lock);
	return 1;
}

static int add_one(struct ib_device *d)
{
	if (strcmp(d->name, "vib0") || kapi_device_node(d) != (unsigned int)node)
		return -EOPNOTSUPP;
	device = d;
	for (int i = 0; i < members; i++) {
		mutex_lock(&all[i].lock);
		join(&all[i]);
		mutex_unlock(&all[i].lock);
	}
	return 0;
}

static void remove_one(struct ib_device *d, void *data)
{
	WRITE_ONCE(leaving, true);
	for (int i = 0; i < members; i++) {
		cancel_delayed_work_sync(&all[i].again);
		if (all[i].multicast)
			ib_sa_free_multicast(all[i].multicast);
	}
}

static struct ib_client client = { .name = "joiner",
				   .add = add_one,
				   .remove = remove_one };

static int __init begin(void)
{
	members = min(members, MEMBERS_MAX);
	for (int i = 0; i < members; i++) {
		all[i].number = i;
		mutex_init(&all[i].lock);
		INIT_DELAYED_WORK(&all[i].again, again);
	}
	ib_sa_register_client(&sa);
	return ib_register_client(&client);
}

static void __exit leave(void)
{
	ib_unregister_client(&client);
	ib_sa_unregister_client(&sa);
	say("gone");
}

module_init(begin);
module_exit(leave);
