/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/parser.h"

#include <errno.h>
#include <string.h>

/* Parses statements after "(", at "{", up to the ")" that ends them. */
static uint32_t parse_statements(struct hv_print_parser *p);
static const struct hv_print_local *find_local(const struct hv_print_parser *p,
					       const struct hv_print_token *name);
/* Builds LOCAL.MEMBER. The member is the next token. */
static uint32_t parse_local_member(struct hv_print_parser *p, const struct hv_print_local *local);

void hv_print_problem(struct hv_print_parser *p, const char *what)
{
	if (!p->problem) {
		p->problem = what;
		p->problem_at = (size_t)(p->token.text - p->text);
	}
	p->token.kind = HV_TOKEN_END;
}

void hv_print_next_token(struct hv_print_parser *p)
{
	if (p->problem)
		return;
	p->token = hv_print_token(p->text, &p->at);
	if (p->token.kind == HV_TOKEN_BAD)
		hv_print_problem(p, "not a word of C");
	else if (p->builder.limit)
		hv_print_problem(p, p->builder.limit);
}

bool hv_print_is_sign(const struct hv_print_parser *p, uint16_t sign)
{
	return p->token.kind == HV_TOKEN_SIGN && p->token.sign == sign;
}

bool hv_print_token_is(const struct hv_print_token *token, const char *name)
{
	return token->kind == HV_TOKEN_NAME && token->len_bytes == strlen(name) &&
	       memcmp(token->text, name, token->len_bytes) == 0;
}

bool hv_print_is_word(const struct hv_print_parser *p, const char *word)
{
	return hv_print_token_is(&p->token, word);
}

bool hv_print_take_sign(struct hv_print_parser *p, uint16_t sign)
{
	if (!hv_print_is_sign(p, sign))
		return false;
	hv_print_next_token(p);
	return true;
}

void hv_print_expect_sign(struct hv_print_parser *p, uint16_t sign)
{
	if (!hv_print_take_sign(p, sign))
		hv_print_problem(p, "another sign is missing here");
}

bool hv_print_copy_name(const char *name, size_t len_bytes, char ret[128])
{
	if (len_bytes >= 128)
		return false;
	memcpy(ret, name, len_bytes);
	ret[len_bytes] = '\0';
	return true;
}

/* Strings. */

bool hv_print_parse_string(struct hv_print_parser *p, uint32_t *ret)
{
	struct hv_print_builder *b = &p->builder;
	uint32_t start;
	size_t len;

	if (p->token.kind != HV_TOKEN_STRING)
		return false;
	start = hv_print_build_string(b, p->token.text, p->token.len_bytes);
	while (!b->limit) {
		len = hv_print_unescape(p->token.text, p->token.len_bytes,
					b->fmt->strings + b->fmt->strings_len_bytes -
						p->token.len_bytes - 1);
		b->fmt->strings_len_bytes -= (uint32_t)(p->token.len_bytes - len);
		b->fmt->strings[b->fmt->strings_len_bytes - 1] = '\0';
		hv_print_next_token(p);
		if (p->token.kind != HV_TOKEN_STRING)
			break;
		b->fmt->strings_len_bytes--; /* the previous NUL */
		hv_print_build_string(b, p->token.text, p->token.len_bytes);
	}
	*ret = start;
	return true;
}

static uint32_t string(struct hv_print_parser *p)
{
	struct hv_print_value v = {.type = hv_print_pointer_to_numbers(hv_print_signed(1)),
				   .space = HV_SPACE_STRINGS};
	uint32_t at = 0;

	hv_print_parse_string(p, &at);
	v.bits = at;
	return hv_print_build_value(&p->builder, v);
}

/* Names. */

/* Parses a member of struct trace_entry (7.2: REC->ent.pid), the common field of that name. */
static const struct hv_print_field *common_field(struct hv_print_parser *p)
{
	char name[64] = "common_";

	hv_print_next_token(p);
	hv_print_expect_sign(p, '.');
	if (p->token.kind != HV_TOKEN_NAME || p->token.len_bytes > 32)
		return NULL;
	memcpy(name + 7, p->token.text, p->token.len_bytes);
	return hv_print_find_field(p, name, 7 + p->token.len_bytes);
}

