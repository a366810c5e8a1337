/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's verbs, for C code written against Linux's <rdma/ib_verbs.h>: names,
 * signatures, errno and order of checks are Linux 6.12's (spec/kernel 1, 4, 5.1).
 *
 * What is different: there is no interrupt context, every call may be made from any
 * thread and may sleep; callbacks come from the loop or from a thread of completions,
 * with no lock held, never from inside the call that caused them. See verbcast/kapi.h.
 */
#ifndef KAPI_RDMA_IB_VERBS_H
#define KAPI_RDMA_IB_VERBS_H

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <rdma/verbs/device.h>
#include <rdma/verbs/dma.h>

#endif
