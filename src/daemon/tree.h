/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The site's synthetic tree (sysfs_tree.h), made of what its devices say of themselves.
 */
#ifndef DAEMON_TREE_H
#define DAEMON_TREE_H

struct node;
struct site;

/* Each node has a tree of its own, in a folder called by its number. Write it, in the
 * place of the one that was there. Errors are logged. */
int tree_write(struct site *s, struct node *node);

#endif
