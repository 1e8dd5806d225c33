/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses probe arguments, FETCH[:TYPE] (parse_probe_arg() in the kernel), and typecasts. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "tracer/events/guest_marks.h"
#include "tree/settings/eprobe.h"
#include "tree/settings/kprobe_parse.h"

#define ARRAY_MAX    64 /* MAX_ARRAY_LEN */
#define NESTED_MAX   8	/* TRACEPROBE_MAX_NESTED_LEVEL */
#define NO_FETCH     "Invalid fetch argument"
#define NO_BTF	     "BTF is not available or not supported"
#define NOT_CLOSED   "Dereference brace is not closed"
#define NEEDS_MEMBER "Typecast requires a field access"

static const struct hv_kprobe_type types[] = {
	{"string", 4, true, "\\\"%s\\\"", "__data_loc char[]"},
	{"ustring", 4, true, "\\\"%s\\\"", "__data_loc char[]"},
	{"u8", 1, false, "%u", "u8"},
	{"u16", 2, false, "%u", "u16"},
	{"u32", 4, false, "%u", "u32"},
	{"u64", 8, false, "%Lu", "u64"},
	{"s8", 1, true, "%d", "s8"},
	{"s16", 2, true, "%d", "s16"},
	{"s32", 4, true, "%d", "s32"},
	{"s64", 8, true, "%Ld", "s64"},
	{"x8", 1, false, "0x%x", "u8"},
	{"x16", 2, false, "0x%x", "u16"},
	{"x32", 4, false, "0x%x", "u32"},
	{"x64", 8, false, "0x%Lx", "u64"},
	{"char", 1, false, "'%c'", "u8"},
	{"symbol", 8, false, "%pS", "u64"},
};
static const struct hv_kprobe_type ustack_type = {
	.name = "ustack",
	.size_bytes = 4,
	.print = "%s",
	.field = "__data_loc u64[]",
};
static const struct hv_kprobe_type *const string_type = &types[0];
static const struct hv_kprobe_type *const ustring_type = &types[1];

bool hv_kprobe_is_string(const struct hv_kprobe_arg *arg)
{
	return arg->type == string_type || arg->type == ustring_type;
}

bool hv_kprobe_is_ustack(const struct hv_kprobe_arg *arg)
{
	return arg->source == HV_KPROBE_USTACK || arg->source == HV_KPROBE_USTACK_COPY ||
	       arg->source == HV_KPROBE_USTACK_REST;
}

static const struct hv_kprobe_type *find_type(const char *name, size_t len)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(types); i++)
		if (strlen(types[i].name) == len && memcmp(types[i].name, name, len) == 0)
			return &types[i];
	return NULL;
}

/* Returns the default type of an argument. */
static const struct hv_kprobe_type *kprobe_plain_type(void)
{
	return find_type("x64", 3);
}

/* Parses bWIDTH@OFFSET/SIZE; TEXT follows the b. Returns false if it is not a bit-field. */
static bool parse_bitfield(struct hv_kprobe_arg *arg, const char *text)
{
	const char *at = strchr(text, '@'), *slash = at ? strchr(at, '/') : NULL;
	uint64_t width, off, bits;

	if (!slash || !hv_kprobe_number(text, (size_t)(at - text), &width) ||
	    !hv_kprobe_number(at + 1, (size_t)(slash - at - 1), &off) ||
	    !hv_kprobe_number(slash + 1, strlen(slash + 1), &bits))
		return false;
	if (!width || width > bits || off > bits - width)
		return false;
	arg->is_bitfield = true;
	arg->left = (uint8_t)(bits - width - off);
	arg->right = (uint8_t)(bits - width);
	return true;
}

/* Returns the type that contains a bit-field, or NULL if no type has this size. */
static const struct hv_kprobe_type *bitfield_type(const char *text)
{
	const char *slash = strchr(text, '/');
	HV_AUTO_FREE char *name = slash ? hv_format("u%s", slash + 1) : NULL;

	return name ? find_type(name, strlen(name)) : NULL;
}

