// SPDX-License-Identifier: BSD-2-Clause
// links: apps_umad
/*
 * A program that manages, and writes over the memory that it shares with verbcastd for
 * that:
 *
 *	umad_scribbler COUNT SEED
 *
 * sends requests to everybody and takes what it is told, COUNT times some of each, while
 * numbers and messages of both rings change under them. It hears what it hears.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "umad.h"

#define LIDS       8
#define A_TIME     50
#define HEAD_BYTES 128 /* of a ring: its numbers */

static uint64_t state;
static uint8_t *memory;
static size_t bytes;

/* Marsaglia's xorshift. */
static uint32_t any(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % below;
}

static void find_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char line[512];

	CHECK(maps);
	while (!memory && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "verbcast-umad"))
			continue;
		CHECK(sscanf(line, "%lx-%lx", &from, &to) == 2);
		memory = (uint8_t *)from;
		bytes = to - from;
	}
	CHECK(memory && !fclose(maps));
}

static void send_some(int id, int agent)
{
	struct client_mad b;

	for (unsigned int i = any(A_TIME); i; i--) {
		memset(&b, 0, sizeof(b));
		client_mad_header(&b, UMAD_CLASS_SUBN_ADM, 2,
				  any(2) ? UMAD_METHOD_GET : UMAD_SA_METHOD_GET_TABLE,
				  any(2) ? 0x11 : 0x38, any(1000));
		umad_set_addr(&b.umad, (int)any(LIDS), 1, 0, (int)GSI_QKEY);
		(void)umad_send(id, agent, &b, MAD_BYTES, any(2) ? 100 : 0, (int)any(3));
	}
}

/* One in two within the numbers of either ring. */
static void scribble(void)
{
	size_t at =
		any(2) ? any((uint32_t)bytes) : any(2) * (bytes / 2) + any(HEAD_BYTES);

	memory[at] = (uint8_t)any(256);
}

static void take_some(int id)
{
	uint8_t room[8192];

	for (unsigned int i = any(A_TIME); i; i--) {
		int length = any(2) ? MAD_BYTES : (int)(sizeof(room) - 64);

		if (umad_recv(id, room, &length, 0) < 0)
			break;
	}
}

int main(int argc, char **argv)
{
	unsigned long count;
	int id, agent;

	CHECK(argc == 3);
	count = strtoul(argv[1], NULL, 10);
	state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15 | 1;
	CHECK(umad_init() == 0 && (id = umad_open_port(NULL, 0)) >= 0);
	agent = umad_register(id, UMAD_CLASS_SUBN_ADM, 2, 1, NULL);
	CHECK(agent >= 0);
	find_memory();
	for (unsigned long n = 0; n < count; n++) {
		send_some(id, agent);
		for (unsigned int i = any(4); i; i--)
			scribble();
		take_some(id);
	}
	/* The end comes in any state. */
	if (any(2))
		(void)umad_close_port(id);
	printf("scribbled\n");
	return 0;
}
