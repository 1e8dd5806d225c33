/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Actions: trampolines of functions that switch recording on or off when they are called (traceon,
 * traceoff), that change the pid filter, whose calls are recorded with a stack, with registers or
 * for the host, or that record the deepest stack. Included by trampolines.S.
 *
 * The site of such a function calls one of HV_NR_ACTION_GROUPS entries. An entry loads its number
 * into %r10d and jumps to the common code. The action group of that number (struct hv_action_group,
 * in the page of the params) contains the actions and the next trampoline. The mode and the counts
 * of counted actions are in the control block, which the guest can write. The next trampoline finds
 * the stack and registers as if the site had called it.
 *
 *      on entry and on leaving
 *       8(%rsp)  caller's return
 *       0(%rsp)  site + 5 */
#define RECORDED                                                                                   \
	(HV_DOES_STACK | HV_DOES_STACK_COUNTED | HV_DOES_REPORT | HV_DOES_REPORT_COUNTED)

/* If the count LEFT(%r10) is above 0, decrements it and sets DOES in %ecx, else jumps to OUT.
 * Clobbers %r11. */
.macro count left, does, out
	cmpl	$0, \left(%r10)
	jle	\out
	movl	$-1, %r11d
	lock xaddl %r11d, \left(%r10)
	testl	%r11d, %r11d
	jg	1f
	lock incl \left(%r10)
	jmp	\out
1:	orl	$\does, %ecx
.endm

	.globl	hv_trampoline_actions
hv_trampoline_actions:
	.set	number, 0
	.rept	HV_NR_ACTION_GROUPS
	.byte	0x41, 0xba /* movl $number, %r10d: fixed length */
	.long	number
	.byte	0xe9 /* jmp: fixed length */
	.long	.Lact - . - 4
	.set	number, number + 1
	.endr

.Lact: /* %rax := the action group, %r10 := its counts */
	leaq	hole_params + HV_ACTION_GROUPS_OFF(,%r10,HV_GROUP_LEN), %rax
	shll	$HV_LEFT_SHIFT, %r10d
	leaq	hole_control + HV_CONTROL_LEFT(%r10), %r10

	testl	$HV_DOES_ON, HV_GROUP_DOES(%rax)
	jz	.Lact_counted_on
	testl	$HV_MODE_OFF, MODE
	jz	.Lact_counted_on
	lock andl $~HV_MODE_OFF, MODE
.Lact_counted_on:
	testl	$HV_DOES_ON_COUNTED, HV_GROUP_DOES(%rax)
	jz	.Lact_off
	cmpl	$0, HV_LEFT_ON(%r10)
	jle	.Lact_off
	lock btrl $HV_MODE_OFF_BIT, MODE
	jnc	.Lact_off
	lock decl HV_LEFT_ON(%r10)
.Lact_off:
	testl	$HV_DOES_OFF, HV_GROUP_DOES(%rax)
	jz	.Lact_counted_off
	testl	$HV_MODE_OFF, MODE
	jnz	.Lact_counted_off
	lock orl $HV_MODE_OFF, MODE
.Lact_counted_off:
	testl	$HV_DOES_OFF_COUNTED, HV_GROUP_DOES(%rax)
	jz	.Lact_tasks
	cmpl	$0, HV_LEFT_OFF(%r10)
	jle	.Lact_tasks
	lock btsl $HV_MODE_OFF_BIT, MODE
	jc	.Lact_tasks
	lock decl HV_LEFT_OFF(%r10)

.Lact_tasks:
	testl	$(HV_DOES_PID_INHERITS | HV_DOES_PID_CLEARS | HV_DOES_PID_SETS), HV_GROUP_DOES(%rax)
	jnz	.Lact_task

.Lact_go_on:
	testl	$(RECORDED | HV_DOES_REGS | HV_DOES_DEEPEST), HV_GROUP_DOES(%rax)
	jnz	.Lact_recorded
.Lact_next:
	movl	HV_GROUP_GOES_ON(%rax), %r10d
	testl	%r10d, %r10d
	jz	.Lact_leave
	leaq	hole_params(%r10), %r10
	pushq	%r10
.Lact_leave:
	.globl	hv_trampoline_return_5
hv_trampoline_return_5: /* to the next trampoline, or into the function */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

