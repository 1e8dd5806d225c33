/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a private variable from the functions that use it. Their code yields candidates; the
 * contents of the candidates decide. */
#include "kernel/unnamed.h"

#include "base/cancel.h"

#define CANDIDATES_MAX	   512
#define FUNCTION_MAX_BYTES 4096u
#define LOOKED_AT_MAX	   32u /* limit of candidates with enough functions */

struct candidate {
	struct hv_gva at;
	unsigned functions; /* a bit for each function that uses it */
};

struct search {
	const struct hv_kernel_core *core;
	const struct hv_unnamed *u;
	struct hv_gva called;
	unsigned function; /* the bit of the current function */
	struct candidate list[CANDIDATES_MAX];
	size_t nr;
};

static bool is_use(const struct search *s, const struct hv_data_use *use)
{
	const struct hv_unnamed *u = s->u;

	if ((unsigned)use->kind != u->kind)
		return false;
	if (u->kind == HV_DATA_PASS)
		return use->argument == u->argument && use->called.v == s->called.v;
	return u->kind == HV_DATA_ADDRESS || use->len_bytes == u->len_bytes;
}

static void note(void *ctx, const struct hv_data_use *use)
{
	struct search *s = ctx;
	const struct hv_image *image = &s->core->image;

	if (!is_use(s, use) || !hv_gva_in(use->at, image->all) || hv_gva_in(use->at, image->text))
		return;
	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].at.v == use->at.v) {
			s->list[i].functions |= s->function;
			return;
		}
	if (s->nr < CANDIDATES_MAX)
		s->list[s->nr++] = (struct candidate){use->at, s->function};
}

/* Returns the code from a function's symbol to the next symbol. */
static struct hv_span code_of(const struct hv_kernel_core *core, struct hv_gva at)
{
	const struct hv_symbols *s = &core->symbols;
	const struct hv_symbol *symbol = hv_symbols_at(s, at), *end = s->by_addr + s->nr;
	struct hv_span code = hv_image_at(&core->image, at);

	if (code.len_bytes > FUNCTION_MAX_BYTES)
		code.len_bytes = FUNCTION_MAX_BYTES;
	while (symbol && symbol < end && symbol->addr.v == at.v)
		symbol++;
	if (symbol && symbol < end && symbol->addr.v - at.v < code.len_bytes)
		code.len_bytes = symbol->addr.v - at.v;
	return code;
}

bool hv_unnamed_search(const struct hv_kernel_core *core, const struct hv_unnamed *u,
		       struct hv_gva *ret)
{
	HV_AUTO_FREE struct search *s = hv_alloc(sizeof(*s));
	struct hv_gva found = {0};
	unsigned nr_found = 0, nr_looked_at = 0;

	s->core = core;
	s->u = u;
	if (u->called && !hv_symbols_find(&core->symbols, u->called, &s->called))
		return false;
	for (size_t i = 0; i < HV_UNNAMED_FUNCTIONS && u->functions[i]; i++) {
		struct hv_gva at;

		s->function = 1u << i;
		if (hv_symbols_find(&core->symbols, u->functions[i], &at) &&
		    hv_gva_in(at, core->image.text))
			core->as.arch->follow_data(code_of(core, at), at, note, s);
	}
	/* If candidates may be missing, no candidate is known to be the only one. */
	if (s->nr == CANDIDATES_MAX)
		return false;
	for (size_t i = 0; i < s->nr; i++) {
		HV_AUTO_ERR struct hv_err *cancelled = hv_cancel_check();

		if ((unsigned)__builtin_popcount(s->list[i].functions) < u->functions_min)
			continue;
		if (cancelled || nr_looked_at++ == LOOKED_AT_MAX)
			return false;
		if (!u->is_at(core, s->list[i].at))
			continue;
		found = s->list[i].at;
		nr_found++;
	}
	if (nr_found == 1)
		*ret = found;
	return nr_found == 1;
}
