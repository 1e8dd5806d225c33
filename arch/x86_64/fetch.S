/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a probe reads of memory when its function is called, or returns, or when the event that it
 * probes is committed (below). Included by event.S, whose .Lact_regs comes here when the registers
 * of a call are on the stack and the slot, %rax, has a program (struct hv_fetch_step), with 0 in
 * %r11; return_probe.S with how far into the program to begin. %r8d is how many words the entry has.
 * The entry is made in a draft: the registers, then the results of the program.
 *
 * Memory is read by the functions that the guest's kernel has for it, which return an error when
 * there is none. They may be interrupted, and in a kernel that preempts itself the task may be
 * switched out there, with a return address of ours on its stack, and go on on another vCPU. A page
 * fault may come in them, too, and the kernel's functions for it may themselves have probes. So a
 * draft is marked with the task and the kind of context, and a call of the same finds the mark and
 * is not recorded, but counted. The program may be replaced while it runs, so nothing of it is
 * believed.
 *
 *      while it works
 *      as in .Lact_regs                              %rbx  the draft
 *                                                    %r12  the next step
 *                                                    %r13  the present value
 *                                                    %r14  where the next result comes in the draft
 *                                                   %r15d  how many steps may follow
 *                                                    %r9d  how many bytes the next result has at
 *                                                          most: steps that do not read leave it
 */

/* In REGS_WORD while memory is read for an event: no id of an entry that is recorded there. */
#define OF_EVENT 3

/* In %r9d: no step has said how many. A step says less. */
#define ANY_LENGTH 0xffff

/* What a result needs in the draft at least; it is a multiple of the align, as every result is. */
#define RESULT_ROOM 32

/* MARK := what drafts are marked with now. DRAFT (DRAFT32 its lower half) := the first draft of this
 * vCPU. Goes on at MARKED if a draft has the mark. */
.macro mark_now mark, draft, draft32, marked
	movl	%gs:hole_preempt_count, \mark
	andl	$hole_context_bits, \mark
	xorl	%gs:hole_current, \mark
	orl	$(1 << HV_DRAFT_TAKEN_BIT | 1), \mark
	movl	%gs:hole_cpu_number, \draft32
	shlq	$(HV_DRAFT_SHIFT + HV_NR_DRAFTS_SHIFT), \draft
	addq	$hole_drafts, \draft
	.irp	number, 0, 1, 2, 3
	cmpl	\mark, \number * HV_DRAFT_LEN + HV_DRAFT_EVENT(\draft)
	je	\marked
	.endr
.endm

.Lfetch:
	subq	$hole_params + HV_SLOTS_OFF, %rax
	shlq	$(HV_STEP_SHIFT + HV_FETCH_STEPS_SHIFT - HV_SLOT_SHIFT), %rax
	mark_now %edx, %rcx, %ecx, .Lregs_no_draft
	.rept	HV_NR_DRAFTS
	lock btsl $HV_DRAFT_TAKEN_BIT, HV_DRAFT_EVENT(%rcx)
	jnc	.Lfetch_draft
	addq	$HV_DRAFT_LEN, %rcx
	.endr
.Lregs_no_draft:
	load_vcpu
	lock incq HV_STATE_NO_DRAFT(%r10)
	jmp	.Lregs_restore

.Lfetch_draft:
	movl	%edx, HV_DRAFT_EVENT(%rcx)
	movl	%r8d, REGS_DRAFT(%rsp)
	movq	%rcx, %rbx
	leaq	hole_programs(%rax,%r11), %r12
	leaq	REGS_FIRST(%rsp), %rsi
	leaq	(HV_DRAFT_ENTRY + HV_ENTRY_HEADER_LEN)(%rbx), %rdi
	movl	%r8d, %ecx
	rep movsq
	movq	%rdi, %r14
	movl	$HV_FETCH_STEPS_MAX, %r15d
	movl	$ANY_LENGTH, %r9d

/* %rcx := the room behind the results. */
.Lfetch_step:
	leaq	HV_DRAFT_ENTRY + hole_entry_len(%rbx), %rcx
	subq	%r14, %rcx
	cmpq	$RESULT_ROOM, %rcx
	jb	.Lfetch_entry
	decl	%r15d
	js	.Lfetch_entry
	movzbl	HV_STEP_DOES(%r12), %eax
	movzwl	HV_STEP_LEN_BYTES(%r12), %edx
	movq	HV_STEP_VALUE(%r12), %rsi
	addq	$HV_STEP_LEN, %r12
	testb	$HV_FETCH_READS, %al
	jnz	.Lfetch_read
	cmpb	$HV_FETCH_WORD, %al
	je	.Lfetch_word
	cmpb	$HV_FETCH_NUMBER, %al
	jne	.Lfetch_field
	movq	%rsi, %r13
	jmp	.Lfetch_step
