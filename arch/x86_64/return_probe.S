/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Return probes: a function whose action group has HV_DOES_RETURN gets a frame like that of a graph
 * (docs/users/graph.md), and its return is recorded with its registers. Included by event.S.
 *
 * The action group of such a function continues at its entry here. The entry combines the group's
 * number with the kind of call in the params, which the graph, the profile and the function tracer
 * need for this function. So a call has one frame for all of them. If the kind has HV_FRAME_ARGS,
 * the first arguments are in frames below that one (graph.S), and are recorded with the return. */
	.globl	hv_trampoline_probed
hv_trampoline_probed:
	.set	number, 0
	.rept	HV_NR_ACTION_GROUPS
	.byte	0x68 /* pushq: fixed length */
	.long	HV_FRAME_PROBED | number << HV_KIND_GROUP_SHIFT
	.byte	0xe9 /* jmp */
	.long	.Lprobed - . - 4
	.set	number, number + 1
	.endr
	.globl	hv_trampoline_probed_end
hv_trampoline_probed_end:

.Lprobed:
	movzbl	HV_KIND_GROUP_SHIFT / 8(%rsp), %eax
	movl	hole_params + HV_KINDS_OFF(,%rax,4), %eax
	orl	%eax, (%rsp)
	jmp	.Lcall

/* The return, after all other tracers have recorded it. In: %rsi the return stack, %r9 the frame,
 * %r8 the value to subtract from the word to remove it; HANDLER_RETP(%rsp) %rax, 0(%rsp) %rdx, as
 * the function returned them.
 *
 * The frame is removed first. Then the stack is the same as if the return address had never been
 * replaced, and as in .Lact_regs, except that %rsi is the return value and %rdi the address it
 * returns to.
 *
 * A function that was entered by a jump (a tail call) returns to our handler, and the final return
 * address is in another frame with the same retp. */
#define ARGS_LEN   (8 * HV_NR_RETURN_ARGS)
#define ARGS_WORDS (HV_RETURN_ARGS + HV_NR_RETURN_ARGS)

/* %r11 := the caller in frame %r9, %r10 := its function, %rdi := its action group, %rax := the
 * final return address. RETP(%rsp): HANDLER_RETP. Clobbers %rcx, %rdx, %r9. */
.macro look_at_frame retp
	movq	HV_FRAME_CALLER(%r9), %r11
	movslq	HV_FRAME_FUNCTION(%r9), %r10
	movzbl	HV_FRAME_FLAGS + HV_FRAME_PROBE_SHIFT / 8(%r9), %edi
	andl	$(HV_NR_ACTION_GROUPS - 1), %edi
	leaq	hole_params + HV_ACTION_GROUPS_OFF(,%rdi,HV_GROUP_LEN), %rdi
	leaq	\retp(%rsp), %rcx
	leaq	HV_STACK_FRAMES(%rsi), %rdx
	movq	%r11, %rax
1:	cmpq	$.Lgraph_handler, %rax
	jne	3f
2:	subq	$HV_FRAME_LEN, %r9
	cmpq	%rdx, %r9
	jb	3f
	cmpq	$0, HV_FRAME_RETP(%r9) /* arguments */
	je	2b
	cmpq	%rcx, HV_FRAME_RETP(%r9)
	jne	3f
	movq	HV_FRAME_CALLER(%r9), %rax
	jmp	1b
3:
.endm

.Lreturn_probed:
	testb	$HV_FRAME_ARGS, HV_FRAME_FLAGS(%r9)
	jnz	.Lreturn_args
.Lreturn_no_args:
	look_at_frame HANDLER_RETP
	subq	%r8, HV_STACK_WORD(%rsi)

	movq	HANDLER_RETP(%rsp), %rsi
	movq	%r11, HANDLER_RETP(%rsp)
	movq	(%rsp), %rdx
	movq	%r10, (%rsp)
	pushq	%rdi
	movq	%rax, %rdi
	cmpl	$0, MODE
	jne	.Lreturn_probe_checks
