// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's SA client on the core's: joins, queries, addresses of groups (spec/kernel 2).
 *
 * Everything is done on the loop, where the core's callbacks come from; a member or query
 * of a consumer has one of the core's, whose context it is.
 */
#include <rdma/ib_cache.h>
#include <rdma/ib_sa.h>

#include "core_view/core/sa/ib_sa.h"
#include "kapi/calls.h"
#include "kapi/device.h"
#include "kapi/driver_priv.h"

/* A client. Made by registration, freed when that is undone and the last member gone. */
struct kapi_sa_client {
	struct core_ib_sa_client core;
	struct ib_sa_client *client;
};

/* A member. The consumer frees it, or its callback says that we do. */
struct sa_member {
	struct ib_sa_multicast multicast;
	struct core_ib_sa_multicast *core;
	struct ib_sa_client *client;
	bool calling; /* its callback runs */
	bool freed;   /* by that callback */
};

/* But for what is behind the last field. */
static_assert(sizeof(struct ib_sa_mcmember_rec) >=
			      sizeof(struct core_ib_sa_mcmember_rec) &&
		      offsetof(struct ib_sa_mcmember_rec, proxy_join) ==
			      offsetof(struct core_ib_sa_mcmember_rec, proxy_join),
	      "one record");
static_assert(sizeof(struct sa_service_rec) == sizeof(struct core_sa_service_rec),
	      "one record");

static struct core_ib_sa_mcmember_rec *rec_of(struct ib_sa_mcmember_rec *rec)
{
	return (struct core_ib_sa_mcmember_rec *)rec;
}

static core_ib_sa_comp_mask mask_of(ib_sa_comp_mask mask)
{
	return (core_ib_sa_comp_mask){ .mask = mask };
}

/* -- clients ------------------------------------------------------------------------ */

static void idle(struct core_ib_sa_client *core)
{
	struct kapi_sa_client *c = container_of(core, struct kapi_sa_client, core);

	complete(&c->client->comp);
}

static int register_here(struct ib_sa_client *client)
{
	core_ib_sa_register_client(&client->core->core);
	return 0;
}
KAPI_ON_LOOP1(int, register_here, struct ib_sa_client *)

void ib_sa_register_client(struct ib_sa_client *client)
{
	atomic_set(&client->users, 1);
	init_completion(&client->comp);
	client->core = NULL;
	if (WARN_ON(kapi_host_need() < 0))
		return;
	client->core = kzalloc(sizeof(*client->core), GFP_KERNEL);
	if (WARN_ON(!client->core))
		return;
	client->core->client = client;
	client->core->core.idle = idle;
	on_loop_register_here(client);
}

static bool unregister_here(struct ib_sa_client *client)
{
	return core_ib_sa_unregister_client(&client->core->core);
}
KAPI_ON_LOOP1(bool, unregister_here, struct ib_sa_client *)

void ib_sa_unregister_client(struct ib_sa_client *client)
{
	if (!client->core)
		return;
	atomic_dec(&client->users);
	if (!on_loop_unregister_here(client)) {
		if (kapi_on_loop()) {
			kapi_report(
				"ib_sa_unregister_client from a callback, with members "
				"or queries left");
			return;
		}
		wait_for_completion(&client->comp);
	}
	kfree(client->core);
	client->core = NULL;
}

/* -- joins -------------------------------------------------------------------------- */

static void member_gone(struct sa_member *m)
{
	atomic_dec(&m->client->users);
	kfree(m);
}

/* Non-zero: the core frees its member now, and ours is gone. */
static int joined(int status, struct core_ib_sa_multicast *core)
{
	struct sa_member *m = core->context;
	bool release;

	memcpy(&m->multicast.rec, &core->rec, sizeof(core->rec));
	m->calling = true;
	release = m->multicast.callback(status, &m->multicast) != 0;
	m->calling = false;
	if (!release && !m->freed)
		return 0;
	member_gone(m);
	return 1;
}

struct join {
	struct ib_device *device;
	u32 port_num;
	struct sa_member *member;
};

static int join_here(struct join *j)
{
	struct sa_member *m = j->member;
	struct core_ib_sa_multicast *core;

	core = core_ib_sa_join_multicast(&m->client->core->core, device_core(j->device),
					 j->port_num, rec_of(&m->multicast.rec),
					 mask_of(m->multicast.comp_mask), joined, m);
	if (core_IS_ERR(core))
		return core_PTR_ERR(core);
	m->core = core;
	return 0;
}
KAPI_ON_LOOP1(int, join_here, struct join *)

