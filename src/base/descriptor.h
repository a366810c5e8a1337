/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A descriptor that we hold in somebody else's program. Programs close what they do not
 * know (closefrom, a loop over all numbers), and then open files of their own under the
 * same numbers: to read, write, shut down or close these would harm them. So a descriptor
 * is kept together with what it stood for, and looked at again before it is used.
 *
 * For sockets and files; anonymous descriptors (eventfd) all look the same.
 */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

struct descriptor {
	int fd; /* -1: none */
	dev_t device;
	ino_t inode;
};

#define DESCRIPTOR_NONE  \
	{                \
		.fd = -1 \
	}

/*
 * In a program that was started without a standard descriptor the next one gets its
 * number, and with it what the program says or reads there. Takes over `fd`, which may be
 * -1, and gives it back under a number behind these; -1 and errno: there is none.
 */
int descriptor_behind_standard(int fd);

/* Take over `fd`, which may be -1, behind the standard ones. */
void descriptor_hold(struct descriptor *d, int fd);
/* Does the number still stand for what was held? */
bool descriptor_is_ours(const struct descriptor *d);
/* Close it, if it is ours, and hold nothing any more. */
void descriptor_close(struct descriptor *d);

#endif
