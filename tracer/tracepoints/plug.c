/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/tracepoints/plug.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/core/fields.h"
#include "tracer/guest/tracee.h"

/* -- arrays ------------------------------------------------------------------------------------ */

static uint64_t array_off(unsigned index)
{
	return HV_REGION_CALLBACKS_OFF + (uint64_t)index * HV_REGION_ARRAY_BYTES;
}

/* The contents of one of our arrays (plug.h). */
struct plug_array {
	uint64_t stands_for; /* address of the first callback of the guest's own array; 0: none */
	struct hv_tracepoint_callback callbacks[HV_PLUG_CALLBACKS_MAX];
	size_t nr;
};

/* Returns whether our arrays have room for NR_CALLBACKS, followed by one that is 0. */
static bool array_has_room(const struct hv_tracepoint_layout *layout, size_t nr_callbacks)
{
	return nr_callbacks <= HV_PLUG_CALLBACKS_MAX && layout->callbacks >= sizeof(uint64_t) &&
	       layout->callbacks + (nr_callbacks + 1) * layout->callback_len_bytes <=
		       HV_REGION_ARRAY_BYTES;
}

/* Returns the address of the first callback of array INDEX. */
static uint64_t plug_array_funcs(const struct hv_tracee *t,
				 const struct hv_tracepoint_layout *layout, unsigned index)
{
	return t->range.start.v + array_off(index) - HV_REGION_TRAMPOLINES_OFF + layout->callbacks;
}

/* Writes A to array INDEX, which has room for it. EBUSY: the guest may be using the array with
 * other contents. */
static struct hv_err *put_array(const struct hv_tracee *t,
				const struct hv_tracepoint_layout *layout, unsigned index,
				const struct plug_array *a, enum hv_array_use use)
{
	uint8_t bytes[HV_REGION_ARRAY_BYTES] = {0}, *to = t->region.host + array_off(index);
	uint64_t head = a->stands_for ? a->stands_for - layout->callbacks : 0;

	memcpy(bytes, &head, sizeof(head));
	for (size_t i = 0; i < a->nr; i++) {
		uint8_t *callback = bytes + layout->callbacks + i * layout->callback_len_bytes;

		memcpy(callback + layout->func, &a->callbacks[i].func, sizeof(uint64_t));
		memcpy(callback + layout->data, &a->callbacks[i].data, sizeof(uint64_t));
		memcpy(callback + layout->prio, &a->callbacks[i].priority, sizeof(uint32_t));
	}
	if (memcmp(to, bytes, sizeof(bytes)) == 0)
		return NULL;
	if (use == HV_ARRAY_MAY_BE_USED)
		return hv_err_new(EBUSY, "the guest may still be calling its earlier callbacks");
	memcpy(to, bytes, sizeof(bytes));
	return NULL;
}

/* Returns false if FUNCS is not the address of the first callback in one of our arrays. */
static bool plug_array_read(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			    uint64_t funcs, struct plug_array *ret)
{
	uint64_t off = funcs - plug_array_funcs(t, layout, 0);
	uint8_t bytes[HV_REGION_ARRAY_BYTES];
	struct hv_span copy = {bytes, sizeof(bytes)};
	struct plug_array a = {0};
	uint64_t head;

	if (off % HV_REGION_ARRAY_BYTES || off / HV_REGION_ARRAY_BYTES >= HV_REGION_NR_EVENTS)
		return false;
	memcpy(bytes, t->region.host + array_off((unsigned)(off / HV_REGION_ARRAY_BYTES)),
	       sizeof(bytes));
	head = hv_copy_u64(copy, 0);
	a.stands_for = head ? head + layout->callbacks : 0;
	while (array_has_room(layout, a.nr + 1)) {
		size_t at = layout->callbacks + a.nr * layout->callback_len_bytes;
		struct hv_tracepoint_callback *callback = &a.callbacks[a.nr];

		callback->at = hv_gva(funcs + a.nr * layout->callback_len_bytes);
		callback->func = hv_copy_u64(copy, at + layout->func);
		callback->data = hv_copy_u64(copy, at + layout->data);
		callback->priority = hv_copy_u32(copy, at + layout->prio);
		if (!callback->func)
			break;
		a.nr++;
	}
	*ret = a;
	return true;
}

