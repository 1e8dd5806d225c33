/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/hist/hists.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kernel/events/catalogue.h"
#include "kernel/kernel.h"
#include "kernel/events/print_values.h"
#include "tracer/events/callers.h"
#include "tracer/events/event.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/format/hist_text.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/dynamic/eprobes.h"
#include "tree/instance/dynamic/host_made.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/dynamic/synths.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/event_pids.h"
#include "tree/instance/events/event_stacks.h"
#include "tree/instance/events/user_stacks.h"
#include "tree/instance/hist/hist_table.h"
#include "tree/instance/hist/hist_trigger.h"
#include "tree/settings/event_filter.h"
#include "tree/settings/event_set.h"
#include "tree/settings/hist/hist_spec.h"

struct hv_hists {
	struct hv_hist_trigger *list; /* owned, oldest first */
	size_t nr;
	unsigned stack_depth; /* hv_hist_stack_depth(), if there are any triggers */
};

/* -- references between triggers --------------------------------------------------------------- */

/* Dependencies between hist triggers: a trigger that refers to variables of others keeps them, and
 * their histograms, from being removed. tree/settings/hist/hist_field.h and hist_spec.h parse
 * references. */

/* Context for the references of a trigger. */
struct links {
	struct hv_instance *in;
	const struct hv_catalogue *catalogue;
	struct hv_hist_trigger *of; /* the trigger */
	/* hv_instance_write_hist(), to add another trigger. */
	struct hv_err *(*write)(struct hv_instance *in, const struct hv_event_type *type,
				const char *text, struct hv_hist_refusal *ret_why);
};

static struct hv_hists *state_of(const struct hv_instance *in)
{
	return hv_instance_state(in, HV_PART_HISTS);
}

/* The number of hist triggers created in all instances, including removed ones. */
static uint64_t *nr_made_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_HISTS);
}

/* Returns the index of the trigger SERIAL, or s->nr. */
static size_t links_find(const struct hv_hists *s, uint64_t serial)
{
	size_t at = 0;

	while (at < s->nr && s->list[at].serial != serial)
		at++;
	return at;
}

/* -- context of references --------------------------------------------------------------------- */

static bool next_other(void *of, size_t index, struct hv_hist_other *ret)
{
	static const struct hv_event_type gone = {.system = "", .name = ""};
	const struct links *links = of;
	const struct hv_hists *s = state_of(links->in);

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
	const struct links *links = of;

	return hv_synths_find(hv_instance_all(links->in), name);
}

static int add_other(void *of, const struct hv_event_type *type, const char *text)
{
	const struct links *links = of;
	struct hv_hists *s = state_of(links->in);
	struct hv_hist_trigger *to = links->of;
	struct hv_hist_refusal unused;
	HV_AUTO_ERR struct hv_err *err = links->write(links->in, type, text, &unused);

	if (err)
		return err->code;
	to->added = hv_realloc_array(to->added, to->nr_added + 1, sizeof(*to->added));
	to->added[to->nr_added++] = s->list[s->nr - 1].serial;
	return 0;
}

/* LINKS is borrowed by the result. */
static struct hv_hist_scope links_scope(struct links *links, const struct hv_event_type *type)
{
	int64_t unused;

	return (struct hv_hist_scope){
		.catalogue = links->catalogue,
		.type = type,
		.has_stack_fields = hv_print_value_enumerator(
			hv_instance_session(links->in)->kernel, "FILTER_STACKTRACE", &unused),
		.has_user_stacks =
			hv_instance_session(links->in)->kernel->core.as.arch->user_regs_bytes != 0,
		.of = links,
		.other = next_other,
		.synth = find_synth,
		.add = add_other,
	};
}

/* Returns FAULTS, found in the trigger TEXT, as an error. */
static struct hv_err *links_error(const struct hv_hist_faults *faults, const char *text)
{
	const struct hv_hist_fault *last = &faults->list[faults->nr ? faults->nr - 1 : 0];
	HV_AUTO_FREE char *command = hv_hist_spec_command(text);

