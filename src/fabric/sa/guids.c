/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GUIDs that a port has beside its own: GUIDInfoRecord Set and Delete (spec/sa-sm 3.8,
 * 4.1). What a port has is in the port, which is read, changed and written for it: one
 * change after the other, or two of one block would undo each other.
 *
 * We remember what we gave (aliases.c), so that no GUID is two ports', until the port goes,
 * and tell it who stands by. A master that did not inherit it learns of a port's block when
 * that is changed; hosts, told to register anew, ask for their GUIDs, and keep them.
 *
 * Whose a GUID is we know better than the port that has it: what is another's is taken from
 * a block whenever it is changed, and from one that is known to have it at once.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "fabric/sa/server_priv.h"

#define GUIDS_A_BLOCK   8u
#define RECORD_GUIDS    8u /* offset of the first */
#define RECORD_BYTES    (RECORD_GUIDS + SMP_DATA_BYTES)
#define COMPONENT_LID   (1ull << 0)
#define COMPONENT_BLOCK (1ull << 1)
#define COMPONENT_GUID0 4 /* its number; the others follow */

/* A number of our own making, not a manufacturer's, and one port's (EUI-64). */
#define GUID_LOCAL (1ull << 57)
#define GUID_GROUP (1ull << 56)

enum guid_step {
	STEP_READ,
	STEP_WRITE,
	STEP_DONE,
};

struct sa_guid_change {
	struct list link; /* in server.guid_changes, in the order they came */
	struct sa_server *server;
	struct sa_request *req; /* null: nobody's, to take what is another port's */
	struct sm_question question;
	struct timer timer;
	enum guid_step step; /* what follows */
	bool rests;          /* others of the port go first, until its timer runs */
	int error;
	uint64_t port_guid;
	uint8_t block;
	uint64_t before[GUIDS_A_BLOCK], guids[GUIDS_A_BLOCK];
};

static void get_guids(uint64_t *guids, const uint8_t *bytes)
{
	for (unsigned int i = 0; i < GUIDS_A_BLOCK; i++)
		guids[i] = wire_get64(bytes + 8 * i);
}

static void put_guids(uint8_t *bytes, const uint64_t *guids)
{
	for (unsigned int i = 0; i < GUIDS_A_BLOCK; i++)
		wire_put64(bytes + 8 * i, guids[i]);
}

/* -- what was given to whom ---------------------------------------------------------- */

static bool is_own(unsigned int block, unsigned int i)
{
	return block == 0 && i == 0;
}

static unsigned int place_of(const struct sa_guid_change *c, unsigned int i)
{
	return c->block * GUIDS_A_BLOCK + i;
}

/* The port has these in the block, and no others. Some may have changed places; what is
 * another port's own is not learned from it. */
static int remember(struct sa_server *s, const struct sa_guid_change *c,
		    const uint64_t *guids)
{
	const struct sa_alias *a;
	int r = 0;

	while ((a = sa_alias_astray(s, c->port_guid, place_of(c, 0), GUIDS_A_BLOCK,
				    guids)))
		sa_alias_forget(s, a->guid);
	for (unsigned int i = 0; i < GUIDS_A_BLOCK && !r; i++)
		if (guids[i] && !is_own(c->block, i) && !sa_port_by_guid(s, guids[i]))
			r = sa_alias_keep(s, c->port_guid, place_of(c, i), guids[i]);
	return r;
}

static bool is_taken(const struct sa_server *s, uint64_t guid)
{
	return sa_port_by_guid(s, guid) || sa_alias_find(s, guid);
}

static bool is_anothers(const struct sa_guid_change *c, uint64_t guid)
{
	const struct sa_alias *a = sa_alias_find(c->server, guid);

	return sa_port_by_guid(c->server, guid) || (a && a->port_guid != c->port_guid);
}

