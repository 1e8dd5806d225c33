/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: arch/x86/include/asm (current.h, ptrace.h, switch_to.h, cpu_entry_area.h, cpufeatures.h),
 * arch/x86/kernel/tsc.c, Documentation/virt/kvm/x86/msr.rst. */
#include "kernel/derive/x86_64_members.h"

#include "arch/arch.h"
#include "kernel/arch/generic.h"
#include "kernel/core/fields.h"
#include "kernel/core/function_code.h"
#include "kernel/derive/orc_members.h"

#define CPUS_MAX 64u /* number of CPUs that are checked */

/* Registers on a stack, as the CPU and the system-call interface order them, and interfaces between
 * a guest and KVM. */
static const struct hv_fact of_interfaces[] = {
	{"pt_regs", "bp", 32, 8, NULL, HV_PROVED_BY_INTERFACE},
	{"pt_regs", "ip", 128, 8, NULL, HV_PROVED_BY_INTERFACE},
	{"pt_regs", "sp", 152, 8, NULL, HV_PROVED_BY_INTERFACE},
	{"pt_regs", "ss", 160, 8, NULL, HV_PROVED_BY_INTERFACE},
	{"kvm_steal_time", "steal", 0, 8, NULL, HV_PROVED_BY_INTERFACE},
	{"kvm_steal_time", "version", 8, 4, NULL, HV_PROVED_BY_INTERFACE},
	{"pvclock_vcpu_time_info", "version", 0, 4, NULL, HV_PROVED_BY_INTERFACE},
	{"pvclock_vcpu_time_info", "tsc_timestamp", 8, 8, NULL, HV_PROVED_BY_INTERFACE},
	{"pvclock_vcpu_time_info", "system_time", 16, 8, NULL, HV_PROVED_BY_INTERFACE},
	{"pvclock_vcpu_time_info", "tsc_to_system_mul", 24, 4, NULL, HV_PROVED_BY_INTERFACE},
	{"pvclock_vcpu_time_info", "tsc_shift", 28, 1, NULL, HV_PROVED_BY_INTERFACE},
	{"pvclock_vcpu_time_info", "pad", 30, 2, NULL, HV_PROVED_BY_INTERFACE},
};

static void add(struct hv_deriving *d, const char *type, const char *member, uint32_t off,
		uint32_t len_bytes, unsigned proofs)
{
	hv_facts_add(&d->facts, &(struct hv_fact){type, member, off, len_bytes, NULL, proofs});
}

/* Calls IS_AT with the copy of the per-CPU variable at PERCPU of each online CPU. Returns whether
 * there is an online CPU and IS_AT returned true for all of them. */
static bool holds_on_cpus(struct hv_deriving *d, uint64_t percpu,
			  bool (*is_at)(const struct hv_deriving *d, struct hv_gva at,
					unsigned cpu))
{
	uint32_t nr_cpus = 1;
	struct hv_gva at;
	struct hv_err *err = NULL;
	bool holds = true, has_cpu = false;

	if (hv_core_symbol(d->core, "nr_cpu_ids", &at))
		err = hv_read_u32(&d->core->as, at, &nr_cpus);
	for (unsigned cpu = 0; !err && holds && cpu < nr_cpus && cpu < CPUS_MAX; cpu++) {
		if (!hv_cpu_in(d->core, "__cpu_online_mask", cpu))
			continue;
		err = hv_core_percpu(d->core, percpu, cpu, &at);
		holds = !err && is_at(d, at, cpu);
		has_cpu = true;
	}
	holds &= !err && has_cpu;
	hv_err_free(err);
	return holds;
}

static uint64_t read_u64(const struct hv_deriving *d, struct hv_gva at)
{
	uint64_t value = 0;

	hv_err_free(hv_read_u64(&d->core->as, at, &value));
	return value;
}

