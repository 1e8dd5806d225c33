/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures sections with preemption or interrupts disabled (tracers preemptoff, irqsoff and
 * preemptirqsoff). Detours call this code (arch/detour.h), not sites: where the preempt count
 * changes from and to 0, where interrupts are disabled and enabled, where the kernel is entered and
 * left with interrupts off, and before and after a CPU's idle loop. Included by trampolines.S.
 *
 * Preemption or interrupts are off whenever this code runs, so it stays on its vCPU, and no
 * interrupt can begin or end a section during it: the count is never 0 in an interrupt. An NMI
 * could, if it were counted; but code that counts NMIs has no detour, and interrupts are never on
 * in an NMI. So no locks are needed. Only the host reads the results, using their sequence number.
 *
 * A section begins where interrupts are known to be on, or the count to be 0. It replaces a section
 * whose end was missed. The host can enable measuring and recording between any two instructions.
 * Sections that began earlier are not measured, and their end must not count as an end without a
 * start: HV_STATE_IDLE marks this until interrupts are disabled in a task, or the CPU leaves its
 * idle loop.
 *
 * In a section, sites call hv_trampoline_section_function or hv_trampoline_section_graph to record
 * functions. With HV_SECTIONS_LOG, the start and end are also recorded.
 *
 * Detours are in the middle of functions, so all registers are preserved. The flags need not be,
 * because the guest's instruction changes them, or the detour saves them.
 *
 *      on entry                        after the pushes
 *       8(%rsp)  the function's caller  32(%rsp)  FUNCTION_CALLER
 *       0(%rsp)  in the detour          24(%rsp)  DETOUR
 *                                       16(%rsp)  %rax
 *                                        8(%rsp)  %rcx
 *                                        0(%rsp)  %rdx */
#define DETOUR		24
#define FUNCTION_CALLER 32
#define SECTIONS	hole_control + HV_CONTROL_SECTIONS

/* Saves the registers. %rcx := this vCPU's state. */
.macro enter_section_trampoline
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	movl	%gs:hole_cpu_number, %ecx
	movq	hole_vcpus(,%rcx,8), %rcx
.endm

/* Fills END, the start or end of a section in the state at %rcx, without its time. Clobbers %rax,
 * %rdx. */
.macro fill_end end
	movl	DETOUR(%rsp), %eax
	movl	%eax, \end + HV_END_DETOUR(%rcx)
	movl	FUNCTION_CALLER(%rsp), %eax
	movl	%eax, \end + HV_END_CALLER(%rcx)
	load_steal
	movq	%rax, \end + HV_END_STEAL(%rcx)
	movq	%gs:hole_current, %rdx
	movl	hole_task_pid(%rdx), %eax
	movl	%eax, \end + HV_END_PID(%rcx)
	movzbl	hole_task_flags(%rdx), %eax
	movl	%eax, \end + HV_END_THREAD_FLAGS(%rcx)
	load_count %rax, %eax
	movl	%eax, \end + HV_END_COUNT(%rcx)
	pushfq
	popq	%rax
	movl	%eax, \end + HV_END_CPU_FLAGS(%rcx)
.endm

#define X86_IF	     0x200
#define COUNT_MASK   0x7fffffff /* without PREEMPT_NEED_RESCHED */
#define PF_VCPU	     1		/* include/linux/sched.h */

/* The measured kinds of sections: with preemption or with interrupts disabled. */
#define OF_PREEMPT (HV_SECTIONS_ON | HV_SECTIONS_PREEMPT)
#define OF_IRQS	   (HV_SECTIONS_ON | HV_SECTIONS_IRQS)
#define OF_EITHER  (OF_PREEMPT | OF_IRQS)

/* If sections of KIND are not the only ones measured, jumps to OTHER with the kinds in %eax. */
.macro check_kind kind, other
	movl	SECTIONS, %eax
	andl	$OF_EITHER, %eax
	cmpl	$\kind, %eax
	jne	\other
.endm

/* Pops the CPU flags. ZF := interrupts are off. */
.macro test_irqs
	testb	$X86_IF >> 8, 1(%rsp)
	leaq	8(%rsp), %rsp
.endm

/* Jumps to OFF if the start and end of sections are not recorded now. */
.macro check_log off
	testl	$HV_SECTIONS_LOG, SECTIONS
	jz	\off
	testl	$HV_MODE_SILENT, MODE
	jnz	\off
.endm

/* Records the start or end of a section on the vCPU whose state is at %rcx. HIGH: additional bits
 * of the upper half of word 3. Defines the label SAME_TASK. Clobbers %rax, %rdx. */
