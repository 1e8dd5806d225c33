/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes records show a task's new name. After the kernel has changed a task's name,
 * __set_task_comm() calls perf_event_comm(task, exec). During a session, it calls this code
 * instead. If the last record of a vCPU belongs to that task, this code clears that information, so
 * that the next record of the task is preceded by a task record with the new name. This does not
 * slow down other records. Included by trampolines.S.
 *
 * The code ends with a jump to perf_event_comm(), so no address in the region is on the stack.
 *
 *      on entry and on leaving
 *       0(%rsp)  caller's return */
	.globl	hv_trampoline_rename
hv_trampoline_rename:
	lock orl $0, (%rsp) /* write the name to memory before the first last_pid is read */
	movl	hole_task_pid(%rdi), %eax
	xorl	%ecx, %ecx
1:	movq	hole_vcpus(,%rcx,8), %rdx
	cmpl	%eax, HV_STATE_LAST_PID(%rdx)
	jne	2f
	movl	$0, HV_STATE_LAST_PID(%rdx)
2:	incl	%ecx
	cmpl	$hole_nr_cpus, %ecx
	jb	1b
	pushq	$hole_renamed
	.globl	hv_trampoline_return_22
hv_trampoline_return_22: /* to perf_event_comm() */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc
