// SPDX-License-Identifier: BSD-2-Clause
// The synthetic tree has the kernel's text, and its removal touches nothing else.
#include "harness/harness.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/sysfs_tree.h"

static char base[64];
static char dir[96];

static const uint16_t pkeys[] = { 0xffff };
static const struct sysfs_gid gids[] = {
	{ .raw = { 0xfe, 0x80, [15] = 1 }, .roce_v2 = true },
	{ .raw = { 0 } },
	{ .raw = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 }, .roce_v2 = true },
};
static const struct sysfs_port port = {
	.state = 4,
	.phys_state = 5,
	.ethernet = true,
	.rate_gbps = 100,
	.cap_mask = 0x10000,
	.pkeys = pkeys,
	.pkey_count = 1,
	.gids = gids,
	.gid_count = 3,
};

static struct sysfs_device a_device(void)
{
	return (struct sysfs_device){
		.name = "vroce0",
		.netdev = "lo",
		.fw_ver = "1.2.3",
		.node_type = 1,
		.node_guid = htobe64(0x0002c90300001234),
		.sys_image_guid = htobe64(0x0002c90300001235),
		.ports = &port,
		.port_count = 1,
	};
}

static int set_up(void **state)
{
	snprintf(base, sizeof(base), "/tmp/vc-sysfs-XXXXXX");
	if (!mkdtemp(base))
		return -1;
	snprintf(dir, sizeof(dir), "%s/site.sys", base);
	return 0;
}

static int tear_down(void **state)
{
	int r = sysfs_tree_remove(dir);

	return rmdir(base) < 0 ? -1 : r;
}

