/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/kprobe.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "ringbuf/record_bits.h"
#include "tracer/events/guest_marks.h"

#define GROUP	      "kprobes"
#define ARG_MAX	      63 /* MAX_ARGSTR_LEN */
#define ARG_NAME_MAX  32
#define STACK_NR_MAX  2048 /* PARAM_MAX_STACK */
#define LOC_LEN_SHIFT 16   /* __data_loc */

struct hv_kprobe_type {
	const char *name;
	uint32_t size_bytes;
	bool is_signed;
	const char *print;
	const char *field;
};

static const struct hv_kprobe_type types[] = {
	{"string", 4, true, "\\\"%s\\\"", "__data_loc char[]"},
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
static const struct hv_kprobe_type *const string_type = &types[0];

static const char *const reserved[] = {
	"common_type", "common_flags", "common_preempt_count", "common_pid",
	"common_tgid", "__probe_ip",   "__probe_ret_ip",       "__probe_func",
};

/* A definition that is being parsed. */
struct parsing {
	const struct hv_arch *arch;
	char *const *words;
	size_t nr, word; /* WORD: the one that is looked at */
	struct hv_kprobe *k;
	unsigned *at;
};

/* The error CODE, at OFF of the present word. */
static struct hv_err *refuse(const struct parsing *p, size_t off, int code, const char *why)
{
	*p->at = (unsigned)off;
	for (size_t i = 0; i < p->word; i++)
		*p->at += (unsigned)strlen(p->words[i]) + 1;
	return hv_err_new(code, "%s", why);
}

static struct hv_err *wrong(const struct parsing *p, size_t off, const char *why)
{
	return refuse(p, off, EINVAL, why);
}

static struct hv_err *not_there(const struct parsing *p, size_t off, const char *what)
{
	return refuse(p, off, EOPNOTSUPP, what);
}

/* is_good_name() */
static bool is_good(const char *name, size_t len)
{
	if (!len || !(isalpha((unsigned char)name[0]) || name[0] == '_'))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

/* kstrtoul(), without a sign. False: TEXT, of LEN bytes, is something else. */
static bool number_of(const char *text, size_t len, uint64_t *ret)
{
	char digits[ARG_MAX + 1], *end;

	if (!len || len >= sizeof(digits) || !isdigit((unsigned char)text[0]))
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	errno = 0;
	*ret = strtoull(digits, &end, 0);
	return !*end && !errno;
}

/* -- arguments --------------------------------------------------------------------------------- */

static const struct hv_kprobe_type *find_type(const char *name, size_t len)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(types); i++)
		if (strlen(types[i].name) == len && memcmp(types[i].name, name, len) == 0)
			return &types[i];
	return NULL;
}

/* bWIDTH@OFFSET/SIZE, of which TEXT is what follows the b. False: it is no bitfield. */
static bool parse_bitfield(struct hv_kprobe_arg *arg, const char *text)
{
	const char *at = strchr(text, '@'), *slash = at ? strchr(at, '/') : NULL;
	uint64_t width, off, bits;

	if (!slash || !number_of(text, (size_t)(at - text), &width) ||
	    !number_of(at + 1, (size_t)(slash - at - 1), &off) ||
	    !number_of(slash + 1, strlen(slash + 1), &bits))
		return false;
	if (!width || width > bits || off > bits - width)
		return false;
	arg->is_bitfield = true;
	arg->left = (uint8_t)(bits - width - off);
	arg->right = (uint8_t)(bits - width);
	return true;
}

/* The type of a bitfield is that of all its bits; NULL: its size is none of a type. */
static const struct hv_kprobe_type *bitfield_type(const char *text)
{
	const char *slash = strchr(text, '/');
	HV_AUTO_FREE char *name = slash ? hv_format("u%s", slash + 1) : NULL;

	return name ? find_type(name, strlen(name)) : NULL;
}

/* OFF: of the type in the word. */
static struct hv_err *parse_type(const struct parsing *p, struct hv_kprobe_arg *arg,
				 const char *text, size_t off)
{
	const char *array = strchr(text, '[');

	if (array && !strchr(array, ']'))
		return wrong(p, off + strlen(text), "Array is not closed");
	if (array)
		return not_there(p, off, "arrays: memory of the guest is not read for probes");
	if (strcmp(text, "ustring") == 0 || strcmp(text, "symstr") == 0)
		return not_there(p, off, "this type: memory of the guest is not read for probes");
	arg->type = *text == 'b' ? bitfield_type(text) : find_type(text, strlen(text));
	if (!arg->type)
		return wrong(p, off, "Unknown type is specified");
	if (*text == 'b' && !parse_bitfield(arg, text + 1))
		return wrong(p, off, "Invalid bitfield");
	return NULL;
}

static struct hv_err *parse_argument_number(const struct parsing *p, struct hv_kprobe_arg *arg,
					    const char *text, size_t off)
{
	uint64_t nr;

	if (!number_of(text, strlen(text), &nr))
		return wrong(p, off, "Invalid $-variable specified");
	if (!nr || nr > STACK_NR_MAX)
		return wrong(p, off, "Invalid argument number");
	for (uint64_t i = 0; i < nr; i++)
		if (i == HV_ARCH_ARGS_MAX || !p->arch->argument_registers[i])
			return not_there(p, off,
					 "arguments on the stack are not recorded, only those in"
					 " registers");
	if (!p->arch->find_register(p->arch->argument_registers[nr - 1], &arg->number))
		return wrong(p, off, "Invalid argument number");
	return NULL;
}

static struct hv_err *parse_stack(const struct parsing *p, struct hv_kprobe_arg *arg,
				  const char *text, size_t off)
{
	uint64_t nr;

	arg->number = (struct hv_arch_register){HV_REGS_STACK, 0};
	if (!*text)
		return NULL;
	if (!number_of(text, strlen(text), &nr))
		return wrong(p, off, "Invalid $-variable specified");
	if (nr > STACK_NR_MAX)
		return wrong(p, off, "Invalid stack number");
	if (nr)
		return not_there(p, off, "of the stack only $stack0 is recorded");
	arg->number.word = HV_REGS_STACK_WORD;
	return NULL;
}

/* TEXT is behind the $. */
static struct hv_err *parse_variable(const struct parsing *p, struct hv_kprobe_arg *arg,
				     const char *text, size_t off)
{
	if (strcmp(text, "retval") == 0)
		return wrong(p, off, "$retval is not available on probe");
	if (strcmp(text, "comm") == 0) {
		arg->source = HV_KPROBE_COMM;
		return NULL;
	}
	if (strcmp(text, "mark") == 0) {
		if (strcmp(p->k->symbol, HV_MARK_FUNCTION) != 0)
			return wrong(p, off, "$mark is only available at " HV_MARK_FUNCTION);
		arg->source = HV_KPROBE_MARK;
		return NULL;
	}
	if (strncmp(text, "stack", 5) == 0)
		return parse_stack(p, arg, text + 5, off);
	if (strcmp(text, "arg*") == 0)
		return not_there(p, off, "arguments by their names are not there yet");
	if (strncmp(text, "arg", 3) == 0)
		return parse_argument_number(p, arg, text + 3, off);
	return wrong(p, off, "Invalid $-variable specified");
}

static struct hv_err *parse_register(const struct parsing *p, struct hv_kprobe_arg *arg,
				     const char *name, size_t off)
{
	if (p->arch->find_register(name, &arg->number))
		return NULL;
	if (p->arch->has_register(name))
		return not_there(p, off,
				 "this register is not recorded: it has no meaning at a function's"
				 " entry");
	return wrong(p, off, "Invalid register name");
}

/* TEXT is behind the backslash. */
static struct hv_err *parse_immediate(const struct parsing *p, struct hv_kprobe_arg *arg,
				      const char *text, size_t off)
{
	bool is_negative = *text == '-';
	size_t len = strlen(text);
	uint64_t number;

	if (*text == '"') {
		if (len < 2 || text[len - 1] != '"')
			return wrong(p, off + len + 1, "String is not closed with '\"'");
		arg->source = HV_KPROBE_STRING;
		arg->string = hv_format("%.*s", (int)(len - 2), text + 1);
		return NULL;
	}
	if (is_negative || *text == '+')
		text++;
	if (!number_of(text, strlen(text), &number))
		return wrong(p, off + 1, "Invalid immediate value");
	arg->number.word = HV_REGS_WORDS;
	arg->number.addend = (int64_t)(is_negative ? -number : number);
	return NULL;
}

