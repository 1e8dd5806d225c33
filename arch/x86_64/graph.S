/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The graph: the trampoline of a call replaces the return address with the return handler's
 * (graph_handler.S), and stores the original in a frame. The frames of a kernel stack are in one
 * return stack in the region (return_stacks.inc, docs/users/graph.md). Included by trampolines.S.
 *
 * There are two ways to do it. The plain way is straight-line code. It requires a graph without
 * options (hv_graph_is_plain() in ringbuf/abi.h), and a return stack that is in its first bucket,
 * has room for another frame, and is not marked with HV_STACK_SLOW. All other calls take the
 * general way. The plain way switches to the general way before it has changed anything.
 *
 *      on entry                   after the pushes:
 *                                 the plain way              the general way
 *       8(%rsp)  caller's return   24(%rsp)  PLAIN_RETP       48(%rsp)  RETP
 *       0(%rsp)  site + 5          16(%rsp)  PLAIN_SITE_END   40(%rsp)  SITE_END
 *                                   8(%rsp)  %rdx             32(%rsp)  KIND
 *                                   0(%rsp)  %rsi             24(%rsp)  %rcx
 *                                                             16(%rsp)  %rdx
 *                                                              8(%rsp)  %rsi
 *                                                              0(%rsp)  %rdi */
#define PLAIN_SITE_END 16
#define PLAIN_RETP     24
#define KIND	       32
#define SITE_END       40
#define RETP	       48

/* The kind of a call combines HV_FRAME_* and these flags. The entry in calls.S sets it, that of a
 * function with a return probe (return_probe.S), or a chain (chain.S). */
#define CALLED_KINDS (HV_FRAME_ROOT | HV_FRAME_MUTES)
#define NEW_TASK     HV_KIND_NEW_TASK
#define LEAVES	     HV_KIND_LEAVES
#define ARRIVES	     HV_KIND_ARRIVES
#define FUNCTION     HV_KIND_FUNCTION
#define UNTRACED     HV_KIND_UNTRACED
#define ROLES	     (NEW_TASK | LEAVES | ARRIVES)

/* %rcx := the key of the stack of this call, %rsi := the first bucket for its return stack. Jumps
 * to OUT if it is an exception stack. Clobbers %rax, %rdx. */
.macro find_stack out
	leaq	RETP(%rsp), %rax
	movabsq	$hole_skip_start, %rcx
	movabsq	$hole_skip_len, %rdx
	subq	%rax, %rcx
	negq	%rcx
	cmpq	%rdx, %rcx
	jb	\out
	find_key %rax
	find_home %ecx
	leaq	STACKS(%rsi), %rsi
.endm

/* Finds the return stack of a call for the plain ways of graph.S and profile.S. %rsi := its offset
 * from STACKS, %r11 := the length of its frames minus NR_ONE. Jumps to RARE if it is not in its
 * first bucket, is marked with HV_STACK_SLOW, has no room for another frame, or has no frames. If
 * it has no frames, %rax is 0 and %rdx the key. Clobbers %rax, %rdx. */
.macro find_plain_stack rare
	leaq	PLAIN_RETP(%rsp), %rdx
	andq	$hole_stack_mask, %rdx
	find_home %edx
	movq	STACKS + HV_STACK_WORD(%rsi), %rax
	xorq	%rdx, %rax
	leaq	-NR_ONE(%rax), %r11
	cmpq	$(NR_MAX - 2 * NR_ONE), %r11
	ja	\rare
.endm

/* Adds the first frame to the return stack at %rsi, an offset from STACKS, if its word is still the
 * key %rdx. %r11 as set by find_plain_stack. Jumps to GENERAL, with nothing changed, if the call is
 * on the interrupt stack, or if another kernel stack has taken the return stack. Clobbers %rax.
 *
 * The word of a return stack is only equal to its key after a first frame of this key was added and
 * all frames were removed, one by one or by a new task. So the other fields already have the values
 * for the first frame of a task's stack, except the time at which a task left the CPU. */
