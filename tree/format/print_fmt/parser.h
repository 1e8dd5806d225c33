/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses a print_fmt: a format and its arguments, which are C expressions with calls of the macros
 * that TP_printk may use. HV_PRINT_DEPTH_MAX bounds the recursion. Parsing stops at the first
 * error. lexer.h reads tokens, program.h builds the tree. Private to tree/format/print_fmt/. */
#pragma once

#include "tree/format/print_fmt/lexer.h"
#include "tree/format/print_fmt/program.h"

/* A variable of a statement expression. */
struct hv_print_local {
	const char *name;
	size_t name_len_bytes;
	const char *type_name; /* name of a struct or union; NULL: another type */
	size_t type_name_len_bytes;
	struct hv_print_type type;
	uint32_t first_string; /* first entry of a string table */
	uint32_t nr_strings;   /* 0: not a table */
};

struct hv_print_parser {
	struct hv_print_builder builder;
	const char *text;
	size_t at;		     /* after TOKEN */
	struct hv_print_token token; /* the next token */
	const struct hv_print_field *fields;
	size_t nr_fields;
	const struct hv_print_resolver *resolver;
	struct hv_print_local locals[HV_PRINT_LOCALS_MAX];
	unsigned nr_locals;
	unsigned depth;
	bool in_printf;	     /* parsing the arguments of trace_seq_printf() */
	const char *problem; /* the error at PROBLEM_AT; NULL: none */
	size_t problem_at;
};

/* Stops parsing: all following tokens are HV_TOKEN_END. Keeps only the first problem. */
void hv_print_problem(struct hv_print_parser *p, const char *what);
void hv_print_next_token(struct hv_print_parser *p);
bool hv_print_is_sign(const struct hv_print_parser *p, uint16_t sign);
bool hv_print_is_word(const struct hv_print_parser *p, const char *word);
/* Returns whether SIGN is the next token; if so, consumes it. */
bool hv_print_take_sign(struct hv_print_parser *p, uint16_t sign);
/* Consumes SIGN. Any other token is a problem. */
void hv_print_expect_sign(struct hv_print_parser *p, uint16_t sign);
/* Returns whether the token's text is NAME. */
bool hv_print_token_is(const struct hv_print_token *token, const char *name);
/* Copies a name for the resolver, NUL-terminated. Returns false if it is too long. */
bool hv_print_copy_name(const char *name, size_t len_bytes, char ret[128]);

/* Parses one expression without commas outside brackets. Returns its node. */
uint32_t hv_print_parse_expression(struct hv_print_parser *p);
/* Parses a string, or several adjacent ones. Returns false if the next token is not a string. */
bool hv_print_parse_string(struct hv_print_parser *p, uint32_t *ret);

/* type.c */

/* Parses a type name and the stars after it. Returns false if no type begins at the next token. A
 * struct and void have SIZE_BYTES 0; EL_BYTES is their size. */
bool hv_print_parse_type(struct hv_print_parser *p, struct hv_print_type *ret);
/* Parses "(", a type and ")". Returns false if there is something else, or on a problem. */
bool hv_print_parse_cast(struct hv_print_parser *p, struct hv_print_type *ret);
/* Builds the value of FIELD: a number, or a pointer into the entry for an array or a struct. */
uint32_t hv_print_parse_field(struct hv_print_parser *p, const struct hv_print_field *field);
const struct hv_print_field *hv_print_find_field(const struct hv_print_parser *p, const char *name,
						 size_t len_bytes);

/* call.c: parses a call after NAME was read, at "(". Returns its node. */
uint32_t hv_print_parse_call(struct hv_print_parser *p, struct hv_print_token name);
/* Parses a format and its arguments. Returns the index of the first piece. *RET_DEEPEST: the
 * deepest argument. */
uint32_t hv_print_parse_format(struct hv_print_parser *p, uint32_t *ret_nr, uint32_t *ret_deepest);