	if (faults->refers_too_often)
		return hv_err_new(faults->code, "the trigger refers to more than %d variables",
				  HV_HIST_VARIABLES_MAX);
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
static struct hv_err *prepare_snapshots(struct hv_instance *in, struct hv_hist_trigger *of)
{
	struct hv_hists *s = state_of(in);

	if (!takes_snapshots(&of->spec))
		return NULL;
	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].taken)
			return hv_err_new(EBUSY, "another hist trigger takes snapshots");
	of->taken = hv_alloc(sizeof(*of->taken));
	return hv_buffers_need_snapshot(hv_instance_buffers(in));
}

/* No trigger is removed between parsing and here. */
static void take_tables(const struct hv_hists *s, struct hv_hist_trigger *of)
{
	for (unsigned i = 0; i < of->spec.nr_refs; i++) {
		uint64_t serial = of->spec.refs[i].serial;
		size_t at = serial ? links_find(s, serial) : s->nr;

		assert(!serial || at < s->nr);
		if (serial)
			of->refs[i] = hv_hist_table_ref(s->list[at].table);
	}
}

/* Resolves the names in the actions of LINKS->of, parsed from TEXT, and the histograms that it
 * refers to. May add other triggers, listed in its `added`; if the trigger is not added in the end,
 * the caller removes these. EINVAL, EEXIST, ENOMEM, EBUSY. */
static struct hv_err *links_make(struct links *links, const char *text,
				 struct hv_hist_faults *ret_faults)
{
	struct hv_instance *in = links->in;
	struct hv_hist_trigger *of = links->of;
	const struct hv_event_type *type = hv_catalogue_by_id(links->catalogue, of->ref.id);
	const struct hv_hist_scope scope = links_scope(links, type);

	if (!type)
		return hv_err_new(ENODEV, "the guest's module that had this event was removed");
	if (!hv_hist_spec_link(&scope, text, &of->spec, ret_faults))
		return links_error(ret_faults, text);
	take_tables(state_of(in), of);
	return prepare_snapshots(in, of);
}

/* Returns whether the entries of A and B have the same variables. */
static bool links_are_like(const struct hv_hist_trigger *a, const struct hv_hist_trigger *b)
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

/* -- uses of variables ------------------------------------------------------------------------- */

/* Returns whether other triggers in S refer to variables of OF. A trigger may refer to itself.
 * Triggers with the same name share the histogram. */
static bool links_have(const struct hv_hists *s, const struct hv_hist_trigger *of)
{
	for (size_t i = 0; i < s->nr; i++)
		for (unsigned j = 0; s->list[i].table != of->table && j < HV_HIST_VARIABLES_MAX;
		     j++)
			if (s->list[i].refs[j] == of->table)
				return true;
	return false;
}

/* -- the triggers ------------------------------------------------------------------------------ */

#define NAMED_MISMATCH                                                                             \
	"Named hist trigger doesn't match existing named trigger (includes variables)"

static void forget(struct hv_hist_trigger *of)
{
	hv_hist_spec_deinit(&of->spec);
	hv_event_filter_free(of->filter);
	hv_hist_table_unref(of->table);
	for (unsigned i = 0; i < HV_HIST_VARIABLES_MAX; i++)
		hv_hist_table_unref(of->refs[i]);
	free(of->taken);
	free(of->added);
}

static void deinit(struct hv_instance *in)
{
	struct hv_hists *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++)
		forget(&s->list[i]);
	free(s->list);
}

static bool acts(const struct hv_instance *in)
{
	return state_of(in)->nr;
}

static bool acts_on(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_hists *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++)
		if (hv_event_ref_is_same(s->list[i].ref, ref))
			return true;
	return false;
}

bool hv_hists_have_any(const struct hv_instance *in)
{
	return state_of(in)->nr;
}

bool hv_hists_have(const struct hv_instance *in, uint32_t id)
{
	const struct hv_hists *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].ref.id == id)
			return true;
	return false;
}

void hv_hists_pause(struct hv_instance *in, struct hv_event_ref ref, unsigned paused)
{
	struct hv_hists *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++)
		if (hv_event_ref_is_same(s->list[i].ref, ref))
			s->list[i].is_paused = paused;
}

/* -- lookups ----------------------------------------------------------------------------------- */

/* Returns the first trigger called NAME in any instance, or NULL. NAME may be NULL. */
static const struct hv_hist_trigger *find_named(const struct hv_instances *all, const char *name)
{
	for (const struct hv_instance *in = hv_instances_top(all); name && in;
	     in = hv_instance_next(in))
		for (size_t i = 0; i < state_of(in)->nr; i++) {
			const struct hv_hist_trigger *of = &state_of(in)->list[i];

			if (of->spec.name && strcmp(of->spec.name, name) == 0)
				return of;
		}
	return NULL;
}

/* Returns whether SPEC matches the existing trigger OF. NAMED is a trigger with SPEC's name
 * (hist_trigger_match). */
static bool is_again(const struct hv_hist_trigger *of, const struct hv_hist_spec *spec,
		     const struct hv_hist_trigger *named)
{
	const char *name = of->spec.name;

	if (named ? !name || strcmp(name, named->spec.name) != 0 : name != NULL)
		return false;
	return hv_hist_spec_is_like(&of->spec, spec) &&
	       hv_hist_spec_has_filter(spec, of->spec.filter);
}

/* Returns the index of the trigger of REF that SPEC matches, or nr. */
static size_t find_again(const struct hv_instance *in, struct hv_event_ref ref,
			 const struct hv_hist_spec *spec)
{
	const struct hv_hists *s = state_of(in);
	const struct hv_hist_trigger *named = find_named(hv_instance_all(in), spec->name);
	size_t at = 0;

	while (at < s->nr &&
	       !(hv_event_ref_is_same(s->list[at].ref, ref) && is_again(&s->list[at], spec, named)))
		at++;
	return at;
}

/* -- changes ----------------------------------------------------------------------------------- */

/* Reports an error of the trigger as a whole, or at the WORD that the kernel marks. */
static struct hv_err *refuse(struct hv_hist_refusal *refusal, int code, const char *why,
			     const char *text, const char *word)
{
	HV_AUTO_FREE char *command = hv_hist_spec_command(text);
	const char *at = strstr(command, word);

	refusal->hist = (struct hv_hist_faults){
		.code = code,
		.list = {{why, at ? (size_t)(at - command) : 0}},
		.nr = 1,
	};
	return hv_err_new(code, "%s", why);
}

static uint64_t bytes_of_all(const struct hv_instances *all)
{
	uint64_t bytes = 0;

	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		for (size_t i = 0; i < state_of(in)->nr; i++)
			bytes += hv_hist_table_bytes(&state_of(in)->list[i].spec);
	return bytes;
}

/* Assigns a histogram to OF. A histogram shared with a named trigger keeps its size. */
static struct hv_err *take_table(const struct hv_instance *in, struct hv_hist_trigger *of)
{
	const struct hv_hist_trigger *named = find_named(hv_instance_all(in), of->spec.name);
	uint64_t left = HV_HISTS_BYTES_MAX - bytes_of_all(hv_instance_all(in));

	if (named)
		of->spec.size = named->spec.size;
	if (hv_hist_table_bytes(&of->spec) > left)
		return hv_err_new(ENOMEM,
				  "a histogram of %" PRIu32 " entries may need %" PRIu64
				  " bytes, but the session's histograms have %" PRIu64
				  " left: remove one, or choose a smaller size",
				  of->spec.size, hv_hist_table_bytes(&of->spec), left);
	of->table = named ? hv_hist_table_ref(named->table) : hv_hist_table_new(&of->spec);
	return NULL;
}

static struct hv_err *parse_filter(const struct hv_instance *in, const struct hv_catalogue *c,
				   const struct hv_event_type *type, struct hv_hist_trigger *of,
				   struct hv_filter_fault *ret_fault)
{
	const struct hv_filter_scope scope = {hv_instance_session(in)->kernel, c, type,
					      hv_instances_nr_cpus(hv_instance_all(in))};

	if (!of->spec.filter)
		return NULL;
	of->filter = hv_event_filter_parse(&scope, of->spec.filter, ret_fault);
	if (of->filter)
		return NULL;
	return hv_err_new(ret_fault->code, "%s at character %zu of '%s'",
			  ret_fault->why ? ret_fault->why : "a comparison is missing",
			  ret_fault->at, of->spec.filter);
}

