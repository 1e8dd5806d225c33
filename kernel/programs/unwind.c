/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/programs/unwind.h"

#define WORD	  8
#define STEPS_MAX 256 /* of an expression */
#define DEPTH_MAX 16  /* of its stack */

bool hv_user_frame_init(struct hv_user_frame *ret, const struct hv_dwarf_regs *names,
			struct hv_span copy)
{
	struct hv_user_frame f = {.names = names, .is_exact = true};
	uint16_t mode;

	if (!hv_span_u16(copy, names->mode_off, &mode) || mode != names->mode ||
	    !hv_span_has(copy, 0, names->len_bytes))
		return false;
	for (unsigned i = 0; i < names->nr; i++)
		hv_span_u64(copy, names->offs[i], &f.regs[i]);
	f.stack = (struct hv_span){copy.data + names->len_bytes, copy.len_bytes - names->len_bytes};
	f.start = f.cfa = f.regs[names->sp];
	*ret = f;
	return true;
}

uint64_t hv_user_frame_ip(const struct hv_user_frame *f)
{
	return f->regs[f->names->ip];
}

/* Reads SIZE bytes of the program's stack. */
static enum hv_user_unwound read_stack(const struct hv_user_frame *f, uint64_t at, size_t size,
				       uint64_t *ret)
{
	uint64_t value = 0;

	if (at < f->start)
		return HV_USER_UNWOUND_WRONG;
	if (!hv_span_copy(f->stack, at - f->start, &value, size))
		return HV_USER_UNWOUND_TOO_LONG;
	*ret = value;
	return HV_USER_UNWOUND_CALLER;
}

/* -- expressions (DWARF 5, 2.5) ----------------------------------------------------------------- */

struct machine {
	const struct hv_user_frame *f;
	struct hv_span code;
	size_t at;
	uint64_t values[DEPTH_MAX];
	unsigned depth;
	enum hv_user_unwound result; /* HV_USER_UNWOUND_CALLER: nothing is wrong yet */
};

static void fail(struct machine *m, enum hv_user_unwound result)
{
	if (m->result == HV_USER_UNWOUND_CALLER)
		m->result = result;
}

static void push(struct machine *m, uint64_t value)
{
	if (m->depth == DEPTH_MAX)
		fail(m, HV_USER_UNWOUND_WRONG);
	else
		m->values[m->depth++] = value;
}

static uint64_t pop(struct machine *m)
{
	if (m->depth)
		return m->values[--m->depth];
	fail(m, HV_USER_UNWOUND_WRONG);
	return 0;
}

/* The value N below the top. */
static uint64_t peek(struct machine *m, uint64_t n)
{
	if (n < m->depth)
		return m->values[m->depth - 1 - n];
	fail(m, HV_USER_UNWOUND_WRONG);
	return 0;
}

static uint64_t operand(struct machine *m, size_t size)
{
	uint64_t value = 0;

	if (!hv_span_copy(m->code, m->at, &value, size))
		fail(m, HV_USER_UNWOUND_WRONG);
	m->at += size;
	return value;
}

static uint64_t sign_extended(uint64_t value, size_t size)
{
	unsigned unused_bits = 64 - 8 * (unsigned)size;

	return (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
}

static uint64_t leb(struct machine *m, uint64_t sign)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = operand(m, 1);
		value |= shift < 64 ? (byte & 0x7f) << shift : 0;
		shift += 7;
	} while ((byte & 0x80) && shift < 70);
	if (byte & 0x80)
		fail(m, HV_USER_UNWOUND_WRONG);
	return (byte & sign) && shift < 64 ? value | ~UINT64_C(0) << shift : value;
}

#define SIGNED	 0x40
#define UNSIGNED 0

static void deref(struct machine *m, size_t size)
{
	uint64_t value = 0;
	enum hv_user_unwound result = HV_USER_UNWOUND_WRONG;

	if (size && size <= WORD)
		result = read_stack(m->f, pop(m), size, &value);
	if (result != HV_USER_UNWOUND_CALLER)
		fail(m, result);
	push(m, value);
}

static void push_register(struct machine *m, uint64_t reg)
{
	uint64_t off = leb(m, SIGNED);

	if (reg >= m->f->names->nr)
		fail(m, HV_USER_UNWOUND_WRONG);
	else
		push(m, m->f->regs[reg] + off);
}

