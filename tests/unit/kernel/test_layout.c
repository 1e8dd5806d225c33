/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The offsets of per-CPU variables in three generations of kernels, of structure members in BTF,
 * the number of CPUs, and the messages when something is missing. */
#include <check.h>

#include "base/text.h"
#include "kernel/layout.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/x86_machine.h"

#define DATA 0xffffffff82000000ull
#define PHYS 0x100000

/* BTF types 1..4; structures come after them. */
enum { INT = 1, LONG, COMM, SHORT, FIRST_STRUCT };

struct member {
	const char *name;
	unsigned type;
	uint32_t off;
};

static struct xm machine;
static struct hv_kernel_core core;
static struct hv_symbol list[8];
static struct hv_text types, strings;

static void u32(uint32_t v)
{
	hv_text_add_bytes(&types, &v, sizeof(v));
}

static uint32_t str(const char *s)
{
	uint32_t off = (uint32_t)strings.len_bytes;

	hv_text_add_bytes(&strings, s, strlen(s) + 1);
	return off;
}

static void integer(const char *name, uint32_t size)
{
	u32(str(name));
	u32(1u << 24);
	u32(size);
	u32(size * 8);
}

static void structure(const char *name, uint32_t size, const struct member *members, unsigned nr)
{
	u32(str(name));
	u32(4u << 24 | nr);
	u32(size);
	for (unsigned i = 0; i < nr; i++) {
		u32(str(members[i].name));
		u32(members[i].type);
		u32(members[i].off * 8);
	}
}

static void begin_btf(void)
{
	hv_text_clear(&types);
	hv_text_clear(&strings);
	str("");
	integer("int", 4);
	integer("long", 8);
	u32(0); /* COMM: char comm[16], here as 8 shorts */
	u32(3u << 24);
	u32(0);
	u32(SHORT);
	u32(INT);
	u32(8);
	integer("short", 2);
	structure("thread_info", 16, (struct member[]){{"flags", LONG, 0}, {"cpu", INT, 8}}, 2);
}

static void end_btf(void)
{
	struct hv_text all = {0};
	const uint32_t header[] = {0x0001eb9f,
				   24,
				   0,
				   (uint32_t)types.len_bytes,
				   (uint32_t)types.len_bytes,
				   (uint32_t)strings.len_bytes};
	struct hv_err *err;

	hv_text_add_bytes(&all, header, sizeof(header));
	hv_text_add_bytes(&all, types.data, types.len_bytes);
	hv_text_add_bytes(&all, strings.data, strings.len_bytes);
	hv_btf_free(core.btf);
	core.btf = NULL;
	err = hv_btf_new((struct hv_span){(uint8_t *)all.data, all.len_bytes}, NULL, &core.btf);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	hv_text_deinit(&all);
}

static const struct member task[] = {
	{"thread_info", FIRST_STRUCT, 8},
	{"flags", INT, 44},
	{"pid", INT, 1000},
	{"tgid", INT, 1004},
	{"comm", COMM, 1400},
	{"migration_disabled", SHORT, 900},
};
static const struct member pcpu_hot[] = {
	{"current_task", LONG, 0},
	{"preempt_count", INT, 8},
	{"cpu_number", INT, 12},
};

static void setup(void)
{
	struct hv_gpa root;

	xm_init(&machine);
	root = xm_table(&machine);
	xm_map(&machine, root, 4, 1, hv_gva(DATA), hv_gpa(PHYS), 1, XM_W);
	core = (struct hv_kernel_core){.as = {machine.guest, &hv_arch_x86_64, root, 4}};
	begin_btf();
	structure("task_struct", 2000, task, HV_ARRAY_LEN(task));
	structure("pcpu_hot", 64, pcpu_hot, HV_ARRAY_LEN(pcpu_hot));
	end_btf();
	*(uint32_t *)(machine.ram + PHYS + 0x10) = 6;
}

static void set_symbols(const struct hv_symbol *from, size_t nr)
{
	memcpy(list, from, nr * sizeof(*from));
	free(core.symbols.by_name);
	free(core.symbols.starts);
	core.symbols = (struct hv_symbols){.by_addr = list, .nr = nr};
	hv_symbols_index(&core.symbols);
}

static void teardown(void)
{
	free(core.symbols.by_name);
	free(core.symbols.starts);
	hv_btf_free(core.btf);
	hv_text_deinit(&types);
	hv_text_deinit(&strings);
	xm_deinit(&machine);
}

static const struct hv_symbol apart[] = {
	{{0x19160}, "cpu_number", 'A'},	    {{0x1fb40}, "__preempt_count", 'A'},
	{{0x1fb80}, "current_task", 'A'},   {{DATA}, "linux_banner", 'D'},
	{{DATA + 0x10}, "nr_cpu_ids", 'D'},
};
static const struct hv_symbol hot[] = {
	{{0x35000}, "pcpu_hot", 'A'},
	{{DATA}, "linux_banner", 'D'},
	{{DATA + 0x10}, "nr_cpu_ids", 'D'},
};