static struct hv_err *remove_at(struct hv_instance *in, size_t at);

/* Inserts OF at AT. S takes ownership of its contents. */
static void insert(struct hv_hists *s, size_t at, const struct hv_hist_trigger *of)
{
	s->list = hv_realloc_array(s->list, s->nr + 1, sizeof(*s->list));
	memmove(s->list + at + 1, s->list + at, (s->nr - at) * sizeof(*s->list));
	s->list[at] = *of;
	s->nr++;
}

/* Removes the trigger at AT. The caller owns its contents. */
static struct hv_hist_trigger take_out(struct hv_hists *s, size_t at)
{
	struct hv_hist_trigger of = s->list[at];

	s->nr--;
	memmove(s->list + at, s->list + at + 1, (s->nr - at) * sizeof(*s->list));
	return of;
}

/* Removes the triggers added for the actions of OF, unless others use them. */
static struct hv_err *remove_added(struct hv_instance *in, const struct hv_hist_trigger *of)
{
	struct hv_hists *s = state_of(in);
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < of->nr_added; i++) {
		size_t at = links_find(s, of->added[i]);

		if (at < s->nr && !links_have(s, &s->list[at]))
			err = remove_at(in, at);
	}
	return err;
}

/* Recurses at most once: triggers added for actions have no actions themselves. */
static struct hv_err *remove_at(struct hv_instance *in, size_t at)
{
	struct hv_hists *s = state_of(in);
	struct hv_hist_trigger of = take_out(s, at);
	struct hv_err *err = hv_instance_publish_triggers(in);

	if (err) {
		insert(s, at, &of);
		return err;
	}
	err = remove_added(in, &of);
	forget(&of);
	return err;
}

/* On success IN owns the contents of OF. */
static struct hv_err *add(struct hv_instance *in, struct hv_hist_trigger *of)
{
	struct hv_hists *s = state_of(in);
	struct hv_err *err = take_table(in, of);

	if (!err)
		err = hv_instances_begin_sharing(hv_instance_all(in));
	if (err)
		return err;
	insert(s, s->nr, of);
	err = hv_instance_publish_triggers(in);
	if (!err)
		err = hv_kprobes_check(hv_instance_all(in), of->ref);
	if (err) {
		take_out(s, s->nr - 1);
		hv_err_free(hv_instance_publish_triggers(in));
	} else if (of->spec.has_time) {
		hv_instance_use_clock(in, HV_TRACE_CLOCK_GUEST);
	}
	return err;
}

/* Returns why OF cannot be added (hist_register_trigger). */
static struct hv_err *check_new(const struct hv_instance *in, const struct hv_hist_trigger *of,
				const char *text, struct hv_hist_refusal *refusal)
{
	const struct hv_hist_spec *spec = &of->spec;
	const struct hv_hist_trigger *named = find_named(hv_instance_all(in), spec->name);

	if (named && !hv_hist_spec_is_like(&named->spec, spec))
		return refuse(refusal, EINVAL, NAMED_MISMATCH, text, spec->name);
	if ((!spec->name || named) && find_again(in, of->ref, spec) < state_of(in)->nr)
		return refuse(refusal, EEXIST, "Hist trigger already exists", text, "");
	if (spec->continues || spec->clears)
		return refuse(refusal, ENOENT, "Can't clear or continue a nonexistent hist trigger",
			      text, "");
	if (spec->has_time && strcmp(spec->clock, "global") != 0 &&
	    strcmp(spec->clock, "local") != 0)
		return refuse(refusal, EINVAL, "Couldn't set trace_clock", text, spec->clock);
	return NULL;
}

/* Pauses, continues or clears the trigger that OF matches. Returns false if there is none
 * (existing_hist_update_only). */
