/* The graph: the stub of a call replaces the return address by that of our handler, and keeps the
 * original in a frame. The handler looks the frame up when the function returns. The frames of one
 * kernel stack are in one return stack in the region (struct hv_stack, docs/graph.md). Included by
 * stubs.S.
 *
 * The stub finds a kernel stack's return stack by the address of the slot that holds the return
 * address, rounded down to the size of a stack. An interrupt stack need not be aligned; the address
 * of its last word, rounded down, stands for it.
 *
 * A return stack needs no lock. Only one task or CPU is on a kernel stack at a time, and an
 * interrupt on it ends before the interrupted code goes on. It is enough that a frame is added
 * before it is filled, and not read after it is removed. Another kernel stack can take only a
 * return stack that has no frames. It does so with cmpxchg, so the first frame is added with
 * cmpxchg as well.
 *
 * All loops are over HV_STACK_PROBES places or HV_FRAMES_MAX frames.
 *
 *      on entry of a call              after the pushes       on entry of the return handler: the
 *       8(%rsp)  caller's return        48(%rsp)              slot is at -8(%rsp). After its pushes:
 *       0(%rsp)  site + 5               40(%rsp)               16(%rsp)  the slot
 *                                       32(%rsp)  %rax          8(%rsp)  %rax: what is returned
 *                                       24(%rsp)  %rcx          0(%rsp)  %rdx: likewise
 *                                       16(%rsp)  %rdx
 *                                        8(%rsp)  %rsi        In the handler %rcx, %rsi, %rdi and
 *                                        0(%rsp)  %rdi        %r8 to %r11 are free, as in the
 *                                                             kernel's return_to_handler.
 */
#define SITE_END 40
#define SLOT	 48

#define CALLED_KINDS (HV_FRAME_ROOT | HV_FRAME_MUTES)
#define HARDIRQ_MASK 0x000f0000 /* of the preempt count */
#define ADDRESS_MASK (-HV_STACK_NR_MASK - 1)
#define DEPTH_SHIFT  (HV_RECORD_DEPTH_SHIFT - 32)

/* %rcx := the address that stands for the kernel stack with the return slot at SLOT, a register.
 * Clobbers %rdx, %rdi. */
.macro find_address slot
	movl	params + HV_PARAM_STACK_BYTES(%rip), %edi
	movq	params + HV_PARAM_IRQ_STACK(%rip), %rdx
	movq	%gs:(%rdx), %rcx
	movq	%rcx, %rdx
	subq	\slot, %rdx
	cmpq	%rdi, %rdx
	leaq	-8(%rcx), %rcx
	cmovaeq \slot, %rcx
	negq	%rdi
	andq	%rdi, %rcx
.endm

/* %rsi := the first place for the return stack of the kernel stack %rcx. Clobbers %rax, %rdi. */
.macro find_home
	movq	%rcx, %rax
	shrq	$12, %rax
	imull	$HV_STACK_HASH, %eax, %eax
	movl	params + HV_PARAM_NR_HOMES(%rip), %edi
	imulq	%rdi, %rax
	shrq	$32, %rax
	imulq	$HV_STACK_LEN, %rax, %rsi
	addq	params + HV_PARAM_STACKS(%rip), %rsi
.endm

/* %rcx := the address that stands for the stack of this call, %rsi := the first place for its
 * return stack. Goes to OUT if the vCPU has no state or the stack is an exception's. Clobbers %rax,
 * %rdx, %rdi. */
.macro find_stack out
	movq	params + HV_PARAM_CPU_NUMBER(%rip), %rax
	movl	%gs:(%rax), %eax
	cmpl	params + HV_PARAM_NR_CPUS(%rip), %eax
	jae	\out
	leaq	SLOT(%rsp), %rax
	movq	%rax, %rdx
	subq	params + HV_PARAM_SKIP_START(%rip), %rdx
	cmpq	params + HV_PARAM_SKIP_LEN(%rip), %rdx
	jb	\out
	find_address %rax
	find_home
