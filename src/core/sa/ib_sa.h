/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The SA client of one node: joins of multicast groups counted per port, and queries
 * (spec/kernel 2). Names, records and rules are the kernel's; byte orders of the records
 * too: what is marked be is big-endian in memory.
 *
 * One thread: callbacks come from the node's timers, never from inside the call that
 * caused them. Where Linux's calls wait (a callback that runs on another thread, a client
 * that still has work), these say when they are done instead; who needs to wait does so
 * above (src/kapi).
 */
#ifndef CORE_SA_IB_SA_H
#define CORE_SA_IB_SA_H

#include "core/mad/ib_mad.h"
#include "core/verbs/ib_verbs.h"

struct ib_sa; /* a node's SA client */

struct ib_sa_config {
	struct ib_node *node;
	struct ib_mad *mad; /* of the node */
	struct timer_queue *timers;
	struct random *random;
};

/* After the node's ib_mad, before who joins groups; destroyed in the reverse order, when
 * no client is left. */
int ib_sa_create(const struct ib_sa_config *config, struct ib_sa **ret);
void ib_sa_destroy(struct ib_sa *sa);
/* Ask nobody any more, for good: what is under way ends with -EINTR, from in here, and what
 * is begun, or waits for its turn, with -ENODEV. */
void ib_sa_silence(struct ib_sa *sa);

typedef u16 be16;
typedef u32 be32;
typedef u64 be64;
typedef struct {
	be64 mask; /* component n is cpu_to_be64(1 << n) */
} ib_sa_comp_mask;

/* From and to the host-order masks of wire/sa.h. */
ib_sa_comp_mask ib_sa_comp_mask_from_host(u64 mask);
u64 ib_sa_comp_mask_to_host(ib_sa_comp_mask mask);

/* Spec/kernel 2.2, in its order. */
struct ib_sa_mcmember_rec {
	union ib_gid mgid, port_gid;
	be32 qkey;
	be16 mlid;
	u8 mtu_selector, mtu, traffic_class;
	be16 pkey;
	u8 rate_selector, rate, packet_life_time_selector, packet_life_time, sl;
	be32 flow_label;
	u8 hop_limit, scope, join_state, proxy_join;
};

/* Who joins and asks; embed it. Members and queries hold it. */
struct ib_sa_client {
	u32 users;
	/* Unregistered, and the last member and query are gone. From the call that ends
	 * the last of them; may be null. */
	void (*idle)(struct ib_sa_client *client);
};
void ib_sa_register_client(struct ib_sa_client *client);
/* True: nobody holds it any more. False: `idle` will be called. */
bool ib_sa_unregister_client(struct ib_sa_client *client);

/* Exactly the kernel's four. Created by join, freed by ib_sa_free_multicast or by a
 * callback that returns non-zero. */
struct ib_sa_multicast {
	struct ib_sa_mcmember_rec rec;
	ib_sa_comp_mask comp_mask;
	int (*callback)(int status, struct ib_sa_multicast *multicast);
	void *context;
};

/*
 * Spec/kernel 2.4. The callback comes once with the outcome, and again with -ENETRESET if
 * the membership is lost later. Status: 0, -ETIMEDOUT, -EIO, -EINVAL, -EAGAIN, -ENOMEM,
 * -ENODEV, -EINTR, -ENETRESET. Non-zero returned: the core frees the member right then.
 * ERR_PTR: -ENODEV (the device has no port with an SA), -ENOMEM; -EINVAL: no such port
 * (Linux indexes out of its array there).
 */
struct ib_sa_multicast *
ib_sa_join_multicast(struct ib_sa_client *client, struct ib_device *device, u32 port_num,
		     const struct ib_sa_mcmember_rec *rec, ib_sa_comp_mask comp_mask,
		     int (*callback)(int status, struct ib_sa_multicast *multicast),
		     void *context);
/* Needed after every join that returned a member, a failed one too, unless the callback
 * returned non-zero. Anywhere but in the member's own callback, where it is detected,
 * logged, and done after the callback. No callback comes afterwards. */
void ib_sa_free_multicast(struct ib_sa_multicast *multicast);

/* -ENODEV; -EADDRNOTAVAIL: the port is not in that group (a join under way does not
 * count, where Linux hands out a record without content). */
int ib_sa_get_mcmember_rec(struct ib_device *device, u32 port_num,
			   const union ib_gid *mgid, struct ib_sa_mcmember_rec *rec);
