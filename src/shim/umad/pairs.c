// SPDX-License-Identifier: BSD-2-Clause
/*
 * What rdma-core 53 and 56 added for adapters whose subnet management is a device of its
 * own (spec/userland 4.2). Ours are whole, so a pair is the same device twice, and the
 * port of subnet management is the port. libibmad of rdma-core 56 asks before it opens.
 *
 * The headers of earlier releases do not declare these; those of later ones do, with a
 * structure of the same layout as the one here.
 */
#include <errno.h>
#include <infiniband/umad.h>
#include <string.h>

#include "shim/export.h"
#include "site.h"

struct pair {
	char smi_name[UMAD_CA_NAME_LEN];
	uint32_t smi_preferred_port;
	char gsi_name[UMAD_CA_NAME_LEN];
	uint32_t gsi_preferred_port;
};

int open_smi_port(const char *ca_name, int portnum) __asm__("umad_open_smi_port");
int get_pairs(struct pair pairs[], size_t max) __asm__("umad_get_smi_gsi_pairs");
int get_pair(const char *ca_name, uint8_t portnum, struct pair *pair,
	     unsigned int enforce_smi) __asm__("umad_get_smi_gsi_pair_by_ca_name");

VC_EXPORT int open_smi_port(const char *ca_name, int portnum)
{
	return umad_open_port(ca_name, portnum);
}

static void fill(struct pair *pair, const struct uapi_umad_port *from)
{
	size_t length = strnlen(from->device, sizeof(pair->smi_name) - 1);

	memset(pair, 0, sizeof(*pair));
	memcpy(pair->smi_name, from->device, length);
	memcpy(pair->gsi_name, from->device, length);
	pair->smi_preferred_port = from->port_num;
	pair->gsi_preferred_port = from->port_num;
}

static int find(const char *ca_name, int portnum, struct pair *pair)
{
	struct uapi_umad_port found;
	struct uapi_connection *c;
	int r;

	r = site_connect_and_find(&c, ca_name, portnum, &found);
	if (r < 0)
		return r;
	fill(pair, &found);
	uapi_connection_close(c);
	return 0;
}

/* Every device has subnet management, whether it is insisted on or not. */
VC_EXPORT int get_pair(const char *ca_name, uint8_t portnum, struct pair *pair,
		       unsigned int enforce_smi)
{
	int r = pair ? find(ca_name, portnum, pair) : -EINVAL;

	(void)enforce_smi;
	return r < 0 ? refuse(r, -r) : r;
}

/* How many were filled; no device: 0. A device that goes meanwhile is left out. */
VC_EXPORT int get_pairs(struct pair pairs[], size_t max)
{
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	int count, filled = 0;

	count = umad_get_cas_names(names, UMAD_MAX_DEVICES);
	for (int i = 0; i < count && (size_t)filled < max; i++)
		if (find(names[i], 0, &pairs[filled]) == 0)
			filled++;
	return filled;
}
