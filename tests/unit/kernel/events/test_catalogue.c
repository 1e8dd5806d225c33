/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The catalogue of a guest's events: which events are read or skipped, and the limits for hostile
 * data. */
#include <stdio.h>

#include "kernel/events/catalogue.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/events/fake_events.h"

static struct fe e;
static struct hv_catalogue c;

static void set_up(void)
{
	fe_init(&e);
	c = (struct hv_catalogue){0};
}

static void tear_down(void)
{
	hv_catalogue_deinit(&c);
	fe_deinit(&e);
}

static void read_it(void)
{
	struct hv_err *err = hv_catalogue_read(&e.f.k, &c);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

/* Reading must fail with CODE, and the message must contain WORDS. */
static void fails(int code, const char *words)
{
	struct hv_err *err = hv_catalogue_read(&e.f.k, &c);

	ck_assert(err != NULL);
	ck_assert_msg(err->code == code, "%d: %s", err->code, err->message);
	ck_assert_msg(strstr(err->message, words) != NULL, "%s", err->message);
	hv_err_free(err);
	ck_assert_uint_eq(c.nr, 0);
}

static const struct hv_event_type *find(const char *system, const char *name)
{
	const struct hv_event_type *type = hv_catalogue_find(&c, system, name);

	ck_assert_msg(type != NULL, "%s:%s", system, name);
	return type;
}

START_TEST(reads_an_event)
{
	uint64_t class = fe_class(&e, "sched", FE_REG), call, tp;
	const struct hv_event_field *field;
	const struct hv_event_type *type;

	field = NULL;
	fe_field(&e, class + FE_CLASS_FIELDS, "char", "prev_comm", 8, 16);
	fk_u32(&e.f,
	       fe_field(&e, class + FE_CLASS_FIELDS, "int", "prev_pid", 24, 4) + FE_FIELD_SIGNED,
	       1);
	call = fe_event(&e, class, "sched_switch", 314);
	tp = fe_tracepoint(&e, call);
	read_it();
	ck_assert_uint_eq(c.nr, 1);
	ck_assert_uint_eq(c.common.nr, 2);
	ck_assert_str_eq(c.common.list[0].name, "common_type");
	ck_assert_uint_eq(c.header_len_bytes, 8);
	ck_assert(c.has_lens);
	type = find("sched", "sched_switch");
	ck_assert_ptr_eq(hv_catalogue_by_id(&c, 314), type);
	ck_assert_str_eq(type->print_fmt, "\"%d\", REC->value");
	ck_assert_ptr_null(type->module);
	ck_assert(type->is_available && type->has_fields);
	ck_assert_int_eq(type->reg_kind, HV_EVENT_REG_TRACEPOINT);
	ck_assert_uint_eq(type->call.v, call);
	ck_assert_uint_eq(type->callback.v, FE_CALLBACK);
	ck_assert_uint_eq(type->tracepoint.at.v, tp);
	ck_assert_uint_eq(type->tracepoint.funcs.v, tp + FE_TP_FUNCS);
	ck_assert_uint_eq(type->tracepoint.iterator.v, FK_BASE + 0x3000);
	ck_assert_uint_eq(type->fields.nr, 2);
	ck_assert_str_eq(type->fields.list[0].name, "prev_comm");
	field = hv_event_type_field(&c, type, "prev_pid");
	ck_assert(field && field->off == 24 && field->size_bytes == 4 && field->is_signed);
	ck_assert_ptr_eq(hv_event_type_field(&c, type, "common_pid"), &c.common.list[1]);
	ck_assert_ptr_null(hv_event_type_field(&c, type, "prev"));
}
END_TEST

/* Before 5.10: a function of the class has created the fields, and the tracepoint has no iterator. */
START_TEST(reads_an_event_of_an_old_kernel)
{
	const struct hv_event_type *type;
	struct hv_gva unused;
	uint64_t class, tp;

	fe_deinit(&e);
	fe_init_as(&e, true);
	class = fe_class(&e, "sched", FE_REG);
	fk_u64(&e.f, class + FE_CLASS_TEMPLATES, FK_BASE + 0x4000); /* the function */
	fe_field(&e, class + FE_CLASS_FIELDS, "int", "prev_pid", 24, 4);
	tp = fe_tracepoint(&e, fe_event(&e, class, "sched_switch", 314));
	class = fe_class(&e, "none", FE_REG);
	fk_u64(&e.f, class + FE_CLASS_TEMPLATES, FK_BASE + 0x4000);
	fe_tracepoint(&e, fe_event(&e, class, "none", 315));
	read_it();
	type = find("sched", "sched_switch");
	ck_assert(type->has_fields);
	ck_assert_uint_eq(type->fields.nr, 1);
	ck_assert_uint_eq(type->tracepoint.at.v, tp);
	ck_assert_uint_eq(type->tracepoint.iterator.v, 0);
	ck_assert_uint_eq(find("none", "none")->fields.nr, 0);
	hv_catalogue_deinit(&c);
	/* A kernel with iterators has the member. */
	fk_symbol(&e.f, "__traceiter_sched_switch", FK_BASE + 0x3000);
	hv_symbols_index(&e.f.k.core.symbols);
	ck_assert(hv_core_symbol(&e.f.k.core, "__traceiter_sched_switch", &unused));
	fails(ENOENT, "no member iterator in struct tracepoint");
}
END_TEST

/* Libraries that read trace.dat trust the format, so fields beyond the end of a record must be
 * skipped. */
START_TEST(leaves_out_fields_that_no_record_contains)
{
	uint64_t class = fe_class(&e, "sched", FE_REG);
	const struct hv_event_type *type;

	fe_field(&e, class + FE_CLASS_FIELDS, "int", "inside", 8, 4);
	fe_field(&e, class + FE_CLASS_FIELDS, "char", "last", HV_EVENT_RECORD_MAX - 1, 1);
	fe_field(&e, class + FE_CLASS_FIELDS, "char", "outside", HV_EVENT_RECORD_MAX, 1);
	fe_field(&e, class + FE_CLASS_FIELDS, "char[64]", "long", HV_EVENT_RECORD_MAX - 8, 64);
	fe_field(&e, class + FE_CLASS_FIELDS, "char[8]", "around", UINT32_MAX - 3, 8);
	fe_field(&e, class + FE_CLASS_FIELDS, "char", "huge", 8, UINT32_MAX);
	fe_field(&e, e.common, "int", "common_outside", 5000, 4);
	fe_tracepoint(&e, fe_event(&e, class, "sched_switch", 314));
	read_it();
	type = find("sched", "sched_switch");
	ck_assert_uint_eq(type->fields.nr, 2);
	ck_assert(hv_event_type_field(&c, type, "inside"));
	ck_assert(hv_event_type_field(&c, type, "last"));
	ck_assert_uint_eq(c.common.nr, 2);
	ck_assert_ptr_null(hv_event_type_field(&c, type, "common_outside"));
}
END_TEST

static bool is_there(const struct hv_event_type *type)
{
	bool ret = false;
	struct hv_err *err = hv_event_type_is_there(&e.f.k, type, &ret);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	return ret;
}

/* Detects that the type's module was unloaded and that another module may be at its address. */
START_TEST(detects_unloaded_modules)
{
	uint64_t class = fe_class(&e, "sched", FE_REG), call;
	struct hv_event_type type;

	call = fe_event(&e, class, "sched_switch", 314);
	fe_tracepoint(&e, call);
	read_it();
	type = *find("sched", "sched_switch");
	ck_assert(is_there(&type));
	type.id++;
	ck_assert(!is_there(&type));
	/* A tracepoint is identified by name and has no id. */
	type.reg_kind = HV_EVENT_REG_PROBESTUB;
	type.call = type.tracepoint.at;
	ck_assert(is_there(&type));
	type.name = "sched_switc";
	ck_assert(!is_there(&type));
	type.name = "sched_switch_";
	ck_assert(!is_there(&type));
}
END_TEST

START_TEST(reads_a_system_call)
{
	const struct hv_event_type *type;

	fe_syscall(&e, "sys_enter_read", 700);
	read_it();
	type = find("syscalls", "sys_enter_read");
	ck_assert_int_eq(type->reg_kind, HV_EVENT_REG_SYSCALL_ENTER);
	ck_assert_uint_eq(type->fields.nr, 1);
	ck_assert(type->syscall != NULL);
	ck_assert_str_eq(type->syscall->name, "sys_read");
	ck_assert_uint_eq(type->syscall->nr_args, 2);
	ck_assert_str_eq(type->syscall->types[0], "int");
	ck_assert_str_eq(type->syscall->args[1], "fd");
	ck_assert_uint_eq(type->syscall->user_mask, 0);
}
END_TEST

/* The memory that the arguments point to, and its length. */
START_TEST(reads_memory_arguments_of_a_system_call)
{
	const uint64_t data = fe_syscall(&e, "sys_enter_read", 700);
	const uint64_t array = e.files - FE_ARRAY_EVENTS;
	const struct hv_syscall *call;

	fk_u32(&e.f, data + FE_SYSCALL_USER_MASK, 0x008002);
	fk_u32(&e.f, array + FE_ARRAY_USER_BYTES, 63);
	read_it();
	call = find("syscalls", "sys_enter_read")->syscall;
	ck_assert_uint_eq(call->user_mask, 0x8002);
	ck_assert_int_eq(call->user_size_arg, 0);
	ck_assert_uint_eq(c.user_bytes, 63);
	hv_catalogue_deinit(&c);
	fk_u32(&e.f, data + FE_SYSCALL_USER_MASK, 0xff0002);
	fk_u32(&e.f, array + FE_ARRAY_USER_BYTES, UINT32_MAX);
	read_it();
	call = find("syscalls", "sys_enter_read")->syscall;
	ck_assert_uint_eq(call->user_mask, 2);
	ck_assert_int_eq(call->user_size_arg, -1);
	ck_assert_uint_eq(c.user_bytes, HV_USER_BYTES_MAX);
}
END_TEST

/* The kernel creates the fields from templates when it first needs an event of the class. */
START_TEST(makes_fields_of_templates)
{
	uint64_t class = fe_class(&e, "kmem", FE_REG), templates = fe_templates(&e, 2);
	const struct hv_event_type *type;

	fk_u32(&e.f, templates + FE_TEMPLATE_SIZE, 1);
	fk_u32(&e.f, templates + FE_TEMPLATE_ALIGN, 1);
	fk_u64(&e.f, class + FE_CLASS_TEMPLATES, templates);
	fe_event(&e, class, "kfree", 400);
	read_it();
	type = find("kmem", "kfree");
	ck_assert_uint_eq(type->fields.nr, 2);
	ck_assert_uint_eq(type->fields.list[0].off, 8);
	ck_assert_uint_eq(type->fields.list[1].off, 12);
}
END_TEST

START_TEST(marks_unknown_fields)
{
	uint64_t class = fe_class(&e, "odd", FE_REG + 1), templates = fe_templates(&e, 0);

	fk_u64(&e.f, templates, UINT64_MAX);
	fk_u64(&e.f, class + FE_CLASS_TEMPLATES, templates);
	fe_event(&e, class, "by_function", 500);
	class = fe_class(&e, "odd", 0);
	fk_u64(&e.f, class + FE_CLASS_GET_FIELDS, FE_REG);
	fe_event(&e, class, "by_another", 501);
	read_it();
	ck_assert(!find("odd", "by_function")->has_fields);
	ck_assert_int_eq(find("odd", "by_function")->reg_kind, HV_EVENT_REG_OTHER);
	ck_assert(!find("odd", "by_another")->has_fields);
	ck_assert(!find("odd", "by_another")->is_available);
	ck_assert_int_eq(find("odd", "by_another")->reg_kind, HV_EVENT_REG_NONE);
}
END_TEST

START_TEST(finds_the_owner_of_an_event)
{
	uint64_t class = fe_class(&e, "both", FE_REG), call = FK_MODULES + 0x1000,
		 other = call + 128;

	fe_event(&e, class, "ours", 1);
	memcpy(fk_host(&e.f, call), fk_host(&e.f, fe_event(&e, class, "core", 2)), 72);
	fk_u64(&e.f, call + FE_CALL_NAME, fe_string(&e, "of_module"));
	fk_u32(&e.f, call + FE_CALL_ID, 3);
	fk_u64(&e.f, call + FE_CALL_MODULE, FK_MODULES);
	fe_file(&e, call);
	/* memory of no known module: an event that a user created in the guest */
	memcpy(fk_host(&e.f, other), fk_host(&e.f, call), 72);
	fk_u64(&e.f, other + FE_CALL_MODULE, FK_MODULES + 8);
	fe_file(&e, other);
	read_it();
	ck_assert_uint_eq(c.nr, 3);
	ck_assert_ptr_null(find("both", "core")->module);
	ck_assert_str_eq(find("both", "of_module")->module, "m");
}
END_TEST

START_TEST(sorts_names_and_ids)
{
	uint64_t b = fe_class(&e, "b", FE_REG), a = fe_class(&e, "a", FE_REG);
	const struct hv_event_system *system;

	fe_event(&e, b, "y", 3);
	fe_event(&e, a, "z", 1);
	fe_event(&e, b, "x", 2);
	fe_event(&e, b, "x", 9); /* same name */
	read_it();
	ck_assert_str_eq(c.types[0].name, "y");
	ck_assert_uint_eq(c.nr, 4);
	ck_assert_uint_eq(c.nr_systems, 2);
	ck_assert_str_eq(c.systems[0].name, "a");
	system = hv_catalogue_system(&c, "b");
	ck_assert(system && system->nr == 2);
	ck_assert_uint_eq(hv_catalogue_at(&c, system, 0)->id, 2);
	ck_assert_uint_eq(hv_catalogue_find(&c, "b", "x")->id, 2);
	ck_assert_uint_eq(hv_catalogue_by_id(&c, 9)->id, 9);
	ck_assert_ptr_null(hv_catalogue_by_id(&c, 4));
	ck_assert_ptr_null(hv_catalogue_system(&c, "ab"));
	ck_assert_ptr_null(hv_catalogue_find(&c, "b", "w"));
	ck_assert_ptr_null(hv_catalogue_find(&c, "c", "x"));
}
END_TEST

START_TEST(leaves_out_names_that_no_file_has)
{
	static const char *const names[] = {"", ".", "..", "a/b", "a b", "a\nb", "\xff"};
	uint64_t class = fe_class(&e, "good", FE_REG);

	for (uint32_t i = 0; i < HV_ARRAY_LEN(names); i++) {
		fe_event(&e, class, names[i], i);
		fe_event(&e, fe_class(&e, names[i], FE_REG), "good", 100 + i);
	}
	fe_event(&e, class, "good", 200);
	read_it();
	ck_assert_uint_eq(c.nr, 1);
}
END_TEST

START_TEST(refuses_lists_that_go_round)
{
	uint64_t class = fe_class(&e, "s", FE_REG);
	uint64_t first = fe_field(&e, class + FE_CLASS_FIELDS, "int", "a", 8, 4), file;

	fe_field(&e, class + FE_CLASS_FIELDS, "int", "b", 12, 4);
	fe_event(&e, class, "n", 1);
	file = fe_read(&e, e.files);
	fk_u64(&e.f, first + 8, first); /* never leads back to the head */
	fails(EINVAL, "fields: the list has a loop at 0x");
	fk_u64(&e.f, first + 8, class + FE_CLASS_FIELDS);
	fk_u64(&e.f, file, file);
	fails(EINVAL, "the list has a loop at 0x");
}
END_TEST

START_TEST(refuses_lists_without_an_end)
{
	uint64_t class = fe_class(&e, "s", FE_REG), call;

	for (unsigned i = 0; i < 1000; i++)
		fe_field(&e, class + FE_CLASS_FIELDS, "int", "a", 8, 4);
	call = fe_event(&e, class, "n", 1);
	read_it();
	ck_assert_uint_eq(find("s", "n")->fields.nr, 1000);
	hv_catalogue_deinit(&c);
	fe_field(&e, class + FE_CLASS_FIELDS, "int", "a", 8, 4);
	fails(E2BIG, "1000 fields");
	fe_list(&e, class + FE_CLASS_FIELDS);
	for (unsigned i = 0; i < 65536; i++)
		fe_file(&e, call);
	fails(E2BIG, "65536");
}
END_TEST

START_TEST(refuses_templates_that_no_kernel_has)
{
	static const struct {
		uint32_t size, align;
	} bad[] = {{4, 0}, {4, 3}, {4, 8192}, {70000, 4}, {UINT32_MAX, 1}};
	uint64_t class = fe_class(&e, "s", FE_REG), templates = fe_templates(&e, 3), end;

	fk_u64(&e.f, class + FE_CLASS_TEMPLATES, templates);
	fe_event(&e, class, "n", 1);
	for (size_t i = 0; i < HV_ARRAY_LEN(bad); i++) {
		fk_u32(&e.f, templates + FE_TEMPLATE_SIZE, bad[i].size);
		fk_u32(&e.f, templates + FE_TEMPLATE_ALIGN, bad[i].align);
		fails(EINVAL, " bytes, aligned to ");
	}
	/* an array of templates without an end, up to the end of the mapped memory */
	end = FK_END - FK_END % FE_TEMPLATE_BYTES;
	for (uint64_t at = FK_END - 2000 * FE_TEMPLATE_BYTES; at < end; at += FE_TEMPLATE_BYTES) {
		memcpy(fk_host(&e.f, at), fk_host(&e.f, templates), FE_TEMPLATE_BYTES);
		fk_u32(&e.f, at + FE_TEMPLATE_SIZE, 4);
		fk_u32(&e.f, at + FE_TEMPLATE_ALIGN, 4);
	}
	fk_u64(&e.f, class + FE_CLASS_TEMPLATES, FK_END - 2000 * FE_TEMPLATE_BYTES);
	fails(E2BIG, "1000 fields");
	fk_u64(&e.f, class + FE_CLASS_TEMPLATES, FK_END - 20);
	fails(EFAULT, "s: ");
}
END_TEST

START_TEST(refuses_strings_without_an_end)
{
	uint64_t call = fe_event(&e, fe_class(&e, "s", FE_REG), "n", 1);
	uint64_t name = fe_read(&e, call + FE_CALL_NAME), last = FK_END - 70000;

	memset(fk_host(&e.f, last), 'a', 70000);
	fk_u64(&e.f, call + FE_CALL_NAME, last);
	fails(E2BIG, ": a string of more than 255 bytes");
	fk_u64(&e.f, call + FE_CALL_NAME, name);
	fk_u64(&e.f, call + FE_CALL_PRINT, last);
	fails(E2BIG, ": a string of more than 65535 bytes");
	fk_u64(&e.f, call + FE_CALL_PRINT, FK_END - 100);
	fails(EFAULT, "");
	fk_u64(&e.f, call + FE_CALL_PRINT, 0);
	fails(EFAULT, "the address is 0");
	/* any bytes are accepted in a string */
	fk_u64(&e.f, call + FE_CALL_PRINT, last);
	for (unsigned i = 0; i < 255; i++)
		*fk_host(&e.f, last + i) = (uint8_t)(i + 1);
	*fk_host(&e.f, last + 255) = 0;
	read_it();
	ck_assert_uint_eq(strlen(find("s", "n")->print_fmt), 255);
}
END_TEST

START_TEST(refuses_a_call_with_too_many_arguments)
{
	uint64_t data = fe_syscall(&e, "sys_enter_read", 1);
	uint64_t call = fe_read(&e, fe_read(&e, e.files) + FE_FILE_CALL);
	HV_AUTO_FREE char *message =
		hv_format("event 0x%llx: sys_enter_read: system call 0x%llx: number 0: 7 arguments "
			  "are too many",
			  (unsigned long long)call, (unsigned long long)data);

	fk_u32(&e.f, data + FE_SYSCALL_NR_ARGS, 7);
	fails(EINVAL, message);
}
END_TEST

START_TEST(refuses_types_that_lack_a_member)
{
	fe_deinit(&e);
	fe_sign = "another";
	fe_init(&e);
	fe_sign = "is_signed";
	fails(ENOENT, "BTF: no member is_signed of up to 32 bits in struct ftrace_event_field");
}
END_TEST

START_TEST(refuses_a_kernel_without_events)
{
	fe_list(&e, e.arrays);
	fails(ENOENT, "has not listed them yet");
	fk_u32(&e.f, e.locked_down, FE_LOCKDOWN_TRACEFS - 1);
	fails(ENOENT, "has not listed them yet");
	fk_u32(&e.f, e.locked_down, FE_LOCKDOWN_TRACEFS);
	fails(ENOENT, "is locked down");
	fk_u32(&e.f, e.locked_down, FE_LOCKDOWN_TRACEFS + 2);
	fails(ENOENT, "is locked down");
	/* a bit for each reason */
	fk_u32(&e.f, e.locked_down, (1U << FE_LOCKDOWN_TRACEFS) - 2);
	fails(ENOENT, "has not listed them yet");
	fk_u32(&e.f, e.locked_down, (2U << (FE_LOCKDOWN_TRACEFS + 2)) - 2);
	fails(ENOENT, "is locked down");
	e.f.k.core.symbols.nr = 0;
	hv_symbols_deinit(&e.f.k.core.symbols);
	e.f.k.core.symbols = (struct hv_symbols){0};
	fails(ENOENT, "ftrace_trace_arrays");
}
END_TEST

/* A ring of elements. Each is the list head of one class and a field of the others, so every class
 * has almost all elements as fields. A little memory claims millions of fields. */
START_TEST(bounds_the_total_number_of_fields)
{
	enum { RING = 990, STRIDE = 256 };
	uint64_t ring = fk_alloc(&e.f, RING * STRIDE), word = fe_string(&e, "word");

	for (unsigned i = 0; i < RING; i++) {
		uint64_t element = ring + i * STRIDE, class = element - FE_CLASS_FIELDS;

		fk_u64(&e.f, element, ring + (i + RING - 1) % RING * STRIDE);
		fk_u64(&e.f, element + 8, ring + (i + 1) % RING * STRIDE);
		fk_u64(&e.f, element + FE_FIELD_NAME, word);
		fk_u64(&e.f, element + FE_FIELD_TYPE, word);
		if (!i)
			continue;
		fk_u64(&e.f, class, word);
		fe_event(&e, class, "n", i);
	}
	fails(E2BIG, "500000 in all");
}
END_TEST

/* When the catalogue is read again, the guest can have an event with any id, also with the id of a
 * probe's event. */
START_TEST(an_added_type_keeps_its_id)
{
	const uint32_t id = UINT16_MAX;
	uint64_t class = fe_class(&e, "sched", FE_REG);
	struct hv_event_type callback = {.system = "kprobes", .name = "p", .id = id};

	fe_event(&e, class, "a", id);
	fe_event(&e, class, "b", 1);
	fe_event(&e, class, "c", id);
	read_it();
	ck_assert_uint_eq(c.nr, 3);
	hv_catalogue_add(&c, &callback);
	hv_catalogue_index(&c);
	ck_assert_uint_eq(c.nr, 2);
	ck_assert_str_eq(hv_catalogue_by_id(&c, id)->name, "p");
	find("sched", "b");
	hv_catalogue_remove(&c, id);
	ck_assert_uint_eq(c.nr, 1);
	ck_assert_ptr_null(hv_catalogue_find(&c, "kprobes", "p"));
	ck_assert_ptr_null(hv_catalogue_by_id(&c, id));
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, reads_an_event);
	tcase_add_test(tc, reads_an_event_of_an_old_kernel);
	tcase_add_test(tc, leaves_out_fields_that_no_record_contains);
	tcase_add_test(tc, detects_unloaded_modules);
	tcase_add_test(tc, reads_a_system_call);
	tcase_add_test(tc, reads_memory_arguments_of_a_system_call);
	tcase_add_test(tc, makes_fields_of_templates);
	tcase_add_test(tc, marks_unknown_fields);
	tcase_add_test(tc, finds_the_owner_of_an_event);
	tcase_add_test(tc, sorts_names_and_ids);
	tcase_add_test(tc, leaves_out_names_that_no_file_has);
	tcase_add_test(tc, refuses_lists_that_go_round);
	tcase_add_test(tc, refuses_lists_without_an_end);
	tcase_add_test(tc, refuses_templates_that_no_kernel_has);
	tcase_add_test(tc, refuses_strings_without_an_end);
	tcase_add_test(tc, refuses_a_call_with_too_many_arguments);
	tcase_add_test(tc, refuses_types_that_lack_a_member);
	tcase_add_test(tc, refuses_a_kernel_without_events);
	tcase_add_test(tc, bounds_the_total_number_of_fields);
	tcase_add_test(tc, an_added_type_keeps_its_id);
}

int main(void)
{
	return run_suite("catalogue", add);
}