.endm

/* %rcx and %rsi as find_stack sets them, for the stack that an interrupt came on. In: %rax the
 * per-CPU pointer to the interrupt stack. The last word of that stack is the interrupted stack
 * pointer (arch/x86/include/asm/irq_stack.h). Clobbers %rax, %rdx, %rdi. */
.macro find_interrupted
	leaq	-8(%rax), %rdx
	testl	$0xfff, %eax
	cmovnzq %rax, %rdx
	movq	(%rdx), %rcx
	subq	$8, %rcx
	movl	params + HV_PARAM_STACK_BYTES(%rip), %edi
	negq	%rdi
	andq	%rdi, %rcx
	find_home
.endm

/* Looks for the return stack of %rcx from the place %rsi on. Goes to FOUND with its place in %rsi
 * and its word in %rax. If there is none, %rsi is behind the last place. Clobbers %rdx. */
.macro probe found
	.rept	HV_STACK_PROBES
	movq	HV_STACK_WORD(%rsi), %rax
	movq	%rax, %rdx
	andq	$ADDRESS_MASK, %rdx
	cmpq	%rcx, %rdx
	je	\found
	addq	$HV_STACK_LEN, %rsi
	.endr
.endm

.Lgraph:
	test_mode
	jne	.Lgraph_checks
.Lgraph_checked:
	find_stack .Lgraph_out
	probe	.Lgraph_found
	jmp	.Lgraph_take

.Lgraph_found:
	movl	%eax, %edx
	andl	$HV_STACK_NR_MASK, %edx
	jz	.Lgraph_first
	cmpq	$0, HV_STACK_MUTED(%rsi) /* and HV_STACK_STOPPED */
	jne	.Lgraph_left_out
	movl	params + HV_PARAM_GRAPH_FLAGS(%rip), %edi
	testl	$(HV_GRAPH_SUBTREE | HV_GRAPH_NO_IRQS), %edi
	jnz	.Lgraph_filter
.Lgraph_passed:
	movl	HV_STACK_DEPTH(%rsi), %edi
	addl	%edx, %edi
	cmpl	params + HV_PARAM_MAX_DEPTH(%rip), %edi
	jae	.Lgraph_left_out
	cmpl	$HV_FRAMES_MAX, %edx
	jae	.Lgraph_full
	incq	HV_STACK_WORD(%rsi)

/* A frame was added. %rsi the return stack, %edx the number of the frame, %edi its depth, %r10d the
 * kind. */
.Lgraph_raised:
	testl	$(CALLED_KINDS | HV_FRAME_PROFILED), %r10d
	jnz	.Lgraph_count
.Lgraph_counted:
	shll	$HV_FRAME_SHIFT, %edx
	leaq	HV_STACK_FRAMES(%rsi,%rdx), %rsi
	leaq	SLOT(%rsp), %rax
	movq	%rax, HV_FRAME_SLOT(%rsi)
	movq	SLOT(%rsp), %rax
	movq	%rax, HV_FRAME_CALLER(%rsi)
	movl	SITE_END(%rsp), %eax
	subl	$SITE_LEN, %eax
	movl	%eax, HV_FRAME_FUNCTION(%rsi)
	movw	%r10w, HV_FRAME_FLAGS(%rsi)
	movw	%di, HV_FRAME_DEPTH(%rsi)
	leaq	.Lgraph_handler(%rip), %rax
	movq	%rax, SLOT(%rsp)

	testl	$(HV_FRAME_MUTES | HV_FRAME_QUIET), %r10d
	jnz	.Lgraph_time
	testl	$HV_GRAPH_NO_ENTRIES, params + HV_PARAM_GRAPH_FLAGS(%rip)
	jnz	.Lgraph_time
	load_state .Lgraph_time
	load_current
	task_field movl, HV_PARAM_TASK_PID, %eax, %rax
	cmpl	HV_STATE_LAST_PID(%rcx), %eax
	jne	.Lgraph_other_task
