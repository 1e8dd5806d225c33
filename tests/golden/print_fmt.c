/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event entries, and the text that the guest's own trace printed for them. The script
 * tests/golden/print_fmt/capture records both from a running guest, so --update must not be used
 * for the .out files.
 *
 * Lines of an .in file. Numbers are hex. Texts contain \n and \\ for newlines and backslashes.
 *
 *	key WORD WORD                          the kernel's ptr_key
 *	hz HZ
 *	plain                                  pointers are not hashed
 *	new-numbers                            numbers in system calls are printed as in Linux 7.2
 *	constant NAME VALUE                    an enumerator
 *	variable NAME VALUE
 *	size TYPE BYTES
 *	symbol ADDRESS BYTES NAME [MODULE]
 *	string ADDRESS TEXT                    a string in the guest's memory
 *	event NAME                             its fields and print_fmt follow
 *	field OFFSET BYTES IS_SIGNED NAME TYPE
 *	print PRINT_FMT
 *	entry BYTES                            an entry of the last event */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/golden/golden.h"
#include "tree/format/arg_texts.h"
#include "tree/format/print_fmt/print_fmt.h"

#define NR_FIELDS_MAX 128
#define SYSCALLS      "syscalls/"

struct fact {
	struct fact *next;
	uint64_t value;
	uint64_t size_bytes;
	char *name;
	char *module;
};

struct input {
	struct fact *constants, *variables, *sizes, *symbols, *strings;
	enum hv_print_pointers pointers;
	struct hv_syscall_style syscalls;
	uint64_t key[2];
	bool has_key;
	struct hv_print_resolver resolver;
	char *event;
	char *print_fmt;
	struct hv_print_field fields[NR_FIELDS_MAX];
	size_t nr_fields;
	size_t nr_common;
	struct hv_print_fmt *fmt;
};

static bool find_symbol(void *of, struct hv_gva addr, struct hv_print_symbol *ret)
{
	const struct input *in = of;

	for (const struct fact *f = in->symbols; f; f = f->next) {
		if (addr.v < f->value || addr.v - f->value >= f->size_bytes)
			continue;
		*ret = (struct hv_print_symbol){
			.name = f->name,
			.module = f->module,
			.offset = addr.v - f->value,
			.size_bytes = f->size_bytes,
		};
		return true;
	}
	return false;
}

static bool find_string(void *of, struct hv_gva addr, char *ret, size_t max_bytes)
{
	const struct input *in = of;

	for (const struct fact *f = in->strings; f; f = f->next) {
		if (f->value != addr.v)
			continue;
		snprintf(ret, max_bytes, "%s", f->name);
		return true;
	}
	return false;
}

static const struct fact *by_name(const struct fact *f, const char *name)
{
	while (f && strcmp(f->name, name) != 0)
		f = f->next;
	return f;
}

static bool find_constant(void *of, const char *name, int64_t *ret)
{
	const struct fact *f = by_name(((const struct input *)of)->constants, name);

	if (f)
		*ret = (int64_t)f->value;
	return f;
}

static bool find_variable(void *of, const char *name, uint64_t *ret)
{
	const struct fact *f = by_name(((const struct input *)of)->variables, name);

	if (f)
		*ret = f->value;
	return f;
}

static bool find_size(void *of, const char *type, uint32_t *ret)
{
	const struct fact *f = by_name(((const struct input *)of)->sizes, type);

	if (f)
		*ret = (uint32_t)f->value;
	return f;
}

static void free_facts(struct fact *f)
{
	while (f) {
		struct fact *next = f->next;

		free(f->name);
		free(f->module);
		free(f);
		f = next;
	}
}

static void end_event(struct input *in)
{
	for (size_t i = 0; i < in->nr_fields; i++) {
		free((char *)in->fields[i].name);
		free((char *)in->fields[i].type);
	}
	in->nr_fields = in->nr_common = 0;
	hv_print_fmt_free(in->fmt);
	in->fmt = NULL;
	free(in->event);
	in->event = NULL;
	free(in->print_fmt);
	in->print_fmt = NULL;
}

/* Reports a line that the capture script cannot have written, and exits. */
static void wrong(const char *line)
{
	fprintf(stderr, "invalid line: %.60s\n", line);
	abort();
}

static char *next_word(char **line)
{
	char *word = strsep(line, " ");

	if (!word)
		wrong("(a word is missing)");
	return word;
}

static uint64_t next_number(char **line)
{
	return strtoull(next_word(line), NULL, 16);
}

static char *unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		bool is_escaped = *at == '\\' && at[1];

		if (is_escaped)
			at++;
		*to++ = is_escaped && *at == 'n' ? '\n' : *at;
	}
	*to = '\0';
	return text;
}

static void add_fact(struct fact **list, struct fact fact)
{
	struct fact *copy = hv_alloc(sizeof(*copy));

	*copy = fact;
	copy->next = *list;
	*list = copy;
}

