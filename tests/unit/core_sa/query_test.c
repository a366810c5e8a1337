// SPDX-License-Identifier: BSD-2-Clause
/*
 * Questions to the SA that join nothing: what goes out, each way in which they end,
 * cancelling; the records' forms; address handles (spec/kernel 2.10, 2.11, 5.5, 5.6).
 */
#include "unit/core_sa/world.h"

#define EQUAL(a, b) assert_int_equal((a), (b))

static struct {
	unsigned int calls;
	int status;
	bool has_rec;
	struct sa_path_rec path;
	struct sa_service_rec service;
	struct ib_sa_mcmember_rec mcmember;
	struct sa_service_rec services[20];
	unsigned int count;
	void *context;
	void (*hook)(void);
} told;

static void tell(int status, bool has_rec, void *context)
{
	told.calls++;
	told.status = status;
	told.has_rec = has_rec;
	told.context = context;
	if (told.hook)
		told.hook();
}

static void hear_path(int status, const struct sa_path_rec *rec, void *context)
{
	if (rec)
		told.path = *rec;
	tell(status, rec, context);
}

static void hear_service(int status, const struct sa_service_rec *rec, void *context)
{
	if (rec)
		told.service = *rec;
	tell(status, rec, context);
}

static void hear_services(int status, const struct sa_service_rec *recs,
			  unsigned int count, void *context)
{
	assert_true(count <= 20);
	told.count = count;
	for (unsigned int i = 0; i < count; i++)
		told.services[i] = recs[i];
	tell(status, recs, context);
}

static void hear_mcmember(int status, const struct ib_sa_mcmember_rec *rec, void *context)
{
	if (rec)
		told.mcmember = *rec;
	tell(status, rec, context);
}

static int begin(void **state)
{
	memset(&told, 0, sizeof(told));
	return world_begin(state);
}

#define QUERY(name) cmocka_unit_test_setup_teardown(name, begin, world_end)

static struct sa_path_rec a_path(void)
{
	return (struct sa_path_rec){
		.dgid = fake_hca_gid(1, 1),
		.sgid = fake_hca_gid(1, 0),
		.service_id = htobe64(0x1122334455667788),
		.flow_label = htobe32(0xabcde),
		.hop_limit = 1,
		.traffic_class = 2,
		.reversible = 1,
		.numb_path = 0x7f,
		.pkey = htobe16(0xffff),
		.qos_class = htobe16(0xabc),
		.sl = 9,
		.mtu_selector = 2,
		.mtu = 5,
		.rate_selector = 1,
		.rate = 22,
		.packet_life_time_selector = 3,
		.packet_life_time = 18,
		.preference = 7,
		.ib = { .dlid = htobe16(0x1234),
			.slid = htobe16(0x5678),
			.raw_traffic = 1 },
	};
}

static int ask_path(u32 timeout_ms, struct ib_sa_query **query)
{
	struct sa_path_rec rec = a_path();

	return ib_sa_path_rec_get(
		&world.client, &world.hca.ib, 1, &rec,
		ib_sa_comp_mask_from_host(SA_PR_DGID | SA_PR_SGID | SA_PR_NUMB_PATH),
		timeout_ms, hear_path, &told, query);
}

/* The oldest request. */
static struct request take(u8 method, u16 attribute)
{
	struct request request;

	assert_true(take_request(&request));
	EQUAL(request.header.method, method);
	EQUAL(request.header.attr_id, attribute);
	return request;
}

static void respond(const struct request *request, u16 status, u8 method, u16 stride,
		    const void *data, size_t bytes)
{
	struct mad_header header = request->header;
	struct sa_header sa = { .attr_offset = stride };
	u8 mad[MAD_BYTES] = { 0 };

	header.status = status;
	header.method = method;
	mad_header_put(mad, &header);
	sa_header_put(mad, &sa);
	memcpy(mad + SA_DATA, data, bytes);
	fake_hca_answer(&world.hca, request->mad.port_num, &request->mad.packet, mad);
}

