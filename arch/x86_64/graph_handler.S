/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The return handler of a graph: traced functions return to it instead of their caller. It finds
 * the frame of the call, records the return, removes the frame and jumps to the caller. It has a
 * plain way and a general way, like the trampoline of a call (graph.S). Included by trampolines.S.
 *
 *      on entry                   after the pushes
 *      -8(%rsp)  retp              8(%rsp)  HANDLER_RETP, which now contains %rax: the return value
 *                                  0(%rsp)  %rdx: the return value's second half
 *
 * %rcx, %rsi, %rdi and %r8 to %r11 are free, like in the kernel's return_to_handler. */
#define HANDLER_RETP 8
#define FRAMES	     STACKS + HV_STACK_FRAMES

/* For the exit of the frame at BASE + REGS: %rcx := word 2, %rdx := word 3 without the preempt
 * count. In: %ecx the pid. Clobbers %rax. */
.macro begin_exit_words base, regs
	shlq	$HV_EXIT_PID_SHIFT, %rcx
	movl	\base + HV_FRAME_FUNCTION(\regs), %eax
	orq	%rax, %rcx
	movl	\base + HV_FRAME_FLAGS(\regs), %edx /* and HV_FRAME_DEPTH */
	xorl	$HIGH_KIND(HV_RECORD_ENTRY ^ HV_RECORD_EXIT), %edx
	make_flags_word
.endm

/* For the exit of the frame at %r9: %rcx := word 2, %rdx := word 3. In: %ecx the pid. Clobbers
 * %rax. */
.macro make_exit_words
	begin_exit_words 0, %r9
	load_count %rax, %eax
	orq	%rax, %rdx
.endm

/* Writes the record of a return on the plain way, from the preempt count on; see load_count_in_way.
 * LONG and COUNT as in plain_call_words. */
.macro plain_return_words long, count
	load_count_in_way \count
	orq	%rax, %rdx
	xorq	%r8, %rcx
	\long movq %rcx, 16(%r10)
	xorq	%r8, %rdx
	\long movq %rdx, 24(%r10)
	read_tsc
	xorq	%r8, %rax
	.ifc \count, both_halves
	{disp8} movq %rax, 0(%r10)
	.else
	movq	%rax, (%r10)
	.endif
	xorq	FRAMES + HV_FRAME_TSC(%rsi,%r9), %r8
	\long movq %r8, 8(%r10) /* word 1, XORed with the key */
.endm

/* Stores these words and word 1 in the record at %r10, with the key %r8. Clobbers %rax, %rcx,
 * %rdx. */
.macro store_exit_words
	store_word 2, %rcx, %r8
	store_word 3, %rdx, %r8
	movq	HV_FRAME_TSC(%r9), %rax
	store_word 1, %rax, %r8
.endm

/* %rax := the steal time in ns during the call of frame %r9 in the return stack %rsi, or 0 if the
 * steal time at its start is unknown. Clobbers %rdx. */
.macro load_host_time
	xorl	%eax, %eax
	testw	$HV_FRAME_HOST, HV_FRAME_FLAGS(%r9)
	jz	1f
	leaq	-HV_STACK_FRAMES(%r9), %rdx
	subq	%rsi, %rdx
	shrq	$3, %rdx /* frame offset to steal time offset */
	load_steal
	shrq	$HV_STEAL_SHIFT, %rax
	subl	HV_STACK_STEALS(%rsi,%rdx), %eax
	jns	2f
	xorl	%eax, %eax
2:	shlq	$HV_STEAL_SHIFT, %rax
1:
.endm

/* -- the plain way ----------------------------------------------------------------------------- */

	.globl	hv_graph_handler