.macro add_first_frame general
	movq	%gs:hole_irq_stack, %rax
	subq	%rsp, %rax
	cmpq	$hole_stack_bytes + PLAIN_RETP, %rax
	jb	\general
	movq	%rdx, %rax
	leaq	NR_ONE(%rdx), %r11
	lock cmpxchgq %r11, STACKS + HV_STACK_WORD(%rsi)
	jne	\general
	movq	$0, STACKS + HV_STACK_LEFT(%rsi)
	movq	$-NR_ONE, %r11
.endm

/* Writes the end of a call's record on the plain way, from the preempt count on; see
 * load_count_in_way. %rdx is word 3 without the count. LONG makes three instructions three bytes
 * longer than necessary. The last instruction is one byte longer with "both_halves" than with
 * "plain". */
.macro plain_call_words long, count
	load_count_in_way \count
	orq	%rax, %rdx
	xorq	%r11, %rdx
	\long movq %rdx, 24(%r10)
	\long movq $.Lgraph_handler, PLAIN_RETP(%rsp)
	read_tsc
	\long movq %rax, HV_FRAME_TSC(%rsi)
	xorq	%r11, %rax
	.ifc \count, both_halves
	{disp8} movq %rax, 0(%r10)
	.else
	movq	%rax, (%r10)
	.endif
.endm

/* -- a call, the plain way --------------------------------------------------------------------- */

	.globl	hv_trampoline_graph
hv_trampoline_graph:
.Lgraph_call:
	cmpq	$0, MODE /* MODE and GRAPH_MODE */
	jne	.Lgraph_general
	pushq	%rdx
	pushq	%rsi
	find_plain_stack .Lplain_rare
	addq	$NR_ONE, STACKS + HV_STACK_WORD(%rsi)
.Lplain_raised:
	leaq	STACKS + HV_STACK_FRAMES + NR_ONE(%rsi,%r11), %rsi
	leaq	PLAIN_RETP(%rsp), %rdx
	movq	%rdx, HV_FRAME_RETP(%rsi)
	shll	$(DEPTH_SHIFT - HV_FRAME_SHIFT), %r11d
	addl	$(HIGH_KIND(HV_RECORD_ENTRY) + (1 << DEPTH_SHIFT)), %r11d
	movl	%r11d, HV_FRAME_FLAGS(%rsi) /* clears the flags, sets HV_FRAME_DEPTH */

	load_vcpu
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %edx
	cmpl	%edx, HV_STATE_LAST_PID(%r10)
	jne	.Lplain_other_task
.Lplain_same_task:
	make_task_word %rdx, %dl, %dh
	reserve_record %r11
	store_word 2, %rdx, %r11
	movq	PLAIN_RETP(%rsp), %rax
	movq	%rax, HV_FRAME_CALLER(%rsi)
	movq	PLAIN_SITE_END(%rsp), %rdx
	movl	%edx, HV_FRAME_FUNCTION(%rsi)
	shlq	$HV_CALLER_SHIFT, %rax /* word 1, see make_call_word */
	xorq	%rdx, %rax
	store_word 1, %rax, %r11
	movl	HV_FRAME_FLAGS(%rsi), %edx
	make_flags_word
785:	plain_call_words {disp32}, plain
786:	popq	%rsi
	popq	%rdx
	.globl	hv_trampoline_return_1
hv_trampoline_return_1:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

	.subsection 1
787:	plain_call_words {disp8}, both_halves
788:	.subsection 0
	count_ways 785b, 786b, 787b, 788b

.Lplain_other_task:
	write_task_record
	jmp	.Lplain_same_task

.Lplain_rare:
	testq	%rax, %rax
	jnz	.Lplain_general
	add_first_frame .Lplain_general
	jmp	.Lplain_raised

.Lplain_general:
	popq	%rsi
	popq	%rdx
.Lgraph_general:
	pushq	$0 /* KIND */
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi

/* -- a call, the general way ------------------------------------------------------------------- */

.Lgraph:
	cmpl	$0, MODE
	jne	.Lgraph_checks
.Lgraph_checked:
	find_stack .Lgraph_missed
	lookup	.Lgraph_found
	jmp	.Lgraph_take

.Lgraph_found:
	movl	%eax, %edx
	andl	$HV_STACK_NR_MASK, %edx
	jz	.Lgraph_first
	cmpq	$0, HV_STACK_MUTED(%rsi) /* and HV_STACK_STOPPED */
	jne	.Lgraph_skipped
	movl	hole_params + HV_PARAM_GRAPH_FLAGS, %edi
	testl	$(HV_GRAPH_SUBTREE | HV_GRAPH_NO_IRQS), %edi
	jnz	.Lgraph_filter
.Lgraph_passed:
	find_depth
	movl	%edi, %eax
	shrl	$DEPTH_SHIFT, %eax
	andl	$HV_RECORD_DEPTH_MAX, %eax
	cmpl	hole_params + HV_PARAM_MAX_DEPTH, %eax
	jae	.Lgraph_skipped
	cmpl	$NR_MAX, %edx
	jae	.Lgraph_full
	addq	$NR_ONE, HV_STACK_WORD(%rsi)

/* A frame was added. %rsi the return stack, %edx the offset of the frame, %edi its depth. */
.Lgraph_raised:
	testl	$(CALLED_KINDS | HV_FRAME_PROFILED | HV_FRAME_PROBED), KIND(%rsp)
	jnz	.Lgraph_count
.Lgraph_counted:
	leaq	HV_STACK_FRAMES(%rsi,%rdx), %rsi
	leaq	RETP(%rsp), %rax
	movq	%rax, HV_FRAME_RETP(%rsi)
	movq	RETP(%rsp), %rax
	movq	%rax, HV_FRAME_CALLER(%rsi)
	movl	SITE_END(%rsp), %eax
	movl	%eax, HV_FRAME_FUNCTION(%rsi)
	movb	KIND(%rsp), %dil
	movl	%edi, HV_FRAME_FLAGS(%rsi) /* and HV_FRAME_DEPTH */
	movq	$.Lgraph_handler, RETP(%rsp)

	testl	$(HV_FRAME_MUTES | HV_FRAME_QUIET), KIND(%rsp)
	jnz	.Lgraph_time
	testl	$(HV_GRAPH_NO_ENTRIES | HV_GRAPH_HOST), hole_params + HV_PARAM_GRAPH_FLAGS
	jnz	.Lgraph_time
.Lgraph_record:
	load_vcpu
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %ecx
	cmpl	%ecx, HV_STATE_LAST_PID(%r10)
	jne	.Lgraph_other_task
.Lgraph_same_task:
	make_task_word %rcx, %cl, %ch
	movl	%edi, %edx
	make_context_word
	reserve_record %r11
	store_word 3, %rdx, %r11
	store_word 2, %rcx, %r11
	make_call_word HV_FRAME_CALLER(%rsi), SITE_END(%rsp)
	store_word 1, %rax, %r11
	read_tsc
	movq	%rax, HV_FRAME_TSC(%rsi)
	store_word 0, %rax, %r11

.Lgraph_out:
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
771:	leaq	8(%rsp), %rsp /* KIND */
772:	.globl	hv_trampoline_return_2
hv_trampoline_return_2: /* into the function, or to a chain */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

	.pushsection .hv_alternatives
	.long	HV_ALT_CHAINS, 771b - hv_trampolines, 772b - 771b, .Lgraph_chains - hv_trampolines
	.popsection
	.subsection 1
.Lgraph_chains: /* the upper half of KIND is the address in the chain (chain.S), or 0 */
	movslq	4(%rsp), %r10
	testq	%r10, %r10
	jz	1f
	movq	%r10, (%rsp)
	jmp	772b
1:	leaq	8(%rsp), %rsp
	jmp	772b
	.subsection 0

.Lgraph_checks:
	check_mode .Lgraph_checked, .Lgraph_skipped

.Lgraph_time:
	testl	$HV_GRAPH_HOST, hole_params + HV_PARAM_GRAPH_FLAGS
	jnz	.Lgraph_host
