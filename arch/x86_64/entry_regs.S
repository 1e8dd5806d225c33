/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records all registers of a call, for probes that use %ax, %r10, %r11 or the flags: an event with
 * HV_EVENT_ID_ALL_REGS, like a probe inside a function (probe_site.S). Included by event.S.
 *
 * The site of such a function calls one of HV_NR_ACTION_GROUPS entries here instead of those in
 * actions.S. An entry saves the flags first, and changes no register before all are recorded. Then
 * the actions of its action group follow: the common code (.Lact) finds the same state as if the
 * site had called it. Without actions, the function finds all registers unchanged.
 *
 *      on entry                   in .Lentry_regs           when probe_site.S is called
 *                                 24(%rsp)  caller's return     24(%rsp)  caller's return
 *                                 16(%rsp)  site + 5            16(%rsp)  flags
 *       8(%rsp)  caller's return   8(%rsp)  flags                8(%rsp)  site
 *       0(%rsp)  site + 5          0(%rsp)  the group's number   0(%rsp)  the group's number */
#define OTHER_ACTIONS                                                                              \
	(RECORDED | HV_DOES_ON | HV_DOES_OFF | HV_DOES_ON_COUNTED | HV_DOES_OFF_COUNTED |          \
	 HV_DOES_PID_INHERITS | HV_DOES_PID_CLEARS | HV_DOES_PID_SETS)

	.globl	hv_trampoline_entry_regs
hv_trampoline_entry_regs:
	.set	number, 0
	.rept	HV_NR_ACTION_GROUPS
	pushfq
	.byte	0x6a, number /* pushq $number: it is below 128 */
	.byte	0xe9	     /* jmp: fixed length */
	.long	.Lentry_regs - . - 4
	.set	number, number + 1
	.endr
	.globl	hv_trampoline_entry_regs_end
hv_trampoline_entry_regs_end:

.Lentry_regs:
	pushq	%rax
	movq	24(%rsp), %rax
	pushq	16(%rsp)
	popq	24(%rsp) /* the flags; the address is relative to %rsp after the pop */
	leaq	-SITE_LEN(%rax), %rax
	movq	%rax, 16(%rsp)
	popq	%rax
	call	.Lprobe_site

	pushq	%rax
	movl	8(%rsp), %eax
	shll	$HV_GROUP_SHIFT, %eax
	leaq	hole_params + HV_ACTION_GROUPS_OFF(%rax), %rax
	addq	$SITE_LEN, 16(%rsp)
	cmpl	$0, HV_GROUP_GOES_ON(%rax)
	jne	.Lentry_regs_go_on
	testl	$OTHER_ACTIONS, HV_GROUP_DOES(%rax)
	jnz	.Lentry_regs_go_on
	movq	16(%rsp), %rax
	pushq	24(%rsp)
	movq	%rax, 32(%rsp)
	popfq
	popq	%rax
	leaq	16(%rsp), %rsp
	.globl	hv_trampoline_return_21
hv_trampoline_return_21: /* into the function */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lentry_regs_go_on:
	movl	8(%rsp), %r10d
	movq	16(%rsp), %rax
	movq	%rax, 24(%rsp)
	addq	$24, %rsp
	jmp	.Lact

#undef OTHER_ACTIONS
