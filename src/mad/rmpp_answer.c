/* SPDX-License-Identifier: BSD-2-Clause */
#include "mad/rmpp_priv.h"

#include "mad/rmpp.h"

#include <string.h>

#define MGMT_CLASS 1
#define METHOD     3

void rmpp_answer_write(uint8_t mad[MAD_BYTES], const struct rmpp_answer *answer)
{
	const struct rmpp_header rmpp = { .version = RMPP_VERSION,
					  .type = answer->type,
					  .resp_time = RMPP_RESP_TIME_NONE,
					  .flags = RMPP_ACTIVE,
					  .status = answer->status,
					  .segment = answer->segment,
					  .payload_length = answer->window_last };

	memcpy(mad, answer->header, answer->header_bytes);
	memset(mad + answer->header_bytes, 0, MAD_BYTES - answer->header_bytes);
	if (answer->to_the_sender)
		mad[METHOD] ^= MAD_METHOD_RESPONSE;
	rmpp_header_put(mad, &rmpp);
}

void rmpp_acknowledge(const uint8_t segment[MAD_BYTES], uint8_t ret[MAD_BYTES])
{
	const struct rmpp_answer ack = {
		.header = segment,
		.header_bytes = rmpp_data_offset(segment[MGMT_CLASS]),
		.to_the_sender = true,
		.type = RMPP_ACK,
		.segment = 1,
		.window_last = 1,
	};

	rmpp_answer_write(ret, &ack);
}
