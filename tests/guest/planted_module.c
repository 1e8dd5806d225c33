/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A test module for the tracers that measure sections: it switches preemption or interrupts off for
 * a known time, once, or keeps tasks waiting in other ways. scripts/guest-module builds it against
 * Debian's headers, and the program `planted` requests a section:
 *
 *	echo "PLACE N" >/sys/module/planted/parameters/section
 *
 * The module reads the clock N times at a place in this module, or when the writing task reaches a
 * place in the kernel. Then /sys/module/planted/parameters/ns contains the duration instead of 0.
 * While a task is at a place that other tasks must wait for, /proc/planted contains the place's
 * name, because the kernel blocks reads of a parameter during the write of another one. */
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/time.h>
#include <linux/timekeeping.h>
#include <linux/tracepoint.h>

#include <asm/kvm_para.h>

static unsigned long ns;
module_param(ns, ulong, 0444);

/* If false, the module uses no tracepoints, and the places in the kernel are not available. */
static bool tracepoints = true;
module_param(tracepoints, bool, 0444);

static DEFINE_SPINLOCK(lock); /* with PREEMPT_RT its owner may sleep, and nothing is off */
static DEFINE_RAW_SPINLOCK(raw_lock);
static unsigned int nr_reads;
static const char *inside; /* for /proc/planted, or NULL */

/* Each read calls a kernel function that has no other callers, so that tests can count the calls. */
static noinline void read_clock(unsigned int nr)
{
	while (nr--)
		ns_to_kernel_old_timeval((s64)ktime_get_mono_fast_ns());
}

static noinline void measure(unsigned int nr)
{
	u64 from = ktime_get_mono_fast_ns();

	read_clock(nr);
	WRITE_ONCE(ns, ktime_get_mono_fast_ns() - from);
}

/* -- places of this module: the tests know the names of the functions -------------------------- */

static noinline void plant_cli(void)
{
	local_irq_disable();
	measure(nr_reads);
	local_irq_enable();
}

static noinline void plant_irqsave_nested(void)
{
	unsigned long outer, inner;
	u64 from;

	local_irq_save(outer);
	from = ktime_get_mono_fast_ns();
	local_irq_save(inner);
	read_clock(nr_reads / 2);
	local_irq_restore(inner);
	read_clock(nr_reads / 2);
	WRITE_ONCE(ns, ktime_get_mono_fast_ns() - from);
	local_irq_restore(outer);
}

static noinline void plant_spin_lock_irq(void)
{
	spin_lock_irq(&lock);
	measure(nr_reads);
	spin_unlock_irq(&lock);
}

static noinline void plant_raw_spin_lock_irq(void)
{
	raw_spin_lock_irq(&raw_lock);
	measure(nr_reads);
	raw_spin_unlock_irq(&raw_lock);
}

static noinline void plant_spin_lock(void)
{
	spin_lock(&lock);
	measure(nr_reads);
	spin_unlock(&lock);
}

static noinline void plant_preempt(void)
{
	preempt_disable();
	measure(nr_reads);
	preempt_enable();
}

static noinline void plant_preempt_nested(void)
{
	u64 from;

	preempt_disable();
	from = ktime_get_mono_fast_ns();
	preempt_disable();
	read_clock(nr_reads / 2);
	preempt_enable();
	read_clock(nr_reads / 2);
	WRITE_ONCE(ns, ktime_get_mono_fast_ns() - from);
	preempt_enable();
}

#define LOOKS_MAX 50000000 /* ends before the kernel's watchdog reports a hanging CPU */

/* Runs until the module is asked to unload, and then for N reads. The kernel's log contains the
 * duration because the parameters can no longer be read. */
static noinline void plant_until_gone(void)
{
	unsigned int i;

	preempt_disable();
	WRITE_ONCE(inside, "until_gone");
	for (i = 0; i < LOOKS_MAX && READ_ONCE(THIS_MODULE->state) == MODULE_STATE_LIVE; i++)
		cpu_relax();
	measure(nr_reads);
	WRITE_ONCE(inside, NULL);
	preempt_enable();
	pr_info("planted: until_gone took %lu ns and more\n", ns);
	if (i == LOOKS_MAX)
		pr_err("BUG: planted: the module was not asked to unload\n");
}

static void run_softirq(struct tasklet_struct *unused)
{
	measure(nr_reads);
}
static DECLARE_TASKLET(softirq, run_softirq);

static noinline void plant_softirq(void)
{
	local_bh_disable();
	tasklet_schedule(&softirq);
	local_bh_enable();
}

static void run_softirq_cli(struct tasklet_struct *unused)
{
	plant_cli();
}
static DECLARE_TASKLET(softirq_cli, run_softirq_cli);

static noinline void plant_softirq_cli(void)
{
	tasklet_schedule(&softirq_cli);
}

static void run_interrupt(struct irq_work *unused)
{
	measure(nr_reads);
}
#ifndef IRQ_WORK_INIT_HARD /* before 5.11 */
#define IRQ_WORK_INIT_HARD(function)                                                               \
	{                                                                                          \
		.flags = ATOMIC_INIT(IRQ_WORK_HARD_IRQ), .func = function                          \
	}
#endif
static struct irq_work interrupt = IRQ_WORK_INIT_HARD(run_interrupt);

