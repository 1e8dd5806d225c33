/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/traced_call.h"

#include <check.h>
#include <string.h>

#include "ringbuf/ring.h"

/* General registers in the order of their numbers, rsp (4) unused. */
struct registers {
	uint64_t r[16];
};
enum { RAX = 0, RCX = 1, RSP = 4, RSI = 6, RDI = 7, R8 = 8, R9 = 9, R10 = 10, R11 = 11 };

typedef void (*call_with_fn)(void *fn, const struct registers *in, struct registers *out);

__asm__(".text\n"
	".globl call_with, call_with_return, call_with_end\n"
	"call_with:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	push %rdx; push %rdi\n"
	"	mov %rsi, %rax\n"
	"	mov 8(%rax), %rcx; mov 16(%rax), %rdx; mov 24(%rax), %rbx; mov 40(%rax), %rbp\n"
	"	mov 48(%rax), %rsi; mov 56(%rax), %rdi; mov 64(%rax), %r8; mov 72(%rax), %r9\n"
	"	mov 96(%rax), %r12; mov 104(%rax), %r13; mov 112(%rax), %r14; mov 120(%rax), %r15\n"
	"	mov (%rax), %rax\n"
	"	call *(%rsp)\n"
	"call_with_return:\n"
	"	mov 8(%rsp), %r10\n"
	"	mov %rax, (%r10); mov %rcx, 8(%r10); mov %rdx, 16(%r10); mov %rbx, 24(%r10)\n"
	"	mov %rbp, 40(%r10); mov %rsi, 48(%r10); mov %rdi, 56(%r10); mov %r8, 64(%r10)\n"
	"	mov %r9, 72(%r10); mov %r12, 96(%r10); mov %r13, 104(%r10); mov %r14, 112(%r10)\n"
	"	mov %r15, 120(%r10)\n"
	"	pop %rdi; pop %rdx\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n"
	"call_with_end:\n");

struct world *world;
const struct world_task *argument;
static call_with_fn call;

void set_up_trampoline(enum world_trampoline trampoline, void (*prepare)(const struct world *w))
{
	const struct world_case c = {"", 0, 0, prepare, trampoline};

	set_up_case(&c);
}

void set_up_case(const struct world_case *c)
{
	world_set_up(world, c);
	call = (call_with_fn)native_place(world, call_with, call_with_end);
	argument = NULL;
}

void set_up_as(void (*prepare)(const struct world *w))
{
	set_up_trampoline(WORLD_FUNCTION, prepare);
}

void plain(const struct world *w)
{
	(void)w;
}

void set_up(void)
{
	const char *lack = NULL;

	world = native_new(TRACED_NR_SLOTS, &lack);
	ck_assert_msg(world != NULL, "%s", lack);
	set_up_as(plain);
}

void tear_down(void)
{
	native_free(world);
}

/* Calls the traced function and checks that it keeps all registers except those in CHANGED, a mask
 * by register number. */
static void run_changing(unsigned changed)
{
	struct registers in, out;

	for (unsigned i = 0; i < 16; i++)
		in.r[i] = 0x1111111111111111ULL * i + 7;
	in.r[RDI] = (uintptr_t)argument;
	memset(&out, 0, sizeof(out));
	call(world->host + WORLD_TRACED_OFF, &in, &out);
	ck_assert_uint_eq(out.r[RAX], in.r[RCX]); /* the traced function's return value */
	for (unsigned i = 1; i < 16; i++)
		if (i != RSP && !(changed >> i & 1))
			ck_assert_uint_eq(out.r[i], in.r[i]);
}

/* The function trampoline changes %rax, %r10, %r11 and the flags only. */
void run(void)
{
	run_changing(1u << R10 | 1u << R11);
}

/* The graph's return handler also changes the registers that any function may change, except
 * %rdx. */
void run_graph(void)
{
	run_changing(1u << R10 | 1u << R11 | 1u << RCX | 1u << RSI | 1u << RDI | 1u << R8 |
		     1u << R9);
}

uint64_t head(unsigned cpu)
{
	return world_head(world, cpu);
}

struct hv_record record_at(unsigned cpu, uint64_t position)
{
	struct hv_record r = world_ring(world, cpu)[position % TRACED_NR_SLOTS];

	for (unsigned i = 0; i < 4; i++) {
		r.word[i] ^= hv_record_key(position, TRACED_NR_SLOTS);
		ck_assert_uint_eq(r.word[i] & HV_RECORD_ZEROS, 0);
	}
	return r;
}

unsigned kind_of(const struct hv_record *record)
{
	return record->word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK;
}

uint32_t pid_of(const struct hv_record *record)
{
	return kind_of(record) == HV_RECORD_TASK ? (uint32_t)record->word[3] & HV_TASK_PID_MASK
						 : (uint32_t)(record->word[2] >> HV_CALL_PID_SHIFT);
}