/* False: nothing in the block is another's. */
static bool disown(struct sa_guid_change *c)
{
	bool any = false;

	for (unsigned int i = 0; i < GUIDS_A_BLOCK; i++) {
		if (!c->guids[i] || is_own(c->block, i) || !is_anothers(c, c->guids[i]))
			continue;
		c->guids[i] = 0;
		any = true;
	}
	return any;
}

/* -- the change ---------------------------------------------------------------------- */

static bool is_named(const struct sa_request *req, unsigned int i)
{
	return req->sa.comp_mask >> (COMPONENT_GUID0 + i) & 1;
}

static uint64_t choose(struct sa_server *s)
{
	uint64_t guid;

	do
		guid = (random_u64(s->random) | GUID_LOCAL) & ~GUID_GROUP;
	while (is_taken(s, guid));
	return guid;
}

/* What place `i` gets, of 0 one of our choice; it keeps what it has, so that a request
 * whose answer was lost may come again. 0: the wish is somebody's. */
static uint64_t grant(struct sa_server *s, const struct sa_guid_change *c, unsigned int i,
		      uint64_t wish)
{
	if (!wish)
		return c->before[i] ? c->before[i] : choose(s);
	return wish == c->before[i] || !is_taken(s, wish) ? wish : 0;
}

/* What was there and is not to be any more. */
static bool goes(const struct sa_guid_change *c, unsigned int i)
{
	return c->before[i] && c->guids[i] != c->before[i];
}

/* A GUID that is a member of a group stays, as with OpenSM. */
static bool is_in_use(const struct sa_guid_change *c)
{
	for (unsigned int i = 0; i < GUIDS_A_BLOCK; i++) {
		if (goes(c, i) &&
		    sa_guid_is_joined(c->server, c->port_guid, c->before[i]))
			return true;
	}
	return false;
}

/* From now on nobody joins by what goes. */
static void mark(const struct sa_guid_change *c)
{
	for (unsigned int i = 0; i < GUIDS_A_BLOCK; i++) {
		struct sa_alias *a =
			goes(c, i) ? sa_alias_find(c->server, c->before[i]) : NULL;

		if (a)
			a->leaves = true;
	}
}

static void unmark(const struct sa_guid_change *c)
{
	for (unsigned int i = 0; i < GUIDS_A_BLOCK; i++) {
		struct sa_alias *a = sa_alias_find(c->server, c->before[i]);

		if (a)
			a->leaves = false;
	}
}

static int edit(struct sa_guid_change *c)
{
	struct sa_server *s = c->server;
	bool clear = c->req->mad.method == MAD_METHOD_DELETE;
	uint64_t wishes[GUIDS_A_BLOCK];

	disown(c);
	memcpy(c->before, c->guids, sizeof(c->before));
	if (remember(s, c, c->before) < 0)
		return SA_NO_RESOURCES;
	get_guids(wishes, sa_request_data(c->req) + RECORD_GUIDS);
	for (unsigned int i = 0; i < GUIDS_A_BLOCK; i++) {
		if (!is_named(c->req, i) || is_own(c->block, i))
			continue;
		c->guids[i] = clear ? 0 : grant(s, c, i, wishes[i]);
		if (clear)
			continue;
		if (!c->guids[i])
			return SA_REQ_DENIED;
		/* From now on, or another change under way could be granted it. */
		if (sa_alias_keep(s, c->port_guid, place_of(c, i), c->guids[i]) < 0)
			return SA_NO_RESOURCES;
	}
	if (is_in_use(c))
		return SA_REQ_DENIED;
	mark(c);
	return 0;
}

static int ask(struct sa_guid_change *c)
{
	struct sa_server *s = c->server;
	const struct subnet_port *port = sa_port_by_guid(s, c->port_guid);
	uint8_t data[SMP_DATA_BYTES];

	if (!port) /* it has gone since */
		return SA_NO_RECORDS;
	put_guids(data, c->guids);
	return sm_ask(s->sm, &c->question, port, SMP_GUID_INFO, c->block,
		      c->step == STEP_WRITE ? data : NULL) < 0
		       ? SA_NO_RESOURCES
		       : 0;
}

static void answered(struct sm_question *q, int error, const uint8_t *data)
{
	struct sa_guid_change *c = container_of(q, struct sa_guid_change, question);

	c->error = error;
	if (!error) {
		get_guids(c->guids, data);
		c->step++;
	}
	timer_arm(&c->timer, 0);
}

/* It is at work, and the others of the port wait for it. */
static struct sa_guid_change *first_of(const struct sa_server *s, uint64_t port_guid)
{
	list_for_each(l, &s->guid_changes) {
		struct sa_guid_change *c = container_of(l, struct sa_guid_change, link);

		if (c->port_guid == port_guid && !c->rests)
			return c;
	}
	return NULL;
}

static void start_next(const struct sa_server *s, uint64_t port_guid)
{
	struct sa_guid_change *next = first_of(s, port_guid);

	if (next && !next->question.smp)
		timer_arm(&next->timer, 0);
}

static void go_on(struct timer *timer);

static struct sa_guid_change *change_create(struct sa_server *s, uint64_t port_guid,
					    uint8_t block)
{
	struct sa_guid_change *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->server = s;
	c->question.answered = answered;
	c->port_guid = port_guid;
	c->block = block;
	timer_init(&c->timer, s->timers, go_on);
	if (!first_of(s, port_guid))
		timer_arm(&c->timer, 0);
	list_append(&s->guid_changes, &c->link);
	return c;
}

/* One port's may not be all that there is room for. */
static bool may_begin(const struct sa_server *s, uint64_t port_guid)
{
	unsigned int all = 0, of_port = 0;

	list_for_each(l, &s->guid_changes) {
		struct sa_guid_change *c = container_of(l, struct sa_guid_change, link);

		all += c->req != NULL;
		of_port += c->req && c->port_guid == port_guid;
	}
	return all < SA_GUID_CHANGES_MAX && of_port < SA_GUID_CHANGES_A_PORT;
}

void sa_guid_change_destroy(struct sa_guid_change *c)
{
	struct sa_server *s;
	uint64_t port_guid;

	if (!c)
		return;
	s = c->server;
	port_guid = c->port_guid;
	unmark(c);
	list_remove(&c->link);
	timer_disarm(&c->timer);
	sm_question_drop(&c->question);
	free(c);
	start_next(s, port_guid);
}

static void finish(struct sa_guid_change *c, int status)
{
	struct sa_request *req = c->req;
	uint8_t record[RECORD_BYTES] = { 0 };

	/* It takes no more than was taken before. */
	if (c->step != STEP_READ)
		(void)remember(c->server, c, status ? c->before : c->guids);
	memcpy(record, sa_request_data(req), 2);
	record[2] = c->block;
	put_guids(record + RECORD_GUIDS, c->guids);
	req->guid_change = NULL;
	sa_guid_change_destroy(c);
	if (!status)
		sa_request_answer(req, record, sizeof(record));
	sa_request_end(req, (uint16_t)status);
}

/* -- taking what is another's -------------------------------------------------------- */

/* A port that does not answer is asked again, as long as it is there. */
static void put_off(struct sa_guid_change *c)
{
	c->step = STEP_READ;
	c->error = 0;
	c->rests = true;
	timer_arm(&c->timer, SA_GUID_AGAIN_NS);
	start_next(c->server, c->port_guid);
}

static void wake(struct sa_guid_change *c)
{
	c->rests = false;
	list_remove(&c->link);
	list_append(&c->server->guid_changes, &c->link);
}

