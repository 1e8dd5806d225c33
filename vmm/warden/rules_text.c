/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "vmm/warden/rules_state.h"

#define KEY_REACH_BYTES (16ull << 20) /* from a static key to the target of its jump */

static const struct hv_arch *arch_of(const struct hv_rules *r)
{
	return hv_tables_arch(r->tables);
}

static enum hv_site_kind classify(const struct hv_rules *r, const uint8_t *code,
				  const struct hv_hold_write *w, struct hv_gva *ret_target)
{
	*ret_target = hv_gva(0);
	return arch_of(r)->classify_site(code, w->gva, ret_target);
}

/* Whether CODE, a jump to TARGET, is a complete patch: a bare jump of a site's length, or the
 * output of encode_detour_jump() for an instruction of some length. */
static bool is_detour_jump(const struct hv_rules *r, const uint8_t *code,
			   const struct hv_hold_write *w, struct hv_gva target)
{
	const struct hv_arch *arch = arch_of(r);
	uint8_t jump[HV_DETOUR_PATCH_MAX];

	if (w->len_bytes == arch->site_len_bytes)
		return true;
	for (size_t len = 1; arch->encode_detour_jump && len <= HV_DETOUR_INSN_MAX; len++)
		if (arch->encode_detour_jump(len, w->gva, target, jump) == w->len_bytes &&
		    memcmp(jump, code, w->len_bytes) == 0)
			return true;
	return false;
}

/* Returns the kind of CODE if it is a call of or jump into the region, or an unused site that
 * contains an address in it (riscv64); otherwise HV_SITE_OTHER. */
static enum hv_site_kind kind_to_us(struct hv_rules *r, const uint8_t *code,
				    const struct hv_hold_write *w)
{
	struct hv_gva target;
	enum hv_site_kind kind;
	bool is_site = w->len_bytes == arch_of(r)->site_len_bytes;

	if (w->len_bytes < arch_of(r)->site_len_bytes)
		return HV_SITE_OTHER;
	kind = classify(r, code, w, &target);
	if (!hv_rules_is_our_code(r, target))
		return HV_SITE_OTHER;
	if (kind == HV_SITE_JUMP)
		return is_detour_jump(r, code, w, target) ? kind : HV_SITE_OTHER;
	return is_site && (kind == HV_SITE_CALL || kind == HV_SITE_NOP) ? kind : HV_SITE_OTHER;
}

bool hv_rules_leads_to_us(struct hv_rules *r, const uint8_t *code, const struct hv_hold_write *w)
{
	return kind_to_us(r, code, w) != HV_SITE_OTHER;
}

/* A call may replace an unused site or another call. A jump may replace any instructions, because
 * the region contains the code that replaces them. */
static bool leads(struct hv_rules *r, const struct hv_looked *l)
{
	enum hv_site_kind was, kind = kind_to_us(r, l->w->bytes, l->w);
	struct hv_gva before;

	if (kind == HV_SITE_OTHER || kind == HV_SITE_JUMP)
		return kind == HV_SITE_JUMP;
	was = classify(r, l->now, l->w, &before);
	return was == HV_SITE_NOP || was == HV_SITE_CALL;
}

/* Whether CODE is a static key's jump, as long as W, to the kernel's own code. */
static bool is_key_jump(struct hv_rules *r, const uint8_t *code, const struct hv_hold_write *w)
{
	const struct hv_arch *arch = arch_of(r);
	uint8_t jump[HV_SITE_LEN_MAX];
	struct hv_gva target;

	if (w->len_bytes == arch->site_len_bytes)
		return classify(r, code, w, &target) == HV_SITE_JUMP &&
		       target.v - w->gva.v + KEY_REACH_BYTES < 2 * KEY_REACH_BYTES &&
		       hv_rules_is_kernel_code(r, target);
	for (int distance = -256; distance <= 256; distance++)
		if (arch->encode_jump_site(w->gva, hv_gva(w->gva.v + (uint64_t)(int64_t)distance),
					   w->len_bytes, jump) &&
		    memcmp(jump, code, w->len_bytes) == 0)
			return true;
	return false;
}

static bool is_key_nop(const struct hv_rules *r, const uint8_t *code, const struct hv_hold_write *w)
{
	uint8_t padded[2 * HV_SITE_LEN_MAX] = {0};
	bool jumps;

	memcpy(padded, code, w->len_bytes);
	return arch_of(r)->classify_jump_site(padded, w->gva, hv_gva(0), &jumps) == w->len_bytes &&
	       !jumps;
}

static bool is_key(struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_hold_write *w = l->w;

	if (!arch_of(r)->classify_jump_site)
		return false;
	return (is_key_nop(r, l->now, w) && is_key_jump(r, w->bytes, w)) ||
	       (is_key_jump(r, l->now, w) && is_key_nop(r, w->bytes, w));
}

struct hv_led hv_rules_led(const struct hv_rules *r, const struct hv_looked *l)
{
	struct hv_gva from, to;

	classify(r, l->now, l->w, &from);
	classify(r, l->w->bytes, l->w, &to);
	return (struct hv_led){from.v, to.v};
}

/* Whether L retargets a call or jump in the kernel from one kernel function to another, with the
 * same kind of instruction. */
static bool is_led(struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_arch *arch = arch_of(r);
	struct hv_gva from, to;
	enum hv_site_kind kind;

	if (l->w->len_bytes != arch->site_len_bytes || !arch->classify_jump_site)
		return false;
	kind = classify(r, l->now, l->w, &from);
	return (kind == HV_SITE_CALL || kind == HV_SITE_JUMP) &&
	       classify(r, l->w->bytes, l->w, &to) == kind && hv_rules_is_kernel_code(r, from) &&
	       hv_rules_is_kernel_code(r, to);
}

enum hv_write_kind hv_rules_text(struct hv_rules *r, const struct hv_looked *l)
{
	if (leads(r, l))
		return HV_WRITE_LEADS;
	if (is_key(r, l))
		return HV_WRITE_KEY;
	return is_led(r, l) ? HV_WRITE_LED : HV_WRITE_REFUSED;
}
