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
 * 	ra	the caller's address		t1	the group
 * 	t0	site + 8			t2	the control block
 * 	a0	the function's first argument	t3	the group's counts
 * 						t4	the group's actions */
	.if	HV_CONTROL_MODE != 0
	.error	"atomic operations have no offset"
	.endif

/* Adds VALUE, 1 or -1, to the count LEFT. t6 := the old value. Clobbers t5. */
.macro change_left left, value
	addi	t5, t3, \left
	li	t6, \value
	amoadd.w t6, t6, (t5)
.endm

/* REG := the bit OFF of the mode. */
.macro load_off reg
	lw	\reg, (t2)
	andi	\reg, \reg, HV_MODE_OFF
.endm

/* Jumps to NONE if the action group has none of the actions BITS. Clobbers t5. */
.macro does bits, none
	li	t5, \bits
	and	t5, t5, t4
	beqz	t5, \none
.endm

/* REG := the word of the pid bitmap with PID's bit. Clobbers TMP. */
.macro find_pid_word reg, pid, tmp
	srli	\reg, \pid, 5
	slli	\reg, \reg, 2
	load_address \tmp, hole_pids
	add	\reg, \reg, \tmp
.endm

	.balign	64
	.globl	hv_trampoline_actions
hv_trampoline_actions:
	.set	number, 0
	.rept	HV_NR_ACTION_GROUPS
	li	t1, number
	j	.Lact
	.set	number, number + 1
	.endr
	.globl	hv_trampoline_actions_end
hv_trampoline_actions_end:

.Lact:
	slli	t3, t1, HV_LEFT_SHIFT
	slli	t4, t1, HV_GROUP_SHIFT
	load_address t1, hole_params + HV_ACTION_GROUPS_OFF
	add	t1, t1, t4
	load_address t2, hole_control
	add	t3, t3, t2
	addi	t3, t3, HV_CONTROL_LEFT
	lwu	t4, HV_GROUP_DOES(t1)

	does	HV_DOES_ON, .Lact_counted_on
	load_off t5
	beqz	t5, .Lact_counted_on
	li	t5, ~HV_MODE_OFF
	amoand.w zero, t5, (t2)
.Lact_counted_on:
	does	HV_DOES_ON_COUNTED, .Lact_off
	lw	t5, HV_LEFT_ON(t3)
	blez	t5, .Lact_off
	li	t5, ~HV_MODE_OFF
	amoand.w t5, t5, (t2)
	andi	t5, t5, HV_MODE_OFF
	beqz	t5, .Lact_off
	change_left HV_LEFT_ON, -1
.Lact_off:
	does	HV_DOES_OFF, .Lact_counted_off
	load_off t5
	bnez	t5, .Lact_counted_off
	li	t5, HV_MODE_OFF
	amoor.w	zero, t5, (t2)
.Lact_counted_off:
	does	HV_DOES_OFF_COUNTED, .Lact_tasks
	lw	t5, HV_LEFT_OFF(t3)
	blez	t5, .Lact_tasks
	li	t5, HV_MODE_OFF
	amoor.w	t5, t5, (t2)
	andi	t5, t5, HV_MODE_OFF
	bnez	t5, .Lact_tasks
	change_left HV_LEFT_OFF, -1

.Lact_tasks:
	does	HV_DOES_PID_INHERITS | HV_DOES_PID_CLEARS | HV_DOES_PID_SETS, .Lact_go_on
	j	.Lact_task
.Lact_go_on:
	does	HV_DOES_STACK | HV_DOES_STACK_COUNTED, .Lact_stack_done
	j	.Lact_stack
.Lact_stack_done:
	does	HV_DOES_REPORT | HV_DOES_REPORT_COUNTED, .Lact_next
	j	.Lact_report
.Lact_next:
	lwu	t3, HV_GROUP_GOES_ON(t1)
	beqz	t3, .Lact_leave
	load_address t2, hole_params
	add	t2, t2, t3
	jr	t2
.Lact_leave:
	jr	t0