static bool update(struct hv_instance *in, const struct hv_hist_trigger *of)
{
	struct hv_hists *s = state_of(in);
	const struct hv_hist_spec *spec = &of->spec;
	bool updates = spec->pauses || spec->continues || spec->clears;
	size_t at = updates ? find_again(in, of->ref, spec) : s->nr;
	struct hv_hist_trigger *old;

	if (at == s->nr || (spec->name && !find_named(hv_instance_all(in), spec->name)))
		return false;
	old = &s->list[at];
	if (spec->pauses || spec->continues)
		old->is_paused = spec->pauses;
	else
		hv_hist_table_clear(old->table);
	return true;
}

/* Only guest events have stacks. */
static struct hv_err *check_stack(const struct hv_instance *in, const struct hv_catalogue *c,
				  const struct hv_hist_trigger *of)
{
	const struct hv_event_type *type = hv_catalogue_by_id(c, of->ref.id);
	const struct hv_event_type *probed =
		type ? hv_eprobes_probed(hv_instance_all(in), c, type) : NULL;

	for (unsigned i = 0; i < of->spec.nr_variables; i++)
		if (of->spec.variables[i].role == HV_HIST_SAVED &&
		    of->spec.variables[i].field->is_stack)
			return hv_err_new(EOPNOTSUPP, "stacks cannot be saved");
	if (of->needs_stack && of->needs_user_stack)
		return hv_err_new(EOPNOTSUPP, "a histogram has the stack in the kernel or the user"
					      " stack, not both");
	if (!(of->needs_stack || of->needs_user_stack) || !type)
		return NULL;
	probed = probed ? probed : type;
	if (hv_event_type_is_marker(probed) || hv_kprobes_is(probed) || hv_synths_is(probed))
		return hv_err_new(EOPNOTSUPP, "events of %s:%s have no stacks", type->system,
				  type->name);
	if (of->needs_user_stack)
		return hv_user_stacks_prepare(hv_instance_all(in));
	return hv_callers_prepare(hv_instance_session(in)->callers);
}

/* The table of a named trigger has the layout of the first trigger with this name. */
static struct hv_err *link_new(struct hv_instance *in, const struct hv_catalogue *c,
			       struct hv_hist_trigger *of, const char *text,
			       struct hv_hist_refusal *refusal)
{
	struct links links = {in, c, of, hv_instance_write_hist};
	const struct hv_hist_trigger *named;
	struct hv_err *err = links_make(&links, text, &refusal->hist);

	of->needs_stack = hv_hist_spec_needs_stack(&of->spec);
	of->needs_user_stack = hv_hist_spec_needs_user_stack(&of->spec);
	if (!err)
		err = check_stack(in, c, of);
	named = find_named(hv_instance_all(in), of->spec.name);
	if (err || !named || links_are_like(of, named))
		return err;
	return refuse(refusal, EINVAL, NAMED_MISMATCH, text, of->spec.name);
}

/* Clears OF if IN has taken its contents. Removing a nonexistent trigger succeeds. */
static struct hv_err *run_command(struct hv_instance *in, const struct hv_catalogue *c,
				  struct hv_hist_trigger *of, const char *text,
				  struct hv_hist_refusal *refusal)
{
	struct hv_hists *s = state_of(in);
	struct hv_err *err;
	size_t at;

	hv_instances_drain(hv_instance_all(in));
	if (of->spec.removes) {
		at = find_again(in, of->ref, &of->spec);
		if (at < s->nr && links_have(s, &s->list[at]))
			return hv_err_new(EBUSY, "other triggers refer to its variables");
		return at < s->nr ? remove_at(in, at) : NULL;
	}
	if (update(in, of))
		return NULL;
	err = check_new(in, of, text, refusal);
	if (err)
		return err;
	of->is_paused = of->spec.pauses;
	err = link_new(in, c, of, text, refusal);
	if (!err)
		err = add(in, of);
	if (err)
		hv_err_free(remove_added(in, of));
	else
		*of = (struct hv_hist_trigger){0};
	return err;
}

static struct hv_err *parse(struct hv_instance *in, const struct hv_catalogue *c,
			    const struct hv_event_type *type, const char *text,
			    struct hv_hist_trigger *of, struct hv_hist_faults *ret_faults)
{
	struct links links = {in, c, of, hv_instance_write_hist};
	const struct hv_hist_scope scope = links_scope(&links, type);

