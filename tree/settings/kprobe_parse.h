/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A definition of a probe that is being parsed: what the parts of its parser share (kprobe.c,
 * kprobe_fetch.c). Pure. */
#pragma once

#include "tree/settings/kprobe.h"

#define HV_KPROBE_ARG_LEN_MAX 63 /* MAX_ARGSTR_LEN */

struct hv_kprobe_parsing {
	const struct hv_arch *arch;
	char *const *words;
	size_t nr, word; /* WORD: the one that is looked at */
	struct hv_kprobe *k;
	unsigned *at;
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

/* is_good_name() */
bool hv_kprobe_is_good(const char *name, size_t len);
/* kstrtoul(), without a sign. False: TEXT, of LEN bytes, is something else. */
bool hv_kprobe_number(const char *text, size_t len, uint64_t *ret);

/* Parses BODY, an argument without its name, at OFF of the word. */
struct hv_err *hv_kprobe_parse_fetch(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const char *body, size_t off) hv_must_use;
/* Whether ARG is a string, or strings. */
bool hv_kprobe_is_string(const struct hv_kprobe_arg *arg);
