/* SPDX-License-Identifier: BSD-2-Clause */
/* What an administrator may say, and what is said of what he may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "admin/admin.h"

#define WORDS_MAX 24

static struct admin_request request;
static char error[OPTIONS_ERROR_MAX];
static char line[256];

/* Words between blanks. */
static int parse(const char *text)
{
	char *words[WORDS_MAX + 1] = { NULL }, *rest = line;
	int n = 0;

	snprintf(line, sizeof(line), "%s", text);
	for (char *w; (w = strtok_r(rest, " ", &rest));)
		words[n++] = w;
	error[0] = '\0';
	return admin_parse(n, words, &request, error);
}

static void good(const char *text, enum admin_command command)
{
	if (parse(text) < 0)
		fail_msg("%s: %s", text, error);
	assert_int_equal(request.command, command);
}

static void wrong(const char *text, const char *because)
{
	assert_int_equal(parse(text), -22);
	if (!strstr(error, because))
		fail_msg("%s: says '%s', not '%s'", text, error, because);
}

static void every_verb_has_an_example(void **state)
{
	good("nodes", ADMIN_NODES);
	good("fabric up", ADMIN_FABRIC_UP);
	good("fabric show --json", ADMIN_FABRIC_SHOW);
	assert_true(request.json);
	assert_false(request.graphviz);
	assert_int_equal(request.components, 0);
	good("fabric show --graphviz --group 0xc001", ADMIN_FABRIC_SHOW);
	assert_true(request.graphviz);
	assert_int_equal(request.components, SA_MCM_MLID);
	assert_int_equal(request.group.mlid, 0xc001);
	good("fabric show --group ff12::1", ADMIN_FABRIC_SHOW);
	assert_int_equal(request.components, SA_MCM_MGID);
	assert_int_equal(request.group.mgid.raw[15], 1);
	good("fabric sm start", ADMIN_FABRIC_SM);
	assert_true(request.on);
	assert_null(request.node);
	good("fabric sm start h2 --priority 3", ADMIN_FABRIC_SM);
	assert_string_equal(request.node, "h2");
	assert_int_equal(request.priority, 3);
	assert_int_equal(request.lmc, ADMIN_LMC_DEFAULT);
	good("fabric sm start h2 --lmc 0", ADMIN_FABRIC_SM);
	assert_int_equal(request.lmc, 0);
	good("fabric link down h1 1", ADMIN_FABRIC_LINK);
	assert_false(request.on);
	assert_string_equal(request.node, "h1");
	assert_int_equal(request.port, 1);
	good("fabric node power on s1", ADMIN_FABRIC_NODE);
	assert_true(request.on);
	good("fabric loss 12.5", ADMIN_FABRIC_LOSS);
	assert_int_equal(request.rate, 125000);
	good("fabric loss 0", ADMIN_FABRIC_LOSS);
	assert_int_equal(request.rate, 0);
	good("sa drop", ADMIN_SA_DROP);
	good("sa delay --delay 20", ADMIN_SA_DELAY);
	assert_int_equal(request.ms, 20);
	good("sa busy --count 3", ADMIN_SA_BUSY);
	assert_int_equal(request.count, 3);
	good("sa error --attribute MCMemberRecord", ADMIN_SA_ERROR);
	assert_int_equal(request.status, SA_REQ_DENIED);
	assert_int_equal(request.attribute, SA_MCMEMBER_RECORD);
	good("sa clear", ADMIN_SA_CLEAR);
	good("group list", ADMIN_GROUP_LIST);
	good("group create", ADMIN_GROUP_CREATE);
	good("group join ff12::1", ADMIN_GROUP_JOIN);
	good("group leave ff12::1", ADMIN_GROUP_LEAVE);
	good("fault add --drop 3", ADMIN_FAULT_ADD);
	good("fault list", ADMIN_FAULT_LIST);
	good("fault clear", ADMIN_FAULT_CLEAR);
	for (const struct admin_verb *v = admin_verbs; v->noun; v++)
		assert_ptr_equal(admin_find_verb(v->noun, v->verb), v);
}

