/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <verbcast/kapi.h>

#include "base/log.h"
#include "daemon/admin_priv.h"
#include "engine/engine.h"
#include "kapi/calls.h"
#include "kapi/host.h"
#include "kapi/threads.h"

#define LIST_ROOM 4096

enum job_kind {
	JOB_LOAD,
	JOB_UNLOAD,
	JOB_UNLOAD_ALL,
};

/* What a thread does. Made by a command, in modules->jobs until it is done. */
struct job {
	struct list link;
	struct modules *modules;
	struct uapi_admin_call *call; /* null: nobody waits for the answer */
	enum job_kind kind;
	char *module; /* a file, or a name */
	char *parameters[ADMIN_PARAMETERS_MAX + 1];
	char why[512];
	int r;
};

/* What of a node is in use: verbcastd as a process of it, and its rdma_cm. */
struct place {
	struct uapi_process process;
	bool entered; /* `process` is one */
	struct shm_doorbell *doorbell;
	struct shm_counters *counters;
	struct cma *cma; /* shared with the node's clients; null: not used yet */
};

struct modules {
	struct site *site;
	struct list jobs;
	bool begun; /* the kernel API has a host */
	bool ending;
	unsigned int loaded;
	struct place *places; /* one a node; there while `begun` */
	unsigned int nodes;
};

/* -- the host of the kernel API ------------------------------------------------------- */

static struct ib_node *node_of(const struct modules *m, unsigned int n)
{
	return nodes_nth(m->site->nodes, n)->ib;
}

static void *host_node(void *arg, unsigned int n)
{
	return node_of(arg, n);
}

static void *host_cma(void *arg, unsigned int n)
{
	struct modules *m = arg;
	struct place *p = &m->places[n];

	if (!p->cma && uapi_server_cm_get(m->site->server, node_of(m, n), &p->cma) < 0)
		p->cma = NULL;
	return p->cma;
}

static void leave_place(struct modules *m, unsigned int n)
{
	struct place *p = &m->places[n];

	if (p->counters)
		shm_counters_unmap(p->counters);
	if (p->doorbell)
		shm_doorbell_unmap(p->doorbell);
	if (p->entered)
		site_process_close(m->site, p->process.slot);
	p->counters = NULL;
	p->doorbell = NULL;
	p->entered = false;
}

static int enter_place(struct modules *m, unsigned int n)
{
	struct place *p = &m->places[n];
	int r = site_process_open(m->site, node_of(m, n), getpid(), "verbcastd",
				  &p->process);

	p->entered = r == 0;
	if (!r)
		r = shm_doorbell_map(p->process.doorbell_fd, &p->doorbell);
	if (!r)
		r = shm_counters_map(p->process.counters_fd, 1, &p->counters);
	if (r < 0)
		leave_place(m, n);
	return r;
}

static int host_process(void *arg, unsigned int n, struct kapi_process *ret)
{
	struct modules *m = arg;
	struct place *p = &m->places[n];
	int r = p->entered ? 0 : enter_place(m, n);

	if (r < 0)
		return r;
	*ret = (struct kapi_process){
		.doorbell = p->doorbell,
		.counters = p->counters,
		.slot = p->process.slot,
		.incarnation = p->process.incarnation,
	};
	return 0;
}

static int copy_fd(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int host_map_peer(void *arg, unsigned int n, uint32_t slot,
			 struct engine_peer *ret)
{
	struct modules *m = arg;
	struct slot_view view;
	struct uapi_peer peer;
	int r = slots_map_peer(m->site->slots, m->places[n].process.slot, slot, &peer);

	if (r < 0)
		return r;
	*ret = (struct engine_peer){
		.incarnation = peer.incarnation,
		.dead = peer.dead,
		.pid = slots_view(m->site->slots, slot, &view) ? view.pid : 0,
		.doorbell_fd = copy_fd(peer.doorbell_fd),
		.log_fd = copy_fd(peer.log_fd),
	};
	return 0;
}

static int host_publish_log(void *arg, unsigned int n, int fd)
{
	struct modules *m = arg;
	int copy = copy_fd(fd), r;

	if (copy < 0)
		return -EMFILE;
	r = slots_publish_log(m->site->slots, m->places[n].process.slot, copy);
	if (r < 0)
		close(copy);
	return r;
}

static void host_drained(void *arg, unsigned int n, uint32_t slot, uint32_t incarnation)
{
	struct modules *m = arg;

	slots_drained(m->site->slots, m->places[n].process.slot, slot, incarnation);
}

static void host_rescan(void *arg)
{
	devices_follow(((struct modules *)arg)->site->devices);
}

static int host_begin(struct modules *m)
{
	const struct kapi_host host = {
		.loop = m->site->loop,
		.tables = m->site->tables,
		.logs = true,
		.clients_see_all = true,
		.watch_later = true,
		.nodes = m->nodes,
		.node = host_node,
		.cma = host_cma,
		.process = host_process,
		.map_peer = host_map_peer,
		.publish_log = host_publish_log,
		.drained = host_drained,
		.rescan = host_rescan,
		.arg = m,
	};

	return kapi_host_begin(&host);
}

/* What the API would open for itself is here already. */
int kapi_site_open(const struct kapi_site_config *config)
{
	return -EBUSY;
}

int kapi_site_close(void)
{
	return -EBUSY;
}

/* -- verbcastd as a process of its site ----------------------------------------------- */

static void leave_site(struct modules *m)
{
	for (unsigned int n = 0; m->places && n < m->nodes; n++) {
		if (m->places[n].cma)
			uapi_server_cm_put(node_of(m, n));
		leave_place(m, n);
	}
	free(m->places);
	m->places = NULL;
}

static int enter_site(struct modules *m)
{
	m->nodes = 0;
	while (nodes_nth(m->site->nodes, m->nodes))
		m->nodes++;
	m->places = calloc(m->nodes, sizeof(m->places[0]));
	return m->places ? 0 : -ENOMEM;
}

static int begin(struct modules *m)
{
	int r;

	if (m->begun)
		return 0;
	kapi_calls_claim();
	r = enter_site(m);
	if (r < 0)
		return r;
	r = host_begin(m);
	if (r < 0)
		leave_site(m);
	m->begun = r == 0;
	return r;
}

/* -- jobs ----------------------------------------------------------------------------- */

static void job_free(struct job *j)
{
	free(j->module);
	for (int i = 0; j->parameters[i]; i++)
		free(j->parameters[i]);
	free(j);
}

static struct job *job_create(struct modules *m, struct uapi_admin_call *call,
			      enum job_kind kind, const char *module,
			      const char *const *parameters)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->modules = m;
	j->call = call;
	j->kind = kind;
	j->module = strdup(module);
	for (int i = 0; parameters && parameters[i]; i++) {
		j->parameters[i] = strdup(parameters[i]);
		if (!j->parameters[i])
			break;
	}
	if (!j->module) {
		job_free(j);
		return NULL;
	}
	return j;
}