static void a_path_is_asked_for(void **state)
{
	struct sa_path_rec wished = a_path();
	struct ib_sa_query *query = NULL;
	struct request request;
	u8 record[SA_PATH_BYTES];

	assert_true(ask_path(1000, &query) >= 0);
	assert_non_null(query);
	EQUAL(world.client.users, 2);
	request = take(MAD_METHOD_GET, SA_PATH_RECORD);
	EQUAL(request.comp_mask, SA_PR_DGID | SA_PR_SGID | SA_PR_NUMB_PATH);
	ib_sa_pack_path(&wished, record);
	assert_memory_equal(request.mad.bytes + SA_DATA, record, sizeof(record));
	wished.ib.dlid = htobe16(0x0042);
	ib_sa_pack_path(&wished, record);
	EQUAL(told.calls, 0);
	respond(&request, 0, MAD_METHOD_GET_RESP, 0, record, sizeof(record));
	EQUAL(told.calls, 1);
	EQUAL(told.status, 0);
	assert_ptr_equal(told.context, &told);
	EQUAL(be16toh(told.path.ib.dlid), 0x0042);
	EQUAL(told.path.rec_type, SA_PATH_REC_TYPE_IB);
	assert_memory_equal(&told.path.dgid, &wished.dgid, 16);
	EQUAL(world.client.users, 1);
}

static void a_refused_question_has_a_record(void **state)
{
	struct sa_path_rec answer_rec = a_path();
	struct request request;
	u8 record[SA_PATH_BYTES];

	answer_rec.sl = 3;
	ib_sa_pack_path(&answer_rec, record);
	assert_true(ask_path(1000, NULL) >= 0);
	request = take(MAD_METHOD_GET, SA_PATH_RECORD);
	respond(&request, SA_NO_RECORDS, MAD_METHOD_GET_RESP, 0, record, sizeof(record));
	EQUAL(told.status, -EINVAL);
	assert_true(told.has_rec);
	EQUAL(told.path.sl, 3);
}

/* Busy is a refusal like any other: who asked backs off (spec/kernel 2.11). */
static void a_busy_sa_has_refused(void **state)
{
	struct request request;

	assert_true(ask_path(1000, NULL) >= 0);
	request = take(MAD_METHOD_GET, SA_PATH_RECORD);
	respond(&request, MAD_STATUS_BUSY, MAD_METHOD_GET_RESP, 0, "", 0);
	EQUAL(told.status, -EINVAL);
	run_ms(2000);
	EQUAL(told.calls, 1);
	EQUAL(fake_hca_waiting(&world.hca), 0);
}

static void time_is_divided_among_eleven_tries(void **state)
{
	static const struct {
		u32 total, a_try, tries;
	} cases[] = {
		{ 3000, 300, 11 }, { 1000, 100, 11 }, { 19, 1, 11 }, { 10, 1, 11 },
		{ 9, 1, 10 },      { 1, 1, 2 },       { 0, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&told, 0, sizeof(told));
		assert_true(ask_path(cases[i].total, NULL) >= 0);
		run_ms(cases[i].a_try * cases[i].tries - 1);
		EQUAL(told.calls, 0);
		run_ms(1);
		EQUAL(told.calls, 1);
		EQUAL(told.status, -ETIMEDOUT);
		assert_false(told.has_rec);
		EQUAL(fake_hca_waiting(&world.hca), cases[i].tries);
		while (fake_hca_take(&world.hca))
			;
	}
}

static void a_cancelled_question_is_interrupted(void **state)
{
	struct ib_sa_query *query, *other;
	struct request request;
	int id = ask_path(1000, &query), second = ask_path(1000, &other);

	assert_int_not_equal(id, second);
	ib_sa_cancel_query(id + 2, query); /* nobody's */
	ib_sa_cancel_query(id, NULL);
	settle();
	EQUAL(told.calls, 0);
	ib_sa_cancel_query(id, query);
	EQUAL(told.calls, 0);
	settle();
	EQUAL(told.calls, 1);
	EQUAL(told.status, -EINTR);
	assert_false(told.has_rec);
	ib_sa_cancel_query(id, query); /* over, and its place in memory is another's */
	request = take(MAD_METHOD_GET, SA_PATH_RECORD);
	respond(&request, 0, MAD_METHOD_GET_RESP, 0, "", 0);
	settle();
	EQUAL(told.calls, 1);
	request = take(MAD_METHOD_GET, SA_PATH_RECORD);
	respond(&request, 0, MAD_METHOD_GET_RESP, 0, "", 0);
	EQUAL(told.calls, 2);
	EQUAL(told.status, 0);
}

