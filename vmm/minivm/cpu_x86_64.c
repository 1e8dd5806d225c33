/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: Intel SDM volumes 2 (CPUID) and 3 (descriptors, MSRs), Documentation/virt/kvm/api.rst. */
#include "vmm/minivm/cpu.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/clock.h"
#include "base/guard.h"
#include "vmm/minivm/memory.h"

#define CPUID_MAX 256

#define CODE_SELECTOR 0x10 /* __BOOT_CS */
#define DATA_SELECTOR 0x18 /* __BOOT_DS */

#define CR0_PE	 1
#define CR0_ET	 (1 << 4)
#define CR0_PG	 (1u << 31)
#define CR4_PAE	 (1 << 5)
#define EFER_LME (1 << 8)
#define EFER_LMA (1 << 10)

#define ENTRY_TABLE 3	 /* present, writable */
#define ENTRY_LEAF  0x83 /* plus large page */

#define MSR_MISC_ENABLE	   0x1a0
#define MISC_FAST_STRING   1
#define MSR_MTRR_DEFAULT   0x2ff
#define MTRR_ON_WRITE_BACK 0x806
#define MSR_GS_BASE	   0xc0000101

/* cpuid */
#define FEATURE_TSC_DEADLINE (1u << 24) /* 1, ecx */
#define FEATURE_HYPERVISOR   (1u << 31)
#define FEATURE_HTT	     (1u << 28) /* 1, edx */

void hv_minivm_cpu_tables(struct hv_minivm_memory *m)
{
	const uint64_t gdt[4] = {0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff};
	uint64_t *tables =
		(uint64_t *)(void *)hv_minivm_memory_at(m, hv_gpa(HV_MINIVM_PAGE_TABLES), 6 * 4096);

	memcpy(hv_minivm_memory_at(m, hv_gpa(HV_MINIVM_GDT), sizeof(gdt)), gdt, sizeof(gdt));
	tables[0] = (HV_MINIVM_PAGE_TABLES + 0x1000) | ENTRY_TABLE;
	for (uint64_t i = 0; i < 4; i++)
		tables[512 + i] = (HV_MINIVM_PAGE_TABLES + 0x2000 + i * 0x1000) | ENTRY_TABLE;
	for (uint64_t i = 0; i < 4 * 512; i++)
		tables[1024 + i] = i << 21 | ENTRY_LEAF;
}

static struct hv_err *failed(const char *what)
{
	return hv_err_new(errno, "/dev/kvm: %s: %s", what, strerror(errno));
}

static void set_topology(struct kvm_cpuid_entry2 *e, unsigned cpu, unsigned nr)
{
	unsigned bits = nr > 1 ? 32 - (unsigned)__builtin_clz(nr - 1) : 0;

	e->edx = cpu;
	e->eax = e->index ? bits : 0;
	e->ebx = e->index == 0 ? 1 : e->index == 1 ? nr : 0;
	e->ecx = e->index | (e->index == 0 ? 1u << 8 : e->index == 1 ? 2u << 8 : 0);
}

static void set_leaf(struct kvm_cpuid_entry2 *e, unsigned cpu, unsigned nr, bool has_deadline)
{
	switch (e->function) {
	case 1:
		e->ebx = (e->ebx & 0xff00) | nr << 16 | cpu << 24;
		e->ecx |= FEATURE_HYPERVISOR;
		e->ecx &= ~FEATURE_TSC_DEADLINE;
		e->ecx |= has_deadline ? FEATURE_TSC_DEADLINE : 0;
		e->edx = nr > 1 ? e->edx | FEATURE_HTT : e->edx & ~FEATURE_HTT;
		break;
	case 4: /* caches: not shared by CPUs */
		e->eax &= ~UINT32_C(0xffffc000);
		break;
	case 0xb:
	case 0x1f:
		set_topology(e, cpu, nr);
		break;
	case 0x80000008:
		e->ecx = nr - 1;
		break;
	case 0x8000001d:
		e->eax &= ~UINT32_C(0x03ffc000);
		break;
	case 0x8000001e:
		e->eax = cpu;
		e->ebx = cpu;
		e->ecx = 0;
		break;
	default:
		break;
	}
}

