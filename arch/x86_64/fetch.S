/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a probe reads of memory when its function is called, or returns. Included by event.S, whose
 * .Lact_regs comes here when the registers of a call are on the stack and the slot, %rax, has a
 * program (struct hv_fetch_step), with 0 in %r11; return_probe.S with how far into the program to
 * begin. %r8d is how many words the entry has. The entry is made in a draft: the registers, then the results of the program.
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
 */

/* The bits of the kernel's preempt count that differ between a task, a soft interrupt, an interrupt
 * and an NMI that are in each other (linux/preempt.h). */
#define CONTEXT_BITS 0xff0100

/* What a result needs in the draft at least; it is a multiple of the align, as every result is. */
#define RESULT_ROOM 32

.Lfetch:
	subq	$hole_params + HV_SLOTS_OFF, %rax
	shlq	$(HV_STEP_SHIFT + HV_FETCH_STEPS_SHIFT - HV_SLOT_SHIFT), %rax
	movl	%gs:hole_preempt_count, %edx
	andl	$CONTEXT_BITS, %edx
	xorl	%gs:hole_current, %edx
	orl	$(1 << HV_DRAFT_TAKEN_BIT | 1), %edx
	movl	%gs:hole_cpu_number, %ecx
	shlq	$(HV_DRAFT_SHIFT + HV_NR_DRAFTS_SHIFT), %rcx
	addq	$hole_drafts, %rcx
	.irp	number, 0, 1, 2, 3
	cmpl	%edx, \number * HV_DRAFT_LEN + HV_DRAFT_EVENT(%rcx)
	je	.Lregs_no_draft
	.endr
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
	movq	%rcx, %rbx
	leaq	hole_programs(%rax,%r11), %r12
	leaq	REGS_FIRST(%rsp), %rsi
	leaq	(HV_DRAFT_ENTRY + HV_ENTRY_HEADER_LEN)(%rbx), %rdi
	movl	%r8d, %ecx
	rep movsq
	movq	%rdi, %r14
	movl	$HV_FETCH_STEPS_MAX, %r15d

/* %rcx := the room behind the results. */
.Lfetch_step:
	leaq	(HV_DRAFT_ENTRY + HV_ENTRY_LEN_MAX)(%rbx), %rcx
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
	jne	.Lfetch_high_word
	movq	%rsi, %r13
	jmp	.Lfetch_step
.Lfetch_word:
	andl	$15, %esi /* number 15 is the first one behind the words: harmless */
	movq	REGS_FIRST(%rsp,%rsi,8), %r13
	jmp	.Lfetch_step

.Lfetch_high_word: /* only these have it; the last ones are what is behind the words: harmless */
	cmpb	$HV_FETCH_HIGH_WORD, %al
	jne	.Lfetch_entry
	cmpw	$HV_EVENT_ID_PLACE, REGS_WORD(%rsp)
	je	1f
	cmpw	$HV_EVENT_ID_RETURN_ARGS, REGS_WORD(%rsp)
	jne	.Lfetch_entry
1:	andl	$7, %esi
	movq	(REGS_FIRST + 8 * 16)(%rsp,%rsi,8), %r13
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
1:	testl	%r15d, %r15d
	jz	.Lfetch_entry
	cmpl	%eax, HV_STEP_TAG(%r12)
	jne	.Lfetch_step
	cmpb	$HV_FETCH_END, HV_STEP_DOES(%r12)
	je	.Lfetch_entry
	decl	%r15d
	addq	$HV_STEP_LEN, %r12
	jmp	1b

/* Goes to the kernel's function at %rcx, which returns to the caller of this. */
.Lfetch_call:
	pushq	%rcx
	.globl	hv_stub_return_19
hv_stub_return_19:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lfetch_entry:
	subq	%rbx, %r14
	subl	$HV_DRAFT_ENTRY, %r14d
	movw	%r14w, REGS_WORD + HV_EVENT_LEN_SHIFT / 8(%rsp)
	movl	$1, REGS_DRAFT(%rsp)
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

#undef CONTEXT_BITS
#undef RESULT_ROOM
