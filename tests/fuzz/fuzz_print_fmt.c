/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiles and evaluates any print_fmt with any fields and entry, with a resolver that knows only
 * some names. The text must stay within its limits. The input is an eighth of a number of words,
 * a byte that can add a format string, a byte for each word or character, a number of fields, four
 * bytes per field, and the entry. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/input.h"
#include "tree/format/arg_texts.h"
#include "tree/format/print_fmt/print_fmt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NR_FIELDS_MAX 8

static const char *const types[] = {
	"int",
	"unsigned char",
	"u64",
	"char[8]",
	"u16[3]",
	"__data_loc char[]",
	"__rel_loc u8[]",
	"long",
	"void *",
	"char[]",
	"struct x",
	"unsigned long",
};

static const char *const words[] = {
	"REC->a",
	"REC->b",
	"REC->c",
	"REC->d",
	"REC->ent.",
	"REC->__data_loc_",
	"a",
	"b",
	"c",
	"x",
	"(",
	")",
	"[",
	"]",
	"{",
	"}",
	",",
	";",
	"?",
	":",
	"+",
	"-",
	"*",
	"/",
	"%",
	"&",
	"|",
	"^",
	"<<",
	">>",
	"<",
	">",
	"<=",
	">=",
	"==",
	"!=",
	"&&",
	"||",
	"!",
	"~",
	"=",
	".",
	"->",
	"0",
	"1",
	"2",
	"31",
	"64",
	"-1",
	"0xffffffffffffffff",
	"1UL",
	"'c'",
	"\"",
	"\"%s\"",
	"\"%d\"",
	"\"%*d\"",
	"\"%.*s\"",
	"\"%p\"",
	"\"%pS\"",
	"\"%pI4\"",
	"\"%pI6c\"",
	"\"%pISpc\"",
	"\"%pUb\"",
	"\"%*ph\"",
	"\"%*pbl\"",
	"\"%8000000d\"",
	"\"text\"",
	"\"|\"",
	"(int)",
	"(unsigned long)",
	"(u8 *)",
	"(struct page *)",
	"(void *)",
	"sizeof(",
	"__get_str(",
	"__get_str(__a_val)",
	"__get_rel_str(",
	"__get_dynamic_array(",
	"__get_dynamic_array_len(",
	"__get_bitmask(",
	"__get_sockaddr(",
	"__print_flags(",
	"__print_symbolic(",
	"__print_hex(",
	"__print_array(",
	"__print_dynamic_array(",
	"__builtin_bswap32(",
	"__print_ns_to_secs(",
	"jiffies_to_msecs(",
	"trace_seq_buffer_ptr(p)",
	"trace_seq_printf(p, ",
	"nvme_trace_disk_name(p, ",
	"unknown(",
	"({",
	"int y = 1; ",
	"})",
	"int x = ",
	"union role x; x.word = ",
	"x.level",
	"static const char *s[] = { \"a\" };",
	"s[",
	"CONSTANT",
	"variable",
	"NULL",
	"true",
};

static bool constant(void *of hv_unused, const char *name, int64_t *ret)
{
	*ret = -5;
	return strcmp(name, "CONSTANT") == 0;
}

static bool variable(void *of hv_unused, const char *name, uint64_t *ret)
{
	*ret = UINT64_MAX;
	return strcmp(name, "variable") == 0;
}

static bool size_of(void *of hv_unused, const char *type hv_unused, uint32_t *ret)
{
	*ret = UINT32_MAX;
	return true;
}

static bool member(void *of hv_unused, const char *type hv_unused, const char *name,
		   struct hv_print_member *ret)
{
	*ret = (struct hv_print_member){.offset_bits = (uint8_t)name[0],
					.nr_bits = (uint8_t)name[1]};
	return true;
}

static bool symbol(void *of hv_unused, struct hv_gva addr, struct hv_print_symbol *ret)
{
	*ret = (struct hv_print_symbol){
		.name = "symbol\033", .module = addr.v & 1 ? "module" : NULL, .offset = addr.v};
	return addr.v & 2;
}

/* Returns a string without NUL. */
static bool string(void *of hv_unused, struct hv_gva addr, char *ret, size_t max_bytes)
{
	memset(ret, 'x', max_bytes);
	return addr.v & 1;
}

