/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds what is ours in tracepoints, without anything that a session knows. */
#include <stdlib.h>
#include <string.h>

#include "tracer/plug.h"
#include "tracer/tracee.h"

/* The symbols of tracepoints. Others begin like this, too, and are shorter. */
#define PREFIX "__tracepoint_"

/* Whether calls of the static call of TP, which has probes of the guest's alone, are as we left
 * them: whoever joins or leaves may be killed in between. */
static bool has_our_calls(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			  const struct hv_tracepoint *tp)
{
	hv_cleanup(hv_plug_changes_deinit) struct hv_plug_changes changes = {0};
	hv_cleanup(hv_tracepoint_state_deinit) struct hv_tracepoint_state state = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_patcher_nr_patched(t->patcher, HV_CHANGE_STATIC_CALL))
		return false;
	err = hv_tracepoint_state_read(t->kernel, layout, tp, t->range, &state);
	if (!err)
		err = hv_unplug_plan(t, layout, tp, &state, &changes);
	return !err && changes.nr;
}

/* Whether TP has a probe of ours. What cannot be read calls no probe. */
static bool has_ours(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
		     const struct hv_tracepoint *tp)
{
	hv_cleanup(hv_tracepoint_state_deinit) struct hv_tracepoint_state state = {0};
	HV_AUTO_ERR struct hv_err *err =
		hv_tracepoint_probes_read(t->kernel, layout, tp, t->range, &state);
	bool ret = !err && hv_gva_in(hv_gva(state.funcs), t->range);

	for (size_t i = 0; !err && i < state.nr_probes; i++)
		ret |= state.probes[i].func != layout->stub.v &&
		       hv_gva_in(hv_gva(state.probes[i].data), t->range);
	return ret || (!err && state.nr_probes && has_our_calls(t, layout, tp));
}

static bool is_tracepoint(const struct hv_tracepoint_layout *layout,
			  const struct hv_symbols *symbols, size_t index)
{
	const struct hv_symbol *symbol = &symbols->by_addr[index];

	if (strncmp(symbol->name, PREFIX, strlen(PREFIX)) != 0)
		return false;
	while (++index < symbols->nr)
		if (symbols->by_addr[index].addr.v != symbol->addr.v)
			return symbols->by_addr[index].addr.v - symbol->addr.v >= layout->len_bytes;
	return true;
}

struct found {
	struct hv_plug_step *steps; /* owned */
	size_t nr;
};

static struct hv_err *find_in(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			      const struct hv_symbols *symbols, struct found *ret)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < symbols->nr; i++) {
		struct hv_tracepoint tp;

		if (!is_tracepoint(layout, symbols, i))
			continue;
		err = hv_tracepoint_at(t->kernel, layout, symbols->by_addr[i].addr, &tp);
		if (err || !has_ours(t, layout, &tp))
			continue;
		ret->steps = hv_realloc_array(ret->steps, ret->nr + 1, sizeof(*ret->steps));
		ret->steps[ret->nr++] = (struct hv_plug_step){.tp = tp};
	}
	return err;
}

struct hv_err *hv_plugs_find(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			     struct hv_plug_step **ret, size_t *ret_nr)
{
	const struct hv_modules *modules = &t->kernel->modules;
	struct found found = {0};
	struct hv_err *err = find_in(t, layout, &t->kernel->core.symbols, &found);

	/* What cannot be read of a module has gone with it. */
	for (size_t i = 0; !err && i < modules->nr; i++)
		hv_err_free(find_in(t, layout, &modules->list[i].symbols, &found));
	if (err) {
		free(found.steps);
		return err;
	}
	*ret = found.steps;
	*ret_nr = found.nr;
	return NULL;
}

struct hv_err *hv_plugs_know_place(const struct hv_tracee *t, const struct hv_journal_entry *e,
				   bool *ret)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	uint8_t bytes[HV_SITE_LEN_MAX] = {0};
	struct hv_gva at = hv_gva(e->gva), target;
	struct hv_mapping m;
	bool jumps = true;
	struct hv_err *err = hv_walk(&t->kernel->core.as, at, &m);

	*ret = false;
	if (err || !m.present || m.gpa.v != e->gpa)
		return err;
	memcpy(bytes, e->old_bytes, sizeof(e->old_bytes));
	if (e->kind == HV_CHANGE_STATIC_CALL) {
		enum hv_site_kind kind = arch->classify_site(bytes, at, &target);

		*ret = e->len_bytes == arch->site_len_bytes &&
		       (kind == HV_SITE_CALL || kind == HV_SITE_JUMP);
		return NULL;
	}
	*ret = arch->classify_jump_site(bytes, at, at, &jumps) == e->len_bytes && e->len_bytes &&
	       !jumps;
	return NULL;
}