static noinline void plant_interrupt(void)
{
	irq_work_queue(&interrupt);
}

/* -- with nothing switched off, for tests of other stalls -------------------------------------- */

static void plant_nothing(void)
{
}

/* Like a slow function of a file system: the task is in a write to a file. */
static noinline void plant_slow(void)
{
	measure(nr_reads);
}

/* The task sleeps for N milliseconds. It holds the mutex that the kernel locks around writes to
 * parameters of this module, so another task that writes one must wait. */
static noinline void plant_mutex(void)
{
	WRITE_ONCE(inside, "mutex");
	schedule_timeout_interruptible(msecs_to_jiffies(nr_reads));
	WRITE_ONCE(inside, NULL);
	WRITE_ONCE(ns, 1);
}

/* A kernel function that executes CPUID once, which causes a VM exit. */
static void plant_cpuid(void *unused)
{
	(void)kvm_arch_para_hints();
}

/* On all CPUs together, N times. */
static noinline void plant_cpuids(void)
{
	unsigned int i;

	for (i = 0; i < nr_reads; i++)
		on_each_cpu(plant_cpuid, NULL, 1);
	WRITE_ONCE(ns, 1);
}

/* -- places in the kernel: tracepoint callbacks ------------------------------------------------ */

static struct task_struct *waiting; /* its next call of waited_for becomes a section */
static const void *waited_for;

static void come_by(const void *place)
{
	if (READ_ONCE(waiting) != current || waited_for != place)
		return;
	WRITE_ONCE(waiting, NULL);
	measure(nr_reads);
}

/* The scheduler switches to another task. */
static void plant_switch(void *unused)
{
	come_by(plant_switch);
}

/* A task starts a timer. An interrupt of the task may start one, too. */
static void plant_timer(void *unused)
{
	if (!in_interrupt())
		come_by(plant_timer);
}

/* The timer's interrupt finds that a timer has expired. */
static void plant_tick(void *unused)
{
	come_by(plant_tick);
}

/* -- requests ---------------------------------------------------------------------------------- */

static struct {
	const char *name;
	void (*plant)(void);
	const char *tracepoint_name;
	void (*probe)(void *unused);
	struct tracepoint *tracepoint; /* NULL: this kernel has no such tracepoint */
} places[] = {
	{"cli", plant_cli},
	{"irqsave_nested", plant_irqsave_nested},
	{"spin_lock_irq", plant_spin_lock_irq},
	{"raw_spin_lock_irq", plant_raw_spin_lock_irq},
	{"preempt", plant_preempt},
	{"preempt_nested", plant_preempt_nested},
	{"until_gone", plant_until_gone},
	{"softirq", plant_softirq},
	{"softirq_cli", plant_softirq_cli},
	{"interrupt", plant_interrupt},
	{"spin_lock", plant_spin_lock},
	{"slow", plant_slow},
	{"mutex", plant_mutex},
	{"wait", plant_nothing},
	{"cpuid", plant_cpuids},
	{"switch", NULL, "sched_switch", plant_switch},
	{"timer", NULL, "hrtimer_start", plant_timer},
	{"tick", NULL, "hrtimer_expire_entry", plant_tick},
};

static int plant(const char *value, const struct kernel_param *param)
{
	char name[32];
	unsigned int i;

	if (sscanf(value, "%31s %u", name, &nr_reads) != 2)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (strcmp(places[i].name, name) == 0)
			break;
	if (i == ARRAY_SIZE(places))
		return -EINVAL;
	WRITE_ONCE(ns, 0);
	if (places[i].plant) {
		places[i].plant();
	} else {
		waited_for = places[i].probe;
		WRITE_ONCE(waiting, current);
	}
	return 0;
}

static const struct kernel_param_ops section_ops = {.set = plant};
module_param_cb(section, &section_ops, NULL, 0200);

static int show_inside(struct seq_file *file, void *unused)
{
	const char *name = READ_ONCE(inside);

	seq_printf(file, "%s\n", name ? name : "");
	return 0;
}

static void find(struct tracepoint *tracepoint, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i].probe && strcmp(places[i].tracepoint_name, tracepoint->name) == 0)
			places[i].tracepoint = tracepoint;
}

static void unplant(void)
{
	unsigned int i;

	remove_proc_entry("planted", NULL);
	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i].tracepoint)
			tracepoint_probe_unregister(places[i].tracepoint, places[i].probe, NULL);
	tracepoint_synchronize_unregister();
	tasklet_kill(&softirq);
	tasklet_kill(&softirq_cli);
	irq_work_sync(&interrupt);
}

static int __init planted_init(void)
{
	unsigned int i;

	if (!proc_create_single("planted", 0444, NULL, show_inside))
		return -ENOMEM;
	if (tracepoints)
		for_each_kernel_tracepoint(find, NULL);
	for (i = 0; tracepoints && i < ARRAY_SIZE(places); i++) {
		if (places[i].probe && !places[i].tracepoint)
			pr_err("planted: no tracepoint %s\n", places[i].tracepoint_name);
		if (places[i].tracepoint)
			tracepoint_probe_register(places[i].tracepoint, places[i].probe, NULL);
	}
	return 0;
}
module_init(planted_init);
module_exit(unplant);

MODULE_DESCRIPTION("Sections with preemption or interrupts off, for tests");
MODULE_LICENSE("GPL");
