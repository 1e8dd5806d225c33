/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function profile counts calls and their time per vCPU and function, in tables in the region
 * (struct hv_count, docs/users/graph.md). It loses no call at any rate, because it uses no ring. A
 * task can be interrupted here and continue on another vCPU, so all additions are atomic. Included
 * by trampolines.S; graph.S shows the stack.
 *
 * Like the graph, the profile has a plain way, for calls that are only counted and their returns.
 * It requires a profile without options (hv_profile_is_plain() in ringbuf/abi.h), a return stack
 * that meets the conditions of graph.S for the plain way, and counts of the function in their first
 * bucket.
 *
 * A function is identified by the offset of the address after its site: 32 bits, sign-extended. */

/* REG := the function whose site ends at t0. */
.macro find_function reg
	lui	\reg, %tprel_hi(hole_text_base)
	addi	\reg, \reg, %tprel_lo(hole_text_base)
	subw	\reg, t0, \reg
.endm

/* t2 := the first bucket for the counts of FUNCTION. Clobbers t1, t3. */
.macro find_count_home function
	load_vcpu t1, t3
	ld	t2, HV_STATE_COUNTS(t1)
	li	t3, HV_STACK_HASH - 0x100000000
	mulw	t1, \function, t3
	addi	t3, zero, %lo(hole_count_shift)
	srlw	t1, t1, t3
	li	t3, HV_COUNT_LEN
	mul	t1, t1, t3
	add	t2, t2, t1
.endm

/* Like find_count_home, but jumps to OTHER if the counts are not in their first bucket. */
.macro find_first_count function, other
	find_count_home \function
	lw	t3, HV_COUNT_FUNCTION(t2)
	bne	t3, \function, \other
.endm

/* t2 := this vCPU's counts of the function a7, in any of their HV_COUNT_LOOKUPS buckets. A function
 * without counts takes the first free bucket. Jumps to NONE if no bucket is free. Clobbers t1, t3,
 * t4. */
.macro find_count none
	find_count_home a7
	li	t4, HV_COUNT_LOOKUPS
1:	lr.w	t1, (t2) /* HV_COUNT_FUNCTION */
	beq	t1, a7, 3f
	bnez	t1, 2f
	sc.w	t3, a7, (t2)
	bnez	t3, 1b
	j	3f
2:	addi	t2, t2, HV_COUNT_LEN
	addi	t4, t4, -1
	bnez	t4, 1b
	j	\none
3:
.endm

/* Adds REG to the field OFF of the counts at t2. Clobbers t3. */
.macro add_count off, reg
	addi	t3, t2, \off
	amoadd.d zero, \reg, (t3)
.endm

/* Adds TICKS to the counts at t2. Clobbers t1, t3, t4. */
.macro add_ticks ticks
	add_count HV_COUNT_TICKS, \ticks
	mul	t1, \ticks, \ticks
	addi	t3, t2, HV_COUNT_SQUARES
	amoadd.d t4, t1, (t3)
	add	t4, t4, t1
	sltu	t4, t4, t1
	mulhu	t1, \ticks, \ticks
	add	t1, t1, t4
	add_count HV_COUNT_SQUARES_H, t1
.endm

/* REG := REG - LESS, or 0 if LESS is larger. Clobbers t1. */
.macro subtract_to_0 reg, less
	sltu	t1, \reg, \less
	addi	t1, t1, -1
	sub	\reg, \reg, \less
	and	\reg, \reg, t1
.endm

/* -- a call, the plain way --------------------------------------------------------------------- */

	.balign	64
	.globl	hv_trampoline_profile
hv_trampoline_profile:
	load_param lwu, t1, HV_PARAM_PROFILE_MODE
	li	t2, HV_PROFILE_PLAIN
	bne	t1, t2, .Lprofile_general
	find_plain_stack .Lprofile_rare
	find_function t4
	find_first_count t4, .Lprofile_general
	li	t1, NR_ONE
	amoadd.d zero, t1, (t6)
.Lprofile_raised: /* t4 the function, t2 its counts */
	add	t6, t6, t5
	sw	t4, NEW_FRAME + HV_FRAME_FUNCTION(t6)
	li	t1, 1
	add_count HV_COUNT_HITS, t1
	sd	sp, NEW_FRAME + HV_FRAME_RETP(t6)
	sd	ra, NEW_FRAME + HV_FRAME_CALLER(t6)
	li	t1, HV_FRAME_PROFILED | HV_FRAME_QUIET
	sw	t1, NEW_FRAME + HV_FRAME_FLAGS(t6)
	rdtime	t1
	sd	t1, NEW_FRAME + HV_FRAME_TSC(t6)
	hook
	jr	t0

.Lprofile_rare:
	bnez	t3, .Lprofile_general
	mv	t5, t2 /* the key */
	find_function t4
	find_first_count t4, .Lprofile_general
	mv	t3, t2
	mv	t2, t5
	add_first_frame .Lprofile_general
	mv	t2, t3
	j	.Lprofile_raised

.Lprofile_general:
	lui	t1, UNTRACED >> 12
	addi	t1, t1, HV_FRAME_PROFILED
	j	.Lcall

/* -- a call, the general way ------------------------------------------------------------------- */

