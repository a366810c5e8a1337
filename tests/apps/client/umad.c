// SPDX-License-Identifier: BSD-2-Clause
#include "umad.h"

void client_port_open(struct client_port *p)
{
	CHECK(umad_init() == 0);
	CHECK(umad_get_port(NULL, 0, &p->attr) == 0);
	p->id = umad_open_port(p->attr.ca_name, p->attr.portnum);
	CHECK(p->id >= 0);
}

void client_port_close(struct client_port *p)
{
	CHECK(umad_close_port(p->id) == 0);
	CHECK(umad_release_port(&p->attr) == 0);
	umad_done();
}

int client_sa_agent(const struct client_port *p)
{
	int agent =
		umad_register(p->id, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION, 1, NULL);

	CHECK(agent == 0);
	return agent;
}

struct umad_hdr *client_mad_header(void *umad, uint8_t mgmt_class, uint8_t version,
				   uint8_t method, uint16_t attribute, uint64_t tid)
{
	struct umad_hdr *header = umad_get_mad(umad);

	header->base_version = 1;
	header->mgmt_class = mgmt_class;
	header->class_version = version;
	header->method = method;
	header->tid = htobe64(tid);
	header->attr_id = htobe16(attribute);
	return header;
}

struct umad_sa_packet *client_sa_request(const struct client_port *p, void *umad,
					 uint8_t method, uint16_t attribute, uint64_t tid,
					 uint64_t mask)
{
	struct umad_sa_packet *sa = umad_get_mad(umad);

	client_mad_header(umad, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION, method,
			  attribute, tid);
	sa->comp_mask = htobe64(mask);
	umad_set_addr(umad, (int)p->attr.sm_lid, 1, (int)p->attr.sm_sl, (int)GSI_QKEY);
	return sa;
}

void client_sa_member(const struct client_port *p, struct umad_sa_packet *sa,
		      uint8_t kind, uint32_t n, uint8_t join_state)
{
	uint8_t *record = sa->data;

	memcpy(record, "\xff\x12\xa0", 3);
	record[3] = kind;
	memcpy(record + 12, &(uint32_t){ htobe32(n) }, 4);
	memcpy(record + 16, &p->attr.gid_prefix, 8);
	memcpy(record + 24, &p->attr.port_guid, 8);
	memcpy(record + 32, "\x00\x00\x12\x34", 4);
	memcpy(record + 40, "\xff\xff", 2);
	record[48] = join_state;
}
