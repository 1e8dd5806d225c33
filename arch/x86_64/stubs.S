/* The code that the guest runs, for x86-64, and the stub of the function tracer. The params are
 * HV_STUBS_CODE_OFF bytes before the first byte of this code (ringbuf/abi_flags.h). All addresses
 * are relative to %rip, so the code works at any address.
 *
 * A function whose entry nop was replaced calls a stub. This stub calls nothing, takes no lock, has
 * no loop and needs 48 bytes of stack. It is therefore safe in every context that the kernel itself
 * traces, including NMIs. %r10, %r11 and the flags are free at a function's entry: the kernel's own
 * ftrace_caller does not save them either (save_mcount_regs, arch/x86/kernel/ftrace_64.S).
 *
 *      on entry                        after the pushes
 *       8(%rsp)  caller's return        32(%rsp)
 *       0(%rsp)  site + 5               24(%rsp)
 *                                       16(%rsp)  saved %rax
 *                                        8(%rsp)  saved %rcx
 *                                        0(%rsp)  saved %rdx
 *
 * The other files: graph.S records a call and its return, profile.S counts them, and calls.S has
 * the entries of both. stack.S records stacks. actions.S switches recording and tells the host
 * about calls. yield.S is not called from sites.
 */
#include "arch/x86_64/stub_macros.inc"

#define SITE_END 24 /* offsets from %rsp after the pushes */
#define CALLER	 32

/* Writes a function record. SITE_END and CALLER are offsets from %rsp. In: %r11 the current task,
 * %r10 cpu, %rcx its state. Clobbers %rax, %rcx, %rdx, %r10. */
.macro write_function_record site_end, caller
	reserve_record
	store_tsc

	movl	\site_end(%rsp), %eax
	subl	$SITE_LEN, %eax
	movq	\caller(%rsp), %rdx
	shlq	$32, %rdx
	orq	%rdx, %rax
	store_word 1, %rax
	store_task_word
	load_context HV_RECORD_FUNCTION
	shlq	$32, %rax
	orq	%rax, %rdx
	store_word 3, %rdx
.endm

	.text
	.globl	hv_stubs
hv_stubs:
	.set	params, hv_stubs - HV_STUBS_CODE_OFF

	.globl	hv_stub_function
hv_stub_function:
	pushq	%rax
	pushq	%rcx
	pushq	%rdx

	load_current
	test_mode
	jne	.Lchecks
.Lchecked:
	load_state .Lout
	task_field movl, HV_PARAM_TASK_PID, %eax, %rax
	cmpl	HV_STATE_LAST_PID(%rcx), %eax
	jne	.Lother_task
.Lsame_task:
	write_function_record SITE_END, CALLER

.Lout:
	popq	%rdx
	popq	%rcx
	popq	%rax
	.globl	hv_stub_return_0
hv_stub_return_0: /* arch->place_return fills these five bytes */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

/* The mode is not 0. */
.Lchecks:
	check_mode .Lchecked, .Lout

/* The last record on this vCPU was another task's, so a task record of this one comes first. */
.Lother_task:
	write_task_record
	jmp	.Lsame_task

#undef SITE_END
#undef CALLER
#include "arch/x86_64/graph.S"
#include "arch/x86_64/calls.S"
#include "arch/x86_64/profile.S"
#undef SITE_END
#undef SLOT
#include "arch/x86_64/stack.S"
#include "arch/x86_64/actions.S"
#include "arch/x86_64/yield.S"

	.globl	hv_stubs_end
hv_stubs_end:
	.section .note.GNU-stack, "", @progbits