/* Parses REC->__data_loc_NAME, the word of a dynamic field. */
static uint32_t location_word(struct hv_print_parser *p, const char *prefix)
{
	size_t len = strlen(prefix);
	const struct hv_print_field *field;
	struct hv_print_node node = {.op = HV_OP_FIELD, .type = hv_print_unsigned(4)};

	if (p->token.len_bytes <= len || memcmp(p->token.text, prefix, len) != 0)
		return HV_PRINT_NO_NODE;
	field = hv_print_find_field(p, p->token.text + len, p->token.len_bytes - len);
	if (!field)
		return HV_PRINT_NO_NODE;
	hv_print_next_token(p);
	node.a = field->offset_bytes;
	return hv_print_build_node(&p->builder, node, NULL, 0);
}

/* Parses the text after REC. */
static uint32_t record_field(struct hv_print_parser *p)
{
	const struct hv_print_field *field;
	uint32_t node;

	hv_print_expect_sign(p, HV_SIGN2('-', '>'));
	if (p->token.kind != HV_TOKEN_NAME) {
		hv_print_problem(p, "no name of a field");
		return HV_PRINT_NO_NODE;
	}
	field = hv_print_find_field(p, p->token.text, p->token.len_bytes);
	if (!field && hv_print_is_word(p, "ent"))
		field = common_field(p);
	if (field) {
		node = hv_print_parse_field(p, field);
		hv_print_next_token(p);
		return node;
	}
	node = location_word(p, "__data_loc_");
	if (!node)
		node = location_word(p, "__rel_loc_");
	if (!node)
		hv_print_problem(p, "no such field");
	return node;
}

static uint32_t variable(struct hv_print_parser *p, const struct hv_print_token *name)
{
	const struct hv_print_node node = {
		.op = HV_OP_VARIABLE,
		.type = hv_print_unsigned(8),
		.a = hv_print_build_string(&p->builder, name->text, name->len_bytes),
	};

	return hv_print_build_node(&p->builder, node, NULL, 0);
}

/* Parses a name that is neither a field nor a function: an enumerator or a kernel variable. */
static uint32_t outside(struct hv_print_parser *p, const struct hv_print_token *name)
{
	const struct hv_print_resolver *r = p->resolver;
	char copy[128];
	uint64_t bits;
	int64_t number;

	if (hv_print_token_is(name, "true") || hv_print_token_is(name, "false"))
		return hv_print_build_number(&p->builder, name->text[0] == 't');
	if (hv_print_token_is(name, "NULL"))
		return hv_print_build_value(&p->builder,
					    hv_print_number_value(0, hv_print_pointer_to(1)));
	if (hv_print_copy_name(name->text, name->len_bytes, copy)) {
		if (r->constant && r->constant(r->of, copy, &number))
			return hv_print_build_number(&p->builder, number);
		if (r->variable && r->variable(r->of, copy, &bits))
			return variable(p, name);
	}
	return hv_print_build_unknown(&p->builder, name->text, name->len_bytes);
}

static uint32_t string_of_table(struct hv_print_parser *p, const struct hv_print_local *local)
{
	struct hv_print_node node = {
		.op = HV_OP_STRING_AT,
		.type = hv_print_pointer_to_numbers(hv_print_signed(1)),
		.b = local->first_string,
		.c = local->nr_strings,
	};

	hv_print_expect_sign(p, '[');
	node.a = hv_print_parse_expression(p);
	hv_print_expect_sign(p, ']');
	return hv_print_build_node(&p->builder, node, &node.a, 1);
}

static uint32_t local_name(struct hv_print_parser *p, const struct hv_print_local *local)
{
	const struct hv_print_node node = {
		.op = HV_OP_LOCAL, .type = local->type, .a = (uint32_t)(local - p->locals)};

	if (local->nr_strings)
		return string_of_table(p, local);
	if (hv_print_take_sign(p, '.'))
		return parse_local_member(p, local);
	return hv_print_build_node(&p->builder, node, NULL, 0);
}

static uint32_t name(struct hv_print_parser *p)
{
	struct hv_print_token word = p->token;
	const struct hv_print_local *local = find_local(p, &word);

	hv_print_next_token(p);
	if (local)
		return local_name(p, local);
	if (hv_print_token_is(&word, "REC"))
		return record_field(p);
	if (hv_print_is_sign(p, '('))
		return hv_print_parse_call(p, word);
	return outside(p, &word);
}

static uint32_t number(struct hv_print_parser *p)
{
	struct hv_print_value v = hv_print_number_value(
		p->token.number, p->token.is_unsigned ? hv_print_unsigned(p->token.number_bytes)
						      : hv_print_signed(p->token.number_bytes));

	hv_print_next_token(p);
	return hv_print_build_value(&p->builder, v);
}

