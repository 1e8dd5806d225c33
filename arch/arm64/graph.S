/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The graph: the trampoline of a call makes the function return to the return handler
 * (graph_handler.S), and stores the caller's address in a frame. The function has not signed its
 * return address yet, so it signs the handler's. The frames of a kernel stack are in one return
 * stack in the region (return_stacks.inc, docs/users/graph.md). Included by trampolines.S.
 *
 * There are two ways to do it. The plain way is straight-line code. It requires a graph without
 * options (hv_graph_is_plain() in ringbuf/abi.h), and a return stack that is in its first bucket,
 * has room for another frame, and is not marked with HV_STACK_SLOW. All other calls take the
 * general way. The plain way switches to the general way before it has changed anything.
 *
 * 	the general way, after save_arguments
 * 	64(sp)	original sp: RETP
 * 	 0(sp)	x0 to x7
 * 	x9	the value for x30: the caller's address, or the handler's if there is a frame
 * 	x30	site + 4 */

/* The kind of a call combines HV_FRAME_* and these flags. The entry in calls.S sets it. */
#define CALLED_KINDS (HV_FRAME_ROOT | HV_FRAME_MUTES)
#define NEW_TASK     0x100  /* a new task begins: drop the old frames of its stack */
#define LEAVES	     0x200  /* the task is about to leave the CPU */
#define ARRIVES	     0x400  /* the task is back on a CPU */
#define FUNCTION     0x800  /* write a record of the function tracer */
#define UNTRACED     0x1000 /* the call is not part of a graph */
#define ROLES	     (NEW_TASK | LEAVES | ARRIVES)

/* Offset of the new frame from the result of find_plain_stack. */
#define NEW_FRAME HV_STACK_FRAMES + NR_ONE

/* Finds the return stack of a call for the plain ways of graph.S and profile.S. x16 := its address,
 * x17 := the length of its frames minus NR_ONE. Jumps to RARE if it is not in its first bucket, is
 * marked with HV_STACK_SLOW, has no room for another frame, or has no frames. If it has no frames,
 * x13 is 0 and x12 the key. Clobbers x12, x13. */
.macro find_plain_stack rare
	find_block
	find_home 16, w12, 17
	ldr	x13, [x16]
	eor	x13, x13, x12
	sub	x17, x13, #NR_ONE
	cmp	x17, #(NR_MAX - 2 * NR_ONE)
	b.hi	\rare
.endm

/* Adds the first frame to the return stack at x16, if its word is still the key x12. x17 as set by
 * find_plain_stack. Jumps to GENERAL, with nothing changed, if the call is on an interrupt stack,
 * or if another kernel stack has taken the return stack. Clobbers x10, x13, x14.
 *
 * The word of a return stack is only equal to its key after a first frame of this key was added and
 * all frames were removed, one by one or by a new task. So the other fields already have the values
 * for the first frame of a task's stack, except the time at which a task left the CPU. */
.macro add_first_frame general
	mrs	x10, sp_el0
	ldr	x10, [x10, :lo12:hole_task_stack]
	cmp	x10, x12
	b.ne	\general
	add	x10, x12, #NR_ONE
