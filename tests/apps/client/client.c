// SPDX-License-Identifier: BSD-2-Clause
#include "client.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <malloc.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX      64
/* verbcastd's allocator keeps what it gets; this much it may have taken once more. */
#define DAEMON_SLACK_KIB 1024

unsigned int client_count(unsigned int check, unsigned int soak)
{
	const char *scale = getenv("VERBCAST_SCALE");

	if (!scale || strcmp(scale, "soak"))
		return check;
	if (client_sanitized())
		soak /= 10;
	return soak > check ? soak : check;
}

bool client_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#else
	return false;
#endif
}

uint64_t client_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void client_pause(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}

/* -- what a process holds ----------------------------------------------------------- */

unsigned int client_descriptors(pid_t pid)
{
	unsigned int n = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid ? pid : getpid());
	CHECK((dir = opendir(path)));
	for (struct dirent *e = readdir(dir); e; e = readdir(dir))
		n += e->d_name[0] != '.';
	closedir(dir);
	return pid ? n : n - 1; /* our own look at ourselves */
}

unsigned int client_rss_kib(pid_t pid)
{
	unsigned int kib = 0;
	char line[256];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/status", pid ? pid : getpid());
	CHECK((f = fopen(line, "re")));
	while (!kib && fgets(line, sizeof(line), f))
		sscanf(line, "VmRSS: %u", &kib);
	fclose(f);
	return kib;
}

size_t client_heap(void)
{
	return mallinfo2().uordblks;
}

struct client_holdings client_hold(pid_t daemon)
{
	return (struct client_holdings){
		.daemon = daemon,
		.heap = client_heap(),
		.descriptors = client_descriptors(0),
		.daemon_descriptors = client_descriptors(daemon),
		.daemon_rss_kib = client_rss_kib(daemon),
	};
}

void client_check_flat(const struct client_holdings *before, size_t slack)
{
	struct client_holdings now = client_hold(before->daemon);

	printf("descriptors %u, heap %zu; verbcastd's descriptors %u, memory %u KiB\n",
	       now.descriptors, now.heap, now.daemon_descriptors, now.daemon_rss_kib);
	CHECK(now.descriptors == before->descriptors);
	CHECK(now.daemon_descriptors == before->daemon_descriptors);
	if (client_sanitized())
		return;
	CHECK(now.heap <= before->heap + slack);
	CHECK(now.daemon_rss_kib <= before->daemon_rss_kib + DAEMON_SLACK_KIB);
}

/* -- verbs -------------------------------------------------------------------------- */

static _Atomic bool infiniband; /* of the device looked at last, by any thread */

static void look_at(struct ibv_context *context)
{
	struct ibv_port_attr port;

	CHECK(!ibv_query_port(context, 1, &port));
	infiniband = port.link_layer == IBV_LINK_LAYER_INFINIBAND;
}

bool client_infiniband(void)
{
	return infiniband;
}

struct ibv_context *client_open(void)
{
	return client_open_device(NULL);
}

struct ibv_context *client_open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **device = list;
	struct ibv_context *context;

	CHECK(list);
	while (name && *device && strcmp(ibv_get_device_name(*device), name))
		device++;
	CHECK(*device);
	CHECK(context = ibv_open_device(*device));
	ibv_free_device_list(list);
	look_at(context);
	return context;
}

static void to_state(struct ibv_qp *qp, enum ibv_qp_state to, uint32_t qkey,
		     uint16_t pkey_index)
{
	struct ibv_qp_attr attr = { .port_num = 1,
				    .qkey = qkey,
				    .pkey_index = pkey_index };
	const int masks[] = {
		[IBV_QPS_INIT] =
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		[IBV_QPS_RTR] = IBV_QP_STATE,
		[IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_SQ_PSN,
	};

	for (attr.qp_state = IBV_QPS_INIT; attr.qp_state <= to; attr.qp_state++)
		CHECK(!ibv_modify_qp(qp, &attr, masks[attr.qp_state]));
}

void client_to_state(struct ibv_qp *qp, enum ibv_qp_state to, uint32_t qkey)
{
	to_state(qp, to, qkey, 0);
}

void client_to_partition(struct ibv_qp *qp, uint16_t pkey_index)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };

	CHECK(!ibv_modify_qp(qp, &reset, IBV_QP_STATE));
	to_state(qp, IBV_QPS_RTS, CLIENT_QKEY, pkey_index);
}

