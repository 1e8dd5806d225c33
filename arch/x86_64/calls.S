/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries for all calls except the three most frequent ones, which have separate trampolines
 * (hv_call_off() in arch/arch.h), and how some functions of the scheduler change return stacks.
 * Included by trampolines.S; graph.S shows the stack.
 *
 * There is one entry for each role of a function (HV_ROLE_*), each way to trace it (HV_TRACE_*),
 * and with and without profiling. All entries have the same length; they differ in the kind that
 * they push. Depending on the kind, the common code handles the role, writes the record of the
 * function tracer, counts the call, and continues in the graph. */
#define KEPT_MAX 8 /* maximum number of frames of a new task when it calls NEW_TASK */

.macro call_entry kind, to
	.byte	0x68 /* pushq: fixed length */
	.long	\kind
	.byte	0xe9 /* jmp */
	.long	\to - . - 4
.endm

	.globl	hv_trampoline_calls
hv_trampoline_calls:
	.irp	role, 0, NEW_TASK, LEAVES, ARRIVES
	call_entry \role | UNTRACED, .Lcall
	call_entry \role | UNTRACED | FUNCTION, .Lcall
	call_entry \role, .Lcall
	call_entry \role | HV_FRAME_ROOT, .Lcall
	call_entry \role | HV_FRAME_MUTES, .Lcall
	call_entry \role | FUNCTION, .Lcall
	call_entry \role | UNTRACED | HV_FRAME_PROFILED, .Lcall
	call_entry \role | UNTRACED | FUNCTION | HV_FRAME_PROFILED, .Lcall
	call_entry \role | HV_FRAME_PROFILED, .Lcall
	call_entry \role | HV_FRAME_ROOT | HV_FRAME_PROFILED, .Lcall
	call_entry \role | HV_FRAME_MUTES | HV_FRAME_PROFILED, .Lcall
	call_entry \role | FUNCTION | HV_FRAME_PROFILED, .Lcall
	.endr
	.globl	hv_trampoline_calls_end
hv_trampoline_calls_end:

.Lcall:
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	testl	$(ROLES | FUNCTION | HV_FRAME_PROFILED), KIND(%rsp)
	jz	.Lcall_counted
	testl	$ROLES, KIND(%rsp)
	jnz	.Lrole
.Lrole_done:
	testl	$FUNCTION, KIND(%rsp)
	jnz	.Lcall_function
.Lcall_recorded:
	testl	$HV_FRAME_PROFILED, KIND(%rsp)
	jnz	.Lprofile
.Lcall_counted:
	testl	$UNTRACED, KIND(%rsp)
	jnz	.Lgraph_skipped
	jmp	.Lgraph

/* Like hv_trampoline_function. */
.Lcall_function:
	cmpl	$0, MODE
	jne	.Lcall_checks
.Lcall_checked:
	write_function_record RETP(%rsp), SITE_END(%rsp), .Lcall_same_task, .Lcall_other_task
	jmp	.Lcall_recorded
.Lcall_checks:
	check_mode .Lcall_checked, .Lcall_recorded
.Lcall_other_task:
	write_task_record
	jmp	.Lcall_same_task

/* With options/sleep-time 0, the time from LEAVES to ARRIVES does not count for open calls. If a
 * task continues without leaving the CPU, it reaches LEAVES again before it does leave, and the
 * later time counts. */
.Lrole:
	testl	$NEW_TASK, KIND(%rsp)
	jnz	.Lnew_task
	find_stack .Lrole_done
	lookup	.Lrole_found
	jmp	.Lrole_done
.Lrole_found:
	movl	%eax, %edi
	andl	$HV_STACK_NR_MASK, %edi
	jz	.Lrole_done
	cmpl	$NR_MAX, %edi
	ja	.Lrole_done
	testl	$HV_GRAPH_HOST, hole_params + HV_PARAM_GRAPH_FLAGS
	jnz	.Lrole_host
.Lrole_sleep:
	read_tsc
	testl	$LEAVES, KIND(%rsp)
	jz	.Larrives
	movq	%rax, HV_STACK_LEFT(%rsi)
	jmp	.Lrole_done
.Larrives:
	movq	HV_STACK_LEFT(%rsi), %rcx
	movq	$0, HV_STACK_LEFT(%rsi)
	testq	%rcx, %rcx
	jz	.Lrole_done
	subq	%rcx, %rax
	jbe	.Lrole_done
1:	addq	%rax, HV_STACK_FRAMES - HV_FRAME_LEN + HV_FRAME_TSC(%rsi,%rdi)
	subl	$NR_ONE, %edi
	ja	1b
	jmp	.Lrole_done

/* With options/funcgraph-host, the steal time of open calls excludes the time in which the task is
 * off its CPU. A task can return on another vCPU, whose steal time differs. If the steal time when
 * the task left is unknown, so is that of its open calls. */
.Lrole_host:
	load_steal
	shrq	$HV_STEAL_SHIFT, %rax
	incq	%rax
	testl	$LEAVES, KIND(%rsp)
	jz	1f
	movq	%rax, HV_STACK_LEFT_STEAL(%rsi)
	jmp	.Lrole_hosted
1:	movq	HV_STACK_LEFT_STEAL(%rsi), %rcx
	movq	$0, HV_STACK_LEFT_STEAL(%rsi)
	movl	%edi, %edx
	testq	%rcx, %rcx
	jz	.Lrole_forget
	subq	%rcx, %rax
	jz	.Lrole_hosted
