// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opened ports, their agents and what they send and receive. No device can be opened
 * (devices.c), so no port id is one; each call says so in its own dialect
 * (spec/userland 4.2).
 */
#include <errno.h>
#include <infiniband/umad.h>

#include "shim/export.h"

#define VENDOR_CLASS_FIRST 0x30
#define VENDOR_CLASS_LAST  0x4f

/* `why` in errno, `r` as the return value. */
static int refuse(int r, int why)
{
	errno = why;
	return r;
}

VC_EXPORT int umad_open_port(const char *ca_name, int portnum)
{
	return refuse(-ENODEV, ENODEV);
}

/* Differs: the stock library closes whatever descriptor it is given, and returns 0. */
VC_EXPORT int umad_close_port(int portid)
{
	return refuse(-EINVAL, EBADF);
}

VC_EXPORT int umad_get_fd(int portid)
{
	return portid;
}

/* Every refusal is -EPERM; errno tells which. */
VC_EXPORT int umad_register(int portid, int mgmt_class, int mgmt_version,
			    uint8_t rmpp_version, long method_mask[16 / sizeof(long)])
{
	return refuse(-EPERM, EBADF);
}

VC_EXPORT int umad_register_oui(int portid, int mgmt_class, uint8_t rmpp_version,
				uint8_t oui[3], long method_mask[16 / sizeof(long)])
{
	if (mgmt_class < VENDOR_CLASS_FIRST || mgmt_class > VENDOR_CLASS_LAST)
		return refuse(-EINVAL, EINVAL);
	return refuse(-EPERM, EBADF);
}

/* The one call that returns a positive errno. */
VC_EXPORT int umad_register2(int port_fd, struct umad_reg_attr *attr, uint32_t *agent_id)
{
	return attr && agent_id ? EBADF : EINVAL;
}

VC_EXPORT int umad_unregister(int portid, int agentid)
{
	return refuse(-1, EINVAL);
}

VC_EXPORT int umad_send(int portid, int agentid, void *umad, int length, int timeout_ms,
			int retries)
{
	return refuse(-EIO, umad ? EBADF : EINVAL);
}

VC_EXPORT int umad_recv(int portid, void *umad, int *length, int timeout_ms)
{
	if (!umad || !length)
		return refuse(-EINVAL, EINVAL);
	return refuse(-EBADF, EBADF);
}

VC_EXPORT int umad_poll(int portid, int timeout_ms)
{
	return refuse(-EIO, EBADF);
}