/* TEXT is a FETCH without its type, at OFF of the word. */
static struct hv_err *parse_fetch(const struct parsing *p, struct hv_kprobe_arg *arg,
				  const char *text, size_t off)
{
	switch (*text) {
	case '$':
		return parse_variable(p, arg, text + 1, off);
	case '%':
		return parse_register(p, arg, text + 1, off);
	case '\\':
		return parse_immediate(p, arg, text + 1, off);
	case '@':
	case '+':
	case '-':
		return not_there(p, off, "memory of the guest is not read for probes");
	default:
		if (is_good(text, strcspn(text, "->.")))
			return not_there(p, off, "arguments by their names are not there yet");
		return wrong(p, off, "Invalid fetch argument");
	}
}

/* BODY is the argument without its name, at OFF of the word. */
static struct hv_err *parse_body(const struct parsing *p, struct hv_kprobe_arg *arg,
				 const char *body, size_t off)
{
	const char *colon =
		*body == '\\' && body[1] == '"' ? strrchr(body, ':') : strchr(body, ':');
	size_t len = strlen(body), type_off;
	HV_AUTO_FREE char *fetch = NULL;
	struct hv_err *err;

	if (len > ARG_MAX)
		return wrong(p, off, "Argument expression is too long");
	if (!len)
		return wrong(p, off, "No argument expression");
	/* A colon in a string is no type's. */
	if (colon && body[1] == '"' && strchr(colon, '"'))
		colon = NULL;
	fetch = hv_format("%.*s", (int)(colon ? (size_t)(colon - body) : len), body);
	type_off = off + (colon ? (size_t)(colon + 1 - body) : 0);
	err = colon ? parse_type(p, arg, colon + 1, type_off) : NULL;
	if (!err)
		err = parse_fetch(p, arg, fetch, off);
	if (err)
		return err;
	if (arg->source != HV_KPROBE_NUMBER && arg->type && arg->type != string_type)
		return wrong(p, type_off, "$comm and immediate-string only accepts string type");
	if (arg->source == HV_KPROBE_NUMBER && arg->type == string_type)
		return wrong(p, type_off, "String accepts only memory argument");
	if (!arg->type)
		arg->type = arg->source == HV_KPROBE_NUMBER ? find_type("x64", 3) : string_type;
	return NULL;
}

static bool is_used(const struct hv_kprobe *k, const struct hv_kprobe_arg *arg)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(reserved); i++)
		if (strcmp(reserved[i], arg->name) == 0)
			return true;
	for (const struct hv_kprobe_arg *other = k->args; other < arg; other++)
		if (strcmp(other->name, arg->name) == 0)
			return true;
	return false;
}

/* traceprobe_parse_probe_arg() */
static struct hv_err *parse_arg(const struct parsing *p, struct hv_kprobe_arg *arg)
{
	const char *word = p->words[p->word], *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : 0;

	if (equals && len > ARG_NAME_MAX)
		return wrong(p, 0, "Argument name is too long");
	if (equals && !len)
		return wrong(p, 0, "Argument name is not specified");
	arg->name = equals ? hv_format("%.*s", (int)len, word)
			   : hv_format("arg%zu", (size_t)(arg - p->k->args) + 1);
	arg->fetch = hv_strdup(equals ? equals + 1 : word);
	if (!is_good(arg->name, strlen(arg->name)))
		return wrong(p, 0, "Argument name must follow the same rules as C identifiers");
	if (is_used(p->k, arg))
		return wrong(p, 0, "This argument name is already used");
	return parse_body(p, arg, arg->fetch, equals ? len + 1 : 0);
}

static struct hv_err *parse_args(struct parsing *p)
{
	struct hv_kprobe *k = p->k;
	struct hv_err *err = NULL;
	size_t len_bytes = 0;