union ibv_gid client_gid(const char *text)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, 0xff } };

	if (!strchr(text, ':'))
		CHECK(inet_pton(AF_INET, text, gid.raw + 12) == 1);
	else
		CHECK(inet_pton(AF_INET6, text, gid.raw) == 1);
	return gid;
}

union ibv_gid client_gid_number(unsigned int n)
{
	union ibv_gid gid = client_gid("ff0e::1:0:0");

	n = htonl(n);
	memcpy(gid.raw + 12, &n, sizeof(n));
	return gid;
}

/* The LID of a group, or of the port itself. */
static uint16_t lid_of(struct ibv_context *context, const union ibv_gid *to)
{
	static const uint8_t ipv4[12] = { [10] = 0xff, 0xff };
	struct ibv_port_attr port;

	if (!infiniband)
		return 0;
	if (to->raw[0] == 0xff || !memcmp(to->raw, ipv4, sizeof(ipv4)))
		return CLIENT_MLID;
	CHECK(!ibv_query_port(context, 1, &port));
	return port.lid;
}

struct ibv_ah *client_ah(struct ibv_pd *pd, const union ibv_gid *to)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct ibv_gid_entry own;
	struct ibv_ah *ah;

	CHECK(ibv_query_gid_table(pd->context, &own, 1, 0) == 1);
	attr.grh.dgid = *to;
	attr.grh.sgid_index = own.gid_index;
	attr.grh.hop_limit = 64;
	attr.dlid = lid_of(pd->context, to);
	CHECK(ah = ibv_create_ah(pd, &attr));
	return ah;
}

int client_attach(struct ibv_qp *qp, union ibv_gid *gid)
{
	return ibv_attach_mcast(qp, gid, infiniband ? CLIENT_MLID : 0);
}

int client_detach(struct ibv_qp *qp, union ibv_gid *gid)
{
	return ibv_detach_mcast(qp, gid, infiniband ? CLIENT_MLID : 0);
}

void client_qp_open(struct client_qp *q, struct ibv_pd *pd, unsigned int depth)
{
	size_t bytes = (CLIENT_GRH + CLIENT_BYTES) * ((size_t)depth + 1);
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	q->pd = pd;
	q->depth = depth;
	CHECK(q->send_cq = attr.send_cq = ibv_create_cq(pd->context, 4, NULL, NULL, 0));
	CHECK(q->cq = attr.recv_cq =
		      ibv_create_cq(pd->context, (int)depth + 1, q, NULL, 0));
	CHECK(q->qp = ibv_create_qp(pd, &attr));
	CHECK(q->memory = calloc(1, bytes));
	CHECK(q->mr = ibv_reg_mr(pd, q->memory, bytes, IBV_ACCESS_LOCAL_WRITE));
	client_to_state(q->qp, IBV_QPS_RTS, CLIENT_QKEY);
}

void client_qp_close(struct client_qp *q)
{
	CHECK(!ibv_destroy_qp(q->qp));
	CHECK(!ibv_destroy_cq(q->cq) && !ibv_destroy_cq(q->send_cq));
	CHECK(!ibv_dereg_mr(q->mr));
	free(q->memory);
}

static char *buffer(const struct client_qp *q, unsigned int n)
{
	return q->memory + (CLIENT_GRH + CLIENT_BYTES) * (size_t)n;
}

int client_post_recv(struct client_qp *q, unsigned int n)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buffer(q, n),
			       .length = CLIENT_GRH + CLIENT_BYTES,
			       .lkey = q->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(q->qp, &wr, &bad);
}

