/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evaluates a compiled print_fmt for one entry. Every pointer into the entry is checked when it is
 * dereferenced. Like the kernel's helpers (struct trace_seq *p), functions write into a scratch
 * text and return pointers into it. value.h does arithmetic, printk.h and pointer.h print
 * conversions. Functions that return a bool return false if the value is unknown, and then leave
 * results unchanged. */
#include "tree/format/print_fmt/program.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/prefix.h"
#include "tree/format/print_fmt/lexer.h"
#include "tree/format/print_fmt/pointer.h"

struct eval {
	const struct hv_print_fmt *fmt;
	struct hv_span entry;
	const struct hv_print_env *env;
	struct hv_print_out scratch;
	struct hv_print_value locals[HV_PRINT_LOCALS_MAX];
};

static bool eval_node(struct eval *e, uint32_t at, struct hv_print_value *ret);
/* Evaluates nodes that write into the scratch text, and HV_FN_BSWAP. */
static bool eval_helper(struct eval *e, const struct hv_print_node *n, struct hv_print_value *ret);
/* Adds NR pieces to OUT, which may have grown even if the result is false. */
static bool eval_pieces(struct eval *e, uint32_t first, uint32_t nr, struct hv_print_out *out);

static const char *string_at(const struct eval *e, uint32_t at)
{
	return e->fmt->strings + at;
}

/* Sets *RET to the bytes that V points to, up to the end of the entry or text. Returns false if V
 * points to guest memory or out of bounds. */
static bool pointed_bytes(const struct eval *e, struct hv_print_value v, struct hv_span *ret)
{
	struct hv_span all = {0};

	if (v.space == HV_SPACE_ENTRY)
		all = e->entry;
	else if (v.space == HV_SPACE_STRINGS)
		all = (struct hv_span){(const uint8_t *)e->fmt->strings, e->fmt->strings_len_bytes};
	else if (v.space == HV_SPACE_SCRATCH)
		all = (struct hv_span){(const uint8_t *)e->scratch.start,
				       (size_t)(e->scratch.at - e->scratch.start)};
	if (v.space == HV_SPACE_GUEST || v.bits > all.len_bytes)
		return false;
	*ret = (struct hv_span){all.data + v.bits, all.len_bytes - v.bits};
	return true;
}

/* Reads the number at the beginning of BYTES. */
static bool read_number(struct hv_span bytes, struct hv_print_type type, struct hv_print_value *ret)
{
	uint64_t bits = 0;

	if (!hv_span_copy(bytes, 0, &bits, type.size_bytes))
		return false;
	*ret = hv_print_number_value(bits, type);
	return true;
}

static bool entry_number(const struct eval *e, uint32_t off, struct hv_print_type type,
			 struct hv_print_value *ret)
{
	const struct hv_print_value at = {.bits = off, .space = HV_SPACE_ENTRY};
	struct hv_span bytes;

	return pointed_bytes(e, at, &bytes) && read_number(bytes, type, ret);
}

static bool eval_read(struct eval *e, const struct hv_print_node *n, struct hv_print_value *ret)
{
	struct hv_print_value pointer;
	struct hv_span bytes;

	return eval_node(e, n->a, &pointer) && pointed_bytes(e, pointer, &bytes) &&
	       read_number(bytes, n->type, ret);
}

/* Reads the word with the offset and length of a dynamic field's bytes. */
static bool eval_dynamic(const struct eval *e, const struct hv_print_node *n,
			 struct hv_print_value *ret)
{
	struct hv_print_value word;

	if (!entry_number(e, n->a, hv_print_unsigned(4), &word))
		return false;
	if (n->op == HV_OP_DYNAMIC_LEN) {
		*ret = hv_print_number_value(word.bits >> 16, n->type);
		return true;
	}
	*ret = (struct hv_print_value){
		.bits = (word.bits & 0xffff) + n->b, .type = n->type, .space = HV_SPACE_ENTRY};
	return true;
}

/* Operators and variables. */

static bool eval_binary(struct eval *e, const struct hv_print_node *n, struct hv_print_value *ret)
{
	struct hv_print_value l, r;

	return eval_node(e, n->a, &l) && eval_node(e, n->b, &r) &&
	       hv_print_binary(n->sign, l, r, ret);
}

static bool eval_logic(struct eval *e, const struct hv_print_node *n, struct hv_print_value *ret)
{
	bool is_or = n->sign == HV_SIGN2('|', '|');
	struct hv_print_value v;

	if (!eval_node(e, n->a, &v))
		return false;
	if (hv_print_is_true(v) != is_or && !eval_node(e, n->b, &v))
		return false;
	*ret = hv_print_number_value(hv_print_is_true(v), n->type);
	return true;
}

static bool eval_choice(struct eval *e, const struct hv_print_node *n, struct hv_print_value *ret)
{
	struct hv_print_value v;

	if (!eval_node(e, n->a, &v) || !eval_node(e, hv_print_is_true(v) ? n->b : n->c, &v))
		return false;
	*ret = hv_print_cast(v, n->type);
	return true;
}

static bool eval_set_local(struct eval *e, const struct hv_print_node *n,
			   struct hv_print_value *ret)
{
	if (!eval_node(e, n->b, ret))
		return false;
	*ret = hv_print_cast(*ret, n->type);
	e->locals[n->a] = *ret;
	return true;
}

static bool eval_variable(const struct eval *e, const struct hv_print_node *n,
			  struct hv_print_value *ret)
{
	const struct hv_print_resolver *r = e->env->resolver;
	uint64_t bits;

	if (!r->variable || !r->variable(r->of, string_at(e, n->a), &bits))
		return false;
	*ret = hv_print_number_value(bits, n->type);
	return true;
}

/* A variable gets its type when a value is assigned to it. */
static bool eval_local(const struct eval *e, const struct hv_print_node *n,
		       struct hv_print_value *ret)
{
	struct hv_print_value v = e->locals[n->a];

	if (!v.type.size_bytes)
		return false;
	if (n->op == HV_OP_LOCAL_BITS)
		v = hv_print_number_value((v.bits >> n->b) & ((UINT64_C(1) << n->c) - 1), n->type);
	*ret = v;
	return true;
}

static bool eval_string_at(struct eval *e, const struct hv_print_node *n,
			   struct hv_print_value *ret)
{
	struct hv_print_value index;

	if (!eval_node(e, n->a, &index) || index.space != HV_SPACE_GUEST || index.bits >= n->c)
		return false;
	*ret = (struct hv_print_value){
		.bits = e->fmt->pairs[n->b + index.bits].name,
		.type = n->type,
		.space = HV_SPACE_STRINGS,
	};
	return true;
}

static bool eval_node(struct eval *e, uint32_t at, struct hv_print_value *ret)
{
	const struct hv_print_node *n = &e->fmt->nodes[at];
	struct hv_print_value v;

	switch ((enum hv_print_op)n->op) {
	case HV_OP_VALUE:
		*ret = (struct hv_print_value){
			.bits = n->bits, .type = n->type, .space = (enum hv_print_space)n->space};
		return true;
	case HV_OP_UNKNOWN:
		return false;
	case HV_OP_VARIABLE:
		return eval_variable(e, n, ret);
	case HV_OP_FIELD:
		return entry_number(e, n->a, n->type, ret);
	case HV_OP_DYNAMIC:
	case HV_OP_DYNAMIC_LEN:
		return eval_dynamic(e, n, ret);
	case HV_OP_LOCAL:
	case HV_OP_LOCAL_BITS:
		return eval_local(e, n, ret);
	case HV_OP_SET_LOCAL:
		return eval_set_local(e, n, ret);
	case HV_OP_CAST:
		if (!eval_node(e, n->a, &v))
			return false;
		*ret = hv_print_cast(v, n->type);
		return true;
	case HV_OP_READ:
		return eval_read(e, n, ret);
	case HV_OP_UNARY:
		return eval_node(e, n->a, &v) && hv_print_unary((char)n->sign, v, ret);
	case HV_OP_BINARY:
		return eval_binary(e, n, ret);
	case HV_OP_LOGIC:
		return eval_logic(e, n, ret);
	case HV_OP_CHOICE:
		return eval_choice(e, n, ret);
	case HV_OP_SEQUENCE:
		return eval_node(e, n->a, &v) && eval_node(e, n->b, ret);
	case HV_OP_STRING_AT:
		return eval_string_at(e, n, ret);
	case HV_OP_FLAGS:
	case HV_OP_SYMBOL:
	case HV_OP_PRINTF:
	case HV_OP_CALL:
		return eval_helper(e, n, ret);
	}
	return false;
}

