/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/event_texts.h"

#include <inttypes.h>
#include <string.h>

#include "base/guard.h"
#include "kernel/events/catalogue.h"
#include "kernel/events/print_values.h"
#include "kernel/kernel.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/format/arg_texts.h"
#include "tree/format/print_fmt/print_fmt.h"

#define NR_IDS (UINT16_MAX + 1)

/* A type with its compiled print_fmt. */
struct compiled {
	const struct hv_event_type *type; /* borrowed from the catalogue */
	struct hv_print_field *fields;	  /* owned; the catalogue's common fields come first */
	size_t nr_fields, nr_common;
	struct hv_print_fmt *fmt; /* owned; NULL: the print_fmt cannot be compiled */
};

struct hv_event_texts {
	const struct hv_kernel *kernel;
	struct hv_event_types *types;
	/* Versions of the kernel's symbols and of the types when LIST was made. */
	uint64_t version, types_version;
	bool is_made;
	struct compiled *list[NR_IDS]; /* owned; by id */
	struct hv_print_resolver resolver;
	struct hv_print_hashing hashing;
	enum hv_syscall_numbers numbers;
};

static bool find_symbol(void *of, struct hv_gva addr, struct hv_print_symbol *ret)
{
	const struct hv_event_texts *t = of;

	if (!hv_kernel_symbol_at(t->kernel, addr, &ret->name, &ret->module, &ret->offset))
		return false;
	ret->size_bytes = hv_kernel_symbol_size(t->kernel, addr);
	return true;
}

static bool find_string(void *of, struct hv_gva addr, char *ret, size_t max_bytes)
{
	const struct hv_event_texts *t = of;

	return hv_print_value_string(t->kernel, addr, ret, max_bytes);
}

static bool find_variable(void *of, const char *name, uint64_t *ret)
{
	const struct hv_event_texts *t = of;

	return hv_print_value_variable(t->kernel, name, ret);
}

static bool find_constant(void *of, const char *name, int64_t *ret)
{
	const struct hv_event_texts *t = of;

	return hv_print_value_enumerator(t->kernel, name, ret);
}

static bool find_size(void *of, const char *type, uint32_t *ret)
{
	const struct hv_event_texts *t = of;

	return hv_print_value_size(t->kernel, type, ret);
}

static bool find_member(void *of, const char *type, const char *member, struct hv_print_member *ret)
{
	const struct hv_event_texts *t = of;

	return hv_print_value_member(t->kernel, type, member, &ret->offset_bits, &ret->nr_bits);
}

struct hv_event_texts *hv_event_texts_new(const struct hv_kernel *k, struct hv_event_types *types)
{
	struct hv_event_texts *t = hv_alloc(sizeof(*t));

	t->kernel = k;
	t->types = types;
	t->resolver = (struct hv_print_resolver){
		.of = t,
		.symbol = find_symbol,
		.string = find_string,
		.variable = find_variable,
		.constant = find_constant,
		.size = find_size,
		.member = find_member,
	};
	return t;
}

static void forget(struct hv_event_texts *t)
{
	for (size_t id = 0; t->is_made && id < NR_IDS; id++) {
		if (!t->list[id])
			continue;
		hv_print_fmt_free(t->list[id]->fmt);
		free(t->list[id]->fields);
		free(t->list[id]);
		t->list[id] = NULL;
	}
	t->is_made = false;
}

void hv_event_texts_free(struct hv_event_texts *t)
{
	if (!t)
		return;
	forget(t);
	free(t);
}

static void take_fields(struct compiled *c, const struct hv_event_fields *fields)
{
	for (size_t i = 0; i < fields->nr; i++) {
		const struct hv_event_field *f = &fields->list[i];

		c->fields[c->nr_fields++] = (struct hv_print_field){
			.name = f->name,
			.type = f->type,
			.offset_bytes = f->off,
			.size_bytes = f->size_bytes,
			.is_signed = f->is_signed,
		};
	}
}

static struct compiled *compile(const struct hv_event_texts *t,
				const struct hv_catalogue *catalogue,
				const struct hv_event_type *type)
{
	struct compiled *c = hv_alloc(sizeof(*c));
	HV_AUTO_ERR struct hv_err *err = NULL;

	c->type = type;
	c->fields = hv_alloc((catalogue->common.nr + type->fields.nr + 1) * sizeof(*c->fields));
	take_fields(c, &catalogue->common);
	c->nr_common = c->nr_fields;
	take_fields(c, &type->fields);
	err = hv_print_fmt_compile(type->print_fmt, c->fields, c->nr_fields, &t->resolver, &c->fmt);
	return c;
}

/* Kernels that print system call numbers in the new way also record the memory that a call
 * writes. */
static enum hv_syscall_numbers numbers_of(const struct hv_catalogue *c)
{
	const struct hv_event_type *type = hv_catalogue_find(c, "syscalls", "sys_enter_write");

	return type && strstr(type->print_fmt, "__") ? HV_SYSCALL_NUMBERS_PLAIN
						     : HV_SYSCALL_NUMBERS_HEX;
}

static void begin(struct hv_event_texts *t, const struct hv_catalogue *c)
{
	if (t->is_made && t->version == t->kernel->symbols_version &&
	    t->types_version == hv_event_types_version(t->types))
		return;
	forget(t);
	t->version = t->kernel->symbols_version;
	t->types_version = hv_event_types_version(t->types);
	t->is_made = true;
	t->resolver.hz = hv_print_value_hz(t->kernel);
	t->numbers = numbers_of(c);
	hv_print_hashing_read(t->kernel, &t->hashing);
}

