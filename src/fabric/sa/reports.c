/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports: a notice to every subscriber that it matches, each until it is answered or
 * given up (spec/sa-sm 2.1, 2.2). They leave before the answer of the request that caused
 * them.
 *
 * Differs: what is reserved in a notice is zero; OpenSM sends what its stack held.
 */
#include <stdlib.h>

#include "fabric/sa/server_priv.h"

#define ANY_LID          0xffffu
#define ANY_TYPE         0xffffu
#define ANY_TRAP         0xffffu
#define ANY_PRODUCER     0xffffffu
#define REPORT_TIMEOUT   (200 * TIMER_MS) /* spec/sa-sm 2.2 */
#define REPORT_RETRIES   3
#define TYPE_MANAGEMENT  3u
#define CLASS_MANAGER    4u
#define DETAILS_GID      6u /* in the details of traps 64 to 67 */
#define SA_CLASS_VERSION 2

/* A notice, and what its partition check needs. */
struct event {
	struct notice notice;
	union ib_gid subject; /* the GID in its details, if it has one */
	const struct subnet_port *source;
	bool by_group; /* the P_Key counts, else the source */
	uint16_t pkey;
};

/* -- one report ---------------------------------------------------------------------- */

static uint32_t tid_hash(uint64_t tid)
{
	return hash_bytes(0, &tid, sizeof(tid));
}

static void report_destroy(struct hash_node *node)
{
	struct sa_report *report = container_of(node, struct sa_report, by_tid);

	timer_disarm(&report->timer);
	sa_share_give(report->server, report->to.port_lid, SA_SHARE_REPORTS, 1);
	free(report);
}

void sa_reports_forget(struct sa_server *s)
{
	hash_drain(&s->reports, report_destroy);
}

static void report_end(struct sa_report *report)
{
	hash_remove(&report->server->reports, &report->by_tid);
	report_destroy(&report->by_tid);
}

static void report_send(struct sa_report *report)
{
	report->tries++;
	timer_arm(&report->timer, REPORT_TIMEOUT);
	sa_send(report->server, &report->to, report->mad);
}

/* The subscription stays, whoever does not answer. */
static void report_late(struct timer *timer)
{
	struct sa_report *report = container_of(timer, struct sa_report, timer);

	if (report->tries <= REPORT_RETRIES) {
		report_send(report);
		return;
	}
	report->server->counters.reports_lost++;
	report_end(report);
}

static void report_write(struct sa_report *report, const struct notice *notice)
{
	struct mad_header mad = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SUBN_ADM,
		.class_version = SA_CLASS_VERSION,
		.method = MAD_METHOD_REPORT,
		.tid = report->tid,
		.attr_id = MAD_ATTR_NOTICE,
	};

	mad_header_put(report->mad, &mad);
	notice_put(report->mad + SA_DATA, NOTICE_BYTES, notice);
}

static void report_create(struct sa_server *s, const struct sa_address *to,
			  const struct notice *notice)
{
	struct sa_report *report = NULL;
	bool room = s->reports.count < SA_REPORTS_MAX &&
		    sa_share_take(s, to->port_lid, SA_SHARE_REPORTS, 1);

	if (room)
		report = calloc(1, sizeof(*report));
	if (!report) {
		if (room)
			sa_share_give(s, to->port_lid, SA_SHARE_REPORTS, 1);
		s->counters.reports_lost++;
		return;
	}
	report->server = s;
	report->to = *to;
	report->tid = s->next_tid++;
	report_write(report, notice);
	timer_init(&report->timer, s->timers, report_late);
	hash_insert(&s->reports, &report->by_tid, tid_hash(report->tid));
	s->counters.reports++;
	report_send(report);
}

void sa_report_answered(struct sa_server *s, const struct ib_packet *packet,
			const struct mad_header *mad)
{
	hash_for_each_match(node, &s->reports, tid_hash(mad->tid)) {
		struct sa_report *report = container_of(node, struct sa_report, by_tid);

		if (report->tid != mad->tid || report->to.lid != packet->slid ||
		    mad->attr_id != MAD_ATTR_NOTICE)
			continue;
		s->counters.reports_answered++;
		report_end(report);
		return;
	}
	s->counters.bad_answer++; /* late, or of nobody whom we told anything */
}

/* -- who is told --------------------------------------------------------------------- */

