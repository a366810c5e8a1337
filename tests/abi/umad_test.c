// SPDX-License-Identifier: BSD-2-Clause
// libibumad where there is no verbcastd: it says what the stock library says, fills the
// same bytes, and fails in the same dialect.
#include "harness/harness.h"

#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <infiniband/umad_str.h>
#include <stdlib.h>
#include <string.h>

#define STOCK "libibumad.so.3"

/* The test is linked with ours; NULL where there is no other. */
static void *stock;

static void *stock_function(const char *name)
{
	void *function;

	if (!stock)
		skip();
	function = dlsym(stock, name);
	assert_non_null(function);
	return function;
}

static void names_are_those_of_the_stock_library(void **state)
{
	const char *(*class_str)(uint8_t) = stock_function("umad_class_str");
	const char *(*method_str)(uint8_t, uint8_t) = stock_function("umad_method_str");
	const char *(*attribute_str)(uint8_t, __be16) =
		stock_function("umad_attribute_str");
	const char *(*common_str)(__be16) = stock_function("umad_common_mad_status_str");
	const char *(*sa_str)(__be16) = stock_function("umad_sa_mad_status_str");
	unsigned int mgmt_class, n;

	for (mgmt_class = 0; mgmt_class < 256; mgmt_class++) {
		assert_string_equal(umad_class_str(mgmt_class), class_str(mgmt_class));
		for (n = 0; n < 256; n++) {
			/* There the stock library forgot the closing bracket. */
			if (strcmp(method_str(mgmt_class, n), "<unknown") == 0)
				assert_string_equal(umad_method_str(mgmt_class, n),
						    "<unknown>");
			else
				assert_string_equal(umad_method_str(mgmt_class, n),
						    method_str(mgmt_class, n));
		}
		for (n = 0; n < 0x400; n++)
			assert_string_equal(umad_attribute_str(mgmt_class, htobe16(n)),
					    attribute_str(mgmt_class, htobe16(n)));
	}
	for (n = 0; n < 65536; n++) {
		assert_string_equal(umad_common_mad_status_str(n), common_str(n));
		assert_string_equal(umad_sa_mad_status_str(n), sa_str(n));
	}
}

static void addresses_are_written_as_the_stock_library_does(void **state)
{
	int (*set_addr)(void *, int, int, int, int) = stock_function("umad_set_addr");
	int (*set_grh)(void *, void *) = stock_function("umad_set_grh");
	struct ib_user_mad ours = { 0 }, theirs = { 0 };
	ib_mad_addr_t grh;

	memset(&grh, 0x5a, sizeof(grh));
	grh.flow_label = 0x12345;
	assert_int_equal(umad_set_addr(&ours, 0x12, 0x123456, 3, 0x80010000), 0);
	set_addr(&theirs, 0x12, 0x123456, 3, 0x80010000);
	assert_memory_equal(&ours, &theirs, sizeof(ours));
	assert_int_equal(umad_set_grh(&ours, &grh), 0);
	set_grh(&theirs, &grh);
	assert_memory_equal(&ours, &theirs, sizeof(ours));
	umad_set_grh(&ours, NULL);
	set_grh(&theirs, NULL);
	assert_memory_equal(&ours, &theirs, sizeof(ours));
}

static void the_buffer_is_a_header_and_the_mad(void **state)
{
	struct ib_user_mad *mad = calloc(1, umad_size() + 256);

	assert_int_equal(umad_size(), 64);
	assert_ptr_equal(umad_get_mad(mad), (char *)mad + 64);
	assert_ptr_equal(umad_get_mad_addr(mad), &mad->addr);
	mad->status = ETIMEDOUT;
	assert_int_equal(umad_status(mad), ETIMEDOUT);
	umad_set_pkey(mad, 7);
	assert_int_equal(umad_get_pkey(mad), 7);
	free(mad);
}

