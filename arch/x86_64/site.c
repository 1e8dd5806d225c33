/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes and encodes function-entry sites (five-byte instructions), static keys and returns. */
#include "arch/x86_64/x86_64.h"

#include <string.h>

#define CALL_REL32 0xe8
#define JMP_REL32  0xe9
#define JMP_REL8   0xeb
#define INT3	   0xcc
#define RET	   0xc3

/* The kernel's five-byte nops that are one instruction (arch/x86/include/asm/nops.h): p6 and
 * generic today; before 5.13 (commit a89dfde3dc3c) chosen at boot by CPU type. */
static const uint8_t nops[][X86_64_SITE_LEN] = {
	{0x0f, 0x1f, 0x44, 0x00, 0x00},
	{0x66, 0x66, 0x66, 0x66, 0x90},
	{0x3e, 0x8d, 0x74, 0x26, 0x00},
};

/* Length of a short jump. */
#define SHORT_LEN 2
static const uint8_t short_nop[SHORT_LEN] = {0x66, 0x90};

static bool is_nop(const uint8_t *code)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(nops); i++)
		if (memcmp(code, nops[i], X86_64_SITE_LEN) == 0)
			return true;
	return false;
}

static struct hv_gva rel32_target(const uint8_t *insn, struct hv_gva at)
{
	int32_t distance;

	memcpy(&distance, insn + 1, sizeof(distance));
	return hv_gva(at.v + X86_64_SITE_LEN + (uint64_t)(int64_t)distance);
}

static bool encode_rel32(uint8_t opcode, struct hv_gva at, struct hv_gva target, uint8_t *ret)
{
	int64_t distance = (int64_t)(target.v - at.v - X86_64_SITE_LEN);
	int32_t rel32 = (int32_t)distance;

	if (distance != rel32)
		return false;
	ret[0] = opcode;
	memcpy(ret + 1, &rel32, sizeof(rel32));
	return true;
}

enum hv_site_kind x86_64_classify_site(const uint8_t *site, struct hv_gva at,
				       struct hv_gva *ret_target)
{
	if (is_nop(site))
		return HV_SITE_NOP;
	switch (site[0]) {
	case CALL_REL32:
		*ret_target = rel32_target(site, at);
		return HV_SITE_CALL;
	case JMP_REL32:
		*ret_target = rel32_target(site, at);
		return HV_SITE_JUMP;
	case INT3:
		return HV_SITE_BREAKPOINT;
	default:
		return HV_SITE_OTHER;
	}
}

bool x86_64_encode_call(struct hv_gva at, struct hv_gva target, uint8_t *ret_site)
{
	return encode_rel32(CALL_REL32, at, target, ret_site);
}

bool x86_64_encode_jump(struct hv_gva at, struct hv_gva target, uint8_t *ret_site)
{
	return encode_rel32(JMP_REL32, at, target, ret_site);
}

/* ftrace_reader.S reads the jump to the target, and chain.S the kind. */
bool x86_64_encode_chain(struct hv_gva at, const struct hv_chain *chain, uint8_t *ret)
{
	uint8_t opcode = chain->how == HV_CHAIN_CALLS ? CALL_REL32 : JMP_REL32;

	memset(ret, INT3, HV_CHAIN_LEN);
	memcpy(ret + 2 * X86_64_SITE_LEN, &chain->kind, sizeof(chain->kind));
	return encode_rel32(opcode, at, chain->trampoline, ret) &&
	       encode_rel32(JMP_REL32, hv_gva_add(at, X86_64_SITE_LEN), chain->target,
			    ret + X86_64_SITE_LEN);
}

/* arch_jump_entry_size(), arch/x86/kernel/jump_label.c: since 5.14 (e7bf1ba97afd) two bytes if the
 * target is in reach. */
bool x86_64_encode_jump_site(struct hv_gva at, struct hv_gva target, size_t len_bytes, uint8_t *ret)
{
	int64_t distance = (int64_t)(target.v - at.v - SHORT_LEN);

	if (len_bytes == X86_64_SITE_LEN)
		return encode_rel32(JMP_REL32, at, target, ret);
	if (len_bytes != SHORT_LEN || distance != (int8_t)distance)
		return false;
	ret[0] = JMP_REL8;
	ret[1] = (uint8_t)distance;
	return true;
}