.Lgraph_same_task:
	reserve_record
	read_tsc
	movq	%rax, HV_FRAME_TSC(%rsi)
	store_word 0, %rax
	movl	HV_FRAME_FUNCTION(%rsi), %eax
	movq	HV_FRAME_CALLER(%rsi), %rdx
	shlq	$32, %rdx
	orq	%rdx, %rax
	store_word 1, %rax
	store_task_word
	load_context HV_RECORD_ENTRY
	shll	$DEPTH_SHIFT, %edi
	orl	%edi, %eax
	shlq	$32, %rax
	orq	%rax, %rdx
	store_word 3, %rdx

.Lgraph_out:
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	.globl	hv_stub_return_1
hv_stub_return_1:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lgraph_checks:
	load_current
	check_mode .Lgraph_checked, .Lgraph_left_out

.Lgraph_time:
	read_tsc
	movq	%rax, HV_FRAME_TSC(%rsi)
	jmp	.Lgraph_out

.Lgraph_other_task:
	write_task_record
	jmp	.Lgraph_same_task

.Lgraph_count:
	testl	$HV_FRAME_PROFILED, %r10d
	jz	1f
	movq	HV_STACK_OWN(%rsi), %rax
	movq	%rax, HV_STACK_SUMS(%rsi,%rdx,8)
1:	testl	$HV_FRAME_ROOT, %r10d
	jz	1f
	incl	HV_STACK_INSIDE(%rsi)
1:	testl	$HV_FRAME_MUTES, %r10d
	jz	.Lgraph_counted
	incl	HV_STACK_MUTED(%rsi)
	jmp	.Lgraph_counted

/* The graph flags, in %edi, leave out some calls. */
.Lgraph_filter:
	testl	$HV_GRAPH_NO_IRQS, %edi
	jz	1f
	movq	params + HV_PARAM_PREEMPT_COUNT(%rip), %rax
	testl	$HARDIRQ_MASK, %gs:(%rax)
	jz	1f
	cmpl	$0, HV_STACK_INSIDE(%rsi)
	jne	1f
	testl	$HV_GRAPH_SUBTREE, %edi
	jz	.Lgraph_left_out
	testl	$HV_FRAME_ROOT, %r10d
	jz	.Lgraph_left_out
1:	testl	$HV_GRAPH_SUBTREE, %edi
	jz	.Lgraph_passed
	testl	$CALLED_KINDS, %r10d
	jnz	.Lgraph_passed
	movl	HV_STACK_INSIDE(%rsi), %eax
	orl	HV_STACK_ABOVE(%rsi), %eax
	jnz	.Lgraph_passed
	jmp	.Lgraph_left_out

.Lgraph_full:
	incl	HV_STACK_OVERRUN(%rsi)
	load_state .Lgraph_out
	incq	HV_STATE_NO_ROOM(%rcx)
	jmp	.Lgraph_out

/* No place has the return stack of %rcx. %rsi is behind the last place. */
.Lgraph_take:
	testl	$HV_GRAPH_SUBTREE, params + HV_PARAM_GRAPH_FLAGS(%rip)
	jz	1f
	testl	$(CALLED_KINDS | HV_FRAME_QUIET), %r10d
	jnz	1f
	/* An interrupt's call may be below a root function that it interrupted. A call on any other
	 * stack that has no frames is not below a root function. */
	movq	params + HV_PARAM_IRQ_STACK(%rip), %rax
	movq	%gs:(%rax), %rdx
	leaq	SLOT(%rsp), %rax
	subq	%rax, %rdx
	movl	params + HV_PARAM_STACK_BYTES(%rip), %eax
	cmpq	%rax, %rdx
	jae	.Lgraph_left_out
1:	subq	$(HV_STACK_PROBES * HV_STACK_LEN), %rsi
	.rept	HV_STACK_PROBES
	movq	HV_STACK_WORD(%rsi), %rax
	testl	$HV_STACK_NR_MASK, %eax
	jnz	1f
	lock cmpxchgq %rcx, HV_STACK_WORD(%rsi)
	je	.Lgraph_taken
	cmpq	%rcx, %rax /* an interrupt on this stack has just taken it */
	je	.Lgraph_first
