/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/hist_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tree/settings/token.h"

#define SPACES	 " \t\n\v\f\r"
#define BLANKS	 " \t"
#define COMMAND	 "hist"
#define SIZE_MIN (1u << 7)
#define SIZE	 (1u << 11) /* TRACING_MAP_BITS_DEFAULT */
#define WORD	 8u

/* The parts of a trigger between colons that are read after all of them are known. They are owned,
 * and changed while they are read. */
struct parts {
	char *keys, *values, *sort;
};

static void parts_deinit(struct parts *parts)
{
	free(parts->keys);
	free(parts->values);
	free(parts->sort);
}

void hv_hist_spec_deinit(struct hv_hist_spec *s)
{
	for (unsigned i = 0; i < s->nr_values; i++)
		hv_hist_field_free(s->values[i]);
	for (unsigned i = 0; i < s->nr_keys; i++)
		hv_hist_field_free(s->keys[i]);
	free(s->name);
	free(s->clock);
	free(s->filter);
}

/* A wrong trigger for which the kernel has no words. */
static bool fail(struct hv_hist_parse *p, int code)
{
	return hv_hist_fail(p, code, NULL, "");
}

/* -- the command and the filter ---------------------------------------------------------------- */

static const char *skip_command(const char *text)
{
	text += strspn(text, SPACES);
	text += *text == '!';
	return strncmp(text, COMMAND, strlen(COMMAND)) == 0 ? text + strlen(COMMAND) : NULL;
}

bool hv_hist_spec_is(const char *text)
{
	const char *rest = skip_command(text);

	return rest && (!*rest || strchr(":" BLANKS, *rest));
}

