/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the sections in which preemption is off (tracer preemptoff). No site calls this code:
 * detours do (arch/detour.h), where the preempt count goes from 0 to more and back, and before and
 * after a CPU's idle loop. Included by stubs.S.
 *
 * Preemption is off whenever this code runs, so it stays on its vCPU, and no interrupt can begin or
 * end a section meanwhile: the count is never 0 in it. An NMI could, if it were counted; places that
 * count NMIs have no detour. So nothing here needs a lock. Only the host reads what is kept, by its
 * sequence number.
 *
 * The guest was interrupted in the middle of a function: every register is kept, and the flags are
 * the guest's to lose (where the count rises) or not read before they are set (where it falls).
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

/* Goes to OFF if sections are not measured now. */
.macro check_sections off
	testl	$HV_SECTIONS_ON, SECTIONS
	jz	\off
	testl	$HV_MODE_OFF, MODE
	jnz	\off
.endm

/* %rax := for how long the host has not run this vCPU, in ns; 0 in a kernel that does not know. */
.macro load_steal
	xorl	%eax, %eax
775:	movq	%gs:hole_steal_time, %rax
776:
	.pushsection .hv_alternatives
	.long	HV_ALT_NO_STEAL, 775b - hv_stubs, 776b - 775b, 0
	.popsection
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
	movl	%gs:hole_preempt_count, %eax
	movl	%eax, \end + HV_END_COUNT(%rcx)
	pushfq
	popq	%rax
	movl	%eax, \end + HV_END_CPU_FLAGS(%rcx)
.endm

	.globl	hv_stub_section_begins
hv_stub_section_begins:
	enter_section_stub
	check_sections .Lsection_not_measured
	fill_end HV_STATE_OPEN
	read_tsc
.Lsection_is_open:
	movq	%rax, HV_STATE_OPEN + HV_END_TSC(%rcx)
	popq	%rdx
	popq	%rcx
	popq	%rax
	.globl	hv_stub_return_11
hv_stub_return_11:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lsection_not_measured:
	xorl	%eax, %eax
	jmp	.Lsection_is_open

	.globl	hv_stub_section_ends
hv_stub_section_ends:
	enter_section_stub
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
	popq	%rdx
	popq	%rcx
	popq	%rax
	.globl	hv_stub_return_12
hv_stub_return_12:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lsection_without_begin:
	incq	HV_STATE_NO_BEGIN(%rcx)
	jmp	.Lsection_ended

/* Subtracts the time in which the host did not run the vCPU, which is no fault of the guest's. */
.Lsection_keep: /* %rax now, %rdx ticks */
	check_sections .Lsection_ended
	pushq	%rax
	pushq	%rdx
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
	incl	HV_STATE_SECTION_SEQ(%rcx)
	jmp	.Lsection_ended

.Lsection_stolen:
	incq	HV_STATE_STOLEN(%rcx)
	popq	%rdx
	popq	%rax
	jmp	.Lsection_ended

#undef PLACE
#undef FUNCTION_CALLER
