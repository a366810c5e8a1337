/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/environment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Paths of the sanitizers' runtimes, ':' between; they must be loaded before anything
 * that is built with them, and stock programs are not. */
#ifndef VERBCAST_SANITIZER_RUNTIME
#define VERBCAST_SANITIZER_RUNTIME ""
#endif

/* Does the list begin with this very element? Then a run within a run has set it. */
static bool begins_with(const char *list, const char *element)
{
	size_t n = strlen(element);

	return !strncmp(list, element, n) && (!list[n] || list[n] == ':');
}

static int prepend(const char *variable, const char *element)
{
	const char *old = getenv(variable);
	char *value;
	int r;

	if (!old || !*old)
		return setenv(variable, element, 1) < 0 ? -errno : 0;
	if (begins_with(old, element))
		return 0;
	if (asprintf(&value, "%s:%s", element, old) < 0)
		return -ENOMEM;
	r = setenv(variable, value, 1) < 0 ? -errno : 0;
	free(value);
	return r;
}

static int preload(const char *libraries)
{
	/* Here a blank separates, too; then the name alone is looked up in the path. */
	const char *dir = strchr(libraries, ' ') ? "" : libraries;
	char *element;
	int r;

	if (asprintf(&element, "%s%s%s%slibibverbs.so.1", VERBCAST_SANITIZER_RUNTIME,
		     *VERBCAST_SANITIZER_RUNTIME ? ":" : "", dir, *dir ? "/" : "") < 0)
		return -ENOMEM;
	r = prepend("LD_PRELOAD", element);
	free(element);
	/* Stock programs leak at exit as they please; it is not them that is tested. */
	if (!r && *VERBCAST_SANITIZER_RUNTIME)
		r = setenv("ASAN_OPTIONS", "detect_leaks=0", 0) < 0 ? -errno : 0;
	return r;
}

static int set_unless_null(const char *variable, const char *value)
{
	return value && setenv(variable, value, 1) < 0 ? -errno : 0;
}

int environment_set(const struct site_paths *p, const char *libraries, const char *node,
		    uint32_t node_index, const char *device)
{
	char sys[SITE_PATH_MAX + 16];
	int r;

	snprintf(sys, sizeof(sys), "%s/%u", p->sys, node_index);

	/* The dynamic linker splits at these, and knows no way to quote them. */
	if (strpbrk(libraries, ":;")) {
		log_error(
			"the dynamic linker cannot be told of our libraries, whose path "
			"has a colon or semicolon in it: %s",
			libraries);
		return -EINVAL;
	}
	r = prepend("LD_LIBRARY_PATH", libraries);
	if (!r)
		r = preload(libraries);
	if (!r)
		r = set_unless_null("VERBCAST_SOCKET", p->socket);
	if (!r)
		r = set_unless_null("VERBCAST_SYSFS", sys);
	if (!r)
		r = set_unless_null("VERBCAST_NODE", node);
	if (!r)
		r = set_unless_null("VERBCAST_DEVICE", device);
	if (r < 0)
		log_error("cannot set the environment: %s", strerror(-r));
	return r;
}
