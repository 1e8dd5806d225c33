/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/eval.h"

#include "tree/format/print_fmt/lexer.h"

const char *hv_print_eval_string(const struct hv_print_eval *e, uint32_t at)
{
	return e->fmt->strings + at;
}

bool hv_print_eval_bytes(const struct hv_print_eval *e, struct hv_print_value v,
			 struct hv_span *ret)
{
	struct hv_span all = {0};

	if (v.space == HV_SPACE_ENTRY)
		all = e->entry;
	else if (v.space == HV_SPACE_STRINGS)
		all = (struct hv_span){(const uint8_t *)e->fmt->strings, e->fmt->strings_len_bytes};
	else if (v.space == HV_SPACE_SCRATCH)
		all = (struct hv_span){(const uint8_t *)e->scratch.start,
				       (size_t)(e->scratch.at - e->scratch.start)};
	if (v.space == HV_SPACE_GUEST || v.bits > all.len_bytes)
		return false;
	*ret = (struct hv_span){all.data + v.bits, all.len_bytes - v.bits};
	return true;
}

bool hv_print_eval_read(struct hv_span bytes, struct hv_print_type type, struct hv_print_value *ret)
{
	uint64_t bits = 0;

	if (!hv_span_copy(bytes, 0, &bits, type.size_bytes))
		return false;
	*ret = hv_print_number_value(bits, type);
	return true;
}

static bool entry_number(const struct hv_print_eval *e, uint32_t off, struct hv_print_type type,
			 struct hv_print_value *ret)
{
	const struct hv_print_value place = {.bits = off, .space = HV_SPACE_ENTRY};
	struct hv_span bytes;

	return hv_print_eval_bytes(e, place, &bytes) && hv_print_eval_read(bytes, type, ret);
}

static bool eval_read(struct hv_print_eval *e, const struct hv_print_node *n,
		      struct hv_print_value *ret)
{
	struct hv_print_value pointer;
	struct hv_span bytes;

	return hv_print_eval_node(e, n->a, &pointer) && hv_print_eval_bytes(e, pointer, &bytes) &&
	       hv_print_eval_read(bytes, n->type, ret);
}

/* Reads the word of a dynamic field, which has the offset and length of its bytes. */
static bool eval_dynamic(const struct hv_print_eval *e, const struct hv_print_node *n,
			 struct hv_print_value *ret)
{
	struct hv_print_value word;

	if (!entry_number(e, n->a, hv_print_unsigned(4), &word))
		return false;
	if (n->op == HV_OP_DYNAMIC_LEN) {
		*ret = hv_print_number_value(word.bits >> 16, n->type);
		return true;
	}
	*ret = (struct hv_print_value){
		.bits = (word.bits & 0xffff) + n->b, .type = n->type, .space = HV_SPACE_ENTRY};
	return true;
}

/* Operators and variables. */

static bool eval_binary(struct hv_print_eval *e, const struct hv_print_node *n,
			struct hv_print_value *ret)
{
	struct hv_print_value l, r;

	return hv_print_eval_node(e, n->a, &l) && hv_print_eval_node(e, n->b, &r) &&
	       hv_print_binary(n->sign, l, r, ret);
}

static bool eval_logic(struct hv_print_eval *e, const struct hv_print_node *n,
		       struct hv_print_value *ret)
{
	bool is_or = n->sign == HV_SIGN2('|', '|');
	struct hv_print_value v;

	if (!hv_print_eval_node(e, n->a, &v))
		return false;
	if (hv_print_is_true(v) != is_or && !hv_print_eval_node(e, n->b, &v))
		return false;
	*ret = hv_print_number_value(hv_print_is_true(v), n->type);
	return true;
}

static bool eval_choice(struct hv_print_eval *e, const struct hv_print_node *n,
			struct hv_print_value *ret)
{
	struct hv_print_value v;