.macro write_section_record high, same_task, other_task
	pushq	%r10
	pushq	%r11
	movq	%rcx, %r10
	movq	%gs:hole_current, %rax
	movl	hole_task_pid(%rax), %edx
	cmpl	%edx, HV_STATE_LAST_PID(%r10)
	jne	\other_task
\same_task:
	make_task_word %rdx, %dl, %dh
	reserve_record %r11
	store_word 2, %rdx, %r11
	/* The low bits of an unknown caller stay 0. */
	movq	FUNCTION_CALLER + 16(%rsp), %rax
	orq	$-0x80000000, %rax
	shlq	$HV_CALLER_SHIFT, %rax
	xorq	DETOUR + 16(%rsp), %rax
	store_word 1, %rax, %r11
	movl	$(HIGH_KIND(HV_RECORD_SECTION) | \high), %edx
	make_context_word
	store_word 3, %rdx, %r11
	read_tsc
	store_word 0, %rax, %r11
	popq	%r11
	popq	%r10
.endm

/* Jumps to TRAMPOLINE if the task is in a section. A task outside may have left the vCPU since it
 * read the CPU number. Clobbers %rax, %r10. */
.macro check_section trampoline
	load_vcpu
	cmpq	$0, HV_STATE_OPEN + HV_END_TSC(%r10)
	je	.Lsection_function_out
	testl	$COUNT_MASK, %gs:hole_preempt_count
	jnz	\trampoline
	pushfq
	popq	%rax
	testl	$X86_IF, %eax
	jz	\trampoline
.endm

/* For sites: in a section, calls are added to the graph as usual. Their return is recorded even
 * after the end of the section. */
	.globl	hv_trampoline_section_graph
hv_trampoline_section_graph:
	check_section .Lgraph_call
	jmp	.Lsection_function_out

/* For sites: in a section, functions are recorded as usual. */
	.globl	hv_trampoline_section_function
hv_trampoline_section_function:
	check_section .Lfunction
.Lsection_function_out:
	.globl	hv_trampoline_return_18
hv_trampoline_return_18:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

/* The preempt count has changed from 0. */
	.globl	hv_trampoline_section_begins
hv_trampoline_section_begins:
	enter_section_trampoline
	check_kind OF_PREEMPT, .Lpreempt_goes_off
.Lsection_begins:
	testl	$HV_MODE_SILENT, MODE
	jnz	.Lsection_not_measured
	cmpq	$0, HV_STATE_OPEN + HV_END_TSC(%rcx)
	jne	.Lsection_without_end
.Lsection_opens:
	fill_end HV_STATE_OPEN
	movq	HV_STATE_HEAD(%rcx), %rax
	movq	%rax, HV_STATE_OPEN_HEAD(%rcx)
	check_log .Lsection_begun
	write_section_record 0, .Lsection_begin_task, .Lsection_begin_other_task
.Lsection_begun:
	read_tsc
.Lsection_is_open:
	movq	%rax, HV_STATE_OPEN + HV_END_TSC(%rcx)
.Lsection_leave_begin:
	popq	%rdx
	popq	%rcx
	popq	%rax
	.globl	hv_trampoline_return_11
hv_trampoline_return_11:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lsection_begin_other_task:
	write_task_record
	jmp	.Lsection_begin_task

/* The end of this section must not count as an end without a start. */
.Lsection_not_measured:
	movl	$1, HV_STATE_IDLE(%rcx)
	xorl	%eax, %eax
	jmp	.Lsection_is_open

.Lsection_without_end:
	incq	HV_STATE_NO_END(%rcx)
	jmp	.Lsection_opens

/* If interrupts are off, this preempt-off section is nested in another section. */
.Lpreempt_goes_off:
	cmpl	$OF_EITHER, %eax
	jne	.Lsection_leave_begin
	pushfq
	test_irqs
	jnz	.Lsection_begins
	jmp	.Lsection_leave_begin

/* An instruction has disabled interrupts, which were on. In the idle loop this does not begin a
 * section, because the loop may wait for an interrupt with interrupts off. */
	.globl	hv_trampoline_irqs_off
hv_trampoline_irqs_off:
	enter_section_trampoline
	cmpl	$0, HV_STATE_IDLE(%rcx)
	jne	.Lirqs_off_in_idle
.Lirqs_go_off:
	check_kind OF_IRQS, .Lirqs_go_off_in_either
	jmp	.Lsection_begins
.Lirqs_go_off_in_either:
	cmpl	$OF_EITHER, %eax
	jne	.Lsection_leave_begin
	testl	$COUNT_MASK, %gs:hole_preempt_count
	jz	.Lsection_begins
	jmp	.Lsection_leave_begin

.Lirqs_off_in_idle:
	testl	$hole_irq_bits, %gs:hole_preempt_count
	jnz	.Lirqs_go_off
	movq	%gs:hole_current, %rdx
	cmpl	$0, hole_task_pid(%rdx)
	je	.Lsection_leave_begin
	check_kind OF_IRQS, .Lirqs_off_in_idle_in_either
