/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What plans of changes of a tracepoint (plug.h) are put together of, and the parts of them that
 * concern probes of the guest's. Only for plug*.c. */
#pragma once

#include "tracer/plug.h"

/* Makes room in RET for all changes of a tracepoint. */
void hv_plug_make_room(const struct hv_tracepoint_state *state, struct hv_plug_changes *ret);

/* Adds the change of LEN_BYTES at AT to RET, which has room for it. EOPNOTSUPP: it is in two pages,
 * or not mapped. */
struct hv_err *hv_plug_add(const struct hv_tracee *t, struct hv_gva at, enum hv_change_kind kind,
			   uint32_t len_bytes, const void *from, const void *to,
			   struct hv_plug_changes *ret) hv_must_use;
struct hv_err *hv_plug_add_word(const struct hv_tracee *t, struct hv_gva at, uint64_t from,
				uint64_t to, struct hv_plug_changes *ret) hv_must_use;

/* What is added from now on is of the part behind PART. */
void hv_plug_end_part(struct hv_plug_changes *c, unsigned part);

/* The address of the file of PLUG, in the guest. */
uint64_t hv_plug_file(const struct hv_tracee *t, const struct hv_plug *plug);
/* Whether a file of ours is at ADDRESS. */
bool hv_plug_is_file(const struct hv_tracee *t, uint64_t address);

/* The changes by which PLUG joins the guest's probes. The array is made. */
struct hv_err *hv_plug_join_plan(const struct hv_tracee *t,
				 const struct hv_tracepoint_layout *layout,
				 const struct hv_plug *plug,
				 const struct hv_tracepoint_state *state,
				 struct hv_plug_changes *ret) hv_must_use;
/* The changes by which the guest's probes are alone again, while ARRAY, which is ours, has them. */
struct hv_err *
hv_plug_leave_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
		   const struct hv_tracepoint *tp, const struct hv_tracepoint_state *state,
		   const struct hv_plug_array *array, struct hv_plug_changes *ret) hv_must_use;
/* The changes that make the static call of a tracepoint with probes of the guest's alone what it is
 * without us, if we have changed calls of it. */
struct hv_err *hv_plug_calls_plan(const struct hv_tracee *t, const struct hv_tracepoint *tp,
				  const struct hv_tracepoint_state *state,
				  struct hv_plug_changes *ret) hv_must_use;
/* Adds to parts 2 and 3 the changes that make the static call of a tracepoint without probes lead
 * to the iterator, as the kernel does: the guest's probes may have come and gone beside ours. If a
 * call of it cannot be changed, or is of another form, it stays as it is: nothing is called by it.
 */
struct hv_err *hv_plug_no_probe_plan(const struct hv_tracee *t, const struct hv_tracepoint *tp,
				     const struct hv_tracepoint_state *state,
				     struct hv_plug_changes *ret) hv_must_use;
