/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a machine, examines its kernel and prints the results. Changes nothing.
 *
 *    kernel_probe SPEC [--vmlinux FILE] [--kallsyms | --sites | --modules | --tasks | --clock |
 *                                        --events | --event-calls | --stacks SYMBOL]
 *
 * --kallsyms prints like the guest's /proc/kallsyms, --sites like its available_filter_functions.
 * --clock converts lines of "CPU TSC" on stdin into the guest's seconds. --stacks holds the guest
 * for a moment and counts the words on live stacks that point into the function. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kernel/clock/clock.h"
#include "kernel/events/catalogue.h"
#include "kernel/events/static_sites.h"
#include "kernel/events/callback_calls.h"
#include "kernel/image/identity.h"
#include "kernel/image/kallsyms.h"
#include "kernel/image/kallsyms.h"
#include "kernel/kernel.h"
#include "kernel/image/vmlinux.h"
#include "kernel/tasks/tasks.h"
#include "kernel/unnamed.h"
#include "vmm/open.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int failed(struct hv_err *err)
{
	fprintf(stderr, "kernel_probe: %s\n", err->message);
	hv_err_free(err);
	return 1;
}

static void print_range(const char *what, struct hv_gva_range r)
{
	printf("%-14s 0x%llx..0x%llx (%llu KiB)\n", what, (unsigned long long)r.start.v,
	       (unsigned long long)r.end.v, (unsigned long long)(r.end.v - r.start.v) >> 10);
}

static void print_layout(const struct hv_layout *l)
{
	printf("%s        cpu_number 0x%llx, current 0x%llx, preempt_count 0x%llx\n",
	       l->in_task ? "in task" : "per-CPU", (unsigned long long)l->cpu_number_percpu,
	       (unsigned long long)l->current_percpu, (unsigned long long)l->preempt_count_percpu);
	printf("task_struct    pid %u, comm %u, thread_info.flags %u, migration_disabled ",
	       l->task_pid_off, l->task_comm_off, l->task_flags_off);
	printf(l->has_migrate ? "%u\n" : "none\n", l->task_migrate_off);
	printf("CPUs           %u\n", l->nr_cpus);
}

static void print_kernel(const struct hv_kernel *k)
{
	HV_AUTO_FREE char *id = hv_build_id_text(k->build_id, k->build_id_len_bytes);

	printf("banner         %s\nrelease        %s\nbuild id       %s\n", k->banner, k->release,
	       id);
	printf("page tables    %u levels, root 0x%llx, KPTI %s\n", k->core.as.levels,
	       (unsigned long long)k->core.as.root.v, k->kpti ? "on" : "off");
	print_range("image", k->core.image.all);
	print_range("image text", k->core.image.text);
	print_range("text", k->text);
	printf("symbols        %zu\n", k->core.symbols.nr);
	printf("BTF            %zu types\n", k->core.btf ? hv_btf_nr_types(k->core.btf) : 0);
	print_layout(&k->layout);
	printf("return thunk   0x%llx\n", (unsigned long long)k->return_thunk.v);
	printf("modules        %zu\nsites          %zu\n", k->modules.nr, k->sites.nr);
}

/* Prints each CPU's own number, as the CPU would read it, and its current task. */
static struct hv_err *print_cpus(const struct hv_kernel *k)
{
	const struct hv_layout *l = &k->layout;

	for (unsigned cpu = 0; cpu < l->nr_cpus; cpu++) {
		struct hv_gva at, task;
		uint32_t number = 0, pid = 0;
		char comm[17] = {0};
		struct hv_err *err = hv_task_current(k, cpu, &task);

		if (!err && l->in_task)
			at = hv_gva_add(task, l->cpu_number_percpu);
		else if (!err)
			err = hv_kernel_percpu(k, l->cpu_number_percpu, cpu, &at);
		if (!err)
			err = hv_read_u32(&k->core.as, at, &number);
		if (!err)
			err = hv_read_u32(&k->core.as, hv_gva_add(task, l->task_pid_off), &pid);
		if (!err)
			err = hv_read(&k->core.as, hv_gva_add(task, l->task_comm_off), comm, 16);
		if (err)
			return err;
		printf("cpu %u          says it is %u, runs %s-%u\n", cpu, number, comm, pid);
	}
	return NULL;
}

static struct hv_err *print_timings(struct hv_guest *g)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_realloc_array(NULL, nr, sizeof(*regs));
	struct hv_address_space as;
	struct hv_image image;
	struct hv_symbols symbols;
	double start = now_ms(), registers, found;
	struct hv_err *err = hv_guest_registers(g, regs, nr);

	registers = now_ms();
	if (!err)
		err = hv_image_find(g, regs, nr, &as, &image);
	if (err)
		return err;
	found = now_ms();
	err = hv_kallsyms_read(&image, &symbols);
	printf("timings        registers %.1f ms, image %.1f ms, kallsyms %.1f ms (%s)\n",
	       registers - start, found - registers, now_ms() - found, err ? err->message : "read");
	if (!err)
		hv_symbols_deinit(&symbols);
	hv_err_free(err);
	hv_image_deinit(&image);
	return NULL;
}

static void print_symbols(const struct hv_symbols *s, const char *module)
{
	for (size_t i = 0; i < s->nr; i++) {
		printf("%016llx %c %s", (unsigned long long)s->by_addr[i].addr.v,
		       s->by_addr[i].type, s->by_addr[i].name);
		printf(module ? "\t[%s]\n" : "\n", module);
	}
}

static void print_kallsyms(const struct hv_kernel *k)
{
	print_symbols(&k->core.symbols, NULL);
	for (size_t i = 0; i < k->modules.nr; i++)
		print_symbols(&k->modules.list[i].symbols, k->modules.list[i].name);
}

static void print_sites(const struct hv_kernel *k)
{
	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *s = &k->sites.list[i];

		printf("%s", s->name);
		printf(s->module ? " [%s]\n" : "\n", s->module);
	}
}

static void print_modules(const struct hv_kernel *k)
{
	for (size_t i = 0; i < k->modules.nr; i++) {
		const struct hv_module *m = &k->modules.list[i];

		printf("%s 0x%llx..0x%llx, %zu symbols\n", m->name,
		       (unsigned long long)m->text.start.v, (unsigned long long)m->text.end.v,
		       m->symbols.nr);
	}
}

/* Prints TGID PID, bytes of stack in use at the last sleep, comm. */
static struct hv_err *print_tasks(struct hv_kernel *k)
{
	struct hv_tasks tasks;
	double start = now_ms();
	struct hv_err *err = hv_tasks_read(k, &tasks);

	if (err)
		return err;
	fprintf(stderr, "%zu tasks in %.2f ms\n", tasks.nr, now_ms() - start);
	for (size_t i = 0; i < tasks.nr; i++) {
		const struct hv_task *t = &tasks.list[i];

		printf("%u %u %llu %s\n", t->tgid, t->pid,
		       (unsigned long long)(t->stack.end.v - t->sp.v), t->comm);
	}
	hv_tasks_deinit(&tasks);
	return NULL;
}

static struct hv_err *print_clock(struct hv_kernel *k)
{
	static const char *const kinds[] = {"tsc", "pvclock", "raw"};
	struct hv_clock *clock;
	unsigned cpu;
	unsigned long long tsc;
	struct hv_err *err = hv_clock_new(k, &clock);

	if (err)
		return err;
	fprintf(stderr, "clock %s\n", kinds[hv_clock_kind(clock)]);
	while (scanf("%u %llu", &cpu, &tsc) == 2)
		printf("%.6f\n", (double)hv_clock_ns(clock, cpu, tsc) / 1e9);
	hv_clock_free(clock);
	return NULL;
}

/* Returns the range from SYMBOL to the next symbol. */
static struct hv_gva_range function_range(const struct hv_kernel *k, struct hv_gva start)
{
	struct hv_gva_range r = {start, hv_gva_add(start, 1)};

	while (hv_gva_in(r.end, k->text)) {
		const struct hv_symbol *s = hv_symbols_at(&k->core.symbols, r.end);

		if (!s || s->addr.v != start.v)
			break;
		r.end.v++;
	}
	return r;
}

static struct hv_err *print_stacks(struct hv_kernel *k, const char *symbol)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	HV_AUTO_FREE char *where = NULL;
	struct hv_hold *hold;
	unsigned nr;
	struct hv_gva at;
	size_t found;
	double start, took;
	struct hv_err *err;
	struct hv_err *end_err;

	if (!hv_kernel_symbol(k, symbol, &at))
		return hv_err_new(ENOENT, "no symbol %s", symbol);
	err = hv_guest_prepare_hold(k->guest);
	if (!err)
		err = hv_hold_begin(k->guest, 2000000000, &hold);
	if (err)
		return err;
	nr = hv_guest_info(k->guest)->nr_vcpus;
	regs = hv_alloc(nr * sizeof(*regs));
	err = hv_hold_registers(hold, regs, nr);
	start = now_ms();
	if (!err)
		err = hv_stacks_scan(
			k,
			&(struct hv_scan_for){.range = function_range(k, at), .how = HV_SCAN_CALLS},
			regs, nr, &found, &where);
	took = now_ms() - start;
	end_err = hv_hold_end(hold, NULL);
	if (!err)
		printf("%zu %s\n", found, where ? where : "");
	fprintf(stderr, "scanned in %.2f ms\n", took);
	if (!err)
		return end_err;
	hv_err_free(end_err);
	return err;
}

static struct hv_err *print_jump_sites(const struct hv_kernel *k, struct hv_gva key)
{
	struct hv_jump_layout layout;
	struct hv_jump_sites sites;
	struct hv_err *err = hv_jump_layout_find(k, &layout);

	if (!err)
		err = hv_jump_sites_read(k, &layout, key, &sites);
	if (err)
		return err;
	for (size_t i = 0; !err && i < sites.nr; i++) {
		const struct hv_jump_site *site = &sites.list[i];
		uint8_t b[5];

		printf("    site 0x%llx%s%s", (unsigned long long)site->code.v,
		       site->is_default_on ? " on" : "", site->is_init ? " init\n" : "");
		if (site->is_init)
			continue;
		err = hv_read(&k->core.as, site->code, b, sizeof(b));
		if (!err)
			printf(" %02x %02x %02x %02x %02x\n", b[0], b[1], b[2], b[3], b[4]);
	}
	hv_jump_sites_deinit(&sites);
	return err;
}

static struct hv_err *print_events(const struct hv_kernel *k)
{
	struct hv_catalogue c;
	double start = now_ms();
	struct hv_err *err = hv_catalogue_read(k, &c);

	fprintf(stderr, "read in %.2f ms\n", now_ms() - start);
	if (err)
		return err;
	for (size_t i = 0; !err && i < c.nr; i++) {
		const struct hv_event_type *t = &c.types[i];

		printf("%u %s:%s %s call 0x%llx probe 0x%llx tracepoint 0x%llx reg %d, %zu "
		       "fields\n",
		       t->id, t->system, t->name, t->module ? t->module : "",
		       (unsigned long long)t->call.v, (unsigned long long)t->callback.v,
		       (unsigned long long)t->tracepoint.at.v, (int)t->reg_kind, t->fields.nr);
		if (t->tracepoint.at.v)
			err = print_jump_sites(k, t->tracepoint.key);
	}
	hv_catalogue_deinit(&c);
	return err;
}

/* Prints for each event of a tracepoint the number of calls needed to record it, or why it cannot
 * be recorded. */
static void print_calls(const struct hv_kernel *k, const struct hv_callback_calls *calls,
			const struct hv_event_type *t)
{
	const struct hv_callback_call *list = NULL;
	size_t nr = 0, nr_commits = 0;
	HV_AUTO_ERR struct hv_err *err = hv_callback_calls_of(k, calls, t->callback, &list, &nr);

	for (size_t i = 0; i < nr; i++)
		nr_commits += list[i].commits;
	printf("%s:%s %s %zu %zu %s\n", t->system, t->name, t->module ? t->module : "-",
	       nr - nr_commits, nr_commits, err ? err->message : "ok");
}

static struct hv_err *print_event_calls(const struct hv_kernel *k)
{
	struct hv_callback_calls calls = {0};
	struct hv_release_calls releases = {0};
	struct hv_catalogue c = {0};
	double start = now_ms();
	struct hv_err *err = hv_callback_calls_read(k, &calls);

	fprintf(stderr, "read in %.2f ms\n", now_ms() - start);
	if (!err)
		err = hv_release_calls_read(k, &releases);
	if (!err)
		err = hv_catalogue_read(k, &c);
	if (!err)
		printf("release %zu\n", releases.calls.nr);
	for (size_t i = 0; !err && i < c.nr; i++)
		if (c.types[i].reg_kind == HV_EVENT_REG_TRACEPOINT)
			print_calls(k, &calls, &c.types[i]);
	hv_catalogue_deinit(&c);
	hv_release_calls_deinit(&releases);
	hv_callback_calls_deinit(&calls);
	return err;
}

static struct hv_err *print_summary(struct hv_kernel *k, double open_ms)
{
	struct hv_err *err;

	printf("opened         in %.1f ms\n", open_ms);
	print_kernel(k);
	err = print_cpus(k);
	return err ? err : print_timings(k->guest);
}

