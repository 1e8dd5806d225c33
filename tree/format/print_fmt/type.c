/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses type names: in casts, in sizeof, and of fields. */
#include "tree/format/print_fmt/parser.h"

#include <string.h>

/* Kernel typedefs, with their sizes on x86-64 and arm64. */
static const struct {
	const char *name;
	uint8_t size_bytes;
	bool is_signed;
} known[] = {
	{"u8", 1, false},
	{"u16", 2, false},
	{"u32", 4, false},
	{"u64", 8, false},
	{"s8", 1, true},
	{"s16", 2, true},
	{"s32", 4, true},
	{"s64", 8, true},
	{"__u8", 1, false},
	{"__u16", 2, false},
	{"__u32", 4, false},
	{"__u64", 8, false},
	{"__s8", 1, true},
	{"__s16", 2, true},
	{"__s32", 4, true},
	{"__s64", 8, true},
	{"uint8_t", 1, false},
	{"uint16_t", 2, false},
	{"uint32_t", 4, false},
	{"uint64_t", 8, false},
	{"int8_t", 1, true},
	{"int16_t", 2, true},
	{"int32_t", 4, true},
	{"int64_t", 8, true},
	{"__le16", 2, false},
	{"__le32", 4, false},
	{"__le64", 8, false},
	{"__be16", 2, false},
	{"__be32", 4, false},
	{"__be64", 8, false},
	{"uint", 4, false},
	{"ulong", 8, false},
	{"ushort", 2, false},
	{"size_t", 8, false},
	{"ssize_t", 8, true},
	{"uintptr_t", 8, false},
	{"loff_t", 8, true},
	{"off_t", 8, true},
	{"ktime_t", 8, true},
	{"time64_t", 8, true},
	{"bool", 1, false},
	{"_Bool", 1, false},
	{"gfp_t", 4, false},
	{"fmode_t", 4, false},
	{"umode_t", 2, false},
	{"dev_t", 4, false},
	{"pid_t", 4, true},
	{"uid_t", 4, false},
	{"gid_t", 4, false},
	{"sector_t", 8, false},
	{"blkcnt_t", 8, false},
	{"ino_t", 8, false},
	{"pgoff_t", 8, false},
	{"dma_addr_t", 8, false},
	{"phys_addr_t", 8, false},
	{"OM_uint32", 4, false},
	{"__kernel_rwf_t", 4, true},
	{"blk_opf_t", 4, false},
	{"slab_flags_t", 4, false},
};

/* Words that make up the name of an arithmetic type, in any order. */
struct words {
	bool has_char, has_short, has_int, has_void, has_unsigned, has_signed;
	unsigned nr_long;
};

static bool take_word(struct hv_print_parser *p, struct words *words)
{
	const struct {
		const char *name;
		bool *has;
	} all[] = {
		{"char", &words->has_char},	    {"short", &words->has_short},
		{"int", &words->has_int},	    {"void", &words->has_void},
		{"unsigned", &words->has_unsigned}, {"signed", &words->has_signed},
	};

	if (hv_print_is_word(p, "long")) {
		words->nr_long++;
		hv_print_next_token(p);
		return true;
	}
	for (unsigned i = 0; i < HV_ARRAY_LEN(all); i++) {
		if (!hv_print_is_word(p, all[i].name))
			continue;
		*all[i].has = true;
		hv_print_next_token(p);
		return true;
	}
	return false;
}

static bool is_qualifier(const struct hv_print_parser *p)
{
	return hv_print_is_word(p, "const") || hv_print_is_word(p, "volatile") ||
	       hv_print_is_word(p, "static");
}

/* A type without the stars after it. */
struct base {
	uint32_t size_bytes;
	bool is_known;
	bool is_number;
	bool is_signed;
};

static bool arithmetic(struct hv_print_parser *p, struct base *ret)
{
	struct words words = {0};
	bool found = false;

	while (is_qualifier(p) || take_word(p, &words)) {
		if (is_qualifier(p))
			hv_print_next_token(p);
		else
			found = true;
	}
	if (!found)
		return false;
	*ret = (struct base){.size_bytes = 4, .is_known = true, .is_number = true};
	if (words.has_void)
		*ret = (struct base){.size_bytes = 1, .is_known = true};
	else if (words.has_char)
		ret->size_bytes = 1;
	else if (words.has_short)
		ret->size_bytes = 2;
	else if (words.nr_long)
		ret->size_bytes = 8;
	ret->is_signed = !words.has_unsigned && !words.has_void;
	return true;
}

/* struct, union or enum NAME. */
static bool tagged(struct hv_print_parser *p, struct base *ret)
{
	const struct hv_print_resolver *r = p->resolver;
	bool is_enum = hv_print_is_word(p, "enum");
	char name[128];

	if (!is_enum && !hv_print_is_word(p, "struct") && !hv_print_is_word(p, "union"))
		return false;
	hv_print_next_token(p);
	*ret = (struct base){0};
	if (is_enum)
		*ret = (struct base){.size_bytes = 4, .is_known = true, .is_number = true};
	else if (p->token.kind == HV_TOKEN_NAME &&
		 hv_print_copy_name(p->token.text, p->token.len_bytes, name))
		ret->is_known = r->size && r->size(r->of, name, &ret->size_bytes);
	hv_print_next_token(p);
	return true;
}