const char *hv_hist_spec_rest(const char *text)
{
	const char *rest = skip_command(text);

	if (!*rest)
		return NULL;
	rest++;
	rest += strspn(rest, SPACES);
	return *rest ? rest : NULL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Cuts " if FILTER" off REST. *RET_FILTER is the filter in REST; NULL: there is none. */
static bool cut_filter(struct hv_hist_parse *p, char *rest, char **ret_filter)
{
	char *end = rest + strlen(rest);

	*ret_filter = NULL;
	for (char *at = strstr(rest, "if"); at; at = strstr(at + 1, "if")) {
		if (at == rest)
			return fail(p, EINVAL);
		if (!is_blank(at[-1]))
			continue;
		if (at + strlen("if") + 1 >= end)
			return fail(p, EINVAL);
		if (!is_blank(at[strlen("if")]))
			continue;
		at[-1] = '\0';
		*ret_filter = at + strlen("if") + 1;
		return true;
	}
	return true;
}

/* The '-' of sym-offset is no operator. */
static void protect_offsets(char *rest)
{
	static const char modifier[] = ".sym-offset";

	for (char *at = strstr(rest, modifier); at; at = strstr(at + strlen(modifier), modifier))
		at[strlen(".sym")] = 'X';
}

static char *strip(char *text)
{
	size_t len;

	text += strspn(text, SPACES);
	len = strlen(text);
	while (len && strchr(SPACES, text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* -- what is between colons -------------------------------------------------------------------- */

static void replace(char **at, const char *text)
{
	free(*at);
	*at = hv_strdup(text);
}

static bool take_size(struct hv_hist_parse *p, struct hv_hist_spec *s, const char *text)
{
	uint64_t value;
	struct hv_err *err = hv_number_parse(text, 0, &value);
	int code = err ? err->code : EINVAL;

	if (err || value > HV_HIST_SIZE_MAX || value <= SIZE_MIN / 2) {
		hv_err_free(err);
		return fail(p, code);
	}
	for (s->size = SIZE_MIN; s->size < value;)
		s->size *= 2;
	return true;
}

/* PART is NAME=TEXT (parse_assignment). */
static bool take_assignment(struct hv_hist_parse *p, struct hv_hist_spec *s, struct parts *parts,
			    char *part)
{
	size_t name_len = strcspn(part, "=");
	HV_AUTO_FREE char *name = hv_format("%.*s", (int)name_len, part);
	char *text = part + name_len + 1;

	if (!*text)
		return hv_hist_fail(p, EINVAL, "Empty assignment", part);
	if (strcmp(name, "key") == 0 || strcmp(name, "keys") == 0)
		replace(&parts->keys, text);
	else if (strcmp(name, "val") == 0 || strcmp(name, "vals") == 0 ||
		 strcmp(name, "values") == 0)
		replace(&parts->values, text);
	else if (strcmp(name, "sort") == 0)
		replace(&parts->sort, text);
	else if (strcmp(name, "name") == 0)
		replace(&s->name, part);
	else if (strcmp(name, "clock") == 0)
		replace(&s->clock, strip(text));
	else if (strcmp(name, "size") == 0)
		return take_size(p, s, text);
	else
		return hv_hist_fail(p, EOPNOTSUPP, "Variables are not supported", part);
	return true;
}

static bool take_word(struct hv_hist_parse *p, struct hv_hist_spec *s, const char *word)
{
	static const char *const actions[] = {"onmatch(", "onmax(", "onchange("};
	const struct {
		const char *word;
		bool *flag;
	} flags[] = {{"pause", &s->pauses},	      {"cont", &s->continues},
		     {"continue", &s->continues},     {"clear", &s->clears},
		     {"nohitcount", &s->no_hitcount}, {"NOHC", &s->no_hitcount}};

	for (size_t i = 0; i < HV_ARRAY_LEN(flags); i++) {
		if (strcmp(word, flags[i].word) != 0)
			continue;
		*flags[i].flag = true;
		return true;
	}
	for (size_t i = 0; i < HV_ARRAY_LEN(actions); i++)
		if (strncmp(word, actions[i], strlen(actions[i])) == 0)
			return hv_hist_fail(p, EOPNOTSUPP, "Actions are not supported", word);
	return fail(p, EINVAL);
}

/* parse_hist_trigger_attrs() */
static bool take_parts(struct hv_hist_parse *p, struct hv_hist_spec *s, struct parts *parts,
		       char *rest)
{
	char *part;

	while ((part = strsep(&rest, ":")))
		if (!(strchr(part, '=') ? take_assignment(p, s, parts, part)
					: take_word(p, s, part)))
			return false;
	return parts->keys || fail(p, EINVAL);
}

/* -- keys, values, sorts ----------------------------------------------------------------------- */

/* hitcount is a value in any case. */
static bool take_values(struct hv_hist_parse *p, struct hv_hist_spec *s, char *values)
{
	char hitcount[] = "hitcount";
	char *value = NULL;

	s->values[s->nr_values++] = hv_hist_field_parse(p, hitcount, HV_HIST_VALUE);
	for (unsigned i = 0; i < HV_HIST_VALUES_MAX && s->nr_values < HV_HIST_VALUES_MAX; i++) {
		value = strsep(&values, ",");
		if (!value)
			break;
		if (strcmp(value, hitcount) == 0)
			continue;
		s->values[s->nr_values] = hv_hist_field_parse(p, value, HV_HIST_VALUE);
		if (!s->values[s->nr_values])
			return false;
		s->nr_values++;
	}
	if (s->nr_values == 1 && s->no_hitcount)
		return hv_hist_fail(p, ENOENT, "Non-hitcount value is required for 'nohitcount'",
				    "");
	return !values || strcmp(values, hitcount) == 0 || fail(p, EINVAL);
}

static uint32_t key_bytes_of(const struct hv_hist_field *f)
{
	return f->kind == HV_HIST_TEXT ? (f->size_bytes + WORD - 1) / WORD * WORD : WORD;
}

/* The size of a text is the guest's; a key is not larger than HV_HIST_KEY_BYTES_MAX. */
static bool has_room(const struct hv_hist_spec *s, const struct hv_hist_field *f)
{
	return f->size_bytes <= HV_HIST_KEY_BYTES_MAX &&
	       key_bytes_of(f) <= HV_HIST_KEY_BYTES_MAX - s->key_bytes;
}

static bool take_keys(struct hv_hist_parse *p, struct hv_hist_spec *s, char *keys)
{
	char *key;

	while (s->nr_keys < HV_HIST_KEYS_MAX && (key = strsep(&keys, ","))) {
		struct hv_hist_field *f = hv_hist_field_parse(p, key, HV_HIST_KEY);

		if (!f)
			return false;
		s->keys[s->nr_keys] = f;
		s->key_off[s->nr_keys++] = s->key_bytes;
		if (!has_room(s, f))
			return fail(p, EINVAL);
		s->key_bytes += key_bytes_of(f);
	}
	return !keys || fail(p, EINVAL);
}

static bool take_direction(struct hv_hist_parse *p, const char *text, struct hv_hist_sort *ret)
{
	ret->descending = text && strcmp(text, "descending") == 0;
	return !text || ret->descending || strcmp(text, "ascending") == 0 ||
	       hv_hist_fail(p, EINVAL, "Invalid sort modifier", text);
}

static bool find_sorted(struct hv_hist_parse *p, const struct hv_hist_spec *s, const char *name,
			struct hv_hist_sort *ret)
{
	if (strcmp(name, "hitcount") == 0) {
		ret->by = 0;
		return true;
	}
	for (ret->by = 1; ret->by < s->nr_values + s->nr_keys; ret->by++)
		if (strcmp(hv_hist_spec_field(s, ret->by)->name, name) == 0)
			return true;
	return hv_hist_fail(p, EINVAL, "Sort field must be a key or a val", name);
}

/* create_sort_keys() */
static bool take_sorts(struct hv_hist_parse *p, struct hv_hist_spec *s, char *sorts)
{
	char *text;

	s->nr_sorts = sorts ? 0 : 1;
	while (s->nr_sorts < HV_HIST_SORTS_MAX && (text = strsep(&sorts, ","))) {
		struct hv_hist_sort *sort = &s->sorts[s->nr_sorts];
		const char *name;

		if (*text && s->nr_sorts == HV_HIST_SORTS_MAX - 1 && sorts)
			return hv_hist_fail(p, EINVAL, "Too many sort fields (Max = 2)", "sort=");
		name = strsep(&text, ".");
		if (!*name)
			return hv_hist_fail(p, EINVAL, "Empty sort field", "sort=");
		if (!find_sorted(p, s, name, sort) || !take_direction(p, text, sort))
			return false;
		s->nr_sorts++;
	}
	return true;
}

static bool parse(struct hv_hist_parse *p, char *rest, struct hv_hist_spec *s, struct parts *parts)
{
	char *filter;

	if (!cut_filter(p, rest, &filter))
		return false;
	if (filter) {
		s->filter = hv_strdup(filter);
		rest = strip(rest);
	}
	protect_offsets(rest);
	if (!take_parts(p, s, parts, rest) || !take_values(p, s, parts->values) ||
	    !take_keys(p, s, parts->keys) || !take_sorts(p, s, parts->sort))
		return false;
	s->has_time = p->has_time;
	s->has_usecs = p->has_usecs;
	if (!s->clock)
		s->clock = hv_strdup("global");
	return true;
}

bool hv_hist_spec_parse(const struct hv_catalogue *c, const struct hv_event_type *type,
			const char *text, struct hv_hist_spec *ret, struct hv_hist_fault *ret_fault)
{
	const char *rest = hv_hist_spec_rest(text);
	HV_AUTO_FREE char *command = hv_format(COMMAND ":%s", rest ? rest : "");
	HV_AUTO_FREE char *copy = hv_strdup(rest ? rest : "");
	struct hv_hist_parse p = {.catalogue = c, .type = type, .command = command};
	hv_cleanup(parts_deinit) struct parts parts = {0};
	struct hv_hist_spec s = {
		.removes = text[strspn(text, SPACES)] == '!',
		.size = SIZE,
	};

	if (!(rest ? parse(&p, copy, &s, &parts) : fail(&p, EINVAL))) {
		hv_hist_spec_deinit(&s);
		*ret_fault = p.fault;
		return false;
	}
	*ret = s;
	return true;
}

/* -- comparing --------------------------------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* As in hist_trigger_match(), buckets and numbers do not count. */
static bool is_same_field(const struct hv_hist_field *a, const struct hv_hist_field *b)
{
	bool is_field = a->type && b->type;

	return a->kind == b->kind && a->modifier == b->modifier && is_same_text(a->type, b->type) &&
	       a->size_bytes == b->size_bytes && a->is_signed == b->is_signed &&
	       (!is_field || strcmp(a->name, b->name) == 0);
}

bool hv_hist_spec_is_like(const struct hv_hist_spec *a, const struct hv_hist_spec *b)
{
	if (a->nr_values != b->nr_values || a->nr_keys != b->nr_keys || a->nr_sorts != b->nr_sorts)
		return false;
	for (unsigned i = 0; i < a->nr_values + a->nr_keys; i++)
		if (!is_same_field(hv_hist_spec_field(a, i), hv_hist_spec_field(b, i)))
			return false;
	for (unsigned i = 0; i < a->nr_sorts; i++)
		if (a->sorts[i].by != b->sorts[i].by ||
		    a->sorts[i].descending != b->sorts[i].descending)
			return false;
	return true;
}

bool hv_hist_spec_has_filter(const struct hv_hist_spec *s, const char *filter)
{
	return is_same_text(s->filter, filter);
}

/* -- keys of entries --------------------------------------------------------------------------- */

/* Copies the text up to its NUL, and leaves room for one. */
static void put_text(const struct hv_hist_field *f, const struct hv_hist_record *record,
		     uint8_t *ret)
{
	struct hv_span text = hv_hist_field_text(f, record);
	size_t len = text.len_bytes, max = key_bytes_of(f) - 1;

	if (len > max)
		len = max;
	if (len)
		memcpy(ret, text.data, strnlen((const char *)text.data, len));
}

void hv_hist_spec_key(const struct hv_hist_spec *s, const struct hv_hist_record *record,
		      uint8_t *ret_key)
{
	memset(ret_key, 0, s->key_bytes);
	for (unsigned i = 0; i < s->nr_keys; i++) {
		uint8_t *at = ret_key + s->key_off[i];
		uint64_t value;

		if (s->keys[i]->kind == HV_HIST_TEXT) {
			put_text(s->keys[i], record, at);
			continue;
		}
		value = hv_hist_field_value(s->keys[i], record);
		memcpy(at, &value, sizeof(value));
	}
}
