/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the sections in which preemption is off, or interrupts are (tracers preemptoff, irqsoff
 * and preemptirqsoff). No site calls this code: detours do (arch/detour.h), where the preempt count
 * goes from 0 to more and back, where interrupts are switched off and on, where the kernel is
 * entered and left with interrupts off, and before and after a CPU's idle loop. Included by stubs.S.
 *
 * Preemption or interrupts are off whenever this code runs, so it stays on its vCPU, and no
 * interrupt can begin or end a section meanwhile: the count is never 0 in it. An NMI could, if it
 * were counted; places that count NMIs have no detour, and interrupts are never on in an NMI. So
 * nothing here needs a lock. Only the host reads what is kept, by its sequence number.
 *
 * Every section begins where interrupts are known to be on, or the count to be 0, and takes the
 * place of one that is still open, whose end was not seen. The host switches measuring and recording
 * on between any two instructions. What began before is not measured, and its end must not be taken
 * for one whose beginning was missed: "idle" says so until interrupts are switched off in a task, or
 * the CPU leaves its idle loop.
 *
 * Functions are recorded between the ends of a section by hv_stub_section_function or
 * hv_stub_section_graph, which sites call, and with HV_SECTIONS_LOG the ends themselves are.
 *
 * The guest was interrupted in the middle of a function: every register is kept, and the flags are
 * the guest's to lose (where the count rises, where interrupts are switched), or the detour's.
 *
 *      on entry                        after the pushes
 *       8(%rsp)  the function's caller  32(%rsp)  FUNCTION_CALLER
 *       0(%rsp)  in the detour          24(%rsp)  PLACE
 *                                       16(%rsp)  %rax
 *                                        8(%rsp)  %rcx
 *                                        0(%rsp)  %rdx
 */
#define PLACE		24
#define FUNCTION_CALLER 32
#define SECTIONS	hole_control + HV_CONTROL_SECTIONS

/* Saves the registers. %rcx := this vCPU's state. */
.macro enter_section_stub
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	movl	%gs:hole_cpu_number, %ecx
	movq	hole_vcpus(,%rcx,8), %rcx
.endm

/* Fills END, one of the ends in the state at %rcx, without its time. Clobbers %rax, %rdx. */
.macro fill_end end
	movl	PLACE(%rsp), %eax
	movl	%eax, \end + HV_END_PLACE(%rcx)
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
#define COUNT_MASK   0x7fffffff /* PREEMPT_NEED_RESCHED is not part of it */
#define PF_VCPU	     1		/* include/linux/sched.h */

/* What is measured: sections in which preemption is off, or interrupts are. */
#define OF_PREEMPT (HV_SECTIONS_ON | HV_SECTIONS_PREEMPT)
#define OF_IRQS	   (HV_SECTIONS_ON | HV_SECTIONS_IRQS)
#define OF_EITHER  (OF_PREEMPT | OF_IRQS)

/* Goes to OTHER if something else than sections of KIND is measured, which is in %eax then. */
.macro check_kind kind, other
	movl	SECTIONS, %eax
	andl	$OF_EITHER, %eax
	cmpl	$\kind, %eax
	jne	\other
.endm

/* ZF := interrupts are off. */
.macro test_irqs
	testb	$X86_IF >> 8, 1(%rsp)
	leaq	8(%rsp), %rsp
.endm

/* Goes to OFF if the ends of sections are not recorded now. */
.macro check_log off
	testl	$HV_SECTIONS_LOG, SECTIONS
	jz	\off
	testl	$HV_MODE_SILENT, MODE
	jnz	\off
.endm

/* Writes a record of an end of a section on the vCPU whose state is at %rcx. HIGH: more bits of the
 * upper half of word 3. Defines the label SAME_TASK. Clobbers %rax, %rdx. */
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
	/* The low bits of a caller that is not known stay 0. */
	movq	FUNCTION_CALLER + 16(%rsp), %rax
	orq	$-0x80000000, %rax
	shlq	$HV_CALLER_SHIFT, %rax
	xorq	PLACE + 16(%rsp), %rax
	store_word 1, %rax, %r11
	movl	$(HIGH_KIND(HV_RECORD_SECTION) | \high), %edx
	make_context_word
	store_word 3, %rdx, %r11
	read_tsc
	store_word 0, %rax, %r11
	popq	%r11
	popq	%r10
.endm

/* Goes to STUB if the task is in a section. One that is not may have left the vCPU since it read the
 * number. Clobbers %rax, %r10. */
.macro check_section stub
	load_vcpu
	cmpq	$0, HV_STATE_OPEN + HV_END_TSC(%r10)
	je	.Lsection_function_out
	testl	$COUNT_MASK, %gs:hole_preempt_count
	jnz	\stub
	pushfq
	popq	%rax
	testl	$X86_IF, %eax
	jz	\stub
.endm

/* For sites: a call in a section is part of a graph as any other. Its return is recorded after the
 * end of the section, too. */
	.globl	hv_stub_section_graph
hv_stub_section_graph:
	check_section .Lgraph_call
	jmp	.Lsection_function_out

/* For sites: a function that is called in a section is recorded as any other. */
	.globl	hv_stub_section_function
hv_stub_section_function:
	check_section .Lfunction
.Lsection_function_out:
	.globl	hv_stub_return_18
hv_stub_return_18:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

/* The preempt count has risen from 0. */
	.globl	hv_stub_section_begins
hv_stub_section_begins:
	enter_section_stub
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
	.globl	hv_stub_return_11