/* -- changes ----------------------------------------------------------------------------------- */

void hv_plug_changes_deinit(struct hv_plug_changes *c)
{
	free(c->list);
	*c = (struct hv_plug_changes){0};
}

static struct hv_gva in_region(const struct hv_tracee *t, uint64_t off)
{
	return hv_gva_add(t->range.start, off - HV_REGION_TRAMPOLINES_OFF);
}

static uint64_t file_off(const struct hv_plug *plug)
{
	return HV_REGION_FILES_OFF + plug->index * sizeof(struct hv_event_file);
}

/* Returns the guest address of the file of PLUG. */
static uint64_t file_of(const struct hv_tracee *t, const struct hv_plug *plug)
{
	return in_region(t, file_off(plug)).v;
}

static bool is_our_file(const struct hv_tracee *t, uint64_t address)
{
	struct hv_gva_range files = {in_region(t, HV_REGION_FILES_OFF),
				     in_region(t, HV_REGION_FILES_END)};

	return hv_gva_in(hv_gva(address), files);
}

/* Returns whether our files and arrays are large enough for the kernel's accesses. */
static bool has_room(const struct hv_tracepoint_layout *l)
{
	size_t members = offsetof(struct hv_event_file, members);

	return array_has_room(l, 1) && l->file_flags >= members &&
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

/* Returns whether hvtrace knows everything that the kernel does when it switches TP on. */
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
		return hv_err_new(EOPNOTSUPP, "the kernel enables it with a special function");
	return hv_err_new(EOPNOTSUPP, "the kernel enables it with a special function, %s", name);
}

struct hv_err *hv_plug_check(const struct hv_kernel *k, const struct hv_tracepoint_layout *layout,
			     const struct hv_event_type *type)
{
	if ((type->reg_kind != HV_EVENT_REG_TRACEPOINT &&
	     type->reg_kind != HV_EVENT_REG_PROBESTUB) ||
	    !is_plain(layout, &type->tracepoint))
		return refuse_own_function(k, type);
	if (!has_room(layout))
		return hv_err_new(EOPNOTSUPP, "unknown layout of this kernel's callbacks");
	return NULL;
}

static void put_bytes(uint8_t *to, const uint8_t *from, size_t len)
{
	if (memcmp(to, from, len) != 0)
		memcpy(to, from, len);
}

void hv_plug_prepare(const struct hv_tracee *t, const struct hv_plug *plug)
{
	uint8_t file[sizeof(struct hv_event_file)] = {0};

	memcpy(file + offsetof(struct hv_event_file, id), &plug->type->id, sizeof(uint32_t));
	put_bytes(t->region.host + file_off(plug), file, sizeof(file));
}

void hv_plug_set_stacks(const struct hv_tracee *t, unsigned index, enum hv_plug_stacks stacks)
{
	const struct hv_plug plug = {.index = index};
	struct hv_event_file *file = (void *)(t->region.host + file_off(&plug));

	__atomic_store_n(&file->does, stacks == HV_PLUG_STACKS ? HV_EVENT_FILE_STACK : 0,
			 __ATOMIC_RELAXED);
}

/* Adds a change of LEN_BYTES at AT to RET, which has room for it. EOPNOTSUPP: the bytes cross a
 * page or are not mapped. */
static struct hv_err *add_change(const struct hv_tracee *t, struct hv_gva at,
				 enum hv_change_kind kind, uint32_t len_bytes, const void *from,
				 const void *to, struct hv_plug_changes *ret)
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

/* Ends PART; later changes belong to the next part. */
static void end_part(struct hv_plug_changes *c, unsigned part)
{
	for (; part < HV_PLUG_NR_PARTS; part++)
		c->ends[part] = c->nr;
}

static struct hv_err *add_word(const struct hv_tracee *t, struct hv_gva at, uint64_t from,
			       uint64_t to, struct hv_plug_changes *ret)
{
	return add_change(t, at, HV_CHANGE_PLUG, sizeof(from), &from, &to, ret);
}

