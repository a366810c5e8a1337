/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which paths go to the synthetic tree (src/daemon/sysfs_tree.h), and where there.
 *
 * Some programs look past libibverbs, at /sys/class/infiniband and /dev/infiniband
 * (spec/userland 1.9). `verbcast run` sets VERBCAST_SYSFS to the site's tree and preloads
 * libibverbs.so.1, whose interposers in this folder hand each path to redirect().
 * Without the variable, and for every other path, calls pass as they are.
 *
 * Called from any thread, from signal handlers, and before constructors have run: it
 * keeps no state, allocates nothing and leaves errno alone.
 */
#ifndef SHIM_VERBS_INTERPOSE_REDIRECT_H
#define SHIM_VERBS_INTERPOSE_REDIRECT_H

/* Well below PATH_MAX: it lies on the stack of whoever calls open(). */
#define REDIRECT_MAX 1024

struct redirect {
	char path[REDIRECT_MAX];
};

/*
 * `path` itself, or the place in the tree that stands for it, written to `to`. Absolute
 * paths alone are looked at; "//", "/." and "/.." count as in the shell, by their text.
 * NULL stays NULL.
 */
const char *redirect(const char *path, struct redirect *to);

#endif
