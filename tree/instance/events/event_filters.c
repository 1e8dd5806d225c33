/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/event_filters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "kernel/events/catalogue.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/sharing.h"

struct hv_event_filters {
	struct hv_event_filter_of {
		struct hv_event_ref ref;
		char *text; /* owned; contents of the file, without the last newline */
		/* Owned; NULL: the filter is invalid and TEXT contains the error. */
		struct hv_event_filter *filter;
	} * list; /* owned, sorted by id, without duplicate ids */
	size_t nr;
	size_t nr_right; /* number of valid filters */
};

static void forget(struct hv_event_filter_of *of)
{
	free(of->text);
	hv_event_filter_free(of->filter);
}

static struct hv_event_filters *state_of(const struct hv_instance *in)
{
	return hv_instance_state(in, HV_PART_EVENT_FILTERS);
}

static void deinit(struct hv_instance *in)
{
	struct hv_event_filters *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++)
		forget(&s->list[i]);
	free(s->list);
}

/* Returns the index of the first filter with an id of at least ID. */
static size_t index_of(const struct hv_event_filters *s, uint32_t id)
{
	return HV_BISECT(i, s->nr, s->list[i].ref.id < id);
}

static const struct hv_event_filter_of *find(const struct hv_event_filters *s, uint32_t id)
{
	size_t at = index_of(s, id);

	return at < s->nr && s->list[at].ref.id == id ? &s->list[at] : NULL;
}

size_t hv_event_filters_nr(const struct hv_instance *in)
{
	return state_of(in)->nr;
}

size_t hv_event_filters_nr_right(const struct hv_instance *in)
{
	return state_of(in)->nr_right;
}

const char *hv_event_filters_text(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_event_filter_of *of = find(state_of(in), ref.id);

	return of && of->ref.call == ref.call ? of->text : NULL;
}

const struct hv_event_filter *hv_event_filters_of(const struct hv_instance *in,
						  struct hv_event_ref ref)
{
	const struct hv_event_filter_of *of = find(state_of(in), ref.id);

	return of && of->ref.call == ref.call ? of->filter : NULL;
}

static void remove_at(struct hv_event_filters *s, size_t at)
{
	s->nr_right -= s->list[at].filter != NULL;
	forget(&s->list[at]);
	s->nr--;
	memmove(s->list + at, s->list + at + 1, (s->nr - at) * sizeof(*s->list));
}

/* S takes ownership of TEXT and FILTER. */
static void put(struct hv_event_filters *s, struct hv_event_ref ref, char *text,
		struct hv_event_filter *filter)
{
	size_t at = index_of(s, ref.id);

	if (find(s, ref.id))
		remove_at(s, at);
	s->list = hv_realloc_array(s->list, s->nr + 1, sizeof(*s->list));
	memmove(s->list + at + 1, s->list + at, (s->nr - at) * sizeof(*s->list));
	s->list[at] = (struct hv_event_filter_of){ref, text, filter};
	s->nr++;
	s->nr_right += filter != NULL;
}

/* append_filter_err() */
static char *text_of_fault(const char *filter, const struct hv_filter_fault *fault)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	size_t at = strlen(filter);

	hv_text_printf(&text, "%s\n", filter);
	if (!fault->why) {
		hv_text_add(&text, "Error: (0)\n");
		return hv_text_take(&text);
	}
	if (at > fault->at)
		at = fault->at;
	hv_text_add_fill(&text, ' ', at);
	hv_text_printf(&text, "^\nparse_error: %s\n", fault->why);
	return hv_text_take(&text);
}

static struct hv_err *refuse(struct hv_instance *in, const struct hv_event_type *type,
			     const char *filter, const struct hv_filter_fault *fault)
{
	put(state_of(in), hv_event_ref_of(type), text_of_fault(filter, fault), NULL);
	hv_instances_publish_filter(hv_instance_all(in), type);
	if (!fault->why)
		return hv_err_new(fault->code, "a comparison is missing in '%s'", filter);
	return hv_err_new(fault->code, "%s at character %zu of '%s'", fault->why, fault->at,
			  filter);
}

