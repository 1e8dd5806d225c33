/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function profile counts calls and their time per vCPU and function, in tables in the region
 * (struct hv_count, docs/users/graph.md). It loses no call at any rate, because it uses no ring. A
 * task can be interrupted here and continue on another vCPU, so all additions are atomic
 * (vcpu_locked). Included by trampolines.S; graph.S shows the stack.
 *
 * Like the graph, the profile has a plain way, for calls that are only counted and their returns.
 * It requires a profile without options (hv_profile_is_plain() in ringbuf/abi.h), a return stack
 * that meets the conditions of graph.S for the plain way, and counts of the function in their first
 * bucket. */

/* %r10 := this vCPU's table, %rax := the offset of FUNCTION's counts in it. FUNCTION is a 32-bit
 * register with the low half of the address after the function's site. Jumps to OTHER if the counts
 * are not in their first bucket. */
.macro find_first_count function, other
	load_vcpu
	movq	HV_STATE_COUNTS(%r10), %r10
	imull	$HV_STACK_HASH, \function, %eax
	shrl	$hole_count_shift, %eax
	imull	$HV_COUNT_LEN, %eax, %eax
	cmpl	\function, HV_COUNT_FUNCTION(%r10,%rax)
	jne	\other
.endm

/* %rdi := this vCPU's counts of the function %r11d, in any of their HV_COUNT_LOOKUPS buckets. A
 * function without counts takes the first free bucket. Jumps to NONE if no bucket is free. Clobbers
 * %rax, %rcx, %r10. */
.macro find_count none
	load_vcpu
	movq	HV_STATE_COUNTS(%r10), %r10
	imull	$HV_STACK_HASH, %r11d, %eax
	shrl	$hole_count_shift, %eax
	imull	$HV_COUNT_LEN, %eax, %eax
	leaq	(%r10,%rax), %rdi
	movl	$HV_COUNT_LOOKUPS, %ecx
.Lcount_look\@:
	movl	HV_COUNT_FUNCTION(%rdi), %eax
	cmpl	%r11d, %eax
	je	.Lcount_found\@
	testl	%eax, %eax
	jnz	.Lcount_next\@
	lock cmpxchgl %r11d, HV_COUNT_FUNCTION(%rdi)
	je	.Lcount_found\@
	cmpl	%r11d, %eax
	je	.Lcount_found\@
.Lcount_next\@:
	addq	$HV_COUNT_LEN, %rdi
	decl	%ecx
	jnz	.Lcount_look\@
	jmp	\none
.Lcount_found\@:
.endm

/* -- a call, the plain way --------------------------------------------------------------------- */

	.globl	hv_trampoline_profile
hv_trampoline_profile:
	cmpl	$HV_PROFILE_PLAIN, hole_params + HV_PARAM_PROFILE_MODE
	jne	.Lprofile_general
	pushq	%rdx
	pushq	%rsi
	find_plain_stack .Lprofile_rare
	movl	PLAIN_SITE_END(%rsp), %edx
	find_first_count %edx, .Lprofile_pop
	addq	$NR_ONE, STACKS + HV_STACK_WORD(%rsi)
.Lprofile_raised:
	vcpu_locked incq HV_COUNT_HITS(%r10,%rax)
	leaq	STACKS + HV_STACK_FRAMES + NR_ONE(%rsi,%r11), %rsi
	leaq	PLAIN_RETP(%rsp), %rax
	movq	%rax, HV_FRAME_RETP(%rsi)
	movl	$(HV_FRAME_PROFILED | HV_FRAME_QUIET), HV_FRAME_FLAGS(%rsi)
	movq	PLAIN_RETP(%rsp), %rax
	movq	%rax, HV_FRAME_CALLER(%rsi)
	movl	%edx, HV_FRAME_FUNCTION(%rsi)
	movq	$.Lgraph_handler, PLAIN_RETP(%rsp)
	read_tsc
	movq	%rax, HV_FRAME_TSC(%rsi)
	popq	%rsi
	popq	%rdx
	.globl	hv_trampoline_return_4