static struct hv_layout read_layout(void)
{
	struct hv_layout l;
	struct hv_err *err = hv_layout_read(&core, &l);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	return l;
}

static void check_refused(const char *message)
{
	struct hv_layout l;
	HV_AUTO_ERR struct hv_err *err = hv_layout_read(&core, &l);

	ck_assert_ptr_nonnull(err);
	ck_assert_str_eq(err->message, message);
}

START_TEST(separate_per_cpu_variables)
{
	struct hv_layout l;

	set_symbols(apart, HV_ARRAY_LEN(apart));
	l = read_layout();
	ck_assert_uint_eq(l.cpu_number_percpu, 0x19160);
	ck_assert_uint_eq(l.current_percpu, 0x1fb80);
	ck_assert_uint_eq(l.preempt_count_percpu, 0x1fb40);
	ck_assert_uint_eq(l.task_pid_off, 1000);
	ck_assert_uint_eq(l.task_tgid_off, 1004);
	ck_assert_uint_eq(l.task_comm_off, 1400);
	ck_assert_uint_eq(l.task_flags_off, 8);
	ck_assert_uint_eq(l.task_migrate_off, 900);
	ck_assert(l.has_migrate);
	ck_assert_uint_eq(l.nr_cpus, 6);
}
END_TEST

START_TEST(variables_in_pcpu_hot)
{
	struct hv_layout l;

	set_symbols(hot, HV_ARRAY_LEN(hot));
	l = read_layout();
	ck_assert_uint_eq(l.cpu_number_percpu, 0x3500c);
	ck_assert_uint_eq(l.current_percpu, 0x35000);
	ck_assert_uint_eq(l.preempt_count_percpu, 0x35008);
}
END_TEST

START_TEST(names_what_is_missing)
{
	set_symbols(apart + 1, HV_ARRAY_LEN(apart) - 1);
	check_refused("kernel has no symbol cpu_number");
	set_symbols(apart, 2);
	check_refused("kernel has no symbol current_task: it was built without "
		      "CONFIG_KALLSYMS_ALL");
	set_symbols(hot, HV_ARRAY_LEN(hot));
	begin_btf();
	structure("task_struct", 2000, task, 4);
	structure("pcpu_hot", 64, pcpu_hot, HV_ARRAY_LEN(pcpu_hot));
	end_btf();
	check_refused("BTF: no member comm in struct task_struct");
	begin_btf();
	structure("task_struct", 2000, task, 5);
	structure("pcpu_hot", 64, pcpu_hot, 2);
	end_btf();
	check_refused("BTF: no member cpu_number in struct pcpu_hot");
	begin_btf();
	structure("task_struct", 2000,
		  (struct member[]){{"pid", SHORT, 0}, {"comm", COMM, 8}, task[0]}, 3);
	structure("pcpu_hot", 64, pcpu_hot, 3);
	end_btf();
	check_refused("BTF: member pid of struct task_struct has 2 bytes instead of 4");
	hv_btf_free(core.btf);
	core.btf = NULL;
	check_refused("kernel without BTF (CONFIG_DEBUG_INFO_BTF): cannot find its structures");
}
END_TEST

START_TEST(migration_count_may_not_be_there)
{
	set_symbols(hot, HV_ARRAY_LEN(hot));
	begin_btf();
	structure("task_struct", 2000, task, 5);
	structure("pcpu_hot", 64, pcpu_hot, HV_ARRAY_LEN(pcpu_hot));
	end_btf();
	ck_assert(!read_layout().has_migrate);
}
END_TEST

/* PREEMPT_RT's lazy preemption is known by the task's count and the field in trace events. */
START_TEST(lazy_preemption_may_be_there)
{
	static const struct member entry[] = {{"type", SHORT, 0}, {"preempt_lazy_count", SHORT, 8}};
	static const struct member info[] = {{"flags", LONG, 0}, {"preempt_lazy_count", INT, 12}};

	set_symbols(hot, HV_ARRAY_LEN(hot));
	ck_assert(!read_layout().has_lazy);
	for (unsigned shown = 0; shown < 2; shown++)
		for (unsigned counted = 0; counted < 2; counted++) {
			struct member with[HV_ARRAY_LEN(task)];
			struct hv_layout l;

			memcpy(with, task, sizeof(task));
			begin_btf();
			with[0].type = FIRST_STRUCT + counted;
			structure("thread_info", 16, info, HV_ARRAY_LEN(info));
			structure("task_struct", 2000, with, HV_ARRAY_LEN(with));
			structure("pcpu_hot", 64, pcpu_hot, HV_ARRAY_LEN(pcpu_hot));
			structure("trace_entry", 12, entry, 1 + shown);
			end_btf();
			l = read_layout();
			ck_assert(l.has_lazy == (shown && counted));
			if (l.has_lazy)
				ck_assert_uint_eq(l.task_lazy_off, 8 + 12);
			ck_assert_uint_eq(l.lazy_mask, 0);
		}
}
END_TEST

/* PREEMPT_RT counts soft interrupts in the task. The tracers of older kernels do not use that
 * count. */
