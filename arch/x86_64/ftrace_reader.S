/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets the guest's ftrace take functions that hvtrace traces.
 *
 * ftrace reads a site before it changes it (ftrace_verify_code, arch/x86/kernel/ftrace.c). While
 * any site calls one of our trampolines, ftrace calls this code instead of the kernel's reader. A
 * site that calls a trampoline then reads as its original nop, and a site that calls a chain
 * (chain.S) as the call of the guest's trampoline. So the guest's ftrace, kprobes and BPF programs
 * can take it, or release it. Included by trampolines.S.
 *
 * It is called from C like the reader: (to, from, bytes) in %rdi, %rsi, %rdx; it returns 0 in %rax
 * on success. It calls the function that its caller would have called. No other trampoline has a
 * kernel function return to it. If that function is traced, its record shows our return address as
 * the caller. Each changed call in the kernel has a separate entry, so the host can identify the
 * call by that address.
 *
 *      on entry                        when the reader runs
 *       0(%rsp)  caller's return        32(%rsp)  caller's return
 *                                       24(%rsp)  to
 *                                       16(%rsp)  from
 *                                        8(%rsp)  bytes
 *                                        0(%rsp)  entry + SITE_LEN */
	.globl	hv_trampoline_ftrace_readers
hv_trampoline_ftrace_readers:
	.rept	8
	call	.Lreader
	.byte	0xe9 /* jmp: fixed length */
	.long	.Lreader_read - . - 4
	.endr
	.globl	hv_trampoline_ftrace_readers_end
hv_trampoline_ftrace_readers_end:

.Lreader:
	lock incl hole_control + HV_CONTROL_LOOKS
	popq	%rax
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rax
	pushq	hole_params + HV_PARAM_FTRACE_READER
	.globl	hv_trampoline_return_7
hv_trampoline_return_7: /* to the reader */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lreader_read:
	popq	%rdx
	popq	%rsi
	popq	%rdi
	testq	%rax, %rax
	jnz	.Lreader_out
	cmpq	$SITE_LEN, %rdx
	jne	.Lreader_out
	cmpb	$0xe8, (%rdi) /* call */
	jne	.Lreader_out
	movslq	1(%rdi), %rdx
	leaq	SITE_LEN(%rsi,%rdx), %rdx
	movq	%rdx, %rcx
	subq	$hole_chains, %rcx
	cmpq	$hole_chains_len, %rcx
	jb	.Lreader_chain
	subq	$hole_params, %rdx
	cmpq	$(HV_TRAMPOLINES_LEN_MAX + HV_TRAMPOLINES_CODE_OFF), %rdx
	jae	.Lreader_out
	movl	hole_params + HV_PARAM_FTRACE_NOP, %ecx
	movl	%ecx, (%rdi)
	movb	hole_params + HV_PARAM_FTRACE_NOP + 4, %cl
	movb	%cl, 4(%rdi)
	jmp	.Lreader_out

/* %rdx is the address of the chain. Its jump is after its call, and both are as long as a site. */
.Lreader_chain:
	movslq	SITE_LEN + 1(%rdx), %rcx
	leaq	2 * SITE_LEN(%rdx,%rcx), %rcx
	subq	%rsi, %rcx
	subl	$SITE_LEN, %ecx
	movl	%ecx, 1(%rdi)
.Lreader_out:
	.globl	hv_trampoline_return_8
hv_trampoline_return_8:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc
