/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a shim lets the outside see.
 *
 * Everything is hidden by default (cmake/warnings.cmake), the static layers under a
 * shim included. A function of an exported API carries VC_EXPORT at its definition and
 * a line in exports/LIBRARY.list, which gives it its version node:
 *
 *	VC_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
 *
 * What libibverbs.so.1 offers to our own librdmacm and libibumad alone is named vc_*
 * and lands in the node VERBCAST_PRIVATE. docs/abi.md explains the lists.
 */
#ifndef SHIM_EXPORT_H
#define SHIM_EXPORT_H

#define VC_EXPORT __attribute__((visibility("default")))

#endif
