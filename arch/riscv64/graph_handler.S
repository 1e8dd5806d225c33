/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The return handler of a graph: traced functions return to it instead of their caller. It finds
 * the frame of the call, records the return, removes the frame and jumps to the caller. It has a
 * plain way and a general way, like the trampoline of a call (graph.S). Included by trampolines.S.
 *
 * 	on entry
 * 	sp	the retp
 * 	a0, a1	return value
 *
 * a2 to a7, t0 to t6 and ra are free, as after any call. So nothing is saved. */
#define REMOVED a6 /* value to subtract from the word to remove the frame */

/* For the exit of the frame at BASE + OFF: t6 := word 2, a4 := word 3. In: t2 the task's pid.
 * Clobbers t2, t3. */
.macro make_exit_words base, off
	slli	t6, t2, HV_EXIT_PID_SHIFT
	lwu	t3, \off + HV_FRAME_FUNCTION(\base)
	or	t6, t6, t3
	load_count a4, t2
	csrr	t2, sstatus
	put_bits t2, 16, HV_RECORD_HIGH
	or	a4, a4, t2
	lwu	t2, \off + HV_FRAME_FLAGS(\base) /* and HV_FRAME_DEPTH */
	li	t3, HIGH_KIND(HV_RECORD_ENTRY ^ HV_RECORD_EXIT)
	xor	t2, t2, t3
	put_depth t2
	or	a4, a4, t2
.endm

/* Jumps to the caller, t2. The CPU predicts returns with a stack of calls, and the function's
 * return has consumed the entry of its call. So this jump consumes none (t2 is not a link
 * register). */
.macro go_to_caller
	jr	t2
.endm

/* -- the plain way ----------------------------------------------------------------------------- */

	.balign	64
	.globl	hv_graph_handler
hv_graph_handler:
.Lgraph_handler:
	find_block KEY, sp, t1
	find_home STACK, KEY, t1
	ld	t3, (STACK)
	xor	t3, t3, KEY
	addi	t3, t3, -NR_ONE
	li	t1, NR_MAX - NR_ONE
	bltu	t1, t3, .Lreturn_general
	add	FRAME, STACK, t3
	ld	t1, HV_STACK_FRAMES + HV_FRAME_RETP(FRAME)
	bne	t1, sp, .Lreturn_general
	lhu	t2, HV_STACK_FRAMES + HV_FRAME_FLAGS(FRAME)
	bnez	t2, .Lreturn_profile
	load_control ld, t1, HV_CONTROL_MODE /* and the graph mode */
	bnez	t1, .Lreturn_general
	load_vcpu t1, t2
	load_task lw, t2, hole_task_pid
	lw	t3, HV_STATE_LAST_PID(t1)
	bne	t2, t3, .Lreturn_general

	make_exit_words FRAME, HV_STACK_FRAMES
	reserve_record
	store_word 2, t6
	store_word 3, a4
	ld	t6, HV_STACK_FRAMES + HV_FRAME_TSC(FRAME)
	store_word 1, t6
	rdtime	t6
	store_word 0, t6
/* Removes the last frame of the return stack STACK. FRAME is its address minus HV_STACK_FRAMES. */
.Lreturn_plain:
	ld	t2, HV_STACK_FRAMES + HV_FRAME_CALLER(FRAME)
	li	t1, -NR_ONE
	amoadd.d.rl zero, t1, (STACK)
	go_to_caller

/* -- the general way --------------------------------------------------------------------------- */

/* Looks for a return stack of this key whose last frame has this retp. If there is none, all frames
 * are searched. */
.Lreturn_general:
	find_stack sp
	li	t1, HV_STACK_SLOW << 1
	li	t3, HV_STACK_LEN
	.rept	HV_STACK_LOOKUPS
	ld	t2, (STACK)
	xor	t2, t2, KEY
	bgeu	t2, t1, 1f
	frames_of t2, t2
	/* Without frames, this reads a word of the header that is never a retp. */
	add	FRAME, STACK, t2
	ld	t2, HV_STACK_FRAMES - HV_FRAME_LEN + HV_FRAME_RETP(FRAME)
	beq	t2, sp, .Lreturn_last
1:	add	STACK, STACK, t3
	.endr
	j	.Lreturn_search

.Lreturn_last:
	addi	FRAME, FRAME, HV_STACK_FRAMES - HV_FRAME_LEN
	li	REMOVED, NR_ONE
/* STACK the return stack, FRAME the address of the frame. */
.Lreturn_found:
	lhu	a7, HV_FRAME_FLAGS(FRAME)
	andi	t1, a7, CALLED_KINDS | HV_FRAME_PROFILED
	bnez	t1, .Lreturn_count
.Lreturn_counted:
	load_param lwu, t1, HV_PARAM_GRAPH_FLAGS
	andi	t1, t1, HV_GRAPH_RETURNS
	beqz	t1, .Lreturn_lower
	load_control lw, t2, HV_CONTROL_MODE
	andi	t1, t2, HV_MODE_SILENT | HV_MODE_CPUS
	bnez	t1, .Lreturn_mode
.Lreturn_on:
	load_param ld, t2, HV_PARAM_THRESHOLD
	bnez	t2, .Lreturn_threshold
