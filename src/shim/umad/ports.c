// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opening and closing ports (spec/userland 4.2). The process's end closes them, as
 * verbcastd sees it.
 *
 * Differs: a child after a fork has none of its parent's ports. The stock library's are
 * files, which both could use.
 */
#include "ports.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/export.h"

static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t ports_receive_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list ports = LIST_INIT(ports); /* guarded by ports_lock */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* -- forks -------------------------------------------------------------------------- */

static void fork_prepare(void)
{
	pthread_mutex_lock(&ports_lock);
	pthread_mutex_lock(&ports_receive_lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&ports_receive_lock);
	pthread_mutex_unlock(&ports_lock);
}

/* What the child keeps open would keep the port alive beyond its parent's end. The rings'
 * mapping it does not have. */
static void fork_child(void)
{
	pthread_mutex_init(&ports_lock, NULL);
	pthread_mutex_init(&ports_receive_lock, NULL);
	list_for_each_safe(l, &ports) {
		struct port *port = container_of(l, struct port, link);

		uapi_connection_close(port->connection);
		descriptor_close(&port->socket);
		free(port);
	}
	list_init(&ports);
}

static void fork_handlers_install(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* -- the table ---------------------------------------------------------------------- */

static void put_locked(struct port *port)
{
	if (--port->refs)
		return;
	uapi_connection_close(port->connection);
	descriptor_close(&port->socket);
	uapi_umad_rings_unmap(port->rings);
	pthread_mutex_destroy(&port->send_lock);
	free(port);
}

static void unlink_locked(struct port *port)
{
	list_remove(&port->link);
	put_locked(port);
}

/* Forgets on the way what the program has closed by itself. */
static struct port *find_locked(int portid)
{
	struct port *found = NULL;

	list_for_each_safe(l, &ports) {
		struct port *port = container_of(l, struct port, link);

		if (!descriptor_is_ours(&port->socket))
			unlink_locked(port);
		else if (port->socket.fd == portid)
			found = port;
	}
	return found;
}

/* Not whether it is still ours: like the stock library, we take the program's word. */
struct port *port_get(int portid)
{
	struct port *found = NULL;

	pthread_mutex_lock(&ports_lock);
	list_for_each(l, &ports) {
		struct port *port = container_of(l, struct port, link);

		if (port->socket.fd == portid)
			found = port;
	}
	if (found)
		found->refs++;
	pthread_mutex_unlock(&ports_lock);
	return found;
}

void port_put(struct port *port)
{
	pthread_mutex_lock(&ports_lock);
	put_locked(port);
	pthread_mutex_unlock(&ports_lock);
}

bool port_was_told_of_its_end(int portid)
{
	struct port *port;
	bool told = false;

	pthread_mutex_lock(&ports_lock);
	port = find_locked(portid);
	if (port) {
		told = port->told_of_end;
		port->told_of_end = true;
	}
	pthread_mutex_unlock(&ports_lock);
	return told;
}

int port_call(struct port *port, struct uapi_call *call)
{
	return site_call(port->connection, call);
}

/* -- open and close ----------------------------------------------------------------- */

/* The socket and the rings' file. */
static int ask_to_open(struct uapi_connection *c, const struct uapi_umad_port *which,
		       int ret_fds[2])
{
	struct uapi_umad_open req = { .id = which->id, .port_num = which->port_num };
	int fds[UAPI_FDS_MAX];
	struct uapi_call call = {
		.op = UAPI_UMAD_OPEN,
		.req = &req,
		.reqlen = sizeof(req),
		.recv_fds = fds,
	};
	int r;

	r = site_call(c, &call);
	if (r < 0)
		return r;
	if (call.recv_fds_n != 2) {
		for (unsigned int i = 0; i < call.recv_fds_n; i++)
			close(fds[i]);
		return -EPROTO;
	}
	memcpy(ret_fds, fds, 2 * sizeof(*fds));
	return 0;
}

static int hold(struct port *port, int fd)
{
	descriptor_hold(&port->socket, fd);
	if (port->socket.fd < 0)
		return -EMFILE;
	pthread_mutex_init(&port->send_lock, NULL);
	port->out = (struct uapi_umad_end){ &port->rings->out, 0 };
	port->in = (struct uapi_umad_end){ &port->rings->in, 0 };
	port->refs = 1;
	return 0;
}

/* Takes over the descriptors. */
static int make_port(const int fds[2], struct port **ret)
{
	struct port *port = calloc(1, sizeof(*port));
	int r = port ? uapi_umad_rings_map(fds[1], &port->rings) : -ENOMEM;

	close(fds[1]);
	if (r < 0)
		close(fds[0]);
	else
		r = hold(port, fds[0]);
	if (r < 0) {
		if (port)
			uapi_umad_rings_unmap(port->rings);
		free(port);
		return r;
	}
	*ret = port;
	return 0;
}

static int publish(struct uapi_connection *c, const int fds[2])
{
	struct port *port;
	int r = make_port(fds, &port);

	if (r < 0)
		return r;
	port->connection = c;
	pthread_once(&fork_once, fork_handlers_install);
	pthread_mutex_lock(&ports_lock);
	find_locked(-1);
	list_append(&ports, &port->link);
	pthread_mutex_unlock(&ports_lock);
	return port->socket.fd;
}

VC_EXPORT int umad_open_port(const char *ca_name, int portnum)
{
	struct uapi_umad_port which;
	struct uapi_connection *c;
	int fds[2], r;

	r = site_connect_and_find(&c, ca_name, portnum, &which);
	if (r < 0)
		return refuse(r, -r);
	r = ask_to_open(c, &which, fds);
	if (!r)
		r = publish(c, fds);
	if (r < 0) {
		uapi_connection_close(c);
		errno = -r;
	}
	return r;
}

/* Differs: the stock library closes whatever descriptor it is given, and returns 0. */
VC_EXPORT int umad_close_port(int portid)
{
	struct port *port;

	pthread_mutex_lock(&ports_lock);
	port = find_locked(portid);
	if (port) {
		descriptor_close(&port->socket);
		unlink_locked(port);
	}
	pthread_mutex_unlock(&ports_lock);
	return port ? 0 : refuse(-EINVAL, EBADF);
}

VC_EXPORT int umad_get_fd(int portid)
{
	return portid;
}
