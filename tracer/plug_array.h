/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arrays of probes in the region, which tracepoints of the guest get in place of their own: the
 * guest's probes, in their order, and behind them one of ours. The guest's kernel frees an array by
 * the struct rcu_head that it begins with. An array of ours has there instead where that of the
 * array is that it stands for: the stub of the release passes this on (arch/x86_64/event.S). What
 * the guest can reach is hostile: it is copied once, and bounded.
 * Leaves to others: tracepoints (plug.h). */
#pragma once

#include "kernel/events/tracepoint_state.h"
#include "patcher/region.h"

struct hv_tracee;

#define HV_PLUG_PROBES_MAX 10u

struct hv_plug_array {
	uint64_t stands_for; /* of what array: its first probe; 0: of none */
	struct hv_tracepoint_probe probes[HV_PLUG_PROBES_MAX];
	size_t nr;
};

/* Whether an array of ours has room for NR_PROBES. */
bool hv_plug_array_has_room(const struct hv_tracepoint_layout *layout, size_t nr_probes);

/* The address of the first probe of array INDEX. */
uint64_t hv_plug_array_funcs(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			     unsigned index);

enum hv_array_use { HV_ARRAY_UNUSED, HV_ARRAY_MAY_BE_USED };

/* Makes array INDEX as A, which it has room for. EBUSY: the guest may be using it, and it is
 * another one. */
struct hv_err *hv_plug_array_put(const struct hv_tracee *t,
				 const struct hv_tracepoint_layout *layout, unsigned index,
				 const struct hv_plug_array *a, enum hv_array_use use) hv_must_use;

/* FUNCS: the address of the first probe of an array of ours. EINVAL: it is none. */
struct hv_err *hv_plug_array_read(const struct hv_tracee *t,
				  const struct hv_tracepoint_layout *layout, uint64_t funcs,
				  struct hv_plug_array *ret) hv_must_use;