/* Events recorded before the change stay in the buffers. */
struct hv_err *hv_instance_set_event_filter(struct hv_instance *in,
					    const struct hv_event_type *type, const char *filter,
					    const char *why, struct hv_filter_fault *ret_fault)
{
	struct hv_filter_scope scope = {
		.kernel = hv_instance_session(in)->kernel,
		.type = type,
		.nr_cpus = hv_instances_nr_cpus(hv_instance_all(in)),
	};
	struct hv_err *err =
		hv_event_types_catalogue(hv_instance_session(in)->types, &scope.catalogue);
	struct hv_event_filter *parsed;

	*ret_fault = (struct hv_filter_fault){0};
	if (err)
		return err;
	hv_instances_drain(hv_instance_all(in));
	parsed = hv_event_filter_parse(&scope, filter, ret_fault);
	if (!parsed && why)
		*ret_fault = (struct hv_filter_fault){ret_fault->code, why, 0};
	if (!parsed)
		return refuse(in, type, filter, ret_fault);
	err = hv_instance_is_top(in) ? hv_instance_need_host(in) : NULL;
	if (err) {
		hv_event_filter_free(parsed);
		return err;
	}
	put(state_of(in), hv_event_ref_of(type), hv_strdup(filter), parsed);
	hv_instances_publish_filter(hv_instance_all(in), type);
	return NULL;
}

void hv_instance_remove_event_filter(struct hv_instance *in, const struct hv_event_type *type)
{
	struct hv_event_filters *s = state_of(in);
	const struct hv_event_filter_of *of = find(s, type->id);

	if (!of || of->ref.call != type->call.v)
		return;
	hv_instances_drain(hv_instance_all(in));
	remove_at(s, (size_t)(of - s->list));
	hv_instances_publish_filter(hv_instance_all(in), type);
}

/* While the top instance has a filter, its buffer is in host memory. */
static bool takes_rings(const struct hv_instances *all)
{
	return state_of(hv_instances_top(all))->nr_right;
}

static void forget_gone(struct hv_instance *in, const struct hv_catalogue *c)
{
	struct hv_event_filters *s = state_of(in);

	for (size_t i = s->nr; i-- > 0;) {
		const struct hv_event_type *type = hv_catalogue_by_id(c, s->list[i].ref.id);

		if (!type || type->call.v != s->list[i].ref.call)
			remove_at(s, i);
	}
}

bool hv_instance_record_passes(const struct hv_instance *in, const struct hv_event_filter *filter,
			       const struct hv_event *event)
{
	char idle[sizeof(event->comm)] = "";
	struct hv_filter_record record = {
		.entry = event->entry,
		.cpu = event->cpu,
		.comm = event->comm,
		.kernel = hv_instance_session(in)->kernel,
	};

	if (!event->pid) {
		/* The idle task has a name that traces do not show (idle_init). */
		snprintf(idle, sizeof(idle), "swapper/%u", event->cpu);
		record.comm = idle;
	}
	return hv_event_filter_passes(filter, &record);
}

bool hv_instance_has_event_filter(const struct hv_instance *in, uint32_t id)
{
	const struct hv_event_filter_of *of = find(state_of(in), id);

	return of && of->filter;
}

bool hv_instance_filters_pass(const struct hv_instance *in, const struct hv_event *event)
{
	const struct hv_event_filters *s = state_of(in);
	const struct hv_event_filter_of *of = s->nr_right ? find(s, event->id) : NULL;

	return !of || !of->filter || hv_instance_record_passes(in, of->filter, event);
}

const struct hv_part hv_event_filters_part = {
	.state_bytes = sizeof(struct hv_event_filters),
	.deinit = deinit,
	.takes_rings = takes_rings,
	.forget_gone = forget_gone,
};
