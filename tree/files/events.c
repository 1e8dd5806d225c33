/* events/: what the pages of trace_pipe_raw are made of, for programs that read them. */
#include <string.h>

#include "tree/node.h"
#include "tree/format/raw_page.h"

/* As in put_payload (raw_page.c), and as the kernel has them since 4.x (trace_entries.h). */
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

bool hv_event_name(const struct hv_place *dir hv_unused, size_t index, struct hv_text *ret)
{
	if (index >= HV_ARRAY_LEN(formats))
		return false;
	hv_text_add(ret, formats[index].name);
	return true;
}

bool hv_event_find(struct hv_place *at, const char *name)
{
	for (unsigned i = 0; i < HV_ARRAY_LEN(formats); i++) {
		if (strcmp(formats[i].name, name) != 0)
			continue;
		at->entry = i;
		return true;
	}
	return false;
}

void hv_event_format_show(struct hv_file *f)
{
	hv_text_printf(
		&f->text,
		"name: %s\nID: %d\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		"\n%s\nprint fmt: %s\n",
		formats[f->entry].name, (int)formats[f->entry].id, formats[f->entry].fields,
		formats[f->entry].print);
}

void hv_event_id_show(struct hv_file *f)
{
	hv_text_printf(&f->text, "%d\n", (int)formats[f->entry].id);
}

/* ring_buffer_print_page_header */
void hv_header_page_show(struct hv_file *f)
{
	hv_text_printf(&f->text,
		       "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		       "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		       "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		       "\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:0;\n",
		       HV_RAW_HEAD_LEN, HV_RAW_DATA_LEN);
}

/* ring_buffer_print_entry_header */
void hv_header_event_show(struct hv_file *f)
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

/* The kernel's own printk formats: none of its trace_printk() is shown. */
void hv_printk_formats_show(struct hv_file *f hv_unused)
{
}

/* No event can be switched: those of the tracers come with the tracer. Programs put off what there
 * is before they begin, and find that nothing is on. */
void hv_events_enabled_show(struct hv_file *f)
{
	hv_text_add(&f->text, "0\n");
}

struct hv_err *hv_events_enabled_write(struct hv_file *f hv_unused, const char *buf,
				       size_t len_bytes, size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err && value != 0)
		err = hv_err_new(EINVAL, "there is no event that could be enabled");
	if (!err)
		*ret_len = len_bytes;
	return err;
}

void hv_set_event_show(struct hv_file *f hv_unused)
{
}

struct hv_err *hv_set_event_write(struct hv_file *f, const char *buf, size_t len_bytes,
				  size_t *ret_len)
{
	struct hv_err *err = hv_token_take(&f->token, HV_TOKEN_SIZE_MAX, buf, len_bytes, ret_len);

	if (err || !f->token.len_bytes || f->token.unfinished)
		return err;
	err = hv_err_new(EINVAL, "there is no event '%s' that could be enabled", f->token.text);
	hv_token_clear(&f->token);
	return err;
}