/* Keeps only the symbols that a kernel without CONFIG_KALLSYMS_ALL has. */
static void keep_functions(const struct hv_image *image, struct hv_symbols *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr; i++)
		if (hv_gva_in(s->by_addr[i].addr, image->text) ||
		    !strcmp(s->by_addr[i].name, "_etext"))
			s->by_addr[nr++] = s->by_addr[i];
	s->nr = nr;
	hv_symbols_index(s);
}

/* Returns whether S is in NAMES. Several variables may have one name. */
static bool is_named(const struct hv_symbols *names, const struct hv_symbol *s)
{
	for (size_t i = 0; i < names->nr; i++)
		if (names->by_addr[i].addr.v == s->addr.v &&
		    !strcmp(names->by_addr[i].name, s->name))
			return true;
	return false;
}

/* Finds the kernel's variables as if it had no names of data, and compares the results with its
 * names. */
static struct hv_err *print_unnamed(struct hv_guest *g)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr * sizeof(*regs));
	struct hv_kernel_core core = {0};
	struct hv_symbols names = {0};
	struct hv_gva start, stop, at;
	struct hv_err *err = hv_guest_registers(g, regs, nr);

	if (!err)
		err = hv_image_find(g, regs, nr, &core.as, &core.image);
	if (!err)
		err = hv_kallsyms_read(&core.image, &names);
	if (!err)
		err = hv_kallsyms_read(&core.image, &core.symbols);
	if (!err)
		keep_functions(&core.image, &core.symbols);
	if (!err && !hv_unnamed_find_types(&core))
		err = hv_err_new(ENOENT, "no types");
	if (!err && hv_core_symbol(&core, "__start_BTF", &start) &&
	    hv_core_symbol(&core, "__stop_BTF", &stop))
		err = hv_btf_new(
			(struct hv_span){hv_image_at(&core.image, start).data, stop.v - start.v},
			NULL, &core.btf);
	if (!err)
		err = hv_unnamed_find(&core);
	for (size_t i = 0; !err && i < core.unnamed.nr; i++) {
		const struct hv_symbol *s = &core.unnamed.by_addr[i];
		printf("%-20s 0x%016llx %s\n", s->name, (unsigned long long)s->addr.v,
		       !hv_symbols_find(&names, s->name, &at) ? "no name"
		       : is_named(&names, s)		      ? "right"
							      : "wrong");
	}
	hv_symbols_deinit(&names);
	hv_core_deinit(&core);
	return err;
}

static struct hv_err *probe(struct hv_guest *g, const char *vmlinux, const char *what,
			    const char *symbol)
{
	double start = now_ms();
	HV_AUTO_KERNEL struct hv_kernel *k = NULL;
	struct hv_err *err;

	if (!strcmp(what, "--unnamed"))
		return print_unnamed(g);
	err = hv_kernel_open(g, vmlinux ? &(struct hv_vmlinux_file){vmlinux, -1} : NULL, NULL, &k);

	if (err)
		return err;
	if (!strcmp(what, "--tasks"))
		return print_tasks(k);
	if (!strcmp(what, "--clock"))
		return print_clock(k);
	if (!strcmp(what, "--events"))
		return print_events(k);
	if (!strcmp(what, "--event-calls"))
		return print_event_calls(k);
	if (!strcmp(what, "--stacks"))
		return print_stacks(k, symbol);
	if (!strcmp(what, "--kallsyms"))
		print_kallsyms(k);
	else if (!strcmp(what, "--sites"))
		print_sites(k);
	else if (!strcmp(what, "--modules"))
		print_modules(k);
	else
		return print_summary(k, now_ms() - start);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *vmlinux = NULL, *what = "", *symbol = "";
	HV_AUTO_GUEST struct hv_guest *g = NULL;
	struct hv_err *err;

	if (argc < 2) {
		fprintf(stderr, "usage: kernel_probe SPEC [--vmlinux FILE] [--kallsyms | --sites | "
				"--modules | --tasks | --clock | --unnamed | --events | --stacks "
				"SYMBOL]\n");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--vmlinux") && i + 1 < argc)
			vmlinux = argv[++i];
		else if (!strcmp(argv[i], "--stacks") && i + 1 < argc) {
			what = argv[i];
			symbol = argv[++i];
		} else
			what = argv[i];
	}
	err = hv_guest_open(argv[1], NULL, HV_VIA_AUTO, &g);
	if (!err)
		err = probe(g, vmlinux, what, symbol);
	return err ? failed(err) : 0;
}
