/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that select functions: set_ftrace_filter, set_ftrace_notrace, set_graph_function,
 * set_graph_notrace, stack_trace_filter.
 *
 * A writer edits a copy of the list, and closing the file publishes it. Truncation clears only the
 * copy, so the list is never temporarily empty, which would trace all functions. A reader sees the
 * list as of open(). Words that wait for modules, and commands, take effect immediately because
 * they trace nothing by themselves. */
#include <inttypes.h>
#include <string.h>

#include "base/nearest.h"
#include "kernel/kernel.h"
#include "tracer/sites/site_trampolines.h"
#include "tree/files/files.h"
#include "tree/instance/commands.h"
#include "tree/instance/trace.h"
#include "tree/instance/triggers/triggers.h"
#include "tree/settings/token.h"

/* -- files that select functions --------------------------------------------------------------- */

struct edit {
	struct hv_filter list;
	struct hv_token token;
};

static const struct hv_sites *sites_of(const struct hv_file *f)
{
	return &hv_file_session(f)->kernel->sites;
}

static enum hv_filter_list list_of(const struct hv_file *f)
{
	return f->at.node->arg;
}

static struct hv_modcache *waiting_of(const struct hv_file *f)
{
	return &hv_instance_selection(f->at.instance)->waiting[list_of(f)];
}

static bool is_graph(enum hv_filter_list list)
{
	return list == HV_LIST_GRAPH || list == HV_LIST_GRAPH_NOTRACE;
}

static struct hv_err *open_filter(struct hv_file *f)
{
	struct edit *edit = f->state;

	if (hv_file_truncates(f))
		hv_modcache_clear(waiting_of(f));
	else
		edit->list =
			hv_filter_dup(&hv_instance_selection(f->at.instance)->lists[list_of(f)]);
	return NULL;
}

static int64_t left(void *ctx, enum hv_func_command_kind command,
		    const struct hv_func_command *func_command)
{
	return hv_commands_left(ctx, command, func_command);
}

static char *event(void *ctx, struct hv_event_ref ref)
{
	return hv_event_command_target(ctx, ref);
}

static void show_filter(struct hv_file *f)
{
	bool is_notrace = list_of(f) == HV_LIST_NOTRACE || list_of(f) == HV_LIST_GRAPH_NOTRACE;
	const struct hv_sites *sites = sites_of(f);
	struct hv_instance *in = f->at.instance;
	const struct hv_func_commands_shown shown = {left, event, in};
	const struct edit *edit = f->state;

	if (hv_filter_is_all(&edit->list))
		hv_text_add(&f->text, is_notrace ? "#### no functions disabled ####\n"
						 : "#### all functions enabled ####\n");
	for (size_t i = 0; i < sites->nr; i++) {
		if (!hv_filter_has(&edit->list, sites->list[i].ip))
			continue;
		hv_site_text(&sites->list[i], &f->text);
		hv_text_add(&f->text, "\n");
	}
	hv_modcache_text(waiting_of(f), &f->text);
	if (list_of(f) != HV_LIST_FILTER)
		return;
	hv_instances_drain(hv_instance_all(in));
	hv_func_commands_text(hv_instance_commands(in), sites, &shown, &f->text);
}

static struct hv_err *no_match(const struct hv_file *f, const char *func, const char *module)
{
	struct hv_nearest nearest = hv_nearest_to(func[0] == '!' ? func + 1 : func);
	const struct hv_sites *sites = sites_of(f);
	HV_AUTO_FREE char *question = NULL;

	for (size_t i = 0; i < sites->nr; i++)
		if (!sites->list[i].invalid)
			hv_nearest_try(&nearest, sites->list[i].name);
	question = hv_nearest_question(&nearest);
	return hv_err_new(EINVAL, "no traceable function matches '%s'%s%s%s", func,
			  module ? " in module " : "", module ? module : "", question);
}

