/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/hist/hist_links.h"

#include "kernel/events/print_values.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/dynamic/synths.h"
#include "tree/settings/hist_action.h"

/* -- context of references
 * ------------------------------------------------------------------------ */

static bool next_other(void *of, size_t index, struct hv_hist_other *ret)
{
	static const struct hv_event_type gone = {.system = "", .name = ""};
	const struct hv_hist_links *links = of;
	const struct hv_hists *s = links->in->hists;

	if (index >= s->nr)
		return false;
	*ret = (struct hv_hist_other){
		.serial = s->list[index].serial,
		.type = hv_catalogue_by_id(links->catalogue, s->list[index].ref.id),
		.spec = &s->list[index].spec,
	};
	if (!ret->type)
		ret->type = &gone;
	return true;
}

static const struct hv_synth *find_synth(void *of, const char *name)
{
	const struct hv_hist_links *links = of;

	return hv_synths_find(links->in->all, name);
}

static int add_other(void *of, const struct hv_event_type *type, const char *text)
{
	const struct hv_hist_links *links = of;
	struct hv_hists *s = links->in->hists;
	struct hv_hist_of *to = links->of;
	struct hv_hist_refusal unused;
	HV_AUTO_ERR struct hv_err *err = links->write(links->in, type, text, &unused);

	if (err)
		return err->code;
	to->added = hv_realloc_array(to->added, to->nr_added + 1, sizeof(*to->added));
	to->added[to->nr_added++] = s->list[s->nr - 1].serial;
	return 0;
}

struct hv_hist_scope hv_hist_links_scope(struct hv_hist_links *links,
					 const struct hv_event_type *type)
{
	int64_t unused;

	return (struct hv_hist_scope){
		.catalogue = links->catalogue,
		.type = type,
		.has_stack_fields = hv_print_value_enumerator(links->in->all->session->kernel,
							      "FILTER_STACKTRACE", &unused),
		.of = links,
		.other = next_other,
		.synth = find_synth,
		.add = add_other,
	};
}

struct hv_err *hv_hist_links_error(const struct hv_hist_faults *faults, const char *text)
{
	const struct hv_hist_fault *last = &faults->list[faults->nr ? faults->nr - 1 : 0];
	HV_AUTO_FREE char *command = hv_hist_spec_command(text);

	if (faults->nr)
		return hv_err_new(faults->code, "%s at character %zu of '%s'", last->why, last->at,
				  command);
	if (faults->code == ENOMEM)
		return hv_err_new(ENOMEM, "a key or value is neither a number nor a string");
	return hv_err_new(faults->code,
			  "it is no hist:keys=FIELD,...:values=FIELD,...:NAME=FIELD,...:"
			  "sort=FIELD,...:size=N:HANDLER.ACTION if FILTER");
}

/* -- making ------------------------------------------------------------------------------------ */

static bool takes_snapshots(const struct hv_hist_spec *s)
{
	for (unsigned i = 0; i < s->nr_actions; i++)
		if (s->actions[i]->deed == HV_HIST_SNAPSHOTS)
			return true;
	return false;
}

/* An instance can have only one snapshot condition (tracing_snapshot_cond_enable). */
static struct hv_err *prepare_snapshots(struct hv_instance *in, struct hv_hist_of *of)
{
	if (!takes_snapshots(&of->spec))
		return NULL;
	for (size_t i = 0; i < in->hists->nr; i++)
		if (in->hists->list[i].taken)
			return hv_err_new(EBUSY, "another hist trigger takes snapshots");
	of->taken = hv_alloc(sizeof(*of->taken));
	return hv_buffers_need_snapshot(&in->buffers);
}

static struct hv_err *take_tables(const struct hv_hists *s, struct hv_hist_of *of)
{
	for (unsigned i = 0; i < of->spec.nr_refs; i++) {
		uint64_t serial = of->spec.refs[i].serial;
		size_t at = serial ? hv_hist_links_find(s, serial) : s->nr;

		if (at < s->nr)
			of->refs[i] = hv_hist_table_ref(s->list[at].table);
		else if (serial)
			return hv_err_new(EINVAL, "a trigger to which it refers is gone");
	}
	return NULL;
}

struct hv_err *hv_hist_links_make(struct hv_hist_links *links, const char *text,
				  struct hv_hist_faults *ret_faults)
{
	struct hv_instance *in = links->in;
	struct hv_hist_of *of = links->of;
	const struct hv_event_type *type = hv_catalogue_by_id(links->catalogue, of->ref.id);
	const struct hv_hist_scope scope = hv_hist_links_scope(links, type);
	struct hv_err *err;

	if (!type)
		return hv_err_new(ENODEV, "the guest no longer has this event");
	if (!hv_hist_spec_link(&scope, text, &of->spec, ret_faults))
		return hv_hist_links_error(ret_faults, text);
	err = take_tables(in->hists, of);
	return err ? err : prepare_snapshots(in, of);
}

bool hv_hist_links_are_like(const struct hv_hist_of *a, const struct hv_hist_of *b)
{
	if (a->spec.nr_variables != b->spec.nr_variables || a->spec.nr_refs != b->spec.nr_refs)
		return false;
	for (unsigned i = 0; i < a->spec.nr_variables; i++) {
		const struct hv_hist_variable *v = &a->spec.variables[i];
		const struct hv_hist_variable *w = &b->spec.variables[i];

		if (v->role != w->role ||
		    (v->field && v->field->is_text) != (w->field && w->field->is_text))
			return false;
	}
	return true;
}

/* -- lookups
 * --------------------------------------------------------------------------------------- */

/* A trigger may refer to itself. Triggers with the same name share the histogram. */
bool hv_hist_links_has(const struct hv_hists *s, const struct hv_hist_of *of)
{
	for (size_t i = 0; i < s->nr; i++)
		for (unsigned j = 0; s->list[i].table != of->table && j < HV_HIST_VARIABLES_MAX;
		     j++)
			if (s->list[i].refs[j] == of->table)
				return true;
	return false;
}

size_t hv_hist_links_find(const struct hv_hists *s, uint64_t serial)
{
	size_t at = 0;

	while (at < s->nr && s->list[at].serial != serial)
		at++;
	return at;
}
