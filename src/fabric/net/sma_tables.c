/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables a subnet manager writes (spec/sa-sm 3.3, 3.8). P_Keys and forwarding tables
 * decide where packets go; SLtoVL and VLArbitration are kept and returned, since links
 * here have no lanes that could be full.
 */
#include "fabric/net/fabric_priv.h"

#include <stdlib.h>
#include <string.h>

#define VLS 8u /* of PortInfo.VLCap */

/* -- P_Keys ------------------------------------------------------------------------ */

/* Port in the upper half for a switch, block in the lower. Null: there is none such. */
static uint16_t *pkey_block(const struct sma_request *r, struct fabric_port **ret_port)
{
	const struct fabric_node *n = r->end->node;
	uint32_t port = r->modifier >> 16, block = r->modifier & 0xffff;

	if (block >= n->pkey_room / NET_PKEYS_BLOCK ||
	    (n->is_switch && port > n->num_ports))
		return NULL;
	*ret_port = n->is_switch ? &n->ports[port] : r->end;
	return (*ret_port)->pkeys + block * NET_PKEYS_BLOCK;
}

uint16_t sma_pkeys_get(struct sma_request *r)
{
	struct fabric_port *p;
	const uint16_t *pkeys = pkey_block(r, &p);

	if (!pkeys)
		return MAD_STATUS_BAD_VALUE;
	wire_put16s(r->data, pkeys, NET_PKEYS_BLOCK);
	return 0;
}

uint16_t sma_pkeys_set(struct sma_request *r)
{
	struct fabric_port *p;
	uint16_t *pkeys = pkey_block(r, &p);
	bool changed = false;

	if (!pkeys)
		return MAD_STATUS_BAD_VALUE;
	net_count_all_sent(p->node->fabric);
	for (unsigned int i = 0; i < NET_PKEYS_BLOCK; i++) {
		uint16_t pkey = wire_get16(r->data + 2 * i);

		if (pkeys + i >= p->pkeys + p->node->pkey_cap) /* past the last */
			break;
		changed |= pkeys[i] != pkey;
		pkeys[i] = pkey;
	}
	if (changed && net_is_external(p))
		net_routes_changed(p->node->fabric);
	if (changed)
		net_port_changed(p, FABRIC_PORT_PKEYS);
	return 0;
}

/* -- lanes ------------------------------------------------------------------------- */

/* In and out port for a switch; an adapter has one row, in its node's table too. */
static bool sl_to_vl_row(const struct sma_request *r, size_t *ret)
{
	const struct fabric_node *n = r->end->node;
	uint32_t in = r->modifier >> 8 & 0xff, out = r->modifier & 0xff;

	if (!n->is_switch)
		in = out = r->end->num;
	*ret = in * (n->num_ports + 1u) + out;
	return in <= n->num_ports && out <= n->num_ports;
}

/* Sixteen nibbles, each service level on a lane of its own as far as there are. */
static void sl_to_vl_default(uint8_t row[8])
{
	for (unsigned int sl = 0; sl < 16; sl += 2)
		row[sl / 2] = (uint8_t)(sl % VLS << 4 | (sl + 1) % VLS);
}

uint16_t sma_sl_to_vl_get(struct sma_request *r)
{
	const struct fabric_node *n = r->end->node;
	size_t row;

	if (!sl_to_vl_row(r, &row))
		return MAD_STATUS_BAD_VALUE;
	memset(r->data, 0, SMP_DATA_BYTES);
	if (n->sl_to_vl)
		memcpy(r->data, n->sl_to_vl[row], sizeof(n->sl_to_vl[row]));
	else
		sl_to_vl_default(r->data);
	return 0;
}

