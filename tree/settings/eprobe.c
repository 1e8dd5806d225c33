/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/eprobe.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "tree/settings/kprobe_parse.h"

#define GROUP "eprobes"
#define HEAD  2 /* words before the arguments */

/* Finds the event, word 1 (find_and_get_event()). */
static struct hv_err *find_event(struct hv_kprobe_parsing *p, struct hv_eprobe_kernel *kernel)
{
	HV_AUTO_FREE char *system = NULL, *name = NULL;
	HV_AUTO_ERR struct hv_err *err = NULL;
	const struct hv_event_type *type;

	p->word = 1;
	err = hv_kprobe_parse_name(p, p->words[1], 0, &system, &name);
	if (err || !system || !name)
		return hv_kprobe_wrong(p, 0, "This requires both group and event name to attach");
	type = hv_catalogue_find(kernel->scope.catalogue, system, name);
	if (!type || !type->is_available || type->reg_kind == HV_EVENT_REG_KPROBE ||
	    type->reg_kind == HV_EVENT_REG_EPROBE || type->reg_kind == HV_EVENT_REG_HOST)
		return hv_kprobe_refuse(p, 0, ENODEV, "Attached event does not exist");
	kernel->type = type;
	kernel->is_recorded =
		type->reg_kind != HV_EVENT_REG_SYNTH && !hv_event_type_is_marker(type);
	p->k->symbol = hv_format("%s.%s", system, name);
	if (!p->k->name)
		p->k->name = hv_take(name);
	return NULL;
}

/* Parses the filter, the words from FIRST on (trace_eprobe_parse_filter()). */
static struct hv_err *parse_filter(struct hv_kprobe_parsing *p, size_t first, struct hv_eprobe *e,
				   struct hv_filter_fault *ret_fault, char **ret_text)
{
	struct hv_filter_scope scope = p->event->scope;
	HV_AUTO_TEXT struct hv_text text = {0};

	p->word = first;
	if (first >= p->nr)
		return hv_kprobe_wrong(p, 0, "No filter rule after 'if'");
	for (size_t i = first; i < p->nr; i++)
		hv_text_printf(&text, "%s%s", i > first ? " " : "", p->words[i]);
	if (text.len_bytes > HV_EVENT_FILTER_MAX)
		return hv_err_new(EINVAL, "a filter of %zu bytes is too long", text.len_bytes);
	scope.type = p->event->type;
	e->filter = hv_event_filter_parse(&scope, text.data, ret_fault);
	if (e->filter)
		return NULL;
	*ret_text = hv_text_take(&text);
	return hv_err_new(EINVAL, "%s at character %zu of '%s'",
			  ret_fault->why ? ret_fault->why : "a comparison is missing",
			  ret_fault->at, *ret_text);
}

static struct hv_err *parse(struct hv_kprobe_parsing *p, struct hv_eprobe_kernel *kernel,
			    struct hv_eprobe *e, struct hv_filter_fault *ret_fault, char **ret_text)
{
	const char *colon = strchr(p->words[0], ':');
	struct hv_err *err = NULL;
	size_t end = HEAD;

	p->k->is_event = true;
	p->k->group = hv_strdup(GROUP);
	if (colon)
		err = hv_kprobe_parse_name(p, colon + 1, (size_t)(colon + 1 - p->words[0]),
					   &p->k->group, &p->k->name);
	if (!err)
		err = find_event(p, kernel);
	while (end < p->nr && strcmp(p->words[end], "if") != 0)
		end++;
	if (!err && end < p->nr)
		err = parse_filter(p, end + 1, e, ret_fault, ret_text);
	if (err)
		return err;
	p->args = (char **)p->words + HEAD;
	p->nr_args = end - HEAD;
	return hv_kprobe_parse_args(p);
}

struct hv_err *hv_eprobe_parse(struct hv_eprobe_kernel *kernel, char *const *words, size_t nr,
			       struct hv_eprobe *ret, struct hv_kprobe_fault *ret_fault,
			       struct hv_filter_fault *ret_filter, char **ret_filter_text)
{
	struct hv_eprobe e = {0};
	struct hv_kprobe_named named = {0};
	struct hv_kprobe_parsing p = {.words = words,
				      .nr = nr,
				      .k = &e.is,
				      .fault = ret_fault,
				      .named = &named,
				      .has_casts = kernel->has_casts,
				      .drops_args = kernel->drops_args,
				      .btf = kernel->btf,
				      .event = kernel};
	struct hv_err *err;

	*ret_fault = (struct hv_kprobe_fault){.at = HV_KPROBE_NOWHERE};
	*ret_filter = (struct hv_filter_fault){0};
	*ret_filter_text = NULL;
	if (nr < HEAD)
		return hv_err_new(EINVAL,
				  "'%s' defines no probe: e[:[GRP/]NAME] SYSTEM.EVENT [ARGS]",
				  nr ? words[0] : "");
	err = parse(&p, kernel, &e, ret_filter, ret_filter_text);
	if (err) {
		hv_eprobe_deinit(&e);
		return err;
	}
	e.of = (struct hv_event_ref){kernel->type->call.v, kernel->type->id};
	*ret = e;
	return NULL;
}

void hv_eprobe_deinit(struct hv_eprobe *e)
{
	hv_kprobe_deinit(&e->is);
	hv_event_filter_free(e->filter);
	*e = (struct hv_eprobe){0};
}

/* eprobe_dyn_event_match(), which also accepts a prefix of the system's name */
bool hv_eprobe_has_head(const struct hv_eprobe *e, char *const *words, size_t nr)
{
	const char *slash = nr ? strpbrk(words[0], "/") : NULL;
	const char *dot = strchr(e->is.symbol, '.');
	bool is_same;

	if (!nr)
		return true;
	if (!slash)
		slash = strchr(words[0], '.');
	if (!slash || strcmp(slash + 1, dot + 1) != 0 ||
	    strncmp(words[0], e->is.symbol, (size_t)(slash - words[0])) != 0)
		return false;
	is_same = nr <= e->is.nr_args + 1;
	for (size_t i = 1; is_same && i < nr; i++) {
		const struct hv_kprobe_arg *arg = &e->is.args[i - 1];
		HV_AUTO_FREE char *shown = hv_format("%s=%s", arg->name, arg->fetch);

		is_same = strcmp(shown, words[i]) == 0;
	}
	return is_same;
}