.Lgraph_time_only:
	read_tsc
	movq	%rax, HV_FRAME_TSC(%rsi)
	jmp	.Lgraph_out

/* Stores the steal time of the call, whose frame is at %rsi, with offset %edx from the first one.
 * Here and at the return, the clock is read after the steal time, so that time stolen between the
 * two reads is not lost. */
.Lgraph_host:
	movl	%edx, %ecx
	shrl	$3, %ecx /* frame offset to steal time offset */
	subq	%rdx, %rcx
	load_steal
	shrq	$HV_STEAL_SHIFT, %rax
	movl	%eax, HV_STACK_STEALS - HV_STACK_FRAMES(%rsi,%rcx)
	orb	$HV_FRAME_HOST, HV_FRAME_FLAGS(%rsi)
	testl	$(HV_FRAME_MUTES | HV_FRAME_QUIET), KIND(%rsp)
	jnz	.Lgraph_time_only
	testl	$HV_GRAPH_NO_ENTRIES, hole_params + HV_PARAM_GRAPH_FLAGS
	jnz	.Lgraph_time_only
	jmp	.Lgraph_record

.Lgraph_other_task:
	write_task_record
	jmp	.Lgraph_same_task

.Lgraph_count:
	testl	$HV_FRAME_PROBED, KIND(%rsp)
	jz	.Lgraph_args_added
	movl	KIND(%rsp), %eax
	shrl	$(HV_KIND_GROUP_SHIFT - HV_FRAME_PROBE_SHIFT), %eax
	andl	$((HV_NR_ACTION_GROUPS - 1) << HV_FRAME_PROBE_SHIFT), %eax
	orl	%eax, %edi
	testl	$HV_FRAME_ARGS, KIND(%rsp)
	jnz	.Lgraph_args
.Lgraph_args_added:
	testl	$HV_FRAME_PROFILED, KIND(%rsp)
	jz	1f
	movq	HV_STACK_OWN(%rsi), %rax
	movl	%edx, %ecx
	shrl	$2, %ecx /* frame offset to sum offset */
	movq	%rax, HV_STACK_SUMS(%rsi,%rcx)
	testl	$HV_GRAPH_OWN_TIME, hole_params + HV_PARAM_GRAPH_FLAGS
	jz	1f
	orl	$HV_FRAME_OWN_TIME, KIND(%rsp)
1:	testl	$HV_FRAME_ROOT, KIND(%rsp)
	jz	1f
	incl	HV_STACK_INSIDE(%rsi)
1:	testl	$HV_FRAME_MUTES, KIND(%rsp)
	jz	.Lgraph_counted
	incl	HV_STACK_MUTED(%rsi)
	orq	$HV_STACK_SLOW, HV_STACK_WORD(%rsi)
	jmp	.Lgraph_counted

/* The arguments of the call are stored in frames below its own, and HV_STACK_DEPTH is reduced to
 * compensate. The plain way assumes the usual depth, so HV_STACK_SLOW sends calls on this stack to
 * the general way. %rsi, %edx and %edi as in .Lgraph_raised. */
.Lgraph_args:
	cmpl	$(NR_MAX - (HV_FRAME_ARGS_NR + 1) * NR_ONE), %edx
	ja	.Lgraph_args_full
	addq	$(HV_FRAME_ARGS_NR * NR_ONE), HV_STACK_WORD(%rsi)
	orq	$HV_STACK_SLOW, HV_STACK_WORD(%rsi)
	subl	$(HV_FRAME_ARGS_NR << DEPTH_SHIFT), HV_STACK_DEPTH(%rsi)
	leaq	HV_STACK_FRAMES(%rsi,%rdx), %r10
	movl	%edx, %eax
	shrl	$2, %eax /* frame offset to sum offset */
	leaq	HV_STACK_SUMS(%rsi,%rax), %r11
	xorl	%eax, %eax
	movq	%rax, HV_FRAME_RETP(%r10)
	movq	%rax, HV_FRAME_LEN + HV_FRAME_RETP(%r10)
	movq	%rax, 2 * HV_FRAME_LEN + HV_FRAME_RETP(%r10)
	movq	(%rsp), %rax /* %rdi, %rsi, %rdx, %rcx, as pushed */
	movq	%rax, HV_FRAME_CALLER(%r10)
	movq	8(%rsp), %rax
	movq	%rax, (%r11)
	movq	16(%rsp), %rax
	movq	%rax, HV_FRAME_LEN + HV_FRAME_CALLER(%r10)
	movq	24(%rsp), %rax
	movq	%rax, 8(%r11)
	movq	%r8, 2 * HV_FRAME_LEN + HV_FRAME_CALLER(%r10)
	movq	%r9, 16(%r11)
	addl	$(HV_FRAME_ARGS_NR * NR_ONE), %edx
	jmp	.Lgraph_args_added
