/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types of a kernel without BTF, from a file: the file of the kernel's build is used; files of
 * other builds are refused, each by one proof. */
#include "kernel/core/type_sources.h"

#include <check.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/core/btf_copy.h"
#include "kernel/core/btf_proof.h"
#include "kernel/image/identity.h"
#include "tests/lib/run_suite.h"

#define FK_SYMBOLS 2048
#include "tests/unit/kernel/fake_kernel.h"

#define NR_PERCPU    40u
#define NR_FUNCTIONS 1200u
#define STACK_MAGIC  0x57ac6e9du
#define PF_KTHREAD   0x200000u
#define RELEASE	     "5.4.0-test"

enum { VAR = 14, DATASEC = 15 };
enum {
	STACK_OFF = 8,
	FLAGS_OFF = 16,
	TASKS_OFF = 32,
	PID_OFF = 48,
	TGID_OFF = 52,
	PARENT_OFF = 56
};
enum { LEADER_OFF = 64, CRED_OFF = 72, SIGNAL_OFF = 80, COMM_OFF = 96, TASK_BYTES = 128 };

#define SIZED_BYTES 48u

/* How the file differs from the guest's kernel. */
struct file {
	uint32_t percpu_shift; /* of the last per-CPU variable */
	const char *function;  /* another function */
	unsigned nr_percpu, nr_functions;
	uint32_t shift; /* of all members from tasks on */
	uint32_t pid_off, flags_off;
	uint32_t cred_bytes;
	bool is_damaged; /* no magic */
	bool is_proved;	 /* by an earlier session */
};
static const struct file good = {.nr_percpu = NR_PERCPU,
				 .nr_functions = NR_FUNCTIONS,
				 .pid_off = PID_OFF,
				 .flags_off = FLAGS_OFF,
				 .cred_bytes = SIZED_BYTES};

static const char *const sized[][2] = {
	{"init_cred", "cred"},		{"init_signals", "signal_struct"},
	{"init_files", "files_struct"}, {"init_fs", "fs_struct"},
	{"init_nsproxy", "nsproxy"},	{"init_net", "net"},
	{"root_user", "user_struct"},	{"init_css_set", "css_set"},
};
static uint64_t sized_at[HV_ARRAY_LEN(sized)];

static struct fk fk;
static char names[NR_PERCPU + NR_FUNCTIONS + 1][24];
static struct hv_identity id = {
	.release = (char *)RELEASE, .build_id = {0xab}, .build_id_len_bytes = 1};
static uint64_t init_task;
static struct file file;
static bool is_missing; /* there is no file */

static const char *percpu_name(unsigned i)
{
	return names[i];
}

static const char *function_name(unsigned i)
{
	return names[NR_PERCPU + i];
}

static void make_names(void)
{
	for (unsigned i = 0; i < NR_PERCPU; i++)
		snprintf(names[i], sizeof(names[i]), "variable_%u", i);
	for (unsigned i = 0; i <= NR_FUNCTIONS; i++)
		snprintf(names[NR_PERCPU + i], sizeof(names[0]), "function_%u", i);
}

static void write_types(void)
{
	const uint32_t s = file.shift;
	uint32_t byte, first, proto;

	begin();
	byte = integer("char", 1);
	first = nr_types + 1;
	for (unsigned i = 0; i < file.nr_percpu; i++) {
		type(VAR, percpu_name(i), 0, 0, byte);
		u32(0);
	}
	type(DATASEC, ".data..percpu", file.nr_percpu, 0, 0);
	for (unsigned i = 0; i < file.nr_percpu; i++) {
		u32(first + i);
		u32(8 * i + (i + 1 == file.nr_percpu ? file.percpu_shift : 0));
		u32(8);
	}
	proto = type(FUNC_PROTO, "", 0, 0, 0);
	for (unsigned i = 0; i < file.nr_functions; i++)
		type(FUNC, function_name(i), 0, 0, proto);
	if (file.function)
		type(FUNC, file.function, 0, 0, proto);
	FK_STRUCT("task_struct", TASK_BYTES, {"thread_info", 0, 8, 0}, {"stack", STACK_OFF, 8, 0},
		  {"flags", file.flags_off, 4, 0}, {"tasks", TASKS_OFF + s, 16, 0},
		  {"pid", file.pid_off + s, 4, 0}, {"tgid", TGID_OFF + s, 4, 0},
		  {"real_parent", PARENT_OFF + s, 8, 0}, {"group_leader", LEADER_OFF + s, 8, 0},
		  {"cred", CRED_OFF + s, 8, 0}, {"signal", SIGNAL_OFF + s, 8, 0},
		  {"comm", COMM_OFF + s, 16, 0});
	for (size_t i = 0; i < HV_ARRAY_LEN(sized); i++) {
		uint32_t len = i == 0 ? file.cred_bytes : SIZED_BYTES;

		FK_STRUCT(sized[i][1], len, {"x", 0, 4, 0});
	}
	FK_STRUCT("uts_namespace", 130,
		  {"name", 0, 130,
		   FK_STRUCT("new_utsname", 130, {"sysname", 0, 65, 0}, {"release", 65, 65, 0})});
}

