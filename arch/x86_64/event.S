/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events: records the entries that the event callbacks of the guest's tracepoints fill in. A
 * callback calls
 *
 * 	entry = trace_event_buffer_reserve(fbuffer, file, len)
 *
 * and, if that is not NULL, fills the entry and calls trace_event_buffer_commit(fbuffer). While an
 * event is recorded by hvtrace, its callback calls hv_trampoline_event_reserve and
 * hv_trampoline_event_commit instead. If the file is the guest's, they jump to the kernel's
 * functions: the guest records the same event itself. Included by trampolines.S.
 *
 * The entry is filled in a draft of this vCPU. An event that interrupts another one uses the next
 * draft. A bit marks a draft as taken. A locked instruction sets it, and only the code that took
 * the draft clears it, so a task may migrate to another vCPU between the two calls. Commit reserves
 * and writes the records of data and the record of the event together, unless the file has a filter
 * that rejects the entry.
 *
 * All trampolines here are called from C like functions of the kernel: arguments are in %rdi, %rsi,
 * %rdx, and %rax, %rcx, %rdx, %rsi, %rdi and %r8 to %r11 may be clobbered. On return none of them
 * contains an address in the region, except the entry. So registers and stacks show whether the
 * guest still uses the region. */

/* Jumps to the kernel's function, whose address is at FUNCTION. */
.macro go_on_to function
	pushq	$\function
	jmp	.Levent_return
.endm

	.globl	hv_trampoline_event_reserve
hv_trampoline_event_reserve:
	movq	%rsi, %rax
	subq	$hole_event_files, %rax
	cmpq	$hole_event_files_len, %rax
	jae	.Levent_own_reserve
	cmpl	$0, MODE
	jne	.Levent_checks
.Levent_checked:
	movl	%gs:hole_cpu_number, %ecx
	shlq	$(HV_DRAFT_SHIFT + HV_NR_DRAFTS_SHIFT), %rcx
	addq	$hole_drafts, %rcx
	cmpq	$HV_ENTRY_LEN_MAX, %rdx
	ja	.Levent_no_draft
	.rept	HV_NR_DRAFTS
	lock btsl $HV_DRAFT_TAKEN_BIT, HV_DRAFT_EVENT(%rcx)
	jnc	.Levent_draft
	addq	$HV_DRAFT_LEN, %rcx
	.endr
.Levent_no_draft:
	load_vcpu
	lock incq HV_STATE_NO_DRAFT(%r10)
.Levent_nothing:
	xorl	%eax, %eax
	xorl	%r10d, %r10d
	jmp	.Levent_reserved
.Levent_draft:
	movl	%edx, HV_DRAFT_LEN_BYTES(%rcx)
	leaq	HV_DRAFT_ENTRY(%rcx), %rax
	movq	%rsi, hole_fbuffer_file(%rdi)
	movq	%rcx, hole_fbuffer_event(%rdi)
	movq	%rax, hole_fbuffer_entry(%rdi)
.Levent_reserved:
	xorl	%ecx, %ecx
	xorl	%esi, %esi
.Levent_return:
	.globl	hv_trampoline_return_13
hv_trampoline_return_13: /* to the callback, or to the kernel's function */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lbelow_top: /* all bits except HV_RECORD_ZEROS */
	.quad	(1 << HV_WORD_BITS) - 1

.Levent_own_reserve:
	go_on_to hole_event_reserve
.Levent_own_commit:
	go_on_to hole_event_commit
.Levent_own_release:
	go_on_to hole_event_release

.Levent_checks:
	check_mode .Levent_checked, .Levent_nothing

/* Commit. During this function:
 *
 *      20(%rsp)  the flags of the file
 *      16(%rsp)  the id, and later the length, too    %rbx  the state of this vCPU
 *       8(%rsp)  the draft                            %rsi  the next data to copy
 *       0(%rsp)  %rbx                                 %edi  number of data records left */
#define ID	 16
#define DRAFT	 8
#define EVENT_FILE_STACK_BIT 0 /* of HV_EVENT_FILE_STACK */

