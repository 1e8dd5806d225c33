/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads modules, sites, users of ftrace, tasks, stacks, programs and the clock of a kernel in whose
 * data the input changes words (changes.h). */
#include "kernel/clock/clock.h"
#include "kernel/programs/program.h"
#include "kernel/sites/ftrace_users.h"
#include "kernel/tasks/tasks.h"
#include "tests/fuzz/changes.h"
#include "tests/unit/kernel/programs/fake_programs.h"
#include "tests/unit/kernel/sites/fake_sites.h"
#include "tests/unit/kernel/sites/fake_users.h"
#include "tests/unit/kernel/tasks/fake_tasks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_sites(const uint8_t *data, size_t size)
{
	static const struct fs_symbol symbols[] = {{"a", FK_MODULES, 1}, {"b", FK_MODULES + 8, 1}};
	static const struct fs_record records[] = {{FK_BASE, 0}, {FK_MODULES, 1}};
	static struct saved saved;
	static struct fs s;

	if (!saved.data) {
		fs_init(&s);
		fs_module(&s, "m", 0, FK_MODULES, 4096, symbols, HV_ARRAY_LEN(symbols));
		fs_group(&s, records, HV_ARRAY_LEN(records));
		fs_group(&s, records, HV_ARRAY_LEN(records));
		save(&s.f, &saved);
	}
	restore(&s.f, &saved);
	change(&s.f, data, size);
	hv_err_free(hv_modules_read(&s.f.k.core, &s.f.k.modules));
	hv_err_free(
		hv_sites_read(&s.f.k.core, &s.f.k.modules, (struct hv_gva_range){0}, &s.f.k.sites));
	hv_modules_deinit(&s.f.k.modules);
	hv_sites_deinit(&s.f.k.sites);
}

static void read_users(const uint8_t *data, size_t size)
{
	static struct saved saved;
	static struct fk f;
	static struct fu u;
	struct hv_ftrace_users users = {0};

	if (!saved.data) {
		fk_init(&f);
		fu_declare(&f, &u);
		fk_done(&f);
		fu_ops(&f, &u, FU_TRAMPOLINE);
		fu_ops(&f, &u, FU_TRAMPOLINE + 0x100);
		fu_direct(&f, &u, 2, FK_BASE, FU_TRAMPOLINE);
		save(&f, &saved);
	}
	restore(&f, &saved);
	change(&f, data, size);
	hv_err_free(hv_ftrace_users_read(&f.k.core, &users));
	hv_ftrace_users_explain(&users, hv_gva(FK_BASE), hv_gva(FU_TRAMPOLINE));
	hv_ftrace_users_keep_returns(&users, hv_gva(FK_BASE), hv_gva(FU_TRAMPOLINE));
	hv_ftrace_users_deinit(&users);
}

static void scan(struct ft *t, uint64_t current)
{
	struct hv_vcpu_regs regs[2] = {
		{.ip = hv_gva(FK_BASE),
		 .sp = hv_gva(ft_stack(t, current) + 0x2000),
		 .root = t->f.k.core.as.root.v,
		 .levels = 4},
		{.ip = hv_gva(FK_BASE),
		 .sp = hv_gva(t->estacks[1] + FT_NMI + 0x1000),
		 .root = t->f.k.core.as.root.v,
		 .levels = 4},
	};
	char *where = NULL;
	size_t nr;

	hv_err_free(hv_stacks_scan(
		&t->f.k, &(struct hv_scan_for){.range = t->f.k.text, .how = HV_SCAN_INTERRUPTED},
		regs, 2, &nr, &where));
	free(where);
}

static void read_tasks(const uint8_t *data, size_t size)
{
	static struct saved saved;
	static struct ft t;
	static uint64_t task;
	struct hv_tasks tasks = {0};
	struct hv_clock *clock = NULL;

	if (!saved.data) {
		ft_init(&t);
		task = ft_process(&t, 1, "init", 0x3000);
		ft_thread(&t, task, 2, "thread", 0x3000);
		ft_current(&t, 0, task);
		fk_u32(&t.f, t.use_tsc, 1);
		save(&t.f, &saved);
	}
	restore(&t.f, &saved);
	fk_u64(&t.f, t.pv_sched_clock, FK_BASE + (size & 1 ? 0x300 : 0x400));
	change(&t.f, data, size);
	hv_err_free(hv_tasks_read(&t.f.k, &tasks));
	hv_tasks_deinit(&tasks);
	scan(&t, task);
	hv_err_free(hv_clock_new(&t.f.k, &clock));
	if (clock)
		hv_clock_ns(clock, 1, (uint64_t)size << 40);
	hv_clock_free(clock);
}

static void make_program(struct fp *p)
{
	uint64_t node, page, vmas[2];

	fp_init(p);
	page = fp_page(fp_elf(p));
	node = fk_alloc(&p->t.f, 16 + 8 * 64);
	fk_u64(&p->t.f, node + FP_SLOTS, page);
	vmas[0] = fp_vma(p, 0x401000, 0x402000, FP_EXEC,
			 fp_file(p, p->mount, fp_dentry(p, p->root, "cat"), 2 * FP_PAGE, node + 2));
	vmas[1] = fp_vma(p, FP_VDSO, FP_VDSO + FP_PAGE, FP_EXEC, 0);
	fp_map(p, vmas, 2);
}

static void read_program(const uint8_t *data, size_t size, bool has_tree)
{
	static struct saved saved[2];
	static struct fp p[2];
	struct hv_program program = {0};

	fp_has_tree = has_tree;
	if (!saved[has_tree].data) {
		make_program(&p[has_tree]);
		save(&p[has_tree].t.f, &saved[has_tree]);
	}
	restore(&p[has_tree].t.f, &saved[has_tree]);
	change(&p[has_tree].t.f, data, size);
	if (!hv_program_read(&p[has_tree].t.f.k, FP_PID, &program))
		return;
	for (size_t i = 0; i < program.nr; i++) {
		struct hv_elf_place place = {.off = program.maps[i].off};

		hv_program_find_functions(&p[has_tree].t.f.k, &program.maps[i].file, &place, 1);
		free(place.name);
	}
	hv_program_deinit(&program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_sites(data, size);
	read_users(data, size);
	read_tasks(data, size);
	read_program(data, size, false);
	read_program(data, size, true);
	return 0;
}
