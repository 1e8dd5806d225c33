/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/eprobe.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "tree/settings/kprobe_parse.h"

#define GROUP "eprobes"
#define HEAD  2 /* words before the arguments */

/* -- arguments --------------------------------------------------------------------------------- */

/* Makes ARG the field NAME. False: there is none. */
static bool find_field(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
		       const char *name)
{
	const struct hv_event_fields *fields = &p->event->type->fields;

	arg->source = HV_KPROBE_FIELD;
	for (size_t i = 0; i < fields->nr; i++) {
		const struct hv_event_field *f = &fields->list[i];

		if (strcmp(f->name, name) != 0)
			continue;
		arg->event_field = (struct hv_kprobe_event_field){
			f->off, f->size_bytes, f->is_signed, hv_field_form_of(f->type)};
		return true;
	}
	return false;
}

/* parse_trace_event_arg(). Kernels that look late find $comm late, too, where it is the same. */
struct hv_err *hv_eprobe_take_field(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				    const char *name, size_t off)
{
	if (find_field(p, arg, name))
		return NULL;
	if (strcmp(name, "comm") == 0 || strcmp(name, "COMM") == 0) {
		arg->source = HV_KPROBE_COMM;
		return NULL;
	}
	return p->event->looks_early ? hv_kprobe_wrong(p, off, "Invalid $-variable specified")
				     : NULL;
}

struct hv_err *hv_eprobe_take_name(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				   const char *text, size_t off)
{
	if (p->has_casts && find_field(p, arg, text))
		return NULL;
	return hv_kprobe_wrong(p, off,
			       p->has_casts	       ? "This event field is not found."
			       : p->event->looks_early ? "BTF is not available or not supported"
						       : "Invalid fetch argument");
}

static bool is_text_field(const struct hv_kprobe_arg *arg)
{
	enum hv_field_form form = arg->event_field.form;

	return arg->source == HV_KPROBE_FIELD &&
	       (form == HV_FIELD_ARRAY || form == HV_FIELD_DYNAMIC || form == HV_FIELD_RELATIVE);
}

/* What is read at a text's own address is the text. */
static void drop_empty_deref(struct hv_kprobe_arg *arg)
{
	if (!is_text_field(arg) || arg->nr_derefs != 1 || arg->derefs[0].off ||
	    arg->derefs[0].is_user)
		return;
	arg->nr_derefs = 0;
	arg->is_memory = false;
}

static bool is_text(const struct hv_kprobe_arg *arg)
{
	return is_text_field(arg) || arg->source == HV_KPROBE_COMM ||
	       arg->source == HV_KPROBE_STRING;
}

/* What the guest does not record, and the host cannot have. NULL: it can have ARG. */
static const char *why_not_there(const struct hv_kprobe_parsing *p, const struct hv_kprobe_arg *arg)
{
	bool is_string = hv_kprobe_is_string(arg);

	if (is_text(arg) && arg->nr_derefs)
		return "the address of a text in the record is not known";
	if (is_text(arg) && !is_string)
		return "the address of a text is not known: its type must be string";
	if (is_text(arg))
		return *arg->type->name == 'u' || arg->count
			       ? "the text is one, and in no user's memory"
			       : NULL;
	if (is_string && arg->count && !arg->is_memory)
		return "an array of strings needs the address of the first";
	if ((arg->nr_derefs || is_string) && !p->event->is_recorded)
		return "the host makes this event: no memory is read for it";
	return NULL;
}

struct hv_err *hv_eprobe_check_type(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				    size_t off)
{
	bool reads_user = arg->nr_derefs && arg->derefs[arg->nr_derefs - 1].is_user;
	const char *why_not;

	if (!arg->type)
		arg->type = hv_kprobe_plain_type();
	if (!hv_kprobe_is_string(arg) && arg->count && (!arg->is_memory || reads_user))
		return hv_kprobe_wrong(p, off, "String accepts only memory argument");
	if (arg->source == HV_KPROBE_FIELD && !arg->event_field.size_bytes)
		return hv_kprobe_refuse(p, 0, ENOENT, "Attached event does not have this field");
	if (hv_kprobe_is_string(arg))
		drop_empty_deref(arg);
	why_not = why_not_there(p, arg);
	if (why_not)
		return hv_kprobe_not_there(p, off, why_not);
	if (!hv_kprobe_is_string(arg) || is_text(arg))
		return NULL;
	/* A number is the address itself, and so is an element of an array. */
	if (!arg->is_memory || arg->count)
		return hv_kprobe_add_deref(p, arg, (struct hv_kprobe_deref){0}, off);
	return NULL;
}

/* -- the probe itself -------------------------------------------------------------------------- */

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

/* The filter is the words from FIRST on (trace_eprobe_parse_filter()). */
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
		return hv_err_new(EINVAL, "%zu bytes are too long a filter", text.len_bytes);
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

/* eprobe_dyn_event_match(), which takes a beginning of the system's name, too */
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