static void there_is_no_device(void **state)
{
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN], path[256];
	umad_port_t port = { 0 };
	umad_ca_t ca = { 0 };
	__be64 guids[8];

	assert_int_equal(umad_init(), 0);
	assert_int_equal(umad_get_cas_names(names, UMAD_MAX_DEVICES), 0);
	assert_int_equal(umad_get_ca(NULL, &ca), -ENODEV);
	assert_int_equal(umad_get_ca("mthca0", &ca), -ENODEV);
	assert_int_equal(umad_get_port(NULL, 0, &port), -ENODEV);
	assert_int_equal(umad_get_ca_portguids(NULL, guids, 8), -ENODEV);
	assert_int_equal(umad_get_issm_path(NULL, 0, path, sizeof(path)), -ENODEV);
	assert_int_equal(umad_open_port(NULL, 0), -ENODEV);
	errno = 42;
	assert_null(umad_get_ca_device_list());
	assert_int_equal(errno, 0);
	umad_free_ca_device_list(NULL);
	assert_int_equal(umad_release_ca(&ca), 0);
	assert_int_equal(umad_release_port(&port), 0);
	assert_int_equal(umad_done(), 0);
}

static void each_call_fails_in_its_own_way(void **state)
{
	struct ib_user_mad mad = { 0 };
	struct umad_reg_attr attr = { .mgmt_class = 3 };
	uint8_t oui[3] = { 0 };
	int length = 256;
	uint32_t id;

	assert_int_equal(umad_register(77, 3, 2, 1, NULL), -EPERM);
	assert_int_equal(umad_register_oui(77, 0x30, 0, oui, NULL), -EPERM);
	assert_int_equal(umad_register_oui(77, 3, 0, oui, NULL), -EINVAL);
	assert_int_equal(umad_register2(77, &attr, &id), EBADF);
	assert_int_equal(umad_unregister(77, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(umad_send(77, 0, &mad, 256, 0, 0), -EIO);
	assert_int_equal(umad_recv(77, NULL, &length, 0), -EINVAL);
	assert_int_equal(umad_recv(77, &mad, NULL, 0), -EINVAL);
	assert_int_equal(umad_recv(77, &mad, &length, 0), -EBADF);
	assert_int_equal(umad_poll(77, 0), -EIO);
	assert_int_equal(umad_get_fd(77), 77);
}

static void a_list_of_devices_is_sorted_by_name(void **state)
{
	static const char *const names[] = { "vib2", "vib0", "vib10", "vib1", "vib0" };
	static const char *const sorted[] = { "vib0", "vib0", "vib1", "vib10", "vib2" };
	struct umad_device_node nodes[5] = { 0 }, *head = nodes, *node;
	size_t i;

	for (i = 0; i < 5; i++) {
		nodes[i].ca_name = names[i];
		nodes[i].next = i < 4 ? &nodes[i + 1] : NULL;
	}
	assert_int_equal(umad_sort_ca_device_list(&head, 5), 0);
	for (i = 0, node = head; node; node = node->next, i++)
		assert_string_equal(node->ca_name, sorted[i]);
	assert_int_equal(i, 5);
	head = NULL;
	assert_int_equal(umad_sort_ca_device_list(&head, 0), 0);
	assert_null(head);
}

/* By its path, for the soname is taken by ours. */
static void open_stock(void)
{
	static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu/" STOCK,
					       "/usr/lib/aarch64-linux-gnu/" STOCK,
					       "/usr/lib64/" STOCK };
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]) && !stock; i++)
		stock = dlmopen(LM_ID_NEWLM, folders[i], RTLD_NOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_the_stock_library),
		cmocka_unit_test(addresses_are_written_as_the_stock_library_does),
		cmocka_unit_test(the_buffer_is_a_header_and_the_mad),
		cmocka_unit_test(there_is_no_device),
		cmocka_unit_test(each_call_fails_in_its_own_way),
		cmocka_unit_test(a_list_of_devices_is_sorted_by_name),
	};

	open_stock();
	return harness_run(tests);
}
