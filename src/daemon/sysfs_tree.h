/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs find that look past the libraries: a synthetic /sys/class/infiniband,
 * /sys/class/infiniband_verbs and /dev/infiniband (spec/userland 1.9).
 *
 * The tree lies in a directory of the site and mirrors the real paths below it:
 *
 *	DIR/sys/class/infiniband/vroce0/node_guid, ports/1/gids/0, device/net/lo, ...
 *	DIR/sys/class/infiniband_verbs/uverbs0/ibdev, ...
 *	DIR/dev/infiniband/uverbs0, rdma_cm      links to /dev/null, a character device
 *
 * Programs started by `verbcast run` have VERBCAST_SYSFS=DIR, and our preloaded
 * libibverbs.so.1 sends their path calls here (src/shim/verbs/interpose). The text in
 * the files is what the kernel writes there.
 *
 * Called by verbcastd's main thread whenever devices change, and by its janitor.
 */
#ifndef DAEMON_SYSFS_TREE_H
#define DAEMON_SYSFS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sysfs_gid {
	uint8_t raw[16]; /* all zero: an empty slot */
	bool roce_v2;
};

struct sysfs_port {
	unsigned int state;      /* enum ibv_port_state */
	unsigned int phys_state; /* 5: LinkUp, 3: Disabled */
	bool ethernet;           /* link layer; else InfiniBand */
	unsigned int lid, lmc, sm_lid, sm_sl;
	unsigned int rate_gbps; /* 0: not told */
	uint32_t cap_mask;
	const uint16_t *pkeys; /* host order */
	size_t pkey_count;
	const struct sysfs_gid *gids;
	size_t gid_count;
};

struct sysfs_device {
	const char *name;    /* "vroce0" */
	unsigned int uverbs; /* number of its uverbs files */
	const char *netdev;  /* interface behind it; NULL or empty: none */
	const char *fw_ver;  /* strings: NULL or empty, and the file is not there */
	const char *hca_type;
	const char *board_id;
	const char *node_desc;
	unsigned int node_type; /* enum ibv_node_type */
	unsigned int hw_rev;
	unsigned int vendor_id, vendor_part_id;
	uint64_t node_guid; /* network order */
	uint64_t sys_image_guid;
	const struct sysfs_port *ports;
	size_t port_count;
};

/*
 * Make `dir`, which must not exist (its parent must), with the tree of `n` devices.
 * 0 or a negative errno: -EEXIST; -EINVAL for a name that is no file name. On failure
 * nothing stays behind.
 */
int sysfs_tree_create(const char *dir, const struct sysfs_device *devices, size_t n);

/*
 * The same, but what is there makes way for it: by one exchange, where the file system
 * can, so that a program that looks finds one or the other. On failure the old one stays.
 */
int sysfs_tree_replace(const char *dir, const struct sysfs_device *devices, size_t n);

/*
 * `dir` has a tree of the same folders and files: write those files anew whose text is
 * another, each by one exchange. On failure some may be the old ones.
 */
int sysfs_tree_update(const char *dir, const struct sysfs_device *devices, size_t n);

/*
 * Remove `dir` and all that lies in it, following no link. 0 also when it is not there;
 * else the first negative errno, after removing what can be removed. What a replacement
 * that did not come to its end has left beside it goes, too.
 */
int sysfs_tree_remove(const char *dir);

#endif