static struct hv_err *add_count(const struct hv_tracee *t, const struct hv_tracepoint_layout *l,
				const struct hv_tracepoint *tp, uint32_t from, uint32_t to,
				struct hv_plug_changes *ret)
{
	return add_change(t, hv_gva_add(tp->key, l->enabled), HV_CHANGE_PLUG, sizeof(from), &from,
			  &to, ret);
}

/* Plans to change the number of active tracepoints, for system calls or a shared key, if this
 * tracepoint is counted there and will change its state. */
static struct hv_err *add_counted(const struct hv_tracee *t,
				  const struct hv_tracepoint_state *state, uint32_t is_on,
				  struct hv_plug_changes *ret)
{
	uint32_t to = state->nr_others_on + is_on;

	if (!state->is_counted || state->nr_on == to)
		return NULL;
	return add_change(t, state->count_at, HV_CHANGE_PLUG, sizeof(to), &state->nr_on, &to, ret);
}

static void make_room(const struct hv_tracepoint_state *state, struct hv_plug_changes *ret)
{
	ret->list = hv_alloc((4 + state->nr_callbacks + state->nr_key_sites + state->calls.nr) *
			     sizeof(*ret->list));
	ret->nr = 0;
}

/* Returns whether static branch INDEX jumps even while the tracepoint itself is off. */
static bool jumps_when_off(const struct hv_tracepoint_state *state, size_t index)
{
	return index >= state->nr_own_key_sites && state->nr_others_on;
}

static struct hv_err *check_off(const struct hv_plug *plug, const struct hv_tracepoint_state *state)
{
	if (state->enabled)
		return hv_err_new(EINVAL, "its tracepoint has no callback and is on (%u)",
				  state->enabled);
	if (state->is_counted && state->nr_on != state->nr_others_on)
		return hv_err_new(EINVAL, "its tracepoint is off, and the kernel counts %u of %u",
				  state->nr_on, state->nr_others_on);
	if (state->static_call && state->static_call != plug->type->tracepoint.iterator.v &&
	    state->static_call != plug->type->callback.v)
		return hv_err_new(EBUSY, "its static call leads to 0x%llx",
				  (unsigned long long)state->static_call);
	for (size_t i = 0; i < state->nr_key_sites; i++)
		if (state->key_sites[i].jumps != jumps_when_off(state, i))
			return hv_err_new(EINVAL, "its static key is %s, and 0x%llx %s",
					  state->key_sites[i].jumps ? "off" : "on",
					  (unsigned long long)state->key_sites[i].at.v,
					  state->key_sites[i].jumps ? "jumps" : "does not jump");
	return NULL;
}

static struct hv_err *add_jumps(const struct hv_tracee *t, const struct hv_tracepoint_state *state,
				struct hv_plug_changes *ret)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < state->nr_key_sites; i++) {
		const struct hv_key_site *key_site = &state->key_sites[i];
		uint8_t jump[HV_SITE_LEN_MAX];

		if (key_site->jumps)
			continue;
		if (!t->kernel->core.as.arch->encode_jump_site(key_site->at, key_site->target,
							       key_site->len_bytes, jump))
			err = hv_err_new(EINVAL, "the target of 0x%llx is out of its reach",
					 (unsigned long long)key_site->at.v);
		if (!err)
			err = add_change(t, key_site->at, HV_CHANGE_KEY, key_site->len_bytes,
					 key_site->bytes, jump, ret);
	}
	return err;
}

/* Plans the changes that plug into a tracepoint without callbacks. */
static struct hv_err *add_on(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			     const struct hv_plug *plug, const struct hv_tracepoint_state *state,
			     struct hv_plug_changes *ret)
{
	const struct hv_tracepoint *tp = &plug->type->tracepoint;
	const struct plug_array array = {
		.callbacks = {{.func = plug->type->callback.v,
			       .data = file_of(t, plug),
			       .priority = HV_PLUG_PRIORITY}},
		.nr = 1,
	};
	struct hv_err *err = check_off(plug, state);

	if (!err)
		err = put_array(t, layout, plug->index, &array, plug->array_use);
	if (!err)
		err = add_word(t, tp->funcs, 0, plug_array_funcs(t, layout, plug->index), ret);
	end_part(ret, 0);
	if (!err)
		err = add_count(t, layout, tp, 0, 1, ret);
	if (!err)
		err = add_counted(t, state, 1, ret);
	if (!err)
		err = add_jumps(t, state, ret);
	end_part(ret, 1);
	return err;
}

