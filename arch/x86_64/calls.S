/* The entries for the graph, the profile and the functions of the scheduler that return stacks
 * depend on. Included by stubs.S; graph.S has pictures of the stack.
 *
 * There is one entry for each role of a function (HV_ROLE_*) and each way to trace it
 * (arch/arch.h). All entries have the same length. They differ in the kind that they load into
 * %r10d and in where they jump.
 */
/* Bits of a kind, in addition to HV_FRAME_* */
#define NEW_TASK 0x100	/* a new task begins: drop the frames that its stack had before */
#define LEAVES	 0x200	/* the task is about to leave the CPU */
#define ARRIVES	 0x400	/* the task is back on a CPU */
#define FUNCTION 0x800	/* write a record of the function tracer */
#define UNTRACED 0x1000 /* the call is not part of a graph */
#define ROLES	 (NEW_TASK | LEAVES | ARRIVES)
#define KEPT_MAX 8 /* frames that a new task can have of its own when it calls NEW_TASK */

.macro call_entry kind, to
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	movl	$(\kind), %r10d
	.byte	0xe9 /* jmp: always as long as this */
	.long	\to - . - 4
.endm

	.globl	hv_stub_calls
hv_stub_calls:
	.irp	role, 0, NEW_TASK, LEAVES, ARRIVES
	call_entry \role | UNTRACED, .Lcall
	call_entry \role | UNTRACED | FUNCTION, .Lcall
	.ifc	\role, 0
	call_entry 0, .Lgraph
	call_entry HV_FRAME_ROOT, .Lgraph
	call_entry HV_FRAME_MUTES, .Lgraph
	.else
	call_entry \role, .Lcall
	call_entry \role | HV_FRAME_ROOT, .Lcall
	call_entry \role | HV_FRAME_MUTES, .Lcall
	.endif
	call_entry \role | UNTRACED | HV_FRAME_PROFILED, .Lcall
	call_entry \role | UNTRACED | FUNCTION | HV_FRAME_PROFILED, .Lcall
	call_entry \role | HV_FRAME_PROFILED, .Lcall
	call_entry \role | HV_FRAME_ROOT | HV_FRAME_PROFILED, .Lcall
	call_entry \role | HV_FRAME_MUTES | HV_FRAME_PROFILED, .Lcall
	.endr
	.globl	hv_stub_calls_end
hv_stub_calls_end:

.Lcall:
	testl	$ROLES, %r10d
	jnz	.Lrole
.Lrole_done:
	testl	$FUNCTION, %r10d
	jnz	.Lfunction
.Lfunction_done:
	testl	$HV_FRAME_PROFILED, %r10d
	jnz	.Lprofile
.Lprofile_done:
	btl	$12, %r10d /* UNTRACED */
	movzbl	%r10b, %r10d
	jc	.Lgraph_left_out
	jmp	.Lgraph

/* The same as hv_stub_function. */
.Lfunction:
	pushq	%r10
	load_current
	test_mode
	jne	.Lfunction_checks
.Lfunction_checked:
	load_state .Lfunction_out
	task_field movl, HV_PARAM_TASK_PID, %eax, %rax
	cmpl	HV_STATE_LAST_PID(%rcx), %eax
	je	1f
	write_task_record
1:	write_function_record SITE_END + 8, SLOT + 8
.Lfunction_out:
	popq	%r10
	jmp	.Lfunction_done
.Lfunction_checks:
	check_mode .Lfunction_checked, .Lfunction_out

/* With options/sleep-time 0, the time from LEAVES to ARRIVES does not count in the calls that are
 * open. A task may go on without leaving the CPU; it then comes to LEAVES again before it does
 * leave, and the later time counts. */
.Lrole:
	testl	$NEW_TASK, %r10d
	jnz	.Lnew_task
	find_stack .Lrole_done
	probe	.Lrole_found
	jmp	.Lrole_done
.Lrole_found:
	movl	%eax, %edi
	andl	$HV_STACK_NR_MASK, %edi
	jz	.Lrole_done
	cmpl	$HV_FRAMES_MAX, %edi
	ja	.Lrole_done
	read_tsc
	testl	$LEAVES, %r10d
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
	shll	$HV_FRAME_SHIFT, %edi
1:	addq	%rax, HV_STACK_FRAMES - HV_FRAME_LEN + HV_FRAME_TSC(%rsi,%rdi)
	subl	$HV_FRAME_LEN, %edi
	jnz	1b
	jmp	.Lrole_done

/* The first function that every new task calls, while interrupts are off. The frames of its stack
 * belong to a task that died in those calls, except the last ones, as long as their slots ascend
 * from this call's slot and hold the address of our handler: these are the new task's own
 * (ret_from_fork is C since 6.6). The code keeps these and drops the others. */
.Lnew_task:
	leaq	SLOT(%rsp), %r11
	find_address %r11
	find_home
	probe	.Lnew_task_found
	jmp	.Lrole_done
.Lnew_task_found:
	andl	$HV_STACK_NR_MASK, %eax
	jz	.Lrole_done
	pushq	%r8
	pushq	%r9
	movl	params + HV_PARAM_STACK_BYTES(%rip), %r8d
	addq	%rcx, %r8 /* the stack's end */
	leaq	HV_STACK_FRAMES(%rsi), %r9
	shll	$HV_FRAME_SHIFT, %eax
	leaq	(%r9,%rax), %rdi
	leaq	.Lgraph_handler(%rip), %rcx
	xorl	%edx, %edx
.Lnew_task_look: /* %rdi behind the frame to look at, %edx frames to keep, %r11 the last slot */
	subq	$HV_FRAME_LEN, %rdi
	cmpq	%r9, %rdi
	jb	.Lnew_task_keep
	movq	HV_FRAME_SLOT(%rdi), %rax
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
	movl	$0, HV_STACK_DEPTH(%rsi)
	movl	$0, HV_STACK_INSIDE(%rsi)
	movq	$0, HV_STACK_MUTED(%rsi)
	movl	$0, HV_STACK_ABOVE(%rsi)
	movq	$0, HV_STACK_LEFT(%rsi)
	movq	$0, HV_STACK_OWN(%rsi)
	.irp	nr, 0, 1, 2, 3, 4, 5, 6, 7 /* KEPT_MAX of them */
	movq	$0, HV_STACK_SUMS + 8*\nr(%rsi)
	.endr
	movl	%edx, %r8d
.Lnew_task_move: /* move %r8d frames, the first of them behind %rdi, to %r9 */
	testl	%r8d, %r8d
	jz	.Lnew_task_moved
	addq	$HV_FRAME_LEN, %rdi
	.irp	off, 0, 8, 16, 24
	movq	\off(%rdi), %rax
	movq	%rax, \off(%r9)
	.endr
	movl	HV_FRAME_FLAGS(%r9), %eax
	movl	%eax, %ecx
	andl	$HV_FRAME_ROOT, %eax
	addl	%eax, HV_STACK_INSIDE(%rsi)
	andl	$HV_FRAME_MUTES, %ecx
	addl	%ecx, HV_STACK_MUTED(%rsi)
	addq	$HV_FRAME_LEN, %r9
	decl	%r8d
	jmp	.Lnew_task_move
.Lnew_task_moved:
	shrl	$1, HV_STACK_MUTED(%rsi)
	movq	HV_STACK_WORD(%rsi), %rax
	andq	$ADDRESS_MASK, %rax
	orq	%rdx, %rax
	movq	%rax, HV_STACK_WORD(%rsi)
	popq	%r9
	popq	%r8
	jmp	.Lrole_done
