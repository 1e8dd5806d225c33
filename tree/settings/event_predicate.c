/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/event_predicate.h"

#include <ctype.h>
#include <string.h>

#include "base/guard.h"
#include "kernel/kernel.h"
#include "tree/settings/cpulist.h"
#include "tree/settings/field_form.h"
#include "tree/settings/token.h"

#define TEXT_LEN_MAX   255 /* MAX_FILTER_STR_VAL */
#define NUMBER_LEN_MAX 23  /* as in parse_pred() */

/* The kernel's FILTER_* constants. */
enum form { NUMBER, ARRAY, DYNAMIC, RELATIVE, POINTER, CPUMASK, COMM, CPU };

/* Parser state for one predicate. */
struct parse {
	const struct hv_filter_scope *scope;
	const char *str; /* the predicate */
	size_t i;	 /* number of bytes parsed */
	size_t first;	 /* its offset in the filter plus one, as the kernel counts */
	enum form form;
	struct hv_predicate *p;
	struct hv_filter_fault *fault;
};

static bool fail_at(struct parse *s, size_t i, const char *why)
{
	*s->fault = (struct hv_filter_fault){EINVAL, why, s->first + i};
	return false;
}

static bool fail(struct parse *s, const char *why)
{
	return fail_at(s, s->i, why);
}

static bool fail_op(struct parse *s)
{
	return fail(s, "Illegal operation for field type");
}

static void skip_space(struct parse *s)
{
	while (isspace((unsigned char)s->str[s->i]))
		s->i++;
}

static bool take_word(struct parse *s, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(s->str + s->i, word, len) != 0)
		return false;
	s->i += len;
	return true;
}

static char *copy(const char *from, size_t len_bytes)
{
	char *text = hv_alloc(len_bytes + 1);

	memcpy(text, from, len_bytes);
	text[len_bytes] = '\0';
	return text;
}

/* -- the field --------------------------------------------------------------------------------- */

static enum form form_of(const char *type)
{
	static const enum form forms[] = {
		[HV_FIELD_NUMBER] = NUMBER,   [HV_FIELD_ARRAY] = ARRAY,
		[HV_FIELD_DYNAMIC] = DYNAMIC, [HV_FIELD_RELATIVE] = RELATIVE,
		[HV_FIELD_POINTER] = POINTER, [HV_FIELD_CPUMASK] = CPUMASK,
	};

	return forms[hv_field_form_of(type)];
}

static bool is_text(enum form form)
{
	return form == ARRAY || form == DYNAMIC || form == RELATIVE || form == POINTER ||
	       form == COMM;
}

/* Fields that all events have but that are not in the record (trace_find_event_field,
 * ftrace_generic_fields). */
static bool find_generic(struct parse *s, const char *name)
{
	if (strcmp(name, "CPU") == 0 || strcmp(name, "cpu") == 0)
		s->form = CPU;
	else if (strcmp(name, "COMM") == 0 || strcmp(name, "comm") == 0)
		s->form = COMM;
	else
		return false;
	s->p->is_signed = s->form == CPU;
	return true;
}

static bool find_field(struct parse *s, const char *name)
{
	const struct hv_event_field *field =
		hv_event_type_field(s->scope->catalogue, s->scope->type, name);

	if (!field)
		return find_generic(s, name);
	s->form = form_of(field->type);
	s->p->off = field->off;
	s->p->size_bytes = field->size_bytes;
	s->p->is_signed = field->is_signed;
	return true;
}

static bool parse_field(struct parse *s)
{
	HV_AUTO_FREE char *name = NULL;
	size_t begin;

	skip_space(s);
	begin = s->i;
	while (isalnum((unsigned char)s->str[s->i]) || s->str[s->i] == '_')
		s->i++;
	if (s->i == begin) {
		*s->fault = (struct hv_filter_fault){EPERM, NULL, 0};
		return false;
	}
	name = copy(s->str + begin, s->i - begin);
	return find_field(s, name) || fail(s, "Field not found");
}

static bool parse_op(struct parse *s)
{
	static const char *const words[HV_NR_FILTER_OPS] = {
		[HV_FILTER_GLOB] = "~", [HV_FILTER_NE] = "!=", [HV_FILTER_EQ] = "==",
		[HV_FILTER_LE] = "<=",	[HV_FILTER_LT] = "<",  [HV_FILTER_GE] = ">=",
		[HV_FILTER_GT] = ">",	[HV_FILTER_AND] = "&",
	};

	skip_space(s);
	for (unsigned op = 0; op < HV_NR_FILTER_OPS; op++) {
		if (!take_word(s, words[op]))
			continue;
		s->p->op = (enum hv_filter_op)op;
		skip_space(s);
		return true;
	}
	return fail(s, "Invalid operator");
}