/* -- sharing with the guest -------------------------------------------------------------------- */

/* Returns whether the kernel makes the static call lead to the first callback. It does so for an
 * array of one, even if that callback is its function that does nothing. */
static bool is_direct(const struct hv_tracepoint_state *state)
{
	return state->nr_callbacks == 1;
}

/* Returns the target of the static call without our changes. */
static uint64_t own_target(const struct hv_tracepoint *tp, const struct hv_tracepoint_state *state)
{
	return is_direct(state) ? state->callbacks[0].func : tp->iterator.v;
}

static bool all_lead_to(const struct hv_call_sites *calls, uint64_t target)
{
	for (size_t i = 0; i < calls->nr; i++)
		if (calls->list[i].target.v != target)
			return false;
	return true;
}

/* Returns whether one write can change LEN_BYTES at AT. */
static bool is_in_one_page(const struct hv_tracee *t, struct hv_gva at, uint64_t len_bytes)
{
	uint64_t page = t->kernel->core.as.arch->entry_span(1);

	return at.v % page + len_bytes <= page;
}

/* Returns whether each call can be changed to TARGET with one write, so that a process that is
 * killed leaves either the old or the new target. The linker puts some calls across a page
 * boundary. */
static bool can_lead(const struct hv_tracee *t, const struct hv_call_sites *calls, uint64_t target)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;

	for (size_t i = 0; i < calls->nr; i++) {
		const struct hv_call_site *site = &calls->list[i];
		uint8_t bytes[HV_SITE_LEN_MAX];

		if (site->target.v != target &&
		    (!is_in_one_page(t, site->at, arch->site_len_bytes) ||
		     !arch->encode_jump(site->at, hv_gva(target), bytes)))
			return false;
	}
	return true;
}

/* Plans to make all calls lead to TARGET, for which can_lead() must be true. */
static struct hv_err *add_calls(const struct hv_tracee *t, const struct hv_call_sites *calls,
				uint64_t target, struct hv_plug_changes *ret)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < calls->nr; i++) {
		const struct hv_call_site *site = &calls->list[i];
		uint8_t bytes[HV_SITE_LEN_MAX];

		if (site->target.v == target)
			continue;
		if (site->is_jump)
			arch->encode_jump(site->at, hv_gva(target), bytes);
		else
			arch->encode_call(site->at, hv_gva(target), bytes);
		err = add_change(t, site->at, HV_CHANGE_STATIC_CALL, arch->site_len_bytes,
				 site->bytes, bytes, ret);
	}
	return err;
}

/* Returns whether the static call certainly leads to the iterator. With one callback it does so if
 * we left it there because a call could not be changed. */
static bool leads_to_iterator(const struct hv_tracepoint *tp,
			      const struct hv_tracepoint_state *state)
{
	return state->static_call == tp->iterator.v &&
	       (!is_direct(state) ||
		(state->calls.nr && all_lead_to(&state->calls, tp->iterator.v)));
}

static struct hv_err *check_static_call(const struct hv_tracee *t, const struct hv_tracepoint *tp,
					const struct hv_tracepoint_state *state)
{
	if (!state->static_call || leads_to_iterator(tp, state))
		return NULL;
	if (state->static_call != own_target(tp, state))
		return hv_err_new(EBUSY, "its static call leads to 0x%llx",
				  (unsigned long long)state->static_call);
	if (!state->calls.nr || !all_lead_to(&state->calls, state->static_call))
		return hv_err_new(EBUSY, "the guest itself uses its tracepoint, by calls that "
					 "hvtrace does not recognize");
	if (!can_lead(t, &state->calls, tp->iterator.v))
		return hv_err_new(EBUSY, "the guest itself uses its tracepoint, by a call that is "
					 "in two pages");
	return NULL;
}

