/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/functions.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/verbs/profile/ticks.h"

void latency_functions_deinit(struct latency_functions *f)
{
	hv_chains_deinit(&f->chains);
	programs_deinit(&f->programs);
}

struct hv_err *latency_functions_begin(struct latency_functions *f, struct client *c,
				       char **ret_why)
{
	struct hv_err *err = profile_ticks_define(&f->probe, c);

	*ret_why = NULL;
	f->is_on = f->probe.is_defined;
	return profile_explain(err, ret_why);
}

struct hv_err *latency_functions_end(struct latency_functions *f, struct client *c)
{
	return profile_probe_remove(&f->probe, c);
}

static bool find(void *ctx, uint32_t pid, const char *comm, uint64_t address, uint32_t *ret_file,
		 uint64_t *ret_off)
{
	return programs_find(ctx, pid, comm, address, ret_file, ret_off) == HV_PROFILE_FILE;
}

void latency_functions_follow(struct latency_functions *f, struct client *c, struct hv_latency *l)
{
	f->programs.client = c;
	l->finders.programs.find = find;
	l->finders.programs.ctx = &f->programs;
}

/* -- names -------------------------------------------------------------------------------------- */

static bool is_blamed(const struct hv_cause *c)
{
	return c->fault == HV_FAULT_TENANTS_PROGRAM && hv_stall_program(&c->longest);
}

/* Returns false if P has no frame: the guest chooses offsets that are too large for one. */
static bool frame_of(struct hv_chains *c, const struct hv_stall_place *p, uint32_t *ret)
{
	return hv_chains_frame(c, HV_CHAIN_USER, p->file, p->off, ret);
}

static void add_frames(struct latency_functions *f, const struct hv_stall *s)
{
	uint32_t frame;

	for (unsigned i = 0; i < s->nr_places; i++)
		if (frame_of(&f->chains, &s->places[i], &frame) && !s->places[i].file &&
		    !f->chains.frames[frame].name)
			hv_chains_name(&f->chains, frame,
				       hv_format("0x%" PRIx64, s->places[i].off));
}

static bool is_same(const struct hv_chain_frame *a, const struct hv_chain_frame *b)
{
	return a->file == b->file && strcmp(a->name, b->name) == 0;
}

/* Returns how many samples of S are in the function of the frame FRAME. */
static unsigned count(struct latency_functions *f, const struct hv_stall *s, uint32_t frame)
{
	unsigned nr = 0;
	uint32_t other;

	for (unsigned i = 0; i < s->nr_places; i++)
		if (frame_of(&f->chains, &s->places[i], &other) &&
		    is_same(&f->chains.frames[frame], &f->chains.frames[other]))
			nr += s->places[i].nr;
	return nr;
}

/* Sets RET to the function with most samples of S. */
static void choose(struct latency_functions *f, const struct hv_stall *s,
		   struct latency_function *ret)
{
	uint32_t frame;

	*ret = (struct latency_function){0};
	for (unsigned i = 0; i < s->nr_places; i++) {
		unsigned nr = 0;

		ret->nr_samples += s->places[i].nr;
		if (frame_of(&f->chains, &s->places[i], &frame))
			nr = count(f, s, frame);
		if (nr <= ret->nr)
			continue;
		ret->nr = nr;
		ret->name = f->chains.frames[frame].name;
		ret->file =
			s->places[i].file ? f->programs.files[s->places[i].file - 1].path : NULL;
	}
}

struct hv_err *latency_functions_name(struct latency_functions *f, const struct hv_verdict *v)
{
	struct hv_err *err;

	for (size_t i = 0; i < v->nr; i++)
		if (is_blamed(&v->list[i]))
			add_frames(f, &v->list[i].longest);
	err = programs_name(&f->programs, &f->chains, 0, PROGRAMS_NAMES_NS);
	if (err)
		return err;
	for (size_t i = 0; i < v->nr; i++)
		if (is_blamed(&v->list[i]))
			choose(f, &v->list[i].longest, &f->list[i]);
	return NULL;
}