struct ib_sa_multicast *ib_sa_join_multicast(
	struct ib_sa_client *client, struct ib_device *device, u32 port_num,
	struct ib_sa_mcmember_rec *rec, ib_sa_comp_mask comp_mask, gfp_t gfp_mask,
	int (*callback)(int status, struct ib_sa_multicast *multicast), void *context)
{
	struct join j = { .device = device, .port_num = port_num };
	int r;

	if (!device_core(device) || !client->core)
		return ERR_PTR(-ENODEV);
	j.member = kzalloc(sizeof(*j.member), gfp_mask);
	if (!j.member)
		return ERR_PTR(-ENOMEM);
	j.member->client = client;
	j.member->multicast.rec = *rec;
	j.member->multicast.comp_mask = comp_mask;
	j.member->multicast.callback = callback;
	j.member->multicast.context = context;
	atomic_inc(&client->users);
	r = on_loop_join_here(&j);
	if (r < 0) {
		member_gone(j.member);
		return ERR_PTR(r);
	}
	return &j.member->multicast;
}

/* Other threads' callbacks are not running while the loop does this. */
static int free_here(struct sa_member *m)
{
	if (m->calling) {
		kapi_report("ib_sa_free_multicast of a member in its own callback");
		m->freed = true;
		return 0;
	}
	core_ib_sa_free_multicast(m->core);
	member_gone(m);
	return 0;
}
KAPI_ON_LOOP1(int, free_here, struct sa_member *)

void ib_sa_free_multicast(struct ib_sa_multicast *multicast)
{
	on_loop_free_here(container_of(multicast, struct sa_member, multicast));
}

static int get_rec_here(struct ib_device *device, u32 port_num, union ib_gid *mgid,
			struct ib_sa_mcmember_rec *rec)
{
	return core_ib_sa_get_mcmember_rec(device_core(device), port_num,
					   (union core_ib_gid *)mgid, rec_of(rec));
}
KAPI_ON_LOOP4(int, get_rec_here, struct ib_device *, u32, union ib_gid *,
	      struct ib_sa_mcmember_rec *)

int ib_sa_get_mcmember_rec(struct ib_device *device, u32 port_num, union ib_gid *mgid,
			   struct ib_sa_mcmember_rec *rec)
{
	if (!device_core(device))
		return -ENODEV;
	return on_loop_get_rec_here(device, port_num, mgid, rec);
}

/* Spec/kernel 2.10. */
int ib_init_ah_from_mcmember(struct ib_device *device, u32 port_num,
			     struct ib_sa_mcmember_rec *rec, struct net_device *ndev,
			     enum ib_gid_type gid_type, struct rdma_ah_attr *ah_attr)
{
	const struct ib_gid_attr *sgid;

	if (!rdma_is_port_valid(device, port_num))
		return -ENOENT;
	if (rdma_protocol_ib(device, port_num))
		ndev = NULL;
	else if (!rdma_protocol_roce(device, port_num))
		return -EINVAL;
	sgid = rdma_find_gid_by_port(device, &rec->port_gid, gid_type, port_num, ndev);
	if (IS_ERR(sgid))
		return PTR_ERR(sgid);
	memset(ah_attr, 0, sizeof(*ah_attr));
	ah_attr->type = rdma_ah_find_type(device, port_num);
	rdma_ah_set_dlid(ah_attr, be16_to_cpu(rec->mlid));
	ah_attr->sl = rec->sl;
	ah_attr->port_num = port_num;
	ah_attr->static_rate = rec->rate;
	rdma_move_grh_sgid_attr(ah_attr, &rec->mgid, be32_to_cpu(rec->flow_label),
				rec->hop_limit, rec->traffic_class, sgid);
	return 0;
}

/* -- queries ------------------------------------------------------------------------ */

/* One question, gone with its answer. */
struct question {
	struct ib_sa_client *client;
	struct ib_device *device;
	u32 port_num;
	u32 timeout_ms;
	ib_sa_comp_mask comp_mask;
	void *context;
	struct core_ib_sa_query *query;
	const void *rec;
	void (*path)(int status, struct sa_path_rec *resp, unsigned int n, void *context);
	void (*service)(int status, struct sa_service_rec *resp, unsigned int n,
			void *context);
};

static void path_to_core(const struct sa_path_rec *rec, struct core_sa_path_rec *to)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, rec, offsetof(struct core_sa_path_rec, ib));
	to->ib.dlid = rec->ib.dlid;
	to->ib.slid = rec->ib.slid;
	to->ib.raw_traffic = rec->ib.raw_traffic;
	to->rec_type = (enum core_sa_path_rec_type)rec->rec_type;
}

static void path_from_core(const struct core_sa_path_rec *rec, struct sa_path_rec *to)
{
	memcpy(to, rec, offsetof(struct core_sa_path_rec, ib));
	to->ib.dlid = rec->ib.dlid;
	to->ib.slid = rec->ib.slid;
	to->ib.raw_traffic = rec->ib.raw_traffic;
}
static_assert(offsetof(struct sa_path_rec, preference) ==
		      offsetof(struct core_sa_path_rec, preference),
	      "one order");

static void question_over(struct question *q)
{
	atomic_dec(&q->client->users);
	kfree(q);
}

