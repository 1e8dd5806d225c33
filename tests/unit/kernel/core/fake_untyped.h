/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel without BTF, and a file with its types, which can differ from the kernel. For tests and
 * the fuzzer of kernel/core/btf_proof.h. The state is static. */
#pragma once

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/core/btf_copy.h"
#include "kernel/core/type_sources.h"
#include "kernel/image/identity.h"

#define FK_SYMBOLS 2048
#include "tests/unit/kernel/fake_kernel.h"

#define NR_PERCPU    40u
#define NR_FUNCTIONS 1200u
#define STACK_MAGIC  0x57ac6e9du
#define PF_KTHREAD   0x200000u
#define RELEASE	     "5.4.0-test"

enum { VAR = 14, DATASEC = 15 };
enum {
	STACK_OFF = 24,
	FLAGS_OFF = 32,
	PRIO_OFF = 36,
	STATIC_PRIO_OFF = 40,
	NORMAL_PRIO_OFF = 44,
	RT_PRIORITY_OFF = 48,
	POLICY_OFF = 52,
	TASKS_OFF = 56,
	PID_OFF = 72,
	TGID_OFF = 76,
	PARENT_OFF = 80,
	LEADER_OFF = 88,
	CRED_OFF = 96,
	SIGNAL_OFF = 104,
	COMM_OFF = 112,
	TASK_BYTES = 128
};
enum { UID_OFF = 8, CAPS_OFF = 48, CRED_BYTES = 64 };
enum { HOT_TASK_OFF = 0, HOT_COUNT_OFF = 8, HOT_CPU_OFF = 12, HOT_BYTES = 64 };

#define SIZED_BYTES 64u
#define HOT	    FK_PERCPU(1)

/* How the file differs from the guest's kernel. */
struct file {
	uint32_t percpu_shift; /* of the last per-CPU variable */
	const char *function;  /* an additional function */
	unsigned nr_percpu, nr_functions;
	const char *shifted; /* this member is `by` bytes further */
	uint32_t by;
	const char *lacks; /* this member */
	uint32_t cred_bytes;
	bool swaps_ids;		   /* pid and tgid */
	bool has_invalid_variable; /* the third per-CPU variable is of another kind */
	bool is_damaged;	   /* no magic */
	bool is_proved;		   /* by an earlier session */
	/* of an ELF file; 0: raw BTF */
	uint32_t machine;
	uint8_t build_id;
};
static const struct file good = {
	.nr_percpu = NR_PERCPU, .nr_functions = NR_FUNCTIONS, .cred_bytes = CRED_BYTES};

static const char *const sized[][2] = {
	{"init_cred", "cred"},		{"init_signals", "signal_struct"},
	{"init_files", "files_struct"}, {"init_fs", "fs_struct"},
	{"init_nsproxy", "nsproxy"},	{"init_net", "net"},
	{"root_user", "user_struct"},	{"init_css_set", "css_set"},
};
static uint64_t sized_at[HV_ARRAY_LEN(sized)];

static struct fk fk;
static char names[NR_PERCPU + NR_FUNCTIONS + 1][24];
static const char *const left_out_prefixes[] = {"__pfx_",   "__cfi_", "__SCT__",
						"__kstub_", "_R",     "__rust_"};
static char left_out_names[6 * NR_FUNCTIONS / 20][24];
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

/* The name of MEMBER in the file. */
static const char *named(const char *member)
{
	return file.lacks && !strcmp(file.lacks, member) ? "other" : member;
}

/* The offset of MEMBER in the file. */
static uint32_t at(const char *member, uint32_t off)
{
	return off + (file.shifted && !strcmp(file.shifted, member) ? file.by : 0);
}

