/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/report/libraries.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <trace-cmd/trace-cmd.h>
#include <traceevent/trace-seq.h>
#include <unistd.h>

#include "base/bytes.h"
#include "cli/verbs/verb.h"
#include "export/json_string.h"

/* -- an event as a line of JSON --------------------------------------------------------------- */

#define TRACERS	    "ftrace"
#define CALLERS_MAX 128

static void add_name(struct hv_text *out, const char *name)
{
	hv_json_add_string(out, name, strlen(name));
}

static void add_hex(struct hv_text *out, const uint8_t *bytes, size_t len)
{
	hv_text_add_char(out, '"');
	for (size_t i = 0; i < len; i++)
		hv_text_printf(out, "%02x", bytes[i]);
	hv_text_add_char(out, '"');
}

/* JSON numbers are exact up to 53 bits. */
static void add_number(struct hv_text *out, unsigned long long value, bool is_signed)
{
	uint64_t size = is_signed && (long long)value < 0 ? -value : value;

	if (size >> 53)
		hv_text_printf(out, "\"0x%llx\"", value);
	else
		hv_text_printf(out, is_signed ? "%lld" : "%llu", value);
}

/* Finds the bytes of F in RECORD. Returns false if they exceed the record. */
static bool find(const struct tep_format_field *f, const struct tep_record *record,
		 struct hv_span *ret)
{
	size_t size = record->size > 0 ? (size_t)record->size : 0;
	struct hv_span all = {record->data, size};
	size_t off = (size_t)f->offset, len = (size_t)f->size;
	uint32_t where;

	if (f->offset < 0 || f->size < 0)
		return false;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		if (!hv_span_u32(all, off, &where))
			return false;
		off = where & 0xffff;
		len = where >> 16;
		if (f->flags & TEP_FIELD_IS_RELATIVE)
			off += (size_t)f->offset + (size_t)f->size;
	} else if (!len && (f->flags & TEP_FIELD_IS_ARRAY) && off <= size) {
		len = size - off; /* the rest of the event */
	}
	if (off > size || len > size - off)
		return false;
	*ret = (struct hv_span){all.data + off, len};
	return true;
}

static bool number_of(struct tep_event *event, const struct tep_record *record, const char *name,
		      unsigned long long *ret)
{
	struct tep_format_field *f = tep_find_field(event, name);
	struct hv_span bytes;

	return f && find(f, record, &bytes) && !tep_read_number_field(f, record->data, ret);
}

static void add_value(struct hv_text *out, struct tep_format_field *f,
		      const struct tep_record *record, struct hv_span bytes)
{
	unsigned long long value;

	if (f->flags & TEP_FIELD_IS_STRING)
		hv_json_add_string(out, (const char *)bytes.data,
				   strnlen((const char *)bytes.data, bytes.len_bytes));
	else if (f->flags & TEP_FIELD_IS_ARRAY || tep_read_number_field(f, record->data, &value))
		add_hex(out, bytes.data, bytes.len_bytes);
	else if (f->flags & TEP_FIELD_IS_POINTER)
		hv_text_printf(out, "\"0x%llx\"", value);
	else
		add_number(out, value, f->flags & TEP_FIELD_IS_SIGNED);
}

static void add_fields(struct hv_text *out, struct tep_event *event,
		       const struct tep_record *record)
{
	const char *between = "";

	hv_text_add(out, ",\"fields\":{");
	for (struct tep_format_field *f = event->format.fields; f; f = f->next) {
		struct hv_span bytes;

		if (!find(f, record, &bytes))
			continue;
		hv_text_add(out, between);
		between = ",";
		add_name(out, f->name);
		hv_text_add_char(out, ':');
		add_value(out, f, record, bytes);
	}
	hv_text_add(out, "}");
}

static void add_function(struct hv_text *out, struct tep_handle *tep, unsigned long long addr)
{
	const char *name = addr ? tep_find_function(tep, addr) : NULL;

	if (name)
		add_name(out, name);
	else
		hv_text_printf(out, "\"0x%llx\"", addr);
}

/* Adds a member of a tracer's event, from the field NAME. Missing numbers are 0. */
static void add_member(struct hv_text *out, struct tep_event *event,
		       const struct tep_record *record, const char *key, const char *name)
{
	unsigned long long value = 0;

	number_of(event, record, name, &value);
	hv_text_printf(out, ",\"%s\":", key);
	if (strcmp(key, "depth") == 0)
		add_number(out, value, false);
	else
		add_function(out, event->tep, value);
}

