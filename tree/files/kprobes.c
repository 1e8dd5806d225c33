/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kprobe_events and kprobe_profile: probes at the entries of functions. */
#include <ctype.h>
#include <string.h>

#include "tree/files/dynamic_events.h"
#include "tree/files/files.h"
#include "tree/settings/kprobe.h"

/* As error_log of the kernel names who has refused a probe. */
#define WHERE "trace_kprobe"

/* The words of a line; those that are separated by white space (argv_split()). */
struct words {
	char *line;  /* owned */
	char **list; /* owned, of words in LINE */
	size_t nr;
};

static void words_deinit(struct words *w)
{
	free(w->line);
	free(w->list);
}

static struct words split(const char *line, size_t len)
{
	struct words w = {.line = hv_format("%.*s", (int)len, line)};
	char *rest = w.line;

	w.list = hv_alloc((len + 1) * sizeof(*w.list));
	for (char *word; (word = strsep(&rest, " \t\r\v\f"));)
		if (*word)
			w.list[w.nr++] = word;
	return w;
}

/* Adds to error_log what ERR says about WORDS, at the column AT. */
static struct hv_err *tell(struct hv_file *f, const struct words *w, struct hv_err *err,
			   unsigned at)
{
	HV_AUTO_TEXT struct hv_text command = {0};

	if (!err || at == HV_KPROBE_NOWHERE)
		return err;
	hv_text_add(&command, "");
	for (size_t i = 0; i < w->nr; i++)
		hv_text_printf(&command, "%s%s", i ? " " : "", w->list[i]);
	hv_file_log_fault(f, WHERE, err->message, command.data, at);
	return err;
}

struct hv_err *hv_kprobe_command_obey(struct hv_file *f, const char *line, size_t len)
{
	hv_cleanup(words_deinit) struct words w = split(line, len);
	struct hv_instances *all = f->at.instance->all;
	unsigned at = HV_KPROBE_NOWHERE;
	struct hv_err *err;

	if (!w.nr)
		return NULL;
	hv_instances_drain(all);
	if (w.list[0][0] == '-')
		return hv_kprobes_remove(all, w.list[0]);
	err = hv_kprobes_define(all, w.list, w.nr, &at);
	return tell(f, &w, err, at);
}

static struct hv_err *open_events(struct hv_file *f)
{
	struct hv_instances *all = f->at.instance->all;

	if (!hv_file_truncates(f))
		return NULL;
	hv_instances_drain(all);
	return hv_kprobes_clear(all);
}

static struct hv_err *write_events(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	return hv_commands_write(f, buf, len_bytes, hv_kprobe_command_obey, ret_len);
}

static void show_events(struct hv_file *f)
{
	hv_kprobes_text(f->at.instance->all, &f->text);
}

static void show_profile(struct hv_file *f)
{
	hv_instances_drain(f->at.instance->all);
	hv_kprobes_profile(f->at.instance->all, &f->text);
}

const struct hv_node hv_kprobe_events_node = {
	.help = "probes at the entries of functions: p[:[GRP/]NAME] FUNCTION "
		"[ARG=FETCH[:TYPE]]...\n"
		"adds one, -:[GRP/]NAME removes it, truncating the file all; FETCH is %REGISTER,\n"
		"$argN, $stack, $stackN, $comm, \\NUMBER, \\\"string\", @ADDRESS, "
		"@SYMBOL[+-OFFSET]\n"
		"or memory at one of these: +-[u]OFFSET(FETCH)",
	.open = open_events,
	.show = show_events,
	.write = write_events,
};

const struct hv_node hv_kprobe_profile_node = {
	.help = "how often each probe of kprobe_events was recorded, and missed",
	.show = show_profile,
};