/* -- the kernel's helpers ---------------------------------------------------------------------- */

/* The kernel's helpers (kernel/trace/trace_output.c). Each writes a NUL-terminated text and returns
 * a pointer to it. */

static struct hv_print_value scratch_end(const struct eval *e)
{
	return (struct hv_print_value){
		.bits = (uint64_t)(e->scratch.at - e->scratch.start),
		.type = hv_print_pointer_to_numbers(hv_print_signed(1)),
		.space = HV_SPACE_SCRATCH,
	};
}

/* Writes NAME, after a separator unless it is the first. NAME NULL: writes only the separator. */
static void put_flag(struct eval *e, const struct hv_print_node *n, bool is_first, const char *name)
{
	if (!is_first)
		hv_print_text(&e->scratch, string_at(e, n->d));
	if (name)
		hv_print_text(&e->scratch, name);
}

static bool eval_flags(struct eval *e, const struct hv_print_node *n, struct hv_print_value *ret)
{
	bool is_first = true;
	struct hv_print_value v;
	uint64_t flags;

	if (!eval_node(e, n->a, &v) || v.space != HV_SPACE_GUEST)
		return false;
	*ret = scratch_end(e);
	flags = v.bits;
	for (uint32_t i = 0; i < n->c && flags; i++) {
		const struct hv_print_pair *pair = &e->fmt->pairs[n->b + i];

		if (pair->unknown)
			return false;
		if ((flags & pair->value) != pair->value)
			continue;
		flags &= ~pair->value;
		put_flag(e, n, is_first, string_at(e, pair->name));
		is_first = false;
	}
	if (flags) {
		put_flag(e, n, is_first, NULL);
		hv_print_hex(&e->scratch, flags);
	}
	hv_print_char(&e->scratch, '\0');
	return true;
}

static bool eval_symbol(struct eval *e, const struct hv_print_node *n, struct hv_print_value *ret)
{
	struct hv_print_value v;
	const char *name = "";

	if (!eval_node(e, n->a, &v) || v.space != HV_SPACE_GUEST)
		return false;
	*ret = scratch_end(e);
	for (uint32_t i = 0; i < n->c; i++) {
		const struct hv_print_pair *pair = &e->fmt->pairs[n->b + i];

		if (pair->unknown)
			return false;
		if (pair->value != v.bits)
			continue;
		name = string_at(e, pair->name);
		break;
	}
	if (*name)
		hv_print_text(&e->scratch, name);
	else
		hv_print_hex(&e->scratch, v.bits);
	hv_print_char(&e->scratch, '\0');
	return true;
}

/* trace_seq_printf(): its arguments are evaluated first, and may also write. */
static bool eval_printf(struct eval *e, const struct hv_print_node *n, struct hv_print_value *ret)
{
	char text[HV_PRINT_TEXT_MAX];
	struct hv_print_out out = {.start = text, .at = text, .end = text + sizeof(text)};

	if (!eval_pieces(e, n->a, n->b, &out))
		return false;
	hv_print_bytes(&e->scratch, text, (size_t)(out.at - text));
	*ret = hv_print_number_value(0, n->type);
	return true;
}

static bool put_hex(struct eval *e, struct hv_span bytes, int64_t len_bytes, bool is_joined)
{
	if (len_bytes > 0 && (uint64_t)len_bytes > bytes.len_bytes)
		return false;
	for (int64_t i = 0; i < len_bytes && !e->scratch.full; i++) {
		if (i && !is_joined)
			hv_print_char(&e->scratch, ' ');
		hv_print_hex_byte(&e->scratch, bytes.data[i]);
	}
	return true;
}