hv_trampoline_return_4:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lprofile_rare:
	testq	%rax, %rax
	jnz	.Lprofile_pop
	movl	PLAIN_SITE_END(%rsp), %r11d
	find_first_count %r11d, .Lprofile_pop
	addq	%rax, %r10
	add_first_frame .Lprofile_pop
	movl	PLAIN_SITE_END(%rsp), %edx
	xorl	%eax, %eax
	jmp	.Lprofile_raised

.Lprofile_pop:
	popq	%rsi
	popq	%rdx
.Lprofile_general:
	pushq	$(UNTRACED | HV_FRAME_PROFILED)
	jmp	.Lcall

/* -- a call, the general way ------------------------------------------------------------------- */

.Lprofile:
	testl	$HV_GRAPH_PROFILE, hole_params + HV_PARAM_GRAPH_FLAGS
	jz	.Lprofile_off
	movl	SITE_END(%rsp), %r11d
	find_count .Lprofile_no_count
	vcpu_locked incq HV_COUNT_HITS(%rdi)
	jmp	.Lcall_counted
.Lprofile_off:
	andl	$~HV_FRAME_PROFILED, KIND(%rsp)
	jmp	.Lcall_counted
.Lprofile_no_count:
	load_vcpu
	lock incq HV_STATE_NO_COUNT(%r10)
	jmp	.Lcall_counted

/* The graph excludes this call. If it is profiled, or has a return probe, it still gets a frame.
 * Its return is then only counted, or used only for the probe. */
.Lgraph_skipped:
	testl	$(HV_FRAME_PROFILED | HV_FRAME_PROBED), KIND(%rsp)
	jz	.Lgraph_out
	testl	$HV_FRAME_QUIET, KIND(%rsp)
	jnz	.Lgraph_missed
	andl	$~CALLED_KINDS, KIND(%rsp)
	orl	$HV_FRAME_QUIET, KIND(%rsp)
	find_stack .Lgraph_missed
	lookup	.Lquiet_found
	jmp	.Lgraph_take
.Lquiet_found:
	movl	%eax, %edx
	andl	$HV_STACK_NR_MASK, %edx
	jz	.Lgraph_first
	cmpl	$0, HV_STACK_STOPPED(%rsi)
	jne	.Lgraph_missed
	cmpl	$NR_MAX, %edx
	jae	.Lgraph_full
	find_depth
	addq	$NR_ONE, HV_STACK_WORD(%rsi)
	jmp	.Lgraph_raised

/* -- a return ---------------------------------------------------------------------------------- */

/* The plain way. %rsi is the offset of the return stack, %r9 the offset of the frame in it. */
.Lreturn_profile:
	leaq	STACKS + HV_STACK_FRAMES(%rsi,%r9), %r9
	cmpw	$(HV_FRAME_PROFILED | HV_FRAME_QUIET), HV_FRAME_FLAGS(%r9)
	jne	.Lreturn_general
	movl	HV_FRAME_FUNCTION(%r9), %ecx
	find_first_count %ecx, .Lreturn_general
	leaq	(%r10,%rax), %rdi
	read_tsc
	subq	HV_FRAME_TSC(%r9), %rax
	jb	.Lreturn_general
	vcpu_locked addq %rax, HV_COUNT_TICKS(%rdi)
	mulq	%rax
	vcpu_locked addq %rax, HV_COUNT_SQUARES(%rdi)
	vcpu_locked adcq %rdx, HV_COUNT_SQUARES_H(%rdi)
	movq	HV_FRAME_CALLER(%r9), %rcx
	subq	$NR_ONE, STACKS + HV_STACK_WORD(%rsi)
	jmp	.Lreturn

