/* The function profile: calls and their time are counted per vCPU and function in tables in the
 * region (struct hv_count, docs/profile.md), so that nothing is lost however many calls there are.
 * A task may be interrupted here and continue on another vCPU, so all additions are locked.
 * Included by stubs.S.
 */

/* %rdi := this vCPU's counts of the function whose site's address has the low half %r11d. Goes to
 * NONE if the table has no place for it. Clobbers %rax, %rcx, %rdx. */
.macro find_count none
	movq	params + HV_PARAM_CPU_NUMBER(%rip), %rax
	movl	%gs:(%rax), %eax
	cmpl	params + HV_PARAM_NR_CPUS(%rip), %eax
	jae	\none
	movl	params + HV_PARAM_NR_COUNTS(%rip), %ecx
	imulq	%rcx, %rax
	imull	$HV_STACK_HASH, %r11d, %edx
	subl	$(HV_COUNT_PROBES - 1), %ecx
	imulq	%rcx, %rdx
	shrq	$32, %rdx
	addq	%rdx, %rax
	imulq	$HV_COUNT_LEN, %rax, %rdi
	addq	params + HV_PARAM_COUNTS(%rip), %rdi
	movl	$HV_COUNT_PROBES, %ecx
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

.Lprofile:
	testl	$HV_GRAPH_PROFILE, params + HV_PARAM_GRAPH_FLAGS(%rip)
	jz	.Lprofile_off
	movl	SITE_END(%rsp), %r11d
	subl	$SITE_LEN, %r11d
	find_count .Lprofile_no_count
	lock incq HV_COUNT_HITS(%rdi)
	jmp	.Lprofile_done
.Lprofile_off:
	andl	$~HV_FRAME_PROFILED, %r10d
	jmp	.Lprofile_done
.Lprofile_no_count:
	pushq	%r10
	load_state 1f
	lock incq HV_STATE_NO_COUNT(%rcx)
1:	popq	%r10
	jmp	.Lprofile_done

/* A call that the graph leaves out. If it is profiled it gets a frame all the same, whose return
 * only counts. */
.Lgraph_left_out:
	testl	$HV_FRAME_PROFILED, %r10d
	jz	.Lgraph_out
	testl	$HV_FRAME_QUIET, %r10d
	jnz	.Lgraph_out
	andl	$~CALLED_KINDS, %r10d
	orl	$HV_FRAME_QUIET, %r10d
	find_stack .Lgraph_out
	probe	.Lquiet_found
	jmp	.Lgraph_take
.Lquiet_found:
	movl	%eax, %edx
	andl	$HV_STACK_NR_MASK, %edx
	jz	.Lgraph_first
	cmpl	$0, HV_STACK_STOPPED(%rsi)
	jne	.Lgraph_out
	cmpl	$HV_FRAMES_MAX, %edx
	jae	.Lgraph_full
	movl	HV_STACK_DEPTH(%rsi), %edi
	addl	%edx, %edi
	incq	HV_STACK_WORD(%rsi)
	jmp	.Lgraph_raised

/* Counts a return. In: %r9 the frame, %rsi its return stack. Continues with the frame's flags in
 * %eax. Keeps %r8.
 *
 * With options/graph-time 0 the time of a call does not include the calls that it makes: its own
 * time. HV_STACK_OWN is the sum of the own times of all calls that returned. The frame keeps
 * what that sum was when the call began; it has since grown by exactly the time of the calls in
 * between. */
.Lprofile_return:
	testl	$HV_GRAPH_PROFILE, params + HV_PARAM_GRAPH_FLAGS(%rip)
	jz	.Lprofile_returned
	read_tsc
	xorl	%edx, %edx
	subq	HV_FRAME_TSC(%r9), %rax
	cmovbq	%rdx, %rax
	movq	%rax, %r10
	testl	$HV_GRAPH_OWN_TIME, params + HV_PARAM_GRAPH_FLAGS(%rip)
	jnz	.Lprofile_own
.Lprofile_ticks: /* %r10 the ticks */
	movl	HV_FRAME_FUNCTION(%r9), %r11d
	find_count .Lprofile_returned
	lock addq %r10, HV_COUNT_TICKS(%rdi)
	movq	%r10, %rax
	mulq	%r10
	lock addq %rax, HV_COUNT_SQUARES(%rdi)
	lock adcq %rdx, HV_COUNT_SQUARES_H(%rdi)
.Lprofile_returned:
	movzwl	HV_FRAME_FLAGS(%r9), %eax
	jmp	.Lreturn_profiled

.Lprofile_own:
	leaq	-HV_STACK_FRAMES(%r9), %rdx
	subq	%rsi, %rdx
	jz	.Lprofile_lowest
1:	shrq	$(HV_FRAME_SHIFT - 3), %rdx /* from a frame's offset to a sum's */
	movq	HV_STACK_OWN(%rsi), %rax
	subq	HV_STACK_SUMS(%rsi,%rdx), %rax
	xorl	%edx, %edx
	subq	%rax, %r10
	cmovbq	%rdx, %r10
	addq	%r10, HV_STACK_OWN(%rsi)
	jmp	.Lprofile_ticks

/* The lowest frame of a return stack. On an interrupt stack its time is also subtracted from the
 * call that was interrupted, whose frames are in another return stack. */
.Lprofile_lowest:
	movq	params + HV_PARAM_IRQ_STACK(%rip), %rax
	movq	%gs:(%rax), %rax
	movq	%rax, %rcx
	subq	HV_FRAME_SLOT(%r9), %rcx
	movl	params + HV_PARAM_STACK_BYTES(%rip), %edi
	cmpq	%rdi, %rcx
	jae	1b
	pushq	%rsi
	find_interrupted
	probe	.Lprofile_interrupted
	jmp	2f
.Lprofile_interrupted:
	addq	%r10, HV_STACK_OWN(%rsi)
2:	popq	%rsi
	xorl	%edx, %edx
	jmp	1b
