/* SPDX-License-Identifier: GPL-2.0-or-later */
/* synthetic_events: events that actions of hist triggers make; and dynamic_events: all events that
 * users define. */
#include "tree/files/dynamic_events.h"

#include <string.h>

#include "kernel/events/print_values.h"
#include "kernel/kernel.h"
#include "tree/files/files.h"

#define WHERE  "synthetic_events" /* as error_log of the kernel names who has refused it */
#define SPACES " \t\n\v\f\r"

struct hv_err *hv_commands_write(struct hv_file *f, const char *buf, size_t len_bytes,
				 hv_command_obey obey, size_t *ret_len)
{
	struct hv_err *err = NULL;
	size_t at = 0;

	while (!err && at < len_bytes) {
		const char *end = memchr(buf + at, '\n', len_bytes - at);
		size_t len = end ? (size_t)(end - buf) - at : len_bytes - at;
		const char *comment = memchr(buf + at, '#', len);

		err = obey(f, buf + at, comment ? (size_t)(comment - buf) - at : len);
		at += len + 1;
	}
	if (!err)
		*ret_len = len_bytes;
	return err;
}

/* -- synthetic_events -------------------------------------------------------------------------- */

static struct hv_err *define(struct hv_file *f, const char *text)
{
	struct hv_synth_fault fault;
	struct hv_err *err = hv_synths_define(f->at.instance->all, text, &fault);

	if (err && fault.code && fault.why)
		hv_file_log_fault(f, WHERE, fault.why, text, fault.at);
	return err;
}

/* The line without what is around it. The caller frees it. */
static char *command_in(const char *line, size_t len)
{
	while (len && strchr(SPACES, line[0])) {
		line++;
		len--;
	}
	return hv_format("%.*s", (int)len, line);
}

/* create_or_delete_synth_event() */
static struct hv_err *obey_synthetic(struct hv_file *f, const char *line, size_t len)
{
	HV_AUTO_FREE char *command = command_in(line, len);

	hv_instances_drain(f->at.instance->all);
	if (!*command)
		return NULL;
	if (command[0] != '!')
		return define(f, command);
	command[strcspn(command, " \t")] = '\0';
	return hv_synths_remove(f->at.instance->all, command + 1);
}

static struct hv_err *open_synthetic(struct hv_file *f)
{
	struct hv_instances *all = f->at.instance->all;

	if (!hv_file_truncates(f))
		return NULL;
	hv_instances_drain(all);
	return hv_synths_clear(all);
}

static struct hv_err *write_synthetic(struct hv_file *f, const char *buf, size_t len_bytes,
				      size_t *ret_len)
{
	return hv_commands_write(f, buf, len_bytes, obey_synthetic, ret_len);
}

static void show_synthetic(struct hv_file *f)
{
	hv_synths_text(f->at.instance->all, HV_SYNTHS_OWN_FILE, &f->text);
}

/* -- dynamic_events ---------------------------------------------------------------------------- */

/* e[:[GRP/]NAME] SYSTEM.EVENT ... */
static struct hv_err *define_eprobe(struct hv_file *f, const char *line, size_t len)
{
	hv_cleanup(hv_words_deinit) struct hv_words w = hv_words_split(line, len);
	HV_AUTO_FREE char *filter = NULL;
	struct hv_filter_fault of_filter;
	struct hv_kprobe_fault fault;
	struct hv_err *err =
		hv_eprobes_define(f->at.instance->all, w.list, w.nr, &fault, &of_filter, &filter);

	if (filter)
		hv_file_log_fault(f, "event filter parse error",
				  of_filter.why ? of_filter.why : "Error", filter, of_filter.at);
	return hv_words_tell(f, &w, err, &fault);
}

static struct hv_err *obey_dynamic(struct hv_file *f, const char *line, size_t len)
{
	HV_AUTO_FREE char *command = command_in(line, len);

	hv_instances_drain(f->at.instance->all);
	if (hv_synth_is_dynamic(command))
		return define(f, command);
	if (command[0] == 'e')
		return define_eprobe(f, line, len);
	return hv_kprobe_command_obey(f, line, len);
}

static struct hv_err *open_dynamic(struct hv_file *f)
{
	struct hv_instances *all = f->at.instance->all;
	struct hv_err *err;

	if (!hv_file_truncates(f))
		return NULL;
	hv_instances_drain(all);
	err = hv_eprobes_clear(all);
	if (!err)
		err = hv_synths_clear(all);
	return err ? err : hv_kprobes_clear(all, HV_DYNAMIC_EVENTS);
}

static struct hv_err *write_dynamic(struct hv_file *f, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	return hv_commands_write(f, buf, len_bytes, obey_dynamic, ret_len);
}

static void show_dynamic(struct hv_file *f)
{
	hv_kprobes_text(f->at.instance->all, HV_DYNAMIC_EVENTS, &f->text);
	hv_eprobes_text(f->at.instance->all, &f->text);
	hv_synths_text(f->at.instance->all, HV_SYNTHS_DYNAMIC_EVENTS, &f->text);
}

static const char *more_of_synthetic(const struct hv_kernel *kernel)
{
	int64_t unused;

	return hv_print_value_enumerator(kernel, "FILTER_STACKTRACE", &unused)
		       ? ";\nTYPE can be unsigned long[], for a stack:\n"
			 "echo 'blocked u64 delta; unsigned long[] stack' >> synthetic_events"
		       : "";
}

const struct hv_node hv_synthetic_events_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "events that actions of hist triggers make: NAME TYPE FIELD[; TYPE FIELD]... "
		"adds one,\n"
		"!NAME removes it, truncating the file all; TYPE is u8 to u64, s8 to s64, char, "
		"int, long,\n"
		"these with unsigned, bool, pid_t, gfp_t; FIELD[N] and FIELD[] of char are "
		"texts:\n"
		"echo 'wakeup u64 lat; char name[]' >> synthetic_events",
	.more_help = more_of_synthetic,
	.open = open_synthetic,
	.show = show_synthetic,
	.write = write_synthetic,
};

#define OF_EVENTS                                                                                  \
	"\nprobes of events, of which an argument is made of a field:\n"                           \
	"  e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>]\n"     \
	"  args: <name>=$<field>[:type], $comm:string, \\imm-value,\n"                             \
	"        @<address>, @<symbol>, +|-[u]<offset>(<fetch>)"
#define BY_FPROBE                                                                                  \
	"\nprobes by fprobe:\n"                                                                    \
	"  f[:[<group>/][<event>]] <func-name>[%return] [<args>]\n"                                \
	"  t[:[<group>/][<event>]] <tracepoint> [<args>]"

/* Programs look here for what they can use. */
static const char *more_of_dynamic(const struct hv_kernel *kernel)
{
	struct hv_gva at;
	bool has_eprobes = hv_kernel_symbol(kernel, "eprobe_dyn_event_create", &at);

	if (hv_kernel_symbol(kernel, "trace_fprobe_create", &at))
		return has_eprobes ? OF_EVENTS BY_FPROBE : BY_FPROBE;
	return has_eprobes ? OF_EVENTS : "";
}

const struct hv_node hv_dynamic_events_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "the same as kprobe_events, and synthetic events:\n"
		"  s:[synthetic/]<event> <type> <field>[; <type> <field>]...",
	.more_help = more_of_dynamic,
	.open = open_dynamic,
	.show = show_dynamic,
	.write = write_dynamic,
};
