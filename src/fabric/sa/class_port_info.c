/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ClassPortInfo: what this server serves, and no more (spec/sa-sm 4.2).
 */
#include "fabric/sa/server_priv.h"

#define CAP_MULTI_PATH       (1u << 10)
#define CAP_PORT_INFO_MATCH  (1u << 13)
#define CAP2_ALIAS_GUIDS     (1u << 5)
#define CAP2_PORT_INFO_MATCH (1u << 10)
#define RESPONSE_TIME        16 /* 4.096 us times 2^16: a quarter of a second */

int sa_class_port_info(struct sa_request *req)
{
	static const struct sa_class_port_info info = {
		.base_version = 1,
		.class_version = 2,
		.cap_mask = SA_CPI_UD_MULTICAST | CAP_MULTI_PATH | CAP_PORT_INFO_MATCH,
		.cap_mask2 =
			SA_CPI2_SEND_ONLY_FULL | CAP2_PORT_INFO_MATCH | CAP2_ALIAS_GUIDS,
		.resp_time = RESPONSE_TIME,
		.redirect_qp = IB_QP_GSI,
		.redirect_qkey = IB_GSI_QKEY,
		.trap_qkey = IB_GSI_QKEY,
	};
	uint8_t data[SA_CLASS_PORT_BYTES];

	sa_class_port_info_put(data, &info);
	sa_request_add(req, data, sizeof(data));
	return 0;
}
