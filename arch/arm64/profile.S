/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function profile counts calls and their time per vCPU and function, in tables in the region
 * (struct hv_count, docs/users/graph.md). It loses no call at any rate, because it uses no ring. A
 * task can be interrupted here and continue on another vCPU, so all additions are atomic. Included
 * by trampolines.S; graph.S shows the stack.
 *
 * Like the graph, the profile has a plain way, for calls that are only counted and their returns.
 * It requires a profile without options (hv_profile_is_plain() in ringbuf/abi.h), a return stack
 * that meets the conditions of graph.S for the plain way, and counts of the function in their first
 * bucket. */

/* x12 := the first bucket for the counts of FUNCTION, a 32-bit register with the offset of the
 * address after the function's site. Clobbers x10, x11, x13. */
.macro find_count_home function
	load_vcpu
	ldr	x12, [x11, #HV_STATE_COUNTS]
	mov	w13, #(HV_STACK_HASH & 0xffff)
	movk	w13, #(HV_STACK_HASH >> 16), lsl #16
	mul	w10, \function, w13
	mov	w13, #:abs_g0:hole_count_shift
	lsr	w10, w10, w13
	mov	w13, #HV_COUNT_LEN
	umaddl	x12, w10, w13, x12
.endm

/* Like find_count_home, but jumps to OTHER if the counts are not in their first bucket. */
.macro find_first_count function, other
	find_count_home \function
	ldr	w13, [x12, #HV_COUNT_FUNCTION]
	cmp	w13, \function
	b.ne	\other
.endm

/* x12 := this vCPU's counts of the function w7, in any of their HV_COUNT_LOOKUPS buckets. A
 * function without counts takes the first free bucket. Jumps to NONE if no bucket is free. Clobbers
 * x10, x11, x13, x14. */
.macro find_count none
	find_count_home w7
	mov	w14, #HV_COUNT_LOOKUPS
1:	ldxr	w13, [x12] /* HV_COUNT_FUNCTION */
	cmp	w13, w7
	b.eq	3f
	cbnz	w13, 2f
	stxr	w10, w7, [x12]
	cbnz	w10, 1b
	b	3f
2:	add	x12, x12, #HV_COUNT_LEN
	subs	w14, w14, #1
	b.ne	1b
	b	\none
3:
.endm

/* Adds TICKS to the counts at x12. Clobbers x10, x13 to x15. */
.macro add_ticks ticks
	add_to	x12, HV_COUNT_TICKS, \ticks
	mul	x10, \ticks, \ticks
	add_to	x12, HV_COUNT_SQUARES, x10
	umulh	x10, \ticks, \ticks
	cinc	x10, x10, cs
	add_to	x12, HV_COUNT_SQUARES_H, x10
.endm

/* -- a call, the plain way --------------------------------------------------------------------- */

	.balign	64
	.globl	hv_trampoline_profile
hv_trampoline_profile:
	bti	c
	load_param w10, HV_PARAM_PROFILE_MODE
	cmp	w10, #HV_PROFILE_PLAIN
	b.ne	.Lprofile_general
	find_plain_stack .Lprofile_rare
	load_low w15, hole_text_base
	sub	w15, w30, w15
	find_first_count w15, .Lprofile_general
	add_to_word x16, #NR_ONE
.Lprofile_raised: /* w15 the function */
	add	x16, x16, x17
	str	w15, [x16, #NEW_FRAME + HV_FRAME_FUNCTION]
	add_to	x12, HV_COUNT_HITS, #1
	mov	x12, sp
	stp	x12, x9, [x16, #NEW_FRAME + HV_FRAME_RETP] /* and HV_FRAME_CALLER */
	mov	w12, #(HV_FRAME_PROFILED | HV_FRAME_QUIET)
	str	w12, [x16, #NEW_FRAME + HV_FRAME_FLAGS]
	read_clock x12
	str	x12, [x16, #NEW_FRAME + HV_FRAME_TSC]
	mov	x10, x30
	adr	x30, .Lgraph_handler
	ret	x10

.Lprofile_rare:
	cbnz	x13, .Lprofile_general
	mov	x17, x12 /* the key */
	load_low w15, hole_text_base
	sub	w15, w30, w15
	find_first_count w15, .Lprofile_general
	mov	x11, x12
	mov	x12, x17
	add_first_frame .Lprofile_general
	mov	x12, x11
	b	.Lprofile_raised

.Lprofile_general:
	mov	w10, #(UNTRACED | HV_FRAME_PROFILED)
	b	.Lcall

/* -- a call, the general way ------------------------------------------------------------------- */

.Lprofile:
	load_param w11, HV_PARAM_GRAPH_FLAGS
	tst	w11, #HV_GRAPH_PROFILE
	b.eq	.Lprofile_off
	load_low w7, hole_text_base
	sub	w7, w30, w7
	find_count .Lprofile_no_count
	add_to	x12, HV_COUNT_HITS, #1
	b	.Lcall_counted
.Lprofile_off:
	and	KIND, KIND, #~HV_FRAME_PROFILED
	b	.Lcall_counted
.Lprofile_no_count:
	load_vcpu
	add_to	x11, HV_STATE_NO_COUNT, #1
	b	.Lcall_counted

/* The graph excludes this call. If it is profiled, it still gets a frame, and its return is only
 * counted. */
.Lgraph_skipped:
	tst	KIND, #HV_FRAME_PROFILED
	b.eq	.Lgraph_out
	tst	KIND, #HV_FRAME_QUIET
	b.ne	.Lgraph_out
	and	KIND, KIND, #~CALLED_KINDS
	orr	KIND, KIND, #HV_FRAME_QUIET
	find_stack
	lookup	.Lquiet_found
	b	.Lgraph_take
.Lquiet_found:
	ands	FRAME, x11, #HV_STACK_NR_MASK
	b.eq	.Lgraph_first
	ldr	w10, [STACK, #HV_STACK_STOPPED]
	cbnz	w10, .Lgraph_out
	cmp	FRAME, #NR_MAX
	b.hs	.Lgraph_full
	find_depth
	add_to_word STACK, #NR_ONE
	b	.Lgraph_raised

/* -- a return ---------------------------------------------------------------------------------- */

/* The plain way. x8 is the return stack, x16 its address plus the offset of the frame in its
 * frames, w12 the frame's flags, x9 the caller. */
.Lreturn_profile:
	cmp	w12, #(HV_FRAME_PROFILED | HV_FRAME_QUIET)
	b.ne	.Lreturn_general
	ldr	w15, [x16, #HV_STACK_FRAMES + HV_FRAME_FUNCTION]
	find_first_count w15, .Lreturn_general
	read_clock x17
	ldr	x13, [x16, #HV_STACK_FRAMES + HV_FRAME_TSC]
	subs	x17, x17, x13
	b.lo	.Lreturn_general
	add_ticks x17
	remove_frame x8, #NR_ONE
	b	.Lreturn

/* The general way. In: FRAME the frame, STACK its return stack, w7 the frame's flags. Preserves
 * KEY, REMOVED.
 *
 * With options/graph-time 0, the time of a call excludes the calls that it makes: its own time.
 * HV_STACK_OWN is the sum of the own times of all calls that have returned, HV_STACK_SUMS its value
 * at the start of each open call. So the difference is exactly the time of the calls in between. */
.Lprofile_return:
	load_param w11, HV_PARAM_GRAPH_FLAGS
	tst	w11, #HV_GRAPH_PROFILE
	b.eq	.Lreturn_profiled
	read_clock x17
	ldr	x13, [FRAME, #HV_FRAME_TSC]
	subs	x17, x17, x13
	csel	x17, xzr, x17, lo
	tst	w7, #HV_FRAME_OWN_TIME
	b.ne	.Lprofile_own
.Lprofile_ticks: /* x17 the ticks */
	ldr	w7, [FRAME, #HV_FRAME_FUNCTION]
	find_count .Lprofile_returned
	add_ticks x17
.Lprofile_returned:
	ldrh	w7, [FRAME, #HV_FRAME_FLAGS]
	b	.Lreturn_profiled

.Lprofile_own:
	sub	x12, FRAME, STACK
	subs	x12, x12, #HV_STACK_FRAMES
	b.eq	.Lprofile_lowest
1:	add	x13, STACK, x12, lsr #2 /* frame offset to sum offset */
	mov	w14, #HV_STACK_SUMS
	ldr	x13, [x13, x14]
	ldr	x14, [STACK, #HV_STACK_OWN]
	sub	x13, x14, x13
	subs	x17, x17, x13
	csel	x17, xzr, x17, lo
	add	x14, x14, x17
	str	x14, [STACK, #HV_STACK_OWN]
	b	.Lprofile_ticks

/* The lowest frame of a return stack. On an interrupt stack, its time is also subtracted from the
 * interrupted call, whose frames are in another return stack. */
.Lprofile_lowest:
	ldr	x13, [STACK]
	tst	x13, #HV_STACK_IRQ
	b.eq	1b
	mov	x14, KEY
	mov	x15, STACK
	mrs	x10, sp_el0
	ldr	KEY, [x10, :lo12:hole_task_stack]
	find_home 3, w2, 10
	lookup	.Lprofile_interrupted
	b	2f
.Lprofile_interrupted:
	ldr	x13, [STACK, #HV_STACK_OWN]
	add	x13, x13, x17
	str	x13, [STACK, #HV_STACK_OWN]
2:	mov	KEY, x14
	mov	STACK, x15
	b	1b
