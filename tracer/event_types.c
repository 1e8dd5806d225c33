/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/event_types.h"

#include "kernel/events/catalogue.h"

struct hv_event_types {
	const struct hv_kernel *kernel;
	struct hv_catalogue catalogue;
	struct hv_err *err; /* owned; why the catalogue could not be read */
	bool is_read;	    /* the catalogue, or err, is what the last read gave */
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
}

void hv_event_types_free(struct hv_event_types *t)
{
	if (!t)
		return;
	hv_event_types_forget(t);
	free(t);
}

struct hv_err *hv_event_types_catalogue(struct hv_event_types *t, const struct hv_catalogue **ret)
{
	if (!t->is_read) {
		t->err = hv_catalogue_read(t->kernel, &t->catalogue);
		t->is_read = true;
	}
	if (t->err)
		return hv_err_copy(t->err);
	*ret = &t->catalogue;
	return NULL;
}
