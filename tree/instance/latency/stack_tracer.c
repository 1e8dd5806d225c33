/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/latency/stack_tracer.h"

#include "kernel/kernel.h"
#include "kernel/tasks/unwind.h"
#include "tracer/events/callers.h"
#include "tracer/events/cursor.h"
#include "tracer/guest/actions.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/core/sharing.h"

#define WORD_BYTES 8 /* size of a return address */

static struct hv_stack_tracer *state_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_STACK_TRACER);
}

const struct hv_stack_tracer *hv_stack_tracer_of(const struct hv_instances *all)
{
	return state_of(all);
}

struct hv_err *hv_stack_tracer_check(const struct hv_instances *all)
{
	struct hv_err *err = hv_actions_check_deepest(hv_instances_session(all)->actions);

	return err ? err : hv_callers_check(hv_instances_session(all)->callers);
}

bool hv_stack_tracer_has(const struct hv_instances *all, struct hv_gva ip)
{
	const struct hv_filter *list =
		&hv_instance_selection(hv_instances_top(all))->lists[HV_LIST_STACK];

	return hv_filter_is_all(list) || hv_filter_has(list, ip);
}

struct hv_err *hv_stack_tracer_switch(struct hv_instances *all, enum hv_switch to)
{
	struct hv_stack_tracer *s = state_of(all);
	struct hv_err *err = NULL;

	if (to == s->is_on)
		return NULL;
	if (to)
		err = hv_callers_prepare(hv_instances_session(all)->callers);
	if (!err && to)
		err = hv_instance_need_host(hv_instances_top(all));
	if (err)
		return err;
	hv_instances_drain(all);
	hv_actions_set_deepest(hv_instances_session(all)->actions, s->max_bytes);
	s->is_on = to;
	err = hv_instance_retrace(hv_instances_top(all));
	if (!err)
		return NULL;
	s->is_on = !to;
	hv_err_free(hv_instances_publish_commands(all));
	return err;
}

void hv_stack_tracer_set_max(struct hv_instances *all, uint64_t bytes)
{
	hv_instances_drain(all);
	state_of(all)->max_bytes = bytes;
	hv_actions_set_deepest(hv_instances_session(all)->actions, bytes);
}

/* Finds the location of each caller on the stack, in order, like check_stack(): an address that is
 * not found is omitted. WORDS begin at the caller's return address. */
static void put_callers(struct hv_stack_tracer *s, const struct hv_event *e,
			const struct hv_stack_words *words, uint32_t end)
{
	size_t at = 0;

	for (size_t i = 1; i < e->nr_callers && s->nr < HV_DEEPEST_MAX; i++) {
		uint32_t low = (uint32_t)(e->callers[i].v - words->text_base.v) & 0x7fffffff;
		size_t w = at;

		while (w < words->nr && !(words->list[w].is_text && words->list[w].value == low))
			w++;
		if (w == words->nr)
			continue;
		s->list[s->nr++] = (struct hv_deepest){e->callers[i], end - words->list[w].at};
		at = w + 1;
	}
}

/* Task stacks are aligned to their size. The kernel's own stack tracer relies on this, too. */
void hv_stack_tracer_take(struct hv_instances *all, const struct hv_cursor *cursor,
			  const struct hv_event *event)
{
	struct hv_stack_tracer *s = state_of(all);
	uint32_t stack_bytes = hv_instances_session(all)->kernel->layout.stack_bytes;
	struct hv_gva list[HV_CALLERS_MAX];
	struct hv_stack_words words;
	struct hv_event e = *event;
	uint32_t retp, depth;

	hv_cursor_words(cursor, &words);
	retp = words.sp - WORD_BYTES;
	depth = stack_bytes - (retp & (stack_bytes - 1));
	if (!s->is_on || depth <= s->max_bytes)
		return;
	hv_cursor_callers(cursor, list, &e);
	s->max_bytes = depth;
	s->nr = 0;
	if (e.nr_callers)
		s->list[s->nr++] = (struct hv_deepest){e.callers[0], depth};
	put_callers(s, &e, &words, retp + depth);
}

/* After a loss, makes the guest record again. */
static void drained(struct hv_instances *all)
{
	struct hv_stack_tracer *s = state_of(all);

	if (s->is_on && s->has_lost)
		hv_actions_set_deepest(hv_instances_session(all)->actions, s->max_bytes);
	s->has_lost = false;
}

static bool calls_trampolines(const struct hv_instance *in)
{
	return hv_instance_is_top(in) && state_of(hv_instance_all(in))->is_on;
}

static bool takes_rings(const struct hv_instances *all)
{
	return state_of(all)->is_on;
}

static void lose(struct hv_instance *in, const struct hv_event *event)
{
	(void)event;
	state_of(hv_instance_all(in))->has_lost = true;
}

const struct hv_part hv_stack_tracer_part = {
	.all_bytes = sizeof(struct hv_stack_tracer),
	.calls_trampolines = calls_trampolines,
	.takes_rings = takes_rings,
	.lose = lose,
	.drained = drained,
};