uint16_t sma_sl_to_vl_set(struct sma_request *r)
{
	struct fabric_node *n = r->end->node;
	size_t row, rows = (n->num_ports + 1u) * (n->num_ports + 1u);

	if (!sl_to_vl_row(r, &row))
		return MAD_STATUS_BAD_VALUE;
	if (!n->sl_to_vl) {
		n->sl_to_vl = malloc(rows * sizeof(*n->sl_to_vl));
		if (!n->sl_to_vl)
			return MAD_STATUS_BUSY;
		for (size_t i = 0; i < rows; i++)
			sl_to_vl_default(n->sl_to_vl[i]);
	}
	memcpy(n->sl_to_vl[row], r->data, sizeof(n->sl_to_vl[row]));
	return 0;
}

/* Block 1 .. 4 in the upper half, port in the lower, an adapter's own if 0. */
static struct fabric_port *vl_arb_place(const struct sma_request *r,
					unsigned int *ret_block)
{
	struct fabric_node *n = r->end->node;
	uint32_t block = r->modifier >> 16, port = r->modifier & 0xffff;

	if (!block || block > NET_VL_ARB_BLOCKS || port > n->num_ports)
		return NULL;
	*ret_block = block - 1;
	return n->is_switch ? &n->ports[port] : r->end;
}

uint16_t sma_vl_arb_get(struct sma_request *r)
{
	unsigned int block;
	const struct fabric_port *p = vl_arb_place(r, &block);

	if (!p)
		return MAD_STATUS_BAD_VALUE;
	if (p->vl_arb)
		memcpy(r->data, p->vl_arb[block], SMP_DATA_BYTES);
	else
		memset(r->data, 0, SMP_DATA_BYTES);
	return 0;
}

uint16_t sma_vl_arb_set(struct sma_request *r)
{
	unsigned int block;
	struct fabric_port *p = vl_arb_place(r, &block);

	if (!p)
		return MAD_STATUS_BAD_VALUE;
	if (!p->vl_arb)
		p->vl_arb = calloc(NET_VL_ARB_BLOCKS, sizeof(*p->vl_arb));
	if (!p->vl_arb)
		return MAD_STATUS_BUSY;
	memcpy(p->vl_arb[block], r->data, SMP_DATA_BYTES);
	return 0;
}

/* -- forwarding -------------------------------------------------------------------- */

static bool is_lft_block(const struct sma_request *r)
{
	return r->modifier < NET_LFT_CAP / NET_LFT_BLOCK;
}

uint16_t sma_lft_get(struct sma_request *r)
{
	if (!is_lft_block(r))
		return MAD_STATUS_BAD_VALUE;
	net_lft_get(r->end->node, r->modifier, r->data);
	return 0;
}

uint16_t sma_lft_set(struct sma_request *r)
{
	if (!is_lft_block(r))
		return MAD_STATUS_BAD_VALUE;
	return net_lft_set(r->end->node, r->modifier, r->data) < 0 ? MAD_STATUS_BUSY : 0;
}

/* Position in the upper four bits, block in the lower nine. */
static bool mft_place(const struct sma_request *r, uint32_t *ret_block,
		      unsigned int *ret_position)
{
	const struct fabric_node *n = r->end->node;

	*ret_block = r->modifier & 0x1ff;
	*ret_position = r->modifier >> 28;
	return *ret_block * NET_MFT_BLOCK < n->mft_cap && *ret_position < n->positions;
}

uint16_t sma_mft_get(struct sma_request *r)
{
	uint16_t masks[NET_MFT_BLOCK];
	unsigned int position;
	uint32_t block;

	if (!mft_place(r, &block, &position))
		return MAD_STATUS_BAD_VALUE;
	net_mft_get(r->end->node, block, position, masks);
	wire_put16s(r->data, masks, NET_MFT_BLOCK);
	return 0;
}

uint16_t sma_mft_set(struct sma_request *r)
{
	uint16_t masks[NET_MFT_BLOCK];
	unsigned int position;
	uint32_t block;

	if (!mft_place(r, &block, &position))
		return MAD_STATUS_BAD_VALUE;
	wire_get16s(r->data, masks, NET_MFT_BLOCK);
	return net_mft_set(r->end->node, block, position, masks) < 0 ? MAD_STATUS_BUSY
								     : 0;
}
