/* SPDX-License-Identifier: BSD-2-Clause */
/* Readers and writers of one lock each: whoever wrote for RCU reads under it here. */
#ifndef KAPI_LINUX_RCUPDATE_H
#define KAPI_LINUX_RCUPDATE_H

#include <linux/types.h>
#include <verbcast/label.h>

void rcu_read_lock(void) KAPI(rcu_read_lock);
void rcu_read_unlock(void) KAPI(rcu_read_unlock);
/* All readers of this moment have left. */
void synchronize_rcu(void) KAPI(synchronize_rcu);

#define rcu_dereference(p)       smp_load_acquire(&(p))
#define rcu_assign_pointer(p, v) smp_store_release(&(p), (v))
#define RCU_INIT_POINTER(p, v)   ((p) = (v))

#endif
