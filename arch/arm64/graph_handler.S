/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The return handler of a graph: traced functions return to it instead of their caller. It finds
 * the frame of the call, records the return, removes the frame and jumps to the caller. It has a
 * plain way and a general way, like the trampoline of a call (graph.S). Included by trampolines.S.
 *
 * 	on entry			the general way, after save_arguments
 * 	sp	the retp		64(sp)	original sp: RETP
 * 	x0-x7	return value		 0(sp)	x0 to x7
 *
 * x8 to x17, x30 and the flags are free, like in the kernel's return_to_handler
 * (arch/arm64/kernel/entry-ftrace.S). */
#define REMOVED x6 /* value to subtract from the word to remove the frame */

/* For the exit of the frame at BASE + OFF: x12 := word 2, x13 := word 3. In: x10 the task, w12 its
 * pid. Clobbers x14, x17. */
.macro make_exit_words base, off
	ldr	w13, [\base, #\off + HV_FRAME_FUNCTION]
	orr	x14, x13, x12, lsl #HV_EXIT_PID_SHIFT
	make_context_word
	ldr	w13, [\base, #\off + HV_FRAME_FLAGS] /* and HV_FRAME_DEPTH */
	eor	w13, w13, #HIGH_KIND(HV_RECORD_ENTRY ^ HV_RECORD_EXIT)
	lsr	w13, w13, #DEPTH_SHIFT
	orr	x13, x12, x13, lsl #HV_RECORD_DEPTH_SHIFT
	mov	x12, x14
.endm

/* Subtracts VALUE from the word of the return stack at BASE. All earlier reads of the frame are
 * ordered before it. Clobbers x10, w11. */
.macro remove_frame base, value
1:	ldxr	x10, [\base]
	sub	x10, x10, \value
	stlxr	w11, x10, [\base]
	cbnz	w11, 1b
.endm

/* -- the plain way ----------------------------------------------------------------------------- */

	.balign	64
	.globl	hv_graph_handler
hv_graph_handler:
.Lgraph_handler:
	find_block
	find_home 8, w12, 13
	ldr	x13, [x8]
	eor	x13, x13, x12
	sub	x13, x13, #NR_ONE
	cmp	x13, #(NR_MAX - NR_ONE)
	b.hi	.Lreturn_general
	add	x16, x8, x13
	ldp	x13, x9, [x16, #HV_STACK_FRAMES + HV_FRAME_RETP] /* and HV_FRAME_CALLER */
	mov	x12, sp
	cmp	x12, x13
	b.ne	.Lreturn_general
	ldrh	w12, [x16, #HV_STACK_FRAMES + HV_FRAME_FLAGS]
	cbnz	w12, .Lreturn_profile
	load_mode x10 /* and the graph mode */
	cbnz	x10, .Lreturn_general
	load_vcpu
	ldr	w12, [x10, :lo12:hole_task_pid]
	ldr	w13, [x11, #HV_STATE_LAST_PID]
	cmp	w12, w13
	b.ne	.Lreturn_general

	make_exit_words x16, HV_STACK_FRAMES
	reserve_record 14, 15, 10, 17
	store_word 2, x12, x14, x15
	store_word 3, x13, x14, x15
	ldr	x12, [x16, #HV_STACK_FRAMES + HV_FRAME_TSC]
	store_word 1, x12, x14, x15
	read_clock x12
	store_word 0, x12, x14, x15
	remove_frame x8, #NR_ONE

/* Returns to the caller, x9. The CPU predicts returns with a stack of calls, and the function's
 * return has consumed the entry of its call. So the code makes a call for this return, too;
 * otherwise the CPU would mispredict all following returns. Where branches are checked (BTI), only
 * a return can continue after a call. */
.Lreturn:
	bl	1f
1:	mov	x30, x9
	ret

/* -- the general way --------------------------------------------------------------------------- */

/* Looks for a return stack of this key whose last frame has this retp. If there is none, all frames
 * are searched. */
.Lreturn_general:
	save_arguments
	find_stack
	mov	w10, #HV_STACK_LEN
	.rept	HV_STACK_LOOKUPS
	ldr	x11, [STACK]
	eor	x11, x11, KEY
	cmp	x11, #(HV_STACK_SLOW << 1)
	b.hs	1f
	and	x11, x11, #HV_STACK_NR_MASK
	/* Without frames, this reads a word of the header that is never a retp. */
	add	FRAME, STACK, x11
	ldr	x12, [FRAME, #HV_STACK_FRAMES - HV_FRAME_LEN + HV_FRAME_RETP]
	cmp	x12, RETP
	b.eq	.Lreturn_last
1:	add	STACK, STACK, x10
	.endr
	b	.Lreturn_search

.Lreturn_last:
	add	FRAME, FRAME, #HV_STACK_FRAMES - HV_FRAME_LEN
	mov	REMOVED, #NR_ONE
/* STACK the return stack, FRAME the address of the frame. */
.Lreturn_found:
	ldrh	w7, [FRAME, #HV_FRAME_FLAGS]
	test_bits w7, CALLED_KINDS | HV_FRAME_PROFILED
	b.ne	.Lreturn_count
.Lreturn_counted:
	load_param w11, HV_PARAM_GRAPH_FLAGS
	tst	w11, #HV_GRAPH_RETURNS
	b.eq	.Lreturn_lower
	load_mode w11
	test_bits w11, HV_MODE_SILENT | HV_MODE_CPUS
	b.ne	.Lreturn_mode
.Lreturn_on:
	load_param x11, HV_PARAM_THRESHOLD
	cbnz	x11, .Lreturn_threshold
.Lreturn_record:
	load_vcpu
	ldr	w12, [x10, :lo12:hole_task_pid]
	ldr	w13, [x11, #HV_STATE_LAST_PID]
	cmp	w12, w13
	b.ne	.Lreturn_other_task
.Lreturn_same_task:
	make_exit_words FRAME, 0
	adrp	x15, hole_params
	ldr	w15, [x15, #HV_PARAM_GRAPH_FLAGS]
	ldr	w16, [STACK, #HV_STACK_OVERRUN]
	and	w15, w15, #HV_GRAPH_RETVAL
	orr	w17, w15, w16
	cbnz	w17, .Lreturn_more
	reserve_record 14, 15, 16, 17
	read_clock x7
.Lreturn_write: /* x7 the clock */
	store_word 2, x12, x14, x15
	store_word 3, x13, x14, x15
	ldr	x12, [FRAME, #HV_FRAME_TSC]
	store_word 1, x12, x14, x15
	store_word 0, x7, x14, x15
.Lreturn_lower:
	ldr	x9, [FRAME, #HV_FRAME_CALLER]
	remove_frame STACK, REMOVED
	restore_arguments
	b	.Lreturn

/* w7 the frame's flags */
.Lreturn_count:
	tst	w7, #HV_FRAME_PROFILED
	b.ne	.Lprofile_return
.Lreturn_profiled:
	tst	w7, #HV_FRAME_ROOT
	b.eq	1f
	ldr	w10, [STACK, #HV_STACK_INSIDE]
	sub	w10, w10, #1
	str	w10, [STACK, #HV_STACK_INSIDE]
1:	tst	w7, #HV_FRAME_QUIET
	b.ne	.Lreturn_lower
	tst	w7, #HV_FRAME_MUTES
	b.eq	.Lreturn_counted
	ldr	w10, [STACK, #HV_STACK_MUTED]
	sub	w10, w10, #1
	str	w10, [STACK, #HV_STACK_MUTED]
	ldr	x10, [STACK, #HV_STACK_MUTED] /* and HV_STACK_STOPPED */
	cbnz	x10, .Lreturn_lower
	ldr	w10, [STACK, #HV_STACK_OVERRUN]
	cbnz	w10, .Lreturn_lower
1:	ldxr	x10, [STACK]
	and	x10, x10, #~HV_STACK_SLOW
	stxr	w11, x10, [STACK]
	cbnz	w11, 1b
	b	.Lreturn_lower

/* w11 the mode */
.Lreturn_mode:
	tst	w11, #HV_MODE_SILENT
	b.ne	.Lreturn_lower
	load_vcpu
	ldr	w12, [x11, #HV_STATE_MUTED]
	cbnz	w12, .Lreturn_lower
	b	.Lreturn_on

/* x11 the threshold */
.Lreturn_threshold:
	read_clock x12
	ldr	x13, [FRAME, #HV_FRAME_TSC]
	subs	x12, x12, x13
	b.lo	.Lreturn_lower
	cmp	x12, x11
	b.lo	.Lreturn_lower
	b	.Lreturn_record

.Lreturn_other_task:
	write_task_record
	b	.Lreturn_same_task

/* Writes two records: one with the return value and the overrun, then the exit. Words 2 and 3 of
 * the exit are x12 and x13, w15 is not 0 if there is a value, w16 is the overrun. */
.Lreturn_more:
	mov	w8, w16
	mov	x7, xzr
	cbz	w15, 1f
	ldr	x7, [sp] /* return value */
	lsr	x16, x7, #HV_WORD_BITS
	and	x7, x7, #BELOW(HV_WORD_BITS)
	orr	x8, x8, x16, lsl #HV_MORE_TOP_SHIFT
	orr	x8, x8, #(1 << HV_MORE_VALUE_SHIFT)
1:	reserve_bytes 9, 16, 17, 2 * HV_RECORD_LEN
	mov	x15, x9
	locate_record 14, 15, 16, 17
	store_word 1, x7, x14, x15
	store_word 2, x8, x14, x15
	mov	x8, #(HV_RECORD_MORE << HV_RECORD_KIND_SHIFT)
	store_word 3, x8, x14, x15
	read_clock x7
	mov	x8, x7
	store_word 0, x8, x14, x15
	add	x15, x9, #HV_RECORD_LEN
	locate_record 14, 15, 16, 17
	b	.Lreturn_write

/* The last frame has another retp: some functions were left without a return, for example because
 * the kernel killed a task and continues with its stack. Searches all frames for retp and drops
 * the frames above it. STACK is after the last bucket. */
.Lreturn_search:
	sub	STACK, STACK, x10, lsl #2
	mov	w13, #HV_STACK_LOOKUPS
.Lreturn_search_stack:
	ldr	x11, [STACK]
	eor	x11, x11, KEY
	cmp	x11, #(HV_STACK_SLOW << 1)
	b.hs	.Lreturn_search_next
	and	x11, x11, #HV_STACK_NR_MASK
	mov	REMOVED, xzr
.Lreturn_search_frame:
	cmp	REMOVED, x11
	b.hs	.Lreturn_search_next
	add	REMOVED, REMOVED, #NR_ONE
	sub	x12, x11, REMOVED
	add	FRAME, STACK, x12
	add	FRAME, FRAME, #HV_STACK_FRAMES
	ldr	x12, [FRAME, #HV_FRAME_RETP]
	cmp	x12, RETP
	b.ne	.Lreturn_search_frame
	mov	w12, #1
	str	w12, [STACK, #HV_STACK_STOPPED]
	make_slow
	b	.Lreturn_found
.Lreturn_search_next:
	add	STACK, STACK, x10
	subs	w13, w13, #1
	b.ne	.Lreturn_search_stack
	/* There is no such frame, so the guest wrote to the region. The return address is lost. */
	udf	#0