.Lfetch_word: /* a return may be without the arguments of its call, and an event has no words */
	movl	REGS_DRAFT(%rsp), %ecx
	cmpq	%rcx, %rsi
	jae	.Lfetch_fault
	movq	REGS_FIRST(%rsp,%rsi,8), %r13
	jmp	.Lfetch_step

.Lfetch_field:
	cmpb	$HV_FETCH_FIELD, %al
	jne	.Lfetch_is
	cmpq	$(HV_DRAFT_LEN - 8), %rsi
	ja	.Lfetch_entry
	movl	%edx, %ecx
	movq	(%rbx,%rsi), %r13
	shlq	%cl, %r13
	testb	$HV_FETCH_SIGNED, %dl
	jnz	1f
	shrq	%cl, %r13
	jmp	.Lfetch_step
1:	sarq	%cl, %r13
	jmp	.Lfetch_step
.Lfetch_is:
	cmpb	$HV_FETCH_IS, %al
	jne	.Lfetch_in
	cmpq	%rsi, %r13
	je	.Lfetch_step
.Lfetch_is_not:
	movl	(HV_STEP_TAG - HV_STEP_LEN)(%r12), %eax
	jmp	.Lfetch_skip

.Lfetch_in:
	cmpb	$HV_FETCH_IN, %al
	jne	.Lfetch_most
	movq	%r13, %rcx
	subq	%rdx, %rcx
	cmpq	$63, %rcx
	ja	.Lfetch_is_not
	btq	%rcx, %rsi
	jc	.Lfetch_step
	jmp	.Lfetch_is_not
.Lfetch_most:
	cmpb	$HV_FETCH_MOST, %al
	jne	.Lfetch_entry
	movl	$ANY_LENGTH, %r9d
	cmpq	%r9, %r13
	cmovbq	%r13, %r9
	jmp	.Lfetch_step

/* (to, from, bytes) in %rdi, %rsi, %rdx. A value is read to where a result would come. There is
 * nothing between the two halves of addresses, and some kernels warn when it is read. */
.Lfetch_read:
	addq	%r13, %rsi
	js	6f
	orb	$HV_FETCH_USER, %al
1:	movq	%r14, %rdi
	testb	$(HV_FETCH_KEEPS | HV_FETCH_STRING), %al
	jnz	2f
	movl	$8, %edx
	jmp	3f
2:	addq	$HV_FETCH_HEAD, %rdi
	subq	$(RESULT_ROOM / 2), %rcx
	cmpq	%rcx, %rdx
	cmovaq	%rcx, %rdx
	cmpq	%r9, %rdx
	cmovaq	%r9, %rdx
3:	pushq	%rdx
	pushq	%rax
	testb	$HV_FETCH_STRING, %al
	jnz	4f
	movq	$hole_copy_kernel, %rcx
	testb	$HV_FETCH_USER, %al
	jz	5f
	movq	$hole_copy_user, %rcx
	jmp	5f
4:	movq	$hole_string_kernel, %rcx
	testb	$HV_FETCH_USER, %al
	jz	5f
	movq	$hole_string_user, %rcx
5:	call	.Lfetch_call
	popq	%rcx
	popq	%rdx
	movl	$ANY_LENGTH, %r9d
	testb	$HV_FETCH_STRING, %cl
	jnz	.Lfetch_string
	testq	%rax, %rax
	jnz	.Lfetch_fault
	testb	$HV_FETCH_KEEPS, %cl
	jnz	.Lfetch_result
	movq	(%r14), %r13
	jmp	.Lfetch_step
6:	movabsq	$hole_kernel_start, %rdi
	cmpq	%rdi, %rsi
	jae	1b
	movl	$ANY_LENGTH, %r9d
	jmp	.Lfetch_fault
.Lfetch_string: /* its length; a negative number: an error */
	cmpq	%rdx, %rax
	ja	.Lfetch_fault
	movl	%eax, %edx
.Lfetch_result: /* of %edx bytes */
	movl	(HV_STEP_TAG - HV_STEP_LEN)(%r12), %eax
	movl	%eax, (%r14)
	movl	%edx, 4(%r14)
	addl	$(HV_FETCH_HEAD + HV_FETCH_ALIGN - 1), %edx
	andl	$-HV_FETCH_ALIGN, %edx
	addq	%rdx, %r14
	jmp	.Lfetch_step
.Lfetch_fault:
	movl	(HV_STEP_TAG - HV_STEP_LEN)(%r12), %eax
	movl	%eax, (%r14)
	movl	$HV_FETCH_FAULT, 4(%r14)
	addq	$HV_FETCH_HEAD, %r14
.Lfetch_skip: /* the steps that have the tag %eax */
	testl	%r15d, %r15d
	jz	.Lfetch_entry
	cmpl	%eax, HV_STEP_TAG(%r12)
	jne	.Lfetch_step
	cmpb	$HV_FETCH_END, HV_STEP_DOES(%r12)
	je	.Lfetch_entry
	decl	%r15d
	addq	$HV_STEP_LEN, %r12
	jmp	.Lfetch_skip

