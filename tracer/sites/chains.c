/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/sites/chains.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/sites/ftrace_users.h"
#include "tracer/guest/tracee.h"
#include "tracer/guest/trampolines.h"

#define NR_BUCKETS (2 * HV_REGION_NR_CHAINS)
#define WRITES	   (HV_CHAIN_LEN / HV_SITE_LEN_MAX)
#define CHUNK	   128 /* chains written in one hold */
_Static_assert(HV_CHAIN_LEN % HV_SITE_LEN_MAX == 0, "whole writes");

struct chain {
	uint64_t trampoline; /* that a free site would call; 0: none */
	uint64_t target;
};

/* A chain stays until the session ends: a task may be in it, and the guest often allocates its
 * trampolines at addresses where it had others. */
struct hv_chains {
	struct hv_tracee *tracee; /* borrowed */
	struct chain *list;	  /* owned */
	size_t nr, cap;
	size_t nr_written;
	bool has_kinds;	   /* chains of LIST have a kind */
	uint32_t *buckets; /* owned; hash table of list: index + 1, 0 if empty */
};

struct hv_chains *hv_chains_new(struct hv_tracee *t)
{
	struct hv_chains *c = hv_alloc(sizeof(*c));

	c->tracee = t;
	return c;
}

void hv_chains_free(struct hv_chains *c)
{
	if (!c)
		return;
	free(c->list);
	free(c->buckets);
	free(c);
}

static struct hv_gva first_of(const struct hv_tracee *t)
{
	return hv_gva_add(t->range.start, HV_REGION_CHAINS_OFF - HV_REGION_TRAMPOLINES_OFF);
}

static struct hv_gva address_of(const struct hv_chains *c, size_t nr)
{
	return hv_gva_add(first_of(c->tracee), nr * HV_CHAIN_LEN);
}

/* Returns the bucket of CHAIN, or the empty one where it belongs. */
static uint32_t *bucket_of(const struct hv_chains *c, const struct chain *chain)
{
	uint64_t hash = (chain->target ^ chain->trampoline << 20) * 0x9e3779b97f4a7c15u;
	size_t at = (hash >> 32) % NR_BUCKETS;

	while (c->buckets[at] && memcmp(&c->list[c->buckets[at] - 1], chain, sizeof(*chain)) != 0)
		at = (at + 1) % NR_BUCKETS;
	return &c->buckets[at];
}

static bool encode(const struct hv_chains *c, const struct chain *chain, size_t nr,
		   struct hv_chain *parts, uint8_t code[HV_CHAIN_LEN])
{
	return hv_trampolines_chain(c->tracee, hv_gva(chain->trampoline), hv_gva(chain->target),
				    parts) &&
	       c->tracee->kernel->core.as.arch->encode_chain(address_of(c, nr), parts, code);
}

bool hv_chains_choose(struct hv_chains *c, struct hv_gva trampoline, struct hv_gva target,
		      struct hv_gva *ret)
{
	const struct chain chain = {trampoline.v, target.v};
	uint8_t unused[HV_CHAIN_LEN];
	struct hv_chain parts;
	uint32_t *bucket;

	if (!c->buckets)
		c->buckets = hv_alloc(NR_BUCKETS * sizeof(*c->buckets));
	bucket = bucket_of(c, &chain);
	if (!*bucket) {
		if (c->nr == HV_REGION_NR_CHAINS || hv_tracee_has(c->tracee, target) ||
		    !encode(c, &chain, c->nr, &parts, unused))
			return false;
		c->has_kinds |= parts.has_kind;
		c->list = hv_grow(c->list, c->nr, &c->cap, 64, sizeof(*c->list));
		c->list[c->nr] = chain;
		*bucket = (uint32_t)++c->nr;
	}
	*ret = address_of(c, *bucket - 1);
	return true;
}

static struct hv_err *write_chunk(struct hv_chains *c, size_t nr)
{
	const struct hv_tracee *t = c->tracee;
	struct hv_hold_write writes[CHUNK * WRITES] = {0};

	for (size_t i = 0; i < nr; i++) {
		size_t number = c->nr_written + i;
		struct hv_gpa at =
			hv_gpa_add(t->region.gpa, HV_REGION_CHAINS_OFF + number * HV_CHAIN_LEN);
		uint8_t code[HV_CHAIN_LEN];
		struct hv_chain parts;

		encode(c, &c->list[number], number, &parts, code);
		for (size_t j = 0; j < WRITES; j++) {
			struct hv_hold_write *w = &writes[i * WRITES + j];

			*w = (struct hv_hold_write){.gpa = hv_gpa_add(at, j * HV_SITE_LEN_MAX),
						    .len_bytes = HV_SITE_LEN_MAX,
						    .is_text = true};
			memcpy(w->bytes, code + j * HV_SITE_LEN_MAX, HV_SITE_LEN_MAX);
		}
	}
	return hv_patcher_write(t->patcher, writes, nr * WRITES);
}

struct hv_err *hv_chains_write(struct hv_chains *c)
{
	struct hv_err *err = NULL;

	if (c->has_kinds)
		err = hv_trampolines_link_chains(c->tracee);
	while (!err && c->nr_written < c->nr) {
		size_t nr = c->nr - c->nr_written < CHUNK ? c->nr - c->nr_written : CHUNK;

		err = write_chunk(c, nr);
		if (!err)
			c->nr_written += nr;
	}
	return err;
}

bool hv_chains_at(const struct hv_chains *c, struct hv_gva at, struct hv_gva *ret_trampoline,
		  struct hv_gva *ret_target)
{
	uint64_t off = at.v - first_of(c->tracee).v;

	if (off % HV_CHAIN_LEN || off / HV_CHAIN_LEN >= c->nr)
		return false;
	*ret_trampoline = hv_gva(c->list[off / HV_CHAIN_LEN].trampoline);
	*ret_target = hv_gva(c->list[off / HV_CHAIN_LEN].target);
	return true;
}

struct hv_err *hv_chains_are_ours(const struct hv_tracee *t, const struct hv_ftrace_users *users,
				  struct hv_journal_entry *e, bool *ret)
{
	struct hv_gva target;

	*ret = false;
	if (t->kernel->core.as.arch->classify_site(e->old_bytes, hv_gva(e->gva), &target) !=
		    HV_SITE_CALL ||
	    hv_tracee_has(t, target) || !hv_ftrace_users_explain(users, hv_gva(e->gva), target))
		return NULL;
	return hv_tracee_is_patched(t, e, ret);
}
