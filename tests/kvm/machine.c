/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/kvm/machine.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define GDT_OFF	   0x1000
#define TABLES_OFF 0x2000 /* levels 4, 3, 2, 1 */
#define TRAPS_OFF  0x6000
#define IDT_OFF	   0x7000

#define ENTRY_RW (UINT64_C(0x63)) /* present, writable, accessed, dirty */
#define ENTRY_RX (UINT64_C(0x61))
#define ENTRY_NX (UINT64_C(1) << 63)

#define CODE_SELECTOR 0x08
#define DATA_SELECTOR 0x10

#define CR0  0x80050033 /* PG AM WP NE ET MP PE */
#define CR4  0x620	/* OSXMMEXCPT OSFXSR PAE */
#define EFER 0xd01	/* NXE LMA LME SCE */

static uint64_t *table(struct machine *m, unsigned level)
{
	return (uint64_t *)(m->memory + TABLES_OFF + (4 - level) * 0x1000);
}

static void make_tables(struct machine *m)
{
	table(m, 4)[511] = (TABLES_OFF + 0x1000) | ENTRY_RW;
	table(m, 3)[510] = (TABLES_OFF + 0x2000) | ENTRY_RW;
	table(m, 2)[0] = (TABLES_OFF + 0x3000) | ENTRY_RW;
	for (uint64_t page = 0; page < MACHINE_LEN; page += 0x1000)
		table(m, 1)[page >> 12] = page | ENTRY_RW | ENTRY_NX;
	machine_protect(m, TRAPS_OFF, 0x1000, HV_ACCESS_READ_EXECUTE);
	machine_protect(m, MACHINE_TEXT_OFF, 0x1000, HV_ACCESS_READ_EXECUTE);
}

void machine_protect(struct machine *m, uint64_t off, uint64_t len_bytes, enum hv_access access)
{
	static const uint64_t bits[] = {
		[HV_ACCESS_READ] = ENTRY_RX | ENTRY_NX,
		[HV_ACCESS_READ_WRITE] = ENTRY_RW | ENTRY_NX,
		[HV_ACCESS_READ_EXECUTE] = ENTRY_RX,
	};

	for (uint64_t page = off; page < off + len_bytes; page += 0x1000)
		table(m, 1)[page >> 12] = page | bits[access];
}

void machine_set_handler(struct machine *m, unsigned vector, struct hv_gva handler)
{
	uint64_t gate[2] = {
		(handler.v & 0xffff) | CODE_SELECTOR << 16 | UINT64_C(0x8e) << 40 |
			(handler.v >> 16 & 0xffff) << 48,
		handler.v >> 32,
	};

	assert(vector < MACHINE_NR_VECTORS);
	memcpy(m->memory + IDT_OFF + vector * 16, gate, 16);
}

static void make_descriptors(struct machine *m)
{
	const uint64_t gdt[3] = {0, 0x00af9b000000ffff, 0x00cf93000000ffff};

	memcpy(m->memory + GDT_OFF, gdt, sizeof(gdt));
	for (unsigned v = 0; v < MACHINE_NR_VECTORS; v++) {
		const uint8_t out_halt[4] = {0xe6, (uint8_t)v, 0xf4, 0xcc};

		memcpy(m->memory + TRAPS_OFF + v * 4, out_halt, 4);
		machine_set_handler(m, v, machine_gva(TRAPS_OFF + v * 4));
	}
}

static const char *enter_long_mode(struct machine *m)
{
	struct kvm_segment data = {.limit = 0xffffffff,
				   .selector = DATA_SELECTOR,
				   .type = 3,
				   .present = 1,
				   .s = 1,
				   .db = 1,
				   .g = 1};
	struct kvm_segment code = {.limit = 0xffffffff,
				   .selector = CODE_SELECTOR,
				   .type = 11,
				   .present = 1,
				   .s = 1,
				   .l = 1,
				   .g = 1};
	struct kvm_sregs s;

	if (ioctl(m->vcpu_fd, KVM_GET_SREGS, &s) < 0)
		return "KVM_GET_SREGS fails";
	s.cs = code;
	s.ss = s.ds = s.es = s.fs = s.gs = data;
	s.gdt.base = machine_gva(GDT_OFF).v;
	s.gdt.limit = 0x17;
	s.idt.base = machine_gva(IDT_OFF).v;
	s.idt.limit = MACHINE_NR_VECTORS * 16 - 1;
	s.cr0 = CR0;
	s.cr3 = TABLES_OFF;
	s.cr4 = CR4;
	s.efer = EFER;
	return ioctl(m->vcpu_fd, KVM_SET_SREGS, &s) < 0 ? "KVM_SET_SREGS refuses long mode" : NULL;
}

static const char *copy_cpuid(struct machine *m)
{
	struct kvm_cpuid2 *c = calloc(1, sizeof(*c) + 256 * sizeof(c->entries[0]));
	const char *lack = NULL;

	assert(c);
	c->nent = 256;
	if (ioctl(m->kvm_fd, KVM_GET_SUPPORTED_CPUID, c) < 0 ||
	    ioctl(m->vcpu_fd, KVM_SET_CPUID2, c) < 0)
		lack = "KVM takes no cpuid";
	free(c);
	return lack;
}

