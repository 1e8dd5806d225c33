/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of structures that x86-64 functions use: pointers are followed from arguments and
 * variables through registers, jumps and calls. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/x86_64.h"
#include "tests/lib/run_suite.h"

#define FUNCTION UINT64_C(0xffffffff81000000)

/* -- uses as text ------------------------------------------------------------------------------ */

/* The reported uses, one per line: the offset of the instruction, the root, the steps, the offset
 * of the member, the kind, its length and the mask. */
struct uses {
	char text[4096];
	size_t len;
	size_t nr;
	uint64_t last; /* address of the last instruction */
};

static const char *const roots[] = {"arg", "variable", "percpu", "current", "unknown", "address"};
static const char *const kinds[] = {"address", "read", "write"};

static void print(struct uses *uses, const char *format, uint64_t v)
{
	uses->len += (size_t)snprintf(uses->text + uses->len, sizeof(uses->text) - uses->len,
				      format, (unsigned long long)v);
	ck_assert_uint_lt(uses->len, sizeof(uses->text));
}

static void note(void *ctx, const struct hv_member_use *use)
{
	struct uses *uses = ctx;

	ck_assert_uint_lt(use->from, HV_ARRAY_LEN(roots));
	ck_assert_uint_lt(use->kind, HV_ARRAY_LEN(kinds));
	print(uses, "%llu: ", use->insn.v - FUNCTION);
	print(uses, roots[use->from], 0);
	print(uses, use->from == HV_ROOT_ARGUMENT ? " %llu " : " 0x%llx ", use->root);
	for (unsigned i = 0; i < use->nr_steps; i++)
		print(uses, "->0x%llx", use->steps[i]);
	print(uses, use->nr_steps ? " +0x%llx " : "+0x%llx ", use->off);
	print(uses, kinds[use->kind], 0);
	print(uses, " %llu", use->len_bytes);
	if (use->has_mask)
		print(uses, " mask 0x%llx", use->mask);
	print(uses, "\n", 0);
}

static struct uses uses_of(struct hv_span code)
{
	struct uses uses = {0};

	hv_arch_x86_64.follow_members(code, hv_gva(FUNCTION), note, &uses);
	return uses;
}

/* -- code and its uses ------------------------------------------------------------------------- */

struct row {
	const char *what;
	const char *code;
	size_t len;
	const char *uses;
};

#define CODE(bytes) (bytes), sizeof(bytes) - 1

