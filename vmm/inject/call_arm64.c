/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Injected calls on an arm64 host: registers, the signal frame that rt_sigreturn reads
 * (arch/arm64/kernel/signal.c), and the code that makes the call. arch/ is about guests; this file
 * is about the host.
 *
 * When a thread is stopped in a system call, its registers are already those it will resume with:
 * before the stop, the kernel forgets the call and, if the call must be restarted, moves the pc
 * back to `svc` (do_signal() there). x8 still contains the call's number, because a call changes no
 * register but x0. There is no red zone below the stack pointer. */
#include "vmm/inject/call.h"

#include <elf.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "vmm/inject/sets_arm64.h"

#define SVC	      0xd4000001u
#define INSN_BYTES    4u
#define X_ARGUMENT_3  3
#define X_CHANGED     7 /* entry or exit, during a system-call stop */
#define X_NUMBER      8
#define X_LINK	      30
#define NR_X	      31
#define PSTATE_BTYPE  0xc00ull
#define PSTATE_MODE   0x1full /* 0: 64 bits, EL0 */
#define STACK_ALIGN   16u
#define SIGINFO_BYTES 128u
/* An invalid mode of sigaltstack(2): the kernel rejects it and leaves the stack's setting
 * unchanged. */
#define KEEP_ALTSTACK 0x40

struct frame { /* struct rt_sigframe */
	uint8_t info[SIGINFO_BYTES];
	ucontext_t uc;
};
_Static_assert(offsetof(ucontext_t, uc_mcontext) == 176 && sizeof(mcontext_t) == 4384,
	       "as the kernel has it");

struct hv_call_image { /* written to the stack, lowest address first */
	uint64_t frame_at;
	uint64_t data_at;
	struct frame frame;
	struct user_regs_struct regs; /* restored by the frame */
};

/* ---- code ---- */

/* svc #0; ret, which every C library contains; and mov x8, #139; svc #0, from the kernel's
 * [vdso]. */
static const uint8_t syscall_ret[] = {0x01, 0, 0, 0xd4, 0xc0, 0x03, 0x5f, 0xd6};
static const uint8_t return_from_signal[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};

const struct hv_call_pattern hv_call_syscall_ret = {syscall_ret, sizeof(syscall_ret), INSN_BYTES};
const struct hv_call_pattern hv_call_sigreturn = {return_from_signal, sizeof(return_from_signal),
						  INSN_BYTES};
const uint32_t hv_call_audit_arch = AUDIT_ARCH_AARCH64;
const uint32_t hv_call_syscall_bytes = INSN_BYTES;

/* ---- registers ---- */

static size_t get_set(const struct hv_thread *t, unsigned set, void *to, size_t len)
{
	struct iovec iov = {to, len};

	return ptrace(PTRACE_GETREGSET, t->tid, (void *)(uintptr_t)set, &iov) == 0 ? iov.iov_len
										   : 0;
}

static bool get_regs(const struct hv_thread *t, struct user_regs_struct *ret)
{
	return get_set(t, NT_PRSTATUS, ret, sizeof(*ret)) == sizeof(*ret);
}

/* Sets the registers, and first removes the system call, so that the kernel does not restart it. */
static bool set_regs(const struct hv_thread *t, struct user_regs_struct *regs)
{
	int number = -1;
	struct iovec call = {&number, sizeof(number)};
	struct iovec all = {regs, sizeof(*regs)};

	return ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_ARM_SYSTEM_CALL, &call) == 0 &&
	       ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_PRSTATUS, &all) == 0;
}

/* Whether a futex(2) is one with a restart block (kernel/futex/waitwake.c). */
static bool is_timed_wait(const struct user_regs_struct *r)
{
	unsigned operation = r->regs[1] & (unsigned)FUTEX_CMD_MASK;

	return (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) &&
	       r->regs[X_ARGUMENT_3] != 0; /* a timeout */
}

/* Whether the kernel restarts the call from its restart block, not from the registers. */
static bool needs_restart_block(const struct user_regs_struct *r)
{
	switch (r->regs[X_NUMBER]) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_restart_syscall:
		return true;
	case SYS_futex:
		return is_timed_wait(r);
	default:
		return false;
	}
}

static bool is_svc(const struct hv_thread *t, uint64_t at)
{
	uint32_t insn;

	return hv_thread_read(t->tid, at, &insn, sizeof(insn)) && insn == SVC;
}

/* Whether the thread is after a system call, or before one that the kernel restarts. At such a
 * point no state is live that a system call does not preserve (SVE), and no restartable sequence is
 * active. */
static bool may_be_used(const struct hv_thread *t, const struct user_regs_struct *r)
{
	if (!t->stopped || r->pstate & PSTATE_MODE)
		return false;
	if (is_svc(t, r->pc))
		return !needs_restart_block(r);
	return is_svc(t, r->pc - INSN_BYTES);
}

bool hv_call_can(const struct hv_thread *t)
{
	struct user_regs_struct regs;

	return get_regs(t, &regs) && may_be_used(t, &regs);
}

bool hv_call_in_kvm_run(const struct hv_thread *t)
{
	struct user_regs_struct r;

	return t->stopped && get_regs(t, &r) && !(r.pstate & PSTATE_MODE) &&
	       r.regs[X_NUMBER] == SYS_ioctl && (uint32_t)r.regs[1] == KVM_RUN &&
	       is_svc(t, r.pc - INSN_BYTES);
}

