/* SPDX-License-Identifier: BSD-2-Clause */
#include "site/install.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* The directory of this program. */
static int own_dir(char dir[SITE_PATH_MAX * 2])
{
	ssize_t n = readlink("/proc/self/exe", dir, SITE_PATH_MAX * 2 - 1);

	if (n < 0) {
		int r = -errno;

		log_error("cannot read /proc/self/exe (is /proc mounted?): %s",
			  strerror(-r));
		return r;
	}
	dir[n] = '\0';
	*strrchr(dir, '/') = '\0';
	return 0;
}

static int find(const char *const *places, int mode, char path[SITE_PATH_MAX * 2])
{
	char dir[SITE_PATH_MAX * 2], place[PATH_MAX], *found;
	int r;

	r = own_dir(dir);
	if (r < 0)
		return r;
	for (; *places; places++) {
		snprintf(place, sizeof(place), "%s/%s", dir, *places);
		found = access(place, mode) ? NULL : realpath(place, NULL);
		if (!found)
			continue;
		r = snprintf(path, SITE_PATH_MAX * 2, "%s", found) < SITE_PATH_MAX * 2
			    ? 0
			    : -ENAMETOOLONG;
		free(found);
		return r;
	}
	return -ENOENT;
}

int site_install_find_daemon(char path[SITE_PATH_MAX * 2])
{
	static const char *const places[] = { "verbcastd", INSTALLED_DAEMON, NULL };
	int r = find(places, X_OK, path);

	if (r < 0)
		log_error("verbcastd is neither beside this program nor "
			  "at " INSTALLED_DAEMON
			  " from there: is verbcast completely installed (or built)?");
	return r;
}

int site_install_find_libraries(char path[SITE_PATH_MAX * 2])
{
	static const char *const places[] = { "../lib/verbcast/libibverbs.so.1",
					      INSTALLED_LIBRARIES, NULL };
	int r = find(places, R_OK, path);
	char dir[SITE_PATH_MAX * 2];

	if (!r) {
		/* The link may lead to libibverbs.so.1.2; only its directory counts. */
		*strrchr(path, '/') = '\0';
		return 0;
	}
	if (own_dir(dir) < 0)
		dir[0] = '\0';
	log_error(
		"there is no libibverbs.so.1 of ours in %s/../lib/verbcast: is verbcast "
		"completely installed (or built)?",
		dir);
	return r;
}
