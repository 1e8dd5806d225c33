/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the tree of a print_fmt. Only this file adds nodes, strings, pairs and pieces, and
 * enforces their limits. Folds constant expressions. parser.h reads the text. Private to
 * tree/format/print_fmt/. */
#pragma once

#include "tree/format/print_fmt/program.h"

struct hv_print_builder {
	struct hv_print_fmt *fmt;
	uint32_t cap_nodes;
	uint32_t cap_pairs;
	uint32_t cap_pieces;
	uint32_t cap_strings;
	const char *limit; /* the exceeded limit, which makes the result unusable; NULL: none */
};

/* The functions that build a node return its index. */

uint32_t hv_print_build_value(struct hv_print_builder *b, struct hv_print_value v);
uint32_t hv_print_build_number(struct hv_print_builder *b, int64_t number);
/* An unknown value, because NAME cannot be resolved. */
uint32_t hv_print_build_unknown(struct hv_print_builder *b, const char *name, size_t len_bytes);
uint32_t hv_print_build_unary(struct hv_print_builder *b, char sign, uint32_t a);
uint32_t hv_print_build_binary(struct hv_print_builder *b, uint16_t sign, uint32_t l, uint32_t r);
uint32_t hv_print_build_choice(struct hv_print_builder *b, uint32_t condition, uint32_t yes,
			       uint32_t no);
uint32_t hv_print_build_cast(struct hv_print_builder *b, struct hv_print_type type, uint32_t a);
/* POINTER[INDEX]. */
uint32_t hv_print_build_read(struct hv_print_builder *b, uint32_t pointer, uint32_t index);
/* Adds any other node. CHILDREN are its operands; they determine its depth. */
uint32_t hv_print_build_node(struct hv_print_builder *b, struct hv_print_node node,
			     const uint32_t *children, unsigned nr_children);

const struct hv_print_node *hv_print_built(const struct hv_print_builder *b, uint32_t node);
/* Returns whether NODE is a constant, and sets *RET to its value. */
bool hv_print_built_value(const struct hv_print_builder *b, uint32_t node,
			  struct hv_print_value *ret);

/* Adds a NUL-terminated copy. Returns its offset in the strings. */
uint32_t hv_print_build_string(struct hv_print_builder *b, const char *bytes, size_t len_bytes);
uint32_t hv_print_build_pair(struct hv_print_builder *b, struct hv_print_pair pair);
/* Adds copies of NR pieces, consecutively. Returns the index of the first. */
uint32_t hv_print_build_pieces(struct hv_print_builder *b, const struct hv_print_piece *pieces,
			       uint32_t nr);