static uint32_t read_u32(const struct hv_deriving *d, struct hv_gva at)
{
	uint32_t value = 0;

	hv_err_free(hv_read_u32(&d->core->as, at, &value));
	return value;
}

/* struct pcpu_hot, from 6.2 to 6.14, begins with these. */
#define HOT_CURRENT 0u
#define HOT_COUNT   8u
#define HOT_CPU	    12u
#define HOT_BYTES   64u

static bool is_hot(const struct hv_deriving *d, struct hv_gva at, unsigned cpu)
{
	return read_u32(d, hv_gva_add(at, HOT_CPU)) == cpu &&
	       read_u64(d, hv_gva_add(at, HOT_CURRENT)) >=
		       d->core->as.arch->kernel_start(d->core->as.levels).v;
}

/* Returns the offset of hardirq_stack_ptr, or 0. It points to the last word of a page, which is not
 * 0; top_of_stack points to the end of a page. */
static uint32_t find_irq_stack(const struct hv_deriving *d, struct hv_gva hot)
{
	const uint64_t page = d->core->as.arch->entry_span(1);
	struct hv_gva at;
	HV_AUTO_ERR struct hv_err *err = hv_core_percpu(d->core, hot.v, 0, &at);

	for (uint32_t off = HOT_CPU + 4; !err && off < HOT_BYTES; off += 8) {
		uint64_t last = read_u64(d, hv_gva_add(at, off));

		if (last % page == page - 8 && read_u64(d, hv_gva(last)))
			return off;
	}
	return 0;
}

/* Returns HV_PROVED_BY_CODE if one of the two FUNCTIONS refers to the per-CPU variable at ADDRESS,
 * else 0. */
static unsigned proof_of(const struct hv_deriving *d, const char *const functions[2],
			 uint64_t address)
{
	bool is_used = hv_function_uses(d->core, functions[0], hv_gva(address)) ||
		       hv_function_uses(d->core, functions[1], hv_gva(address));

	return is_used ? HV_PROVED_BY_CODE : 0;
}

static void derive_hot(struct hv_deriving *d, struct hv_gva hot)
{
	static const char *const of_current[] = {"bpf_get_current_pid_tgid", "__x64_sys_getuid"};
	static const char *const of_cpu[] = {"bpf_get_smp_processor_id", "__x64_sys_getcpu"};
	const unsigned memory = HV_PROVED_BY_MEMORY;
	unsigned of_count = 0;
	struct hv_count_insn insn;

	if (!holds_on_cpus(d, hot.v, is_hot))
		return;
	if (hv_preempt_count_insn(d->core, hot.v + HOT_COUNT, "irq_enter_rcu", 0, &insn) ||
	    hv_preempt_count_insn(d->core, hot.v + HOT_COUNT, HV_PREEMPT_COUNTS, 0, &insn))
		of_count = HV_PROVED_BY_CODE;
	add(d, "pcpu_hot", "current_task", HOT_CURRENT, 8,
	    memory | proof_of(d, of_current, hot.v + HOT_CURRENT));
	/* Memory shows preempt_count by the members next to it. */
	add(d, "pcpu_hot", "preempt_count", HOT_COUNT, 4, memory | of_count);
	add(d, "pcpu_hot", "cpu_number", HOT_CPU, 4, memory | proof_of(d, of_cpu, hot.v + HOT_CPU));
	if (find_irq_stack(d, hot))
		add(d, "pcpu_hot", "hardirq_stack_ptr", find_irq_stack(d, hot), 8,
		    HV_PROVED_BY_MEMORY);
}

static void find_current(struct hv_deriving *d)
{
	struct hv_gva at;

	if (hv_core_symbol(d->core, "current_task", &at))
		d->current.percpu[d->current.nr++] = at.v;
	if (!hv_core_symbol(d->core, "pcpu_hot", &at))
		return;
	d->current.percpu[d->current.nr++] = at.v + HOT_CURRENT;
	derive_hot(d, at);
}