static bool put_array(struct eval *e, struct hv_span bytes, uint64_t nr, uint64_t el_bytes)
{
	struct hv_print_value v;

	if (el_bytes != 1 && el_bytes != 2 && el_bytes != 4 && el_bytes != 8)
		return false;
	if (nr > bytes.len_bytes / el_bytes)
		return false;
	hv_print_char(&e->scratch, '{');
	for (uint64_t i = 0; i < nr && !e->scratch.full; i++) {
		struct hv_span el = {bytes.data + i * el_bytes, el_bytes};

		if (!read_number(el, hv_print_unsigned((unsigned)el_bytes), &v))
			return false;
		if (i)
			hv_print_char(&e->scratch, ',');
		hv_print_hex(&e->scratch, v.bits);
	}
	hv_print_char(&e->scratch, '}');
	return true;
}

static bool put_bitmask(struct eval *e, struct hv_span bytes, uint64_t len_bytes)
{
	if (len_bytes > bytes.len_bytes)
		return false;
	if (e->env->bitmask_list)
		hv_print_bitmap_list(&e->scratch, bytes.data, 8 * (unsigned)len_bytes);
	else
		hv_print_bitmap(&e->scratch, bytes.data, 8 * (unsigned)len_bytes);
	return true;
}

static bool put_disk(struct eval *e, struct hv_span bytes)
{
	size_t len = strnlen((const char *)bytes.data, bytes.len_bytes);

	if (!len)
		return true;
	hv_print_text(&e->scratch, "disk=");
	hv_print_bytes(&e->scratch, (const char *)bytes.data, len);
	hv_print_text(&e->scratch, ", ");
	return true;
}

/* A is a pointer; B and C are numbers. */
static bool put_text(struct eval *e, enum hv_print_function function,
		     const struct hv_print_value args[3])
{
	struct hv_span bytes;

	if (!pointed_bytes(e, args[0], &bytes) || args[1].space != HV_SPACE_GUEST ||
	    args[2].space != HV_SPACE_GUEST)
		return false;
	switch (function) {
	case HV_FN_BITMASK:
		return put_bitmask(e, bytes, args[1].bits);
	case HV_FN_HEX:
	case HV_FN_HEX_STR:
		return put_hex(e, bytes, (int32_t)args[1].bits, function == HV_FN_HEX_STR);
	case HV_FN_ARRAY:
		return put_array(e, bytes, args[1].bits, args[2].bits);
	case HV_FN_DISK:
		return put_disk(e, bytes);
	default:
		return false;
	}
}

static struct hv_print_value swapped(struct hv_print_value v, struct hv_print_type type)
{
	return hv_print_number_value(__builtin_bswap64(v.bits) >> (64 - 8 * type.size_bytes), type);
}

static bool eval_call(struct eval *e, const struct hv_print_node *n, struct hv_print_value *ret)
{
	enum hv_print_function function = (enum hv_print_function)n->function;
	struct hv_print_value args[3];

	if (function == HV_FN_SCRATCH) {
		*ret = scratch_end(e);
		return true;
	}
	if (!eval_node(e, n->a, &args[0]) || !eval_node(e, n->b, &args[1]) ||
	    !eval_node(e, n->c, &args[2]))
		return false;
	if (function == HV_FN_BSWAP) {
		*ret = swapped(args[0], n->type);
		return args[0].space == HV_SPACE_GUEST;
	}
	*ret = scratch_end(e);
	if (!put_text(e, function, args))
		return false;
	hv_print_char(&e->scratch, '\0');
	return true;
}

static bool eval_helper(struct eval *e, const struct hv_print_node *n, struct hv_print_value *ret)
{
	switch ((enum hv_print_op)n->op) {
	case HV_OP_FLAGS:
		return eval_flags(e, n, ret);
	case HV_OP_SYMBOL:
		return eval_symbol(e, n, ret);
	case HV_OP_PRINTF:
		return eval_printf(e, n, ret);
	default:
		return eval_call(e, n, ret);
	}
}

/* -- the pieces of a print_fmt ----------------------------------------------------------------- */

/* Prints the pieces of a print_fmt: text, and the converted values of expressions. */

static bool print_guest_string(const struct eval *e, const struct hv_print_spec *spec,
			       struct hv_gva addr, struct hv_print_out *out)
{
	const struct hv_print_resolver *r = e->env->resolver;
	char text[HV_PRINT_STRING_MAX];