/* Goes to the kernel's function at %rcx, which returns to the caller of this. */
.Lfetch_call:
	pushq	%rcx
	.globl	hv_stub_return_19
hv_stub_return_19:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lfetch_entry:
	cmpw	$OF_EVENT, REGS_WORD(%rsp)
	je	.Levent_fetched
	subq	%rbx, %r14
	subl	$HV_DRAFT_ENTRY, %r14d
	movw	%r14w, REGS_WORD + HV_EVENT_LEN_SHIFT / 8(%rsp)
	leal	(HV_DATA_LEN - 1 - HV_ENTRY_HEADER_LEN)(%r14), %edi
	imull	$0xcccd, %edi, %edi /* / HV_DATA_LEN, as when an event is committed */
	shrl	$20, %edi
	leaq	(HV_DRAFT_ENTRY + HV_ENTRY_HEADER_LEN)(%rbx), %rsi
	movq	%rbx, %r12
	jmp	.Lregs_entry

/* The record is written, or there was no room. %r12: the draft. */
.Lfetch_done:
	movl	$0, HV_DRAFT_EVENT(%r12)
	movq	(REGS_FIRST + 8 * 11)(%rsp), %r12
	movq	(REGS_FIRST + 8 * 12)(%rsp), %r13
	movq	(REGS_FIRST + 8 * 13)(%rsp), %r14
	movq	(REGS_FIRST + 8 * 14)(%rsp), %r15
	jmp	.Lregs_restore

/* Memory for the probes of an event, when it is committed and no filter leaves it out: the file's
 * word, %r9, has HV_EVENT_FILE_READS_BIT and the number of a program. %rcx is the draft, the stack
 * and the other registers are those of commit. The results follow the entry in its draft; if there
 * are any, their end says so, and the record (HV_EVENT_RESULTS). An event that comes from reading
 * has none, as when a fault in the kernel's functions is one that has a program itself.
 *
 *      while it works                                %rbx, %r12 to %r15 as above
 *      48(%rsp)  as in commit, from (%rsp) on
 *      40(%rsp)  ... 16(%rsp)  %r12 to %r15
 *       8(%rsp)  the length of the entry
 *       0(%rsp)  REGS_WORD: OF_EVENT
 */
.Levent_fetch:
	movl	HV_DRAFT_LEN_BYTES(%rcx), %r8d /* the guest may have written it */
	leaq	RESULT_ROOM(%r8), %rdi
	cmpq	$hole_entry_len, %rdi
	ja	.Levent_passes
	mark_now %edi, %r11, %r11d, .Levent_reads_already
	movl	%edi, HV_DRAFT_EVENT(%rcx)
	.irp	reg, %r12, %r13, %r14, %r15, %r8
	pushq	\reg
	.endr
	pushq	$OF_EVENT
	movq	%rcx, %rbx
	movzwl	%r9w, %eax
	shll	$(HV_STEP_SHIFT + HV_FETCH_STEPS_SHIFT), %eax
	leaq	hole_event_programs(%rax), %r12
	leaq	(HV_DRAFT_ENTRY + HV_FETCH_ALIGN - 1)(%rbx,%r8), %r14
	andq	$-HV_FETCH_ALIGN, %r14
	movl	$HV_FETCH_STEPS_MAX, %r15d
	movl	$ANY_LENGTH, %r9d
	jmp	.Lfetch_step

.Levent_reads_already:
	xorl	%r11d, %r11d
	jmp	.Levent_passes

/* What the kernel's functions have left in registers may be addresses of ours. */
.Levent_fetched:
	movl	REGS_FIRST(%rsp), %eax
	leaq	(HV_DRAFT_ENTRY + HV_FETCH_ALIGN - 1)(%rbx,%rax), %rsi
	andq	$-HV_FETCH_ALIGN, %rsi
	xorl	%edi, %edi
	cmpq	%rsi, %r14
	je	1f
	movq	%rax, (%r14)
	subq	%rbx, %r14
	leal	(HV_EVENT_RESULTS_END - HV_DRAFT_ENTRY)(%r14), %edi
1:	addq	$16, %rsp
	.irp	reg, %r15, %r14, %r13, %r12
	popq	\reg
	.endr
	.irp	reg, %r8d, %r9d, %r11d
	xorl	\reg, \reg
	.endr
	load_vcpu
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %edx
	testl	%edi, %edi
	jz	.Levent_passes
	cmpl	%edx, HV_STATE_LAST_PID(%r10)
	je	1f
	write_task_record
1:	movq	%r10, %rbx
	movq	DRAFT(%rsp), %rsi
	addq	$(HV_DRAFT_ENTRY + HV_ENTRY_HEADER_LEN), %rsi
	leal	HV_EVENT_RESULTS(%rdi), %eax
	movw	%ax, (ID + HV_EVENT_LEN_SHIFT / 8)(%rsp)
	jmp	.Levent_length

#undef OF_EVENT
#undef ANY_LENGTH
#undef RESULT_ROOM
