// SPDX-License-Identifier: BSD-2-Clause
/*
 * Topologies as text, with what each mistake is called, and made from a short form.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/net/topology.h"
#include "harness/harness.h"

static struct topology *parse(const char *text)
{
	struct topology *t = NULL;
	char error[200] = "";

	if (topology_parse(text, strlen(text), &t, error, sizeof(error)) != 0)
		fail_msg("%s", error);
	return t;
}

static void assert_refused(const char *text, const char *why)
{
	struct topology *t = NULL;
	char error[200] = "";

	assert_int_equal(topology_parse(text, strlen(text), &t, error, sizeof(error)),
			 -EINVAL);
	assert_null(t);
	assert_string_equal(error, why);
	assert_int_equal(topology_parse(text, strlen(text), &t, NULL, 0), -EINVAL);
}

static void assert_linked(const struct topology *t, uint32_t a, uint16_t a_port,
			  uint32_t b, uint16_t b_port)
{
	assert_int_equal(t->nodes[a].links[a_port].node, b);
	assert_int_equal(t->nodes[a].links[a_port].port, b_port);
	assert_int_equal(t->nodes[b].links[b_port].node, a);
	assert_int_equal(t->nodes[b].links[b_port].port, a_port);
}

static void nodes_named_by_guid_are_called_as_described(void **state)
{
	struct topology *t =
		parse("Switch 4 \"S-10\"  # \"MF0;sw-1:SX/U1\" enhanced port 0\n"
		      "[1] \"H-20\"[1](21) # \"other\"\n"
		      "[2] \"H-30\"[1]\n"
		      "Ca 1 \"H-20\" # \"h1 HCA-1\"\n"
		      "Ca 1 \"H-30\" # \"twice\"\n"
		      "Ca 1 \"H-40\" # \"twice\"\n"
		      "Ca 1 \"H-50\" # \"H-60\"\n"
		      "Ca 1 \"H-60\" # h6\n"
		      "Ca 1 \"H-70\" # \"unfinished\n"
		      "Ca 1 \"H-80\" # \"\"\n"
		      "Ca 1 \"H-90\" # \"H-90\"\n"
		      "Ca 1 \"mine\" # \"a comment\"\n");
	static const char *const names[] = { "MF0;sw-1:SX/U1", "h1 HCA-1", "H-30", "H-40",
					     "H-50",           "H-60",     "H-70", "H-80",
					     "H-90",           "mine" };

	assert_int_equal(t->count, 10);
	for (uint32_t i = 0; i < t->count; i++)
		assert_string_equal(t->nodes[i].name, names[i]);
	assert_int_equal(t->nodes[1].node_guid, 0x20);
	assert_linked(t, 0, 1, 1, 1);
	assert_linked(t, 0, 2, 2, 1);
	topology_destroy(t);
}

static void nodes_named_by_guid_are_in_its_order(void **state)
{
	static const char text[] = "Ca 1 \"H-40\" # \"h4\"\n"
				   "[1] \"S-50\"[3]\n"
				   "Ca 2 \"H-20\" # \"h2\"\n"
				   "[2] \"S-50\"[1]\n"
				   "Switch 4 \"S-50\"\n"
				   "Ca 1 \"H-30\"\n"
				   "[1] \"S-50\"[2]\n";
	struct topology *t = parse(text);
	static const char *const names[] = { "h2", "H-30", "h4", "S-50" };

	for (uint32_t i = 0; i < 4; i++)
		assert_string_equal(t->nodes[i].name, names[i]);
	assert_linked(t, 3, 1, 0, 2);
	assert_linked(t, 3, 2, 1, 1);
	assert_linked(t, 3, 3, 2, 1);
	assert_int_equal(t->nodes[0].links[1].node, UINT32_MAX);
	topology_destroy(t);
}

static void a_file_of_ibsim_is_read(void **state)
{
	struct topology *t = parse("# two hosts\n"
				   "Hca 1 \"H1\"\n"
				   "[1] \"S1\"[1]\n"
				   "\n"
				   "Switch 8 \"S1\"\r\n"
				   "[ 2 ]\t\"H2\"[1]\t# lid 4\n"
				   "Hca 2 \"H2\"\n"
				   "[1] \"S1\"[2]\n"
				   "[2] \"S1\"[3] lid 4 lmc 0 s=4 w=2");

	assert_int_equal(t->count, 3);
	assert_string_equal(t->nodes[1].name, "S1");
	assert_true(t->nodes[1].is_switch);
	assert_false(t->nodes[0].is_switch);
	assert_int_equal(t->nodes[1].ports, 8);
	assert_int_equal(t->nodes[1].mft_cap, 1024);
	assert_int_equal(t->nodes[0].node_guid, 0x100000);
	assert_int_equal(t->nodes[1].node_guid, 0x200000);
	assert_int_equal(t->nodes[2].node_guid, 0x100002);
	assert_linked(t, 0, 1, 1, 1);
	assert_linked(t, 1, 2, 2, 1);
	assert_linked(t, 1, 3, 2, 2);
	assert_int_equal(t->nodes[1].links[4].node, UINT32_MAX);
	topology_destroy(t);
}

static void what_ibnetdiscover_prints_is_read(void **state)
{
	struct topology *t = parse(
		"#\n# Topology file: generated on Sun Nov 29 2026\n#\n"
		"vendid=0x2c9\ndevid=0xc738\nsysimgguid=0xe41d2d0300aa0000\n"
		"switchguid=0xe41d2d0300aa0001(e41d2d0300aa0001)\n"
		"Switch\t36 \"S-e41d2d0300aa0001\"\t\t# \"leaf\" enhanced port 0 lid 3 "
		"lmc 0\n"
		"[1]\t\"H-e41d2d0300bb0000\"[1](e41d2d0300bb0001) \t\t# \"h\" lid 4 "
		"4xQDR\n"
		"\n"
		"vendid=0x2c9\ncaguid=0xe41d2d0300bb0000\n"
		"Ca\t2 \"H-e41d2d0300bb0000\"\t\t# \"h mlx4_0\"\n"
		"[1](e41d2d0300bb0001) \t\"S-e41d2d0300aa0001\"[1]\t\t# lid 4 lmc 0\n");

	assert_int_equal(t->count, 2);
	assert_true(t->nodes[0].node_guid == 0xe41d2d0300aa0001ull);
	assert_true(t->nodes[1].node_guid == 0xe41d2d0300bb0000ull);
	assert_linked(t, 0, 1, 1, 1);
	topology_destroy(t);
}

static void a_name_may_hold_the_guid_and_a_switch_its_mft(void **state)
{
	struct topology *t = parse("mftcap=0\nSwitch 4 \"S-00000000000000ab\"\n"
				   "mftcap=4096\nSwitch 4 \"S-none\"\n");

	assert_int_equal(t->nodes[0].node_guid, 0xab);
	assert_int_equal(t->nodes[0].mft_cap, 0);
	assert_int_equal(t->nodes[1].node_guid, 0x200001);
	assert_int_equal(t->nodes[1].mft_cap, 4096);
	topology_destroy(t);
}

static void a_mistake_is_named_with_its_line(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "line 0: there is no node" },
		{ "# nothing\n\n", "line 2: there is no node" },
		{ "Hub 4 \"x\"",
		  "line 1: neither Switch, Hca, Ca, [port] nor attribute=" },
		{ "Rt 2 \"r\"", "line 1: routers are not among what a fabric has here" },
		{ "\nSwitch \"x\"", "line 2: a Switch has 1 to 254 ports" },
		{ "Switch 0 \"x\"", "line 1: a Switch has 1 to 254 ports" },
		{ "Switch 255 \"x\"", "line 1: a Switch has 1 to 254 ports" },
		{ "Switch 99999999999999999999 \"x\"",
		  "line 1: a Switch has 1 to 254 ports" },
		{ "Switch 8 x", "line 1: a name in quotes is missing" },
		{ "Switch 8 \"x", "line 1: a name does not end" },
		{ "Switch 8 \"\"", "line 1: a name is empty" },
		{ "Switch 8 \"a\tb\"", "line 1: a name has a control character" },
		{ "Switch 8 \"x\" y", "line 1: there is more than a name behind Switch" },
		{ "[1] \"x\"[1]", "line 1: a port stands before any node" },
		{ "Hca 1 \"h\"\n[2] \"x\"[1]", "line 2: \"h\" has no port 2" },
		{ "Hca 1 \"h\"\n[x] \"x\"[1]", "line 2: a port is written [number]" },
		{ "Hca 1 \"h\"\n[0] \"x\"[1]",
		  "line 2: a port is a number from 1 to 254" },
		{ "Hca 1 \"h\"\n[1] \"x\"", "line 2: a port is written [number]" },
		{ "Hca 1 \"h\"\n[1] \"x\"[1]", "line 2: there is no node \"x\"" },
		{ "Hca 1 \"h\"\n[1] \"h\"[1]", "line 2: port 1 leads to itself" },
		{ "Hca 1 \"h\"\n[1] \"s\"[9]\nSwitch 8 \"s\"",
		  "line 2: \"s\" has no port 9" },
		{ "Hca 1 \"h\"\n[1] \"s\"[1] fast",
		  "line 2: there is more than a far end" },
		{ "Hca 1 \"h\"\n[1](zz) \"s\"[1]",
		  "line 2: a GUID in parentheses is not one" },
		{ "Hca 1 \"h\"\n[1] \"s\"[1]\nHca 1 \"i\"\n[1] \"s\"[1]\nSwitch 8 \"s\"",
		  "line 4: \"s\"[1] has another link" },
		{ "Hca 1 \"h\"\n[1] \"s\"[1]\n[1] \"s\"[2]\nSwitch 8 \"s\"",
		  "line 3: \"h\"[1] has another link" },
		{ "caguid=no\nHca 1 \"h\"", "line 1: caguid is not a number" },
		{ "colour=1\nHca 1 \"h\"", "line 1: there is no attribute colour" },
		{ "vendid=1 2\nHca 1 \"h\"",
		  "line 1: there is more than a number behind vendid=" },
		{ "mftcap=16384\nSwitch 8 \"s\"", "line 1: mftcap is more than 16383" },
		{ "caguid=0\nHca 1 \"h\"", "line 2: 0x0 is no GUID for a node" },
		{ "caguid=0xffffffffffffffff\nHca 1 \"h\"",
		  "line 2: 0xffffffffffffffff is no GUID for a node" },
		{ "caguid=5\nHca 2 \"h\"\nswitchguid=7\nSwitch 2 \"s\"",
		  "line 4: \"h\" and \"s\" share port GUID 0x7" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_refused(cases[i].text, cases[i].why);
}

static void names_and_guids_are_unique(void **state)
{
	struct topology *t = NULL;
	char error[100];
	const char *names = "Hca 1 \"h\"\nHca 1 \"h\"";
	const char *guids = "caguid=9\nHca 1 \"h\"\ncaguid=9\nHca 1 \"i\"";

	assert_int_equal(topology_parse(names, strlen(names), &t, error, sizeof(error)),
			 -EINVAL);
	assert_non_null(strstr(error, "\"h\" is there twice"));
	assert_int_equal(topology_parse(guids, strlen(guids), &t, error, sizeof(error)),
			 -EINVAL);
	assert_non_null(strstr(error, "share node GUID 0x9"));
}

static void an_error_is_cut_to_its_room(void **state)
{
	struct topology *t;
	char error[] = "####################";

	assert_int_equal(topology_parse("Hub", 3, &t, error, 12), -EINVAL);
	assert_string_equal(error, "line 1: nei");
	assert_int_equal(error[12], '#');
	assert_int_equal(topology_parse("Hub", 3, &t, error, 1), -EINVAL);
	assert_string_equal(error, "");
}

/* Links are mutual, names and GUIDs of nodes and ports all differ. */
static void assert_sound(const struct topology *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct topology_node *n = &t->nodes[i];

		assert_true(n->node_guid != 0);
		for (uint16_t p = 1; p <= n->ports; p++) {
			if (n->links[p].node != UINT32_MAX)
				assert_linked(t, i, p, n->links[p].node,
					      n->links[p].port);
		}
		for (uint32_t j = 0; j < i; j++) {
			const struct topology_node *m = &t->nodes[j];

			assert_string_not_equal(n->name, m->name);
			assert_true(n->node_guid > m->node_guid + (m->is_switch ? 0 : 1));
		}
	}
}