static void take_field(struct input *in, char *line)
{
	struct hv_print_field *f = &in->fields[in->nr_fields];

	if (in->nr_fields++ == NR_FIELDS_MAX)
		wrong(line);
	f->offset_bytes = (uint32_t)next_number(&line);
	f->size_bytes = (uint32_t)next_number(&line);
	f->is_signed = next_number(&line);
	f->name = hv_strdup(next_word(&line));
	f->type = hv_strdup(line);
	in->nr_common += strncmp(f->name, "common_", strlen("common_")) == 0;
}

static void take_print(struct input *in, char *line, FILE *out)
{
	struct hv_err *err;

	in->print_fmt = hv_strdup(unescape(line));
	err = hv_print_fmt_compile(in->print_fmt, in->fields, in->nr_fields, &in->resolver,
				   &in->fmt);
	if (err)
		fprintf(out, "%s: %s\n", in->event, err->message);
	hv_err_free(err);
}

static bool add_syscall(struct hv_text *text, const struct input *in, struct hv_span entry)
{
	const struct hv_syscall_event event = {
		.name = in->event + strlen(SYSCALLS),
		.print_fmt = in->print_fmt,
		.fields = in->fields,
		.nr_fields = in->nr_fields,
	};

	return hv_format_syscall(text, &in->syscalls, &event, entry);
}

static void add_text(struct hv_text *text, const struct input *in, struct hv_span entry)
{
	const struct hv_print_env env = {.resolver = &in->resolver,
					 .pointers = in->pointers,
					 .pointer_key = in->has_key ? in->key : NULL};

	if (strncmp(in->event, SYSCALLS, strlen(SYSCALLS)) == 0 && add_syscall(text, in, entry))
		return;
	if (!in->fmt || !hv_print_fmt_eval(in->fmt, entry, &env, text))
		hv_print_fields(in->fields + in->nr_common, in->nr_fields - in->nr_common, entry,
				text);
}

static void take_entry(struct input *in, const char *line, FILE *out)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	HV_AUTO_FREE uint8_t *bytes = hv_alloc(strlen(line) / 2 + 1);
	struct hv_span entry = {bytes, strlen(line) / 2};

	for (size_t i = 0; i < entry.len_bytes; i++)
		if (sscanf(line + 2 * i, "%2hhx", &bytes[i]) != 1)
			wrong(line);
	hv_text_add(&text, "");
	add_text(&text, in, entry);
	fprintf(out, "%s: %s\n", in->event, text.data);
}

static struct fact **named_list(struct input *in, const char *kind)
{
	if (strcmp(kind, "constant") == 0)
		return &in->constants;
	if (strcmp(kind, "variable") == 0)
		return &in->variables;
	return strcmp(kind, "size") == 0 ? &in->sizes : NULL;
}

static void take_fact(struct input *in, const char *kind, char *line)
{
	struct fact fact = {0};

	if (strcmp(kind, "key") == 0) {
		in->key[0] = next_number(&line);
		in->key[1] = next_number(&line);
		in->has_key = true;
	} else if (strcmp(kind, "hz") == 0) {
		in->resolver.hz = (unsigned)next_number(&line);
	} else if (strcmp(kind, "plain") == 0) {
		in->pointers = HV_PRINT_POINTERS_PLAIN;
	} else if (strcmp(kind, "new-numbers") == 0) {
		in->syscalls.numbers = HV_SYSCALL_NUMBERS_PLAIN;
	} else if (named_list(in, kind)) {
		fact.name = hv_strdup(next_word(&line));
		fact.value = next_number(&line);
		add_fact(named_list(in, kind), fact);
	} else if (strcmp(kind, "symbol") == 0) {
		fact.value = next_number(&line);
		fact.size_bytes = next_number(&line);
		fact.name = hv_strdup(next_word(&line));
		fact.module = line ? hv_strdup(line) : NULL;
		add_fact(&in->symbols, fact);
	} else if (strcmp(kind, "string") == 0) {
		fact.value = next_number(&line);
		fact.name = hv_strdup(unescape(line));
		add_fact(&in->strings, fact);
	} else {
		wrong(kind);
	}
}

static void take_line(struct input *in, char *line, FILE *out)
{
	const char *kind = next_word(&line);

	if (strcmp(kind, "event") == 0) {
		end_event(in);
		in->event = hv_strdup(line);
	} else if (strcmp(kind, "field") == 0) {
		take_field(in, line);
	} else if (strcmp(kind, "print") == 0) {
		take_print(in, line, out);
	} else if (strcmp(kind, "entry") == 0) {
		take_entry(in, line, out);
	} else {
		take_fact(in, kind, line);
	}
}

static void run(FILE *file, FILE *out)
{
	struct input in = {0};
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	in.resolver = (struct hv_print_resolver){
		.of = &in,
		.symbol = find_symbol,
		.string = find_string,
		.constant = find_constant,
		.variable = find_variable,
		.size = find_size,
	};
	while ((len = getline(&line, &cap, file)) > 0) {
		line[len - 1] = '\0';
		take_line(&in, line, out);
	}
	free(line);
	end_event(&in);
	free_facts(in.constants);
	free_facts(in.variables);
	free_facts(in.sizes);
	free_facts(in.symbols);
	free_facts(in.strings);
}

int main(int argc, char **argv)
{
	return hv_golden_main(argc, argv, run);
}