/* The kind and number of a record of data, in a form that is complete after two pairs of bits were
 * shifted in from below. */
#define DATA_NUMBER_SHIFT (HV_RECORD_DEPTH_SHIFT - 36)
#define DATA_FIRST	  (HV_RECORD_DATA << (HV_RECORD_KIND_SHIFT - 36))

/* Kernel flag: the task is in a system call of a 32-bit program (asm/thread_info.h). */
#define TS_COMPAT_BIT 1
#define TS_COMPAT     (1 << TS_COMPAT_BIT)

/* Stores REG, XORed with KEY, in word N of the record at %r10 in the ring of the state at %rbx.
 * Clobbers REG. */
.macro put_word n, reg, key
	xorq	\key, \reg
	movq	\reg, (HV_STATE_LEN + 8 * \n)(%rbx,%r10)
.endm

/* Writes an event with its entry to the ring of the vCPU whose state is at %rbx. The entry is %edi
 * records of data at %rsi, fewer than hole_entry_records. WORD, in memory, contains id and length.
 *
 * During this macro, %r10 is the ring offset of the next record, %r11 its key, %r8 the difference
 * between keys, %r9 the tsc, and %ecx number and kind of the next data record. Clobbers %rax, %rcx,
 * %rdx, %rsi, %rdi, %r8 to %r11. */
.macro write_entry word
	leal	1(%rdi), %r8d
	shll	$HV_RECORD_SHIFT, %r8d
	vcpu_locked xaddq %r8, HV_STATE_HEAD(%rbx)
	read_tsc
	movq	%rax, %r9
	movl	%r8d, %r10d
	andl	$hole_ring_mask, %r10d
	movq	%r8, %r11
	shlq	$hole_key_shift, %r11
	movl	$DATA_FIRST, %ecx
	testl	%edi, %edi
	jz	.Lentry_record\@
	movabsq	$hole_key_step, %r8
.Lentry_data\@:
	movq	%r9, %rax
	put_word 0, %rax, %r11
	movl	%ecx, %edx
	movq	(%rsi), %rax
	shldq	$HV_LAP_BITS, %rax, %rdx
	andq	.Lbelow_top(%rip), %rax
	put_word 1, %rax, %r11
	movq	8(%rsi), %rax
	shldq	$HV_LAP_BITS, %rax, %rdx
	andq	.Lbelow_top(%rip), %rax
	put_word 2, %rax, %r11
	movl	16(%rsi), %eax
	shlq	$HV_RECORD_HIGH, %rdx
	orq	%rdx, %rax
	put_word 3, %rax, %r11
	addq	$HV_DATA_LEN, %rsi
	addl	$(1 << DATA_NUMBER_SHIFT), %ecx
	addl	$HV_RECORD_LEN, %r10d
	andl	$hole_ring_mask, %r10d
	addq	%r8, %r11
	decl	%edi
	jnz	.Lentry_data\@

.Lentry_record\@:
	movl	%ecx, %edi
	movq	%r11, %rcx /* %r11 is needed below */
	movq	%r9, %rax
	put_word 0, %rax, %rcx
	movl	\word, %esi
	movq	%gs:hole_current, %rax
	movl	hole_task_status(%rax), %edx
	andl	$TS_COMPAT, %edx
	shlq	$(HV_EVENT_COMPAT_BIT - TS_COMPAT_BIT), %rdx
	orq	%rdx, %rsi
	put_word 1, %rsi, %rcx
	movl	hole_task_pid(%rax), %edx
	make_task_word %rdx, %dl, %dh
	put_word 2, %rdx, %rcx
	movl	%edi, %edx
	shll	$(36 - HV_RECORD_HIGH), %edx
	xorl	$HIGH_KIND(HV_RECORD_DATA ^ HV_RECORD_EVENT), %edx
	make_context_word
	put_word 3, %rdx, %rcx
.endm

	.globl	hv_trampoline_event_commit