/* Parses the text after "(". */
static uint32_t bracket(struct hv_print_parser *p)
{
	uint32_t node;

	if (hv_print_is_sign(p, '{'))
		return parse_statements(p);
	node = hv_print_parse_expression(p);
	hv_print_expect_sign(p, ')');
	return node;
}

static uint32_t primary(struct hv_print_parser *p)
{
	switch (p->token.kind) {
	case HV_TOKEN_NAME:
		return name(p);
	case HV_TOKEN_NUMBER:
		return number(p);
	case HV_TOKEN_STRING:
		return string(p);
	default:
		if (hv_print_take_sign(p, '('))
			return bracket(p);
		hv_print_problem(p, "an expression is missing here");
		return HV_PRINT_NO_NODE;
	}
}

static uint32_t postfix(struct hv_print_parser *p)
{
	uint32_t node = primary(p);

	for (;;) {
		if (hv_print_take_sign(p, '[')) {
			uint32_t index = hv_print_parse_expression(p);

			hv_print_expect_sign(p, ']');
			node = hv_print_build_read(&p->builder, node, index);
		} else if (hv_print_take_sign(p, '.') ||
			   hv_print_take_sign(p, HV_SIGN2('-', '>'))) {
			/* member of a struct in the entry, at an unknown offset */
			node = hv_print_build_unknown(&p->builder, p->token.text,
						      p->token.len_bytes);
			hv_print_next_token(p);
		} else {
			return node;
		}
	}
}

/* &NODE. The value of an array or a struct in the entry is already a pointer. */
static uint32_t address_of(struct hv_print_parser *p, uint32_t node)
{
	const struct hv_print_node *n = hv_print_built(&p->builder, node);
	struct hv_print_value v = {.space = HV_SPACE_ENTRY};

	if (hv_print_built_value(&p->builder, node, &v) && v.space == HV_SPACE_ENTRY)
		return node;
	if (n->op == HV_OP_READ)
		return n->a;
	if (n->op != HV_OP_FIELD)
		return hv_print_build_unknown(&p->builder, "&", 1);
	v.type = hv_print_pointer_to_numbers(n->type);
	v.bits = n->a;
	v.space = HV_SPACE_ENTRY;
	return hv_print_build_value(&p->builder, v);
}

static uint32_t unary(struct hv_print_parser *p);

static uint32_t prefixed(struct hv_print_parser *p, char sign)
{
	uint32_t node;

	hv_print_next_token(p);
	node = unary(p);
	if (sign == '&')
		return address_of(p, node);
	if (sign == '*')
		return hv_print_build_read(&p->builder, node,
					   hv_print_build_number(&p->builder, 0));
	return hv_print_build_unary(&p->builder, sign, node);
}

static uint32_t unary(struct hv_print_parser *p)
{
	struct hv_print_type type;
	uint32_t node;

	if (++p->depth > HV_PRINT_DEPTH_MAX)
		hv_print_problem(p, "the expressions are nested too deeply");
	if (p->token.kind == HV_TOKEN_SIGN && p->token.sign < 128 &&
	    strchr("-~!+&*", p->token.sign))
		node = prefixed(p, (char)p->token.sign);
	else if (hv_print_parse_cast(p, &type))
		node = hv_print_build_cast(&p->builder, type, unary(p));
	else
		node = postfix(p);
	p->depth--;
	return node;
}

/* Returns the precedence in C; 0: TOKEN is not a binary operator. */
static unsigned precedence(const struct hv_print_token *token)
{
	if (token->kind != HV_TOKEN_SIGN)
		return 0;
	switch (token->sign) {
	case HV_SIGN2('|', '|'):
		return 1;
	case HV_SIGN2('&', '&'):
		return 2;
	case '|':
		return 3;
	case '^':
		return 4;
	case '&':
		return 5;
	case HV_SIGN2('=', '='):
	case HV_SIGN2('!', '='):
		return 6;
	case '<':
	case '>':
	case HV_SIGN2('<', '='):
	case HV_SIGN2('>', '='):
		return 7;
	case HV_SIGN2('<', '<'):
	case HV_SIGN2('>', '>'):
		return 8;
	case '+':
	case '-':
		return 9;
	case '*':
	case '/':
	case '%':
		return 10;
	}
	return 0;
}