static struct hv_err *check_on(const struct hv_tracee *t, const struct hv_plug *plug,
			       const struct hv_tracepoint_state *state)
{
	const struct hv_tracepoint *tp = &plug->type->tracepoint;

	if (!state->enabled)
		return hv_err_new(EINVAL, "its tracepoint has callbacks and is off");
	if (state->is_counted && state->nr_on != state->nr_others_on + 1)
		return hv_err_new(EINVAL, "its tracepoint is on, and the kernel counts %u of %u",
				  state->nr_on, state->nr_others_on + 1);
	for (size_t i = 0; i < state->nr_key_sites; i++) {
		const struct hv_key_site *key_site = &state->key_sites[i];

		if (!key_site->jumps)
			return hv_err_new(EINVAL, "its static key is on, and 0x%llx does not jump",
					  (unsigned long long)key_site->at.v);
		/* If the guest removes its callbacks, hvtrace must change this branch to a nop. */
		if (!is_in_one_page(t, key_site->at, key_site->len_bytes))
			return hv_err_new(EOPNOTSUPP, "0x%llx is in two pages",
					  (unsigned long long)key_site->at.v);
	}
	return check_static_call(t, tp, state);
}

/* Copies the callbacks of the guest's array that are not switched off. */
static void take_live(const struct hv_tracepoint_layout *l, const struct hv_tracepoint_state *state,
		      struct plug_array *ret)
{
	for (size_t i = 0; i < state->nr_callbacks; i++)
		if (state->callbacks[i].func != l->stub_func.v)
			ret->callbacks[ret->nr++] = state->callbacks[i];
}

/* Our callback is last and has the lowest priority, so that a copy of the array made by the kernel
 * has the same order. It is never the first one, because a vCPU may already have loaded that one's
 * data. */
static void add_ours(const struct hv_tracee *t, const struct hv_plug *plug, struct plug_array *ret)
{
	struct hv_tracepoint_callback callback = {.func = plug->type->callback.v,
						  .data = file_of(t, plug),
						  .priority = HV_PLUG_PRIORITY};

	for (size_t i = 0; i < ret->nr; i++)
		if ((int32_t)ret->callbacks[i].priority < (int32_t)callback.priority)
			callback.priority = ret->callbacks[i].priority;
	ret->callbacks[ret->nr++] = callback;
}

static struct hv_err *make_array(const struct hv_tracee *t,
				 const struct hv_tracepoint_layout *layout,
				 const struct hv_plug *plug,
				 const struct hv_tracepoint_state *state)
{
	struct plug_array array = {.stands_for = state->funcs};

	if (!array_has_room(layout, state->nr_callbacks + 1))
		return hv_err_new(EBUSY,
				  "the guest itself uses its tracepoint, with %zu callbacks, more "
				  "than hvtrace has room for",
				  state->nr_callbacks);
	take_live(layout, state, &array);
	if (!array.nr)
		return hv_err_new(EBUSY, "the guest itself uses its tracepoint");
	add_ours(t, plug, &array);
	return put_array(t, layout, plug->index, &array, plug->array_use);
}

/* Plans the changes that add PLUG to the guest's callbacks. The array is already built. */
static struct hv_err *plan_join(const struct hv_tracee *t,
				const struct hv_tracepoint_layout *layout,
				const struct hv_plug *plug, const struct hv_tracepoint_state *state,
				struct hv_plug_changes *ret)
{
	const struct hv_tracepoint *tp = &plug->type->tracepoint;
	bool is_redirected = state->static_call && !leads_to_iterator(tp, state);
	struct hv_err *err = check_on(t, plug, state);

	if (!err)
		err = make_array(t, layout, plug, state);
	if (!err && is_redirected)
		err = hv_call_sites_check_modules(t->kernel, &layout->calls, tp);
	if (!err && is_redirected)
		err = add_calls(t, &state->calls, tp->iterator.v, ret);
	end_part(ret, 0);
	if (!err && is_redirected)
		err = add_word(t, state->static_call_at, state->static_call, tp->iterator.v, ret);
	end_part(ret, 1);
	if (!err)
		err = add_word(t, tp->funcs, state->funcs, plug_array_funcs(t, layout, plug->index),
			       ret);
	end_part(ret, 2);
	return err;
}

