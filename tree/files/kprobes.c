/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kprobe_events and kprobe_profile: probes of functions and their returns. */
#include <ctype.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tree/files/dynamic_events.h"
#include "tree/files/files.h"
#include "tree/settings/kprobe.h"

void hv_words_deinit(struct hv_words *w)
{
	free(w->line);
	free(w->list);
}

struct hv_words hv_words_split(const char *line, size_t len)
{
	struct hv_words w = {.line = hv_format("%.*s", (int)len, line)};
	char *rest = w.line;

	w.list = hv_alloc((len + 1) * sizeof(*w.list));
	for (char *word; (word = strsep(&rest, " \t\r\v\f"));)
		if (*word)
			w.list[w.nr++] = word;
	return w;
}

struct hv_err *hv_words_tell(struct hv_file *f, const struct hv_words *w, struct hv_err *err,
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

/* dynamic_events has those of kprobe_events and others. */
static enum hv_kprobe_file file_of(const struct hv_file *f)
{
	return f->at.node == &hv_dynamic_events_node ? HV_DYNAMIC_EVENTS : HV_KPROBE_EVENTS;
}

/* The name of the synthetic event that NAME, [GRP/]NAME, is that of; NULL: there is none. The
 * caller frees it. */
static char *find_synth(const struct hv_instances *all, const char *name)
{
	const char *slash = strchr(name, '/');

	if (slash && strncmp(name, HV_SYNTH_SYSTEM "/", strlen(HV_SYNTH_SYSTEM) + 1) != 0)
		return NULL;
	name = slash ? slash + 1 : name;
	return hv_synths_find(all, name) ? hv_strdup(name) : NULL;
}

/* What came of two attempts to remove events of a name: ENOENT only if there was none in both. */
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
static struct hv_err *remove_named(struct hv_file *f, const struct hv_words *w)
{
	struct hv_instances *all = f->at.instance->all;
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

struct hv_err *hv_kprobe_command_obey(struct hv_file *f, const char *line, size_t len)
{
	hv_cleanup(hv_words_deinit) struct hv_words w = hv_words_split(line, len);
	struct hv_instances *all = f->at.instance->all;
	HV_AUTO_FREE char *meant = NULL;
	struct hv_kprobe_fault fault = {.at = HV_KPROBE_NOWHERE};
	struct hv_err *err;

	if (!w.nr)
		return NULL;
	hv_instances_drain(all);
	if (w.list[0][0] == '-' || (file_of(f) == HV_DYNAMIC_EVENTS && w.list[0][0] == '!'))
		return remove_named(f, &w);
	err = hv_kprobes_define(all, w.list, w.nr, file_of(f), &fault, &meant);
	return hv_words_tell(f, &w, err, &fault);
}

static struct hv_err *open_events(struct hv_file *f)
{
	struct hv_instances *all = f->at.instance->all;

	if (!hv_file_truncates(f))
		return NULL;
	hv_instances_drain(all);
	return hv_kprobes_clear(all, file_of(f));
}

static struct hv_err *write_events(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	return hv_commands_write(f, buf, len_bytes, hv_kprobe_command_obey, ret_len);
}

static void show_events(struct hv_file *f)
{
	hv_kprobes_text(f->at.instance->all, file_of(f), &f->text);
}

static void show_profile(struct hv_file *f)
{
	hv_instances_drain(f->at.instance->all);
	hv_kprobes_profile(f->at.instance->all, &f->text);
}

#define NAMES_OF_FILES ", %pd/%pD"
#define OF_RETURNS     "\nkernel return probes support: $retval, $arg<N>, $comm"
/* Kernels with these have the others, too. */
#define OF_CASTS                                                                                   \
	"\ntypecasts: [(structname[,field])]<argname>[->field[->field|.field...]],\n"              \
	"  [(structname[,field])](fetcharg)->field[->field|.field...]"

/* Programs look here for what they can use. */
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
