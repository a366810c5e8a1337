/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each allocation fails once: the request is refused or dropped, what was begun is undone,
 * all else goes on, and everything is given back.
 */
// links: apps_alloc
#include "alloc/alloc.h"
#include "unit/fabric_sa/world.h"

static unsigned int told; /* requests that did not succeed, and calls */

static void try_request(struct world *w, const char *text)
{
	int status = world_status(w, text);

	assert_true(status == 0 || status == SA_NO_RESOURCES || status == NO_ANSWER ||
		    /* of what a failure before has kept away */
		    (told && (status == SA_REQ_INVALID || status == SA_NO_RECORDS)));
	told += status != 0;
}

static void try_record(struct world *w, uint16_t attribute, const uint8_t *record,
		       size_t bytes)
{
	const struct world_mad *m;
	struct world_ask ask;

	world_ask_parse(w, &ask, "H3 set");
	ask.mad.attr_id = attribute;
	ask.sa.comp_mask = 3;
	ask.raw = true;
	memcpy(ask.data, record, bytes);
	m = world_do(w, &ask);
	assert_true(!m || m->mad.status == 0 || m->mad.status == SA_NO_RESOURCES);
	told += !m || m->mad.status;
}

static void try_table(struct world *w)
{
	struct world_ask ask;

	world_ask_parse(w, &ask, "H2 table");
	w->sent_count = 0;
	world_ask_send(w, &ask);
	told += w->sent_count == 0;
	/* Nobody acknowledges. */
	world_run(w, 10000 * TIMER_MS);
}

static void try_takeover(struct world *w)
{
	uint8_t *bytes;
	size_t length;
	int r;

	r = sa_server_save(w->server, &bytes, &length);
	if (r == 0) {
		r = sa_server_load(w->server, bytes, length);
		free(bytes);
	}
	assert_true(r == 0 || r == -ENOMEM || r == -ENOSPC);
	told += r != 0;
	world_run(w, 0);
}

static void use(struct world *w)
{
	struct sa_inform_info info = inform_all_of(0xffff);
	struct sa_service service = { .id = 7 };
	uint8_t data[SA_SERVICE_BYTES];

	sa_inform_info_put(data, &info);
	try_record(w, MAD_ATTR_INFORM_INFO, data, SA_INFORM_BYTES);
	sa_service_put(data, &service);
	try_record(w, SA_SERVICE_RECORD, data, SA_SERVICE_BYTES);
	try_request(w, "H2 set create js=1 mgid=ff12::1");
	try_request(w, "H2 set create js=1 mgid=::");
	try_request(w, "H3 set create js=1 mgid=ff12::1");
	try_request(w, "H4 set create js=1 port=H5 mgid=ff12::1");
	try_table(w);
	try_takeover(w);
	try_request(w, "H3 delete join js=1 mgid=ff12::1");
	try_request(w, "H2 delete join js=1 mgid=ff12::1");
	sa_server_sm_ops.port_out(w->server, small_guid(2));
	world_run(w, 0);
}

static void try_all(struct world *w)
{
	struct sa_server_config config = { .timers = &w->timers, .random = &w->random };
	int r = sa_server_create(&config, &w->server);

	if (r < 0) {
		assert_int_equal(r, -ENOMEM);
		told++;
		return;
	}
	sa_server_set_sm(w->server, &w->sm);
	sa_server_sm_ops.up(w->server);
	use(w);
	sa_server_destroy(w->server);
}

static void each_allocation_fails_once(void **state)
{
	struct world *w = malloc(sizeof(*w));
	int n = 0, failed = 1;

	(void)state;
	while (failed) {
		long live = alloc_here.live;

		memset(w, 0, sizeof(*w));
		random_seed(&w->random, 1);
		timer_queue_init(&w->timers, 0, NULL, NULL);
		small_subnet_init(&w->sm, 6, &w->timers);
		w->sm.sent = world_sent;
		w->sm.arg = w;
		told = 0;
		alloc_fail_at(++n);
		try_all(w);
		failed = alloc_here.failed;
		alloc_fail_at(0);
		small_subnet_fini(&w->sm);
		assert_int_equal(alloc_here.live, live);
		if (!failed)
			assert_int_equal(told, 0);
	}
	free(w);
	assert_true(n > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_fails_once),
	};

	return harness_run(tests);
}
