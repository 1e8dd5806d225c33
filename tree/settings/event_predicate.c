/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/event_predicate.h"

#include <ctype.h>
#include <string.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "kernel/events/print_values.h"
#include "kernel/kernel.h"
#include "tree/settings/event_set.h"
#include "tree/settings/token.h"

/* -- lists of CPUs ----------------------------------------------------------------------------- */

/* The first USED of each GROUP CPUs from FIRST to LAST. */
struct region {
	uint64_t first, last, used, group;
};

static bool is_end(char c)
{
	return c == '\0' || c == ',' || c == ' ' || (c >= '\t' && c <= '\r');
}

/* Parses a number at *AT. "N" is the last CPU. */
static bool take_number(const char **at, unsigned nr_cpus, uint64_t *ret)
{
	const char *digits = *at;
	uint64_t value = 0;

	if (**at == 'N') {
		++*at;
		*ret = nr_cpus - 1;
		return true;
	}
	for (; **at >= '0' && **at <= '9'; ++*at) {
		value = value * 10 + (uint64_t)(**at - '0');
		if (value > UINT32_MAX)
			return false;
	}
	*ret = value;
	return *at != digits;
}

static bool take_range(const char **at, unsigned nr_cpus, struct region *r)
{
	if (hv_starts_with(*at, "all") && (is_end((*at)[3]) || (*at)[3] == ':')) {
		*at += 3;
		r->last = nr_cpus - 1;
		return true;
	}
	if (!take_number(at, nr_cpus, &r->first))
		return false;
	r->last = r->first;
	if (**at != '-')
		return is_end(**at);
	++*at;
	return take_number(at, nr_cpus, &r->last);
}

static bool take_region(const char **at, unsigned nr_cpus, struct region *r)
{
	*r = (struct region){.used = 1, .group = 1};
	if (!take_range(at, nr_cpus, r))
		return false;
	if (**at == ':') {
		++*at;
		if (!take_number(at, nr_cpus, &r->used) || *(*at)++ != '/' ||
		    !take_number(at, nr_cpus, &r->group))
			return false;
	}
	return is_end(**at) && r->first <= r->last && r->last < nr_cpus && r->group &&
	       r->used <= r->group;
}

uint64_t *hv_cpulist_parse(const char *list, unsigned nr_cpus)
{
	HV_AUTO_FREE uint64_t *mask = hv_alloc(hv_cpumask_words(nr_cpus) * sizeof(*mask));
	struct region r;

	while (*list) {
		if (is_end(*list)) {
			list++;
			continue;
		}
		if (!take_region(&list, nr_cpus, &r))
			return NULL;
		for (uint64_t cpu = r.first; cpu <= r.last; cpu++)
			if ((cpu - r.first) % r.group < r.used)
				mask[cpu / 64] |= UINT64_C(1) << cpu % 64;
	}
	return hv_take(mask);
}

/* -- parsing a predicate ----------------------------------------------------------------------- */

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
	if (!hv_starts_with(s->str + s->i, word))
		return false;
	s->i += strlen(word);
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

	if (hv_starts_with(s->str + s->i, "CPUS"))
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

/* -- evaluating a predicate -------------------------------------------------------------------- */

/* Evaluates predicates for a record (filter_pred_*, regex_match_*). */

#define POINTED_MAX 1024 /* USTRING_BUF_SIZE */

/* -- numbers ----------------------------------------------------------------------------------- */

static uint64_t extend(uint64_t value, uint32_t size_bytes, bool is_signed)
{
	unsigned shift = 64 - 8 * size_bytes;

	return is_signed ? (uint64_t)((int64_t)(value << shift) >> shift) : value << shift >> shift;
}

/* SIZE_BYTES is 1, 2, 4 or 8. */
static bool read_number(struct hv_span entry, uint32_t off, uint32_t size_bytes, uint64_t *ret)
{
	*ret = 0;
	return hv_span_copy(entry, off, ret, size_bytes);
}

