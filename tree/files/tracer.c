/* README and the files of one value. */
#include <inttypes.h>
#include <ctype.h>
#include <string.h>

#include "tree/node.h"

#define TRACER_NAME_MAX 100 /* MAX_TRACER_SIZE */
#define CLOCK_NAME_MAX	64
#define NUMBER_MAX	66 /* kstrtoul_from_user */

static void add_help(struct hv_text *out, const struct hv_node *dir, const char *path)
{
	for (const struct hv_node *n = dir->children; n && n->name; n++) {
		HV_AUTO_TEXT struct hv_text name = {0};

		hv_text_printf(&name, "%s%s", path, n->name);
		hv_text_printf(out, "  %s%s\n\t\t\t- %s\n", name.data, hv_node_is_dir(n) ? "/" : "",
			       n->help);
		hv_text_add(&name, "/");
		add_help(out, n, name.data);
	}
	if (dir->entry && dir->entry != &hv_instance_node) {
		HV_AUTO_TEXT struct hv_text name = {0};

		hv_text_printf(&name, "%s%s", path, dir->entry->name);
		if (!hv_node_is_dir(dir->entry))
			hv_text_printf(out, "  %s\n\t\t\t- %s\n", name.data, dir->entry->help);
		hv_text_add(&name, "/");
		add_help(out, dir->entry, name.data);
	}
}

void hv_readme_show(struct hv_file *f)
{
	hv_text_add(&f->text, "tracing mini-HOWTO:\n\n"
			      "# echo 0 > tracing_on : quick way to disable tracing\n"
			      "# echo 1 > tracing_on : quick way to re-enable tracing\n\n");
	add_help(&f->text, &hv_root_node, "");
}

void hv_tracers_show(struct hv_file *f)
{
	hv_tracers_text(&f->text, " ");
	hv_text_add(&f->text, "\n");
}

void hv_tracer_show(struct hv_file *f)
{
	hv_text_printf(&f->text, "%s\n", hv_tracer_name(f->instance->selection.tracer));
}

static char *copy_text(const char *buf, size_t len_bytes)
{
	char *copy = hv_alloc(len_bytes + 1);

	memcpy(copy, buf, len_bytes);
	return copy;
}

/* BUF up to its NUL or end without the white space around it. */
static char *trimmed(const char *buf, size_t len_bytes)
{
	size_t len = strnlen(buf, len_bytes);

	while (len && isspace((unsigned char)buf[len - 1]))
		len--;
	while (len && isspace((unsigned char)buf[0])) {
		buf++;
		len--;
	}
	return copy_text(buf, len);
}

/* The tracer that was goes first, then the buffer's content, then the new one comes, as in
 * tracing_set_tracer: if that fails, the tracer is nop. */
static struct hv_err *set_tracer(struct hv_instance *in, enum hv_tracer tracer)
{
	struct hv_err *err;

	if (in->selection.tracer == tracer)
		return NULL;
	if (in->pipes.nr || in->pipes.nr_raw)
		return hv_err_new(EBUSY, "trace_pipe is open");
	if (in->selection.tracer != HV_TRACER_NOP) {
		err = hv_instance_set_tracer(in, HV_TRACER_NOP);
		if (err)
			return err;
	}
	hv_instance_clear(in, HV_ALL_CPUS);
	if (tracer == HV_TRACER_NOP)
		return NULL;
	return hv_instance_set_tracer(in, tracer);
}