	if (!hv_print_eval_node(e, n->a, &v) ||
	    !hv_print_eval_node(e, hv_print_is_true(v) ? n->b : n->c, &v))
		return false;
	*ret = hv_print_cast(v, n->type);
	return true;
}

static bool eval_set_local(struct hv_print_eval *e, const struct hv_print_node *n,
			   struct hv_print_value *ret)
{
	if (!hv_print_eval_node(e, n->b, ret))
		return false;
	*ret = hv_print_cast(*ret, n->type);
	e->locals[n->a] = *ret;
	return true;
}

static bool eval_variable(const struct hv_print_eval *e, const struct hv_print_node *n,
			  struct hv_print_value *ret)
{
	const struct hv_print_resolver *r = e->env->resolver;
	uint64_t bits;

	if (!r->variable || !r->variable(r->of, hv_print_eval_string(e, n->a), &bits))
		return false;
	*ret = hv_print_number_value(bits, n->type);
	return true;
}

/* A variable has no type until a value is assigned to it. */
static bool eval_local(const struct hv_print_eval *e, const struct hv_print_node *n,
		       struct hv_print_value *ret)
{
	struct hv_print_value v = e->locals[n->a];

	if (!v.type.size_bytes)
		return false;
	if (n->op == HV_OP_LOCAL_BITS)
		v = hv_print_number_value((v.bits >> n->b) & ((UINT64_C(1) << n->c) - 1), n->type);
	*ret = v;
	return true;
}

static bool eval_string_at(struct hv_print_eval *e, const struct hv_print_node *n,
			   struct hv_print_value *ret)
{
	struct hv_print_value index;

	if (!hv_print_eval_node(e, n->a, &index) || index.space != HV_SPACE_GUEST ||
	    index.bits >= n->c)
		return false;
	*ret = (struct hv_print_value){
		.bits = e->fmt->pairs[n->b + index.bits].name,
		.type = n->type,
		.space = HV_SPACE_STRINGS,
	};
	return true;
}

bool hv_print_eval_node(struct hv_print_eval *e, uint32_t at, struct hv_print_value *ret)
{
	const struct hv_print_node *n = &e->fmt->nodes[at];
	struct hv_print_value v;

	switch ((enum hv_print_op)n->op) {
	case HV_OP_VALUE:
		*ret = (struct hv_print_value){
			.bits = n->bits, .type = n->type, .space = (enum hv_print_space)n->space};
		return true;
	case HV_OP_UNKNOWN:
		return false;
	case HV_OP_VARIABLE:
		return eval_variable(e, n, ret);
	case HV_OP_FIELD:
		return entry_number(e, n->a, n->type, ret);
	case HV_OP_DYNAMIC:
	case HV_OP_DYNAMIC_LEN:
		return eval_dynamic(e, n, ret);
	case HV_OP_LOCAL:
	case HV_OP_LOCAL_BITS:
		return eval_local(e, n, ret);
	case HV_OP_SET_LOCAL:
		return eval_set_local(e, n, ret);
	case HV_OP_CAST:
		if (!hv_print_eval_node(e, n->a, &v))
			return false;
		*ret = hv_print_cast(v, n->type);
		return true;
	case HV_OP_READ:
		return eval_read(e, n, ret);
	case HV_OP_UNARY:
		return hv_print_eval_node(e, n->a, &v) && hv_print_unary((char)n->sign, v, ret);
	case HV_OP_BINARY:
		return eval_binary(e, n, ret);
	case HV_OP_LOGIC:
		return eval_logic(e, n, ret);
	case HV_OP_CHOICE:
		return eval_choice(e, n, ret);
	case HV_OP_SEQUENCE:
		return hv_print_eval_node(e, n->a, &v) && hv_print_eval_node(e, n->b, ret);
	case HV_OP_STRING_AT:
		return eval_string_at(e, n, ret);
	case HV_OP_FLAGS:
	case HV_OP_SYMBOL:
	case HV_OP_PRINTF:
	case HV_OP_CALL:
		return hv_print_eval_helper(e, n, ret);
	}
	return false;
}
