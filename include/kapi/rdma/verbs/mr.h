/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory regions and protection domains. */
#ifndef KAPI_RDMA_VERBS_MR_H
#define KAPI_RDMA_VERBS_MR_H

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/scatterlist.h>
#include <rdma/verbs/gid.h>

enum ib_access_flags {
	IB_ACCESS_LOCAL_WRITE = 1 << 0,
	IB_ACCESS_REMOTE_WRITE = 1 << 1,
	IB_ACCESS_REMOTE_READ = 1 << 2,
	IB_ACCESS_REMOTE_ATOMIC = 1 << 3,
	IB_ACCESS_MW_BIND = 1 << 4,
	IB_ZERO_BASED = 1 << 5,
	IB_ACCESS_ON_DEMAND = 1 << 6,
	IB_ACCESS_HUGETLB = 1 << 7,
	IB_ACCESS_FLUSH_GLOBAL = 1 << 8,
	IB_ACCESS_FLUSH_PERSISTENT = 1 << 9,
	IB_ACCESS_RELAXED_ORDERING = 1 << 20,
};

enum ib_mr_type {
	IB_MR_TYPE_MEM_REG,
	IB_MR_TYPE_SG_GAPS,
	IB_MR_TYPE_DM,
	IB_MR_TYPE_USER,
	IB_MR_TYPE_DMA,
	IB_MR_TYPE_INTEGRITY,
};

enum ib_mr_status_check {
	IB_MR_CHECK_SIG_STATUS = 1,
};

enum ib_sig_err_type {
	IB_SIG_BAD_GUARD,
	IB_SIG_BAD_REFTAG,
	IB_SIG_BAD_APPTAG,
};

struct ib_sig_err {
	enum ib_sig_err_type err_type;
	u32 expected;
	u32 actual;
	u64 sig_err_offset;
	u32 key;
};

/* Nothing of this fabric checks signatures: ib_check_mr_status is -EOPNOTSUPP but for a
 * driver that does. */
struct ib_mr_status {
	u32 fail_status;
	struct ib_sig_err sig_err;
};

struct ib_udata;

struct ib_pd {
	u32 local_dma_lkey;
	u32 flags;
	struct ib_device *device;
	void *uobject;
	atomic_t usecnt;
	u32 unsafe_global_rkey;
	struct ib_mr *__internal_mr;
};

struct ib_mr {
	struct ib_device *device;
	struct ib_pd *pd;
	u32 lkey;
	u32 rkey;
	u64 iova;
	u64 length;
	unsigned int page_size;
	enum ib_mr_type type;
	bool need_inval;
	void *uobject;
};

enum ib_pd_flags {
	IB_PD_UNSAFE_GLOBAL_RKEY = 0x01,
};

struct ib_pd *__ib_alloc_pd(struct ib_device *device, unsigned int flags,
			    const char *caller) KAPI(__ib_alloc_pd);
/* `local_dma_lkey` names all memory of the program. */
#define ib_alloc_pd(device, flags) __ib_alloc_pd((device), (flags), "verbcast")
int ib_dealloc_pd_user(struct ib_pd *pd, struct ib_udata *udata) KAPI(ib_dealloc_pd_user);

static inline void ib_dealloc_pd(struct ib_pd *pd)
{
	int ret = ib_dealloc_pd_user(pd, NULL);

	WARN_ONCE(ret, "destroying a protection domain failed: %d\n", ret);
}

/* Fast registration needs a work request of connected queue pairs: -EOPNOTSUPP but for a
 * driver that has it. */
struct ib_mr *ib_alloc_mr(struct ib_pd *pd, enum ib_mr_type mr_type, u32 max_num_sg)
	KAPI(ib_alloc_mr);
int ib_dereg_mr_user(struct ib_mr *mr, struct ib_udata *udata) KAPI(ib_dereg_mr_user);

static inline int ib_dereg_mr(struct ib_mr *mr)
{
	return ib_dereg_mr_user(mr, NULL);
}

int ib_check_mr_status(struct ib_mr *mr, u32 check_mask, struct ib_mr_status *mr_status)
	KAPI(ib_check_mr_status);

static inline void ib_update_fast_reg_key(struct ib_mr *mr, u8 newkey)
{
	mr->lkey = (mr->lkey & 0xffffff00) | newkey;
	mr->rkey = (mr->rkey & 0xffffff00) | newkey;
}

static inline u32 ib_inc_rkey(u32 rkey)
{
	return ((rkey + 1) & 0x000000ff) | (rkey & 0xffffff00);
}

#endif
