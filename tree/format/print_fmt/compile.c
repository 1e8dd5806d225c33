/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "tree/format/print_fmt/parser.h"

/* Node 0 and the string at 0 mean "none". */
static void begin(struct hv_print_parser *p)
{
	hv_print_build_string(&p->builder, "", 0);
	hv_print_build_number(&p->builder, 0);
	hv_print_next_token(p);
}

static void read_all(struct hv_print_parser *p)
{
	struct hv_print_fmt *fmt = p->builder.fmt;
	uint32_t deepest;

	begin(p);
	fmt->first_piece = hv_print_parse_format(p, &fmt->nr_text_pieces, &deepest);
	if (p->token.kind != HV_TOKEN_END)
		hv_print_problem(p, "nothing is expected here");
	if (p->builder.limit)
		hv_print_problem(p, p->builder.limit);
}

struct hv_err *hv_print_fmt_compile(const char *text, const struct hv_print_field *fields,
				    size_t nr_fields, const struct hv_print_resolver *resolver,
				    struct hv_print_fmt **ret)
{
	struct hv_print_parser p = {
		.text = text, .fields = fields, .nr_fields = nr_fields, .resolver = resolver};

	if (strnlen(text, HV_PRINT_FMT_MAX + 1) > HV_PRINT_FMT_MAX)
		return hv_err_new(EINVAL, "print_fmt: more than %d bytes", HV_PRINT_FMT_MAX);
	p.builder.fmt = hv_alloc(sizeof(*p.builder.fmt));
	read_all(&p);
	if (p.problem) {
		hv_print_fmt_free(p.builder.fmt);
		return hv_err_new(EINVAL, "print_fmt: byte %zu: %s", p.problem_at, p.problem);
	}
	*ret = p.builder.fmt;
	return NULL;
}

void hv_print_fmt_free(struct hv_print_fmt *fmt)
{
	if (!fmt)
		return;
	free(fmt->nodes);
	free(fmt->pairs);
	free(fmt->pieces);
	free(fmt->strings);
	free(fmt);
}

const char *hv_print_fmt_unknown(const struct hv_print_fmt *fmt)
{
	return fmt->unknown ? fmt->strings + fmt->unknown : NULL;
}
