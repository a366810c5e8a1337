// SPDX-License-Identifier: BSD-2-Clause
// links: vc_fabric_sa vc_harness
/*
 * The subnet administrator against whoever sends it packets, while ports come and go and
 * time passes: whatever arrives, it stays inside, keeps its groups consistent, and gives
 * everything back at the end.
 *
 * The input is a list of steps: a byte that says what, a byte for its argument, and for
 * some of them a length and so many bytes. Requests are laid over a well-formed one, so
 * that few bytes reach the handlers.
 */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "unit/fabric_sa/small_subnet.h"

#define HOSTS     6u
#define STEPS_MAX 256u

struct world {
	struct timer_queue timers;
	struct random random;
	struct sm sm;
	struct sa_server *server;
	uint8_t last[MAD_BYTES]; /* that it sent */
	uint16_t last_to;
	uint64_t tid;
};

static void sent(void *arg, const struct ib_packet *packet)
{
	struct world *w = arg;

	if (packet->length != MAD_BYTES)
		abort();
	memcpy(w->last, packet->payload, MAD_BYTES);
	w->last_to = packet->dlid;
}

static void deliver(struct world *w, unsigned int lid, const uint8_t *bytes,
		    size_t length)
{
	uint8_t *exact = fuzz_exact(bytes, length);
	struct ib_packet packet = small_packet((uint16_t)lid, 1, exact, length);

	sa_server_sm_ops.receive(w->server, &packet);
	free(exact);
}

/* A method, an attribute, a mask, and a record that may be anything. */
static void request(struct world *w, struct fuzz_input *in, uint8_t host)
{
	static const uint8_t methods[] = { MAD_METHOD_SET,       MAD_METHOD_DELETE,
					   MAD_METHOD_GET,       MAD_METHOD_GET_TABLE,
					   MAD_METHOD_GET_MULTI, MAD_METHOD_REPORT_RESP };
	static const uint16_t attributes[] = {
		SA_MCMEMBER_RECORD,    SA_PATH_RECORD,        SA_SERVICE_RECORD,
		MAD_ATTR_INFORM_INFO,  SA_INFORM_INFO_RECORD, MAD_ATTR_CLASS_PORT_INFO,
		SA_NODE_RECORD,        SA_PORT_INFO_RECORD,   SA_LINK_RECORD,
		SA_PKEY_TABLE_RECORD,  SA_GUID_INFO_RECORD,   SA_SM_INFO_RECORD,
		SA_SWITCH_INFO_RECORD, MAD_ATTR_NOTICE
	};
	uint8_t mad[MAD_BYTES] = { 0 }, mask[8] = { 0 };
	struct mad_header header = { .base_version = 1,
				     .mgmt_class = MAD_CLASS_SUBN_ADM,
				     .class_version = 2,
				     .tid = ++w->tid };
	struct sa_header sa = { 0 };
	uint8_t what = fuzz_byte(in);

	header.method = methods[(what & 7) % sizeof(methods)];
	header.attr_id =
		attributes[(what >> 3) % (sizeof(attributes) / sizeof(attributes[0]))];
	fuzz_bytes(in, mask, sizeof(mask));
	for (unsigned int i = 0; i < 8; i++)
		sa.comp_mask |= (uint64_t)mask[i] << 8 * i;
	sa.sm_key = host >> 7; /* trusted or not */
	mad_header_put(mad, &header);
	sa_header_put(mad, &sa);
	fuzz_bytes(in, mad + SA_DATA, SA_DATA_BYTES);
	deliver(w, host & 7, mad, sizeof(mad));
}

/* Bytes as they come: the whole of a packet. */
static void packet(struct world *w, struct fuzz_input *in, uint8_t host)
{
	uint8_t bytes[MAD_BYTES + 16] = { 0 };
	size_t n = fuzz_bytes(in, bytes, sizeof(bytes));

	deliver(w, host & 7, bytes, host & 8 ? MAD_BYTES : n);
}

/* The other side's word on what was sent last. */
static void answer(struct world *w, uint8_t how)
{
	struct mad_header header;
	struct rmpp_header rmpp;
	uint8_t mad[MAD_BYTES];

	memcpy(mad, w->last, sizeof(mad));
	mad_header_get(mad, &header);
	rmpp_header_get(mad, &rmpp);
	if (header.method == MAD_METHOD_REPORT) {
		header.method = MAD_METHOD_REPORT_RESP;
	} else {
		rmpp.type = (uint8_t)(RMPP_ACK + how % 3);
		rmpp.flags = RMPP_ACTIVE;
		rmpp.payload_length = rmpp.segment + (how >> 2);
	}
	mad_header_put(mad, &header);
	rmpp_header_put(mad, &rmpp);
	deliver(w, w->last_to, mad, sizeof(mad));
}

