// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writing and removing the synthetic tree of sysfs_tree.h.
 *
 * Everything is done relative to the descriptor of the directory in hand, and no link is
 * followed, so whatever else happens to the names meanwhile, nothing outside the tree is
 * touched. The writer keeps its first error and becomes inert, which leaves the lists of
 * files below readable as lists.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <endian.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sysfs_tree.h"

#define DIR_FLAGS      (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* Deeper than any tree we write: a bound for the recursion of the removal. */
#define DEPTH_MAX      16
#define LINE_MAX_BYTES 512
#define UPDATE_NAME    "new" /* in the tree's own folder */

/* What all folders of one tree share. */
struct writer {
	int error;
	int root;    /* the tree's own folder */
	bool update; /* all is there; what differs is written anew */
};

/* A directory being filled. */
struct folder {
	int fd;
	struct writer *writer;
};

static bool is_file_name(const char *name)
{
	return name && name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

/* Remember the first error; true while there is none. */
static bool check(struct folder *in, int r)
{
	if (r < 0 && !in->writer->error)
		in->writer->error = -errno;
	return !in->writer->error;
}

static struct folder folder_open(struct folder *in, const char *name)
{
	struct folder made = { .fd = -1, .writer = in->writer };

	if (!is_file_name(name)) {
		errno = EINVAL;
		check(in, -1);
	}
	if (in->writer->error)
		return made;
	if (!in->writer->update && !check(in, mkdirat(in->fd, name, 0700)))
		return made;
	made.fd = openat(in->fd, name, DIR_FLAGS);
	check(in, made.fd);
	return made;
}

static void folder_close(struct folder *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static void write_file(struct folder *in, int at, const char *name, const char *text,
		       ssize_t length)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0444);

	if (!check(in, fd))
		return;
	check(in, write(fd, text, (size_t)length) == length ? 0 : -1);
	close(fd);
}

static bool says(const struct folder *in, const char *name, const char *text,
		 ssize_t length)
{
	int fd = openat(in->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char was[LINE_MAX_BYTES];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, was, sizeof(was));
	close(fd);
	return n == length && memcmp(was, text, (size_t)n) == 0;
}

/* Made out of sight, so that whoever looks finds the old line or the new one, and nothing
 * else in the folder. */
static void update_file(struct folder *in, const char *name, const char *text,
			ssize_t length)
{
	int root = in->writer->root;

	if (says(in, name, text, length))
		return;
	(void)unlinkat(root, UPDATE_NAME, 0);
	write_file(in, root, UPDATE_NAME, text, length);
	if (!in->writer->error)
		check(in, renameat(root, UPDATE_NAME, in->fd, name));
}

/* One file of one line, as sysfs has them. */
__attribute__((format(printf, 3, 4))) static void put(struct folder *in, const char *name,
						      const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (len >= (int)sizeof(line) - 1)
		len = sizeof(line) - 2;
	line[len++] = '\n';

	if (in->writer->error)
		return;
	if (in->writer->update)
		update_file(in, name, line, len);
	else
		write_file(in, in->fd, name, line, len);
}

static void put_text(struct folder *in, const char *name, const char *text)
{
	if (text && text[0])
		put(in, name, "%s", text);
}

static void put_link(struct folder *in, const char *name, const char *target)
{
	if (!in->writer->error && !in->writer->update)
		check(in, symlinkat(target, in->fd, name));
}

static void put_guid(struct folder *in, const char *name, uint64_t guid)
{
	uint64_t host = be64toh(guid);

	put(in, name, "%04x:%04x:%04x:%04x", (unsigned int)(host >> 48),
	    (unsigned int)(host >> 32) & 0xffff, (unsigned int)(host >> 16) & 0xffff,
	    (unsigned int)host & 0xffff);
}