/* Spec/kernel 2.10. `ifindex` filters the GIDs of a RoCE port; 0: any. */
int ib_init_ah_from_mcmember(struct ib_device *device, u32 port_num,
			     const struct ib_sa_mcmember_rec *rec, u32 ifindex,
			     enum ib_gid_type gid_type, struct rdma_ah_attr *ah_attr);

/* -- queries ------------------------------------------------------------------------- */

struct ib_sa_query; /* names a query for cancel; not to be looked into */

/* Spec/kernel 5.5, in its order. rec_type as the kernel's. */
enum sa_path_rec_type {
	SA_PATH_REC_TYPE_IB = 0,
	SA_PATH_REC_TYPE_ROCE_V1 = 1,
	SA_PATH_REC_TYPE_ROCE_V2 = 2,
	SA_PATH_REC_TYPE_OPA = 3,
};
struct sa_path_rec {
	union ib_gid dgid, sgid;
	be64 service_id;
	be32 flow_label;
	u8 hop_limit, traffic_class, reversible, numb_path;
	be16 pkey, qos_class;
	u8 sl, mtu_selector, mtu, rate_selector, rate;
	u8 packet_life_time_selector, packet_life_time, preference;
	struct {
		be16 dlid, slid;
		u8 raw_traffic;
	} ib;
	enum sa_path_rec_type rec_type;
};

/* Spec/kernel 5.6; the layout is the wire's. */
struct sa_service_rec {
	be64 id;
	u8 gid[16];
	be16 pkey;
	u8 reserved[2];
	be32 lease;
	u8 key[16];
	u8 name[64];
	u8 data_8[16];
	be16 data_16[8];
	be32 data_32[4];
	be64 data_64[2];
};

/*
 * Spec/kernel 2.11. A query id >= 0, or -ENODEV, -EAGAIN (no SM known), -EINVAL, -ENOMEM.
 * The callback comes once: 0, -EINVAL (refused; the record is the answer's), -ETIMEDOUT,
 * -EINTR (cancelled), -EIO; `rec` is null but for the first two.
 */
int ib_sa_path_rec_get(struct ib_sa_client *client, struct ib_device *device,
		       u32 port_num, const struct sa_path_rec *rec,
		       ib_sa_comp_mask comp_mask, u32 timeout_ms,
		       void (*callback)(int status, const struct sa_path_rec *rec,
					void *context),
		       void *context, struct ib_sa_query **query);
int ib_sa_service_rec_query(struct ib_sa_client *client, struct ib_device *device,
			    u32 port_num, u8 method, const struct sa_service_rec *rec,
			    ib_sa_comp_mask comp_mask, u32 timeout_ms,
			    void (*callback)(int status, const struct sa_service_rec *rec,
					     void *context),
			    void *context, struct ib_sa_query **query);
/* GetTable: all records. */
int ib_sa_service_rec_get(struct ib_sa_client *client, struct ib_device *device,
			  u32 port_num, const struct sa_service_rec *rec,
			  ib_sa_comp_mask comp_mask, u32 timeout_ms,
			  void (*callback)(int status, const struct sa_service_rec *recs,
					   unsigned int count, void *context),
			  void *context, struct ib_sa_query **query);
int ib_sa_mcmember_rec_query(
	struct ib_sa_client *client, struct ib_device *device, u32 port_num, u8 method,
	const struct ib_sa_mcmember_rec *rec, ib_sa_comp_mask comp_mask, u32 timeout_ms,
	void (*callback)(int status, const struct ib_sa_mcmember_rec *rec, void *context),
	void *context, struct ib_sa_query **query);
void ib_sa_cancel_query(int id, struct ib_sa_query *query);

void ib_sa_pack_path(const struct sa_path_rec *rec, void *attribute);
void ib_sa_unpack_path(const void *attribute, struct sa_path_rec *rec);
void ib_sa_pack_service(const struct sa_service_rec *rec, void *attribute);
void ib_sa_unpack_service(const void *attribute, struct sa_service_rec *rec);
void ib_sa_pack_mcmember(const struct ib_sa_mcmember_rec *rec, void *attribute);
void ib_sa_unpack_mcmember(const void *attribute, struct ib_sa_mcmember_rec *rec);

/* -- what is there, for status and tests --------------------------------------------- */

struct ib_sa_group_view {
	u32 port_num;
	struct ib_sa_mcmember_rec rec; /* join_state: what the SA has been told */
	u32 members[4];                /* per join-state bit */
};
void ib_sa_each_group(struct ib_device *device,
		      void (*fn)(void *arg, const struct ib_sa_group_view *group),
		      void *arg);

#endif
