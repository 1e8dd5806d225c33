/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a kernel that hibernates wait until nothing of ours is in it. On its way to make the image,
 * hibernation_snapshot() calls hibernate_preallocate_memory(), which takes no argument and returns
 * 0 or an error. While a session lasts, it calls this code instead. Included by stubs.S.
 *
 * This code counts, and leaves by a jump into msleep(). The return address that it leaves for
 * msleep() is that of the call itself, so the kernel then makes the call anew. Meanwhile no address
 * of ours is on the stack. When the host has put the call back, the kernel goes on as without us.
 * If the host does not do so in time, this code returns -EBUSY in place of the function. Then the
 * kernel thaws its tasks and goes on without an image.
 *
 *      on entry                        when msleep() runs
 *       0(%rsp)  call + 5               0(%rsp)  call
 */
#define MINUS_EBUSY -16

	.globl	hv_stub_hibernation
hv_stub_hibernation:
	movl	$1, %eax
	lock xaddl %eax, hole_control + HV_CONTROL_HIBERNATES
	cmpl	$HV_HIBERNATION_WAITS, %eax
	jae	.Lhibernation_fails
	subq	$SITE_LEN, (%rsp)
	movl	$HV_HIBERNATION_WAIT_MS, %edi
	pushq	hole_params + HV_PARAM_SLEEP
	.globl	hv_stub_return_9
hv_stub_return_9: /* to msleep() */
	ret
	.fill	SITE_LEN - 1, 1, 0xcc

.Lhibernation_fails:
	movl	$0, hole_control + HV_CONTROL_HIBERNATES
	movl	$MINUS_EBUSY, %eax
	.globl	hv_stub_return_10
hv_stub_return_10:
	ret
	.fill	SITE_LEN - 1, 1, 0xcc
