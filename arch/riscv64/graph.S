/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The graph: the trampoline of a call makes the function return to the return handler
 * (graph_handler.S), and stores the caller's address in a frame. The function has not saved its
 * return address yet, so it saves the handler's. The frames of a kernel stack are in one return
 * stack in the region (return_stacks.inc, docs/users/graph.md). Included by trampolines.S.
 *
 * There are two ways to do it. The plain way is straight-line code. It requires a graph without
 * options (hv_graph_is_plain() in ringbuf/abi.h), and a return stack that is in its first bucket,
 * has room for another frame, and is not marked with HV_STACK_SLOW. All other calls take the
 * general way. The plain way switches to the general way before it has changed anything.
 *
 * 	the general way, after save_arguments
 * 	64(sp)	original sp: RETP
 * 	 0(sp)	a0 to a7
 * 	ra	the caller's address; on leaving the handler's, if there is a frame
 * 	t0	site + 8 */

/* The kind of a call combines HV_FRAME_* and these flags. The entry in calls.S sets it. */
#define CALLED_KINDS (HV_FRAME_ROOT | HV_FRAME_MUTES)
#define NEW_TASK     HV_KIND_NEW_TASK
#define LEAVES	     HV_KIND_LEAVES
#define ARRIVES	     HV_KIND_ARRIVES
#define FUNCTION     HV_KIND_FUNCTION
#define UNTRACED     HV_KIND_UNTRACED
#define ROLES	     (NEW_TASK | LEAVES | ARRIVES)
/* Shifts that move a bit outside all immediates to the sign. */
#define SIGN_OF_FUNCTION (63 - 11)
#define SIGN_OF_UNTRACED (63 - 12)

/* Offset of the new frame from the result of find_plain_stack. */
#define NEW_FRAME HV_STACK_FRAMES + NR_ONE

/* Finds the return stack of a call for the plain ways of graph.S and profile.S. t6 := its address,
 * t5 := the length of its frames minus NR_ONE. Jumps to RARE if it is not in its first bucket, is
 * marked with HV_STACK_SLOW, has no room for another frame, or has no frames. If it has no frames,
 * t3 is 0 and t2 the key. Clobbers t1 to t3. */
.macro find_plain_stack rare
	find_block t2, sp, t1
	find_home t6, t2, t1
	ld	t3, (t6)
	xor	t3, t3, t2
	addi	t5, t3, -NR_ONE
	li	t1, NR_MAX - 2 * NR_ONE
	bltu	t1, t5, \rare
.endm

/* Adds the first frame to the return stack at t6, if its word is still the key t2. t5 as set by
 * find_plain_stack. Jumps to GENERAL, with nothing changed, if the call is on an interrupt stack,
 * or if another kernel stack has taken the return stack. Clobbers t1.
 *
 * The word of a return stack is only equal to its key after a first frame of this key was added and
 * all frames were removed, one by one or by a new task. So the other fields already have the values
 * for the first frame of a task's stack, except the time at which a task left the CPU. */
.macro add_first_frame general
	load_task ld, t1, hole_task_stack
	bne	t1, t2, \general
	addi	t1, t2, NR_ONE
1:	lr.d.aq	t5, (t6)
	bne	t5, t2, \general
	sc.d	t5, t1, (t6)
	bnez	t5, 1b
	sd	zero, HV_STACK_LEFT(t6)
	li	t5, -NR_ONE
.endm

/* Makes the function return to the handler. */
.macro hook
9:	auipc	ra, %pcrel_hi(.Lgraph_handler)
	addi	ra, ra, %pcrel_lo(9b)
.endm

/* -- a call, the plain way --------------------------------------------------------------------- */

	.balign	64
	.globl	hv_trampoline_graph
hv_trampoline_graph:
	load_control ld, t1, HV_CONTROL_MODE /* and the graph mode */
	bnez	t1, .Lplain_leaves
	find_plain_stack .Lplain_rare
	li	t1, NR_ONE
	amoadd.d zero, t1, (t6)