/* Parses the text after the [ of an array type, at OFF of the word. */
static struct hv_err *parse_array(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				  const char *text, size_t off)
{
	const char *end = strchr(text, ']');
	uint64_t count;

	if (!end)
		return hv_kprobe_wrong(p, off + strlen(text), "Array is not closed");
	if (end[1])
		return hv_kprobe_wrong(p, off + (size_t)(end + 1 - text), "Array has wrong suffix");
	if (!hv_kprobe_number(text, (size_t)(end - text), &count) || !count || count > UINT32_MAX)
		return hv_kprobe_wrong(p, off, "Invalid array size");
	if (count > ARRAY_MAX)
		return hv_kprobe_wrong(p, off, "Array number is too big");
	arg->count = (unsigned)count;
	return NULL;
}

/* OFF: offset of the type in the word. */
static struct hv_err *parse_type(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				 const char *text, size_t off)
{
	size_t len = strcspn(text, "[");
	HV_AUTO_FREE char *name = hv_format("%.*s", (int)len, text);
	struct hv_err *err = text[len] ? parse_array(p, arg, text + len + 1, off + len + 1) : NULL;

	if (err)
		return err;
	if (strcmp(name, "symstr") == 0)
		return hv_kprobe_not_there(p, off, "symstr is not supported yet: use symbol");
	arg->type = *name == 'b' ? bitfield_type(name) : find_type(name, len);
	if (!arg->type)
		return hv_kprobe_wrong(p, off, "Unknown type is specified");
	if (*name == 'b' && !parse_bitfield(arg, name + 1))
		return hv_kprobe_wrong(p, off, "Invalid bitfield");
	return NULL;
}

static struct hv_err *parse_argument_number(const struct hv_kprobe_parsing *p,
					    struct hv_kprobe_arg *arg, const char *text, size_t off)
{
	uint64_t nr;

	if (!hv_kprobe_number(text, strlen(text), &nr))
		return hv_kprobe_wrong(p, off, "Invalid $-variable specified");
	return hv_kprobe_take_argument(p, arg, nr, off);
}

static struct hv_err *parse_stack(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				  const char *text, size_t off)
{
	uint64_t nr;

	arg->number = (struct hv_arch_register){HV_REGS_STACK, 0};
	if (!*text)
		return NULL;
	if (!hv_kprobe_number(text, strlen(text), &nr))
		return hv_kprobe_wrong(p, off, "Invalid $-variable specified");
	if (nr > HV_KPROBE_STACK_MAX)
		return hv_kprobe_wrong(p, off, "Invalid stack number");
	hv_kprobe_take_stack(arg, nr);
	return NULL;
}

/* TEXT follows the $ and begins with "retval". */
static struct hv_err *parse_retval(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				   const char *text, size_t off)
{
	const char *rest = text + strlen("retval");

	if (*rest && !p->has_btf_args && *rest != '-' && *rest != '.')
		return hv_kprobe_wrong(p, off, "Invalid $-variable specified");
	if (!p->k->is_return)
		return hv_kprobe_wrong(p, off, "$retval is not available on probe");
	if (*rest || p->has_btf_args)
		return hv_kprobe_parse_named(p, arg, text - 1, off);
	arg->number = (struct hv_arch_register){HV_REGS_RETVAL, 0};
	return NULL;
}

/* -- fields of the probed event ---------------------------------------------------------------- */

/* Makes ARG the field NAME. Returns false if there is no such field. */
static bool find_field(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
		       const char *name)
{
	const struct hv_event_fields *fields = &p->event->type->fields;

	arg->source = HV_KPROBE_FIELD;
	for (size_t i = 0; i < fields->nr; i++) {
		const struct hv_event_field *f = &fields->list[i];

		if (strcmp(f->name, name) != 0)
			continue;
		arg->event_field = (struct hv_kprobe_event_field){
			f->off, f->size_bytes, f->is_signed, hv_field_form_of(f->type)};
		return true;
	}
	return false;
}

/* parse_trace_event_arg(). Kernels that look up fields late also look up $comm late, with the same
 * result. */
static struct hv_err *take_field(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				 const char *name, size_t off)
{
	if (find_field(p, arg, name))
		return NULL;
	if (strcmp(name, "comm") == 0 || strcmp(name, "COMM") == 0) {
		arg->source = HV_KPROBE_COMM;
		return NULL;
	}
	return p->event->looks_early ? hv_kprobe_wrong(p, off, "Invalid $-variable specified")
				     : NULL;
}

static struct hv_err *take_field_by_name(const struct hv_kprobe_parsing *p,
					 struct hv_kprobe_arg *arg, const char *text, size_t off)
{
	if (p->has_casts && find_field(p, arg, text))
		return NULL;
	return hv_kprobe_wrong(p, off,
			       p->has_casts	       ? "This event field is not found."
			       : p->event->looks_early ? "BTF is not available or not supported"
						       : "Invalid fetch argument");
}

/* -- start of a FETCH -------------------------------------------------------------------------- */

static struct hv_err *parse_ustack(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				   enum hv_kprobe_source source, size_t off)
{
	uint32_t regs_off = 0;
	struct hv_err *err = NULL;

	if (p->kernel && p->kernel->find_user_regs && !p->k->is_return)
		err = p->kernel->find_user_regs(p->kernel->module_data, &regs_off);
	if (err)
		return err;
	if (!regs_off)
		return hv_kprobe_not_there(p, off, "user-space stacks cannot be recorded here");
	arg->source = source;
	arg->number = (struct hv_arch_register){HV_ARCH_NO_WORD, regs_off};
	arg->type = &ustack_type;
	return NULL;
}

/* TEXT follows the $. */
static struct hv_err *parse_variable(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const char *text, size_t off)
{
	bool is_own = strcmp(p->k->group, HV_KPROBE_OWN_GROUP) == 0;

	if (is_own && strcmp(text, "ustack") == 0)
		return parse_ustack(p, arg, HV_KPROBE_USTACK, off);
	if (is_own && strcmp(text, "ustackcopy") == 0)
		return parse_ustack(p, arg, HV_KPROBE_USTACK_COPY, off);
	if (is_own && strcmp(text, "ustackrest") == 0)
		return parse_ustack(p, arg, HV_KPROBE_USTACK_REST, off);
	if (p->event)
		return take_field(p, arg, text, off);
	if (hv_starts_with(text, "retval"))
		return parse_retval(p, arg, text, off);
	if (strcmp(text, "mark") == 0) {
		if (p->k->is_return || strcmp(p->k->symbol, HV_MARK_FUNCTION) != 0)
			return hv_kprobe_wrong(p, off,
					       "$mark is only available at " HV_MARK_FUNCTION);
		arg->source = HV_KPROBE_MARK;
		return NULL;
	}
	if (strcmp(text, "comm") == 0) {
		arg->source = HV_KPROBE_COMM;
		return NULL;
	}
	if (p->has_casts && (strcmp(text, "current") == 0 || hv_starts_with(text, "current->")))
		return hv_kprobe_not_there(p, off, "the address of the task is not supported yet");
	if (hv_starts_with(text, "stack"))
		return parse_stack(p, arg, text + 5, off);
	if (hv_starts_with(text, "arg"))
		return parse_argument_number(p, arg, text + 3, off);
	return hv_kprobe_wrong(p, off, "Invalid $-variable specified");
}

static bool find_register(const struct hv_kprobe_parsing *p, const char *name,
			  struct hv_arch_register *ret)
{
	if (p->k->is_return)
		return p->arch->find_return_register(name, ret);
	if (!p->arch->find_any_register)
		return p->arch->find_register(name, ret);
	if (p->k->is_inside || !p->arch->find_register(name, ret)) {
		p->k->needs_all_regs |= !p->k->is_inside;
		return p->arch->find_any_register(name, ret);
	}
	return true;
}

static struct hv_err *parse_register(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const char *name, size_t off)
{
	/* The kernel rejects registers for event probes, tracepoints and fprobes (334e5519c375).
	 * Kernels without typecasts then also report that there was nothing to fetch. */
	if (p->event || p->k->is_fprobe) {
		if (!p->has_casts)
			p->fault->also = NO_FETCH;
		return hv_kprobe_wrong(p, off, "Invalid $-variable specified");
	}
	if (find_register(p, name, &arg->number))
		return NULL;
	if (p->arch->has_register(name))
		return hv_kprobe_not_there(p, off,
					   "this register is not recorded: it has no meaning when a"
					   " function returns");
	return hv_kprobe_wrong(p, off, "Invalid register name");
}

/* TEXT follows the backslash. */
static struct hv_err *parse_immediate(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				      const char *text, size_t off)
{
	bool is_negative = *text == '-';
	size_t len = strlen(text);
	uint64_t number;

	if (*text == '"') {
		if (len < 2 || text[len - 1] != '"')
			return hv_kprobe_wrong(p, off + len + 1, "String is not closed with '\"'");
		arg->source = HV_KPROBE_STRING;
		arg->string = hv_format("%.*s", (int)(len - 2), text + 1);
		return NULL;
	}
	if (is_negative || *text == '+')
		text++;
	if (!hv_kprobe_number(text, strlen(text), &number))
		return hv_kprobe_wrong(p, off + 1, "Invalid immediate value");
	arg->number.word = HV_ARCH_NO_WORD;
	arg->number.addend = (int64_t)(is_negative ? -number : number);
	return NULL;
}

/* kstrtol(), which does not accept a plus sign */
static bool signed_number(const char *text, size_t len, int64_t *ret)
{
	bool is_negative = len && *text == '-';
	uint64_t number;

	if (!hv_kprobe_number(text + is_negative, len - is_negative, &number) || number > INT64_MAX)
		return false;
	*ret = is_negative ? -(int64_t)number : (int64_t)number;
	return true;
}

/* TEXT follows the @. */
static struct hv_err *parse_address(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				    const char *text, size_t off)
{
	const char *sign = strpbrk(text, "+-");
	uint64_t at = 0;

	arg->number.word = HV_ARCH_NO_WORD;
	if (*text == '+')
		return hv_kprobe_wrong(p, off, "File offset is not available with kprobe");
	if (isdigit((unsigned char)*text)) {
		if (!hv_kprobe_number(text, strlen(text), &at))
			return hv_kprobe_wrong(p, off, "Invalid memory address");
		arg->number.addend = (int64_t)at;
	} else {
		if (sign && !signed_number(sign + (*sign == '+'), strlen(sign + (*sign == '+')),
					   &arg->number.addend))
			return hv_kprobe_wrong(p, off, "Invalid memory address");
		arg->symbol =
			hv_format("%.*s", (int)(sign ? (size_t)(sign - text) : strlen(text)), text);
	}
	return hv_kprobe_add_deref(p, arg, (struct hv_kprobe_deref){0}, off);
}

static struct hv_err *check_depth(const struct hv_kprobe_parsing *p, size_t off, unsigned depth)
{
	if (p->has_casts && depth >= NESTED_MAX)
		return hv_kprobe_refuse(p, off, E2BIG, "Too many nested typecasts/dereferences");
	return NULL;
}

/* Parses TEXT without a type, nested in DEPTH others. */
static struct hv_err *parse_inner(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				  const char *text, size_t off, unsigned depth);

/* Parses +OFFSET(FETCH) or -OFFSET(FETCH), optionally with a u after the sign. The kernel ignores
 * the u when it computes the offset of FETCH. */
static struct hv_err *parse_deref(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				  const char *text, size_t off, unsigned depth)
{
	struct hv_kprobe_deref deref = {.is_user = text[1] == 'u'};
	const char *digits = text + 1 + deref.is_user, *open = strchr(digits, '('), *close;
	HV_AUTO_FREE char *inner = NULL;
	struct hv_err *err = check_depth(p, off, depth);

	if (err)
		return err;
	if (!open)
		return hv_kprobe_wrong(p, off, "Dereference needs a brace");
	if (!signed_number(digits, (size_t)(open - digits), &deref.off) || *digits == '-')
		return hv_kprobe_wrong(p, off, "Invalid dereference offset");
	deref.off = *text == '-' ? -deref.off : deref.off;
	off += (size_t)(open - digits) + 2;
	close = strrchr(open, ')');
	if (!close)
		return hv_kprobe_wrong(p, off + strlen(open + 1),
				       "Dereference brace is not closed");
	if (depth == HV_KPROBE_DEREFS_MAX)
		return hv_kprobe_wrong(p, off, "Dereference is too much nested");
	inner = hv_format("%.*s", (int)(close - open - 1), open + 1);
	err = parse_inner(p, arg, inner, off, depth + 1);
	if (!err && arg->source != HV_KPROBE_NUMBER && arg->source != HV_KPROBE_FIELD)
		err = hv_kprobe_wrong(p, off, "$comm can not be dereferenced");
	p->named->is_known = false;
	return err ? err : hv_kprobe_add_deref(p, arg, deref, off);
}

/* Parses a FETCH that begins with a letter. */
static struct hv_err *parse_name(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				 const char *text, size_t off)
{
	if (p->has_casts &&
	    (hv_starts_with(text, "this_cpu_ptr(") || hv_starts_with(text, "this_cpu_read(")))
		return hv_kprobe_not_there(p, off, "per-CPU variables are not supported yet");
	if (p->event)
		return take_field_by_name(p, arg, text, off);
	if (p->k->is_inside)
		return hv_kprobe_wrong(p, off, "BTF is not available or not supported");
	return hv_kprobe_parse_named(p, arg, text, off);
}

/* -- typecasts ---------------------------------------------------------------------------------
 *
 * (STRUCT[,MEMBER])FETCH->MEMBER...: FETCH is the address of a STRUCT, or of MEMBER in one. Syntax
 * and errors follow kernels with a parser that limits nesting (traceprobe_parse_context.depth). */

/* The text after the type: the FETCH and the members. */
struct cast {
	const char *fetch, *fetch_end;
	const char *members;
};

/* Returns the parenthesis that closes the one at OPEN, or NULL. */
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

/* Splits TEXT, at OFF of the word. */
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
	if (!hv_starts_with(arrow, "->"))
		return hv_kprobe_wrong(p, wrong_off, NEEDS_MEMBER);
	ret->members = arrow + 2;
	return NULL;
}

/* Looks up STRUCT[,MEMBER], at OFF of the word. *RET_BEFORE: offset of MEMBER in the struct. */
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

static struct hv_err *parse_cast(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
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
	err = check_depth(p, off, depth);
	if (!err && !end)
		err = hv_kprobe_wrong(p, off + strlen(text), NOT_CLOSED);
	if (!err)
		err = divide(p, end + 1, off + (size_t)(end + 1 - text), &c);
	if (err)
		return err;
	type = hv_format("%.*s", (int)(end - text - 1), text + 1);
	fetch = hv_format("%.*s", (int)(c.fetch_end - c.fetch), c.fetch);
	err = parse_inner(p, arg, fetch, off + (size_t)(c.fetch - text), depth + 1);
	if (!err && arg->source != HV_KPROBE_NUMBER && arg->source != HV_KPROBE_FIELD)
		err = hv_kprobe_wrong(p, off + (size_t)(c.fetch - text),
				      "$comm can not be dereferenced");
	if (!err)
		err = find_struct(p, type, off + 1, &compound, &before);
	return err ? err
		   : hv_kprobe_follow_cast(p, arg, &compound, before, c.members,
					   off + (size_t)(c.members - text));
}

/* -- FETCH and type ---------------------------------------------------------------------------- */

static struct hv_err *parse_inner(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				  const char *text, size_t off, unsigned depth)
{
	if (isalpha((unsigned char)*text) || *text == '_')
		return parse_name(p, arg, text, off);
	switch (*text) {
	case '$':
		return parse_variable(p, arg, text + 1, off);
	case '%':
		return parse_register(p, arg, text + 1, off);
	case '\\':
		return parse_immediate(p, arg, text + 1, off);
	case '@':
		return parse_address(p, arg, text + 1, off);
	case '+':
	case '-':
		return parse_deref(p, arg, text, off, depth);
	case '(':
		if (p->has_casts)
			return parse_cast(p, arg, text, off, depth);
		return hv_kprobe_wrong(p, off, NO_FETCH);
	default:
		return hv_kprobe_wrong(p, off, NO_FETCH);
	}
}

/* Returns whether ARG may be a string: it is memory, a string, or the address of one. */
static bool may_be_string(const struct hv_kprobe_arg *arg)
{
	return arg->is_memory || arg->source != HV_KPROBE_NUMBER ||
	       (arg->number.word == HV_ARCH_NO_WORD && arg->fetch[0] == '\\');
}

/* Applies the BTF type of the FETCH, at FETCH_OFF, if no type was written. WRITTEN: the type, or
 * NULL. */
static struct hv_err *use_names(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				const char *written, size_t fetch_off)
{
	const char *name;

	if (!p->named->is_known)
		return NULL;
	/* Kernels without typecasts report an arbitrary position. */
	if (p->has_casts && p->named->member_off)
		fetch_off = p->named->member_off;
	if (written)
		return hv_kprobe_is_string(arg)
			       ? hv_kprobe_named_string(p, arg,
							*written == 'u' ? HV_USER_STRING
									: HV_KERNEL_STRING,
							fetch_off)
			       : NULL;
	name = hv_kprobe_named_type(p);
	arg->type = name ? find_type(name, strlen(name)) : NULL;
	return NULL;
}

/* Checks that the type and the FETCH fit together. OFF: offset of the type. */
static struct hv_err *check_type(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				 size_t off)
{
	bool is_text = arg->source != HV_KPROBE_NUMBER;

	if (is_text && ((arg->type && arg->type != string_type) || arg->count))
		return hv_kprobe_wrong(p, off,
				       "$comm and immediate-string only accepts string type");
	if (!arg->type)
		arg->type = is_text ? string_type : kprobe_plain_type();
	if (hv_kprobe_is_string(arg) ? !may_be_string(arg) : arg->count && !arg->is_memory)
		return hv_kprobe_wrong(p, off, "String accepts only memory argument");
	if (is_text || !hv_kprobe_is_string(arg))
		return NULL;
	/* The value of a constant, or of an array element, is the address. */
	if (!arg->is_memory || arg->count)
		return hv_kprobe_add_deref(p, arg, (struct hv_kprobe_deref){0}, off);
	return NULL;
}

static bool is_text_field(const struct hv_kprobe_arg *arg)
{
	enum hv_field_form form = arg->event_field.form;

	return arg->source == HV_KPROBE_FIELD &&
	       (form == HV_FIELD_ARRAY || form == HV_FIELD_DYNAMIC || form == HV_FIELD_RELATIVE);
}

/* Reading a string field at its own address yields the string. */
static void drop_empty_deref(struct hv_kprobe_arg *arg)
{
	if (!is_text_field(arg) || arg->nr_derefs != 1 || arg->derefs[0].off ||
	    arg->derefs[0].is_user)
		return;
	arg->nr_derefs = 0;
	arg->is_memory = false;
}

static bool is_text(const struct hv_kprobe_arg *arg)
{
	return is_text_field(arg) || arg->source == HV_KPROBE_COMM ||
	       arg->source == HV_KPROBE_STRING;
}

/* Returns why neither the guest nor the host can provide ARG, or NULL. */
static const char *why_not_there(const struct hv_kprobe_parsing *p, const struct hv_kprobe_arg *arg)
{
	bool is_string = hv_kprobe_is_string(arg);

	if (is_text(arg) && arg->nr_derefs)
		return "a string of the record has no address to dereference";
	if (is_text(arg) && !is_string)
		return "a string field has no address: its type must be string";
	if (is_text(arg))
		return *arg->type->name == 'u' || arg->count
			       ? "the field is a single string, and not in user memory"
			       : NULL;
	if (is_string && arg->count && !arg->is_memory)
		return "an array of strings needs the address of the first";
	if ((arg->nr_derefs || is_string) && !p->event->is_recorded)
		return "the event comes from the host, so probes cannot read guest memory for it";
	return NULL;
}

static struct hv_err *check_event_type(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				       size_t off)
{
	bool reads_user = arg->nr_derefs && arg->derefs[arg->nr_derefs - 1].is_user;
	const char *why_not;

	if (!arg->type)
		arg->type = kprobe_plain_type();
	if (!hv_kprobe_is_string(arg) && arg->count && (!arg->is_memory || reads_user))
		return hv_kprobe_wrong(p, off, "String accepts only memory argument");
	if (arg->source == HV_KPROBE_FIELD && !arg->event_field.size_bytes)
		return hv_kprobe_refuse(p, 0, ENOENT, "Attached event does not have this field");
	if (hv_kprobe_is_string(arg))
		drop_empty_deref(arg);
	why_not = why_not_there(p, arg);
	if (why_not)
		return hv_kprobe_not_there(p, off, why_not);
	if (!hv_kprobe_is_string(arg) || is_text(arg))
		return NULL;
	/* A number, or an array element, is the address. */
	if (!arg->is_memory || arg->count)
		return hv_kprobe_add_deref(p, arg, (struct hv_kprobe_deref){0}, off);
	return NULL;
}

/* Probes of hvtrace's own commands may have longer arguments: the kernel's limit would truncate the
 * path of a cgroup (latency/sched.h). */
static size_t arg_len_max(const struct hv_kprobe_parsing *p)
{
	return strcmp(p->k->group, HV_KPROBE_OWN_GROUP) == 0 ? 4 * HV_KPROBE_ARG_LEN_MAX
							     : HV_KPROBE_ARG_LEN_MAX;
}

struct hv_err *hv_kprobe_parse_fetch(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const char *body, size_t off)
{
	const char *colon =
		*body == '\\' && body[1] == '"' ? strrchr(body, ':') : strchr(body, ':');
	size_t len = strlen(body), type_off;
	HV_AUTO_FREE char *fetch = NULL;
	struct hv_err *err;

	if (len > arg_len_max(p))
		return hv_kprobe_wrong(p, off, "Argument expression is too long");
	if (!len)
		return hv_kprobe_wrong(p, off, "No argument expression");
	/* A colon in a string does not start a type. */
	if (colon && body[1] == '"' && strchr(colon, '"'))
		colon = NULL;
	fetch = hv_format("%.*s", (int)(colon ? (size_t)(colon - body) : len), body);
	type_off = off + (colon ? (size_t)(colon + 1 - body) : 0);
	*p->named = (struct hv_kprobe_named){0};
	err = colon ? parse_type(p, arg, colon + 1, type_off) : NULL;
	if (!err)
		err = parse_inner(p, arg, fetch, off, 0);
	if (!err && hv_kprobe_is_ustack(arg) && colon)
		err = hv_kprobe_wrong(p, off, "$ustack has no type");
	if (!err)
		err = use_names(p, arg, colon ? colon + 1 : NULL, off);
	if (!err && !hv_kprobe_is_ustack(arg))
		err = p->event ? check_event_type(p, arg, type_off) : check_type(p, arg, type_off);
	if (!err && !colon)
		err = hv_kprobe_named_bits(p, arg, off);
	if (err)
		return err;
	arg->field = arg->count ? hv_format("%s[%u]", arg->type->field, arg->count)
				: hv_strdup(arg->type->field);
	return NULL;
}
