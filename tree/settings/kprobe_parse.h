/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State and functions that the parsers of probe definitions share (kprobe.c, kprobe_fetch.c,
 * eprobe.c). Pure. */
#pragma once

#include "kernel/types/btf.h"
#include "tree/settings/kprobe.h"

#define HV_KPROBE_ARG_LEN_MAX 63   /* MAX_ARGSTR_LEN */
#define HV_KPROBE_STACK_MAX   2048 /* PARAM_MAX_STACK */
/* Group of the probes that hvtrace commands define. */
#define HV_KPROBE_OWN_GROUP   "hvtrace"

/* BTF type of the FETCH being parsed. */
struct hv_kprobe_named {
	bool is_known;
	struct hv_btf_value value;
	uint32_t bit_off, bit_len; /* BIT_OFF: from the first byte read; BIT_LEN 0: no bit-field */
	size_t member_off;	   /* offset of the last member in the word; 0: no member */
};

struct hv_eprobe_kernel;

struct hv_kprobe_parsing {
	const struct hv_kprobe_kernel *kernel;
	const struct hv_arch *arch;
	char *const *words; /* the words of the command */
	char **replaced;    /* WORDS, with %pd and %pD expanded; NULL: do not expand */
	size_t nr, word;    /* WORD: index of the current word */
	struct hv_kprobe *k;
	struct hv_kprobe_fault *fault;
	char **args; /* owned, including the strings: the words after the location, expanded */
	size_t nr_args;
	char **meant; /* owned by the caller: the expansions of words */
	/* The BTF with FUNC, from the kernel or a module; NULL: not found. */
	const struct hv_btf *btf;
	struct hv_btf_func func; /* the probed function, without the first HIDDEN parameters */
	uint32_t hidden;
	bool has_func;
	bool has_btf_args; /* like the kernel's, but false for MODULE:FUNCTION */
	bool has_casts;
	bool drops_args; /* ignores arguments after HV_KPROBE_ARGS_MAX instead of refusing them */
	struct hv_kprobe_named *named;
	const struct hv_eprobe_kernel *event; /* for event probes; NULL: a function is probed */
};

/* The type of an argument's value. */
struct hv_kprobe_type {
	const char *name;
	uint32_t size_bytes;
	bool is_signed;
	const char *print; /* conversion for the print_fmt */
	const char *field; /* type in the format file */
};

/* Make an error at OFF of the current word: CODE, EINVAL, or EOPNOTSUPP (supported by the kernel
 * but not by hvtrace). */
struct hv_err *hv_kprobe_refuse(const struct hv_kprobe_parsing *p, size_t off, int code,
				const char *why) hv_must_use;
struct hv_err *hv_kprobe_wrong(const struct hv_kprobe_parsing *p, size_t off,
			       const char *why) hv_must_use;
struct hv_err *hv_kprobe_not_there(const struct hv_kprobe_parsing *p, size_t off,
				   const char *what) hv_must_use;

/* Parses TEXT, [GROUP/]NAME, at OFF of the current word (traceprobe_parse_event_name()). *GROUP and
 * *NAME are owned. A missing part, or a part after an error, stays unchanged. */
struct hv_err *hv_kprobe_parse_name(const struct hv_kprobe_parsing *p, const char *text, size_t off,
				    char **group, char **name) hv_must_use;
/* Parses p->args. */
struct hv_err *hv_kprobe_parse_args(struct hv_kprobe_parsing *p) hv_must_use;

/* is_good_name() */
bool hv_kprobe_is_good(const char *name, size_t len);
/* Like kstrtoul(), without a sign. Returns false if TEXT, LEN bytes long, is not a number. */
bool hv_kprobe_number(const char *text, size_t len, uint64_t *ret);

/* Parses BODY, an argument without its name, at OFF of the current word. */
struct hv_err *hv_kprobe_parse_fetch(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const char *body, size_t off) hv_must_use;
/* Makes ARG word NR of the stack. Word 0 is recorded with the registers. */
void hv_kprobe_take_stack(struct hv_kprobe_arg *arg, uint64_t nr);
/* Makes ARG the function's argument NR, counted from 1. OFF: offset of $argN in the word, for
 * errors. */
struct hv_err *hv_kprobe_take_argument(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				       uint64_t nr, size_t off) hv_must_use;
/* Adds a memory read at ARG's current value. */
struct hv_err *hv_kprobe_add_deref(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				   struct hv_kprobe_deref deref, size_t off) hv_must_use;

/* Finds the probed function in BTF. */
void hv_kprobe_find_func(struct hv_kprobe_parsing *p);
/* Expands the words into p->args: $arg* becomes all parameters, and $argN a parameter's name where
 * the kernel does so (traceprobe_expand_meta_args()). %pd and %pD become the FETCH that reads the
 * name, also in the words, unless the kernel expanded other arguments first
 * (traceprobe_expand_dentry_args()). */
struct hv_err *hv_kprobe_expand(struct hv_kprobe_parsing *p) hv_must_use;
/* Parses TEXT, a parameter or $retval with its members, at OFF of the current word
 * (parse_btf_arg()). */
struct hv_err *hv_kprobe_parse_named(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const char *text, size_t off) hv_must_use;
/* Looks up the members NAME[.MEMBER]... of *V and sets *V to the last one. *RET_BITS: the bit
 * offset of the last member in the original *V. Moves *NAME, at *OFF of the word, to the text after
 * ->, or sets it to NULL. */
struct hv_err *hv_kprobe_follow_dots(const struct hv_kprobe_parsing *p, struct hv_btf_value *v,
				     const char **name, size_t *off,
				     uint64_t *ret_bits) hv_must_use;
/* Parses NAME, MEMBER[.MEMBER]...[->MEMBER...], starting at COMPOUND. ARG is the address
 * BEFORE_BYTES after the start of COMPOUND. */
struct hv_err *hv_kprobe_follow_cast(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const struct hv_btf_value *compound, uint64_t before_bytes,
				     const char *name, size_t off) hv_must_use;
/* Returns the type of p->named, such as "u32"; NULL: no type of this name. */
const char *hv_kprobe_named_type(const struct hv_kprobe_parsing *p);
/* If p->named is a bit-field, makes ARG one. ARG already has its type. */
struct hv_err *hv_kprobe_named_bits(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				    size_t off) hv_must_use;
enum hv_string_space { HV_KERNEL_STRING, HV_USER_STRING };
/* Prepares ARG, from p->named, as a string in SPACE: p->named must be an array of characters or a pointer to
 * characters (check_prepare_btf_string_fetch()). */
struct hv_err *hv_kprobe_named_string(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				      enum hv_string_space space, size_t off) hv_must_use;

/* Returns whether ARG is a string or an array of strings. */
bool hv_kprobe_is_string(const struct hv_kprobe_arg *arg);
/* Returns whether ARG is the stack of the task in user space, in either form. */
bool hv_kprobe_is_ustack(const struct hv_kprobe_arg *arg);