1:	addq	$HV_STACK_LEN, %rsi
	.endr
.Lgraph_no_stack:
	load_state .Lgraph_out
	incq	HV_STATE_NO_STACK(%rcx)
	jmp	.Lgraph_out
.Lgraph_taken:
	movl	$0, HV_STACK_OVERRUN(%rsi)

/* Adds the first frame to the return stack at %rsi. Until then another kernel stack may take it. */
.Lgraph_first:
	movq	params + HV_PARAM_IRQ_STACK(%rip), %rax
	movq	%gs:(%rax), %rax
	movq	%rax, %rdx
	leaq	SLOT(%rsp), %rdi
	subq	%rdi, %rdx
	movl	params + HV_PARAM_STACK_BYTES(%rip), %r11d
	cmpq	%r11, %rdx
	jb	.Lgraph_interrupt
	xorl	%edi, %edi
	xorl	%r11d, %r11d
.Lgraph_above: /* %edi the depth, %r11d not 0 if a root function was interrupted */
	testl	$HV_FRAME_QUIET, %r10d
	jnz	.Lgraph_raise
	movl	params + HV_PARAM_GRAPH_FLAGS(%rip), %eax
	testl	$HV_GRAPH_NO_IRQS, %eax
	jz	1f
	movq	params + HV_PARAM_PREEMPT_COUNT(%rip), %rdx
	testl	$HARDIRQ_MASK, %gs:(%rdx)
	jz	1f
	testl	$HV_GRAPH_SUBTREE, %eax
	jz	.Lgraph_left_out
	testl	$HV_FRAME_ROOT, %r10d
	jz	.Lgraph_left_out
1:	testl	$HV_GRAPH_SUBTREE, %eax
	jz	1f
	testl	$CALLED_KINDS, %r10d
	jnz	1f
	testl	%r11d, %r11d
	jz	.Lgraph_left_out
1:	cmpl	params + HV_PARAM_MAX_DEPTH(%rip), %edi
	jae	.Lgraph_left_out
.Lgraph_raise:
	movq	%rcx, %rax
	leaq	1(%rcx), %rdx
	lock cmpxchgq %rdx, HV_STACK_WORD(%rsi)
	jne	.Lgraph_no_stack
	movl	%edi, HV_STACK_DEPTH(%rsi)
	movl	$0, HV_STACK_INSIDE(%rsi)
	movq	$0, HV_STACK_MUTED(%rsi) /* and HV_STACK_STOPPED */
	movl	%r11d, HV_STACK_ABOVE(%rsi)
	movq	$0, HV_STACK_LEFT(%rsi)
	xorl	%edx, %edx
	jmp	.Lgraph_raised

/* The first frame of an interrupt stack continues the depth of what was interrupted. %rax the
 * per-CPU pointer to the interrupt stack. */
.Lgraph_interrupt:
	pushq	%rcx
	pushq	%rsi
	find_interrupted
	xorl	%r11d, %r11d
	probe	.Lgraph_interrupted
	xorl	%edi, %edi
1:	popq	%rsi
	popq	%rcx
	jmp	.Lgraph_above
.Lgraph_interrupted:
	xorl	%edi, %edi
	andl	$HV_STACK_NR_MASK, %eax
	jz	1b
	cmpl	$0, HV_STACK_MUTED(%rsi)
	jne	2f
	movl	HV_STACK_DEPTH(%rsi), %edi
	addl	%eax, %edi
	movl	HV_STACK_INSIDE(%rsi), %r11d
	orl	HV_STACK_ABOVE(%rsi), %r11d
	jmp	1b
2:	xorl	%edi, %edi
	testl	$HV_FRAME_QUIET, %r10d
	jnz	1b
	popq	%rsi
	popq	%rcx
	jmp	.Lgraph_left_out