static void faults_are_of_one_kind(void **state)
{
	const struct admin_fault *f = &request.fault;

	good("fault add --drop 3", ADMIN_FAULT_ADD);
	assert_int_equal(f->kind, ADMIN_FAULT_DROP);
	assert_int_equal(f->first, 3);
	assert_int_equal(f->last, 3);
	assert_int_equal(f->rate, 0);
	assert_false(f->send);
	assert_false(f->seeded);
	assert_null(f->device);
	assert_null(request.node);
	good("fault add --dup 3-18446744073709551615 --direction send", ADMIN_FAULT_ADD);
	assert_int_equal(f->kind, ADMIN_FAULT_DUP);
	assert_true(f->last == UINT64_MAX);
	assert_true(f->send);
	good("fault add --corrupt 0.5% --seed 0 --node h2 --device vib0",
	     ADMIN_FAULT_ADD);
	assert_int_equal(f->rate, 5000);
	assert_int_equal(f->first, 0);
	assert_true(f->seeded);
	assert_string_equal(request.node, "h2");
	assert_string_equal(f->device, "vib0");
	good("fault add --delay 1 --by 60000", ADMIN_FAULT_ADD);
	assert_int_equal(f->by, 60000);
	good("fault add --by 5 --delay-completion 1", ADMIN_FAULT_ADD);
	assert_int_equal(f->kind, ADMIN_FAULT_COMPLETION);
	good("fault add --reorder 100%", ADMIN_FAULT_ADD);
	assert_int_equal(f->by, 1);
	good("fault list --json", ADMIN_FAULT_LIST);
	good("fault clear", ADMIN_FAULT_CLEAR);
	assert_int_equal(f->id, 0);
	good("fault clear 7", ADMIN_FAULT_CLEAR);
	assert_int_equal(f->id, 7);
}

static void faults_match_what_they_say(void **state)
{
	const struct admin_fault *f = &request.fault;

	good("fault add --drop 1 --match qp=0x11", ADMIN_FAULT_ADD);
	assert_int_equal(f->match, ADMIN_FAULT_MATCH_QP);
	assert_int_equal(f->qpn, 0x11);
	good("fault add --drop 1 --match opcode=ud-send-only-imm,qp=1,psn=0xfffffe-2",
	     ADMIN_FAULT_ADD);
	assert_int_equal(f->match, ADMIN_FAULT_MATCH_QP | ADMIN_FAULT_MATCH_OPCODE |
					   ADMIN_FAULT_MATCH_PSN);
	assert_int_equal(f->opcode, 0x65);
	assert_int_equal(f->psn, 0xfffffe);
	assert_int_equal(f->psn_last, 2);
	good("fault add --drop 1 --match psn=7 --match opcode=0x64", ADMIN_FAULT_ADD);
	assert_int_equal(f->psn_last, 7);
	assert_int_equal(f->opcode, 0x64);
	assert_string_equal(admin_opcode_name(0x64), "ud-send-only");
	assert_null(admin_opcode_name(0));
}