/* Parses operands and the binary operators between them with a precedence of at least LOWEST. */
static uint32_t binary(struct hv_print_parser *p, unsigned lowest)
{
	uint32_t left = unary(p);

	for (;;) {
		unsigned strength = precedence(&p->token);
		uint16_t sign = p->token.sign;
		uint32_t right;

		if (!strength || strength < lowest)
			return left;
		hv_print_next_token(p);
		right = binary(p, strength + 1);
		left = hv_print_build_binary(&p->builder, sign, left, right);
	}
}

uint32_t hv_print_parse_expression(struct hv_print_parser *p)
{
	uint32_t condition, yes, no;

	if (++p->depth > HV_PRINT_DEPTH_MAX)
		hv_print_problem(p, "the expressions are nested too deeply");
	condition = binary(p, 1);
	if (hv_print_take_sign(p, '?')) {
		yes = hv_print_parse_expression(p);
		hv_print_expect_sign(p, ':');
		no = hv_print_parse_expression(p);
		condition = hv_print_build_choice(&p->builder, condition, yes, no);
	}
	p->depth--;
	return condition;
}

/* -- statement expressions --------------------------------------------------------------------- */

/* Statement expressions: ({ int a = REC->x; ...; a; }). The preprocessor leaves them in a print_fmt
 * if an argument uses min(), or a macro that writes with trace_seq_printf(). */

static const struct hv_print_local *find_local(const struct hv_print_parser *p,
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

static uint32_t parse_local_member(struct hv_print_parser *p, const struct hv_print_local *local)
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

/* Parses the strings of a table after "{". */
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

/* Adds a variable. Parse its value first, because that may declare variables, too. */
static bool add_local(struct hv_print_parser *p, const struct hv_print_local *local, uint32_t *ret)
{
	if (p->nr_locals == HV_PRINT_LOCALS_MAX) {
		hv_print_problem(p, "there are too many variables");
		return false;
	}
	*ret = p->nr_locals;
	p->locals[p->nr_locals++] = *local;
	return true;
}

/* Parses a declaration after the type: NAME, optionally with an initial value. */
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

/* Parses the type of a declaration. The value of a struct or union larger than 8 bytes is
 * unknown. */
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

	if (p->token.kind == HV_TOKEN_NAME && !find_local(p, &p->token) &&
	    declaration_type(p, &local))
		return declared(p, &local);
	return hv_print_parse_expression(p);
}

static uint32_t parse_statements(struct hv_print_parser *p)
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

/* -- the whole text ---------------------------------------------------------------------------- */

/* Node 0 and the string at 0 mean "none". */
static void begin(struct hv_print_parser *p)
{
	hv_print_build_string(&p->builder, "", 0);
	hv_print_build_number(&p->builder, 0);
	hv_print_next_token(p);
}

static void read_all(struct hv_print_parser *p)
{
	struct hv_print_fmt *fmt = p->builder.fmt;
	uint32_t deepest;

	begin(p);
	fmt->first_piece = hv_print_parse_format(p, &fmt->nr_text_pieces, &deepest);
	if (p->token.kind != HV_TOKEN_END)
		hv_print_problem(p, "nothing is expected here");
	if (p->builder.limit)
		hv_print_problem(p, p->builder.limit);
}

struct hv_err *hv_print_fmt_compile(const char *text, const struct hv_print_field *fields,
				    size_t nr_fields, const struct hv_print_resolver *resolver,
				    struct hv_print_fmt **ret)
{
	struct hv_print_parser p = {
		.text = text, .fields = fields, .nr_fields = nr_fields, .resolver = resolver};

	if (strnlen(text, HV_PRINT_FMT_MAX + 1) > HV_PRINT_FMT_MAX)
		return hv_err_new(EINVAL, "print_fmt: more than %d bytes", HV_PRINT_FMT_MAX);
	p.builder.fmt = hv_alloc(sizeof(*p.builder.fmt));
	read_all(&p);
	if (p.problem) {
		hv_print_fmt_free(p.builder.fmt);
		return hv_err_new(EINVAL, "print_fmt: byte %zu: %s", p.problem_at, p.problem);
	}
	*ret = p.builder.fmt;
	return NULL;
}

void hv_print_fmt_free(struct hv_print_fmt *fmt)
{
	if (!fmt)
		return;
	free(fmt->nodes);
	free(fmt->pairs);
	free(fmt->pieces);
	free(fmt->strings);
	free(fmt);
}

const char *hv_print_fmt_unknown(const struct hv_print_fmt *fmt)
{
	return fmt->unknown ? fmt->strings + fmt->unknown : NULL;
}
