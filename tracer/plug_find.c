/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds what is ours in tracepoints, without anything that a session knows. */
#include <string.h>

#include "tracer/plug.h"
#include "tracer/tracee.h"

/* The symbols of tracepoints. Others begin like this, too, and are shorter. */
#define PREFIX "__tracepoint_"

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
	return ret;
}

static bool is_tracepoint(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			  const struct hv_symbol *symbol)
{
	return strncmp(symbol->name, PREFIX, strlen(PREFIX)) == 0 &&
	       hv_kernel_symbol_size(t->kernel, symbol->addr) >= layout->len_bytes;
}

struct hv_err *hv_plugs_find(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			     struct hv_plug_step **ret, size_t *ret_nr)
{
	const struct hv_symbols *symbols = &t->kernel->core.symbols;
	HV_AUTO_FREE struct hv_plug_step *steps = NULL;
	struct hv_err *err = NULL;
	size_t nr = 0;

	for (size_t i = 0; !err && i < symbols->nr; i++) {
		struct hv_tracepoint tp;

		if (!is_tracepoint(t, layout, &symbols->by_addr[i]))
			continue;
		err = hv_tracepoint_at(t->kernel, layout, symbols->by_addr[i].addr, &tp);
		if (err || !has_ours(t, layout, &tp))
			continue;
		steps = hv_realloc_array(steps, nr + 1, sizeof(*steps));
		steps[nr++] = (struct hv_plug_step){.tp = tp};
	}
	if (err)
		return err;
	*ret = hv_take(steps);
	*ret_nr = nr;
	return NULL;
}

struct hv_err *hv_plugs_know_place(const struct hv_tracee *t, const struct hv_journal_entry *e,
				   bool *ret)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	uint8_t bytes[HV_SITE_LEN_MAX] = {0};
	struct hv_gva at = hv_gva(e->gva);
	struct hv_mapping m;
	bool jumps = true;
	struct hv_err *err = hv_walk(&t->kernel->core.as, at, &m);

	*ret = false;
	if (err || !m.present || m.gpa.v != e->gpa)
		return err;
	memcpy(bytes, e->old_bytes, sizeof(e->old_bytes));
	*ret = arch->classify_jump_site(bytes, at, at, &jumps) == e->len_bytes && e->len_bytes &&
	       !jumps;
	return NULL;
}