static void faults_that_are_none(void **state)
{
	wrong("fault add", "what is to happen?");
	wrong("fault add --seed 1", "what is to happen?");
	wrong("fault add --drop 1 --dup 1", "a rule has one of them");
	wrong("fault add --drop 1 --drop 2", "a rule has one of them");
	wrong("fault add --drop 0", "which one (3)");
	wrong("fault add --drop 5-4", "which one (3)");
	wrong("fault add --drop 0-4", "which one (3)");
	wrong("fault add --drop -4", "which one (3)");
	wrong("fault add --drop 4-", "which one (3)");
	wrong("fault add --drop x", "which one (3)");
	wrong("fault add --drop 00000000000000000000000000000000000001-2",
	      "which one (3)");
	wrong("fault add --drop 18446744073709551616", "which one (3)");
	wrong("fault add --drop 0%", "percentage");
	wrong("fault add --drop 101%", "percentage");
	wrong("fault add --drop 1%%", "percentage");
	wrong("fault add --drop 1%x", "percentage");
	wrong("fault add --drop %", "percentage");
	wrong("fault add --drop 1.00001%", "percentage");
	wrong("fault add --drop 0000000000000000000000000000000000000001%", "percentage");
	wrong("fault add --delay 1", "--by MS");
	wrong("fault add --delay-completion 1", "--by MS");
	wrong("fault add --delay 1 --by 0", "0 is nothing");
	wrong("fault add --delay 1 --by 60001", "from 0 to 60000");
	wrong("fault add --reorder 1 --by 1001", "1000 places");
	wrong("fault add --drop 1 --by 5", "knows no --by");
	wrong("fault add --drop 1 --direction up", "send or receive");
	wrong("fault add --drop 1 --seed x", "--seed");
	wrong("fault add --drop 1 --match", "needs a value");
	wrong("fault add --drop 1 --match=", "not empty");
	wrong("fault add --drop 1 --match qp", "lacks its value");
	wrong("fault add --drop 1 --match qp=1,", "lacks its value");
	wrong("fault add --drop 1 --match qp=", "no queue pair number");
	wrong("fault add --drop 1 --match qp=0x1000000", "no queue pair number");
	wrong("fault add --drop 1 --match qp=1,qp=2", "there twice");
	wrong("fault add --drop 1 --match opcode=rc-send", "no opcode");
	wrong("fault add --drop 1 --match psn=0x1000000", "no PSN");
	wrong("fault add --drop 1 --match lid=5", "not qp, opcode or psn");
	wrong("fault add --delay-completion 1 --by 5 --match psn=1", "no psn");
	wrong("fault add --drop 1 3", "one word too many");
	wrong("fault list 3", "one word too many");
	wrong("fault clear 0", "no rule's number");
	wrong("fault clear all", "no rule's number");
	wrong("fault clear 1 2", "one word too many");
	wrong("fault take", "fault has no 'take'");
}

static void nothing_is_left_of_what_was_said_before(void **state)
{
	good("group join --node h2 --mtu 1024 --json ff12::1", ADMIN_GROUP_JOIN);
	good("group join ff12::1", ADMIN_GROUP_JOIN);
	assert_null(request.node);
	assert_false(request.json);
	assert_int_equal(request.components, SA_MCM_MGID | SA_MCM_JOIN_STATE);
}

static void options_stand_where_they_like(void **state)
{
	good("group join --node h2 ff12::1 --qkey 0x11 --join-state send-only-full",
	     ADMIN_GROUP_JOIN);
	assert_string_equal(request.node, "h2");
	assert_int_equal(request.group.mgid.raw[15], 1);
	assert_int_equal(request.group.qkey, 0x11);
	assert_int_equal(request.group.join_state, SA_JOIN_SEND_ONLY_FULL);
	assert_int_equal(request.components,
			 SA_MCM_MGID | SA_MCM_JOIN_STATE | SA_MCM_QKEY);
	good("fabric link --  up h1 2", ADMIN_FABRIC_LINK);
	assert_int_equal(request.port, 2);
}

/* Spec/sa-sm 1.6. */
static void create_says_all_that_an_sa_needs(void **state)
{
	const uint64_t needed = SA_MCM_QKEY | SA_MCM_TCLASS | SA_MCM_PKEY | SA_MCM_SL |
				SA_MCM_FLOW_LABEL | SA_MCM_JOIN_STATE | SA_MCM_MGID;

	good("group create", ADMIN_GROUP_CREATE);
	assert_int_equal(request.components, needed);
	assert_int_equal(request.group.pkey, 0xffff);
	good("group create ff12::2 --pkey 0x8001 --mtu 2048 --rate 56",
	     ADMIN_GROUP_CREATE);
	assert_int_equal(request.components, needed | SA_MCM_MTU | SA_MCM_MTU_SELECTOR |
						     SA_MCM_RATE | SA_MCM_RATE_SELECTOR);
	assert_int_equal(request.group.pkey, 0x8001);
	assert_int_equal(request.group.mtu, 4);
	assert_int_equal(request.group.rate, 12);
	assert_int_equal(request.group.mtu_selector, SA_SELECT_EQ);
}