static unsigned int count_links(const struct topology *t)
{
	unsigned int ends = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		for (uint16_t p = 1; p <= t->nodes[i].ports; p++)
			ends += t->nodes[i].links[p].node != UINT32_MAX;
	}
	return ends / 2;
}

static void shapes_are_sound(void **state)
{
	struct topology *t;

	assert_int_equal(topology_star(5, 1, &t), 0);
	assert_sound(t);
	assert_int_equal(t->count, 6);
	assert_int_equal(count_links(t), 5);
	assert_string_equal(t->nodes[4].name, "h5");
	assert_linked(t, 4, 1, 5, 5);
	topology_destroy(t);

	assert_int_equal(topology_ring(4, 2, 1, &t), 0);
	assert_sound(t);
	assert_int_equal(t->count, 12);
	assert_int_equal(count_links(t), 12);
	assert_linked(t, 11, 3, 8, 4);
	topology_destroy(t);

	assert_int_equal(topology_fat_tree(4, 1, &t), 0);
	assert_sound(t);
	assert_int_equal(t->count, 16 + 20);
	assert_int_equal(count_links(t), 3 * 16);
	topology_destroy(t);

	assert_int_equal(topology_two_level(3, 2, 4, 1, &t), 0);
	assert_sound(t);
	assert_int_equal(t->count, 12 + 5);
	assert_int_equal(count_links(t), 12 + 6);
	topology_destroy(t);
}