/* The return handler: a traced function returns to it instead of its caller. */
	.globl	hv_graph_handler
hv_graph_handler:
.Lgraph_handler:
	pushq	%rcx
	pushq	%rax
	pushq	%rdx
	leaq	16(%rsp), %r8
	find_address %r8
	find_home
	.rept	HV_STACK_PROBES
	movq	HV_STACK_WORD(%rsi), %rax
	movl	%eax, %edx
	movq	%rax, %rdi
	andq	$ADDRESS_MASK, %rdi
	cmpq	%rcx, %rdi
	jne	1f
	andl	$HV_STACK_NR_MASK, %edx
	shll	$HV_FRAME_SHIFT, %edx
	/* With no frames this reads a word of the head that is never the address of a slot. */
	leaq	HV_STACK_FRAMES - HV_FRAME_LEN(%rsi,%rdx), %r9
	cmpq	%r8, HV_FRAME_SLOT(%r9)
	je	.Lreturn_last
1:	addq	$HV_STACK_LEN, %rsi
	.endr
	jmp	.Lreturn_search

.Lreturn_last:
	leaq	-1(%rax), %r8
/* %rsi the return stack, %r9 the frame, %r8 the return stack's word without that frame. */
.Lreturn_found:
	movq	HV_FRAME_CALLER(%r9), %rax
	movq	%rax, 16(%rsp)
	movzwl	HV_FRAME_FLAGS(%r9), %eax
	testl	$(CALLED_KINDS | HV_FRAME_PROFILED), %eax
	jnz	.Lreturn_count
.Lreturn_counted:
	testl	$HV_GRAPH_RETURNS, params + HV_PARAM_GRAPH_FLAGS(%rip)
	jz	.Lreturn
	movq	params + HV_PARAM_CONTROL(%rip), %rax
	testl	$(HV_MODE_OFF | HV_MODE_CPUS), HV_CONTROL_MODE(%rax)
	jnz	.Lreturn_mode
.Lreturn_on:
	cmpq	$0, params + HV_PARAM_THRESHOLD(%rip)
	jne	.Lreturn_threshold
.Lreturn_record:
	load_state .Lreturn
	load_current
	task_field movl, HV_PARAM_TASK_PID, %eax, %rax
	cmpl	HV_STATE_LAST_PID(%rcx), %eax
	jne	.Lreturn_other_task
.Lreturn_same_task:
	testl	$HV_GRAPH_RETVAL, params + HV_PARAM_GRAPH_FLAGS(%rip)
	jnz	.Lreturn_more
	cmpl	$0, HV_STACK_OVERRUN(%rsi)
	jne	.Lreturn_more
	reserve_record
	read_tsc
	movq	%rax, %rdi
.Lreturn_write: /* %rdi the time-stamp counter */
	movq	%rdi, %rax
	store_word 0, %rax
	xorl	%edx, %edx
	subq	HV_FRAME_TSC(%r9), %rdi
	cmovbq	%rdx, %rdi
	movl	HV_FRAME_FUNCTION(%r9), %eax
	movq	%rdi, %rdx
	shlq	$32, %rdx
	orq	%rdx, %rax
	store_word 1, %rax
	shrq	$31, %rdi
	shlq	$32, %rdi
	task_field movl, HV_PARAM_TASK_PID, %eax, %rax
	orq	%rax, %rdi
	store_word 2, %rdi
	load_context HV_RECORD_EXIT
	movzwl	HV_FRAME_DEPTH(%r9), %edi
	shll	$DEPTH_SHIFT, %edi
	orl	%edi, %eax
	shlq	$32, %rax
	orq	%rax, %rdx
	store_word 3, %rdx

/* Goes to the caller by a call whose return address is replaced by the caller's. An indirect jump
 * would need endbr64 there. A return without a matching call would make the CPU predict every
 * return above it wrongly. */
.Lreturn:
	movq	%r8, HV_STACK_WORD(%rsi)
	popq	%rdx
	popq	%rax
	popq	%rcx
	call	1f
	int3
