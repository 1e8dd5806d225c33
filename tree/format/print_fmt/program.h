/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A compiled print_fmt: pieces of text, and the expressions printed between them. Expressions are
 * trees of nodes in one array; a node refers to others by index. Constant expressions are folded
 * while the tree is built. parser.h reads the text, eval.c evaluates. Private to
 * tree/format/print_fmt/. */
#pragma once

#include "tree/format/print_fmt/print_fmt.h"
#include "tree/format/print_fmt/printk.h"
#include "tree/format/print_fmt/value.h"

#define HV_PRINT_NODES_MAX  16384
#define HV_PRINT_DEPTH_MAX  200 /* of the tree, and of brackets in the text */
#define HV_PRINT_LOCALS_MAX 16
#define HV_PRINT_NO_NODE    0 /* node 0 is the number 0 and stands for absent operands */

enum hv_print_op {
	HV_OP_VALUE,	   /* BITS, of the type, in SPACE */
	HV_OP_UNKNOWN,	   /* A: offset of the name in the strings */
	HV_OP_VARIABLE,	   /* A: offset in the strings of a kernel variable's name */
	HV_OP_FIELD,	   /* the number at offset A of the entry */
	HV_OP_DYNAMIC,	   /* pointer to the data that the word at offset A locates, plus B */
	HV_OP_DYNAMIC_LEN, /* length of that data */
	HV_OP_LOCAL,	   /* variable A of a statement expression */
	HV_OP_LOCAL_BITS,  /* bits of variable A: C bits from bit B */
	HV_OP_SET_LOCAL,   /* variable A becomes B */
	HV_OP_CAST,	   /* A, converted to the node's type */
	HV_OP_READ,	   /* the number that pointer A points to */
	HV_OP_UNARY,	   /* SIGN, A */
	HV_OP_BINARY,	   /* SIGN, A, B */
	HV_OP_LOGIC,	   /* SIGN is && or ||, A, B */
	HV_OP_CHOICE,	   /* A ? B : C */
	HV_OP_SEQUENCE,	   /* A, then B */
	HV_OP_STRING_AT,   /* the A-th string of the C pairs from B on */
	HV_OP_FLAGS,	   /* names of A's bits in the C pairs from B, separated by string D */
	HV_OP_SYMBOL,	   /* name of A in the C pairs from B */
	HV_OP_PRINTF,	   /* writes B pieces starting at A */
	HV_OP_CALL,	   /* FUNCTION of A, B, C */
};

/* All except BSWAP write text and return a pointer to it. */
enum hv_print_function {
	HV_FN_BITMASK, /* pointer, bytes */
	HV_FN_HEX,     /* pointer, bytes */
	HV_FN_HEX_STR, /* pointer, bytes */
	HV_FN_ARRAY,   /* pointer, number of elements, bytes per element */
	HV_FN_BSWAP,   /* number of the type's size */
	HV_FN_SCRATCH, /* no operands: a pointer to the text written next */
	HV_FN_DISK,    /* pointer to a name: "disk=NAME, " */
};

struct hv_print_node {
	uint8_t op;	  /* enum hv_print_op */
	uint8_t function; /* enum hv_print_function */
	uint16_t sign;
	uint16_t depth; /* 1 for a leaf */
	uint8_t space;	/* enum hv_print_space */
	struct hv_print_type type;
	union {
		uint64_t bits;
		struct {
			uint32_t a, b, c, d;
		};
	};
};

/* { VALUE, "NAME" } */
struct hv_print_pair {
	uint64_t value;
	uint32_t name;	  /* offset in the strings */
	uint32_t unknown; /* offset in the strings of VALUE's name; 0: VALUE is known */
};

/* Text, then at most one conversion. */
struct hv_print_piece {
	uint32_t text; /* offset in the strings */
	uint32_t text_len_bytes;
	struct hv_print_spec spec; /* conv 0: none */
	uint32_t width;		   /* nodes, if SPEC takes them from arguments */
	uint32_t precision;
	uint32_t arg;
};

struct hv_print_fmt {
	struct hv_print_node *nodes;
	struct hv_print_pair *pairs;
	struct hv_print_piece *pieces;
	char *strings; /* NUL-terminated strings, concatenated; the first is empty */
	uint32_t nr_nodes;
	uint32_t nr_pairs;
	uint32_t nr_pieces;
	uint32_t strings_len_bytes;
	uint32_t first_piece; /* first piece of the event's text; others belong to HV_OP_PRINTF */
	uint32_t nr_text_pieces;
	uint32_t unknown; /* offset in the strings of the first unknown name; 0: all are known */
};

/* -- building ---------------------------------------------------------------------------------- */

/* Builds the tree of a print_fmt. Only these functions add nodes, strings, pairs and pieces; they
 * enforce the limits and fold constant expressions. */

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
