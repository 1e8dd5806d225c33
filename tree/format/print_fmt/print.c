/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the pieces of a print_fmt: text, and conversions of the values of expressions. */
#include <string.h>

#include "tree/format/print_fmt/eval.h"
#include "tree/format/print_fmt/pointer.h"

static bool print_guest_string(const struct hv_print_eval *e, const struct hv_print_spec *spec,
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

static bool print_string(const struct hv_print_eval *e, const struct hv_print_spec *spec,
			 struct hv_print_value v, struct hv_print_out *out)
{
	struct hv_span bytes;

	if (v.space == HV_SPACE_GUEST)
		return print_guest_string(e, spec, hv_gva(v.bits), out);
	if (!hv_print_eval_bytes(e, v, &bytes))
		return false;
	hv_print_string(out, spec, (const char *)bytes.data,
			strnlen((const char *)bytes.data, bytes.len_bytes));
	return true;
}

static bool print_pointer(const struct hv_print_eval *e, const struct hv_print_spec *spec,
			  struct hv_print_value v, struct hv_print_out *out)
{
	struct hv_print_pointer pointer = {.addr = hv_gva(v.bits)};
	struct hv_span bytes;

	if (v.space != HV_SPACE_GUEST) {
		if (!hv_print_eval_bytes(e, v, &bytes))
			return false;
		pointer.bytes = bytes.data;
		pointer.len_bytes = bytes.len_bytes;
	}
	return hv_print_pointer(out, spec, pointer, e->env);
}

static bool number_of(struct hv_print_eval *e, uint32_t node, uint64_t *ret)
{
	struct hv_print_value v;

	if (!hv_print_eval_node(e, node, &v) || v.space != HV_SPACE_GUEST)
		return false;
	*ret = v.bits;
	return true;
}

static bool apply_arguments(struct hv_print_eval *e, const struct hv_print_piece *piece,
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

static bool print_value(const struct hv_print_eval *e, const struct hv_print_spec *spec,
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

static bool print_piece(struct hv_print_eval *e, const struct hv_print_piece *piece,
			struct hv_print_out *out)
{
	struct hv_print_spec spec = piece->spec;
	struct hv_print_value v;

	hv_print_bytes(out, hv_print_eval_string(e, piece->text), piece->text_len_bytes);
	if (!spec.conv)
		return true;
	if (!apply_arguments(e, piece, &spec))
		return false;
	if (spec.conv == '%') {
		hv_print_char(out, '%');
		return true;
	}
	return hv_print_eval_node(e, piece->arg, &v) && print_value(e, &spec, v, out);
}

bool hv_print_eval_pieces(struct hv_print_eval *e, uint32_t first, uint32_t nr,
			  struct hv_print_out *out)
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
	struct hv_print_eval e = {.fmt = fmt, .entry = entry, .env = env};

	e.scratch = (struct hv_print_out){
		.start = scratch, .at = scratch, .end = scratch + sizeof(scratch)};
	if (!hv_print_eval_pieces(&e, fmt->first_piece, fmt->nr_text_pieces, &whole))
		return false;
	make_harmless(text, (size_t)(whole.at - text));
	hv_text_add_bytes(out, text, (size_t)(whole.at - text));
	return true;
}