/* The kernel without BTF. */
static void setup(void)
{
	uint64_t uts, stack, first;

	file = good;
	is_missing = false;
	make_names();
	fk_init(&fk);
	fk.k.core.symbols.nr = 0; /* in the order of addresses */
	fk_symbol(&fk, "__per_cpu_start", 0);
	for (unsigned i = 0; i < NR_PERCPU; i++)
		fk_symbol(&fk, percpu_name(i), 8 * i);
	for (unsigned i = 0; i < NR_FUNCTIONS; i++)
		fk_symbol(&fk, i == 7 ? "function_7.isra.0" : function_name(i), FK_BASE + 16 * i);
	stack = fk_alloc(&fk, 4096);
	init_task = fk_alloc(&fk, 4096);
	first = fk_alloc(&fk, 4096);
	uts = fk_alloc(&fk, 4096);
	fk_symbol(&fk, "init_task", init_task);
	fk_symbol(&fk, "after_it", init_task + TASK_BYTES + 8);
	fk_symbol(&fk, "init_uts_ns", uts); /* a page follows */
	for (size_t i = 0; i < HV_ARRAY_LEN(sized); i++) {
		sized_at[i] = fk_alloc(&fk, 4096);
		fk_symbol(&fk, sized[i][0], sized_at[i]);
		fk_symbol(&fk, "after_it", sized_at[i] + SIZED_BYTES);
	}
	fk_u64(&fk, stack, STACK_MAGIC);
	fk_u64(&fk, init_task + STACK_OFF, stack);
	fk_u32(&fk, init_task + FLAGS_OFF, PF_KTHREAD | 2);
	fk_u64(&fk, init_task + TASKS_OFF, first + TASKS_OFF);
	fk_u64(&fk, init_task + PARENT_OFF, init_task);
	fk_u64(&fk, init_task + LEADER_OFF, init_task);
	fk_u64(&fk, init_task + CRED_OFF, sized_at[0]);
	fk_u64(&fk, init_task + SIGNAL_OFF, sized_at[1]);
	fk_str(&fk, init_task + COMM_OFF, "swapper/0");
	fk_u64(&fk, first + TASKS_OFF + 8, init_task + TASKS_OFF);
	fk_u32(&fk, first + PID_OFF, 1);
	fk_u32(&fk, first + TGID_OFF, 1);
	fk_u64(&fk, first + PARENT_OFF, init_task);
	fk_str(&fk, uts, "Linux");
	fk_str(&fk, uts + 65, RELEASE);
	hv_symbols_index(&fk.k.core.symbols);
}

static void teardown(void)
{
	hv_err_free(fk.k.core.no_types);
	free(fk.k.core.types.path);
	fk_deinit(&fk);
}

static struct hv_err *open_file(void *ctx hv_unused, const char *release, struct hv_btf_given *ret)
{
	HV_AUTO_TEXT struct hv_text bytes = {0};
	HV_AUTO_FD int fd = memfd_create("btf", MFD_CLOEXEC);
	uint64_t copy_bytes;

	ck_assert_str_eq(release, RELEASE);
	if (is_missing)
		return hv_err_new(ENOENT, "no file there");
	write_types();
	bytes = assemble();
	if (file.is_damaged)
		bytes.data[0] = 0;
	ck_assert_int_eq(write(fd, bytes.data, bytes.len_bytes), (ssize_t)bytes.len_bytes);
	*ret = (struct hv_btf_given){.path = hv_strdup("x.btf"), .is_proved = file.is_proved};
	return hv_btf_copy_make(fd, &ret->fd, &copy_bytes);
}

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
	ck_assert_uint_ge(proof->nr_values, 8);
}

START_TEST(the_file_of_this_build)
{
	check_taken();
}
END_TEST

/* To undo the changes of a session, what it has proved is not proved again: the guest may have
 * changed since. */
START_TEST(a_file_that_was_proved)
{
	file.is_proved = true;
	file.shift = 8;
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

START_TEST(other_functions)
{
	file.function = "function_of_a_patch";
	check_refused("the guest has no function function_of_a_patch");
	file = good;
	file.nr_functions = 999;
	check_refused("only 999 functions can be compared, and 1000 are needed");
}
END_TEST

START_TEST(other_sizes)
{
	file.cred_bytes = SIZED_BYTES + 8;
	check_refused("struct cred has 56 bytes in the file and at most 48 in the guest");
}
END_TEST

START_TEST(other_members)
{
	file.shift = 8;
	check_refused("task_struct.group_leader is not at offset 72 of the guest's");
	file = good;
	file.pid_off = TGID_OFF + 12; /* a part of an address */
	check_refused("task_struct.pid is not at offset 64 of the guest's");
	file = good;
	file.flags_off = 20;
	check_refused("task_struct.flags is not at offset 20 of the guest's");
	file = good;
	file.pid_off = 112; /* 0 in both tasks */
	check_refused("task_struct.pid is not at offset 112 of the guest's");
}
END_TEST

/* The kernel's own BTF is used if it is whole, and the file if it is damaged. */
START_TEST(damaged_types_in_memory)
{
	uint64_t at = fk_alloc(&fk, 4096);
	struct hv_err *err;

	fk_symbol(&fk, "__start_BTF", at);
	fk_symbol(&fk, "__stop_BTF", at + 64);
	hv_symbols_index(&fk.k.core.symbols);
	is_missing = true;
	err = find_types();
	ck_assert_str_eq(err->message, "BTF: no magic (0x0) in 64 bytes; no file there");
	ck_assert_uint_eq(err->facts, HV_ERR_NEEDS_BTF);
	hv_err_free(err);
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
	ck_assert_msg(strstr(err->message, "x.btf: BTF: no magic") == err->message, "%s",
		      err->message);
	ck_assert_ptr_null(fk.k.core.btf);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_file_of_this_build);
	tcase_add_test(tc, a_file_that_was_proved);
	tcase_add_test(tc, no_file);
	tcase_add_test(tc, other_percpu_variables);
	tcase_add_test(tc, other_functions);
	tcase_add_test(tc, other_sizes);
	tcase_add_test(tc, other_members);
	tcase_add_test(tc, damaged_types_in_memory);
	tcase_add_test(tc, damaged_file);
}

int main(void)
{
	return run_suite("type_sources", add_tests);
}
