/* SPDX-License-Identifier: BSD-2-Clause */
#include "site/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

const char *site_name_problem(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789._-";

	if (!*name)
		return "it is empty";
	if (strlen(name) > SITE_NAME_MAX)
		return "it is longer than 63 letters";
	if (*name == '.' || *name == '-')
		return "it begins with '.' or '-'";
	if (name[strspn(name, allowed)])
		return "only letters, digits, '.', '_' and '-' may stand in it";
	return NULL;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The directory's path; -EINVAL: the override is unusable. */
static int choose_dir(char dir[SITE_PATH_MAX], bool *ret_override)
{
	const char *override = getenv("VERBCAST_RUNTIME_DIR");
	unsigned int uid = geteuid();
	char run[64];

	*ret_override = override && *override;
	snprintf(run, sizeof(run), "/run/user/%u", uid);
	if (!*ret_override) {
		if (is_dir(run))
			snprintf(dir, SITE_PATH_MAX, "%s/verbcast", run);
		else
			snprintf(dir, SITE_PATH_MAX, "/tmp/verbcast-%u", uid);
		return 0;
	}
	if (override[0] != '/') {
		log_error("VERBCAST_RUNTIME_DIR must be an absolute path, not '%s'",
			  override);
		return -EINVAL;
	}
	if (snprintf(dir, SITE_PATH_MAX, "%s", override) >= SITE_PATH_MAX) {
		log_error("VERBCAST_RUNTIME_DIR is too long");
		return -ENAMETOOLONG;
	}
	return 0;
}

/* Others could put a socket of theirs into a directory that they may write to. A
 * directory named by VERBCAST_RUNTIME_DIR may be root's (a system service), and may let
 * others look. */
static int check_dir(const char *dir, bool override)
{
	struct stat st;

	if (lstat(dir, &st) < 0) {
		if (errno != ENOENT)
			log_error("%s: %s", dir, strerror(errno));
		return -errno;
	}
	if (!S_ISDIR(st.st_mode)) {
		log_error("%s is not a directory", dir);
		return -ENOTDIR;
	}
	if (st.st_uid != geteuid() && !(override && st.st_uid == 0)) {
		log_error("%s belongs to user %u, not to us (%u)", dir, st.st_uid,
			  geteuid());
		return -EPERM;
	}
	if (st.st_mode & (override ? 022 : 077)) {
		log_error("%s is open to others (mode %04o); %s", dir, st.st_mode & 07777,
			  override ? "only its owner may write to it"
				   : "it must be 0700");
		return -EPERM;
	}
	return 0;
}

static int make_dir(const char *dir)
{
	if (mkdir(dir, 0700) < 0 && errno != EEXIST) {
		int r = -errno;

		log_error("cannot make %s: %s", dir, strerror(-r));
		return r;
	}
	return 0;
}

/* Two network namespaces of one user do not meet. */
static unsigned long network_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) ? 0 : (unsigned long)st.st_ino;
}

/* False when it does not fit. */
static bool name_file(char *path, size_t size, const struct site_paths *p,
		      const char *suffix)
{
	int n = snprintf(path, size, "%s/%lu.%s%s", p->dir, network_namespace(), p->name,
			 suffix);

	return n > 0 && (size_t)n < size;
}

int site_paths_init(struct site_paths *p, const char *name, bool create)
{
	const char *problem = site_name_problem(name);
	bool override;
	int r;

	if (problem) {
		log_error("'%.80s' cannot be a site's name: %s", name, problem);
		return -EINVAL;
	}
	snprintf(p->name, sizeof(p->name), "%s", name);
	r = choose_dir(p->dir, &override);
	if (!r && create)
		r = make_dir(p->dir);
	if (!r)
		r = check_dir(p->dir, override);
	if (r < 0)
		return r;
	if (!name_file(p->socket, sizeof(p->socket), p, ".sock") ||
	    !name_file(p->lock, sizeof(p->lock), p, ".lock") ||
	    !name_file(p->start, sizeof(p->start), p, ".start") ||
	    !name_file(p->up, sizeof(p->up), p, ".up") ||
	    !name_file(p->sys, sizeof(p->sys), p, ".sys")) {
		log_error("the path of the socket of site %s in %s is too long (%d bytes "
			  "at "
			  "most); set VERBCAST_RUNTIME_DIR to a shorter one",
			  p->name, p->dir, SITE_SOCKET_MAX - 1);
		return -ENAMETOOLONG;
	}
	return 0;
}
