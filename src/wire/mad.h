/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Management datagrams: 256 bytes, a common header of 24, and what the class makes of the
 * rest (spec/sa-sm 1.1, 1.2, 3.1). Pure codecs over byte arrays: nothing is kept, nothing
 * is trusted; values are host order on this side unless the name says otherwise.
 */
#ifndef WIRE_MAD_H
#define WIRE_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAD_BYTES        256u
#define MAD_HEADER_BYTES 24u

enum mad_class {
	MAD_CLASS_SUBN_LID = 0x01,
	MAD_CLASS_SUBN_DIRECTED = 0x81,
	MAD_CLASS_SUBN_ADM = 0x03,
	MAD_CLASS_PERF = 0x04,
	MAD_CLASS_BM = 0x05,
	MAD_CLASS_DEVICE = 0x06,
	MAD_CLASS_CM = 0x07,
	MAD_CLASS_SNMP = 0x08,
	MAD_CLASS_CONGESTION = 0x21,
};

enum mad_method {
	MAD_METHOD_GET = 0x01,
	MAD_METHOD_SET = 0x02,
	MAD_METHOD_SEND = 0x03,
	MAD_METHOD_TRAP = 0x05,
	MAD_METHOD_REPORT = 0x06,
	MAD_METHOD_TRAP_REPRESS = 0x07,
	MAD_METHOD_GET_TABLE = 0x12,
	MAD_METHOD_GET_TRACE_TABLE = 0x13,
	MAD_METHOD_GET_MULTI = 0x14,
	MAD_METHOD_DELETE = 0x15,
	MAD_METHOD_RESPONSE = 0x80, /* bit */
	MAD_METHOD_GET_RESP = 0x81,
	MAD_METHOD_REPORT_RESP = 0x86,
	MAD_METHOD_GET_TABLE_RESP = 0x92,
	MAD_METHOD_DELETE_RESP = 0x95,
};

/* Common status bits; the upper byte belongs to the class. */
enum mad_status {
	MAD_STATUS_BUSY = 0x0001,
	MAD_STATUS_REDIRECT = 0x0002,
	MAD_STATUS_BAD_VERSION = 0x0004,
	MAD_STATUS_BAD_METHOD = 0x0008,
	MAD_STATUS_BAD_ATTRIBUTE = 0x000c, /* method and attribute do not go together */
	MAD_STATUS_BAD_VALUE = 0x001c,
	MAD_STATUS_DIRECTION = 0x8000, /* directed route: a response */
};

enum mad_attribute {
	MAD_ATTR_CLASS_PORT_INFO = 0x0001,
	MAD_ATTR_NOTICE = 0x0002,
	MAD_ATTR_INFORM_INFO = 0x0003,
};

struct mad_header {
	uint8_t base_version, mgmt_class, class_version, method;
	uint16_t status;
	/* Directed route: hop pointer in the upper byte, hop count in the lower. */
	uint16_t class_specific;
	uint64_t tid;
	uint16_t attr_id;
	uint32_t attr_mod;
};

void mad_header_get(const uint8_t mad[MAD_HEADER_BYTES], struct mad_header *ret);
void mad_header_put(uint8_t mad[MAD_HEADER_BYTES], const struct mad_header *header);

/* A response to what? TrapRepress answers a trap, every other one has the bit; the
 * traps, reports and requests themselves are none. */
bool mad_is_response(const struct mad_header *header);

/* -- RMPP: what is larger than one MAD (spec/sa-sm 1.2) ------------------------------ */

#define RMPP_HEADER_BYTES 36u /* the common header and this one */

enum rmpp_type {
	RMPP_NONE = 0,
	RMPP_DATA = 1,
	RMPP_ACK = 2,
	RMPP_STOP = 3,
	RMPP_ABORT = 4,
};

enum rmpp_flags {
	RMPP_ACTIVE = 1u << 0,
	RMPP_FIRST = 1u << 1,
	RMPP_LAST = 1u << 2,
};

enum rmpp_status {
	RMPP_STATUS_SUCCESS = 0,
	RMPP_STATUS_RESX = 1,  /* resources exhausted */
	RMPP_STATUS_T2L = 118, /* total time too long */
	RMPP_STATUS_BAD_LENGTH = 119,
	RMPP_STATUS_BAD_SEGMENT = 120,
	RMPP_STATUS_BAD_TYPE = 121,
	RMPP_STATUS_NEWWINDOWLAST_SMALL = 122,
	RMPP_STATUS_SEGMENT_TOO_BIG = 123,
	RMPP_STATUS_BAD_STATUS = 124,
	RMPP_STATUS_UNSUPPORTED_VERSION = 125,
	RMPP_STATUS_TOO_MANY_RETRIES = 126,
	RMPP_STATUS_UNSPECIFIED = 127,
};

struct rmpp_header {
	uint8_t version, type, resp_time, flags, status;
	uint32_t segment;        /* DATA and ACK, from 1 (data1) */
	uint32_t payload_length; /* DATA; ACK: new window last (data2) */
};

void rmpp_header_get(const uint8_t mad[RMPP_HEADER_BYTES], struct rmpp_header *ret);
void rmpp_header_put(uint8_t mad[RMPP_HEADER_BYTES], const struct rmpp_header *header);

/* Bytes in front of the data of one segment, of a class: 56 for SA, 40 for vendors with an
 * OUI, 64 for device management and its kin. 0: the class never uses RMPP. */
size_t rmpp_data_offset(uint8_t mgmt_class);

#endif
