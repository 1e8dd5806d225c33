/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types of a kernel without BTF, from a file: the file of the kernel's build is used; files of
 * other builds are refused, each by one proof. */
#include "kernel/core/type_sources.h"

#include <check.h>
#include <elf.h>

#include "kernel/core/btf_members.h"
#include "kernel/core/btf_proof.h"
#include "tests/lib/run_suite.h"

#include "tests/unit/kernel/core/fake_untyped.h"

static struct hv_err *find_types(void)
{
	static const struct hv_btf_files files = {open_file, NULL};

	return hv_types_find(&fk.k.core, &(struct hv_type_files){NULL, &files}, &id);
}

static void check_refused(const char *why)
{
	HV_AUTO_FREE char *message =
		hv_format("x.btf: this file (build id none) is of another build than the guest's "
			  "Linux " RELEASE " (build id ab): %s",
			  why);
	HV_AUTO_ERR struct hv_err *err = find_types();

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EINVAL);
	ck_assert_str_eq(err->message, message);
	ck_assert_ptr_null(fk.k.core.btf);
	ck_assert_int_eq(fk.k.core.types.from, HV_TYPES_NONE);
}

static void check_taken(void)
{
	const struct hv_btf_proof *proof = &fk.k.core.types.proof;
	struct hv_err *err = find_types();

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_ptr_nonnull(fk.k.core.btf);
	ck_assert_int_eq(fk.k.core.types.from, HV_TYPES_IN_FILE);
	ck_assert_str_eq(fk.k.core.types.path, "x.btf");
	ck_assert_uint_eq(proof->nr_percpu, NR_PERCPU);
	ck_assert_uint_eq(proof->nr_functions, NR_FUNCTIONS);
	ck_assert_uint_eq(proof->nr_guest_functions, NR_FUNCTIONS + 1 - 1);
	ck_assert_uint_ge(proof->nr_values, 8);
}

START_TEST(the_file_of_this_build)
{
	check_taken();
}
END_TEST

/* When a session's changes are undone, its proof is not repeated: the guest may have changed
 * since. */
START_TEST(a_file_that_was_proved)
{
	file.is_proved = true;
	file.shifted = "pid";
	file.by = 8;
	fk.k.core.types.proof = (struct hv_btf_proof){0};
	ck_assert_ptr_null(find_types());
	ck_assert_ptr_nonnull(fk.k.core.btf);
	ck_assert_uint_eq(fk.k.core.types.proof.nr_functions, 0);
}
END_TEST

START_TEST(no_file)
{
	is_missing = true;
	ck_assert_ptr_null(find_types());
	ck_assert_ptr_null(fk.k.core.btf);
	ck_assert_str_eq(fk.k.core.no_types->message, "no file there");
}
END_TEST

START_TEST(other_percpu_variables)
{
	file.percpu_shift = 8;
	check_refused("the per-CPU variable variable_39 is at offset 0x140 in the file and at "
		      "0x138 in the guest");
}
END_TEST

/* Expects that the file is refused because data for a proof is missing, not as another build's. */
static void check_unknown(const char *why)
{
	HV_AUTO_FREE char *message = hv_format(
		"x.btf: cannot tell whether this file belongs to the guest's Linux " RELEASE ": %s",
		why);
	HV_AUTO_ERR struct hv_err *err = find_types();

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ENOTSUP);
	ck_assert_str_eq(err->message, message);
	ck_assert_ptr_null(fk.k.core.btf);
}

START_TEST(damaged_percpu_variables)
{
	file.has_invalid_variable = true;
	check_refused("per-CPU variable 2 of the file is damaged");
	file = good;
	file.nr_percpu = 31;
	check_unknown("only 31 per-CPU variables can be compared, and 32 are needed");
	file.nr_percpu = 0;
	check_unknown(
		"the file has no per-CPU variables: it needs them, as pahole writes them, or the "
		"guest's build id");
}
END_TEST

START_TEST(other_functions)
{
	char long_name[HV_SYMBOL_NAME_MAX + 1] = "";

	file.function = "function_of_a_patch";
	check_refused("the guest has no function function_of_a_patch");
	file = good;
	file.function = "init_task"; /* no function */
	check_refused("the guest has no function init_task");
	memset(long_name, 'a', HV_SYMBOL_NAME_MAX);
	file.function = long_name;
	check_refused("a function's name is longer than any symbol's");
	file = good;
	file.nr_functions = 999;
	check_unknown("only 999 functions can be compared, and 1000 are needed");
	file.nr_functions = 1100; /* the guest's kernel has more: another configuration */
	check_refused("the file lacks 101 of the guest's 1200 functions, such as function_1199");
}
END_TEST

START_TEST(other_sizes)
{
	file.cred_bytes = CRED_BYTES + 8;
	check_refused("struct cred has 72 bytes in the file and at most 64 in the guest");
	file.cred_bytes = 56; /* within padding */
	file.by = 0;
	check_taken();
}
END_TEST

