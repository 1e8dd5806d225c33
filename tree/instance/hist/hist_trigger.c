/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/hist/hist_trigger.h"

#include <string.h>

#include "tree/instance/core/instance.h"
#include "tree/instance/dynamic/synths.h"
#include "tree/instance/events/user_stacks.h"

/* State of processing one hit. */
struct hit {
	struct hv_instance *in;
	struct hv_hist_trigger *of;
	const struct hv_event *event;
	const struct hv_hist_output *out;
	struct hv_hist_record record;
	uint8_t key[HV_HIST_KEY_BYTES_MAX];
	uint32_t at; /* index of its entry */
	/* Values of the referenced variables. Strings are copied, because the actions of a hit may
	 * modify other tables. */
	struct hv_hist_value refs[HV_HIST_VARIABLES_MAX];
	_Alignas(uint64_t) char texts[HV_HIST_VARIABLES_MAX][HV_HIST_TEXT_BYTES];
};

enum whose { OF_OTHERS, OF_ITSELF };

/* resolve_var_refs() */
static bool read_variables(struct hit *h, enum whose whose)
{
	const struct hv_hist_spec *s = &h->of->spec;

	for (unsigned i = 0; i < s->nr_refs; i++) {
		const struct hv_hist_reference *ref = &s->refs[i];
		bool is_others = ref->serial != 0;
		struct hv_hist_table *t = is_others ? h->of->refs[i] : h->of->table;
		uint32_t at = h->at;

		if (is_others != (whose == OF_OTHERS))
			continue;
		if (is_others)
			at = hv_hist_table_find(t, h->key, s->key_bytes);
		if (at == HV_HIST_NOWHERE ||
		    !hv_hist_table_read(t, at, ref->variable,
					is_others && ref->reads_once ? HV_HIST_READ_ONCE
								     : HV_HIST_READ_AGAIN,
					h->texts[i], &h->refs[i]))
			return false;
	}
	return true;
}

static void make_synth(const struct hit *h, const struct hv_hist_action *a)
{
	struct hv_hist_value values[HV_HIST_PARAMS_MAX];
	uint8_t entry[HV_ENTRY_LEN_MAX];
	struct hv_event event;

	for (unsigned i = 0; i < a->nr_params; i++)
		values[i] = h->refs[a->refs[i]];
	if (h->out->take &&
	    hv_synths_event(hv_instance_all(h->in), a->synth, values, h->event, &event, entry))
		h->out->take(h->out->ctx, &event);
}

static bool is_new(const struct hv_hist_action *a, uint64_t value, uint64_t before)
{
	return a->handler == HV_HIST_ON_MAX ? value > before : value != before;
}

/* The value must also be a new maximum or change over all keys (cond_snapshot_update). */
static void take_snapshot(struct hit *h, const struct hv_hist_action *a, uint64_t value)
{
	struct hv_hist_taken *taken = h->of->taken;

	if (!is_new(a, value, taken->value))
		return;
	taken->action = a;
	taken->value = value;
	memcpy(taken->key, h->key, h->of->spec.key_bytes);
	memcpy(taken->comm, hv_hist_table_comm(h->of->table, h->at), sizeof(taken->comm));
	hv_buffers_swap_snapshot(hv_instance_buffers(h->in));
}

static void act(struct hit *h, const struct hv_hist_action *a)
{
	if (a->handler != HV_HIST_ON_MATCH) {
		uint64_t value = h->refs[a->ref].number;

		if (!is_new(a, value, hv_hist_table_number(h->of->table, h->at, a->tracked)))
			return;
		hv_hist_table_set_number(h->of->table, h->at, a->tracked, value);
	}
	switch (a->deed) {
	case HV_HIST_TRACES:
		make_synth(h, a);
		return;
	case HV_HIST_SAVES:
		hv_hist_table_save(h->of->table, &h->of->spec, h->at, &h->record);
		return;
	case HV_HIST_SNAPSHOTS:
		take_snapshot(h, a, h->refs[a->ref].number);
		return;
	}
}

void hv_hist_trigger_count(struct hv_instance *in, struct hv_hist_trigger *of,
			   const struct hv_event *event, uint64_t time, const uint64_t *stack,
			   const struct hv_hist_output *out)
{
	uint64_t user_stack[HV_HIST_STACK_MAX] = {0};
	struct hit h;

	if (of->needs_user_stack &&
	    !hv_user_stacks_addresses(hv_instance_all(in), event, user_stack, HV_HIST_STACK_MAX))
		return;
	h.in = in;
	h.of = of;
	h.event = event;
	h.out = out;
	h.record = (struct hv_hist_record){.entry = event->entry,
					   .cpu = event->cpu,
					   .time = time,
					   .refs = h.refs,
					   .stack = stack,
					   .user_stack = user_stack};
	memset(h.refs, 0, sizeof(h.refs));
	hv_hist_spec_key(&of->spec, &h.record, h.key);
	if (!read_variables(&h, OF_OTHERS))
		return;
	h.at = hv_hist_table_add(of->table, &of->spec, h.key, &h.record, event->comm);
	if (h.at == HV_HIST_NOWHERE || !of->spec.nr_actions || !read_variables(&h, OF_ITSELF))
		return;
	for (unsigned i = 0; i < of->spec.nr_actions; i++)
		act(&h, of->spec.actions[i]);
}
