/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trampoline of the function tracer for sites that the guest's own tracers use. Included by
 * trampolines.S.
 *
 * Such a site called a trampoline of the guest before hvtrace changed it. Now it calls a chain: code
 * that x86_64_encode_chain() writes for each of the guest's trampolines.
 *
 *      chain:  call hv_trampoline_chain_function
 *              jmp  the guest's trampoline
 *
 * The trampoline records the call like hv_trampoline_function, and returns to the chain. The guest's
 * trampoline then finds the stack as the site's call left it.
 *
 *      on entry                        after the push
 *      16(%rsp)  caller's return        24(%rsp)  CALLER
 *       8(%rsp)  site + 5               16(%rsp)  SITE_END
 *       0(%rsp)  chain + 5               8(%rsp)  chain + 5
 *                                        0(%rsp)  %rdx */
#define SITE_END 16
#define CALLER	 24
	.balign	64
	function_trampoline chain_function, SITE_END, CALLER, 23
#undef SITE_END
#undef CALLER