static void add_exit(struct hv_text *out, struct tep_event *event, const struct tep_record *record)
{
	unsigned long long call = 0, ret = 0, value;

	add_member(out, event, record, "function", "func");
	add_member(out, event, record, "depth", "depth");
	number_of(event, record, "calltime", &call);
	number_of(event, record, "rettime", &ret);
	hv_text_add(out, ",\"duration\":");
	add_number(out, ret > call ? ret - call : 0, false);
	if (number_of(event, record, "retval", &value))
		hv_text_printf(out, ",\"retval\":\"0x%llx\"", value);
}

static void add_stack(struct hv_text *out, struct tep_event *event, const struct tep_record *record)
{
	struct tep_format_field *f = tep_find_field(event, "caller");
	unsigned long long max = CALLERS_MAX;
	struct hv_span bytes = {NULL, 0};
	uint64_t addr;

	if (f && f->offset >= 0 && f->offset <= record->size)
		bytes = (struct hv_span){(const uint8_t *)record->data + f->offset,
					 (size_t)(record->size - f->offset)};
	number_of(event, record, "size", &max);
	hv_text_add(out, ",\"callers\":[");
	for (size_t i = 0; i < max && i < CALLERS_MAX && hv_span_u64(bytes, 8 * i, &addr); i++) {
		hv_text_add(out, i ? "," : "");
		add_function(out, event->tep, addr);
	}
	hv_text_add(out, "]");
}

/* Adds the data at the end of a print or raw_data event. The id of raw_data is part of the written
 * data. */
static void add_rest(struct hv_text *out, struct tep_event *event, const struct tep_record *record,
		     const char *key)
{
	bool is_raw = strcmp(key, "bytes") == 0;
	struct tep_format_field *f = tep_find_field(event, is_raw ? "id" : "buf");
	struct hv_span bytes = {(const uint8_t *)"", 0};
	size_t len;

	if (f && f->offset >= 0 && f->offset <= record->size)
		bytes = (struct hv_span){(const uint8_t *)record->data + f->offset,
					 (size_t)(record->size - f->offset)};
	hv_text_printf(out, ",\"%s\":", key);
	if (is_raw) {
		add_hex(out, bytes.data, bytes.len_bytes);
		return;
	}
	len = strnlen((const char *)bytes.data, bytes.len_bytes);
	if (len && bytes.data[len - 1] == '\n')
		len--;
	hv_json_add_string(out, (const char *)bytes.data, len);
}

/* Returns false if EVENT does not belong to a tracer with separate members. */
static bool add_tracers(struct hv_text *out, struct tep_event *event,
			const struct tep_record *record)
{
	if (strcmp(event->name, "function") == 0) {
		add_member(out, event, record, "function", "ip");
		add_member(out, event, record, "parent", "parent_ip");
	} else if (strcmp(event->name, "funcgraph_entry") == 0) {
		add_member(out, event, record, "function", "func");
		add_member(out, event, record, "depth", "depth");
	} else if (strcmp(event->name, "funcgraph_exit") == 0) {
		add_exit(out, event, record);
	} else if (strcmp(event->name, "kernel_stack") == 0) {
		add_stack(out, event, record);
	} else if (strcmp(event->name, "print") == 0) {
		add_rest(out, event, record, "text");
	} else if (strcmp(event->name, "raw_data") == 0) {
		add_rest(out, event, record, "bytes");
	} else {
		return false;
	}
	return true;
}

static void add_lost(struct hv_text *out, const struct tep_record *record)
{
	if (!record->missed_events)
		return;
	hv_text_printf(out, "{\"event\":\"lost\",\"cpu\":%d", record->cpu);
	if (record->missed_events > 0)
		hv_text_printf(out, ",\"events\":%lld", (long long)record->missed_events);
	hv_text_add(out, "}\n");
}

/* Adds the line of RECORD, preceded by a line about lost events, if any. */
static void report_dat_json(struct tep_handle *tep, struct tep_record *record, struct hv_text *out)
{
	struct tep_event *event = tep_find_event_by_record(tep, record);
	int pid = tep_data_pid(tep, record);
	const char *comm = tep_data_comm_from_pid(tep, pid);

	add_lost(out, record);
	if (!event)
		return;
	hv_text_add(out, "{\"event\":");
	add_name(out, event->name);
	hv_text_printf(out, ",\"time\":%llu,\"cpu\":%d,\"pid\":%d,\"comm\":", record->ts,
		       record->cpu, pid);
	add_name(out, comm ? comm : "<...>");
	if (strcmp(event->system, TRACERS) != 0 || !add_tracers(out, event, record))
		add_fields(out, event, record);
	hv_text_add(out, "}\n");
}

