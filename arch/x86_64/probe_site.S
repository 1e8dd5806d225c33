/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records the registers at a probe inside a function, as an event with HV_EVENT_ID_ALL_REGS.
 * Included by event.S. The probe's detour (arch/detour.h) saves and restores the flags, because the
 * return to it can change them. All registers are preserved.
 *
 *      on entry                       after the pushes
 *      32(%rsp)  original stack       8*HV_ALL_REGS_WORDS + 32(%rsp)  original stack
 *      24(%rsp)  flags                                + 24(%rsp)  flags
 *      16(%rsp)  probed address                       + 16(%rsp)  probed address
 *       8(%rsp)  the group's number                    +  8(%rsp)  the group's number
 *       0(%rsp)  return to the detour              8 + 8*n(%rsp)  word n of the entry; the last
 *                                                                 is the return to the detour
 *                                                       4(%rsp)  REGS_DRAFT
 *                                                       0(%rsp)  REGS_WORD */
#define GROUP (8 * HV_ALL_REGS_WORDS + 8)
#define ENTRY_LEN  (HV_ENTRY_HEADER_LEN + 8 * HV_ALL_REGS_WORDS)

	.globl	hv_trampoline_probe_site
hv_trampoline_probe_site:
.Lprobe_site:
	cld
	pushq	24(%rsp)
	pushq	%r11
	pushq	%r10
	pushq	%rax
	cmpl	$0, MODE
	jne	.Lprobe_site_checks
.Lprobe_site_checked:
	.irp reg, %r15, %r14, %r13, %r12, %r9, %r8, %rbp, %rdi, %rsi, %rdx, %rcx, %rbx
	pushq	\reg
	.endr
	pushq	(8 * 16 + 32)(%rsp) /* the word on the stack */
	leaq	(8 * 17 + 32)(%rsp), %rax
	pushq	%rax
	pushq	(8 * 18 + 16)(%rsp)
	pushq	$(HV_EVENT_ID_ALL_REGS | ENTRY_LEN << HV_EVENT_LEN_SHIFT)
	movl	GROUP(%rsp), %eax
	shll	$HV_GROUP_SHIFT, %eax
	leaq	hole_params + HV_ACTION_GROUPS_OFF(%rax), %rax
	xorl	%r11d, %r11d
	movl	$HV_ALL_REGS_WORDS, %r8d
	testl	$HV_DOES_FETCH, HV_GROUP_DOES(%rax)
	jnz	.Lfetch
	leaq	REGS_FIRST(%rsp), %rsi
	movl	$(8 * HV_ALL_REGS_WORDS / HV_DATA_LEN), %edi
	jmp	.Lregs_entry

.Lprobe_site_done:
	pop_words
.Lprobe_site_out:
	popq	%rax
	popq	%r10
	popq	%r11
	leaq	8(%rsp), %rsp
	.globl	hv_trampoline_return_20
hv_trampoline_return_20: /* to the detour */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lprobe_site_checks:
	check_mode .Lprobe_site_checked, .Lprobe_site_out

#undef GROUP
#undef ENTRY_LEN