	if (hv_hist_spec_parse(&scope, text, &of->spec, ret_faults))
		return NULL;
	return links_error(ret_faults, text);
}

struct hv_err *hv_instance_write_hist(struct hv_instance *in, const struct hv_event_type *type,
				      const char *text, struct hv_hist_refusal *ret_why)
{
	struct hv_hist_trigger of = {.serial = ++*nr_made_of(hv_instance_all(in)),
				     .ref = hv_event_ref_of(type)};
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(hv_instance_session(in)->types, &c);

	*ret_why = (struct hv_hist_refusal){0};
	state_of(in)->stack_depth = hv_hist_stack_depth(hv_instance_session(in)->kernel);
	if (!err)
		err = hv_host_made_need(in, c, type);
	if (!err)
		err = parse(in, c, type, text, &of, &ret_why->hist);
	if (!err)
		err = parse_filter(in, c, type, &of, &ret_why->filter);
	if (!err)
		err = run_command(in, c, &of, text, ret_why);
	forget(&of);
	return err;
}

/* Returns the index of the newest trigger of REF, or of all if REF is NULL; nr if there is none. */
static size_t find_newest(const struct hv_hists *s, const struct hv_event_ref *ref)
{
	for (size_t i = s->nr; i-- > 0;)
		if (!ref || hv_event_ref_is_same(s->list[i].ref, *ref))
			return i;
	return s->nr;
}

/* hist_unreg_all() */
struct hv_err *hv_instance_end_hists(struct hv_instance *in, const struct hv_event_ref *ref)
{
	struct hv_hists *s = state_of(in);
	struct hv_err *err = NULL;
	size_t at;

	hv_instances_drain(hv_instance_all(in));
	for (size_t i = 0; ref && i < s->nr; i++)
		if (hv_event_ref_is_same(s->list[i].ref, *ref) && links_have(s, &s->list[i]))
			return NULL;
	while (!err && (at = find_newest(s, ref)) < s->nr)
		err = remove_at(in, at);
	return err;
}

static void forget_gone(struct hv_instance *in, const struct hv_catalogue *c)
{
	struct hv_hists *s = state_of(in);

	for (size_t i = s->nr; i-- > 0;) {
		const struct hv_event_type *type = hv_catalogue_by_id(c, s->list[i].ref.id);
		struct hv_hist_trigger of;

		if (type && type->call.v == s->list[i].ref.call)
			continue;
		of = take_out(s, i);
		forget(&of);
	}
}

static void forget_of(struct hv_instance *in, struct hv_event_ref ref)
{
	struct hv_hists *s = state_of(in);

	for (size_t i = s->nr; i-- > 0;) {
		struct hv_hist_trigger of;

		if (!hv_event_ref_is_same(s->list[i].ref, ref))
			continue;
		of = take_out(s, i);
		forget(&of);
	}
}

/* -- counting and showing ---------------------------------------------------------------------- */

/* hist_field_timestamp(): counter clocks have no microseconds. */
static uint64_t time_of(const struct hv_instance *in, const struct hv_hist_spec *spec,
			const struct hv_event *event)
{
	if (!spec->has_usecs || hv_buffers_clock_kind(hv_instance_buffers(in)) == HV_CLOCK_RAW)
		return event->time_ns;
	return (event->time_ns + 500) / 1000;
}

static bool counts(const struct hv_instance *in, const struct hv_hist_trigger *of,
		   const struct hv_event *event)
{
	return of->ref.id == event->id && !of->is_paused &&
	       (!of->filter || hv_instance_record_passes(in, of->filter, event));
}

void hv_instance_count_in_hists(struct hv_instance *in, const struct hv_event *event,
				const struct hv_hist_output *out)
{
	struct hv_hists *s = state_of(in);
	bool waits = false;

	if (event->kind == HV_EVENT_GUESTS && !hv_instance_has_event_task(in, event))
		return;
	for (size_t i = 0; i < s->nr; i++) {
		struct hv_hist_trigger *of = &s->list[i];

		if (!counts(in, of, event))
			continue;
		if (of->needs_stack)
			waits = true;
		else
			hv_hist_trigger_count(in, of, event, time_of(in, &of->spec, event), NULL,
					      out);
	}
	if (waits)
		hv_event_stacks_keep(in, event);
}

