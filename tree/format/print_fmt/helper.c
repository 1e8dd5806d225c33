/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's helpers (kernel/trace/trace_output.c). Each writes a text with a NUL behind it and
 * returns a pointer to the text. */
#include <string.h>

#include "tree/format/print_fmt/eval.h"
#include "tree/format/print_fmt/pointer.h"

static struct hv_print_value scratch_end(const struct hv_print_eval *e)
{
	return (struct hv_print_value){
		.bits = (uint64_t)(e->scratch.at - e->scratch.start),
		.type = hv_print_pointer_to_numbers(hv_print_signed(1)),
		.space = HV_SPACE_SCRATCH,
	};
}

/* Writes NAME, behind the text that separates names if it is not the first. NULL: only that text.
 */
static void put_flag(struct hv_print_eval *e, const struct hv_print_node *n, bool is_first,
		     const char *name)
{
	if (!is_first)
		hv_print_text(&e->scratch, hv_print_eval_string(e, n->d));
	if (name)
		hv_print_text(&e->scratch, name);
}

static bool eval_flags(struct hv_print_eval *e, const struct hv_print_node *n,
		       struct hv_print_value *ret)
{
	bool is_first = true;
	struct hv_print_value v;
	uint64_t flags;

	if (!hv_print_eval_node(e, n->a, &v) || v.space != HV_SPACE_GUEST)
		return false;
	*ret = scratch_end(e);
	flags = v.bits;
	for (uint32_t i = 0; i < n->c && flags; i++) {
		const struct hv_print_pair *pair = &e->fmt->pairs[n->b + i];

		if (pair->unknown)
			return false;
		if ((flags & pair->value) != pair->value)
			continue;
		flags &= ~pair->value;
		put_flag(e, n, is_first, hv_print_eval_string(e, pair->name));
		is_first = false;
	}
	if (flags) {
		put_flag(e, n, is_first, NULL);
		hv_print_hex(&e->scratch, flags);
	}
	hv_print_char(&e->scratch, '\0');
	return true;
}

static bool eval_symbol(struct hv_print_eval *e, const struct hv_print_node *n,
			struct hv_print_value *ret)
{
	struct hv_print_value v;
	const char *name = "";

	if (!hv_print_eval_node(e, n->a, &v) || v.space != HV_SPACE_GUEST)
		return false;
	*ret = scratch_end(e);
	for (uint32_t i = 0; i < n->c; i++) {
		const struct hv_print_pair *pair = &e->fmt->pairs[n->b + i];

		if (pair->unknown)
			return false;
		if (pair->value != v.bits)
			continue;
		name = hv_print_eval_string(e, pair->name);
		break;
	}
	if (*name)
		hv_print_text(&e->scratch, name);
	else
		hv_print_hex(&e->scratch, v.bits);
	hv_print_char(&e->scratch, '\0');
	return true;
}

/* trace_seq_printf(): its arguments are evaluated before it writes, and may write, too. */
static bool eval_printf(struct hv_print_eval *e, const struct hv_print_node *n,
			struct hv_print_value *ret)
{
	char text[HV_PRINT_TEXT_MAX];
	struct hv_print_out out = {.start = text, .at = text, .end = text + sizeof(text)};

	if (!hv_print_eval_pieces(e, n->a, n->b, &out))
		return false;
	hv_print_bytes(&e->scratch, text, (size_t)(out.at - text));
	*ret = hv_print_number_value(0, n->type);
	return true;
}

static bool put_hex(struct hv_print_eval *e, struct hv_span bytes, int64_t len_bytes,
		    bool is_joined)
{
	if (len_bytes > 0 && (uint64_t)len_bytes > bytes.len_bytes)
		return false;
	for (int64_t i = 0; i < len_bytes && !e->scratch.full; i++) {
		if (i && !is_joined)
			hv_print_char(&e->scratch, ' ');
		hv_print_hex_byte(&e->scratch, bytes.data[i]);
	}
	return true;
}

