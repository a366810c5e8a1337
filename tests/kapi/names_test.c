// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300
/*
 * The names of the SEE ALSO lists of ib_attach_mcast(9), ib_sa_join_multicast(9) and
 * rdma_join_multicast(3), as spec/kernel 5.1 and 5.2 have them: each is there and does what
 * its row says for user space. `walk` names them one by one, so that none is dropped.
 */
#include <linux/scatterlist.h>
#include <rdma/rdma_cm.h>

#include "fake.h"
#include "signatures.h"
#include "site.h"

struct world {
	struct ib_device *device; /* vroce0 */
	struct fake *fake;
	struct site_qp qp;
};

static struct world w;

/* -- types -------------------------------------------------------------------------- */

static void see_types(void)
{
	struct rdma_stat_desc desc = { .name = "x", .flags = IB_STAT_FLAG_OPTIONAL };
	struct ib_udata udata = { .inlen = 0 };
	struct rdma_netdev netdev = { .mtu = 2048 };
	struct ib_mr_status status = { .sig_err.err_type = IB_SIG_BAD_GUARD };
	struct sa_path_rec_roce roce = { .route_resolved = true, .dmac = { 1 } };

	assert_string_equal(desc.name, "x");
	assert_null(udata.inbuf);
	assert_int_equal(netdev.mtu, 2048);
	assert_int_equal(status.fail_status, 0);
	assert_true(roce.route_resolved);
	assert_int_equal(IB_MR_TYPE_MEM_REG, 0);
	assert_int_equal(IB_MR_TYPE_INTEGRITY, 5);
}

static void see_hw_stats(void)
{
	struct rdma_hw_stats *stats = rdma_get_hw_stats(w.device, 1);

	assert_false(IS_ERR(stats));
	assert_string_equal(stats->descs[0].name, "tx_datagrams");
	assert_int_equal(stats->lifespan, RDMA_HW_STATS_DEFAULT_LIFESPAN);
	assert_int_equal(stats->value[0], 0);
	assert_int_equal(rdma_update_hw_stats(w.device, 1, stats), 0);
	rdma_free_hw_stats_struct(stats);
	assert_int_equal(PTR_ERR(rdma_get_hw_stats(w.device, 2)), -EINVAL);
	assert_int_equal(PTR_ERR(rdma_get_hw_stats(&w.fake->ib, 1)), -EOPNOTSUPP);
}

/* -- rates and speeds --------------------------------------------------------------- */

static void see_rates(void)
{
	assert_int_equal(ib_rate_to_mult(IB_RATE_14_GBPS), 6);
	assert_int_equal(ib_rate_to_mult(IB_RATE_PORT_CURRENT), -1);
	assert_int_equal(mult_to_ib_rate(24), IB_RATE_60_GBPS);
	assert_int_equal(mult_to_ib_rate(3), IB_RATE_PORT_CURRENT);
	assert_int_equal(ib_rate_to_mbps(IB_RATE_100_GBPS), 103125);
	assert_int_equal(ib_rate_to_mbps(IB_RATE_1600_GBPS), 1700000);
	assert_int_equal(ib_rate_to_mbps((enum ib_rate)24), -1);
	for (int rate = 0; rate <= IB_RATE_1600_GBPS; rate++)
		if (ib_rate_to_mult((enum ib_rate)rate) > 0)
			assert_int_equal(
				mult_to_ib_rate(ib_rate_to_mult((enum ib_rate)rate)),
				rate);
}

static void see_speed_info(void)
{
	struct ib_port_attr attr = { .active_speed = IB_SPEED_FDR10,
				     .active_width = IB_WIDTH_4X };
	struct ib_port_speed_info info;

	assert_int_equal(ib_port_attr_to_speed_info(&attr, &info), 0);
	assert_string_equal(info.str, " FDR10");
	assert_int_equal(info.rate, 400);
	attr.active_speed = 3; /* none: as SDR */
	assert_int_equal(ib_port_attr_to_speed_info(&attr, &info), 0);
	assert_int_equal(info.rate, 100);
	attr.active_width = 0;
	assert_int_equal(ib_port_attr_to_speed_info(&attr, &info), -EINVAL);
}