.Lidle_is_over:
	movl	$0, HV_STATE_IDLE(%rcx)
	jmp	.Lsection_begins
.Lirqs_off_in_idle_in_either:
	cmpl	$OF_EITHER, %eax
	jne	.Lsection_leave_begin
	testl	$COUNT_MASK, %gs:hole_preempt_count
	jz	.Lidle_is_over
	jmp	.Lsection_leave_begin

/* The kernel was entered, which disabled interrupts that were on. So a section that is still open
 * ended earlier. */
	.globl	hv_trampoline_irq_arrives
hv_trampoline_irq_arrives:
	enter_section_trampoline
	jmp	.Lirqs_go_off

	.globl	hv_trampoline_idle_begins
hv_trampoline_idle_begins:
	enter_section_trampoline
	movl	$1, HV_STATE_IDLE(%rcx)
	testl	$HV_SECTIONS_PREEMPT, SECTIONS
	jnz	.Lsection_ends
	jmp	.Lsection_leave_begin

	.globl	hv_trampoline_idle_ends
hv_trampoline_idle_ends:
	enter_section_trampoline
	testl	$HV_SECTIONS_ON, SECTIONS
	jz	.Lsection_leave_begin
	movl	$0, HV_STATE_IDLE(%rcx)
	testl	$HV_SECTIONS_PREEMPT, SECTIONS
	jnz	.Lsection_begins
	jmp	.Lsection_leave_begin

/* Interrupts are off and about to be enabled, or about to be restored to on, as before the kernel's
 * entry. */
	.globl	hv_trampoline_irqs_on
hv_trampoline_irqs_on:
	enter_section_trampoline
.Lirqs_go_on:
	check_kind OF_IRQS, .Lirqs_go_on_in_either
	jmp	.Lsection_ends
.Lirqs_go_on_in_either:
	cmpl	$OF_EITHER, %eax
	jne	.Lsection_leave_begin
	testl	$COUNT_MASK, %gs:hole_preempt_count
	jz	.Lsection_ends
	jmp	.Lsection_leave_begin

/* Like hv_trampoline_irqs_on, in a function that also disables them without a detour. If no section
 * is open, this section began there, and is known to be unmeasured. */
	.globl	hv_trampoline_irqs_on_unless_missed
hv_trampoline_irqs_on_unless_missed:
	enter_section_trampoline
	cmpq	$0, HV_STATE_OPEN + HV_END_TSC(%rcx)
	jne	.Lirqs_go_on
	jmp	.Lsection_leave_begin

/* The preempt count is about to become 0. If interrupts are off, the section continues. */
.Lpreempt_goes_on:
	cmpl	$OF_EITHER, %eax
	jne	.Lsection_leave_begin
	pushfq
	test_irqs
	jnz	.Lsection_ends
	jmp	.Lsection_leave_begin

/* Like hv_trampoline_section_ends, in a function that also adds to the count without a detour;
 * see hv_trampoline_irqs_on_unless_missed. */
	.globl	hv_trampoline_section_ends_unless_missed
hv_trampoline_section_ends_unless_missed:
	enter_section_trampoline
	cmpq	$0, HV_STATE_OPEN + HV_END_TSC(%rcx)
	jne	.Lcount_goes_to_0
	jmp	.Lsection_leave_begin

	.globl	hv_trampoline_section_ends
hv_trampoline_section_ends:
	enter_section_trampoline
.Lcount_goes_to_0:
	check_kind OF_PREEMPT, .Lpreempt_goes_on
.Lsection_ends:
	read_tsc
	movq	HV_STATE_OPEN + HV_END_TSC(%rcx), %rdx
	movq	$0, HV_STATE_OPEN + HV_END_TSC(%rcx)
	testq	%rdx, %rdx
	jz	.Lsection_without_begin
	cmpq	%rdx, %rax
	jb	.Lsection_ended
	negq	%rdx
	addq	%rax, %rdx /* its ticks */
	cmpq	HV_STATE_LONGEST(%rcx), %rdx
	ja	.Lsection_keep
.Lsection_ended:
	check_log .Lsection_end_logged
	write_section_record 1 << DEPTH_SHIFT, .Lsection_end_task, .Lsection_end_other_task
.Lsection_end_logged:
	popq	%rdx
	popq	%rcx
	popq	%rax
	.globl	hv_trampoline_return_12
hv_trampoline_return_12:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lsection_end_other_task:
	write_task_record
	jmp	.Lsection_end_task

