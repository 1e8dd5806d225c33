/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/dynamic/eprobes.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/events/catalogue.h"
#include "kernel/kernel.h"
#include "ringbuf/abi_bits.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/dynamic/host_made.h"
#include "tree/instance/dynamic/kprobe_event.h"
#include "tree/instance/dynamic/syscalls.h"
#include "tree/instance/events/event_filters.h"

#define WORD	   8u
#define FIRST_CALL (UINT64_C(1) << 33) /* distinct from synthetic events and function probes */

struct hv_eprobes {
	struct hv_eprobe_event **list; /* owned, including the elements; oldest first */
	size_t nr;
	uint64_t nr_made; /* including removed ones */
};

struct hv_eprobe_event {
	struct hv_eprobe is;
	struct hv_event_type type; /* in the catalogue; its fields are owned here */
	struct hv_text print_fmt;
	uint32_t args_off; /* offset in an entry */
	uint8_t is_deeper; /* has a higher preemption count than the probed event (deeper_than()) */
};

static struct hv_eprobes *state_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_EPROBES);
}

static void free_event(struct hv_eprobe_event *e)
{
	hv_eprobe_deinit(&e->is);
	hv_text_deinit(&e->print_fmt);
	free(e->type.fields.list);
	free(e);
}

static void free_event_at(struct hv_eprobe_event **e)
{
	if (*e)
		free_event(*e);
}

/* Removes the probe at INDEX. */
static void forget(struct hv_instances *all, size_t index)
{
	struct hv_eprobes *s = state_of(all);
	struct hv_eprobe_event *e = s->list[index];

	hv_event_types_remove(hv_instances_session(all)->types, e->type.id);
	s->nr--;
	memmove(s->list + index, s->list + index + 1,
		(s->nr - index) * sizeof(struct hv_eprobe_event *));
	free_event(e);
}

static void deinit_all(struct hv_instances *all)
{
	struct hv_eprobes *s = state_of(all);

	while (s->nr)
		forget(all, s->nr - 1);
	free(s->list);
}

/* -- definitions ------------------------------------------------------------------------------- */

/* eprobe_event_define_fields() */
static void make_fields(struct hv_eprobe_event *e, const struct hv_catalogue *c)
{
	const struct hv_kprobe *k = &e->is.is;

	e->args_off = (c->header_len_bytes + WORD - 1) / WORD * WORD;
	e->type.fields.nr = k->nr_args;
	e->type.fields.list = hv_alloc((k->nr_args + 1) * sizeof(*e->type.fields.list));
	for (size_t i = 0; i < k->nr_args; i++) {
		const struct hv_kprobe_field is = hv_kprobe_field_of(&k->args[i]);

		e->type.fields.list[i] =
			(struct hv_event_field){.name = k->args[i].name,
						.type = is.type,
						.off = e->args_off + k->args[i].off,
						.size_bytes = is.size_bytes,
						.is_signed = is.is_signed};
	}
}

static void make_type(struct hv_instances *all, struct hv_eprobe_event *e,
		      const struct hv_catalogue *c)
{
	hv_kprobe_print_fmt(&e->is.is, &e->print_fmt);
	e->type = (struct hv_event_type){
		.system = e->is.is.group,
		.name = e->is.is.name,
		.print_fmt = e->print_fmt.data,
		.id = hv_host_made_free_id(c),
		.is_available = true,
		.has_fields = true,
		.reg_kind = HV_EVENT_REG_EPROBE,
		/* Unique even if an id is reused. */
		.call = hv_gva(FIRST_CALL + ++state_of(all)->nr_made),
		.probed = e->is.is.symbol,
	};
	make_fields(e, c);
}

static struct hv_err *check(const struct hv_instances *all, const struct hv_catalogue *c,
			    struct hv_eprobe *e, struct hv_kprobe_fault *ret_fault)
{
	struct hv_err *err;

	ret_fault->at = 0;
	if (hv_catalogue_find(c, e->is.group, e->is.name))
		return hv_err_new(EEXIST,
				  "Given group/event name is already used by another event");
	ret_fault->at = HV_KPROBE_NOWHERE;
	if (state_of(all)->nr == HV_EPROBES_MAX)
		return hv_err_new(ENOSPC, "there are %d event probes already", HV_EPROBES_MAX);
	err = hv_host_made_check_id(c);
	return err ? err : hv_kprobe_find_memory(hv_instances_session(all), &e->is);
}