/* -- devices and ports -------------------------------------------------------------- */

static void see_client_data(void)
{
	struct ib_client client = { .name = "names" };
	int data;

	assert_null(ib_get_client_data(w.device, &client));
	assert_int_equal(ib_register_client(&client), 0);
	assert_null(ib_get_client_data(w.device, &client));
	ib_set_client_data(w.device, &client, &data);
	assert_ptr_equal(ib_get_client_data(w.device, &client), &data);
	ib_unregister_client(&client);
	assert_null(ib_get_client_data(w.device, &client));
}

static void see_references(void)
{
	assert_true(ib_device_try_get(w.device));
	ib_device_put(w.device);
	assert_ptr_equal(rdma_device_to_ibdev(&w.device->dev), w.device);
	assert_ptr_equal(rdma_device_to_drv_device(&w.fake->ib.dev, struct fake, ib),
			 w.fake);
	assert_int_equal(ibdev_to_node(w.device), NUMA_NO_NODE);
	rdma_roce_rescan_device(w.device);
}

static void see_transitions(void)
{
	assert_true(ib_modify_qp_is_ok(IB_QPS_RESET, IB_QPS_INIT, IB_QPT_UD,
				       IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
					       IB_QP_QKEY));
	assert_false(ib_modify_qp_is_ok(IB_QPS_RESET, IB_QPS_INIT, IB_QPT_UD,
					IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT));
	assert_true(ib_modify_qp_is_ok(IB_QPS_ERR, IB_QPS_ERR, IB_QPT_UD, IB_QP_STATE));
	assert_false(
		ib_modify_qp_is_ok(IB_QPS_RESET, IB_QPS_ERR, IB_QPT_UD, IB_QP_STATE));
	assert_false(ib_modify_qp_is_ok(IB_QPS_SQE, IB_QPS_SQE, IB_QPT_UD, IB_QP_STATE));
}

static void see_port_capabilities(void)
{
	struct ib_device *roce = w.device, *ib = &w.fake->ib;
	u32 port, ports = 0;

	assert_false(rdma_cap_ib_switch(roce));
	assert_int_equal(rdma_start_port(roce), 1);
	assert_int_equal(rdma_end_port(roce), 1);
	rdma_for_each_port(ib, port)
		ports += port;
	assert_int_equal(ports, 1 + 2);
	assert_true(rdma_cap_ib_mad(roce, 1) && rdma_cap_ib_mad(ib, 1));
	assert_false(rdma_cap_opa_mad(roce, 1) || rdma_cap_opa_mad(ib, 1));
	assert_true(!rdma_cap_ib_smi(roce, 1) && rdma_cap_ib_smi(ib, 1));
	assert_true(rdma_cap_ib_cm(roce, 1) && rdma_cap_ib_cm(ib, 1));
	assert_false(rdma_cap_iw_cm(roce, 1) || rdma_cap_iw_cm(ib, 1));
	assert_true(!rdma_cap_ib_sa(roce, 1) && rdma_cap_ib_sa(ib, 1));
	assert_true(!rdma_cap_ib_mcast(roce, 1) && rdma_cap_ib_mcast(ib, 1));
	assert_true(rdma_cap_af_ib(roce, 1) && rdma_cap_af_ib(ib, 1));
	assert_true(rdma_cap_eth_ah(roce, 1) && !rdma_cap_eth_ah(ib, 1));
	assert_false(rdma_cap_opa_ah(roce, 1) || rdma_cap_opa_ah(ib, 1));
	assert_int_equal(rdma_max_mad_size(roce, 1), 256);
	assert_int_equal(rdma_max_mad_size(roce, 7), 0);
	assert_false(rdma_cap_roce_gid_table(roce, 1));
	assert_false(rdma_core_cap_opa_port(roce, 1));
	assert_int_equal(rdma_mtu_enum_to_int(roce, 1, IB_MTU_4096), 4096);
	assert_int_equal(rdma_mtu_enum_to_int(roce, 1, 6), -1);
}