/* Returns whether the guest's array still has those callbacks of ARRAY that are not ours. */
static bool has_same(const struct hv_tracee *t, const struct hv_tracepoint_layout *l,
		     const struct hv_tracepoint_state *own, const struct plug_array *array)
{
	size_t n = 0;

	for (size_t i = 0; i < array->nr; i++) {
		if (is_our_file(t, array->callbacks[i].data) ||
		    array->callbacks[i].func == l->stub_func.v)
			continue;
		while (n < own->nr_callbacks && own->callbacks[n].func == l->stub_func.v)
			n++;
		if (n == own->nr_callbacks || own->callbacks[n].func != array->callbacks[i].func ||
		    own->callbacks[n].data != array->callbacks[i].data)
			return false;
		n++;
	}
	while (n < own->nr_callbacks && own->callbacks[n].func == l->stub_func.v)
		n++;
	return n == own->nr_callbacks;
}

/* Reads the guest's array that ARRAY replaces. The guest does not free it as long as our array is
 * in its place. */
static struct hv_err *read_own(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			       const struct plug_array *array, struct hv_tracepoint_state *ret)
{
	struct hv_err *err = NULL;

	if (!array->stands_for || hv_gva_in(hv_gva(array->stands_for), t->range))
		err = hv_err_new(EINVAL, "the array of the guest's callbacks is lost");
	if (!err)
		err = hv_tracepoint_callbacks_at(t->kernel, layout, array->stands_for, ret);
	if (!err && !has_same(t, layout, ret, array)) {
		hv_tracepoint_state_deinit(ret);
		err = hv_err_new(EINVAL, "the guest changed its array of callbacks at 0x%llx",
				 (unsigned long long)array->stands_for);
	}
	return err;
}

/* Returns whether the patcher recorded a change of any call in CALLS. */
static bool has_changed_any(const struct hv_tracee *t, const struct hv_call_sites *calls)
{
	for (size_t i = 0; i < calls->nr; i++) {
		uint8_t before[8];
		struct hv_mapping m;
		HV_AUTO_ERR struct hv_err *err =
			hv_walk(&t->kernel->core.as, calls->list[i].at, &m);

		if (!err && m.present && hv_patcher_old_bytes(t->patcher, m.gpa, before))
			return true;
	}
	return false;
}

/* Plans to replace ARRAY, our array with the guest's callbacks, by the guest's own array. */
static struct hv_err *plan_leave(const struct hv_tracee *t,
				 const struct hv_tracepoint_layout *layout,
				 const struct hv_tracepoint *tp,
				 const struct hv_tracepoint_state *state,
				 const struct plug_array *array, struct hv_plug_changes *ret)
{
	hv_cleanup(hv_tracepoint_state_deinit) struct hv_tracepoint_state own = {0};
	struct hv_err *err = read_own(t, layout, array, &own);
	uint64_t target = 0;

	if (!err)
		err = add_word(t, tp->funcs, state->funcs, own.funcs, ret);
	if (err)
		return err;
	end_part(ret, 0);
	target = own_target(tp, &own);
	/* The iterator is also a correct target: a call in a new module may be unchangeable, or an
	 * earlier session left it there. */
	if (!state->static_call || !has_changed_any(t, &state->calls) ||
	    !can_lead(t, &state->calls, target))
		return NULL;
	if (state->static_call != target)
		err = add_word(t, state->static_call_at, state->static_call, target, ret);
	end_part(ret, 1);
	if (!err)
		err = add_calls(t, &state->calls, target, ret);
	end_part(ret, 2);
	return err;
}

/* Plans the changes that restore the static call of a tracepoint that has only guest callbacks, if
 * we changed any of its calls. */
static struct hv_err *plan_calls(const struct hv_tracee *t, const struct hv_tracepoint *tp,
				 const struct hv_tracepoint_state *state,
				 struct hv_plug_changes *ret)
{
	uint64_t target = own_target(tp, state);
	struct hv_err *err = NULL;

	if (!state->static_call || !has_changed_any(t, &state->calls) ||
	    !can_lead(t, &state->calls, target))
		return NULL;
	if (state->static_call != target)
		err = add_word(t, state->static_call_at, state->static_call, target, ret);
	end_part(ret, 0);
	if (!err)
		err = add_calls(t, &state->calls, target, ret);
	end_part(ret, 1);
	return err;
}

/* Adds to parts 2 and 3 the changes that make the static call of a tracepoint without callbacks
 * lead to the iterator, as the kernel does, because the guest may have added and removed callbacks
 * beside ours. If one of the calls cannot be changed, or has another form, all stay unchanged:
 * nothing is called through them. */
