/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Injected calls on an x86-64 host: registers, the signal frame that rt_sigreturn reads
 * (arch/x86/kernel/signal_64.c, arch/x86/kernel/fpu/signal.c), and the code that makes the call.
 * arch/ is about guests; this file is about the host. */
#include "vmm/inject/call.h"

#include <cpuid.h>
#include <elf.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/uio.h>
#include <sys/user.h>

#define RED_ZONE	 128
#define USER_CS		 0x33
#define EFLAGS_TF_DF	 0x500u
#define SYSCALL_BYTES	 2
#define XSTATE_MAX_BYTES 16384
#define XSTATE_MIN_BYTES 576 /* legacy area and header */
#define XSTATE_SW_OFF	 464 /* struct _fpx_sw_bytes */
#define XSTATE_BV_OFF	 512
#define XFEATURE_TILES	 (3ull << 17) /* AMX: threads that use it are rejected */
#define FP_MAGIC1	 0x46505853u
#define FP_MAGIC2	 0x46505845u
#define UC_FLAGS	 7 /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
/* An invalid mode of sigaltstack(2): the kernel rejects it and leaves the stack's setting
 * unchanged. */
#define KEEP_ALTSTACK	 0x40

#define ERESTARTSYS	      512 /* include/linux/errno.h */
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

struct fp_sw {
	uint32_t magic1;
	uint32_t extended_len_bytes;
	uint64_t xfeatures;
	uint32_t xstate_len_bytes;
	uint32_t padding[7];
};
_Static_assert(sizeof(struct fp_sw) == 48, "struct _fpx_sw_bytes");

struct frame {
	uint64_t return_to;
	ucontext_t uc; /* longer than the kernel's, whose signal mask has 8 bytes */
};

struct hv_call_image { /* written to the stack, lowest address first */
	uint64_t frame_at;
	uint64_t fp_at;
	uint64_t data_at;
	struct frame frame;
	uint8_t fp[XSTATE_MAX_BYTES + 4];
	size_t fp_len_bytes;
	struct user_regs_struct regs; /* restored by the frame */
};

/* ---- code ---- */