static void port_change(struct world *w, uint8_t host)
{
	struct subnet_port *port = small_host(&w->sm, host % HOSTS + 1);

	port->seen = !port->seen;
	if (port->seen)
		sa_server_sm_ops.port_in(w->server, subnet_port_guid(port));
	else
		sa_server_sm_ops.port_out(w->server, subnet_port_guid(port));
}

static void save_and_load(struct world *w, uint8_t harm)
{
	uint8_t *bytes;
	size_t length;

	if (sa_server_save(w->server, &bytes, &length) < 0)
		abort();
	if (harm && length)
		bytes[harm % length] ^= harm;
	sa_server_load(w->server, bytes, length);
	free(bytes);
}

static void load(struct world *w, struct fuzz_input *in)
{
	uint8_t bytes[255];
	size_t n = fuzz_bytes(in, bytes, sizeof(bytes));

	sa_server_load(w->server, bytes, n);
}

static void trap(struct world *w, struct fuzz_input *in)
{
	uint8_t bytes[NOTICE_TRAP_BYTES] = { 0 };

	fuzz_bytes(in, bytes, sizeof(bytes));
	sa_server_sm_ops.trap(w->server, bytes);
}

static void fault(struct world *w, uint8_t what)
{
	struct sa_fault f = { .kind = what % 5,
			      .count = what >> 6,
			      .delay_ns = (what & 0x3fu) * TIMER_MS,
			      .status = SA_NO_RESOURCES };

	sa_server_set_fault(w->server, &f);
}

static void circumstances(struct world *w, uint8_t what)
{
	w->sm.route_ns = (what & 7) * TIMER_MS;
	w->sm.route_error = what & 8 ? -1 : 0;
	w->sm.capacity = what & 16 ? 3 : 1024;
	if (what & 32)
		small_host(&w->sm, 3)->pkeys[0] ^= 0x8000;
	if (what & 64)
		small_host(&w->sm, 4)->info.neighbor_mtu ^= 1;
}

static void step(struct world *w, struct fuzz_input *in)
{
	uint8_t what = fuzz_byte(in), arg = fuzz_byte(in);

	switch (what % 12) {
	case 0:
		packet(w, in, arg);
		break;
	case 1:
		timer_queue_run(&w->timers, w->timers.now_ns + arg * 10 * TIMER_MS);
		break;
	case 2:
		port_change(w, arg);
		break;
	case 3:
		trap(w, in);
		break;
	case 4:
		sa_server_sm_ops.down(w->server);
		break;
	case 5:
		sa_server_sm_ops.up(w->server);
		break;
	case 6:
		save_and_load(w, arg);
		break;
	case 7:
		load(w, in);
		break;
	case 8:
		fault(w, arg);
		break;
	case 9:
		circumstances(w, arg);
		break;
	case 10:
		answer(w, arg);
		break;
	default:
		request(w, in, arg);
		break;
	}
}

/* MLIDs ascend, and every member has a state. */
static void check_group(void *arg, const struct sa_group_view *group)
{
	uint16_t *last = arg;

	if (group->rec.mlid <= *last || !ib_lid_is_multicast(group->rec.mlid) ||
	    (!group->members && !group->well_known))
		abort();
	*last = group->rec.mlid;
}

static void check_member(void *arg, const struct sa_group_view *group,
			 const struct sa_member_view *member)
{
	(void)arg;
	(void)group;
	if (!member->join_state || member->join_state > 0xf)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world world;
	struct fuzz_input in = { .data = data, .size = size };
	struct world *w = &world;
	struct sa_server_config config = { .timers = &w->timers, .random = &w->random };
	uint16_t mlid = 0;

	memset(w, 0, sizeof(*w));
	random_seed(&w->random, 1);
	timer_queue_init(&w->timers, 0, NULL, NULL);
	small_subnet_init(&w->sm, HOSTS, &w->timers);
	w->sm.sent = sent;
	w->sm.arg = w;
	if (sa_server_create(&config, &w->server) < 0)
		abort();
	sa_server_set_sm(w->server, &w->sm);
	sa_server_sm_ops.up(w->server);
	for (unsigned int i = 0; i < STEPS_MAX && in.size; i++)
		step(w, &in);
	sa_server_each_group(w->server, check_group, check_member, &mlid);
	sa_server_destroy(w->server);
	small_subnet_fini(&w->sm);
	return 0;
}
