/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plain text: the unchanged lines of trace_pipe. */
#include "export/export.h"
#include "export/output.h"

struct txt {
	struct hv_export base;
	struct hv_output output;
};

static struct txt *txt_of(struct hv_export *x)
{
	return (struct txt *)x;
}

static struct hv_err *txt_open(const struct hv_export_config *config,
			       const struct hv_export_head *head hv_unused, struct hv_export **ret)
{
	struct txt *t = hv_alloc(sizeof(*t));

	hv_output_init(&t->output, config);
	*ret = &t->base;
	return NULL;
}

/* trace_pipe returns complete lines. */
static struct hv_err *txt_add(struct hv_export *x, unsigned cpu hv_unused, struct hv_span data)
{
	struct txt *t = txt_of(x);

	hv_text_add_bytes(&t->output.pending, data.data, data.len_bytes);
	return hv_output_mark(&t->output);
}

static struct hv_err *txt_turn(struct hv_export *x)
{
	return hv_output_flush(&txt_of(x)->output);
}

static struct hv_err *txt_end(struct hv_export *x)
{
	return hv_output_end(&txt_of(x)->output);
}

static void txt_free(struct hv_export *x)
{
	struct txt *t = txt_of(x);

	hv_output_deinit(&t->output);
	free(t);
}

const struct hv_export_format hv_export_txt = {
	.name = "text",
	.suffix = ".txt",
	.input = HV_EXPORT_TEXT,
	.open = txt_open,
	.add = txt_add,
	.turn = txt_turn,
	.end = txt_end,
	.free = txt_free,
};