/* Returns whether TYPE is a system call event whose tracepoint and whose probe both disable
 * preemption. Since commit a363d27cdbc2, a tracepoint whose probes may sleep does not disable
 * it. */
static bool is_deeper_syscall(const struct hv_instances *all, const struct hv_catalogue *c,
			      const struct hv_event_type *type)
{
	const struct hv_event_type *carrier = NULL;

	if (!hv_syscalls_is(type))
		return false;
	hv_err_free(hv_syscalls_carrier(all, c, type, &carrier));
	return !carrier || !carrier->tracepoint.faultable;
}

struct hv_err *hv_eprobes_define(struct hv_instances *all, char *const *words, size_t nr,
				 struct hv_kprobe_fault *ret_fault,
				 struct hv_filter_fault *ret_filter, char **ret_filter_text)
{
	hv_cleanup(free_event_at) struct hv_eprobe_event *e = hv_alloc(sizeof(*e));
	const struct hv_kernel *k = hv_instances_session(all)->kernel;
	struct hv_eprobe_kernel kernel = {
		.scope = {.kernel = k, .nr_cpus = hv_instances_nr_cpus(all)}};
	struct hv_eprobes *s = state_of(all);
	struct hv_gva at;
	struct hv_err *err;

	*ret_fault = (struct hv_kprobe_fault){.at = HV_KPROBE_NOWHERE};
	*ret_filter = (struct hv_filter_fault){0};
	*ret_filter_text = NULL;
	if (!hv_kernel_symbol(k, "eprobe_dyn_event_create", &at))
		return hv_err_new(EINVAL, "this kernel has no event probes");
	err = hv_event_types_catalogue(hv_instances_session(all)->types, &kernel.scope.catalogue);
	if (err)
		return err;
	/* Kernels with a parser context (traceprobe_parse_context) look up fields early. */
	kernel.looks_early = hv_kernel_symbol(k, "traceprobe_finish_parse", &at);
	kernel.btf = k->core.btf;
	kernel.has_casts = hv_kprobes_have_casts(k);
	kernel.drops_args = !hv_kprobes_ask_first(k);
	err = hv_eprobe_parse(&kernel, words, nr, &e->is, ret_fault, ret_filter, ret_filter_text);
	if (!err)
		err = check(all, kernel.scope.catalogue, &e->is, ret_fault);
	if (err)
		return err;
	hv_syscalls_need(all, kernel.scope.catalogue, kernel.type);
	e->is_deeper = is_deeper_syscall(all, kernel.scope.catalogue, kernel.type);
	make_type(all, e, kernel.scope.catalogue);
	e->is.is.serial = (uint16_t)s->nr_made;
	s->list = hv_realloc_array(s->list, s->nr + 1, sizeof(struct hv_eprobe_event *));
	s->list[s->nr++] = e;
	hv_event_types_add(hv_instances_session(all)->types, &e->type);
	e = NULL;
	return NULL;
}

/* -- removing ---------------------------------------------------------------------------------- */

static struct hv_err *is_busy(const struct hv_instances *all, const struct hv_eprobe_event *e)
{
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_instance_needs_event(in, hv_event_ref_of(&e->type)))
			return hv_err_new(EBUSY, "the event %s:%s is on", e->type.system,
					  e->type.name);
	return NULL;
}

static void remove_at(struct hv_instances *all, size_t index)
{
	hv_host_made_remove(all, &state_of(all)->list[index]->type);
	forget(all, index);
}

struct hv_err *hv_eprobes_remove(struct hv_instances *all, const char *name, char *const *head,
				 size_t nr_head)
{
	struct hv_eprobes *eprobes = state_of(all);
	struct hv_err *err = NULL;
	size_t nr_found = 0;

	for (size_t i = 0; !err && i < eprobes->nr;) {
		const struct hv_eprobe_event *e = eprobes->list[i];

		if (!hv_kprobe_is_named(&e->is.is, name) ||
		    !hv_eprobe_has_head(&e->is, head, nr_head)) {
			i++;
			continue;
		}
		nr_found++;
		err = is_busy(all, e);
		if (!err)
			remove_at(all, i);
	}
	if (!nr_found)
		return hv_err_new(ENOENT, "there is no event '%s'", name);
	return err;
}