static bool put_array(struct hv_print_eval *e, struct hv_span bytes, uint64_t nr, uint64_t el_bytes)
{
	struct hv_print_value v;

	if (el_bytes != 1 && el_bytes != 2 && el_bytes != 4 && el_bytes != 8)
		return false;
	if (nr > bytes.len_bytes / el_bytes)
		return false;
	hv_print_char(&e->scratch, '{');
	for (uint64_t i = 0; i < nr && !e->scratch.full; i++) {
		struct hv_span el = {bytes.data + i * el_bytes, el_bytes};

		if (!hv_print_eval_read(el, hv_print_unsigned((unsigned)el_bytes), &v))
			return false;
		if (i)
			hv_print_char(&e->scratch, ',');
		hv_print_hex(&e->scratch, v.bits);
	}
	hv_print_char(&e->scratch, '}');
	return true;
}

static bool put_bitmask(struct hv_print_eval *e, struct hv_span bytes, uint64_t len_bytes)
{
	if (len_bytes > bytes.len_bytes)
		return false;
	if (e->env->bitmask_list)
		hv_print_bitmap_list(&e->scratch, bytes.data, 8 * (unsigned)len_bytes);
	else
		hv_print_bitmap(&e->scratch, bytes.data, 8 * (unsigned)len_bytes);
	return true;
}

static bool put_disk(struct hv_print_eval *e, struct hv_span bytes)
{
	size_t len = strnlen((const char *)bytes.data, bytes.len_bytes);

	if (!len)
		return true;
	hv_print_text(&e->scratch, "disk=");
	hv_print_bytes(&e->scratch, (const char *)bytes.data, len);
	hv_print_text(&e->scratch, ", ");
	return true;
}

/* A is a pointer; B and C are numbers. */
static bool put_text(struct hv_print_eval *e, enum hv_print_function function,
		     const struct hv_print_value args[3])
{
	struct hv_span bytes;

	if (!hv_print_eval_bytes(e, args[0], &bytes) || args[1].space != HV_SPACE_GUEST ||
	    args[2].space != HV_SPACE_GUEST)
		return false;
	switch (function) {
	case HV_FN_BITMASK:
		return put_bitmask(e, bytes, args[1].bits);
	case HV_FN_HEX:
	case HV_FN_HEX_STR:
		return put_hex(e, bytes, (int32_t)args[1].bits, function == HV_FN_HEX_STR);
	case HV_FN_ARRAY:
		return put_array(e, bytes, args[1].bits, args[2].bits);
	case HV_FN_DISK:
		return put_disk(e, bytes);
	default:
		return false;
	}
}

static struct hv_print_value swapped(struct hv_print_value v, struct hv_print_type type)
{
	return hv_print_number_value(__builtin_bswap64(v.bits) >> (64 - 8 * type.size_bytes), type);
}

static bool eval_call(struct hv_print_eval *e, const struct hv_print_node *n,
		      struct hv_print_value *ret)
{
	enum hv_print_function function = (enum hv_print_function)n->function;
	struct hv_print_value args[3];

	if (function == HV_FN_SCRATCH) {
		*ret = scratch_end(e);
		return true;
	}
	if (!hv_print_eval_node(e, n->a, &args[0]) || !hv_print_eval_node(e, n->b, &args[1]) ||
	    !hv_print_eval_node(e, n->c, &args[2]))
		return false;
	if (function == HV_FN_BSWAP) {
		*ret = swapped(args[0], n->type);
		return args[0].space == HV_SPACE_GUEST;
	}
	*ret = scratch_end(e);
	if (!put_text(e, function, args))
		return false;
	hv_print_char(&e->scratch, '\0');
	return true;
}

bool hv_print_eval_helper(struct hv_print_eval *e, const struct hv_print_node *n,
			  struct hv_print_value *ret)
{
	switch ((enum hv_print_op)n->op) {
	case HV_OP_FLAGS:
		return eval_flags(e, n, ret);
	case HV_OP_SYMBOL:
		return eval_symbol(e, n, ret);
	case HV_OP_PRINTF:
		return eval_printf(e, n, ret);
	default:
		return eval_call(e, n, ret);
	}
}
