/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/files/files.h"

#include "tree/files/listing.h"
#include "tree/format/format.h"

#define TEXT_LEN_BYTES 65536 /* size of a chunk of text */
#define RULE	       "---------------------------------\n"

/* A buffer may contain millions of events. Only the newest are written. */
#define LINES_MAX 200000

struct dump {
	struct hv_lines lines;
	unsigned is_done; /* the last line was written */
};

static void skip_oldest(struct hv_lines *l, struct hv_text *out)
{
	struct hv_buffer_stat stat;
	struct hv_event e;
	uint64_t nr = 0;

	hv_buffer_stat(l->reader.buffer, l->reader.cpu, NULL, &stat);
	while (stat.entries > LINES_MAX + nr && hv_lines_take(l, &e))
		nr++;
	if (nr)
		hv_text_printf(out, "   (%llu older events are left out)\n",
			       (unsigned long long)nr);
}

static void add_line(struct dump *d, struct hv_text *out, const struct hv_style *style,
		     const struct hv_event *e)
{
	if (!d->lines.nr)
		hv_text_add(out, RULE);
	if (e->lost_before)
		hv_format_lost(out, e->cpu, e->lost_before);
	hv_lines_add(&d->lines, out, style, e);
}

static struct hv_err *fill_dump(struct hv_file *f)
{
	struct dump *d = f->state;
	struct hv_style style = hv_lines_style(&d->lines);
	struct hv_event e;

	if (d->is_done)
		return NULL;
	if (!f->nr_fills) {
		hv_text_add(&f->text, "Dumping ftrace buffer:\n");
		skip_oldest(&d->lines, &f->text);
	}
	while (f->text.len_bytes < TEXT_LEN_BYTES && !d->is_done) {
		d->is_done = !hv_lines_take(&d->lines, &e);
		if (!d->is_done)
			add_line(d, &f->text, &style, &e);
	}
	if (d->is_done)
		hv_text_add(&f->text, d->lines.nr ? RULE : "   (ftrace buffer empty)\n");
	hv_cursor_consume(d->lines.reader.cursor);
	return NULL;
}

static struct hv_err *close_dump(struct hv_file *f)
{
	hv_dump_end(hv_instances_dump(f->at.tree->instances));
	return NULL;
}

static void release_dump(struct hv_file *f)
{
	struct dump *d = f->state;

	hv_lines_deinit(&d->lines);
}

static const struct hv_node node = {
	.state_bytes = sizeof(struct dump),
	.fill = fill_dump,
	.close = close_dump,
	.release = release_dump,
};

struct hv_file *hv_dump_open(struct hv_tree *tree)
{
	struct hv_dump *dump = hv_instances_dump(tree->instances);
	struct hv_place at = {
		.tree = tree,
		.instance = hv_instances_top(tree->instances),
		.node = &node,
		.cpu = dump->cpu,
	};
	struct hv_file *f;
	struct dump *d;

	if (dump->state != HV_DUMP_WAITS)
		return NULL;
	f = hv_file_new(&at, &hv_root_rights, dump->why, O_RDONLY);
	d = f->state;
	d->lines.is_latency = !dump->tracer->is_graph;
	d->lines.reader = (struct hv_reader){
		.instance = at.instance,
		.cpu = at.cpu,
		.buffer = dump->buffer,
		.cursor = hv_take(dump->cursor),
	};
	dump->state = HV_DUMP_READ;
	return f;
}
