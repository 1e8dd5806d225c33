/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: include/linux/trace_events.h (struct trace_print_flags), include/trace/stages/.
 *
 * A format has lists such as `{ HRTIMER_MODE_ABS, "ABS" }, { HRTIMER_MODE_REL, "REL" }`. The function
 * that prints the event, trace_raw_output_X, refers to a table with the value and the text of each
 * item. So a table with all texts of a list, in the same order, has the values of its
 * enumerators. */
#include "kernel/derive/print_members.h"

#include <string.h>

#include "arch/arch.h"
#include "base/cancel.h"
#include "base/prefix.h"
#include "kernel/core/fields.h"
#include "kernel/core/function_code.h"

#define FORMAT	     "print_fmt_"
#define FORMAT_BYTES 16384u
#define ITEMS_MAX    128u
#define ITEMS_MIN    2u /* a table with one text proves little */
#define TEXT_BYTES   64u
#define ENTRY_BYTES  16u /* the value, and the address of the text */
#define NAMES_MAX    768u
#define FORMATS_MAX  8192u /* kernels have some 1,000, and 30 of them have such lists */
#define LISTS_MAX    2048u

struct item {
	char name[TEXT_BYTES]; /* empty: it is no enumerator */
	char text[TEXT_BYTES];
};

struct list {
	struct item items[ITEMS_MAX];
	unsigned nr;
};

static bool is_upper(char c)
{
	return (c >= 'A' && c <= 'Z') || c == '_';
}

/* Copies the name in the LEN bytes at AT; other expressions become an empty name. */
static void take_name(const char *at, size_t len, char ret[TEXT_BYTES])
{
	bool is_name = len && len < TEXT_BYTES && is_upper(*at);

	for (size_t i = 0; is_name && i < len; i++)
		is_name = is_upper(at[i]) || (at[i] >= '0' && at[i] <= '9');
	memset(ret, 0, TEXT_BYTES);
	if (is_name)
		memcpy(ret, at, len);
}

/* Reads `{ VALUE, "TEXT" }` at AT. Returns the end, or NULL if it is something else. */
static const char *read_item(const char *at, struct item *ret)
{
	const char *value = at + 1, *comma, *end;
	size_t len;

	if (*at != '{')
		return NULL;
	value += strspn(value, " ");
	comma = value + strcspn(value, ",{}\"");
	len = (size_t)(comma - value);
	while (len && value[len - 1] == ' ')
		len--;
	take_name(value, len, ret->name);
	at = comma + 1;
	if (*comma != ',')
		return NULL;
	at += strspn(at, " ");
	if (*at != '"')
		return NULL;
	at++;
	end = at + strcspn(at, "\"\\");
	if (*end != '"' || (size_t)(end - at) >= TEXT_BYTES)
		return NULL;
	memset(ret->text, 0, TEXT_BYTES);
	memcpy(ret->text, at, (size_t)(end - at));
	at = end + 1 + strspn(end + 1, " ");
	return *at == '}' ? at + 1 : NULL;
}

/* Reads the first list at or after AT. Returns its end, or NULL if there is none. */
static const char *read_list(const char *at, struct list *ret)
{
	ret->nr = 0;
	while ((at = strchr(at, '{'))) {
		const char *next;

		while (ret->nr < ITEMS_MAX && (next = read_item(at, &ret->items[ret->nr]))) {
			ret->nr++;
			at = next;
			next += strspn(next, ", ");
			if (*next != '{')
				return at;
			at = next;
		}
		if (ret->nr)
			return at;
		at++;
	}
	return NULL;
}

/* -- tables ------------------------------------------------------------------------------------ */

static bool has_text(const struct hv_kernel_core *core, uint64_t at, const char *text)
{
	struct hv_span found = hv_image_at(&core->image, hv_gva(at));
	size_t len = strlen(text) + 1;

	return hv_span_has(found, 0, len) && !memcmp(found.data, text, len);
}

static bool is_table(const struct hv_kernel_core *core, struct hv_gva at, const void *ctx)
{
	const struct list *list = ctx;
	struct hv_span table = hv_image_at(&core->image, at);

	if (hv_gva_in(at, core->image.text) || !hv_span_has(table, 0, list->nr * ENTRY_BYTES))
		return false;
	for (unsigned i = 0; i < list->nr; i++)
		if (!has_text(core, hv_copy_u64(table, i * ENTRY_BYTES + 8), list->items[i].text))
			return false;
	return true;
}

static const struct hv_number_fact *find_number(const struct hv_facts *f, const char *name)
{
	for (size_t i = 0; i < f->nr_numbers; i++)
		if (!strcmp(f->numbers[i].name, name))
			return &f->numbers[i];
	return NULL;
}

static void add_numbers(struct hv_deriving *d, const struct list *list, struct hv_gva table)
{
	struct hv_span entries = hv_image_at(&d->core->image, table);

	for (unsigned i = 0; i < list->nr && d->facts.nr_numbers < NAMES_MAX; i++) {
		const char *name = list->items[i].name;
		uint64_t value = hv_copy_u64(entries, i * ENTRY_BYTES);

		if (!*name || find_number(&d->facts, name) || value > INT32_MAX)
			continue;
		hv_facts_add_number(&d->facts, hv_facts_own(&d->facts, hv_strdup(name)),
				    (int32_t)value);
	}
}

static bool has_names(const struct list *list)
{
	for (unsigned i = 0; i < list->nr; i++)
		if (*list->items[i].name)
			return true;
	return false;
}

/* *NR_LISTS is the number of lists whose table was searched. */
static void derive_event(struct hv_deriving *d, const char *event, struct hv_span format,
			 unsigned *nr_lists)
{
	HV_AUTO_FREE char *function = hv_format("trace_raw_output_%s", event);
	HV_AUTO_FREE char *text = hv_alloc(FORMAT_BYTES + 1);
	HV_AUTO_FREE struct list *list = hv_alloc(sizeof(*list));
	const char *at = text;

	if (!format.len_bytes)
		return;
	memcpy(text, format.data,
	       format.len_bytes < FORMAT_BYTES ? format.len_bytes : FORMAT_BYTES);
	while ((at = read_list(at, list))) {
		struct hv_gva table;

		if (list->nr < ITEMS_MIN || !has_names(list))
			continue;
		if ((*nr_lists)++ == LISTS_MAX)
			return;
		if (hv_function_find_reference(d->core, function, is_table, list, &table))
			add_numbers(d, list, table);
	}
}

void hv_print_members_derive(struct hv_deriving *d)
{
	const struct hv_symbols *s = &d->core->symbols;
	unsigned nr_formats = 0, nr_lists = 0;

	for (size_t i = 0; i < s->nr && d->facts.nr_numbers < NAMES_MAX; i++) {
		const struct hv_symbol *symbol = &s->by_addr[i];

		if (!hv_starts_with(symbol->name, FORMAT))
			continue;
		if (hv_cancel_now(i) || nr_formats++ == FORMATS_MAX || nr_lists > LISTS_MAX)
			return;
		derive_event(d, symbol->name + strlen(FORMAT),
			     hv_image_at(&d->core->image, symbol->addr), &nr_lists);
	}
}
