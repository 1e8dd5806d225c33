/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Actions: trampolines of functions that switch recording on or off when they are called (traceon,
 * traceoff), that change the pid filter, or whose calls are recorded with their callers or for the
 * host. (Registers are not supported: HV_DOES_REGS and HV_DOES_FETCH do nothing.) Included by
 * trampolines.S.
 *
 * The site of such a function calls one of HV_NR_ACTION_GROUPS entries. An entry loads its number
 * and jumps to the common code. The action group of that number (struct hv_action_group, in the
 * page of the params) contains the actions and the next trampoline. The mode and the counts of
 * counted actions are in the control block, which the guest can write. The next trampoline finds
 * all registers as if the site had called it.
 *
 * 	x9	the caller's address		x11	the group
 * 	x30	site + 4			x12	the control block
 * 	x0	the function's first argument	x13	the group's counts
 * 						w14	the group's actions */
	.if	HV_CONTROL_MODE != 0
	.error	"exclusive loads have no offset"
	.endif

/* Adds VALUE, 1 or -1, to the count LEFT. w15 := the old value. Clobbers x10, w16, w17. */
.macro change_left left, value
	add	x10, x13, #\left
1:	ldxr	w15, [x10]
	add	w16, w15, #\value
	stxr	w17, w16, [x10]
	cbnz	w17, 1b
.endm

	.balign	64
	.globl	hv_trampoline_actions
hv_trampoline_actions:
	.set	number, 0
	.rept	HV_NR_ACTION_GROUPS
	bti	c
	mov	w10, #number
	b	.Lact
	.set	number, number + 1
	.endr
	.globl	hv_trampoline_actions_end
hv_trampoline_actions_end:

