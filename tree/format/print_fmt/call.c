/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses calls in a print_fmt: the macros that TP_printk may use
 * (include/trace/stages/stage3_trace_output.h), and a few functions that can be computed here. The
 * value of any other call is unknown. */
#include <string.h>

#include "base/prefix.h"
#include "tree/format/print_fmt/parser.h"

#define NS_PER_SEC   1000000000
#define MSEC_PER_SEC 1000

/* The parser for a helper's arguments. SPEC distinguishes helpers with the same parser. */
struct helper {
	const char *name;
	uint32_t (*read)(struct hv_print_parser *p, unsigned spec);
	unsigned spec;
};

static uint32_t call_node(struct hv_print_parser *p, enum hv_print_function function,
			  struct hv_print_type type, const uint32_t *args, unsigned nr_args)
{
	struct hv_print_node node = {.op = HV_OP_CALL, .function = (uint8_t)function, .type = type};

	node.a = args[0];
	node.b = nr_args > 1 ? args[1] : HV_PRINT_NO_NODE;
	node.c = nr_args > 2 ? args[2] : HV_PRINT_NO_NODE;
	return hv_print_build_node(&p->builder, node, args, nr_args);
}

static struct hv_print_type text_type(void)
{
	return hv_print_pointer_to_numbers(hv_print_signed(1));
}

static uint32_t as_u64(struct hv_print_parser *p, uint32_t node)
{
	return hv_print_build_cast(&p->builder, hv_print_unsigned(8), node);
}

/* Dynamic fields: a word in the entry has the offset and length of their bytes. */

/* Finds the field named by the next token. *RET_BASE must be added to the offset in its word. */
static const struct hv_print_field *dynamic_field(struct hv_print_parser *p, uint32_t *ret_base)
{
	const struct hv_print_field *field =
		hv_print_find_field(p, p->token.text, p->token.len_bytes);

	*ret_base = 0;
	if (p->token.kind != HV_TOKEN_NAME || !field || field->size_bytes != 4) {
		hv_print_problem(p, "no such dynamic field");
		return NULL;
	}
	if (hv_starts_with(field->type, "__rel_loc")) {
		*ret_base = field->offset_bytes + field->size_bytes;
	} else if (!hv_starts_with(field->type, "__data_loc")) {
		hv_print_problem(p, "not a dynamic field");
		return NULL;
	}
	hv_print_next_token(p);
	return field;
}

static uint32_t dynamic_address(struct hv_print_parser *p, const struct hv_print_field *field,
				uint32_t base, struct hv_print_type type)
{
	const struct hv_print_node node = {
		.op = HV_OP_DYNAMIC, .type = type, .a = field->offset_bytes, .b = base};

	return hv_print_build_node(&p->builder, node, NULL, 0);
}

static uint32_t dynamic_len(struct hv_print_parser *p, const struct hv_print_field *field)
{
	const struct hv_print_node node = {
		.op = HV_OP_DYNAMIC_LEN, .type = hv_print_signed(4), .a = field->offset_bytes};

	return hv_print_build_node(&p->builder, node, NULL, 0);
}

enum dynamic { STRING, ARRAY, LENGTH, BITMASK };

static uint32_t read_dynamic(struct hv_print_parser *p, unsigned spec)
{
	uint32_t base, args[2];
	const struct hv_print_field *field = dynamic_field(p, &base);

	if (!field)
		return HV_PRINT_NO_NODE;
	switch ((enum dynamic)spec) {
	case STRING:
		return dynamic_address(p, field, base, text_type());
	case ARRAY:
		return dynamic_address(p, field, base, hv_print_pointer_to(1));
	case LENGTH:
		return dynamic_len(p, field);
	case BITMASK:
		break;
	}
	args[0] = dynamic_address(p, field, base, hv_print_pointer_to(1));
	args[1] = dynamic_len(p, field);
	return call_node(p, HV_FN_BITMASK, text_type(), args, 2);
}

/* __print_dynamic_array(FIELD, element size) */
static uint32_t read_dynamic_array(struct hv_print_parser *p, unsigned spec hv_unused)
{
	struct hv_print_builder *b = &p->builder;
	uint32_t base, args[3], len;
	const struct hv_print_field *field = dynamic_field(p, &base);

	if (!field)
		return HV_PRINT_NO_NODE;
	hv_print_expect_sign(p, ',');
	args[2] = hv_print_parse_expression(p);
	args[0] = dynamic_address(p, field, base, hv_print_pointer_to(1));
	len = dynamic_len(p, field);
	args[1] = hv_print_build_binary(b, '/', len, args[2]);
	return call_node(p, HV_FN_ARRAY, text_type(), args, 3);
}

/* Tables: { VALUE, "NAME" }, ... */

/* In the kernel, a pair with NULL as the name ends the table. It must be the last one. */
static void read_table_end(struct hv_print_parser *p)
{
	struct hv_print_value v;

	if (!hv_print_built_value(&p->builder, hv_print_parse_expression(p), &v) || v.bits)
		hv_print_problem(p, "the name of a value is missing here");
}

/* Parses a pair after "{". An empty pair also ends the table. */
static void read_pair(struct hv_print_parser *p)
{
	struct hv_print_pair pair = {0};
	struct hv_print_token word = p->token;
	struct hv_print_value v;
	uint32_t node;

	if (hv_print_take_sign(p, '}'))
		return;
	node = as_u64(p, hv_print_parse_expression(p));
	hv_print_expect_sign(p, ',');
	if (hv_print_built_value(&p->builder, node, &v) && v.space == HV_SPACE_GUEST)
		pair.value = v.bits;
	else
		pair.unknown = hv_print_build_string(&p->builder, word.text, word.len_bytes);
	if (hv_print_parse_string(p, &pair.name))
		hv_print_build_pair(&p->builder, pair);
	else
		read_table_end(p);
	hv_print_expect_sign(p, '}');
}

/* Parses the rest of a table. Its pairs are added consecutively, because no pair in the kernel
 * contains another table. If one does, the names of the inner table are treated as names of the
 * outer one. */
static void read_table(struct hv_print_parser *p, struct hv_print_node *node)
{
	node->b = p->builder.fmt->nr_pairs;
	while (hv_print_take_sign(p, ',')) {
		hv_print_expect_sign(p, '{');
		read_pair(p);
		if (p->problem)
			return;
	}
	node->c = p->builder.fmt->nr_pairs - node->b;
}

/* __print_flags(VALUE, "BETWEEN", { MASK, "NAME" }, ...) */
static uint32_t read_flags(struct hv_print_parser *p, unsigned spec hv_unused)
{
	struct hv_print_node node = {.op = HV_OP_FLAGS, .type = text_type()};

	node.a = as_u64(p, hv_print_parse_expression(p));
	hv_print_expect_sign(p, ',');
	if (!hv_print_parse_string(p, &node.d))
		hv_print_problem(p, "the separator of the flags is missing here");
	read_table(p, &node);
	return hv_print_build_node(&p->builder, node, &node.a, 1);
}

static uint32_t read_symbol(struct hv_print_parser *p, unsigned spec hv_unused)
{
	struct hv_print_node node = {.op = HV_OP_SYMBOL, .type = text_type()};

	node.a = as_u64(p, hv_print_parse_expression(p));
	read_table(p, &node);
	return hv_print_build_node(&p->builder, node, &node.a, 1);
}

/* Functions of one to three values. */

static void read_args(struct hv_print_parser *p, uint32_t *ret, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		if (i)
			hv_print_expect_sign(p, ',');
		ret[i] = hv_print_parse_expression(p);
	}
}

static uint32_t read_hex(struct hv_print_parser *p, unsigned function)
{
	uint32_t args[2];

	read_args(p, args, 2);
	return call_node(p, (enum hv_print_function)function, text_type(), args, 2);
}

static uint32_t read_array(struct hv_print_parser *p, unsigned spec hv_unused)
{
	uint32_t args[3];

	read_args(p, args, 3);
	return call_node(p, HV_FN_ARRAY, text_type(), args, 3);
}

/* Calls that return their first argument: pte_val(), __builtin_expect(). */
static uint32_t read_itself(struct hv_print_parser *p, unsigned nr_args)
{
	uint32_t args[2];

	read_args(p, args, nr_args);
	return args[0];
}

static uint32_t read_bswap(struct hv_print_parser *p, unsigned size_bytes)
{
	struct hv_print_type type = hv_print_unsigned(size_bytes);
	uint32_t node = hv_print_build_cast(&p->builder, type, hv_print_parse_expression(p));

	return call_node(p, HV_FN_BSWAP, type, &node, 1);
}

/* __print_ns_to_secs() and __print_ns_without_secs() */
static uint32_t read_ns(struct hv_print_parser *p, unsigned sign)
{
	struct hv_print_builder *b = &p->builder;
	uint32_t node = as_u64(p, hv_print_parse_expression(p));

	node = hv_print_build_binary(b, (uint16_t)sign, node, hv_print_build_number(b, NS_PER_SEC));
	return sign == '%' ? hv_print_build_cast(b, hv_print_unsigned(4), node) : node;
}

/* jiffies_to_msecs(), for values of HZ that divide 1000, as common values do. */
static uint32_t read_jiffies(struct hv_print_parser *p, unsigned spec hv_unused)
{
	struct hv_print_builder *b = &p->builder;
	uint32_t node = as_u64(p, hv_print_parse_expression(p));
	unsigned hz = p->resolver->hz;

	if (!hz || MSEC_PER_SEC % hz)
		return hv_print_build_unknown(b, "HZ", 2);
	node = hv_print_build_binary(b, '*', node, hv_print_build_number(b, MSEC_PER_SEC / hz));
	return hv_print_build_cast(b, hv_print_unsigned(4), node);
}

