/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What KVM and the CPU do on x86-64 hosts: registers in the vCPUs' pages, and coherent caches. */
#include "vmm/inject/kvm.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "vmm/inject/icache.h"
#include "vmm/process/process_memory.h"

#define WANTED	      (KVM_SYNC_X86_REGS | KVM_SYNC_X86_SREGS)
#define RIP_UNWRITTEN 0x6576617274766800ull /* not canonical, so never in rip */
#define BATCH	      512		    /* pages; at most IOV_MAX */
#define RIP_OFF	      (offsetof(struct kvm_run, s) + offsetof(struct kvm_regs, rip))
#define VALID_OFF     offsetof(struct kvm_run, kvm_valid_regs)
#define REGS_OFF      offsetof(struct kvm_run, s)

/* Checks that this KVM stores both general and special registers. Otherwise KVM_RUN would fail, and
 * QEMU would end the guest. */
static bool kvm_does_it(void)
{
	HV_AUTO_FD int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int classes = fd < 0 ? 0 : ioctl(fd, KVM_CHECK_EXTENSION, KVM_CAP_SYNC_REGS);

	return classes > 0 && (classes & WANTED) == WANTED;
}

void hv_sync_init(struct hv_sync *s, const struct hv_kvm *k, int pidfd)
{
	*s = (struct hv_sync){.pid = k->pid, .nr_vcpus = k->nr_vcpus, .fd = -1};
	if (!k->nr_vcpus || !kvm_does_it())
		return;
	s->fd = hv_process_memory_open(k->pid, pidfd, O_RDWR);
	if (s->fd < 0)
		return;
	s->page_hvas = hv_alloc(k->nr_vcpus * sizeof(*s->page_hvas));
	memcpy(s->page_hvas, k->run_hvas, k->nr_vcpus * sizeof(*s->page_hvas));
}

void hv_sync_deinit(struct hv_sync *s)
{
	if (s->page_hvas)
		hv_close_at(&s->fd);
	free(s->page_hvas);
	*s = (struct hv_sync){0};
}

/* Writes through the VMM's memory file, because the VMM's pid may have been reused. */
static bool write_each(const struct hv_sync *s, uint64_t off, uint64_t value)
{
	bool all = true;

	for (unsigned i = 0; all && i < s->nr_vcpus; i++)
		all = pwrite(s->fd, &value, sizeof(value), (off_t)(s->page_hvas[i] + off)) ==
		      (ssize_t)sizeof(value);
	return all;
}

/* Marks rip, so that read_one() can detect whether KVM has stored the registers. */
void hv_sync_ask(const struct hv_sync *s)
{
	if (s->page_hvas && write_each(s, RIP_OFF, RIP_UNWRITTEN))
		(void)write_each(s, VALID_OFF, WANTED);
}

void hv_sync_cancel(const struct hv_sync *s)
{
	if (s->page_hvas)
		(void)write_each(s, VALID_OFF, 0);
}

/* The keeper traces the VMM's threads, so the pid cannot have been reused. One system call for all
 * vCPUs keeps the hold short. */
static void ask_no_more(const struct hv_sync *s)
{
	uint64_t zeros[BATCH] = {0};

	for (unsigned first = 0; first < s->nr_vcpus; first += BATCH) {
		unsigned nr = s->nr_vcpus - first < BATCH ? s->nr_vcpus - first : BATCH;
		struct iovec ours = {zeros, nr * sizeof(zeros[0])}, theirs[BATCH];

		for (unsigned i = 0; i < nr; i++)
			theirs[i] = (struct iovec){
				(void *)(uintptr_t)(s->page_hvas[first + i] + VALID_OFF),
				sizeof(zeros[0])};
		if (process_vm_writev(s->pid, &ours, 1, theirs, nr, 0) < 0)
			return;
	}
}

static bool read_one(const struct hv_sync *s, unsigned vcpu, struct kvm_sync_regs *ret)
{
	size_t len = offsetof(struct kvm_sync_regs, events);

	return pread(s->fd, ret, len, (off_t)(s->page_hvas[vcpu] + REGS_OFF)) == (ssize_t)len &&
	       ret->regs.rip != RIP_UNWRITTEN;
}

bool hv_sync_take(const struct hv_sync *s, const struct hv_arch *arch, enum hv_vcpus_are vcpus,
		  struct hv_vcpu_regs *ret)
{
	bool all = s->page_hvas && vcpus == HV_VCPUS_IN_RUN;

	if (s->page_hvas)
		ask_no_more(s);
	for (unsigned i = 0; all && i < s->nr_vcpus; i++) {
		struct kvm_sync_regs regs;

		all = read_one(s, i, &regs) &&
		      arch->decode_kvm_registers(
			      (struct hv_span){(const uint8_t *)&regs.regs, sizeof(regs.regs)},
			      (struct hv_span){(const uint8_t *)&regs.sregs, sizeof(regs.sregs)},
			      &ret[i]);
	}
	return all;
}

/* KVM reports the mode in the vCPU's page each time KVM_RUN returns (post_kvm_run_save). It does
 * not change before the next KVM_RUN. */
bool hv_sync_is_in_smm(const struct hv_kvm *k, unsigned *ret)
{
	for (unsigned i = 0; i < k->nr_vcpus; i++) {
		uint16_t flags = 0;
		uint64_t hva = k->run_hvas[i] + offsetof(struct kvm_run, flags);
		struct iovec ours = {&flags, sizeof(flags)};
		struct iovec theirs = {(void *)(uintptr_t)hva, sizeof(flags)};

		if (process_vm_readv(k->pid, &ours, 1, &theirs, 1, 0) != (ssize_t)sizeof(flags) ||
		    !(flags & KVM_RUN_X86_SMM))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

/* -- caches ------------------------------------------------------------------------------------ */

/* Instruction fetches always see writes. */
bool hv_icache_is_coherent(void)
{
	return true;
}