hv_trampoline_event_commit:
	movq	hole_fbuffer_file(%rdi), %rsi
	movq	%rsi, %rdx
	subq	$hole_event_files, %rdx
	cmpq	$hole_event_files_len, %rdx
	jae	.Levent_own_commit
	movq	hole_fbuffer_event(%rdi), %rcx
	movq	$0, hole_fbuffer_file(%rdi)
	movq	$0, hole_fbuffer_event(%rdi)
	movq	$0, hole_fbuffer_entry(%rdi)
	movq	%rcx, %rdx
	subq	$hole_drafts, %rdx
	rorq	$HV_DRAFT_SHIFT, %rdx /* very large if it is no whole number of drafts */
	cmpq	$hole_nr_drafts, %rdx
	jae	.Levent_committed
	pushq	HV_EVENT_FILE_ID(%rsi)
	pushq	%rcx
	pushq	%rbx

	load_vcpu
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %edx
	cmpq	$0, HV_EVENT_FILE_FILTER(%rsi)
	jne	.Levent_filter
.Levent_passes:
	cmpl	%edx, HV_STATE_LAST_PID(%r10)
	jne	.Levent_other_task
.Levent_same_task:
	movq	%r10, %rbx
	movq	DRAFT(%rsp), %rsi
	movl	HV_DRAFT_LEN_BYTES(%rsi), %edi /* the guest can have changed it */
	addq	$(HV_DRAFT_ENTRY + HV_ENTRY_HEADER_LEN), %rsi
	movw	%di, (ID + HV_EVENT_LEN_SHIFT / 8)(%rsp)
.Levent_length:
	addq	$(HV_DATA_LEN - 1 - HV_ENTRY_HEADER_LEN), %rdi
	imulq	$0xcccd, %rdi, %rdi /* / HV_DATA_LEN, exact for all valid lengths */
	shrq	$20, %rdi
	cmpl	$hole_entry_records, %edi
	jae	.Levent_too_long
	write_entry ID(%rsp)

/* Releases the draft. %rax, %rdx, %rsi, %rdi and %r8 to %r11 contain no address in the region. */
.Levent_free:
	popq	%rbx
	popq	%rcx
	popq	%rsi /* the id, and the flags of the file */
	movl	$0, HV_DRAFT_EVENT(%rcx)
	btq	$(HV_RECORD_HIGH + EVENT_FILE_STACK_BIT), %rsi
	jc	.Levent_stack
	xorl	%ecx, %ecx
	.globl	hv_trampoline_return_15
hv_trampoline_return_15:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Levent_committed:
	xorl	%eax, %eax
	xorl	%ecx, %ecx
	xorl	%edx, %edx
	xorl	%esi, %esi
	xorl	%r10d, %r10d
	jmp	.Levent_return

.Levent_too_long:
	lock incq HV_STATE_NO_DRAFT(%rbx)
	xorl	%esi, %esi
	xorl	%r10d, %r10d
	movl	$0, (ID + 4)(%rsp)
	jmp	.Levent_free

/* Runs the filter program of the file at %rsi on the draft at %rcx, for the task with pid %edx.
 * Nothing is in the ring yet. The host can concurrently assign another program to the file, and the
 * old one to another file. Then the file's word has changed, and the host decides about the event.
 * Clobbers %rdi, %r8, %r9, %r11. */
#define COMMON_PID 4 /* in every entry */

.Levent_filter:
	movl	%edx, (HV_DRAFT_ENTRY + COMMON_PID)(%rcx)
	movq	HV_EVENT_FILE_FILTER(%rsi), %r9
	testq	%r9, %r9 /* the filter can be off by now */
	jle	.Levent_no_filter
	movzwl	%r9w, %edi
	shll	$HV_FILTER_SHIFT, %edi
	addq	$hole_filters, %rdi
.Lfilter_step:
	movzwl	HV_FILTER_OFF(%rdi), %r8d
	movq	(%rcx,%r8), %r11
	subq	HV_FILTER_LOW(%rdi), %r11
	andq	HV_FILTER_MASK(%rdi), %r11
	movzwl	HV_FILTER_HOLDS(%rdi), %r8d
	cmpq	HV_FILTER_SPAN(%rdi), %r11
	jbe	.Lfilter_next
	movzwl	HV_FILTER_FAILS(%rdi), %r8d