static struct hv_err *plan_no_callback(const struct hv_tracee *t, const struct hv_tracepoint *tp,
				       const struct hv_tracepoint_state *state,
				       struct hv_plug_changes *ret)
{
	bool leads = state->calls.nr && all_lead_to(&state->calls, state->static_call) &&
		     can_lead(t, &state->calls, tp->iterator.v);
	struct hv_err *err = NULL;

	/* The calls are first, because the broker derives from them which targets the key may
	 * have. */
	if (leads)
		err = add_calls(t, &state->calls, tp->iterator.v, ret);
	end_part(ret, 2);
	if (!err && leads && state->static_call != tp->iterator.v)
		err = add_word(t, state->static_call_at, state->static_call, tp->iterator.v, ret);
	end_part(ret, 3);
	return err;
}

/* -- plans ------------------------------------------------------------------------------------- */

/* Returns whether an array of the guest has one of our callbacks that is not switched off. */
static bool has_ours(const struct hv_tracee *t, const struct hv_tracepoint_layout *l,
		     const struct hv_tracepoint_state *state)
{
	for (size_t i = 0; i < state->nr_callbacks; i++)
		if (state->callbacks[i].func != l->stub_func.v &&
		    is_our_file(t, state->callbacks[i].data))
			return true;
	return false;
}

struct hv_err *hv_plug_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			    const struct hv_plug *plug, const struct hv_tracepoint_state *state,
			    struct hv_plug_changes *ret)
{
	hv_cleanup(hv_plug_changes_deinit) struct hv_plug_changes changes = {0};
	struct hv_err *err = hv_plug_check(t->kernel, layout, plug->type);

	if (!err && (hv_gva_in(hv_gva(state->funcs), t->range) || has_ours(t, layout, state)))
		err = hv_err_new(
			EBUSY, "its tracepoint already has hvtrace's callback, for another event");
	if (err)
		return err;
	make_room(state, &changes);
	err = state->funcs ? plan_join(t, layout, plug, state, &changes)
			   : add_on(t, layout, plug, state, &changes);
	if (err)
		return err;
	*ret = changes;
	changes = (struct hv_plug_changes){0};
	return NULL;
}

/* Plans to disable our entries in an array of the guest, as the kernel does when it cannot allocate
 * a new array (func_remove()). */
static struct hv_err *add_stub_functions(const struct hv_tracee *t,
					 const struct hv_tracepoint_layout *l,
					 const struct hv_tracepoint_state *state,
					 struct hv_plug_changes *ret)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < state->nr_callbacks; i++) {
		const struct hv_tracepoint_callback *callback = &state->callbacks[i];

		if (is_our_file(t, callback->data) && callback->func != l->stub_func.v)
			err = add_word(t, hv_gva_add(callback->at, l->func), callback->func,
				       l->stub_func.v, ret);
	}
	return err;
}

/* Finds the bytes that KEY_SITE had before our change. */
static bool find_before(const struct hv_tracee *t, const struct hv_key_site *key_site,
			uint8_t ret[8])
{
	struct hv_mapping m;
	HV_AUTO_ERR struct hv_err *err = hv_walk(&t->kernel->core.as, key_site->at, &m);

	return !err && m.present && hv_patcher_old_bytes(t->patcher, m.gpa, ret);
}

/* Finds the nop for the static branch KEY_SITE. A branch in a module loaded while we were plugged
 * in gets the bytes of other branches of its length. If hvtrace replaced none, because the guest
 * switched the key on before we joined, the branch gets the nop that the kernel would write. */
static struct hv_err *find_nop(const struct hv_tracee *t, const struct hv_tracepoint_layout *l,
			       const struct hv_tracepoint_state *state,
			       const struct hv_key_site *key_site, uint8_t ret[8])
{
	struct hv_err *err;

	if (find_before(t, key_site, ret))
		return NULL;
	for (size_t i = 0; i < state->nr_key_sites; i++) {
		const struct hv_key_site *other = &state->key_sites[i];

		if (other->len_bytes == key_site->len_bytes && find_before(t, other, ret))
			return NULL;
	}
	err = hv_jump_nop_find(t->kernel, &l->jumps, key_site->len_bytes, ret);
	return err ? hv_err_in(err, "cannot find the original instruction at 0x%llx",
			       (unsigned long long)key_site->at.v)
		   : NULL;
}

