/* Dumps: a file without a place in the tree, which waits until somebody reads it. */
#include "tree/node.h"

#define TEXT_LEN_BYTES 65536
#define RULE	       "---------------------------------\n"
#define NAME_LEN_MAX   512 /* KSYM_NAME_LEN */

/* Of more, the newest: a buffer may have millions. */
#define LINES_MAX 200000

static void skip_oldest(struct hv_file *f)
{
	struct hv_buffer_stat stat;
	struct hv_event e;
	uint64_t nr = 0;

	hv_buffer_stat(f->buffer, f->cpu, NULL, &stat);
	while (stat.entries > LINES_MAX + nr && hv_trace_take(f, &e))
		nr++;
	if (nr)
		hv_text_printf(&f->text, "   (%llu older events are left out)\n",
			       (unsigned long long)nr);
}

static struct hv_err *fill(struct hv_file *f)
{
	struct hv_style style = hv_trace_style(f);
	struct hv_event e;

	if (f->is_done)
		return NULL;
	if (!f->nr_fills) {
		hv_text_add(&f->text, "Dumping ftrace buffer:\n");
		skip_oldest(f);
	}
	while (f->text.len_bytes < TEXT_LEN_BYTES && !f->is_done) {
		f->is_done = !hv_trace_take(f, &e);
		if (f->is_done)
			break;
		if (!f->nr_lines)
			hv_text_add(&f->text, RULE);
		if (e.lost_before)
			hv_format_lost(&f->text, e.cpu, e.lost_before);
		hv_trace_add(f, &style, &e);
	}
	if (f->is_done)
		hv_text_add(&f->text, f->nr_lines ? RULE : "   (ftrace buffer empty)\n");
	hv_cursor_consume(f->cursor);
	return NULL;
}

static struct hv_err *close_dump(struct hv_file *f)
{
	hv_dump_end(&f->tree->instances.dump);
	return NULL;
}

static const struct hv_node node = {.name = "dump", .fill = fill, .close = close_dump};

struct hv_file *hv_tree_next_dump(struct hv_tree *tree, const char **ret_why)
{
	struct hv_dump *dump = &tree->instances.dump;
	struct hv_place at = {
		.tree = tree,
		.instance = &tree->instances.top,
		.node = &node,
		.cpu = dump->cpu,
	};
	struct hv_file *f;

	if (dump->state != HV_DUMP_WAITS)
		return NULL;
	f = hv_file_new(&at, dump->why, O_RDONLY);
	f->is_latency = dump->tracer != HV_TRACER_FUNCTION_GRAPH;
	f->cursor = hv_take(dump->cursor);
	f->buffer = dump->buffer;
	dump->state = HV_DUMP_READ;
	*ret_why = dump->why;
	return f;
}