static struct ib_sa_query *own_query;
static int own_id;

static void cancel_and_ask_again(void)
{
	ib_sa_cancel_query(own_id, own_query);
	if (told.calls == 1)
		assert_true(ask_path(1000, NULL) >= 0);
}

static void a_callback_may_cancel_and_ask(void **state)
{
	struct request request;

	told.hook = cancel_and_ask_again;
	own_id = ask_path(1000, &own_query);
	for (unsigned int i = 0; i < 2; i++) {
		request = take(MAD_METHOD_GET, SA_PATH_RECORD);
		respond(&request, 0, MAD_METHOD_GET_RESP, 0, "", 0);
		settle();
		EQUAL(told.calls, i + 1);
		EQUAL(told.status, 0);
	}
	EQUAL(world.client.users, 1);
}

static void what_cannot_be_asked_is_said_at_once(void **state)
{
	struct sa_path_rec rec = a_path();
	struct ib_sa_mcmember_rec member = { 0 };
	struct sa_service_rec service = { 0 };
	ib_sa_comp_mask mask = ib_sa_comp_mask_from_host(0);
	struct fake_hca roce;

	EQUAL(ib_sa_path_rec_get(&world.client, &world.hca.ib, 3, &rec, mask, 10,
				 hear_path, NULL, NULL),
	      -EINVAL);
	rec.rec_type = SA_PATH_REC_TYPE_ROCE_V2;
	EQUAL(ib_sa_path_rec_get(&world.client, &world.hca.ib, 1, &rec, mask, 10,
				 hear_path, NULL, NULL),
	      -EINVAL);
	EQUAL(ib_sa_mcmember_rec_query(&world.client, &world.hca.ib, 1,
				       MAD_METHOD_GET_TABLE, &member, mask, 10,
				       hear_mcmember, NULL, NULL),
	      -EINVAL);
	EQUAL(ib_sa_service_rec_query(&world.client, &world.hca.ib, 1, MAD_METHOD_SEND,
				      &service, mask, 10, hear_service, NULL, NULL),
	      -EINVAL);
	fake_hca_init(&roce, "roce0", IB_LINK_LAYER_ETHERNET);
	assert_int_equal(ib_register_device(&roce.ib, world.node), 0);
	EQUAL(ib_sa_mcmember_rec_query(&world.client, &roce.ib, 1, MAD_METHOD_GET,
				       &member, mask, 10, hear_mcmember, NULL, NULL),
	      -ENODEV);
	assert_int_equal(ib_unregister_device(&roce.ib), 0);
	world.hca.port.sm_lid = 0;
	fake_hca_event(&world.hca, 1, IB_EVENT_SM_CHANGE);
	EQUAL(ask_path(1000, NULL), -EAGAIN);
	EQUAL(world.client.users, 1);
	EQUAL(told.calls, 0);
}

static void what_cannot_be_sent_is_eio(void **state)
{
	world.hca.refuse = -ENETDOWN;
	assert_true(ask_path(1000, NULL) >= 0);
	EQUAL(told.calls, 0);
	settle();
	EQUAL(told.status, -EIO);
	assert_false(told.has_rec);
}

static void a_device_that_goes_interrupts(void **state)
{
	assert_true(ask_path(1000, NULL) >= 0);
	assert_false(ib_sa_unregister_client(&world.client));
	assert_int_equal(ib_unregister_device(&world.hca.ib), 0);
	EQUAL(told.calls, 0);
	settle();
	EQUAL(told.status, -EINTR);
	EQUAL(world.idle, 1); /* the query was what held it */
	ib_sa_register_client(&world.client);
}

static void remove_device(void)
{
	ib_remove_device(&world.hca.ib);
}

