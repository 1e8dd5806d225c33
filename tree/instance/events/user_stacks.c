/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/user_stacks.h"

#include <string.h>

#include "kernel/events/catalogue.h"
#include "kernel/kernel.h"
#include "kernel/tasks/user_regs.h"
#include "tracer/events/fetch_results.h"
#include "tracer/guest/actions.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/instance.h"

#define WORD 8u

/* Its upper half is 0, as in the tags of system calls' memory, which are higher (syscalls.c). Tags
 * of event probes with this half are lower because a probe has fewer results. */
#define TAG 0xefffu

/* struct userstack_entry in kernel/trace/trace_entries.h */
struct hv_user_stacks {
	struct hv_trampoline_program program; /* NR 0: not prepared yet */
	uint16_t id;
	uint32_t tgid_off, callers_off, nr_callers, entry_len;
};

static struct hv_user_stacks *state_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_USER_STACKS);
}

/* Whether TGID and then CALLERS follow the header, within HV_USER_STACK_ENTRY_MAX bytes. */
static bool is_known_form(const struct hv_event_field *tgid, const struct hv_event_field *callers)
{
	uint64_t tgid_end = (uint64_t)tgid->off + tgid->size_bytes;

	return tgid->size_bytes == sizeof(uint32_t) && tgid->off >= HV_ENTRY_HEADER_LEN &&
	       tgid_end <= callers->off && callers->size_bytes >= WORD &&
	       (uint64_t)callers->off + callers->size_bytes <= HV_USER_STACK_ENTRY_MAX;
}

static struct hv_err *find_entry(const struct hv_instances *all, struct hv_user_stacks *ret)
{
	const struct hv_event_field *tgid = NULL, *callers = NULL;
	const struct hv_event_type *type;
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(hv_instances_session(all)->types, &c);

	if (err)
		return err;
	type = hv_catalogue_find(c, "ftrace", "user_stack");
	if (type) {
		tgid = hv_event_type_field(c, type, "tgid");
		callers = hv_event_type_field(c, type, "caller");
	}
	if (!tgid || !callers || !is_known_form(tgid, callers))
		return hv_err_new(EOPNOTSUPP,
				  "the guest's event ftrace:user_stack has an unknown format");
	ret->id = (uint16_t)type->id;
	ret->tgid_off = tgid->off;
	ret->callers_off = callers->off;
	ret->nr_callers = callers->size_bytes / WORD;
	ret->entry_len = callers->off + callers->size_bytes;
	return NULL;
}

struct hv_err *hv_user_stacks_prepare(struct hv_instances *all)
{
	struct hv_session *session = hv_instances_session(all);
	struct hv_user_stacks *s = state_of(all);
	uint32_t regs_off = 0;
	struct hv_err *err;

	if (s->program.nr)
		return NULL;
	err = hv_actions_check_fetch(session->actions);
	if (!err)
		err = find_entry(all, s);
	if (!err)
		err = hv_user_regs_find(session->kernel, &regs_off);
	if (err)
		return err;
	if (!regs_off)
		return hv_err_new(
			EOPNOTSUPP,
			"cannot find the registers of programs on the stacks of this kernel");
	s->program.steps[s->program.nr++] =
		(struct hv_fetch_step){.does = HV_FETCH_USER_STACK,
				       .len_bytes = (uint16_t)(s->nr_callers * WORD),
				       .tag = TAG,
				       .value = regs_off};
	return NULL;
}

static bool is_on(const struct hv_instance *in)
{
	return hv_options_on(hv_instance_options(in), HV_OPT_USERSTACKTRACE);
}

bool hv_user_stacks_are_wanted(const struct hv_instance *in, const struct hv_event_type *type)
{
	return hv_instance_wants_user_stacks(in, hv_event_ref_of(type));
}

const struct hv_trampoline_program *hv_user_stacks_program(const struct hv_instances *all)
{
	return &state_of(all)->program;
}

/* Finds the addresses in RESULTS, those of EVENT. The kernel adds an empty stack to events of kernel
 * threads, and none to those in NMIs. */
static bool find_addresses(const struct hv_user_stacks *s, const struct hv_event *event,
			   struct hv_span results, struct hv_span *ret)
{
	struct hv_fetch_result found;

	if (!results.len_bytes || !s->program.nr || event->flags & HV_TRACE_NMI ||
	    !hv_fetch_results_find(results, TAG, &found))
		return false;
	*ret = found.bytes;
	if (ret->len_bytes > s->nr_callers * WORD)
		ret->len_bytes = s->nr_callers * WORD;
	ret->len_bytes = ret->len_bytes / WORD * WORD;
	return true;
}

bool hv_user_stacks_addresses(const struct hv_instances *all, const struct hv_event *event,
			      uint64_t *ret, size_t max)
{
	const struct hv_span results = {event->results, event->results_len};
	struct hv_span found;

	if (!find_addresses(state_of(all), event, results, &found))
		return false;
	for (size_t i = 0; i < max && hv_span_u64(found, i * WORD, &ret[i]); i++)
		;
	return true;
}

bool hv_user_stacks_event(const struct hv_instances *all, const struct hv_event *event,
			  struct hv_span results, struct hv_event *ret, uint8_t *entry)
{
	const struct hv_user_stacks *s = state_of(all);
	struct hv_span found;

	if (event->entry.len_bytes < HV_ENTRY_HEADER_LEN ||
	    !find_addresses(s, event, results, &found))
		return false;
	memset(entry, 0, s->entry_len);
	memcpy(entry, event->entry.data, HV_ENTRY_HEADER_LEN);
	memcpy(entry, &s->id, sizeof(s->id));
	memcpy(entry + s->tgid_off, &event->tgid, sizeof(event->tgid));
	if (found.len_bytes)
		memcpy(entry + s->callers_off, found.data, found.len_bytes);
	*ret = *event;
	ret->id = s->id;
	ret->lost_before = 0;
	ret->results = NULL;
	ret->results_len = 0;
	ret->entry = (struct hv_span){entry, s->entry_len};
	return true;
}

static bool takes_rings(const struct hv_instances *all)
{
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (is_on(in))
			return true;
	return false;
}

const struct hv_part hv_user_stacks_part = {
	.all_bytes = sizeof(struct hv_user_stacks),
	.takes_rings = takes_rings,
};