/* -- the value --------------------------------------------------------------------------------- */

/* Parses the number from BEGIN to the current offset. Only signed fields accept a sign. */
static bool number_value(const struct parse *s, size_t begin, bool is_signed, uint64_t *ret)
{
	HV_AUTO_FREE char *text = copy(s->str + begin, s->i - begin);
	bool minus = is_signed && text[0] == '-';
	uint64_t value, max = is_signed ? (uint64_t)INT64_MAX + minus : UINT64_MAX;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!isdigit((unsigned char)text[minus]))
		return false;
	err = hv_number_parse(text + minus, 0, &value);
	if (err || value > max)
		return false;
	*ret = minus ? -value : value;
	return true;
}

static bool is_number_size(uint32_t size_bytes)
{
	return size_bytes == 1 || size_bytes == 2 || size_bytes == 4 || size_bytes == 8;
}

static bool parse_number(struct parse *s)
{
	size_t begin = s->i;

	if (is_text(s->form))
		return fail(s, "Expecting string field");
	if (s->p->op == HV_FILTER_GLOB)
		return fail_op(s);
	s->i += s->str[s->i] == '-';
	while (isalnum((unsigned char)s->str[s->i]))
		s->i++;
	if (s->i - begin > NUMBER_LEN_MAX)
		return fail(s, "Operand too long");
	if (!number_value(s, begin, s->p->is_signed, &s->p->value))
		return fail_at(s, begin, "Illegal integer value");
	if (s->form == CPU)
		s->p->kind = HV_PREDICATE_CPU;
	else if (is_number_size(s->p->size_bytes))
		s->p->kind = HV_PREDICATE_NUMBER;
	return true;
}

static enum hv_predicate_kind text_kind(enum form form)
{
	switch (form) {
	case ARRAY:
		return HV_PREDICATE_ARRAY;
	case DYNAMIC:
		return HV_PREDICATE_DYNAMIC;
	case RELATIVE:
		return HV_PREDICATE_RELATIVE;
	case POINTER:
		return HV_PREDICATE_POINTER;
	default:
		return HV_PREDICATE_COMM;
	}
}

/* filter_build_regex() */
static void take_text(struct hv_predicate *p, char *text)
{
	p->text = text;
	p->negated = p->op == HV_FILTER_NE;
	if (p->op == HV_FILTER_GLOB) {
		p->glob = hv_glob_parse(text);
		p->negated = p->glob.negated;
		if (p->glob.kind == HV_GLOB_INDEX)
			p->glob.kind = HV_GLOB_FULL;
		return;
	}
	p->glob = (struct hv_glob){.search = text, .len_bytes = strlen(text)};
}

static bool parse_text(struct parse *s)
{
	char quote = s->str[s->i];
	size_t begin = s->i + 1;

	if (s->p->op != HV_FILTER_NE && s->p->op != HV_FILTER_GLOB && s->p->op != HV_FILTER_EQ)
		return fail_op(s);
	if (!is_text(s->form))
		return fail(s, "Expecting numeric field");
	for (s->i++; s->str[s->i] && s->str[s->i] != quote;)
		s->i++;
	if (!s->str[s->i])
		return fail(s, "Missing matching quote");
	if (s->i - begin > TEXT_LEN_MAX)
		return fail(s, "Operand too long");
	take_text(s->p, copy(s->str + begin, s->i - begin));
	s->p->kind = text_kind(s->form);
	s->i++;
	return true;
}

/* Returns whether CPUS has exactly one CPU, and sets *RET to it. */
static bool is_single(const uint64_t *cpus, unsigned nr_cpus, uint64_t *ret)
{
	unsigned nr = 0;

	for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
		if (!hv_cpumask_has(cpus, cpu))
			continue;
		*ret = cpu;
		nr++;
	}
	return nr == 1;
}

/* A set of one CPU is compared as a number. & is then the same as ==. */
static void take_cpus(struct parse *s)
{
	struct hv_predicate *p = s->p;

	p->nr_cpus = s->scope->nr_cpus;
	if (s->form == CPUMASK) {
		p->kind = HV_PREDICATE_CPUMASK;
		return;
	}
	if (s->form != CPU && !is_number_size(p->size_bytes))
		return;
	p->kind = s->form == CPU ? HV_PREDICATE_CPU_OF : HV_PREDICATE_OF_CPUS;
	if (!is_single(p->cpus, p->nr_cpus, &p->value))
		return;
	p->kind = s->form == CPU ? HV_PREDICATE_CPU : HV_PREDICATE_NUMBER;
	p->is_signed = false;
	if (p->op == HV_FILTER_AND)
		p->op = HV_FILTER_EQ;
}