static const uint8_t syscall_ret[] = {0x0f, 0x05, 0xc3};
static const uint8_t return_from_signal[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

const struct hv_call_pattern hv_call_syscall_ret = {syscall_ret, sizeof(syscall_ret), 1};
const struct hv_call_pattern hv_call_sigreturn = {return_from_signal, sizeof(return_from_signal),
						  1};
const uint32_t hv_call_audit_arch = AUDIT_ARCH_X86_64;
const uint32_t hv_call_syscall_bytes = SYSCALL_BYTES;

/* ---- the frame ---- */

static bool get_regs(const struct hv_thread *t, struct user_regs_struct *ret)
{
	return ptrace(PTRACE_GETREGS, t->tid, NULL, ret) == 0;
}

static bool may_be_used(const struct hv_thread *t, const struct user_regs_struct *r)
{
	if (!t->stopped || r->cs != USER_CS)
		return false;
	return t->at_rest ||
	       ((int64_t)r->orig_rax >= 0 && (int64_t)r->rax != -ERESTART_RESTARTBLOCK);
}

bool hv_call_can(const struct hv_thread *t)
{
	struct user_regs_struct regs;

	return get_regs(t, &regs) && may_be_used(t, &regs);
}

bool hv_call_in_kvm_run(const struct hv_thread *t)
{
	struct user_regs_struct r;

	return t->stopped && !t->at_rest && get_regs(t, &r) && r.cs == USER_CS &&
	       r.orig_rax == SYS_ioctl && (uint32_t)r.rsi == KVM_RUN;
}

bool hv_call_restarts(const struct hv_thread *t, uint64_t *ret_ip)
{
	struct user_regs_struct r;

	if (!get_regs(t, &r) || (int64_t)r.orig_rax < 0 || (int64_t)r.rax != -ERESTART_RESTARTBLOCK)
		return false;
	*ret_ip = r.rip;
	return true;
}

void hv_call_interrupt(const struct hv_thread *t)
{
	struct user_regs_struct r;

	if (!get_regs(t, &r))
		return;
	r.orig_rax = (unsigned long long)-1; /* there is no call to restart */
	r.rax = (unsigned long long)-EINTR;
	(void)ptrace(PTRACE_SETREGS, t->tid, NULL, &r);
}

/* Restarts an interrupted call like the kernel does when there is no signal handler to run
 * (arch_do_signal_or_restart): the thread makes the call again. */
static void restart(const struct hv_thread *t, struct user_regs_struct *r)
{
	int64_t result = (int64_t)r->rax;

	if (t->at_rest ||
	    (result != -ERESTARTSYS && result != -ERESTARTNOINTR && result != -ERESTARTNOHAND))
		return;
	r->rax = r->orig_rax;
	r->rip -= SYSCALL_BYTES;
}

/* Returns the length of the state in the standard format. rt_sigreturn sets features that are not
 * in FEATURES to their initial values. */
static size_t xstate_len(uint64_t features)
{
	size_t len = XSTATE_MIN_BYTES;

	for (unsigned i = 2; i < 63; i++) {
		unsigned size = 0, off = 0, c = 0, d = 0;

		if (!(features >> i & 1) || !__get_cpuid_count(0xd, i, &size, &off, &c, &d))
			continue;
		if (off + size > len)
			len = off + size;
	}
	return len;
}

static struct hv_err *save_fp(const struct hv_thread *t, struct hv_call_image *image)
{
	struct iovec all = {image->fp, XSTATE_MAX_BYTES};
	struct fp_sw sw = {.magic1 = FP_MAGIC1};
	uint32_t magic2 = FP_MAGIC2;
	uint64_t used;

	if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &all) < 0 ||
	    all.iov_len < XSTATE_MIN_BYTES)
		return hv_err_new(ENOTSUP, "thread %d: its FPU state cannot be read: %s",
				  (int)t->tid, strerror(errno));
	memcpy(&sw.xfeatures, image->fp + XSTATE_SW_OFF, sizeof(sw.xfeatures));
	memcpy(&used, image->fp + XSTATE_BV_OFF, sizeof(used));
	if (used & XFEATURE_TILES)
		return hv_err_new(ENOTSUP,
				  "thread %d uses AMX tiles, which an injected call would erase",
				  (int)t->tid);
	sw.xfeatures &= ~XFEATURE_TILES;
	sw.xstate_len_bytes = (uint32_t)xstate_len(sw.xfeatures);
	sw.extended_len_bytes = sw.xstate_len_bytes + sizeof(magic2);
	if (sw.xstate_len_bytes > all.iov_len || (used & ~sw.xfeatures))
		return hv_err_new(ENOTSUP,
				  "thread %d: its FPU state of %zu bytes does not fit its features "
				  "0x%" PRIx64,
				  (int)t->tid, all.iov_len, sw.xfeatures);
	memcpy(image->fp + XSTATE_SW_OFF, &sw, sizeof(sw));
	memcpy(image->fp + sw.xstate_len_bytes, &magic2, sizeof(magic2));
	image->fp_len_bytes = sw.extended_len_bytes;
	return NULL;
}

static void fill_frame(struct hv_call_image *image, const struct hv_call_code *code,
		       uint64_t sigmask)
{
	const struct user_regs_struct *r = &image->regs;
	ucontext_t *uc = &image->frame.uc;
	greg_t *g = uc->uc_mcontext.gregs;

	image->frame.return_to = code->sigreturn;
	uc->uc_flags = UC_FLAGS;
	uc->uc_stack.ss_flags = KEEP_ALTSTACK;
	memcpy(&uc->uc_sigmask, &sigmask, sizeof(sigmask));
	g[REG_R8] = (greg_t)r->r8, g[REG_R9] = (greg_t)r->r9, g[REG_R10] = (greg_t)r->r10;
	g[REG_R11] = (greg_t)r->r11, g[REG_R12] = (greg_t)r->r12, g[REG_R13] = (greg_t)r->r13;
	g[REG_R14] = (greg_t)r->r14, g[REG_R15] = (greg_t)r->r15, g[REG_RDI] = (greg_t)r->rdi;
	g[REG_RSI] = (greg_t)r->rsi, g[REG_RBP] = (greg_t)r->rbp, g[REG_RBX] = (greg_t)r->rbx;
	g[REG_RDX] = (greg_t)r->rdx, g[REG_RAX] = (greg_t)r->rax, g[REG_RCX] = (greg_t)r->rcx;
	g[REG_RSP] = (greg_t)r->rsp, g[REG_RIP] = (greg_t)r->rip, g[REG_EFL] = (greg_t)r->eflags;
	g[REG_CSGSFS] = (greg_t)((r->cs & 0xffff) | (r->ss & 0xffff) << 48);
	uc->uc_mcontext.fpregs = (fpregset_t)(uintptr_t)image->fp_at;
}

