/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks: records the callers of a function (docs/users/latency-tracers.md). Included by
 * trampolines.S.
 *
 * Each function of the kernel keeps a frame record below its frame pointer:
 *
 * 	      +-------------------+
 * 	      | frame pointer     |  of the caller
 * 	      | return address    |  or the graph handler's
 * 	fp -> +-------------------+
 *
 * Exceptions do not. If a return address is in the exception code, the registers of the interrupted
 * code (struct pt_regs) are at fp. A task's first registers end its stack. The kernel's own
 * unwinder does the same (arch/riscv/kernel/stacktrace.c).
 *
 * The trampoline follows these records and records the return addresses, the function's in ra
 * first. It only reads the stack that it is on: from the stack pointer upwards, each record above
 * the previous one. All stacks are aligned to their size (return_stacks.inc). From another stack,
 * the records can continue once on the task's stack.
 *
 * The trampoline counts the callers first, to reserve all records in one step. If the stack
 * changes, surplus callers are dropped and missing ones are 0. If a return address is the graph
 * handler's, the trampoline records the address that the handler will return to.
 *
 * There are two entries. The site of a function whose calls are recorded with their stacks calls
 * hv_trampoline_function_stack. actions.S jumps to .Lstack, which returns to .Lact_stack_done.
 *
 * 	after the registers are saved
 * 	S_LEN(sp)	original sp: the retp
 * 	S_GROUP(sp)	t1 and t3 of actions.S; t1 0: not called from there
 * 	S_RA(sp)	the caller's address
 * 	0(sp)		a0 to a7
 * 	t0		site + 8
 *
 * 	a0	the lowest address of text	a4	the end of the stack
 * 	a1	number of reserved records	a5	the start of the task's stack, if records
 * 	a2	the next frame pointer			can lead there from this one, else 0
 * 	a3	lowest allowed address of the	a6	the current caller
 * 		next frame			a7	callers so far; remaining records */
#define S_RA	    64
#define S_GROUP	    72
#define S_COUNTS    80
#define S_STATE	    88	/* of the vCPU whose ring it is */
#define S_POSITION  96	/* of the next record */
#define S_CLOCK	    104 /* word 0 of all records */
#define S_KEY	    112 /* of the current record, like these: */
#define S_RECORD	    120
#define S_WORD3	    128
#define S_INDEX	    136 /* of its next word */
#define S_NEXT	    144
#define S_LEN	    160
#define CALLERS_MAX 128 /* the host shows no more */
#define REGS_EPC    0	/* in struct pt_regs, which begins as struct user_regs_struct */
#define REGS_S0	    64
/* Results of .Lstack_next: */
#define NEXT_FOUND  0
#define NEXT_WHOLE  1
#define NEXT_NONE   2

/* REG := the offset in the text of the caller a6. Jumps to NONE if it is not text. Clobbers TMP. */
.macro text_off reg, tmp, none
	sub	\reg, a6, a0
	srli	\tmp, \reg, 31
	bnez	\tmp, \none
.endm

/* t4 := the next reserved record, t3 := its key. Writes word 0. Clobbers t1, t5. */
.macro next_record
	ld	t1, S_STATE(sp)
	ld	t3, S_POSITION(sp)
	addi	t5, t3, HV_RECORD_LEN
	sd	t5, S_POSITION(sp)
	locate_record
	sd	t3, S_KEY(sp)
	sd	t4, S_RECORD(sp)
	ld	t5, S_CLOCK(sp)
	store_word 0, t5
.endm

/* Starts the next record of words. Clobbers t1, t3 to t6. */
.macro begin_record
	ld	t5, S_WORD3(sp)
	li	t6, 1
	slli	t6, t6, HV_RECORD_DEPTH_SHIFT
	add	t5, t5, t6
	sd	t5, S_WORD3(sp)
	li	t6, 1
	sd	t6, S_INDEX(sp)
	next_record
.endm

	.balign	64
	.globl	hv_trampoline_function_stack
hv_trampoline_function_stack:
	load_control lw, t1, HV_CONTROL_MODE
	beqz	t1, .Lstack_checked
	j	.Lstack_checks
.Lstack_checked:
	load_vcpu t1, t2
	load_task lw, t2, hole_task_pid
	lw	t3, HV_STATE_LAST_PID(t1)
	beq	t2, t3, .Lstack_function
	j	.Lstack_function_task
.Lstack_function:
	write_function_record
	li	t1, 0

.Lstack:
	addi	sp, sp, -S_LEN
	sd	a0, 0(sp)
	sd	a1, 8(sp)
	sd	a2, 16(sp)
	sd	a3, 24(sp)
	sd	a4, 32(sp)
	sd	a5, 40(sp)
	sd	a6, 48(sp)
	sd	a7, 56(sp)
	sd	ra, S_RA(sp)
	sd	t1, S_GROUP(sp)
	sd	t3, S_COUNTS(sp)

	/* The upper half of all text addresses is the same as that of this code. */
	auipc	a0, 0
	srli	a0, a0, 32
	slli	a0, a0, 32
	lui	t1, %tprel_hi(hole_text_base)
	addi	t1, t1, %tprel_lo(hole_text_base)
	lui	t2, 0x80000 /* HV_TEXT_BIT */
	xor	t1, t1, t2
	slli	t1, t1, 32
	srli	t1, t1, 32
	or	a0, a0, t1

	li	a7, 0
	jal	.Lstack_begin
