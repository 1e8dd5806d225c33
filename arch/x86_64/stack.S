/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks: records the words of the kernel stack that the host needs to unwind it
 * (docs/users/latency-tracers.md). Included by trampolines.S.
 *
 * The trampoline examines the words from the caller's return address to the end of the stack. If
 * that is the CPU's interrupt stack, it continues on the task's stack, from the interrupted
 * position to the end. On any other stack (an exception's) it does not read beyond the page.
 *
 * A word is recorded if it is an address of kernel text, points further up its own stack, or points
 * from the interrupt stack to the task's stack. The trampoline counts the words first, to reserve
 * all records in one step. If the stack changes, surplus words are dropped and missing ones are
 * recorded as 0. If a word is the address of the graph's return handler, the trampoline records the
 * address that the handler will return to, from the frames with that retp.
 *
 * There are two entries. The site of a function whose calls are recorded with their stacks calls
 * hv_trampoline_function_stack. actions.S, sections.S and event.S jump to .Lstack_action, with GOES_ON
 * and DOES pushed.
 *
 *      after push_all
 *      CALLER(%rsp)    caller's return: the recorded stack begins at this word
 *      SITE_END(%rsp)  site + 5
 *      GOES_ON(%rsp)   the address of the next trampoline; 0: none, back into the function
 *      DOES(%rsp)      the remaining actions: HV_DOES_STACK, HV_DOES_REPORT, FROM_COMMAND, ...
 *                      the saved %rcx, %rdx, %rbx, %rsi, %rdi, %r8, %r9
 *      0(%rsp)         LOCALS_LEN bytes of locals */
#define FIRST_END   0  /* the end of the first part */
#define FIRST_RANGE 8  /* bytes of the task's stack, or 0 if there is no second part */
#define SECOND	    16 /* start of the second part, or 0 */
#define SECOND_BIT  24 /* HV_WORD_SECOND_BIT while the second part is read, else 0 */
#define POSITION    32 /* head position of the next reserved record */
#define VCPU	    40
#define TASK	    48
#define TSC	    56
#define NR	    64 /* number of word records */
#define LEFT	    72 /* number of them left */
#define LOCALS_LEN  80
#define DOES	    (LOCALS_LEN + 56)
#define GOES_ON	    (DOES + 8)
#define SITE_END    (DOES + 16)
#define CALLER	    (DOES + 24)

/* More bits of DOES, in the order of HV_STACK_SECTION_BIT, HV_STACK_COMMAND_BIT and, above,
 * HV_STACK_DEEPEST_BIT. A section sets the first two, an event only the first. */
#define FROM_SHIFT   16
#define FROM_EVENT   0x10000
#define FROM_SECTION 0x10000 /* with FROM_COMMAND */
#define FROM_COMMAND 0x20000
#define FROM_DEEPEST 0x400000 /* with FROM_COMMAND. If FROM_EVENT is also set: not of a command */
#define TEXT_SHIFT   31 /* text is in the last 2 GiB */

.macro push_all
	pushq	%rcx
	pushq	%rdx
	pushq	%rbx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	subq	$LOCALS_LEN, %rsp
.endm

/* %r10 := the next reserved record, %rcx := its key. Writes word 0. Clobbers %rax. */
.macro next_record
	movq	POSITION(%rsp), %rax
	addq	$HV_RECORD_LEN, POSITION(%rsp)
	movq	VCPU(%rsp), %r10
	locate_record %rcx
	movq	TSC(%rsp), %rax
	store_word 0, %rax, %rcx
.endm

/* Restarts at the first word. %rsi := its address, %rdi := the end of the first part, %r9 := size
 * of the range at %r8, in the task's stack, that pointers of the first part can point to. */
.macro begin_words
	leaq	CALLER(%rsp), %rsi
	movq	FIRST_END(%rsp), %rdi
	movq	FIRST_RANGE(%rsp), %r9
	movq	$0, SECOND_BIT(%rsp)
.endm

/* %rax := the next word to record; bit 31 is set if it is text. %rsi := the address after that
 * word. Jumps to NONE after the last word. Clobbers %rdx. */
.macro next_word none
.Lnext\@:
	cmpq	%rdi, %rsi
	jae	.Lend\@
	movq	(%rsi), %rax
	addq	$8, %rsi
	movq	%rax, %rdx
	sarq	$TEXT_SHIFT, %rdx
	incq	%rdx
	jz	.Lfound\@
	movq	%rax, %rdx
	subq	%r8, %rdx
	cmpq	%r9, %rdx
	jb	.Lpointer\@
	cmpq	%rsi, %rax
	jb	.Lnext\@
	cmpq	%rdi, %rax
	ja	.Lnext\@
.Lpointer\@:
	btrq	$TEXT_SHIFT, %rax
	jmp	.Lfound\@
.Lend\@:
	testq	%r9, %r9
	jz	\none
	xorl	%r9d, %r9d
	movq	SECOND(%rsp), %rsi
	leaq	hole_stack_bytes(%r8), %rdi
	btsq	$HV_WORD_SECOND_BIT, SECOND_BIT(%rsp)
	jmp	.Lnext\@
.Lfound\@:
.endm

	.globl	hv_trampoline_function_stack
hv_trampoline_function_stack:
	pushq	$0
	.globl	hv_trampoline_chain_function_stack
hv_trampoline_chain_function_stack: /* called by a chain (chain.S), whose address is GOES_ON */
	pushq	$HV_DOES_STACK
	push_all

	cmpl	$0, MODE
	jne	.Lstack_checks
.Lstack_checked:
	write_function_record CALLER(%rsp), SITE_END(%rsp), .Lstack_function, .Lstack_function_task
	jmp	.Lstack
.Lstack_function_task:
	write_task_record
	jmp	.Lstack_function
.Lstack_checks:
	check_mode .Lstack_checked, .Lstack_out

/* The entry for the other files. 0(%rsp) is DOES, 8(%rsp) GOES_ON. */
.Lstack_action:
	push_all

	testl	$HV_MODE_CPUS, MODE
	jz	.Lstack
	load_vcpu
	cmpl	$0, HV_STATE_MUTED(%r10)
	je	.Lstack
	testl	$FROM_DEEPEST, DOES(%rsp)
	jnz	.Lstack_only_deepest
	andl	$~HV_DOES_STACK, DOES(%rsp)
	testl	$HV_DOES_REPORT, DOES(%rsp)
	jz	.Lstack_out
	jmp	.Lstack
.Lstack_only_deepest:
	orl	$FROM_EVENT, DOES(%rsp)

.Lstack:
	load_vcpu
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %edx
	cmpl	%edx, HV_STATE_LAST_PID(%r10)
	je	.Lstack_same_task
	write_task_record
.Lstack_same_task:
	movq	%r10, VCPU(%rsp)
	movq	%rax, TASK(%rsp)
	movl	$0, NR(%rsp)
	testl	$HV_DOES_STACK, DOES(%rsp)
	jz	.Lstack_reserve

	/* Find the end of the stack. */
	leaq	CALLER(%rsp), %rsi
	movl	$hole_stack_bytes, %r9d
	movq	hole_task_stack(%rax), %r8
	movq	$0, FIRST_RANGE(%rsp)
	movq	$0, SECOND(%rsp)
	leaq	(%r8,%r9), %rdi
	movq	%rsi, %rax
	subq	%r8, %rax
	cmpq	%r9, %rax
	jb	.Lstack_ends
	movq	%gs:hole_irq_stack, %rdi
	movq	%rdi, %rax
	subq	%rsi, %rax
	cmpq	%r9, %rax
	jae	.Lstack_page
	leaq	8(%rdi), %rax /* the end, or the last word */
	testl	$0xfff, %edi
	cmovnzq %rax, %rdi
	/* The last word is the sp of the interrupted stack (arch/x86/include/asm/irq_stack.h). */
	movq	-8(%rdi), %rax
	andq	$-8, %rax
	movq	%rax, %rdx
	subq	%r8, %rdx
	cmpq	%r9, %rdx
	jae	.Lstack_ends
	movq	%rax, SECOND(%rsp)
	movq	%r9, FIRST_RANGE(%rsp)
	jmp	.Lstack_ends
.Lstack_page:
	movq	%rsi, %rdi
	orq	$0xfff, %rdi
	incq	%rdi
.Lstack_ends:
	movq	%rdi, FIRST_END(%rsp)

	xorl	%ebx, %ebx
	begin_words
.Lstack_count:
	next_word .Lstack_counted
	incl	%ebx
	jmp	.Lstack_count
.Lstack_counted:
	leal	2(%rbx), %eax /* ceil(%ebx / 3), exact for the number of words on a stack */
	imull	$0xaaab, %eax, %eax
	shrl	$17, %eax
	movl	$HV_STACK_RECORDS_MAX, %edx
	cmpl	%edx, %eax
	cmoval	%edx, %eax
	movl	$hole_ring_mask, %edx
	shrl	$(HV_RECORD_SHIFT + 1), %edx /* at most half of a very small ring */
	cmpl	%edx, %eax
	cmoval	%edx, %eax
	movl	%eax, NR(%rsp)

.Lstack_reserve:
	movq	VCPU(%rsp), %r10
	movl	NR(%rsp), %eax
	incl	%eax
	testl	$HV_DOES_STACK, DOES(%rsp)
	jz	1f
	incl	%eax
1:	shll	$HV_RECORD_SHIFT, %eax
	vcpu_locked xaddq %rax, HV_STATE_HEAD(%r10)
	movq	%rax, POSITION(%rsp)
	read_tsc
	movq	%rax, TSC(%rsp)
	testl	$HV_DOES_STACK, DOES(%rsp)
	jz	.Lstack_event

	/* The first record: start of the stack, frame pointer, start of the second part. */
	next_record
	leaq	CALLER(%rsp), %rax
	clear_top %rax
	store_word 1, %rax, %rcx
	movl	SECOND(%rsp), %edx
	andl	$0x7fffffff, %edx
	shlq	$(HV_WORDS_SECOND_SHIFT - 3), %rdx
	movl	%ebp, %eax
	andl	$0x7fffffff, %eax
	orq	%rdx, %rax
	store_word 2, %rax, %rcx
	movabsq	$(HV_RECORD_WORDS << HV_RECORD_KIND_SHIFT), %r11
	movl	NR(%rsp), %eax
	movl	%eax, LEFT(%rsp)
	orq	%r11, %rax
	store_word 3, %rax, %rcx

	begin_words
.Lstack_words:
	decl	LEFT(%rsp)
	js	.Lstack_event
	movl	$1, %eax
	shlq	$HV_RECORD_DEPTH_SHIFT, %rax
	addq	%rax, %r11
	next_record
	movl	$1, %ebx
.Lstack_word:
	next_word .Lstack_no_word
	movl	%eax, %eax
	movq	$.Lgraph_handler, %rdx
	cmpl	%edx, %eax
	je	.Lstack_handler
.Lstack_shown:
	leaq	-8(%rsi), %rdx
	andl	$HV_WORD_ADDRESS_MASK, %edx
	shlq	$(HV_WORD_ADDRESS_SHIFT - 3), %rdx
	orq	%rdx, %rax
	orq	SECOND_BIT(%rsp), %rax
.Lstack_store:
	cmpl	$3, %ebx
	jne	1f
	orq	%r11, %rax
1:	xorq	%rcx, %rax
	movq	%rax, (%r10,%rbx,8)
	incl	%ebx
	cmpl	$3, %ebx
	jbe	.Lstack_word
	jmp	.Lstack_words
.Lstack_no_word:
	xorl	%eax, %eax
	jmp	.Lstack_store

/* The word at -8(%rsi) is the address of our handler. %eax := the low half of the address that the
 * handler will return to, from the frames with that retp. Clobbers %rdx.
 *
 * A frame whose caller is the handler itself belongs to a function that was entered by a jump (a
 * tail call); another frame with this retp contains the caller. If two frames contain one, one of
 * them was added but not filled yet, or was left without a return, and their order does not show
 * which. So the code examines all frames in all buckets. If there is not exactly one caller, %eax
 * is the address of the handler, and the host ends the stack there. */
.Lstack_handler:
	pushq	%rbx
	pushq	%rcx
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%rsi
	leaq	-8(%rsi), %r8
	find_key %r8
	find_home %ecx
	leaq	STACKS(%rsi), %rsi
	movq	$.Lgraph_handler, %r9
	movq	%r9, %rbx
	.rept	HV_STACK_LOOKUPS
	movq	HV_STACK_WORD(%rsi), %rdx
	xorq	%rcx, %rdx
	cmpq	$(HV_STACK_SLOW << 1), %rdx
	jae	3f
	andl	$HV_STACK_NR_MASK, %edx
	cmpl	$NR_MAX, %edx
	ja	3f
	leaq	HV_STACK_FRAMES(%rsi), %rdi
	addq	%rdi, %rdx
1:	cmpq	%rdx, %rdi
	jae	3f
	cmpq	%r8, HV_FRAME_RETP(%rdi)
	jne	2f
	movq	HV_FRAME_CALLER(%rdi), %rax
	cmpq	%r9, %rax
	je	2f
	cmpq	%r9, %rbx
	jne	.Lstack_handler_unknown
	movq	%rax, %rbx
2:	addq	$HV_FRAME_LEN, %rdi
	jmp	1b
3:	addq	$HV_STACK_LEN, %rsi
	.endr
	movq	%rbx, %rax
	sarq	$TEXT_SHIFT, %rax
	incq	%rax
	jz	4f
.Lstack_handler_unknown:
	movq	%r9, %rbx
4:	movl	%ebx, %eax
	popq	%rsi
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rcx
	popq	%rbx
	jmp	.Lstack_shown

.Lstack_event:
	next_record
	make_call_word CALLER(%rsp), SITE_END(%rsp)
	store_word 1, %rax, %rcx
	movq	TASK(%rsp), %rax
	movl	hole_task_pid(%rax), %edx
	make_task_word %rdx, %dl, %dh
	store_word 2, %rdx, %rcx
	movl	NR(%rsp), %edx
	shll	$DEPTH_SHIFT, %edx
	orl	$HIGH_KIND(HV_RECORD_STACK), %edx
	testl	$HV_DOES_STACK, DOES(%rsp)
	jnz	1f
	xorl	$HIGH_KIND(HV_RECORD_STACK ^ HV_RECORD_COMMAND), %edx
1:	movl	DOES(%rsp), %eax
	andl	$(FROM_COMMAND | FROM_SECTION | FROM_DEEPEST), %eax
	shll	$(HV_STACK_SECTION_BIT - 32 - FROM_SHIFT), %eax
	orl	%eax, %edx
	make_context_word
	store_word 3, %rdx, %rcx

	btrl	$HV_DOES_STACK_BIT, DOES(%rsp)
	jnc	.Lstack_out
	testl	$HV_DOES_REPORT, DOES(%rsp)
	jnz	.Lstack
.Lstack_out:
	addq	$LOCALS_LEN, %rsp
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rbx
	popq	%rdx
	popq	%rcx
	popq	%r10
	popq	%r10
	testq	%r10, %r10
	jz	.Lstack_return
	pushq	%r10
.Lstack_return:
	.globl	hv_trampoline_return_6
hv_trampoline_return_6: /* to the trampoline that records the call, or into the function */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

#undef SITE_END
#undef CALLER