static void make_print_fmt(struct input *in, struct hv_text *ret)
{
	unsigned nr = 8 * next_byte(in);

	hv_text_add(ret, next_byte(in) & 1 ? "\"%s %d\", " : "");
	while (nr--) {
		unsigned byte = next_byte(in);

		if (byte < HV_ARRAY_LEN(words))
			hv_text_add(ret, words[byte]);
		else
			hv_text_printf(ret, "%c", byte);
	}
}

/* Some offsets are near the maximum. */
static uint32_t make_offset(unsigned byte)
{
	return byte < 240 ? byte : UINT32_MAX - (byte - 240);
}

static size_t make_fields(struct input *in, struct hv_print_field fields[NR_FIELDS_MAX])
{
	static const char *const names[NR_FIELDS_MAX] = {"a",	       "__a_val", "c", "d",
							 "common_pid", "e",	  "",  "f"};
	size_t nr = next_byte(in) % (NR_FIELDS_MAX + 1);

	for (size_t i = 0; i < nr; i++)
		fields[i] = (struct hv_print_field){
			.name = names[i],
			.type = types[next_byte(in) % HV_ARRAY_LEN(types)],
			.offset_bytes = make_offset(next_byte(in)),
			.size_bytes = next_byte(in) % 20,
			.is_signed = next_byte(in) & 1,
		};
	return nr;
}

/* TEXT must be within its limit and safe for a terminal. */
static void check_text(const struct hv_text *text, size_t max_bytes)
{
	if (text->len_bytes > max_bytes)
		abort();
	for (size_t i = 0; i < text->len_bytes; i++)
		if ((unsigned char)text->data[i] < ' ' && text->data[i] != '\n' &&
		    text->data[i] != '\t')
			abort();
}

static void evaluate(const struct hv_print_fmt *fmt, struct hv_span entry,
		     const struct hv_print_resolver *resolver)
{
	static const uint64_t key[2] = {1, 2};
	HV_AUTO_TEXT struct hv_text text = {0};
	const struct hv_print_env env = {
		.resolver = resolver,
		.pointer_key = entry.len_bytes & 1 ? key : NULL,
		.bitmask_list = entry.len_bytes & 2,
	};

	if (!hv_print_fmt_eval(fmt, entry, &env, &text) && text.len_bytes)
		abort();
	check_text(&text, HV_PRINT_TEXT_MAX);
	hv_print_fmt_unknown(fmt);
}

static void print_syscall(const char *print_fmt, const struct hv_print_field *fields,
			  size_t nr_fields, struct hv_span entry)
{
	const struct hv_syscall_event event = {"sys_enter_x", print_fmt, fields, nr_fields};
	const struct hv_syscall_style style = {0};
	HV_AUTO_TEXT struct hv_text text = {0};

	if (!hv_format_syscall(&text, &style, &event, entry) && text.len_bytes)
		abort();
	check_text(&text, 64 + nr_fields * (64 + 65536));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct hv_print_resolver resolver = {
		.symbol = symbol,
		.string = string,
		.constant = constant,
		.variable = variable,
		.size = size_of,
		.member = member,
		.hz = 250,
	};
	struct input in = {data, data + size};
	HV_AUTO_TEXT struct hv_text print_fmt = {0}, text = {0};
	struct hv_print_field fields[NR_FIELDS_MAX];
	struct hv_print_fmt *fmt;
	struct hv_span entry;
	struct hv_err *err;
	size_t nr_fields;

	make_print_fmt(&in, &print_fmt);
	nr_fields = make_fields(&in, fields);
	entry = (struct hv_span){in.at, (size_t)(in.end - in.at)};
	print_syscall(print_fmt.data, fields, nr_fields, entry);
	hv_print_fields(fields, nr_fields, entry, &text);
	check_text(&text, 4096 + 64 * 65536);
	err = hv_print_fmt_compile(print_fmt.data, fields, nr_fields, &resolver, &fmt);
	if (err) {
		hv_err_free(err);
		return 0;
	}
	evaluate(fmt, entry, &resolver);
	hv_print_fmt_free(fmt);
	return 0;
}