static void rates_are_percentages(void **state)
{
	static const struct {
		const char *text;
		uint32_t rate;
	} good_rates[] = {
		{ "sa drop --rate 25%", 250000 },   { "sa drop --rate 100", 1000000 },
		{ "sa drop --rate 12.5%", 125000 }, { "sa drop --rate 0.0001", 1 },
		{ "sa drop --rate 0.05%", 500 },
	};

	for (size_t i = 0; i < sizeof(good_rates) / sizeof(good_rates[0]); i++) {
		good(good_rates[i].text, ADMIN_SA_DROP);
		assert_int_equal(request.rate, good_rates[i].rate);
	}
	wrong("sa drop --rate 0", "above 0%");
	wrong("sa drop --rate 100.1", "up to 100%");
	wrong("sa drop --rate 101", "percentage");
	wrong("sa drop --rate x", "percentage");
	wrong("sa drop --rate 1.", "percentage");
}

/* To verbcastd an empty name would be the first node's. */
static void an_empty_word_is_wrong(void **state)
{
	static const char *const lines[][5] = {
		{ "fabric", "node", "power", "off", "" },
		{ "fabric", "link", "down", "", "1" },
		{ "fabric", "sm", "stop", "", NULL },
		{ "group", "join", "", NULL, NULL },
		{ "module", "load", "", NULL, NULL },
		{ "fault", "clear", "", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		int n = 0;

		while (n < 5 && lines[i][n])
			n++;
		assert_int_equal(
			admin_parse(n, (char **)(uintptr_t)lines[i], &request, error),
			-22);
		assert_string_equal(error, "a word is empty");
	}
}

static void what_is_wrong_is_said(void **state)
{
	wrong("", "what");
	wrong("nonsense", "what");
	wrong("fabric", "what");
	wrong("fabric nonsense", "no 'nonsense'");
	wrong("fabric show me", "one word too many");
	wrong("fabric show --nonsense", "unknown option");
	wrong("fabric sm", "stop or start");
	wrong("fabric sm nonsense", "stop or start");
	wrong("fabric sm stop h1 now", "one word too many");
	wrong("fabric sm stop h1 --priority 1", "for start");
	wrong("fabric sm start h1 --priority 16", "priority");
	wrong("fabric link", "down or up");
	wrong("fabric link down", "which node");
	wrong("fabric link down h1", "which port");
	wrong("fabric link down h1 0", "no port");
	wrong("fabric link down h1 255", "no port");
	wrong("fabric link down h1 1 2", "one word too many");
	wrong("fabric node", "power off|on");
	wrong("fabric node power", "off or on");
	wrong("fabric node power off", "which node");
	wrong("fabric loss", "how many");
	wrong("fabric loss 101", "no percentage");
	wrong("fabric loss -1", "unknown option");
	wrong("fabric loss 1 2", "one word too many");
	wrong("sa delay", "by how much");
	wrong("sa delay --delay -1", "not a number");
	wrong("sa drop --count 0", "too few");
	wrong("sa drop --count many", "not a number");
	wrong("sa drop --delay 3", "unknown option");
	wrong("sa error --status 65536", "not a number");
	wrong("sa error --attribute Nonsense", "MCMemberRecord");
	wrong("group join", "its MGID");
	wrong("group join ff12::g", "no MGID");
	wrong("group join 239.1.2.3", "no MGID");
	wrong("group join ff12::1 ff12::2", "one word too many");
	wrong("group join ff12::1 --mtu 1500", "--mtu");
	wrong("group join ff12::1 --rate 11", "--rate");
	wrong("group join ff12::1 --sl 16", "--sl");
	wrong("group join ff12::1 --join-state half", "--join-state");
	wrong("group join ff12::1 --node", "needs a value");
	wrong("group join a b c d e f g h i j", "one word too many");
}

static void shapes_are_read_and_written(void **state)
{
	static const struct {
		const char *said, *printed;
	} shapes[] = {
		{ "fabric up", "--nodes 1" },
		{ "fabric up --no-sm", "--nodes 1 --no-sm" },
		{ "fabric up --nodes 8", "--nodes 8" },
		{ "fabric up --ring 4", "--ring 4:1" },
		{ "fabric up --ring 4:2 --no-sm", "--ring 4:2 --no-sm" },
		{ "fabric up --fat-tree 4", "--fat-tree 4" },
		{ "fabric up --topology /x/y", "--topology /x/y" },
		{ "fabric up --lmc 0", "--nodes 1" },
		{ "fabric up --partitions /p --ring 4 --lmc 7",
		  "--ring 4:1 --partitions /p --lmc 7" },
	};
	char text[128];

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		good(shapes[i].said, ADMIN_FABRIC_UP);
		admin_shape_print(&request.shape, text, sizeof(text));
		assert_string_equal(text, shapes[i].printed);
	}
	wrong("fabric up --nodes 0", "--nodes");
	wrong("fabric up --nodes 255", "--nodes");
	wrong("fabric up --ring 2", "--ring");
	wrong("fabric up --ring 4:0", "--ring");
	wrong("fabric up --ring 4:", "--ring");
	wrong("fabric up --ring 100:10", "more than");
	wrong("fabric up --fat-tree 5", "--fat-tree");
	wrong("fabric up --fat-tree 2", "--fat-tree");
	wrong("fabric up --fat-tree 16", "--fat-tree");
	wrong("fabric up --topology=", "not empty");
	wrong("fabric up --nodes 2 --ring 4", "a fabric has one shape");
	wrong("fabric up --lmc 8", "--lmc");
	wrong("fabric up --lmc x", "--lmc");
	wrong("fabric sm start --lmc 8", "--lmc");
	wrong("fabric sm stop --lmc 1", "--lmc is for start");
	wrong("fabric up 8", "one word too many");
}