/* One that has not yet seen what the block has will do. */
static bool is_being_taken(const struct sa_server *s, uint64_t port_guid, uint8_t block)
{
	list_for_each(l, &s->guid_changes) {
		struct sa_guid_change *c = container_of(l, struct sa_guid_change, link);

		if (!c->req && c->port_guid == port_guid && c->block == block &&
		    (c->step == STEP_READ || (c->step == STEP_WRITE && !c->question.smp)))
			return true;
	}
	return false;
}

void sa_guid_take(struct sa_server *s, uint64_t port_guid, unsigned int place)
{
	uint8_t block = (uint8_t)(place / GUIDS_A_BLOCK);

	if (!is_being_taken(s, port_guid, block) && !change_create(s, port_guid, block))
		log_warning("sa: no memory to take a GUID from port %016llx",
			    (unsigned long long)port_guid);
}

void sa_guids_forget(struct sa_server *s)
{
	while (!list_empty(&s->guid_changes))
		sa_guid_change_destroy(
			container_of(s->guid_changes.next, struct sa_guid_change, link));
}

/* -- each step ----------------------------------------------------------------------- */

/* What follows from what the block has. */
static int decide(struct sa_guid_change *c)
{
	if (c->req)
		return edit(c);
	if (!disown(c))
		c->step = STEP_DONE;
	return 0;
}

static void end(struct sa_guid_change *c, int status)
{
	if (c->req)
		finish(c, status);
	else if (status == SA_NO_RESOURCES)
		put_off(c);
	else
		sa_guid_change_destroy(c);
}

static void go_on(struct timer *timer)
{
	struct sa_guid_change *c = container_of(timer, struct sa_guid_change, timer);
	int status = 0;

	if (c->rests)
		wake(c);
	if (first_of(c->server, c->port_guid) != c)
		return; /* it is started in its turn */
	if (c->error)
		status = c->error == -EREMOTEIO ? SA_REQ_DENIED : SA_NO_RESOURCES;
	else if (c->step == STEP_WRITE)
		status = decide(c);
	if (!status && c->step != STEP_DONE)
		status = ask(c);
	if (status || c->step == STEP_DONE)
		end(c, status);
}

/* -- requests ------------------------------------------------------------------------ */

/* The port whose GUIDs they are, or a status. A port's GUIDs are changed from behind it, or
 * by who knows the key. */
static int find_port(const struct sa_request *req, const struct subnet_port *requester,
		     const struct subnet_port **ret)
{
	const uint8_t *data = sa_request_data(req);
	const uint64_t needed = COMPONENT_LID | COMPONENT_BLOCK;
	const struct subnet_port *port;

	if ((req->sa.comp_mask & needed) != needed)
		return SA_REQ_INVALID;
	port = sa_port_by_lid(req->server, wire_get16(data));
	if (!port)
		return SA_REQ_INVALID;
	if (port != requester && !req->trusted)
		return SA_REQ_DENIED;
	for (unsigned int i = 0; i < GUIDS_A_BLOCK; i++)
		if (is_named(req, i) &&
		    data[2] * GUIDS_A_BLOCK + i >= port->info.guid_cap)
			return SA_REQ_INVALID;
	if (data[2] * GUIDS_A_BLOCK >= port->info.guid_cap)
		return SA_REQ_INVALID;
	*ret = port;
	return 0;
}

static int change(struct sa_request *req)
{
	const struct subnet_port *requester = sa_request_port(req), *port;
	struct sa_server *s = req->server;
	struct sa_guid_change *c;
	int status;

	if (!requester)
		return SA_SILENT;
	status = find_port(req, requester, &port);
	if (status)
		return status;
	if (!may_begin(s, subnet_port_guid(port)))
		return MAD_STATUS_BUSY;
	c = change_create(s, subnet_port_guid(port), sa_request_data(req)[2]);
	if (!c)
		return SA_NO_RESOURCES;
	c->req = req;
	req->guid_change = c;
	return SA_WAITS;
}

int sa_guid_set(struct sa_request *req)
{
	return change(req);
}

int sa_guid_delete(struct sa_request *req)
{
	return change(req);
}
