/* events/: what the pages of trace_pipe_raw are made of, for programs that read them. */
#include <string.h>

#include "tree/files/files.h"
#include "tree/format/raw_page.h"
#include "tree/settings/token.h"

/* As put_payload() of raw_page.c writes them, and as the kernel has them since 4.x
 * (trace_entries.h). */
static const struct {
	const char *name;
	enum hv_raw_type id;
	const char *fields;
	const char *print;
} formats[] = {
	{"funcgraph_entry", HV_RAW_GRAPH_ENTRY,
	 "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	 "\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n",
	 "\"--> %ps (%d)\", (void *)REC->func, REC->depth"},
	{"funcgraph_exit", HV_RAW_GRAPH_EXIT,
	 "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	 "\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	 "\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
	 "\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	 "\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n",
	 "\"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, REC->depth, "
	 "REC->calltime, REC->rettime, REC->depth"},
	{"function", HV_RAW_FUNCTION,
	 "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	 "\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n",
	 "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip"},
	{"kernel_stack", HV_RAW_STACK,
	 "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	 "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n",
	 "\"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" "
	 "\"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1], (void "
	 "*)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], (void "
	 "*)REC->caller[5], "
	 "(void *)REC->caller[6], (void *)REC->caller[7]"},
	{"print", HV_RAW_PRINT,
	 "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	 "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n",
	 "\"%ps: %s\", (void *)REC->ip, REC->buf"},
	{"raw_data", HV_RAW_DATA,
	 "\tfield:unsigned int id;\toffset:8;\tsize:4;\tsigned:0;\n"
	 "\tfield:char buf[];\toffset:12;\tsize:0;\tsigned:0;\n",
	 "\"id:%04x %08x\", REC->id, (int)REC->buf[0]"},
};

static bool event_name(const struct hv_place *dir hv_unused, size_t index, struct hv_text *ret)
{
	if (index >= HV_ARRAY_LEN(formats))
		return false;
	hv_text_add(ret, formats[index].name);
	return true;
}

static bool find_event(struct hv_place *at, const char *name)
{
	for (unsigned i = 0; i < HV_ARRAY_LEN(formats); i++) {
		if (strcmp(formats[i].name, name) != 0)
			continue;
		at->entry = i;
		return true;
	}
	return false;
}

static void show_format(struct hv_file *f)
{
	hv_text_printf(
		&f->text,
		"name: %s\nID: %d\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		"\n%s\nprint fmt: %s\n",
		formats[f->at.entry].name, (int)formats[f->at.entry].id,
		formats[f->at.entry].fields, formats[f->at.entry].print);
}

static void show_id(struct hv_file *f)
{
	hv_text_printf(&f->text, "%d\n", (int)formats[f->at.entry].id);
}

/* ring_buffer_print_page_header */
static void show_header_page(struct hv_file *f)
{
	hv_text_printf(&f->text,
		       "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		       "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		       "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		       "\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:0;\n",
		       HV_RAW_HEAD_LEN, HV_RAW_DATA_LEN);
}

/* ring_buffer_print_entry_header */
static void show_header_event(struct hv_file *f)
{
	hv_text_add(&f->text, "# compressed entry header\n"
			      "\ttype_len    :    5 bits\n"
			      "\ttime_delta  :   27 bits\n"
			      "\tarray       :   32 bits\n"
			      "\n"
			      "\tpadding     : type == 29\n"
			      "\ttime_extend : type == 30\n"
			      "\ttime_stamp : type == 31\n"
			      "\tdata max type_len  == 28\n");
}

/* The formats of the guest kernel's trace_printk(), of which nothing is shown. */
static void show_printk_formats(struct hv_file *f hv_unused)
{
}

/* The guest's own events cannot be traced, and those of tracers cannot be chosen. Programs disable
 * all events before they begin, and read here that none is enabled. */
static void show_enable(struct hv_file *f)
{
	hv_text_add(&f->text, "0\n");
}

static struct hv_err *write_enable(struct hv_file *f hv_unused, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err && value != 0)
		err = hv_err_new(EINVAL, "there is no event that could be enabled");
	if (!err)
		*ret_len = len_bytes;
	return err;
}

static void show_set_event(struct hv_file *f hv_unused)
{
}

static struct hv_err *write_set_event(struct hv_file *f, const char *buf, size_t len_bytes,
				      size_t *ret_len)
{
	struct hv_token *token = f->state;
	struct hv_err *err = hv_token_take(token, HV_TOKEN_SIZE_MAX, buf, len_bytes, ret_len);

	if (err || !token->len_bytes || token->unfinished)
		return err;
	err = hv_err_new(EINVAL, "there is no event '%s' that could be enabled", token->text);
	hv_token_clear(token);
	return err;
}

const struct hv_entries hv_ftrace_event_entries = {
	.shown_as = "EVENT",
	.name = event_name,
	.find = find_event,
};

const struct hv_node hv_event_format_node = {
	.help = "the fields of the event in trace_pipe_raw",
	.show = show_format,
};

const struct hv_node hv_event_id_node = {
	.help = "the number of the event in trace_pipe_raw",
	.show = show_id,
};

const struct hv_node hv_header_page_node = {
	.help = "the fields at the head of each page of trace_pipe_raw",
	.show = show_header_page,
};

const struct hv_node hv_header_event_node = {
	.help = "the fields at the head of each event in trace_pipe_raw",
	.show = show_header_event,
};

const struct hv_node hv_events_enable_node = {
	.help = "always 0: the guest's own events cannot be traced. The events of a tracer are\n"
		"recorded while it is the current one",
	.show = show_enable,
	.write = write_enable,
};

const struct hv_node hv_set_event_node = {
	.help = "always empty: the guest's own events cannot be traced",
	.state_bytes = sizeof(struct hv_token),
	.show = show_set_event,
	.write = write_set_event,
};

const struct hv_node hv_printk_formats_node = {
	.help = "always empty: what the guest's kernel prints with trace_printk() is not shown",
	.show = show_printk_formats,
};
