/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lookups in a known kernel, and the messages for machines that do not run Linux. */
#include <check.h>

#include "kernel/kernel.h"
#include "kernel/image/vmlinux.h"
#include "tests/lib/part_guest.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/image/kallsyms_image.h"
#include "tests/unit/kernel/image/vmlinux_file.h"
#include "tests/unit/kernel/x86_machine.h"

#define BASE	  0xffffffff81000000ull
#define MODULE	  0xffffffffc0200000ull
#define IMAGE_GPA 0x100000

static struct xm machine;
static struct hv_kernel kernel;

static struct hv_symbol vmlinux_list[] = {
	{{0x1000}, "percpu", 'A'},	{{BASE}, "_text", 'T'},
	{{BASE}, "_stext", 'T'},	{{BASE + 0x500}, "vfs_read", 'T'},
	{{BASE + 0x2000}, "data", 'D'}, {{BASE + 0x2f00}, "__per_cpu_offset", 'D'},
};
static struct hv_symbol module_list[] = {
	{{MODULE + 0x10}, "init", 't'},
	{{MODULE + 0x100}, "run", 't'},
};
static struct hv_module modules[] = {
	{.name = "first",
	 .text = {{MODULE}, {MODULE + 0x1000}},
	 .symbols = {.by_addr = module_list, .nr = 2}},
	{.name = "second", .text = {{MODULE + 0x8000}, {MODULE + 0x9000}}, .symbols = {.nr = 0}},
};

static void setup(void)
{
	struct hv_gpa root;

	xm_init(&machine);
	root = xm_table(&machine);
	xm_map(&machine, root, 4, 1, hv_gva(BASE + 0x2000), hv_gpa(0x5000), 1, XM_W);
	kernel = (struct hv_kernel){
		.guest = machine.guest,
		.core = {.as = {machine.guest, &hv_arch_x86_64, root, 4},
			 .image = {.all = {{BASE}, {BASE + 0x3000}}},
			 .symbols = {.by_addr = vmlinux_list, .nr = HV_ARRAY_LEN(vmlinux_list)}},
		.text = {{BASE}, {BASE + 0x1000}},
		.modules = {.list = modules, .nr = 2},
		.layout = {.nr_cpus = 3},
	};
	hv_symbols_index(&kernel.core.symbols);
	((uint64_t *)(machine.ram + 0x5f00))[1] = 0xffff888000000000;
}

static void teardown(void)
{
	free(kernel.core.symbols.by_name);
	free(kernel.core.symbols.starts);
	xm_deinit(&machine);
}

static void check_at(uint64_t at, const char *name, const char *module, uint64_t off)
{
	const char *got_name = NULL, *got_module = "none";
	uint64_t got_off;

	ck_assert(hv_kernel_symbol_at(&kernel, hv_gva(at), &got_name, &got_module, &got_off));
	ck_assert_str_eq(got_name, name);
	if (module)
		ck_assert_str_eq(got_module, module);
	else
		ck_assert_ptr_null(got_module);
	ck_assert_uint_eq(got_off, off);
}

static void check_nobodys(uint64_t at)
{
	const char *name, *module;
	uint64_t off;

	ck_assert(!hv_kernel_symbol_at(&kernel, hv_gva(at), &name, &module, &off));
}

/* The word at BASE + 0x2f08 is an address, the one at BASE + 0x2f10 is 0. */
START_TEST(preempts_itself)
{
	static const struct {
		const char *banner, *name;
		uint64_t at;
		bool preempts;
	} cases[] = {
		{"Linux version 5.10.0 #1 SMP Debian", "other", BASE, false},
		{"Linux version 5.10.0 #1 SMP Debian", "preempt_schedule", BASE, true},
		{"Linux version 5.10.0 #1 SMP PREEMPT Debian", "other", BASE, true},
		{NULL, "other", BASE, true},
		{"Linux version 6.1.0 #1 SMP PREEMPT_DYNAMIC Debian",
		 "__SCK__irqentry_exit_cond_resched", BASE + 0x2f08, true},
		{"Linux version 6.1.0 #1 SMP PREEMPT_DYNAMIC Debian",
		 "__SCK__irqentry_exit_cond_resched", BASE + 0x2f10, false},
		{"Linux version 6.1.0 #1 SMP PREEMPT_DYNAMIC Debian",
		 "__SCK__irqentry_exit_cond_resched", BASE + 0x8000, true},
	};
	struct hv_symbol symbol = {{cases[_i].at}, cases[_i].name, 'D'};

	free(kernel.core.symbols.by_name);
	free(kernel.core.symbols.starts);
	kernel.core.symbols = (struct hv_symbols){.by_addr = &symbol, .nr = 1};
	hv_symbols_index(&kernel.core.symbols);
	kernel.banner = (char *)cases[_i].banner;
	ck_assert_int_eq(hv_kernel_preempts(&kernel), cases[_i].preempts);
}
END_TEST

