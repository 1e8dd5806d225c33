/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/tracepoints/event_types.h"

#include <string.h>

#include "kernel/events/catalogue.h"

struct hv_event_types {
	const struct hv_kernel *kernel;
	struct hv_catalogue catalogue;
	struct hv_err *err;	     /* owned; the error of the last read */
	bool is_read;		     /* the catalogue or err is valid */
	struct hv_event_type *added; /* owned */
	size_t nr_added;
	uint64_t version;
};

struct hv_event_types *hv_event_types_new(const struct hv_kernel *kernel)
{
	struct hv_event_types *t = hv_alloc(sizeof(*t));

	t->kernel = kernel;
	return t;
}

void hv_event_types_forget(struct hv_event_types *t)
{
	hv_catalogue_deinit(&t->catalogue);
	hv_err_free(t->err);
	t->err = NULL;
	t->is_read = false;
	t->version++;
}

void hv_event_types_free(struct hv_event_types *t)
{
	if (!t)
		return;
	hv_event_types_forget(t);
	free(t->added);
	free(t);
}

/* Sorts once, because the guest can have very many types. */
static void add_all(struct hv_event_types *t, const struct hv_event_type *types, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		hv_catalogue_add(&t->catalogue, &types[i]);
	if (nr)
		hv_catalogue_index(&t->catalogue);
}

struct hv_err *hv_event_types_catalogue(struct hv_event_types *t, const struct hv_catalogue **ret)
{
	if (!t->is_read) {
		t->err = hv_catalogue_read(t->kernel, &t->catalogue);
		t->is_read = true;
		if (!t->err)
			add_all(t, t->added, t->nr_added);
	}
	if (t->err)
		return hv_err_copy(t->err);
	*ret = &t->catalogue;
	return NULL;
}

void hv_event_types_add(struct hv_event_types *t, const struct hv_event_type *type)
{
	t->added = hv_realloc_array(t->added, t->nr_added + 1, sizeof(*t->added));
	t->added[t->nr_added++] = *type;
	t->version++;
	if (t->is_read && !t->err)
		add_all(t, type, 1);
}

void hv_event_types_remove(struct hv_event_types *t, uint32_t id)
{
	size_t at = 0;

	while (at < t->nr_added && t->added[at].id != id)
		at++;
	if (at == t->nr_added)
		return;
	t->nr_added--;
	memmove(t->added + at, t->added + at + 1, (t->nr_added - at) * sizeof(*t->added));
	t->version++;
	if (t->is_read && !t->err)
		hv_catalogue_remove(&t->catalogue, id);
}

uint64_t hv_event_types_version(const struct hv_event_types *t)
{
	return t->version;
}