static void a_callback_may_remove_the_device(void **state)
{
	struct request request;

	told.hook = remove_device;
	assert_true(ask_path(1000, NULL) >= 0);
	request = take(MAD_METHOD_GET, SA_PATH_RECORD);
	respond(&request, 0, MAD_METHOD_GET_RESP, 0, "", 0);
	EQUAL(told.calls, 1);
	settle();
	EQUAL(told.calls, 1);
}

static void a_service_is_registered(void **state)
{
	struct sa_service_rec rec = { .id = htobe64(0x77), .lease = 0xffffffff };
	struct request request;
	u8 record[SA_SERVICE_BYTES];

	memcpy(rec.name, "somewhere", 10);
	rec.reserved[0] = 0xee;
	assert_true(ib_sa_service_rec_query(&world.client, &world.hca.ib, 1,
					    MAD_METHOD_SET, &rec,
					    ib_sa_comp_mask_from_host(1), 1000,
					    hear_service, NULL, NULL) >= 0);
	request = take(MAD_METHOD_SET, SA_SERVICE_RECORD);
	ib_sa_pack_service(&rec, record);
	EQUAL(record[26], 0);
	assert_memory_equal(request.mad.bytes + SA_DATA, record, sizeof(record));
	respond(&request, 0, MAD_METHOD_GET_RESP, 0, record, sizeof(record));
	EQUAL(told.status, 0);
	assert_string_equal((const char *)told.service.name, "somewhere");
	assert_true(ib_sa_service_rec_query(&world.client, &world.hca.ib, 1,
					    MAD_METHOD_DELETE, &rec,
					    ib_sa_comp_mask_from_host(1), 1000,
					    hear_service, NULL, NULL) >= 0);
	request = take(MAD_METHOD_DELETE, SA_SERVICE_RECORD);
	respond(&request, 0, MAD_METHOD_DELETE_RESP, 0, record, sizeof(record));
	EQUAL(told.calls, 2);
}

static void a_member_record_is_asked_for_without_joining(void **state)
{
	struct ib_sa_mcmember_rec rec = wanted(1, 0);
	struct sa_mcmember has = group_record(1, 0);
	struct request request;
	u8 record[SA_MCMEMBER_BYTES];

	assert_true(ib_sa_mcmember_rec_query(&world.client, &world.hca.ib, 1,
					     MAD_METHOD_GET, &rec,
					     ib_sa_comp_mask_from_host(SA_MCM_MGID), 1000,
					     hear_mcmember, NULL, NULL) >= 0);
	request = take(MAD_METHOD_GET, SA_MCMEMBER_RECORD);
	EQUAL(request.comp_mask, SA_MCM_MGID);
	sa_mcmember_put(record, &has);
	respond(&request, 0, MAD_METHOD_GET_RESP, 0, record, sizeof(record));
	EQUAL(told.status, 0);
	EQUAL(be16toh(told.mcmember.mlid), 0xc001);
	EQUAL(group_count(), 0);
}

/* -- tables ---------------------------------------------------------------------------- */

static void ask_services(void)
{
	struct sa_service_rec rec = { 0 };

	assert_true(ib_sa_service_rec_get(&world.client, &world.hca.ib, 1, &rec,
					  ib_sa_comp_mask_from_host(0), 1000,
					  hear_services, &told, NULL) >= 0);
}

/* One segment after the other, as they are acknowledged. */
static void send_table(const struct request *request, const u8 *message, size_t length)
{
	u32 segments = (u32)((length - SA_DATA + SA_DATA_BYTES - 1) / SA_DATA_BYTES);

	segments = segments ? segments : 1;
	for (u32 n = 1; n <= segments; n++) {
		size_t at = SA_DATA + (n - 1) * SA_DATA_BYTES;
		size_t bytes = n < segments ? SA_DATA_BYTES : length - at;
		struct rmpp_header rmpp = {
			.version = 1,
			.type = RMPP_DATA,
			.flags = (u8)(RMPP_ACTIVE | (n == 1 ? RMPP_FIRST : 0) |
				      (n == segments ? RMPP_LAST : 0)),
			.segment = n,
		};
		u8 mad[MAD_BYTES] = { 0 };

		if (n == 1)
			rmpp.payload_length = (u32)(length - SA_DATA + 20 * segments);
		if (n == segments)
			rmpp.payload_length = (u32)(bytes + 20);
		memcpy(mad, message, SA_DATA);
		memcpy(mad + SA_DATA, message + at, bytes);
		rmpp_header_put(mad, &rmpp);
		fake_hca_answer(&world.hca, 1, &request->mad.packet, mad);
	}
	settle();
	while (fake_hca_take(&world.hca))
		;
}