static bool origin_matches(const struct sa_inform_info *info, const struct event *e)
{
	uint16_t end = info->lid_end ? info->lid_end : info->lid_begin;

	if (!gid_is_zero(info->gid.raw))
		return gid_equal(info->gid.raw, e->notice.issuer_gid) ||
		       gid_equal(info->gid.raw, e->subject.raw);
	return info->lid_begin == ANY_LID ||
	       (e->notice.issuer_lid >= info->lid_begin && e->notice.issuer_lid <= end);
}

static bool info_matches(const struct sa_inform_info *info, const struct event *e)
{
	return origin_matches(info, e) && !!info->is_generic == !!e->notice.is_generic &&
	       (info->type == ANY_TYPE || info->type == e->notice.type) &&
	       (info->producer_type == ANY_PRODUCER ||
		info->producer_type == e->notice.producer_type);
}

static bool may_know(const struct sa_server *s, const struct sa_subscription *sub,
		     const struct event *e)
{
	const struct subnet_port *port = sa_port_by_guid(s, sub->port_guid);

	if (!port)
		return false;
	if (e->by_group)
		return sa_port_has_base(port, e->pkey);
	return !e->source || subnet_ports_share_pkey(port, e->source);
}

static void tell_those_of(struct sa_server *s, const struct event *e, uint16_t trap)
{
	hash_for_each_match(node, &s->subscriptions, hash_bytes(0, &trap, sizeof(trap))) {
		const struct sa_subscription *sub =
			container_of(node, struct sa_subscription, by_trap);

		if (sub->info.trap == trap && info_matches(&sub->info, e) &&
		    may_know(s, sub, e))
			report_create(s, &sub->to, &e->notice);
	}
}

static void tell(struct sa_server *s, const struct event *e)
{
	tell_those_of(s, e, e->notice.trap);
	if (e->notice.trap != ANY_TRAP)
		tell_those_of(s, e, ANY_TRAP);
}

/* -- notices ------------------------------------------------------------------------- */

/* Of traps 64 to 67, whose issuer is the SM. */
static void own_notice(const struct sa_server *s, enum notice_trap trap,
		       const union ib_gid *subject, struct event *e)
{
	const struct subnet *subnet = sm_subnet(s->sm);
	union ib_gid gid;

	e->subject = *subject;
	e->notice = (struct notice){
		.is_generic = 1,
		.type = TYPE_MANAGEMENT,
		.producer_type = CLASS_MANAGER,
		.trap = (uint16_t)trap,
	};
	memcpy(e->notice.details + DETAILS_GID, subject->raw, sizeof(subject->raw));
	if (!subnet->sm_port)
		return;
	e->notice.issuer_lid = subnet_port_lid(subnet->sm_port);
	sa_gid_put(&gid, subnet->prefix, subnet_port_guid(subnet->sm_port));
	memcpy(e->notice.issuer_gid, gid.raw, sizeof(gid.raw));
}

void sa_report_group(struct sa_server *s, enum notice_trap trap,
		     const struct sa_group *group)
{
	struct event e = { .by_group = true, .pkey = group->rec.pkey };

	if (!s->up || !s->subscriptions.count)
		return;
	own_notice(s, trap, &group->rec.mgid, &e);
	tell(s, &e);
}

void sa_report_port(struct sa_server *s, enum notice_trap trap, uint64_t port_guid)
{
	struct event e = { 0 };
	union ib_gid gid;

	if (!s->up || !s->subscriptions.count)
		return;
	sa_gid_put(&gid, sm_subnet(s->sm)->prefix, port_guid);
	own_notice(s, trap, &gid, &e);
	/* Also where it is not seen any more: who shared its partitions is told. */
	e.source = subnet_port_by_guid(sm_subnet(s->sm), port_guid);
	tell(s, &e);
}

void sa_report_trap(struct sa_server *s, const uint8_t *notice)
{
	const struct subnet *subnet = sm_subnet(s->sm);
	struct event e = { 0 };
	union ib_gid gid;

	if (!s->subscriptions.count)
		return;
	notice_get(notice, NOTICE_TRAP_BYTES, &e.notice);
	e.source = subnet_port_by_lid(subnet, e.notice.issuer_lid);
	if (e.source) {
		sa_gid_put(&gid, subnet->prefix, subnet_port_guid(e.source));
		memcpy(e.notice.issuer_gid, gid.raw, sizeof(gid.raw));
	}
	tell(s, &e);
}
