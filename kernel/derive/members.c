/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/derive/members.h"

#include <string.h>

#include "arch/arch.h"

#define CANDIDATES_MAX 64u

struct candidates {
	uint32_t list[CANDIDATES_MAX];
	unsigned nr;
	bool is_any;	 /* no source has restricted the candidates yet */
	uint32_t except; /* never a candidate; UINT32_MAX: none */
};

/* Keeps only the candidates that OFFS contains. Returns false and keeps all if OFFS contains no
 * candidate, because the code was not understood, or if OFFS is incomplete. */
static bool restrict_to(struct candidates *c, const struct hv_code_offs *offs)
{
	struct candidates both = {.except = c->except};

	for (unsigned i = 0; i < offs->nr && !offs->has_more; i++) {
		bool is_candidate = c->is_any;

		for (unsigned j = 0; j < c->nr; j++)
			is_candidate |= c->list[j] == offs->list[i];
		if (is_candidate && offs->list[i] != c->except)
			both.list[both.nr++] = offs->list[i];
	}
	if (both.nr)
		*c = both;
	return both.nr;
}

/* Restricts the candidates to the offsets at which memory fits. If these are more than
 * CANDIDATES_MAX, memory proves nothing. */
static void find_in_memory(const struct hv_member *m, const void *ctx, uint32_t struct_bytes,
			   struct candidates *c)
{
	uint32_t step = m->len_bytes > 8 ? 8 : m->len_bytes;

	c->is_any = false;
	for (uint32_t off = 0; off + m->len_bytes <= struct_bytes; off += step) {
		if (off == c->except || !m->fits(ctx, off))
			continue;
		if (c->nr == CANDIDATES_MAX) {
			c->nr = 0;
			c->is_any = true;
			return;
		}
		c->list[c->nr++] = off;
	}
}

static uint32_t off_of(const struct hv_deriving *d, const char *type, const char *member)
{
	const struct hv_fact *f = member ? hv_facts_find(&d->facts, type, member) : NULL;

	return f ? f->off : UINT32_MAX;
}

/* Returns the number of functions that use one of the candidates, and leaves only those
 * candidates. */
static unsigned look_at_code(const struct hv_deriving *d, const struct hv_member *m,
			     struct candidates *c)
{
	const char *through = m->code[0].function ? m->code[0].through : NULL;
	unsigned nr = 0;

	if (through && off_of(d, "task_struct", through) == UINT32_MAX)
		return 0;
	for (unsigned i = 0; i < HV_MEMBER_RULES && m->code[i].function; i++) {
		/* Several rules for a function are next to each other. */
		bool is_other = !i || strcmp(m->code[i].function, m->code[i - 1].function) != 0;
		struct hv_code_offs offs;

		hv_code_offs_find(d->core, &d->current, &m->code[i],
				  off_of(d, "task_struct", through), &offs);
		nr += restrict_to(c, &offs) && is_other;
	}
	return nr;
}

static void derive(struct hv_deriving *d, const char *type, const struct hv_member *m,
		   const void *ctx, uint32_t struct_bytes)
{
	struct candidates c = {.is_any = true, .except = off_of(d, type, m->except)};
	unsigned nr_functions;
	struct hv_fact fact = {type, m->member, 0, m->len_bytes, m->of, 0};

	if (m->fits)
		find_in_memory(m, ctx, struct_bytes, &c);
	if (!c.is_any)
		fact.proofs |= HV_PROVED_BY_MEMORY;
	nr_functions = look_at_code(d, m, &c);
	if (nr_functions)
		fact.proofs |= HV_PROVED_BY_CODE;
	if (nr_functions > 1)
		fact.proofs |= HV_PROVED_BY_OTHER_CODE;
	if (c.is_any || c.nr != 1)
		return;
	fact.off = c.list[0];
	hv_facts_add(&d->facts, &fact);
}

void hv_members_derive(struct hv_deriving *d, const char *type, const struct hv_member *list,
		       size_t nr, const void *ctx, uint32_t struct_bytes)
{
	for (size_t i = 0; i < nr; i++)
		derive(d, type, &list[i], ctx, struct_bytes);
}