	if (hv_print_bad_pointer(addr)) {
		hv_print_error(out, spec, hv_print_bad_pointer(addr));
		return true;
	}
	if (!r->string || !r->string(r->of, addr, text, sizeof(text)))
		return false;
	hv_print_string(out, spec, text, strnlen(text, sizeof(text)));
	return true;
}

static bool print_string(const struct eval *e, const struct hv_print_spec *spec,
			 struct hv_print_value v, struct hv_print_out *out)
{
	struct hv_span bytes;

	if (v.space == HV_SPACE_GUEST)
		return print_guest_string(e, spec, hv_gva(v.bits), out);
	if (!pointed_bytes(e, v, &bytes))
		return false;
	hv_print_string(out, spec, (const char *)bytes.data,
			strnlen((const char *)bytes.data, bytes.len_bytes));
	return true;
}

static bool print_pointer(const struct eval *e, const struct hv_print_spec *spec,
			  struct hv_print_value v, struct hv_print_out *out)
{
	struct hv_print_pointer pointer = {.addr = hv_gva(v.bits)};
	struct hv_span bytes;

	if (v.space != HV_SPACE_GUEST) {
		if (!pointed_bytes(e, v, &bytes))
			return false;
		pointer.bytes = bytes.data;
		pointer.len_bytes = bytes.len_bytes;
	}
	return hv_print_pointer(out, spec, pointer, e->env);
}

static bool number_of(struct eval *e, uint32_t node, uint64_t *ret)
{
	struct hv_print_value v;

	if (!eval_node(e, node, &v) || v.space != HV_SPACE_GUEST)
		return false;
	*ret = v.bits;
	return true;
}

static bool apply_arguments(struct eval *e, const struct hv_print_piece *piece,
			    struct hv_print_spec *spec)
{
	uint64_t number;

	if (spec->width_is_arg) {
		if (!number_of(e, piece->width, &number))
			return false;
		hv_print_spec_set_width(spec, (int32_t)number);
	}
	if (spec->precision_is_arg) {
		if (!number_of(e, piece->precision, &number))
			return false;
		hv_print_spec_set_precision(spec, (int32_t)number);
	}
	return true;
}

static bool print_value(const struct eval *e, const struct hv_print_spec *spec,
			struct hv_print_value v, struct hv_print_out *out)
{
	if (spec->conv == 's')
		return print_string(e, spec, v, out);
	if (spec->conv == 'p')
		return print_pointer(e, spec, v, out);
	if (v.space != HV_SPACE_GUEST)
		return false;
	if (spec->conv == 'c')
		hv_print_letter(out, spec, (char)v.bits);
	else
		hv_print_number(out, spec, v.bits);
	return true;
}

static bool print_piece(struct eval *e, const struct hv_print_piece *piece,
			struct hv_print_out *out)
{
	struct hv_print_spec spec = piece->spec;
	struct hv_print_value v;

	hv_print_bytes(out, string_at(e, piece->text), piece->text_len_bytes);
	if (!spec.conv)
		return true;
	if (!apply_arguments(e, piece, &spec))
		return false;
	if (spec.conv == '%') {
		hv_print_char(out, '%');
		return true;
	}
	return eval_node(e, piece->arg, &v) && print_value(e, &spec, v, out);
}

static bool eval_pieces(struct eval *e, uint32_t first, uint32_t nr, struct hv_print_out *out)
{
	for (uint32_t i = 0; i < nr; i++)
		if (!print_piece(e, &e->fmt->pieces[first + i], out))
			return false;
	return true;
}

/* Replaces control characters other than newline and tab. */
static void make_harmless(char *text, size_t len_bytes)
{
	for (char *at = text; at < text + len_bytes; at++) {
		unsigned char c = (unsigned char)*at;

		if ((c < ' ' && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0))
			*at = '?';
	}
}