static void all_services_are_told(void **state)
{
	static const unsigned int counts[] = { 0, 1, 2, 20 };

	for (size_t i = 0; i < 4; i++) {
		static u8 message[SA_DATA + 20 * SA_SERVICE_BYTES];
		unsigned int count = counts[i];
		struct sa_header sa = { .attr_offset = count ? SA_SERVICE_BYTES / 8 : 0 };
		struct request request;

		memset(&told, 0, sizeof(told));
		ask_services();
		request = take(MAD_METHOD_GET_TABLE, SA_SERVICE_RECORD);
		request.header.method = MAD_METHOD_GET_TABLE_RESP;
		memset(message, 0, sizeof(message));
		mad_header_put(message, &request.header);
		sa_header_put(message, &sa);
		for (unsigned int n = 0; n < count; n++)
			message[SA_DATA + n * SA_SERVICE_BYTES + 7] = (u8)(n + 1);
		send_table(&request, message, SA_DATA + count * SA_SERVICE_BYTES);
		EQUAL(told.calls, 1);
		EQUAL(told.status, 0);
		EQUAL(told.count, count);
		for (unsigned int n = 0; n < count; n++)
			EQUAL(be64toh(told.services[n].id), n + 1);
		run_ms(10000); /* until the transfer is forgotten */
	}
}

static void a_refused_table_is_empty(void **state)
{
	struct request request;

	ask_services();
	request = take(MAD_METHOD_GET_TABLE, SA_SERVICE_RECORD);
	respond(&request, SA_REQ_INVALID, MAD_METHOD_GET_TABLE_RESP, 0, "", 0);
	EQUAL(told.status, -EINVAL);
	EQUAL(told.count, 0);
	memset(&told, 0, sizeof(told));
	ask_services();
	run_ms(1100);
	EQUAL(told.status, -ETIMEDOUT);
	EQUAL(told.count, 0);
}

/* -- forms ------------------------------------------------------------------------------ */

static void component_masks_are_big_endian(void **state)
{
	ib_sa_comp_mask mask = ib_sa_comp_mask_from_host(SA_MCM_JOIN_STATE | SA_MCM_MGID);
	static const u8 bytes[8] = { 0, 0, 0, 0, 0, 1, 0, 1 };

	assert_memory_equal(&mask, bytes, 8);
	EQUAL(ib_sa_comp_mask_to_host(mask), 0x10001);
}

/* Word and bit are those of spec/kernel 5.5. */
static void a_path_s_form(void **state)
{
	struct sa_path_rec rec = a_path(), back = { .rec_type = SA_PATH_REC_TYPE_OPA };
	u8 wire[SA_PATH_BYTES], again[SA_PATH_BYTES];
	static const u8 tail[] = {
		0x12, 0x34, 0x56, 0x78, /* dlid, slid */
		0x8a, 0xbc, 0xde, 0x01, /* raw, flow label, hop limit */
		0x02, 0xff, 0xff, 0xff, /* class, reversible and paths, P_Key */
		0xab, 0xc9, 0x85, 0x56, /* QoS, SL, MTU, rate */
		0xd2, 0x07, 0x00, 0x00, /* life time, preference */
		0x00, 0x00, 0x00, 0x00,
	};
	static const u8 service[] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };

	memset(wire, 0xff, sizeof(wire));
	ib_sa_pack_path(&rec, wire);
	assert_memory_equal(wire, service, 8);
	assert_memory_equal(wire + 8, &rec.dgid, 16);
	assert_memory_equal(wire + 24, &rec.sgid, 16);
	assert_memory_equal(wire + 40, tail, sizeof(tail));
	ib_sa_unpack_path(wire, &back);
	EQUAL(back.rec_type, SA_PATH_REC_TYPE_OPA); /* not the wire's to say */
	ib_sa_pack_path(&back, again);
	assert_memory_equal(again, wire, sizeof(wire));
	EQUAL(back.flow_label, rec.flow_label);
	EQUAL(back.qos_class, rec.qos_class);
	EQUAL(back.ib.slid, rec.ib.slid);
	EQUAL(back.packet_life_time, 18);
}

