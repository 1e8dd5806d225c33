/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a struct tracepoint (include/linux/tracepoint-defs.h). */
#include "kernel/events/reader.h"
#include "kernel/core/fields.h"

/* Reads a struct tracepoint_ext. AT is its address, or 0 if the kernel has no such structure. */
static struct hv_err *read_ext(struct hv_event_reader *r, struct hv_gva at,
			       struct hv_tracepoint *tp)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span copy = {bytes, l->tracepoint.ext_len_bytes};
	struct hv_err *err;

	if (!at.v)
		return NULL;
	err = hv_pages_read(&r->pages, at, bytes, copy.len_bytes);
	if (err)
		return err;
	tp->reg = hv_gva(hv_copy_u64(copy, l->tracepoint.ext_reg));
	tp->unreg = hv_gva(hv_copy_u64(copy, l->tracepoint.ext_unreg));
	tp->faultable = hv_copy_bits(copy, l->tracepoint.faultable) != 0;
	return NULL;
}

struct hv_err *hv_tracepoint_read(struct hv_event_reader *r, struct hv_gva at,
				  struct hv_tracepoint *ret, struct hv_gva *ret_name)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span copy = {bytes, l->tracepoint.len_bytes};
	struct hv_err *err = hv_pages_read(&r->pages, at, bytes, copy.len_bytes);
	struct hv_tracepoint tp = {.at = at};

	if (err)
		return err;
	tp.key = hv_gva_add(at, l->tracepoint.key);
	tp.funcs = hv_gva_add(at, l->tracepoint.funcs);
	tp.iterator = hv_gva(hv_copy_u64(copy, l->tracepoint.iterator));
	if (l->has_ext) {
		err = read_ext(r, hv_gva(hv_copy_u64(copy, l->tracepoint.ext)), &tp);
	} else {
		tp.reg = hv_gva(hv_copy_u64(copy, l->tracepoint.reg));
		tp.unreg = hv_gva(hv_copy_u64(copy, l->tracepoint.unreg));
	}
	if (err)
		return err;
	*ret_name = hv_gva(hv_copy_u64(copy, l->tracepoint.name));
	*ret = tp;
	return NULL;
}
