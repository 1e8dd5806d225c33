/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/event_call.h"

#include <check.h>
#include <string.h>

#define NR_KEPT 6
#define NR_FREE 8

uint64_t event_traps;

struct call {
	uint64_t result;
	/* Callee-saved registers after the call; last entry: change of the stack pointer. */
	uint64_t kept[NR_KEPT];
	uint64_t freed[NR_FREE]; /* %rcx, %rdx, %rsi, %rdi, %r9, %r10, %r11, %r8 */
};

uint64_t event_passed[2];

/* Calls FUNCTION with three arguments. If TRAPS is EVENT_TRAP_FLAG, the trap flag is set during the
 * call. */
void event_call(struct call *c, uint64_t function, const uint64_t *arguments, uint64_t traps);
__asm__(".text\n"
	"event_call:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	push %rdi\n"
	"	mov %rsi, %rax\n"
	"	mov %rcx, %r8\n"
	"	mov %rdx, %rcx\n"
	"	mov (%rcx), %rdi\n"
	"	mov 8(%rcx), %rsi\n"
	"	mov 16(%rcx), %rdx\n"
	"	mov $0x1111, %ebx\n"
	"	mov $0x2222, %ebp\n"
	"	mov $0x3333, %r12d\n"
	"	mov $0x4444, %r13d\n"
	"	mov $0x5555, %r14d\n"
	"	mov %rsp, %r15\n"
	"	pushfq\n"
	"	or %r8, (%rsp)\n"
	"	mov $0x6666, %r8d\n"
	"	mov %r8, %r9\n"
	"	mov %r8, %r10\n"
	"	mov %r8, %r11\n"
	"	mov %r8, %rcx\n"
	"	popfq\n"
	"	call *%rax\n"
	"	pushfq\n"
	"	andl $~0x100, (%rsp)\n"
	"	popfq\n"
	"	sub %rsp, %r15\n"
	"	mov %r8, -128(%rsp)\n"
	"	mov (%rsp), %r8\n"
	"	mov %rax, (%r8)\n"
	"	mov %rbx, 8(%r8)\n"
	"	mov %rbp, 16(%r8)\n"
	"	mov %r12, 24(%r8)\n"
	"	mov %r13, 32(%r8)\n"
	"	mov %r14, 40(%r8)\n"
	"	mov %r15, 48(%r8)\n"
	"	mov %rcx, 56(%r8)\n"
	"	mov %rdx, 64(%r8)\n"
	"	mov %rsi, 72(%r8)\n"
	"	mov %rdi, 80(%r8)\n"
	"	mov %r9, 88(%r8)\n"
	"	mov %r10, 96(%r8)\n"
	"	mov %r11, 104(%r8)\n"
	"	mov -128(%rsp), %rax\n"
	"	mov %rax, 112(%r8)\n"
	"	pop %rdi\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n");

void event_make_kernel(const struct world *w)
{
	static const uint8_t code[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* movl $number, %eax; ret */

	for (unsigned i = 0; i < 4; i++) {
		uint8_t *function = w->host + WORLD_KERNEL_OFF + i * 0x10;

		memcpy(function, code, sizeof(code));
		function[1] = (uint8_t)(1 + i);
	}
}

uint64_t event_call_trampoline(const struct world *w, size_t off, uint64_t a, uint64_t b,
			       uint64_t c)
{
	const uint64_t arguments[] = {a, b, c}, start = world_gva(w, 0).v;
	struct call call;

	event_call(&call, world_gva(w, WORLD_CODE_OFF).v + off, arguments, event_traps);
	ck_assert_uint_eq(call.kept[0], 0x1111);
	ck_assert_uint_eq(call.kept[1], 0x2222);
	ck_assert_uint_eq(call.kept[2], 0x3333);
	ck_assert_uint_eq(call.kept[3], 0x4444);
	ck_assert_uint_eq(call.kept[4], 0x5555);
	ck_assert_uint_eq(call.kept[5], 0);
	event_passed[0] = call.freed[3];
	event_passed[1] = call.freed[2];
	if (call.result && call.result <= 4) /* the trampoline continued to the kernel's function */
		return call.result;
	for (unsigned i = 0; i < NR_FREE; i++)
		ck_assert_msg(call.freed[i] - start >= WORLD_LEN(w->nr_slots),
			      "register %u: an address of the block", i);
	return call.result;
}

uint64_t event_reserve(const struct world *w, struct world_buffer *buffer, uint64_t file,
		       uint64_t len)
{
	return event_call_trampoline(w, hv_arch_x86_64.trampolines.event_reserve_off,
				     (uintptr_t)buffer, file, len);
}

uint64_t event_commit(const struct world *w, struct world_buffer *buffer)
{
	return event_call_trampoline(w, hv_arch_x86_64.trampolines.event_commit_off,
				     (uintptr_t)buffer, 0, 0);
}