static void write_types(void)
{
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
		u32(file.has_invalid_variable && i == 2 ? byte : first + i);
		u32(8 * i + (i + 1 == file.nr_percpu ? file.percpu_shift : 0));
		u32(8);
	}
	proto = type(FUNC_PROTO, "", 0, 0, 0);
	for (unsigned i = 0; i < file.nr_functions; i++)
		type(FUNC, function_name(i), 0, 0, proto);
	if (file.function)
		type(FUNC, file.function, 0, 0, proto);
	FK_STRUCT("task_struct", TASK_BYTES,
		  {named("thread_info"), at("thread_info", 0), 24,
		   FK_STRUCT("thread_info", 24, {"flags", 0, 8, 0}, {"syscall_work", 8, 8, 0},
			     {"status", 16, 4, 0}, {"cpu", 20, 4, 0})},
		  {named("stack"), at("stack", STACK_OFF), 8, 0},
		  {named("flags"), at("flags", FLAGS_OFF), 4, 0}, {"prio", PRIO_OFF, 4, 0},
		  {named("static_prio"), at("static_prio", STATIC_PRIO_OFF), 4, 0},
		  {"normal_prio", NORMAL_PRIO_OFF, 4, 0},
		  {"rt_priority", at("rt_priority", RT_PRIORITY_OFF), 4, 0},
		  {"policy", at("policy", POLICY_OFF), 4, 0},
		  {named("tasks"), at("tasks", TASKS_OFF), 16, 0},
		  {named("pid"), at("pid", file.swaps_ids ? TGID_OFF : PID_OFF), 4, 0},
		  {"tgid", at("tgid", file.swaps_ids ? PID_OFF : TGID_OFF), 4, 0},
		  {"real_parent", at("real_parent", PARENT_OFF), 8, 0},
		  {"group_leader", at("group_leader", LEADER_OFF), 8, 0},
		  {"cred", at("cred", CRED_OFF), 8, 0}, {"signal", at("signal", SIGNAL_OFF), 8, 0},
		  {"comm", at("comm", COMM_OFF), 16, 0});
	FK_STRUCT("cred", file.cred_bytes, {"usage", 0, 8, 0}, {"uid", at("uid", UID_OFF), 4, 0},
		  {"cap_permitted", at("cap_permitted", CAPS_OFF), 8, 0});
	for (size_t i = 1; i < HV_ARRAY_LEN(sized); i++)
		FK_STRUCT(sized[i][1], SIZED_BYTES, {"x", 0, 4, 0});
	FK_STRUCT("pcpu_hot", HOT_BYTES,
		  {named("current_task"), at("current_task", HOT_TASK_OFF), 8, 0},
		  {"preempt_count", at("preempt_count", HOT_COUNT_OFF), 4, 0},
		  {"cpu_number", at("cpu_number", HOT_CPU_OFF), 4, 0});
	FK_STRUCT("kvm_steal_time", 64, {"steal", at("steal", 0), 8, 0},
		  {"version", at("version", 8), 4, 0});
	FK_STRUCT("tracepoint", 16, {"name", 0, 8, 0}, {"funcs", 8, 8, 0});
	FK_STRUCT("module", 16, {"refcnt", 8, 4, 0});
	FK_STRUCT("uts_namespace", 130,
		  {"name", 0, 130,
		   FK_STRUCT("new_utsname", 130, {"sysname", 0, 65, 0}, {"release", 65, 65, 0})});
}

/* Makes init_task, process 1 or kthreadd. */
static void make_task(uint64_t task, uint64_t stack, uint64_t next, uint64_t prev, uint32_t pid)
{
	static const char *const comms[] = {"swapper/0", "systemd", "kthreadd"};

	fk_u64(&fk, task + STACK_OFF, stack);
	fk_u32(&fk, task + FLAGS_OFF, pid == 1 ? 2 : PF_KTHREAD | 2);
	for (uint32_t off = PRIO_OFF; off <= NORMAL_PRIO_OFF; off += 4)
		fk_u32(&fk, task + off, 120);
	fk_u64(&fk, task + TASKS_OFF, next + TASKS_OFF);
	fk_u64(&fk, task + TASKS_OFF + 8, prev + TASKS_OFF);
	fk_u32(&fk, task + PID_OFF, pid);
	fk_u32(&fk, task + TGID_OFF, pid);
	fk_u64(&fk, task + PARENT_OFF, init_task);
	fk_u64(&fk, task + LEADER_OFF, task);
	fk_str(&fk, task + COMM_OFF, comms[pid]);
}