static void put_gid(struct folder *in, const char *name, const uint8_t raw[16])
{
	char text[40];
	size_t at = 0;
	int i;

	for (i = 0; i < 16; i += 2)
		at += snprintf(text + at, sizeof(text) - at, "%s%02x%02x", i ? ":" : "",
			       raw[i], raw[i + 1]);
	put(in, name, "%s", text);
}

static const char *state_name(unsigned int state)
{
	static const char *const names[] = { "NOP",   "DOWN",   "INIT",
					     "ARMED", "ACTIVE", "ACTIVE_DEFER" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static const char *phys_state_name(unsigned int state)
{
	static const char *const names[] = { "<unknown>",
					     "Sleep",
					     "Polling",
					     "Disabled",
					     "PortConfigurationTraining",
					     "LinkUp",
					     "LinkErrorRecovery",
					     "Phy Test" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : names[0];
}

static const char *node_type_name(unsigned int type)
{
	static const char *const names[] = { "<unknown>", "CA",         "switch",
					     "router",    "RNIC",       "usNIC",
					     "usNIC UDP", "unspecified" };

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : names[0];
}

/* Width and speed, as the kernel puts them behind the rate. */
static void put_rate(struct folder *in, unsigned int gbps)
{
	static const struct {
		unsigned int gbps;
		const char *kind;
	} rates[] = { { 10, "4X SDR" }, { 20, "4X DDR" },  { 40, "4X QDR" },
		      { 56, "4X FDR" }, { 100, "4X EDR" }, { 200, "4X HDR" },
		      { 400, "4X NDR" } };
	size_t i;

	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		if (rates[i].gbps == gbps) {
			put(in, "rate", "%u Gb/sec (%s)", gbps, rates[i].kind);
			return;
		}
	}
	put(in, "rate", "%u Gb/sec", gbps);
}

static bool gid_empty(const struct sysfs_gid *gid)
{
	static const uint8_t none[16];

	return memcmp(gid->raw, none, sizeof(none)) == 0;
}

static void put_gids(struct folder *port, const struct sysfs_port *p, const char *netdev)
{
	struct folder gids = folder_open(port, "gids");
	struct folder attrs = folder_open(port, "gid_attrs");
	struct folder types = folder_open(&attrs, "types");
	struct folder ndevs = folder_open(&attrs, "ndevs");
	char name[32];
	size_t i;

	for (i = 0; i < p->gid_count; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		put_gid(&gids, name, p->gids[i].raw);
		/* Reading the attributes of an empty slot fails in the kernel too. */
		if (gid_empty(&p->gids[i]))
			continue;
		put(&types, name, "%s", p->gids[i].roce_v2 ? "RoCE v2" : "IB/RoCE v1");
		put_text(&ndevs, name, netdev);
	}
	folder_close(&ndevs);
	folder_close(&types);
	folder_close(&attrs);
	folder_close(&gids);
}

static void put_pkeys(struct folder *port, const struct sysfs_port *p)
{
	struct folder pkeys = folder_open(port, "pkeys");
	char name[32];
	size_t i;

	for (i = 0; i < p->pkey_count; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		put(&pkeys, name, "0x%04x", p->pkeys[i]);
	}
	folder_close(&pkeys);
}

static void put_port(struct folder *ports, size_t number, const struct sysfs_port *p,
		     const char *netdev)
{
	struct folder port;
	char name[32];

	snprintf(name, sizeof(name), "%zu", number);
	port = folder_open(ports, name);
	put(&port, "state", "%u: %s", p->state, state_name(p->state));
	put(&port, "phys_state", "%u: %s", p->phys_state, phys_state_name(p->phys_state));
	put(&port, "link_layer", "%s", p->ethernet ? "Ethernet" : "InfiniBand");
	put(&port, "lid", "0x%x", p->lid);
	put(&port, "lid_mask_count", "%u", p->lmc);
	put(&port, "sm_lid", "0x%x", p->sm_lid);
	put(&port, "sm_sl", "%u", p->sm_sl);
	put(&port, "cap_mask", "0x%08x", p->cap_mask);
	if (p->rate_gbps)
		put_rate(&port, p->rate_gbps);
	put_gids(&port, p, netdev);
	put_pkeys(&port, p);
	folder_close(&port);
}

/* Every CPU of the machine, in the kernel's form: groups of 32 bits, highest first. */
static void put_cpus(struct folder *in)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	long groups = (cpus + 31) / 32, g;
	char text[400];
	size_t at = 0;

	for (g = groups - 1; g >= 0 && at + 10 < sizeof(text); g--) {
		long bits = g == groups - 1 && cpus % 32 ? cpus % 32 : 32;

		at += snprintf(text + at, sizeof(text) - at, "%0*x%s",
			       (int)(bits + 3) / 4,
			       bits == 32 ? 0xffffffffu : (1u << bits) - 1, g ? "," : "");
	}
	put(in, "local_cpus", "%.*s", (int)at, text);
	put(in, "local_cpulist", cpus > 1 ? "0-%ld" : "%ld", cpus - 1);
}

/* The hardware behind the device: UCX and OpenMPI read where it is near, pyverbs which
 * interface it belongs to. */
static void put_hardware(struct folder *device, const struct sysfs_device *d)
{
	struct folder hardware = folder_open(device, "device");
	char target[64];

	put(&hardware, "numa_node", "-1");
	put_cpus(&hardware);
	put(&hardware, "vendor", "0x%04x", d->vendor_id);
	put(&hardware, "device", "0x%04x", d->vendor_part_id);
	if (d->netdev && d->netdev[0]) {
		struct folder net = folder_open(&hardware, "net");

		if (!is_file_name(d->netdev)) {
			errno = EINVAL;
			check(&net, -1);
		}
		snprintf(target, sizeof(target), "/sys/class/net/%s", d->netdev);
		put_link(&net, d->netdev, target);
		folder_close(&net);
	}
	folder_close(&hardware);
}

static void put_device(struct folder *class_ib, const struct sysfs_device *d)
{
	struct folder device = folder_open(class_ib, d->name);
	struct folder ports;
	size_t i;

	put(&device, "node_type", "%u: %s", d->node_type, node_type_name(d->node_type));
	put_guid(&device, "node_guid", d->node_guid);
	put_guid(&device, "sys_image_guid", d->sys_image_guid);
	put_text(&device, "fw_ver", d->fw_ver);
	put(&device, "hw_rev", "%x", d->hw_rev);
	put_text(&device, "hca_type", d->hca_type);
	put_text(&device, "board_id", d->board_id);
	put_text(&device, "node_desc", d->node_desc);
	put_hardware(&device, d);
	ports = folder_open(&device, "ports");
	for (i = 0; i < d->port_count; i++)
		put_port(&ports, i + 1, &d->ports[i], d->netdev);
	folder_close(&ports);
	folder_close(&device);
}

static void put_uverbs(struct folder *class_verbs, const struct sysfs_device *d)
{
	struct folder uverbs;
	char target[128], name[32];

	snprintf(name, sizeof(name), "uverbs%u", d->uverbs);
	uverbs = folder_open(class_verbs, name);

	put(&uverbs, "ibdev", "%s", d->name);
	put(&uverbs, "abi_version", "1");
	snprintf(target, sizeof(target), "../../infiniband/%s/device", d->name);
	put_link(&uverbs, "device", target);
	folder_close(&uverbs);
}

static void put_classes(struct folder *root, const struct sysfs_device *devices, size_t n)
{
	struct folder sys = folder_open(root, "sys");
	struct folder class = folder_open(&sys, "class");
	struct folder ib = folder_open(&class, "infiniband");
	struct folder verbs = folder_open(&class, "infiniband_verbs");
	size_t i;

	put(&verbs, "abi_version", "6");
	for (i = 0; i < n; i++) {
		put_device(&ib, &devices[i]);
		put_uverbs(&verbs, &devices[i]);
	}
	folder_close(&verbs);
	folder_close(&ib);
	folder_close(&class);
	folder_close(&sys);
}

/* Nobody talks to these: UCX only wants a character device it may open. */
static void put_device_files(struct folder *root, const struct sysfs_device *devices,
			     size_t n)
{
	struct folder dev = folder_open(root, "dev");
	struct folder ib = folder_open(&dev, "infiniband");
	char name[32];
	size_t i;

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "uverbs%u", devices[i].uverbs);
		put_link(&ib, name, "/dev/null");
	}
	put_link(&ib, "rdma_cm", "/dev/null");
	folder_close(&ib);
	folder_close(&dev);
}