size_t x86_64_classify_jump_site(const uint8_t *code, struct hv_gva at, struct hv_gva target,
				 bool *ret_jumps)
{
	static const size_t lengths[] = {SHORT_LEN, X86_64_SITE_LEN};
	uint8_t jump[X86_64_SITE_LEN];

	*ret_jumps = true;
	for (size_t i = 0; i < HV_ARRAY_LEN(lengths); i++)
		if (x86_64_encode_jump_site(at, target, lengths[i], jump) &&
		    memcmp(code, jump, lengths[i]) == 0)
			return lengths[i];
	*ret_jumps = false;
	if (is_nop(code))
		return X86_64_SITE_LEN;
	return memcmp(code, short_nop, SHORT_LEN) == 0 ? SHORT_LEN : 0;
}

size_t x86_64_idle_length(struct hv_span code)
{
	if (hv_span_has(code, 0, 4) && memcmp(code.data, "\xf3\x0f\x1e\xfa", 4) == 0)
		return 4;
	return x86_64_nop_length(code);
}

size_t x86_64_nop_length(struct hv_span code)
{
	size_t len = 0;
	uint8_t modrm;

	if (hv_span_has(code, 0, X86_64_SITE_LEN) && is_nop(code.data))
		return X86_64_SITE_LEN;
	while (len < 4 && hv_span_has(code, 0, len + 1) &&
	       (code.data[len] == 0x66 || code.data[len] == 0x2e))
		len++;
	if (hv_span_has(code, 0, len + 1) && code.data[len] == 0x90)
		return len + 1;
	if (!hv_span_has(code, 0, len + 3) || memcmp(code.data + len, "\x0f\x1f", 2) != 0)
		return 0;
	modrm = code.data[len + 2];
	if (modrm & 0x38 || modrm >= 0xc0)
		return 0;
	len += 3 + ((modrm & 7) == 4);
	if (modrm >= 0x80)
		len += 4;
	else if (modrm >= 0x40)
		len += 1;
	return hv_span_has(code, 0, len) ? len : 0;
}

/* Returns the length of the code before the return of an empty function: endbr64 or the nop that
 * replaced it, and nops in place of alternatives that this CPU does not need (6.2, 5d8213864ade:
 * CALL_DEPTH_ACCOUNT). */
static size_t skip_entry(struct hv_span code)
{
	size_t off = 0, len;

	do {
		len = x86_64_idle_length((struct hv_span){code.data + off, code.len_bytes - off});
		off += len;
	} while (len);
	return off;
}

bool x86_64_classify_return(struct hv_span code, struct hv_gva at, struct hv_gva *ret_thunk)
{
	size_t off = skip_entry(code);

	/* `rep ret` */
	if (hv_span_has(code, off, 2) && code.data[off] == 0xf3 && code.data[off + 1] == RET)
		off++;
	if (!hv_span_has(code, off, X86_64_SITE_LEN))
		return false;
	if (code.data[off] == RET) {
		*ret_thunk = hv_gva(0);
		return true;
	}
	if (code.data[off] == JMP_REL32) {
		*ret_thunk = rel32_target(code.data + off, hv_gva_add(at, off));
		return true;
	}
	return false;
}

bool x86_64_is_bare_jump(struct hv_span code)
{
	/* jmp *%reg */
	return hv_span_has(code, 0, 2) && code.data[0] == 0xff && (code.data[1] & 0xf8) == 0xe0;
}

bool x86_64_is_empty_function(struct hv_span code)
{
	static const char frame[] = "\x55\x48\x89\xe5\x5d"; /* push, mov and pop of rbp */
	size_t at = X86_64_SITE_LEN;

	if (!hv_span_has(code, 0, at + 1) || (!is_nop(code.data) && code.data[0] != CALL_REL32))
		return false;
	if (hv_span_has(code, at, sizeof(frame)) &&
	    memcmp(code.data + at, frame, sizeof(frame) - 1) == 0)
		at += sizeof(frame) - 1;
	return code.data[at] == RET;
}

bool x86_64_fill_return_site(uint8_t *site, struct hv_gva at, struct hv_gva thunk)
{
	if (thunk.v)
		return encode_rel32(JMP_REL32, at, thunk, site);
	site[0] = RET;
	memset(site + 1, INT3, X86_64_SITE_LEN - 1);
	return true;
}