static void answer(struct job *j)
{
	if (!j->call)
		return;
	if (j->r == 0)
		admin_done(j->call);
	else if (*j->why)
		admin_refuse(j->call, "%s", j->why);
	else
		admin_refuse(j->call, "%s: %s", j->module,
			     j->r == -ENOENT  ? "no such module"
			     : j->r == -EBUSY ? "it has no exit, or another is busy"
					      : strerror(-j->r));
}

/* On the loop. */
static void job_done(void *arg)
{
	struct job *j = arg;
	struct modules *m = j->modules;

	if (j->kind == JOB_LOAD && j->r == 0)
		m->loaded++;
	if (j->kind == JOB_UNLOAD && j->r == 0)
		m->loaded--;
	if (j->kind == JOB_UNLOAD_ALL)
		m->loaded = 0;
	answer(j);
	list_remove(&j->link);
	job_free(j);
	if (list_empty(&m->jobs))
		site_idle(m->site);
}

static void unload_all(void)
{
	char names[LIST_ROOM], *name, *rest = names;

	kapi_module_list(names, sizeof(names));
	while ((name = strsep(&rest, "\n")) != NULL)
		if (*name && kapi_module_unload(name) < 0)
			log_warning("module %s stays to the end", name);
}

static void *work(void *arg)
{
	struct job *j = arg;

	if (j->kind == JOB_LOAD)
		kapi_host_watch();
	if (j->kind == JOB_LOAD)
		j->r = kapi_module_load(j->module, (const char *const *)j->parameters,
					j->why, sizeof(j->why));
	else if (j->kind == JOB_UNLOAD)
		j->r = kapi_module_unload(j->module);
	else
		unload_all();
	kapi_call(job_done, j);
	return NULL;
}

static void start(struct job *j)
{
	pthread_t thread;
	int r = kapi_thread_start(&thread, "kapi-module", work, j);

	list_append(&j->modules->jobs, &j->link);
	if (r == 0) {
		pthread_detach(thread);
		return;
	}
	j->r = r;
	job_done(j);
}

void modules_load(struct modules *m, struct uapi_admin_call *call, const char *path,
		  const char *const *parameters)
{
	struct job *j;
	int r = begin(m);

	if (r < 0) {
		admin_refuse(call, "the kernel API does not start: %s", strerror(-r));
		return;
	}
	j = job_create(m, call, JOB_LOAD, path, parameters);
	if (j)
		start(j);
	else
		admin_refuse(call, "verbcastd is out of memory");
}

void modules_unload(struct modules *m, struct uapi_admin_call *call, const char *name)
{
	struct job *j;

	if (!m->begun) {
		admin_refuse(call, "%s: no such module", name);
		return;
	}
	j = job_create(m, call, JOB_UNLOAD, name, NULL);
	if (j)
		start(j);
	else
		admin_refuse(call, "verbcastd is out of memory");
}

void modules_list(struct modules *m, struct uapi_admin_call *call)
{
	char names[LIST_ROOM];

	kapi_module_list(names, sizeof(names));
	uapi_admin_answer(call, ADMIN_DONE, names);
}

void modules_forget(struct modules *m, const struct uapi_admin_call *call)
{
	list_for_each(l, &m->jobs) {
		struct job *j = container_of(l, struct job, link);

		if (j->call == call)
			j->call = NULL;
	}
}

/* -- life ----------------------------------------------------------------------------- */

bool modules_any(const struct modules *m)
{
	return m && (m->loaded || !list_empty(&m->jobs));
}

void modules_end(struct modules *m)
{
	struct job *j;

	/* What is being loaded or unloaded comes to its end first: the last one calls. */
	if (m->ending || !list_empty(&m->jobs))
		return;
	m->ending = true;
	j = job_create(m, NULL, JOB_UNLOAD_ALL, "", NULL);
	if (j)
		start(j);
}

int modules_create(struct site *site, struct modules **ret)
{
	struct modules *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->site = site;
	list_init(&m->jobs);
	*ret = m;
	return 0;
}

void modules_destroy(struct modules *m)
{
	if (!m)
		return;
	if (m->begun) {
		kapi_host_end();
		kapi_works_end();
		kapi_timers_end();
		leave_site(m);
	}
	free(m);
}
