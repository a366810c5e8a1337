/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of libibumad, ops 80 to 86: what ib_umad is to Linux, and the files of
 * sysfs that the library reads. A caller's node shows its devices that carry MADs; each
 * connection may open one port of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_file.h"
#include "uapi/server/server_priv.h"
#include "uapi/server/umad_priv.h"

/* -- what ports are like ------------------------------------------------------------ */

static bool carries_mads(const struct ib_device *device)
{
	return rdma_cap_ib_mad(device, rdma_start_port(device));
}

static struct ib_device *nth_device(struct ib_node *node, uint32_t index)
{
	struct ib_device *device;

	for (uint32_t i = 0; (device = ib_node_device(node, i)); i++)
		if (carries_mads(device) && !index--)
			return device;
	return NULL;
}

static void fill_device(struct uapi_umad_port *to, struct ib_device *device,
			const struct ib_device_attr *attr)
{
	memcpy(to->device, ib_device_name(device),
	       strnlen(ib_device_name(device), sizeof(to->device) - 1));
	memcpy(to->fw_ver, attr->fw_ver, sizeof(to->fw_ver));
	to->node_guid = device->node_guid;
	to->sys_image_guid = attr->sys_image_guid;
	to->id = ib_device_id(device);
	to->node_type = device->node_type;
	to->hw_ver = attr->hw_ver;
	to->vendor_id = attr->vendor_id;
	to->vendor_part_id = attr->vendor_part_id;
	to->phys_port_cnt = device->phys_port_cnt;
}

static void fill_port(struct uapi_umad_port *to, struct ib_device *device,
		      uint32_t port_num, const struct ib_port_attr *attr)
{
	struct ib_gid_attr gid;

	to->port_num = port_num;
	to->link_layer = rdma_port_get_link_layer(device, port_num);
	to->state = attr->state;
	to->phys_state = attr->phys_state;
	to->lid = attr->lid;
	to->lmc = attr->lmc;
	to->sm_lid = attr->sm_lid;
	to->sm_sl = attr->sm_sl;
	to->cap_mask = attr->port_cap_flags;
	to->active_width = attr->active_width;
	to->active_speed = attr->active_speed;
	if (rdma_query_gid(device, port_num, 0, &gid) == 0)
		memcpy(to->gid, gid.gid.raw, sizeof(to->gid));
	to->pkey_count = attr->pkey_tbl_len < UAPI_UMAD_PKEYS_MAX ? attr->pkey_tbl_len
								  : UAPI_UMAD_PKEYS_MAX;
	for (uint16_t i = 0; i < to->pkey_count; i++)
		(void)ib_query_pkey(device, port_num, i, &to->pkeys[i]);
}

static int umad_query(struct uapi_client *c, const void *request, void *reply,
		      struct uapi_fds *fds)
{
	const struct uapi_umad_query *req = request;
	struct ib_device *device = nth_device(c->node, req->index);
	struct ib_device_attr device_attr;
	struct ib_port_attr port_attr;
	int r;

	if (!device)
		return -ENODEV;
	if (!rdma_is_port_valid(device, req->port_num))
		return -EINVAL;
	r = ib_query_device(device, &device_attr);
	if (!r)
		r = ib_query_port(device, req->port_num, &port_attr);
	if (r < 0)
		return r;
	fill_device(reply, device, &device_attr);
	fill_port(reply, device, req->port_num, &port_attr);
	return 0;
}

/* The device that a request is about, if it has that port. */
static int find_port(const struct uapi_client *c, const struct uapi_umad_open *req,
		     struct ib_device **ret)
{
	struct ib_device *device = ib_node_find_device(c->node, req->id);

	if (!device || !carries_mads(device))
		return -ENODEV;
	if (!rdma_is_port_valid(device, req->port_num))
		return -EINVAL;
	*ret = device;
	return 0;
}

/* Spec/userland 4.1: a file that is opened by whoever manages the subnet. */
static int umad_issm(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	const struct uapi_server_config *config = &c->server->config;
	struct uapi_umad_issm *rep = reply;
	struct ib_device *device;
	int r;

	if (!config->ops->issm_path)
		return -ENODEV;
	r = find_port(c, request, &device);
	if (r < 0)
		return r;
	return config->ops->issm_path(config->arg, device, rep->path, sizeof(rep->path));
}

/* -- the port of a connection ------------------------------------------------------- */

static int umad_open(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	const struct uapi_umad_open *req = request;
	struct ib_device *device;
	int r;

	if (c->umad)
		return -EBUSY;
	r = find_port(c, req, &device);
	if (r < 0)
		return r;
	r = umad_port_create(c, device, req->port_num, fds->out);
	if (r < 0)
		return r;
	fds->out_count = 2;
	fds->close_out = 1u << 0 | 1u << 1;
	return 0;
}

static int umad_register(struct uapi_client *c, const void *request, void *reply,
			 struct uapi_fds *fds)
{
	struct uapi_umad_agent *rep = reply;

	return c->umad ? umad_port_register(c->umad, request, &rep->agent) : -EBADF;
}

static int umad_unregister(struct uapi_client *c, const void *request, void *reply,
			   struct uapi_fds *fds)
{
	const struct uapi_umad_agent *req = request;

	if (!c->umad)
		return -EBADF;
	return req->reserved ? -EINVAL : umad_port_unregister(c->umad, req->agent);
}

/* -- sending ------------------------------------------------------------------------ */

/* Anything but a memory file that keeps its size could make us wait. */
static bool is_memory_file(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && seals & F_SEAL_SHRINK;
}

static int send_long(struct umad_port *port, const struct uapi_umad_message *m,
		     const struct uapi_fds *fds)
{
	uint8_t *bytes;
	int r;

	if (m->length > UAPI_UMAD_BYTES_MAX)
		return -EMSGSIZE;
	if (fds->in_count != 1 || !is_memory_file(fds->in[0]))
		return -EINVAL;
	bytes = malloc(m->length);
	if (!bytes)
		return -ENOMEM;
	r = memory_file_read(fds->in[0], bytes, m->length);
	if (r == -ENODATA)
		r = -EINVAL;
	if (!r)
		r = umad_port_send(port, m, bytes);
	free(bytes);
	return r;
}

static int umad_send(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	const struct uapi_umad_message *m = request;

	if (!c->umad)
		return -EBADF;
	umad_queue_take(&c->umad->queue);
	if (m->length > sizeof(m->mad))
		return send_long(c->umad, m, fds);
	return umad_port_send(c->umad, m, m->mad);
}

/* -- receiving ---------------------------------------------------------------------- */

static int umad_fetch(struct uapi_client *c, const void *request, void *reply,
		      struct uapi_fds *fds)
{
	int r = c->umad ? umad_queue_fetch(&c->umad->queue, &fds->out[0]) : -EBADF;

	if (r < 0)
		return r;
	fds->out_count = 1;
	fds->close_out = 1u << 0;
	return 0;
}

void umad_client_close(struct uapi_client *c)
{
	umad_port_destroy(c->umad);
	c->umad = NULL;
}

const struct uapi_command umad_commands[] = {
	{ UAPI_UMAD_QUERY, umad_query },       { UAPI_UMAD_OPEN, umad_open },
	{ UAPI_UMAD_REGISTER, umad_register }, { UAPI_UMAD_UNREGISTER, umad_unregister },
	{ UAPI_UMAD_SEND, umad_send },         { UAPI_UMAD_ISSM, umad_issm },
	{ UAPI_UMAD_FETCH, umad_fetch },       { 0, NULL },
};