.Lprofile:
	load_param lwu, t1, HV_PARAM_GRAPH_FLAGS
	andi	t1, t1, HV_GRAPH_PROFILE
	beqz	t1, .Lprofile_off
	find_function a7
	find_count .Lprofile_no_count
	li	t1, 1
	add_count HV_COUNT_HITS, t1
	j	.Lcall_counted
.Lprofile_off:
	andi	KIND, KIND, ~HV_FRAME_PROFILED
	j	.Lcall_counted
.Lprofile_no_count:
	load_vcpu t1, t2
	li	t2, 1
	addi	t1, t1, HV_STATE_NO_COUNT
	amoadd.d zero, t2, (t1)
	j	.Lcall_counted

/* The graph excludes this call. If it is profiled, it still gets a frame, and its return is only
 * counted. */
.Lgraph_skipped:
	andi	t1, KIND, HV_FRAME_PROFILED
	beqz	t1, .Lprofile_out
	andi	t1, KIND, HV_FRAME_QUIET
	bnez	t1, .Lprofile_out
	andi	KIND, KIND, ~CALLED_KINDS
	ori	KIND, KIND, HV_FRAME_QUIET
	find_stack RETP
	lookup	.Lquiet_found
	j	.Lgraph_take
.Lprofile_out:
	j	.Lgraph_out
.Lquiet_found:
	frames_of FRAME, t2
	bnez	FRAME, 1f
	j	.Lgraph_first
1:	lw	t1, HV_STACK_STOPPED(STACK)
	bnez	t1, .Lprofile_out
	li	t1, NR_MAX
	bltu	FRAME, t1, 1f
	j	.Lgraph_full
1:	find_depth
	li	t1, NR_ONE
	amoadd.d zero, t1, (STACK)
	j	.Lgraph_raised

/* -- a return ---------------------------------------------------------------------------------- */

/* The plain way. STACK is the return stack, FRAME its address plus the offset of the frame in its
 * frames, t2 the frame's flags. */
.Lreturn_profile:
	li	t1, HV_FRAME_PROFILED | HV_FRAME_QUIET
	bne	t2, t1, .Lreturn_not_plain
	lw	a7, HV_STACK_FRAMES + HV_FRAME_FUNCTION(FRAME)
	find_first_count a7, .Lreturn_not_plain
	rdtime	a6
	ld	t3, HV_STACK_FRAMES + HV_FRAME_TSC(FRAME)
	bltu	a6, t3, .Lreturn_not_plain
	sub	a6, a6, t3
	add_ticks a6
	j	.Lreturn_plain
.Lreturn_not_plain:
	j	.Lreturn_general

/* The general way. In: FRAME the frame, STACK its return stack, a7 the frame's flags. Preserves
 * KEY, REMOVED.
 *
 * With options/graph-time 0, the time of a call excludes the calls that it makes: its own time.
 * HV_STACK_OWN is the sum of the own times of all calls that have returned, HV_STACK_SUMS its value
 * at the start of each open call. So the difference is exactly the time of the calls in between. */
.Lprofile_return:
	load_param lwu, t1, HV_PARAM_GRAPH_FLAGS
	andi	t1, t1, HV_GRAPH_PROFILE
	beqz	t1, .Lprofile_ignored
	rdtime	t6
	ld	t3, HV_FRAME_TSC(FRAME)
	subtract_to_0 t6, t3
	andi	t1, a7, HV_FRAME_OWN_TIME
	bnez	t1, .Lprofile_own
.Lprofile_ticks: /* t6 the ticks */
	lw	a7, HV_FRAME_FUNCTION(FRAME)
	find_count .Lprofile_returned
	add_ticks t6
.Lprofile_returned:
	lhu	a7, HV_FRAME_FLAGS(FRAME)
.Lprofile_ignored:
	j	.Lreturn_profiled

.Lprofile_own:
	sub	t2, FRAME, STACK
	addi	t2, t2, -HV_STACK_FRAMES
	beqz	t2, .Lprofile_lowest
.Lprofile_sum: /* t2 the frame's offset */
	srli	t2, t2, 2 /* frame offset to sum offset */
	add	t2, t2, STACK
	li	t3, HV_STACK_SUMS
	add	t2, t2, t3
	ld	t3, (t2)
	ld	t4, HV_STACK_OWN(STACK)
	sub	t3, t4, t3
	subtract_to_0 t6, t3
	add	t4, t4, t6
	sd	t4, HV_STACK_OWN(STACK)
	j	.Lprofile_ticks

/* The lowest frame of a return stack. On an interrupt stack, its time is also subtracted from the
 * interrupted call, whose frames are in another return stack. */
.Lprofile_lowest:
	ld	t3, (STACK)
	li	t1, HV_STACK_IRQ
	and	t3, t3, t1
	beqz	t3, .Lprofile_sum
	mv	t4, KEY
	mv	t5, STACK
	load_task ld, KEY, hole_task_stack
	find_home STACK, KEY, t1
	lookup	.Lprofile_interrupted
	j	1f
.Lprofile_interrupted:
	ld	t3, HV_STACK_OWN(STACK)
	add	t3, t3, t6
	sd	t3, HV_STACK_OWN(STACK)
1:	mv	KEY, t4
	mv	STACK, t5
	li	t2, 0
	j	.Lprofile_sum