START_TEST(tasks_may_count_soft_interrupts)
{
	struct hv_symbol maker[HV_ARRAY_LEN(hot) + 1];
	struct member with[HV_ARRAY_LEN(task) + 1];

	memcpy(maker, hot, sizeof(hot));
	maker[HV_ARRAY_LEN(hot)] =
		(struct hv_symbol){{DATA + 0x20}, "tracing_gen_ctx_irq_test", 'T'};
	memcpy(with, task, sizeof(task));
	with[HV_ARRAY_LEN(task)] = (struct member){"softirq_disable_cnt", INT, 1500};
	for (unsigned i = 0; i < 4; i++) {
		struct hv_layout l;

		set_symbols(maker, HV_ARRAY_LEN(hot) + i % 2);
		begin_btf();
		structure("task_struct", 2000, with, HV_ARRAY_LEN(task) + i / 2);
		structure("pcpu_hot", 64, pcpu_hot, HV_ARRAY_LEN(pcpu_hot));
		end_btf();
		l = read_layout();
		ck_assert(l.has_task_softirqs == (i == 3));
		if (i == 3)
			ck_assert_uint_eq(l.task_softirqs_off, 1500);
	}
}
END_TEST

START_TEST(cpus_without_their_number)
{
	struct hv_symbol mask[] = {hot[0], hot[1], {{DATA + 0x20}, "__cpu_possible_mask", 'D'}};

	set_symbols(mask, HV_ARRAY_LEN(mask));
	check_refused("BTF: no struct cpumask of at most 1024 bytes");
	begin_btf();
	structure("task_struct", 2000, task, 5);
	structure("pcpu_hot", 64, pcpu_hot, HV_ARRAY_LEN(pcpu_hot));
	structure("cpumask", 16, (struct member[]){{"bits", LONG, 0}}, 1);
	end_btf();
	check_refused("nr_cpu_ids is 0, not 1..8192");
	machine.ram[PHYS + 0x20] = 0x0f;
	machine.ram[PHYS + 0x20 + 3] = 0x02;
	ck_assert_uint_eq(read_layout().nr_cpus, 26);
	machine.ram[PHYS + 0x20 + 16] = 0xff; /* after the mask */
	ck_assert_uint_eq(read_layout().nr_cpus, 26);
	set_symbols(hot, 2);
	check_refused("kernel has no symbol __cpu_possible_mask");
}
END_TEST

/* The symbols around the boot CPU's idle stack depend on the kernel. */
START_TEST(bytes_of_a_stack)
{
	static const char *const bounds[][2] = {{"__start_init_task", "__end_init_task"},
						{"__start_init_stack", "__end_init_stack"}};
	struct hv_symbol with[5] = {hot[0], hot[1], hot[2]};

	set_symbols(hot, HV_ARRAY_LEN(hot));
	ck_assert_uint_eq(read_layout().stack_bytes, 0x4000);
	for (size_t i = 0; i < HV_ARRAY_LEN(bounds); i++) {
		with[3] = (struct hv_symbol){{DATA + 0x8000}, bounds[i][0], 'D'};
		with[4] = (struct hv_symbol){{DATA + 0x10000}, bounds[i][1], 'D'};
		set_symbols(with, HV_ARRAY_LEN(with));
		ck_assert_uint_eq(read_layout().stack_bytes, 0x8000);
		with[4].addr = hv_gva(DATA + 0x8000 + 0x5000); /* not a power of two */
		set_symbols(with, HV_ARRAY_LEN(with));
		ck_assert_uint_eq(read_layout().stack_bytes, 0x4000);
		with[4].addr = hv_gva(DATA); /* before its start */
		set_symbols(with, HV_ARRAY_LEN(with));
		ck_assert_uint_eq(read_layout().stack_bytes, 0x4000);
	}
}
END_TEST

START_TEST(wild_numbers_of_cpus)
{
	set_symbols(hot, HV_ARRAY_LEN(hot));
	*(uint32_t *)(machine.ram + PHYS + 0x10) = 8193;
	check_refused("nr_cpu_ids is 8193, not 1..8192");
	*(uint32_t *)(machine.ram + PHYS + 0x10) = 0;
	check_refused("nr_cpu_ids is 0, not 1..8192");
	list[2].addr = hv_gva(DATA + 0x1000);
	check_refused("nr_cpu_ids: nothing is mapped at 0xffffffff82001000");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, separate_per_cpu_variables);
	tcase_add_test(tc, variables_in_pcpu_hot);
	tcase_add_test(tc, names_what_is_missing);
	tcase_add_test(tc, migration_count_may_not_be_there);
	tcase_add_test(tc, lazy_preemption_may_be_there);
	tcase_add_test(tc, tasks_may_count_soft_interrupts);
	tcase_add_test(tc, cpus_without_their_number);
	tcase_add_test(tc, bytes_of_a_stack);
	tcase_add_test(tc, wild_numbers_of_cpus);
}

int main(void)
{
	return run_suite("layout", add_tests);
}