/* -- the file --------------------------------------------------------------------------------- */

#define MUCH_BYTES (32 << 10)

struct report {
	struct trace_seq text; /* not printed yet */
	struct hv_text json;   /* not printed yet; instead of `text` */
	enum report_as as;
	size_t nr_files;
	bool cannot_print; /* stdout failed; put_out() printed the reason */
};

/* Uses the columns of `trace`. An event in the file has less information than a line of `trace`:
 * only whether the preempt count is above 0. */
static void add_event(struct report *r, struct tep_handle *tep, struct tep_record *record)
{
	if (record->missed_events > 0)
		trace_seq_printf(&r->text, "CPU:%d [LOST %lld EVENTS]\n", record->cpu,
				 (long long)record->missed_events);
	else if (record->missed_events)
		trace_seq_printf(&r->text, "CPU:%d [LOST EVENTS]\n", record->cpu);
	tep_print_event(tep, &r->text, record, "%16s-%-7d [%03d] %s %6.1000d: %s: %s",
			TEP_PRINT_COMM, TEP_PRINT_PID, TEP_PRINT_CPU, TEP_PRINT_LATENCY,
			TEP_PRINT_TIME, TEP_PRINT_NAME, TEP_PRINT_INFO);
	/* Marks and stacks end with a newline; other texts do not. */
	while (r->text.len && r->text.buffer[r->text.len - 1] == '\n')
		r->text.len--;
	trace_seq_putc(&r->text, '\n');
}

/* Replaces control characters in the guest's names and texts. */
static void clean(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t') ||
		    text[i] == '\177')
			text[i] = '?';
}

static int put(struct report *r)
{
	if (r->as == REPORT_JSON) {
		r->cannot_print = r->json.len_bytes && put_out(r->json.data, r->json.len_bytes);
		hv_text_clear(&r->json);
		return r->cannot_print;
	}
	clean(r->text.buffer, r->text.len);
	r->cannot_print = put_out(r->text.buffer, r->text.len);
	trace_seq_reset(&r->text);
	return r->cannot_print;
}

static int take_event(struct tracecmd_input *input, struct tep_record *record, int cpu hv_unused,
		      void *ctx)
{
	struct report *r = ctx;

	if (r->as == REPORT_JSON) {
		report_dat_json(tracecmd_get_tep(input), record, &r->json);
		return r->json.len_bytes < MUCH_BYTES ? 0 : put(r);
	}
	if (r->nr_files > 1)
		trace_seq_printf(&r->text, "%s: ", (const char *)tracecmd_get_private(input));
	add_event(r, tracecmd_get_tep(input), record);
	return r->text.len < MUCH_BYTES ? 0 : put(r);
}

/* Reads the heads of FDS. The caller closes all opened inputs, also on failure. */
static struct hv_err *open_all(const char *const *paths, const int *fds, size_t nr,
			       struct tracecmd_input **ret)
{
	for (size_t i = 0; i < nr; i++) {
		int fd = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

		if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0)
			return hv_err_new(errno, "%s: %s", paths[i], strerror(errno));
		ret[i] = tracecmd_open_fd(fd, 0);
		if (!ret[i])
			return hv_err_new(EINVAL,
					  "%s: not a trace.dat file that libtracecmd can read",
					  paths[i]);
		tracecmd_set_private(ret[i], (void *)paths[i]);
	}
	return NULL;
}

static struct hv_err *show_all(struct report *r, struct tracecmd_input **inputs, size_t nr,
			       const char *path)
{
	int status = nr == 1 ? tracecmd_iterate_events(inputs[0], NULL, 0, take_event, r)
			     : tracecmd_iterate_events_multi(inputs, (int)nr, take_event, r);

	if (!r->cannot_print)
		put(r);
	if (status && !r->cannot_print)
		return hv_err_new(EIO, "%s: damaged: only the events above can be read", path);
	return NULL;
}

struct hv_err *report_dat(const char *const *paths, const int *fds, size_t nr, enum report_as as)
{
	HV_AUTO_FREE struct tracecmd_input **inputs =
		hv_alloc(nr * sizeof(struct tracecmd_input *));
	struct report r = {.as = as, .nr_files = nr};
	struct hv_err *err;

	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	trace_seq_init(&r.text);
	err = open_all(paths, fds, nr, inputs);
	if (!err)
		err = show_all(&r, inputs, nr, paths[0]);
	for (size_t i = 0; i < nr && inputs[i]; i++)
		tracecmd_close(inputs[i]);
	trace_seq_destroy(&r.text);
	hv_text_deinit(&r.json);
	return err;
}
