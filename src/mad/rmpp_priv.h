/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The MADs of a transfer that carry no data: ACK, STOP, ABORT. They repeat the header of
 * what they answer, class header included, so that whoever delivers MADs finds the same
 * owner for them.
 */
#ifndef MAD_RMPP_PRIV_H
#define MAD_RMPP_PRIV_H

#include "wire/mad.h"

/* What the versions of RMPP there are amount to. */
#define RMPP_VERSION        1
/* "I do not say how long I take." */
#define RMPP_RESP_TIME_NONE 31

/* `header` is the first `header_bytes` of the MAD or message that is answered or, by its
 * own sender, given up. Status is 0 for an ACK; the two numbers are 0 otherwise. */
struct rmpp_answer {
	const uint8_t *header;
	size_t header_bytes;
	bool to_the_sender; /* the method's response bit is the other way then */
	uint8_t type, status;
	uint32_t segment, window_last;
};

void rmpp_answer_write(uint8_t mad[MAD_BYTES], const struct rmpp_answer *answer);

#endif
