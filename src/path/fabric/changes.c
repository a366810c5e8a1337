/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When answers change, and who compiled them asks anew: for all of them in passes, with a
 * rest behind each that took long; for a multicast LID at once, since somebody is told
 * that he has joined and sends what others are to get.
 */
#include "path/fabric/fabric_path_priv.h"

#define FOLLOW_REST 9u /* times as long as it took */
/* Answers looked at in one go: well below a millisecond. */
#define MLIDS_SLICE 2048u
/* Each is to have so much time, of which it takes a tenth itself; this much may be owed. */
#define ANSWER_NS   1000u
#define MLIDS_DEBT  (500 * TIMER_MS)

/* -- all answers --------------------------------------------------------------------- */

/* A subnet manager at work changes answers all the time. Who asks for all of them anew
 * each time would have no time left to carry what changes them: he rests in between. */
static void follow_later(struct path_fabric *pf)
{
	uint64_t rest = FOLLOW_REST * (pf->ended_ns - pf->began_ns);
	uint64_t now = pf->timer.queue->now_ns;

	if (pf->timer.armed)
		return;
	timer_arm(&pf->timer, pf->ended_ns + rest > now ? pf->ended_ns + rest - now : 0);
}

static void follow(struct timer *timer)
{
	struct path_fabric *pf = container_of(timer, struct path_fabric, timer);
	uint64_t now = timer->queue->now_ns;

	if (!pf->following) {
		pf->began_ns = now;
		pf->followed = path_generation(pf);
	}
	pf->following = pf->config.follow && pf->config.follow(pf->config.arg);
	pf->ended_ns = now;
	if (pf->following)
		timer_arm(&pf->timer, 0);
	else if (pf->followed != path_generation(pf))
		follow_later(pf);
}

void path_answers_changed(struct path_fabric *pf)
{
	pf->changes++;
	follow_later(pf);
}

void path_fabric_routes_changed(void *arg)
{
	if (arg)
		follow_later(arg);
}

uint64_t path_generation(void *arg)
{
	const struct path_fabric *pf = arg;

	return pf->changes + fabric_routes_generation(pf->config.fabric);
}

uint64_t path_senders_generation(void *arg)
{
	const struct path_fabric *pf = arg;

	return pf->changes + fabric_unicast_generation(pf->config.fabric);
}

/* -- those of a multicast LID -------------------------------------------------------- */

/* At once, unless so much has been done lately that it would be a tenth of the time. */
static void follow_mlids_later(struct path_fabric *pf)
{
	uint64_t now = pf->mlid_timer.queue->now_ns;
	uint64_t then = now + MLIDS_DEBT;

	if (!pf->mlid_timer.armed)
		timer_arm(&pf->mlid_timer,
			  pf->mlids_paid_ns > then ? pf->mlids_paid_ns - then : 0);
}

static bool take_mlid(struct path_fabric *pf, uint16_t *ret)
{
	for (uint32_t n = 0; n < PATH_MLID_WORDS; n++) {
		uint64_t *bits = &pf->mlids[pf->mlid_word];

		if (*bits) {
			*ret = (uint16_t)(IB_LID_MULTICAST_BASE + pf->mlid_word * 64 +
					  (uint32_t)__builtin_ctzll(*bits));
			*bits &= *bits - 1;
			return true;
		}
		pf->mlid_word = (pf->mlid_word + 1) % PATH_MLID_WORDS;
	}
	return false;
}

/* Before the first one the ports are walked from, which takes an answer's time for each. */
static uint32_t follow_mlid(struct path_fabric *pf, uint16_t mlid)
{
	uint32_t answers = pf->config.follow_mlid(pf->config.arg, mlid);

	return answers ? answers + pf->ports.count : 0;
}

static void follow_mlids(struct timer *timer)
{
	struct path_fabric *pf = container_of(timer, struct path_fabric, mlid_timer);
	uint64_t now = timer->queue->now_ns;
	uint32_t done = 0;
	uint16_t mlid;

	while (done < MLIDS_SLICE && take_mlid(pf, &mlid))
		done += follow_mlid(pf, mlid);
	if (pf->mlids_paid_ns < now)
		pf->mlids_paid_ns = now;
	pf->mlids_paid_ns += (uint64_t)done * ANSWER_NS;
	if (done >= MLIDS_SLICE)
		follow_mlids_later(pf);
}

void path_fabric_multicast_changed(void *arg, uint16_t first_mlid, uint32_t rows)
{
	struct path_fabric *pf = arg;
	uint32_t first = first_mlid - IB_LID_MULTICAST_BASE;

	if (!pf || !pf->config.follow_mlid)
		return;
	/* A block of a table has 32 rows, so half a word. */
	pf->mlids[first / 64 % PATH_MLID_WORDS] |= (uint64_t)rows << first % 64;
	follow_mlids_later(pf);
}

uint64_t path_mlid_generation(void *arg, uint16_t mlid)
{
	const struct path_fabric *pf = arg;

	return pf->changes + fabric_mlid_generation(pf->config.fabric, mlid);
}

/* -- life ---------------------------------------------------------------------------- */

void changes_init(struct path_fabric *pf)
{
	timer_init(&pf->timer, pf->config.timers, follow);
	timer_init(&pf->mlid_timer, pf->config.timers, follow_mlids);
}

void changes_fini(struct path_fabric *pf)
{
	timer_disarm(&pf->timer);
	timer_disarm(&pf->mlid_timer);
}