struct hv_err *hv_tracer_write(struct hv_file *f, const char *buf, size_t len_bytes,
			       size_t *ret_len)
{
	size_t seen = len_bytes < TRACER_NAME_MAX ? len_bytes : TRACER_NAME_MAX;
	HV_AUTO_FREE char *name = trimmed(buf, seen);
	enum hv_tracer tracer;
	struct hv_err *err = hv_tracer_find(name, &tracer);

	if (!err)
		err = set_tracer(f->instance, tracer);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

void hv_recording_show(struct hv_file *f)
{
	hv_instances_drain(&f->tree->instances);
	hv_text_printf(&f->text, "%u\n", hv_instance_tracing_on(f->instance));
}

/* The function tracer's start empties the buffer. */
static void set_recording(struct hv_instance *in, unsigned on)
{
	if (hv_instance_tracing_on(in) == on)
		return;
	if (on && in->selection.tracer == HV_TRACER_FUNCTION)
		hv_instance_clear(in, HV_ALL_CPUS);
	hv_instance_set_recording(in, on);
}

struct hv_err *hv_number_written(const char *buf, size_t len_bytes, uint64_t *ret)
{
	HV_AUTO_FREE char *text = copy_text(buf, len_bytes < NUMBER_MAX ? len_bytes : NUMBER_MAX);

	return hv_number_parse(text, 10, ret);
}

struct hv_err *hv_recording_write(struct hv_file *f, const char *buf, size_t len_bytes,
				  size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	set_recording(f->instance, value != 0);
	*ret_len = len_bytes;
	return NULL;
}

static const char *const clock_names[] = {
	[HV_TRACE_CLOCK_GUEST] = "local",
	[HV_TRACE_CLOCK_TSC] = "x86-tsc",
	[HV_TRACE_CLOCK_HOST] = "host-mono",
};

/* The guest's own where it can be told, and the host's where it is known how the guest's counter
 * follows it. */
static bool has_clock(struct hv_session *s, enum hv_trace_clock clock)
{
	if (clock == HV_TRACE_CLOCK_GUEST)
		return hv_session_guest_clock(s) != HV_CLOCK_RAW;
	return clock != HV_TRACE_CLOCK_HOST || hv_session_has_host_clock(s);
}

/* What is shown without one is what the counter says. */
static bool is_chosen(const struct hv_instance *in, enum hv_trace_clock clock)
{
	if (clock == HV_TRACE_CLOCK_TSC)
		return hv_buffers_clock_kind(&in->buffers) == HV_CLOCK_RAW;
	return in->buffers.clock == clock;
}

void hv_clock_show(struct hv_file *f)
{
	const char *blank = "";

	for (size_t i = 0; i < HV_ARRAY_LEN(clock_names); i++) {
		const char *form = is_chosen(f->instance, i) ? "%s[%s]" : "%s%s";

		if (!has_clock(f->tree->instances.session, i))
			continue;
		hv_text_printf(&f->text, form, blank, clock_names[i]);
		blank = " ";
	}
	hv_text_add(&f->text, "\n");
}

/* Setting a clock clears the buffer, even when it is the one in use (tracing_set_clock). */
struct hv_err *hv_clock_write(struct hv_file *f, const char *buf, size_t len_bytes, size_t *ret_len)
{
	HV_AUTO_FREE char *name = NULL;

	if (len_bytes >= CLOCK_NAME_MAX)
		return hv_err_new(EINVAL, "a name of %zu bytes", len_bytes);
	name = trimmed(buf, len_bytes);
	for (size_t i = 0; i < HV_ARRAY_LEN(clock_names); i++) {
		if (strcmp(name, clock_names[i]) != 0 || !has_clock(f->tree->instances.session, i))
			continue;
		hv_instance_use_clock(f->instance, i);
		*ret_len = len_bytes;
		return NULL;
	}
	return hv_err_new(EINVAL, "there is no clock '%s'", name);
}

struct hv_err *hv_errors_open(struct hv_file *f)
{
	if (hv_file_writes(f) && (f->flags & O_TRUNC))
		hv_error_log_clear(&f->instance->errors);
	return NULL;
}

void hv_errors_show(struct hv_file *f)
{
	hv_error_log_text(&f->instance->errors, &f->text);
}

struct hv_err *hv_anything_write(struct hv_file *f hv_unused, const char *buf hv_unused,
				 size_t len_bytes, size_t *ret_len)
{
	*ret_len = len_bytes;
	return NULL;
}

/* An event has the time since the one before it (trace_pipe_raw). */
void hv_timestamps_show(struct hv_file *f)
{
	hv_text_add(&f->text, "[delta] absolute\n");
}
