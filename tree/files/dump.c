/* Dumps: a file without a place in the tree, which waits until somebody reads it. */
#include "tree/instance/dump.h"
#include "tree/format/format.h"

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
	f->tree->dump = NULL;
	return NULL;
}

static const struct hv_node node = {.name = "dump", .fill = fill, .close = close_dump};

/* "FUNC:dump by COMM-PID on CPU 1" */
static void say_why(const struct hv_kernel *k, enum hv_probe_command command,
		    const struct hv_event *event, struct hv_text *ret)
{
	const char *name = NULL;

	for (size_t i = 0; i < k->sites.nr && !name; i++)
		if (k->sites.list[i].ip.v == event->ip.v)
			name = k->sites.list[i].name;
	hv_text_add_guest(ret, name ? name : "?", NAME_LEN_MAX);
	hv_text_printf(ret, ":%s on CPU %u by task %u", hv_probe_command_name(command), event->cpu,
		       event->pid);
}

void hv_dump_begin(struct hv_tree *tree, enum hv_probe_command command,
		   const struct hv_event *event)
{
	struct hv_instance *top = &tree->top;
	struct hv_place at = {
		.tree = tree,
		.instance = top,
		.node = &node,
		.cpu = command == HV_PROBE_DUMP ? HV_ALL_CPUS : (int)event->cpu,
	};
	HV_AUTO_TEXT struct hv_text why = {0};
	struct hv_file *f;

	hv_instance_switch_recording(top, 0);
	if (tree->dump)
		return;
	say_why(hv_session_kernel(tree->session), command, event, &why);
	f = hv_file_new(&at, why.data, O_RDONLY);
	f->is_latency = top->tracer != HV_TRACER_FUNCTION_GRAPH;
	hv_file_read_buffer(f, top->host, HV_CURSOR_DUMP);
	tree->dump = f;
	tree->dump_waits = 1;
}

struct hv_file *hv_tree_next_dump(struct hv_tree *tree, const char **ret_why)
{
	if (!tree->dump_waits)
		return NULL;
	tree->dump_waits = 0;
	*ret_why = tree->dump->path;
	return tree->dump;
}

void hv_dump_drop(struct hv_tree *tree)
{
	if (tree->dump_waits)
		hv_file_abandon(tree->dump);
	tree->dump_waits = 0;
}