/* Adds a second entry for a topology leaf: KVM's list of supported leaves has one, and the guest
 * needs two. */
static void complete_topology(struct kvm_cpuid2 *c, uint32_t leaf)
{
	unsigned nr = 0;

	for (uint32_t i = 0; i < c->nent; i++)
		nr += c->entries[i].function == leaf;
	for (; nr && nr < 2 && c->nent < CPUID_MAX; nr++)
		c->entries[c->nent++] = (struct kvm_cpuid_entry2){
			.function = leaf,
			.index = nr,
			.flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX,
		};
}

static struct hv_err *set_msrs(int vcpu_fd, const struct kvm_msr_entry *entries, unsigned nr)
{
	HV_AUTO_FREE struct kvm_msrs *msrs = hv_alloc(sizeof(*msrs) + nr * sizeof(*entries));
	int set;

	msrs->nmsrs = nr;
	memcpy(msrs->entries, entries, nr * sizeof(*entries));
	set = ioctl(vcpu_fd, KVM_SET_MSRS, msrs);
	if (set < 0)
		return failed("KVM_SET_MSRS");
	if ((unsigned)set != nr)
		return hv_err_new(EIO, "/dev/kvm: KVM_SET_MSRS: KVM refuses register 0x%x",
				  entries[set].index);
	return NULL;
}

struct hv_err *hv_minivm_cpu_identify(int kvm_fd, int vcpu_fd, unsigned cpu, unsigned nr)
{
	HV_AUTO_FREE struct kvm_cpuid2 *c =
		hv_alloc(sizeof(*c) + CPUID_MAX * sizeof(c->entries[0]));
	bool has_deadline = ioctl(kvm_fd, KVM_CHECK_EXTENSION, KVM_CAP_TSC_DEADLINE_TIMER) > 0;
	const struct kvm_msr_entry start[] = {
		{.index = MSR_MISC_ENABLE, .data = MISC_FAST_STRING},
		{.index = MSR_MTRR_DEFAULT, .data = MTRR_ON_WRITE_BACK},
	};

	c->nent = CPUID_MAX;
	if (ioctl(kvm_fd, KVM_GET_SUPPORTED_CPUID, c) < 0)
		return failed("KVM_GET_SUPPORTED_CPUID");
	complete_topology(c, 0xb);
	complete_topology(c, 0x1f);
	for (uint32_t i = 0; i < c->nent; i++)
		set_leaf(&c->entries[i], cpu, nr, has_deadline);
	if (ioctl(vcpu_fd, KVM_SET_CPUID2, c) < 0)
		return failed("KVM_SET_CPUID2");
	return set_msrs(vcpu_fd, start, HV_ARRAY_LEN(start));
}

struct hv_err *hv_minivm_cpu_start(int vcpu_fd, struct hv_gpa entry)
{
	struct kvm_regs regs = {.rip = entry.v, .rsi = HV_MINIVM_BOOT_PARAMS, .rflags = 2};
	struct kvm_segment code = {.limit = 0xffffffff,
				   .selector = CODE_SELECTOR,
				   .type = 11,
				   .present = 1,
				   .s = 1,
				   .l = 1,
				   .g = 1};
	struct kvm_segment data = {.limit = 0xffffffff,
				   .selector = DATA_SELECTOR,
				   .type = 3,
				   .present = 1,
				   .s = 1,
				   .db = 1,
				   .g = 1};
	struct kvm_sregs s;

