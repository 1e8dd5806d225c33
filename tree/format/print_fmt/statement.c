/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads statement expressions: ({ int a = REC->x; ...; a; }). The preprocessor leaves them in a
 * print_fmt where an argument uses min(), or a macro that writes with trace_seq_printf(). */
#include "tree/format/print_fmt/parser.h"

#include <string.h>

const struct hv_print_local *hv_print_find_local(const struct hv_print_parser *p,
						 const struct hv_print_token *name)
{
	for (unsigned i = p->nr_locals; i--;)
		if (p->locals[i].name_len_bytes == name->len_bytes &&
		    memcmp(p->locals[i].name, name->text, name->len_bytes) == 0)
			return &p->locals[i];
	return NULL;
}

static bool find_member(const struct hv_print_parser *p, const struct hv_print_local *local,
			struct hv_print_member *ret)
{
	const struct hv_print_resolver *r = p->resolver;
	char type[128], member[128];

	return r->member && local->type_name &&
	       hv_print_copy_name(local->type_name, local->type_name_len_bytes, type) &&
	       hv_print_copy_name(p->token.text, p->token.len_bytes, member) &&
	       r->member(r->of, type, member, ret);
}

/* Returns whether the member begins at the variable's first bit and has at most 64 bits. */
static bool is_whole(const struct hv_print_member *member)
{
	return !member->offset_bits && member->nr_bits <= 64;
}

uint32_t hv_print_parse_local_member(struct hv_print_parser *p, const struct hv_print_local *local)
{
	struct hv_print_member member = {0};
	struct hv_print_token name = p->token;
	struct hv_print_node node = {
		.op = HV_OP_LOCAL_BITS,
		.type = hv_print_unsigned(4),
		.a = (uint32_t)(local - p->locals),
	};
	bool found = find_member(p, local, &member);

	hv_print_next_token(p);
	if (hv_print_take_sign(p, '=')) {
		node.op = HV_OP_SET_LOCAL;
		node.type = hv_print_unsigned(8);
		node.b = hv_print_parse_expression(p);
		if (found && is_whole(&member))
			return hv_print_build_node(&p->builder, node, &node.b, 1);
		return hv_print_build_unknown(&p->builder, name.text, name.len_bytes);
	}
	if (!found || !member.nr_bits || member.nr_bits > 32 || member.offset_bits > 63 ||
	    member.offset_bits + member.nr_bits > 64)
		return hv_print_build_unknown(&p->builder, name.text, name.len_bytes);
	node.b = member.offset_bits;
	node.c = member.nr_bits;
	return hv_print_build_node(&p->builder, node, NULL, 0);
}

/* Reads what follows "{": the strings of a table. */
static void strings(struct hv_print_parser *p, struct hv_print_local *local)
{
	struct hv_print_pair pair = {0};

	local->first_string = p->builder.fmt->nr_pairs;
	while (hv_print_parse_string(p, &pair.name)) {
		hv_print_build_pair(&p->builder, pair);
		local->nr_strings++;
		if (!hv_print_take_sign(p, ','))
			break;
	}
	hv_print_expect_sign(p, '}');
}

/* Adds a variable. This must follow the reading of its value, which may itself declare variables.
 */
static bool add_local(struct hv_print_parser *p, const struct hv_print_local *local, uint32_t *ret)
{
	if (p->nr_locals == HV_PRINT_LOCALS_MAX) {
		hv_print_problem(p, "variables");
		return false;
	}
	*ret = p->nr_locals;
	p->locals[p->nr_locals++] = *local;
	return true;
}

/* Reads what follows the type: NAME, perhaps with its first value. */
static uint32_t declared(struct hv_print_parser *p, struct hv_print_local *local)
{
	struct hv_print_node node = {.op = HV_OP_SET_LOCAL, .type = local->type};
	bool is_set = false;

	local->name = p->token.text;
	local->name_len_bytes = p->token.len_bytes;
	if (p->token.kind != HV_TOKEN_NAME) {
		hv_print_problem(p, "the name of a variable is missing here");
		return HV_PRINT_NO_NODE;
	}
	hv_print_next_token(p);
	if (hv_print_take_sign(p, '[')) {
		hv_print_expect_sign(p, ']');
		hv_print_expect_sign(p, '=');
		hv_print_expect_sign(p, '{');
		strings(p, local);
	} else if (hv_print_take_sign(p, '=')) {
		node.b =
			hv_print_build_cast(&p->builder, local->type, hv_print_parse_expression(p));
		is_set = true;
	}
	if (!add_local(p, local, &node.a) || !is_set)
		return hv_print_build_number(&p->builder, 0);
	return hv_print_build_node(&p->builder, node, &node.b, 1);
}

/* Reads the type of a declaration. The value of a struct or union of more than 8 bytes is not
 * known. */
static bool declaration_type(struct hv_print_parser *p, struct hv_print_local *local)
{
	size_t at = p->at;
	struct hv_print_token word = p->token;

	if (hv_print_is_word(p, "union") || hv_print_is_word(p, "struct")) {
		word = hv_print_token(p->text, &at);
		local->type_name = word.text;
		local->type_name_len_bytes = word.len_bytes;
	}
	if (!hv_print_parse_type(p, &local->type))
		return false;
	if (!local->type.size_bytes)
		local->type = hv_print_unsigned(8);
	return true;
}

static uint32_t statement(struct hv_print_parser *p)
{
	struct hv_print_local local = {0};

	if (p->token.kind == HV_TOKEN_NAME && !hv_print_find_local(p, &p->token) &&
	    declaration_type(p, &local))
		return declared(p, &local);
	return hv_print_parse_expression(p);
}

uint32_t hv_print_parse_statements(struct hv_print_parser *p)
{
	struct hv_print_node both = {.op = HV_OP_SEQUENCE};

	hv_print_expect_sign(p, '{');
	both.b = statement(p);
	hv_print_expect_sign(p, ';');
	while (!p->problem && !hv_print_is_sign(p, '}')) {
		both.a = both.b;
		both.b = statement(p);
		hv_print_expect_sign(p, ';');
		both.type = hv_print_built(&p->builder, both.b)->type;
		both.b = hv_print_build_node(&p->builder, both, (const uint32_t[]){both.a, both.b},
					     2);
	}
	hv_print_expect_sign(p, '}');
	hv_print_expect_sign(p, ')');
	return both.b;
}
