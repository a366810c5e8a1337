/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/options.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "fabric/sm/partitions.h"
#include "shm/limits.h"
#include "site/paths.h"

#define LINGER_S_DEFAULT 5
#define LINGER_S_MAX     (365u * 24 * 3600)

#define TOPOLOGY_BYTES_MAX (64 << 20)

/* The option table has to point somewhere; there is one command line. */
static struct daemon_options parsed;
static const char *group_name, *ready_fd_text;
static bool no_fabric;

static const struct {
	const char *name, *text;
	size_t offset;
	unsigned int value, maximum;
} server_limits[] = {
#define LIMIT(field, value, maximum, text) \
	{ #field, text, offsetof(struct uapi_limits, field), value, maximum },
#include "daemon/server_limits.def"
#undef LIMIT
};

#define SERVER_LIMITS (sizeof(server_limits) / sizeof(server_limits[0]))

static unsigned int *server_limit(struct uapi_limits *limits, size_t n)
{
	return (unsigned int *)((char *)limits + server_limits[n].offset);
}

static int server_limit_set(const char *name, unsigned long value)
{
	for (size_t n = 0; n < SERVER_LIMITS; n++) {
		if (strcmp(server_limits[n].name, name) != 0)
			continue;
		if (value > server_limits[n].maximum)
			return -ERANGE;
		*server_limit(&parsed.server, n) = (unsigned int)value;
		return 0;
	}
	return -EINVAL;
}

/* NAME=VALUE, or "help". */
static int set_limit(const char *text, char error[OPTIONS_ERROR_MAX])
{
	const char *equals = strchr(text, '=');
	unsigned long value;
	char name[64];
	int r;

	if (!strcmp(text, "help")) {
		parsed.list_limits = true;
		return 0;
	}
	if (!equals || equals - text >= (int)sizeof(name) ||
	    options_number(equals + 1, ULONG_MAX, &value) < 0) {
		snprintf(error, OPTIONS_ERROR_MAX,
			 "--limit: '%.80s' is not NAME=VALUE (--limit help lists them)",
			 text);
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	r = server_limit_set(name, value);
	if (r == -EINVAL)
		r = hca_limit_set(&parsed.hca, name, value);
	if (r == -EINVAL)
		snprintf(error, OPTIONS_ERROR_MAX,
			 "--limit: there is no limit '%s' (--limit help lists them)",
			 name);
	else if (r < 0)
		snprintf(error, OPTIONS_ERROR_MAX,
			 "--limit: %s cannot be as high as %lu (--limit help tells)",
			 name, value);
	return r < 0 ? -EINVAL : 0;
}

/* Is there such an interface, and is it one that others may be behind? */
static const char *wire_problem(const char *name)
{
	struct ifreq request;
	int fd, r;

	if (!*name || strlen(name) >= sizeof(request.ifr_name))
		return "no interface can be called so";
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return NULL; /* it will be seen */
	memset(&request, 0, sizeof(request));
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	r = ioctl(fd, SIOCGIFFLAGS, &request);
	close(fd);
	if (r < 0)
		return "there is no such interface";
	if (request.ifr_flags & IFF_LOOPBACK)
		return "that is the loopback, whose device is vroce0";
	return NULL;
}

static bool has_wire(const char *name)
{
	for (unsigned int i = 0; i < parsed.wire_count; i++)
		if (!strcmp(parsed.wires[i], name))
			return true;
	return false;
}

static int add_wire(const char *name, char error[OPTIONS_ERROR_MAX])
{
	const char *problem = wire_problem(name);

	if (!problem && !has_wire(name)) {
		if (parsed.wire_count < SITE_WIRES_MAX)
			parsed.wires[parsed.wire_count++] = name;
		else
			problem = "these are too many interfaces";
	}
	if (problem)
		snprintf(error, OPTIONS_ERROR_MAX, "--wire %.80s: %s", name, problem);
	return problem ? -EINVAL : 0;
}

static int set_nodes(const char *value, char error[OPTIONS_ERROR_MAX])
{
	return admin_shape_nodes(&parsed.shape, value, error);
}

static int set_ring(const char *value, char error[OPTIONS_ERROR_MAX])
{
	return admin_shape_ring(&parsed.shape, value, error);
}

static int set_fat_tree(const char *value, char error[OPTIONS_ERROR_MAX])
{
	return admin_shape_fat_tree(&parsed.shape, value, error);
}

static int set_topology(const char *value, char error[OPTIONS_ERROR_MAX])
{
	return admin_shape_file(&parsed.shape, value, error);
}

static int set_partitions(const char *value, char error[OPTIONS_ERROR_MAX])
{
	return admin_shape_partitions(&parsed.shape, value, error);
}

static int set_lmc(const char *value, char error[OPTIONS_ERROR_MAX])
{
	return admin_shape_lmc(&parsed.shape, value, error);
}

static const struct option_spec specs[] = {
	{ "site", OPTION_STRING, "NAME", "serve this site (default: default)",
	  &parsed.site, NULL },
	{ "foreground", OPTION_FLAG, NULL, "stay with the terminal (the default)",
	  &parsed.foreground, NULL },
	{ "background", OPTION_FLAG, NULL, "return when it serves, and go on alone",
	  &parsed.background, NULL },
	{ "linger", OPTION_NUMBER, "SECONDS",
	  "end so long after the last program (default 5)", &parsed.linger_s, NULL },
	{ "stay", OPTION_FLAG, NULL, "do not end without programs", &parsed.stay, NULL },
	{ "yield", OPTION_FLAG, NULL,
	  "without programs, end for who wants another fabric (verbcast fabric up)",
	  &parsed.yields, NULL },
	{ "private", OPTION_FLAG, NULL, "end with the program that is run first",
	  &parsed.is_private, NULL },
	{ "limit", OPTION_CALL, "NAME=VALUE", "set a limit; help lists them", NULL,
	  set_limit },
	{ "wire", OPTION_CALL, "IFACE",
	  "have a RoCE device for this interface, too; may be repeated", NULL, add_wire },
	{ "nodes", OPTION_CALL, "N",
	  "a fabric of one switch and N nodes, h1 to hN (default: 1)", NULL, set_nodes },
	{ "ring", OPTION_CALL, "S[:H]", "of S switches in a ring, with H nodes each",
	  NULL, set_ring },
	{ "fat-tree", OPTION_CALL, "K", "of three levels of switches with K ports", NULL,
	  set_fat_tree },
	{ "topology", OPTION_CALL, "FILE", "of what ibnetdiscover has written", NULL,
	  set_topology },
	{ "partitions", OPTION_CALL, "FILE",
	  "with these partitions, as OpenSM's partitions.conf has them", NULL,
	  set_partitions },
	{ "lmc", OPTION_CALL, "N",
	  "the subnet manager gives each adapter's port 2^N LIDs", NULL, set_lmc },
	{ "no-sm", OPTION_FLAG, NULL, "without a subnet manager", &parsed.shape.no_sm,
	  NULL },
	{ "no-fabric", OPTION_FLAG, NULL, "no fabric at all, and no vib0", &no_fabric,
	  NULL },
	{ "group", OPTION_STRING, "NAME", "let this group of users in, too", &group_name,
	  NULL },
	{ "ipv6-multicast", OPTION_FLAG, NULL,
	  "let rdma_cm join IPv6 groups on RoCE, which Linux does not",
	  &parsed.ipv6_multicast, NULL },
	{ "ready-fd", OPTION_STRING, "FD", "write a line there when it serves",
	  &ready_fd_text, NULL },
	{ "version", OPTION_FLAG, NULL, "show the release", &parsed.version, NULL },
	{ "help", OPTION_FLAG, NULL, "show this", &parsed.help, NULL },
	{ .name = NULL },
};

void daemon_options_print_help(void)
{
	printf("usage: verbcastd [OPTION...]\n\n"
	       "Serves a site of verbcast. `verbcast run` starts it by itself.\n\n");
	options_print(specs, stdout);
}

void daemon_options_print_limits(void)
{
	struct hca_limit_info info;

	printf("%-28s %10s %10s\n", "LIMIT", "DEFAULT", "MAXIMUM");
	for (size_t n = 0; n < SERVER_LIMITS; n++)
		printf("%-28s %10u %10u  %s\n", server_limits[n].name,
		       server_limits[n].value, server_limits[n].maximum,
		       server_limits[n].text);
	for (unsigned int n = 0; info = hca_limit_info(n), info.name; n++)
		printf("%-28s %10u %10u  %s\n", info.name, info.value, info.maximum,
		       info.text);
}

static int check_group(char *error)
{
	struct group *g;
	unsigned long gid;

	if (!group_name)
		return 0;
	g = getgrnam(group_name);
	if (g)
		parsed.gid = g->gr_gid;
	else if (!options_number(group_name, (gid_t)-2, &gid))
		parsed.gid = (gid_t)gid;
	else {
		snprintf(error, OPTIONS_ERROR_MAX, "--group: there is no group '%.80s'",
			 group_name);
		return -EINVAL;
	}
	return 0;
}

static int check_ready_fd(char *error)
{
	unsigned long fd;

	if (!ready_fd_text)
		return 0;
	if (options_number(ready_fd_text, INT_MAX, &fd) < 0) {
		snprintf(error, OPTIONS_ERROR_MAX, "--ready-fd: '%.80s' is no descriptor",
			 ready_fd_text);
		return -EINVAL;
	}
	parsed.ready_fd = (int)fd;
	return 0;
}

static const char *file_problem(int fd, size_t most, size_t *ret_bytes)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "it is no regular file";
	if ((size_t)st.st_size > most)
		return "it is too large";
	*ret_bytes = (size_t)st.st_size;
	return NULL;
}

/* Null, or why not. The size must be true: in /proc it is 0, and part of what somebody is
 * writing is no text. */
static const char *read_all(int fd, size_t most, char **ret, size_t *ret_bytes)
{
	size_t bytes = 0, at = 0;
	const char *problem = file_problem(fd, most, &bytes);
	ssize_t n = 1;
	char *text;

	if (problem)
		return problem;
	text = malloc(bytes + 1);
	if (!text)
		return strerror(errno);
	for (; at <= bytes && n > 0; at += n > 0 ? (size_t)n : 0)
		n = read(fd, text + at, bytes + 1 - at);
	if (n < 0)
		problem = strerror(errno);
	else if (at != bytes)
		problem = "it is not as long as it says";
	if (problem) {
		free(text);
		return problem;
	}
	*ret = text;
	*ret_bytes = at;
	return NULL;
}

/* While the starter's working directory is ours. Nobody waits for a FIFO's other end. */
static int read_file(const char *option, const char *name, size_t most, char **ret,
		     size_t *ret_bytes, char *error)
{
	int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	const char *problem = read_all(fd, most, ret, ret_bytes);

	if (fd >= 0)
		close(fd);
	if (!problem)
		return 0;
	snprintf(error, OPTIONS_ERROR_MAX, "--%s: %.150s: %s", option, name, problem);
	return -EINVAL;
}

static int check_shape(char *error)
{
	if (no_fabric && admin_shape_none(&parsed.shape, error) < 0)
		return -EINVAL;
	if (parsed.shape.kind == ADMIN_SHAPE_FILE &&
	    read_file("topology", parsed.shape.file, TOPOLOGY_BYTES_MAX, &parsed.topology,
		      &parsed.topology_bytes, error) < 0)
		return -EINVAL;
	if (!parsed.shape.partitions)
		return 0;
	return read_file("partitions", parsed.shape.partitions, SM_PARTITIONS_BYTES_MAX,
			 &parsed.partitions, &parsed.partitions_bytes, error);
}

static int check(char *error)
{
	const char *problem = parsed.site ? site_name_problem(parsed.site) : NULL;

	if (problem) {
		snprintf(error, OPTIONS_ERROR_MAX, "'%.80s' cannot be a site's name: %s",
			 parsed.site, problem);
		return -EINVAL;
	}
	if (parsed.foreground && parsed.background) {
		snprintf(error, OPTIONS_ERROR_MAX,
			 "--foreground and --background exclude each other");
		return -EINVAL;
	}
	if (parsed.linger_s > LINGER_S_MAX) {
		snprintf(error, OPTIONS_ERROR_MAX,
			 "--linger: at most %u seconds; --stay is "
			 "for ever",
			 LINGER_S_MAX);
		return -EINVAL;
	}
	if (check_group(error) < 0 || check_shape(error) < 0)
		return -EINVAL;
	return check_ready_fd(error);
}

static void set_defaults(void)
{
	parsed = (struct daemon_options){
		.linger_s = LINGER_S_DEFAULT,
		.ready_fd = -1,
		.gid = (gid_t)-1,
	};
	group_name = NULL;
	no_fabric = false;
	ready_fd_text = NULL;
	hca_limits_init(&parsed.hca);
	for (size_t n = 0; n < SERVER_LIMITS; n++)
		*server_limit(&parsed.server, n) = server_limits[n].value;
}

int daemon_options_parse(struct daemon_options *o, int argc, char **argv)
{
	char error[OPTIONS_ERROR_MAX];
	int at;

	set_defaults();
	at = options_parse(specs, argc, argv, error);
	if (at >= 0 && at < argc) {
		snprintf(error, sizeof(error), "'%.80s' is one word too many", argv[at]);
		at = -EINVAL;
	}
	if (at < 0 || check(error) < 0) {
		fprintf(stderr, "verbcastd: %s\nsee verbcastd --help\n", error);
		return DAEMON_EXIT_USAGE;
	}
	*o = parsed;
	return 0;
}
