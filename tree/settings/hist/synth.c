/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/hist/synth.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/prefix.h"
#include "tree/settings/token.h"

#define SPACES	     " \t\n\v\f\r"
#define DYNAMIC	     "__data_loc "
#define UNSIGNED     "unsigned"
#define DYNAMIC_MARK "s:"
#define DIGITS_MAX   3
#define WORD	     8u
#define FAULT	     "(fault)"
#define BAD_NAME     "Illegal name"
#define BAD_COMMAND  "Command must be of the form: <name> field[;field] ..."

/* Number types. */
static const struct {
	const char *name;
	uint32_t size_bytes;
	const char *format;
} numbers[] = {
	{"s64", 8, "%lld"}, {"u64", 8, "%llu"},
	{"s32", 4, "%d"},   {"u32", 4, "%u"},
	{"s16", 2, "%d"},   {"u16", 2, "%u"},
	{"s8", 1, "%d"},    {"u8", 1, "%u"},
	{"char", 1, "%d"},  {"unsigned char", 1, "%u"},
	{"int", 4, "%d"},   {"unsigned int", 4, "%u"},
	{"long", 8, "%ld"}, {"bool", 1, "%d"},
	{"pid_t", 4, "%d"}, {"unsigned long", 8, "%lu"},
	{"gfp_t", 4, "%x"},
};

/* Parser state for one definition. */
struct parse {
	const char *command; /* the text in which the kernel counts offsets */
	struct hv_synth *synth;
	struct hv_synth_fault fault;
};

/* Words of a field; each word is owned. */
struct words {
	char **list;
	size_t nr;
};

static void words_deinit(struct words *w)
{
	for (size_t i = 0; i < w->nr; i++)
		free(w->list[i]);
	free(w->list);
}

static struct words split(const char *text, size_t len)
{
	HV_AUTO_FREE char *copy = hv_format("%.*s", (int)len, text);
	struct words w = {.list = hv_alloc((len + 1) * sizeof(*w.list))};
	char *rest = copy, *word;

	while ((word = strsep(&rest, SPACES)))
		if (*word)
			w.list[w.nr++] = hv_strdup(word);
	return w;
}

static bool fail(struct parse *p, int code, const char *why, const char *marked)
{
	const char *found = strstr(p->command, marked);

	p->fault = (struct hv_synth_fault){code, why, found ? (size_t)(found - p->command) : 0};
	return false;
}

void hv_synth_deinit(struct hv_synth *s)
{
	for (unsigned i = 0; i < s->nr_fields; i++) {
		free(s->fields[i].name);
		free(s->fields[i].type);
	}
	free(s->name);
}

/* -- fields ------------------------------------------------------------------------------------ */

const char *hv_synth_number_format(const char *type)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(numbers); i++)
		if (strcmp(numbers[i].name, type) == 0)
			return numbers[i].format;
	return "%llu";
}

bool hv_synth_is_stack_type(const char *type)
{
	return strstr(type, "long[") != NULL;
}

static bool is_text(const char *type)
{
	return strstr(type, "char[") != NULL;
}

/* is_good_name() */
static bool is_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	return true;
}

/* synth_field_string_size(). Returns false if there is no valid size. */
static bool find_text_size(const char *type, uint32_t *ret)
{
	const char *start = strstr(type, "char[") + strlen("char[");
	const char *end = strchr(type, ']');
	HV_AUTO_FREE char *digits = NULL;
	struct hv_err *err;
	uint64_t value;

	*ret = 0;
	if (!end || end < start || end[1] || end - start > DIGITS_MAX)
		return false;
	if (end == start)
		return true;
	digits = hv_format("%.*s", (int)(end - start), start);
	err = hv_number_parse(digits, 0, &value);
	if (err || value > HV_HIST_TEXT_BYTES) {
		hv_err_free(err);
		return false;
	}
	*ret = (uint32_t)value;
	return true;
}

/* Sets the size of F; 0 if it is dynamic (synth_field_size). */
static bool find_size(struct hv_synth_field *f)
{
	f->is_text = is_text(f->type);
	f->is_stack = !f->is_text && hv_synth_is_stack_type(f->type);
	if (f->is_text)
		return find_text_size(f->type, &f->size_bytes);
	for (size_t i = 0; i < HV_ARRAY_LEN(numbers); i++)
		if (strcmp(numbers[i].name, f->type) == 0)
			f->size_bytes = numbers[i].size_bytes;
	return true;
}

static void make_dynamic(struct hv_synth_field *f)
{
	char *type = hv_format(DYNAMIC "%s", f->type);

	free(f->type);
	f->type = type;
	f->is_dynamic = true;
	f->size_bytes = WORD;
}

