/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Request by request, the statuses that were measured with OpenSM (spec/sa-sm 1.13, 1.7),
 * and those of its sections where no row of the table looks.
 */
#include "unit/fabric_sa/world.h"

/* A step: a request, or a change of the world; the row of the table it belongs to. */
struct step {
	int row;
	const char *text;
	int status;         /* of a request */
	const char *expect; /* of the record that answers; may be null */
};

static void set_pkeys(struct subnet_port *port, const char *text)
{
	char *end;

	port->pkey_count = 0;
	do {
		port->pkeys[port->pkey_count++] = (uint16_t)strtoul(text, &end, 16);
		text = end + 1;
	} while (*end == ',');
}

/* "world", "capacity 4", "H3 pkeys 7fff,8001", "H3 mtu 3", "H3 speed 2". */
static bool change_world(struct world **w, const char *text)
{
	char word[16];
	unsigned int host;
	char value[64];

	if (strcmp(text, "world") == 0) {
		if (*w)
			world_destroy(*w);
		*w = world_create(6);
		return true;
	}
	if (sscanf(text, "capacity %u", &host) == 1) {
		(*w)->sm.capacity = host;
		return true;
	}
	if (sscanf(text, "H%u %15s %63s", &host, word, value) != 3)
		return false;
	if (strcmp(word, "pkeys") == 0)
		set_pkeys(small_host(&(*w)->sm, host), value);
	else if (strcmp(word, "mtu") == 0)
		small_host(&(*w)->sm, host)->info.neighbor_mtu = (uint8_t)atoi(value);
	else if (strcmp(word, "speed") == 0)
		small_host(&(*w)->sm, host)->info.speed_active = (uint8_t)atoi(value);
	else
		return false;
	return true;
}

static void check_record(const struct step *step, const struct world_mad *m)
{
	char copy[128], *word, *save;
	struct sa_mcmember rec;

	sa_mcmember_get(m->bytes + SA_DATA, &rec);
	snprintf(copy, sizeof(copy), "%s", step->expect);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');
		const struct world_field *f;

		*value = 0;
		f = world_field_find(word);
		assert_non_null(f);
		if (world_field_get(f, &rec) != strtoul(value + 1, NULL, 16))
			fail_msg("row %d, \"%s\": %s is %llx, not %s", step->row,
				 step->text, word,
				 (unsigned long long)world_field_get(f, &rec), value + 1);
	}
}

static void do_step(struct world **w, const struct step *step)
{
	const struct world_mad *m;
	struct world_ask ask;
	int status;

	if (change_world(w, step->text))
		return;
	world_ask_parse(*w, &ask, step->text);
	m = world_do(*w, &ask);
	status = m ? m->mad.status : NO_ANSWER;
	if (status != step->status)
		fail_msg("row %d, \"%s\": %x, not %x", step->row, step->text,
			 (unsigned int)status, (unsigned int)step->status);
	if (step->expect)
		check_record(step, m);
}

static void do_steps(const struct step *steps, size_t count)
{
	struct world *w = NULL;

	for (size_t i = 0; i < count; i++)
		do_step(&w, &steps[i]);
	world_destroy(w);
}

#define DO(steps) do_steps(steps, sizeof(steps) / sizeof(steps[0]))

#define INVALID SA_REQ_INVALID
#define INSUFF  SA_INSUFFICIENT_COMPONENTS