.Lreturn_record:
	load_vcpu t1, t2
	load_task lw, t2, hole_task_pid
	lw	t3, HV_STATE_LAST_PID(t1)
	bne	t2, t3, .Lreturn_other_task
.Lreturn_same_task:
	make_exit_words FRAME, 0
	load_param lwu, t2, HV_PARAM_GRAPH_FLAGS
	lwu	t0, HV_STACK_OVERRUN(STACK)
	andi	t2, t2, HV_GRAPH_RETVAL
	or	t3, t2, t0
	bnez	t3, .Lreturn_more
	reserve_record
	rdtime	a7
.Lreturn_write: /* a7 the clock */
	store_word 2, t6
	store_word 3, a4
	ld	t6, HV_FRAME_TSC(FRAME)
	store_word 1, t6
	store_word 0, a7
.Lreturn_lower:
	ld	t2, HV_FRAME_CALLER(FRAME)
	neg	t1, REMOVED
	amoadd.d.rl zero, t1, (STACK)
	go_to_caller

/* a7 the frame's flags */
.Lreturn_count:
	andi	t1, a7, HV_FRAME_PROFILED
	bnez	t1, .Lprofile_return
.Lreturn_profiled:
	andi	t1, a7, HV_FRAME_ROOT
	beqz	t1, 1f
	count	HV_STACK_INSIDE, -1
1:	andi	t1, a7, HV_FRAME_QUIET
	bnez	t1, .Lreturn_lower
	andi	t1, a7, HV_FRAME_MUTES
	beqz	t1, .Lreturn_counted
	count	HV_STACK_MUTED, -1
	ld	t1, HV_STACK_MUTED(STACK) /* and HV_STACK_STOPPED */
	bnez	t1, .Lreturn_lower
	lw	t1, HV_STACK_OVERRUN(STACK)
	bnez	t1, .Lreturn_lower
	li	t1, HV_STACK_SLOW
	not	t1, t1
	amoand.d zero, t1, (STACK)
	j	.Lreturn_lower

/* t2 the mode */
.Lreturn_mode:
	andi	t1, t2, HV_MODE_SILENT
	bnez	t1, .Lreturn_lower
	load_vcpu t1, t2
	lw	t2, HV_STATE_MUTED(t1)
	bnez	t2, .Lreturn_lower
	j	.Lreturn_on

/* t2 the threshold */
.Lreturn_threshold:
	rdtime	t1
	ld	t3, HV_FRAME_TSC(FRAME)
	bltu	t1, t3, .Lreturn_lower
	sub	t1, t1, t3
	bltu	t1, t2, .Lreturn_lower
	j	.Lreturn_record

/* Clobbers t6, which is not set yet. */
.Lreturn_other_task:
	write_task_record
	j	.Lreturn_same_task

/* Writes two records: one with the return value and the overrun, then the exit. Words 2 and 3 of
 * the exit are t6 and a4, t2 is not 0 if there is a value, t0 is the overrun, t1 the vCPU's
 * state. */
.Lreturn_more:
	li	a7, 0
	beqz	t2, 1f
	slli	a7, a0, 64 - HV_WORD_BITS /* return value */
	srli	a7, a7, 64 - HV_WORD_BITS
	srli	t2, a0, HV_WORD_BITS
	slli	t2, t2, HV_MORE_TOP_SHIFT
	or	t0, t0, t2
	li	t2, 1
	slli	t2, t2, HV_MORE_VALUE_SHIFT
	or	t0, t0, t2
1:	reserve_bytes 2 * HV_RECORD_LEN
	mv	ra, t3
	locate_record
	store_word 1, a7
	store_word 2, t0
	li	t2, HV_RECORD_MORE
	slli	t2, t2, HV_RECORD_KIND_SHIFT
	store_word 3, t2
	rdtime	a7
	mv	t2, a7
	store_word 0, t2
	addi	t3, ra, HV_RECORD_LEN
	locate_record
	j	.Lreturn_write

/* The last frame has another retp: some functions were left without a return, for example because
 * the kernel killed a task and continues with its stack. Searches all frames for retp and drops
 * the frames above it. STACK is after the last bucket. */
.Lreturn_search:
	go_to_first_bucket
	li	t4, HV_STACK_LOOKUPS
.Lreturn_search_stack:
	li	t1, HV_STACK_SLOW << 1
	ld	t2, (STACK)
	xor	t2, t2, KEY
	bgeu	t2, t1, .Lreturn_search_next
	frames_of t2, t2
	li	REMOVED, 0
.Lreturn_search_frame:
	bgeu	REMOVED, t2, .Lreturn_search_next
	addi	REMOVED, REMOVED, NR_ONE
	sub	t1, t2, REMOVED
	add	FRAME, STACK, t1
	addi	FRAME, FRAME, HV_STACK_FRAMES
	ld	t1, HV_FRAME_RETP(FRAME)
	bne	t1, sp, .Lreturn_search_frame
	li	t1, 1
	sw	t1, HV_STACK_STOPPED(STACK)
	make_slow
	j	.Lreturn_found
.Lreturn_search_next:
	li	t1, HV_STACK_LEN
	add	STACK, STACK, t1
	addi	t4, t4, -1
	bnez	t4, .Lreturn_search_stack
	/* There is no such frame, so the guest wrote to the region. The return address is lost. */
	unimp
