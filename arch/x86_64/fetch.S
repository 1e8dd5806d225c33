/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a probe's fetch program: reads memory when a function is called or returns, or when an event
 * with probes is committed (below). Included by event.S.
 *
 * .Lact_regs jumps here when the registers of a call are on the stack and the action group (%rax)
 * has a program (struct hv_fetch_step), with 0 in %r11. return_probe.S passes the program's start
 * offset in %r11. %r8d is the number of words in the entry. The entry is built in a draft: the
 * registers, followed by the results of the program.
 *
 * The program reads memory with functions of the guest's kernel, which return an error if it is not
 * mapped. They can be interrupted. In a preemptible kernel the task can be preempted there, with a
 * return address into the region on its stack, and continue on another vCPU. They can also cause a
 * page fault, and the kernel's functions for that can themselves have probes. So each draft is
 * marked with its task and kind of context. A nested call that finds its own mark is counted and
 * not recorded. The program can be replaced while it runs, so its contents are not trusted.
 *
 *      during this code
 *      stack as in .Lact_regs                        %rbx  the draft
 *                                                    %r12  the next step
 *                                                    %r13  the current value
 *                                                    %r14  address in the draft for the next result
 *                                                   %r15d  maximum number of further steps
 *                                                    %r9d  maximum size of the next result; kept by
 *                                                          steps that do not read */

/* REGS_WORD while memory is read for an event. It is not an id of the entries recorded there. */
#define OF_EVENT 3

/* %r9d: no step has set a maximum. Steps set less. */
#define ANY_LENGTH 0xffff

/* struct pt_regs (arch/x86/include/asm/ptrace.h) */
#define USER_BP	      32
#define USER_IP	      128
#define USER_CS	      136
#define USER_SP	      152
#define USER_REGS_LEN 168
#define USER_CS_64    0x33 /* __USER_CS; __USER32_CS is 0x23 */
#define PAGE	      4096

/* Minimum room for a result; a multiple of the alignment, like all results. */
#define RESULT_ROOM 32

/* MARK := the current mark for drafts. DRAFT (its lower half is DRAFT32) := the first draft of this
 * vCPU. Jumps to MARKED if a draft has the mark. */
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
	subq	$hole_params + HV_ACTION_GROUPS_OFF, %rax
	shlq	$(HV_STEP_SHIFT + HV_FETCH_STEPS_SHIFT - HV_GROUP_SHIFT), %rax
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

/* %rcx := the room after the results. */
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
.Lfetch_word: /* a return may lack its call's arguments, and an event has no words */
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
	jb	.Lfetch_entry /* includes HV_FETCH_END, which so costs no further test */
	ja	.Lfetch_user_stack
	movl	$ANY_LENGTH, %r9d
	cmpq	%r9, %r13
	cmovbq	%r13, %r9
	jmp	.Lfetch_step

/* %rsi, the distance of the user's registers from the start of the stack, := their address.
 * %rdi := the address of the result's bytes. %rdx := their maximum number, which the room in the draft
 * (%rcx) limits. Jumps to WRONG if the registers would be outside of the stack. */
.macro find_user_regs wrong
	movl	$hole_stack_bytes, %eax
	subl	$USER_REGS_LEN, %eax
	cmpq	%rax, %rsi
	ja	\wrong
	movq	%gs:hole_current, %rax
	addq	hole_task_stack(%rax), %rsi
	subq	$(RESULT_ROOM / 2), %rcx
	cmpq	%rcx, %rdx
	cmovaq	%rcx, %rdx
	leaq	HV_FETCH_HEAD(%r14), %rdi
.endm

/* Stores the user's ip and the return addresses in its frame records. A record is two words in user
 * memory: the address of the next record and the return address. Each record must be above the one
 * before. It is read to the next two words of the result, of which the second is then moved to the
 * first. A 32-bit program has other records: only their ip is stored.
 *
 * During the walk %rdi is the address of the next word, %rdx the last one at which a record may be
 * read, %r13 the address of the record. */
.Lfetch_user_stack:
	cmpb	$HV_FETCH_USER_STACK, %al
	jne	.Lfetch_user_copy
	find_user_regs .Lfetch_entry
	leaq	-8(%rdi,%rdx), %rdx
	testb	$3, USER_CS(%rsi)
	jz	2f
	movq	USER_IP(%rsi), %rax
	movq	USER_BP(%rsi), %r13
	stosq
	cmpb	$USER_CS_64, USER_CS(%rsi)
	jne	2f
	/* Like the kernel: a register below the stack pointer is not a frame pointer. */
	cmpq	(USER_CS + 16)(%rsi), %r13
	jb	2f
1:	cmpq	%rdx, %rdi
	ja	2f
	testq	%r13, %r13
	jle	2f
	pushq	%rdx
	pushq	%rdi
	movq	%r13, %rsi
	movl	$16, %edx
	movq	$hole_copy_user, %rcx
	call	.Lfetch_call
	popq	%rdi
	popq	%rdx
	testq	%rax, %rax
	jnz	2f
	movq	(%rdi), %rax
	movq	8(%rdi), %rcx
	testq	%rcx, %rcx
	jle	2f
	movq	%rcx, (%rdi)
	addq	$8, %rdi
	cmpq	%r13, %rax
	movq	%rax, %r13
	ja	1b
