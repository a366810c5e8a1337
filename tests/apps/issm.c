// SPDX-License-Identifier: BSD-2-Clause
// links: ibumad
/*
 * Has the file open that says that a subnet manager is behind the port, as OpenSM does,
 * and does nothing else.
 *
 *	issm [twice | child]
 *
 * opens it (twice: closes one of two again; child: leaves it to a child, whose process
 * number is said), says "held" and sleeps.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int hold(const char *path)
{
	int fd = open(path, O_NONBLOCK);

	if (fd < 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	char path[256], small[4];
	int first;

	if (umad_init() < 0 || umad_get_issm_path(NULL, 0, path, sizeof(path)) != 0) {
		fprintf(stderr, "no path\n");
		return 1;
	}
	if (umad_get_issm_path(NULL, 0, small, sizeof(small)) == 0 ||
	    umad_get_issm_path("vib0", 2, path, sizeof(path)) == 0) {
		fprintf(stderr, "a path that cannot be\n");
		return 1;
	}
	first = hold(path);
	if (argc > 1 && !strcmp(argv[1], "twice")) {
		hold(path);
		close(first);
	}
	if (argc > 1 && !strcmp(argv[1], "child")) {
		pid_t pid = fork();

		if (pid) {
			printf("%d\n", (int)pid);
			return 0;
		}
	}
	puts("held");
	fflush(stdout);
	for (;;)
		pause();
}