/* Returns NULL if the guest does not have the type (any longer). */
static const struct compiled *find(struct hv_event_texts *t, uint16_t id)
{
	const struct hv_event_type *type;
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(t->types, &c);

	if (err) {
		hv_err_free(err);
		return NULL;
	}
	begin(t, c);
	if (t->list[id])
		return t->list[id];
	type = hv_catalogue_by_id(c, id);
	if (type)
		t->list[id] = compile(t, c, type);
	return t->list[id];
}

static bool add_syscall(const struct hv_event_texts *t, struct hv_text *out,
			const struct hv_options *options, const struct compiled *c,
			struct hv_span entry)
{
	const struct hv_syscall_style style = {
		.numbers = t->numbers,
		.has_types = hv_options_on(options, HV_OPT_VERBOSE),
	};
	const struct hv_syscall_event event = {
		.name = c->type->name,
		.print_fmt = c->type->print_fmt,
		.fields = c->fields,
		.nr_fields = c->nr_fields,
		.size_arg = c->type->syscall ? c->type->syscall->user_size_arg : -1,
	};

	return c->type->syscall && hv_format_syscall(out, &style, &event, entry);
}

/* seq_print_ip_sym(), with sym-offset or without */
static void add_location(const struct hv_event_texts *t, struct hv_text *out,
			 const struct hv_options *options, bool has_off, struct hv_gva addr)
{
	const char *name, *module;
	uint64_t off;

	if (!hv_kernel_symbol_at(t->kernel, addr, &name, &module, &off) || !name[0]) {
		hv_text_printf(out, "0x%08" PRIx64, addr.v);
	} else {
		hv_text_add_guest(out, name, SIZE_MAX);
		if (has_off)
			hv_text_printf(out, "+0x%" PRIx64 "/0x%" PRIx64, off,
				       hv_kernel_symbol_size(t->kernel, addr));
		if (module) {
			hv_text_add(out, " [");
			hv_text_add_guest(out, module, SIZE_MAX);
			hv_text_add(out, "]");
		}
	}
	if (hv_options_on(options, HV_OPT_SYM_ADDR))
		hv_text_printf(out, " <%016" PRIx64 ">", addr.v);
}

/* print_kprobe_event(), print_kretprobe_event() */
static bool add_probe(const struct hv_event_texts *t, struct hv_text *out,
		      const struct hv_options *options, const struct hv_event_type *type,
		      struct hv_span entry)
{
	bool is_return = hv_probe_text_nr_addresses(type) == 2;
	uint64_t addr, caller = 0;

	if (!hv_span_u64(entry, type->fields.list[0].off, &addr) ||
	    (is_return && !hv_span_u64(entry, type->fields.list[1].off, &caller)))
		return false;
	hv_text_add(out, "(");
	if (is_return) {
		add_location(t, out, options, true, hv_gva(caller));
		hv_text_add(out, " <- ");
	}
	add_location(t, out, options, !is_return, hv_gva(addr));
	hv_text_add(out, ")");
	hv_probe_text_add(out, type, entry, &t->resolver);
	return true;
}

static void add_rest(const struct hv_event_texts *t, struct hv_text *out,
		     const struct hv_options *options, const struct compiled *c,
		     struct hv_span entry)
{
	const struct hv_print_env env = {
		.resolver = &t->resolver,
		.pointers = t->hashing.is_off ? HV_PRINT_POINTERS_PLAIN : HV_PRINT_POINTERS_HASHED,
		.pointer_key = t->hashing.has_key ? t->hashing.key : NULL,
	};

	hv_text_add_guest(out, c->type->name, strlen(c->type->name));
	hv_text_add(out, ": ");
	if (c->type->reg_kind == HV_EVENT_REG_KPROBE && add_probe(t, out, options, c->type, entry))
		return;
	if (c->type->reg_kind == HV_EVENT_REG_EPROBE) {
		hv_text_printf(out, "(%s)", c->type->probed);
		hv_probe_text_add(out, c->type, entry, &t->resolver);
		return;
	}
	if (c->type->reg_kind == HV_EVENT_REG_SYNTH) {
		hv_synth_text_add(out, c->type, entry,
				  hv_options_on(options, HV_OPT_VERBOSE) ? HV_SYNTH_WITH_FORMATS
									 : HV_SYNTH_PLAIN,
				  &t->resolver);
		return;
	}
	if (!c->fmt || !hv_print_fmt_eval(c->fmt, entry, &env, out))
		hv_print_fields(c->fields + c->nr_common, c->nr_fields - c->nr_common, entry, out);
}

const struct hv_event_type *hv_event_texts_type(struct hv_event_texts *t, uint16_t id)
{
	const struct compiled *c = t ? find(t, id) : NULL;

	return c ? c->type : NULL;
}

/* print_trace_fmt() */
void hv_event_texts_add(struct hv_event_texts *t, struct hv_text *out,
			const struct hv_options *options, const struct hv_event *e)
{
	const struct compiled *c = t ? find(t, e->id) : NULL;

	if (!c)
		hv_text_printf(out, "Unknown type %" PRIu16, e->id);
	else if (!add_syscall(t, out, options, c, e->entry))
		add_rest(t, out, options, c, e->entry);
}