static void equal_shapes_are_known(void **state)
{
	static const char *const said[] = {
		"fabric up",
		"fabric up --no-sm",
		"fabric up --nodes 2",
		"fabric up --ring 4",
		"fabric up --ring 4:2",
		"fabric up --fat-tree 4",
		"fabric up --topology a",
		"fabric up --topology b",
		"fabric up --lmc 1",
		"fabric up --lmc 2",
	};
	struct admin_shape a, b;

	for (size_t i = 0; i < 10; i++)
		for (size_t j = 0; j < 10; j++) {
			static char name[2][256];

			good(said[i], ADMIN_FABRIC_UP);
			a = request.shape;
			memcpy(name[0], line, sizeof(line));
			if (a.file)
				a.file = name[0] + (a.file - line);
			good(said[j], ADMIN_FABRIC_UP);
			b = request.shape;
			assert_int_equal(admin_shape_equal(&a, &b), i == j);
		}
	good("fabric up", ADMIN_FABRIC_UP);
	a = request.shape;
	good("fabric up --nodes 1", ADMIN_FABRIC_UP);
	assert_true(admin_shape_equal(&a, &request.shape));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_verb_has_an_example),
		cmocka_unit_test(faults_are_of_one_kind),
		cmocka_unit_test(faults_match_what_they_say),
		cmocka_unit_test(faults_that_are_none),
		cmocka_unit_test(nothing_is_left_of_what_was_said_before),
		cmocka_unit_test(options_stand_where_they_like),
		cmocka_unit_test(create_says_all_that_an_sa_needs),
		cmocka_unit_test(rates_are_percentages),
		cmocka_unit_test(an_empty_word_is_wrong),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(shapes_are_read_and_written),
		cmocka_unit_test(equal_shapes_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
