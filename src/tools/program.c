/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/log.h"
#include "tools/command.h"

/* 0, or the errno with which exec would fail. */
static int check(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode))
		return EACCES; /* as execve; to look into a FIFO would take a writer */
	return access(path, X_OK) < 0 ? errno : 0;
}

static bool is_absent(int error)
{
	return error == ENOENT || error == ENOTDIR;
}

static int search(const char *name, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH"), *end;
	int denied = 0;

	for (dirs = dirs ? dirs : "/bin:/usr/bin";; dirs = end + 1) {
		int length, error;

		end = strchrnul(dirs, ':');
		length = (int)(end - dirs);
		/* An empty element is the working directory. */
		snprintf(path, PATH_MAX, "%.*s%s%s", length, dirs, length ? "/" : "./",
			 name);
		error = check(path);
		if (!error)
			return 0;
		if (!is_absent(error) && error != EISDIR)
			denied = error;
		if (!*end)
			return denied ? denied : ENOENT;
	}
}

int program_find(const char *name, char path[PATH_MAX])
{
	int error;

	if (!*name) {
		error = ENOENT;
	} else if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		error = check(path);
	} else {
		error = search(name, path);
	}
	if (!error)
		return 0;
	if (!is_absent(error)) {
		log_error("cannot execute '%s': %s", name, strerror(error));
		return EXIT_NOT_EXECUTABLE;
	}
	if (strchr(name, '/'))
		log_error("cannot find the program '%s'", name);
	else
		log_error("cannot find the program '%s' in PATH", name);
	return EXIT_NOT_FOUND;
}

/* Programs with more rights than their caller ignore LD_LIBRARY_PATH and LD_PRELOAD. */
static const char *raised_rights(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return NULL;
	if (st.st_mode & S_ISUID && st.st_uid != getuid())
		return "is set-uid";
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
	    st.st_gid != getgid())
		return "is set-gid";
	if (getuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return "has file capabilities";
	return NULL;
}

static bool has_interpreter(int fd, const ElfW(Ehdr) * e)
{
	for (unsigned int i = 0; i < e->e_phnum; i++) {
		ElfW(Phdr) ph;
		off_t at = (off_t)(e->e_phoff + (size_t)i * e->e_phentsize);

		if (pread(fd, &ph, sizeof(ph), at) != (ssize_t)sizeof(ph))
			return true; /* odd; the kernel will say */
		if (ph.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static const char *foreign_or_static(int fd)
{
	ElfW(Ehdr) e, own = { .e_machine = 0 };
	int self;

	if (pread(fd, &e, sizeof(e), 0) != (ssize_t)sizeof(e) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG))
		return NULL; /* a script: its interpreter is what counts */
	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (self >= 0) {
		if (pread(self, &own, sizeof(own), 0) != (ssize_t)sizeof(own))
			own.e_machine = 0;
		close(self);
	}
	if (own.e_machine && (e.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] ||
			      e.e_machine != own.e_machine))
		return "is built for another architecture than our libraries";
	return has_interpreter(fd, &e) ? NULL : "is statically linked";
}

const char *program_obstacle(const char *path)
{
	const char *obstacle;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	obstacle = raised_rights(fd);
	if (!obstacle)
		obstacle = foreign_or_static(fd);
	close(fd);
	return obstacle;
}