static void see_port_attributes(void)
{
	struct ib_port_attr attr;

	assert_int_equal(ib_query_port(w.device, 1, &attr), 0);
	assert_int_equal(rdma_mtu_from_attr(w.device, 1, &attr), 4096);
	assert_int_equal(ib_query_port(w.device, 2, &attr), -EINVAL);
	assert_int_equal(rdma_ah_find_type(w.device, 1), RDMA_AH_ATTR_TYPE_ROCE);
	assert_int_equal(rdma_ah_find_type(&w.fake->ib, 1), RDMA_AH_ATTR_TYPE_IB);
	assert_int_equal(rdma_ah_find_type(w.device, 9), RDMA_AH_ATTR_TYPE_UNDEFINED);
	assert_int_equal(ib_lid_cpu16(0xc001), 0xc001);
	assert_int_equal(ib_lid_be16(0xc001), cpu_to_be16(0xc001));
}

/* -- address handles ---------------------------------------------------------------- */

static void see_address_handles(void)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE, .port_num = 1 }, got;
	union ib_gid group = site_group(1);
	struct ib_pd *pd = w.qp.pd;
	struct ib_ah *ah;

	assert_int_equal(PTR_ERR(rdma_create_ah(pd, &attr, 0)), -EINVAL);
	rdma_ah_set_grh(&attr, &group, 0, 200, 64, 0);
	assert_int_equal(PTR_ERR(rdma_create_ah(pd, &attr, 0)), -EINVAL);
	attr.grh.sgid_index = 0;
	attr.port_num = 2;
	assert_int_equal(PTR_ERR(rdma_create_ah(pd, &attr, 0)), -EINVAL);
	attr.port_num = 1;
	ah = rdma_create_ah(pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	assert_false(IS_ERR(ah));
	assert_null(attr.grh.sgid_attr);
	assert_int_equal(rdma_query_ah(ah, &got), 0);
	assert_int_equal(got.grh.hop_limit, 64);
	got.grh.hop_limit = 3;
	assert_int_equal(rdma_modify_ah(ah, &got), 0);
	got.type = RDMA_AH_ATTR_TYPE_IB;
	assert_int_equal(rdma_modify_ah(ah, &got), -EINVAL);
	assert_int_equal(rdma_query_ah(ah, &got), 0);
	assert_int_equal(got.grh.hop_limit, 3);
	assert_int_equal(rdma_destroy_ah_user(ah, 0, NULL), 0);
	ah = rdma_create_user_ah(pd, &attr, NULL);
	assert_false(IS_ERR(ah));
	assert_memory_equal(attr.roce.dmac, "\x01\x00\x5e\x01\x02\x01", 6);
	rdma_destroy_ah(ah, 0);
}

static void see_headers(void)
{
	union rdma_network_hdr hdr = { 0 };
	union ib_gid sgid, dgid;
	u8 *bytes = (u8 *)&hdr;

	/* An IPv4 header with a right checksum, in front of which looks like IPv6. */
	memcpy(bytes + 20,
	       "\x45\x00\x00\x3c\x00\x00\x40\x00\x40\x11\x87\xab\xc0\x00\x02\x01"
	       "\xef\x01\x02\x03",
	       20);
	assert_int_equal(ib_get_rdma_header_version(&hdr), 4);
	bytes[0] = 0x60;
	assert_int_equal(ib_get_rdma_header_version(&hdr), 4);
	bytes[20 + 10] ^= 1;
	assert_int_equal(ib_get_rdma_header_version(&hdr), 6);
	bytes[20] = 0x46;
	assert_int_equal(ib_get_rdma_header_version(&hdr), 6);
	bytes[0] = bytes[20] = 0;
	assert_int_equal(ib_get_rdma_header_version(&hdr), 0);
	assert_int_equal(ib_get_gids_from_rdma_hdr(&hdr, RDMA_NETWORK_IPV4, &sgid, &dgid),
			 0);
	assert_memory_equal(sgid.raw + 10, "\xff\xff\xc0\x00\x02\x01", 6);
	assert_memory_equal(dgid.raw + 10, "\xff\xff\xef\x01\x02\x03", 6);
	assert_int_equal(ib_get_gids_from_rdma_hdr(&hdr, RDMA_NETWORK_IPV6, &sgid, &dgid),
			 0);
	assert_memory_equal(&dgid, bytes + 24, 16);
	assert_int_equal(ib_get_gids_from_rdma_hdr(NULL, RDMA_NETWORK_IPV6, &sgid, &dgid),
			 -EINVAL);
}