START_TEST(addresses_have_symbols_and_modules)
{
	check_at(BASE, "_text", NULL, 0);
	check_at(BASE + 0x4ff, "_text", NULL, 0x4ff);
	check_at(BASE + 0x500, "vfs_read", NULL, 0);
	check_at(BASE + 0x2fff, "__per_cpu_offset", NULL, 0xff);
	check_at(MODULE + 0x123, "run", "first", 0x23);
	check_nobodys(0x1000);
	check_nobodys(BASE - 1);
	check_nobodys(BASE + 0x3000);
	check_nobodys(MODULE - 1);
	check_nobodys(MODULE + 0xf); /* in the module, before its first symbol */
	check_nobodys(MODULE + 0x1000);
	check_nobodys(MODULE + 0x8000);
	check_nobodys(MODULE + 0x9000);
}
END_TEST

START_TEST(a_symbol_that_is_needed)
{
	struct hv_gva at;
	struct hv_err *err;

	ck_assert_ptr_null(hv_core_need(&kernel.core, "vfs_read", &at));
	ck_assert_uint_eq(at.v, BASE + 0x500);
	err = hv_core_need(&kernel.core, "init_task", &at);
	ck_assert_int_eq(err->code, ENOENT);
	ck_assert_str_eq(err->message, "kernel has no symbol init_task: it was built without "
				       "CONFIG_KALLSYMS_ALL");
	ck_assert_uint_eq(err->facts, HV_ERR_NEEDS_VMLINUX);
	hv_err_free(err);
}
END_TEST

START_TEST(addresses_of_per_cpu_variables)
{
	struct hv_gva at;
	struct hv_err *err;

	ck_assert_ptr_null(hv_kernel_percpu(&kernel, 0x1000, 1, &at));
	ck_assert_uint_eq(at.v, 0xffff888000001000);
	/* since 6.15 per-CPU symbols are kernel addresses; the sum wraps */
	ck_assert_ptr_null(hv_kernel_percpu(&kernel, BASE, 1, &at));
	ck_assert_uint_eq(at.v, 0xffff888000000000 + BASE);
	err = hv_kernel_percpu(&kernel, 0x1000, 3, &at);
	ck_assert_str_eq(err->message, "CPU 3 does not exist: the guest has 3");
	hv_err_free(err);
}
END_TEST

static struct hv_vcpu_regs told;

static struct hv_err *report_registers(void *self hv_unused, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_err *err = hv_vcpus_check_room(2, nr);

	if (err)
		return err;
	ret[0] = told;
	ret[1] = (struct hv_vcpu_regs){0};
	return NULL;
}

static void check_open_refused(const char *vmlinux, const char *message)
{
	static struct hv_guest_ops ops = {
		.read = xm_read,
		.free = xm_free,
		.registers = report_registers,
	};
	HV_AUTO_GUEST struct hv_guest *g =
		part_guest_new(&ops, &machine, hv_guest_info(machine.guest));
	struct hv_kernel *k = NULL;
	HV_AUTO_ERR struct hv_err *err = hv_kernel_open(
		g, vmlinux ? &(struct hv_vmlinux_file){vmlinux, -1} : NULL, NULL, &k);

	ck_assert_ptr_nonnull(err);
	ck_assert_msg(strstr(err->message, message), "%s", err->message);
	ck_assert_ptr_null(k);
}

START_TEST(machines_without_linux)
{
	told = (struct hv_vcpu_regs){0};
	check_open_refused(NULL, "not in 64-bit mode with paging");
	told = (struct hv_vcpu_regs){.levels = 4, .root = kernel.core.as.root.v};
	check_open_refused(NULL, "nothing executable");
	xm_map(&machine, kernel.core.as.root, 4, 1, hv_gva(BASE), hv_gpa(0x4000), 1, XM_X);
	check_open_refused(NULL, "kallsyms: no table of name tokens");
	check_open_refused("/nonexistent/vmlinux", "/nonexistent/vmlinux: No such file");
}
END_TEST

/* Maps the image of KIMG with AHEAD_BYTES of data before its text. */
static void map_image(const struct kimg *k, uint64_t ahead_bytes)
{
	const struct hv_gpa root = kernel.core.as.root;

	memcpy(machine.ram + IMAGE_GPA + ahead_bytes, k->bytes, KIMG_BYTES);
	xm_map(&machine, root, 4, 1, hv_gva(KIMG_BASE - ahead_bytes), hv_gpa(IMAGE_GPA),
	       (unsigned)(ahead_bytes / 4096), XM_W);
	xm_map(&machine, root, 4, 1, hv_gva(KIMG_BASE), hv_gpa(IMAGE_GPA + ahead_bytes),
	       KIMG_TEXT_BYTES / 4096, XM_X);
	xm_map(&machine, root, 4, 1, hv_gva(KIMG_BASE + KIMG_TEXT_BYTES),
	       hv_gpa(IMAGE_GPA + ahead_bytes + KIMG_TEXT_BYTES),
	       (KIMG_BYTES - KIMG_TEXT_BYTES) / 4096, XM_W);
}