static bool wants_stacks(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_hists *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].needs_stack && hv_event_ref_is_same(s->list[i].ref, ref))
			return true;
	return false;
}

static bool wants_user_stacks(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_hists *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].needs_user_stack && hv_event_ref_is_same(s->list[i].ref, ref))
			return true;
	return false;
}

void hv_instance_count_with_stack(struct hv_instance *in, const struct hv_event *event,
				  const struct hv_event *stack, const struct hv_hist_output *out)
{
	struct hv_hists *s = state_of(in);
	uint64_t list[HV_HIST_STACK_MAX] = {0};
	struct hv_event late = *event;

	late.time_ns = stack->time_ns;
	for (size_t i = 0; i < stack->nr_callers && i < s->stack_depth; i++)
		list[i] = stack->callers[i].v;
	for (size_t i = 0; i < s->nr; i++) {
		struct hv_hist_trigger *of = &s->list[i];

		if (of->needs_stack && counts(in, of, event))
			hv_hist_trigger_count(in, of, &late, time_of(in, &of->spec, event), list,
					      out);
	}
}

static void spec_text(const struct hv_hist_trigger *of, struct hv_text *ret)
{
	hv_hist_text_spec(&of->spec, of->is_paused ? HV_HIST_IS_PAUSED : HV_HIST_IS_ACTIVE, ret);
}

/* Returns the hit that took the snapshot, or NULL. */
static const struct hv_hist_shot *shot_of(const struct hv_hist_trigger *of,
					  struct hv_hist_shot *ret)
{
	const struct hv_hist_taken *taken = of->taken;

	if (!taken || !taken->action)
		return NULL;
	*ret = (struct hv_hist_shot){
		.action = taken->action,
		.value = taken->value,
		.entry = {.key = taken->key, .comm = taken->comm},
	};
	return ret;
}

size_t hv_hists_text(const struct hv_instance *in, struct hv_event_ref ref, struct hv_text *ret)
{
	const struct hv_hists *s = state_of(in);
	size_t nr = 0;

	for (size_t i = 0; i < s->nr; i++) {
		if (!hv_event_ref_is_same(s->list[i].ref, ref))
			continue;
		spec_text(&s->list[i], ret);
		nr++;
	}
	return nr;
}

void hv_instance_hists_text(struct hv_instance *in, struct hv_event_ref ref,
			    const struct hv_catalogue *c, struct hv_text *ret)
{
	struct hv_hists *s = state_of(in);
	struct hv_hist_names names = {.kernel = hv_instance_session(in)->kernel, .catalogue = c};
	size_t nr = 0;

	hv_instances_drain(hv_instance_all(in));
	for (size_t i = 0; i < s->nr; i++) {
		struct hv_hist_shot shot;
		const struct hv_hist_trigger *of = &s->list[i];

		if (!hv_event_ref_is_same(of->ref, ref))
			continue;
		hv_text_add(ret, nr++ ? "\n\n" : "");
		hv_text_add(ret, "# event histogram\n#\n# trigger info: ");
		spec_text(of, ret);
		hv_text_add(ret, "#\n\n");
		hv_hist_table_text(of->table, &of->spec, shot_of(of, &shot), &names, ret);
	}
}

static bool makes(const struct hv_instance *in, const struct hv_synth *synth)
{
	const struct hv_hists *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++) {
		const struct hv_hist_spec *spec = &s->list[i].spec;

		for (unsigned j = 0; j < spec->nr_actions; j++)
			if (spec->actions[j]->synth == synth)
				return true;
	}
	return false;
}

const struct hv_part hv_hists_part = {
	.state_bytes = sizeof(struct hv_hists),
	.all_bytes = sizeof(uint64_t),
	.deinit = deinit,
	.acts = acts,
	.acts_on = acts_on,
	.makes = makes,
	.wants_stacks = wants_stacks,
	.wants_user_stacks = wants_user_stacks,
	.forget_gone = forget_gone,
	.forget = forget_of,
};