.Lgraph_args_full:
	subq	$NR_ONE, HV_STACK_WORD(%rsi)
	jmp	.Lgraph_full

/* Some graph flags (%edi) exclude calls. */
.Lgraph_filter:
	testl	$HV_GRAPH_NO_IRQS, %edi
	jz	1f
	testl	$hole_hardirq_bits, %gs:hole_preempt_count
	jz	1f
	cmpl	$0, HV_STACK_INSIDE(%rsi)
	jne	1f
	testl	$HV_GRAPH_SUBTREE, %edi
	jz	.Lgraph_skipped
	testl	$HV_FRAME_ROOT, KIND(%rsp)
	jz	.Lgraph_skipped
1:	testl	$HV_GRAPH_SUBTREE, %edi
	jz	.Lgraph_passed
	testl	$CALLED_KINDS, KIND(%rsp)
	jnz	.Lgraph_passed
	movl	HV_STACK_INSIDE(%rsi), %eax
	orl	HV_STACK_ABOVE(%rsi), %eax
	jnz	.Lgraph_passed
	jmp	.Lgraph_skipped

.Lgraph_full:
	incl	HV_STACK_OVERRUN(%rsi)
	orq	$HV_STACK_SLOW, HV_STACK_WORD(%rsi)
	load_vcpu
	incq	HV_STATE_NO_ROOM(%r10)

/* The call gets no frame. A return probe of its function misses it. */
.Lgraph_missed:
	testl	$HV_FRAME_PROBED, KIND(%rsp)
	jz	.Lgraph_out
	movzbl	KIND + HV_KIND_GROUP_SHIFT / 8(%rsp), %eax
	lock incl hole_control + HV_CONTROL_MISSED(,%rax,4)
	jmp	.Lgraph_out

/* No bucket contains the return stack with the key %rcx. %rsi is after the last bucket. */
.Lgraph_take:
	testl	$HV_GRAPH_SUBTREE, hole_params + HV_PARAM_GRAPH_FLAGS
	jz	1f
	testl	$(CALLED_KINDS | HV_FRAME_QUIET), KIND(%rsp)
	jnz	1f
	/* A call in an interrupt can be below a root function that was interrupted. On any other
	 * stack without frames it is not below a root function. */
	testl	$HV_STACK_IRQ, %ecx
	jz	.Lgraph_skipped
1:	subq	$(HV_STACK_LOOKUPS * HV_STACK_LEN), %rsi
	/* HV_STACK_SLOW is set until the first frame is added and the fields belong to this
	 * stack. */
	leaq	HV_STACK_SLOW(%rcx), %rdx
	.rept	HV_STACK_LOOKUPS
	movq	HV_STACK_WORD(%rsi), %rax
	testl	$HV_STACK_NR_MASK, %eax
	jnz	1f
	lock cmpxchgq %rdx, HV_STACK_WORD(%rsi)
	je	.Lgraph_taken
	xorq	%rcx, %rax /* an interrupt on this stack may have taken it */
	cmpq	$(HV_STACK_SLOW << 1), %rax
	jb	.Lgraph_first
1:	addq	$HV_STACK_LEN, %rsi
	.endr
.Lgraph_no_stack:
	load_vcpu
	incq	HV_STATE_NO_STACK(%r10)
	jmp	.Lgraph_missed
