/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a print_fmt: a format, and arguments, which are C expressions with calls of the macros that
 * TP_printk may use. HV_PRINT_DEPTH_MAX bounds the recursion. Reading ends at the first thing that
 * cannot be read.
 * Private to tree/format/print_fmt/.
 * Leaves to others: tokens (lexer.h), the tree (builder.h). */
#pragma once

#include "tree/format/print_fmt/builder.h"
#include "tree/format/print_fmt/lexer.h"

/* A variable of a statement expression. */
struct hv_print_local {
	const char *name;
	size_t name_len_bytes;
	const char *type_name; /* of a struct or union; NULL: it is another type */
	size_t type_name_len_bytes;
	struct hv_print_type type;
	uint32_t first_string; /* the first of a table of strings */
	uint32_t nr_strings;   /* 0: it is not a table */
};

struct hv_print_parser {
	struct hv_print_builder builder;
	const char *text;
	size_t at;		     /* behind TOKEN */
	struct hv_print_token token; /* the next one */
	const struct hv_print_field *fields;
	size_t nr_fields;
	const struct hv_print_resolver *resolver;
	struct hv_print_local locals[HV_PRINT_LOCALS_MAX];
	unsigned nr_locals;
	unsigned depth;
	bool in_printf;	     /* reading the arguments of trace_seq_printf() */
	const char *problem; /* what is wrong at PROBLEM_AT; NULL: nothing */
	size_t problem_at;
};

/* Ends reading: from now on all tokens are HV_TOKEN_END. Only the first problem is kept. */
void hv_print_problem(struct hv_print_parser *p, const char *what);
void hv_print_next_token(struct hv_print_parser *p);
bool hv_print_is_sign(const struct hv_print_parser *p, uint16_t sign);
bool hv_print_is_word(const struct hv_print_parser *p, const char *word);
/* Returns whether the sign is the next token, and then takes it. */
bool hv_print_take_sign(struct hv_print_parser *p, uint16_t sign);
/* Takes the sign. It is a problem if it is not the next token. */
void hv_print_expect_sign(struct hv_print_parser *p, uint16_t sign);
/* Whether the token has the text NAME. */
bool hv_print_token_is(const struct hv_print_token *token, const char *name);
/* Copies a name for the resolver, NUL-terminated; false: it is too long. */
bool hv_print_copy_name(const char *name, size_t len_bytes, char ret[128]);

/* Reads one expression without commas outside brackets. Returns its node. */
uint32_t hv_print_parse_expression(struct hv_print_parser *p);
/* Reads a string, or several that C joins. False: the next token is not a string. */
bool hv_print_parse_string(struct hv_print_parser *p, uint32_t *ret);

/* type.c */

/* Reads the name of a type and the stars that follow it. False: no type begins with the next token.
 * A struct and void have SIZE_BYTES 0; EL_BYTES is their size. */
bool hv_print_parse_type(struct hv_print_parser *p, struct hv_print_type *ret);
/* Reads "(", a type and ")". False: something else follows, or there is a problem. */
bool hv_print_parse_cast(struct hv_print_parser *p, struct hv_print_type *ret);
/* Builds the value of FIELD: a number, or a pointer into the entry for an array or a struct. */
uint32_t hv_print_parse_field(struct hv_print_parser *p, const struct hv_print_field *field);
const struct hv_print_field *hv_print_find_field(const struct hv_print_parser *p, const char *name,
						 size_t len_bytes);

/* call.c: NAME was read, and "(" is next. Returns the node of the call. */
uint32_t hv_print_parse_call(struct hv_print_parser *p, struct hv_print_token name);
/* Reads a format and its arguments. Returns the index of the first piece.
 * *RET_DEEPEST: the argument with the greatest depth. */
uint32_t hv_print_parse_format(struct hv_print_parser *p, uint32_t *ret_nr, uint32_t *ret_deepest);
