/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a format and its arguments: "comm=%s pid=%d", REC->comm, REC->pid. The format is cut into
 * pieces, each of which has text and at most one conversion. */
#include <string.h>

#include "tree/format/print_fmt/parser.h"

/* Reads the next piece of the format's characters from *AT on. */
static bool next_piece(struct hv_print_parser *p, uint32_t *at, struct hv_print_piece *ret)
{
	const char *text = p->builder.fmt->strings + *at;
	size_t len = strcspn(text, "%");
	size_t spec_len;

	*ret = (struct hv_print_piece){.text = *at, .text_len_bytes = (uint32_t)len};
	*at += (uint32_t)len;
	if (!text[len])
		return true;
	spec_len = hv_print_spec_parse(text + len, strlen(text + len), &ret->spec);
	*at += (uint32_t)spec_len;
	return spec_len != 0;
}

/* Cuts the string at AT into pieces, one behind the other. Returns the index of the first. */
static uint32_t cut(struct hv_print_parser *p, uint32_t at, uint32_t *ret_nr)
{
	uint32_t first = p->builder.fmt->nr_pieces;
	struct hv_print_piece piece;

	*ret_nr = 0;
	do {
		if (!next_piece(p, &at, &piece)) {
			hv_print_problem(p, "a conversion that printk does not have");
			break;
		}
		hv_print_build_pieces(&p->builder, &piece, 1);
		if (p->builder.limit)
			break;
		++*ret_nr;
	} while (p->builder.fmt->strings[at]);
	return first;
}

static uint32_t deeper(const struct hv_print_parser *p, uint32_t a, uint32_t b)
{
	const struct hv_print_builder *builder = &p->builder;

	return hv_print_built(builder, a)->depth > hv_print_built(builder, b)->depth ? a : b;
}

static uint32_t argument(struct hv_print_parser *p, uint32_t *deepest)
{
	uint32_t node;

	hv_print_expect_sign(p, ',');
	node = hv_print_parse_expression(p);
	*deepest = deeper(p, *deepest, node);
	return node;
}

/* A piece may move while its arguments are read, since they may contain formats and so add pieces.
 */
static void read_arguments(struct hv_print_parser *p, uint32_t at, uint32_t *deepest)
{
	struct hv_print_piece piece = p->builder.fmt->pieces[at];

	if (!piece.spec.conv)
		return;
	if (piece.spec.width_is_arg)
		piece.width = argument(p, deepest);
	if (piece.spec.precision_is_arg)
		piece.precision = argument(p, deepest);
	if (piece.spec.conv != '%')
		piece.arg = argument(p, deepest);
	p->builder.fmt->pieces[at] = piece;
}

uint32_t hv_print_parse_format(struct hv_print_parser *p, uint32_t *ret_nr, uint32_t *ret_deepest)
{
	uint32_t string = 0, first, nr;

	*ret_nr = 0;
	*ret_deepest = HV_PRINT_NO_NODE;
	if (!hv_print_parse_string(p, &string)) {
		hv_print_problem(p, "a format is missing here");
		return 0;
	}
	first = cut(p, string, &nr);
	for (uint32_t i = 0; i < nr && !p->problem; i++)
		read_arguments(p, first + i, ret_deepest);
	while (hv_print_take_sign(p, ',')) /* printk ignores arguments that no conversion uses */
		hv_print_parse_expression(p);
	*ret_nr = nr;
	return first;
}
