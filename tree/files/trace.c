/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of a buffer: trace, of all vCPUs and of each vCPU; snapshot; and dumps. */
#include "tree/files/files.h"
#include "tree/files/listing.h"
#include "tree/format/format.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/latency/wakeups.h"
#include "tree/settings/token.h"

/* -- trace ------------------------------------------------------------------------------------- */

struct trace {
	struct hv_listing listing;
	/* A section tracer is active: the file shows SECTION instead of LISTING. */
	bool of_sections;
	struct hv_section_listing section;
	unsigned pauses; /* recording is paused while the file is open */
};

static void empty(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;

	if (hv_wakeups_are_on(in))
		hv_wakeups_forget_worst(in);
	else
		hv_instance_clear(in, f->at.cpu);
}

static struct hv_err *open_trace(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;
	struct trace *t = f->state;

	if (hv_sections_are_on(in)) {
		t->of_sections = true;
		hv_section_listing_begin(&t->section, f);
		return NULL;
	}
	if (hv_file_truncates(f))
		empty(f);
	if (!hv_file_reads(f))
		return NULL;
	if (hv_options_on(hv_instance_options(in), HV_OPT_PAUSE_ON_TRACE)) {
		t->pauses = 1;
		hv_instance_pause(in);
	}
	t->listing.lines.is_latency = hv_options_on(hv_instance_options(in), HV_OPT_LATENCY_FORMAT);
	if (hv_wakeups_are_on(in))
		hv_listing_begin_worst(&t->listing, &f->at);
	else
		hv_listing_begin(&t->listing, &f->at, hv_instance_buffer(in));
	return NULL;
}

static struct hv_err *fill_trace(struct hv_file *f)
{
	struct trace *t = f->state;

	if (t->of_sections)
		hv_section_listing_fill(&t->section, f);
	else
		hv_listing_fill(&t->listing, f);
	return NULL;
}

static struct hv_err *close_trace(struct hv_file *f)
{
	const struct trace *t = f->state;

	if (t->pauses)
		hv_instance_go_on(f->at.instance);
	return NULL;
}

static void release_trace(struct hv_file *f)
{
	struct trace *t = f->state;

	hv_listing_deinit(&t->listing);
	hv_section_listing_deinit(&t->section);
}

const struct hv_node hv_trace_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "the contents of the buffer; truncating the file clears the buffer",
	.state_bytes = sizeof(struct trace),
	.open = open_trace,
	.fill = fill_trace,
	.write = hv_file_take_anything,
	.close = close_trace,
	.release = release_trace,
};

/* -- snapshot ---------------------------------------------------------------------------------- */

/* snapshot, of all vCPUs and of each vCPU: the contents of the buffer when the snapshot was
 * taken. */

static struct hv_err *open_snapshot(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;

	if (hv_instance_tracer(in)->measures)
		return hv_err_new(EBUSY, "%s keeps its longest %s in the snapshot",
				  hv_instance_tracer(in)->name,
				  hv_sections_are_on(in) ? "section" : "wait");
	/* A function command may have requested a snapshot. */
	hv_instances_drain(hv_instance_all(in));
	if (hv_file_reads(f) && hv_instance_buffers(in)->snapshot)
		hv_listing_begin(f->state, &f->at, hv_instance_buffers(in)->snapshot);
	return NULL;
}

/* print_snapshot_help */
static void add_help(struct hv_file *f)
{
	const struct hv_instance *in = f->at.instance;
	bool all = f->at.cpu < 0;

	hv_text_printf(&f->text, "# tracer: %s\n#\n#\n# * Snapshot is %s *\n#\n",
		       hv_instance_tracer(in)->name,
		       hv_instance_buffers(in)->snapshot ? "allocated" : "freed");
	hv_text_add(&f->text, "# Snapshot commands:\n");
	if (all)
		hv_text_add(&f->text, "# echo 0 > snapshot : Clears and frees snapshot buffer\n");
	hv_text_printf(
		&f->text,
		"# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.\n"
		"#                      Takes a snapshot of the main buffer%s.\n"
		"# echo 2 > snapshot : Clears %ssnapshot buffer (but does not allocate%s)\n"
		"#                      (Doesn't have to be '2' works with any number that\n"
		"#                       is not a '0' or '1')\n",
		all ? "" : " for this cpu", all ? "" : "this cpu's ", all ? " or free" : "");
}

static struct hv_err *fill_snapshot(struct hv_file *f)
{
	struct hv_listing *l = f->state;
	const struct hv_reader *r = &l->lines.reader;
	struct hv_buffer_stat stat = {0};

	if (!f->nr_fills && r->cursor)
		hv_buffer_stat(r->buffer, r->cpu, NULL, &stat);
	if (!f->nr_fills && !stat.entries)
		add_help(f);
	else if (r->cursor)
		hv_listing_fill(l, f);
	return NULL;
}

static struct hv_err *write_snapshot(struct hv_file *f, const char *buf, size_t len_bytes,
				     size_t *ret_len)
{
	struct hv_instance *in = f->at.instance;
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	if (hv_instance_buffers(in)->snapshot_use == HV_SNAPSHOT_KEPT)
		return hv_err_new(EBUSY, "the tracer keeps its worst latency in the snapshot");
	if (value == 0 && f->at.cpu >= 0)
		return hv_err_new(EINVAL, "only the whole snapshot can be freed");
	if (value == 0)
		hv_buffers_free_snapshot(hv_instance_buffers(in));
	else if (value == 1)
		err = hv_instance_take_snapshot(in, f->at.cpu);
	else if (hv_instance_buffers(in)->snapshot)
		hv_buffer_clear(hv_instance_buffers(in)->snapshot, f->at.cpu);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

static void release_snapshot(struct hv_file *f)
{
	hv_listing_deinit(f->state);
}

const struct hv_node hv_snapshot_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "the contents of the buffer when 1 was written; 0 frees the snapshot, 2 empties it",
	.state_bytes = sizeof(struct hv_listing),
	.open = open_snapshot,
	.fill = fill_snapshot,
	.write = write_snapshot,
	.release = release_snapshot,
};

/* -- dumps ------------------------------------------------------------------------------------- */

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
	struct hv_path at = {
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
