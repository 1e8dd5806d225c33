/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the records of a task that has another name now begin with a task record again. After the
 * kernel has written a task's name, __set_task_comm() calls perf_event_comm(task, exec). While a
 * session lasts, it calls this code instead, which forgets on every vCPU that the task's record was
 * the last one written. So the next record of that task, on whichever vCPU, is preceded by one with
 * the new name, and no record costs more. Included by stubs.S.
 *
 * The code leaves by a jump to perf_event_comm(), so no address of ours is on the stack.
 *
 *      on entry and on leaving
 *       0(%rsp)  caller's return
 */
	.globl	hv_stub_rename
hv_stub_rename:
	lock orl $0, (%rsp) /* the name is in memory before the first last_pid is read */
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
	.globl	hv_stub_return_22
hv_stub_return_22: /* to perf_event_comm() */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc
