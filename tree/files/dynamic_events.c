/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that define events with commands, one per line. kprobe_events: function and return
 * probes; synthetic_events: events made by hist trigger actions; dynamic_events: all
 * user-defined events. */
#include <ctype.h>
#include <string.h>

#include "base/prefix.h"
#include "kernel/events/print_values.h"
#include "kernel/kernel.h"
#include "tree/files/files.h"
#include "tree/instance/dynamic/eprobes.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/dynamic/synths.h"
#include "tree/settings/kprobe.h"

#define WHERE  "synthetic_events" /* subsystem in the kernel's error_log */
#define SPACES " \t\n\v\f\r"

/* Executes one command, LEN bytes long. */
typedef struct hv_err *(*command_fn)(struct hv_file *f, const char *line, size_t len);

/* Executes the commands in BUF, one per line. Commands before a refused one stay executed
 * (trace_parse_run_command()). */
static struct hv_err *write_commands(struct hv_file *f, const char *buf, size_t len_bytes,
				     command_fn run_command, size_t *ret_len)
{
	struct hv_err *err = NULL;
	size_t at = 0;

	while (!err && at < len_bytes) {
		const char *end = memchr(buf + at, '\n', len_bytes - at);
		size_t len = end ? (size_t)(end - buf) - at : len_bytes - at;
		const char *comment = memchr(buf + at, '#', len);

		err = run_command(f, buf + at, comment ? (size_t)(comment - buf) - at : len);
		at += len + 1;
	}
	if (!err)
		*ret_len = len_bytes;
	return err;
}

/* The words of a line, separated by white space (argv_split()). */
struct words {
	char *line;  /* owned */
	char **list; /* owned; the words point into LINE */
	size_t nr;
};

static void words_deinit(struct words *w)
{
	free(w->line);
	free(w->list);
}

static struct words split_words(const char *line, size_t len)
{
	struct words w = {.line = hv_format("%.*s", (int)len, line)};
	char *rest = w.line;

	w.list = hv_alloc((len + 1) * sizeof(*w.list));
	for (char *word; (word = strsep(&rest, " \t\r\v\f"));)
		if (*word)
			w.list[w.nr++] = word;
	return w;
}

/* Reports ERR and FAULT for W in error_log. Returns ERR. */
static struct hv_err *log_fault(struct hv_file *f, const struct words *w, struct hv_err *err,
				const struct hv_kprobe_fault *fault)
{
	HV_AUTO_TEXT struct hv_text command = {0};

	if (!err || fault->at == HV_KPROBE_NOWHERE)
		return err;
	hv_text_add(&command, "");
	for (size_t i = 0; i < w->nr; i++)
		hv_text_printf(&command, "%s%s", i ? " " : "", w->list[i]);
	hv_file_log_fault(f, hv_kprobe_where(w->list[0]), err->message, command.data, fault->at);
	if (fault->also)
		hv_file_log_fault(f, hv_kprobe_where(w->list[0]), fault->also, command.data,
				  fault->at);
	return err;
}

/* -- synthetic_events -------------------------------------------------------------------------- */

static struct hv_err *define(struct hv_file *f, const char *text)
{
	struct hv_synth_fault fault;
	struct hv_err *err = hv_synths_define(hv_file_instances(f), text, &fault);

	if (err && fault.code && fault.why)
		hv_file_log_fault(f, WHERE, fault.why, text, fault.at);
	return err;
}

/* Returns the line without surrounding white space. The caller frees it. */
static char *command_in(const char *line, size_t len)
{
	while (len && strchr(SPACES, line[0])) {
		line++;
		len--;
	}
	return hv_format("%.*s", (int)len, line);
}

/* create_or_delete_synth_event() */
static struct hv_err *run_synthetic_command(struct hv_file *f, const char *line, size_t len)
{
	HV_AUTO_FREE char *command = command_in(line, len);

	hv_instances_drain(hv_file_instances(f));
	if (!*command)
		return NULL;
	if (command[0] != '!')
		return define(f, command);
	command[strcspn(command, " \t")] = '\0';
	return hv_synths_remove(hv_file_instances(f), command + 1);
}

static struct hv_err *open_synthetic(struct hv_file *f)
{
	struct hv_instances *all = hv_file_instances(f);

	if (!hv_file_truncates(f))
		return NULL;
	hv_instances_drain(all);
	return hv_synths_clear(all);
}

static struct hv_err *write_synthetic(struct hv_file *f, const char *buf, size_t len_bytes,
				      size_t *ret_len)
{
	return write_commands(f, buf, len_bytes, run_synthetic_command, ret_len);
}

