// SPDX-License-Identifier: BSD-2-Clause
/* The common header and RMPP's: spec/sa-sm 1.1, 1.2, 3.1. */
#include "wire/mad.h"
#include "wire/smp.h"

#include "layout.h"

#define H(name, byte) WHOLE(struct mad_header, name, byte)
static const struct layout_field header_fields[] = {
	H(base_version, 0), H(mgmt_class, 1), H(class_version, 2),
	H(method, 3),       H(status, 4),     H(class_specific, 6),
	H(tid, 8),          H(attr_id, 16),   H(attr_mod, 20),
};
LAYOUT_CODEC(mad_header)

static void the_common_header_is_laid_out_as_specified(void **state)
{
	static const struct layout l =
		LAYOUT(mad_header, struct mad_header, 0, 24, header_fields);

	layout_check(&l);
}

static const struct layout_field rmpp_fields[] = {
	WHOLE(struct rmpp_header, version, 24),
	WHOLE(struct rmpp_header, type, 25),
	AT(struct rmpp_header, resp_time, 26, 7, 5),
	AT(struct rmpp_header, flags, 26, 2, 3),
	WHOLE(struct rmpp_header, status, 27),
	WHOLE(struct rmpp_header, segment, 28),
	WHOLE(struct rmpp_header, payload_length, 32),
};
LAYOUT_CODEC(rmpp_header)

static void the_rmpp_header_is_laid_out_as_specified(void **state)
{
	static const struct layout l =
		LAYOUT(rmpp_header, struct rmpp_header, 24, 36, rmpp_fields);

	layout_check(&l);
}

/* spec/sa-sm 8: the first request of OpenSM's sweep. */
static void the_first_request_of_a_sweep_has_these_bytes(void **state)
{
	const struct mad_header h = { .base_version = 1,
				      .mgmt_class = MAD_CLASS_SUBN_DIRECTED,
				      .class_version = 1,
				      .method = MAD_METHOD_GET,
				      .tid = 0x1234,
				      .attr_id = SMP_NODE_INFO };
	uint8_t expected[24], mad[24];

	layout_hex("01810101 00000000 00000000 00001234 00110000 00000000", expected);
	mad_header_put(mad, &h);
	assert_memory_equal(mad, expected, 24);
	assert_int_equal(smp_hop_pointer(mad), 0);
	assert_int_equal(smp_hop_count(mad), 0);
}

static void a_directed_route_is_in_the_class_specific_word(void **state)
{
	const struct mad_header h = { .class_specific = 0x0203,
				      .status = MAD_STATUS_DIRECTION };
	uint8_t mad[24];

	mad_header_put(mad, &h);
	assert_int_equal(smp_hop_pointer(mad), 2);
	assert_int_equal(smp_hop_count(mad), 3);
	assert_int_equal(mad[4], 0x80);
}

static void responses_are_told_from_requests(void **state)
{
	static const struct {
		uint8_t method;
		bool response;
	} cases[] = {
		{ MAD_METHOD_GET, false },           { MAD_METHOD_SET, false },
		{ MAD_METHOD_SEND, false },          { MAD_METHOD_TRAP, false },
		{ MAD_METHOD_REPORT, false },        { MAD_METHOD_TRAP_REPRESS, true },
		{ MAD_METHOD_GET_TABLE, false },     { MAD_METHOD_DELETE, false },
		{ MAD_METHOD_GET_RESP, true },       { MAD_METHOD_REPORT_RESP, true },
		{ MAD_METHOD_GET_TABLE_RESP, true }, { MAD_METHOD_DELETE_RESP, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct mad_header h = { .method = cases[i].method };

		assert_int_equal(mad_is_response(&h), cases[i].response);
	}
}

/* libibumad's umad_types.h: what each class has in front of its data. */
static void data_begins_where_the_class_says(void **state)
{
	static const struct {
		uint8_t mgmt_class;
		size_t offset;
	} cases[] = {
		{ MAD_CLASS_SUBN_ADM, 56 },
		{ MAD_CLASS_DEVICE, 64 },
		{ 0x10, 64 },
		{ 0x12, 64 },
		{ 0x30, 40 },
		{ 0x4f, 40 },
		{ 0x2f, 0 },
		{ 0x50, 0 },
		{ 0x09, 0 },
		{ MAD_CLASS_SUBN_LID, 0 },
		{ MAD_CLASS_SUBN_DIRECTED, 0 },
		{ MAD_CLASS_PERF, 0 },
		{ MAD_CLASS_CM, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(rmpp_data_offset(cases[i].mgmt_class), cases[i].offset);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_common_header_is_laid_out_as_specified),
		cmocka_unit_test(the_rmpp_header_is_laid_out_as_specified),
		cmocka_unit_test(the_first_request_of_a_sweep_has_these_bytes),
		cmocka_unit_test(a_directed_route_is_in_the_class_specific_word),
		cmocka_unit_test(responses_are_told_from_requests),
		cmocka_unit_test(data_begins_where_the_class_says),
	};

	return harness_run(tests);
}
