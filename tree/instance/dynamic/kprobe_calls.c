/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls that the guest records for function probes, and the events that the host makes from
 * them. */
#include <string.h>

#include "kernel/kernel.h"
#include "tracer/events/guest_marks.h"
#include "tracer/probe_sites/probe_sites.h"
#include "tracer/sites/site_trampolines.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/dynamic/kprobe_event.h"
#include "tree/instance/events/user_stacks.h"

#define WORD 8u

bool hv_kprobes_is(const struct hv_event_type *type)
{
	return type->reg_kind == HV_EVENT_REG_KPROBE;
}

bool hv_kprobe_event_is_on(const struct hv_instances *all, const struct hv_kprobe_event *e)
{
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_instance_needs_event(in, hv_event_ref_of(&e->family->type)))
			return true;
	return false;
}

unsigned hv_kprobes_end_returns(struct hv_instance *in)
{
	const struct hv_kprobes *k = hv_kprobes_of(hv_instance_all(in));
	unsigned any = 0;

	for (size_t i = 0; i < k->nr; i++) {
		struct hv_event_ref ref = hv_event_ref_of(&k->list[i]->family->type);

		if (!k->list[i]->is.is_return || !hv_instance_needs_event(in, ref))
			continue;
		hv_event_set_remove(hv_instance_events(in), ref);
		hv_instance_forget_event(in, ref);
		any = 1;
	}
	return any;
}

static struct hv_kprobe_site site_of(const struct hv_kprobe_event *e)
{
	return (struct hv_kprobe_site){e->site, e->is.is_return, e->is.needs_all_regs,
				       e->is.needs_args, e->is.is_inside ? &e->probe_site : NULL};
}

/* Finds the next probe of event ID, from *INDEX on, and advances *INDEX. */
static bool next_site(const struct hv_instances *all, uint32_t id, size_t *index,
		      struct hv_kprobe_site *ret)
{
	const struct hv_kprobes *probes = hv_kprobes_of(all);

	for (; *index < probes->nr; (*index)++) {
		const struct hv_kprobe_event *e = probes->list[*index];

		if (e->family->type.id != id || !e->site.v)
			continue;
		*ret = site_of(e);
		(*index)++;
		return true;
	}
	return false;
}

bool hv_kprobes_needed_site(const struct hv_instance *in, size_t *index, struct hv_kprobe_site *ret)
{
	const struct hv_kprobes *k = hv_kprobes_of(hv_instance_all(in));

	while (*index < k->nr) {
		const struct hv_kprobe_event *e = k->list[(*index)++];

		if (!e->site.v || !hv_instance_needs_event(in, hv_event_ref_of(&e->family->type)))
			continue;
		*ret = site_of(e);
		return true;
	}
	return false;
}

const struct hv_event_type *hv_kprobes_tracepoint(const struct hv_instances *all, uint32_t id,
						  size_t *index)
{
	const struct hv_kprobes *probes = hv_kprobes_of(all);

	for (; *index < probes->nr; (*index)++) {
		const struct hv_kprobe_event *e = probes->list[*index];

		if (e->family->type.id != id || !e->is.is_tracepoint || !e->site.v)
			continue;
		(*index)++;
		return &e->tracepoint;
	}
	return NULL;
}

bool hv_kprobes_have_tracepoints(const struct hv_instances *all)
{
	const struct hv_kprobes *probes = hv_kprobes_of(all);

	for (size_t i = 0; i < probes->nr; i++)
		if (probes->list[i]->is.is_tracepoint)
			return true;
	return false;
}

static bool any_wants_user_stacks(const struct hv_instances *all, const struct hv_kprobe_event *e)
{
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_user_stacks_are_wanted(in, &e->family->type))
			return true;
	return false;
}

/* Adds the steps that read a user stack. Returns false if there is no room. */
static bool add_user_stack(const struct hv_instances *all, struct hv_fetch_step *ret, size_t *nr)
{
	const struct hv_trampoline_program *program = hv_user_stacks_program(all);

	if (program->nr > HV_FETCH_STEPS_MAX - *nr)
		return false;
	memcpy(ret + *nr, program->steps, program->nr * sizeof(*ret));
	*nr += program->nr;
	return true;
}