static void show_synthetic(struct hv_file *f)
{
	hv_synths_text(hv_file_instances(f), HV_SYNTHS_OWN_FILE, &f->text);
}

/* -- kprobe_events, kprobe_profile ------------------------------------------------------------- */

/* kprobe_events and kprobe_profile: probes of functions and their returns. */

/* Returns the probes that F shows: kprobe_events has all except fprobes, dynamic_events has all. */
static enum hv_kprobe_file file_of(const struct hv_file *f)
{
	return f->at.node == &hv_dynamic_events_node ? HV_DYNAMIC_EVENTS : HV_KPROBE_EVENTS;
}

/* Returns the name without its group if NAME ("[GRP/]NAME") is a synthetic event, or NULL. The
 * caller frees it. */
static char *find_synth(const struct hv_instances *all, const char *name)
{
	const char *slash = strchr(name, '/');

	if (slash && !hv_starts_with(name, HV_SYNTH_SYSTEM "/"))
		return NULL;
	name = slash ? slash + 1 : name;
	return hv_synths_find(all, name) ? hv_strdup(name) : NULL;
}

/* Combines the results of two attempts to remove events by name: ENOENT only if both found none. */
static struct hv_err *or_if_none(struct hv_err *first, struct hv_err *second)
{
	if (first && first->code == ENOENT && (!second || second->code != ENOENT)) {
		hv_err_free(first);
		return second;
	}
	if (!first && second && second->code != ENOENT)
		return second;
	hv_err_free(second);
	return first;
}

/* -:[GRP/]NAME, and in dynamic_events also !LETTER:[GRP/]NAME: removes all events of that name
 * (dyn_event_release()). */
static struct hv_err *remove_named(struct hv_file *f, const struct words *w)
{
	struct hv_instances *all = hv_file_instances(f);
	const char *word = w->list[0], *colon = strchr(word, ':');
	HV_AUTO_FREE char *synth = NULL;
	struct hv_err *err;

	if (!colon || !colon[1] || (word[0] == '-' && colon != word + 1))
		return hv_err_new(EINVAL, "'%s' removes no event: -:[GRP/]NAME [PLACE]", word);
	err = hv_kprobes_remove(all, colon + 1, w->list + 1, w->nr - 1, file_of(f));
	if (file_of(f) == HV_KPROBE_EVENTS || (err && err->code != ENOENT))
		return err;
	err = or_if_none(err, hv_eprobes_remove(all, colon + 1, w->list + 1, w->nr - 1));
	if (err && err->code != ENOENT)
		return err;
	synth = find_synth(all, colon + 1);
	if (!synth)
		return err;
	hv_err_free(err);
	return hv_synths_remove(all, synth);
}

/* Executes a command of kprobe_events, or of dynamic_events except definitions of synthetic events
 * and event probes. */
static struct hv_err *run_kprobe_command(struct hv_file *f, const char *line, size_t len)
{
	hv_cleanup(words_deinit) struct words w = split_words(line, len);
	struct hv_instances *all = hv_file_instances(f);
	HV_AUTO_FREE char *meant = NULL;
	struct hv_kprobe_fault fault = {.at = HV_KPROBE_NOWHERE};
	struct hv_err *err;

	if (!w.nr)
		return NULL;
	hv_instances_drain(all);
	if (w.list[0][0] == '-' || (file_of(f) == HV_DYNAMIC_EVENTS && w.list[0][0] == '!'))
		return remove_named(f, &w);
	err = hv_kprobes_define(all, w.list, w.nr, file_of(f), &fault, &meant);
	return log_fault(f, &w, err, &fault);
}

static struct hv_err *open_events(struct hv_file *f)
{
	struct hv_instances *all = hv_file_instances(f);

	if (!hv_file_truncates(f))
		return NULL;
	hv_instances_drain(all);
	return hv_kprobes_clear(all, file_of(f));
}

static struct hv_err *write_events(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	return write_commands(f, buf, len_bytes, run_kprobe_command, ret_len);
}

static void show_events(struct hv_file *f)
{
	hv_kprobes_text(hv_file_instances(f), file_of(f), &f->text);
}

static void show_profile(struct hv_file *f)
{
	hv_instances_drain(hv_file_instances(f));
	hv_kprobes_profile(hv_file_instances(f), &f->text);
}

#define NAMES_OF_FILES ", %pd/%pD"
#define OF_RETURNS     "\nkernel return probes support: $retval, $arg<N>, $comm"
/* A kernel that accepts typecasts also accepts the arguments in the two lists above. */
#define OF_CASTS                                                                                   \
	"\ntypecasts: [(structname[,field])]<argname>[->field[->field|.field...]],\n"              \
	"  [(structname[,field])](fetcharg)->field[->field|.field...]"