/* Records the call with its callers, unless recording is off or paused, or this vCPU is muted. */
.Lact_stack:
	lw	t5, HV_CONTROL_MODE(t2)
	andi	t6, t5, HV_MODE_SILENT
	bnez	t6, .Lact_stack_done
	andi	t6, t4, HV_DOES_STACK
	bnez	t6, .Lact_stack_asked
	lw	t5, HV_LEFT_STACK(t3)
	blez	t5, .Lact_stack_done
	change_left HV_LEFT_STACK, -1
	bgtz	t6, .Lact_stack_asked
	change_left HV_LEFT_STACK, 1
	j	.Lact_stack_done
.Lact_stack_asked:
	lw	t5, HV_CONTROL_MODE(t2)
	andi	t5, t5, HV_MODE_CPUS
	beqz	t5, 1f
	load_vcpu t5, t6
	lw	t5, HV_STATE_MUTED(t5)
	bnez	t5, .Lact_stack_done
1:	j	.Lstack

/* Changes the bit of the task at a0 in the pid bitmap. This needs t3 and t4. */
.Lact_task:
	addi	sp, sp, -16
	sd	t3, 0(sp)
	sd	t4, 8(sp)
	lui	t5, %hi(hole_task_pid)
	add	t5, t5, a0
	lwu	t6, %lo(hole_task_pid)(t5)
	load_word t3, hole_nr_pids
	bgeu	t6, t3, .Lact_task_done
	does	HV_DOES_PID_CLEARS, 1f
	j	.Lact_task_clear
1:	does	HV_DOES_PID_INHERITS, .Lact_task_set
	load_task lwu, t5, hole_task_pid
	bgeu	t5, t3, .Lact_task_done
	find_pid_word t3, t5, t4
	lw	t3, (t3)
	srlw	t3, t3, t5 /* the shift uses the low five bits */
	andi	t3, t3, 1
	beqz	t3, .Lact_task_clear
.Lact_task_set:
	find_pid_word t3, t6, t4
	li	t4, 1
	sllw	t4, t4, t6
	amoor.w	zero, t4, (t3)
	j	.Lact_task_done
.Lact_task_clear:
	find_pid_word t3, t6, t4
	li	t4, 1
	sllw	t4, t4, t6
	not	t4, t4
	amoand.w zero, t4, (t3)
.Lact_task_done:
	ld	t3, 0(sp)
	ld	t4, 8(sp)
	addi	sp, sp, 16
	j	.Lact_go_on

/* Reports the call to the host. A count is decremented before it is tested, and incremented again
 * if it was used up, so only one vCPU gets the last action. */
.Lact_report:
	andi	t5, t4, HV_DOES_REPORT
	bnez	t5, .Lact_report_record
	lw	t5, HV_LEFT_REPORT(t3)
	blez	t5, .Lact_next
	change_left HV_LEFT_REPORT, -1
	bgtz	t6, .Lact_report_record
	change_left HV_LEFT_REPORT, 1
	j	.Lact_next
.Lact_report_record:
	addi	sp, sp, -16
	sd	t1, (sp) /* the group */
	load_vcpu t1, t2
	load_task lw, t2, hole_task_pid
	lw	t3, HV_STATE_LAST_PID(t1)
	bne	t2, t3, .Lact_other_task
.Lact_same_task:
	make_task_word
	reserve_record
	store_word 2, t2
	make_call_word
	store_word 1, t1
	make_context_word
	li	t2, HV_RECORD_COMMAND << 1 | 1 /* and HV_STACK_COMMAND_BIT */
	slli	t2, t2, HV_STACK_COMMAND_BIT
	or	t1, t1, t2
	store_word 3, t1
	rdtime	t1
	store_word 0, t1
	ld	t1, (sp)
	addi	sp, sp, 16
	j	.Lact_next
.Lact_other_task:
	write_task_record
	j	.Lact_same_task

	.if	HV_RECORD_KIND_SHIFT != HV_STACK_COMMAND_BIT + 1
	.error	"kind and bit"
	.endif