.Lfilter_next:
	addq	%r8, %rdi
	cmpl	$HV_FILTER_PASSES, %r8d
	ja	.Lfilter_step
	je	.Levent_passes
	cmpq	%r9, HV_EVENT_FILE_FILTER(%rsi)
	jne	.Levent_passes
	xorl	%edi, %edi
	xorl	%r10d, %r10d
	xorl	%r11d, %r11d
	movl	$0, (ID + 4)(%rsp) /* do not record its stack either */
	jmp	.Levent_free

.Levent_no_filter:
	jz	.Levent_passes
	jmp	.Levent_fetch

/* Records the stack, starting at the return into the callback (stack.S). */
.Levent_stack:
	pushq	$.Levent_committed
	pushq	$0
	pushq	$(HV_DOES_STACK | FROM_EVENT)
	jmp	.Lstack_action

/* This task has no current task record on this vCPU: write one first. */
.Levent_other_task:
	write_task_record
	jmp	.Levent_same_task

/* Records the registers of a call for a probe, as an event with HV_EVENT_ID_REGS. This is an action
 * of an action group (actions.S; for returns: return_probe.S; inside a function: probe_site.S).
 *
 * In: %rax the action group. Preserves it, and all registers that functions expect at their entry.
 * The entry is built on the stack:
 *
 *      on entry                       after the pushes
 *                                     8*HV_REGS_WORDS + 24(%rsp)  caller's return
 *                                                     + 16(%rsp)  site + 5
 *       8(%rsp)  caller's return                       + 8(%rsp)  %rax
 *       0(%rsp)  site + 5                         8 + 8*n(%rsp)  word n of the entry
 *                                                       4(%rsp)  REGS_DRAFT: if not 0, the entry is
 *                                                                in a draft (fetch.S), and this is
 *                                                                its number of words
 *                                                       0(%rsp)  REGS_WORD: id and length */
#define REGS_WORD  0
#define REGS_DRAFT 4
#define REGS_FIRST 8
#define REGS_LEN   (HV_ENTRY_HEADER_LEN + 8 * HV_REGS_WORDS)

/* Builds that stack with an entry of the id ID, below the pushed address of the action group and
 * MORE bytes of further words. The stack pointer in the entry is ABOVE bytes above the caller's
 * return address. %rax := the action group. */
.macro push_words above, id, more=0
	.irp reg, %r15, %r14, %r13, %r12, %r9, %r8, %rbp, %rdi, %rsi, %rdx, %rcx, %rbx
	pushq	\reg
	.endr
	pushq	(8 * 12 + 16 + \above + \more)(%rsp) /* the word on the stack */
	leaq	(8 * 13 + 16 + \above + \more)(%rsp), %rax
	pushq	%rax
	movq	(8 * 14 + 8 + \more)(%rsp), %rax
	subq	$SITE_LEN, %rax
	pushq	%rax
	pushq	$(\id | (REGS_LEN + \more) << HV_EVENT_LEN_SHIFT)
	movq	(8 * HV_REGS_WORDS + 8 + \more)(%rsp), %rax
.endm

/* Restores the registers. The address of the action group remains on the stack. */
.macro pop_words
	addq	$(8 + 8 * 3), %rsp
	.irp	reg, %rbx, %rcx, %rdx, %rsi, %rdi, %rbp, %r8, %r9
	popq	\reg
	.endr
	addq	$(8 * 4), %rsp /* the others are unchanged */
.endm

.Lact_regs:
	pushq	%rax
	cmpl	$0, MODE
	jne	.Lregs_checks
.Lregs_checked:
	push_words 0, HV_EVENT_ID_REGS
	xorl	%r11d, %r11d
	movl	$HV_REGS_WORDS, %r8d
	testl	$HV_DOES_FETCH, HV_GROUP_DOES(%rax)
	jnz	.Lfetch