static bool compare(enum hv_filter_op op, bool is_signed, uint64_t a, uint64_t b)
{
	bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (op) {
	case HV_FILTER_EQ:
		return a == b;
	case HV_FILTER_NE:
		return a != b;
	case HV_FILTER_LT:
		return less;
	case HV_FILTER_LE:
		return less || a == b;
	case HV_FILTER_GT:
		return !less && a != b;
	case HV_FILTER_GE:
		return !less;
	case HV_FILTER_AND:
		return a & b;
	default:
		return false;
	}
}

static bool number_holds(const struct hv_predicate *p, struct hv_span entry)
{
	uint64_t value;

	if (!read_number(entry, p->off, p->size_bytes, &value))
		return false;
	return compare(p->op, p->is_signed, extend(value, p->size_bytes, p->is_signed),
		       extend(p->value, p->size_bytes, p->is_signed));
}

static bool range_holds(const struct hv_predicate *p, struct hv_span entry)
{
	uint64_t value;
	bool inside;

	if (!hv_span_u64(entry, p->off, &value))
		return false;
	inside = value >= p->value && value < p->end;
	return inside == (p->op == HV_FILTER_EQ);
}

/* The kernel does not implement & for raw_smp_processor_id() (filter_pred_cpu). */
static bool cpu_holds(const struct hv_predicate *p, unsigned cpu)
{
	/* Parsed as a 64-bit number, but the kernel compares an int. */
	int32_t than = (int32_t)p->value;

	return p->op != HV_FILTER_AND && compare(p->op, true, cpu, (uint64_t)(int64_t)than);
}

/* -- sets of CPUs ------------------------------------------------------------------------------ */

/* For CPUS with several CPUs or none (do_filter_scalar_cpumask). */
static bool is_of_cpus(const struct hv_predicate *p, uint64_t cpu)
{
	if (cpu >= p->nr_cpus)
		return false;
	return p->op == HV_FILTER_AND ? hv_cpumask_has(p->cpus, cpu) : p->op == HV_FILTER_NE;
}

static bool of_cpus_holds(const struct hv_predicate *p, struct hv_span entry)
{
	uint64_t value;

	if (!read_number(entry, p->off, p->size_bytes, &value))
		return false;
	return is_of_cpus(p, (uint32_t)value);
}

static uint64_t mask_word(struct hv_span mask, size_t word, unsigned nr_cpus)
{
	unsigned nr_bits = nr_cpus - (unsigned)word * 64;
	uint64_t bits = 0;

	hv_span_copy(mask, word * 8, &bits, 8);
	return nr_bits < 64 ? bits & ((UINT64_C(1) << nr_bits) - 1) : bits;
}

/* -- texts ------------------------------------------------------------------------------------- */

/* Finds the string of a __data_loc field or, if RELATIVE, of a __rel_loc field. The span extends to
 * the end of the entry; *RET_LEN is the length from the field, unchecked. */
static bool find_dynamic(const struct hv_predicate *p, struct hv_span entry, struct hv_span *ret,
			 size_t *ret_len)
{
	bool relative = p->kind == HV_PREDICATE_RELATIVE;
	uint32_t item;
	size_t off;

	if (!hv_span_u32(entry, p->off, &item))
		return false;
	off = (item & 0xffff) + (relative ? p->off + sizeof(item) : 0);
	if (off > entry.len_bytes)
		return false;
	*ret = (struct hv_span){entry.data + off, entry.len_bytes - off};
	*ret_len = item >> 16;
	return true;
}

static bool cpumask_holds(const struct hv_predicate *p, struct hv_span entry)
{
	bool same = true, common = false;
	struct hv_span mask;
	size_t len;

	if (!find_dynamic(p, entry, &mask, &len))
		return false;
	for (size_t i = 0; i < hv_cpumask_words(p->nr_cpus); i++) {
		uint64_t word = mask_word(mask, i, p->nr_cpus);

		same &= word == p->cpus[i];
		common |= (word & p->cpus[i]) != 0;
	}
	if (p->op == HV_FILTER_AND)
		return common;
	return same == (p->op == HV_FILTER_EQ);
}