struct hv_err *hv_eprobes_clear(struct hv_instances *all)
{
	struct hv_eprobes *s = state_of(all);

	for (size_t i = 0; i < s->nr; i++) {
		struct hv_err *err = is_busy(all, s->list[i]);

		if (err)
			return err;
	}
	while (s->nr)
		remove_at(all, s->nr - 1);
	return NULL;
}

void hv_eprobes_text(const struct hv_instances *all, struct hv_text *ret)
{
	const struct hv_eprobes *s = state_of(all);

	for (size_t i = 0; i < s->nr; i++)
		hv_kprobe_text(&s->list[i]->is.is, ret);
}

/* -- needs ------------------------------------------------------------------------------------- */

bool hv_eprobes_is(const struct hv_event_type *type)
{
	return type->reg_kind == HV_EVENT_REG_EPROBE;
}

static bool makes_any(const struct hv_instances *all, const struct hv_event_set *set)
{
	const struct hv_eprobes *s = state_of(all);

	for (size_t i = 0; i < s->nr; i++)
		if (hv_event_set_has_id(set, s->list[i]->type.id))
			return true;
	return false;
}

/* Event probes cannot probe each other, so the recursion ends. */
static bool probes(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_eprobes *s = state_of(hv_instance_all(in));

	for (size_t i = 0; i < s->nr; i++)
		if (hv_event_ref_is_same(s->list[i]->is.of, ref) &&
		    hv_instance_needs_event(in, hv_event_ref_of(&s->list[i]->type)))
			return true;
	return false;
}

static bool wants_stacks(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_eprobes *s = state_of(hv_instance_all(in));

	for (size_t i = 0; i < s->nr; i++)
		if (hv_event_ref_is_same(s->list[i]->is.of, ref) &&
		    hv_instance_wants_stacks(in, hv_event_ref_of(&s->list[i]->type)))
			return true;
	return false;
}

static bool wants_user_stacks(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_eprobes *s = state_of(hv_instance_all(in));

	for (size_t i = 0; i < s->nr; i++)
		if (hv_event_ref_is_same(s->list[i]->is.of, ref) &&
		    hv_instance_wants_user_stacks(in, hv_event_ref_of(&s->list[i]->type)))
			return true;
	return false;
}

size_t hv_eprobes_nr(const struct hv_instances *all)
{
	return state_of(all)->nr;
}

bool hv_eprobes_have(const struct hv_instances *all, struct hv_event_ref ref)
{
	const struct hv_eprobes *s = state_of(all);

	for (size_t i = 0; i < s->nr; i++)
		if (hv_event_ref_is_same(s->list[i]->is.of, ref))
			return true;
	return false;
}

const struct hv_event_type *hv_eprobes_probed(const struct hv_instances *all,
					      const struct hv_catalogue *c,
					      const struct hv_event_type *type)
{
	const struct hv_eprobes *s = state_of(all);

	for (size_t i = 0; hv_eprobes_is(type) && i < s->nr; i++) {
		const struct hv_event_ref of = s->list[i]->is.of;
		const struct hv_event_type *probed;

		if (s->list[i]->type.id != type->id)
			continue;
		probed = hv_catalogue_by_id(c, of.id);
		return probed && probed->call.v == of.call ? probed : NULL;
	}
	return NULL;
}

void hv_eprobes_forget(struct hv_instances *all, const struct hv_catalogue *c)
{
	struct hv_eprobes *s = state_of(all);

	for (size_t i = 0; i < s->nr; i++) {
		struct hv_eprobe_event *e = s->list[i];

		if (!hv_eprobes_probed(all, c, &e->type))
			e->is.of = (struct hv_event_ref){0};
	}
}

/* -- memory ------------------------------------------------------------------------------------ */

static bool is_needed(const struct hv_instances *all, const struct hv_eprobe_event *e)
{
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_instance_needs_event(in, hv_event_ref_of(&e->type)))
			return true;
	return false;
}