/* Assigns the field's offset in an entry (synth_event_define_fields). */
static void lay_out(struct hv_synth *s, struct hv_synth_field *f)
{
	f->off = s->fields_bytes;
	s->fields_bytes += f->is_text && !f->is_dynamic ? HV_HIST_TEXT_BYTES : WORD;
}

/* TYPE and NAME are as written; NAME may end with an array size (parse_synth_field). */
static bool take_field(struct parse *p, const char *prefix, const char *type, const char *name)
{
	struct hv_synth *s = p->synth;
	struct hv_synth_field *f = &s->fields[s->nr_fields];
	const char *array = name + strcspn(name, "[");

	if (s->nr_fields == HV_SYNTH_FIELDS_MAX)
		return fail(p, EINVAL, "Too many fields", "");
	*f = (struct hv_synth_field){
		.name = hv_format("%.*s", (int)(array - name), name),
		.type = hv_format("%s%s%s", prefix, type, array),
	};
	s->nr_fields++;
	if (!is_name(f->name))
		return fail(p, EINVAL, BAD_NAME, name);
	if (!find_size(f))
		return *array ? fail(p, EINVAL, "Invalid array specification", name)
			      : fail(p, EINVAL, "Invalid type", type);
	if (!f->size_bytes && !f->is_text && !f->is_stack)
		return fail(p, EINVAL, "Invalid type", type);
	if (!f->size_bytes)
		make_dynamic(f);
	f->is_signed = f->type[0] != 'u' && strcmp(f->type, "gfp_t") != 0;
	lay_out(s, f);
	return true;
}

/* Several fields may appear between semicolons. */
static bool take_fields(struct parse *p, const struct words *w)
{
	for (size_t i = 0; i < w->nr;) {
		bool has_prefix = strcmp(w->list[i], UNSIGNED) == 0;
		const char *prefix = has_prefix ? UNSIGNED " " : "";

		if (has_prefix && w->nr - i < 3)
			return fail(p, EINVAL, "Incomplete type", w->list[i]);
		i += has_prefix;
		if (w->nr - i < 2)
			return fail(p, EINVAL, "Invalid field", w->list[i]);
		if (!take_field(p, prefix, w->list[i], w->list[i + 1]))
			return false;
		i += 2;
	}
	return true;
}

/* -- definitions ------------------------------------------------------------------------------- */

bool hv_synth_is_dynamic(const char *text)
{
	text += strspn(text, SPACES);
	return hv_starts_with(text, DYNAMIC_MARK);
}

/* Removes the prefix that precedes the event's name in dynamic_events, "s:" or "s:synthetic/". */
static bool cut_mark(struct parse *p, const char **text)
{
	static const char system[] = HV_SYNTH_SYSTEM "/";
	size_t len;

	if (!hv_synth_is_dynamic(*text))
		return true;
	if (!strpbrk(*text, " \t"))
		return fail(p, EINVAL, BAD_COMMAND, "");
	*text += strlen(DYNAMIC_MARK);
	len = strcspn(*text, SPACES);
	if (!memchr(*text, '/', len))
		return true;
	if (!hv_starts_with(*text, system))
		return fail(p, EINVAL,
			    "Command must be of the form: s or -:[synthetic/]<name> "
			    "field[;field] ...",
			    "");
	*text += strlen(system);
	return true;
}

/* The first part must have a name and a field (check_command). */
static bool has_field(const char *text)
{
	struct words w = split(text, strcspn(text, ";"));
	bool has = w.nr >= 3;

	words_deinit(&w);
	return has;
}

static bool parse(struct parse *p, const char *text)
{
	struct hv_synth *s = p->synth;
	size_t len;

	if (!cut_mark(p, &text))
		return false;
	len = strcspn(text, " \t");
	if (!has_field(text) || !text[len])
		return fail(p, EINVAL, BAD_COMMAND, "");
	s->name = hv_format("%.*s", (int)len, text);
	if (!is_name(s->name))
		return fail(p, EINVAL, BAD_NAME, s->name);
	for (text += len; *text; text += len + (text[len] == ';')) {
		struct words w;
		bool is_right;

		len = strcspn(text, ";");
		w = split(text, len);
		is_right = take_fields(p, &w);
		words_deinit(&w);
		if (!is_right)
			return false;
	}
	return true;
}