/* The pc is already back at the `svc` if the kernel will restart the call. */
bool hv_call_restarts(const struct hv_thread *t, uint64_t *ret_ip)
{
	struct user_regs_struct r;

	if (!get_regs(t, &r) || r.pstate & PSTATE_MODE || !is_svc(t, r.pc) ||
	    !needs_restart_block(&r))
		return false;
	*ret_ip = r.pc + INSN_BYTES;
	return true;
}

/* The kernel restarts the call only if the pc is at the `svc` (arch/arm64/kernel/signal.c). */
void hv_call_interrupt(const struct hv_thread *t)
{
	struct user_regs_struct r;

	if (!get_regs(t, &r))
		return;
	r.pc += INSN_BYTES;
	r.regs[0] = (uint64_t)-EINTR;
	(void)set_regs(t, &r);
}

/* ---- the frame ---- */

/* Writes the record that every frame must have. A zeroed record follows it. */
static struct hv_err *save_fp(const struct hv_thread *t, mcontext_t *ret)
{
	struct fpsimd_context *to = (struct fpsimd_context *)(void *)ret->__reserved;
	struct user_fpsimd_struct fp;

	if (get_set(t, NT_PRFPREG, &fp, sizeof(fp)) != sizeof(fp))
		return hv_err_new(ENOTSUP, "thread %d: its FPU state cannot be read: %s",
				  (int)t->tid, strerror(errno));
	to->head = (struct _aarch64_ctx){FPSIMD_MAGIC, sizeof(*to)};
	to->fpsr = fp.fpsr;
	to->fpcr = fp.fpcr;
	_Static_assert(sizeof(to->vregs) == sizeof(fp.vregs), "the same registers");
	memcpy(to->vregs, fp.vregs, sizeof(to->vregs));
	return NULL;
}

static struct hv_err *fill_frame(const struct hv_thread *t, struct hv_call_image *image)
{
	const struct user_regs_struct *r = &image->regs;
	ucontext_t *uc = &image->frame.uc;
	uint64_t sigmask = 0;

	if (ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(sigmask), &sigmask) < 0)
		return hv_err_new(errno, "thread %d: its signal mask cannot be read: %s",
				  (int)t->tid, strerror(errno));
	memcpy(&uc->uc_sigmask, &sigmask, sizeof(sigmask));
	uc->uc_stack.ss_flags = KEEP_ALTSTACK;
	memcpy(uc->uc_mcontext.regs, r->regs, sizeof(r->regs));
	uc->uc_mcontext.sp = r->sp;
	uc->uc_mcontext.pc = r->pc;
	uc->uc_mcontext.pstate = r->pstate;
	return save_fp(t, &uc->uc_mcontext);
}

static struct hv_err *fill_image(const struct hv_thread *t, const struct hv_call_code *code,
				 struct hv_call_image *image)
{
	struct hv_err *err;

	if (!get_regs(t, &image->regs) || !may_be_used(t, &image->regs) ||
	    image->regs.pc == code->syscall_ret)
		return hv_err_new(EBUSY, "thread %d is not at the end of a system call",
				  (int)t->tid);
	err = hv_arm64_check_sets(t, get_set);
	image->data_at = (image->regs.sp - HV_CALL_DATA_MAX) & ~(uint64_t)(STACK_ALIGN - 1);
	image->frame_at = (image->data_at - sizeof(image->frame)) & ~(uint64_t)(STACK_ALIGN - 1);
	return err ? err : fill_frame(t, image);
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

	for (unsigned i = 0; i < HV_CALL_ARGS; i++)
		r.regs[i] = args[i];
	r.regs[X_NUMBER] = (uint64_t)nr;
	r.regs[X_LINK] = code->sigreturn;
	r.pc = code->syscall_ret;
	r.sp = image->frame_at;
	r.pstate &= ~PSTATE_BTYPE;
	if (!set_regs(t, &r))
		return hv_err_new(errno, "thread %d: its registers cannot be set: %s", (int)t->tid,
				  strerror(errno));
	*ret_end = (struct hv_call_at){r.pc + INSN_BYTES, r.sp};
	return NULL;
}

static bool same_regs(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	bool same = a->sp == b->sp && a->pc == b->pc && a->pstate == b->pstate;

	for (unsigned i = 0; same && i < NR_X; i++)
		same = i == X_CHANGED || a->regs[i] == b->regs[i];
	return same;
}

struct hv_call_at hv_call_from(const struct hv_call_image *image)
{
	return (struct hv_call_at){image->regs.pc, image->regs.sp};
}

bool hv_call_look(const struct hv_thread *t, const struct hv_call_image *image,
		  struct hv_call_at *ret, bool *ret_same)
{
	struct user_regs_struct now;

	if (!get_regs(t, &now))
		return false;
	*ret = (struct hv_call_at){now.pc, now.sp};
	*ret_same = same_regs(&now, &image->regs);
	return true;
}

/* Stops the thread once more, so that all its registers are valid. */
struct hv_err *hv_call_settle(struct hv_thread *t, uint64_t deadline_ns)
{
	return hv_thread_settle(t, deadline_ns);
}
