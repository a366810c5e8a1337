/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The port numbers of the machine's settings, which rdma_cm shares with TCP and UDP
 * (spec/userland 3.2, rdma_bind_addr).
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "core/addr/host.h"

#define SYSCTL_PORT_RANGE         "/proc/sys/net/ipv4/ip_local_port_range"
#define SYSCTL_UNPRIVILEGED_START "/proc/sys/net/ipv4/ip_unprivileged_port_start"

static bool read_setting(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

void addr_linux_ports(struct addr_ports *ret)
{
	unsigned int first, last;
	char text[64];

	*ret = (struct addr_ports){
		.first = 32768,
		.last = 60999,
		.unprivileged_start = 1024,
	};
	if (read_setting(SYSCTL_PORT_RANGE, text, sizeof(text)) &&
	    sscanf(text, "%u %u", &first, &last) == 2 && first > 0 && first <= last &&
	    last <= UINT16_MAX) {
		ret->first = (uint16_t)first;
		ret->last = (uint16_t)last;
	}
	if (read_setting(SYSCTL_UNPRIVILEGED_START, text, sizeof(text)) &&
	    sscanf(text, "%u", &first) == 1 && first <= UINT16_MAX)
		ret->unprivileged_start = (uint16_t)first;
}
