/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Return probes: a function whose slot has HV_SLOT_RETURN gets a frame, as that of a graph
 * (docs/graph.md), and its return is recorded with the registers that it returns with. Included by
 * event.S.
 *
 * The slot of such a function goes on to its entry here. An entry adds the number of the slot to the
 * kind of call that the params have for it: what the graph, the profile and the function tracer want
 * of this function, too. So a call has one frame, whoever asked for it.
 */
	.globl	hv_stub_probed
hv_stub_probed:
	.set	number, 0
	.rept	HV_NR_SLOTS
	.byte	0x68 /* pushq: always as long as this */
	.long	HV_FRAME_PROBED | number << HV_KIND_SLOT_SHIFT
	.byte	0xe9 /* jmp */
	.long	.Lprobed - . - 4
	.set	number, number + 1
	.endr
	.globl	hv_stub_probed_end
hv_stub_probed_end:

.Lprobed:
	movzbl	HV_KIND_SLOT_SHIFT / 8(%rsp), %eax
	movl	hole_params + HV_KINDS_OFF(,%rax,4), %eax
	orl	%eax, (%rsp)
	jmp	.Lcall

/* The return, when all others have recorded what they want of it. In: %rsi the return stack, %r9 the
 * frame, %r8 what is subtracted from the word to remove it; HANDLER_SLOT(%rsp) %rax, 0(%rsp) %rdx,
 * as the function returned them. The frame is removed first. Then the stack is as if the caller's
 * return address had never been replaced, and as .Lact_regs has it, but that %rsi has what was
 * returned and %rdi where to.
 *
 * If the function was entered by a jump, it returns to our handler, and where that goes is in
 * another frame of the same slot. */
.Lreturn_probed:
	movq	HV_FRAME_CALLER(%r9), %r11
	movslq	HV_FRAME_FUNCTION(%r9), %r10
	movzbl	HV_FRAME_FLAGS + HV_FRAME_PROBE_SHIFT / 8(%r9), %edi
	andl	$(HV_NR_SLOTS - 1), %edi
	leaq	hole_params + HV_SLOTS_OFF(,%rdi,HV_SLOT_LEN), %rdi
	leaq	HANDLER_SLOT(%rsp), %rcx
	leaq	HV_STACK_FRAMES(%rsi), %rdx
	movq	%r11, %rax
1:	cmpq	$.Lgraph_handler, %rax
	jne	2f
	subq	$HV_FRAME_LEN, %r9
	cmpq	%rdx, %r9
	jb	2f
	cmpq	%rcx, HV_FRAME_SLOT(%r9)
	jne	2f
	movq	HV_FRAME_CALLER(%r9), %rax
	jmp	1b
2:	subq	%r8, HV_STACK_WORD(%rsi)

	movq	HANDLER_SLOT(%rsp), %rsi
	movq	%r11, HANDLER_SLOT(%rsp)
	movq	(%rsp), %rdx
	movq	%r10, (%rsp)
	pushq	%rdi
	movq	%rax, %rdi
	cmpl	$0, MODE
	jne	.Lreturn_probe_checks
.Lreturn_probe_checked:
	movq	(%rsp), %rax
	testl	$HV_SLOT_RETURN, HV_SLOT_DOES(%rax)
	jz	.Lreturn_probe_out
	push_words 8, HV_EVENT_ID_RETURN
	testl	$HV_SLOT_RETURN_FETCH, HV_SLOT_DOES(%rax)
	jz	.Lregs_plain
	movl	$HV_REGS_WORDS, %r8d
	movl	HV_SLOT_DOES(%rax), %r11d
	shrl	$HV_SLOT_STEP_SHIFT, %r11d
	shll	$HV_STEP_SHIFT, %r11d
	jmp	.Lfetch

.Lreturn_probe_checks:
	check_mode .Lreturn_probe_checked, .Lreturn_probe_out

.Lreturn_probe_done:
	pop_words
.Lreturn_probe_out:
	movq	%rsi, %rax
	addq	$16, %rsp
	popq	%rcx
	jmp	.Lreturn_leave