.Lreturn_probe_checked:
	movq	(%rsp), %rax
	testl	$HV_DOES_RETURN, HV_GROUP_DOES(%rax)
	jz	.Lreturn_probe_out
	push_words 8, HV_EVENT_ID_RETURN
	testl	$HV_DOES_RETURN_FETCH, HV_GROUP_DOES(%rax)
	jz	.Lregs_plain
	movl	$HV_REGS_WORDS, %r8d
.Lreturn_fetch:
	movl	HV_GROUP_DOES(%rax), %r11d
	shrl	$HV_DOES_STEP_SHIFT, %r11d
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

/* Records the return with the arguments of the call. They are copied to the stack before their
 * frames are removed, the first one at the lowest address, where it becomes a word of the entry.
 * The guest can set the flag in a frame that has no frames below it. */
.Lreturn_args:
	leaq	(HV_STACK_FRAMES + HV_FRAME_ARGS_NR * HV_FRAME_LEN)(%rsi), %rdx
	cmpq	%rdx, %r9
	jb	.Lreturn_no_args
	pushq	%r9
	look_at_frame HANDLER_RETP + 8
	popq	%r9
	movq	HANDLER_RETP(%rsp), %rcx
	movq	%r11, HANDLER_RETP(%rsp)
	movq	(%rsp), %rdx
	movq	%r10, (%rsp)
	pushq	%rdi
	leaq	-HV_STACK_FRAMES(%r9), %r11
	subq	%rsi, %r11
	shrq	$2, %r11 /* frame offset to sum offset */
	.irp	nr, 1, 2, 3 /* HV_FRAME_ARGS_NR, the last one first */
	pushq	HV_STACK_SUMS - 8 * \nr(%rsi,%r11)
	pushq	HV_FRAME_CALLER - \nr * HV_FRAME_LEN(%r9)
	.endr
	addl	$(HV_FRAME_ARGS_NR << DEPTH_SHIFT), HV_STACK_DEPTH(%rsi)
	cmpq	$0, HV_STACK_MUTED(%rsi) /* and HV_STACK_STOPPED */
	jne	1f
	cmpl	$0, HV_STACK_OVERRUN(%rsi)
	jne	1f
	cmpl	$HIGH_KIND(HV_RECORD_ENTRY), HV_STACK_DEPTH(%rsi)
	jb	1f
	andq	$~HV_STACK_SLOW, HV_STACK_WORD(%rsi)
1:	addl	$(HV_FRAME_ARGS_NR * NR_ONE), %r8d
	subq	%r8, HV_STACK_WORD(%rsi)
	movq	%rcx, %rsi
	movq	%rax, %rdi
	cmpl	$0, MODE
	jne	.Lreturn_args_checks
.Lreturn_args_checked:
	movq	ARGS_LEN(%rsp), %rax
	testl	$HV_DOES_RETURN, HV_GROUP_DOES(%rax)
	jz	.Lreturn_args_out
	push_words 8, HV_EVENT_ID_RETURN_ARGS, ARGS_LEN
	movl	$ARGS_WORDS, %r8d
	testl	$HV_DOES_RETURN_FETCH, HV_GROUP_DOES(%rax)
	jnz	.Lreturn_fetch
	leaq	REGS_FIRST(%rsp), %rsi
	movl	$((8 * ARGS_WORDS + HV_DATA_LEN - 1) / HV_DATA_LEN), %edi
	jmp	.Lregs_entry

.Lreturn_args_checks:
	check_mode .Lreturn_args_checked, .Lreturn_args_out

.Lreturn_args_done:
	pop_words
.Lreturn_args_out:
	addq	$ARGS_LEN, %rsp
	jmp	.Lreturn_probe_out

#undef ARGS_LEN
#undef ARGS_WORDS
