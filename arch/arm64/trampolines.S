/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code that the guest runs on arm64, and the trampoline of the function tracer.
 * docs/internals/trampolines.md explains how these files are written and how they become code.
 *
 * A site is the second instruction of `mov x9, x30; bl trampoline` at a function's entry, before
 * the function has signed its return address or changed its stack.
 *
 * 	on entry			on leaving, at the address that x30 had
 * 	x9	the caller's address	x30	the caller's address
 * 	x30	site + 4		x9	any
 * 	sp	the caller's		sp	the caller's
 *
 * The flags and x9 to x17 are free, like in the kernel's ftrace_caller
 * (arch/arm64/kernel/entry-ftrace.S): x0 to x8 have the function's arguments, x18 can have the
 * shadow call stack. The trampoline of the function tracer calls nothing, takes no lock, and needs
 * no stack. Its only loop is an exclusive store, which fails while other CPUs change the same head.
 *
 * graph.S records a call, graph_handler.S its return. profile.S counts calls and their time.
 * calls.S has the entries of graph and profile. stack.S records a call with its callers. actions.S
 * switches recording, and records calls with their callers or for the host.
 *
 * Entries begin with `bti c`, because modules out of reach of `bl` reach them with `br x16`. */
#include "arch/arm64/trampoline_macros.inc"

	.text
	.balign	64
	.globl	hv_trampolines
hv_trampolines:
	udf	#0 /* no entry has the offset 0 */

	.balign	64
	.globl	hv_trampoline_function
hv_trampoline_function:
	bti	c
	load_mode w10
	cbnz	w10, .Lfunction_checks
.Lfunction_checked:
	load_vcpu
	ldr	w12, [x10, :lo12:hole_task_pid]
	ldr	w13, [x11, #HV_STATE_LAST_PID]
	cmp	w12, w13
	b.ne	.Lfunction_other_task
.Lfunction_same_task:
	write_function_record
.Lfunction_out:
	leave

/* The mode is not 0. */
.Lfunction_checks:
	check_mode .Lfunction_checked, .Lfunction_out

/* This task has no current task record on this vCPU: write one first. */
.Lfunction_other_task:
	write_task_record
	b	.Lfunction_same_task

#include "arch/arm64/return_stacks.inc"
#include "arch/arm64/graph.S"
#include "arch/arm64/graph_handler.S"
#include "arch/arm64/calls.S"
#include "arch/arm64/profile.S"
#include "arch/arm64/stack.S"
#include "arch/arm64/actions.S"

	.section .note.GNU-stack, "", @progbits