bool hv_synth_parse(const char *text, struct hv_synth *ret, struct hv_synth_fault *ret_fault)
{
	struct hv_synth s = {.stack_depth = HV_HIST_STACK_USUAL};
	struct parse p = {.synth = &s};

	text += strspn(text, SPACES);
	p.command = text;
	if (parse(&p, text)) {
		*ret = s;
		return true;
	}
	hv_synth_deinit(&s);
	*ret_fault = p.fault;
	return false;
}

/* -- texts ------------------------------------------------------------------------------------- */

void hv_synth_text(const struct hv_synth *s, struct hv_text *ret)
{
	hv_text_printf(ret, "%s\t", s->name);
	for (unsigned i = 0; i < s->nr_fields; i++) {
		const struct hv_synth_field *f = &s->fields[i];

		hv_text_printf(ret, "%s %s%s", f->type + (f->is_dynamic ? strlen(DYNAMIC) : 0),
			       f->name, i == s->nr_fields - 1 ? "\n" : "; ");
	}
}

void hv_synth_print_fmt(const struct hv_synth *s, const char *between, struct hv_text *ret)
{
	hv_text_add(ret, "\"");
	for (unsigned i = 0; i < s->nr_fields; i++)
		hv_text_printf(ret, "%s%s=%s", i ? between : "", s->fields[i].name,
			       s->fields[i].is_text || s->fields[i].is_stack
				       ? "%s"
				       : hv_synth_number_format(s->fields[i].type));
	hv_text_add(ret, "\"");
	for (unsigned i = 0; i < s->nr_fields; i++)
		hv_text_printf(ret,
			       s->fields[i].is_stack	 ? ", __get_stacktrace(%s)"
			       : s->fields[i].is_dynamic ? ", __get_str(%s)"
							 : ", REC->%s",
			       s->fields[i].name);
}

/* -- entries ----------------------------------------------------------------------------------- */

static const char *text_of(const struct hv_hist_value *value)
{
	return value->text ? value->text : FAULT;
}

/* FIELD has room for HV_HIST_TEXT_BYTES and is zeroed. */
static void put_fixed(const char *text, uint8_t *field)
{
	size_t len = strnlen(text, HV_HIST_TEXT_BYTES - 1);

	memcpy(field, text, len);
}

/* Stores the string after all fields, at *END, and its location in the field (trace_string). */
static bool put_dynamic(const char *text, uint8_t *field, uint8_t *entry, uint32_t *end,
			uint32_t max_bytes)
{
	uint32_t len = (uint32_t)strnlen(text, HV_HIST_TEXT_BYTES - 1) + 1, loc;

	if (len > max_bytes - *end)
		return false;
	loc = len << 16 | *end;
	memcpy(field, &loc, sizeof(loc));
	memcpy(entry + *end, text, len - 1);
	entry[*end + len - 1] = '\0';
	*end += len;
	return true;
}

/* Like put_dynamic(), for a stack, which begins with the number of addresses; a full stack loses
 * its last address (trace_stack). */
static bool put_stack(const uint64_t *stack, unsigned depth, uint8_t *field, uint8_t *entry,
		      uint32_t *end, uint32_t max_bytes)
{
	uint64_t words[HV_HIST_STACK_MAX] = {0};
	uint32_t nr = 0, len, loc;

	while (stack && nr < depth && stack[nr])
		nr++;
	words[0] = nr;
	for (uint32_t i = 0; i < nr && i < depth - 1; i++)
		words[1 + i] = stack[i];
	len = nr ? (nr < depth ? nr + 1 : nr) * WORD : 0;
	if (len > max_bytes - *end)
		return false;
	loc = len << 16 | *end;
	memcpy(field, &loc, sizeof(loc));
	memcpy(entry + *end, words, len);
	*end += len;
	return true;
}

uint32_t hv_synth_fill(const struct hv_synth *s, const struct hv_hist_value *values,
		       uint32_t fields_off, uint8_t *entry, uint32_t max_bytes)
{
	uint32_t end = fields_off + s->fields_bytes;

	if (end > max_bytes)
		return 0;
	memset(entry + fields_off, 0, s->fields_bytes);
	for (unsigned i = 0; i < s->nr_fields; i++) {
		const struct hv_synth_field *f = &s->fields[i];
		uint8_t *field = entry + fields_off + f->off;

		if (f->is_stack) {
			if (!put_stack(values[i].stack, s->stack_depth, field, entry, &end,
				       max_bytes))
				return 0;
		} else if (!f->is_text)
			memcpy(field, &values[i].number, f->size_bytes);
		else if (!f->is_dynamic)
			put_fixed(text_of(&values[i]), field);
		else if (!put_dynamic(text_of(&values[i]), field, entry, &end, max_bytes))
			return 0;
	}
	return end;
}
