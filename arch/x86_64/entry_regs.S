/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records all registers of a call, for probes that use %ax, %r10, %r11 or the flags: an event with
 * HV_EVENT_ID_PLACE, like a probe inside a function (place.S). Included by event.S.
 *
 * The site of such a function calls one of HV_NR_SLOTS entries here instead of those in actions.S.
 * An entry saves the flags first, and changes no register before all are recorded. Then the actions
 * of its slot follow: the common code (.Lact) finds the same state as if the site had called it.
 * Without actions, the function finds all registers unchanged.
 *
 *      on entry                   in .Lentry_regs           when place.S is called
 *                                 24(%rsp)  caller's return     24(%rsp)  caller's return
 *                                 16(%rsp)  site + 5            16(%rsp)  flags
 *       8(%rsp)  caller's return   8(%rsp)  flags                8(%rsp)  site
 *       0(%rsp)  site + 5          0(%rsp)  the slot's number    0(%rsp)  the slot's number */
#define OTHER_ACTIONS                                                                              \
	(RECORDED | HV_SLOT_ON | HV_SLOT_OFF | HV_SLOT_ON_COUNTED | HV_SLOT_OFF_COUNTED |          \
	 HV_SLOT_PID_INHERITS | HV_SLOT_PID_CLEARS | HV_SLOT_PID_SETS)

	.globl	hv_stub_entry_regs
hv_stub_entry_regs:
	.set	number, 0
	.rept	HV_NR_SLOTS
	pushfq
	.byte	0x6a, number /* pushq $number: it is below 128 */
	.byte	0xe9	     /* jmp: fixed length */
	.long	.Lentry_regs - . - 4
	.set	number, number + 1
	.endr
	.globl	hv_stub_entry_regs_end
hv_stub_entry_regs_end:

.Lentry_regs:
	pushq	%rax
	movq	24(%rsp), %rax
	pushq	16(%rsp)
	popq	24(%rsp) /* the flags; the address is relative to %rsp after the pop */
	leaq	-SITE_LEN(%rax), %rax
	movq	%rax, 16(%rsp)
	popq	%rax
	call	.Lplace

	pushq	%rax
	movl	8(%rsp), %eax
	shll	$HV_SLOT_SHIFT, %eax
	leaq	hole_params + HV_SLOTS_OFF(%rax), %rax
	addq	$SITE_LEN, 16(%rsp)
	cmpl	$0, HV_SLOT_GOES_ON(%rax)
	jne	.Lentry_regs_go_on
	testl	$OTHER_ACTIONS, HV_SLOT_DOES(%rax)
	jnz	.Lentry_regs_go_on
	movq	16(%rsp), %rax
	pushq	24(%rsp)
	movq	%rax, 32(%rsp)
	popfq
	popq	%rax
	leaq	16(%rsp), %rsp
	.globl	hv_stub_return_21
hv_stub_return_21: /* into the function */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lentry_regs_go_on:
	movl	8(%rsp), %r10d
	movq	16(%rsp), %rax
	movq	%rax, 24(%rsp)
	addq	$24, %rsp
	jmp	.Lact

#undef OTHER_ACTIONS