	if (ioctl(vcpu_fd, KVM_GET_SREGS, &s) < 0)
		return failed("KVM_GET_SREGS");
	s.cs = code;
	s.ds = s.es = s.fs = s.gs = s.ss = data;
	s.gdt.base = HV_MINIVM_GDT;
	s.gdt.limit = 4 * 8 - 1;
	s.idt.base = 0;
	s.idt.limit = 0;
	s.cr0 = CR0_PE | CR0_ET | CR0_PG;
	s.cr3 = HV_MINIVM_PAGE_TABLES;
	s.cr4 = CR4_PAE;
	s.efer = EFER_LME | EFER_LMA;
	if (ioctl(vcpu_fd, KVM_SET_SREGS, &s) < 0)
		return failed("KVM_SET_SREGS");
	return ioctl(vcpu_fd, KVM_SET_REGS, &regs) < 0 ? failed("KVM_SET_REGS") : NULL;
}

struct hv_err *hv_minivm_cpu_watch_base(int kvm_fd, int vm_fd)
{
	struct kvm_enable_cap cap = {.cap = KVM_CAP_X86_USER_SPACE_MSR,
				     .args = {KVM_MSR_EXIT_REASON_FILTER}};
	uint8_t denied[8] = {0};
	struct kvm_msr_filter filter = {
		.flags = KVM_MSR_FILTER_DEFAULT_ALLOW,
		.ranges = {{.flags = KVM_MSR_FILTER_WRITE,
			    .nmsrs = 1,
			    .base = MSR_GS_BASE,
			    .bitmap = denied}},
	};

	if (ioctl(kvm_fd, KVM_CHECK_EXTENSION, KVM_CAP_X86_USER_SPACE_MSR) <= 0 ||
	    ioctl(kvm_fd, KVM_CHECK_EXTENSION, KVM_CAP_X86_MSR_FILTER) <= 0)
		return hv_err_new(ENOTSUP, "this host's KVM cannot report writes of MSRs: Linux "
					   "5.10 or later is needed");
	if (ioctl(vm_fd, KVM_ENABLE_CAP, &cap) < 0)
		return failed("KVM_CAP_X86_USER_SPACE_MSR");
	if (ioctl(vm_fd, KVM_X86_SET_MSR_FILTER, &filter) < 0)
		return failed("KVM_X86_SET_MSR_FILTER");
	return NULL;
}

struct hv_err *hv_minivm_cpu_unwatch_base(int vm_fd)
{
	struct kvm_msr_filter all = {.flags = KVM_MSR_FILTER_DEFAULT_ALLOW};

	return ioctl(vm_fd, KVM_X86_SET_MSR_FILTER, &all) < 0 ? failed("KVM_X86_SET_MSR_FILTER")
							      : NULL;
}

struct hv_err *hv_minivm_cpu_base_exit(int vcpu_fd, struct kvm_run *run, bool *ret_in_kernel)
{
	const struct kvm_msr_entry msr = {.index = run->msr.index, .data = run->msr.data};
	struct kvm_regs regs;
	struct hv_err *err = set_msrs(vcpu_fd, &msr, 1);

	if (err)
		return err;
	if (ioctl(vcpu_fd, KVM_GET_REGS, &regs) < 0)
		return failed("KVM_GET_REGS");
	run->msr.error = 0;
	*ret_in_kernel = hv_gva_in(hv_gva(regs.rip), hv_arch_x86_64.image_range);
	return NULL;
}

/* Finds LEN bytes at AT through the vCPU's page tables. */
static struct hv_err *find_bytes(int vcpu_fd, const struct hv_minivm_memory *m, struct hv_gva at,
				 unsigned len, uint8_t **ret)
{
	for (unsigned i = 0; i < len; i++) {
		struct kvm_translation t = {.linear_address = at.v + i};

		if (ioctl(vcpu_fd, KVM_TRANSLATE, &t) < 0)
			return failed("KVM_TRANSLATE");
		ret[i] = t.valid ? hv_minivm_memory_at(m, hv_gpa(t.physical_address), 1) : NULL;
		if (!ret[i])
			return hv_err_new(EFAULT, "nothing is mapped at 0x%llx",
					  (unsigned long long)at.v);
	}
	return NULL;
}

