/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trampolines for sites that the guest's own tracers use. Included by trampolines.S.
 *
 * Such a site called a trampoline of the guest before hvtrace changed it. Now it calls a chain: code
 * that x86_64_encode_chain() writes for each pair of a trampoline and one of the guest's.
 *
 *      chain:  call a trampoline of this file
 *              jmp  the guest's trampoline
 *              the kind of the call, 32 bits
 *
 * The trampoline records the call like the one that other sites call, and returns to the chain. The
 * guest's trampoline then finds the stack as the site's call left it.
 *
 *      on entry                        hv_trampoline_chain_function, after the push
 *      16(%rsp)  caller's return        24(%rsp)  CALLER
 *       8(%rsp)  site + 5               16(%rsp)  SITE_END
 *       0(%rsp)  chain + 5               8(%rsp)  chain + 5
 *                                        0(%rsp)  %rdx
 *
 * The chain of a function with actions jumps to the action group's entry instead of calling it. The
 * action group continues at another chain, as at any trampoline. hv_trampoline_chain_function_stack
 * is in stack.S. */
#define SITE_END 16
#define CALLER	 24
	.balign	64
	function_trampoline chain_function, SITE_END, CALLER, 23
#undef SITE_END
#undef CALLER

/* Replaces the return address on the stack by KIND of graph.S. Its lower half is the kind in the
 * chain, its upper half the lower half of the return address. With HV_ALT_CHAINS, the end of a call
 * returns there. Clobbers %rax, %r10. */
.macro take_kind
	movq	(%rsp), %r10
	movl	SITE_LEN(%r10), %eax
	shlq	$32, %r10
	orq	%r10, %rax
	movq	%rax, (%rsp)
.endm

/* For all entries of graph.S, profile.S and calls.S. */
	.globl	hv_trampoline_chain_call
hv_trampoline_chain_call:
	take_kind
	jmp	.Lcall

/* For the entries of return_probe.S. */
	.globl	hv_trampoline_chain_probed
hv_trampoline_chain_probed:
	take_kind
	jmp	.Lprobed
