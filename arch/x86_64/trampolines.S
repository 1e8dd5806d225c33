/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code that the guest runs on x86-64, and the trampoline of the function tracer.
 * docs/internals/trampolines.md explains how these files are written and how they become code.
 *
 * A function whose entry nop was replaced calls a trampoline. The trampoline of the function tracer
 * calls nothing, takes no lock, has no loop and uses few words of stack. So it is safe in all
 * contexts that the kernel itself traces, including NMIs. %rax, %r10, %r11 and the flags are free
 * at a function's entry: compiled functions expect no values there, and the kernel's own BPF
 * trampolines do not preserve them either (save_args(), arch/x86/net/bpf_jit_comp.c).
 *
 *      on entry                        after the push
 *       8(%rsp)  caller's return        16(%rsp)  CALLER
 *       0(%rsp)  site + 5                8(%rsp)  SITE_END
 *                                        0(%rsp)  %rdx
 *
 * graph.S records a call, graph_handler.S its return. profile.S counts calls and their time.
 * calls.S has the entries of graph and profile. stack.S records stacks. actions.S switches
 * recording and reports calls to the host. ftrace_reader.S, event.S, hibernation.S, rename.S and sections.S
 * are not called from sites. */
#include "arch/x86_64/trampoline_macros.inc"

#define SITE_END 8 /* offsets from %rsp after the push */
#define CALLER	 16

/* The rest of a record, like make_call_word, make_context_word and load_count, with kind and depth
 * 0. LONG makes three instructions three bytes longer than necessary. COUNT selects how the preempt
 * count is loaded.
 *
 * With "both_halves" the last instruction is one byte longer than with "plain". So both variants
 * have the same length, and one is copied over the other without a jump or a nop. The third
 * variant, "task", adds the task's count, and at label 784 also the upper half. */
.macro function_words long, count
	\long xorq SITE_END(%rsp), %rax
	xorq	%r11, %rax
	\long movq %rax, 8(%r10)
	pushfq
	popq	%rax
	shlq	$32, %rax
	.ifc \count, task
	movq	%gs:hole_current, %rdx
	movl	hole_task_softirqs(%rdx), %edx
784:	orl	%gs:hole_preempt_count, %edx
785:
	.else
	movl	%gs:hole_preempt_count, %edx
	.endif
	.ifc \count, both_halves
	orl	%gs:hole_preempt_count + 4, %edx
	.endif
	orq	%rdx, %rax
	xorq	%r11, %rax
	\long movq %rax, 24(%r10)
	read_tsc
	xorq	%r11, %rax
	.ifc \count, both_halves
	{disp8} movq %rax, 0(%r10)
	.else
	movq	%rax, (%r10)
	.endif
.endm

	.text
	.balign	64
	.globl	hv_trampolines
hv_trampolines:

	.globl	hv_trampoline_function
hv_trampoline_function:
.Lfunction:
	cmpl	$0, MODE
	jne	.Lfunction_checks
.Lfunction_checked:
	pushq	%rdx
	load_vcpu
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %edx
	cmpl	%edx, HV_STATE_LAST_PID(%r10)
	jne	.Lfunction_other_task
.Lfunction_same_task:
	make_task_word %rdx, %dl, %dh
	reserve_record %r11
	store_word 2, %rdx, %r11
	movq	CALLER(%rsp), %rax
	shlq	$HV_CALLER_SHIFT, %rax
780:	function_words {disp32}, plain
781:	popq	%rdx
.Lfunction_out:
	.globl	hv_trampoline_return_0
hv_trampoline_return_0: /* link() fills these five bytes */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

	.pushsection .hv_alternatives
	.long	HV_ALT_WIDE_COUNT | HV_ALT_COPIED, 780b - hv_trampolines, 781b - 780b, 782f - hv_trampolines
	.long	HV_ALT_TASK_SOFTIRQS, 780b - hv_trampolines, 8, 786f - hv_trampolines
	.long	HV_ALT_WIDE_COUNT, 784f - hv_trampolines, 785f - 784f, 787f - hv_trampolines
	.popsection
	.subsection 1
782:	function_words {disp8}, both_halves
783:	.if (783b - 782b) - (781b - 780b)
	.error	"a record in a kernel with a wide count has another length"
	.endif
786:	function_words {disp8}, task
	jmp	781b
787:	orl	%gs:hole_preempt_count, %edx
	orl	%gs:hole_preempt_count + 4, %edx
	jmp	785b
	.subsection 0

.Lno_lock: /* the %ds prefix, see vcpu_locked */
	.byte	0x3e

/* The mode is not 0. */
.Lfunction_checks:
	check_mode .Lfunction_checked, .Lfunction_out

/* This task has no current task record on this vCPU: write one first. */
.Lfunction_other_task:
	write_task_record
	jmp	.Lfunction_same_task

#undef SITE_END
#undef CALLER
#include "arch/x86_64/return_stacks.inc"
#include "arch/x86_64/graph.S"
#include "arch/x86_64/graph_handler.S"
#include "arch/x86_64/calls.S"
#include "arch/x86_64/profile.S"
#undef SITE_END
#undef RETP
#include "arch/x86_64/stack.S"
#include "arch/x86_64/actions.S"
#include "arch/x86_64/ftrace_reader.S"
#include "arch/x86_64/sections.S"
#include "arch/x86_64/event.S"
#include "arch/x86_64/hibernation.S"
#include "arch/x86_64/rename.S"

	.section .note.GNU-stack, "", @progbits
