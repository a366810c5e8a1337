/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_INIT_H
#define KAPI_LINUX_INIT_H

#define __init
#define __exit
#define __initdata
#define __exitdata

#endif
