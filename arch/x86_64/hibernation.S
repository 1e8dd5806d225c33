/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a hibernating kernel wait until it no longer contains changes of hvtrace. Before the kernel
 * creates the image, hibernation_snapshot() calls hibernate_preallocate_memory(), which takes no
 * argument and returns 0 or an error. During a session, it calls this code instead. Included by
 * trampolines.S.
 *
 * This code counts its calls and jumps to msleep(). It makes the call instruction itself the return
 * address of msleep(), so the kernel repeats the call. While it sleeps, no address in the region is
 * on the stack. After the host has restored the original call, the kernel continues normally. If
 * the host does not do so in time, this code returns -EBUSY instead. Then the kernel thaws its
 * tasks and continues without an image.
 *
 *      on entry                        when msleep() runs
 *       0(%rsp)  call + 5               0(%rsp)  call */
#define MINUS_EBUSY -16

	.globl	hv_trampoline_hibernation
hv_trampoline_hibernation:
	movl	$1, %eax
	lock xaddl %eax, hole_control + HV_CONTROL_HIBERNATES
	cmpl	$HV_HIBERNATION_WAITS, %eax
	jae	.Lhibernation_fails
	subq	$SITE_LEN, (%rsp)
	movl	$HV_HIBERNATION_WAIT_MS, %edi
	pushq	hole_params + HV_PARAM_SLEEP
	.globl	hv_trampoline_return_9
hv_trampoline_return_9: /* to msleep() */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lhibernation_fails:
	movl	$0, hole_control + HV_CONTROL_HIBERNATES
	movl	$MINUS_EBUSY, %eax
	.globl	hv_trampoline_return_10
hv_trampoline_return_10:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc
