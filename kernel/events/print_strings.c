/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the strings in the order of the kernel's find_next() (kernel/trace/trace_printk.c): first
 * two arrays of pointers that the linker created, then a list to which the kernel adds the formats
 * of modules. */
#include "kernel/events/print_strings.h"

#include <string.h>

#include "base/grow.h"
#include "kernel/events/pages.h"
#include "kernel/core/fields.h"
#include "kernel/kernel.h"

/* Limits on guest data. A kernel with all its modules has less than 4 MiB. */
#define STRINGS_MAX 100000u
#define STRING_MAX  65535u
#define BYTES_MAX   (32u << 20) /* of all strings, including duplicates */
#define WALKS_MAX   3

struct reading {
	const struct hv_kernel *k;
	struct hv_pages pages;
	struct hv_strings strings;
	struct hv_print_strings found;
	size_t cap;
	size_t len_bytes; /* of all strings found */
};

static struct hv_err *add(struct reading *r, uint64_t at)
{
	struct hv_print_string s = {.at = hv_gva(at)};
	struct hv_err *err;

	/* The kernel leaves NULL for a removed module. */
	if (!at)
		return NULL;
	if (r->found.nr == STRINGS_MAX)
		return hv_err_new(E2BIG, "the list does not end after %u entries", STRINGS_MAX);
	err = hv_strings_read(&r->strings, s.at, STRING_MAX, &s.string);
	if (err)
		return err;
	r->len_bytes += strlen(s.string);
	if (r->len_bytes > BYTES_MAX)
		return hv_err_new(E2BIG, "more than %u MiB of them", BYTES_MAX >> 20);
	r->found.list = hv_grow(r->found.list, r->found.nr, &r->cap, 256, sizeof(*r->found.list));
	r->found.list[r->found.nr++] = s;
	return NULL;
}

static struct hv_err *add_array(struct reading *r, const char *start_name, const char *end_name)
{
	struct hv_gva at, end;
	struct hv_err *err = NULL;

	if (!hv_kernel_symbol(r->k, start_name, &at) || !hv_kernel_symbol(r->k, end_name, &end))
		return NULL;
	for (; !err && at.v < end.v; at.v += 8) {
		uint64_t string;

		err = hv_pages_u64(&r->pages, at, &string);
		if (!err)
			err = add(r, string);
	}
	return err;
}

/* Adds the formats of modules, each in a struct trace_bprintk_fmt. */
static struct hv_err *add_list(struct reading *r)
{
	uint32_t list, fmt;
	const struct hv_field fields[] = {{"list", 16, &list}, {"fmt", 8, &fmt}};
	struct hv_circle circle = {0};
	struct hv_gva head;
	uint64_t at;
	struct hv_err *err;

	if (!hv_kernel_symbol(r->k, "trace_bprintk_fmt_list", &head))
		return NULL;
	err = hv_fields_find(&r->k->core, "trace_bprintk_fmt", fields, HV_ARRAY_LEN(fields));
	if (!err)
		err = hv_pages_u64(&r->pages, head, &at);
	while (!err && at != head.v) {
		uint64_t string;

		if (hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "the list has a loop at 0x%llx",
					  (unsigned long long)at);
		err = hv_pages_u64(&r->pages, hv_gva(at - list + fmt), &string);
		if (!err)
			err = add(r, string);
		if (!err)
			err = hv_pages_u64(&r->pages, hv_gva(at), &at);
	}
	return err;
}

static struct hv_err *read_once(const struct hv_kernel *k, struct hv_print_strings *ret)
{
	struct reading r = {.k = k};
	struct hv_err *err;

	hv_pages_init(&r.pages, &k->core.as);
	hv_strings_init(&r.strings, &r.pages, &r.found.store);
	err = add_array(&r, "__start___trace_bprintk_fmt", "__stop___trace_bprintk_fmt");
	if (!err)
		err = add_array(&r, "__start___tracepoint_str", "__stop___tracepoint_str");
	if (!err)
		err = add_list(&r);
	hv_strings_deinit(&r.strings);
	hv_pages_deinit(&r.pages);
	if (err)
		hv_print_strings_deinit(&r.found);
	else
		*ret = r.found;
	return err;
}

struct hv_err *hv_print_strings_read(const struct hv_kernel *k, struct hv_print_strings *ret)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; i < WALKS_MAX; i++) {
		hv_err_free(err);
		err = read_once(k, ret);
		if (!err)
			return NULL;
	}
	return hv_err_in(err, "printk_formats");
}

void hv_print_strings_deinit(struct hv_print_strings *s)
{
	free(s->list);
	hv_store_deinit(&s->store);
	*s = (struct hv_print_strings){0};
}
