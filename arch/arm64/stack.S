/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks: records the callers of a function (docs/users/latency-tracers.md). Included by
 * trampolines.S.
 *
 * Each function of the kernel keeps a frame record, and so does each exception before 6.13:
 *
 * 	fp -> +-------------------+
 * 	      | the next record   |  of the caller; 0: no caller
 * 	      | return address    |  signed, or the graph handler's; 0: no caller
 * 	      +-------------------+
 *
 * The trampoline follows these records like the kernel's own unwinder
 * (arch/arm64/kernel/stacktrace.c), and records the return addresses, the caller's in x9 first. It
 * only reads the stack that it is on: from the stack pointer upwards, each record above the
 * previous one. From the CPU's interrupt stack, the records can continue once on the task's stack.
 * On any other stack it does not read beyond the page.
 *
 * The trampoline counts the callers first, to reserve all records in one step. If the stack
 * changes, surplus callers are dropped and missing ones are 0. If a return address is the graph
 * handler's, the trampoline records the address that the handler will return to.
 *
 * There are two entries. The site of a function whose calls are recorded with their stacks calls
 * hv_trampoline_function_stack. actions.S jumps to .Lstack, which returns to .Lact_stack_done.
 *
 * 	after the registers are saved
 * 	SAVED_LEN(sp)	original sp: RETP
 * 	BOUNDS(sp)	x4 and x5 as set by find_bounds
 * 	ACTION(sp)	x11 and x13 of actions.S; 0: not called from there
 * 	SITE_END(sp)	site + 4
 * 	0(sp)		x0 to x8
 * 	x9		the caller's address */
#define SITE_END    72
#define ACTION	    80
#define BOUNDS	    96
#define SAVED_LEN   112
#define CALLERS_MAX 128 /* the host shows no more */
#define FP_REGS	    2	/* in the word after a zero record: registers surround it */

/* REG := a 64-bit value */
.macro load_address reg, value
	mov	\reg, #:abs_g0_nc:\value
	movk	\reg, #:abs_g1_nc:\value
	movk	\reg, #:abs_g2_nc:\value
	movk	\reg, #:abs_g3:\value
.endm

/* REG := the length of a stack. */
.macro load_stack_len reg
	movn	\reg, #:abs_g0_s:hole_stack_mask
	neg	\reg, \reg
.endm

/* x4 := the end of the stack that contains RETP, x5 := the start of the task's stack if records can
 * lead there from this one, else 0. Clobbers x10, x12 to x15.
 *
 * A kernel in EL2 (VHE) has a CPU's offset in another register (HV_ALT_HYPERVISOR). */
.macro find_bounds
	mrs	x10, sp_el0
	ldr	x5, [x10, :lo12:hole_task_stack]
	load_stack_len x12
	sub	x13, RETP, #1
	sub	x14, x13, x5
	cmp	x14, x12
	add	x4, x5, x12
	csel	x5, xzr, x5, lo
	b.lo	1f
771:	mrs	x14, tpidr_el1
772:	load_address x15, hole_irq_stack
	ldr	x14, [x14, x15]
	add	x4, x14, x12
	sub	x14, x13, x14
	cmp	x14, x12
	b.lo	1f
	orr	x4, x13, #0xfff
	add	x4, x4, #1
	mov	x5, xzr
1:
	.pushsection .hv_alternatives
	.long	HV_ALT_HYPERVISOR, 771b - hv_trampolines, 4, 773f - hv_trampolines
	.popsection

	.subsection 1
773:	mrs	x14, tpidr_el2
	b	772b
	.subsection 0
.endm

/* Starts at the function's caller, x30. x2 := the next record, x3 := its lowest allowed address; x4
 * and x5 as set by find_bounds. Clobbers x12, x13. */