static struct hv_err *fill_image(const struct hv_thread *t, const struct hv_call_code *code,
				 struct hv_call_image *image)
{
	uint64_t sigmask = 0;
	struct hv_err *err;

	if (!get_regs(t, &image->regs) || !may_be_used(t, &image->regs))
		return hv_err_new(EBUSY, "thread %d is not at the end of a system call",
				  (int)t->tid);
	restart(t, &image->regs);
	if (ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(sigmask), &sigmask) < 0)
		return hv_err_new(errno, "thread %d: its signal mask cannot be read: %s",
				  (int)t->tid, strerror(errno));
	err = save_fp(t, image);
	if (err)
		return err;
	image->data_at = (image->regs.rsp - RED_ZONE - HV_CALL_DATA_MAX) & ~63ull;
	image->fp_at = (image->data_at - image->fp_len_bytes) & ~63ull;
	image->frame_at = ((image->fp_at - sizeof(image->frame)) & ~15ull) - 8;
	fill_frame(image, code, sigmask);
	return NULL;
}

struct hv_err *hv_call_image_make(const struct hv_thread *t, const struct hv_call_code *code,
				  struct hv_call_image **ret, uint64_t *ret_data_at)
{
	HV_AUTO_FREE struct hv_call_image *image = hv_alloc(sizeof(*image));
	struct hv_err *err = fill_image(t, code, image);

	if (err)
		return err;
	*ret_data_at = image->data_at;
	*ret = hv_take(image);
	return NULL;
}

struct hv_err *hv_call_image_put(pid_t pid, const struct hv_call_image *image, const void *data,
				 size_t len)
{
	if ((len && !hv_thread_write(pid, image->data_at, data, len)) ||
	    !hv_thread_write(pid, image->fp_at, image->fp, image->fp_len_bytes) ||
	    !hv_thread_write(pid, image->frame_at, &image->frame, sizeof(image->frame)))
		return hv_err_new(EFAULT,
				  "process %d: its stack at 0x%" PRIx64 " cannot be written",
				  (int)pid, image->frame_at);
	hv_inject_at("frame");
	return NULL;
}

/* ---- the calls ---- */

struct hv_err *hv_call_set(const struct hv_thread *t, const struct hv_call_code *code,
			   const struct hv_call_image *image, long nr,
			   const uint64_t args[HV_CALL_ARGS], struct hv_call_at *ret_end)
{
	struct user_regs_struct r = image->regs;

	r.rip = code->syscall_ret;
	r.rsp = image->frame_at;
	r.eflags &= ~(unsigned long long)EFLAGS_TF_DF;
	r.rax = (unsigned long long)nr;
	r.orig_rax = (unsigned long long)-1; /* there is no call to restart */
	r.rdi = args[0], r.rsi = args[1], r.rdx = args[2];
	r.r10 = args[3], r.r8 = args[4], r.r9 = args[5];
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &r) < 0)
		return hv_err_new(errno, "thread %d: its registers cannot be set: %s", (int)t->tid,
				  strerror(errno));
	*ret_end = (struct hv_call_at){r.rip + SYSCALL_BYTES, r.rsp};
	return NULL;
}

static bool same_regs(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return a->rip == b->rip && a->rsp == b->rsp && a->rax == b->rax && a->rbx == b->rbx &&
	       a->rbp == b->rbp && a->rdi == b->rdi && a->rsi == b->rsi && a->rdx == b->rdx &&
	       a->r12 == b->r12 && a->r13 == b->r13 && a->r14 == b->r14 && a->r15 == b->r15 &&
	       a->fs_base == b->fs_base && a->gs_base == b->gs_base;
}

struct hv_call_at hv_call_from(const struct hv_call_image *image)
{
	return (struct hv_call_at){image->regs.rip, image->regs.rsp};
}

bool hv_call_look(const struct hv_thread *t, const struct hv_call_image *image,
		  struct hv_call_at *ret, bool *ret_same)
{
	struct user_regs_struct now;

	if (!get_regs(t, &now))
		return false;
	*ret = (struct hv_call_at){now.rip, now.rsp};
	*ret_same = same_regs(&now, &image->regs);
	return true;
}

/* At the end of rt_sigreturn all registers are valid. */
struct hv_err *hv_call_settle(struct hv_thread *t hv_unused, uint64_t deadline_ns hv_unused)
{
	return NULL;
}
