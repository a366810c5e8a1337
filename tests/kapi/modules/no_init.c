// SPDX-License-Identifier: BSD-2-Clause
/* A shared object that is no module. */
int kapi_test_nothing(void);

int kapi_test_nothing(void)
{
	return 0;
}