1:	movl	%edx, %ecx
	shrl	$3, %ecx /* frame offset to steal time offset */
	addl	%eax, HV_STACK_STEALS - 4(%rsi,%rcx)
	subl	$NR_ONE, %edx
	ja	1b
.Lrole_hosted:
	testl	$HV_GRAPH_NO_SLEEP, hole_params + HV_PARAM_GRAPH_FLAGS
	jnz	.Lrole_sleep
	jmp	.Lrole_done
.Lrole_forget:
	andb	$~HV_FRAME_HOST, HV_STACK_FRAMES - HV_FRAME_LEN + HV_FRAME_FLAGS(%rsi,%rdx)
	subl	$NR_ONE, %edx
	ja	.Lrole_forget
	jmp	.Lrole_hosted

/* The first function that each new task calls, with interrupts off.
 *
 * The frames of its stack belong to a task that died in those calls, except the last ones, if their
 * retps ascend from this call's retp and contain the address of our handler: they belong to the new
 * task (ret_from_fork is C since 6.6). The code keeps these and drops the others, and all arguments
 * (HV_FRAME_ARGS). */
.Lnew_task:
	leaq	RETP(%rsp), %r11
	find_key %r11
	find_home %ecx
	leaq	STACKS(%rsi), %rsi
	lookup	.Lnew_task_found
	jmp	.Lrole_done
.Lnew_task_found:
	andl	$HV_STACK_NR_MASK, %eax
	jz	.Lrole_done
	pushq	%r8
	pushq	%r9
	movq	%rcx, %r8
	andq	$hole_stack_mask, %r8
	addq	$hole_stack_bytes, %r8 /* end of the stack */
	leaq	HV_STACK_FRAMES(%rsi), %r9
	leaq	(%r9,%rax), %rdi
	movq	$.Lgraph_handler, %rcx
	xorl	%edx, %edx
.Lnew_task_look: /* %rdi after the frame to check, %edx frames to keep, %r11 the last retp */
	subq	$HV_FRAME_LEN, %rdi
	cmpq	%r9, %rdi
	jb	.Lnew_task_keep
	movq	HV_FRAME_RETP(%rdi), %rax
	testq	%rax, %rax /* arguments */
	jz	.Lnew_task_look
	cmpq	%r11, %rax
	jbe	.Lnew_task_keep
	cmpq	%r8, %rax
	jae	.Lnew_task_keep
	cmpq	%rcx, (%rax)
	jne	.Lnew_task_keep
	movq	%rax, %r11
	incl	%edx
	cmpl	$KEPT_MAX, %edx
	jb	.Lnew_task_look
	subq	$HV_FRAME_LEN, %rdi
.Lnew_task_keep:
	movl	$HIGH_KIND(HV_RECORD_ENTRY), HV_STACK_DEPTH(%rsi)
	movl	$0, HV_STACK_INSIDE(%rsi)
	movq	$0, HV_STACK_MUTED(%rsi) /* and HV_STACK_STOPPED */
	movl	$0, HV_STACK_ABOVE(%rsi)
	movq	$0, HV_STACK_LEFT(%rsi)
	movq	$0, HV_STACK_LEFT_STEAL(%rsi)
	movq	$0, HV_STACK_OWN(%rsi)
	.irp	nr, 0, 1, 2, 3, 4, 5, 6, 7 /* KEPT_MAX of them */
	movq	$0, HV_STACK_SUMS + 8*\nr(%rsi)
	.endr
	movl	%edx, %r8d
.Lnew_task_move: /* move %r8d frames, which start after the frame at %rdi, to %r9 */
	testl	%r8d, %r8d
	jz	.Lnew_task_moved
	addq	$HV_FRAME_LEN, %rdi
	leaq	(HV_STACK_FRAMES + NR_MAX)(%rsi), %rax
	cmpq	%rax, %rdi /* the guest changed a frame concurrently */
	jae	.Lnew_task_moved
	cmpq	$0, HV_FRAME_RETP(%rdi)
	je	.Lnew_task_move
	.irp	off, 0, 8, 16, 24
	movq	\off(%rdi), %rax
	movq	%rax, \off(%r9)
	.endr
	andb	$~(HV_FRAME_HOST | HV_FRAME_ARGS), HV_FRAME_FLAGS(%r9)
	movzwl	HV_FRAME_FLAGS(%r9), %eax
	movl	%eax, %ecx
	andl	$HV_FRAME_ROOT, %eax
	addl	%eax, HV_STACK_INSIDE(%rsi)
	andl	$HV_FRAME_MUTES, %ecx
	addl	%ecx, HV_STACK_MUTED(%rsi)
	addq	$HV_FRAME_LEN, %r9
	decl	%r8d
	jmp	.Lnew_task_move
.Lnew_task_moved:
	shrl	$1, HV_STACK_MUTED(%rsi) /* the sum of HV_FRAME_MUTES, which has the value 2 */
	shll	$HV_FRAME_SHIFT, %edx
	movq	HV_STACK_WORD(%rsi), %rax
	andq	$~(HV_STACK_NR_MASK | HV_STACK_SLOW), %rax
	orq	%rdx, %rax
	cmpl	$0, HV_STACK_MUTED(%rsi)
	jne	1f
	cmpl	$0, HV_STACK_OVERRUN(%rsi)
	je	2f
1:	orq	$HV_STACK_SLOW, %rax
2:	movq	%rax, HV_STACK_WORD(%rsi)
	popq	%r9
	popq	%r8
	jmp	.Lrole_done