static bool parse_cpus(struct parse *s)
{
	HV_AUTO_FREE char *list = NULL;
	size_t begin;

	if (is_text(s->form))
		return fail_op(s);
	if (s->p->op != HV_FILTER_NE && s->p->op != HV_FILTER_AND && s->p->op != HV_FILTER_EQ)
		return fail_op(s);
	s->i += strlen("CPUS");
	if (s->str[s->i++] != '{')
		return fail(s, "Missing '{'");
	begin = s->i;
	while (s->str[s->i] && s->str[s->i] != '}')
		s->i++;
	if (!s->str[s->i])
		return fail(s, "Missing '}'");
	list = copy(s->str + begin, s->i - begin);
	s->p->cpus = *list ? hv_cpulist_parse(list, s->scope->nr_cpus) : NULL;
	if (!s->p->cpus)
		return fail(s, "Invalid cpulist");
	s->i++;
	take_cpus(s);
	return true;
}

static bool find_function(struct parse *s, struct hv_gva at)
{
	const struct hv_kernel *k = s->scope->kernel;
	const char *name, *module;
	uint64_t off;

	if (!hv_kernel_symbol_at(k, at, &name, &module, &off))
		return fail(s, "Function not found");
	s->p->value = at.v - off;
	s->p->end = s->p->value + hv_kernel_symbol_size(k, at);
	s->p->kind = HV_PREDICATE_RANGE;
	return true;
}

static bool parse_function(struct parse *s)
{
	HV_AUTO_FREE char *name = NULL;
	size_t begin = s->i;
	struct hv_gva at;

	if (s->p->size_bytes != sizeof(uint64_t))
		return fail_op(s);
	if (s->p->op != HV_FILTER_EQ && s->p->op != HV_FILTER_NE)
		return fail(s, "Invalid operator");
	if (isdigit((unsigned char)s->str[s->i])) {
		while (isalnum((unsigned char)s->str[s->i]))
			s->i++;
		if (s->i - begin > NUMBER_LEN_MAX)
			return fail(s, "Operand too long");
		if (!number_value(s, begin, false, &at.v))
			return fail(s, "Invalid value (did you forget quotes)?");
		return find_function(s, at);
	}
	while (s->str[s->i] && !isspace((unsigned char)s->str[s->i]))
		s->i++;
	name = copy(s->str + begin, s->i - begin);
	if (!hv_kernel_symbol(s->scope->kernel, name, &at))
		return fail(s, "Function not found");
	return find_function(s, at);
}

static bool parse_value(struct parse *s)
{
	char c = s->str[s->i];

	if (strncmp(s->str + s->i, "CPUS", strlen("CPUS")) == 0)
		return parse_cpus(s);
	if (c == '\'' || c == '"')
		return parse_text(s);
	if (isdigit((unsigned char)c) || c == '-')
		return parse_number(s);
	return fail(s, "Invalid value (did you forget quotes)?");
}

static bool parse(struct parse *s)
{
	bool of_user, of_function;

	if (!parse_field(s))
		return false;
	of_user = take_word(s, ".ustring");
	of_function = take_word(s, ".function");
	if (!parse_op(s))
		return false;
	if (of_user && s->form == POINTER) {
		*s->fault = (struct hv_filter_fault){
			EOPNOTSUPP, "Strings of user space cannot be read from outside",
			s->first + s->i};
		return false;
	}
	return of_function ? parse_function(s) : parse_value(s);
}

bool hv_predicate_parse(const struct hv_filter_scope *scope, const char *filter, size_t at,
			struct hv_predicate *ret, size_t *ret_len,
			struct hv_filter_fault *ret_fault)
{
	struct hv_predicate p = {.kind = HV_PREDICATE_NEVER};
	struct parse s = {
		.scope = scope,
		.str = filter + at,
		.first = at + 1,
		.p = &p,
		.fault = ret_fault,
	};

	if (!parse(&s)) {
		hv_predicate_deinit(&p);
		return false;
	}
	*ret = p;
	*ret_len = s.i;
	return true;
}

void hv_predicate_deinit(struct hv_predicate *p)
{
	free(p->text);
	free(p->cpus);
}