static void creating(void **state)
{
	static const struct step steps[] = {
		{ 0, "world", 0, NULL },
		{ 1, "H2 set create mgid=ff12::1 js=1", 0,
		  "js=1 mlid=c001 mtu=4 rate=3 mtusel=2 ratesel=2 lifesel=2 qkey=1234" },
		{ 2, "H2 set create mgid=ff12::2 js=1 -qkey", INSUFF, NULL },
		{ 2, "H2 set create mgid=ff12::2 js=1 -tclass", INSUFF, NULL },
		{ 2, "H2 set create mgid=ff12::2 js=1 -pkey", INSUFF, NULL },
		{ 2, "H2 set create mgid=ff12::2 js=1 -flow", INSUFF, NULL },
		{ 2, "H2 set create mgid=ff12::2 js=1 -sl", INSUFF, NULL },
		{ 3, "H2 set create mgid=ff12::2 js=1 -mgid", INSUFF, NULL },
		{ 3, "H2 set create mgid=ff12::2 js=1 -port", INSUFF, NULL },
		{ 3, "H2 set create mgid=ff12::2 js=1 -js", INSUFF, NULL },
		{ 4, "H2 set join mgid=ff12::2 js=1", INSUFF, NULL },
		{ 5, "H2 set create mgid=ff12::2 js=2", INVALID, NULL },
		{ 5, "H2 set create mgid=ff12::2 js=4", INVALID, NULL },
		{ 5, "H2 set create mgid=ff12::2 js=0", INVALID, NULL },
		{ 6, "H2 set create mgid=ff12::2 js=8", 0, "js=8 mlid=c002" },
		{ 7, "H2 set join mgid=ff12::1 js=0", INVALID, NULL },
		{ 8, "H2 set join mgid=ff12::1 js=2", 0, "js=3 qkey=1234 pkey=ffff" },
		{ 8, "H2 set join mgid=ff12::1 js=4", 0, "js=7" },
		{ 8, "H2 set join mgid=ff12::1 js=4", 0, "js=7" },
	};

	(void)state;
	DO(steps);
}

static void mgids(void **state)
{
	static const struct step steps[] = {
		{ 0, "world", 0, NULL },
		{ 9, "H2 set create mgid=fe80::5 js=1", INVALID, NULL },
		{ 9, "H2 set create mgid=fe12:401b:ffff::5 js=1 qkey=b1b", INVALID,
		  NULL },
		{ 10, "H2 set create mgid=ff22::5 js=1", INVALID, NULL },
		{ 10, "H2 set create mgid=ff42::5 js=1", INVALID, NULL },
		{ 10, "H2 set create mgid=ff92::5 js=1", INVALID, NULL },
		{ 11, "H2 set create mgid=ff02::5 js=1", 0, NULL },
		{ 11, "H2 set create mgid=ff10::5 js=1", 0, NULL },
		{ 11, "H2 set create mgid=ff1f::5 js=1", 0, NULL },
		{ 12, "H2 set create mgid=ff12:a01b::5 js=1", INVALID, NULL },
		{ 13, "H2 set create mgid=ff15:a01b::5 js=1", 0, NULL },
		{ 14, "H2 set create mgid=:: js=1", 0, "scope=0" },
		{ 14, "H2 set create mgid=:: js=1 scope=5", 0, "scope=5" },
		{ 14, "H2 set create mgid=:: js=1 ~scope=2", 0, "scope=2" },
		{ 15, "H2 set join mgid=:: js=1", INSUFF, NULL },
		{ 16, "H2 set create mgid=ff12:401b:ffff::5 js=1", INVALID, NULL },
		{ 16, "H2 set create mgid=ff12:401b:ffff::5 js=1 qkey=b1b", 0, NULL },
		{ 16, "H2 set create mgid=ff12:401b:ffff::6 js=1 qkey=b1b hop=1", INVALID,
		  NULL },
		{ 16, "H2 set create mgid=ff12:601b:ffff::6 js=1 qkey=b1b sl=1", INVALID,
		  NULL },
		{ 16, "H2 set create mgid=ff12:601b:ffff::6 js=1 qkey=b1b", 0, NULL },
		{ 17, "H2 set create mgid=ff12:401b:8001::5 js=1 qkey=b1b", INVALID,
		  NULL },
		{ 17, "H2 set create mgid=ff15:401b:ffff::5 js=1 qkey=b1b", INVALID,
		  NULL },
		{ 18, "H2 set create mgid=ff15:401b:ffff::ffff:ffff js=1 qkey=77", 0,
		  NULL },
		{ 18, "H2 set create mgid=ff15:401b:ffff::5 js=1 qkey=77", 0, NULL },
		{ 18, "H2 set create mgid=ff15:601b:ffff::6 js=1 qkey=77", 0, NULL },
		{ 19, "H2 set create mgid=ff72:401b:ffff::7 js=1 qkey=b1b", 0, NULL },
	};

	(void)state;
	DO(steps);
}

