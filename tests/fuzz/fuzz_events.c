/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the trace events of a kernel in whose data the input changes words (changes.h): the
 * catalogue, the strings of printk_formats, and the shapes of the lists (kernel/unnamed.h).
 * Accesses everything in them. */
#include "kernel/events/catalogue.h"
#include "kernel/events/print_values.h"
#include "kernel/unnamed.h"
#include "tests/fuzz/changes.h"
#include "tests/unit/kernel/events/fake_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make(struct fe *e)
{
	uint64_t sched, kmem, tracer, item;

	fe_init(e);
	sched = fe_class(e, "sched", FE_REG);
	fe_field(e, sched + FE_CLASS_FIELDS, "char[16]", "comm", 8, 16);
	fe_field(e, sched + FE_CLASS_FIELDS, "int", "pid", 24, 4);
	fe_tracepoint(e, fe_event(e, sched, "sched_switch", 314));
	fe_tracepoint(e, fe_event(e, sched, "sched_wakeup", 315));
	kmem = fe_class(e, "kmem", FE_REG);
	fk_u64(&e->f, kmem + FE_CLASS_TEMPLATES, fe_templates(e, 3));
	fe_event(e, kmem, "kfree", 400);
	fe_syscall(e, "sys_enter_read", 700);
	tracer = fe_class(e, "ftrace", 0);
	fe_event(e, tracer, "function", 1);
	fk_u64(&e->f, e->formats, fe_string(e, "a\n\"string\""));
	fk_u64(&e->f, e->formats + 8, fe_string(e, "%d\n"));
	item = fe_alloc(e, 24);
	fk_u64(&e->f, item + 16, fe_string(e, "of a module"));
	fe_list_add_tail(e, e->format_list, item);
}

static size_t length(const char *s)
{
	return s ? strlen(s) : 0;
}

static size_t look_at_field(const struct hv_event_field *f)
{
	if ((uint64_t)f->off + f->size_bytes > HV_EVENT_RECORD_MAX)
		abort();
	return length(f->name) + length(f->type);
}

static size_t look_at_fields(const struct hv_event_fields *fields)
{
	size_t sum = 0;

	for (size_t i = 0; i < fields->nr; i++)
		sum += look_at_field(&fields->list[i]);
	return sum;
}

static size_t look_at(const struct hv_catalogue *c)
{
	size_t sum = look_at_fields(&c->common);

	for (size_t i = 0; i < c->nr; i++) {
		const struct hv_event_type *t = &c->types[i];
		const struct hv_event_type *same = hv_catalogue_find(c, t->system, t->name);

		if (!same || strcmp(same->name, t->name) != 0 || !hv_catalogue_by_id(c, t->id))
			abort();
		sum += look_at_fields(&t->fields) + length(t->print_fmt) + length(t->module);
		for (uint32_t j = 0; t->syscall && j < t->syscall->nr_args; j++)
			sum += length(t->syscall->types[j]) + length(t->syscall->args[j]);
	}
	return sum;
}

static void read_all(const struct hv_kernel *k)
{
	struct hv_print_strings formats;
	struct hv_catalogue c;
	size_t sum = 0;
	struct hv_err *err = hv_catalogue_read(k, &c);

	if (!err) {
		sum += look_at(&c);
		hv_catalogue_deinit(&c);
	}
	hv_err_free(err);
	err = hv_print_strings_read(k, &formats);
	for (size_t i = 0; !err && i < formats.nr; i++)
		sum += length(formats.list[i].string);
	if (!err)
		hv_print_strings_deinit(&formats);
	hv_err_free(err);
	/* Keeps the compiler from removing the accesses. */
	if (sum == SIZE_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct saved saved;
	static struct fe e;

	if (!saved.data) {
		make(&e);
		save(&e.f, &saved);
	}
	restore(&e.f, &saved);
	change(&e.f, data, size);
	read_all(&e.f.k);
	hv_trace_arrays_are_at(&e.f.k.core, hv_gva(e.arrays));
	hv_common_fields_are_at(&e.f.k.core, hv_gva(e.common));
	return 0;
}