.Lact:
	adrp	x11, hole_params
	add	x11, x11, #HV_ACTION_GROUPS_OFF
	add	x11, x11, x10, lsl #HV_GROUP_SHIFT
	adrp	x12, hole_control
	add	x13, x12, #HV_CONTROL_LEFT
	add	x13, x13, x10, lsl #HV_LEFT_SHIFT
	ldr	w14, [x11, #HV_GROUP_DOES]

	tst	w14, #HV_DOES_ON
	b.eq	.Lact_counted_on
1:	ldxr	w15, [x12]
	tbz	w15, #HV_MODE_OFF_BIT, .Lact_counted_on
	and	w15, w15, #~HV_MODE_OFF
	stxr	w16, w15, [x12]
	cbnz	w16, 1b
.Lact_counted_on:
	tst	w14, #HV_DOES_ON_COUNTED
	b.eq	.Lact_off
	ldr	w15, [x13, #HV_LEFT_ON]
	cmp	w15, #0
	b.le	.Lact_off
1:	ldxr	w15, [x12]
	tbz	w15, #HV_MODE_OFF_BIT, .Lact_off
	and	w15, w15, #~HV_MODE_OFF
	stxr	w16, w15, [x12]
	cbnz	w16, 1b
	change_left HV_LEFT_ON, -1
.Lact_off:
	tst	w14, #HV_DOES_OFF
	b.eq	.Lact_counted_off
1:	ldxr	w15, [x12]
	tbnz	w15, #HV_MODE_OFF_BIT, .Lact_counted_off
	orr	w15, w15, #HV_MODE_OFF
	stxr	w16, w15, [x12]
	cbnz	w16, 1b
.Lact_counted_off:
	tst	w14, #HV_DOES_OFF_COUNTED
	b.eq	.Lact_tasks
	ldr	w15, [x13, #HV_LEFT_OFF]
	cmp	w15, #0
	b.le	.Lact_tasks
1:	ldxr	w15, [x12]
	tbnz	w15, #HV_MODE_OFF_BIT, .Lact_tasks
	orr	w15, w15, #HV_MODE_OFF
	stxr	w16, w15, [x12]
	cbnz	w16, 1b
	change_left HV_LEFT_OFF, -1

.Lact_tasks:
	tst	w14, #(HV_DOES_PID_INHERITS | HV_DOES_PID_CLEARS | HV_DOES_PID_SETS)
	b.ne	.Lact_task
.Lact_go_on:
	tst	w14, #(HV_DOES_STACK | HV_DOES_STACK_COUNTED)
	b.ne	.Lact_stack
.Lact_stack_done:
	tst	w14, #(HV_DOES_REPORT | HV_DOES_REPORT_COUNTED)
	b.ne	.Lact_report
.Lact_next:
	ldr	w10, [x11, #HV_GROUP_GOES_ON]
	cbz	w10, .Lact_leave
	adrp	x16, hole_params
	add	x16, x16, x10
	br	x16
.Lact_leave:
	leave

/* Changes the bit of the task at x0 in the pid bitmap. */
.Lact_task:
	ldr	w15, [x0, :lo12:hole_task_pid]
	load_word w10, hole_nr_pids
	cmp	w15, w10
	b.hs	.Lact_go_on
	adrp	x17, hole_pids
	tst	w14, #HV_DOES_PID_CLEARS
	b.ne	.Lact_task_clear
	tst	w14, #HV_DOES_PID_INHERITS
	b.eq	.Lact_task_set
	mrs	x16, sp_el0
	ldr	w16, [x16, :lo12:hole_task_pid]
	cmp	w16, w10
	b.hs	.Lact_go_on
	lsr	w10, w16, #5
	ldr	w10, [x17, x10, lsl #2]
	lsr	w10, w10, w16 /* the shift uses the low five bits */
	tbz	w10, #0, .Lact_task_clear
.Lact_task_set:
	lsr	w10, w15, #5
	add	x17, x17, x10, lsl #2
	mov	w16, #1
	lsl	w15, w16, w15
1:	ldxr	w10, [x17]
	orr	w10, w10, w15
	stxr	w16, w10, [x17]
	cbnz	w16, 1b
	b	.Lact_go_on
.Lact_task_clear:
	lsr	w10, w15, #5
	add	x17, x17, x10, lsl #2
	mov	w16, #1
	lsl	w15, w16, w15
1:	ldxr	w10, [x17]
	bic	w10, w10, w15
	stxr	w16, w10, [x17]
	cbnz	w16, 1b
	b	.Lact_go_on

/* Records the call with its callers, unless recording is off or paused, or this vCPU is muted. */
.Lact_stack:
	ldr	w16, [x12, #HV_CONTROL_MODE]
	tbnz	w16, #HV_MODE_OFF_BIT, .Lact_stack_done
	tbnz	w16, #HV_MODE_PAUSED_BIT, .Lact_stack_done
	tst	w14, #HV_DOES_STACK
	b.ne	.Lact_stack_asked
	ldr	w15, [x13, #HV_LEFT_STACK]
	cmp	w15, #0
	b.le	.Lact_stack_done
	change_left HV_LEFT_STACK, -1
	cmp	w15, #0
	b.gt	.Lact_stack_asked
	change_left HV_LEFT_STACK, 1
	b	.Lact_stack_done
.Lact_stack_asked:
	load_mode w16
	tbz	w16, #HV_MODE_CPUS_BIT, .Lstack
	mrs	x15, sp_el0
	ldr	w15, [x15, :lo12:hole_cpu_number]
	adrp	x16, hole_vcpus
	ldr	x15, [x16, x15, lsl #3]
	ldr	w15, [x15, #HV_STATE_MUTED]
	cbnz	w15, .Lact_stack_done
	b	.Lstack

/* Reports the call to the host. A count is decremented before it is tested, and incremented again
 * if it was used up, so only one vCPU gets the last action. */
.Lact_report:
	tst	w14, #HV_DOES_REPORT
	b.ne	.Lact_report_record
	ldr	w15, [x13, #HV_LEFT_REPORT]
	cmp	w15, #0
	b.le	.Lact_next
	change_left HV_LEFT_REPORT, -1
	cmp	w15, #0
	b.gt	.Lact_report_record
	change_left HV_LEFT_REPORT, 1
	b	.Lact_next
.Lact_report_record:
	str	x11, [sp, #-16]! /* the group */
	load_vcpu
	ldr	w12, [x10, :lo12:hole_task_pid]
	ldr	w13, [x11, #HV_STATE_LAST_PID]
	cmp	w12, w13
	b.ne	.Lact_other_task
.Lact_same_task:
	make_task_word
	reserve_record 14, 15, 16, 17
	store_word 2, x12, x14, x15
	make_call_word w9, w30
	store_word 1, x12, x14, x15
	make_context_word
	mov	x13, #((HV_RECORD_COMMAND << HV_RECORD_KIND_SHIFT) | (1 << HV_STACK_COMMAND_BIT))
	orr	x12, x12, x13
	store_word 3, x12, x14, x15
	read_clock x12
	store_word 0, x12, x14, x15
	ldr	x11, [sp], #16
	b	.Lact_next
.Lact_other_task:
	write_task_record
	b	.Lact_same_task