/* The part for the return is last. A step separates it from the part for the call. */
static struct hv_err *add_program(const struct hv_instances *all, struct hv_gva site,
				  bool is_return, struct hv_fetch_step *ret, size_t *nr)
{
	bool has_user_stack = false;
	size_t before = *nr;

	for (size_t i = 0; i < hv_kprobes_of(all)->nr; i++) {
		const struct hv_kprobe_event *e = hv_kprobes_of(all)->list[i];

		bool wants_stack;

		if (e->site.v != site.v || e->is.is_return != is_return ||
		    !hv_kprobe_event_is_on(all, e))
			continue;
		wants_stack = !has_user_stack && any_wants_user_stacks(all, e);
		has_user_stack |= wants_stack;
		if ((wants_stack && !add_user_stack(all, ret, nr)) ||
		    !hv_kprobe_program(&e->is, NULL, ret, nr) ||
		    (is_return && *nr > before && *nr == HV_FETCH_STEPS_MAX))
			return hv_err_new(ENOSPC,
					  "the probes of %s read too much memory: they need more"
					  " than %d steps",
					  e->is.symbol, HV_FETCH_STEPS_MAX);
	}
	return NULL;
}

struct hv_err *hv_kprobes_call_program(const struct hv_instances *all, struct hv_gva site,
				       struct hv_fetch_step *ret, size_t *nr)
{
	return add_program(all, site, false, ret, nr);
}

struct hv_err *hv_kprobes_return_program(const struct hv_instances *all, struct hv_gva site,
					 struct hv_fetch_step *ret, size_t *nr)
{
	return add_program(all, site, true, ret, nr);
}

/* Returns whether SITE calls a trampoline. */
static bool is_traced(const struct hv_session *s, struct hv_gva site)
{
	const struct hv_sites *sites = &s->kernel->sites;
	const uint8_t *now = hv_site_trampolines_now(s->trampolines);

	for (size_t i = 0; i < sites->nr; i++)
		if (sites->list[i].ip.v == site.v)
			return now[i] && now[i] != HV_TRAMPOLINE_LATER;
	return false;
}

/* Returns whether a probe of event ID waits for its module. */
static bool waits(const struct hv_instances *all, uint32_t id)
{
	const struct hv_kprobes *probes = hv_kprobes_of(all);

	for (size_t i = 0; i < probes->nr; i++) {
		const struct hv_kprobe_event *e = probes->list[i];

		if (e->family->type.id == id && !e->site.v && strchr(e->is.function, ':'))
			return true;
	}
	return false;
}

struct hv_err *hv_kprobes_why_not(const struct hv_instances *all, const struct hv_event_type *type)
{
	struct hv_kprobe_site site;
	size_t index = 0;
	bool any = false;

	for (; next_site(all, type->id, &index, &site); any = true)
		if (site.probe_site &&
		    !hv_probe_sites_has(hv_instances_session(all)->probe_sites, site.at))
			return hv_err_new(EBUSY,
					  "the instructions at its probe site are in use: by the"
					  " guest, or by a tracer of latencies");
		else if (!site.probe_site && !is_traced(hv_instances_session(all), site.at))
			return hv_err_new(EBUSY, "the guest itself uses its function");
	return any || waits(all, type->id)
		       ? NULL
		       : hv_err_new(ENODEV, "the guest's module that had its function was removed");
}

struct hv_err *hv_kprobes_check(const struct hv_instances *all, struct hv_event_ref ref)
{
	const struct hv_event_type *type;
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(hv_instances_session(all)->types, &c);

	if (err)
		return err;
	type = hv_catalogue_by_id(c, ref.id);
	if (!type || type->call.v != ref.call || !hv_kprobes_is(type))
		return NULL;
	err = hv_kprobes_why_not(all, type);
	return err ? hv_err_in(err, "%s:%s", type->system, type->name) : NULL;
}

static bool is_return(const struct hv_event *event)
{
	return event->id == HV_EVENT_ID_RETURN || event->id == HV_EVENT_ID_RETURN_ARGS;
}

bool hv_kprobes_is_call(const struct hv_event *event)
{
	return event->id == HV_EVENT_ID_REGS || is_return(event) ||
	       event->id == HV_EVENT_ID_ALL_REGS;
}

/* Returns the number of words at the start of CALL's entry. */
static size_t nr_words(const struct hv_event *call)
{
	switch (call->id) {
	case HV_EVENT_ID_ALL_REGS:
		return HV_ALL_REGS_WORDS;
	case HV_EVENT_ID_RETURN_ARGS:
		return HV_RETURN_ARGS + HV_NR_RETURN_ARGS;
	default:
		return HV_REGS_WORDS;
	}
}