/* The general way. In: %r9 the frame, %rsi its return stack. Continues with the frame's flags in
 * %eax. Preserves %r8.
 *
 * With options/graph-time 0, the time of a call excludes the calls that it makes: its own time.
 * HV_STACK_OWN is the sum of the own times of all calls that have returned, HV_STACK_SUMS its value
 * at the start of each open call. So the difference is exactly the time of the calls in between. */
.Lprofile_return:
	testl	$HV_GRAPH_PROFILE, hole_params + HV_PARAM_GRAPH_FLAGS
	jz	.Lprofile_returned
	read_tsc
	xorl	%edx, %edx
	subq	HV_FRAME_TSC(%r9), %rax
	cmovbq	%rdx, %rax
	testl	$HV_GRAPH_HOST, hole_params + HV_PARAM_GRAPH_FLAGS
	jnz	.Lprofile_host
.Lprofile_ran:
	movq	%rax, %rdx
	testw	$HV_FRAME_OWN_TIME, HV_FRAME_FLAGS(%r9)
	jnz	.Lprofile_own
.Lprofile_ticks: /* %rdx the ticks */
	movl	HV_FRAME_FUNCTION(%r9), %r11d
	find_count .Lprofile_returned
	vcpu_locked addq %rdx, HV_COUNT_TICKS(%rdi)
	movq	%rdx, %rax
	mulq	%rdx
	vcpu_locked addq %rax, HV_COUNT_SQUARES(%rdi)
	vcpu_locked adcq %rdx, HV_COUNT_SQUARES_H(%rdi)
.Lprofile_returned:
	movzwl	HV_FRAME_FLAGS(%r9), %eax
	jmp	.Lreturn_profiled

/* With options/funcgraph-host, steal time does not count, and is added to a separate sum. %rax the
 * ticks, which are pushed. */
.Lprofile_host:
	pushq	%rax
	load_host_time
	movq	%rax, %rdx
	shrq	$HV_STEAL_SHIFT, %rax
	jz	.Lprofile_host_added
	pushq	%rax
	movl	HV_FRAME_FUNCTION(%r9), %r11d
	find_count .Lprofile_host_none
	popq	%rax
	vcpu_locked addl %eax, HV_COUNT_HOST(%rdi)
	jnc	.Lprofile_host_added
	movl	$-1, HV_COUNT_HOST(%rdi)
.Lprofile_host_added:
	movq	%rdx, %rax
	mulq	hole_params + HV_PARAM_TICKS_PER_NS
	shrdq	$32, %rdx, %rax
	popq	%rcx
	xorl	%edx, %edx
	subq	%rax, %rcx
	cmovbq	%rdx, %rcx
	movq	%rcx, %rax
	jmp	.Lprofile_ran

.Lprofile_host_none:
	popq	%rax
	jmp	.Lprofile_host_added

.Lprofile_own:
	leaq	-HV_STACK_FRAMES(%r9), %rcx
	subq	%rsi, %rcx
	jz	.Lprofile_lowest
1:	shrq	$2, %rcx /* frame offset to sum offset */
	movq	HV_STACK_OWN(%rsi), %rax
	subq	HV_STACK_SUMS(%rsi,%rcx), %rax
	xorl	%ecx, %ecx
	subq	%rax, %rdx
	cmovbq	%rcx, %rdx
	addq	%rdx, HV_STACK_OWN(%rsi)
	jmp	.Lprofile_ticks

/* The lowest frame of a return stack. On an interrupt stack, its time is also subtracted from the
 * interrupted call, whose frames are in another return stack. */
.Lprofile_lowest:
	movq	HV_STACK_WORD(%rsi), %rax
	testl	$HV_STACK_IRQ, %eax
	jz	1b
	movq	%rsi, %r11
	movq	%rdx, %r10
	movq	%gs:hole_irq_stack, %rax
	find_interrupted
	lookup	.Lprofile_interrupted
	jmp	2f
.Lprofile_interrupted:
	addq	%r10, HV_STACK_OWN(%rsi)
2:	movq	%r11, %rsi
	movq	%r10, %rdx
	xorl	%ecx, %ecx
	jmp	1b
