/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A compiled print_fmt: pieces of text, and the expressions whose values are printed between
 * them. The expressions are a tree of nodes in an array; a node refers to others by their index.
 * Constant expressions were computed while the tree was built.
 * Private to tree/format/print_fmt/.
 * Leaves to others: reading the text (parser.h), evaluating (eval.c). */
#pragma once

#include "tree/format/print_fmt/print_fmt.h"
#include "tree/format/print_fmt/printk.h"
#include "tree/format/print_fmt/value.h"

#define HV_PRINT_NODES_MAX  16384
#define HV_PRINT_DEPTH_MAX  200 /* of the tree, and of brackets in the text */
#define HV_PRINT_LOCALS_MAX 16
#define HV_PRINT_NO_NODE    0 /* node 0 is the number 0; an absent operand is this node */

enum hv_print_op {
	HV_OP_VALUE,	   /* BITS, of the type, in SPACE */
	HV_OP_UNKNOWN,	   /* A: name, in the strings */
	HV_OP_VARIABLE,	   /* A: name of a variable of the kernel's, in the strings */
	HV_OP_FIELD,	   /* the number at offset A of the entry */
	HV_OP_DYNAMIC,	   /* pointer to what the word at offset A describes; B is added to it */
	HV_OP_DYNAMIC_LEN, /* its length */
	HV_OP_LOCAL,	   /* variable A of a statement expression */
	HV_OP_LOCAL_BITS,  /* bits of it, from B on, C of them */
	HV_OP_SET_LOCAL,   /* variable A becomes B */
	HV_OP_CAST,	   /* A */
	HV_OP_READ,	   /* the number that pointer A points at */
	HV_OP_UNARY,	   /* SIGN, A */
	HV_OP_BINARY,	   /* SIGN, A, B */
	HV_OP_LOGIC,	   /* SIGN is && or ||, A, B */
	HV_OP_CHOICE,	   /* A ? B : C */
	HV_OP_SEQUENCE,	   /* A, then B */
	HV_OP_STRING_AT,   /* the A-th string of the C pairs from B on */
	HV_OP_FLAGS,  /* the names of A's bits in the C pairs from B on, with string D between */
	HV_OP_SYMBOL, /* the name of A in the C pairs from B on */
	HV_OP_PRINTF, /* writes the B pieces from A on */
	HV_OP_CALL,   /* FUNCTION of A, B, C */
};

/* All but BSWAP write text, and return a pointer to it. */
enum hv_print_function {
	HV_FN_BITMASK, /* pointer, bytes */
	HV_FN_HEX,     /* pointer, bytes */
	HV_FN_HEX_STR, /* pointer, bytes */
	HV_FN_ARRAY,   /* pointer, number of elements, bytes of one */
	HV_FN_BSWAP,   /* number, as long as the type */
	HV_FN_SCRATCH, /* nothing: a pointer to what is written next */
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
	uint32_t name; /* in the strings */
	uint32_t
		unknown; /* 0: VALUE is known; else the name of the unknown value, in the strings */
};

/* Text, then at most one conversion. */
struct hv_print_piece {
	uint32_t text; /* in the strings */
	uint32_t text_len_bytes;
	struct hv_print_spec spec; /* conv 0: none */
	uint32_t width;		   /* nodes, if SPEC says that they are arguments */
	uint32_t precision;
	uint32_t arg;
};

struct hv_print_fmt {
	struct hv_print_node *nodes;
	struct hv_print_pair *pairs;
	struct hv_print_piece *pieces;
	char *strings; /* NUL-terminated, one behind the other; the first is empty */
	uint32_t nr_nodes;
	uint32_t nr_pairs;
	uint32_t nr_pieces;
	uint32_t strings_len_bytes;
	uint32_t
		first_piece; /* first of the event's text; other pieces are those of HV_OP_PRINTF */
	uint32_t nr_text_pieces;
	uint32_t unknown; /* first name that is not known, in the strings; 0: none */
};
