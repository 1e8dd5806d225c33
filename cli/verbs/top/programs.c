/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/top/programs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "cli/verbs/profile/ticks.h"

#define BUFFER_KB  "1024" /* per vCPU: some seconds of samples */
#define MANY_READS 32	  /* a take with this many reads may have left samples */
#define TAKES_MAX  16
#define NAMES_MAX  (1u << 16)		/* all names are looked up again when there are more */
#define NAMES_NS   (250 * HV_NS_PER_MS) /* for the names of one look */

void top_programs_deinit(struct top_programs *p)
{
	recording_deinit(&p->recording);
	programs_deinit(&p->programs);
	hv_chains_deinit(&p->names);
	free(p->why);
	free(p->list);
}

/* -- sampling ----------------------------------------------------------------------------------- */

static struct hv_err *begin(struct top_programs *p, struct client *c, const char *instance)
{
	const struct record_request q = {
		.instance = instance,
		.buffer_kb = BUFFER_KB,
		.target = {.path = "programs", .format = &hv_profile_format},
	};
	struct hv_err *err;

	recording_init(&p->recording, &q.target);
	err = recording_begin(&p->recording, c, &q);
	if (!err)
		err = profile_ticks_define(&p->probe, c);
	if (!err)
		err = recording_set(&p->recording, "set_event", PROFILE_TICKS_EVENT);
	if (!err)
		err = recording_open(&p->recording);
	if (err)
		return err;
	p->programs.client = c;
	hv_profile_of(p->recording.file.export)->files =
		(struct hv_profile_files){.find = programs_find, .ctx = &p->programs};
	return recording_start(&p->recording);
}

struct hv_err *top_programs_begin(struct top_programs *p, struct client *c, const char *instance)
{
	struct hv_err *err = begin(p, c, instance), *end_err;

	if (!err || client_is_gone(err))
		return err;
	end_err = top_programs_end(p, err->reason);
	hv_err_free(err);
	return end_err;
}

struct hv_err *top_programs_end(struct top_programs *p, const char *why)
{
	struct recording *r = &p->recording;
	struct client *c = r->client;
	struct hv_err *err = NULL;

	p->nr = 0;
	if (why) {
		free(p->why);
		p->why = hv_strdup(why);
	}
	if (r->dir)
		err = recording_close(r);
	hv_err_keep_first(&err, recording_remove(r));
	if (!err && c)
		err = profile_probe_remove(&p->probe, c);
	recording_deinit(r);
	*r = (struct recording)RECORDING_NONE;
	return err;
}

struct hv_err *top_programs_take(struct top_programs *p)
{
	struct recording *r = &p->recording;
	struct hv_err *err = NULL;
	bool more = r->dir;

	for (unsigned i = 0; !err && more && i < TAKES_MAX; i++) {
		err = recording_take(r, 0, &more);
		more = more && r->file.nr_reads >= MANY_READS;
	}
	return err;
}

/* -- functions ---------------------------------------------------------------------------------- */

/* Returns the name of the task that NODE's samples are of, or NULL. */
static const char *group_of(const struct hv_chains *c, uint32_t node)
{
	for (; node != HV_CHAINS_ROOT; node = c->nodes[node].parent)
		if (c->frames[c->nodes[node].frame].kind == HV_CHAIN_GROUP)
			return c->frames[c->nodes[node].frame].name;
	return NULL;
}

/* Returns the innermost function of a program if NODE has samples in one, or NULL. */
static const struct hv_chain_frame *function_of(const struct hv_chains *c, uint32_t node)
{
	const struct hv_chain_frame *frame = &c->frames[c->nodes[node].frame];

	return c->nodes[node].self && frame->kind == HV_CHAIN_USER ? frame : NULL;
}

/* Adds the functions of C to the names. Returns the first that is new. */
static uint32_t add_names(struct top_programs *p, const struct hv_chains *c)
{
	uint32_t frame, first;

	if (p->names.nr_frames >= NAMES_MAX)
		hv_chains_deinit(&p->names);
	first = p->names.nr_frames;
	for (uint32_t i = 1; i < c->nr; i++) {
		const struct hv_chain_frame *f = function_of(c, i);

		if (f && hv_chains_frame(&p->names, HV_CHAIN_USER, f->file, f->value, &frame) &&
		    !f->file && !p->names.frames[frame].name)
			hv_chains_name(&p->names, frame, hv_format("0x%" PRIx64, f->value));
	}
	return first;
}

static const char *file_of(const struct top_programs *p, uint32_t file)
{
	return file ? p->programs.files[file - 1].path : NULL;
}

static void add_row(struct top_programs *p, const struct hv_chains *c, uint32_t node)
{
	const struct hv_chain_frame *f = function_of(c, node);
	const char *group = group_of(c, node);
	uint32_t frame, name;

	if (!f || !group || !hv_chains_frame(&p->names, HV_CHAIN_USER, f->file, f->value, &frame) ||
	    !hv_chains_group(&p->names, group, &name))
		return;
	p->list = hv_grow(p->list, p->nr, &p->room, 64, sizeof(*p->list));
	p->list[p->nr++] = (struct top_program){
		.program = p->names.frames[name].name,
		.function = p->names.frames[frame].name,
		.file = file_of(p, f->file),
		.nr = c->nodes[node].self,
	};
}

static int compare_names(const struct top_program *a, const struct top_program *b)
{
	int order = strcmp(a->program, b->program);

	if (!order)
		order = strcmp(a->function, b->function);
	return order ? order : strcmp(a->file ? a->file : "", b->file ? b->file : "");
}

static int by_name(const void *a, const void *b)
{
	return compare_names(a, b);
}

static int by_samples(const void *a, const void *b)
{
	const struct top_program *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr > y->nr ? -1 : 1;
	return compare_names(x, y);
}

/* Merges the rows of one function. */
static void join(struct top_programs *p)
{
	size_t kept = 0;

	if (!p->nr)
		return;
	qsort(p->list, p->nr, sizeof(*p->list), by_name);
	for (size_t i = 1; i < p->nr; i++)
		if (compare_names(&p->list[kept], &p->list[i]) == 0)
			p->list[kept].nr += p->list[i].nr;
		else
			p->list[++kept] = p->list[i];
	p->nr = kept + 1;
	qsort(p->list, p->nr, sizeof(*p->list), by_samples);
}

struct hv_err *top_programs_count(struct top_programs *p, struct hv_profile *s)
{
	struct hv_err *err;

	p->nr = 0;
	p->nr_samples = s->nr_user + s->nr_kernel + s->nr_dropped;
	err = programs_name(&p->programs, &p->names, add_names(p, &s->chains), NAMES_NS);
	if (p->programs.is_off && !p->why)
		p->why = hv_strdup("the session's service refused to name functions");
	for (uint32_t i = 1; !err && i < s->chains.nr; i++)
		add_row(p, &s->chains, i);
	join(p);
	hv_chains_deinit(&s->chains);
	s->nr_samples = 0;
	s->nr_user = s->nr_kernel = s->nr_dropped = 0;
	return err;
}

struct hv_err *top_programs_look(struct top_programs *p)
{
	struct recording *r = &p->recording;
	struct hv_err *err = top_programs_take(p);

	if (err || !r->dir || !recording_is_open(r))
		return err;
	return top_programs_count(p, hv_profile_of(r->file.export));
}
