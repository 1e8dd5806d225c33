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
 * chain.S has the same trampoline for sites that the guest uses. graph.S records a call,
 * graph_handler.S its return. profile.S counts calls and their time. calls.S has the entries of
 * graph and profile. stack.S records stacks. actions.S switches recording and reports calls to the
 * host. ftrace_reader.S, event.S, hibernation.S, rename.S and sections.S are not called from sites. */
#include "arch/x86_64/trampoline_macros.inc"

#define SITE_END 8 /* offsets from %rsp after the push */
#define CALLER	 16

/* The rest of a record, like make_call_word, make_context_word and load_count, with kind and depth
 * 0. SITE_END is the offset of that word from %rsp. LONG makes three instructions three bytes
 * longer than necessary. COUNT selects how the preempt count is loaded.
 *
 * With "both_halves" the last instruction is one byte longer than with "plain". So both variants
 * have the same length, and one is copied over the other without a jump or a nop. The third
 * variant, "task", adds the task's count, and at label 784 also the upper half. */
.macro function_words long, count, site_end
	\long xorq \site_end(%rsp), %rax
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

/* A trampoline that records a call, hv_trampoline_NAME, and returns at return site NUMBER. SITE_END
 * and CALLER are the offsets of these words from %rsp after the push. */
.macro function_trampoline name, site_end, caller, number
	.globl	hv_trampoline_\name
hv_trampoline_\name:
.L\name:
	cmpl	$0, MODE
	jne	.L\name\()_checks
.L\name\()_checked:
	pushq	%rdx
	load_vcpu
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %edx
	cmpl	%edx, HV_STATE_LAST_PID(%r10)
	jne	.L\name\()_other_task
.L\name\()_same_task:
	make_task_word %rdx, %dl, %dh
	reserve_record %r11
	store_word 2, %rdx, %r11
	movq	\caller(%rsp), %rax
	shlq	$HV_CALLER_SHIFT, %rax
780:	function_words {disp32}, plain, \site_end
781:	popq	%rdx
.L\name\()_out:
	.globl	hv_trampoline_return_\number
hv_trampoline_return_\number: /* link() fills these five bytes */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

	.pushsection .hv_alternatives
	.long	HV_ALT_WIDE_COUNT | HV_ALT_COPIED, 780b - hv_trampolines, 781b - 780b, 782f - hv_trampolines
	.long	HV_ALT_TASK_SOFTIRQS, 780b - hv_trampolines, 8, 786f - hv_trampolines
	.long	HV_ALT_WIDE_COUNT, 784f - hv_trampolines, 785f - 784f, 787f - hv_trampolines
	.popsection
	.subsection 1
782:	function_words {disp8}, both_halves, \site_end
783:	.if (783b - 782b) - (781b - 780b)
	.error	"a record in a kernel with a wide count has another length"
	.endif
786:	function_words {disp8}, task, \site_end
	jmp	781b
787:	orl	%gs:hole_preempt_count, %edx
	orl	%gs:hole_preempt_count + 4, %edx
	jmp	785b
	.subsection 0

/* The mode is not 0. */
.L\name\()_checks:
	check_mode .L\name\()_checked, .L\name\()_out

/* This task has no current task record on this vCPU: write one first. */
.L\name\()_other_task:
	write_task_record
	jmp	.L\name\()_same_task
.endm

	.text
	.balign	64
	.globl	hv_trampolines
hv_trampolines:
	function_trampoline function, SITE_END, CALLER, 0

.Lno_lock: /* the %ds prefix, see vcpu_locked */
	.byte	0x3e

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
#include "arch/x86_64/chain.S"

	.section .note.GNU-stack, "", @progbits