static void shapes_refuse_what_is_too_large(void **state)
{
	struct topology *t;

	assert_int_equal(topology_star(0, 1, &t), -EINVAL);
	assert_int_equal(topology_star(255, 1, &t), -EINVAL);
	assert_int_equal(topology_ring(1, 1, 1, &t), -EINVAL);
	assert_int_equal(topology_ring(3, 253, 1, &t), -EINVAL);
	assert_int_equal(topology_ring(4000000000u, 2, 1, &t), -EINVAL);
	assert_int_equal(topology_fat_tree(5, 1, &t), -EINVAL);
	assert_int_equal(topology_fat_tree(38, 1, &t), -EINVAL);
	assert_int_equal(topology_two_level(255, 1, 1, 1, &t), -EINVAL);
	assert_int_equal(topology_two_level(1, 200, 55, 1, &t), -EINVAL);
	assert_int_equal(topology_two_level(254, 1, 200, 1, &t), -EINVAL);
}

static void another_seed_makes_other_guids(void **state)
{
	struct topology *a, *b;

	assert_int_equal(topology_star(2, 1, &a), 0);
	assert_int_equal(topology_star(2, 2, &b), 0);
	assert_true(a->nodes[0].node_guid >> 24 != b->nodes[0].node_guid >> 24);
	topology_destroy(a);
	topology_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_ibsim_is_read),
		cmocka_unit_test(nodes_named_by_guid_are_called_as_described),
		cmocka_unit_test(nodes_named_by_guid_are_in_its_order),
		cmocka_unit_test(what_ibnetdiscover_prints_is_read),
		cmocka_unit_test(a_name_may_hold_the_guid_and_a_switch_its_mft),
		cmocka_unit_test(a_mistake_is_named_with_its_line),
		cmocka_unit_test(names_and_guids_are_unique),
		cmocka_unit_test(an_error_is_cut_to_its_room),
		cmocka_unit_test(shapes_are_sound),
		cmocka_unit_test(shapes_refuse_what_is_too_large),
		cmocka_unit_test(another_seed_makes_other_guids),
	};

	return harness_run(tests);
}
