// SPDX-License-Identifier: BSD-2-Clause
// links: apps_umad
/*
 * A member that leaves by halves:
 *
 *	mlids TIMES
 *
 * creates a group of its own as full and send-only full member at once (0x9), leaves as the
 * one, then as the other, and does so for TIMES groups. It ends early when the subnet
 * administrator has no resources left, and with failure at anything else that is not
 * success.
 */
#include "umad.h"

#define JOIN_BOTH       0x9
#define LEAVE_FULL      0x1
#define LEAVE_SEND_ONLY 0x8
#define NO_RESOURCES    0x0100

static struct client_port port;
static int agent;
static uint32_t tid;

static void ask(uint8_t method, uint64_t mask, uint32_t group, uint8_t join_state)
{
	struct client_mad b = { 0 };
	struct umad_sa_packet *sa = client_sa_request(
		&port, &b, method, UMAD_SA_ATTR_MCMEMBER_REC, ++tid, mask);

	client_sa_member(&port, sa, 0x1d, group, join_state);
	CHECK(umad_send(port.id, agent, &b, MAD_BYTES, 5000, 2) == 0);
}

/* The status that the administrator answers with. */
static uint16_t answer(uint8_t method, uint64_t mask, uint32_t group, uint8_t join_state)
{
	int length = MAD_BYTES;
	struct umad_sa_packet *sa;
	struct client_mad b;

	ask(method, mask, group, join_state);
	CHECK(umad_recv(port.id, &b, &length, WAIT_MS) == agent);
	CHECK(umad_status(&b) == 0);
	sa = umad_get_mad(&b.umad);
	CHECK((uint32_t)be64toh(sa->mad_hdr.tid) == tid);
	return be16toh(sa->mad_hdr.status);
}

/* False: there are no resources. */
static int once(uint32_t group)
{
	uint16_t status = answer(UMAD_METHOD_SET, CLIENT_CREATE_MASK, group, JOIN_BOTH);

	if (status == NO_RESOURCES)
		return 0;
	CHECK(status == 0);
	CHECK(answer(UMAD_SA_METHOD_DELETE, CLIENT_MEMBER_MASK, group, LEAVE_FULL) == 0);
	status =
		answer(UMAD_SA_METHOD_DELETE, CLIENT_MEMBER_MASK, group, LEAVE_SEND_ONLY);
	CHECK(status == 0 || status == 0x0200); /* OpenSM has lost the member by now */
	return 1;
}

int main(int argc, char **argv)
{
	uint32_t times = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0, n = 0;

	client_port_open(&port);
	agent = client_sa_agent(&port);
	while (n < times && once(n + 1))
		n++;
	printf("%u times%s\n", n, n < times ? ", then no resources" : "");
	client_port_close(&port);
	return 0;
}