1:	movq	%rcx, (%rsp)
	.globl	hv_stub_return_2
hv_stub_return_2:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lreturn_count:
	testl	$HV_FRAME_PROFILED, %eax
	jnz	.Lprofile_return
.Lreturn_profiled:
	testl	$HV_FRAME_ROOT, %eax
	jz	1f
	decl	HV_STACK_INSIDE(%rsi)
1:	testl	$HV_FRAME_QUIET, %eax
	jnz	.Lreturn
	testl	$HV_FRAME_MUTES, %eax
	jz	.Lreturn_counted
	decl	HV_STACK_MUTED(%rsi)
	jmp	.Lreturn

.Lreturn_mode:
	testl	$HV_MODE_OFF, HV_CONTROL_MODE(%rax)
	jnz	.Lreturn
	test_muted .Lreturn
	jne	.Lreturn
	jmp	.Lreturn_on

.Lreturn_threshold:
	read_tsc
	subq	HV_FRAME_TSC(%r9), %rax
	jb	.Lreturn
	cmpq	params + HV_PARAM_THRESHOLD(%rip), %rax
	jb	.Lreturn
	jmp	.Lreturn_record

.Lreturn_other_task:
	write_task_record
	jmp	.Lreturn_same_task

/* Writes two records: the value with the overrun, then the exit. */
.Lreturn_more:
	reserve_positions 2
	pushq	%rax
	pushq	%r10
	place_record
	read_tsc
	movq	%rax, %rdi
	store_word 0, %rax
	movq	24(%rsp), %rax
	store_word 1, %rax
	movl	HV_STACK_OVERRUN(%rsi), %eax
	store_word 2, %rax
	movq	24(%rsp), %rdx
	shrq	$63, %rdx
	shlq	$HV_MORE_VALUE63_SHIFT, %rdx
	testl	$HV_GRAPH_RETVAL, params + HV_PARAM_GRAPH_FLAGS(%rip)
	jz	1f
	btsq	$HV_MORE_VALUE_SHIFT, %rdx
1:	btsq	$HV_RECORD_KIND_SHIFT, %rdx /* HV_RECORD_MORE */
	btsq	$(HV_RECORD_KIND_SHIFT + 2), %rdx
	task_field movl, HV_PARAM_TASK_PID, %eax, %rax
	orq	%rax, %rdx
	store_word 3, %rdx
	popq	%r10
	popq	%rax
	incq	%rax
	place_record
	jmp	.Lreturn_write

/* The slot is not that of the last frame: some functions were left without a return, as when the
 * kernel kills a task and goes on with its stack. Looks for the slot in all frames and drops the
 * frames above it. %rsi is behind the last place. */
.Lreturn_search:
	subq	$(HV_STACK_PROBES * HV_STACK_LEN), %rsi
	movl	$HV_STACK_PROBES, %r11d
.Lreturn_search_stack:
	movq	HV_STACK_WORD(%rsi), %rax
	movl	%eax, %edx
	andl	$HV_STACK_NR_MASK, %edx
	andq	$ADDRESS_MASK, %rax
	cmpq	%rcx, %rax
	jne	.Lreturn_search_next
.Lreturn_search_frame:
	testl	%edx, %edx
	jz	.Lreturn_search_next
	decl	%edx
	movl	%edx, %edi
	shll	$HV_FRAME_SHIFT, %edi
	leaq	HV_STACK_FRAMES(%rsi,%rdi), %r9
	cmpq	%r8, HV_FRAME_SLOT(%r9)
	jne	.Lreturn_search_frame
	movl	$1, HV_STACK_STOPPED(%rsi)
	leaq	(%rcx,%rdx), %r8
	jmp	.Lreturn_found
.Lreturn_search_next:
	addq	$HV_STACK_LEN, %rsi
	decl	%r11d
	jnz	.Lreturn_search_stack
	/* There is no such frame, so somebody else has written into the region. The return address
	 * is lost. */
	ud2