static const uint8_t break_code[HV_MINIVM_BREAK_LEN] = {0xe6,
							HV_MINIVM_BREAK_PORT}; /* out %al, $port */

struct hv_err *hv_minivm_cpu_break(int vcpu_fd, const struct hv_minivm_memory *m, struct hv_gva at,
				   struct hv_minivm_break *ret)
{
	static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
	struct hv_minivm_break b = {.at = at};
	uint8_t *bytes[sizeof(mark) + HV_MINIVM_BREAK_LEN];
	unsigned skip = sizeof(mark);
	struct hv_err *err = find_bytes(vcpu_fd, m, at, HV_ARRAY_LEN(bytes), bytes);

	if (err)
		return err;
	for (unsigned i = 0; i < sizeof(mark); i++)
		if (*bytes[i] != mark[i])
			skip = 0;
	b.at = hv_gva_add(at, skip);
	for (unsigned i = 0; i < HV_MINIVM_BREAK_LEN; i++) {
		b.host[i] = bytes[skip + i];
		b.old[i] = *b.host[i];
		*b.host[i] = break_code[i];
	}
	*ret = b;
	return NULL;
}

/* KVM may stop the guest with rip before or after the instruction that wrote to the port. */
bool hv_minivm_cpu_is_at(int vcpu_fd, const struct hv_minivm_break *b)
{
	struct kvm_regs regs;

	return ioctl(vcpu_fd, KVM_GET_REGS, &regs) == 0 &&
	       (regs.rip == b->at.v || regs.rip == b->at.v + HV_MINIVM_BREAK_LEN);
}

struct hv_err *hv_minivm_cpu_unbreak(int vcpu_fd, const struct hv_minivm_break *b)
{
	struct kvm_regs regs;

	/* Leave bytes alone that the guest has overwritten. */
	for (unsigned i = 0; i < HV_MINIVM_BREAK_LEN; i++)
		if (*b->host[i] == break_code[i])
			*b->host[i] = b->old[i];
	if (ioctl(vcpu_fd, KVM_GET_REGS, &regs) < 0)
		return failed("KVM_GET_REGS");
	if (regs.rip != b->at.v + HV_MINIVM_BREAK_LEN)
		return NULL;
	regs.rip = b->at.v;
	return ioctl(vcpu_fd, KVM_SET_REGS, &regs) < 0 ? failed("KVM_SET_REGS") : NULL;
}

/* -- a trial of KVM ---------------------------------------------------------------------------- */

#define CODE	  UINT64_C(0x100000)
#define ROUNDS	  UINT32_C(250000)
#define PER_ROUND 2

/* Limit for the CPU time of all rounds. KVM's emulation takes 0.3 s (measured: 1.6 to 1.8 million
 * instructions per second), a CPU less than a millisecond. */
#define TIME_MAX_NS (HV_NS_PER_S / 10)

struct trial {
	struct hv_minivm_memory memory;
	int kvm_fd; /* borrowed */
	int vm_fd;
	int vcpu_fd;
	struct kvm_run *run; /* owned mapping */
	size_t run_len_bytes;
};

static void trial_deinit(struct trial *t)
{
	if (t->run)
		munmap(t->run, t->run_len_bytes);
	hv_close_at(&t->vcpu_fd);
	hv_close_at(&t->vm_fd);
	hv_minivm_memory_deinit(&t->memory);
}

static struct hv_err *make_vcpu(struct trial *t)
{
	struct kvm_userspace_memory_region r = {
		.memory_size = t->memory.len_bytes,
		.userspace_addr = (uintptr_t)t->memory.host,
	};
	int len = ioctl(t->kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);
	void *run;

	t->vm_fd = ioctl(t->kvm_fd, KVM_CREATE_VM, 0);
	if (t->vm_fd < 0)
		return failed("KVM_CREATE_VM");
	if (ioctl(t->vm_fd, KVM_SET_USER_MEMORY_REGION, &r) < 0)
		return failed("KVM_SET_USER_MEMORY_REGION");
	t->vcpu_fd = ioctl(t->vm_fd, KVM_CREATE_VCPU, 0);
	if (t->vcpu_fd < 0 || len < (int)sizeof(*t->run))
		return failed("KVM_CREATE_VCPU");
	run = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE, MAP_SHARED, t->vcpu_fd, 0);
	if (run == MAP_FAILED)
		return failed("KVM_CREATE_VCPU");
	t->run = run;
	t->run_len_bytes = (size_t)len;
	return hv_minivm_cpu_identify(t->kvm_fd, t->vcpu_fd, 0, 1);
}

static struct hv_err *load(struct trial *t)
{
	/* mov $ROUNDS,%ecx; 1: dec %ecx; jnz 1b; hlt */
	static const uint8_t code[] = {0xb9,
				       (uint8_t)ROUNDS,
				       (uint8_t)(ROUNDS >> 8),
				       (uint8_t)(ROUNDS >> 16),
				       (uint8_t)(ROUNDS >> 24),
				       0xff,
				       0xc9,
				       0x75,
				       0xfc,
				       0xf4};

	hv_minivm_cpu_tables(&t->memory);
	memcpy(hv_minivm_memory_at(&t->memory, hv_gpa(CODE), sizeof(code)), code, sizeof(code));
	return hv_minivm_cpu_start(t->vcpu_fd, hv_gpa(CODE));
}

static uint64_t cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * HV_NS_PER_S + (uint64_t)t.tv_nsec;
}

static struct hv_err *execute(struct trial *t)
{
	uint64_t start_ns = cpu_time_ns(), took_ns;
	int done;

	do
		done = ioctl(t->vcpu_fd, KVM_RUN, 0);
	while (done < 0 && errno == EINTR && cpu_time_ns() - start_ns < TIME_MAX_NS);
	took_ns = cpu_time_ns() - start_ns;
	if (done < 0 && errno != EINTR)
		return hv_err_new(ENOTSUP, "/dev/kvm: this KVM cannot run a machine: KVM_RUN: %s",
				  strerror(errno));
	if (done == 0 && t->run->exit_reason != KVM_EXIT_HLT)
		return hv_err_new(ENOTSUP,
				  "/dev/kvm: this KVM cannot execute a loop of two instructions "
				  "(exit %u, %u)",
				  t->run->exit_reason, t->run->internal.suberror);
	if (took_ns < TIME_MAX_NS)
		return NULL;
	return hv_err_new(
		ENOTSUP,
		"/dev/kvm: this KVM emulates the instructions of a guest, %.1f million in "
		"a second, and cannot boot Linux: it needs a host with VMX or SVM",
		(double)ROUNDS * PER_ROUND * 1000 / (double)took_ns);
}

/* Tries a second time on failure: if this host is itself a guest, time that its own host takes away
 * counts as CPU time of this thread. That rarely happens twice in a row. */
static struct hv_err *try_twice(struct trial *t)
{
	struct hv_err *err = execute(t);

	if (!err)
		return NULL;
	hv_err_free(err);
	err = load(t);
	return err ? err : execute(t);
}

struct hv_err *hv_minivm_trial(int kvm_fd)
{
	hv_cleanup(trial_deinit) struct trial t = {.kvm_fd = kvm_fd, .vm_fd = -1, .vcpu_fd = -1};
	struct hv_err *err = hv_minivm_memory_init(&t.memory, HV_MINIVM_MEMORY_MIN);

	if (!err)
		err = make_vcpu(&t);
	if (!err)
		err = load(&t);
	return err ? err : try_twice(&t);
}