/* struct cyc2ns: a factor, a shift and an offset, twice, then a number that selects one of the two.
 * The factor converts the TSC's rate to ns. */
#define CYC2NS_EACH  16u
#define CYC2NS_SHIFT 4u
#define CYC2NS_SEQ   32u
#define NSEC_PER_MS  1000000u

static bool is_cyc2ns(const struct hv_deriving *d, struct hv_gva at, unsigned cpu)
{
	uint32_t khz = 0, seq = read_u32(d, hv_gva_add(at, CYC2NS_SEQ));
	struct hv_gva rate, data = hv_gva_add(at, (seq & 1) * CYC2NS_EACH);
	uint32_t mul = read_u32(d, data), shift = read_u32(d, hv_gva_add(data, CYC2NS_SHIFT));
	uint64_t expected;

	(void)cpu;
	if (hv_core_symbol(d->core, "tsc_khz", &rate))
		khz = read_u32(d, rate);
	if (!khz || !mul || shift > 32)
		return false;
	expected = ((uint64_t)NSEC_PER_MS << shift) / khz;
	return mul + 1ull >= expected - expected / 1024 && mul <= expected + expected / 1024 + 1;
}

static void derive_clock(struct hv_deriving *d)
{
	struct hv_gva at;

	if (!hv_core_symbol(d->core, "cyc2ns", &at) || !holds_on_cpus(d, at.v, is_cyc2ns))
		return;
	add(d, "cyc2ns_data", "cyc2ns_mul", 0, 4, HV_PROVED_BY_MEMORY);
	add(d, "cyc2ns_data", "cyc2ns_shift", CYC2NS_SHIFT, 4, HV_PROVED_BY_MEMORY);
	add(d, "cyc2ns_data", "cyc2ns_offset", 8, 8, HV_PROVED_BY_MEMORY);
	hv_facts_add(&d->facts, &(struct hv_fact){"cyc2ns", "data", 0, 2 * CYC2NS_EACH,
						  "cyc2ns_data", HV_PROVED_BY_MEMORY});
	add(d, "cyc2ns", "seq", CYC2NS_SEQ, 4, HV_PROVED_BY_MEMORY);
}

/* The features that every x86-64 CPU has, in the first two words of x86_capability: an FPU, TSC,
 * MSRs, CX8, CMOV, FXSR, SSE and SSE2; system calls, NX and long mode. */
#define CPU_FEATURES_1	   0x07008131u
#define CPU_FEATURES_2	   0x20100800u
#define CPU_FEATURES_BYTES 76u /* of 19 words or more */
#define CPU_DATA_BYTES	   512u

static void derive_cpu_features(struct hv_deriving *d)
{
	struct hv_gva at;
	struct hv_span data;
	unsigned nr = 0;
	uint32_t found = 0;

	if (!hv_core_symbol(d->core, "boot_cpu_data", &at))
		return;
	data = hv_image_at(&d->core->image, at);
	for (uint32_t off = 0; off < CPU_DATA_BYTES && off < hv_symbols_room(&d->core->symbols, at);
	     off += 4)
		if ((hv_copy_u32(data, off) & CPU_FEATURES_1) == CPU_FEATURES_1 &&
		    (hv_copy_u32(data, off + 4) & CPU_FEATURES_2) == CPU_FEATURES_2 &&
		    hv_copy_u32(data, off) != UINT32_MAX) {
			found = off;
			nr++;
		}
	if (nr == 1)
		add(d, "cpuinfo_x86", "x86_capability", found, CPU_FEATURES_BYTES,
		    HV_PROVED_BY_MEMORY);
}

/* The functions of the kernel's paravirt calls, if its code calls functions to disable and to enable
 * interrupts (CONFIG_PARAVIRT_XXL): they are next to each other in pv_ops. */
#define PV_OPS_BYTES 2048u

