/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/program.h"

#include <string.h>

#include "tree/format/print_fmt/lexer.h"

#define PAIRS_MAX   8192
#define PIECES_MAX  2048
#define STRINGS_MAX (2 * HV_PRINT_FMT_MAX)

/* Makes room for MORE elements in ARRAY, which has NR. Returns false if that exceeds MAX. */
static bool reserve(void **array, uint32_t nr, uint32_t more, uint32_t *cap, uint32_t max,
		    size_t size_bytes)
{
	if (more > max || nr > max - more)
		return false;
	if (nr + more <= *cap)
		return true;
	*cap = 2 * (nr + more) < max ? 2 * (nr + more) : max;
	*array = hv_realloc_array(*array, *cap, size_bytes);
	return true;
}

const struct hv_print_node *hv_print_built(const struct hv_print_builder *b, uint32_t node)
{
	return &b->fmt->nodes[node];
}

uint32_t hv_print_build_node(struct hv_print_builder *b, struct hv_print_node node,
			     const uint32_t *children, unsigned nr_children)
{
	struct hv_print_fmt *fmt = b->fmt;

	node.depth = 1;
	for (unsigned i = 0; i < nr_children; i++)
		if (fmt->nodes[children[i]].depth >= node.depth)
			node.depth = (uint16_t)(fmt->nodes[children[i]].depth + 1);
	if (node.depth > HV_PRINT_DEPTH_MAX) {
		b->limit = "the expressions are nested too deeply";
		return HV_PRINT_NO_NODE;
	}
	if (!reserve((void **)&fmt->nodes, fmt->nr_nodes, 1, &b->cap_nodes, HV_PRINT_NODES_MAX,
		     sizeof(*fmt->nodes))) {
		b->limit = "there are too many expressions";
		return HV_PRINT_NO_NODE;
	}
	fmt->nodes[fmt->nr_nodes] = node;
	return fmt->nr_nodes++;
}

uint32_t hv_print_build_value(struct hv_print_builder *b, struct hv_print_value v)
{
	const struct hv_print_node node = {
		.op = HV_OP_VALUE, .space = (uint8_t)v.space, .type = v.type, .bits = v.bits};

	return hv_print_build_node(b, node, NULL, 0);
}

uint32_t hv_print_build_number(struct hv_print_builder *b, int64_t number)
{
	unsigned size_bytes = number >= INT32_MIN && number <= INT32_MAX ? 4 : 8;

	return hv_print_build_value(
		b, hv_print_number_value((uint64_t)number, hv_print_signed(size_bytes)));
}

uint32_t hv_print_build_unknown(struct hv_print_builder *b, const char *name, size_t len_bytes)
{
	const struct hv_print_node node = {
		.op = HV_OP_UNKNOWN,
		.type = hv_print_unsigned(8),
		.a = hv_print_build_string(b, name, len_bytes),
	};

	if (!b->fmt->unknown)
		b->fmt->unknown = node.a;
	return hv_print_build_node(b, node, NULL, 0);
}

bool hv_print_built_value(const struct hv_print_builder *b, uint32_t node,
			  struct hv_print_value *ret)
{
	const struct hv_print_node *n = &b->fmt->nodes[node];

	if (n->op != HV_OP_VALUE)
		return false;
	*ret = (struct hv_print_value){
		.bits = n->bits, .type = n->type, .space = (enum hv_print_space)n->space};
	return true;
}

/* Replaces node FIRST and all later nodes, the operands of a constant expression, by a node for its
 * value V. This saves nodes, because flag tables are long and full of constant expressions. */
static uint32_t replace(struct hv_print_builder *b, uint32_t first, struct hv_print_value v)
{
	if (b->fmt->nr_nodes > first && first)
		b->fmt->nr_nodes = first;
	return hv_print_build_value(b, v);
}

uint32_t hv_print_build_unary(struct hv_print_builder *b, char sign, uint32_t a)
{
	struct hv_print_node node = {.op = HV_OP_UNARY, .sign = (uint8_t)sign, .a = a};
	struct hv_print_value v;

	if (hv_print_built_value(b, a, &v) && hv_print_unary(sign, v, &v))
		return replace(b, a, v);
	node.type = sign == '!'
			    ? hv_print_signed(4)
			    : hv_print_common_type(hv_print_built(b, a)->type, hv_print_signed(1));
	return hv_print_build_node(b, node, &a, 1);
}

static bool is_comparison(uint16_t sign)
{
	return sign == '<' || sign == '>' || sign == HV_SIGN2('<', '=') ||
	       sign == HV_SIGN2('>', '=') || sign == HV_SIGN2('=', '=') ||
	       sign == HV_SIGN2('!', '=');
}

static struct hv_print_type type_of_binary(uint16_t sign, struct hv_print_type l,
					   struct hv_print_type r)
{
	if (is_comparison(sign))
		return hv_print_signed(4);
	if (sign == HV_SIGN2('<', '<') || sign == HV_SIGN2('>', '>'))
		r = hv_print_signed(1);
	return hv_print_common_type(l, r);
}

