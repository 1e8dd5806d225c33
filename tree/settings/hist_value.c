/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/hist_field.h"

#include <string.h>

#define DIVIDE_SHIFT 20 /* HIST_DIV_SHIFT */
#define COMM_BYTES   16

/* Widens as the kernel does: a signed number keeps its value. */
static uint64_t number(const struct hv_hist_field *f, struct hv_span entry)
{
	uint64_t value = 0;
	unsigned unused_bits = 64 - 8 * f->size_bytes;

	if (!hv_span_copy(entry, f->off, &value, f->size_bytes) || !f->is_signed)
		return value;
	return (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
}

/* The kernel divides small numbers by a constant with a multiplication, which can be too large by
 * one (div_by_mult_and_shift). */
static uint64_t divide(uint64_t value, uint64_t divisor, bool is_constant)
{
	const uint64_t one = UINT64_C(1) << DIVIDE_SHIFT;

	if (!divisor)
		return UINT64_MAX;
	if (!is_constant || !(divisor & (divisor - 1)) || divisor > one || value >= one)
		return value / divisor;
	return (value * (one / divisor) + one - 1) >> DIVIDE_SHIFT;
}

static uint64_t expression(const struct hv_hist_field *f, const struct hv_hist_record *record)
{
	uint64_t a = hv_hist_field_value(f->operands[0], record);
	uint64_t b = f->operands[1] ? hv_hist_field_value(f->operands[1], record) : 0;

	switch (f->op) {
	case HV_HIST_ADD:
		return a + b;
	case HV_HIST_SUBTRACT:
		return a - b;
	case HV_HIST_MULTIPLY:
		return a * b;
	case HV_HIST_DIVIDE:
		return divide(a, b, f->operands[1]->is_constant);
	case HV_HIST_NEGATE:
		return -a;
	default:
		return 0;
	}
}

/* Returns the exponent of the smallest power of two that is at least VALUE (order_base_2). Older
 * kernels return 0 instead of 64. */
static uint64_t log2_above(uint64_t value)
{
	return value > 1 ? 64 - (unsigned)__builtin_clzll(value - 1) : 0;
}

static uint64_t unmodified(const struct hv_hist_field *f, const struct hv_hist_record *record)
{
	switch (f->kind) {
	case HV_HIST_NUMBER:
		return number(f, record->entry);
	case HV_HIST_HITS:
		return 1;
	case HV_HIST_TIME:
		return record->time;
	case HV_HIST_CPU:
		return record->cpu;
	case HV_HIST_CONSTANT:
		return f->constant;
	case HV_HIST_EXPRESSION:
		return expression(f, record);
	case HV_HIST_REFERENCE:
		return record->refs ? record->refs[f->ref].number : f->constant;
	default:
		return 0;
	}
}

uint64_t hv_hist_field_value(const struct hv_hist_field *f, const struct hv_hist_record *record)
{
	uint64_t value = unmodified(f, record);

	if (f->modifier == HV_HIST_LOG2)
		return log2_above(value);
	if (f->modifier == HV_HIST_BUCKETS)
		return value / f->buckets * f->buckets;
	return value;
}

/* Reads the stack in a field of a synthetic event: the number of addresses, then the addresses
 * (trace_stack). */
static void stack_in(const struct hv_hist_field *f, struct hv_span entry, uint64_t *ret)
{
	uint32_t place;
	size_t len;

	if (!hv_span_u32(entry, f->off, &place))
		return;
	len = place >> 16;
	len = len < sizeof(*ret) ? 0 : len - sizeof(*ret);
	hv_span_copy(entry, (place & 0xffff) + sizeof(*ret), ret,
		     len < HV_HIST_STACK_BYTES ? len : HV_HIST_STACK_BYTES);
}

void hv_hist_field_stack(const struct hv_hist_field *f, const struct hv_hist_record *record,
			 uint64_t ret[HV_HIST_STACK_MAX])
{
	const uint64_t *stack = f->kind == HV_HIST_STACK ? record->stack : NULL;

	memset(ret, 0, HV_HIST_STACK_BYTES);
	if (f->kind == HV_HIST_STACK_FIELD) {
		stack_in(f, record->entry, ret);
		return;
	}
	if (f->kind == HV_HIST_REFERENCE && record->refs)
		stack = record->refs[f->ref].stack;
	for (unsigned i = 0; stack && i < HV_HIST_STACK_MAX && stack[i]; i++)
		ret[i] = stack[i];
}

/* A host string of at most MAX bytes. */
static struct hv_span own_text(const char *text, size_t max_bytes)
{
	return (struct hv_span){(const uint8_t *)text, text ? strnlen(text, max_bytes) : 0};
}

struct hv_span hv_hist_field_text(const struct hv_hist_field *f,
				  const struct hv_hist_record *record)
{
	struct hv_span entry = record->entry;
	size_t off = f->off, len = f->size_bytes;
	uint32_t place;

	if (f->kind == HV_HIST_COMM)
		return own_text(record->first_comm, COMM_BYTES);
	if (f->kind == HV_HIST_REFERENCE)
		return own_text(record->refs ? record->refs[f->ref].text : NULL,
				HV_HIST_TEXT_BYTES);
	if (f->form != HV_FIELD_ARRAY) {
		if (!hv_span_u32(entry, f->off, &place))
			return (struct hv_span){0};
		off = (place & 0xffff) + (f->form == HV_FIELD_RELATIVE ? f->off + 4 : 0);
		len = place >> 16;
	}
	if (!hv_span_has(entry, off, len))
		return (struct hv_span){0};
	return (struct hv_span){entry.data + off, len};
}
