/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/files/event_dirs.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/events/catalogue.h"
#include "kernel/events/print_values.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/files/files.h"
#include "tree/format/event_format.h"
#include "tree/format/raw_page.h"
#include "tree/instance/events/match.h"

const struct hv_catalogue *hv_path_catalogue(const struct hv_path *at)
{
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(hv_instance_session(at->instance)->types, &c);

	if (!err)
		return c;
	hv_err_free(err);
	return hv_tracer_types();
}

void hv_path_raw_layout(const struct hv_path *at, struct hv_raw_layout *ret,
			struct hv_raw_more *ret_more)
{
	const struct hv_options *options = hv_instance_options(at->instance);

	*ret_more = (struct hv_raw_more){0};
	hv_raw_layout_init(ret, hv_path_catalogue(at));
	if (hv_options_on(options, HV_OPT_FUNCGRAPH_RETVAL))
		hv_raw_layout_add(ret, HV_RAW_RETVAL, ret_more);
	if (hv_options_on(options, HV_OPT_FUNCGRAPH_HOST))
		hv_raw_layout_add(ret, HV_RAW_HOST, ret_more);
}

/* In a path in events/SYSTEM/, `entry` is the index of the system. It is valid only until the
 * guest's modules are read again. */
static const struct hv_event_system *system_of(const struct hv_path *at)
{
	const struct hv_catalogue *c = hv_path_catalogue(at);

	return at->entry < c->nr_systems ? &c->systems[at->entry] : NULL;
}

/* In a path in events/SYSTEM/EVENT/, `entry` is the id of the type. */
const struct hv_event_type *hv_path_event_type(const struct hv_path *at)
{
	return hv_catalogue_by_id(hv_path_catalogue(at), at->entry);
}

struct hv_err *hv_event_ref_find(const struct hv_event_ref *ref, const struct hv_catalogue *c,
				 const struct hv_event_type **ret)
{
	const struct hv_event_type *type = hv_catalogue_by_id(c, ref->id);

	if (!type || type->call.v != ref->call)
		return hv_err_new(ENODEV, "the guest's module that had this event was removed");
	*ret = type;
	return NULL;
}

struct hv_err *hv_event_ref_open(struct hv_file *f)
{
	const struct hv_event_type *type = hv_path_event_type(&f->at);
	struct hv_event_ref *ref = f->state;

	if (!type)
		return hv_err_new(ENODEV, "the guest's module that had this event was removed");
	*ref = hv_event_ref_of(type);
	return NULL;
}

struct hv_err *hv_event_system_open(struct hv_file *f)
{
	const struct hv_event_system *system = system_of(&f->at);
	struct hv_event_system_state *state = f->state;

	if (!system)
		return hv_err_new(ENODEV, "the guest no longer has these events");
	state->name = hv_strdup(system->name);
	return NULL;
}

void hv_event_system_release(struct hv_file *f)
{
	struct hv_event_system_state *state = f->state;

	free(state->name);
}

bool hv_event_is_of(const struct hv_event_type *type, const char *system)
{
	if (!system)
		return type->is_available && !hv_host_events_is(type);
	return type->is_available && strcmp(type->system, system) == 0;
}

void hv_event_switch_add(struct hv_event_switch *change, const struct hv_event_type *type)
{
	change->types = hv_realloc_array(change->types, change->nr + 1, sizeof(*change->types));
	change->types[change->nr++] = type;
}

void hv_event_switch_deinit(struct hv_event_switch *change)
{
	free(change->types);
	hv_skipped_deinit(&change->skipped);
}

struct hv_err *hv_event_switch_for(struct hv_file *f, struct hv_event_switch *change,
				   const char *buf, size_t len_bytes)
{
	struct hv_err *err = hv_instance_switch_events(f->at.instance, change);
	HV_AUTO_ERR struct hv_err *never = hv_skipped_never(&change->skipped, change->nr);
	HV_AUTO_ERR struct hv_err *busy = hv_skipped_busy(&change->skipped, change->nr);

	if (never)
		hv_file_log_error(f, never, buf, len_bytes);
	if (busy)
		hv_file_log_error(f, busy, buf, len_bytes);
	return err;
}

bool hv_event_system_can_switch(const struct hv_path *dir)
{
	const struct hv_event_system *system = system_of(dir);
	const struct hv_catalogue *c = hv_path_catalogue(dir);

	for (size_t i = 0; system && i < system->nr; i++)
		if (hv_catalogue_at(c, system, i)->is_available)
			return true;
	return false;
}

bool hv_event_can_switch(const struct hv_path *dir)
{
	const struct hv_event_type *type = hv_path_event_type(dir);

	return type && type->is_available;
}

/* Programs pass the id to perf_event_open(), so only types that can be registered have one. */
bool hv_event_has_id(const struct hv_path *dir)
{
	const struct hv_event_type *type = hv_path_event_type(dir);

	return type && type->id && type->reg_kind != HV_EVENT_REG_NONE;
}

bool hv_event_has_trigger(const struct hv_path *dir)
{
	const struct hv_event_type *type = hv_path_event_type(dir);

	return type && hv_event_type_has_triggers(type);
}

static bool system_name(const struct hv_path *dir, size_t index, struct hv_text *ret)
{
	const struct hv_catalogue *c = hv_path_catalogue(dir);

	if (index >= c->nr_systems)
		return false;
	hv_text_add(ret, c->systems[index].name);
	return true;
}

static bool find_system(struct hv_path *at, const char *name)
{
	const struct hv_catalogue *c = hv_path_catalogue(at);
	const struct hv_event_system *system = hv_catalogue_system(c, name);

	if (!system)
		return false;
	at->entry = (unsigned)(system - c->systems);
	return true;
}

static bool event_name(const struct hv_path *dir, size_t index, struct hv_text *ret)
{
	const struct hv_event_system *system = system_of(dir);

	if (!system || index >= system->nr)
		return false;
	hv_text_add(ret, hv_catalogue_at(hv_path_catalogue(dir), system, index)->name);
	return true;
}

static bool find_event(struct hv_path *at, const char *name)
{
	const struct hv_event_system *system = system_of(at);
	const struct hv_event_type *type =
		system ? hv_catalogue_find(hv_path_catalogue(at), system->name, name) : NULL;

	if (!type)
		return false;
	at->entry = type->id;
	return true;
}

const struct hv_entries hv_event_system_entries = {
	.shown_as = "SYSTEM",
	.name = system_name,
	.find = find_system,
};

const struct hv_entries hv_event_entries = {
	.shown_as = "EVENT",
	.name = event_name,
	.find = find_event,
};

/* -- header_page, header_event and printk_formats ---------------------------------------------- */

/* Programs need these files in addition to event formats in order to read trace_pipe_raw. */

/* ring_buffer_print_page_header */
static void show_header_page(struct hv_file *f)
{
	bool has_char = hv_page_header_has_char(hv_file_session(f)->kernel);
	bool char_is_signed = hv_path_catalogue(&f->at)->char_is_signed;

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