/* The kernel without BTF. */
static void setup(void)
{
	uint64_t uts, stack, tasks[2];

	file = good;
	is_missing = false;
	make_names();
	fk_init(&fk);
	fk.k.core.symbols.nr = 0; /* in the order of addresses */
	fk_symbol(&fk, "__per_cpu_start", 0);
	for (unsigned i = 0; i < NR_PERCPU; i++)
		fk_symbol(&fk, percpu_name(i), 8 * i);
	fk_symbol(&fk, "pcpu_hot", HOT);
	fk_symbol(&fk, "_stext", FK_BASE);
	for (unsigned i = 0; i < NR_FUNCTIONS; i++)
		fk_symbol(&fk, i == 7 ? "function_7.isra.0" : function_name(i), FK_BASE + 16 * i);
	/* pahole leaves out these kinds of names. More than would be tolerated of other names. */
	for (unsigned i = 0; i < HV_ARRAY_LEN(left_out_names); i++) {
		snprintf(left_out_names[i], sizeof(left_out_names[i]), "%s%u",
			 left_out_prefixes[i % HV_ARRAY_LEN(left_out_prefixes)], i);
		fk_symbol(&fk, left_out_names[i], FK_BASE + 16 * i);
	}
	fk_symbol(&fk, "_etext", FK_DATA);
	fk_symbol(&fk, "__per_cpu_offset", FK_DATA);
	stack = fk_alloc(&fk, 4096);
	init_task = fk_alloc(&fk, 4096);
	tasks[0] = fk_alloc(&fk, 4096);
	tasks[1] = fk_alloc(&fk, 4096);
	uts = fk_alloc(&fk, 4096);
	fk_symbol(&fk, "init_task", init_task);
	fk.k.core.symbols.by_addr[fk.k.core.symbols.nr - 1].type = 'D';
	fk_symbol(&fk, "after_it", init_task + TASK_BYTES + 8);
	fk_symbol(&fk, "init_uts_ns", uts);
	fk_symbol(&fk, "after_it", uts + 130 + 6);
	for (size_t i = 0; i < HV_ARRAY_LEN(sized); i++) {
		sized_at[i] = fk_alloc(&fk, 4096);
		fk_symbol(&fk, sized[i][0], sized_at[i]);
		fk_symbol(&fk, "after_it", sized_at[i] + SIZED_BYTES);
	}
	fk_u64(&fk, stack, STACK_MAGIC);
	make_task(init_task, stack, tasks[0], tasks[1], 0);
	make_task(tasks[0], stack, tasks[1], init_task, 1);
	make_task(tasks[1], stack, init_task, tasks[0], 2);
	fk_u64(&fk, init_task + CRED_OFF, sized_at[0]);
	fk_u64(&fk, init_task + SIGNAL_OFF, sized_at[1]);
	fk_u32(&fk, sized_at[0], 4);
	fk_u64(&fk, sized_at[0] + CAPS_OFF, 0x1ffffffffff);
	fk_u64(&fk, fk.areas[0] + HOT + HOT_TASK_OFF, tasks[0]);
	fk_u32(&fk, fk.areas[0] + HOT + HOT_CPU_OFF, 0);
	fk_str(&fk, uts, "Linux");
	fk_str(&fk, uts + 65, RELEASE);
	hv_symbols_index(&fk.k.core.symbols);
}

static inline void teardown(void)
{
	hv_err_free(fk.k.core.no_types);
	free(fk.k.core.types.path);
	fk_deinit(&fk);
}

static inline struct hv_err *open_file(void *ctx hv_unused, const char *release,
				       struct hv_btf_given *ret)
{
	HV_AUTO_TEXT struct hv_text bytes = {0};
	HV_AUTO_FD int fd = memfd_create("btf", MFD_CLOEXEC);
	uint64_t copy_bytes;

	if (strcmp(release, RELEASE) != 0)
		abort();
	if (is_missing)
		return hv_err_new(ENOENT, "no file there");
	write_types();
	bytes = assemble();
	if (file.is_damaged)
		bytes.data[bytes.len_bytes - 1] = 'x'; /* the NUL of the last string */
	*ret = (struct hv_btf_given){.path = hv_strdup("x.btf"), .is_proved = file.is_proved};
	if (file.machine) {
		struct hv_btf_copy header = {HV_BTF_COPY_MAGIC, file.machine, 1, {file.build_id}};

		if (write(fd, &header, sizeof(header)) != sizeof(header))
			abort();
	}
	if (write(fd, bytes.data, bytes.len_bytes) != (ssize_t)bytes.len_bytes)
		abort();
	if (!file.machine)
		return hv_btf_copy_make(fd, &ret->fd, &copy_bytes);
	ret->fd = hv_take_fd(&fd);
	return NULL;
}