static bool module_is_loaded(const struct hv_file *f, const char *name)
{
	const struct hv_modules *modules = &hv_file_session(f)->kernel->modules;

	for (size_t i = 0; i < modules->nr; i++)
		if (strcmp(modules->list[i].name, name) == 0)
			return true;
	return false;
}

/* Applies FUNC:mod:MODULE. MODULE is NULL for FUNC and for FUNC:mod, which are equivalent. A word
 * whose module is not loaded waits for it (cache_mod). */
static struct hv_err *apply_module(struct hv_file *f, const char *func, const char *module)
{
	struct edit *edit = f->state;

	if (hv_filter_change(&edit->list, sites_of(f), func, module))
		return NULL;
	if (!module)
		return no_match(f, func, NULL);
	if (func[0] == '!')
		return hv_modcache_remove(waiting_of(f), func + 1, module)
			       ? NULL
			       : no_match(f, func, module);
	if (module_is_loaded(f, module))
		return no_match(f, func, module);
	hv_modcache_add(waiting_of(f), func, module);
	return NULL;
}

static struct hv_err *apply_command(struct hv_file *f, const char *func, const char *name,
				    char *param)
{
	enum hv_func_command_kind command;
	struct hv_err *err;

	if (list_of(f) != HV_LIST_FILTER || !hv_func_command_find(name, &command))
		return hv_err_new(EINVAL, "there is no command '%s' in this file", name);
	err = hv_file_check(f, hv_func_command_need(command));
	return err ? err : hv_instance_set_command(f->at.instance, func, command, param);
}

/* Applies FUNC, FUNC:COMMAND, or FUNC:COMMAND:PARAM. */
static struct hv_err *apply_word(struct hv_file *f, char *word)
{
	char *next = word;
	char *func = strsep(&next, ":");
	char *command;

	if (!next)
		return apply_module(f, func, NULL);
	command = strsep(&next, ":");
	if (strcmp(command, "mod") == 0)
		return apply_module(f, func, next);
	return apply_command(f, func, command, next);
}

static struct hv_err *apply_graph_word(struct hv_file *f, const char *word)
{
	struct edit *edit = f->state;

	if (hv_filter_change_graph(&edit->list, sites_of(f), word))
		return NULL;
	return no_match(f, word, NULL);
}

static struct hv_err *apply_token(struct hv_file *f)
{
	struct edit *edit = f->state;
	struct hv_err *err;

	if (is_graph(list_of(f)))
		err = apply_graph_word(f, edit->token.text);
	else
		err = apply_word(f, edit->token.text);
	hv_token_clear(&edit->token);
	return err;
}

static struct hv_err *write_filter(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	struct edit *edit = f->state;
	size_t used;
	struct hv_err *err = hv_token_take(&edit->token, HV_TOKEN_SIZE_MAX, buf, len_bytes, &used);

	if (!err && edit->token.len_bytes && !edit->token.unfinished)
		err = apply_token(f);
	if (!err)
		*ret_len = used;
	return err;
}

/* Applies the last word if no white space follows it. Errors other than a missing right do not fail
 * close(2); they only go to error_log. */
static struct hv_err *apply_last_token(struct hv_file *f)
{
	struct edit *edit = f->state;
	HV_AUTO_FREE char *word = hv_strdup(edit->token.text);
	struct hv_err *err = apply_token(f);

	if (err)
		hv_file_log_error(f, err, word, strlen(word));
	if (err && err->code == EACCES)
		return err;
	hv_err_free(err);
	return NULL;
}

static struct hv_err *close_filter(struct hv_file *f)
{
	struct edit *edit = f->state;
	struct hv_err *err = NULL;

	if (!hv_file_writes(f) || f->at.tree->ending)
		return NULL;
	if (edit->token.len_bytes)
		err = apply_last_token(f);
	if (err)
		return err;
	edit->list.awaits_modules =
		(list_of(f) == HV_LIST_FILTER || list_of(f) == HV_LIST_STACK) && waiting_of(f)->nr;
	return hv_instance_set_list(f->at.instance, list_of(f), &edit->list);
}

