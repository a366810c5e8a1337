/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capacities of a site's shared memory. They size sparse files, so an unused entry
 * costs nothing; each is a ceiling that no option can raise. What a site really
 * allows is a limit of the device (src/hca/limits.def), never above these.
 */
#ifndef SHM_LIMITS_H
#define SHM_LIMITS_H

#define SHM_SLOTS_MAX  1024u /* processes of a site, dying ones included */
#define SHM_SLOT_WORDS (SHM_SLOTS_MAX / 64u)
#define SHM_PORTS_MAX  1024u   /* ports of a site, all nodes together */
#define SHM_GIDS_MAX   32u     /* GID table entries of a port */
#define SHM_PKEYS_MAX  32u     /* P_Key table entries of a port */
#define SHM_LID_WORDS  768u    /* a bit a unicast LID, 0 .. 0xbfff */
#define SHM_LIDS_MAX   65536u  /* unicast and multicast */
#define SHM_GROUPS_MAX 131072u /* compiled (ingress port, MGID) entries */
#define SHM_GROUPS_RESTING \
	1024u /* entries given up that rest before they are used again */
#define SHM_GROUP_BUCKETS   131072u
#define SHM_QPS_MAX         65536u
#define SHM_QP_BUCKETS      131072u
#define SHM_QP_COUNTERS     16384u  /* counter blocks of one process, one a queue pair */
#define SHM_MEMBER_COUNTERS 262144u /* counter blocks of one process, one an attachment */

#define SHM_FAULTS_MAX 64u /* rules of `verbcast fault` */

#define SHM_LOG_SLOTS   4096u
#define SHM_LOG_INLINE  64u /* payload bytes that lie in the header slot */
#define SHM_LOG_PAYLOAD (2u << 20)

#define SHM_CACHE_LINE 64u

#endif