.Lgraph_taken:
	movl	$0, HV_STACK_OVERRUN(%rsi)

/* Adds the first frame to the return stack at %rsi. Until then another kernel stack can take it. */
.Lgraph_first:
	testl	$HV_STACK_IRQ, %ecx
	jnz	.Lgraph_interrupt
	xorl	%edi, %edi
	xorl	%r11d, %r11d
.Lgraph_above: /* %edi the depth, %r11d is not 0 if a root function was interrupted */
	testl	$HV_FRAME_QUIET, KIND(%rsp)
	jnz	.Lgraph_raise
	movl	hole_params + HV_PARAM_GRAPH_FLAGS, %eax
	testl	$HV_GRAPH_NO_IRQS, %eax
	jz	1f
	testl	$hole_hardirq_bits, %gs:hole_preempt_count
	jz	1f
	testl	$HV_GRAPH_SUBTREE, %eax
	jz	.Lgraph_skipped
	testl	$HV_FRAME_ROOT, KIND(%rsp)
	jz	.Lgraph_skipped
1:	testl	$HV_GRAPH_SUBTREE, %eax
	jz	1f
	testl	$CALLED_KINDS, KIND(%rsp)
	jnz	1f
	testl	%r11d, %r11d
	jz	.Lgraph_skipped
1:	cmpl	hole_params + HV_PARAM_MAX_DEPTH, %edi
	jae	.Lgraph_skipped
.Lgraph_raise:
	/* The first attempt fails if an interrupt on this stack added its own first frame and
	 * removed it, because this clears HV_STACK_SLOW. */
	.rept	2
	movq	HV_STACK_WORD(%rsi), %rax
	movq	%rax, %rdx
	xorq	%rcx, %rdx
	testq	$~HV_STACK_SLOW, %rdx /* it has frames or another key by now */
	jnz	.Lgraph_no_stack
	leaq	NR_ONE(%rcx), %rdx
	cmpl	$0, HV_STACK_OVERRUN(%rsi)
	je	1f
	orq	$HV_STACK_SLOW, %rdx
1:	lock cmpxchgq %rdx, HV_STACK_WORD(%rsi)
	je	.Lgraph_first_raised
	.endr
	jmp	.Lgraph_no_stack
.Lgraph_first_raised:
	shll	$DEPTH_SHIFT, %edi
	orl	$HIGH_KIND(HV_RECORD_ENTRY), %edi
	movl	%edi, HV_STACK_DEPTH(%rsi)
	movl	$0, HV_STACK_INSIDE(%rsi)
	movq	$0, HV_STACK_MUTED(%rsi) /* and HV_STACK_STOPPED */
	movl	%r11d, HV_STACK_ABOVE(%rsi)
	movq	$0, HV_STACK_LEFT(%rsi)
	xorl	%edx, %edx
	jmp	.Lgraph_raised

/* The first frame of an interrupt stack continues at the depth of the interrupted code. */
.Lgraph_interrupt:
	movq	%rcx, %r10
	movq	%rsi, %r11
	movq	%gs:hole_irq_stack, %rax
	find_interrupted
	xorl	%edi, %edi
	lookup	.Lgraph_interrupted
	xorl	%eax, %eax
1:	movq	%r10, %rcx
	movq	%r11, %rsi
	movl	%eax, %r11d
	jmp	.Lgraph_above
.Lgraph_interrupted:
	movl	%eax, %edx
	xorl	%eax, %eax
	andl	$HV_STACK_NR_MASK, %edx
	jz	1b
	cmpl	$0, HV_STACK_MUTED(%rsi)
	jne	2f
	find_depth
	shrl	$DEPTH_SHIFT, %edi
	andl	$HV_RECORD_DEPTH_MAX, %edi
	movl	HV_STACK_INSIDE(%rsi), %eax
	orl	HV_STACK_ABOVE(%rsi), %eax
	jmp	1b
2:	testl	$HV_FRAME_QUIET, KIND(%rsp)
	jnz	1b
	jmp	.Lgraph_skipped