static void a_path_that_is_too_wide_is_cut(void **state)
{
	struct sa_path_rec rec = { 0 };
	u8 wire[SA_PATH_BYTES], zeroes[SA_PATH_BYTES] = { 0 };

	rec.flow_label = htobe32(0xfff00000);
	rec.reversible = 0xfe;
	rec.numb_path = 0x80;
	rec.sl = 0xf0;
	rec.mtu = 0xc0;
	rec.rate_selector = 0xfc;
	rec.qos_class = htobe16(0xf000);
	ib_sa_pack_path(&rec, wire);
	assert_memory_equal(wire, zeroes, sizeof(wire));
}

static void a_member_s_form(void **state)
{
	struct sa_mcmember has = group_record(1, SA_JOIN_FULL);
	struct ib_sa_mcmember_rec rec;
	u8 wire[SA_MCMEMBER_BYTES], again[SA_MCMEMBER_BYTES];
	static const u8 tail[] = {
		0x11, 0x22, 0x33, 0x44, /* Q_Key */
		0xc0, 0x01, 0x84, 0x05, /* MLID, MTU, class */
		0xff, 0xff, 0x87, 0x92, /* P_Key, rate, life time */
		0x35, 0x43, 0x21, 0x09, /* SL, flow label, hop limit */
		0x21, 0x80, 0x00, 0x00, /* scope and state, proxy */
	};

	has.proxy_join = 1;
	sa_mcmember_put(wire, &has);
	ib_sa_unpack_mcmember(wire, &rec);
	EQUAL(be32toh(rec.qkey), 0x11223344);
	EQUAL(be16toh(rec.mlid), 0xc001);
	EQUAL(rec.mtu_selector, SA_SELECT_EQ);
	EQUAL(rec.mtu, 4);
	EQUAL(rec.packet_life_time, 18);
	EQUAL(be32toh(rec.flow_label), 0x54321);
	EQUAL(rec.scope, 2);
	EQUAL(rec.proxy_join, 1);
	memset(again, 0xff, sizeof(again));
	ib_sa_pack_mcmember(&rec, again);
	assert_memory_equal(again, &has.mgid, 16);
	assert_memory_equal(again + 16, &has.port_gid, 16);
	assert_memory_equal(again + 32, tail, sizeof(tail));
}

static void a_service_s_form(void **state)
{
	struct sa_service_rec rec, back;
	u8 wire[SA_SERVICE_BYTES];

	for (size_t i = 0; i < sizeof(rec); i++)
		((u8 *)&rec)[i] = (u8)(i + 1);
	ib_sa_pack_service(&rec, wire);
	EQUAL(wire[26] | wire[27], 0);
	EQUAL(wire[28], 29); /* the lease */
	EQUAL(wire[175], 176);
	memset(&back, 0xaa, sizeof(back));
	wire[26] = 0x55;
	ib_sa_unpack_service(wire, &back);
	EQUAL(back.reserved[0], 0xaa); /* nobody's */
	EQUAL(back.data_64[1], rec.data_64[1]);
	EQUAL(back.lease, rec.lease);
}

/* -- address handles --------------------------------------------------------------------- */

