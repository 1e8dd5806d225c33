/* The files that say which functions are traced. */
#include <inttypes.h>
#include <string.h>

#include "tree/node.h"

#define NAME_LEN_MAX 512 /* KSYM_NAME_LEN */

static const struct hv_sites *sites_of(struct hv_file *f)
{
	return &hv_session_kernel(f->tree->instances.session)->sites;
}

static void add_site(struct hv_text *out, const struct hv_site *site)
{
	hv_text_add_guest(out, site->name, NAME_LEN_MAX);
	if (!site->module)
		return;
	hv_text_add(out, " [");
	hv_text_add_guest(out, site->module, NAME_LEN_MAX);
	hv_text_add(out, "]");
}

void hv_sites_show(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);

	for (size_t i = 0; i < sites->nr; i++) {
		add_site(&f->text, &sites->list[i]);
		hv_text_add(&f->text, "\n");
	}
}

void hv_sites_addrs_show(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);

	for (size_t i = 0; i < sites->nr; i++) {
		hv_text_printf(&f->text, "%" PRIx64 " ", sites->list[i].ip.v);
		add_site(&f->text, &sites->list[i]);
		hv_text_add(&f->text, "\n");
	}
}

/* One user, none of the kernel's flags, no trampoline of the kernel's. */
void hv_patched_show(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);
	const uint8_t *patched = hv_session_patched(f->tree->instances.session);

	for (size_t i = 0; i < sites->nr; i++) {
		if (!patched[i])
			continue;
		add_site(&f->text, &sites->list[i]);
		hv_text_add(&f->text, " (1)           \n");
	}
}

/* Writers edit a copy; truncation empties the copy, so that what is published never has a moment of
 * "nothing is listed, all are traced". Readers see the list of the moment they opened. Words that
 * wait for modules, and commands, are the instance's at once: they trace nothing by themselves. */
struct hv_err *hv_list_open(struct hv_file *f)
{
	if (!hv_file_writes(f) || !(f->flags & O_TRUNC))
		f->list = hv_filter_dup(&f->instance->selection.lists[f->arg]);
	else
		hv_modcache_clear(&f->instance->selection.waiting[f->arg]);
	return NULL;
}

static int64_t left(void *ctx, enum hv_probe_command command, const struct hv_probe *probe)
{
	return hv_commands_left(ctx, command, probe);
}

void hv_list_show(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);

	if (hv_filter_is_all(&f->list))
		hv_text_add(&f->text, f->arg == HV_LIST_NOTRACE || f->arg == HV_LIST_GRAPH_NOTRACE
					      ? "#### no functions disabled ####\n"
					      : "#### all functions enabled ####\n");
	for (size_t i = 0; i < sites->nr; i++) {
		if (!hv_filter_has(&f->list, sites->list[i].ip))
			continue;
		add_site(&f->text, &sites->list[i]);
		hv_text_add(&f->text, "\n");
	}
	hv_modcache_text(&f->instance->selection.waiting[f->arg], &f->text);
	if (f->arg != HV_LIST_FILTER)
		return;
	hv_instances_drain(&f->tree->instances);
	hv_probes_text(&f->instance->probes, sites, left, f->instance, &f->text);
}

static struct hv_err *no_match(const char *func, const char *module)
{
	return hv_err_new(EINVAL, "no traceable function matches '%s'%s%s", func,
			  module ? " in module " : "", module ? module : "");
}

static bool module_is_loaded(struct hv_file *f, const char *name)
{
	const struct hv_modules *modules = &hv_session_kernel(f->tree->instances.session)->modules;

	for (size_t i = 0; i < modules->nr; i++)
		if (strcmp(modules->list[i].name, name) == 0)
			return true;
	return false;
}

/* FUNC:mod:MODULE; MODULE NULL: FUNC:mod, which is FUNC. What matches nothing may wait for a module
 * that is not loaded yet (cache_mod). */
static struct hv_err *apply_module(struct hv_file *f, const char *func, const char *module)
{
	struct hv_modcache *waiting = &f->instance->selection.waiting[f->arg];

	if (hv_filter_change(&f->list, sites_of(f), func, module))
		return NULL;
	if (!module)
		return no_match(func, NULL);
	if (func[0] == '!')
		return hv_modcache_remove(waiting, func + 1, module) ? NULL
								     : no_match(func, module);
	if (module_is_loaded(f, module))
		return no_match(func, module);
	hv_modcache_add(waiting, func, module);
	return NULL;
}

static struct hv_err *apply_command(struct hv_file *f, const char *func, const char *name,
				    const char *param)
{
	enum hv_probe_command command;

	if (f->arg != HV_LIST_FILTER || !hv_probe_command_find(name, &command))
		return hv_err_new(EINVAL, "there is no command '%s' here", name);
	return hv_instance_set_command(f->instance, func, command, param);
}

/* FUNC, or FUNC:COMMAND, or FUNC:COMMAND:PARAM */
static struct hv_err *apply_word(struct hv_file *f, char *word)
{
	char *next = word;
	char *func = strsep(&next, ":");
	char *command;

	if (!next)
		return hv_filter_change(&f->list, sites_of(f), func, NULL) ? NULL
									   : no_match(func, NULL);
	command = strsep(&next, ":");
	if (strcmp(command, "mod") == 0)
		return apply_module(f, func, next);
	return apply_command(f, func, command, next);
}

static struct hv_err *apply_graph_word(struct hv_file *f, const char *word)
{
	return hv_filter_change_graph(&f->list, sites_of(f), word) ? NULL : no_match(word, NULL);
}

static struct hv_err *apply_token(struct hv_file *f)
{
	bool graph = f->arg == HV_LIST_GRAPH || f->arg == HV_LIST_GRAPH_NOTRACE;
	struct hv_err *err;

	if (graph)
		err = apply_graph_word(f, f->token.text);
	else
		err = apply_word(f, f->token.text);
	hv_token_clear(&f->token);
	return err;
}

/* Whoever closes is told of no error, but for error_log. */
static void apply_last_token(struct hv_file *f)
{
	HV_AUTO_FREE char *word = hv_strdup(f->token.text);
	struct hv_err *err = apply_token(f);

	if (err)
		hv_file_log_error(f, err, word, strlen(word));
	hv_err_free(err);
}

struct hv_err *hv_list_write(struct hv_file *f, const char *buf, size_t len_bytes, size_t *ret_len)
{
	struct hv_err *err;
	size_t used;

	err = hv_token_take(&f->token, HV_TOKEN_SIZE_MAX, buf, len_bytes, &used);
	if (!err && f->token.len_bytes && !f->token.unfinished)
		err = apply_token(f);
	if (err)
		return err;
	*ret_len = used;
	return NULL;
}

struct hv_err *hv_list_close(struct hv_file *f)
{
	const struct hv_modcache *waiting = f->instance->selection.waiting;

	if (!hv_file_writes(f) || f->tree->ending)
		return NULL;
	if (f->token.len_bytes)
		apply_last_token(f);
	f->list.awaits_modules = f->arg == HV_LIST_FILTER && waiting[HV_LIST_FILTER].nr;
	return hv_instance_set_list(f->instance, f->arg, &f->list);
}