/* The reply to a unicast datagram is addressed; to a multicast one it cannot be. */
static void see_reply_addresses(void)
{
	union rdma_network_hdr hdr = { 0 };
	struct ib_wc wc = { .wc_flags = IB_WC_GRH };
	struct rdma_ah_attr attr;
	union ib_gid own;
	u8 *ip = (u8 *)&hdr + 20;

	memcpy(ip,
	       "\x45\x00\x00\x3c\x00\x00\x40\x00\x40\x11\x87\xab\xc0\x00\x02\x01"
	       "\xef\x01\x02\x03",
	       20);
	assert_int_equal(ib_init_ah_attr_from_wc(w.device, 1, &wc, &hdr.ibgrh, &attr),
			 -ENOENT);
	assert_int_equal(PTR_ERR(ib_create_ah_from_wc(w.qp.pd, &wc, &hdr.ibgrh, 1)),
			 -ENOENT);
	wc.wc_flags = 0;
	assert_int_equal(ib_init_ah_attr_from_wc(w.device, 1, &wc, &hdr.ibgrh, &attr),
			 -EPROTOTYPE);
	assert_int_equal(rdma_query_gid(w.device, 1, 0, &own), 0);
	wc.wc_flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	wc.network_hdr_type = RDMA_NETWORK_IPV4;
	memcpy(ip + 16, own.raw + 12, 4);
	assert_int_equal(ib_init_ah_attr_from_wc(w.device, 1, &wc, &hdr.ibgrh, &attr), 0);
	assert_int_equal(attr.grh.hop_limit, 0xff);
	assert_memory_equal(attr.grh.dgid.raw + 12, "\xc0\x00\x02\x01", 4);
	rdma_destroy_ah_attr(&attr);
	rdma_destroy_ah(ib_create_ah_from_wc(w.qp.pd, &wc, &hdr.ibgrh, 1), 0);
}

/* -- objects ------------------------------------------------------------------------ */

static void see_protection_domains(void)
{
	struct ib_pd *pd = ib_alloc_pd(w.device, 0);

	assert_false(IS_ERR(pd));
	assert_int_not_equal(pd->local_dma_lkey, 0);
	ib_dealloc_pd(pd);
	pd = ib_alloc_pd(w.device, IB_PD_UNSAFE_GLOBAL_RKEY);
	assert_false(IS_ERR(pd));
	assert_int_not_equal(pd->unsafe_global_rkey, 0);
	ib_dealloc_pd(pd);
}

static void see_shared_receive_queues(void)
{
	struct ib_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ib_srq_attr attr = { .srq_limit = 2 };
	struct ib_recv_wr wr = { .wr_id = 1 };
	struct ib_srq *srq = ib_create_srq(w.qp.pd, &init);

	assert_false(IS_ERR(srq));
	assert_int_equal(ib_modify_srq(srq, &attr, IB_SRQ_LIMIT), 0);
	assert_int_equal(ib_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 2);
	assert_int_equal(ib_post_srq_recv(srq, &wr, NULL), 0);
	atomic_inc(&srq->usecnt);
	assert_int_equal(ib_destroy_srq_user(srq, NULL), -EBUSY);
	atomic_dec(&srq->usecnt);
	ib_destroy_srq(srq);
	assert_int_equal(
		PTR_ERR(ib_create_srq(&(struct ib_pd){ .device = &w.fake->ib }, &init)),
		-EOPNOTSUPP);
}