hv_stub_return_11:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lsection_begin_other_task:
	write_task_record
	jmp	.Lsection_begin_task

/* Its end is no end whose beginning was missed. */
.Lsection_not_measured:
	movl	$1, HV_STATE_IDLE(%rcx)
	xorl	%eax, %eax
	jmp	.Lsection_is_open

.Lsection_without_end:
	incq	HV_STATE_NO_END(%rcx)
	jmp	.Lsection_opens

/* With interrupts off, it is nested in a section. */
.Lpreempt_goes_off:
	cmpl	$OF_EITHER, %eax
	jne	.Lsection_leave_begin
	pushfq
	test_irqs
	jnz	.Lsection_begins
	jmp	.Lsection_leave_begin

/* An instruction has switched interrupts off, which were on. What the idle loop itself does so is
 * no section: it may wait for an interrupt in it. */
	.globl	hv_stub_irqs_off
hv_stub_irqs_off:
	enter_section_stub
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

/* The kernel was entered, which has switched interrupts off that were on. So a section that is
 * still open has ended before. */
	.globl	hv_stub_irq_arrives
hv_stub_irq_arrives:
	enter_section_stub
	jmp	.Lirqs_go_off

/* The idle loop begins. */
	.globl	hv_stub_idle_begins
hv_stub_idle_begins:
	enter_section_stub
	movl	$1, HV_STATE_IDLE(%rcx)
	testl	$HV_SECTIONS_PREEMPT, SECTIONS
	jnz	.Lsection_ends
	jmp	.Lsection_leave_begin

	.globl	hv_stub_idle_ends
hv_stub_idle_ends:
	enter_section_stub
	testl	$HV_SECTIONS_ON, SECTIONS
	jz	.Lsection_leave_begin
	movl	$0, HV_STATE_IDLE(%rcx)
	testl	$HV_SECTIONS_PREEMPT, SECTIONS
	jnz	.Lsection_begins
	jmp	.Lsection_leave_begin

/* Interrupts are off and about to be switched on, or to be as they were before the kernel was
 * entered: on. */
	.globl	hv_stub_irqs_on
hv_stub_irqs_on:
	enter_section_stub
.Lirqs_go_on:
	check_kind OF_IRQS, .Lirqs_go_on_in_either
	jmp	.Lsection_ends
.Lirqs_go_on_in_either:
	cmpl	$OF_EITHER, %eax
	jne	.Lsection_leave_begin
	testl	$COUNT_MASK, %gs:hole_preempt_count
	jz	.Lsection_ends
	jmp	.Lsection_leave_begin

/* Likewise in a function that also switches them off where no detour is. If no section is open, that
 * is where this one began, and it is known to be not measured. */
	.globl	hv_stub_irqs_on_unless_missed
hv_stub_irqs_on_unless_missed:
	enter_section_stub
	cmpq	$0, HV_STATE_OPEN + HV_END_TSC(%rcx)
	jne	.Lirqs_go_on
	jmp	.Lsection_leave_begin

/* The preempt count is about to be 0. With interrupts off, that is no end. */
.Lpreempt_goes_on:
	cmpl	$OF_EITHER, %eax
	jne	.Lsection_leave_begin
	pushfq
	test_irqs
	jnz	.Lsection_ends
	jmp	.Lsection_leave_begin

/* Likewise in a function that also adds to the count where no detour is, as for interrupts. */
	.globl	hv_stub_section_ends_unless_missed
hv_stub_section_ends_unless_missed:
	enter_section_stub
	cmpq	$0, HV_STATE_OPEN + HV_END_TSC(%rcx)
	jne	.Lcount_goes_to_0
	jmp	.Lsection_leave_begin

	.globl	hv_stub_section_ends
hv_stub_section_ends:
	enter_section_stub
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
	.globl	hv_stub_return_12
hv_stub_return_12:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lsection_end_other_task:
	write_task_record
	jmp	.Lsection_end_task

/* The idle loop has none. */
.Lsection_without_begin:
	cmpl	$0, HV_STATE_IDLE(%rcx)
	jne	.Lsection_end_logged
	testl	$HV_MODE_SILENT, MODE
	jnz	.Lsection_end_logged
	incq	HV_STATE_NO_BEGIN(%rcx)
	jmp	.Lsection_end_logged

/* Subtracts the time in which the host did not run the vCPU, which is no fault of the guest's. */
.Lsection_keep: /* %rax now, %rdx ticks */
	testl	$HV_MODE_SILENT, MODE
	jnz	.Lsection_ended
	testl	$HV_SECTIONS_ON, SECTIONS
	jz	.Lsection_ended
	/* While the guest runs a guest of its own, interrupts are off and nevertheless served. */
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

/* Records the stack, as if a site had called: its words are looked for from the copy of
 * FUNCTION_CALLER on that is pushed here (struct hv_arch: section_stack_bytes). */
.Lsection_stack:
	pushq	%r10
	pushq	%r11
	/* The low bits of a caller that is not known stay 0; the others are as any text's, so that
	 * word 1 of the record has HV_RECORD_ZEROS. */
	movq	FUNCTION_CALLER + 16(%rsp), %rax
	orq	$-0x80000000, %rax
	pushq	%rax
	pushq	PLACE + 24(%rsp)
	pushq	$.Lsection_stack_done
	pushq	$(HV_SLOT_STACK | FROM_COMMAND | FROM_SECTION)
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
#undef PLACE
#undef FUNCTION_CALLER