static const char *make_memory(struct machine *m)
{
	struct kvm_userspace_memory_region ram = {.memory_size = MACHINE_LEN};

	m->memory =
		mmap(NULL, MACHINE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert(m->memory != MAP_FAILED);
	ram.userspace_addr = (uintptr_t)m->memory;
	if (ioctl(m->vm_fd, KVM_SET_USER_MEMORY_REGION, &ram) < 0)
		return "KVM_SET_USER_MEMORY_REGION fails";
	make_tables(m);
	make_descriptors(m);
	return NULL;
}

static const char *make_vcpu(struct machine *m)
{
	int len = ioctl(m->kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);

	m->vcpu_fd = ioctl(m->vm_fd, KVM_CREATE_VCPU, 0);
	if (m->vcpu_fd < 0 || len < (int)sizeof(*m->run))
		return "KVM_CREATE_VCPU fails";
	m->run = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE, MAP_SHARED, m->vcpu_fd, 0);
	assert(m->run != MAP_FAILED);
	m->run_len_bytes = (size_t)len;
	return copy_cpuid(m);
}

/* Returns NULL if this KVM can single-step and run code in long mode, otherwise the reason. */
static const char *try_it(struct machine *m)
{
	const uint8_t nop_halt[2] = {0x90, 0xf4};
	struct kvm_regs regs = {.rip = machine_gva(MACHINE_TEXT_OFF).v, .rflags = 2};
	unsigned port;

	memcpy(m->memory + MACHINE_TEXT_OFF, nop_halt, 2);
	machine_set_regs(m, &regs, hv_gva(0));
	if (machine_step(m, &port) != MACHINE_STEP)
		return "this KVM does not step (KVM_GUESTDBG_SINGLESTEP)";
	machine_get_regs(m, &regs);
	if (regs.rip != machine_gva(MACHINE_TEXT_OFF + 1).v)
		return "this KVM steps wrongly (KVM_GUESTDBG_SINGLESTEP)";
	return machine_run(m, &port) == MACHINE_HALT ? NULL : "this KVM does not run long mode";
}

static const char *start(struct machine *m)
{
	const char *lack;

	m->kvm_fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (m->kvm_fd < 0)
		return "no /dev/kvm that can be opened";
	m->vm_fd = ioctl(m->kvm_fd, KVM_CREATE_VM, 0);
	if (m->vm_fd < 0)
		return "KVM_CREATE_VM fails";
	/* Needed on Intel; other CPUs accept it. */
	ioctl(m->vm_fd, KVM_SET_TSS_ADDR, 0xfffbd000UL);
	lack = make_memory(m);
	if (!lack)
		lack = make_vcpu(m);
	if (!lack)
		lack = enter_long_mode(m);
	return lack ? lack : try_it(m);
}

struct machine *machine_new(const char **ret_lack)
{
	struct machine *m = calloc(1, sizeof(*m));

	assert(m);
	m->kvm_fd = m->vm_fd = m->vcpu_fd = -1;
	*ret_lack = start(m);
	if (!*ret_lack)
		return m;
	machine_free(m);
	return NULL;
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	if (m->run)
		munmap(m->run, m->run_len_bytes);
	if (m->memory)
		munmap(m->memory, MACHINE_LEN);
	if (m->vcpu_fd >= 0)
		close(m->vcpu_fd);
	if (m->vm_fd >= 0)
		close(m->vm_fd);
	if (m->kvm_fd >= 0)
		close(m->kvm_fd);
	free(m);
}

static void must(struct machine *m, unsigned long request, void *arg)
{
	int failed = ioctl(m->vcpu_fd, request, arg);

	assert(failed >= 0);
	(void)failed;
}

void machine_set_regs(struct machine *m, const struct kvm_regs *regs, struct hv_gva gs_base)
{
	struct kvm_mp_state runs = {KVM_MP_STATE_RUNNABLE};
	struct kvm_regs copy = *regs;
	struct kvm_sregs s;

	must(m, KVM_GET_SREGS, &s);
	s.gs.base = gs_base.v;
	must(m, KVM_SET_SREGS, &s);
	must(m, KVM_SET_REGS, &copy);
	/* May fail: a KVM without an interrupt controller does not have this state. */
	ioctl(m->vcpu_fd, KVM_SET_MP_STATE, &runs);
}

void machine_get_regs(struct machine *m, struct kvm_regs *ret)
{
	must(m, KVM_GET_REGS, ret);
}

void machine_get_rest(struct machine *m, struct kvm_sregs *ret, struct kvm_fpu *ret_fpu)
{
	must(m, KVM_GET_SREGS, ret);
	must(m, KVM_GET_FPU, ret_fpu);
}

static enum machine_stop enter(struct machine *m, unsigned *ret_port)
{
	if (ioctl(m->vcpu_fd, KVM_RUN, 0) < 0)
		return MACHINE_LOST;
	switch (m->run->exit_reason) {
	case KVM_EXIT_HLT:
		return MACHINE_HALT;
	case KVM_EXIT_DEBUG:
		return MACHINE_STEP;
	case KVM_EXIT_IO:
		*ret_port = m->run->io.port;
		return MACHINE_PORT;
	default:
		return MACHINE_LOST;
	}
}

static void set_stepping(struct machine *m, int on)
{
	struct kvm_guest_debug debug = {
		.control = on ? KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP : 0};

	if (m->stepping != on)
		must(m, KVM_SET_GUEST_DEBUG, &debug);
	m->stepping = on;
}

enum machine_stop machine_run(struct machine *m, unsigned *ret_port)
{
	set_stepping(m, 0);
	return enter(m, ret_port);
}

enum machine_stop machine_step(struct machine *m, unsigned *ret_port)
{
	set_stepping(m, 1);
	return enter(m, ret_port);
}

void machine_interrupt(struct machine *m, unsigned vector)
{
	struct kvm_interrupt interrupt = {vector};

	must(m, KVM_INTERRUPT, &interrupt);
}

void machine_nmi(struct machine *m)
{
	must(m, KVM_NMI, NULL);
}