static bool named(struct hv_print_parser *p, struct base *ret)
{
	for (unsigned i = 0; i < HV_ARRAY_LEN(known); i++) {
		if (!hv_print_is_word(p, known[i].name))
			continue;
		*ret = (struct base){
			.size_bytes = known[i].size_bytes,
			.is_known = true,
			.is_number = true,
			.is_signed = known[i].is_signed,
		};
		hv_print_next_token(p);
		return true;
	}
	return false;
}

static struct hv_print_type pointer_to(const struct base *base)
{
	struct hv_print_type type = hv_print_pointer_to(base->size_bytes);

	type.el_is_known = base->is_known;
	type.el_is_number = base->is_number;
	type.el_is_signed = base->is_signed;
	return type;
}

static bool parse_base(struct hv_print_parser *p, struct base *ret)
{
	while (is_qualifier(p))
		hv_print_next_token(p);
	return arithmetic(p, ret) || tagged(p, ret) || named(p, ret);
}

/* Parses the stars after BASE. */
static struct hv_print_type stars(struct hv_print_parser *p, const struct base *base)
{
	unsigned nr = 0;

	while (hv_print_is_sign(p, '*') || is_qualifier(p)) {
		nr += hv_print_is_sign(p, '*');
		hv_print_next_token(p);
	}
	if (nr == 1)
		return pointer_to(base);
	if (nr > 1)
		return hv_print_pointer_to_numbers(hv_print_unsigned(8));
	if (base->is_number)
		return base->is_signed ? hv_print_signed(base->size_bytes)
				       : hv_print_unsigned(base->size_bytes);
	return (struct hv_print_type){.el_is_known = base->is_known, .el_bytes = base->size_bytes};
}

bool hv_print_parse_type(struct hv_print_parser *p, struct hv_print_type *ret)
{
	struct base base;

	if (!parse_base(p, &base))
		return false;
	*ret = stars(p, &base);
	return true;
}

/* Parses the text after "(": NAME * with an unknown type NAME. */
static bool unknown_pointer(struct hv_print_parser *p, struct hv_print_type *ret)
{
	if (p->token.kind != HV_TOKEN_NAME)
		return false;
	hv_print_next_token(p);
	if (!hv_print_is_sign(p, '*'))
		return false;
	*ret = stars(p, &(struct base){0});
	return hv_print_is_sign(p, ')');
}

bool hv_print_parse_cast(struct hv_print_parser *p, struct hv_print_type *ret)
{
	struct hv_print_token before = p->token;
	size_t at = p->at;

	if (!hv_print_take_sign(p, '('))
		return false;
	if (hv_print_parse_type(p, ret) || unknown_pointer(p, ret)) {
		if (!ret->size_bytes) {
			hv_print_problem(p, "a cast to something that is no number");
			*ret = hv_print_unsigned(8);
		}
		hv_print_expect_sign(p, ')');
		return true;
	}
	if (p->problem)
		return false;
	p->token = before;
	p->at = at;
	return false;
}

/* Fields. */

const struct hv_print_field *hv_print_find_field(const struct hv_print_parser *p, const char *name,
						 size_t len_bytes)
{
	for (size_t i = 0; i < p->nr_fields; i++)
		if (strlen(p->fields[i].name) == len_bytes &&
		    memcmp(p->fields[i].name, name, len_bytes) == 0)
			return &p->fields[i];
	return NULL;
}

/* Finds the type of a pointer to an array's elements. The field has a type such as "u8[6]". */
static struct hv_print_type array_type(const struct hv_print_parser *p,
				       const struct hv_print_field *field)
{
	struct hv_print_parser inner = {
		.builder = p->builder, .text = field->type, .resolver = p->resolver};
	struct hv_print_type type;

	hv_print_next_token(&inner);
	if (!hv_print_parse_type(&inner, &type))
		return hv_print_pointer_to(0);
	if (type.is_pointer)
		return hv_print_pointer_to_numbers(hv_print_unsigned(8));
	if (!type.size_bytes)
		return hv_print_pointer_to(type.el_bytes);
	type = hv_print_pointer_to_numbers(type);
	if (type.el_bytes == 1 && strstr(field->type, "char"))
		type.el_is_signed = field->is_signed;
	return type;
}

static uint32_t address_of(struct hv_print_parser *p, const struct hv_print_field *field,
			   struct hv_print_type type)
{
	const struct hv_print_value v = {
		.bits = field->offset_bytes, .type = type, .space = HV_SPACE_ENTRY};

	return hv_print_build_value(&p->builder, v);
}

uint32_t hv_print_parse_field(struct hv_print_parser *p, const struct hv_print_field *field)
{
	uint32_t size = field->size_bytes;
	bool is_number = size == 1 || size == 2 || size == 4 || size == 8;
	struct hv_print_node node = {.op = HV_OP_FIELD, .a = field->offset_bytes};

	if (strchr(field->type, '['))
		return address_of(p, field, array_type(p, field));
	if (!is_number)
		return address_of(p, field, hv_print_pointer_to(size));
	node.type = field->is_signed ? hv_print_signed(size) : hv_print_unsigned(size);
	if (strchr(field->type, '*') && size == 8)
		node.type = array_type(p, field);
	return hv_print_build_node(&p->builder, node, NULL, 0);
}
