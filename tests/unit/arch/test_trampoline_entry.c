/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The detour of a function's entry, which a kernel without ftrace needs, run in this process
 * (bench/native.h): one record, as from a site at the address of the jump, and nothing that the
 * function or its caller can see changes. x86-64. */
#include <check.h>
#include <string.h>

#include "bench/native.h"
#include "ringbuf/ring.h"
#include "tests/lib/run_suite.h"

#define NR_SLOTS   8
#define DETOUR_OFF (WORLD_TEXT_END + 0x200)
#define NR_REGS	   10 /* rax, rcx, rdx, rsi, rdi, r8 to r11, flags */

uint64_t entry_in[NR_REGS], entry_out[NR_REGS];
void entry_call(uint64_t function);
extern const uint8_t entry_call_return[];

__asm__(".text\n"
	"	.globl entry_call, entry_call_return\n"
	"entry_call:\n"
	"	push %rbx\n"
	"	push %rdi\n"
	"	mov entry_in+0(%rip), %rax\n"
	"	mov entry_in+8(%rip), %rcx\n"
	"	mov entry_in+16(%rip), %rdx\n"
	"	mov entry_in+24(%rip), %rsi\n"
	"	mov entry_in+32(%rip), %rdi\n"
	"	mov entry_in+40(%rip), %r8\n"
	"	mov entry_in+48(%rip), %r9\n"
	"	mov entry_in+56(%rip), %r10\n"
	"	mov entry_in+64(%rip), %r11\n"
	"	pushq entry_in+72(%rip)\n"
	"	popfq\n"
	"	call *(%rsp)\n"
	"entry_call_return:\n"
	"	pushfq\n"
	"	popq entry_out+72(%rip)\n"
	"	mov %rax, entry_out+0(%rip)\n"
	"	mov %rcx, entry_out+8(%rip)\n"
	"	mov %rdx, entry_out+16(%rip)\n"
	"	mov %rsi, entry_out+24(%rip)\n"
	"	mov %rdi, entry_out+32(%rip)\n"
	"	mov %r8, entry_out+40(%rip)\n"
	"	mov %r9, entry_out+48(%rip)\n"
	"	mov %r10, entry_out+56(%rip)\n"
	"	mov %r11, entry_out+64(%rip)\n"
	"	pop %rdi\n"
	"	pop %rbx\n"
	"	ret\n");

/* pushq %rbx; movq %rdi, %rbx; leaq 1(%rbx), %rdi; popq %rbx; ret. The first two and the third are
 * moved. */
static const uint8_t function[] = {0x53, 0x48, 0x89, 0xfb, 0x48, 0x8d, 0x7b, 0x01, 0x5b, 0xc3};

static const struct hv_arch *const arch = &hv_arch_x86_64;
static struct world *world;

static void tear_down(void)
{
	native_free(world);
}

/* Makes the traced function of the world lead to a detour. */
static void set_up(void)
{
	uint8_t *code, patch[HV_DETOUR_PATCH_MAX];
	struct hv_entry_insns e;
	const char *lack = NULL;
	struct hv_detour d;
	size_t len;

	world = native_new(NR_SLOTS, &lack);
	ck_assert_msg(world != NULL, "%s", lack);
	code = world->host + WORLD_TRACED_OFF;
	memcpy(code, function, sizeof(function));
	d = (struct hv_detour){
		.kind = HV_DETOUR_ENTRY,
		.at = world_gva(world, DETOUR_OFF),
		.trampoline =
			world_gva(world, WORLD_CODE_OFF + arch->trampolines.chain_function_off),
		.probe_site = world_gva(world, WORLD_TRACED_OFF),
		.insn = function,
	};
	ck_assert_ptr_null(arch->find_entry((struct hv_span){code, sizeof(function)}, d.probe_site,
					    HV_ENTRY_NOP_UNKNOWN, &e));
	ck_assert_uint_eq(e.off, 0);
	ck_assert_uint_eq(e.nr, 3);
	d.len_bytes = e.len_bytes;
	d.next = hv_gva_add(d.probe_site, e.len_bytes);
	ck_assert_uint_eq(arch->make_detour(&d, world->host + DETOUR_OFF), 1);
	len = arch->encode_detour_jump(e.len_bytes, d.probe_site, d.at, patch);
	ck_assert_uint_ne(len, 0);
	memcpy(code, patch, len);
}

/* The values of all registers, and each status flag, reach the function and its caller. */
START_TEST(nothing_but_a_record)
{
	static const uint64_t flags[] = {0x202, 0x202 | 0x8d5};
	struct hv_record r;

	for (unsigned i = 0; i < NR_REGS - 1; i++)
		entry_in[i] = UINT64_C(0x8111111111111111) * (i + 1);
	entry_in[NR_REGS - 1] = flags[_i];
	entry_call(world_gva(world, WORLD_TRACED_OFF).v);
	ck_assert_uint_eq(entry_out[4], entry_in[4] + 1); /* the moved instructions were executed */
	entry_out[4] = entry_in[4];
	for (unsigned i = 0; i < NR_REGS; i++)
		ck_assert_msg(entry_in[i] == entry_out[i], "register %u: %llx, was %llx", i,
			      (unsigned long long)entry_out[i], (unsigned long long)entry_in[i]);
	ck_assert_uint_eq(world_state(world, 0)->head, hv_ring_head_at(1, NR_SLOTS));
	r = world_ring(world, 0)[0];
	for (unsigned i = 0; i < 4; i++)
		r.word[i] ^= hv_record_key(0, NR_SLOTS);
	ck_assert_uint_eq(r.word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK,
			  HV_RECORD_FUNCTION);
	ck_assert_uint_eq((uint32_t)r.word[1] & 0x7fffffff,
			  (world_gva(world, WORLD_TRACED_OFF).v + arch->site_len_bytes) &
				  0x7fffffff);
	ck_assert_uint_eq(r.word[1] >> HV_CALLER_SHIFT & 0x7fffffff,
			  (uint64_t)(uintptr_t)entry_call_return & 0x7fffffff);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, nothing_but_a_record, 0, 2);
}

int main(void)
{
	return run_suite("trampoline_entry", add_tests);
}