.Lregs_plain:
	leaq	REGS_FIRST(%rsp), %rsi
	movl	$(8 * HV_REGS_WORDS / HV_DATA_LEN), %edi
.Lregs_entry: /* %edi records of data at %rsi */
	load_vcpu
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %edx
	cmpl	%edx, HV_STATE_LAST_PID(%r10)
	jne	.Lregs_other_task
.Lregs_same_task:
	movq	%r10, %rbx
	cmpl	$hole_entry_records, %edi
	jae	.Lregs_no_room
	write_entry REGS_WORD(%rsp)
.Lregs_written:
	cmpl	$0, REGS_DRAFT(%rsp)
	jne	.Lfetch_done
.Lregs_restore:
	cmpw	$HV_EVENT_ID_REGS, REGS_WORD(%rsp)
	jne	.Lregs_others
	pop_words
.Lregs_out:
	popq	%rax
	jmp	.Lact_regs_done

.Lregs_others:
	cmpw	$HV_EVENT_ID_RETURN, REGS_WORD(%rsp)
	je	.Lreturn_probe_done
	cmpw	$HV_EVENT_ID_ALL_REGS, REGS_WORD(%rsp)
	je	.Lprobe_site_done
	jmp	.Lreturn_args_done
.Lregs_no_room:
	lock incq HV_STATE_NO_DRAFT(%rbx)
	jmp	.Lregs_written
.Lregs_checks:
	check_mode .Lregs_checked, .Lregs_out
.Lregs_other_task:
	write_task_record
	jmp	.Lregs_same_task

#include "arch/x86_64/fetch.S"
#include "arch/x86_64/return_probe.S"
#include "arch/x86_64/probe_site.S"
#include "arch/x86_64/entry_regs.S"

#undef REGS_WORD
#undef REGS_DRAFT
#undef REGS_FIRST
#undef REGS_LEN

/* Release. The guest's tracepoints free an array of callbacks with call_rcu(head, function),
 * call_rcu_sched(head, function) or call_srcu(srcu, head, function), and if the callbacks can sleep,
 * in some kernels with call_rcu_tasks_trace(head, function).
 *
 * An array in the region must not be freed. Its first word is the address of the guest's array that
 * it replaces: that array is freed instead, once. The three entries replace call_rcu_tasks_trace(),
 * call_srcu(), and call_rcu() or call_rcu_sched(). */
	.macro instead_of head
	xorl	%eax, %eax
	xchgq	(\head), %rax
	testq	%rax, %rax
	jz	.Levent_released
	movq	%rax, \head
	.endm
	.globl	hv_trampoline_event_release_other
hv_trampoline_event_release_other:
	movq	%rdi, %rax
	subq	$hole_event_callbacks, %rax
	cmpq	$hole_event_callbacks_len, %rax
	jae	1f
	instead_of %rdi
1:
	go_on_to hole_event_release_other
	.globl	hv_trampoline_event_release_second
hv_trampoline_event_release_second:
	movq	%rsi, %rax
	subq	$hole_event_callbacks, %rax
	cmpq	$hole_event_callbacks_len, %rax
	jae	.Levent_own_release
	instead_of %rsi
	jmp	.Levent_own_release
	.globl	hv_trampoline_event_release
hv_trampoline_event_release:
	movq	%rdi, %rax
	subq	$hole_event_callbacks, %rax
	cmpq	$hole_event_callbacks_len, %rax
	jae	.Levent_own_release
	instead_of %rdi
	jmp	.Levent_own_release
.Levent_released:
	xorl	%edi, %edi
	xorl	%esi, %esi
	.globl	hv_trampoline_return_14
hv_trampoline_return_14:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

#undef ID
#undef DRAFT
#undef COMMON_PID
#undef EVENT_FILE_STACK_BIT
#undef DATA_NUMBER_SHIFT
#undef DATA_FIRST
#undef TS_COMPAT_BIT
#undef TS_COMPAT
