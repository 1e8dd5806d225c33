/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/event_layout.h"

#include "kernel/core/fields.h"

/* Finds the offsets of FIELDS, and the size of TYPE. */
static struct hv_err *find(const struct hv_kernel_core *core, const char *type,
			   const struct hv_field *fields, size_t nr, uint32_t *ret_len)
{
	struct hv_err *err = hv_fields_find(core, type, fields, nr);

	return err ? err : hv_struct_size_find(core, type, HV_EVENT_STRUCT_MAX, ret_len);
}

static struct hv_err *find_bits(const struct hv_kernel_core *core, const char *type,
				const char *member, struct hv_bits *ret)
{
	if (!hv_btf_bits(core->btf, type, member, &ret->off, &ret->nr) || !ret->nr || ret->nr > 32)
		return hv_err_new(ENOENT, "BTF: no member %s of up to 32 bits in struct %s", member,
				  type);
	return NULL;
}

static struct hv_err *find_call(const struct hv_kernel_core *core, struct hv_event_layout *l)
{
	const struct hv_field fields[] = {
		{"class", 8, &l->call.class},	{"name", 8, &l->call.name},
		{"event.type", 4, &l->call.id}, {"print_fmt", 8, &l->call.print_fmt},
		{"data", 8, &l->call.data},	{"flags", 4, &l->call.flags},
	};
	static const char *const module[] = {"module", "mod"}; /* mod: before 5.15 */
	struct hv_err *err =
		find(core, "trace_event_call", fields, HV_ARRAY_LEN(fields), &l->call.len_bytes);

	return err ? err
		   : hv_member_find_any(core, "trace_event_call", module, HV_ARRAY_LEN(module),
					&l->call.module);
}

static struct hv_err *find_class(const struct hv_kernel_core *core, struct hv_event_layout *l)
{
	const struct hv_field fields[] = {
		{"system", 8, &l->class.system},  {"probe", 8, &l->class.callback},
		{"reg", 8, &l->class.reg},	  {"get_fields", 8, &l->class.get_fields},
		{"fields", 16, &l->class.fields},
	};
	const struct hv_field templates[] = {{"fields_array", 8, &l->class.fields_array}};
	uint32_t unused;

	/* In kernels without templates, a function of the class creates the fields. */
	l->has_templates =
		!hv_btf_member(core->btf, "trace_event_class", "define_fields", &unused, NULL);
	if (l->has_templates) {
		struct hv_err *err = hv_fields_find(core, "trace_event_class", templates, 1);

		if (err)
			return err;
	}
	return find(core, "trace_event_class", fields, HV_ARRAY_LEN(fields), &l->class.len_bytes);
}

static struct hv_err *find_field(const struct hv_kernel_core *core, struct hv_event_layout *l)
{
	const struct hv_field fields[] = {
		{"link.prev", 8, &l->field.prev}, {"name", 8, &l->field.name},
		{"type", 8, &l->field.type},	  {"filter_type", 4, &l->field.filter_type},
		{"offset", 4, &l->field.off},	  {"size", 4, &l->field.size},
	};
	struct hv_err *err =
		find(core, "ftrace_event_field", fields, HV_ARRAY_LEN(fields), &l->field.len_bytes);

	return err ? err : find_bits(core, "ftrace_event_field", "is_signed", &l->field.is_signed);
}

/* Templates from which the kernel creates the fields of a class at the first use. */
static struct hv_err *find_template(const struct hv_kernel_core *core, struct hv_event_layout *l)
{
	const struct hv_field fields[] = {
		{"type", 8, &l->template.type},
		{"name", 8, &l->template.name},
		{"size", 4, &l->template.size},
		{"align", 4, &l->template.align},
		{"filter_type", 4, &l->template.filter_type},
	};
	struct hv_err *err;

	if (!l->has_templates)
		return NULL;
	err = find(core, "trace_event_fields", fields, HV_ARRAY_LEN(fields),
		   &l->template.len_bytes);
	if (!err)
		err = find_bits(core, "trace_event_fields", "is_signed", &l->template.is_signed);
	if (!err)
		l->has_lens = hv_btf_member(core->btf, "ftrace_event_field", "len", &l->field.len,
					    NULL) &&
			      hv_btf_member(core->btf, "trace_event_fields", "len",
					    &l->template.len, NULL);
	return err;
}

struct hv_err *hv_iterator_find(const struct hv_kernel_core *core, uint32_t *ret_off,
				bool *ret_exists)
{
	struct hv_gva at;

	*ret_exists = hv_btf_member(core->btf, "tracepoint", "iterator", ret_off, NULL);
	if (!*ret_exists && hv_core_symbol(core, "__traceiter_sched_switch", &at))
		return hv_err_new(ENOENT, "BTF: no member iterator in struct tracepoint");
	return NULL;
}

/* The functions that register a tracepoint are members of it or, since 6.13, of a separate
 * structure. */
static struct hv_err *find_tracepoint(const struct hv_kernel_core *core, struct hv_event_layout *l)
{
	const struct hv_field fields[] = {
		{"name", 8, &l->tracepoint.name},
		{"key", 8, &l->tracepoint.key},
		{"funcs", 8, &l->tracepoint.funcs},
	};
	const struct hv_field own[] = {
		{"regfunc", 8, &l->tracepoint.reg},
		{"unregfunc", 8, &l->tracepoint.unreg},
	};
	const struct hv_field ext[] = {
		{"regfunc", 8, &l->tracepoint.ext_reg},
		{"unregfunc", 8, &l->tracepoint.ext_unreg},
	};
	struct hv_err *err =
		find(core, "tracepoint", fields, HV_ARRAY_LEN(fields), &l->tracepoint.len_bytes);

