// SPDX-License-Identifier: BSD-2-Clause
// links: apps_umad
/*
 * A GUID more for one's own port, from the subnet administrator:
 *
 *	alias_guids set PLACE [GUID]
 *	alias_guids delete PLACE
 *
 * asks for that one, or one of its choice, in that place of the first block, and prints it;
 * or gives it back. And memberships by such a GUID:
 *
 *	alias_guids join|leave PORT_GID MGID JOIN_STATE
 *
 * prints the status of the answer or, if that is 0, the port GID and the JoinState in it.
 */
#include <arpa/inet.h>
#include <stdbool.h>

#include "umad.h"

#define GUID_INFO_RECORD 0x30
#define MASK_LID         (1 << 0)
#define MASK_BLOCK       (1 << 1)
#define MASK_GUID(place) (1 << (4 + (place)))
#define RECORD_GUIDS     8

#define MC_MEMBER_RECORD 0x38
#define MEMBER_PORT_GID  16
#define MEMBER_QKEY      32
#define MEMBER_PKEY      40
#define MEMBER_STATE     48

static struct client_port port;
static int agent;

/* The answer is in the place of the request; its status. */
static unsigned int ask(struct client_mad *b, const struct umad_sa_packet *sa)
{
	int length = MAD_BYTES;

	CHECK(umad_send(port.id, agent, b, MAD_BYTES, 1000, 5) == 0);
	CHECK(umad_recv(port.id, b, &length, WAIT_MS) == agent);
	CHECK(umad_status(b) == 0);
	return be16toh(sa->mad_hdr.status);
}

static int refused(unsigned int status)
{
	printf("status 0x%04x\n", status);
	return 1;
}

static int change_guid(bool set, unsigned int place, uint64_t wish)
{
	struct client_mad b = { 0 };
	struct umad_sa_packet *sa;
	unsigned int status;
	uint64_t guid = htobe64(wish);

	CHECK(place < 8);
	sa = client_sa_request(&port, &b, set ? UMAD_METHOD_SET : UMAD_SA_METHOD_DELETE,
			       GUID_INFO_RECORD, 1,
			       MASK_LID | MASK_BLOCK | MASK_GUID(place));
	sa->data[0] = (uint8_t)(port.attr.base_lid >> 8);
	sa->data[1] = (uint8_t)port.attr.base_lid;
	memcpy(sa->data + RECORD_GUIDS + 8 * place, &guid, sizeof(guid));
	status = ask(&b, sa);
	if (status)
		return refused(status);
	memcpy(&guid, sa->data + RECORD_GUIDS + 8 * place, sizeof(guid));
	printf("%016llx\n", (unsigned long long)be64toh(guid));
	return 0;
}

static int change_membership(bool join, const char *gid, const char *mgid, uint8_t state)
{
	struct client_mad b = { 0 };
	char text[INET6_ADDRSTRLEN];
	struct umad_sa_packet *sa;
	unsigned int status;

	sa = client_sa_request(&port, &b, join ? UMAD_METHOD_SET : UMAD_SA_METHOD_DELETE,
			       MC_MEMBER_RECORD, 1,
			       join ? CLIENT_CREATE_MASK : CLIENT_MEMBER_MASK);
	CHECK(inet_pton(AF_INET6, mgid, sa->data) == 1);
	CHECK(inet_pton(AF_INET6, gid, sa->data + MEMBER_PORT_GID) == 1);
	sa->data[MEMBER_QKEY + 3] = 1;
	sa->data[MEMBER_PKEY] = sa->data[MEMBER_PKEY + 1] = 0xff;
	sa->data[MEMBER_STATE] = state;
	status = ask(&b, sa);
	if (status)
		return refused(status);
	inet_ntop(AF_INET6, sa->data + MEMBER_PORT_GID, text, sizeof(text));
	printf("%s %x\n", text, sa->data[MEMBER_STATE] & 0xf);
	return 0;
}

int main(int argc, char **argv)
{
	bool first = argc > 1 && (!strcmp(argv[1], "set") || !strcmp(argv[1], "join"));
	int r;

	CHECK(argc >= 3 && argc <= 5);
	client_port_open(&port);
	agent = client_sa_agent(&port);
	if (argc < 5)
		r = change_guid(first, (unsigned int)strtoul(argv[2], NULL, 10),
				argc == 4 ? strtoull(argv[3], NULL, 16) : 0);
	else
		r = change_membership(first, argv[2], argv[3],
				      (uint8_t)strtoul(argv[4], NULL, 16));
	client_port_close(&port);
	return r;
}
