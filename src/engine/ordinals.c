// SPDX-License-Identifier: BSD-2-Clause
/*
 * The numbers that a sender gives its datagrams to a group's entry, by which receivers see
 * what they have missed. All under tx.
 *
 * Mostly one address handle leads to an entry. It has the number then, in the line that a
 * send takes of it anyway: where there are many groups, an array of numbers would be one
 * more wait for memory. Where several handles lead there, the number is here.
 */
#include "engine/engine_priv.h"

static void give_back(struct ordinal *o)
{
	if (!o->owner)
		return;
	o->last = o->owner->ordinal;
	o->owner->owner = false;
	o->owner = NULL;
}

static void leave(struct tx *tx, struct engine_ah *ah)
{
	struct ordinal *o = &tx->ordinals[ah->entry];

	if (o->owner == ah)
		give_back(o);
	o->handles--;
}

static void come(struct tx *tx, struct engine_ah *ah)
{
	struct ordinal *o = &tx->ordinals[ah->entry];

	if (o->handles++) {
		give_back(o);
		return;
	}
	o->owner = ah;
	ah->owner = true;
	ah->ordinal = o->last;
}

void ordinal_lead(struct tx *tx, struct engine_ah *ah, uint32_t entry)
{
	if (ah->entry == entry)
		return;
	if (ah->entry != SHM_NONE)
		leave(tx, ah);
	ah->entry = entry;
	if (entry != SHM_NONE)
		come(tx, ah);
}

uint32_t ordinal_of_entry(struct tx *tx, uint32_t entry)
{
	struct ordinal *o = &tx->ordinals[entry];

	return o->owner ? ++o->owner->ordinal : ++o->last;
}