static void release_filter(struct hv_file *f)
{
	struct edit *edit = f->state;

	hv_filter_deinit(&edit->list);
}

#define FILTER_OPERATIONS                                                                          \
	.state_bytes = sizeof(struct edit), .open = open_filter, .show = show_filter,              \
	.write = write_filter, .close = close_filter, .release = release_filter

const struct hv_node hv_ftrace_filter_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING | HV_NEED_WRITTEN,
	.help = "trace only these functions: [!]GLOB, INDEX, [!]GLOB:mod:[!]MODULE; empty: all\n"
		"Commands act when a function is called, at most COUNT times:\n"
		"[!]GLOB:traceon[:COUNT] and [!]GLOB:traceoff[:COUNT] switch recording,\n"
		"[!]GLOB:stacktrace[:COUNT] records the callers,\n"
		"[!]GLOB:snapshot[:COUNT] takes a snapshot.\n"
		"[!]GLOB:enable_event:SYSTEM:EVENT[:COUNT] and disable_event switch an event.\n"
		"[!]GLOB:dump and [!]GLOB:cpudump act once: they end recording and write "
		"the\nbuffer, or the calling vCPU's part of it, to a file of the session",
	.arg = HV_LIST_FILTER,
	FILTER_OPERATIONS,
};

const struct hv_node hv_ftrace_notrace_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "never trace these functions; like set_ftrace_filter, but without commands",
	.arg = HV_LIST_NOTRACE,
	FILTER_OPERATIONS,
};

const struct hv_node hv_graph_function_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "function_graph: trace only these functions and their callees: [!]GLOB;\n"
		"empty: all",
	.arg = HV_LIST_GRAPH,
	FILTER_OPERATIONS,
};

const struct hv_node hv_graph_notrace_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "function_graph: trace neither these functions nor their callees: [!]GLOB",
	.arg = HV_LIST_GRAPH_NOTRACE,
	FILTER_OPERATIONS,
};

const struct hv_node hv_stack_filter_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING | HV_RIGHT_FUNCTIONS,
	.help = "look at the stack when these functions are called: as set_ftrace_filter, but\n"
		"without commands",
	.arg = HV_LIST_STACK,
	FILTER_OPERATIONS,
};

/* -- lists of functions ------------------------------------------------------------------------ */

/* The lists of functions: available_filter_functions, available_filter_functions_addrs, and
 * enabled_functions. */

static void show_functions(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);

	for (size_t i = 0; i < sites->nr; i++) {
		hv_site_text(&sites->list[i], &f->text);
		hv_text_add(&f->text, "\n");
	}
}

static void show_addresses(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);

	for (size_t i = 0; i < sites->nr; i++) {
		hv_text_printf(&f->text, "%" PRIx64 " ", sites->list[i].ip.v);
		hv_site_text(&sites->list[i], &f->text);
		hv_text_add(&f->text, "\n");
	}
}

/* Shows each patched function in the kernel's format for a function with one user, no flags and no
 * trampoline. */
static void show_enabled(struct hv_file *f)
{
	const uint8_t *patched = hv_site_trampolines_now(hv_file_session(f)->trampolines);
	const struct hv_sites *sites = sites_of(f);

	for (size_t i = 0; i < sites->nr; i++) {
		if (!patched[i])
			continue;
		hv_site_text(&sites->list[i], &f->text);
		hv_text_add(&f->text, " (1)           \n");
	}
}

const struct hv_node hv_functions_node = {
	.reads = HV_RIGHT_READ,
	.help = "the functions that can be traced, in the order of their indices, from 1",
	.show = show_functions,
};

const struct hv_node hv_function_addrs_node = {
	.reads = HV_RIGHT_READ,
	.help = "the same functions, each after its address",
	.show = show_addresses,
};

const struct hv_node hv_enabled_functions_node = {
	.reads = HV_RIGHT_READ,
	.help = "the functions that are traced now",
	.show = show_enabled,
};