static void see_queue_pairs(void)
{
	struct ib_qp_open_attr open = { .qp_type = IB_QPT_UD };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_qp_init_attr init;
	struct site_qp q;

	site_qp_create(&q, w.device);
	assert_int_equal(ib_query_qp(q.qp, &attr, IB_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IB_QPS_RTS);
	assert_int_equal(attr.qkey, SITE_QKEY);
	assert_int_equal(init.cap.max_recv_wr, SITE_DEPTH);
	attr.qp_state = IB_QPS_INIT;
	assert_int_equal(ib_modify_qp(q.qp, &attr, IB_QP_STATE), -EINVAL);
	attr.qp_state = IB_QPS_ERR;
	assert_int_equal(ib_modify_qp_with_udata(q.qp, &attr, IB_QP_STATE, NULL), 0);
	assert_int_equal(PTR_ERR(ib_open_qp(NULL, &open)), -EINVAL);
	open.qp_type = IB_QPT_XRC_TGT;
	assert_int_equal(PTR_ERR(ib_open_qp(NULL, &open)), -EOPNOTSUPP);
	assert_int_equal(ib_close_qp(q.qp), -EINVAL);
	site_qp_destroy(&q);
}

static void see_completion_queues(void)
{
	struct ib_cq *cq = ib_alloc_cq_any(w.device, NULL, 4, IB_POLL_DIRECT);
	struct ib_wc wc;

	assert_false(IS_ERR(cq));
	assert_int_equal(rdma_set_cq_moderation(cq, 1, 1), -EOPNOTSUPP);
	assert_int_equal(ib_poll_cq(cq, 1, &wc), 0);
	assert_int_equal(
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS), 0);
	assert_int_equal(ib_process_cq_direct(cq, 8), 0);
	atomic_inc(&cq->usecnt);
	assert_int_equal(ib_destroy_cq_user(cq, NULL), -EBUSY);
	atomic_dec(&cq->usecnt);
	ib_destroy_cq(cq);
}

static void see_memory_regions(void)
{
	struct ib_mr mr = { .device = &w.fake->ib, .lkey = 0x1234, .rkey = 0x12ff };
	struct ib_mr_status status;

	ib_update_fast_reg_key(&mr, 0xab);
	assert_int_equal(mr.lkey, 0x12ab);
	assert_int_equal(mr.rkey, 0x12ab);
	assert_int_equal(ib_inc_rkey(0x12ff), 0x1200);
	assert_int_equal(ib_check_mr_status(&mr, IB_MR_CHECK_SIG_STATUS, &status),
			 -EOPNOTSUPP);
	assert_int_equal(ib_dereg_mr(&mr), -EOPNOTSUPP);
	assert_int_equal(ib_dereg_mr_user(&mr, NULL), -EOPNOTSUPP);
	assert_int_equal(PTR_ERR(ib_alloc_mr(w.qp.pd, IB_MR_TYPE_MEM_REG, 1)),
			 -EOPNOTSUPP);
}

/* -- addresses for the device ------------------------------------------------------- */