.Lplain_raised:
	add	t6, t6, t5
	sd	sp, NEW_FRAME + HV_FRAME_RETP(t6)
	sd	ra, NEW_FRAME + HV_FRAME_CALLER(t6)
	slli	t5, t5, DEPTH_SHIFT - HV_FRAME_SHIFT
	li	t1, HIGH_KIND(HV_RECORD_ENTRY) + (1 << DEPTH_SHIFT)
	add	t5, t5, t1
	sw	t5, NEW_FRAME + HV_FRAME_FLAGS(t6) /* clears the flags, sets HV_FRAME_DEPTH */

	load_vcpu t1, t2
	load_task lw, t2, hole_task_pid
	lw	t3, HV_STATE_LAST_PID(t1)
	bne	t2, t3, .Lplain_other_task
.Lplain_same_task:
	make_task_word
	reserve_record
	store_word 2, t2
	make_call_word NEW_FRAME + HV_FRAME_FUNCTION, t6
	store_word 1, t1
	make_context_word
	lwu	t2, NEW_FRAME + HV_FRAME_FLAGS(t6)
	slli	t2, t2, HV_RECORD_HIGH
	or	t1, t1, t2
	store_word 3, t1
	rdtime	t1
	sd	t1, NEW_FRAME + HV_FRAME_TSC(t6)
	store_word 0, t1
	hook
	jr	t0

.Lplain_other_task:
	addi	sp, sp, -16
	sd	t6, (sp)
	write_task_record
	ld	t6, (sp)
	addi	sp, sp, 16
	j	.Lplain_same_task

.Lplain_rare:
	bnez	t3, .Lplain_leaves
	add_first_frame .Lplain_leaves
	j	.Lplain_raised

.Lplain_leaves:
	save_arguments
	li	KIND, 0

/* -- a call, the general way ------------------------------------------------------------------- */

.Lgraph:
	load_control lw, t1, HV_CONTROL_MODE
	bnez	t1, .Lgraph_checks
.Lgraph_checked:
	find_stack RETP
	lookup	.Lgraph_found
	j	.Lgraph_take

.Lgraph_found:
	frames_of FRAME, t2
	beqz	FRAME, .Lgraph_first
	ld	t1, HV_STACK_MUTED(STACK) /* and HV_STACK_STOPPED */
	bnez	t1, .Lgraph_leaves_out
	load_param lwu, a6, HV_PARAM_GRAPH_FLAGS
	andi	t1, a6, HV_GRAPH_SUBTREE | HV_GRAPH_NO_IRQS
	bnez	t1, .Lgraph_filter
.Lgraph_passed:
	find_depth
	depth_of t1
	load_param lwu, t2, HV_PARAM_MAX_DEPTH
	bgeu	t1, t2, .Lgraph_leaves_out
	li	t1, NR_MAX
	bgeu	FRAME, t1, .Lgraph_full
	li	t1, NR_ONE
	amoadd.d zero, t1, (STACK)

/* A frame was added. STACK the return stack, FRAME the offset of the frame, DEPTH its depth. */
.Lgraph_raised:
	andi	t1, KIND, CALLED_KINDS | HV_FRAME_PROFILED
	bnez	t1, .Lgraph_count
.Lgraph_counted:
	add	FRAME, FRAME, STACK
	addi	FRAME, FRAME, HV_STACK_FRAMES
	make_call_word HV_FRAME_FUNCTION, FRAME
	mv	a7, t1
	sd	RETP, HV_FRAME_RETP(FRAME)
	sd	ra, HV_FRAME_CALLER(FRAME)
	srli	DEPTH, DEPTH, DEPTH_SHIFT
	slli	DEPTH, DEPTH, DEPTH_SHIFT
	andi	t1, KIND, 0xff
	or	t1, t1, DEPTH
	sw	t1, HV_FRAME_FLAGS(FRAME) /* and HV_FRAME_DEPTH */
	hook

	andi	t1, KIND, HV_FRAME_MUTES | HV_FRAME_QUIET
	bnez	t1, .Lgraph_time
	load_param lwu, t1, HV_PARAM_GRAPH_FLAGS
	andi	t1, t1, HV_GRAPH_NO_ENTRIES
	bnez	t1, .Lgraph_time
	load_vcpu t1, t2
	load_task lw, t2, hole_task_pid
	lw	t3, HV_STATE_LAST_PID(t1)
	bne	t2, t3, .Lgraph_other_task