/* Counts an end without a start, except while no start is expected (HV_STATE_IDLE). */
.Lsection_without_begin:
	cmpl	$0, HV_STATE_IDLE(%rcx)
	jne	.Lsection_end_logged
	testl	$HV_MODE_SILENT, MODE
	jnz	.Lsection_end_logged
	incq	HV_STATE_NO_BEGIN(%rcx)
	jmp	.Lsection_end_logged

/* Subtracts the steal time, because that is not the guest's fault. */
.Lsection_keep: /* %rax now, %rdx ticks */
	testl	$HV_MODE_SILENT, MODE
	jnz	.Lsection_ended
	testl	$HV_SECTIONS_ON, SECTIONS
	jz	.Lsection_ended
	/* While the guest runs a nested guest, interrupts are off but still served. */
	pushq	%rax
	pushq	%rdx
	movq	%gs:hole_current, %rax
	testl	$PF_VCPU, hole_task_pf(%rax)
	jnz	.Lsection_of_a_guest
	load_steal
	subq	HV_STATE_OPEN + HV_END_STEAL(%rcx), %rax
	mulq	hole_params + HV_PARAM_TICKS_PER_NS
	shrdq	$32, %rdx, %rax
	popq	%rdx
	pushq	%rdx
	subq	%rax, %rdx
	jb	.Lsection_stolen
	cmpq	HV_STATE_LONGEST(%rcx), %rdx
	jbe	.Lsection_stolen
	incl	HV_STATE_SECTION_SEQ(%rcx)
	testl	$HV_SECTIONS_FIXED, SECTIONS
	jnz	1f
	movq	%rdx, HV_STATE_LONGEST(%rcx)
1:	popq	%rdx
	popq	%rax
	movq	%rax, HV_STATE_TO + HV_END_TSC(%rcx)
	subq	%rdx, %rax
	movq	%rax, HV_STATE_FROM + HV_END_TSC(%rcx)
	.irp	off, 8, 16, 24, 32
	movq	HV_STATE_OPEN + \off(%rcx), %rax
	movq	%rax, HV_STATE_FROM + \off(%rcx)
	.endr
	fill_end HV_STATE_TO
	movq	hole_task_comm(%rdx), %rax
	movq	%rax, HV_STATE_SECTION_COMM(%rcx)
	movq	hole_task_comm + 8(%rdx), %rax
	movq	%rax, HV_STATE_SECTION_COMM + 8(%rcx)
	movl	hole_task_prio(%rdx), %eax
	movl	%eax, HV_STATE_SECTION_PRIO(%rcx)
	movl	hole_task_policy(%rdx), %eax
	movl	%eax, HV_STATE_SECTION_POLICY(%rcx)
	movl	hole_task_rt_prio(%rdx), %eax
	movl	%eax, HV_STATE_SECTION_RT_PRIO(%rcx)
	movq	hole_task_cred(%rdx), %rax
	movl	hole_cred_uid(%rax), %eax
	movl	%eax, HV_STATE_SECTION_UID(%rcx)
	movq	HV_STATE_OPEN_HEAD(%rcx), %rax
	movq	%rax, HV_STATE_FROM_HEAD(%rcx)
	movq	HV_STATE_HEAD(%rcx), %rax
	movq	%rax, HV_STATE_TO_HEAD(%rcx)
	testl	$HV_SECTIONS_STACK, SECTIONS
	jnz	.Lsection_stack
.Lsection_kept:
	incl	HV_STATE_SECTION_SEQ(%rcx)
	jmp	.Lsection_ended

/* Records the stack as if a site had called. The search for its words starts at the copy of
 * FUNCTION_CALLER that is pushed here (struct hv_arch: section_stack_bytes). */
.Lsection_stack:
	pushq	%r10
	pushq	%r11
	/* The low bits of an unknown caller stay 0. The others are as in any text address, so that
	 * word 1 of the record has HV_RECORD_ZEROS. */
	movq	FUNCTION_CALLER + 16(%rsp), %rax
	orq	$-0x80000000, %rax
	pushq	%rax
	pushq	DETOUR + 24(%rsp)
	pushq	$.Lsection_stack_done
	pushq	$(HV_DOES_STACK | FROM_COMMAND | FROM_SECTION)
	jmp	.Lstack_action
.Lsection_stack_done:
	addq	$16, %rsp
	popq	%r11
	popq	%r10
	jmp	.Lsection_kept

.Lsection_of_a_guest:
	popq	%rdx
	popq	%rax
	jmp	.Lsection_ended

.Lsection_stolen:
	incq	HV_STATE_STOLEN(%rcx)
	popq	%rdx
	popq	%rax
	jmp	.Lsection_ended

#undef X86_IF
#undef COUNT_MASK
#undef PF_VCPU
#undef OF_PREEMPT
#undef OF_IRQS
#undef OF_EITHER
#undef DETOUR
#undef FUNCTION_CALLER