2:	movl	$ANY_LENGTH, %r9d
	leal	-HV_FETCH_HEAD(%rdi), %edx
	subl	%r14d, %edx
	jmp	.Lfetch_result

/* Stores the user's registers and bytes of its stack. They are read page by page,
 * because a page that cannot be read ends them. Of 32-bit programs only the registers are stored.
 *
 * During the copy %rdi is the address of the next byte, %rdx the end of the room, %r13 the address in
 * user memory. */
.Lfetch_user_copy:
	cmpb	$HV_FETCH_USER_COPY, %al
	jne	.Lfetch_entry
	movq	%rsi, %r13
	shrq	$32, %r13
	movl	%esi, %esi
	find_user_regs .Lfetch_entry
	addq	%rdi, %rdx
	testb	$3, USER_CS(%rsi)
	jz	2b
	leaq	USER_REGS_LEN(%rdi), %rax
	cmpq	%rdx, %rax
	ja	2b
	addq	USER_SP(%rsi), %r13
	movl	$(USER_REGS_LEN / 8), %ecx
	rep movsq
	cmpb	$USER_CS_64, (USER_CS - USER_REGS_LEN)(%rsi)
	jne	2b
1:	testq	%r13, %r13
	jle	2b
	movl	%r13d, %ecx
	orl	$-PAGE, %ecx
	negl	%ecx /* bytes up to the end of the page */
	movq	%rdx, %rax
	subq	%rdi, %rax
	jz	2b
	cmpq	%rax, %rcx
	cmovbq	%rcx, %rax
	pushq	%rdx
	pushq	%rdi
	pushq	%rax
	movq	%r13, %rsi
	movq	%rax, %rdx
	movq	$hole_copy_user, %rcx
	call	.Lfetch_call
	popq	%rcx
	popq	%rdi
	popq	%rdx
	testq	%rax, %rax
	jnz	2b
	addq	%rcx, %rdi
	addq	%rcx, %r13
	jmp	1b

/* Calls (to, from, bytes) with %rdi, %rsi, %rdx. A value is read to the address of the next result.
 * Addresses between the two halves of the address space are not read, because some kernels warn
 * about that. */
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
.Lfetch_string: /* its length; negative: an error */
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
.Lfetch_skip: /* skips the steps with the tag %eax */
	testl	%r15d, %r15d
	jz	.Lfetch_entry
	cmpl	%eax, HV_STEP_TAG(%r12)
	jne	.Lfetch_step
	cmpb	$HV_FETCH_END, HV_STEP_DOES(%r12)
	je	.Lfetch_entry
	decl	%r15d
	addq	$HV_STEP_LEN, %r12
	jmp	.Lfetch_skip

/* Jumps to the kernel's function at %rcx, which returns to the caller of .Lfetch_call. */
.Lfetch_call:
	pushq	%rcx
	.globl	hv_trampoline_return_19
hv_trampoline_return_19:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lfetch_entry:
	cmpw	$OF_EVENT, REGS_WORD(%rsp)
	je	.Levent_fetched
	subq	%rbx, %r14
	subl	$HV_DRAFT_ENTRY, %r14d
	movw	%r14w, REGS_WORD + HV_EVENT_LEN_SHIFT / 8(%rsp)
	leal	(HV_DATA_LEN - 1 - HV_ENTRY_HEADER_LEN)(%r14), %edi
	imull	$0xcccd, %edi, %edi /* / HV_DATA_LEN, as in commit */
	shrl	$20, %edi
	leaq	(HV_DRAFT_ENTRY + HV_ENTRY_HEADER_LEN)(%rbx), %rsi
	movq	%rbx, %r12
	jmp	.Lregs_entry

/* The record was written, or there was no room. %r12: the draft. */
.Lfetch_done:
	movl	$0, HV_DRAFT_EVENT(%r12)
	movq	(REGS_FIRST + 8 * 11)(%rsp), %r12
	movq	(REGS_FIRST + 8 * 12)(%rsp), %r13
	movq	(REGS_FIRST + 8 * 13)(%rsp), %r14
	movq	(REGS_FIRST + 8 * 14)(%rsp), %r15
	jmp	.Lregs_restore

/* Reads memory for the probes of an event, when it is committed and passes its filter. %r9, the
 * file's word, has HV_EVENT_FILE_READS_BIT and the number of a program. %rcx is the draft; the
 * stack and the other registers are those of commit.
 *
 * The results follow the entry in its draft. If there are any, the end of the results and the
 * record contain a note (HV_EVENT_RESULTS). Events caused by the reading itself get no results, for
 * example if the page-fault event has a program.
 *
 *      during this code                              %rbx, %r12 to %r15 as above
 *      48(%rsp)  as in commit, from (%rsp) on
 *      40(%rsp)  ... 16(%rsp)  %r12 to %r15
 *       8(%rsp)  the length of the entry
 *       0(%rsp)  REGS_WORD: OF_EVENT */
.Levent_fetch:
	movl	HV_DRAFT_LEN_BYTES(%rcx), %r8d /* the guest can have changed it */
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

/* The kernel's functions may have left addresses in the region in registers: clear them. */
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

#undef USER_BP
#undef USER_IP
#undef USER_CS
#undef USER_SP
#undef USER_REGS_LEN
#undef USER_CS_64
#undef PAGE
#undef OF_EVENT
#undef ANY_LENGTH
#undef RESULT_ROOM