.Lgraph_same_task:
	make_task_word
	reserve_record
	store_word 2, t2
	store_word 1, a7
	make_context_word
	put_depth DEPTH
	or	t1, t1, DEPTH
	store_word 3, t1
	rdtime	t1
	sd	t1, HV_FRAME_TSC(FRAME)
	store_word 0, t1

.Lgraph_out:
	restore_arguments
	jr	t0

.Lgraph_leaves_out:
	j	.Lgraph_skipped

.Lgraph_checks:
	check_mode .Lgraph_checked, .Lgraph_leaves_out

.Lgraph_time:
	rdtime	t1
	sd	t1, HV_FRAME_TSC(FRAME)
	j	.Lgraph_out

.Lgraph_other_task:
	write_task_record
	j	.Lgraph_same_task

.Lgraph_count:
	andi	t1, KIND, HV_FRAME_PROFILED
	beqz	t1, 1f
	ld	t1, HV_STACK_OWN(STACK)
	srli	t2, FRAME, 2 /* frame offset to sum offset */
	add	t2, t2, STACK
	li	t3, HV_STACK_SUMS
	add	t2, t2, t3
	sd	t1, (t2)
	load_param lwu, t1, HV_PARAM_GRAPH_FLAGS
	andi	t1, t1, HV_GRAPH_OWN_TIME
	beqz	t1, 1f
	ori	KIND, KIND, HV_FRAME_OWN_TIME
1:	andi	t1, KIND, HV_FRAME_ROOT
	beqz	t1, 1f
	count	HV_STACK_INSIDE, 1
1:	andi	t1, KIND, HV_FRAME_MUTES
	beqz	t1, .Lgraph_counted
	count	HV_STACK_MUTED, 1
	make_slow
	j	.Lgraph_counted

/* Some graph flags (a6) exclude calls. */
.Lgraph_filter:
	andi	t1, a6, HV_GRAPH_NO_IRQS
	beqz	t1, 1f
	load_task lwu, t1, hole_preempt_count
	load_word t2, hole_hardirq_bits
	and	t1, t1, t2
	beqz	t1, 1f
	lw	t1, HV_STACK_INSIDE(STACK)
	bnez	t1, 1f
	andi	t1, a6, HV_GRAPH_SUBTREE
	beqz	t1, .Lgraph_leaves_out
	andi	t1, KIND, HV_FRAME_ROOT
	beqz	t1, .Lgraph_leaves_out
1:	andi	t1, a6, HV_GRAPH_SUBTREE
	beqz	t1, .Lgraph_passed
	andi	t1, KIND, CALLED_KINDS
	bnez	t1, .Lgraph_passed
	lw	t1, HV_STACK_INSIDE(STACK)
	lw	t2, HV_STACK_ABOVE(STACK)
	or	t1, t1, t2
	bnez	t1, .Lgraph_passed
	j	.Lgraph_skipped

.Lgraph_full:
	count	HV_STACK_OVERRUN, 1
	make_slow
	load_vcpu t1, t2
	li	t2, 1
	addi	t1, t1, HV_STATE_NO_ROOM
	amoadd.d zero, t2, (t1)
	j	.Lgraph_out

/* No bucket contains the return stack with the key KEY. STACK is after the last bucket. */
.Lgraph_take:
	load_param lwu, t1, HV_PARAM_GRAPH_FLAGS
	andi	t1, t1, HV_GRAPH_SUBTREE
	beqz	t1, 1f
	andi	t1, KIND, CALLED_KINDS | HV_FRAME_QUIET
	bnez	t1, 1f
	/* A call in an interrupt can be below a root function that was interrupted. On any other
	 * stack without frames it is not below a root function. */
	li	t1, HV_STACK_IRQ
	and	t1, t1, KEY
	beqz	t1, .Lgraph_leaves_out
1:	go_to_first_bucket
	/* HV_STACK_SLOW is set until the first frame is added and the fields belong to this
	 * stack. */
	li	t2, HV_STACK_SLOW
	or	t2, t2, KEY
	li	t5, HV_STACK_SLOW << 1
	li	t6, HV_STACK_LEN
	.rept	HV_STACK_LOOKUPS