/* clang-format off */
static const struct row rows[] = {
	{"per-CPU variable, absolute",
	 CODE("\x65\x48\x8b\x04\x25\x00\xf7\x01\x00" /* mov %gs:0x1f700,%rax */
	      "\x8b\x90\xa0\x09\x00\x00" /* mov 0x9a0(%rax),%edx */),
	 "9: percpu 0x1f700 +0x9a0 read 4\n"},
	{"per-CPU variable, negative",
	 CODE("\x65\x48\x8b\x04\x25\x00\xf0\xff\xff" /* mov %gs:-0x1000,%rax */
	      "\x8b\x90\xa0\x09\x00\x00" /* mov 0x9a0(%rax),%edx */),
	 "9: percpu 0xfffffffffffff000 +0x9a0 read 4\n"},
	{"per-CPU variable, relative",
	 CODE("\x65\x48\x8b\x05\x00\x10\x00\x00" /* mov %gs:0x1000(%rip),%rax */
	      "\x8b\x50\x08" /* mov 8(%rax),%edx */),
	 "8: percpu 0xffffffff81001008 +0x8 read 4\n"},
	{"per-CPU variable, with 64 bits",
	 CODE("\x65\x48\xa1\x00\xf7\x01\x00\x00\x00\x00\x00" /* movabs %gs:0x1f700,%rax */
	      "\x8b\x50\x08" /* mov 8(%rax),%edx */),
	 "11: percpu 0x1f700 +0x8 read 4\n"},
	{"per-CPU variable of 4 bytes",
	 CODE("\x65\x8b\x04\x25\x00\xf7\x01\x00" /* mov %gs:0x1f700,%eax */
	      "\x8b\x50\x08" /* mov 8(%rax),%edx */),
	 ""},
	{"per-CPU memory at a register",
	 CODE("\x65\x48\x8b\x47\x08" /* mov %gs:8(%rdi),%rax */
	      "\x8b\x50\x08" /* mov 8(%rax),%edx */
	      "\x65\xff\x04\x25\x00\xf7\x01\x00" /* incl %gs:0x1f700 */),
	 ""},
	{"user thread's memory",
	 CODE("\x64\x48\x8b\x04\x25\x28\x00\x00\x00" /* mov %fs:0x28,%rax */
	      "\x8b\x50\x08" /* mov 8(%rax),%edx */),
	 ""},
	{"variable, relative",
	 CODE("\x48\x8b\x1d\x00\x10\x00\x00" /* mov 0x1000(%rip),%rbx */
	      "\x8b\x4b\x10" /* mov 0x10(%rbx),%ecx */),
	 "7: variable 0xffffffff81001007 +0x10 read 4\n"},
	{"variable, absolute",
	 CODE("\x48\x8b\x1c\x25\x40\x23\xa1\x82" /* mov 0xffffffff82a12340,%rbx */
	      "\x8b\x4b\x10" /* mov 0x10(%rbx),%ecx */),
	 "8: variable 0xffffffff82a12340 +0x10 read 4\n"},
	{"variable, with 64 bits",
	 CODE("\x48\xa1\x40\x23\xa1\x82\xff\xff\xff\xff" /* movabs 0xffffffff82a12340,%rax */
	      "\x8b\x48\x10" /* mov 0x10(%rax),%ecx */),
	 "10: variable 0xffffffff82a12340 +0x10 read 4\n"},
	{"variable of 4 bytes",
	 CODE("\x8b\x1d\x00\x10\x00\x00" /* mov 0x1000(%rip),%ebx */
	      "\x8b\x4b\x10" /* mov 0x10(%rbx),%ecx */),
	 ""},
	{"all arguments",
	 CODE("\x8a\x47\x01" /* mov 1(%rdi),%al */
	      "\x8a\x46\x02" /* mov 2(%rsi),%al */
	      "\x8a\x42\x03" /* mov 3(%rdx),%al */
	      "\x8a\x41\x04" /* mov 4(%rcx),%al */
	      "\x41\x8a\x40\x05" /* mov 5(%r8),%al */
	      "\x41\x8a\x41\x06" /* mov 6(%r9),%al */
	      "\x41\x8a\x42\x07" /* mov 7(%r10),%al */
	      "\x8a\x43\x08" /* mov 8(%rbx),%al */),
	 "0: arg 0 +0x1 read 1\n"
	 "3: arg 1 +0x2 read 1\n"
	 "6: arg 2 +0x3 read 1\n"
	 "9: arg 3 +0x4 read 1\n"
	 "12: arg 4 +0x5 read 1\n"
	 "16: arg 5 +0x6 read 1\n"},
	{"steps",
	 CODE("\x48\x8b\x47\x18" /* mov 0x18(%rdi),%rax */
	      "\x8b\x48\x08" /* mov 8(%rax),%ecx */),
	 "0: arg 0 +0x18 read 8\n"
	 "4: arg 0 ->0x18 +0x8 read 4\n"},
	{"steps in one register",
	 CODE("\x48\x8b\x7f\x18" /* mov 0x18(%rdi),%rdi */
	      "\x48\x8b\x7f\x08" /* mov 8(%rdi),%rdi */
	      "\x48\x8b\x3f" /* mov (%rdi),%rdi */
	      "\x48\x8b\x7f\x04" /* mov 4(%rdi),%rdi */
	      "\x8b\x47\x04" /* mov 4(%rdi),%eax */),
	 "0: arg 0 +0x18 read 8\n"
	 "4: arg 0 ->0x18 +0x8 read 8\n"
	 "8: arg 0 ->0x18->0x8 +0x0 read 8\n"
	 "11: arg 0 ->0x18->0x8->0x0 +0x4 read 8\n"},
	{"lea",
	 CODE("\x48\x8d\xb7\xb0\x0b\x00\x00" /* lea 0xbb0(%rdi),%rsi */
	      "\x8b\x46\x08" /* mov 8(%rsi),%eax */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 "0: arg 0 +0xbb0 address 0\n"
	 "7: arg 0 +0xbb8 read 4\n"
	 "10: arg 0 +0x8 read 4\n"},
	{"add to a pointer",
	 CODE("\x48\x89\xfe" /* mov %rdi,%rsi */
	      "\x48\x81\xc6\xb0\x0b\x00\x00" /* add $0xbb0,%rsi */
	      "\x8b\x46\x08" /* mov 8(%rsi),%eax */),
	 "3: arg 0 +0xbb0 address 0\n"
	 "10: arg 0 +0xbb8 read 4\n"},
	{"add with a negative constant",
	 CODE("\x48\x83\xef\x80" /* sub $-0x80,%rdi */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x48\x83\xc7\x80" /* add $-0x80,%rdi */
	      "\x48\xff\xc7" /* inc %rdi */
	      "\x48\xff\xcf" /* dec %rdi */),
	 "0: arg 0 +0x80 address 0\n"
	 "4: arg 0 +0x88 read 4\n"
	 "7: arg 0 +0x0 address 0\n"
	 "11: arg 0 +0x1 address 0\n"
	 "14: arg 0 +0x0 address 0\n"},
	{"before the pointer",
	 CODE("\x48\x8d\x47\xd8" /* lea -0x28(%rdi),%rax */
	      "\x8b\x48\x20" /* mov 0x20(%rax),%ecx */
	      "\x8b\x48\x30" /* mov 0x30(%rax),%ecx */
	      "\x48\x8b\x10" /* mov (%rax),%rdx */
	      "\x8b\x0a" /* mov (%rdx),%ecx */),
	 "7: arg 0 +0x8 read 4\n"},
	{"32-bit addresses",
	 CODE("\x8d\x47\x08" /* lea 8(%rdi),%eax */
	      "\x8b\x48\x08" /* mov 8(%rax),%ecx */
	      "\x67\x8b\x4e\x08" /* mov 8(%esi),%ecx */
	      "\x67\x48\x8d\x42\x08" /* lea 8(%edx),%rax */
	      "\x8b\x48\x08" /* mov 8(%rax),%ecx */
	      "\x83\xc7\x08" /* add $8,%edi */
	      "\x8b\x07" /* mov (%rdi),%eax */
	      "\x67\x48\x8b\x0c\x25\x00\x10\x00\x00" /* addr32 mov 0x1000,%rcx */
	      "\x8b\x01" /* mov (%rcx),%eax */),
	 ""},
	{"an index register of 0",
	 CODE("\x48\x8b\x44\x27\x08" /* mov 8(%rdi,%riz),%rax */),
	 "0: arg 0 +0x8 read 8\n"},
	{"lea with an index",
	 CODE("\x48\x8d\x44\x37\x08" /* lea 8(%rdi,%rsi),%rax */
	      "\x8b\x08" /* mov (%rax),%ecx */
	      "\x8b\x4c\x37\x08" /* mov 8(%rdi,%rsi),%ecx */
	      "\x8b\x0c\xfd\x08\x00\x00\x00" /* mov 8(,%rdi,8),%ecx */
	      "\x48\x8d\x05\x00\x01\x00\x00" /* lea 0x100(%rip),%rax */
	      "\x8b\x08" /* mov (%rax),%ecx */),
	 ""},
	{"too far",
	 CODE("\x48\x8d\x87\xff\xff\xff\x7f" /* lea 0x7fffffff(%rdi),%rax */
	      "\x48\x8d\x80\xff\xff\xff\x7f" /* lea 0x7fffffff(%rax),%rax */
	      "\x8b\x08" /* mov (%rax),%ecx */),
	 "0: arg 0 +0x7fffffff address 0\n"},
	{"copy",
	 CODE("\x48\x89\xfb" /* mov %rdi,%rbx */
	      "\x49\x89\xdc" /* mov %rbx,%r12 */
	      "\x41\x8b\x44\x24\x08" /* mov 8(%r12),%eax */),
	 "6: arg 0 +0x8 read 4\n"},
	{"partial copies",
	 CODE("\x89\xf8" /* mov %edi,%eax */
	      "\x8b\x08" /* mov (%rax),%ecx */
	      "\x48\x63\xf6" /* movslq %esi,%rsi */
	      "\x8b\x0e" /* mov (%rsi),%ecx */
	      "\x88\xc2" /* mov %al,%dl */
	      "\x8b\x0a" /* mov (%rdx),%ecx */
	      "\x41\x89\xc0" /* mov %eax,%r8d */
	      "\x41\x8b\x08" /* mov (%r8),%ecx */
	      "\x88\xee" /* mov %ch,%dh */
	      "\x88\xe5" /* mov %ah,%ch */
	      "\x8a\x01" /* mov (%rcx),%al */),
	 ""},
	{"a value from the stack",
	 CODE("\x57" /* push %rdi */
	      "\x5e" /* pop %rsi */
	      "\x8b\x46\x08" /* mov 8(%rsi),%eax */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 "5: arg 0 +0x8 read 4\n"},
	{"stack of a member",
	 CODE("\x48\x89\x67\x18" /* mov %rsp,0x18(%rdi) */
	      "\x48\x8b\x66\x18" /* mov 0x18(%rsi),%rsp */
	      "\x8b\x44\x24\x08" /* mov 8(%rsp),%eax */
	      "\x52" /* push %rdx */
	      "\x8b\x44\x24\x08" /* mov 8(%rsp),%eax */
	      "\xeb\x03" /* jmp .+5 */),
	 "0: arg 0 +0x18 write 8\n"
	 "4: arg 1 +0x18 read 8\n"
	 "8: arg 1 ->0x18 +0x8 read 4\n"},
	{"operands of push and pop",
	 CODE("\xff\x77\x08" /* push 8(%rdi) */
	      "\x8f\x47\x10" /* pop 0x10(%rdi) */
	      "\xff\x74\x24\x08" /* push 8(%rsp) */
	      "\x8f\x00" /* pop (%rax) */),
	 "0: arg 0 +0x8 read 8\n"
	 "3: arg 0 +0x10 write 8\n"},
	{"kinds",
	 CODE("\x89\x47\x08" /* mov %eax,8(%rdi) */
	      "\x88\x47\x01" /* mov %al,1(%rdi) */
	      "\x66\x89\x47\x02" /* mov %ax,2(%rdi) */
	      "\x0f\xb6\x47\x03" /* movzbl 3(%rdi),%eax */
	      "\x0f\xb7\x47\x04" /* movzwl 4(%rdi),%eax */
	      "\x48\x63\x47\x08" /* movslq 8(%rdi),%rax */
	      "\x0f\xbe\x47\x05" /* movsbl 5(%rdi),%eax */
	      "\x48\x0f\x44\x47\x10" /* cmove 0x10(%rdi),%rax */
	      "\x0f\x94\x47\x06" /* sete 6(%rdi) */
	      "\xff\x47\x20" /* incl 0x20(%rdi) */
	      "\xd1\x67\x24" /* shll 0x24(%rdi) */
	      "\x48\x39\x47\x28" /* cmp %rax,0x28(%rdi) */
	      "\x48\x03\x47\x30" /* add 0x30(%rdi),%rax */
	      "\x48\x01\x47\x38" /* add %rax,0x38(%rdi) */
	      "\x0f\xaf\x47\x40" /* imul 0x40(%rdi),%eax */
	      "\x6b\x4f\x44\x03" /* imul $3,0x44(%rdi),%ecx */
	      "\x48\xf7\x6f\x48" /* imulq 0x48(%rdi) */
	      "\xf7\x67\x50" /* mull 0x50(%rdi) */
	      "\x48\xf7\x77\x58" /* divq 0x58(%rdi) */
	      "\xf6\x5f\x60" /* negb 0x60(%rdi) */
	      "\x0f\xc3\x47\x68" /* movnti %eax,0x68(%rdi) */),
	 "0: arg 0 +0x8 write 4\n"
	 "3: arg 0 +0x1 write 1\n"
	 "6: arg 0 +0x2 write 2\n"
	 "10: arg 0 +0x3 read 1\n"
	 "14: arg 0 +0x4 read 2\n"
	 "18: arg 0 +0x8 read 4\n"
	 "22: arg 0 +0x5 read 1\n"
	 "26: arg 0 +0x10 read 8\n"
	 "31: arg 0 +0x6 write 1\n"
	 "35: arg 0 +0x20 write 4\n"
	 "38: arg 0 +0x24 write 4\n"
	 "41: arg 0 +0x28 read 8\n"
	 "45: arg 0 +0x30 read 8\n"
	 "49: arg 0 +0x38 write 8\n"
	 "53: arg 0 +0x40 read 4\n"
	 "57: arg 0 +0x44 read 4\n"
	 "61: arg 0 +0x48 read 8\n"
	 "65: arg 0 +0x50 read 4\n"
	 "68: arg 0 +0x58 read 8\n"
	 "72: arg 0 +0x60 write 1\n"
	 "75: arg 0 +0x68 write 4\n"},
	{"atomic operations",
	 CODE("\xf0\x80\x4f\x01\x08" /* lock orb $0x8,0x1(%rdi) */
	      "\x3e\x80\x4f\x01\x08" /* ds orb $0x8,0x1(%rdi) */
	      "\xf0\xff\x47\x04" /* lock incl 0x4(%rdi) */
	      "\xf0\x0f\xc1\x47\x08" /* lock xadd %eax,0x8(%rdi) */
	      "\x48\x87\x47\x10" /* xchg %rax,0x10(%rdi) */
	      "\xf0\x48\x0f\xb1\x77\x18" /* lock cmpxchg %rsi,0x18(%rdi) */
	      "\xf0\x48\x0f\xc7\x4f\x20" /* lock cmpxchg16b 0x20(%rdi) */
	      "\x8b\x06" /* mov (%rsi),%eax */),
	 "0: arg 0 +0x1 write 1 mask 0x8\n"
	 "5: arg 0 +0x1 write 1 mask 0x8\n"
	 "10: arg 0 +0x4 write 4\n"
	 "14: arg 0 +0x8 write 4\n"
	 "19: arg 0 +0x10 write 8\n"
	 "23: arg 0 +0x18 write 8\n"
	 "29: arg 0 +0x20 write 16\n"
	 "35: arg 1 +0x0 read 4\n"},
	{"indirect calls and jumps",
	 CODE("\xff\x57\x08" /* call *8(%rdi) */
	      "\x8b\x07" /* mov (%rdi),%eax */
	      "\x65\x48\x8b\x0c\x25\x00\x01\x00\x00" /* mov %gs:0x100,%rcx */
	      "\xff\x61\x10" /* jmp *0x10(%rcx) */),
	 "0: arg 0 +0x8 read 8\n"
	 "14: percpu 0x100 +0x10 read 8\n"},
	{"no uses",
	 CODE("\x0f\x18\x4f\x08" /* prefetcht0 8(%rdi) */
	      "\x0f\x0d\x4f\x08" /* prefetchw 8(%rdi) */
	      "\x66\x0f\x1f\x47\x08" /* nopw 8(%rdi) */
	      "\x0f\x01\x7f\x08" /* invlpg 8(%rdi) */
	      "\x0f\xae\x7f\x08" /* clflush 8(%rdi) */
	      "\x0f\x00\x6f\x08" /* verw 8(%rdi) */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 "25: arg 0 +0x8 read 4\n"},
	{"string instructions",
	 CODE("\xf3\x48\xab" /* rep stosq */
	      "\x8b\x06" /* mov (%rsi),%eax */
	      "\x8b\x07" /* mov (%rdi),%eax */
	      "\x41\x8b\x00" /* mov (%r8),%eax */
	      "\x4c\x89\xc7" /* mov %r8,%rdi */
	      "\xaa" /* stosb */
	      "\x8b\x07" /* mov (%rdi),%eax */
	      "\x4c\x89\xc6" /* mov %r8,%rsi */
	      "\xad" /* lodsl */
	      "\x8b\x06" /* mov (%rsi),%eax */
	      "\x4c\x89\xc6" /* mov %r8,%rsi */
	      "\x4c\x89\xc7" /* mov %r8,%rdi */
	      "\xf3\xa4" /* rep movsb */
	      "\x8b\x06" /* mov (%rsi),%eax */
	      "\x8b\x07" /* mov (%rdi),%eax */),
	 "7: arg 4 +0x0 read 4\n"},
	{"masks",
	 CODE("\xf6\x47\x2e\x20" /* testb $0x20,0x2e(%rdi) */
	      "\xf7\x47\x2c\x00\x00\x20\x00" /* testl $0x200000,0x2c(%rdi) */
	      "\x83\x4f\x2c\x04" /* orl $4,0x2c(%rdi) */
	      "\x83\x67\x2c\xfe" /* andl $0xfffffffe,0x2c(%rdi) */
	      "\x83\x77\x2c\xff" /* xorl $-1,0x2c(%rdi) */
	      "\x66\x83\x7f\x10\xfe" /* cmpw $-2,0x10(%rdi) */
	      "\x48\x83\x7f\x18\xff" /* cmpq $-1,0x18(%rdi) */
	      "\x83\x47\x20\x01" /* addl $1,0x20(%rdi) */
	      "\x83\x6f\x20\x10" /* subl $0x10,0x20(%rdi) */
	      "\xc7\x47\x30\x07\x00\x00\x00" /* movl $7,0x30(%rdi) */
	      "\x48\xc7\x47\x38\xff\xff\xff\xff" /* movq $-1,0x38(%rdi) */
	      "\xc6\x47\x40\xff" /* movb $-1,0x40(%rdi) */),
	 "0: arg 0 +0x2e read 1 mask 0x20\n"
	 "4: arg 0 +0x2c read 4 mask 0x200000\n"
	 "11: arg 0 +0x2c write 4 mask 0x4\n"
	 "15: arg 0 +0x2c write 4 mask 0xfffffffe\n"
	 "19: arg 0 +0x2c write 4 mask 0xffffffff\n"
	 "23: arg 0 +0x10 read 2 mask 0xfffe\n"
	 "28: arg 0 +0x18 read 8 mask 0xffffffffffffffff\n"
	 "33: arg 0 +0x20 write 4 mask 0x1\n"
	 "37: arg 0 +0x20 write 4 mask 0x10\n"
	 "41: arg 0 +0x30 write 4 mask 0x7\n"
	 "48: arg 0 +0x38 write 8 mask 0xffffffffffffffff\n"
	 "56: arg 0 +0x40 write 1 mask 0xff\n"},
	{"numbers of bits",
	 CODE("\x48\x0f\xba\x6f\x08\x03" /* btsq $3,8(%rdi) */
	      "\x0f\xba\x77\x08\x1f" /* btrl $31,8(%rdi) */
	      "\x0f\xba\x67\x08\x05" /* btl $5,8(%rdi) */
	      "\xf0\x48\x0f\xba\x6f\x08\x3f" /* lock btsq $63,8(%rdi) */
	      "\x0f\xba\x7f\x08\x23" /* btcl $35,8(%rdi) */
	      "\x48\x0f\xab\x47\x08" /* bts %rax,8(%rdi) */
	      "\x0f\xa3\x47\x08" /* bt %eax,8(%rdi) */),
	 "0: arg 0 +0x8 write 8 mask 0x8\n"
	 "6: arg 0 +0x8 write 4 mask 0x80000000\n"
	 "11: arg 0 +0x8 read 4 mask 0x20\n"
	 "16: arg 0 +0x8 write 8 mask 0x8000000000000000\n"
	 "23: arg 0 +0x8 write 4 mask 0x8\n"},
	{"masks of read values",
	 CODE("\x8b\x57\x2c" /* mov 0x2c(%rdi),%edx */
	      "\xf7\xc2\x08\x00\x00\x00" /* test $8,%edx */
	      "\xf6\xc2\x04" /* test $4,%dl */
	      "\x0f\xba\xe2\x15" /* bt $21,%edx */
	      "\x83\xfa\xff" /* cmp $-1,%edx */
	      "\x83\xe2\x10" /* and $0x10,%edx */
	      "\xf7\xc2\x01\x00\x00\x00" /* test $1,%edx */),
	 "0: arg 0 +0x2c read 4\n"
	 "3: arg 0 +0x2c read 4 mask 0x8\n"
	 "9: arg 0 +0x2c read 4 mask 0x4\n"
	 "12: arg 0 +0x2c read 4 mask 0x200000\n"
	 "16: arg 0 +0x2c read 4 mask 0xffffffff\n"
	 "19: arg 0 +0x2c read 4 mask 0x10\n"},
	{"masks of read values, other lengths",
	 CODE("\x0f\xb6\x47\x08" /* movzbl 8(%rdi),%eax */
	      "\x83\xf8\x05" /* cmp $5,%eax */
	      "\xa9\x00\x01\x00\x00" /* test $0x100,%eax */
	      "\x8a\x4f\x09" /* mov 9(%rdi),%cl */
	      "\xf6\xc1\x01" /* test $1,%cl */
	      "\xf7\xc1\x01\x00\x00\x00" /* test $1,%ecx */
	      "\xf6\xc5\x01" /* test $1,%ch */
	      "\x8b\x57\x10" /* mov 0x10(%rdi),%edx */
	      "\x80\xfa\x01" /* cmp $1,%dl */
	      "\x0f\xbe\x57\x08" /* movsbl 8(%rdi),%edx */
	      "\xf7\xc2\x01\x00\x00\x00" /* test $1,%edx */),
	 "0: arg 0 +0x8 read 1\n"
	 "4: arg 0 +0x8 read 1 mask 0x5\n"
	 "12: arg 0 +0x9 read 1\n"
	 "15: arg 0 +0x9 read 1 mask 0x1\n"
	 "27: arg 0 +0x10 read 4\n"
	 "33: arg 0 +0x8 read 1\n"},
	{"sums of read values",
	 CODE("\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x48\x8d\x50\x04" /* lea 4(%rax),%rdx */
	      "\xf7\xc2\x01\x00\x00\x00" /* test $1,%edx */
	      "\x48\x89\xc1" /* mov %rax,%rcx */
	      "\xf7\xc1\x01\x00\x00\x00" /* test $1,%ecx */),
	 "0: arg 0 +0x8 read 4\n"
	 "16: arg 0 +0x8 read 4 mask 0x1\n"},
	{"masks of read pointers",
	 CODE("\x48\x8b\x47\x08" /* mov 8(%rdi),%rax */
	      "\xa8\x01" /* test $1,%al */
	      "\x48\x83\xc8\x02" /* or $2,%rax */
	      "\x48\x8b\x47\x08" /* mov 8(%rdi),%rax */
	      "\x48\x83\xc0\x08" /* add $8,%rax */
	      "\xa8\x01" /* test $1,%al */
	      "\x40\xf6\xc7\x01" /* test $1,%dil */
	      "\x65\x48\x8b\x0c\x25\x00\x01\x00\x00" /* mov %gs:0x100,%rcx */
	      "\xf6\xc1\x01" /* test $1,%cl */
	      "\x48\x8b\x47\x08" /* mov 8(%rdi),%rax */
	      "\x48\x83\xe8\x08" /* sub $8,%rax */
	      "\x8b\x48\x08" /* mov 8(%rax),%ecx */),
	 "0: arg 0 +0x8 read 8\n"
	 "4: arg 0 +0x8 read 8 mask 0x1\n"
	 "6: arg 0 +0x8 read 8 mask 0x2\n"
	 "10: arg 0 +0x8 read 8\n"
	 "14: arg 0 ->0x8 +0x8 address 0\n"
	 "36: arg 0 +0x8 read 8\n"
	 "44: arg 0 ->0x8 +0x0 read 4\n"},
	{"paths that agree",
	 CODE("\x85\xf6" /* test %esi,%esi */
	      "\x74\x05" /* je 1f */
	      "\x48\x89\xfb" /* mov %rdi,%rbx */
	      "\xeb\x03" /* jmp 2f */
	      "\x48\x89\xfb" /* mov %rdi,%rbx */
	      "\x8b\x43\x08" /* mov 8(%rbx),%eax */),
	 "12: arg 0 +0x8 read 4\n"},
	{"paths that differ",
	 CODE("\x48\x89\xfb" /* mov %rdi,%rbx */
	      "\x85\xd2" /* test %edx,%edx */
	      "\x74\x03" /* je 1f */
	      "\x48\x89\xf3" /* mov %rsi,%rbx */
	      "\x8b\x43\x08" /* mov 8(%rbx),%eax */
	      "\x8b\x46\x08" /* mov 8(%rsi),%eax */),
	 "13: arg 1 +0x8 read 4\n"},
	{"paths with different offsets",
	 CODE("\x85\xd2" /* test %edx,%edx */
	      "\x74\x04" /* je 1f */
	      "\x48\x83\xc7\x08" /* add $8,%rdi */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 "4: arg 0 +0x8 address 0\n"},
	{"a path that ends",
	 CODE("\x85\xd2" /* test %edx,%edx */
	      "\x74\x04" /* je 1f */
	      "\x48\x89\xf7" /* mov %rsi,%rdi */
	      "\xc3" /* ret */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x85\xd2" /* test %edx,%edx */
	      "\x74\x05" /* je 2f */
	      "\x48\x89\xf7" /* mov %rsi,%rdi */
	      "\x0f\x0b" /* ud2 */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x75\x05" /* jne 3f */
	      "\x48\x89\xf7" /* mov %rsi,%rdi */
	      "\xff\xe0" /* jmp *%rax */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x75\x04" /* jne 4f */
	      "\x48\x89\xf7" /* mov %rsi,%rdi */
	      "\xcc" /* int3 */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 "8: arg 0 +0x8 read 4\n"
	 "20: arg 0 +0x8 read 4\n"
	 "30: arg 0 +0x8 read 4\n"
	 "39: arg 0 +0x8 read 4\n"},
	{"nothing reached",
	 CODE("\xeb\x03" /* jmp 1f */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\xc3" /* ret */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 ""},
	{"a loop that keeps",
	 CODE("\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\xff\xce" /* dec %esi */
	      "\x75\xf9" /* jne 1b */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 "0: arg 0 +0x8 read 4\n"
	 "7: arg 0 +0x8 read 4\n"},
	{"a loop that changes",
	 CODE("\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x48\x8b\x7f\x08" /* mov 8(%rdi),%rdi */
	      "\x48\x89\xd6" /* mov %rdx,%rsi */
	      "\x48\x85\xff" /* test %rdi,%rdi */
	      "\x75\xf4" /* jne 1b */
	      "\x8b\x46\x08" /* mov 8(%rsi),%eax */),
	 "0: arg 0 +0x8 read 4\n"
	 "15: arg 2 +0x8 read 4\n"},
	{"a loop inside a loop",
	 CODE("\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x8b\x46\x08" /* mov 8(%rsi),%eax */
	      "\xff\xc9" /* dec %ecx */
	      "\x75\xf9" /* jne 2b */
	      "\x48\x89\xf7" /* mov %rsi,%rdi */
	      "\x48\x89\xd6" /* mov %rdx,%rsi */
	      "\xeb\xee" /* jmp 1b */),
	 ""},
	{"other jumps back",
	 CODE("\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x48\x8d\x7f\x08" /* lea 8(%rdi),%rdi */
	      "\xe2\xf7" /* loop 1b */
	      "\x8b\x46\x08" /* mov 8(%rsi),%eax */
	      "\x48\x8d\x76\x08" /* lea 8(%rsi),%rsi */
	      "\xe3\xf7" /* jrcxz 2b */
	      "\x8b\x46\x08" /* mov 8(%rsi),%eax */
	      "\x8b\x41\x08" /* mov 8(%rcx),%eax */),
	 ""},
	{"loop counts",
	 CODE("\xe2\x00" /* loop .+2 */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x8b\x41\x08" /* mov 8(%rcx),%eax */),
	 "2: arg 0 +0x8 read 4\n"},
	{"ud1 has operands",
	 CODE("\x74\x07" /* je 1f */
	      "\x48\x89\xf7" /* mov %rsi,%rdi */
	      "\x0f\xb9\x47\x08" /* ud1 8(%rdi),%eax */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 "9: arg 0 +0x8 read 4\n"},
	{"an instruction of known length",
	 CODE("\x0f\x01\xfe" /* invlpgb */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x65\x48\x8b\x04\x25\x00\x01\x00\x00" /* mov %gs:0x100,%rax */
	      "\x8b\x40\x08" /* mov 8(%rax),%eax */),
	 "15: percpu 0x100 +0x8 read 4\n"},
	{"a 16-bit jump",
	 CODE("\x8b\x47\x08" /* mov 0x8(%rdi),%eax */
	      "\x66\x0f\x84\x00\x00" /* je <_start+0x8> */
	      "\x00\x00" /* add %al,(%rax) */
	      "\x8b\x47\x08" /* mov 0x8(%rdi),%eax */),
	 "0: arg 0 +0x8 read 4\n"},
	{"a jump into an instruction",
	 CODE("\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\xeb\x01" /* jmp .+3 */
	      "\x89\xf7" /* mov %esi,%edi */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 "0: arg 0 +0x8 read 4\n"},
	{"a branch into an instruction",
	 CODE("\x74\x02" /* je .+4 */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x8b\x47\x04" /* mov 4(%rdi),%eax */),
	 "2: arg 0 +0x8 read 4\n"
	 "5: arg 0 +0x4 read 4\n"},
	{"jumps out",
	 CODE("\x0f\x84\xfa\x03\x00\x00" /* je .+0x400 */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\x0f\x85\xfa\xfb\xff\xff" /* jne .-0x400 */
	      "\x8b\x47\x04" /* mov 4(%rdi),%eax */
	      "\xe9\xfb\x0f\x00\x00" /* jmp .+0x1000 */
	      "\x8b\x07" /* mov (%rdi),%eax */),
	 "6: arg 0 +0x8 read 4\n"
	 "15: arg 0 +0x4 read 4\n"},
	{"a jump table",
	 CODE("\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\xff\x24\xc5\x00\x01\x00\x00" /* jmp *0x100(,%rax,8) */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 ""},
	{"call",
	 CODE("\x48\x89\xfb" /* mov %rdi,%rbx */
	      "\x48\x89\xf5" /* mov %rsi,%rbp */
	      "\x49\x89\xd4" /* mov %rdx,%r12 */
	      "\x49\x89\xcf" /* mov %rcx,%r15 */
	      "\xe8\xfb\x00\x00\x00" /* call .+0x100 */
	      "\x8a\x43\x01" /* mov 1(%rbx),%al */
	      "\x8a\x45\x02" /* mov 2(%rbp),%al */
	      "\x41\x8a\x44\x24\x03" /* mov 3(%r12),%al */
	      "\x41\x8a\x47\x04" /* mov 4(%r15),%al */
	      "\x8a\x47\x05" /* mov 5(%rdi),%al */
	      "\x8a\x46\x05" /* mov 5(%rsi),%al */
	      "\x8a\x42\x05" /* mov 5(%rdx),%al */
	      "\x8a\x41\x05" /* mov 5(%rcx),%al */
	      "\x41\x8a\x40\x05" /* mov 5(%r8),%al */
	      "\x41\x8a\x41\x05" /* mov 5(%r9),%al */),
	 "17: arg 0 +0x1 read 1\n"
	 "20: arg 1 +0x2 read 1\n"
	 "23: arg 2 +0x3 read 1\n"
	 "28: arg 3 +0x4 read 1\n"},
	{"registers changed by a call",
	 CODE("\x48\x89\xf8" /* mov %rdi,%rax */
	      "\x49\x89\xfa" /* mov %rdi,%r10 */
	      "\x49\x89\xfb" /* mov %rdi,%r11 */
	      "\xff\xd0" /* call *%rax */
	      "\x8a\x48\x05" /* mov 5(%rax),%cl */
	      "\x41\x8a\x4a\x05" /* mov 5(%r10),%cl */
	      "\x41\x8a\x4b\x05" /* mov 5(%r11),%cl */),
	 ""},
	{"call at the start",
	 CODE("\xe8\xfb\x00\x00\x00" /* call .+0x100 */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\xe8\xfb\x00\x00\x00" /* call .+0x100 */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 "5: arg 0 +0x8 read 4\n"},
	{"call after endbr64",
	 CODE("\xf3\x0f\x1e\xfa" /* endbr64 */
	      "\xe8\xfb\x00\x00\x00" /* call .+0x100 */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */
	      "\xe8\xfb\x00\x00\x00" /* call .+0x100 */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 "9: arg 0 +0x8 read 4\n"},
	{"call after a nop",
	 CODE("\x0f\x1f\x04\x00" /* nopl 0(%rax,%rax,1) */
	      "\xe8\xfb\x00\x00\x00" /* call .+0x100 */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 ""},
	{"nops",
	 CODE("\xf3\x0f\x1e\xfa" /* endbr64 */
	      "\x0f\x1f\x04\x00" /* nopl 0(%rax,%rax,1) */
	      "\x66\x90" /* xchg %ax,%ax */
	      "\x90" /* nop */
	      "\x8b\x47\x08" /* mov 8(%rdi),%eax */),
	 "11: arg 0 +0x8 read 4\n"},
};
/* clang-format on */

static struct hv_span code_of(const struct row *row)
{
	return (struct hv_span){(const uint8_t *)row->code, row->len};
}

/* _i: the row */
START_TEST(uses_are_followed)
{
	const struct row *row = &rows[_i];
	struct uses uses = uses_of(code_of(row));

	ck_assert_msg(!strcmp(uses.text, row->uses), "%s: expected\n%sbut found\n%s", row->what,
		      row->uses, uses.text);
}
END_TEST

/* -- limits ------------------------------------------------------------------------------------ */

static void count(void *ctx, const struct hv_member_use *use)
{
	struct uses *uses = ctx;

	ck_assert_uint_gt(use->insn.v, uses->last);
	ck_assert_uint_le(use->nr_steps, HV_MEMBER_STEPS_MAX);
	if (use->kind == HV_MEMBER_ADDRESS)
		ck_assert_uint_eq(use->len_bytes, 0);
	else
		ck_assert_uint_gt(use->len_bytes, 0);
	if (use->has_mask && use->len_bytes < 8)
		ck_assert_uint_eq(use->mask >> 8 * use->len_bytes, 0);
	uses->last = use->insn.v;
	uses->nr++;
}

static struct uses count_uses(const uint8_t *code, size_t len)
{
	struct uses uses = {.last = FUNCTION - 1};
	uint8_t *copy = malloc(len ? len : 1); /* reads after its end are found */

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, code, len);
	hv_arch_x86_64.follow_members((struct hv_span){copy, len}, hv_gva(FUNCTION), count, &uses);
	free(copy);
	return uses;
}

#define LOAD "\x8b\x47\x08" /* mov 8(%rdi),%eax */

/* Unknown bytes end the function, and so does an instruction that is cut. */
START_TEST(unknown_code_ends)
{
	static const uint8_t unknown[] = LOAD "\x06" LOAD;
	static const uint8_t jump_there[] = "\x74\x04" LOAD "\x06" LOAD LOAD;
	static const uint8_t cut[] = LOAD LOAD;

	ck_assert_uint_eq(count_uses(unknown, sizeof(unknown) - 1).nr, 1);
	ck_assert_uint_eq(count_uses(jump_there, sizeof(jump_there) - 1).nr, 1);
	for (size_t len = 0; len <= 6; len++)
		ck_assert_uint_eq(count_uses(cut, len).nr, len / 3);
	ck_assert_uint_eq(count_uses((const uint8_t *)"", 0).nr, 0);
}
END_TEST

/* At most 1,024 instructions and 4 KiB are followed. */
START_TEST(long_functions_are_cut)
{
	static uint8_t code[3 * 4096];

	for (size_t i = 0; i < sizeof(code); i += 3)
		memcpy(code + i, LOAD, 3);
	ck_assert_uint_eq(count_uses(code, sizeof(code)).nr, 1024);
	for (size_t i = 0; i + 7 <= sizeof(code); i += 7) /* mov 0x100(%rdi),%rax */
		memcpy(code + i, "\x48\x8b\x87\x00\x01\x00\x00", 7);
	ck_assert_uint_eq(count_uses(code, sizeof(code)).nr, 4096 / 7);
}
END_TEST

/* Each branch jumps far back or continues at the next instruction. */
START_TEST(many_branches_end)
{
	static uint8_t code[3410]; /* 1,023 instructions */

	for (size_t i = 0; i < sizeof(code); i += 10) {
		int32_t back = -(int32_t)(i / 2 / 10 * 10) - 10;

		memcpy(code + i, LOAD "\x90\x0f\x85", 6); /* jne */
		memcpy(code + i + 6, &back, sizeof(back));
	}
	ck_assert_uint_eq(count_uses(code, sizeof(code)).nr, 341);
	/* The last instruction changes the pointer before it jumps to the first one. */
	memcpy(code + 3400, "\x48\xff\xc7\x90\xe9\xaf\xf2\xff\xff\x90", 10); /* inc %rdi; jmp */
	ck_assert_uint_eq(count_uses(code, sizeof(code)).nr, 0);
}
END_TEST

static uint32_t random_state;

static uint8_t random_byte(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint8_t)(random_state >> 24);
}

START_TEST(random_bytes_end)
{
	uint8_t code[256];

	random_state = 1;
	for (unsigned i = 0; i < 1000; i++) {
		size_t len = random_byte();

		for (size_t at = 0; at < len; at++)
			code[at] = random_byte();
		count_uses(code, len);
	}
}
END_TEST

/* All rows in a sequence, with changed bytes. */
START_TEST(changed_code_ends)
{
	static uint8_t code[4096], changed[4096];
	size_t len = 0, nr = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(rows); i++) {
		ck_assert_uint_le(len + rows[i].len, sizeof(code));
		memcpy(code + len, rows[i].code, rows[i].len);
		len += rows[i].len;
	}
	random_state = 2;
	for (unsigned i = 0; i < 1000; i++) {
		size_t from = (size_t)random_byte() * len / 256;

		memcpy(changed, code, len);
		for (unsigned n = random_byte() % 16; n; n--)
			changed[from + ((size_t)random_byte() * 256 + random_byte()) %
					       (len - from)] = random_byte();
		nr += count_uses(changed + from, len - from).nr;
	}
	ck_assert_uint_gt(nr, 1000);
}
END_TEST

START_TEST(lists_uses_of_unknown_pointers)
{
	static const uint8_t code[] = {
		0x48, 0x8d, 0x82, 0x58, 0xf4, 0xff, 0xff, /* lea -0xba8(%rdx), %rax */
		0xf0, 0x80, 0x48, 0x08, 0x02,		  /* lock orb $2, 8(%rax) */
		0x48, 0x8b, 0x44, 0x24, 0x08,		  /* mov 8(%rsp), %rax */
		0x4c, 0x8b, 0x25, 0x00, 0x01, 0x00, 0x00, /* mov 0x100(%rip), %r12 */
		0xc3,
	};
	HV_AUTO_FREE char *variable = hv_format("address 0x%llx +0x0 read 8\n",
						(unsigned long long)FUNCTION + 24 + 0x100);
	struct uses uses = {0};

	hv_arch_x86_64.list_uses((struct hv_span){code, sizeof(code)}, hv_gva(FUNCTION), note,
				 &uses);
	ck_assert_ptr_nonnull(strstr(uses.text, variable));
	*strstr(uses.text, variable) = 0;
	ck_assert_ptr_null(strstr(uses.text, "read"));
	ck_assert_ptr_nonnull(strstr(uses.text, "+0xfffff458 address 0"));
	ck_assert_ptr_nonnull(strstr(uses.text, "+0x8 write 1 mask 0x2"));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, lists_uses_of_unknown_pointers);
	tcase_add_loop_test(tc, uses_are_followed, 0, (int)HV_ARRAY_LEN(rows));
	tcase_add_test(tc, unknown_code_ends);
	tcase_add_test(tc, long_functions_are_cut);
	tcase_add_test(tc, many_branches_end);
	tcase_add_test(tc, random_bytes_end);
	tcase_add_test(tc, changed_code_ends);
}

int main(void)
{
	return run_suite("members", add_tests);
}