.macro begin_callers
	ldp	x4, x5, [sp, #BOUNDS]
	mov	x2, x29
	mov	x3, RETP
	mov	x30, x9
	adr	x13, .Lgraph_handler
	cmp	x30, x13
	b.ne	1f
	sub	x13, RETP, #1
	mov	x12, RETP
	bl	.Lstack_handler
	mov	x30, x13
1:
.endm

/* x30 := the next caller. Jumps to WHOLE at the end of the stack, and to NONE if the next caller is
 * unknown. Clobbers x12, x13. */
.macro next_caller whole, none
.Lrecord\@:
	tst	x2, #7
	b.ne	\none
	cmp	x2, x3
	b.lo	1f
	sub	x12, x4, #16
	cmp	x2, x12
	b.ls	2f
1:	cbz	x5, \none
	mov	x3, x5
	load_stack_len x12
	add	x4, x5, x12
	mov	x5, xzr
	b	.Lrecord\@
2:	ldp	x12, x30, [x2]
	orr	x13, x12, x30
	cbz	x13, .Llast\@
	xpaclri
	adr	x13, .Lgraph_handler
	cmp	x30, x13
	b.ne	3f
	mov	x13, x2
	bl	.Lstack_handler
	mov	x30, x13
3:	add	x3, x2, #16
	mov	x2, x12
	b	.Lfound\@
	/* Since 6.13 the word after it marks exceptions (struct frame_record_meta). */
.Llast\@:
	sub	x12, x4, #24
	cmp	x2, x12
	b.hi	\whole
	ldr	x13, [x2, #16]
	cmp	x13, #FP_REGS
	b.eq	\none
	b	\whole
.Lfound\@:
.endm

/* x12 := the word for the caller x30. Jumps to NONE if it is not text. Clobbers x13. */
.macro make_word none
	sub	x12, x30, x0
	lsr	x13, x12, #TEXT_BITS
	cmp	x13, #1
	b.ne	\none
.endm

/* x14 := the next reserved record, at position x16; x15 := its key. Writes word 0, x17. Clobbers
 * x12, x13. */
.macro next_record
	mov	x15, x16
	locate_record 14, 15, 12, 13
	add	x16, x16, #HV_RECORD_LEN
	mov	x12, x17
	store_word 0, x12, x14, x15
.endm

/* Starts the next record of words. x7 := its word 3, w8 := the number of its first word. Clobbers
 * x12 to x15. */
.macro begin_record
	mov	x12, #(1 << HV_RECORD_DEPTH_SHIFT)
	add	x7, x7, x12
	next_record
	mov	w8, #1
.endm

	.balign	64
	.globl	hv_trampoline_function_stack
hv_trampoline_function_stack:
	bti	c
	load_mode w10
	cbnz	w10, .Lstack_checks
.Lstack_checked:
	load_vcpu
	ldr	w12, [x10, :lo12:hole_task_pid]
	ldr	w13, [x11, #HV_STATE_LAST_PID]
	cmp	w12, w13
	b.ne	.Lstack_function_task
.Lstack_function:
	write_function_record
	mov	x11, xzr

.Lstack:
	stp	x0, x1, [sp, #-SAVED_LEN]!
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	stp	x8, x30, [sp, #64]
	stp	x11, x13, [sp, #ACTION]
	add	RETP, sp, #SAVED_LEN
	load_address x0, hole_text_base
	find_bounds
	stp	x4, x5, [sp, #BOUNDS]

	mov	w6, wzr
	begin_callers
.Lstack_count:
	make_word .Lstack_counted
	add	w6, w6, #1
	cmp	w6, #CALLERS_MAX
	b.hs	.Lstack_counted
	next_caller .Lstack_count_whole, .Lstack_counted
	b	.Lstack_count
.Lstack_count_whole:
	add	w6, w6, #1
.Lstack_counted:
	mov	w12, #3
	add	w6, w6, #2
	udiv	w6, w6, w12
	load_word w12, hole_ring_mask
	lsr	w12, w12, #(HV_RECORD_SHIFT + 1) /* at most half of a very small ring */
	cmp	w6, w12
	csel	w6, w6, w12, ls

	load_vcpu
	ldr	w12, [x10, :lo12:hole_task_pid]
	ldr	w13, [x11, #HV_STATE_LAST_PID]
	cmp	w12, w13
	b.ne	.Lstack_other_task
.Lstack_same_task:
	add	w12, w6, #2
	lsl	w12, w12, #HV_RECORD_SHIFT
1:	ldxr	x16, [x11]
	add	x13, x16, x12
	stxr	w14, x13, [x11]
	cbnz	w14, 1b
	dmb	ishst
	read_clock x17

	/* The first record */
	next_record
	str	x15, [x14, #WORD(1)]
	str	x15, [x14, #WORD(2)]
	mov	x7, #(HV_RECORD_WORDS << HV_RECORD_KIND_SHIFT)
	orr	x12, x7, x6
	store_word 3, x12, x14, x15

	begin_callers
	mov	w1, w6 /* RETP is no longer needed */
	cbz	w6, .Lstack_event
	begin_record
.Lstack_word:
	make_word .Lstack_no_word
.Lstack_store:
	cmp	w8, #3
	b.eq	.Lstack_third
	eor	x12, x12, x15
	add	x13, x14, #HV_STATE_LEN
	str	x12, [x13, x8, lsl #3]
	add	w8, w8, #1
.Lstack_next:
	next_caller .Lstack_whole, .Lstack_no_word
	b	.Lstack_word
.Lstack_third:
	orr	x12, x12, x7
	store_word 3, x12, x14, x15
	subs	w6, w6, #1
	b.eq	.Lstack_event
	begin_record
	b	.Lstack_next
	/* Records never have odd addresses, so next_caller finds no more. */
.Lstack_whole:
	mov	x12, #HV_WORD_WHOLE
	mov	x2, #1
	b	.Lstack_store
.Lstack_no_word:
	mov	x12, xzr
	mov	x2, #1
	b	.Lstack_store

.Lstack_event:
	ldr	w12, [x10, :lo12:hole_task_pid]
	make_task_word
	mov	x8, x12
	next_record
	store_word 2, x8, x14, x15
	ldr	x30, [sp, #SITE_END]
	make_call_word w9, w30
	store_word 1, x12, x14, x15
	make_context_word
	mov	x13, #(HV_RECORD_STACK << HV_RECORD_KIND_SHIFT)
	orr	x13, x13, x1, lsl #HV_RECORD_DEPTH_SHIFT
	ldr	x11, [sp, #ACTION]
	cbz	x11, 1f
	orr	x13, x13, #(1 << HV_STACK_COMMAND_BIT)
1:	orr	x12, x12, x13
	store_word 3, x12, x14, x15

	ldr	x13, [sp, #ACTION + 8]
	ldp	x8, x30, [sp, #64]
	ldp	x6, x7, [sp, #48]
	ldp	x4, x5, [sp, #32]
	ldp	x2, x3, [sp, #16]
	ldp	x0, x1, [sp], #SAVED_LEN
	cbz	x11, .Lstack_out
	ldr	w14, [x11, #HV_GROUP_DOES]
	b	.Lact_stack_done
.Lstack_out:
	leave

.Lstack_function_task:
	write_task_record
	b	.Lstack_function
.Lstack_other_task:
	write_task_record
	b	.Lstack_same_task
.Lstack_checks:
	check_mode .Lstack_checked, .Lstack_out

/* x13 := the address that the graph's handler will return to, for a function that was entered with
 * a stack pointer above x13 and at most x12. (A record is below its function's retp, and the
 * caller's record is at that retp or above.) Preserves all other registers.
 *
 * The frames in that range contain the address. A frame whose caller is the handler itself belongs
 * to a function that was entered by a jump; another frame in the range contains the caller. If two
 * frames contain one, one of them was added but not filled yet, or was left without a return. So
 * the code examines all frames in all buckets. If there is not exactly one caller, x13 is the
 * address of the handler. */
.Lstack_handler:
	stp	x0, x10, [sp, #-80]!
	stp	x11, x12, [sp, #16]
	stp	x14, x15, [sp, #32]
	stp	x16, x17, [sp, #48]
	str	x30, [sp, #64]
	cmp	x12, x13
	csel	x12, x12, x4, hi /* the caller's record is on another stack, or does not exist */
	cmp	x12, x4
	csel	x12, x12, x4, ls
	mrs	x10, sp_el0
	ldr	x10, [x10, :lo12:hole_task_stack]
	movn	x11, #:abs_g0_s:hole_stack_mask
	and	x14, x13, x11
	cmp	x14, x10
	b.eq	1f
	orr	x14, x14, #HV_STACK_IRQ
1:	find_home 15, w14, 10
	adr	x16, .Lgraph_handler
	mov	x17, x16
	mov	w11, #HV_STACK_LOOKUPS
.Lstack_lookup:
	ldr	x10, [x15]
	eor	x10, x10, x14
	cmp	x10, #(HV_STACK_SLOW << 1)
	b.hs	.Lstack_looked_up
	and	x10, x10, #HV_STACK_NR_MASK
	cmp	x10, #NR_MAX
	b.hi	.Lstack_looked_up
	add	x30, x15, #HV_STACK_FRAMES
	add	x10, x10, x30
1:	cmp	x30, x10
	b.hs	.Lstack_looked_up
	ldr	x0, [x30, #HV_FRAME_RETP]
	cmp	x0, x13
	b.ls	2f
	cmp	x0, x12
	b.hi	2f
	ldr	x0, [x30, #HV_FRAME_CALLER]
	cmp	x0, x16
	b.eq	2f
	cmp	x17, x16
	b.ne	.Lstack_unknown
	mov	x17, x0
2:	add	x30, x30, #HV_FRAME_LEN
	b	1b
.Lstack_looked_up:
	mov	w10, #HV_STACK_LEN
	add	x15, x15, x10
	subs	w11, w11, #1
	b.ne	.Lstack_lookup
	mov	x13, x17
	b	1f
.Lstack_unknown:
	mov	x13, x16
1:	ldr	x30, [sp, #64]
	ldp	x16, x17, [sp, #48]
	ldp	x14, x15, [sp, #32]
	ldp	x11, x12, [sp, #16]
	ldp	x0, x10, [sp], #80
	ret
