/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of a site: who has which slot, and the memory that goes with it.
 *
 * A slot is FREE, LIVE or DEAD. When a process has gone and its objects are destroyed (so
 * that its bit stands in no group any more), its slot is DEAD and its log is kept for
 * those who have not read it to the end: every live process is kicked, and says DRAINED
 * when it has. The slot is FREE again when all of them have answered or died, or after
 * FUNERAL_MS, or when more than FUNERALS_MAX logs are kept. Whoever reads on has the log
 * mapped, and is told by the incarnation that the slot is another's.
 */
#ifndef DAEMON_SLOTS_H
#define DAEMON_SLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop/loop.h"
#include "shm/counters.h"
#include "shm/tables.h"
#include "uapi/server/server.h"

struct slots;

/* A live process, for status and history. */
struct slot_view {
	uint32_t slot;
	uint32_t incarnation;
	pid_t pid;
	const char *program;
	const char *node;
	const struct shm_counters *counters;
};

int slots_create(struct loop *loop, struct shm_tables *tables, struct slots **ret);
void slots_destroy(struct slots *s);

int slots_open(struct slots *s, struct ib_node *node, pid_t pid, const char *program,
	       struct uapi_process *ret);
void slots_close(struct slots *s, uint32_t slot);
int slots_map_peer(struct slots *s, uint32_t asking, uint32_t slot,
		   struct uapi_peer *ret);
/* Takes `fd` over on success. */
int slots_publish_log(struct slots *s, uint32_t slot, int fd);
int slots_drained(struct slots *s, uint32_t asking, uint32_t slot, uint32_t incarnation);

/* False: the slot is not live. */
bool slots_view(const struct slots *s, uint32_t slot, struct slot_view *ret);
/* Logs of the dead that are kept. */
unsigned int slots_funerals(const struct slots *s);

#endif