static void path_answered(int status, const struct core_sa_path_rec *rec, void *context)
{
	struct question *q = context;
	struct sa_path_rec answer = { .rec_type = SA_PATH_REC_TYPE_IB };

	if (rec)
		path_from_core(rec, &answer);
	q->path(status, rec ? &answer : NULL, rec ? 1 : 0, q->context);
	question_over(q);
}

static void services_answered(int status, const struct core_sa_service_rec *recs,
			      unsigned int count, void *context)
{
	struct question *q = context;

	q->service(status, (struct sa_service_rec *)recs, count, q->context);
	question_over(q);
}

static int ask_path(struct question *q)
{
	struct core_sa_path_rec rec;

	path_to_core(q->rec, &rec);
	return core_ib_sa_path_rec_get(&q->client->core->core, device_core(q->device),
				       q->port_num, &rec, mask_of(q->comp_mask),
				       q->timeout_ms, path_answered, q, &q->query);
}

static int ask_services(struct question *q)
{
	return core_ib_sa_service_rec_get(&q->client->core->core, device_core(q->device),
					  q->port_num, q->rec, mask_of(q->comp_mask),
					  q->timeout_ms, services_answered, q, &q->query);
}

struct asking {
	const struct question *what;
	int (*how)(struct question *);
	struct ib_sa_query **query;
};

/* The answer may come, and the question go, before the asking thread is back: on the loop
 * neither has happened yet. */
static int ask_and_name(struct asking *a)
{
	struct question copy = *a->what, *q;
	int r;

	*a->query = NULL;
	if (!device_core(copy.device) || !copy.client->core)
		return -ENODEV;
	q = kmemdup(&copy, sizeof(copy), GFP_KERNEL);
	if (!q)
		return -ENOMEM;
	atomic_inc(&q->client->users);
	r = a->how(q);
	if (r < 0)
		question_over(q);
	else
		*a->query = (struct ib_sa_query *)q->query;
	return r;
}
KAPI_ON_LOOP1(int, ask_and_name, struct asking *)

int ib_sa_path_rec_get(struct ib_sa_client *client, struct ib_device *device,
		       u32 port_num, struct sa_path_rec *rec, ib_sa_comp_mask comp_mask,
		       unsigned long timeout_ms, gfp_t gfp_mask,
		       void (*callback)(int status, struct sa_path_rec *resp,
					unsigned int num_paths, void *context),
		       void *context, struct ib_sa_query **query)
{
	const struct question what = {
		.client = client,
		.device = device,
		.port_num = port_num,
		.timeout_ms = timeout_ms,
		.comp_mask = comp_mask,
		.context = context,
		.rec = rec,
		.path = callback,
	};
	struct asking a = { &what, ask_path, query };

	return on_loop_ask_and_name(&a);
}

int ib_sa_service_rec_get(struct ib_sa_client *client, struct ib_device *device,
			  u32 port_num, struct sa_service_rec *rec,
			  ib_sa_comp_mask comp_mask, unsigned long timeout_ms,
			  gfp_t gfp_mask,
			  void (*callback)(int status, struct sa_service_rec *resp,
					   unsigned int num_services, void *context),
			  void *context, struct ib_sa_query **sa_query)
{
	const struct question what = {
		.client = client,
		.device = device,
		.port_num = port_num,
		.timeout_ms = timeout_ms,
		.comp_mask = comp_mask,
		.context = context,
		.rec = rec,
		.service = callback,
	};
	struct asking a = { &what, ask_services, sa_query };

	return on_loop_ask_and_name(&a);
}

static int cancel_here(int id, struct ib_sa_query *query)
{
	core_ib_sa_cancel_query(id, (struct core_ib_sa_query *)query);
	return 0;
}
KAPI_ON_LOOP2(int, cancel_here, int, struct ib_sa_query *)

void ib_sa_cancel_query(int id, struct ib_sa_query *query)
{
	if (kapi_host())
		on_loop_cancel_here(id, query);
}

/* -- records: pure ------------------------------------------------------------------ */

void ib_sa_pack_path(struct sa_path_rec *rec, void *attribute)
{
	struct core_sa_path_rec core;

	path_to_core(rec, &core);
	core_ib_sa_pack_path(&core, attribute);
}

/* What has no place in the wire's record stays as it was. */
void ib_sa_unpack_path(void *attribute, struct sa_path_rec *rec)
{
	struct core_sa_path_rec core;

	path_to_core(rec, &core);
	core_ib_sa_unpack_path(attribute, &core);
	path_from_core(&core, rec);
}

void ib_sa_pack_service(struct sa_service_rec *rec, void *attribute)
{
	core_ib_sa_pack_service((const struct core_sa_service_rec *)rec, attribute);
}

void ib_sa_unpack_service(void *attribute, struct sa_service_rec *rec)
{
	core_ib_sa_unpack_service(attribute, (struct core_sa_service_rec *)rec);
}