/* Like hv_glob_match(), for a shell pattern and a text that may lack a NUL. */
static bool match_shell(const struct hv_glob *glob, struct hv_span text)
{
	size_t len = strnlen((const char *)text.data, text.len_bytes);
	char *name = hv_alloc(len + 1);
	bool matches;

	memcpy(name, text.data, len);
	name[len] = '\0';
	matches = hv_glob_match(glob, name);
	free(name);
	return matches;
}

/* strncmp() for a text that may lack a NUL: returns whether TEXT equals PATTERN in the first LEN
 * bytes. */
static bool same_text(struct hv_span text, const char *pattern, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = i < text.len_bytes ? (char)text.data[i] : '\0';

		if (c != pattern[i])
			return false;
		if (!c)
			return true;
	}
	return true;
}

/* LEN is the length of the field including a NUL; 0: up to a NUL. TEXT extends to the end of the
 * entry, because the kernel reads beyond the field in one case: a shell pattern on an array without
 * a NUL. */
static bool match(const struct hv_glob *glob, struct hv_span text, size_t len)
{
	size_t nr = glob->len_bytes;

	if (glob->kind == HV_GLOB_SHELL)
		return match_shell(glob, text);
	if (glob->kind == HV_GLOB_SUFFIX && len <= nr)
		return false;
	if (!len)
		len = strnlen((const char *)text.data, text.len_bytes) + 1;
	switch (glob->kind) {
	case HV_GLOB_PREFIX:
		return len >= nr && same_text(text, glob->search, nr);
	case HV_GLOB_SUFFIX:
		return text.len_bytes >= len - 1 &&
		       memcmp(text.data + len - 1 - nr, glob->search, nr) == 0;
	case HV_GLOB_SUBSTRING:
		if (len > text.len_bytes)
			len = text.len_bytes;
		return memmem(text.data, len, glob->search, nr) != NULL;
	default:
		return same_text(text, glob->search, len);
	}
}

static bool pointed_holds(const struct hv_predicate *p, const struct hv_filter_record *record)
{
	char text[POINTED_MAX];
	uint64_t at;

	if (!record->kernel || !hv_span_u64(record->entry, p->off, &at) ||
	    !hv_print_value_string(record->kernel, hv_gva(at), text, sizeof(text)))
		return false;
	text[sizeof(text) - 1] = '\0';
	return match(&p->glob, (struct hv_span){(const uint8_t *)text, sizeof(text)},
		     strlen(text) + 1) != p->negated;
}

static bool text_holds(const struct hv_predicate *p, const struct hv_filter_record *record)
{
	struct hv_span text = {(const uint8_t *)record->comm, HV_COMM_LEN};
	size_t len = HV_COMM_LEN;

	if (p->kind == HV_PREDICATE_ARRAY) {
		if (!hv_span_has(record->entry, p->off, p->size_bytes))
			return false;
		len = p->size_bytes;
		text = (struct hv_span){record->entry.data + p->off,
					record->entry.len_bytes - p->off};
	} else if (p->kind != HV_PREDICATE_COMM && !find_dynamic(p, record->entry, &text, &len)) {
		return false;
	}
	return match(&p->glob, text, len) != p->negated;
}

bool hv_predicate_holds(const struct hv_predicate *p, const struct hv_filter_record *record)
{
	switch (p->kind) {
	case HV_PREDICATE_NEVER:
		return false;
	case HV_PREDICATE_NUMBER:
		return number_holds(p, record->entry);
	case HV_PREDICATE_OF_CPUS:
		return of_cpus_holds(p, record->entry);
	case HV_PREDICATE_RANGE:
		return range_holds(p, record->entry);
	case HV_PREDICATE_CPU:
		return cpu_holds(p, record->cpu);
	case HV_PREDICATE_CPU_OF:
		return is_of_cpus(p, record->cpu);
	case HV_PREDICATE_CPUMASK:
		return cpumask_holds(p, record->entry);
	case HV_PREDICATE_POINTER:
		return pointed_holds(p, record);
	default:
		return text_holds(p, record);
	}
}