static void see_dma(void)
{
	struct page *page = alloc_page(GFP_KERNEL);
	struct bio_vec bvec = { .bv_page = page, .bv_len = 8, .bv_offset = 16 };
	struct ib_device *d = w.device;
	struct sg_table table;
	u64 a;

	a = ib_dma_map_single(d, page, 8, DMA_TO_DEVICE);
	assert_ptr_equal(ib_virt_dma_to_ptr(a), page);
	assert_ptr_equal(ib_virt_dma_to_page(a + 5), page);
	assert_int_equal(ib_dma_mapping_error(d, a), 0);
	ib_dma_sync_single_for_cpu(d, a, 8, DMA_TO_DEVICE);
	ib_dma_sync_single_for_device(d, a, 8, DMA_TO_DEVICE);
	ib_dma_unmap_single(d, a, 8, DMA_TO_DEVICE);
	assert_int_equal(ib_dma_map_page(d, page, 4, 4, DMA_TO_DEVICE), a + 4);
	ib_dma_unmap_page(d, a + 4, 4, DMA_TO_DEVICE);
	assert_int_equal(ib_dma_map_bvec(d, &bvec, DMA_TO_DEVICE), a + 16);
	ib_dma_unmap_bvec(d, a + 16, 8, DMA_TO_DEVICE);
	assert_int_equal(sg_alloc_table(&table, 2, GFP_KERNEL), 0);
	sg_set_page(&table.sgl[0], page, 8, 0);
	sg_set_page(&table.sgl[1], page, 8, 32);
	assert_int_equal(ib_dma_map_sg(d, table.sgl, 2, DMA_TO_DEVICE), 2);
	assert_int_equal(sg_dma_address(&table.sgl[1]), a + 32);
	ib_dma_unmap_sg(d, table.sgl, 2, DMA_TO_DEVICE);
	assert_int_equal(ib_dma_map_sgtable_attrs(d, &table, DMA_TO_DEVICE, 0), 0);
	table.orig_nents = 0;
	assert_int_equal(ib_dma_map_sgtable_attrs(d, &table, DMA_TO_DEVICE, 0), -EIO);
	sg_free_table(&table);
	assert_int_equal(ib_dma_max_seg_size(d), UINT_MAX);
	__free_page(page);
}

/* Spec/kernel 8.3. */
static void see_source_ports(void)
{
	assert_int_equal(rdma_calc_flow_label(0x11, 0xffffff), 0xffee0);
	assert_int_equal(rdma_get_udp_sport(0, 0x11, 0xffffff), 0xfedf);
	assert_int_equal(rdma_get_udp_sport(0, 0xffffff, 0xffffff), 0xff21);
	assert_int_equal(rdma_get_udp_sport(0x12345, 1, 2), 0xe341);
	assert_int_equal(rdma_flow_label_to_udp_sport(0xfffff), 0xffc0);
}

/* -- SA ----------------------------------------------------------------------------- */

static int never_called(int status, struct ib_sa_multicast *multicast)
{
	fail();
	return 0;
}

/* There is no SA behind a RoCE port (spec/kernel 2.3). */
static void see_sa_on_roce(void)
{
	struct ib_sa_mcmember_rec rec = { .join_state = 1 };
	struct rdma_ah_attr attr;
	struct ib_sa_client client;

	ib_sa_register_client(&client);
	assert_int_equal(PTR_ERR(ib_sa_join_multicast(&client, w.device, 1, &rec,
						      IB_SA_MCMEMBER_REC_MGID, GFP_KERNEL,
						      never_called, NULL)),
			 -ENODEV);
	assert_int_equal(ib_sa_get_mcmember_rec(w.device, 1, &rec.mgid, &rec), -ENODEV);
	assert_int_equal(ib_init_ah_from_mcmember(w.device, 1, &rec, NULL,
						  IB_GID_TYPE_ROCE_UDP_ENCAP, &attr),
			 -ENOENT);
	assert_int_equal(rdma_query_gid(w.device, 1, 0, &rec.port_gid), 0);
	rec.mgid = site_group(1);
	rec.hop_limit = 64;
	assert_int_equal(ib_init_ah_from_mcmember(w.device, 1, &rec, NULL,
						  IB_GID_TYPE_ROCE_UDP_ENCAP, &attr),
			 0);
	assert_int_equal(attr.grh.hop_limit, 64);
	assert_memory_equal(&attr.grh.dgid, &rec.mgid, 16);
	rdma_destroy_ah_attr(&attr);
	ib_sa_unregister_client(&client);
}