bool hv_print_fmt_eval(const struct hv_print_fmt *fmt, struct hv_span entry,
		       const struct hv_print_env *env, struct hv_text *out)
{
	char text[HV_PRINT_TEXT_MAX], scratch[HV_PRINT_TEXT_MAX];
	struct hv_print_out whole = {.start = text, .at = text, .end = text + sizeof(text)};
	struct eval e = {.fmt = fmt, .entry = entry, .env = env};

	e.scratch = (struct hv_print_out){
		.start = scratch, .at = scratch, .end = scratch + sizeof(scratch)};
	if (!eval_pieces(&e, fmt->first_piece, fmt->nr_text_pieces, &whole))
		return false;
	make_harmless(text, (size_t)(whole.at - text));
	hv_text_add_bytes(out, text, (size_t)(whole.at - text));
	return true;
}

/* -- fields one by one ------------------------------------------------------------------------- */

/* Finds the bytes of an array. For a dynamic field, a word in the entry locates them. */
static bool array_bytes(const struct hv_print_field *field, struct hv_span entry,
			struct hv_span *ret)
{
	size_t off = field->offset_bytes, len = field->size_bytes;
	uint32_t word;

	if (hv_starts_with(field->type, "__data_loc") || hv_starts_with(field->type, "__rel_loc")) {
		if (!hv_span_u32(entry, off, &word))
			return false;
		off = hv_starts_with(field->type, "__rel_loc") ? off + sizeof(word) : 0;
		off += word & 0xffff;
		len = word >> 16;
	} else if (!len && off <= entry.len_bytes) {
		len = entry.len_bytes - off;
	}
	if (!hv_span_has(entry, off, len))
		return false;
	*ret = (struct hv_span){entry.data + off, len};
	return true;
}

static bool has_text_type(const struct hv_print_field *field)
{
	return strstr(field->type, "char") || strstr(field->type, "u8") ||
	       strstr(field->type, "s8");
}

static bool is_text(struct hv_span bytes)
{
	for (size_t i = 0; i < bytes.len_bytes && bytes.data[i]; i++)
		if (!isprint(bytes.data[i]) && !isspace(bytes.data[i]))
			return false;
	return true;
}

static bool put_field_array(const struct hv_print_field *field, struct hv_span entry,
			    struct hv_text *out)
{
	struct hv_span bytes;

	if (!array_bytes(field, entry, &bytes))
		return false;
	if (has_text_type(field) && is_text(bytes)) {
		hv_text_add_guest(out, (const char *)bytes.data, bytes.len_bytes);
		return true;
	}
	hv_text_add(out, "ARRAY[");
	for (size_t i = 0; i < bytes.len_bytes; i++)
		hv_text_printf(out, "%s%02x", i ? ", " : "", bytes.data[i]);
	hv_text_add(out, "]");
	return true;
}

static bool put_number(const struct hv_print_field *field, struct hv_span entry,
		       struct hv_text *out)
{
	bool is_long = strstr(field->type, "long") != NULL;
	unsigned unused_bits = 64 - 8 * field->size_bytes;
	uint64_t bits = 0;

	if (!hv_span_copy(entry, field->offset_bytes, &bits, field->size_bytes))
		return false;
	if (strchr(field->type, '*') || (is_long && !field->is_signed))
		hv_text_printf(out, "0x%" PRIx64, bits);
	else if (field->is_signed)
		hv_text_printf(out, "%*" PRId64, field->size_bytes == 2 ? 2 : 1,
			       (int64_t)(bits << unused_bits) >> unused_bits);
	else
		hv_text_printf(out, "%" PRIu64, bits);
	return true;
}

static bool is_number(const struct hv_print_field *field)
{
	uint32_t size = field->size_bytes;

	return !strchr(field->type, '[') && (size == 1 || size == 2 || size == 4 || size == 8);
}

void hv_print_fields(const struct hv_print_field *fields, size_t nr_fields, struct hv_span entry,
		     struct hv_text *out)
{
	hv_text_add(out, "[FAILED TO PARSE]");
	for (size_t i = 0; i < nr_fields; i++) {
		hv_text_add(out, " ");
		hv_text_add_guest(out, fields[i].name, strlen(fields[i].name));
		hv_text_add(out, "=");
		if (is_number(&fields[i]) ? !put_number(&fields[i], entry, out)
					  : !put_field_array(&fields[i], entry, out))
			hv_text_add(out, "?");
	}
}
