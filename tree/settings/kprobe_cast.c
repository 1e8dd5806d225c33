/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Typecasts in arguments of probes, (STRUCT[,MEMBER])FETCH->MEMBER...: FETCH is the address of a
 * STRUCT, or of MEMBER of one. Words and errors are those of kernels whose parser keeps a stack of
 * what is in what (traceprobe_parse_context.depth). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "tree/settings/kprobe_parse.h"

#define NO_BTF	     "BTF is not available or not supported"
#define NOT_CLOSED   "Dereference brace is not closed"
#define NEEDS_MEMBER "Typecast requires a field access"

/* What is behind the type: the FETCH, and the members. */
struct cast {
	const char *fetch, *fetch_end;
	const char *members;
};

/* The parenthesis that closes the one at OPEN; NULL: none does. */
static const char *closing(const char *open)
{
	unsigned depth = 0;

	for (const char *at = open; *at; at++) {
		depth += *at == '(';
		if (*at == ')' && --depth == 0)
			return at;
	}
	return NULL;
}

static bool has_offset(const char *symbol)
{
	const char *sign = strpbrk(symbol, "+-");

	return sign && isdigit((unsigned char)sign[1]);
}

/* Divides TEXT, at OFF of the word. */
static struct hv_err *divide(const struct hv_kprobe_parsing *p, const char *text, size_t off,
			     struct cast *ret)
{
	const char *open = strchr(text, '('), *arrow;
	size_t wrong_off = off + strlen(text);

	*ret = (struct cast){.fetch = text};
	if (*text == '(') {
		ret->fetch++;
		ret->fetch_end = closing(text);
		if (!ret->fetch_end)
			return hv_kprobe_wrong(p, off, NOT_CLOSED);
		arrow = ret->fetch_end + 1;
		wrong_off = off + (size_t)(arrow - text);
	} else if (*text == '+' || *text == '-') {
		if (!open)
			return hv_kprobe_wrong(p, off, "Dereference needs a brace");
		if (!closing(open))
			return hv_kprobe_wrong(p, wrong_off, NOT_CLOSED);
		arrow = ret->fetch_end = closing(open) + 1;
		wrong_off = off + (size_t)(arrow - text);
	} else {
		if (*text == '@' && has_offset(text))
			return hv_kprobe_wrong(p, off,
					       "@SYM+/-OFFSET with typecast needs parentheses");
		arrow = ret->fetch_end = text + strcspn(text, "-");
	}
	if (strncmp(arrow, "->", 2) != 0)
		return hv_kprobe_wrong(p, wrong_off, NEEDS_MEMBER);
	ret->members = arrow + 2;
	return NULL;
}

/* Finds STRUCT[,MEMBER], at OFF of the word. *RET_BEFORE: the bytes of the struct before MEMBER. */
static struct hv_err *find_struct(const struct hv_kprobe_parsing *p, const char *text, size_t off,
				  struct hv_btf_value *ret, uint64_t *ret_before)
{
	size_t len = strcspn(text, ",");
	HV_AUTO_FREE char *name = hv_format("%.*s", (int)len, text);
	const char *member = text[len] ? text + len + 1 : NULL;
	struct hv_btf_value at;
	struct hv_err *err;
	uint64_t bits = 0;

	if (!hv_btf_struct(p->btf, name, ret))
		return hv_kprobe_wrong(p, off, "This is not a pointer to union/structure.");
	*ret_before = 0;
	if (!member)
		return NULL;
	off += len + 1;
	at = *ret;
	err = hv_kprobe_follow_dots(p, &at, &member, &off, &bits);
	if (err)
		return err;
	if (bits % 8)
		return hv_kprobe_wrong(p, off, "Typecast field option is not byte-aligned");
	if (member)
		return hv_kprobe_wrong(p, off - 2,
				       "Typecast field option does not support -> operator");
	*ret_before = bits / 8;
	return NULL;
}

struct hv_err *hv_kprobe_parse_cast(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				    const char *text, size_t off, unsigned depth)
{
	const char *end = strchr(text, ')');
	HV_AUTO_FREE char *type = NULL;
	HV_AUTO_FREE char *fetch = NULL;
	struct hv_btf_value compound;
	uint64_t before = 0;
	struct hv_err *err;
	struct cast c;

	if (!p->btf || p->k->is_inside)
		return hv_kprobe_not_there(p, off, NO_BTF);
	err = hv_kprobe_check_depth(p, off, depth);
	if (!err && !end)
		err = hv_kprobe_wrong(p, off + strlen(text), NOT_CLOSED);
	if (!err)
		err = divide(p, end + 1, off + (size_t)(end + 1 - text), &c);
	if (err)
		return err;
	type = hv_format("%.*s", (int)(end - text - 1), text + 1);
	fetch = hv_format("%.*s", (int)(c.fetch_end - c.fetch), c.fetch);
	err = hv_kprobe_parse_inner(p, arg, fetch, off + (size_t)(c.fetch - text), depth + 1);
	if (!err && arg->source != HV_KPROBE_NUMBER && arg->source != HV_KPROBE_FIELD)
		err = hv_kprobe_wrong(p, off + (size_t)(c.fetch - text),
				      "$comm can not be dereferenced");
	if (!err)
		err = find_struct(p, type, off + 1, &compound, &before);
	return err ? err
		   : hv_kprobe_follow_cast(p, arg, &compound, before, c.members,
					   off + (size_t)(c.members - text));
}