/* Programs read this text to detect features. */
static const char *more_of_types(const struct hv_kernel *kernel)
{
	struct hv_gva at;
	bool has_dentries = hv_kernel_symbol(kernel, "traceprobe_expand_dentry_args", &at);

	if (hv_kprobes_have_casts(kernel))
		return NAMES_OF_FILES OF_RETURNS OF_CASTS;
	if (hv_kernel_symbol(kernel, "traceprobe_get_entry_data_size", &at))
		return has_dentries ? NAMES_OF_FILES OF_RETURNS : OF_RETURNS;
	return has_dentries ? NAMES_OF_FILES : "";
}

const struct hv_node hv_kprobe_events_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "Create/append/remove/show probes of functions, one in each line:\n"
		"  p[:[<group>/][<event>]] <place> [<args>]\n"
		"  r[maxactive][:[<group>/][<event>]] <place> [<args>]\n"
		"  -:[<group>/][<event>] [<place> [<args>]]\n"
		"place: [<module>:]<symbol>[+<offset>], where the offset is 0\n"
		"place (kretprobe): [<module>:]<symbol>[+<offset>]%return\n"
		"args: <name>=fetcharg[:type]\n"
		"fetcharg: %<register>, @<address>, @<symbol>[+|-<offset>], $stack<index>,\n"
		"  $stack, $retval, $comm, $arg<N>, $arg*,\n"
		"  <argname>[->field[->field|.field...]], +|-[u]<offset>(<fetcharg>), "
		"\\imm-value,\n"
		"  \\\"imm-string\"\n"
		"type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, string, ustring, symbol,\n"
		"  b<bit-width>@<bit-offset>/<container-size>, <type>\\[<array-size>\\]",
	.more_help = more_of_types,
	.open = open_events,
	.show = show_events,
	.write = write_events,
};

const struct hv_node hv_kprobe_profile_node = {
	.reads = HV_RIGHT_READ,
	.help = "how often each probe of kprobe_events was recorded, and missed",
	.show = show_profile,
};

/* -- dynamic_events ---------------------------------------------------------------------------- */

/* e[:[GRP/]NAME] SYSTEM.EVENT ... */
static struct hv_err *define_eprobe(struct hv_file *f, const char *line, size_t len)
{
	hv_cleanup(words_deinit) struct words w = split_words(line, len);
	HV_AUTO_FREE char *filter = NULL;
	struct hv_filter_fault of_filter;
	struct hv_kprobe_fault fault;
	struct hv_err *err =
		hv_eprobes_define(hv_file_instances(f), w.list, w.nr, &fault, &of_filter, &filter);

	if (filter)
		hv_file_log_fault(f, "event filter parse error",
				  of_filter.why ? of_filter.why : "Error", filter, of_filter.at);
	return log_fault(f, &w, err, &fault);
}

static struct hv_err *run_dynamic_command(struct hv_file *f, const char *line, size_t len)
{
	HV_AUTO_FREE char *command = command_in(line, len);

	hv_instances_drain(hv_file_instances(f));
	if (hv_synth_is_dynamic(command))
		return define(f, command);
	if (command[0] == 'e')
		return define_eprobe(f, line, len);
	return run_kprobe_command(f, line, len);
}

static struct hv_err *open_dynamic(struct hv_file *f)
{
	struct hv_instances *all = hv_file_instances(f);
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
	return write_commands(f, buf, len_bytes, run_dynamic_command, ret_len);
}

static void show_dynamic(struct hv_file *f)
{
	hv_kprobes_text(hv_file_instances(f), HV_DYNAMIC_EVENTS, &f->text);
	hv_eprobes_text(hv_file_instances(f), &f->text);
	hv_synths_text(hv_file_instances(f), HV_SYNTHS_DYNAMIC_EVENTS, &f->text);
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
	"\nprobes of events, with arguments made of fields:\n"                                     \
	"  e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>]\n"     \
	"  args: <name>=$<field>[:type], $comm:string, \\imm-value,\n"                             \
	"        @<address>, @<symbol>, +|-[u]<offset>(<fetch>)"
#define BY_FPROBE                                                                                  \
	"\nprobes by fprobe:\n"                                                                    \
	"  f[:[<group>/][<event>]] <func-name>[%return] [<args>]\n"                                \
	"  t[:[<group>/][<event>]] <tracepoint> [<args>]"

/* Programs read this text to detect features. */
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