static uint64_t shifted(uint64_t value, uint64_t by, uint8_t op)
{
	if (op == 0x24) /* DW_OP_shl */
		return by < 64 ? value << by : 0;
	if (op == 0x25) /* DW_OP_shr */
		return by < 64 ? value >> by : 0;
	return (uint64_t)((int64_t)value >> (by < 64 ? by : 63));
}

/* Operations on two values. Returns false if OP is another one. */
static bool run_binary(struct machine *m, uint8_t op)
{
	uint64_t b = peek(m, 0), a = peek(m, 1), value;

	switch (op) {
	case 0x1a: /* DW_OP_and */
		value = a & b;
		break;
	case 0x1c: /* DW_OP_minus */
		value = a - b;
		break;
	case 0x1e: /* DW_OP_mul */
		value = a * b;
		break;
	case 0x21: /* DW_OP_or */
		value = a | b;
		break;
	case 0x22: /* DW_OP_plus */
		value = a + b;
		break;
	case 0x24: /* DW_OP_shl, shr, shra */
	case 0x25:
	case 0x26:
		value = shifted(a, b, op);
		break;
	case 0x27: /* DW_OP_xor */
		value = a ^ b;
		break;
	case 0x29: /* DW_OP_eq */
		value = a == b;
		break;
	case 0x2a: /* DW_OP_ge and the others compare signed numbers */
		value = (int64_t)a >= (int64_t)b;
		break;
	case 0x2b: /* DW_OP_gt */
		value = (int64_t)a > (int64_t)b;
		break;
	case 0x2c: /* DW_OP_le */
		value = (int64_t)a <= (int64_t)b;
		break;
	case 0x2d: /* DW_OP_lt */
		value = (int64_t)a < (int64_t)b;
		break;
	case 0x2e: /* DW_OP_ne */
		value = a != b;
		break;
	default:
		return false;
	}
	pop(m);
	pop(m);
	push(m, value);
	return true;
}

static void run_other(struct machine *m, uint8_t op)
{
	uint64_t a;

	switch (op) {
	case 0x06: /* DW_OP_deref */
		deref(m, WORD);
		break;
	case 0x12: /* DW_OP_dup */
		push(m, peek(m, 0));
		break;
	case 0x13: /* DW_OP_drop */
		pop(m);
		break;
	case 0x14: /* DW_OP_over */
		push(m, peek(m, 1));
		break;
	case 0x15: /* DW_OP_pick */
		push(m, peek(m, operand(m, 1)));
		break;
	case 0x1f: /* DW_OP_neg */
		push(m, -pop(m));
		break;
	case 0x20: /* DW_OP_not */
		push(m, ~pop(m));
		break;
	case 0x23: /* DW_OP_plus_uconst */
		a = pop(m);
		push(m, a + leb(m, UNSIGNED));
		break;
	case 0x92: /* DW_OP_bregx */
		push_register(m, leb(m, UNSIGNED));
		break;
	case 0x94: /* DW_OP_deref_size */
		deref(m, operand(m, 1));
		break;
	case 0x96: /* DW_OP_nop */
		break;
	default: /* also jumps: no compiler needs them for a frame */
		fail(m, HV_USER_UNWOUND_WRONG);
	}
}

static void run(struct machine *m)
{
	uint8_t op = (uint8_t)operand(m, 1);
	size_t size;

	if (op >= 0x08 && op <= 0x0f) { /* DW_OP_const1u, const1s, const2u, ... */
		size = (size_t)1 << (op - 0x08) / 2;
		push(m, op & 1 ? sign_extended(operand(m, size), size) : operand(m, size));
	} else if (op == 0x10 || op == 0x11) { /* DW_OP_constu, consts */
		push(m, leb(m, op == 0x11 ? SIGNED : UNSIGNED));
	} else if (op >= 0x30 && op <= 0x4f) { /* DW_OP_lit0 to lit31 */
		push(m, op - 0x30u);
	} else if (op >= 0x70 && op <= 0x8f) { /* DW_OP_breg0 to breg31 */
		push_register(m, op - 0x70u);
	} else if (op < 0x1a || op > 0x2e || op == 0x1f || op == 0x20 || op == 0x23) {
		run_other(m, op);
	} else if (!run_binary(m, op)) {
		fail(m, HV_USER_UNWOUND_WRONG);
	}
}