.Lstack_count:
	text_off t2, t3, .Lstack_counted
	addi	a7, a7, 1
	li	t2, CALLERS_MAX
	bgeu	a7, t2, .Lstack_counted
	jal	.Lstack_next
	beqz	t1, .Lstack_count
	li	t2, NEXT_WHOLE
	bne	t1, t2, .Lstack_counted
	addi	a7, a7, 1
.Lstack_counted:
	addi	a7, a7, 2
	li	t2, 3
	divu	a7, a7, t2
	load_word t2, hole_ring_mask
	srli	t2, t2, HV_RECORD_SHIFT + 1 /* at most half of a very small ring */
	bleu	a7, t2, 1f
	mv	a7, t2
1:	mv	a1, a7

	load_vcpu t1, t2
	load_task lw, t2, hole_task_pid
	lw	t3, HV_STATE_LAST_PID(t1)
	beq	t2, t3, .Lstack_same_task
	write_task_record
.Lstack_same_task:
	sd	t1, S_STATE(sp)
	addi	t3, a7, 2
	slli	t3, t3, HV_RECORD_SHIFT
	amoadd.d t3, t3, (t1)
	fence	rw, iw
	rdtime	t5
	sd	t5, S_CLOCK(sp)
	sd	t3, S_POSITION(sp)

	/* The first record */
	next_record
	sd	t3, WORD(1)(t4)
	sd	t3, WORD(2)(t4)
	li	t5, HV_RECORD_WORDS
	slli	t5, t5, HV_RECORD_KIND_SHIFT
	sd	t5, S_WORD3(sp)
	or	t5, t5, a7
	store_word 3, t5

	jal	.Lstack_begin
	beqz	a7, .Lstack_event
	begin_record
.Lstack_word:
	text_off t2, t3, .Lstack_no_word
	li	t3, 1
	slli	t3, t3, 31 /* HV_WORD_TEXT */
	or	t2, t2, t3
.Lstack_store:
	ld	t3, S_KEY(sp)
	ld	t4, S_RECORD(sp)
	ld	t5, S_INDEX(sp)
	li	t6, 3
	beq	t5, t6, .Lstack_third
	xor	t2, t2, t3
	slli	t6, t5, 3
	add	t6, t6, t4
	sd	t2, WORD(0)(t6)
	addi	t5, t5, 1
	sd	t5, S_INDEX(sp)
.Lstack_next_word:
	jal	.Lstack_next
	beqz	t1, .Lstack_word
	li	t2, NEXT_WHOLE
	bne	t1, t2, .Lstack_no_word
	slli	t2, t2, 32 /* HV_WORD_WHOLE */
	j	.Lstack_last
.Lstack_no_word:
	li	t2, 0
	/* Records never have odd addresses, so there are no more. */
.Lstack_last:
	li	a2, 1
	li	a3, 0
	li	a5, 0
	li	a6, 0
	j	.Lstack_store
.Lstack_third:
	ld	t6, S_WORD3(sp)
	or	t2, t2, t6
	store_word 3, t2
	addi	a7, a7, -1
	beqz	a7, .Lstack_event
	begin_record
	j	.Lstack_next_word

.Lstack_event:
	load_task lwu, t2, hole_task_pid
	make_task_word
	next_record
	store_word 2, t2
	ld	ra, S_RA(sp)
	make_call_word
	store_word 1, t1
	make_context_word
	li	t2, HV_RECORD_STACK
	slli	t2, t2, HV_RECORD_KIND_SHIFT
	or	t1, t1, t2
	slli	t2, a1, HV_RECORD_DEPTH_SHIFT
	or	t1, t1, t2
	ld	t5, S_GROUP(sp)
	snez	t2, t5
	slli	t2, t2, HV_STACK_COMMAND_BIT
	or	t1, t1, t2
	store_word 3, t1

	mv	t1, t5
	ld	t3, S_COUNTS(sp)
	ld	a0, 0(sp)
	ld	a1, 8(sp)
	ld	a2, 16(sp)
	ld	a3, 24(sp)
	ld	a4, 32(sp)
	ld	a5, 40(sp)
	ld	a6, 48(sp)
	ld	a7, 56(sp)
	addi	sp, sp, S_LEN
	bnez	t1, .Lstack_act
.Lstack_out:
	jr	t0
.Lstack_act:
	load_address t2, hole_control
	lwu	t4, HV_GROUP_DOES(t1)
	j	.Lact_stack_done

.Lstack_checks:
	check_mode 1f, .Lstack_out
1:	j	.Lstack_checked
.Lstack_function_task:
	write_task_record
	j	.Lstack_function