hv_graph_handler:
.Lgraph_handler:
	pushq	%rax /* to the word at retp, which contained the return address */
	pushq	%rdx
	leaq	HANDLER_RETP(%rsp), %rcx
	movq	%rcx, %rdx
	andq	$hole_stack_mask, %rdx
	find_home %edx
	movq	STACKS + HV_STACK_WORD(%rsi), %rax
	xorq	%rdx, %rax
	leaq	-NR_ONE(%rax), %r9
	cmpq	$(NR_MAX - NR_ONE), %r9
	ja	.Lreturn_general
	cmpq	%rcx, FRAMES + HV_FRAME_RETP(%rsi,%r9)
	jne	.Lreturn_general
	cmpw	$0, FRAMES + HV_FRAME_FLAGS(%rsi,%r9)
	jne	.Lreturn_profile
	cmpq	$0, MODE /* MODE and GRAPH_MODE */
	jne	.Lreturn_general
	load_vcpu
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %ecx
	cmpl	%ecx, HV_STATE_LAST_PID(%r10)
	jne	.Lreturn_general

	begin_exit_words FRAMES, "%rsi,%r9"
	reserve_record %r8
785:	plain_return_words {disp32}, plain
786:	movq	FRAMES + HV_FRAME_CALLER(%rsi,%r9), %rcx
	subq	$NR_ONE, STACKS + HV_STACK_WORD(%rsi)

/* Returns to the caller, %rcx. A bare return would not match a call, so the CPU would mispredict
 * all following returns. So the code makes a call and replaces its return address.
 *
 * If the kernel itself makes bare indirect jumps, and their targets need no endbr64, the call is
 * replaced by a jump to 773, which is faster. The indirect jump there is in the upper half of a
 * cache line, because on some CPUs those in the lower half are unsafe
 * (Documentation/admin-guide/hw-vuln/indirect-target-selection.rst). */
.Lreturn:
	popq	%rdx
	popq	%rax
.Lreturn_leave:
771:	call	1f
772:	int3
1:	movq	%rcx, (%rsp)
	.globl	hv_trampoline_return_3
hv_trampoline_return_3:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

	.pushsection .hv_alternatives
	.long	HV_ALT_JUMP, 771b - hv_trampolines, 772b - 771b, 773f - hv_trampolines
	.popsection
	.subsection 1
787:	plain_return_words {disp8}, both_halves
788:	.subsection 0
	count_ways 785b, 786b, 787b, 788b

	.subsection 1
	.balign	64, 0xcc
	.fill	32, 1, 0xcc
	.globl	hv_graph_jump
hv_graph_jump:
773:	jmp	*%rcx
	int3
	.subsection 0

/* -- the general way --------------------------------------------------------------------------- */

/* Looks for a return stack of this key whose last frame has this retp. If there is none, all frames
 * are searched. */
.Lreturn_general:
	leaq	HANDLER_RETP(%rsp), %r8
	find_key %r8
	find_home %ecx
	leaq	STACKS(%rsi), %rsi
	.rept	HV_STACK_LOOKUPS
	movq	HV_STACK_WORD(%rsi), %rax
	xorq	%rcx, %rax
	cmpq	$(HV_STACK_SLOW << 1), %rax
	jae	1f
	andl	$HV_STACK_NR_MASK, %eax
	/* Without frames, this reads a word of the header that is never a retp. */
	leaq	HV_STACK_FRAMES - HV_FRAME_LEN(%rsi,%rax), %r9
	cmpq	%r8, HV_FRAME_RETP(%r9)
	je	.Lreturn_last
1:	addq	$HV_STACK_LEN, %rsi
	.endr
	jmp	.Lreturn_search

.Lreturn_last:
	movl	$NR_ONE, %r8d
/* %rsi the return stack, %r9 the frame, %r8 the value to subtract from the word to remove the
 * frame. */
.Lreturn_found:
	movzwl	HV_FRAME_FLAGS(%r9), %eax
	testl	$(CALLED_KINDS | HV_FRAME_PROFILED | HV_FRAME_PROBED), %eax
	jnz	.Lreturn_count