START_TEST(smaller_sizes)
{
	fk.k.core.symbols.nr--; /* the last variable is as long as its section */
	hv_symbols_index(&fk.k.core.symbols);
	file.cred_bytes = 0;
	check_refused("struct cred has 0 bytes in the file and 64 in the guest");
}
END_TEST

/* One member is at another offset, as in a file of a neighbouring build. */
static const struct {
	const char *member;
	uint32_t by;
	const char *why;
} shifts[] = {
	{"thread_info", 8, "task_struct.thread_info is not at offset 8 of the guest's"},
	{"stack", 8, "task_struct.stack is not at offset 32 of the guest's"},
	{"flags", 4, "task_struct.flags is not at offset 36 of the guest's"},
	{"static_prio", 8, "task_struct.static_prio is not at offset 48 of the guest's"},
	{"tasks", 8, "task_struct.tasks is not at offset 64 of the guest's"},
	{"pid", 8, "task_struct.pid is not at offset 80 of the guest's"},
	{"tgid", 4, "task_struct.tgid is not at offset 80 of the guest's"},
	{"real_parent", 8, "task_struct.real_parent is not at offset 88 of the guest's"},
	{"cred", 8, "task_struct.cred is not at offset 104 of the guest's"},
	{"comm", 8, "task_struct.comm is not at offset 120 of the guest's"},
	{"uid", (uint32_t)-8, "cred.uid is not at offset 0 of the guest's"},
	{"uid", 16, "cred.uid is not at offset 24 of the guest's"},
	{"cap_permitted", 8, "cred.cap_permitted is not at offset 56 of the guest's"},
	{"current_task", 16, "pcpu_hot.current_task is not at offset 16 of the guest's"},
	{"preempt_count", 8, "pcpu_hot.preempt_count is not at offset 16 of the guest's"},
	{"cpu_number", (uint32_t)-12, "pcpu_hot.cpu_number is not at offset 0 of the guest's"},
	{"steal", 8, "kvm_steal_time.steal is not at offset 8 of the guest's"},
	{"version", 4, "kvm_steal_time.version is not at offset 12 of the guest's"},
};

START_TEST(a_shifted_member)
{
	file.shifted = shifts[_i].member;
	file.by = shifts[_i].by;
	check_refused(shifts[_i].why);
}
END_TEST

START_TEST(exchanged_members)
{
	file.swaps_ids = true;
	check_refused("task_struct.tgid is not at offset 72 of the guest's");
}
END_TEST

static bool is_proved(const char *type, const char *member)
{
	HV_AUTO_ERR struct hv_err *err = hv_btf_need_proof(&fk.k.core, type, member);

	if (err)
		ck_assert_int_eq(err->code, ENOTSUP);
	return !err;
}

/* A member without a proof makes its feature fail, not the attach. */
START_TEST(members_without_a_proof)
{
	static const struct {
		const char *type, *member;
		bool is_proved;
	} members[] = {
		{"task_struct", "pid", true},
		{"task_struct", "tgid", true},
		{"task_struct", "flags", true},
		{"task_struct", "comm", true},
		{"task_struct", "stack", true},
		{"task_struct", "cred", true},
		{"cred", "uid", true},
		{"task_struct", "thread_info.flags", true},
		{"task_struct", "thread_info.status", true},
		{"task_struct", "policy", true},
		{"task_struct", "rt_priority", true},
		{"task_struct", "static_prio", true},
		{"pcpu_hot", "current_task", true},
		{"kvm_steal_time", "steal", true},
		{"task_struct", "migration_disabled", false}, /* the file does not have it */
		{"tracepoint", "funcs", false},
		{"module", "refcnt", false},
		{"trace_event_buffer", "entry", false},
	};
	const struct hv_field refcnt = {"refcnt", 4, &(uint32_t){0}};
	struct hv_err *err;

	check_taken();
	for (size_t i = 0; i < HV_ARRAY_LEN(members); i++)
		ck_assert_msg(is_proved(members[i].type, members[i].member) == members[i].is_proved,
			      "%s", members[i].member);
	err = hv_fields_find_proved(&fk.k.core, "module", &refcnt, 1);
	ck_assert_str_eq(err->message,
			 "refcnt of struct module in the BTF file x.btf is not proved "
			 "to be the guest's: no value in the guest's memory shows it");
	hv_err_free(err);
	fk.k.core.types.unproved = 0; /* as with the kernel's own BTF */
	ck_assert_ptr_null(hv_fields_find_proved(&fk.k.core, "module", &refcnt, 1));
}
END_TEST

START_TEST(a_value_that_differs_later)
{
	fk_u64(&fk, fk.areas[0] + HOT + HOT_TASK_OFF, FK_DATA); /* no task */
	check_refused("pcpu_hot.current_task is not at offset 0 of the guest's");
	fk_u32(&fk, init_task + POLICY_OFF, 0x12345678);
	check_refused("task_struct.policy is not at offset 52 of the guest's");
}
END_TEST