1:	lr.d.aq	t3, (STACK)
	xor	t4, t3, KEY /* an interrupt on this stack may have taken it */
	bltu	t4, t5, .Lgraph_first
	slli	t4, t3, NR_FREE
	bnez	t4, 2f
	sc.d	t4, t2, (STACK)
	bnez	t4, 1b
	j	.Lgraph_taken
2:	add	STACK, STACK, t6
	.endr
.Lgraph_no_stack:
	load_vcpu t1, t2
	li	t2, 1
	addi	t1, t1, HV_STATE_NO_STACK
	amoadd.d zero, t2, (t1)
	j	.Lgraph_out
.Lgraph_taken:
	sw	zero, HV_STACK_OVERRUN(STACK)

/* Adds the first frame to the return stack. Until then another kernel stack can take it. */
.Lgraph_first:
	li	DEPTH, 0
	li	a7, 0
	li	t1, HV_STACK_IRQ
	and	t1, t1, KEY
	bnez	t1, .Lgraph_interrupt
.Lgraph_above: /* a7 is not 0 if a root function was interrupted */
	andi	t1, KIND, HV_FRAME_QUIET
	bnez	t1, .Lgraph_raise
	load_param lwu, a6, HV_PARAM_GRAPH_FLAGS
	andi	t1, a6, HV_GRAPH_NO_IRQS
	beqz	t1, 1f
	load_task lwu, t1, hole_preempt_count
	load_word t2, hole_hardirq_bits
	and	t1, t1, t2
	beqz	t1, 1f
	andi	t1, a6, HV_GRAPH_SUBTREE
	beqz	t1, .Lgraph_stays_out
	andi	t1, KIND, HV_FRAME_ROOT
	beqz	t1, .Lgraph_stays_out
1:	andi	t1, a6, HV_GRAPH_SUBTREE
	beqz	t1, 1f
	andi	t1, KIND, CALLED_KINDS
	bnez	t1, 1f
	beqz	a7, .Lgraph_stays_out
1:	load_param lwu, t1, HV_PARAM_MAX_DEPTH
	bgeu	DEPTH, t1, .Lgraph_stays_out
.Lgraph_raise:
	addi	t2, KEY, NR_ONE
	li	t4, HV_STACK_SLOW
	lw	t1, HV_STACK_OVERRUN(STACK)
	beqz	t1, 1f
	or	t2, t2, t4
1:	not	t4, t4
2:	lr.d.aq	t1, (STACK)
	xor	t3, t1, KEY
	and	t3, t3, t4 /* it has frames or another key by now */
	bnez	t3, .Lgraph_no_stack
	sc.d	t3, t2, (STACK)
	bnez	t3, 2b
	slli	DEPTH, DEPTH, DEPTH_SHIFT
	li	t1, HIGH_KIND(HV_RECORD_ENTRY)
	or	DEPTH, DEPTH, t1
	sw	DEPTH, HV_STACK_DEPTH(STACK)
	sw	zero, HV_STACK_INSIDE(STACK)
	sd	zero, HV_STACK_MUTED(STACK) /* and HV_STACK_STOPPED */
	sw	a7, HV_STACK_ABOVE(STACK)
	sd	zero, HV_STACK_LEFT(STACK)
	li	FRAME, 0
	j	.Lgraph_raised

.Lgraph_stays_out:
	j	.Lgraph_skipped

/* The first frame of an interrupt stack continues at the depth of the interrupted code, which is on
 * the current task's stack. */
.Lgraph_interrupt:
	mv	t4, KEY
	mv	t5, STACK
	load_task ld, KEY, hole_task_stack
	find_home STACK, KEY, t1
	lookup	.Lgraph_interrupted
.Lgraph_interrupt_known:
	mv	KEY, t4
	mv	STACK, t5
	j	.Lgraph_above
.Lgraph_interrupted:
	frames_of FRAME, t2
	beqz	FRAME, .Lgraph_interrupt_known
	lw	t1, HV_STACK_MUTED(STACK)
	bnez	t1, 1f
	find_depth
	depth_of DEPTH
	lw	t1, HV_STACK_INSIDE(STACK)
	lw	t2, HV_STACK_ABOVE(STACK)
	or	a7, t1, t2
	j	.Lgraph_interrupt_known
1:	andi	t1, KIND, HV_FRAME_QUIET
	bnez	t1, .Lgraph_interrupt_known
	j	.Lgraph_skipped
