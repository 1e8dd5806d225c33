/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/exit_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tree/format/print_fmt/print_fmt.h"

#define FIELDS_MAX 64
#define BEFORE	   " reason " /* precedes the name in the text of the event */

struct hv_exit_names {
	struct hv_print_fmt *fmt; /* NULL if the event does not exist */
};

/* Resolves nothing: the host's symbols are not available. */
static const struct hv_print_resolver resolver;

static void take_fields(const struct hv_event_fields *fields, struct hv_print_field *ret,
			size_t *nr)
{
	for (size_t i = 0; i < fields->nr && *nr < FIELDS_MAX; i++)
		ret[(*nr)++] = (struct hv_print_field){
			.name = fields->list[i].name,
			.type = fields->list[i].type,
			.offset_bytes = fields->list[i].off,
			.size_bytes = fields->list[i].size_bytes,
			.is_signed = fields->list[i].is_signed,
		};
}

struct hv_exit_names *hv_exit_names_new(const struct hv_catalogue *c)
{
	const struct hv_event_type *type = hv_catalogue_find(c, "host", "kvm_exit");
	struct hv_exit_names *n = hv_alloc(sizeof(*n));
	struct hv_print_field fields[FIELDS_MAX];
	size_t nr = 0;

	if (!type)
		return n;
	take_fields(&c->common, fields, &nr);
	take_fields(&type->fields, fields, &nr);
	hv_err_free(hv_print_fmt_compile(type->print_fmt, fields, nr, &resolver, &n->fmt));
	return n;
}

void hv_exit_names_free(struct hv_exit_names *n)
{
	if (!n)
		return;
	hv_print_fmt_free(n->fmt);
	free(n);
}

void hv_exit_names_add(const struct hv_exit_names *n, const struct hv_event *e, uint64_t reason,
		       struct hv_text *out)
{
	static const struct hv_print_env env = {.resolver = &resolver};
	HV_AUTO_TEXT struct hv_text text = {0};
	const char *word = NULL;

	if (n->fmt && hv_print_fmt_eval(n->fmt, e->entry, &env, &text)) {
		hv_text_add(&text, "");
		word = strstr(text.data, BEFORE);
	}
	if (word)
		word += strlen(BEFORE);
	if (word && strcspn(word, " "))
		hv_text_add_guest(out, word, strcspn(word, " "));
	else
		hv_text_printf(out, "%" PRIu64, reason);
}
