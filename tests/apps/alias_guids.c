// SPDX-License-Identifier: BSD-2-Clause
// links: ibumad
/*
 * A GUID more for one's own port, from the subnet administrator:
 *
 *	alias_guids set|delete PLACE
 *
 * asks for one of its choice in that place of the first block, and prints it; or gives it
 * back.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <infiniband/umad_sa.h>
#include <infiniband/umad_types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAD_BYTES 256
#define SA_QKEY   0x80010000
#define WAIT_MS   20000

#define GUID_INFO_RECORD 0x30
#define MASK_LID         (1 << 0)
#define MASK_BLOCK       (1 << 1)
#define MASK_GUID(place) (1 << (4 + (place)))
#define RECORD_GUIDS     8

#define CHECK(condition)                                                           \
	do {                                                                       \
		if (!(condition)) {                                                \
			fprintf(stderr, "%d: not true: %s (errno %d)\n", __LINE__, \
				#condition, errno);                                \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

struct buffer {
	struct ib_user_mad umad;
	uint8_t mad[MAD_BYTES];
};

int main(int argc, char **argv)
{
	struct buffer b = { 0 };
	struct umad_sa_packet *sa = umad_get_mad(&b.umad);
	int id, agent, length = MAD_BYTES;
	unsigned int place;
	umad_port_t port;
	uint64_t guid;

	CHECK(argc == 3);
	place = (unsigned int)strtoul(argv[2], NULL, 10);
	CHECK(place < 8);
	CHECK(umad_init() == 0);
	CHECK(umad_get_port(NULL, 0, &port) == 0);
	id = umad_open_port(port.ca_name, port.portnum);
	CHECK(id >= 0);
	agent = umad_register(id, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION, 1, NULL);
	CHECK(agent == 0);

	sa->mad_hdr.base_version = 1;
	sa->mad_hdr.mgmt_class = UMAD_CLASS_SUBN_ADM;
	sa->mad_hdr.class_version = UMAD_SA_CLASS_VERSION;
	sa->mad_hdr.method =
		strcmp(argv[1], "set") == 0 ? UMAD_METHOD_SET : UMAD_SA_METHOD_DELETE;
	sa->mad_hdr.attr_id = htobe16(GUID_INFO_RECORD);
	sa->mad_hdr.tid = htobe64(1);
	sa->comp_mask = htobe64(MASK_LID | MASK_BLOCK | MASK_GUID(place));
	sa->data[0] = (uint8_t)(port.base_lid >> 8);
	sa->data[1] = (uint8_t)port.base_lid;
	umad_set_addr(&b, (int)port.sm_lid, 1, (int)port.sm_sl, SA_QKEY);
	CHECK(umad_send(id, agent, &b, MAD_BYTES, 1000, 5) == 0);
	CHECK(umad_recv(id, &b, &length, WAIT_MS) == agent);
	CHECK(umad_status(&b) == 0);
	if (sa->mad_hdr.status) {
		printf("status 0x%04x\n", be16toh(sa->mad_hdr.status));
		return 1;
	}
	memcpy(&guid, sa->data + RECORD_GUIDS + 8 * place, sizeof(guid));
	printf("%016llx\n", (unsigned long long)be64toh(guid));
	CHECK(umad_close_port(id) == 0);
	CHECK(umad_release_port(&port) == 0);
	umad_done();
	return 0;
}