static int fill(const char *dir, const struct sysfs_device *devices, size_t n,
		bool update)
{
	struct writer writer = { .update = update };
	struct folder root = { .writer = &writer };

	root.fd = open(dir, DIR_FLAGS);
	writer.root = root.fd;
	if (check(&root, root.fd)) {
		put_classes(&root, devices, n);
		put_device_files(&root, devices, n);
	}
	folder_close(&root);
	return writer.error;
}

static int remove_tree(const char *dir);

int sysfs_tree_create(const char *dir, const struct sysfs_device *devices, size_t n)
{
	int r;

	if (mkdir(dir, 0700) < 0)
		return -errno;
	r = fill(dir, devices, n, false);
	if (r < 0)
		remove_tree(dir);
	return r;
}

int sysfs_tree_update(const char *dir, const struct sysfs_device *devices, size_t n)
{
	return fill(dir, devices, n, true);
}

static int remove_at(int at, const char *name, int depth);

/* Takes over `fd`. */
static int empty_folder(int fd, int depth)
{
	struct dirent *entry;
	int error = 0, r;
	DIR *stream;

	stream = fdopendir(fd);
	if (!stream) {
		r = -errno;
		close(fd);
		return r;
	}
	while ((entry = readdir(stream))) {
		if (!is_file_name(entry->d_name))
			continue;
		r = remove_at(fd, entry->d_name, depth);
		if (r < 0 && !error)
			error = r;
	}
	closedir(stream);
	return error;
}