static void a_handle_for_a_group(void **state)
{
	struct sa_mcmember has = group_record(1, SA_JOIN_FULL);
	struct ib_sa_mcmember_rec rec;
	struct rdma_ah_attr ah;
	u8 wire[SA_MCMEMBER_BYTES];

	has.port_gid = fake_hca_gid(1, 2);
	sa_mcmember_put(wire, &has);
	ib_sa_unpack_mcmember(wire, &rec);
	memset(&ah, 0xff, sizeof(ah));
	EQUAL(ib_init_ah_from_mcmember(&world.hca.ib, 1, &rec, 99, IB_GID_TYPE_IB, &ah),
	      0);
	EQUAL(ah.dlid, 0xc001);
	EQUAL(ah.sl, 3);
	EQUAL(ah.port_num, 1);
	EQUAL(ah.static_rate, 7);
	EQUAL(ah.src_path_bits, 0);
	assert_true(ah.has_grh);
	assert_memory_equal(&ah.grh.dgid, &rec.mgid, 16);
	EQUAL(ah.grh.flow_label, 0x54321);
	EQUAL(ah.grh.hop_limit, 9);
	EQUAL(ah.grh.traffic_class, 5);
	EQUAL(ah.grh.sgid_index, 2);
	/* Not that type, not that GID, not that port. */
	EQUAL(ib_init_ah_from_mcmember(&world.hca.ib, 1, &rec, 0, IB_GID_TYPE_ROCE, &ah),
	      -ENOENT);
	EQUAL(ib_init_ah_from_mcmember(&world.hca.ib, 2, &rec, 0, IB_GID_TYPE_IB, &ah),
	      -ENOENT);
	EQUAL(ib_init_ah_from_mcmember(&world.hca.ib, 3, &rec, 0, IB_GID_TYPE_IB, &ah),
	      -ENOENT);
	world.hca.link_layer[1] = IB_LINK_LAYER_UNSPECIFIED;
	EQUAL(ib_init_ah_from_mcmember(&world.hca.ib, 1, &rec, 0, IB_GID_TYPE_IB, &ah),
	      -EINVAL);
	world.hca.link_layer[1] = IB_LINK_LAYER_INFINIBAND;
}

static void a_handle_for_a_group_on_ethernet(void **state)
{
	struct ib_sa_mcmember_rec rec = wanted(1, SA_JOIN_FULL);
	struct rdma_ah_attr ah;
	struct fake_hca roce;

	fake_hca_init(&roce, "roce0", IB_LINK_LAYER_ETHERNET);
	assert_int_equal(ib_register_device(&roce.ib, world.node), 0);
	rec.port_gid = fake_hca_gid(1, 1);
	rec.mlid = htobe16(0xc001);
	/* The interface behind the GID counts; 0 is any. */
	EQUAL(ib_init_ah_from_mcmember(&roce.ib, 1, &rec, 7, IB_GID_TYPE_ROCE_UDP_ENCAP,
				       &ah),
	      0);
	EQUAL(ah.dlid, 0);
	EQUAL(ah.grh.sgid_index, 1);
	EQUAL(ib_init_ah_from_mcmember(&roce.ib, 1, &rec, 8, IB_GID_TYPE_ROCE_UDP_ENCAP,
				       &ah),
	      -ENOENT);
	EQUAL(ib_init_ah_from_mcmember(&roce.ib, 1, &rec, 0, IB_GID_TYPE_ROCE_UDP_ENCAP,
				       &ah),
	      0);
	assert_int_equal(ib_unregister_device(&roce.ib), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		QUERY(a_path_is_asked_for),
		QUERY(a_refused_question_has_a_record),
		QUERY(a_busy_sa_has_refused),
		QUERY(time_is_divided_among_eleven_tries),
		QUERY(a_cancelled_question_is_interrupted),
		QUERY(a_callback_may_cancel_and_ask),
		QUERY(what_cannot_be_asked_is_said_at_once),
		QUERY(what_cannot_be_sent_is_eio),
		QUERY(a_device_that_goes_interrupts),
		QUERY(a_callback_may_remove_the_device),
		QUERY(a_service_is_registered),
		QUERY(a_member_record_is_asked_for_without_joining),
		QUERY(all_services_are_told),
		QUERY(a_refused_table_is_empty),
		cmocka_unit_test(component_masks_are_big_endian),
		cmocka_unit_test(a_path_s_form),
		cmocka_unit_test(a_path_that_is_too_wide_is_cut),
		cmocka_unit_test(a_member_s_form),
		cmocka_unit_test(a_service_s_form),
		QUERY(a_handle_for_a_group),
		QUERY(a_handle_for_a_group_on_ethernet),
	};

	return harness_run(tests);
}