static struct hv_err *add_nops(const struct hv_tracee *t, const struct hv_tracepoint_layout *l,
			       const struct hv_tracepoint_state *state, struct hv_plug_changes *ret)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < state->nr_key_sites; i++) {
		const struct hv_key_site *key_site = &state->key_sites[i];
		uint8_t nop[8];

		if (!key_site->jumps || jumps_when_off(state, i))
			continue;
		err = find_nop(t, l, state, key_site, nop);
		if (!err)
			err = add_change(t, key_site->at, HV_CHANGE_KEY, key_site->len_bytes,
					 key_site->bytes, nop, ret);
	}
	return err;
}

/* Plans to switch off a tracepoint that only hvtrace uses. If its array is the guest's, a vCPU may
 * still be reading that, so our callback in it is disabled, too. */
static struct hv_err *add_off(const struct hv_tracee *t, const struct hv_tracepoint_layout *l,
			      const struct hv_tracepoint *tp,
			      const struct hv_tracepoint_state *state, struct hv_plug_changes *ret)
{
	struct hv_err *err;

	if (state->enabled > 1)
		return hv_err_new(EINVAL,
				  "its tracepoint has hvtrace's callback, and its key is %u",
				  state->enabled);
	err = add_nops(t, l, state, ret);
	if (!err && state->enabled)
		err = add_count(t, l, tp, 1, 0, ret);
	if (!err)
		err = add_counted(t, state, 0, ret);
	if (!err)
		err = add_stub_functions(t, l, state, ret);
	end_part(ret, 0);
	if (!err)
		err = add_word(t, tp->funcs, state->funcs, 0, ret);
	end_part(ret, 1);
	if (!err)
		err = plan_no_callback(t, tp, state, ret);
	return err;
}

/* Returns whether the tracepoint has one of our arrays, *RET, with guest callbacks. */
static bool has_joined(const struct hv_tracee *t, const struct hv_tracepoint_layout *l,
		       const struct hv_tracepoint_state *state, struct plug_array *ret)
{
	if (!hv_gva_in(hv_gva(state->funcs), t->range) || !plug_array_read(t, l, state->funcs, ret))
		return false;
	for (size_t i = 0; i < ret->nr; i++)
		if (ret->callbacks[i].func != l->stub_func.v &&
		    !is_our_file(t, ret->callbacks[i].data))
			return true;
	return false;
}

struct hv_err *hv_unplug_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			      const struct hv_tracepoint *tp,
			      const struct hv_tracepoint_state *state, struct hv_plug_changes *ret)
{
	hv_cleanup(hv_plug_changes_deinit) struct hv_plug_changes changes = {0};
	size_t nr_ours = hv_gva_in(hv_gva(state->funcs), t->range), nr_others = 0;
	struct plug_array array = {0};
	struct hv_err *err = NULL;

	for (size_t i = 0; i < state->nr_callbacks; i++) {
		bool is_gone = state->callbacks[i].func == layout->stub_func.v;

		nr_ours += !is_gone && is_our_file(t, state->callbacks[i].data);
		nr_others += !is_gone && !is_our_file(t, state->callbacks[i].data);
	}
	make_room(state, &changes);
	if (has_joined(t, layout, state, &array)) {
		err = plan_leave(t, layout, tp, state, &array, &changes);
	} else if (nr_ours && nr_others && !layout->drops_stub) {
		err = hv_err_new(EBUSY, "the guest copied hvtrace's callback into its own array, "
					"and its kernel keeps it there until the guest's tracing of"
					" the event ends; retry then");
	} else if (nr_ours && nr_others) {
		err = add_stub_functions(t, layout, state, &changes);
		end_part(&changes, 0);
	} else if (nr_ours) {
		err = add_off(t, layout, tp, state, &changes);
	} else if (nr_others) {
		err = plan_calls(t, tp, state, &changes);
	}
	if (err)
		return err;
	*ret = changes;
	changes = (struct hv_plug_changes){0};
	return NULL;
}