static int remove_at(int at, const char *name, int depth)
{
	int fd, r;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	/* A directory says EISDIR; some file systems, as POSIX has it, EPERM. */
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (depth >= DEPTH_MAX)
		return -ELOOP;
	fd = openat(at, name, DIR_FLAGS);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = empty_folder(fd, depth + 1);
	if (unlinkat(at, name, AT_REMOVEDIR) < 0 && errno != ENOENT && r == 0)
		r = -errno;
	return r;
}

static int remove_tree(const char *dir)
{
	struct stat st;

	/* A link or a file in its place is not ours to remove. */
	if (fstatat(AT_FDCWD, dir, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return remove_at(AT_FDCWD, dir, 0);
}

/* -- replacing ----------------------------------------------------------------------- */

static bool name_beside(char *path, size_t size, const char *dir)
{
	return snprintf(path, size, "%s.new", dir) < (int)size;
}

/* The new tree lies at `made`; afterwards the old one does, or nothing. */
static int exchange(const char *made, const char *dir)
{
	if (renameat2(AT_FDCWD, made, AT_FDCWD, dir, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno != ENOENT && errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* There is no old one, or the file system cannot: a gap, then. */
	remove_tree(dir);
	return rename(made, dir) < 0 ? -errno : 0;
}

int sysfs_tree_replace(const char *dir, const struct sysfs_device *devices, size_t n)
{
	char made[PATH_MAX];
	int r;

	if (!name_beside(made, sizeof(made), dir))
		return -ENAMETOOLONG;
	r = remove_tree(made);
	if (!r)
		r = sysfs_tree_create(made, devices, n);
	if (!r)
		r = exchange(made, dir);
	remove_tree(made);
	return r;
}

int sysfs_tree_remove(const char *dir)
{
	char made[PATH_MAX];

	if (name_beside(made, sizeof(made), dir))
		remove_tree(made);
	return remove_tree(dir);
}