/* The symbols are found in the first part of the image, at its end, and in the rest. Only
 * swapper_pg_dir is missing. */
START_TEST(symbols_anywhere_in_the_image)
{
	static const uint64_t ahead_bytes[] = {0x1000, 0x50000, 0x100000};
	struct kimg *k = hv_alloc(sizeof(*k));

	kimg_init(k, &kimg_layouts[6]);
	map_image(k, ahead_bytes[_i]);
	told = (struct hv_vcpu_regs){.levels = 4, .root = kernel.core.as.root.v};
	check_open_refused(NULL, "kernel has no symbol swapper_pg_dir");
	kimg_deinit(k);
	free(k);
}
END_TEST

/* Symbols of the file, and how one of them differs. */
static const struct elf_symbol of_file[] = {
	{"_text", BASE},
	{"_stext", BASE},
	{"_etext", BASE + 0x1000},
	{"linux_banner", BASE + 0x2000},
	{"__start_notes", BASE + 0x2100},
	{"__stop_notes", BASE + 0x2114},
	{"init_top_pgt", BASE + 0x2000},
};
static const struct {
	struct elf_symbol other;
	const char *message;
} differences[] = {
	{{"linux_banner", BASE + 0x2001},
	 "it belongs to another kernel: the guest has no banner at its linux_banner"},
	{{"__start_notes", BASE + 0x2110},
	 "it belongs to another kernel: its build id is 11223344, the guest's is none"},
	{{"init_top_pgt", BASE + 0x3000},
	 "the kernel's page tables at 0xffffffff81003000 are outside its image"},
	{{"_etext", BASE + 0x3001},
	 "text 0xffffffff81000000..0xffffffff81003001 is not inside the image "
	 "0xffffffff81000000..0xffffffff81003000"},
	{{"_etext", BASE},
	 "text 0xffffffff81000000..0xffffffff81000000 is not inside the image "
	 "0xffffffff81000000..0xffffffff81003000"},
};

/* The guest has a kernel without symbols. */
START_TEST(files_that_differ_from_the_kernel)
{
	static const uint32_t note[] = {4, 4, 3, 0x00554e47, 0x44332211};
	struct elf_symbol symbols[HV_ARRAY_LEN(of_file)];
	struct elf_file f = good;

	for (size_t i = 0; i < HV_ARRAY_LEN(of_file); i++) {
		symbols[i] = of_file[i];
		if (!strcmp(symbols[i].name, differences[_i].other.name))
			symbols[i] = differences[_i].other;
	}
	f.without_types = true;
	f.more = symbols;
	f.nr_more = HV_ARRAY_LEN(symbols);
	write_file(f);
	xm_map(&machine, kernel.core.as.root, 4, 1, hv_gva(BASE), hv_gpa(0x3000), 1, XM_X);
	memcpy(machine.ram + 0x5000, KIMG_BANNER, sizeof(KIMG_BANNER));
	memcpy(machine.ram + 0x5100, note, sizeof(note));
	told = (struct hv_vcpu_regs){.levels = 4, .root = kernel.core.as.root.v};
	check_open_refused(elf_path, differences[_i].message);
}
END_TEST

START_TEST(a_cpu_without_nx)
{
	struct hv_vcpu_regs regs[2] = {{.executes_all = true}, {.levels = 4, .executes_all = true}};
	struct hv_err *err = hv_core_check_nx(regs, 2);

	ck_assert(err && err->code == ENOTSUP && strstr(err->message, "without NX"));
	hv_err_free(err);
	ck_assert_ptr_null(hv_core_check_nx(regs, 1)); /* not in 64-bit mode */
	regs[0] = (struct hv_vcpu_regs){.levels = 4};
	ck_assert_ptr_null(hv_core_check_nx(regs, 2)); /* one of them has not started */
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, addresses_have_symbols_and_modules);
	tcase_add_test(tc, a_symbol_that_is_needed);
	tcase_add_test(tc, addresses_of_per_cpu_variables);
	tcase_add_test(tc, machines_without_linux);
	tcase_add_loop_test(tc, files_that_differ_from_the_kernel, 0, HV_ARRAY_LEN(differences));
	tcase_add_test(tc, a_cpu_without_nx);
	tcase_add_loop_test(tc, symbols_anywhere_in_the_image, 0, 3);
	tcase_add_loop_test(tc, preempts_itself, 0, 7);
}

int main(void)
{
	int status;

	close(mkstemp(elf_path));
	status = run_suite("kernel", add_tests);
	unlink(elf_path);
	return status;
}
