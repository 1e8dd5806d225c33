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
	lui	t1, ((\kind) + 0x800) >> 12
	addi	t1, t1, ((\kind) & 0xfff) - (((\kind) & 0x800) << 1)
	j	.Lcall
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

.Lcall: /* t1 the kind */
	save_arguments
	mv	KIND, t1
	andi	t1, KIND, ROLES
	bnez	t1, .Lrole
.Lrole_done:
	slli	t1, KIND, SIGN_OF_FUNCTION
	bltz	t1, .Lcall_function
.Lcall_recorded:
	andi	t1, KIND, HV_FRAME_PROFILED
	bnez	t1, .Lcall_profile
.Lcall_counted:
	slli	t1, KIND, SIGN_OF_UNTRACED
	bltz	t1, .Lcall_untraced
	j	.Lgraph
.Lcall_untraced:
	j	.Lgraph_skipped
.Lcall_profile:
	j	.Lprofile

/* Like hv_trampoline_function. */
.Lcall_function:
	load_control lw, t1, HV_CONTROL_MODE
	bnez	t1, .Lcall_checks
.Lcall_checked:
	load_vcpu t1, t2
	load_task lw, t2, hole_task_pid
	lw	t3, HV_STATE_LAST_PID(t1)
	bne	t2, t3, .Lcall_other_task
.Lcall_same_task:
	write_function_record
	j	.Lcall_recorded
.Lcall_checks:
	check_mode .Lcall_checked, .Lcall_recorded
.Lcall_other_task:
	write_task_record
	j	.Lcall_same_task

/* With options/sleep-time 0, the time from LEAVES to ARRIVES does not count for open calls. If a
 * task continues without leaving the CPU, it reaches LEAVES again before it does leave, and the
 * later time counts. */
.Lrole:
	find_stack RETP
	lookup	.Lrole_found
	j	.Lrole_done
.Lrole_found:
	andi	t1, KIND, NEW_TASK
	bnez	t1, .Lnew_task
	frames_of FRAME, t2
	beqz	FRAME, .Lrole_done
	li	t1, NR_MAX
	bltu	t1, FRAME, .Lrole_done
	rdtime	t2
	andi	t1, KIND, LEAVES
	beqz	t1, .Larrives
	sd	t2, HV_STACK_LEFT(STACK)
	j	.Lrole_done
.Larrives:
	ld	t3, HV_STACK_LEFT(STACK)
	sd	zero, HV_STACK_LEFT(STACK)
	beqz	t3, .Lrole_done
	bgeu	t3, t2, .Lrole_done
	sub	t2, t2, t3
	add	t4, STACK, FRAME
1:	ld	t3, HV_STACK_FRAMES - HV_FRAME_LEN + HV_FRAME_TSC(t4)
	add	t3, t3, t2
	sd	t3, HV_STACK_FRAMES - HV_FRAME_LEN + HV_FRAME_TSC(t4)
	addi	t4, t4, -NR_ONE
	bltu	STACK, t4, 1b
	j	.Lrole_done

/* The first function that each new task calls (ret_from_fork, arch/riscv/kernel/entry.S). All
 * frames of its stack belong to a task that died in those calls. They are dropped last, after the
 * other fields have the values of a return stack without frames. */
.Lnew_task:
	frames_of t1, t2
	beqz	t1, .Lrole_done
	li	t1, HIGH_KIND(HV_RECORD_ENTRY)
	sw	t1, HV_STACK_DEPTH(STACK)
	sw	zero, HV_STACK_INSIDE(STACK)
	sd	zero, HV_STACK_MUTED(STACK) /* and HV_STACK_STOPPED */
	sw	zero, HV_STACK_ABOVE(STACK)
	sd	zero, HV_STACK_LEFT(STACK)
	sd	zero, HV_STACK_OWN(STACK)
	lw	t1, HV_STACK_OVERRUN(STACK)
	mv	t2, KEY
	beqz	t1, 1f
	li	t1, HV_STACK_SLOW
	or	t2, t2, t1
1:	fence	rw, w
	sd	t2, (STACK)
	j	.Lrole_done
