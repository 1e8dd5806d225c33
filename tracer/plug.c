/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/plug.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/tracee.h"

#define PRIORITY 10u /* TRACEPOINT_DEFAULT_PRIO */

_Static_assert(HV_REGION_NR_EVENTS *HV_PLUG_ARRAY_BYTES <=
		       HV_REGION_STACKS_OFF - HV_REGION_PROBES_OFF,
	       "an array for each event");

void hv_plug_changes_deinit(struct hv_plug_changes *c)
{
	free(c->list);
	*c = (struct hv_plug_changes){0};
}

static struct hv_gva in_region(const struct hv_tracee *t, uint64_t off)
{
	return hv_gva_add(t->range.start, off - HV_REGION_STUBS_OFF);
}

static uint64_t file_off(const struct hv_plug *plug)
{
	return HV_REGION_FILES_OFF + plug->index * sizeof(struct hv_event_file);
}

static uint64_t array_off(const struct hv_plug *plug)
{
	return HV_REGION_PROBES_OFF + (uint64_t)plug->index * HV_PLUG_ARRAY_BYTES;
}

static bool is_file(const struct hv_tracee *t, uint64_t address)
{
	struct hv_gva_range files = {in_region(t, HV_REGION_FILES_OFF),
				     in_region(t, HV_REGION_FILES_END)};

	return hv_gva_in(hv_gva(address), files);
}

/* Whether a file and an array of ours have room for what the kernel looks at. */
static bool has_room(const struct hv_tracepoint_layout *l)
{
	size_t members = offsetof(struct hv_event_file, members);

	return l->probes + 2u * l->probe_len_bytes <= HV_PLUG_ARRAY_BYTES &&
	       l->file_flags >= members &&
	       l->file_flags + sizeof(uint64_t) <= sizeof(struct hv_event_file);
}

static bool is_of_syscalls(const struct hv_tracepoint_layout *l, const struct hv_tracepoint *tp)
{
	return l->has_syscalls && tp->reg.v == l->syscalls.reg.v &&
	       tp->unreg.v == l->syscalls.unreg.v;
}

static bool has_common_key(const struct hv_tracepoint_layout *l, const struct hv_tracepoint *tp)
{
	bool ret = false;

	for (size_t i = 0; l->has_common && i < HV_ARRAY_LEN(l->common.tracepoints); i++)
		ret |= l->common.tracepoints[i].v == tp->at.v;
	return ret && tp->reg.v == l->common.reg.v && tp->unreg.v == l->common.unreg.v;
}

/* Whether all that the kernel does when it switches TP on is known. */
static bool is_plain(const struct hv_tracepoint_layout *l, const struct hv_tracepoint *tp)
{
	return (!tp->reg.v && !tp->unreg.v) || is_of_syscalls(l, tp) || has_common_key(l, tp);
}

static struct hv_err *refuse_own_function(const struct hv_kernel *k,
					  const struct hv_event_type *type)
{
	struct hv_gva reg = type->tracepoint.reg.v ? type->tracepoint.reg : type->reg;
	const char *name, *module;
	uint64_t off;

	if (!hv_kernel_symbol_at(k, reg, &name, &module, &off) || off)
		return hv_err_new(EOPNOTSUPP, "the kernel switches it on by a function of its own");
	return hv_err_new(EOPNOTSUPP, "the kernel switches it on by a function of its own, %s",
			  name);
}

struct hv_err *hv_plug_check(const struct hv_kernel *k, const struct hv_tracepoint_layout *layout,
			     const struct hv_event_type *type)
{
	if ((type->reg_kind != HV_EVENT_REG_TRACEPOINT &&
	     type->reg_kind != HV_EVENT_REG_PROBESTUB) ||
	    !is_plain(layout, &type->tracepoint))
		return refuse_own_function(k, type);
	if (!has_room(layout))
		return hv_err_new(EOPNOTSUPP, "the form of this kernel's probes is not known");
	return NULL;
}