.Lreturn_counted:
	testl	$HV_GRAPH_RETURNS, hole_params + HV_PARAM_GRAPH_FLAGS
	jz	.Lreturn_lower
	testl	$(HV_MODE_SILENT | HV_MODE_CPUS), MODE
	jnz	.Lreturn_mode
.Lreturn_on:
	cmpq	$0, hole_params + HV_PARAM_THRESHOLD
	jne	.Lreturn_threshold
.Lreturn_record:
	load_vcpu
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %ecx
	cmpl	%ecx, HV_STATE_LAST_PID(%r10)
	jne	.Lreturn_other_task
.Lreturn_same_task:
	testl	$(HV_GRAPH_RETVAL | HV_GRAPH_HOST), hole_params + HV_PARAM_GRAPH_FLAGS
	jnz	.Lreturn_value
	cmpl	$0, HV_STACK_OVERRUN(%rsi)
	jne	.Lreturn_overrun
.Lreturn_alone:
	make_exit_words
	movl	$HV_RECORD_LEN, %eax
	vcpu_locked xaddq %rax, HV_STATE_HEAD(%r10)
	pushq	%r8
	locate_record %r8
	store_exit_words
	read_tsc
.Lreturn_timed: /* %rax the time-stamp counter */
	store_word 0, %rax, %r8
	popq	%r8
.Lreturn_lower:
	testb	$HV_FRAME_PROBED, HV_FRAME_FLAGS(%r9)
	jnz	.Lreturn_probed
	movq	HV_FRAME_CALLER(%r9), %rcx
	subq	%r8, HV_STACK_WORD(%rsi)
	jmp	.Lreturn

.Lreturn_count:
	testl	$HV_FRAME_PROFILED, %eax
	jnz	.Lprofile_return
.Lreturn_profiled: /* %eax the frame's flags */
	testl	$HV_FRAME_ROOT, %eax
	jz	1f
	decl	HV_STACK_INSIDE(%rsi)
1:	testl	$HV_FRAME_QUIET, %eax
	jnz	.Lreturn_lower
	testl	$HV_FRAME_MUTES, %eax
	jz	.Lreturn_counted
	decl	HV_STACK_MUTED(%rsi)
	cmpq	$0, HV_STACK_MUTED(%rsi) /* and HV_STACK_STOPPED */
	jne	.Lreturn_lower
	cmpl	$0, HV_STACK_OVERRUN(%rsi)
	jne	.Lreturn_lower
	cmpl	$HIGH_KIND(HV_RECORD_ENTRY), HV_STACK_DEPTH(%rsi) /* has arguments */
	jb	.Lreturn_lower
	andq	$~HV_STACK_SLOW, HV_STACK_WORD(%rsi)
	jmp	.Lreturn_lower

.Lreturn_mode:
	testl	$HV_MODE_SILENT, MODE
	jnz	.Lreturn_lower
	load_vcpu
	cmpl	$0, HV_STATE_MUTED(%r10)
	jne	.Lreturn_lower
	jmp	.Lreturn_on

.Lreturn_threshold:
	read_tsc
	subq	HV_FRAME_TSC(%r9), %rax
	jb	.Lreturn_lower
	cmpq	hole_params + HV_PARAM_THRESHOLD, %rax
	jb	.Lreturn_lower
	testl	$HV_GRAPH_HOST, hole_params + HV_PARAM_GRAPH_FLAGS
	jz	.Lreturn_record
	movq	%rax, %rcx
	load_host_time
	movq	%rax, %rdi
	mulq	hole_params + HV_PARAM_TICKS_PER_NS
	shrdq	$32, %rdx, %rax
	subq	%rax, %rcx
	jb	.Lreturn_lower
	cmpq	hole_params + HV_PARAM_THRESHOLD, %rcx
	jb	.Lreturn_lower
	load_vcpu
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %ecx
	cmpl	%ecx, HV_STATE_LAST_PID(%r10)
	je	.Lreturn_host
	write_task_record
	jmp	.Lreturn_host

.Lreturn_other_task:
	write_task_record
	jmp	.Lreturn_same_task