static uint32_t build_logic(struct hv_print_builder *b, uint16_t sign, uint32_t l, uint32_t r)
{
	const struct hv_print_node node = {
		.op = HV_OP_LOGIC, .sign = sign, .type = hv_print_signed(4), .a = l, .b = r};
	bool is_or = sign == HV_SIGN2('|', '|');
	struct hv_print_value v, w;

	if (hv_print_built_value(b, l, &v) && hv_print_is_true(v) == is_or)
		return replace(b, l, hv_print_number_value(is_or, node.type));
	if (hv_print_built_value(b, l, &v) && hv_print_built_value(b, r, &w))
		return replace(b, l, hv_print_number_value(hv_print_is_true(w), node.type));
	return hv_print_build_node(b, node, (const uint32_t[]){l, r}, 2);
}

uint32_t hv_print_build_binary(struct hv_print_builder *b, uint16_t sign, uint32_t l, uint32_t r)
{
	struct hv_print_node node = {.op = HV_OP_BINARY, .sign = sign, .a = l, .b = r};
	struct hv_print_value v, w;

	if (sign == HV_SIGN2('&', '&') || sign == HV_SIGN2('|', '|'))
		return build_logic(b, sign, l, r);
	if (hv_print_built_value(b, l, &v) && hv_print_built_value(b, r, &w) &&
	    hv_print_binary(sign, v, w, &v))
		return replace(b, l, v);
	node.type = type_of_binary(sign, hv_print_built(b, l)->type, hv_print_built(b, r)->type);
	return hv_print_build_node(b, node, (const uint32_t[]){l, r}, 2);
}

uint32_t hv_print_build_choice(struct hv_print_builder *b, uint32_t condition, uint32_t yes,
			       uint32_t no)
{
	struct hv_print_node node = {.op = HV_OP_CHOICE, .a = condition, .b = yes, .c = no};
	struct hv_print_value v, chosen;

	node.type = hv_print_common_type(hv_print_built(b, yes)->type, hv_print_built(b, no)->type);
	if (hv_print_built_value(b, condition, &v) &&
	    hv_print_built_value(b, hv_print_is_true(v) ? yes : no, &chosen))
		return replace(b, condition, hv_print_cast(chosen, node.type));
	return hv_print_build_node(b, node, (const uint32_t[]){condition, yes, no}, 3);
}

uint32_t hv_print_build_cast(struct hv_print_builder *b, struct hv_print_type type, uint32_t a)
{
	const struct hv_print_node node = {.op = HV_OP_CAST, .type = type, .a = a};
	struct hv_print_value v;

	if (hv_print_built_value(b, a, &v))
		return replace(b, a, hv_print_cast(v, type));
	return hv_print_build_node(b, node, &a, 1);
}

uint32_t hv_print_build_read(struct hv_print_builder *b, uint32_t pointer, uint32_t index)
{
	struct hv_print_type of = hv_print_built(b, pointer)->type;
	struct hv_print_node node = {.op = HV_OP_READ};
	struct hv_print_value v;

	if (!of.is_pointer || !of.el_is_number)
		return hv_print_build_unknown(b, "[]", 2);
	node.type = hv_print_element(of);
	node.a = hv_print_build_binary(b, '+', pointer, index);
	if (!hv_print_built_value(b, node.a, &v) || v.space != HV_SPACE_ENTRY ||
	    v.bits > UINT32_MAX)
		return hv_print_build_node(b, node, &node.a, 1);
	node.op = HV_OP_FIELD;
	node.a = (uint32_t)v.bits;
	return hv_print_build_node(b, node, NULL, 0);
}

uint32_t hv_print_build_string(struct hv_print_builder *b, const char *bytes, size_t len_bytes)
{
	struct hv_print_fmt *fmt = b->fmt;
	uint32_t at = fmt->strings_len_bytes;

	if (len_bytes >= STRINGS_MAX ||
	    !reserve((void **)&fmt->strings, at, (uint32_t)len_bytes + 1, &b->cap_strings,
		     STRINGS_MAX, 1)) {
		b->limit = "there are too many strings";
		return 0;
	}
	if (len_bytes)
		memcpy(fmt->strings + at, bytes, len_bytes);
	fmt->strings[at + len_bytes] = '\0';
	fmt->strings_len_bytes += (uint32_t)len_bytes + 1;
	return at;
}

uint32_t hv_print_build_pair(struct hv_print_builder *b, struct hv_print_pair pair)
{
	struct hv_print_fmt *fmt = b->fmt;

	if (!reserve((void **)&fmt->pairs, fmt->nr_pairs, 1, &b->cap_pairs, PAIRS_MAX,
		     sizeof(*fmt->pairs))) {
		b->limit = "there are too many names of values";
		return 0;
	}
	fmt->pairs[fmt->nr_pairs] = pair;
	return fmt->nr_pairs++;
}

uint32_t hv_print_build_pieces(struct hv_print_builder *b, const struct hv_print_piece *pieces,
			       uint32_t nr)
{
	struct hv_print_fmt *fmt = b->fmt;
	uint32_t first = fmt->nr_pieces;

	if (!reserve((void **)&fmt->pieces, first, nr, &b->cap_pieces, PIECES_MAX,
		     sizeof(*fmt->pieces))) {
		b->limit = "there are too many conversions";
		return 0;
	}
	if (nr)
		memcpy(&fmt->pieces[first], pieces, nr * sizeof(*pieces));
	fmt->nr_pieces += nr;
	return first;
}