	if (p->nr - 2 > HV_KPROBE_ARGS_MAX) {
		p->word = 2 + HV_KPROBE_ARGS_MAX;
		return refuse(p, 0, E2BIG, "Too many arguments are specified");
	}
	k->args = hv_alloc((p->nr - 2 + 1) * sizeof(*k->args));
	for (p->word = 2; !err && p->word < p->nr; p->word++) {
		struct hv_kprobe_arg *arg = &k->args[k->nr_args++];

		err = parse_arg(p, arg);
		if (err)
			return err;
		arg->off = (uint32_t)len_bytes;
		len_bytes += arg->type->size_bytes;
	}
	k->len_bytes = (uint32_t)len_bytes;
	for (size_t i = 0; i < k->nr_args; i++)
		len_bytes +=
			k->args[i].source == HV_KPROBE_STRING ? strlen(k->args[i].string) + 1 : 0;
	p->word = 2;
	return len_bytes > HV_KPROBE_SIZE_MAX
		       ? refuse(p, 0, E2BIG, "Too many arguments are specified")
		       : NULL;
}

/* -- the probe itself -------------------------------------------------------------------------- */

/* SYMBOL[+0] */
static struct hv_err *parse_symbol(struct parsing *p)
{
	const char *word = p->words[1], *sign = strpbrk(word, "+-"), *percent = strchr(word, '%');
	uint64_t off;

	p->word = 1;
	if (number_of(word, strlen(word), &off))
		return not_there(p, 0,
				 "probes at an address are not there yet, only at the entry"
				 " of a function by its name");
	if (percent && strcmp(percent, "%return") == 0)
		return not_there(p, (size_t)(percent - word), "return probes are not there yet");
	if (percent)
		return wrong(p, (size_t)(percent - word), "Invalid probed address suffix");
	if (sign && (*sign == '-' || !number_of(sign + 1, strlen(sign + 1), &off)))
		return wrong(p, 0, "Invalid probed address or symbol");
	if (sign && off)
		return not_there(
			p, (size_t)(sign - word),
			"probes inside of a function are not there yet, only at its entry");
	p->k->symbol = hv_format("%.*s", (int)(sign ? (size_t)(sign - word) : strlen(word)), word);
	return NULL;
}

/* traceprobe_parse_event_name(). TEXT is at OFF of the first word. */
static struct hv_err *parse_name(const struct parsing *p, const char *text, size_t off)
{
	const char *slash = strchr(text, '/');
	size_t len;

	if (!slash)
		slash = strchr(text, '.');
	if (slash) {
		len = (size_t)(slash - text);
		if (!len)
			return wrong(p, off, "Group name is not specified");
		if (len >= HV_KPROBE_NAME_MAX)
			return wrong(p, off, "Group name is too long");
		if (!is_good(text, len))
			return wrong(p, off,
				     "Group name must follow the same rules as C identifiers");
		free(p->k->group);
		p->k->group = hv_format("%.*s", (int)len, text);
		off += len + 1;
		text = slash + 1;
	}
	len = strlen(text);
	if (!len)
		return slash ? NULL : wrong(p, off, "Event name is not specified");
	if (len > HV_KPROBE_NAME_MAX)
		return wrong(p, off, "Event name is too long");
	if (!is_good(text, len))
		return wrong(p, off, "Event name must follow the same rules as C identifiers");
	p->k->name = hv_strdup(text);
	return NULL;
}

/* The kernel's own name of a probe without one; sanitize_event_name(). */
static char *made_name(const char *symbol)
{
	char *name = hv_format("p_%.*s_0", HV_KPROBE_NAME_MAX - 5, symbol);

	for (char *c = name + 1; *c; c++)
		if (*c == ':' || *c == '.')
			*c = '_';
	return name;
}

static struct hv_err *parse(struct parsing *p)
{
	const char *word = p->nr ? p->words[0] : "", *colon = strchr(word, ':');
	struct hv_err *err;

	if (p->nr < 2 || (*word != 'p' && *word != 'r'))
		return hv_err_new(EINVAL, "'%s' defines no probe: p[:[GRP/]NAME] SYMBOL [ARGS]",
				  word);
	if (*word == 'r')
		return not_there(p, 0, "return probes are not there yet");
	if (isdigit((unsigned char)word[1]))
		return wrong(p, 1, "Maxactive is not for kprobe");
	err = parse_symbol(p);
	p->word = err ? p->word : 0;
	p->k->group = hv_strdup(GROUP);
	if (!err && colon)
		err = parse_name(p, colon + 1, (size_t)(colon + 1 - word));
	if (!err && !p->k->name)
		p->k->name = made_name(p->k->symbol);
	return err ? err : parse_args(p);
}

struct hv_err *hv_kprobe_parse(const struct hv_arch *arch, char *const *words, size_t nr,
			       struct hv_kprobe *ret, unsigned *ret_at)
{
	struct hv_kprobe k = {0};
	struct parsing p = {.arch = arch, .words = words, .nr = nr, .k = &k, .at = ret_at};
	struct hv_err *err;

	*ret_at = HV_KPROBE_NOWHERE;
	err = parse(&p);
	if (err)
		hv_kprobe_deinit(&k);
	else
		*ret = k;
	return err;
}

void hv_kprobe_deinit(struct hv_kprobe *k)
{
	for (size_t i = 0; i < k->nr_args; i++) {
		free(k->args[i].name);
		free(k->args[i].fetch);
		free(k->args[i].string);
	}
	free(k->args);
	free(k->group);
	free(k->name);
	free(k->symbol);
	*k = (struct hv_kprobe){0};
}

/* -- what is shown of it ----------------------------------------------------------------------- */

void hv_kprobe_text(const struct hv_kprobe *k, struct hv_text *ret)
{
	hv_text_printf(ret, "p:%s/%s %s", k->group, k->name, k->symbol);
	for (size_t i = 0; i < k->nr_args; i++)
		hv_text_printf(ret, " %s=%s", k->args[i].name, k->args[i].fetch);
	hv_text_add(ret, "\n");
}

void hv_kprobe_print_fmt(const struct hv_kprobe *k, struct hv_text *ret)
{
	hv_text_add(ret, "\"(%lx)");
	for (size_t i = 0; i < k->nr_args; i++)
		hv_text_printf(ret, " %s=%s", k->args[i].name, k->args[i].type->print);
	hv_text_add(ret, "\", REC->__probe_ip");
	for (size_t i = 0; i < k->nr_args; i++)
		hv_text_printf(ret,
			       k->args[i].type == string_type ? ", __get_str(%s)" : ", REC->%s",
			       k->args[i].name);
}

struct hv_kprobe_field hv_kprobe_field_of(const struct hv_kprobe_arg *arg)
{
	return (struct hv_kprobe_field){arg->type->field, arg->type->size_bytes,
					arg->type->is_signed};
}

/* -- records ----------------------------------------------------------------------------------- */

static uint64_t value_of(const struct hv_kprobe_arg *arg, const uint64_t *words)
{
	uint32_t bits = arg->type->size_bytes * 8;
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX, value;

	value = arg->number.word < HV_REGS_WORDS ? words[arg->number.word] : 0;
	value += (uint64_t)arg->number.addend;
	if (arg->is_bitfield)
		value = ((value << arg->left) & mask) >> arg->right;
	return value;
}

bool hv_kprobe_has_mark(const struct hv_kprobe *k)
{
	for (size_t i = 0; i < k->nr_args; i++)
		if (k->args[i].source == HV_KPROBE_MARK)
			return true;
	return false;
}

/* NULL: the call has none. */
static const char *string_of(const struct hv_kprobe_arg *arg, const struct hv_kprobe_call *call)
{
	switch (arg->source) {
	case HV_KPROBE_COMM:
		return call->comm;
	case HV_KPROBE_MARK:
		return call->mark;
	default:
		return arg->string;
	}
}

uint32_t hv_kprobe_fill(const struct hv_kprobe *k, const struct hv_kprobe_call *call,
			uint32_t args_off, uint8_t *entry, uint32_t max_bytes)
{
	uint32_t end = args_off + k->len_bytes;

	if (end > max_bytes)
		return 0;
	for (size_t i = 0; i < k->nr_args; i++) {
		const struct hv_kprobe_arg *arg = &k->args[i];
		const char *string = string_of(arg, call);
		uint64_t value = 0;

		if (arg->source == HV_KPROBE_NUMBER) {
			value = value_of(arg, call->words);
		} else {
			uint32_t len = string ? (uint32_t)strlen(string) + 1 : 0;

			if (!len || len > max_bytes - end)
				return 0;
			memcpy(entry + end, string, len);
			value = len << LOC_LEN_SHIFT | end;
			end += len;
		}
		memcpy(entry + args_off + arg->off, &value, arg->type->size_bytes);
	}
	return end;
}
