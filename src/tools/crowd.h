/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One copy of a program on each of several nodes: `verbcast run --nodes h1-h4`. What they
 * write comes out line by line, marked with the node; they have no standard input.
 */
#ifndef TOOLS_CROWD_H
#define TOOLS_CROWD_H

#define CROWD_MAX 1024u

/* Become the program on this node; returns what to exit with if that fails. */
typedef int (*crowd_fn)(const char *node, char **argv);

/* The names that "h1-h3,h7" means, one allocation each; -EINVAL: nonsense. */
int crowd_expand(const char *list, char *names[CROWD_MAX], unsigned int *ret_count);

/* Until all have ended. The first exit status that is not 0, in the order of the nodes;
 * 128 and the number for one that a signal has ended. */
int crowd_run(char *const *names, unsigned int count, crowd_fn become, char **argv);

#endif