/* Starts at the function's caller: sets a2 to a6. Clobbers t1 to t6. */
.Lstack_begin:
	addi	a3, sp, S_LEN
	find_block t2, a3, t1
	lui	t3, %hi(hole_stack_mask) /* the low bits are 0 */
	sub	a4, t2, t3
	load_task ld, a5, hole_task_stack
	bne	a5, t2, 1f
	li	a5, 0
1:	mv	a2, s0
	ld	a6, S_RA(sp)
	load_address t1, .Lgraph_handler
	bne	a6, t1, 2f
	addi	t1, a3, -1
	mv	t2, a3
	jal	t6, .Lstack_handler
2:	ret

/* a6 := the next caller. t1 := one of the results above. Clobbers t2 to t6. */
.Lstack_next:
	load_address t2, hole_entry_code
	sub	t2, a6, t2
	load_word t3, hole_entry_code_len
	load_word t4, hole_regs_bytes
	bltu	t2, t3, .Lnext_interrupted
	/* A task's first function has no caller. */
	bnez	a5, .Lnext_record
	sub	t2, a4, t4
	beq	a3, t2, .Lnext_whole
.Lnext_record:
	andi	t2, a2, 7
	bnez	t2, .Lnext_none
	bgeu	a3, a2, 1f
	addi	t2, a2, -16
	bltu	t2, a3, 1f
	bleu	a2, a4, 2f
1:	beqz	a5, .Lnext_none
	mv	a3, a5
	lui	t3, %hi(hole_stack_mask)
	sub	a4, a5, t3
	li	a5, 0
	j	.Lnext_record
2:	ld	t3, 0(t2)
	ld	a6, 8(t2)
	sd	t3, S_NEXT(sp)
	load_address t1, .Lgraph_handler
	bne	a6, t1, 4f
	/* The retp is at or above the frame pointer, and below the record of the caller. */
	addi	t1, a2, -1
	addi	t2, t3, -16
	bgeu	t1, t2, 3f
	bleu	t2, a4, 5f
3:	mv	t2, a4 /* the caller's record is on another stack, or does not exist */
5:	jal	t6, .Lstack_handler
4:	mv	a3, a2
	ld	a2, S_NEXT(sp)
	li	t1, NEXT_FOUND
	ret
	/* The registers of the interrupted code are at the end of the frame. */
.Lnext_interrupted:
	add	t2, a3, t4
	bgtu	t2, a4, .Lnext_none
	ld	a6, REGS_EPC(a3)
	ld	a2, REGS_S0(a3)
	mv	a3, t2
	text_off t2, t3, .Lnext_whole
	li	t1, NEXT_FOUND
	ret
.Lnext_whole:
	li	t1, NEXT_WHOLE
	ret
.Lnext_none:
	li	t1, NEXT_NONE
	ret

/* a6 := the address that the graph's handler will return to, for a function that was entered with a
 * stack pointer above t1 and at most t2. Returns to t6. Clobbers t3 to t5.
 *
 * The frames in that range contain the address. A frame whose caller is the handler itself belongs
 * to a function that was entered by a jump; another frame in the range contains the caller. If two
 * frames contain one, one of them was added but not filled yet, or was left without a return. So
 * the code examines all frames in all buckets. If there is not exactly one caller, a6 is the
 * address of the handler. */
.Lstack_handler:
	addi	sp, sp, -32
	sd	a0, 0(sp)
	sd	a1, 8(sp)
	sd	a2, 16(sp)
	sd	a7, 24(sp)
	lui	t3, %hi(hole_stack_mask)
	and	a0, t1, t3
	load_task ld, t3, hole_task_stack
	beq	a0, t3, 1f
	li	t3, HV_STACK_IRQ
	or	a0, a0, t3
1:	find_home a1, a0, t3
	load_address a2, .Lgraph_handler
	mv	a6, a2
	li	a7, HV_STACK_LOOKUPS
.Lstack_lookup:
	ld	t3, (a1)
	xor	t3, t3, a0
	li	t4, HV_STACK_SLOW << 1
	bgeu	t3, t4, .Lstack_looked_up
	frames_of t3, t3
	li	t4, NR_MAX
	bgtu	t3, t4, .Lstack_looked_up
	addi	t4, a1, HV_STACK_FRAMES
	add	t3, t3, t4
1:	bgeu	t4, t3, .Lstack_looked_up
	ld	t5, HV_FRAME_RETP(t4)
	bgeu	t1, t5, 2f
	bltu	t2, t5, 2f
	ld	t5, HV_FRAME_CALLER(t4)
	beq	t5, a2, 2f
	bne	a6, a2, .Lstack_unknown
	mv	a6, t5
2:	addi	t4, t4, HV_FRAME_LEN
	j	1b
.Lstack_looked_up:
	li	t3, HV_STACK_LEN
	add	a1, a1, t3
	addi	a7, a7, -1
	bnez	a7, .Lstack_lookup
	j	1f
.Lstack_unknown:
	mv	a6, a2
1:	ld	a0, 0(sp)
	ld	a1, 8(sp)
	ld	a2, 16(sp)
	ld	a7, 24(sp)
	addi	sp, sp, 32
	jr	t6