static uint32_t read_sizeof(struct hv_print_parser *p, unsigned spec hv_unused)
{
	struct hv_print_type type;

	if (!hv_print_parse_type(p, &type)) {
		hv_print_parse_expression(p);
		return hv_print_build_unknown(&p->builder, "sizeof", strlen("sizeof"));
	}
	if (!type.size_bytes && !type.el_is_known)
		return hv_print_build_unknown(&p->builder, "sizeof", strlen("sizeof"));
	return as_u64(p, hv_print_build_number(&p->builder,
					       type.size_bytes ? type.size_bytes : type.el_bytes));
}

/* Functions that write into the kernel's scratch text. Their first argument is p, a local variable
 * of the function that contains TP_printk. */

static void read_seq(struct hv_print_parser *p)
{
	if (!hv_print_is_word(p, "p"))
		hv_print_problem(p, "p is missing here");
	hv_print_next_token(p);
}

static uint32_t read_scratch(struct hv_print_parser *p, unsigned spec hv_unused)
{
	const struct hv_print_node node = {
		.op = HV_OP_CALL, .function = HV_FN_SCRATCH, .type = text_type()};

	read_seq(p);
	return hv_print_build_node(&p->builder, node, NULL, 0);
}

/* The nodes of the arguments are operands of the pieces, not of this node. */
static uint32_t read_printf(struct hv_print_parser *p, unsigned spec hv_unused)
{
	struct hv_print_node node = {.op = HV_OP_PRINTF, .type = hv_print_signed(4)};
	uint32_t deepest;

	if (p->in_printf)
		hv_print_problem(p, "trace_seq_printf within trace_seq_printf");
	p->in_printf = true;
	read_seq(p);
	hv_print_expect_sign(p, ',');
	node.a = hv_print_parse_format(p, &node.b, &deepest);
	p->in_printf = false;
	return hv_print_build_node(&p->builder, node, &deepest, 1);
}

/* nvme_trace_disk_name() and similar functions: "disk=NAME, ", or nothing. */
static uint32_t read_disk(struct hv_print_parser *p, unsigned spec hv_unused)
{
	uint32_t node;

	read_seq(p);
	hv_print_expect_sign(p, ',');
	node = hv_print_parse_expression(p);
	return call_node(p, HV_FN_DISK, text_type(), &node, 1);
}

static const struct helper helpers[] = {
	{"__get_str", read_dynamic, STRING},
	{"__get_rel_str", read_dynamic, STRING},
	{"__get_dynamic_array", read_dynamic, ARRAY},
	{"__get_rel_dynamic_array", read_dynamic, ARRAY},
	{"__get_sockaddr", read_dynamic, ARRAY},
	{"__get_rel_sockaddr", read_dynamic, ARRAY},
	{"__get_dynamic_array_len", read_dynamic, LENGTH},
	{"__get_rel_dynamic_array_len", read_dynamic, LENGTH},
	{"__get_bitmask", read_dynamic, BITMASK},
	{"__get_rel_bitmask", read_dynamic, BITMASK},
	{"__get_cpumask", read_dynamic, BITMASK},
	{"__get_rel_cpumask", read_dynamic, BITMASK},
	{"__print_flags", read_flags, 0},
	{"__print_flags_u64", read_flags, 0},
	{"__print_symbolic", read_symbol, 0},
	{"__print_symbolic_u64", read_symbol, 0},
	{"__print_hex", read_hex, HV_FN_HEX},
	{"__print_hex_str", read_hex, HV_FN_HEX_STR},
	{"__print_array", read_array, 0},
	{"__print_dynamic_array", read_dynamic_array, 0},
	{"__print_ns_to_secs", read_ns, '/'},
	{"__print_ns_without_secs", read_ns, '%'},
	{"__builtin_expect", read_itself, 2},
	{"__builtin_bswap16", read_bswap, 2},
	{"__builtin_bswap32", read_bswap, 4},
	{"__builtin_bswap64", read_bswap, 8},
	{"sizeof", read_sizeof, 0},
	{"jiffies_to_msecs", read_jiffies, 0},
	{"trace_seq_buffer_ptr", read_scratch, 0},
	{"trace_seq_printf", read_printf, 0},
	{"nvme_trace_disk_name", read_disk, 0},
	{"nvmet_trace_disk_name", read_disk, 0},
	{"nullb_trace_disk_name", read_disk, 0},
	{"native_make_pte", read_itself, 1},
	{"native_make_pmd", read_itself, 1},
	{"native_make_pud", read_itself, 1},
	{"native_make_pgd", read_itself, 1},
	{"pte_val", read_itself, 1},
	{"pmd_val", read_itself, 1},
	{"pud_val", read_itself, 1},
	{"pgd_val", read_itself, 1},
};