static void assert_file(const char *name, const char *text)
{
	char path[256], got[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/sys/class/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	n = read(fd, got, sizeof(got) - 1);
	close(fd);
	assert_true(n >= 0);
	got[n] = 0;
	assert_string_equal(got, text);
}

static bool there(const char *name, mode_t type)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

static void the_files_read_as_the_kernels_do(void **state)
{
	struct sysfs_device d = a_device();

	assert_int_equal(sysfs_tree_create(dir, &d, 1), 0);
	assert_file("infiniband/vroce0/node_type", "1: CA\n");
	assert_file("infiniband/vroce0/node_guid", "0002:c903:0000:1234\n");
	assert_file("infiniband/vroce0/sys_image_guid", "0002:c903:0000:1235\n");
	assert_file("infiniband/vroce0/fw_ver", "1.2.3\n");
	assert_file("infiniband/vroce0/ports/1/state", "4: ACTIVE\n");
	assert_file("infiniband/vroce0/ports/1/phys_state", "5: LinkUp\n");
	assert_file("infiniband/vroce0/ports/1/link_layer", "Ethernet\n");
	assert_file("infiniband/vroce0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
	assert_file("infiniband/vroce0/ports/1/cap_mask", "0x00010000\n");
	assert_file("infiniband/vroce0/ports/1/gids/0",
		    "fe80:0000:0000:0000:0000:0000:0000:0001\n");
	assert_file("infiniband/vroce0/ports/1/gids/2",
		    "0000:0000:0000:0000:0000:ffff:7f00:0001\n");
	assert_file("infiniband/vroce0/ports/1/gid_attrs/types/0", "RoCE v2\n");
	assert_file("infiniband/vroce0/ports/1/gid_attrs/ndevs/2", "lo\n");
	assert_file("infiniband/vroce0/ports/1/pkeys/0", "0xffff\n");
	assert_file("infiniband_verbs/uverbs0/ibdev", "vroce0\n");
}

static void an_empty_gid_has_no_type(void **state)
{
	struct sysfs_device d = a_device();

	assert_int_equal(sysfs_tree_create(dir, &d, 1), 0);
	assert_true(there("sys/class/infiniband/vroce0/ports/1/gids/1", S_IFREG));
	assert_false(
		there("sys/class/infiniband/vroce0/ports/1/gid_attrs/types/1", S_IFREG));
}

static void the_device_files_are_character_devices(void **state)
{
	struct sysfs_device d[2] = { a_device(), a_device() };

	d[1].name = "vroce1";
	d[1].uverbs = 1;
	assert_int_equal(sysfs_tree_create(dir, d, 2), 0);
	assert_true(there("dev/infiniband/uverbs0", S_IFCHR));
	assert_true(there("dev/infiniband/uverbs1", S_IFCHR));
	assert_true(there("dev/infiniband/rdma_cm", S_IFCHR));
	assert_false(there("dev/infiniband/uverbs2", S_IFCHR));
	assert_true(there("sys/class/infiniband/vroce1/device/net/lo", S_IFDIR));
}

static void a_site_without_devices_has_empty_classes(void **state)
{
	assert_int_equal(sysfs_tree_create(dir, NULL, 0), 0);
	assert_true(there("sys/class/infiniband", S_IFDIR));
	assert_int_equal(sysfs_tree_create(dir, NULL, 0), -EEXIST);
}

static void a_name_that_is_a_path_is_refused_and_leaves_nothing(void **state)
{
	const char *const bad[] = { "../../x", "..", ".", "", "a/b", NULL };
	struct sysfs_device d = a_device();
	struct stat st;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		d.name = bad[i];
		assert_int_equal(sysfs_tree_create(dir, &d, 1), -EINVAL);
		assert_int_equal(lstat(dir, &st), -1);
	}
	d = a_device();
	d.netdev = "../lo";
	assert_int_equal(sysfs_tree_create(dir, &d, 1), -EINVAL);
	assert_int_equal(lstat(dir, &st), -1);
}

static ino_t inode(const char *name)
{
	char path[192];
	struct stat st;

	snprintf(path, sizeof(path), "%s/sys/class/%s", dir, name);
	assert_int_equal(lstat(path, &st), 0);
	return st.st_ino;
}

static void an_update_writes_what_differs(void **state)
{
	static const char *const lid = "infiniband/vroce0/ports/1/lid";
	static const char *const guid = "infiniband/vroce0/node_guid";
	struct sysfs_device d = a_device();
	struct sysfs_port changed = port;
	ino_t same, other;

	assert_int_equal(sysfs_tree_update(dir, &d, 1), -ENOENT);
	assert_int_equal(sysfs_tree_create(dir, &d, 1), 0);
	same = inode(guid);
	other = inode(lid);
	changed.lid = port.lid + 0x10;
	d.ports = &changed;
	assert_int_equal(sysfs_tree_update(dir, &d, 1), 0);
	assert_int_equal(inode(guid), same);
	assert_int_not_equal(inode(lid), other);
	assert_file(lid, "0x10\n");
	assert_false(there("new", S_IFREG));
	/* Half an update is no hindrance. */
	d.ports = &port;
	assert_int_equal(
		symlink("nowhere", strcat(strcpy((char[192]){ 0 }, dir), "/new")), 0);
	assert_int_equal(sysfs_tree_update(dir, &d, 1), 0);
	assert_file(lid, "0x0\n");
	/* What is not there yet is no update. */
	d.name = "vroce7";
	assert_int_equal(sysfs_tree_update(dir, &d, 1), -ENOENT);
	assert_int_equal(sysfs_tree_remove(dir), 0);
}

static void removing_follows_no_link(void **state)
{
	struct sysfs_device d = a_device();
	char outside[128], link_path[160], kept[192];
	struct stat st;
	int fd;

	assert_int_equal(sysfs_tree_create(dir, &d, 1), 0);
	snprintf(outside, sizeof(outside), "%s/outside", base);
	snprintf(kept, sizeof(kept), "%s/kept", outside);
	assert_int_equal(mkdir(outside, 0700), 0);
	fd = open(kept, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	snprintf(link_path, sizeof(link_path), "%s/sys/elsewhere", dir);
	assert_int_equal(symlink(outside, link_path), 0);

	assert_int_equal(sysfs_tree_remove(dir), 0);
	assert_int_equal(lstat(dir, &st), -1);
	assert_int_equal(stat(kept, &st), 0);

	/* Nor is a link in the tree's own place the tree. */
	assert_int_equal(symlink(outside, dir), 0);
	assert_int_equal(sysfs_tree_remove(dir), -ENOTDIR);
	assert_int_equal(stat(kept, &st), 0);
	unlink(dir);
	unlink(kept);
	rmdir(outside);
}

static void removing_what_is_not_there_is_done(void **state)
{
	assert_int_equal(sysfs_tree_remove(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_files_read_as_the_kernels_do, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(an_empty_gid_has_no_type, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_device_files_are_character_devices,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_site_without_devices_has_empty_classes,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_name_that_is_a_path_is_refused_and_leaves_nothing, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(an_update_writes_what_differs, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(removing_follows_no_link, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(removing_what_is_not_there_is_done,
						set_up, tear_down),
	};

	return harness_run(tests);
}
