/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_DELAY_H
#define KAPI_LINUX_DELAY_H

#include <verbcast/label.h>

void msleep(unsigned int ms) KAPI(msleep);
void usleep_range(unsigned long least, unsigned long most) KAPI(usleep_range);

#define mdelay(ms) msleep(ms)
#define udelay(us) usleep_range(us, us)
#define ssleep(s)  msleep((s)*1000)

#endif