/* The exit has a return value, or it may have steal time. %rdi := the steal time. */
.Lreturn_value:
	xorl	%edi, %edi
	testl	$HV_GRAPH_HOST, hole_params + HV_PARAM_GRAPH_FLAGS
	jz	.Lreturn_more
	load_host_time
	movq	%rax, %rdi
.Lreturn_host: /* %rdi the steal time */
	testq	%rdi, %rdi
	jnz	.Lreturn_more
	testl	$HV_GRAPH_RETVAL, hole_params + HV_PARAM_GRAPH_FLAGS
	jnz	.Lreturn_more
	cmpl	$0, HV_STACK_OVERRUN(%rsi)
	je	.Lreturn_alone
.Lreturn_overrun:
	xorl	%edi, %edi

/* Writes two records: one with the return value, the overrun and %rdi, the steal time; then the
 * exit. After the pushes of %r8, %rdi and %r10, 32(%rsp) is %rax and 24(%rsp) is %rdx, as the
 * function returned them. */
.Lreturn_more:
	make_exit_words
	movl	$(2 * HV_RECORD_LEN), %eax
	vcpu_locked xaddq %rax, HV_STATE_HEAD(%r10)
	pushq	%r8
	pushq	%rdi
	pushq	%r10
	movq	%rax, %rdi
	locate_record %r8
	movl	HV_STACK_OVERRUN(%rsi), %eax
	movq	32(%rsp), %r11
	testl	$HV_GRAPH_RETVAL, hole_params + HV_PARAM_GRAPH_FLAGS
	jz	1f
	btsq	$HV_MORE_VALUE_SHIFT, %rax
	pushq	%r11
	shrq	$HV_WORD_BITS, %r11
	shlq	$HV_MORE_TOP_SHIFT, %r11
	orq	%r11, %rax
	popq	%r11
1:	clear_top %r11
	store_word 1, %r11, %r8
	store_word 2, %rax, %r8
	movabsq	$(HV_RECORD_MORE << HV_RECORD_KIND_SHIFT), %rax
	orq	8(%rsp), %rax
	store_word 3, %rax, %r8
	pushq	%rdx
	read_tsc
	popq	%rdx
	movq	%rax, %r11
	store_word 0, %rax, %r8
	popq	%r10
	popq	%rax
	leaq	HV_RECORD_LEN(%rdi), %rax
	locate_record %r8
	store_exit_words
	movq	%r11, %rax
	jmp	.Lreturn_timed

/* The last frame has another retp: some functions were left without a return, for example because
 * the kernel killed a task and continues with its stack. Searches all frames for retp and drops
 * the frames above it. %rsi is after the last bucket. */
.Lreturn_search:
	subq	$(HV_STACK_LOOKUPS * HV_STACK_LEN), %rsi
	movl	$HV_STACK_LOOKUPS, %r11d
.Lreturn_search_stack:
	movq	HV_STACK_WORD(%rsi), %rax
	xorq	%rcx, %rax
	cmpq	$(HV_STACK_SLOW << 1), %rax
	jae	.Lreturn_search_next
	andl	$HV_STACK_NR_MASK, %eax
	movl	%eax, %edx
.Lreturn_search_frame:
	subl	$NR_ONE, %edx
	js	.Lreturn_search_next
	leaq	HV_STACK_FRAMES(%rsi,%rdx), %r9
	cmpq	%r8, HV_FRAME_RETP(%r9)
	jne	.Lreturn_search_frame
	movl	$1, HV_STACK_STOPPED(%rsi)
	orq	$HV_STACK_SLOW, HV_STACK_WORD(%rsi)
	movl	%eax, %r8d
	subl	%edx, %r8d
	jmp	.Lreturn_found
.Lreturn_search_next:
	addq	$HV_STACK_LEN, %rsi
	decl	%r11d
	jnz	.Lreturn_search_stack
	/* There is no such frame, so the guest wrote to the region. The return address is lost. */
	ud2
