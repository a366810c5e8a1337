/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast run: see to it that the site is there, send a pidfd of ourselves as its lease,
 * and become the program. What the program does then, and how it ends, is its own.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "site/install.h"
#include "site/start.h"
#include "tools/command.h"
#include "tools/crowd.h"
#include "tools/environment.h"
#include "tools/netns.h"
#include "tools/program.h"

static const char *site, *node, *node_list, *device;
static const char *wires[SITE_WIRES_MAX];
static unsigned int wire_count;
static bool is_private, own_network;
static uint32_t node_index; /* of `node`, as the site says */

static int add_wire(const char *name, char error[OPTIONS_ERROR_MAX])
{
	if (wire_count == SITE_WIRES_MAX) {
		snprintf(error, OPTIONS_ERROR_MAX, "--wire: %u interfaces are the most",
			 SITE_WIRES_MAX);
		return -EINVAL;
	}
	wires[wire_count++] = name;
	return 0;
}

static const struct option_spec options[] = {
	{ "site", OPTION_STRING, "NAME", "the site to run on (default: default)", &site,
	  NULL },
	{ "private", OPTION_FLAG, NULL, "a site of its own, which ends with the program",
	  &is_private, NULL },
	{ "node", OPTION_STRING, "NAME", "be on this node of the site", &node, NULL },
	{ "nodes", OPTION_STRING, "LIST", "a copy on each of these: h1-h4,h7", &node_list,
	  NULL },
	{ "device", OPTION_STRING, "NAME", "see this RDMA device alone", &device, NULL },
	{ "netns", OPTION_FLAG, NULL,
	  "in a network namespace of the node, where its address is on ib0", &own_network,
	  NULL },
	{ "wire", OPTION_CALL, "IFACE",
	  "start the site with a RoCE device for this interface, too", NULL, add_wire },
	{ .name = NULL },
};

static const char *private_name(void)
{
	static char name[32];
	unsigned long long random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return NULL;
	snprintf(name, sizeof(name), "private-%016llx", random);
	return name;
}

/* Is `device` one of those of the node? Names those there are into `have`. */
static bool has_device(const cJSON *status, char *have, size_t size)
{
	const cJSON *nodes = cJSON_GetObjectItem(status, "nodes"), *d;
	bool found = false;

	have[0] = '\0';
	cJSON_ArrayForEach(d,
			   cJSON_GetObjectItem(cJSON_GetArrayItem(nodes, (int)node_index),
					       "devices"))
	{
		const char *s = cJSON_GetStringValue(cJSON_GetObjectItem(d, "name"));
		size_t at = strlen(have);

		snprintf(have + at, size - at, "%s%s", at ? ", " : "", s ? s : "");
		found |= s && !strcmp(s, device);
	}
	return found;
}

static int check_device(const cJSON *status)
{
	char have[512];

	if (!device || has_device(status, have, sizeof(have)))
		return 0;
	log_error("there is no device '%.80s'; there %s: %s", device,
		  strchr(have, ',') ? "are" : "is", *have ? have : "none");
	return -ENODEV;
}

static bool has_wire(const cJSON *status, const char *name)
{
	const cJSON *n, *d;

	cJSON_ArrayForEach(n, cJSON_GetObjectItem(status, "nodes"))
	{
		cJSON_ArrayForEach(d, cJSON_GetObjectItem(n, "devices"))
		{
			const char *netdev =
				cJSON_GetStringValue(cJSON_GetObjectItem(d, "netdev"));

			if (netdev && !strcmp(netdev, name))
				return true;
		}
	}
	return false;
}

/* Only whoever starts a site says what it has. */
static int check_wires(const cJSON *status)
{
	for (unsigned int i = 0; i < wire_count; i++) {
		if (has_wire(status, wires[i]))
			continue;
		log_error("site %s runs without a device for '%.80s': end it by "
			  "`verbcast stop --site %s` and try again, or take another "
			  "--site",
			  site, wires[i], site);
		return -ENODEV;
	}
	return 0;
}