	if (!err)
		err = hv_iterator_find(core, &l->tracepoint.iterator, &l->has_iterators);
	if (err)
		return err;
	l->has_ext = hv_btf_member(core->btf, "tracepoint", "ext", &l->tracepoint.ext, NULL);
	if (!l->has_ext)
		return hv_fields_find(core, "tracepoint", own, HV_ARRAY_LEN(own));
	err = find(core, "tracepoint_ext", ext, HV_ARRAY_LEN(ext), &l->tracepoint.ext_len_bytes);
	return err ? err : find_bits(core, "tracepoint_ext", "faultable", &l->tracepoint.faultable);
}

/* Since a544d9a66bdf system-call events include user memory. If a member is missing, they are
 * treated as events without user memory, and their formats match older kernels. */
static void find_user(const struct hv_kernel_core *core, struct hv_event_layout *l)
{
	struct {
		const char *type, *member;
		struct hv_bits *bits;
	} const members[] = {
		{"syscall_metadata", "user_mask", &l->syscall.user_mask},
		{"syscall_metadata", "user_arg_size", &l->syscall.user_size_arg},
		{"trace_array", "syscall_buf_sz", &l->array_user_bytes},
	};
	HV_AUTO_ERR struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(members); i++)
		err = find_bits(core, members[i].type, members[i].member, members[i].bits);
	for (size_t i = 0; err && i < HV_ARRAY_LEN(members); i++)
		*members[i].bits = (struct hv_bits){0};
}

static struct hv_err *find_syscall(const struct hv_kernel_core *core, struct hv_event_layout *l)
{
	const struct hv_field fields[] = {
		{"name", 8, &l->syscall.name},
		{"syscall_nr", 4, &l->syscall.nr},
		{"types", 8, &l->syscall.types},
		{"args", 8, &l->syscall.args},
		{"enter_fields", 16, &l->syscall.enter_fields},
	};
	struct hv_gva at;
	struct hv_err *err;

	l->has_syscalls = hv_core_symbol(core, "syscall_enter_register", &at);
	if (!l->has_syscalls)
		return NULL;
	err = find(core, "syscall_metadata", fields, HV_ARRAY_LEN(fields), &l->syscall.len_bytes);
	if (!err)
		err = find_bits(core, "syscall_metadata", "nb_args", &l->syscall.nr_args);
	if (!err)
		find_user(core, l);
	return err;
}

static struct hv_err *find_lists(const struct hv_kernel_core *core, struct hv_event_layout *l)
{
	const struct hv_field head[] = {{"prev", 8, &l->list_prev}};
	const struct hv_field array[] = {
		{"list", 16, &l->array_list},
		{"events", 16, &l->array_events},
	};
	const struct hv_field file[] = {
		{"list", 16, &l->file_list},
		{"event_call", 8, &l->file_call},
	};
	struct hv_err *err = hv_fields_find(core, "list_head", head, HV_ARRAY_LEN(head));

	if (!err)
		err = hv_fields_find(core, "trace_array", array, HV_ARRAY_LEN(array));
	if (!err)
		err = hv_fields_find(core, "trace_event_file", file, HV_ARRAY_LEN(file));
	return err ? err
		   : hv_struct_size_find(core, "trace_entry", HV_EVENT_STRUCT_MAX,
					 &l->header_len_bytes);
}

static struct hv_err *find_flag(const struct hv_kernel_core *core, const char *name, uint32_t *ret)
{
	int64_t value = 0;
	struct hv_err *err = hv_enumerator_find(core, name, &value);

	if (!err)
		*ret = (uint32_t)value;
	return err;
}

struct hv_err *hv_event_layout_find(const struct hv_kernel_core *core, struct hv_event_layout *ret)
{
	static struct hv_err *(*const finders[])(const struct hv_kernel_core *core,
						 struct hv_event_layout *l) = {
		find_call,	 find_class,   find_field, find_template,
		find_tracepoint, find_syscall, find_lists,
	};
	struct hv_event_layout l = {0};
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(finders); i++)
		err = finders[i](core, &l);
	if (!err)
		err = find_flag(core, "TRACE_EVENT_FL_TRACEPOINT", &l.tracepoint_flag);
	if (!err)
		err = find_flag(core, "TRACE_EVENT_FL_IGNORE_ENABLE", &l.ignore_enable_flag);
	if (!err)
		*ret = l;
	return err;
}

uint32_t hv_bits_of(struct hv_span copy, struct hv_bits bits)
{
	uint64_t word = 0;
	uint32_t byte = bits.off / 8, shift = bits.off % 8;

	for (uint32_t i = 0; i < (shift + bits.nr + 7) / 8; i++) {
		uint8_t value = 0;

		hv_span_u8(copy, (size_t)byte + i, &value);
		word |= (uint64_t)value << 8 * i;
	}
	return (uint32_t)(word >> shift & ((UINT64_C(1) << bits.nr) - 1));
}