static void see_records(void)
{
	struct sa_path_rec path = { .pkey = cpu_to_be16(0x8001), .mtu = 4, .sl = 3 },
			   back;
	struct sa_service_rec service = { .pkey = cpu_to_be16(0x8001), .name = "x" },
			      again;
	u8 wire[176];

	path.ib.dlid = cpu_to_be16(0x11);
	ib_sa_pack_path(&path, wire);
	assert_memory_equal(wire + 40, "\x00\x11", 2);
	memset(&back, 0, sizeof(back));
	back.rec_type = SA_PATH_REC_TYPE_OPA;
	ib_sa_unpack_path(wire, &back);
	assert_int_equal(back.pkey, path.pkey);
	assert_int_equal(back.sl, 3);
	assert_int_equal(back.ib.dlid, path.ib.dlid);
	assert_int_equal(back.rec_type, SA_PATH_REC_TYPE_OPA);
	service.reserved[0] = 9;
	ib_sa_pack_service(&service, wire);
	assert_memory_equal(wire + 24, "\x80\x01\x00\x00", 4);
	memset(&again, 0, sizeof(again));
	ib_sa_unpack_service(wire, &again);
	assert_string_equal((char *)again.name, "x");
}

/* -- the walk ----------------------------------------------------------------------- */

/* One function may see several names. */
static const struct {
	const char *names;
	void (*see)(void);
} walk[] = {
	{ "rdma_stat_desc ib_mr_type ib_mr_status ib_udata rdma_netdev sa_path_rec_roce",
	  see_types },
	{ "rdma_hw_stats", see_hw_stats },
	{ "ib_rate_to_mult mult_to_ib_rate ib_rate_to_mbps", see_rates },
	{ "ib_port_attr_to_speed_info", see_speed_info },
	{ "ib_get_client_data", see_client_data },
	{ "ib_device_try_get rdma_device_to_ibdev rdma_device_to_drv_device "
	  "ibdev_to_node "
	  "rdma_roce_rescan_device",
	  see_references },
	{ "ib_modify_qp_is_ok", see_transitions },
	{ "rdma_cap_ib_switch rdma_start_port rdma_end_port rdma_for_each_port "
	  "rdma_cap_ib_mad rdma_cap_opa_mad rdma_cap_ib_smi rdma_cap_ib_cm "
	  "rdma_cap_iw_cm "
	  "rdma_cap_ib_sa rdma_cap_ib_mcast rdma_cap_af_ib rdma_cap_eth_ah "
	  "rdma_cap_opa_ah "
	  "rdma_max_mad_size rdma_cap_roce_gid_table rdma_core_cap_opa_port "
	  "rdma_mtu_enum_to_int",
	  see_port_capabilities },
	{ "rdma_mtu_from_attr rdma_ah_find_type ib_lid_cpu16 ib_lid_be16",
	  see_port_attributes },
	{ "rdma_create_ah rdma_create_user_ah rdma_modify_ah rdma_query_ah "
	  "rdma_destroy_ah_user rdma_destroy_ah",
	  see_address_handles },
	{ "ib_get_gids_from_rdma_hdr ib_get_rdma_header_version", see_headers },
	{ "ib_init_ah_attr_from_wc ib_create_ah_from_wc", see_reply_addresses },
	{ "ib_alloc_pd ib_dealloc_pd", see_protection_domains },
	{ "ib_modify_srq ib_query_srq ib_destroy_srq_user ib_destroy_srq "
	  "ib_post_srq_recv",
	  see_shared_receive_queues },
	{ "ib_create_qp ib_modify_qp_with_udata ib_modify_qp ib_query_qp ib_destroy_qp "
	  "ib_open_qp ib_close_qp ib_device_ops",
	  see_queue_pairs },
	{ "ib_alloc_cq_any rdma_set_cq_moderation ib_destroy_cq_user ib_destroy_cq "
	  "ib_poll_cq "
	  "ib_req_notify_cq",
	  see_completion_queues },
	{ "ib_dereg_mr_user ib_dereg_mr ib_update_fast_reg_key ib_inc_rkey "
	  "ib_check_mr_status",
	  see_memory_regions },
	{ "ib_virt_dma_to_ptr ib_virt_dma_to_page ib_dma_mapping_error ib_dma_map_single "
	  "ib_dma_unmap_single ib_dma_map_page ib_dma_unmap_page ib_dma_map_bvec "
	  "ib_dma_unmap_bvec ib_dma_map_sgtable_attrs ib_dma_map_sg ib_dma_unmap_sg "
	  "ib_dma_max_seg_size ib_dma_sync_single_for_cpu ib_dma_sync_single_for_device",
	  see_dma },
	{ "rdma_flow_label_to_udp_sport rdma_calc_flow_label rdma_get_udp_sport",
	  see_source_ports },
	{ "ib_sa_register_client ib_sa_unregister_client ib_init_ah_from_mcmember",
	  see_sa_on_roce },
	{ "ib_sa_pack_path ib_sa_unpack_path ib_sa_pack_service ib_sa_unpack_service",
	  see_records },
	/* Elsewhere: multicast_test.c and attach_test.c, cm_test.c. */
	{ "ib_post_send ib_post_recv ib_detach_mcast", NULL },
	{ "rdma_leave_multicast rdma_bind_addr rdma_resolve_addr rdma_create_qp", NULL },
	/* The user's library has it, and no other (spec/kernel 5.2). */
	{ "rdma_get_cm_event", NULL },
};