/* Changes the bit of the task at %rdi in the pid bitmap. */
.Lact_task:
	movl	hole_task_pid(%rdi), %r10d
	cmpl	$hole_nr_pids, %r10d
	jae	.Lact_go_on
	testl	$HV_DOES_PID_CLEARS, HV_GROUP_DOES(%rax)
	jnz	.Lact_task_clear
	testl	$HV_DOES_PID_INHERITS, HV_GROUP_DOES(%rax)
	jz	.Lact_task_set
	movq	%gs:hole_current, %r11
	movl	hole_task_pid(%r11), %r11d
	cmpl	$hole_nr_pids, %r11d
	jae	.Lact_go_on
	btl	%r11d, hole_pids
	jnc	.Lact_task_clear
.Lact_task_set:
	lock btsl %r10d, hole_pids
	jmp	.Lact_go_on
.Lact_task_clear:
	lock btrl %r10d, hole_pids
	jmp	.Lact_go_on

/* Actions that write records. %ecx collects the actions to do for this call. A count is decremented
 * before it is tested, and incremented again if it was used up, so only one vCPU gets the last
 * action. In: %rax the action group. */
.Lact_recorded:
	testl	$HV_DOES_REGS, HV_GROUP_DOES(%rax)
	jnz	.Lact_regs
.Lact_regs_done:
	testl	$(RECORDED | HV_DOES_DEEPEST), HV_GROUP_DOES(%rax)
	jz	.Lact_next
	testl	$RECORDED, HV_GROUP_DOES(%rax)
	jz	.Lact_only_depth
	movq	%rax, %r10
	subq	$hole_params + HV_ACTION_GROUPS_OFF, %r10
	imull	$(1 << HV_LEFT_SHIFT) / HV_GROUP_LEN, %r10d, %r10d
	leaq	hole_control + HV_CONTROL_LEFT(%r10), %r10
	pushq	%rcx
	movl	HV_GROUP_DOES(%rax), %ecx
	andl	$HV_DOES_REPORT, %ecx
	testl	$HV_MODE_SILENT, MODE
	jnz	.Lact_report_counted
	testl	$HV_DOES_STACK, HV_GROUP_DOES(%rax)
	jz	.Lact_stack_counted
	orl	$HV_DOES_STACK, %ecx
.Lact_stack_counted:
	testl	$HV_DOES_STACK_COUNTED, HV_GROUP_DOES(%rax)
	jz	.Lact_report_counted
	count	HV_LEFT_STACK, HV_DOES_STACK, .Lact_report_counted
.Lact_report_counted:
	testl	$HV_DOES_REPORT_COUNTED, HV_GROUP_DOES(%rax)
	jz	.Lact_record
	count	HV_LEFT_REPORT, HV_DOES_REPORT, .Lact_record
.Lact_record:
	movl	%ecx, %r11d
	popq	%rcx
	testl	$HV_DOES_DEEPEST, HV_GROUP_DOES(%rax)
	jnz	.Lact_depth
.Lact_depth_done:
	movl	HV_GROUP_GOES_ON(%rax), %r10d
	testl	%r10d, %r10d
	jz	1f
	leaq	hole_params(%r10), %r10
1:	testl	$(HV_DOES_STACK | HV_DOES_REPORT), %r11d
	jz	2f
	orl	$FROM_COMMAND, %r11d
	pushq	%r10
	pushq	%r11
	jmp	.Lstack_action
2:	testq	%r10, %r10
	jz	.Lact_leave
	pushq	%r10
	jmp	.Lact_leave

/* Stack depth: the distance from the word of the stack with site + 5, the first that the kernel's
 * stack tracer shows, to the end of the task's stack. On other stacks the result is larger than a
 * stack, or negative. %r11d contains the actions to do for this call.
 *
 * If a call that began before a deeper one stores its depth after it, the maximum becomes smaller
 * again. Then more calls than necessary are recorded, and the host selects the deepest. */
.Lact_only_depth:
	xorl	%r11d, %r11d
.Lact_depth:
	movq	%gs:hole_current, %r10
	movq	hole_task_stack(%r10), %r10
	addq	$hole_stack_bytes, %r10
	subq	%rsp, %r10
	cmpq	hole_control + HV_CONTROL_DEEPEST, %r10
	jbe	.Lact_depth_done
	cmpq	$hole_stack_bytes, %r10
	ja	.Lact_depth_done
	movq	%r10, hole_control + HV_CONTROL_DEEPEST
	orl	$FROM_DEEPEST, %r11d
	btsl	$HV_DOES_STACK_BIT, %r11d
	jc	.Lact_depth_done
	orl	$FROM_EVENT, %r11d
	jmp	.Lact_depth_done
