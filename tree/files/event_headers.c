/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events/header_page, events/header_event and printk_formats, which programs need in addition to
 * event formats in order to read trace_pipe_raw. */
#include <inttypes.h>

#include "kernel/events/catalogue.h"
#include "kernel/events/print_values.h"
#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/format/raw_page.h"

/* ring_buffer_print_page_header */
static void show_header_page(struct hv_file *f)
{
	bool has_char = hv_page_header_has_char(hv_file_session(f)->kernel);
	bool char_is_signed = hv_place_catalogue(&f->at)->char_is_signed;

	hv_text_add(&f->text, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			      "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n");
	hv_text_printf(&f->text, "\tfield: %s overwrite;\toffset:8;\tsize:1;\tsigned:%d;\n",
		       has_char ? "char" : "int", !has_char || char_is_signed);
	hv_text_printf(&f->text, "\tfield: char data;\toffset:%d;\tsize:%u;\tsigned:%d;\n",
		       HV_PAGE_HEAD_BYTES,
		       hv_buffers_page_data(hv_instance_buffers(f->at.instance)), char_is_signed);
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

/* Like t_show() in kernel/trace/trace_printk.c, which does not escape a backslash. */
static void add_escaped(struct hv_text *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '\n')
			hv_text_add(out, "\\n");
		else if (*s == '\t')
			hv_text_add(out, "\\t");
		else if (*s == '"')
			hv_text_add(out, "\\\"");
		else
			hv_text_add_guest(out, s, 1);
	}
}

static struct hv_err *fill_printk_formats(struct hv_file *f)
{
	struct hv_print_strings strings;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_print_strings_read(hv_file_session(f)->kernel, &strings);
	if (err)
		return err;
	for (size_t i = 0; i < strings.nr; i++) {
		hv_text_printf(&f->text, "0x%" PRIx64 " : \"", strings.list[i].at.v);
		add_escaped(&f->text, strings.list[i].string);
		hv_text_add(&f->text, "\"\n");
	}
	hv_print_strings_deinit(&strings);
	return NULL;
}

const struct hv_node hv_header_page_node = {
	.reads = HV_RIGHT_READ,
	.help = "the fields at the head of each page of trace_pipe_raw",
	.show = show_header_page,
};

const struct hv_node hv_header_event_node = {
	.reads = HV_RIGHT_READ,
	.help = "the fields at the head of each event in trace_pipe_raw",
	.show = show_header_event,
};

const struct hv_node hv_printk_formats_node = {
	.reads = HV_RIGHT_READ,
	.help = "strings of the guest's kernel to which its events point, and where they are",
	.fill = fill_printk_formats,
};