/* Decodes the entry of CALL. */
static bool read_call(const struct hv_event *call, struct hv_kprobe_call *ret)
{
	size_t nr = nr_words(call);
	size_t words_end = HV_ENTRY_HEADER_LEN + nr * WORD;

	memset(ret->words, 0, sizeof(ret->words));
	if (!hv_kprobes_is_call(call) ||
	    !hv_span_copy(call->entry, HV_ENTRY_HEADER_LEN, ret->words, nr * WORD))
		return false;
	ret->results =
		(struct hv_span){call->entry.data + words_end, call->entry.len_bytes - words_end};
	ret->comm = call->comm;
	ret->mark = NULL;
	return true;
}

struct hv_span hv_kprobes_results(const struct hv_event *call)
{
	struct hv_kprobe_call recorded;

	return read_call(call, &recorded) ? recorded.results : (struct hv_span){0};
}

/* Returns whether a tracepoint made the call for hvtrace, with hvtrace's data pointer. The guest's
 * own tracepoint probes use another one. */
static bool is_by_us(const struct hv_instances *all, const uint64_t *words)
{
	const struct hv_arch *arch = hv_instances_session(all)->kernel->core.as.arch;
	struct hv_arch_register first;

	return arch->find_register(arch->argument_registers[0], &first) && words[first.word];
}

/* Returns whether CALL, with WORDS, is one of E. WORDS are untrusted, so the site is compared. If E
 * needs the arguments at a return, calls that began before E existed have not saved them; the
 * kernel would not record their returns either. */
static bool is_of(const struct hv_instances *all, const struct hv_kprobe_event *e,
		  const struct hv_event *call, const uint64_t *words)
{
	return e->site.v && e->site.v == words[HV_REGS_SITE] &&
	       (!e->is.is_tracepoint || is_by_us(all, words)) &&
	       e->is.is_return == is_return(call) &&
	       (!e->is.needs_args || call->id == HV_EVENT_ID_RETURN_ARGS) &&
	       (!(e->is.is_inside || e->is.needs_all_regs) || call->id == HV_EVENT_ID_ALL_REGS);
}

/* Returns the text of the mark that the call E completes, or NULL. WORDS are the recorded registers
 * of E. */
static const char *mark_of(const struct hv_instances *all, const struct hv_event *e,
			   const uint64_t *words)
{
	const struct hv_arch *arch = hv_instances_session(all)->kernel->core.as.arch;
	struct hv_mark_call call = {.time_ns = e->time_ns, .cpu = e->cpu, .pid = e->pid};
	struct hv_arch_register from;

	for (size_t i = 0; i < HV_MARK_ARGS; i++) {
		const char *name = arch->argument_registers[i];

		if (!name || !arch->find_register(name, &from))
			return NULL;
		call.args[i] = words[from.word];
	}
	return hv_guest_marks_read(hv_kprobes_of(all)->marks, &call);
}

bool hv_kprobes_event(const struct hv_instances *all, size_t index, const struct hv_event *call,
		      struct hv_event *ret, uint8_t *entry)
{
	const struct hv_kprobe_event *e = hv_kprobes_of(all)->list[index];
	uint16_t id = (uint16_t)e->family->type.id;
	struct hv_kprobe_call recorded;
	uint64_t site = e->site.v;
	uint32_t len;

	if (!read_call(call, &recorded) || !is_of(all, e, call, recorded.words))
		return false;
	memset(entry, 0, e->family->args_off);
	if (hv_kprobe_has_mark(&e->is))
		recorded.mark = mark_of(all, call, recorded.words);
	len = hv_kprobe_fill(&e->is, &recorded, e->family->args_off, entry, HV_ENTRY_LEN_MAX);
	if (!len)
		return false;
	memcpy(entry, call->entry.data, HV_ENTRY_HEADER_LEN);
	memcpy(entry, &id, sizeof(id));
	if (e->is.is_return)
		memcpy(entry + e->family->args_off - WORD, &recorded.words[HV_REGS_CALLER], WORD);
	memcpy(entry + e->family->type.fields.list[0].off, &site, sizeof(site));
	*ret = *call;
	ret->id = id;
	ret->entry = (struct hv_span){entry, len};
	return true;
}

void hv_kprobes_count(struct hv_instances *all, const struct hv_event *call)
{
	struct hv_kprobes *probes = hv_kprobes_of(all);
	struct hv_kprobe_call recorded;

	if (!read_call(call, &recorded))
		return;
	for (size_t i = 0; i < probes->nr; i++) {
		struct hv_kprobe_event *e = probes->list[i];

		e->nr_hits += is_of(all, e, call, recorded.words) && hv_kprobe_event_is_on(all, e);
	}
}