static void put_bytes(uint8_t *to, const uint8_t *from, size_t len)
{
	if (memcmp(to, from, len) != 0)
		memcpy(to, from, len);
}

void hv_plug_prepare(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
		     const struct hv_plug *plug)
{
	uint8_t file[sizeof(struct hv_event_file)] = {0}, array[HV_PLUG_ARRAY_BYTES] = {0};
	uint8_t *probe = array + layout->probes;
	uint64_t func = plug->type->probe.v, data = in_region(t, file_off(plug)).v;
	uint32_t priority = PRIORITY;

	memcpy(file + offsetof(struct hv_event_file, id), &plug->type->id, sizeof(uint32_t));
	memcpy(probe + layout->func, &func, sizeof(func));
	memcpy(probe + layout->data, &data, sizeof(data));
	memcpy(probe + layout->prio, &priority, sizeof(priority));
	put_bytes(t->region.host + file_off(plug), file, sizeof(file));
	put_bytes(t->region.host + array_off(plug), array, sizeof(array));
}

void hv_plug_set_stacks(const struct hv_tracee *t, unsigned index, enum hv_plug_stacks stacks)
{
	const struct hv_plug plug = {.index = index};
	struct hv_event_file *file = (void *)(t->region.host + file_off(&plug));

	__atomic_store_n(&file->does, stacks == HV_PLUG_STACKS ? HV_EVENT_FILE_STACK : 0,
			 __ATOMIC_RELAXED);
}

/* Adds the change of LEN_BYTES at AT to RET, which has room for it. */
static struct hv_err *add(const struct hv_tracee *t, struct hv_gva at, enum hv_change_kind kind,
			  uint32_t len_bytes, const void *from, const void *to,
			  struct hv_plug_changes *ret)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_change *change = &ret->list[ret->nr];
	struct hv_mapping m;
	struct hv_err *err = hv_walk(&t->kernel->core.as, at, &m);

	if (err)
		return err;
	if (!m.present || at.v % arch->entry_span(1) + len_bytes > arch->entry_span(1))
		return hv_err_new(EOPNOTSUPP, "0x%llx is %s", (unsigned long long)at.v,
				  m.present ? "in two pages" : "not mapped");
	*change = (struct hv_change){.gva = at, .gpa = m.gpa, .kind = kind, .len_bytes = len_bytes};
	memcpy(change->from, from, len_bytes);
	memcpy(change->to, to, len_bytes);
	ret->nr++;
	return NULL;
}

static struct hv_err *add_word(const struct hv_tracee *t, struct hv_gva at, uint64_t from,
			       uint64_t to, struct hv_plug_changes *ret)
{
	return add(t, at, HV_CHANGE_PLUG, sizeof(from), &from, &to, ret);
}

/* The count of the static key of TP. */
static struct hv_err *add_count(const struct hv_tracee *t, const struct hv_tracepoint_layout *l,
				const struct hv_tracepoint *tp, uint32_t from, uint32_t to,
				struct hv_plug_changes *ret)
{
	return add(t, hv_gva_add(tp->key, l->enabled), HV_CHANGE_PLUG, sizeof(from), &from, &to,
		   ret);
}

/* The count of the tracepoints that are on, of system calls or with a key in common, if the state's
 * is one of them and will be on or off. */
static struct hv_err *add_counted(const struct hv_tracee *t,
				  const struct hv_tracepoint_state *state, uint32_t is_on,
				  struct hv_plug_changes *ret)
{
	uint32_t to = state->nr_others_on + is_on;

	if (!state->is_counted || state->nr_on == to)
		return NULL;
	return add(t, state->count_at, HV_CHANGE_PLUG, sizeof(to), &state->nr_on, &to, ret);
}

/* Makes room in RET for all changes of a tracepoint. */
static void make_room(const struct hv_tracepoint_state *state, struct hv_plug_changes *ret)
{
	ret->list = hv_alloc((3 + state->nr_probes + state->nr_places) * sizeof(*ret->list));
	ret->nr = 0;
}

/* Whether place INDEX jumps while the tracepoint itself is off. */
static bool jumps_when_off(const struct hv_tracepoint_state *state, size_t index)
{
	return index >= state->nr_own_places && state->nr_others_on;
}

static struct hv_err *check_off(const struct hv_tracee *t, const struct hv_plug *plug,
				const struct hv_tracepoint_state *state)
{
	if (hv_gva_in(hv_gva(state->funcs), t->range))
		return hv_err_new(EBUSY,
				  "its tracepoint has a probe of hvtrace already, by another "
				  "event");
	if (state->funcs)
		return hv_err_new(EBUSY, "the guest itself uses its tracepoint");
	if (state->enabled)
		return hv_err_new(EINVAL, "its tracepoint has no probe and is on (%u)",
				  state->enabled);
	if (state->is_counted && state->nr_on != state->nr_others_on)
		return hv_err_new(EINVAL, "its tracepoint is off, and the kernel counts %u of %u",
				  state->nr_on, state->nr_others_on);
	if (state->static_call && state->static_call != plug->type->tracepoint.iterator.v &&
	    state->static_call != plug->type->probe.v)
		return hv_err_new(EBUSY, "its static call leads to 0x%llx",
				  (unsigned long long)state->static_call);
	for (size_t i = 0; i < state->nr_places; i++)
		if (state->places[i].jumps != jumps_when_off(state, i))
			return hv_err_new(EINVAL, "its static key is %s, and 0x%llx %s",
					  state->places[i].jumps ? "off" : "on",
					  (unsigned long long)state->places[i].at.v,
					  state->places[i].jumps ? "jumps" : "does not jump");
	return NULL;
}

static struct hv_err *add_jumps(const struct hv_tracee *t, const struct hv_tracepoint_state *state,
				struct hv_plug_changes *ret)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < state->nr_places; i++) {
		const struct hv_key_place *place = &state->places[i];
		uint8_t jump[HV_SITE_LEN_MAX];

		if (place->jumps)
			continue;
		if (!t->kernel->core.as.arch->encode_jump_site(place->at, place->target,
							       place->len_bytes, jump))
			err = hv_err_new(EINVAL, "the target of 0x%llx is out of its reach",
					 (unsigned long long)place->at.v);
		if (!err)
			err = add(t, place->at, HV_CHANGE_KEY, place->len_bytes, place->bytes, jump,
				  ret);
	}
	return err;
}

struct hv_err *hv_plug_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			    const struct hv_plug *plug, const struct hv_tracepoint_state *state,
			    struct hv_plug_changes *ret)
{
	hv_cleanup(hv_plug_changes_deinit) struct hv_plug_changes changes = {0};
	const struct hv_tracepoint *tp = &plug->type->tracepoint;
	uint64_t array = in_region(t, array_off(plug)).v + layout->probes;
	struct hv_err *err = hv_plug_check(t->kernel, layout, plug->type);

	if (!err)
		err = check_off(t, plug, state);
	if (err)
		return err;
	make_room(state, &changes);
	err = add_word(t, tp->funcs, 0, array, &changes);
	changes.nr_first = changes.nr;
	if (!err)
		err = add_count(t, layout, tp, 0, 1, &changes);
	if (!err)
		err = add_counted(t, state, 1, &changes);
	if (!err)
		err = add_jumps(t, state, &changes);
	if (err)
		return err;
	*ret = changes;
	changes = (struct hv_plug_changes){0};
	return NULL;
}

/* Takes our entries out of an array that has others: the kernel's own way when it has no memory for
 * another array (func_remove()). */
static struct hv_err *add_stub_functions(const struct hv_tracee *t,
					 const struct hv_tracepoint_layout *l,
					 const struct hv_tracepoint_state *state,
					 struct hv_plug_changes *ret)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < state->nr_probes; i++) {
		const struct hv_tracepoint_probe *probe = &state->probes[i];

		if (is_file(t, probe->data) && probe->func != l->stub.v)
			err = add_word(t, hv_gva_add(probe->at, l->func), probe->func, l->stub.v,
				       ret);
	}
	return err;
}

/* Finds the bytes that PLACE had before we changed it. */
static bool find_before(const struct hv_tracee *t, const struct hv_key_place *place, uint8_t ret[8])
{
	struct hv_mapping m;
	HV_AUTO_ERR struct hv_err *err = hv_walk(&t->kernel->core.as, place->at, &m);

	return !err && m.present && hv_patcher_old_bytes(t->patcher, m.gpa, ret);
}

/* Finds the nop for place INDEX. It may have come with a module while we were plugged in: then it
 * gets what others of its length had. A key in common the guest may have switched on itself, for
 * another tracepoint that is off again, so that nothing was replaced there. */
static struct hv_err *find_nop(const struct hv_tracee *t, const struct hv_tracepoint_state *state,
			       size_t index, uint8_t ret[8])
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	const struct hv_key_place *place = &state->places[index];

	if (find_before(t, place, ret))
		return NULL;
	for (size_t i = 0; i < state->nr_places; i++) {
		const struct hv_key_place *other = &state->places[i];

		if (other->len_bytes == place->len_bytes && find_before(t, other, ret))
			return NULL;
	}
	if (index >= state->nr_own_places && arch->encode_nop_site &&
	    arch->encode_nop_site(place->len_bytes, ret))
		return NULL;
	return hv_err_new(EUCLEAN, "what 0x%llx had before is not known",
			  (unsigned long long)place->at.v);
}

static struct hv_err *add_nops(const struct hv_tracee *t, const struct hv_tracepoint_state *state,
			       struct hv_plug_changes *ret)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < state->nr_places; i++) {
		const struct hv_key_place *place = &state->places[i];
		uint8_t nop[8];

		if (!place->jumps || jumps_when_off(state, i))
			continue;
		err = find_nop(t, state, i, nop);
		if (!err)
			err = add(t, place->at, HV_CHANGE_KEY, place->len_bytes, place->bytes, nop,
				  ret);
	}
	return err;
}

/* Switches a tracepoint off that only we use. An array of the guest's stays where it is, and a vCPU
 * may be reading it: it must not find our probe there any more. */
static struct hv_err *add_off(const struct hv_tracee *t, const struct hv_tracepoint_layout *l,
			      const struct hv_tracepoint *tp,
			      const struct hv_tracepoint_state *state, struct hv_plug_changes *ret)
{
	struct hv_err *err;

	if (state->enabled > 1)
		return hv_err_new(EINVAL, "its tracepoint has a probe of ours, and its key says %u",
				  state->enabled);
	err = add_nops(t, state, ret);
	if (!err && state->enabled)
		err = add_count(t, l, tp, 1, 0, ret);
	if (!err)
		err = add_counted(t, state, 0, ret);
	if (!err)
		err = add_stub_functions(t, l, state, ret);
	ret->nr_first = ret->nr;
	return err ? err : add_word(t, tp->funcs, state->funcs, 0, ret);
}

struct hv_err *hv_unplug_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			      const struct hv_tracepoint *tp,
			      const struct hv_tracepoint_state *state, struct hv_plug_changes *ret)
{
	hv_cleanup(hv_plug_changes_deinit) struct hv_plug_changes changes = {0};
	/* An array of ours has no others. */
	size_t nr_ours = hv_gva_in(hv_gva(state->funcs), t->range), nr_others = 0;
	struct hv_err *err = NULL;

	for (size_t i = 0; i < state->nr_probes; i++) {
		bool is_gone = state->probes[i].func == layout->stub.v;

		nr_ours += !is_gone && is_file(t, state->probes[i].data);
		nr_others += !is_gone && !is_file(t, state->probes[i].data);
	}
	make_room(state, &changes);
	if (nr_ours && nr_others)
		err = add_stub_functions(t, layout, state, &changes);
	else if (nr_ours)
		err = add_off(t, layout, tp, state, &changes);
	if (err)
		return err;
	*ret = changes;
	changes = (struct hv_plug_changes){0};
	return NULL;
}
