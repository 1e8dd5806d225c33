/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/hooks/redirect.h"

#include <string.h>

#include "tracer/guest/tracee.h"

/* Returns whether BYTES at CALL's address are the same instruction as CALL and lead to TO. */
static bool leads_to(const struct hv_arch *arch, const struct hv_call *call, struct hv_gva to,
		     const uint8_t *bytes)
{
	struct hv_gva target = {0};

	return arch->classify_site(bytes, call->at, &target) == call->kind && target.v == to.v;
}

static bool encode(const struct hv_arch *arch, const struct hv_call *call, struct hv_gva to,
		   uint8_t *ret)
{
	return call->kind == HV_SITE_JUMP ? arch->encode_jump(call->at, to, ret)
					  : arch->encode_call(call->at, to, ret);
}

struct hv_err *hv_redirect_plan(const struct hv_tracee *t, const struct hv_call *call,
				struct hv_gva to, enum hv_change_kind kind, struct hv_change *ret,
				bool *ret_planned)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_change change = {
		.gva = call->at, .kind = kind, .len_bytes = (uint32_t)arch->site_len_bytes};
	struct hv_mapping m;
	struct hv_err *err = hv_walk(&t->kernel->core.as, call->at, &m);

	*ret_planned = false;
	if (err || !m.present || hv_site_crosses_pages(arch, call->at.v))
		return err;
	change.gpa = m.gpa;
	err = hv_guest_read(t->guest, m.gpa, change.from, change.len_bytes);
	if (err || !leads_to(arch, call, call->target, change.from) ||
	    !encode(arch, call, to, change.to))
		return err;
	*ret_planned = true;
	*ret = change;
	return NULL;
}

/* Reads the bytes at the address of E. *RET_MAPPED is false if the address is not mapped as E
 * records. */
static struct hv_err *read_now(const struct hv_tracee *t, const struct hv_journal_entry *e,
			       uint8_t ret[HV_SITE_LEN_MAX], bool *ret_mapped)
{
	struct hv_mapping m;
	struct hv_err *err = hv_walk(&t->kernel->core.as, hv_gva(e->gva), &m);

	*ret_mapped = !err && m.present && m.executable && m.gpa.v == e->gpa;
	return *ret_mapped ? hv_guest_read(t->guest, m.gpa, ret, e->len_bytes) : err;
}

struct hv_err *hv_redirect_is_ours(const struct hv_tracee *t, struct hv_gva_range functions,
				   struct hv_journal_entry *e, bool *ret)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_gva at = hv_gva(e->gva), before = {0}, target = {0};
	enum hv_site_kind kind = arch->classify_site(e->old_bytes, at, &before);
	const struct hv_symbols *symbols;
	uint8_t now[HV_SITE_LEN_MAX];
	struct hv_gva_range text;
	bool is_mapped;
	struct hv_err *err;

	*ret = false;
	if (!hv_kernel_code_at(t->kernel, at, &text, &symbols) ||
	    e->len_bytes != arch->site_len_bytes ||
	    (kind != HV_SITE_CALL && kind != HV_SITE_JUMP) || !hv_gva_in(before, functions))
		return NULL;
	err = read_now(t, e, now, &is_mapped);
	if (err || !is_mapped)
		return err;
	hv_tracee_look_under_breakpoint(t, e, now);
	*ret = arch->classify_site(now, at, &target) == kind && hv_gva_in(target, t->range);
	memcpy(e->new_bytes, now, e->len_bytes);
	return NULL;
}
