// SPDX-License-Identifier: BSD-2-Clause
// links: apps_umad
/*
 * A GUID more for one's own port, from the subnet administrator:
 *
 *	alias_guids set|delete PLACE
 *
 * asks for one of its choice in that place of the first block, and prints it; or gives it
 * back.
 */
#include "umad.h"

#define GUID_INFO_RECORD 0x30
#define MASK_LID         (1 << 0)
#define MASK_BLOCK       (1 << 1)
#define MASK_GUID(place) (1 << (4 + (place)))
#define RECORD_GUIDS     8

int main(int argc, char **argv)
{
	struct client_mad b = { 0 };
	struct umad_sa_packet *sa;
	int agent, length = MAD_BYTES;
	struct client_port port;
	unsigned int place;
	uint64_t guid;

	CHECK(argc == 3);
	place = (unsigned int)strtoul(argv[2], NULL, 10);
	CHECK(place < 8);
	client_port_open(&port);
	agent = client_sa_agent(&port);
	sa = client_sa_request(
		&port, &b,
		strcmp(argv[1], "set") == 0 ? UMAD_METHOD_SET : UMAD_SA_METHOD_DELETE,
		GUID_INFO_RECORD, 1, MASK_LID | MASK_BLOCK | MASK_GUID(place));
	sa->data[0] = (uint8_t)(port.attr.base_lid >> 8);
	sa->data[1] = (uint8_t)port.attr.base_lid;
	CHECK(umad_send(port.id, agent, &b, MAD_BYTES, 1000, 5) == 0);
	CHECK(umad_recv(port.id, &b, &length, WAIT_MS) == agent);
	CHECK(umad_status(&b) == 0);
	if (sa->mad_hdr.status) {
		printf("status 0x%04x\n", be16toh(sa->mad_hdr.status));
		return 1;
	}
	memcpy(&guid, sa->data + RECORD_GUIDS + 8 * place, sizeof(guid));
	printf("%016llx\n", (unsigned long long)be64toh(guid));
	client_port_close(&port);
	return 0;
}
