/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A definition of a probe that is being parsed: what the parts of its parser share (kprobe.c,
 * kprobe_fetch.c, kprobe_btf.c, eprobe.c). Pure. */
#pragma once

#include "kernel/btf_func.h"
#include "tree/settings/kprobe.h"

#define HV_KPROBE_ARG_LEN_MAX 63   /* MAX_ARGSTR_LEN */
#define HV_KPROBE_STACK_MAX   2048 /* PARAM_MAX_STACK */
/* The group of the probes that hvtrace's own verbs define. */
#define HV_KPROBE_OWN_GROUP   "hvtrace"

/* What BTF says of the FETCH that is being parsed. */
struct hv_kprobe_named {
	bool is_known;
	struct hv_btf_value value;
	uint32_t bit_off,
		bit_len;   /* of a bit-field, from where it is read; BIT_LEN 0: it is none */
	size_t member_off; /* of the last member, in the word; 0: there is none */
};

struct hv_eprobe_kernel;

struct hv_kprobe_parsing {
	const struct hv_kprobe_kernel *kernel;
	const struct hv_arch *arch;
	char *const *words; /* of the command */
	char **replaced;    /* the same, in which %pd and %pD are replaced; NULL: never */
	size_t nr, word;    /* WORD: the one that is looked at */
	struct hv_kprobe *k;
	struct hv_kprobe_fault *fault;
	char **args; /* owned, as its strings: the words behind the place, as they are obeyed */
	size_t nr_args;
	char **meant; /* owned by the caller: the texts by which words were replaced */
	/* That has FUNC: the kernel's, or that of its module. NULL: there is none. */
	const struct hv_btf *btf;
	struct hv_btf_func func; /* of the place; without the first HIDDEN parameters */
	uint32_t hidden;
	bool has_func;
	bool has_btf_args; /* as the kernel, but for MODULE:FUNCTION, of which its probes know no
			    * names */
	bool has_casts;
	bool drops_args; /* more than HV_KPROBE_ARGS_MAX are ignored, not refused */
	struct hv_kprobe_named *named;
	const struct hv_eprobe_kernel *event; /* that is probed; NULL: a function is */
};

/* Values of arguments. */
struct hv_kprobe_type {
	const char *name;
	uint32_t size_bytes;
	bool is_signed;
	const char *print; /* in a print_fmt */
	const char *field; /* in a format file */
};

/* The error CODE, at OFF of the present word; EINVAL; EOPNOTSUPP, for what only the kernel can. */
struct hv_err *hv_kprobe_refuse(const struct hv_kprobe_parsing *p, size_t off, int code,
				const char *why) hv_must_use;
struct hv_err *hv_kprobe_wrong(const struct hv_kprobe_parsing *p, size_t off,
			       const char *why) hv_must_use;
struct hv_err *hv_kprobe_not_there(const struct hv_kprobe_parsing *p, size_t off,
				   const char *what) hv_must_use;

/* Parses TEXT, [GROUP/]NAME, at OFF of the present word (traceprobe_parse_event_name()). A part
 * that is missing, or that follows an error, leaves *GROUP or *NAME, which are owned, unchanged. */
struct hv_err *hv_kprobe_parse_name(const struct hv_kprobe_parsing *p, const char *text, size_t off,
				    char **group, char **name) hv_must_use;
/* Parses p->args. */
struct hv_err *hv_kprobe_parse_args(struct hv_kprobe_parsing *p) hv_must_use;

/* is_good_name() */
bool hv_kprobe_is_good(const char *name, size_t len);
/* kstrtoul(), without a sign. False: TEXT, of LEN bytes, is something else. */
bool hv_kprobe_number(const char *text, size_t len, uint64_t *ret);

/* Parses BODY, an argument without its name, at OFF of the word. */
struct hv_err *hv_kprobe_parse_fetch(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const char *body, size_t off) hv_must_use;
/* Makes ARG word NR of the stack. The first one is recorded with the registers. */
void hv_kprobe_take_stack(struct hv_kprobe_arg *arg, uint64_t nr);
/* Makes ARG the function's argument NR, from 1 on. OFF: of what asks for it, in the word. */
struct hv_err *hv_kprobe_take_argument(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				       uint64_t nr, size_t off) hv_must_use;
/* Adds a place of memory to ARG that is read at what it is so far. */
struct hv_err *hv_kprobe_add_deref(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				   struct hv_kprobe_deref deref, size_t off) hv_must_use;

/* Finds the function of the place in BTF. */
void hv_kprobe_find_func(struct hv_kprobe_parsing *p);
/* Makes p->args of the words: $arg* becomes all parameters, and $argN the name of one where the
 * kernel does so (traceprobe_expand_meta_args()). %pd and %pD become what reads the name, in the
 * words, too, unless the kernel has made others of them before (traceprobe_expand_dentry_args()).
 */
struct hv_err *hv_kprobe_expand(struct hv_kprobe_parsing *p) hv_must_use;
/* Parses TEXT, a parameter or $retval, with the members that follow, at OFF of the word
 * (parse_btf_arg()). */
struct hv_err *hv_kprobe_parse_named(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const char *text, size_t off) hv_must_use;
/* Finds the members NAME[.MEMBER]... of *V, and makes it the last of them. *RET_BITS: from the
 * start of the first one's structure. *NAME, at *OFF of the word, is moved behind them: to what
 * follows ->, or to NULL. */
struct hv_err *hv_kprobe_follow_dots(const struct hv_kprobe_parsing *p, struct hv_btf_value *v,
				     const char **name, size_t *off,
				     uint64_t *ret_bits) hv_must_use;
/* Follows NAME, MEMBER[.MEMBER]...[->MEMBER...], from COMPOUND on. ARG is the address BEFORE_BYTES
 * after the start of COMPOUND. */
struct hv_err *hv_kprobe_follow_cast(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const struct hv_btf_value *compound, uint64_t before_bytes,
				     const char *name, size_t off) hv_must_use;
/* The type, "u32", of what p->named says; NULL: none of its own. */
const char *hv_kprobe_named_type(const struct hv_kprobe_parsing *p);
/* Makes a bit-field of ARG, which has the type of p->named, if that is one. */
struct hv_err *hv_kprobe_named_bits(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				    size_t off) hv_must_use;
/* What a string needs of p->named: it is letters, or points to some
 * (check_prepare_btf_string_fetch()). IS_USER: they are in user space. */
struct hv_err *hv_kprobe_named_string(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				      bool is_user, size_t off) hv_must_use;

/* The type of an argument for which none was written. */
const struct hv_kprobe_type *hv_kprobe_plain_type(void);
/* Whether ARG is a string, or strings. */
bool hv_kprobe_is_string(const struct hv_kprobe_arg *arg);