/* Among the words of the walk. */
static bool is_walked(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(walk); i++) {
		const char *s = walk[i].names;

		while ((s = strstr(s, name)) != NULL) {
			bool begins = s == walk[i].names || s[-1] == ' ';

			if (begins && (s[length] == ' ' || !s[length]))
				return true;
			s += length;
		}
	}
	return false;
}

static unsigned int count_names(void)
{
	unsigned int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(walk); i++) {
		n++;
		for (const char *s = walk[i].names; (s = strchr(s, ' ')) != NULL; s++)
			n++;
	}
	return n;
}

static void every_name_of_the_manual_pages_is_there(void **state)
{
	assert_int_equal(site_setup(state), 0);
	w.device = site_device("vroce0");
	w.fake = fake_create(IB_LINK_LAYER_INFINIBAND, IB_LINK_LAYER_INFINIBAND);
	assert_int_equal(ib_register_device(&w.fake->ib, "fake%d", NULL), 0);
	site_qp_create(&w.qp, w.device);
	for (size_t i = 0; i < ARRAY_SIZE(walk); i++)
		if (walk[i].see)
			walk[i].see();
	site_qp_destroy(&w.qp);
	ib_unregister_device(&w.fake->ib);
	assert_false(ib_device_try_get(&w.fake->ib));
	fake_destroy(w.fake);
	ib_device_put(w.device);
	assert_int_equal(site_teardown(state), 0);
}

/* The calls that the pages are about; they do not name themselves. */
static bool is_a_page(const char *name)
{
	static const char *const pages[] = {
		"ib_attach_mcast",        "ib_sa_join_multicast", "ib_sa_free_multicast",
		"ib_sa_get_mcmember_rec", "ib_sa_cancel_query",   "rdma_join_multicast",
	};

	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		if (!strcmp(pages[i], name))
			return true;
	return false;
}

/* The list with the signatures and the walk are the same names: all rows of spec/kernel 5.1
 * and 5.2. */
static void none_is_dropped(void **state)
{
	unsigned int names = 0;

	for (size_t i = 0; i < ARRAY_SIZE(signatures); i++) {
		assert_non_null(signatures[i].fn);
		if (is_a_page(signatures[i].name))
			continue;
		names++;
		if (!is_walked(signatures[i].name))
			fail_msg("%s is not walked", signatures[i].name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(no_functions); i++)
		if (!is_walked(no_functions[i]))
			fail_msg("%s is not walked", no_functions[i]);
	names += ARRAY_SIZE(no_functions);
	assert_int_equal(names, 109);
	assert_int_equal(count_names(), 109);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_of_the_manual_pages_is_there),
		cmocka_unit_test(none_is_dropped),
	};

	return harness_run(tests);
}