/* With one process, pid cannot be distinguished from other members. */
START_TEST(a_kernel_that_starts)
{
	fk_u64(&fk, init_task + TASKS_OFF, init_task + TASKS_OFF);
	check_taken();
	ck_assert(!is_proved("task_struct", "pid"));
	ck_assert(is_proved("task_struct", "stack"));
}
END_TEST

/* The kernel's own BTF is used if it is whole, and the file if it is damaged. */
START_TEST(damaged_types_in_memory)
{
	uint64_t at = fk_alloc(&fk, 4096);

	fk_symbol(&fk, "__start_BTF", at);
	fk_symbol(&fk, "__stop_BTF", at + 64);
	hv_symbols_index(&fk.k.core.symbols);
	is_missing = true;
	ck_assert_ptr_null(find_types());
	ck_assert_ptr_null(fk.k.core.btf);
	ck_assert_str_eq(fk.k.core.no_types->message,
			 "BTF: no magic (0x0) in 64 bytes; no file there");
	hv_err_free(hv_take(fk.k.core.no_types));
	is_missing = false;
	check_taken();
}
END_TEST

START_TEST(damaged_file)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	file.is_damaged = true;
	err = find_types();
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(strstr(err->message, "x.btf: BTF: strings (") == err->message, "%s",
		      err->message);
	ck_assert_ptr_null(fk.k.core.btf);
}
END_TEST

/* Data that would prove the file is missing in the file or in the guest. */
START_TEST(incomparable)
{
	static const char *const members[][2] = {
		{"thread_info", "struct task_struct has no thread_info: it is on the stack"},
		{"stack", "no task_struct.stack to compare"},
		{"pid", "no task_struct.pid to compare"},
		{"tasks", "no members of task_struct to compare"},
		{"static_prio", "no task_struct.static_prio to compare"},
		{"current_task", "no struct pcpu_hot to compare"},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(members); i++) {
		file.lacks = members[i][0];
		check_unknown(members[i][1]);
	}
}
END_TEST

static void forget_symbol(const char *name)
{
	struct hv_symbols *s = &fk.k.core.symbols;

	for (size_t i = 0; i < s->nr; i++)
		if (strcmp(s->by_addr[i].name, name) == 0)
			s->by_addr[i].name = "forgotten";
	hv_symbols_index(s);
}

START_TEST(guests_without_symbols)
{
	forget_symbol("init_net");
	forget_symbol("init_fs");
	forget_symbol("init_files");
	check_unknown("only 7 structures can be compared, and 8 are needed");
	forget_symbol("_etext");
	check_unknown("the guest has no symbols _stext and _etext");
	forget_symbol("variable_5");
	check_refused("the guest has no per-CPU variable variable_5");
	forget_symbol("__per_cpu_start");
	check_unknown("the guest has no symbol __per_cpu_start (CONFIG_KALLSYMS_ALL)");
}
END_TEST

static void check_message(int code, const char *part)
{
	HV_AUTO_ERR struct hv_err *err = find_types();

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, code);
	ck_assert_msg(strstr(err->message, part), "%s", err->message);
	ck_assert_ptr_null(fk.k.core.btf);
}

/* An ELF file with the guest's build id proves each member, as a vmlinux does. */
START_TEST(build_ids)
{
	file.machine = EM_X86_64;
	file.build_id = 0xac;
	check_message(EINVAL, "x.btf: this file (build id ac) is of another build than the guest's "
			      "Linux " RELEASE " (build id ab): the build ids differ");
	file.build_id = 0xab;
	file.machine = EM_AARCH64;
	check_message(EINVAL, "it is of another architecture (ELF machine 183) than x86_64");
	file.machine = EM_X86_64;
	id.build_id_len_bytes = 0;
	check_message(ENOTSUP, "the file has a build id and the guest's kernel shows none");
	id.build_id_len_bytes = 1;
	file.shifted = "pid";
	file.by = 8;
	check_message(EINVAL, "task_struct.pid is not at offset 80 of the guest's");
	file.shifted = NULL;
	check_taken();
	ck_assert(fk.k.core.types.proof.build_id_equal);
	ck_assert(is_proved("tracepoint", "funcs"));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_file_of_this_build);
	tcase_add_test(tc, a_file_that_was_proved);
	tcase_add_test(tc, no_file);
	tcase_add_test(tc, other_percpu_variables);
	tcase_add_test(tc, damaged_percpu_variables);
	tcase_add_test(tc, other_functions);
	tcase_add_test(tc, other_sizes);
	tcase_add_test(tc, smaller_sizes);
	tcase_add_loop_test(tc, a_shifted_member, 0, HV_ARRAY_LEN(shifts));
	tcase_add_test(tc, exchanged_members);
	tcase_add_test(tc, members_without_a_proof);
	tcase_add_test(tc, build_ids);
	tcase_add_test(tc, incomparable);
	tcase_add_test(tc, guests_without_symbols);
	tcase_add_test(tc, a_value_that_differs_later);
	tcase_add_test(tc, a_kernel_that_starts);
	tcase_add_test(tc, damaged_types_in_memory);
	tcase_add_test(tc, damaged_file);
}

int main(void)
{
	return run_suite("type_sources", add_tests);
}