static int check_site(struct site_link *l)
{
	cJSON *status;
	char *text;
	int r;

	if (!device && !wire_count)
		return 0;
	r = site_link_status(l, &text);
	if (r < 0) {
		log_error("cannot ask for the devices: %s", strerror(-r));
		return r;
	}
	status = cJSON_Parse(text);
	free(text);
	r = check_wires(status);
	if (!r)
		r = check_device(status);
	cJSON_Delete(status);
	return r;
}

/* Start or reach the site and leave our lease there. */
static int take_lease(const struct site_paths *p)
{
	struct site_start how = { .paths = p,
				  .node = node ? node : "",
				  .is_private = is_private,
				  .wires = wires,
				  .wire_count = wire_count };
	struct site_link link;
	int r;

	r = site_start(&how, &link);
	if (r < 0)
		return r;
	node_index = link.hello.node;
	r = check_site(&link);
	site_link_close(&link);
	return r;
}

static int become(char **argv)
{
	char libraries[SITE_PATH_MAX * 2], path[PATH_MAX];
	const char *obstacle;
	struct site_paths p;
	int status;

	status = program_find(argv[0], path);
	if (status)
		return status;
	if (site_install_find_libraries(libraries) < 0)
		return EXIT_RUN_FAILED;
	obstacle = program_obstacle(path);
	if (obstacle)
		log_warning("%s %s: it will not see the devices of verbcast", path,
			    obstacle);
	if (site_paths_init(&p, site, true) < 0 || take_lease(&p) < 0 ||
	    environment_set(&p, libraries, node, node_index, device) < 0)
		return EXIT_RUN_FAILED;
	if (own_network && netns_enter(&p, node ? node : "") < 0)
		return EXIT_RUN_FAILED;
	log_debug("becoming %s on site %s (%s)", path, site, p.socket);
	/* By name, not by path: execvp also knows scripts without an interpreter line. */
	execvp(argv[0], argv);
	log_error("cannot execute '%s': %s", argv[0], strerror(errno));
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int become_on(const char *name, char **argv)
{
	node = name;
	return become(argv);
}

static int run_on_nodes(char **argv)
{
	static char *names[CROWD_MAX];
	unsigned int count;
	int r;

	r = crowd_expand(node_list, names, &count);
	if (r < 0)
		return command_misuse(&run_command,
				      "--nodes: '%.80s' is no list of nodes", node_list);
	r = crowd_run(names, count, become_on, argv);
	while (count)
		free(names[--count]);
	return r;
}

static int run_main(int argc, char **argv)
{
	int status, at = command_parse(&run_command, argc, argv, &status);

	if (at < 0)
		return status;
	if (site && is_private)
		return command_misuse(&run_command,
				      "--site and --private exclude each other: "
				      "a private site has a name of its own");
	if (site && site_name_problem(site))
		return command_misuse(&run_command, "'%.80s' cannot be a site's name: %s",
				      site, site_name_problem(site));
	if (node && node_list)
		return command_misuse(&run_command,
				      "--node and --nodes exclude each other");
	if (at == argc)
		return command_misuse(&run_command, "which program?");
	if (!site)
		site = is_private ? private_name() : "default";
	if (!site) {
		log_error("no random numbers: %s", strerror(errno));
		return EXIT_RUN_FAILED;
	}
	return node_list ? run_on_nodes(argv + at) : become(argv + at);
}

const struct command run_command = {
	.name = "run",
	.synopsis = "[--site NAME | --private] [--node NAME | --nodes LIST] [--device "
		    "NAME] [--netns] [--wire "
		    "IFACE]... "
		    "[--] PROGRAM [ARGUMENT...]",
	.summary = "Run a program on a site, which is started if need be",
	.options = options,
	.usage_status = EXIT_RUN_FAILED,
	.main = run_main,
};
