// SPDX-License-Identifier: BSD-2-Clause
/*
 * Agents: who of the program asks, and who answers what (spec/userland 4.2, 4.3).
 */
#include <errno.h>
#include <infiniband/umad.h>
#include <infiniband/umad_types.h>
#include <string.h>

#include "ports.h"
#include "shim/export.h"

#define VENDOR_CLASS_FIRST 0x30
#define VENDOR_CLASS_LAST  0x4f

static uint32_t qpn_of(unsigned int mgmt_class)
{
	return mgmt_class != UMAD_CLASS_SUBN_LID_ROUTED &&
	       mgmt_class != UMAD_CLASS_SUBN_DIRECTED_ROUTE;
}

/* The agent's number, or a negative errno. */
static int register_agent(int portid, struct uapi_umad_register *req)
{
	struct uapi_umad_agent rep;
	struct uapi_call call = {
		.op = UAPI_UMAD_REGISTER,
		.req = req,
		.reqlen = sizeof(*req),
		.rep = &rep,
		.replen = sizeof(rep),
	};
	struct port *port = port_get(portid);
	int r;

	if (!port)
		return -EBADF;
	req->qpn = qpn_of(req->mgmt_class);
	r = port_call(port, &call);
	if (!r && rep.agent < UAPI_UMAD_AGENTS_MAX)
		atomic_fetch_or(&port->agents, 1u << rep.agent);
	port_put(port);
	return r < 0 ? r : (int)rep.agent;
}

static void take_mask(struct uapi_umad_register *req, const long *method_mask)
{
	if (method_mask)
		memcpy(req->method_mask, method_mask, sizeof(req->method_mask));
}

/* Every refusal is -EPERM; errno tells which. */
static int register_or_refuse(int portid, struct uapi_umad_register *req)
{
	int r = register_agent(portid, req);

	return r < 0 ? refuse(-EPERM, -r) : r;
}

VC_EXPORT int umad_register(int portid, int mgmt_class, int mgmt_version,
			    uint8_t rmpp_version, long method_mask[16 / sizeof(long)])
{
	struct uapi_umad_register req = {
		.mgmt_class = (uint8_t)mgmt_class,
		.mgmt_class_version = (uint8_t)mgmt_version,
		.rmpp_version = rmpp_version,
		.oui = { 0, 0x14,
			 0x05 }, /* the stock library's, for all vendor classes */
	};

	take_mask(&req, method_mask);
	return register_or_refuse(portid, &req);
}

VC_EXPORT int umad_register_oui(int portid, int mgmt_class, uint8_t rmpp_version,
				uint8_t oui[3], long method_mask[16 / sizeof(long)])
{
	struct uapi_umad_register req = {
		.mgmt_class = (uint8_t)mgmt_class,
		.mgmt_class_version = 1,
		.rmpp_version = rmpp_version,
	};

	if (mgmt_class < VENDOR_CLASS_FIRST || mgmt_class > VENDOR_CLASS_LAST)
		return refuse(-EINVAL, EINVAL);
	memcpy(req.oui, oui, sizeof(req.oui));
	take_mask(&req, method_mask);
	return register_or_refuse(portid, &req);
}

/* The one call that returns a positive errno. */
VC_EXPORT int umad_register2(int port_fd, struct umad_reg_attr *attr, uint32_t *agent_id)
{
	struct uapi_umad_register req = { 0 };
	int r;

	if (!attr || !agent_id || attr->flags & ~UMAD_USER_RMPP)
		return EINVAL;
	req.mgmt_class = attr->mgmt_class;
	req.mgmt_class_version = attr->mgmt_class_version;
	req.rmpp_version = attr->rmpp_version;
	req.raw = attr->flags & UMAD_USER_RMPP;
	req.oui[0] = (uint8_t)(attr->oui >> 16);
	req.oui[1] = (uint8_t)(attr->oui >> 8);
	req.oui[2] = (uint8_t)attr->oui;
	memcpy(req.method_mask, attr->method_mask, sizeof(req.method_mask));
	r = register_agent(port_fd, &req);
	if (r < 0)
		return -r;
	*agent_id = (uint32_t)r;
	return 0;
}

VC_EXPORT int umad_unregister(int portid, int agentid)
{
	struct uapi_umad_agent req = { .agent = (uint32_t)agentid };
	struct uapi_call call = {
		.op = UAPI_UMAD_UNREGISTER,
		.req = &req,
		.reqlen = sizeof(req),
	};
	struct port *port = port_get(portid);
	int r;

	if (!port)
		return refuse(-1, EINVAL);
	/* Whoever sends meanwhile asks, and is told. */
	if (req.agent < UAPI_UMAD_AGENTS_MAX)
		atomic_fetch_and(&port->agents, ~(1u << req.agent));
	r = port_call(port, &call);
	port_put(port);
	return r < 0 ? refuse(-1, -r) : 0;
}
