// SPDX-License-Identifier: BSD-2-Clause
/*
 * Callers of verbcastd that never say a word:
 *
 *	silent SOCKET COUNT
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (argc != 3)
		return 2;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", argv[1]);
	for (int left = atoi(argv[2]); left; left--) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
			perror("silent");
			return 1;
		}
	}
	printf("connected\n");
	fflush(stdout);
	pause();
	return 0;
}