/* Returns whether the event probed by E is recorded as TYPE of C, and sets *RET to the layout. */
static bool is_carried(const struct hv_instances *all, const struct hv_catalogue *c,
		       const struct hv_eprobe_event *e, const struct hv_event_type *type,
		       struct hv_kprobe_carrier *ret)
{
	const struct hv_event_type *probed = hv_eprobes_probed(all, c, &e->type), *carrier = NULL;

	*ret = (struct hv_kprobe_carrier){0};
	if (!probed || !hv_syscalls_is(probed) || !hv_syscalls_are_known(all))
		return probed == type;
	hv_err_free(hv_syscalls_carrier(all, c, probed, &carrier));
	if (carrier != type)
		return false;
	*ret = hv_syscalls_in_carrier(all, probed);
	return true;
}

struct hv_err *hv_eprobes_program(const struct hv_instances *all, const struct hv_catalogue *c,
				  const struct hv_event_type *type,
				  struct hv_trampoline_program *ret)
{
	const struct hv_eprobes *eprobes = state_of(all);
	struct hv_kprobe_carrier carrier;

	for (size_t i = 0; i < eprobes->nr; i++) {
		const struct hv_eprobe_event *e = eprobes->list[i];

		if (!e->is.is.nr_results || !is_needed(all, e) ||
		    !is_carried(all, c, e, type, &carrier))
			continue;
		if (!hv_kprobe_program(&e->is.is, &carrier, ret->steps, &ret->nr))
			return hv_err_new(ENOSPC,
					  "the probes of %s:%s read too much memory: they need more"
					  " than %d steps",
					  type->system, type->name, HV_FETCH_STEPS_MAX);
	}
	return NULL;
}

/* -- events ------------------------------------------------------------------------------------ */

/* Returns `deeper` of the event that E makes from EVENT. The kernel makes it while the record of
 * EVENT is reserved, which disables preemption, and subtracts the probe's own count: the result is
 * the count inside the probe. It is one higher if EVENT is a synthetic event, or a system call
 * whose probe disables preemption in addition to the tracepoint (is_deeper_syscall()). */
static uint8_t deeper_than(const struct hv_eprobe_event *e, const struct hv_event *event)
{
	bool is_deeper = event->deeper || e->is_deeper;

	return is_deeper && event->deeper < HV_EVENT_DEEPER_MAX ? event->deeper + 1 : event->deeper;
}

bool hv_eprobes_event(const struct hv_instance *in, size_t index, const struct hv_event *event,
		      struct hv_event *ret, uint8_t *entry)
{
	const struct hv_eprobe_event *e = state_of(hv_instance_all(in))->list[index];
	const struct hv_kprobe_call recorded = {.comm = event->comm,
						.event = event->entry,
						.results = {event->results, event->results_len}};
	uint16_t id = (uint16_t)e->type.id;
	uint32_t len;

	if (!e->is.of.call || e->is.of.id != event->id ||
	    !hv_instance_needs_event(in, hv_event_ref_of(&e->type)) ||
	    event->entry.len_bytes < HV_ENTRY_HEADER_LEN)
		return false;
	/* The results are missing: no program was active yet, a read by a trampoline caused the
	 * event, or there was no room. */
	if (e->is.is.nr_results && !hv_kprobe_has_results(&e->is.is, recorded.results))
		return false;
	if (e->is.filter && !hv_instance_record_passes(in, e->is.filter, event))
		return false;
	memset(entry, 0, e->args_off);
	memcpy(entry, event->entry.data, HV_ENTRY_HEADER_LEN);
	memcpy(entry, &id, sizeof(id));
	len = hv_kprobe_fill(&e->is.is, &recorded, e->args_off, entry, HV_ENTRY_LEN_MAX);
	*ret = *event;
	ret->kind = HV_EVENT_GUESTS;
	ret->id = id;
	ret->lost_before = 0;
	ret->deeper = deeper_than(e, event);
	ret->is_as_deep = 0;
	ret->entry = (struct hv_span){entry, len};
	return len != 0;
}

const struct hv_part hv_eprobes_part = {
	.all_bytes = sizeof(struct hv_eprobes),
	.deinit_all = deinit_all,
	.probes = probes,
	.wants_stacks = wants_stacks,
	.wants_user_stacks = wants_user_stacks,
	.makes_any = makes_any,
};