1:	ldaxr	x13, [x16]
	cmp	x13, x12
	b.ne	\general
	stxr	w14, x10, [x16]
	cbnz	w14, 1b
	str	xzr, [x16, #HV_STACK_LEFT]
	mov	x17, #-NR_ONE
.endm

/* -- a call, the plain way --------------------------------------------------------------------- */

	.balign	64
	.globl	hv_trampoline_graph
hv_trampoline_graph:
	bti	c
	load_mode x10 /* and the graph mode */
	cbnz	x10, .Lgraph_general
	find_plain_stack .Lplain_rare
	add_to_word x16, #NR_ONE
.Lplain_raised:
	add	x16, x16, x17
	mov	x12, sp
	stp	x12, x9, [x16, #NEW_FRAME + HV_FRAME_RETP] /* and HV_FRAME_CALLER */
	mov	w12, #(HIGH_KIND(HV_RECORD_ENTRY) + (1 << DEPTH_SHIFT))
	add	w12, w12, w17, lsl #(DEPTH_SHIFT - HV_FRAME_SHIFT)
	str	w12, [x16, #NEW_FRAME + HV_FRAME_FLAGS] /* clears the flags, sets HV_FRAME_DEPTH */

	load_vcpu
	ldr	w12, [x10, :lo12:hole_task_pid]
	ldr	w13, [x11, #HV_STATE_LAST_PID]
	cmp	w12, w13
	b.ne	.Lplain_other_task
.Lplain_same_task:
	make_task_word
	reserve_record 14, 15, 13, 17
	store_word 2, x12, x14, x15
	make_call_word w9, w30
	str	w13, [x16, #NEW_FRAME + HV_FRAME_FUNCTION]
	store_word 1, x12, x14, x15
	make_context_word
	ldr	w13, [x16, #NEW_FRAME + HV_FRAME_FLAGS]
	orr	x12, x12, x13, lsl #HV_RECORD_HIGH
	store_word 3, x12, x14, x15
	read_clock x12
	str	x12, [x16, #NEW_FRAME + HV_FRAME_TSC]
	store_word 0, x12, x14, x15
	mov	x10, x30
	adr	x30, .Lgraph_handler
	ret	x10

.Lplain_other_task:
	str	x16, [sp, #-16]!
	write_task_record
	ldr	x16, [sp], #16
	b	.Lplain_same_task

.Lplain_rare:
	cbnz	x13, .Lgraph_general
	add_first_frame .Lgraph_general
	b	.Lplain_raised

.Lgraph_general:
	save_arguments
	mov	KIND, wzr

/* -- a call, the general way ------------------------------------------------------------------- */

.Lgraph:
	load_mode w10
	cbnz	w10, .Lgraph_checks
.Lgraph_checked:
	find_stack
	lookup	.Lgraph_found
	b	.Lgraph_take

.Lgraph_found:
	ands	FRAME, x11, #HV_STACK_NR_MASK
	b.eq	.Lgraph_first
	ldr	x10, [STACK, #HV_STACK_MUTED] /* and HV_STACK_STOPPED */
	cbnz	x10, .Lgraph_skipped
	load_param w6, HV_PARAM_GRAPH_FLAGS
	test_bits w6, HV_GRAPH_SUBTREE | HV_GRAPH_NO_IRQS
	b.ne	.Lgraph_filter
.Lgraph_passed:
	find_depth
	ubfx	w11, DEPTH, #DEPTH_SHIFT, #DEPTH_BITS
	load_param w12, HV_PARAM_MAX_DEPTH
	cmp	w11, w12
	b.hs	.Lgraph_skipped
	cmp	FRAME, #NR_MAX
	b.hs	.Lgraph_full
	add_to_word STACK, #NR_ONE

/* A frame was added. STACK the return stack, FRAME the offset of the frame, DEPTH its depth. */
.Lgraph_raised:
	test_bits KIND, CALLED_KINDS | HV_FRAME_PROFILED
	b.ne	.Lgraph_count
.Lgraph_counted:
	add	FRAME, FRAME, STACK
	add	FRAME, FRAME, #HV_STACK_FRAMES
	make_call_word w9, w30
	stp	RETP, x9, [FRAME, #HV_FRAME_RETP] /* and HV_FRAME_CALLER */
	str	w13, [FRAME, #HV_FRAME_FUNCTION]
	bfi	DEPTH, KIND, #0, #8
	str	DEPTH, [FRAME, #HV_FRAME_FLAGS] /* and HV_FRAME_DEPTH */
	adr	x9, .Lgraph_handler

	mov	x7, x12
	test_bits KIND, HV_FRAME_MUTES | HV_FRAME_QUIET
	b.ne	.Lgraph_time
	load_param w11, HV_PARAM_GRAPH_FLAGS
	tst	w11, #HV_GRAPH_NO_ENTRIES
	b.ne	.Lgraph_time
	load_vcpu
	ldr	w12, [x10, :lo12:hole_task_pid]
	ldr	w13, [x11, #HV_STATE_LAST_PID]
	cmp	w12, w13
	b.ne	.Lgraph_other_task
.Lgraph_same_task:
	make_task_word
	reserve_record 14, 15, 16, 17
	store_word 2, x12, x14, x15
	store_word 1, x7, x14, x15
	make_context_word
	lsr	w13, DEPTH, #DEPTH_SHIFT
	orr	x12, x12, x13, lsl #HV_RECORD_DEPTH_SHIFT
	store_word 3, x12, x14, x15
	read_clock x12
	str	x12, [FRAME, #HV_FRAME_TSC]
	store_word 0, x12, x14, x15

.Lgraph_out:
	restore_arguments
	leave

.Lgraph_checks:
	check_mode .Lgraph_checked, .Lgraph_skipped

.Lgraph_time:
	read_clock x12
	str	x12, [FRAME, #HV_FRAME_TSC]
	b	.Lgraph_out

.Lgraph_other_task:
	write_task_record
	b	.Lgraph_same_task

.Lgraph_count:
	tst	KIND, #HV_FRAME_PROFILED
	b.eq	1f
	ldr	x10, [STACK, #HV_STACK_OWN]
	add	x11, STACK, FRAME, lsr #2 /* frame offset to sum offset */
	mov	w12, #HV_STACK_SUMS
	str	x10, [x11, x12]
	load_param w11, HV_PARAM_GRAPH_FLAGS
	tst	w11, #HV_GRAPH_OWN_TIME
	b.eq	1f
	orr	KIND, KIND, #HV_FRAME_OWN_TIME
1:	tst	KIND, #HV_FRAME_ROOT
	b.eq	1f
	ldr	w10, [STACK, #HV_STACK_INSIDE]
	add	w10, w10, #1
	str	w10, [STACK, #HV_STACK_INSIDE]
1:	tst	KIND, #HV_FRAME_MUTES
	b.eq	.Lgraph_counted
	ldr	w10, [STACK, #HV_STACK_MUTED]
	add	w10, w10, #1
	str	w10, [STACK, #HV_STACK_MUTED]
	make_slow
	b	.Lgraph_counted

/* Some graph flags (w6) exclude calls. */
.Lgraph_filter:
	tst	w6, #HV_GRAPH_NO_IRQS
	b.eq	1f
	mrs	x10, sp_el0
	ldr	x10, [x10, :lo12:hole_preempt_count]
	load_word w11, hole_hardirq_bits
	tst	w10, w11
	b.eq	1f
	ldr	w10, [STACK, #HV_STACK_INSIDE]
	cbnz	w10, 1f
	tst	w6, #HV_GRAPH_SUBTREE
	b.eq	.Lgraph_skipped
	tst	KIND, #HV_FRAME_ROOT
	b.eq	.Lgraph_skipped
1:	tst	w6, #HV_GRAPH_SUBTREE
	b.eq	.Lgraph_passed
	tst	KIND, #CALLED_KINDS
	b.ne	.Lgraph_passed
	ldr	w10, [STACK, #HV_STACK_INSIDE]
	ldr	w11, [STACK, #HV_STACK_ABOVE]
	orr	w10, w10, w11
	cbnz	w10, .Lgraph_passed
	b	.Lgraph_skipped

.Lgraph_full:
	ldr	w10, [STACK, #HV_STACK_OVERRUN]
	add	w10, w10, #1
	str	w10, [STACK, #HV_STACK_OVERRUN]
	make_slow
	load_vcpu
	add_to	x11, HV_STATE_NO_ROOM, #1
	b	.Lgraph_out

/* No bucket contains the return stack with the key KEY. STACK is after the last bucket. */
.Lgraph_take:
	load_param w11, HV_PARAM_GRAPH_FLAGS
	tst	w11, #HV_GRAPH_SUBTREE
	b.eq	1f
	test_bits KIND, CALLED_KINDS | HV_FRAME_QUIET
	b.ne	1f
	/* A call in an interrupt can be below a root function that was interrupted. On any other
	 * stack without frames it is not below a root function. */
	tst	KEY, #HV_STACK_IRQ
	b.eq	.Lgraph_skipped
1:	mov	w10, #HV_STACK_LEN
	sub	STACK, STACK, x10, lsl #2
	.if	HV_STACK_LOOKUPS != 4
	.error	"buckets"
	.endif
	/* HV_STACK_SLOW is set until the first frame is added and the fields belong to this
	 * stack. */
	orr	x12, KEY, #HV_STACK_SLOW
	.rept	HV_STACK_LOOKUPS
1:	ldaxr	x11, [STACK]
	eor	x13, x11, KEY /* an interrupt on this stack may have taken it */
	cmp	x13, #(HV_STACK_SLOW << 1)
	b.lo	.Lgraph_first
	tst	x11, #HV_STACK_NR_MASK
	b.ne	2f
	stxr	w14, x12, [STACK]
	cbnz	w14, 1b
	b	.Lgraph_taken
2:	add	STACK, STACK, x10
	.endr
.Lgraph_no_stack:
	load_vcpu
	add_to	x11, HV_STATE_NO_STACK, #1
	b	.Lgraph_out
.Lgraph_taken:
	str	wzr, [STACK, #HV_STACK_OVERRUN]

/* Adds the first frame to the return stack. Until then another kernel stack can take it. */
.Lgraph_first:
	mov	DEPTH, wzr
	mov	w7, wzr
	tst	KEY, #HV_STACK_IRQ
	b.ne	.Lgraph_interrupt
.Lgraph_above: /* w7 is not 0 if a root function was interrupted */
	tst	KIND, #HV_FRAME_QUIET
	b.ne	.Lgraph_raise
	load_param w6, HV_PARAM_GRAPH_FLAGS
	tst	w6, #HV_GRAPH_NO_IRQS
	b.eq	1f
	mrs	x10, sp_el0
	ldr	x10, [x10, :lo12:hole_preempt_count]
	load_word w11, hole_hardirq_bits
	tst	w10, w11
	b.eq	1f
	tst	w6, #HV_GRAPH_SUBTREE
	b.eq	.Lgraph_skipped
	tst	KIND, #HV_FRAME_ROOT
	b.eq	.Lgraph_skipped
1:	tst	w6, #HV_GRAPH_SUBTREE
	b.eq	1f
	tst	KIND, #CALLED_KINDS
	b.ne	1f
	cbz	w7, .Lgraph_skipped
1:	load_param w11, HV_PARAM_MAX_DEPTH
	cmp	DEPTH, w11
	b.hs	.Lgraph_skipped
.Lgraph_raise:
	add	x12, KEY, #NR_ONE
	ldr	w10, [STACK, #HV_STACK_OVERRUN]
	cbz	w10, 1f
	orr	x12, x12, #HV_STACK_SLOW
1:	ldaxr	x10, [STACK]
	eor	x11, x10, KEY
	tst	x11, #~HV_STACK_SLOW /* it has frames or another key by now */
	b.ne	.Lgraph_no_stack
	stxr	w13, x12, [STACK]
	cbnz	w13, 1b
	lsl	DEPTH, DEPTH, #DEPTH_SHIFT
	orr	DEPTH, DEPTH, #HIGH_KIND(HV_RECORD_ENTRY)
	str	DEPTH, [STACK, #HV_STACK_DEPTH]
	str	wzr, [STACK, #HV_STACK_INSIDE]
	str	xzr, [STACK, #HV_STACK_MUTED] /* and HV_STACK_STOPPED */
	str	w7, [STACK, #HV_STACK_ABOVE]
	str	xzr, [STACK, #HV_STACK_LEFT]
	mov	FRAME, xzr
	b	.Lgraph_raised

/* The first frame of an interrupt stack continues at the depth of the interrupted code, which is on
 * the current task's stack. */
.Lgraph_interrupt:
	mov	x12, KEY
	mov	x13, STACK
	mrs	x10, sp_el0
	ldr	KEY, [x10, :lo12:hole_task_stack]
	find_home 3, w2, 10
	lookup	.Lgraph_interrupted
1:	mov	KEY, x12
	mov	STACK, x13
	b	.Lgraph_above
.Lgraph_interrupted:
	ands	FRAME, x11, #HV_STACK_NR_MASK
	b.eq	1b
	ldr	w10, [STACK, #HV_STACK_MUTED]
	cbnz	w10, 2f
	find_depth
	ubfx	DEPTH, DEPTH, #DEPTH_SHIFT, #DEPTH_BITS
	ldr	w10, [STACK, #HV_STACK_INSIDE]
	ldr	w11, [STACK, #HV_STACK_ABOVE]
	orr	w7, w10, w11
	b	1b
2:	tst	KIND, #HV_FRAME_QUIET
	b.ne	1b
	b	.Lgraph_skipped