/* The stack contains the CFA at first, unless the expression computes the CFA. */
static enum hv_user_unwound compute(const struct hv_user_frame *f, struct hv_span code,
				    const uint64_t *cfa, uint64_t *ret)
{
	struct machine m = {.f = f, .code = code};
	unsigned steps = 0;

	if (cfa)
		push(&m, *cfa);
	while (m.result == HV_USER_UNWOUND_CALLER && m.at < code.len_bytes) {
		if (++steps > STEPS_MAX)
			return HV_USER_UNWOUND_WRONG;
		run(&m);
	}
	*ret = pop(&m);
	return m.result;
}

/* -- frames ------------------------------------------------------------------------------------- */

/* Finds the caller's register REG. */
static enum hv_user_unwound apply(const struct hv_user_frame *f, const struct hv_cfi_rule *rule,
				  unsigned reg, uint64_t cfa, uint64_t *ret)
{
	enum hv_user_unwound result;
	uint64_t at = 0;

	switch (rule->kind) {
	case HV_CFI_SAME:
		*ret = f->regs[reg];
		return HV_USER_UNWOUND_CALLER;
	case HV_CFI_UNDEFINED:
		*ret = 0;
		return HV_USER_UNWOUND_CALLER;
	case HV_CFI_AT_CFA:
		return read_stack(f, cfa + (uint64_t)rule->number, WORD, ret);
	case HV_CFI_CFA:
		*ret = cfa + (uint64_t)rule->number;
		return HV_USER_UNWOUND_CALLER;
	case HV_CFI_REGISTER:
		*ret = f->regs[rule->reg] + (uint64_t)rule->number;
		return HV_USER_UNWOUND_CALLER;
	case HV_CFI_AT_EXPRESSION:
		result = compute(f, rule->expression, &cfa, &at);
		return result == HV_USER_UNWOUND_CALLER ? read_stack(f, at, WORD, ret) : result;
	case HV_CFI_EXPRESSION:
		return compute(f, rule->expression, &cfa, ret);
	}
	return HV_USER_UNWOUND_WRONG;
}

static enum hv_user_unwound find_cfa(const struct hv_user_frame *f, const struct hv_cfi_rule *rule,
				     uint64_t *ret)
{
	enum hv_user_unwound result = HV_USER_UNWOUND_CALLER;

	if (rule->kind == HV_CFI_REGISTER)
		*ret = f->regs[rule->reg] + (uint64_t)rule->number;
	else if (rule->kind == HV_CFI_EXPRESSION)
		result = compute(f, rule->expression, NULL, ret);
	else
		result = HV_USER_UNWOUND_WRONG;
	if (result != HV_USER_UNWOUND_CALLER)
		return result;
	if (*ret <= f->cfa)
		return HV_USER_UNWOUND_WRONG;
	return *ret - f->start > f->stack.len_bytes ? HV_USER_UNWOUND_TOO_LONG
						    : HV_USER_UNWOUND_CALLER;
}

enum hv_user_unwound hv_unwind_user(struct hv_user_frame *f, const struct hv_cfi_row *row)
{
	struct hv_user_frame caller = *f;
	const struct hv_dwarf_regs *names = f->names;
	uint64_t cfa = 0;
	enum hv_user_unwound result = find_cfa(f, &row->cfa, &cfa);

	if (row->regs[row->return_reg].kind == HV_CFI_UNDEFINED)
		return HV_USER_UNWOUND_ALL;
	for (unsigned reg = 0; result == HV_USER_UNWOUND_CALLER && reg < names->nr; reg++)
		result = apply(f, &row->regs[reg], reg, cfa, &caller.regs[reg]);
	if (result != HV_USER_UNWOUND_CALLER)
		return result;
	if (row->regs[names->sp].kind == HV_CFI_SAME)
		caller.regs[names->sp] = cfa;
	caller.regs[names->ip] = caller.regs[row->return_reg];
	caller.cfa = cfa;
	caller.is_exact = row->is_signal;
	*f = caller;
	return hv_user_frame_ip(f) ? HV_USER_UNWOUND_CALLER : HV_USER_UNWOUND_ALL;
}
