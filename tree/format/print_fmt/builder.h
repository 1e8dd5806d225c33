/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the tree of a print_fmt. Only this module adds nodes, strings, pairs and pieces, and it
 * enforces the limits on their numbers. It computes constant expressions at once.
 * Private to tree/format/print_fmt/.
 * Leaves to others: reading the text (parser.h). */
#pragma once

#include "tree/format/print_fmt/program.h"

struct hv_print_builder {
	struct hv_print_fmt *fmt;
	uint32_t cap_nodes;
	uint32_t cap_pairs;
	uint32_t cap_pieces;
	uint32_t cap_strings;
	const char *
		limit; /* the limit that was exceeded, which makes the result useless; NULL: none */
};

/* The functions that build a node return its index. */

uint32_t hv_print_build_value(struct hv_print_builder *b, struct hv_print_value v);
uint32_t hv_print_build_number(struct hv_print_builder *b, int64_t number);
/* A value that is not known, because nothing tells what NAME is. */
uint32_t hv_print_build_unknown(struct hv_print_builder *b, const char *name, size_t len_bytes);
uint32_t hv_print_build_unary(struct hv_print_builder *b, char sign, uint32_t a);
uint32_t hv_print_build_binary(struct hv_print_builder *b, uint16_t sign, uint32_t l, uint32_t r);
uint32_t hv_print_build_choice(struct hv_print_builder *b, uint32_t condition, uint32_t yes,
			       uint32_t no);
uint32_t hv_print_build_cast(struct hv_print_builder *b, struct hv_print_type type, uint32_t a);
/* POINTER[INDEX]. */
uint32_t hv_print_build_read(struct hv_print_builder *b, uint32_t pointer, uint32_t index);
/* Any other node. CHILDREN are its operands, from which its depth is computed. */
uint32_t hv_print_build_node(struct hv_print_builder *b, struct hv_print_node node,
			     const uint32_t *children, unsigned nr_children);

const struct hv_print_node *hv_print_built(const struct hv_print_builder *b, uint32_t node);
/* Whether NODE is a constant; *RET is its value. */
bool hv_print_built_value(const struct hv_print_builder *b, uint32_t node,
			  struct hv_print_value *ret);

/* Adds a copy with a NUL behind it. Returns its place in the strings. */
uint32_t hv_print_build_string(struct hv_print_builder *b, const char *bytes, size_t len_bytes);
uint32_t hv_print_build_pair(struct hv_print_builder *b, struct hv_print_pair pair);
/* Adds copies of NR pieces, one behind the other. Returns the index of the first. */
uint32_t hv_print_build_pieces(struct hv_print_builder *b, const struct hv_print_piece *pieces,
			       uint32_t nr);