void client_post_recvs(struct client_qp *q, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		CHECK(!client_post_recv(q, i));
}

void client_send(struct client_qp *q, struct ibv_ah *ah, uint32_t qpn, char byte)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buffer(q, q->depth),
			       .length = CLIENT_BYTES,
			       .lkey = q->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = CLIENT_QKEY },
	};

	memset(buffer(q, q->depth), byte, CLIENT_BYTES);
	CHECK(!(errno = ibv_post_send(q->qp, &wr, &bad)));
	CHECK(client_poll(q->send_cq).status == IBV_WC_SUCCESS);
}

void client_cast(struct client_qp *q, struct ibv_ah *ah, char byte)
{
	client_send(q, ah, 0xffffff, byte);
}

struct ibv_wc client_poll(struct ibv_cq *cq)
{
	uint64_t end = client_now_ms() + CLIENT_LONG_MS;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		CHECK(client_now_ms() < end);
	CHECK(n == 1);
	return wc;
}

struct ibv_wc client_wait(struct client_qp *q)
{
	struct ibv_wc wc = client_poll(q->cq);

	CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
	CHECK(wc.qp_num == q->qp->qp_num && wc.wr_id < q->depth);
	return wc;
}

bool client_idle(struct client_qp *q)
{
	struct ibv_wc wc;

	/* A poll may find another thread at work on what is to come. */
	for (int i = 0; i < 16; i++)
		if (ibv_poll_cq(q->cq, 1, &wc))
			return false;
	return true;
}

char client_got(const struct client_qp *q, unsigned int n)
{
	return buffer(q, n)[CLIENT_GRH];
}

/* -- rdma_cm ------------------------------------------------------------------------ */

struct sockaddr_in client_ipv4(const char *text)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	CHECK(inet_pton(AF_INET, text, &a.sin_addr) == 1);
	return a;
}

struct sockaddr_in6 client_ipv6(const char *text)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6 };

	CHECK(inet_pton(AF_INET6, text, &a.sin6_addr) == 1);
	return a;
}

const char *client_address(void)
{
	const char *address = getenv("CLIENT_ADDRESS");

	return address ? address : "127.0.0.1";
}

struct rdma_cm_id *client_bound_id(struct rdma_event_channel *events)
{
	struct sockaddr_in here = client_ipv4(client_address());
	struct rdma_cm_id *id;

	CHECK(!rdma_create_id(events, &id, NULL, RDMA_PS_UDP));
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&here));
	look_at(id->verbs);
	return id;
}

void client_id_qp(struct rdma_cm_id *id, unsigned int depth)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = depth,
			 .max_recv_wr = depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	CHECK(!rdma_create_qp(id, NULL, &attr));
}

struct rdma_cm_event *client_event(struct rdma_event_channel *events,
				   enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event;

	CHECK(!rdma_get_cm_event(events, &event));
	if (event->event != type || event->status != status)
		printf("%s, status %d\n", rdma_event_str(event->event), event->status);
	CHECK(event->event == type && event->status == status);
	return event;
}

void client_expect(struct rdma_event_channel *events, enum rdma_cm_event_type type,
		   int status)
{
	CHECK(!rdma_ack_cm_event(client_event(events, type, status)));
}

bool client_no_event(struct rdma_event_channel *events)
{
	struct pollfd p = { .fd = events->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

/* -- threads ------------------------------------------------------------------------ */

void client_threads(unsigned int n, void *(*fn)(void *), void *arg, size_t size)
{
	pthread_t threads[THREADS_MAX];

	CHECK(n <= THREADS_MAX);
	for (unsigned int i = 0; i < n; i++)
		CHECK(!pthread_create(&threads[i], NULL, fn, (char *)arg + i * size));
	for (unsigned int i = 0; i < n; i++)
		CHECK(!pthread_join(threads[i], NULL));
}
