/* SPDX-License-Identifier: BSD-2-Clause */
#include "mad/rmpp_priv.h"

#include <string.h>

#define METHOD 3

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