static bool is_function(const struct hv_deriving *d, uint64_t at, const char *const names[2])
{
	struct hv_gva function;

	for (unsigned i = 0; i < 2; i++)
		if (hv_core_symbol(d->core, names[i], &function) && function.v == at)
			return true;
	return false;
}

static void derive_paravirt(struct hv_deriving *d)
{
	static const char *const disable[] = {"native_irq_disable", "pv_native_irq_disable"};
	static const char *const enable[] = {"native_irq_enable", "pv_native_irq_enable"};
	struct hv_gva at;
	struct hv_span ops;
	uint32_t found = 0;
	unsigned nr = 0;

	if (!hv_core_symbol(d->core, "pv_ops", &at))
		return;
	ops = hv_image_at(&d->core->image, at);
	for (uint32_t off = 0;
	     off < PV_OPS_BYTES && off + 16 <= hv_symbols_room(&d->core->symbols, at); off += 8)
		if (is_function(d, hv_copy_u64(ops, off), disable) &&
		    is_function(d, hv_copy_u64(ops, off + 8), enable)) {
			found = off;
			nr++;
		}
	if (nr != 1)
		return;
	/* Only the sum of both offsets is known. */
	add(d, "pv_irq_ops", "irq_disable", 0, 8, HV_PROVED_BY_MEMORY);
	hv_facts_add(&d->facts, &(struct hv_fact){"paravirt_patch_template", "irq", found, 8,
						  "pv_irq_ops", HV_PROVED_BY_MEMORY});
}

void hv_x86_64_first_derive(struct hv_deriving *d)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(of_interfaces); i++)
		hv_facts_add(&d->facts, &of_interfaces[i]);
	find_current(d);
	derive_clock(d);
	derive_cpu_features(d);
	derive_paravirt(d);
}

/* A sleeping task's stack pointer points to its saved registers. bp is the last of them; the
 * address where the task resumes follows. Nearly all tasks resume at the same one. */
#define FRAME_WORDS_MIN 5u
#define FRAME_WORDS_MAX 12u

static uint32_t find_frame_words(const struct hv_deriving *d, uint32_t sp, uint32_t stack)
{
	const uint64_t stack_bytes = hv_stack_bytes(d->core);
	const struct hv_samples *s = d->samples;
	uint64_t frames[HV_SAMPLES_MAX][FRAME_WORDS_MAX] = {0};
	unsigned nr = 0;

	for (unsigned i = 0; i < s->nr; i++) {
		uint64_t at = hv_sample_number(&s->list[i], sp, 8);

		if (at - hv_sample_number(&s->list[i], stack, 8) < stack_bytes - sizeof(frames[0]))
			hv_err_free(
				hv_read(&d->core->as, hv_gva(at), frames[nr++], sizeof(frames[0])));
	}
	for (uint32_t word = FRAME_WORDS_MIN; nr && word < FRAME_WORDS_MAX; word++) {
		unsigned nr_text = 0, nr_equal = 0;

		for (unsigned i = 0; i < nr; i++) {
			nr_text += hv_gva_in(hv_gva(frames[i][word]), d->core->image.text);
			nr_equal += frames[i][word] == frames[nr / 2][word];
		}
		if (nr_text >= nr - nr / 8 && nr_equal > nr / 2)
			return word;
	}
	return 0;
}

static void derive_frame(struct hv_deriving *d)
{
	const struct hv_fact *sp = hv_facts_find(&d->facts, "task_struct", "thread");
	const struct hv_fact *stack = hv_facts_find(&d->facts, "task_struct", "stack");
	uint32_t words;

	if (!sp || !stack)
		return;
	add(d, "thread_struct", "sp", 0, 8, sp->proofs);
	words = find_frame_words(d, sp->off, stack->off);
	if (!words)
		return;
	add(d, "inactive_task_frame", "bp", words * 8 - 8, 8, HV_PROVED_BY_MEMORY);
	add(d, "inactive_task_frame", "ret_addr", words * 8, 8, HV_PROVED_BY_MEMORY);
}

/* The stacks of exceptions are mapped between pages that are not. Those of #VC are mapped only in
 * guests with SEV-ES. Older kernels, such as 5.4, have two stacks for debug exceptions,
 * after a third one that is never mapped. All have the same size. */
#define STACK_PAGES_MAX 8u
#define HOLE		2u /* index in older_stacks */

static const char *const exception_stacks[] = {"DF_stack",  "NMI_stack", "DB_stack",
					       "MCE_stack", "VC_stack",	 "VC2_stack"};
static const char *const older_stacks[] = {"DF_stack",	"NMI_stack", NULL,
					   "DB1_stack", "DB_stack",  "MCE_stack"};
_Static_assert(HV_ARRAY_LEN(older_stacks) == HV_ARRAY_LEN(exception_stacks), "one loop for both");

static bool is_mapped(const struct hv_deriving *d, uint64_t at)
{
	uint64_t word;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&d->core->as, hv_gva(at), &word);

	return !err;
}

static void derive_exception_stacks(struct hv_deriving *d)
{
	static const char type[] = "cea_exception_stacks";
	const char *const *names = exception_stacks;
	const uint64_t page = d->core->as.arch->entry_span(1);
	struct hv_gva pointer, at;
	uint64_t start, off = 0, last_len = 0;
	struct hv_err *err;

	if (!hv_core_symbol(d->core, type, &pointer))
		return;
	err = hv_core_percpu(d->core, pointer.v, 0, &at);
	start = err ? 0 : read_u64(d, at);
	hv_err_free(err);
	for (size_t i = 0; start && i < HV_ARRAY_LEN(exception_stacks); i++) {
		uint64_t len = 0;

		if (is_mapped(d, start + off))
			return;
		off += page;
		if (i == HOLE && !is_mapped(d, start + off)) {
			names = older_stacks;
			off += last_len;
			continue;
		}
		while (len / page < STACK_PAGES_MAX && is_mapped(d, start + off + len))
			len += page;
		if (!len || len / page == STACK_PAGES_MAX)
			return;
		add(d, type, names[i], (uint32_t)off, (uint32_t)len, HV_PROVED_BY_MEMORY);
		off += last_len = len;
	}
}

/* The CPU enters the kernel from user mode on the stack that ends at sp0 of its TSS. It is a page
 * of the CPU's struct cpu_entry_area, as the stacks of exceptions are, after the page of the GDT.
 */
#define TSS_SP0 4u

static void derive_entry_stack(struct hv_deriving *d)
{
	const uint64_t page = d->core->as.arch->entry_span(1);
	struct hv_gva tss, pointer, at;
	uint64_t stacks, sp0;
	struct hv_err *err;

	if (!hv_core_symbol(d->core, "cpu_tss_rw", &tss) ||
	    !hv_core_symbol(d->core, "cea_exception_stacks", &pointer))
		return;
	err = hv_core_percpu(d->core, pointer.v, 0, &at);
	stacks = err ? 0 : read_u64(d, at);
	if (!err)
		err = hv_core_percpu(d->core, tss.v, 0, &at);
	sp0 = err ? 0 : read_u64(d, hv_gva_add(at, TSS_SP0));
	hv_err_free(err);
	if (sp0 % page || sp0 >= stacks || stacks - sp0 > UINT16_MAX * page)
		return;
	add(d, "cpu_entry_area", "entry_stack_page", (uint32_t)page, (uint32_t)page,
	    HV_PROVED_BY_MEMORY);
	add(d, "cpu_entry_area", "estacks", (uint32_t)(stacks - sp0 + 2 * page), 8,
	    HV_PROVED_BY_MEMORY);
}

void hv_x86_64_stacks_derive(struct hv_deriving *d)
{
	derive_frame(d);
	derive_exception_stacks(d);
	derive_entry_stack(d);
	hv_orc_members_derive(d);
}