/* The table of 1.7: a port of 2048 bytes and 10 Gb/s. */
static void mtus_and_rates(void **state)
{
	static const struct step steps[] = {
		{ 0, "world", 0, NULL },
		{ 20, "H2 set create mgid=ff12::1 js=1", 0, "mtu=4 rate=3" },
		{ 20, "H2 set create mgid=ff12::2 js=1 mtu=1", 0, "mtu=4" },
		{ 20, "H2 set create mgid=ff12::3 js=1 mtu==4 rate==3", 0,
		  "mtu=4 rate=3" },
		{ 20, "H2 set create mgid=ff12::4 js=1 mtu==1 rate==2", 0,
		  "mtu=1 rate=2" },
		{ 20, "H2 set create mgid=ff12::5 js=1 mtu==5", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::5 js=1 rate==7", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::5 js=1 mtu=>4", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::5 js=1 rate=>3", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::5 js=1 mtu=>3 rate=>2", 0,
		  "mtu=4 rate=3" },
		{ 20, "H2 set create mgid=ff12::6 js=1 mtu=<4 rate=<3", 0,
		  "mtu=3 rate=5" },
		{ 20, "H2 set create mgid=ff12::7 js=1 mtu=<1", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::7 js=1 rate=<2", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::7 js=1 mtu=<5", 0, "mtu=4" },
		{ 20, "H2 set create mgid=ff12::8 js=1 mtu=*1 rate=*3", 0,
		  "mtu=4 rate=3" },
		{ 20, "H2 set create mgid=ff12::9 js=1 mtu=*0", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::9 js=1 rate==1", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::9 js=1 rate==23", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::9 js=1 rate=*0", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::9 js=1 mtu==0", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::9 js=1 mtu==6", INVALID, NULL },
		{ 20, "H2 set create mgid=ff12::9 js=1 life=12 lifesel=2", 0, "life=12" },
		{ 20, "H2 set create mgid=ff12::a js=1 life=12 lifesel=1", 0,
		  "life=12 lifesel=2" },
	};

	(void)state;
	DO(steps);
}

static void pkeys_and_ports(void **state)
{
	static const struct step steps[] = {
		{ 0, "world", 0, NULL },
		{ 21, "H2 set create mgid=ff12::1 js=1 pkey=0", INVALID, NULL },
		{ 21, "H2 set create mgid=ff12::1 js=1 pkey=8000", INVALID, NULL },
		{ 22, "H2 set create mgid=ff12::1 js=1 pkey=8001", INVALID, NULL },
		{ 23, "H2 set create mgid=ff12::1 js=1 pkey=7fff", 0,
		  "pkey=7fff mlid=c001" },
		{ 24, "H2 set create mgid=ff12::2 js=1 port=fec0::10:0003",
		  SA_REQ_INVALID_GID, NULL },
		{ 24, "H2 delete join mgid=ff12::1 js=1 port=fec0::10:0003",
		  SA_REQ_INVALID_GID, NULL },
		{ 25, "H2 set create mgid=ff12::2 js=1 port=fe80::99", INVALID, NULL },
		{ 26, "H2 set create mgid=ff12::2 js=1 port=H3", 0, "js=1" },
		{ 0, "world", 0, NULL },
		{ 0, "H2 pkeys 7fff", 0, NULL },
		{ 0, "H3 pkeys 7fff", 0, NULL },
		{ 27, "H2 set create mgid=ff12::2 js=1 port=H3", INVALID, NULL },
		{ 0, "world", 0, NULL },
		{ 0, "H2 pkeys ffff,8001", 0, NULL },
		{ 28, "H2 set create mgid=ff12::2 js=1 port=H3 pkey=8001", INVALID,
		  NULL },
		{ 0, "H3 pkeys ffff,1", 0, NULL },
		{ 28, "H2 set create mgid=ff12::2 js=1 port=H3 pkey=8001", 0, NULL },
		{ 0, "world", 0, NULL },
		{ 0, "H2 pkeys 7fff", 0, NULL },
		{ 29, "H2 set create mgid=ff12::3 js=1 pkey=ffff", 0, NULL },
		{ 29, "H3 set join mgid=ff12::3 js=1 pkey=ffff", 0, NULL },
		{ 30, "H3 set create mgid=ff12::4 js=1 pkey=7fff", 0, NULL },
		{ 30, "H4 set join mgid=ff12::4 js=1 pkey=7fff", INVALID, NULL },
		{ 30, "H4 set join mgid=ff12::4 js=1", 0, "pkey=7fff" },
		{ 30, "H5 set join mgid=ff12::4 js=1 pkey=ffff", 0, "pkey=7fff" },
	};

	(void)state;
	DO(steps);
}

static void mlids(void **state)
{
	static const struct step steps[] = {
		{ 0, "world", 0, NULL },
		{ 31, "H2 set create mgid=ff12::1 js=1 mlid=c010", 0, "mlid=c010" },
		{ 31, "H2 set create mgid=ff12::2 js=1 ~mlid=c011", 0, "mlid=c011" },
		{ 31, "H2 set create mgid=ff12::3 js=1 mlid=c010", 0, "mlid=c001" },
		{ 31, "H2 set create mgid=ff12::4 js=1 mlid=c400", 0, "mlid=c002" },
		{ 31, "H2 set create mgid=ff12::5 js=1 mlid=ffff", 0, "mlid=c003" },
		{ 31, "H2 set create mgid=ff12::6 js=1 mlid=5", 0, "mlid=c004" },
		{ 31, "H2 delete join mgid=ff12::4 js=1", 0, "js=0" },
		{ 31, "H2 set create mgid=ff12::7 js=1", 0, "mlid=c002" },
		{ 0, "world", 0, NULL },
		{ 0, "capacity 3", 0, NULL },
		{ 32, "H2 set create mgid=ff12::1 js=1", 0, "mlid=c001" },
		{ 32, "H2 set create mgid=ff12::2 js=1", 0, "mlid=c002" },
		{ 32, "H2 set create mgid=ff12::3 js=1", SA_NO_RESOURCES, NULL },
		{ 32, "H2 set create mgid=:: js=1", SA_NO_RESOURCES, NULL },
		{ 32, "H3 set join mgid=ff12::2 js=1", 0, NULL },
		{ 32, "H2 delete join mgid=ff12::1 js=1", 0, NULL },
		{ 32, "H2 set create mgid=ff12::3 js=1", 0, "mlid=c001" },
	};

	(void)state;
	DO(steps);
}

static void joining(void **state)
{
	static const struct step steps[] = {
		{ 0, "world", 0, NULL },
		{ 0,
		  "H2 set create mgid=ff12::1 js=1 mtu==3 rate==2 hop=5 tclass=3 sl=2 "
		  "flow=77",
		  0, "mlid=c001" },
		{ 33, "H3 set join mgid=ff12::1 js=1 qkey=1", INVALID, NULL },
		{ 33, "H3 set join mgid=ff12::1 js=1 tclass=1", INVALID, NULL },
		{ 33, "H3 set join mgid=ff12::1 js=1 pkey=8001", INVALID, NULL },
		{ 33, "H3 set join mgid=ff12::1 js=1 sl=1", INVALID, NULL },
		{ 33, "H3 set join mgid=ff12::1 js=1 flow=1", INVALID, NULL },
		{ 33, "H3 set join mgid=ff12::1 js=1 hop=1", INVALID, NULL },
		{ 34, "H3 set join mgid=ff12::1 js=1 mtu==4", INVALID, NULL },
		{ 34, "H3 set join mgid=ff12::1 js=1 mtu=>3", INVALID, NULL },
		{ 34, "H3 set join mgid=ff12::1 js=1 rate==3", INVALID, NULL },
		{ 34, "H3 set join mgid=ff12::1 js=1 mtusel=0 ~mtu=3", INVALID, NULL },
		{ 35, "H3 set join mgid=ff12::1 js=1 mtu=>2", 0,
		  "mtu=3 mtusel=2 rate=2 tclass=3 sl=2 flow=77 hop=5 qkey=1234" },
		{ 35, "H4 set join mgid=ff12::1 js=1 mtu=<4", 0, NULL },
		{ 35, "H5 set join mgid=ff12::1 js=1 mtu=*1", 0, NULL },
		{ 36, "H6 set join mgid=ff12::1 js=1 life=1 lifesel=2 mlid=c055 scope=5",
		  0, "mlid=c001 scope=0 life=0" },
		{ 0, "world", 0, NULL },
		{ 0, "H3 mtu 3", 0, NULL },
		{ 0, "H4 speed 0", 0, NULL },
		{ 37, "H2 set create mgid=ff12::1 js=1", 0, NULL },
		{ 37, "H3 set join mgid=ff12::1 js=1", INVALID, NULL },
		{ 37, "H4 set join mgid=ff12::1 js=1", INVALID, NULL },
		{ 38, "H3 set join mgid=ff12::1 js=2 port=H2", INVALID, NULL },
		{ 38, "H3 delete join mgid=ff12::1 js=1 port=H2", INVALID, NULL },
		{ 39, "H2 set join mgid=ff12::1 js=1 port=H5", 0, NULL },
		{ 39, "H5 set join mgid=ff12::1 js=4", 0, "js=5" },
		{ 39, "H6 delete join mgid=ff12::1 js=4 port=H5", 0, "js=1" },
		{ 39, "H6 delete join mgid=ff12::1 js=1 port=H5", 0, "js=0" },
		{ 40, "H2 delete join mgid=ff12::1 js=2", INVALID, NULL },
		{ 40, "H2 delete join mgid=ff12::1 js=3", INVALID, NULL },
		{ 40, "H2 delete join mgid=ff12::1 js=0", INVALID, NULL },
		{ 40, "H2 delete join mgid=ff12::2 js=1", INVALID, NULL },
		{ 40, "H6 delete join mgid=ff12::1 js=1", INVALID, NULL },
		{ 41, "H2 set join mgid=ff12::1 js=6", 0, "js=7" },
		{ 41, "H2 delete join mgid=ff12::1 js=2 ~mtu=4", 0,
		  "js=5 mtu=4 mtusel=2 ratesel=2 lifesel=2" },
		{ 42, "H2 delete join mgid=ff12::1 js=1 -js", INSUFF, NULL },
		{ 43, "H2 delete join mgid=ff12::1 js=1 qkey=9", 0, "js=0 qkey=9" },
		{ 43, "H2 delete join mgid=ff12::1 js=4", INVALID, NULL },
	};

	(void)state;
	DO(steps);
}

static void asking(void **state)
{
	static const struct step steps[] = {
		{ 0, "world", 0, NULL },
		{ 0, "H2 set create mgid=ff12::1 js=1", 0, NULL },
		{ 44, "H2 get", SA_TOO_MANY_RECORDS, NULL },
		{ 45, "H2 get mgid=ff12::2", SA_NO_RECORDS, NULL },
		{ 46, "H2 get mtu==6", INVALID, NULL },
		{ 46, "H2 get rate==23", INVALID, NULL },
		{ 46, "H2 delete join mgid=ff12::1 js=1 mtu==6", INVALID, NULL },
		{ 47, "H2 get mgid=ff12::1 key=2", NO_ANSWER, NULL },
		{ 47, "H2 get mgid=ff12::1 key=1", 0, "js=1" },
		{ 48, "H2 multi", MAD_STATUS_BAD_ATTRIBUTE, NULL },
		{ 49, "H2 trace", NO_ANSWER, NULL },
		{ 49, "H2 report", NO_ANSWER, NULL },
		{ 49, "H2 get attr=ff", NO_ANSWER, NULL },
		{ 49, "H2 set attr=11", NO_ANSWER, NULL },
		{ 49, "H2 set attr=35", NO_ANSWER, NULL },
		{ 49, "H2 set attr=1", NO_ANSWER, NULL },
		{ 50, "H2 table attr=1", INVALID, NULL },
		{ 51, "H2 get attr=3", MAD_STATUS_BAD_ATTRIBUTE, NULL },
		{ 52, "H2 set create mgid=ff12::2 js=1 version=1", 0, NULL },
		{ 52, "H2 set create mgid=ff12::3 js=1 mod=7", 0, NULL },
		{ 52, "H2 set create mgid=ff12::4 js=1 rmpp=1", 0, NULL },
		{ 52, "H2 set create mgid=ff12::5 js=1 proxy=1", 0, "proxy=1" },
		{ 53, "H2 set join mgid=ff12:401b:ffff::ffff:ffff js=4", 0,
		  "js=4 mlid=c000 qkey=b1b mtu=4 rate=3 sl=0 life=12 scope=2 pkey=ffff" },
	};

	(void)state;
	DO(steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(creating),       cmocka_unit_test(mgids),
		cmocka_unit_test(mtus_and_rates), cmocka_unit_test(pkeys_and_ports),
		cmocka_unit_test(mlids),          cmocka_unit_test(joining),
		cmocka_unit_test(asking),
	};

	return harness_run(tests);
}
