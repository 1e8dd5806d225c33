/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries for all calls except the three most frequent ones, which have separate trampolines
 * (hv_call_off() in arch/arch.h), and how some functions of the scheduler change return stacks.
 * Included by trampolines.S; graph.S shows the stack.
 *
 * There is one entry for each role of a function (HV_ROLE_*), each way to trace it (HV_TRACE_*),
 * and with and without profiling. All entries have the same length; they differ in the kind.
 * Depending on the kind, the common code handles the role, writes the record of the function
 * tracer, counts the call, and continues in the graph. */

.macro call_entry kind
	bti	c
	mov	w10, #(\kind)
	b	.Lcall
.endm

	.balign	64
	.globl	hv_trampoline_calls
hv_trampoline_calls:
	.irp	role, 0, NEW_TASK, LEAVES, ARRIVES
	call_entry \role | UNTRACED
	call_entry \role | UNTRACED | FUNCTION
	call_entry \role
	call_entry \role | HV_FRAME_ROOT
	call_entry \role | HV_FRAME_MUTES
	call_entry \role | FUNCTION
	call_entry \role | UNTRACED | HV_FRAME_PROFILED
	call_entry \role | UNTRACED | FUNCTION | HV_FRAME_PROFILED
	call_entry \role | HV_FRAME_PROFILED
	call_entry \role | HV_FRAME_ROOT | HV_FRAME_PROFILED
	call_entry \role | HV_FRAME_MUTES | HV_FRAME_PROFILED
	call_entry \role | FUNCTION | HV_FRAME_PROFILED
	.endr
	.globl	hv_trampoline_calls_end
hv_trampoline_calls_end:

.Lcall:
	save_arguments
	mov	KIND, w10
	test_bits KIND, ROLES
	b.ne	.Lrole
.Lrole_done:
	tst	KIND, #FUNCTION
	b.ne	.Lcall_function
.Lcall_recorded:
	tst	KIND, #HV_FRAME_PROFILED
	b.ne	.Lprofile
.Lcall_counted:
	tst	KIND, #UNTRACED
	b.ne	.Lgraph_skipped
	b	.Lgraph

/* Like hv_trampoline_function. */
.Lcall_function:
	load_mode w10
	cbnz	w10, .Lcall_checks
.Lcall_checked:
	load_vcpu
	ldr	w12, [x10, :lo12:hole_task_pid]
	ldr	w13, [x11, #HV_STATE_LAST_PID]
	cmp	w12, w13
	b.ne	.Lcall_other_task
.Lcall_same_task:
	write_function_record
	b	.Lcall_recorded
.Lcall_checks:
	check_mode .Lcall_checked, .Lcall_recorded
.Lcall_other_task:
	write_task_record
	b	.Lcall_same_task

/* With options/sleep-time 0, the time from LEAVES to ARRIVES does not count for open calls. If a
 * task continues without leaving the CPU, it reaches LEAVES again before it does leave, and the
 * later time counts. */
.Lrole:
	find_stack
	lookup	.Lrole_found
	b	.Lrole_done
.Lrole_found:
	tst	KIND, #NEW_TASK
	b.ne	.Lnew_task
	ands	FRAME, x11, #HV_STACK_NR_MASK
	b.eq	.Lrole_done
	cmp	FRAME, #NR_MAX
	b.hi	.Lrole_done
	read_clock x12
	tst	KIND, #LEAVES
	b.eq	.Larrives
	str	x12, [STACK, #HV_STACK_LEFT]
	b	.Lrole_done
.Larrives:
	ldr	x13, [STACK, #HV_STACK_LEFT]
	str	xzr, [STACK, #HV_STACK_LEFT]
	cbz	x13, .Lrole_done
	subs	x12, x12, x13
	b.ls	.Lrole_done
	add	x14, STACK, #(HV_STACK_FRAMES - HV_FRAME_LEN + HV_FRAME_TSC)
1:	ldr	x13, [x14, FRAME]
	add	x13, x13, x12
	str	x13, [x14, FRAME]
	subs	FRAME, FRAME, #NR_ONE
	b.hi	1b
	b	.Lrole_done

/* The first function that each new task calls (ret_from_fork, arch/arm64/kernel/entry.S). All
 * frames of its stack belong to a task that died in those calls. They are dropped last, after the
 * other fields have the values of a return stack without frames. */
.Lnew_task:
	ands	FRAME, x11, #HV_STACK_NR_MASK
	b.eq	.Lrole_done
	mov	w10, #HIGH_KIND(HV_RECORD_ENTRY)
	str	w10, [STACK, #HV_STACK_DEPTH]
	str	wzr, [STACK, #HV_STACK_INSIDE]
	str	xzr, [STACK, #HV_STACK_MUTED] /* and HV_STACK_STOPPED */
	str	wzr, [STACK, #HV_STACK_ABOVE]
	str	xzr, [STACK, #HV_STACK_LEFT]
	str	xzr, [STACK, #HV_STACK_OWN]
	ldr	w10, [STACK, #HV_STACK_OVERRUN]
	mov	x12, KEY
	cbz	w10, 1f
	orr	x12, KEY, #HV_STACK_SLOW
1:	stlr	x12, [STACK]
	b	.Lrole_done
