/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/sync.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#define WANTED	      (KVM_SYNC_X86_REGS | KVM_SYNC_X86_SREGS)
#define RIP_UNWRITTEN 0x6576617274766800ull /* not canonical: no vCPU has this address in rip */
#define BATCH	      512		    /* of pages; two pieces of each fit into IOV_MAX */
#define RIP_OFF	      (offsetof(struct kvm_run, s) + offsetof(struct kvm_regs, rip))
#define VALID_OFF     offsetof(struct kvm_run, kvm_valid_regs)
#define REGS_OFF      offsetof(struct kvm_run, s)

/* KVM_RUN fails when it is asked for a set that this KVM does not support, and then QEMU ends the
 * guest. */
static bool kvm_does_it(void)
{
	HV_AUTO_FD int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int classes = fd < 0 ? 0 : ioctl(fd, KVM_CHECK_EXTENSION, KVM_CAP_SYNC_REGS);

	return classes > 0 && (classes & WANTED) == WANTED;
}

void hv_sync_init(struct hv_sync *s, const struct hv_kvm *k)
{
	*s = (struct hv_sync){.pid = k->pid, .nr_vcpus = k->nr_vcpus};
	if (!k->nr_vcpus || !kvm_does_it())
		return;
	s->page_hvas = hv_alloc(k->nr_vcpus * sizeof(*s->page_hvas));
	memcpy(s->page_hvas, k->run_hvas, k->nr_vcpus * sizeof(*s->page_hvas));
}

void hv_sync_deinit(struct hv_sync *s)
{
	free(s->page_hvas);
	*s = (struct hv_sync){0};
}

static bool write_pages(const struct hv_sync *s, const struct iovec *ours, unsigned nr_pieces,
			const uint64_t *offs)
{
	for (unsigned first = 0; first < s->nr_vcpus; first += BATCH) {
		unsigned nr = s->nr_vcpus - first < BATCH ? s->nr_vcpus - first : BATCH;
		struct iovec from[2 * BATCH], to[2 * BATCH];
		size_t len = 0;

		for (unsigned i = 0; i < nr * nr_pieces; i++) {
			unsigned piece = i % nr_pieces;

			from[i] = ours[piece];
			to[i] = (struct iovec){
				(void *)(uintptr_t)(s->page_hvas[first + i / nr_pieces] +
						    offs[piece]),
				ours[piece].iov_len};
			len += ours[piece].iov_len;
		}
		if (process_vm_writev(s->pid, from, nr * nr_pieces, to, nr * nr_pieces, 0) !=
		    (ssize_t)len)
			return false;
	}
	return true;
}

/* The address in rip tells later whether KVM has written the registers. */
void hv_sync_ask(const struct hv_sync *s)
{
	uint64_t rip = RIP_UNWRITTEN, valid = WANTED;
	const struct iovec ours[] = {{&rip, sizeof(rip)}, {&valid, sizeof(valid)}};
	const uint64_t offs[] = {RIP_OFF, VALID_OFF};

	if (s->page_hvas)
		(void)write_pages(s, ours, 2, offs);
}

static void ask_no_more(const struct hv_sync *s)
{
	uint64_t valid = 0;
	const struct iovec ours = {&valid, sizeof(valid)};
	const uint64_t off = VALID_OFF;

	(void)write_pages(s, &ours, 1, &off);
}

static bool read_one(const struct hv_sync *s, unsigned vcpu, struct kvm_sync_regs *ret)
{
	size_t len = offsetof(struct kvm_sync_regs, events);
	struct iovec ours = {ret, len};
	struct iovec theirs = {(void *)(uintptr_t)(s->page_hvas[vcpu] + REGS_OFF), len};

	return process_vm_readv(s->pid, &ours, 1, &theirs, 1, 0) == (ssize_t)len &&
	       ret->regs.rip != RIP_UNWRITTEN;
}

bool hv_sync_take(const struct hv_sync *s, const struct hv_arch *arch, bool all_in_run,
		  struct hv_vcpu_regs *ret)
{
	bool all = s->page_hvas && all_in_run;

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

/* KVM says so in the vCPU's page each time KVM_RUN returns (post_kvm_run_save), and the mode does
 * not change until KVM_RUN is called again. */
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