/* Skips an unknown call up to its closing bracket. */
static void skip_args(struct hv_print_parser *p)
{
	unsigned nr_open = 0;

	while (p->token.kind != HV_TOKEN_END) {
		if (hv_print_is_sign(p, ')') && !nr_open)
			return;
		if (hv_print_is_sign(p, '('))
			nr_open++;
		if (hv_print_is_sign(p, ')'))
			nr_open--;
		hv_print_next_token(p);
	}
}

uint32_t hv_print_parse_call(struct hv_print_parser *p, struct hv_print_token name)
{
	uint32_t node = HV_PRINT_NO_NODE;
	unsigned i = 0;

	hv_print_expect_sign(p, '(');
	while (i < HV_ARRAY_LEN(helpers) && !hv_print_token_is(&name, helpers[i].name))
		i++;
	if (i < HV_ARRAY_LEN(helpers)) {
		node = helpers[i].read(p, helpers[i].spec);
	} else {
		skip_args(p);
		node = hv_print_build_unknown(&p->builder, name.text, name.len_bytes);
	}
	hv_print_expect_sign(p, ')');
	return node;
}

/* -- formats ----------------------------------------------------------------------------------- */

/* Parses a format and its arguments: "comm=%s pid=%d", REC->comm, REC->pid. The format is split
 * into pieces, each with text and at most one conversion. */

/* Parses the next piece of the format at *AT. */
static bool next_piece(struct hv_print_parser *p, uint32_t *at, struct hv_print_piece *ret)
{
	const char *text = p->builder.fmt->strings + *at;
	size_t len = strcspn(text, "%");
	size_t spec_len;

	*ret = (struct hv_print_piece){.text = *at, .text_len_bytes = (uint32_t)len};
	*at += (uint32_t)len;
	if (!text[len])
		return true;
	spec_len = hv_print_spec_parse(text + len, strlen(text + len), &ret->spec);
	*at += (uint32_t)spec_len;
	return spec_len != 0;
}

/* Splits the string at AT into consecutive pieces. Returns the index of the first. */
static uint32_t cut(struct hv_print_parser *p, uint32_t at, uint32_t *ret_nr)
{
	uint32_t first = p->builder.fmt->nr_pieces;
	struct hv_print_piece piece;

	*ret_nr = 0;
	do {
		if (!next_piece(p, &at, &piece)) {
			hv_print_problem(p, "a conversion that printk does not have");
			break;
		}
		hv_print_build_pieces(&p->builder, &piece, 1);
		if (p->builder.limit)
			break;
		++*ret_nr;
	} while (p->builder.fmt->strings[at]);
	return first;
}

static uint32_t deeper(const struct hv_print_parser *p, uint32_t a, uint32_t b)
{
	const struct hv_print_builder *builder = &p->builder;

	return hv_print_built(builder, a)->depth > hv_print_built(builder, b)->depth ? a : b;
}

static uint32_t argument(struct hv_print_parser *p, uint32_t *deepest)
{
	uint32_t node;

	hv_print_expect_sign(p, ',');
	node = hv_print_parse_expression(p);
	*deepest = deeper(p, *deepest, node);
	return node;
}

/* A piece may move while its arguments are parsed, because they may contain formats and so add
 * pieces. */
static void read_arguments(struct hv_print_parser *p, uint32_t at, uint32_t *deepest)
{
	struct hv_print_piece piece = p->builder.fmt->pieces[at];

	if (!piece.spec.conv)
		return;
	if (piece.spec.width_is_arg)
		piece.width = argument(p, deepest);
	if (piece.spec.precision_is_arg)
		piece.precision = argument(p, deepest);
	if (piece.spec.conv != '%')
		piece.arg = argument(p, deepest);
	p->builder.fmt->pieces[at] = piece;
}

uint32_t hv_print_parse_format(struct hv_print_parser *p, uint32_t *ret_nr, uint32_t *ret_deepest)
{
	uint32_t string = 0, first, nr;

	*ret_nr = 0;
	*ret_deepest = HV_PRINT_NO_NODE;
	if (!hv_print_parse_string(p, &string)) {
		hv_print_problem(p, "a format is missing here");
		return 0;
	}
	first = cut(p, string, &nr);
	for (uint32_t i = 0; i < nr && !p->problem; i++)
		read_arguments(p, first + i, ret_deepest);
	while (hv_print_take_sign(p, ',')) /* printk ignores excess arguments */
		hv_print_parse_expression(p);
	*ret_nr = nr;
	return first;
}
