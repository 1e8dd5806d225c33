/* What the guest runs, x86-64. The params stand HV_STUBS_CODE_OFF before the first byte of this code
 * (ringbuf/abi.h); everything else is relative to %rip, so the bytes work wherever they are put.
 *
 * A stub is entered by the call that replaced a function's entry nop. It calls nothing, takes no
 * lock, loops never and needs 48 bytes of stack, so it is safe in any context the kernel itself
 * traces, NMI included. %r10, %r11 and the flags are free at a function's entry: the kernel's own
 * ftrace_caller saves neither (save_mcount_regs, arch/x86/kernel/ftrace_64.S).
 *
 *      on entry                        after the pushes
 *       8(%rsp)  caller's return        32(%rsp)
 *       0(%rsp)  site + 5               24(%rsp)
 *                                       16(%rsp)  saved %rax
 *                                        8(%rsp)  saved %rcx
 *                                        0(%rsp)  saved %rdx
 */
#include "ringbuf/abi.h"

#define SITE_LEN 5
#define SITE_END 24 /* offsets from %rsp after the pushes */
#define CALLER	 32

	.text
	.globl	hv_stubs
hv_stubs:
	.set	params, hv_stubs - HV_STUBS_CODE_OFF

/* In:  %r10 cpu, %rcx its state. Out: %r10 the record's place, %rcx the lap bit in bit 63.
 * Clobbers %rax, %rdx. */
.macro reserve_record
	movl	$1, %eax
	lock xaddq %rax, HV_STATE_HEAD(%rcx)
	movl	params + HV_PARAM_RING_SHIFT(%rip), %ecx
	shlq	%cl, %r10
	addq	params + HV_PARAM_RINGS(%rip), %r10
	movq	%rax, %rdx
	andq	params + HV_PARAM_SLOT_MASK(%rip), %rdx
	shlq	$HV_RECORD_SHIFT, %rdx
	addq	%rdx, %r10
	movl	params + HV_PARAM_LAP_SHIFT(%rip), %ecx
	shrq	%cl, %rax
	notq	%rax
	shlq	$HV_LAP_BIT, %rax
	movq	%rax, %rcx
.endm

/* word N := REG with the lap bit of %rcx in place of its own bit 63. Clobbers REG. */
.macro store_word n, reg
	btrq	$HV_LAP_BIT, \reg
	orq	%rcx, \reg
	movq	\reg, 8*\n(%r10)
.endm

.macro store_tsc
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	store_word 0, %rax
.endm

/* REG := the field of the task in %r11 at the offset in PARAM. LOAD chooses the width. */
.macro task_field load, param, reg, reg64
	movl	params + \param(%rip), \reg
	\load	(%r11,\reg64), \reg
.endm

	.globl	hv_stub_function
hv_stub_function:
	pushq	%rax
	pushq	%rcx
	pushq	%rdx

	movq	params + HV_PARAM_CURRENT(%rip), %rax
	movq	%gs:(%rax), %r11
	cmpl	$0, params + HV_PARAM_MODE(%rip)
	jne	.Lchecks
.Lchecked:
	movq	params + HV_PARAM_CPU_NUMBER(%rip), %rax
	movl	%gs:(%rax), %r10d
	cmpl	params + HV_PARAM_NR_CPUS(%rip), %r10d
	jae	.Lout
	movl	%r10d, %ecx
	shlq	$HV_STATE_SHIFT, %rcx
	addq	params + HV_PARAM_STATES(%rip), %rcx

	task_field movl, HV_PARAM_TASK_PID, %eax, %rax
	cmpl	HV_STATE_LAST_PID(%rcx), %eax
	jne	.Lother_task
.Lsame_task:
	reserve_record
	store_tsc

	movl	SITE_END(%rsp), %eax
	subl	$SITE_LEN, %eax
	movq	CALLER(%rsp), %rdx
	shlq	$32, %rdx
	orq	%rdx, %rax
	store_word 1, %rax

	task_field movzbl, HV_PARAM_TASK_MIGRATE, %edx, %rdx
	andl	params + HV_PARAM_MIGRATE_MASK(%rip), %edx
	shll	$16, %edx
	task_field movzwl, HV_PARAM_TASK_FLAGS, %eax, %rax
	orl	%eax, %edx
	shlq	$32, %rdx
	task_field movl, HV_PARAM_TASK_PID, %eax, %rax
	orq	%rax, %rdx
	store_word 2, %rdx

	movq	params + HV_PARAM_PREEMPT_COUNT(%rip), %rax
	movl	%gs:(%rax), %edx
	pushfq
	popq	%rax
	movzwl	%ax, %eax
	orl	$HV_RECORD_FUNCTION << (HV_RECORD_KIND_SHIFT - 32), %eax
	shlq	$32, %rax
	orq	%rax, %rdx
	store_word 3, %rdx

.Lout:
	popq	%rdx
	popq	%rcx
	popq	%rax
	.globl	hv_stub_return_0
hv_stub_return_0: /* five bytes that arch->place_return fills */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

/* The mode is not 0: off, or only some pids. */
.Lchecks:
	testl	$HV_MODE_OFF, params + HV_PARAM_MODE(%rip)
	jne	.Lout
	task_field movl, HV_PARAM_TASK_PID, %eax, %rax
	cmpl	params + HV_PARAM_NR_PIDS(%rip), %eax
	jae	.Lout
	movq	params + HV_PARAM_PIDS(%rip), %rcx
	btl	%eax, (%rcx)
	jc	.Lchecked
	jmp	.Lout

/* The first record of %eax (pid) on this vCPU after another's: who it is goes before it. */
.Lother_task:
	movl	%eax, HV_STATE_LAST_PID(%rcx)
	pushq	%rcx
	pushq	%r10
	reserve_record
	store_tsc

	movl	params + HV_PARAM_TASK_COMM(%rip), %eax
	movq	8(%r11,%rax), %rdx
	store_word 2, %rdx
	movq	(%r11,%rax), %rdx
	movq	%rdx, %rax
	store_word 1, %rdx

	shrq	$63, %rax
	shlq	$HV_TASK_COMM7_SHIFT, %rax
	btsq	$(HV_RECORD_KIND_SHIFT + 1), %rax /* HV_RECORD_TASK */
	task_field movl, HV_PARAM_TASK_PID, %edx, %rdx
	orq	%rdx, %rax
	store_word 3, %rax

	popq	%r10
	popq	%rcx
	jmp	.Lsame_task

	.globl	hv_stubs_end
hv_stubs_end:
	.section .note.GNU-stack, "", @progbits
