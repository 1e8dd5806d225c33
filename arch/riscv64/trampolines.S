/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code that the guest runs on riscv64, and the trampoline of the function tracer.
 * docs/internals/trampolines.md explains how these files are written and how they become code.
 *
 * A site is the pair `auipc t0, HIGH; jalr t0, LOW(t0)` at a function's entry.
 *
 * 	on entry			on leaving, at the address that t0 had
 * 	ra	the caller's address	ra	unchanged
 * 	t0	site + 8		t0	unchanged
 * 	sp	the caller's		sp	unchanged
 *
 * t1 to t6 are free, like in the kernel's ftrace_caller (arch/riscv/kernel/mcount-dyn.S): a0 to a7
 * have the function's arguments, gp can have the shadow call stack, tp has the current task. The
 * trampoline of the function tracer calls nothing, takes no lock, has no loop and needs no stack.
 *
 * graph.S records a call, graph_handler.S its return. profile.S counts calls and their time.
 * calls.S has the entries of graph and profile. stack.S records a call with its callers. actions.S
 * switches recording, and records calls for the host. */
	.option	norvc
#include "arch/riscv64/trampoline_macros.inc"

	.text
	.balign	64
	.globl	hv_trampolines
hv_trampolines:
	unimp /* no entry has the offset 0 */

	.balign	64
	.globl	hv_trampoline_function
hv_trampoline_function:
	load_control lw, t1, HV_CONTROL_MODE
	bnez	t1, .Lfunction_checks
.Lfunction_checked:
	load_vcpu t1, t2
	load_task lw, t2, hole_task_pid
	lw	t3, HV_STATE_LAST_PID(t1)
	bne	t2, t3, .Lfunction_other_task
.Lfunction_same_task:
	write_function_record
.Lfunction_out:
	jr	t0

/* The mode is not 0. */
.Lfunction_checks:
	check_mode .Lfunction_checked, .Lfunction_out

/* This task has no current task record on this vCPU: write one first. */
.Lfunction_other_task:
	write_task_record
	j	.Lfunction_same_task

#include "arch/riscv64/return_stacks.inc"
#include "arch/riscv64/graph.S"
#include "arch/riscv64/graph_handler.S"
#include "arch/riscv64/calls.S"
#include "arch/riscv64/profile.S"
#include "arch/riscv64/stack.S"
#include "arch/riscv64/actions.S"

	.section .note.GNU-stack, "", @progbits
