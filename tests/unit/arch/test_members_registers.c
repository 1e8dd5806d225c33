/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of structures that x86-64 functions use: which registers an instruction makes unknown. */
#include <check.h>
#include <string.h>

#include "arch/x86_64/x86_64.h"
#include "tests/lib/run_suite.h"

#define FUNCTION UINT64_C(0xffffffff81000000)

#define CODE(bytes) (bytes), sizeof(bytes) - 1

static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
				    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

#define ALL	     "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15"
#define CALLER_SAVED "rax rcx rdx rsi rdi r8 r9 r10 r11"
#define STRING	     "rax rcx rsi rdi" /* changed by string instructions */

/* clang-format off */
static const struct {
	const char *code;
	size_t len;
	const char *changed;
} changes[] = {
	{CODE("\xbf\x00\x00\x00\x00"), "rdi"}, /* mov $0,%edi */
	{CODE("\x48\x8b\x38"), "rdi"}, /* mov (%rax),%rdi */
	{CODE("\x89\xc7"), "rdi"}, /* mov %eax,%edi */
	{CODE("\x66\x89\xc7"), "rdi"}, /* mov %ax,%di */
	{CODE("\x40\x88\xc7"), "rdi"}, /* mov %al,%dil */
	{CODE("\x0f\xb6\xf8"), "rdi"}, /* movzbl %al,%edi */
	{CODE("\x48\x63\xff"), "rdi"}, /* movslq %edi,%rdi */
	{CODE("\x66\x0f\xbe\xf8"), "rdi"}, /* movsbw %al,%di */
	{CODE("\x48\x8d\x7c\x08\x08"), "rdi"}, /* lea 8(%rax,%rcx),%rdi */
	{CODE("\x8d\x7f\x08"), "rdi"}, /* lea 8(%rdi),%edi */
	{CODE("\x48\x01\xc7"), "rdi"}, /* add %rax,%rdi */
	{CODE("\x83\xc7\x08"), "rdi"}, /* add $8,%edi */
	{CODE("\x48\x2b\x7e\x08"), "rdi"}, /* sub 8(%rsi),%rdi */
	{CODE("\x48\x83\xe7\xc0"), "rdi"}, /* and $-64,%rdi */
	{CODE("\x48\x83\xcf\x01"), "rdi"}, /* or $1,%rdi */
	{CODE("\x31\xff"), "rdi"}, /* xor %edi,%edi */
	{CODE("\x48\xc1\xe7\x03"), "rdi"}, /* shl $3,%rdi */
	{CODE("\x48\xd1\xef"), "rdi"}, /* shr %rdi */
	{CODE("\x48\xd3\xff"), "rdi"}, /* sar %cl,%rdi */
	{CODE("\x48\xd1\xc7"), "rdi"}, /* rol $1,%rdi */
	{CODE("\xd1\xcf"), "rdi"}, /* ror $1,%edi */
	{CODE("\xd1\xd7"), "rdi"}, /* rcl $1,%edi */
	{CODE("\xd1\xdf"), "rdi"}, /* rcr $1,%edi */
	{CODE("\x48\xf7\xd7"), "rdi"}, /* not %rdi */
	{CODE("\x48\xf7\xdf"), "rdi"}, /* neg %rdi */
	{CODE("\xff\xc7"), "rdi"}, /* incl %edi */
	{CODE("\x66\xff\xcf"), "rdi"}, /* dec %di */
	{CODE("\x48\x0f\xcf"), "rdi"}, /* bswap %rdi */
	{CODE("\x48\x83\xd7\x00"), "rdi"}, /* adc $0,%rdi */
	{CODE("\x48\x19\xff"), "rdi"}, /* sbb %rdi,%rdi */
	{CODE("\x48\x0f\xbc\xf8"), "rdi"}, /* bsf %rax,%rdi */
	{CODE("\x48\x0f\xbd\xf8"), "rdi"}, /* bsr %rax,%rdi */
	{CODE("\xf3\x48\x0f\xbc\xf8"), "rdi"}, /* tzcnt %rax,%rdi */
	{CODE("\xf3\x48\x0f\xbd\xf8"), "rdi"}, /* lzcnt %rax,%rdi */
	{CODE("\xf3\x48\x0f\xb8\xf8"), "rdi"}, /* popcnt %rax,%rdi */
	{CODE("\x48\x0f\xba\xef\x03"), "rdi"}, /* bts $3,%rdi */
	{CODE("\x48\x0f\xb3\xc7"), "rdi"}, /* btr %rax,%rdi */
	{CODE("\x48\x0f\xba\xff\x01"), "rdi"}, /* btc $1,%rdi */
	{CODE("\x48\x0f\xa4\xf7\x03"), "rdi"}, /* shld $3,%rsi,%rdi */
	{CODE("\x48\x0f\xad\xf7"), "rdi"}, /* shrd %cl,%rsi,%rdi */
	{CODE("\x48\x0f\x38\xf0\x7e\x08"), "rdi"}, /* movbe 8(%rsi),%rdi */
	{CODE("\x0f\x20\xdf"), "rdi"}, /* mov %cr3,%rdi */
	{CODE("\x0f\x21\xff"), "rdi"}, /* mov %db7,%rdi */
	{CODE("\x8c\xdf"), "rdi"}, /* mov %ds,%edi */
	{CODE("\x87\x7e\x08"), "rdi"}, /* xchg %edi,8(%rsi) */
	{CODE("\x48\x0f\xc1\x3e"), "rdi"}, /* xadd %rdi,(%rsi) */
	{CODE("\xc1\xf7\x03"), "rdi"}, /* sal $3,%edi */
	{CODE("\x48\x0f\x47\x7e\x08"), "rdi"}, /* cmova 8(%rsi),%rdi */
	{CODE("\x41\x0f\x97\xc4"), "r12"}, /* seta %r12b */
	{CODE("\x48\x0f\x43\x7e\x08"), "rdi"}, /* cmovae 8(%rsi),%rdi */
	{CODE("\x41\x0f\x93\xc4"), "r12"}, /* setae %r12b */
	{CODE("\x48\x0f\x42\x7e\x08"), "rdi"}, /* cmovb 8(%rsi),%rdi */
	{CODE("\x41\x0f\x92\xc4"), "r12"}, /* setb %r12b */
	{CODE("\x48\x0f\x46\x7e\x08"), "rdi"}, /* cmovbe 8(%rsi),%rdi */
	{CODE("\x41\x0f\x96\xc4"), "r12"}, /* setbe %r12b */
	{CODE("\x48\x0f\x44\x7e\x08"), "rdi"}, /* cmove 8(%rsi),%rdi */
	{CODE("\x41\x0f\x94\xc4"), "r12"}, /* sete %r12b */
	{CODE("\x48\x0f\x4f\x7e\x08"), "rdi"}, /* cmovg 8(%rsi),%rdi */
	{CODE("\x41\x0f\x9f\xc4"), "r12"}, /* setg %r12b */
	{CODE("\x48\x0f\x4d\x7e\x08"), "rdi"}, /* cmovge 8(%rsi),%rdi */
	{CODE("\x41\x0f\x9d\xc4"), "r12"}, /* setge %r12b */
	{CODE("\x48\x0f\x4c\x7e\x08"), "rdi"}, /* cmovl 8(%rsi),%rdi */
	{CODE("\x41\x0f\x9c\xc4"), "r12"}, /* setl %r12b */
	{CODE("\x48\x0f\x4e\x7e\x08"), "rdi"}, /* cmovle 8(%rsi),%rdi */
	{CODE("\x41\x0f\x9e\xc4"), "r12"}, /* setle %r12b */
	{CODE("\x48\x0f\x45\x7e\x08"), "rdi"}, /* cmovne 8(%rsi),%rdi */
	{CODE("\x41\x0f\x95\xc4"), "r12"}, /* setne %r12b */
	{CODE("\x48\x0f\x41\x7e\x08"), "rdi"}, /* cmovno 8(%rsi),%rdi */
	{CODE("\x41\x0f\x91\xc4"), "r12"}, /* setno %r12b */
	{CODE("\x48\x0f\x4b\x7e\x08"), "rdi"}, /* cmovnp 8(%rsi),%rdi */
	{CODE("\x41\x0f\x9b\xc4"), "r12"}, /* setnp %r12b */
	{CODE("\x48\x0f\x49\x7e\x08"), "rdi"}, /* cmovns 8(%rsi),%rdi */
	{CODE("\x41\x0f\x99\xc4"), "r12"}, /* setns %r12b */
	{CODE("\x48\x0f\x40\x7e\x08"), "rdi"}, /* cmovo 8(%rsi),%rdi */
	{CODE("\x41\x0f\x90\xc4"), "r12"}, /* seto %r12b */
	{CODE("\x48\x0f\x4a\x7e\x08"), "rdi"}, /* cmovp 8(%rsi),%rdi */
	{CODE("\x41\x0f\x9a\xc4"), "r12"}, /* setp %r12b */
	{CODE("\x48\x0f\x48\x7e\x08"), "rdi"}, /* cmovs 8(%rsi),%rdi */
	{CODE("\x41\x0f\x98\xc4"), "r12"}, /* sets %r12b */
	{CODE("\x4c\x6b\xef\x03"), "rax rdx r13"}, /* imul $3,%rdi,%r13 */
	{CODE("\x4c\x0f\xaf\xf6"), "rax rdx r14"}, /* imul %rsi,%r14 */
	{CODE("\x48\xf7\xee"), "rax rdx"}, /* imul %rsi */
	{CODE("\x48\xf7\xe7"), "rax rdx"}, /* mul %rdi */
	{CODE("\x48\xf7\xf7"), "rax rdx"}, /* div %rdi */
	{CODE("\xf7\xff"), "rax rdx"}, /* idiv %edi */
	{CODE("\x4d\x87\xf8"), "r8 r15"}, /* xchg %r15,%r8 */
	{CODE("\x4d\x0f\xc1\xca"), "r9 r10"}, /* xadd %r9,%r10 */
	{CODE("\x49\x0f\xb1\xf3"), "rax r11"}, /* cmpxchg %rsi,%r11 */
	{CODE("\xf0\x48\x0f\xb1\x7e\x08"), "rax"}, /* lock cmpxchg %rdi,8(%rsi) */
	{CODE("\x0f\xc7\x0e"), "rax rdx"}, /* cmpxchg8b (%rsi) */
	{CODE("\xf0\x48\x0f\xc7\x0e"), "rax rdx"}, /* lock cmpxchg16b (%rsi) */
	{CODE("\x57"), "rsp"}, /* push %rdi */
	{CODE("\x6a\x08"), "rsp"}, /* push $8 */
	{CODE("\x5b"), "rbx rsp"}, /* pop %rbx */
	{CODE("\x66\x5d"), "rsp rbp"}, /* pop %bp */
	{CODE("\x9c"), "rsp"}, /* pushf */
	{CODE("\x9d"), "rsp"}, /* popf */
	{CODE("\x66\x9c"), "rsp"}, /* pushfw */
	{CODE("\x66\x9d"), "rsp"}, /* popfw */
	{CODE("\xc9"), "rsp rbp"}, /* leave */
	{CODE("\x48\x98"), "rax"}, /* cltq */
	{CODE("\x98"), "rax"}, /* cwtl */
	{CODE("\x66\x98"), "rax"}, /* cbtw */
	{CODE("\x48\x99"), "rdx"}, /* cqto */
	{CODE("\x99"), "rdx"}, /* cltd */
	{CODE("\x66\x99"), "rdx"}, /* cwtd */
	{CODE("\x0f\x31"), "rax rdx"}, /* rdtsc */
	{CODE("\x0f\x01\xf9"), "rax rcx rdx"}, /* rdtscp */
	{CODE("\x0f\x32"), "rax rdx"}, /* rdmsr */
	{CODE("\x0f\xa2"), "rax rcx rdx rbx"}, /* cpuid */
	{CODE("\xa4"), STRING}, /* movsb */
	{CODE("\x66\xa5"), STRING}, /* movsw */
	{CODE("\xa5"), STRING}, /* movsl */
	{CODE("\x48\xa5"), STRING}, /* movsq */
	{CODE("\xaa"), STRING}, /* stosb */
	{CODE("\x66\xab"), STRING}, /* stosw */
	{CODE("\xab"), STRING}, /* stosl */
	{CODE("\x48\xab"), STRING}, /* stosq */
	{CODE("\xac"), STRING}, /* lodsb */
	{CODE("\x66\xad"), STRING}, /* lodsw */
	{CODE("\xad"), STRING}, /* lodsl */
	{CODE("\x48\xad"), STRING}, /* lodsq */
	{CODE("\xae"), STRING}, /* scasb */
	{CODE("\x66\xaf"), STRING}, /* scasw */
	{CODE("\xaf"), STRING}, /* scasl */
	{CODE("\x48\xaf"), STRING}, /* scasq */
	{CODE("\xa6"), STRING}, /* cmpsb */
	{CODE("\x66\xa7"), STRING}, /* cmpsw */
	{CODE("\xa7"), STRING}, /* cmpsl */
	{CODE("\x48\xa7"), STRING}, /* cmpsq */
	{CODE("\xf3\x48\xab"), STRING}, /* rep stosq */
	{CODE("\xf3\xa4"), STRING}, /* rep movsb */
	{CODE("\xff\x56\x08"), CALLER_SAVED}, /* call *8(%rsi) */
	{CODE("\xe8\xfb\x00\x00\x00"), CALLER_SAVED}, /* call .+0x100 */
	{CODE("\xff\xd7"), CALLER_SAVED}, /* call *%rdi */
	{CODE("\xe2\x0e"), "rcx"}, /* loop .+0x10 */
	{CODE("\xe3\x0e"), "rcx"}, /* jrcxz .+0x10 */
	{CODE("\x48\x0f\xc7\xf7"), ALL}, /* rdrand %rdi */
	{CODE("\x0f\xc7\xff"), ALL}, /* rdseed %edi */
	{CODE("\xf3\x48\x0f\xae\xcf"), ALL}, /* rdgsbase %rdi */
	{CODE("\x0f\x00\xcf"), ALL}, /* str %edi */
	{CODE("\x0f\x01\xe7"), ALL}, /* smsw %edi */
	{CODE("\x0f\x03\xf8"), ALL}, /* lsl %ax,%edi */
	{CODE("\x0f\x02\xf8"), ALL}, /* lar %eax,%edi */
	{CODE("\xf2\x0f\x38\xf0\xf8"), ALL}, /* crc32b %al,%edi */
	{CODE("\x0f\x78\xc7"), ALL}, /* vmread %rax,%rdi */
	{CODE("\x66\x48\x0f\x7e\xc7"), ALL}, /* movq %xmm0,%rdi */
	{CODE("\x0f\x50\xf8"), ALL}, /* movmskps %xmm0,%edi */
	{CODE("\xf2\x48\x0f\x2c\xf8"), ALL}, /* cvttsd2si %xmm0,%rdi */
	{CODE("\x66\x0f\xc5\xf8\x01"), ALL}, /* pextrw $1,%xmm0,%edi */
	{CODE("\xc4\xe1\xf9\x7e\xc7"), ALL}, /* vmovq %xmm0,%rdi */
	{CODE("\xc4\xe2\xc8\xf2\xf8"), ALL}, /* andn %rax,%rsi,%rdi */
	{CODE("\xc4\xe2\xf9\xf7\xfe"), ALL}, /* shlx %rax,%rsi,%rdi */
	{CODE("\xc4\xe2\xcb\xf6\xf8"), ALL}, /* mulx %rax,%rsi,%rdi */
	{CODE("\xc4\xe2\xf8\xf7\xfe"), ALL}, /* bextr %rax,%rsi,%rdi */
	{CODE("\xf3\x0f\xc7\xff"), ALL}, /* rdpid %rdi */
	{CODE("\x0f\x01\xc1"), ALL}, /* vmcall */
	{CODE("\x0f\x01\xd9"), ALL}, /* vmmcall */
	{CODE("\x0f\x01\xc3"), ALL}, /* vmresume */
	{CODE("\x0f\x05"), ALL}, /* syscall */
	{CODE("\xcd\x80"), ALL}, /* int $0x80 */
	{CODE("\x6c"), ALL}, /* insb */
	{CODE("\x0f\x01\xd0"), ALL}, /* xgetbv */
	{CODE("\xec"), ALL}, /* in %dx,%al */
	{CODE("\xd7"), ALL}, /* xlatb */
	{CODE("\x0f\x1f\xc0"), ALL}, /* nop %eax */
	{CODE("\x0f\x0d\x07"), ALL}, /* prefetch (%rdi) */
	{CODE("\x9f"), ALL}, /* lahf */
	{CODE("\xc8\x08\x00\x00"), ALL}, /* enter $8,$0 */
	{CODE("\x0f\x33"), ALL}, /* rdpmc */
	{CODE("\x48\x89\x7e\x08"), ""}, /* mov %rdi,8(%rsi) */
	{CODE("\xc7\x46\x08\x01\x00\x00\x00"), ""}, /* movl $1,8(%rsi) */
	{CODE("\x48\x0f\xc3\x46\x08"), ""}, /* movnti %rax,8(%rsi) */
	{CODE("\x48\x39\xc7"), ""}, /* cmp %rax,%rdi */
	{CODE("\x48\x83\xff\x08"), ""}, /* cmp $8,%rdi */
	{CODE("\x48\x85\xff"), ""}, /* test %rdi,%rdi */
	{CODE("\x40\xf6\xc7\x01"), ""}, /* test $1,%dil */
	{CODE("\x48\x0f\xba\xe7\x03"), ""}, /* bt $3,%rdi */
	{CODE("\x48\x0f\xa3\xc7"), ""}, /* bt %rax,%rdi */
	{CODE("\x48\x3b\x7e\x08"), ""}, /* cmp 8(%rsi),%rdi */
	{CODE("\xfa"), ""}, /* cli */
	{CODE("\xfb"), ""}, /* sti */
	{CODE("\xfc"), ""}, /* cld */
	{CODE("\xfd"), ""}, /* std */
	{CODE("\xf8"), ""}, /* clc */
	{CODE("\xf9"), ""}, /* stc */
	{CODE("\xf5"), ""}, /* cmc */
	{CODE("\x90"), ""}, /* nop */
	{CODE("\x66\x0f\x1f\x00"), ""}, /* nopw 0(%rax) */
	{CODE("\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), ""}, /* nopw with 6 prefixes */
	{CODE("\xf3\x0f\x1e\xfa"), ""}, /* endbr64 */
	{CODE("\xf3\x90"), ""}, /* pause */
	{CODE("\x0f\xae\xe8"), ""}, /* lfence */
	{CODE("\x0f\xae\xf0"), ""}, /* mfence */
	{CODE("\x0f\xae\xf8"), ""}, /* sfence */
	{CODE("\xf4"), ""}, /* hlt */
	{CODE("\x0f\x01\xcb"), ""}, /* stac */
	{CODE("\x0f\x01\xca"), ""}, /* clac */
	{CODE("\x0f\x01\xf8"), ""}, /* swapgs */
	{CODE("\x0f\x30"), ""}, /* wrmsr */
	{CODE("\xf0\xff\x46\x08"), ""}, /* lock incl 8(%rsi) */
	{CODE("\x83\x4e\x08\x01"), ""}, /* orl $1,8(%rsi) */
	{CODE("\x65\xff\x04\x25\x00\x01\x00\x00"), ""}, /* incl %gs:0x100 */
	{CODE("\x65\xff\x0d\x00\x01\x00\x00"), ""}, /* decl %gs:0x100(%rip) */
	{CODE("\x0f\x22\xdf"), ""}, /* mov %rdi,%cr3 */
	{CODE("\x8e\xdf"), ""}, /* mov %edi,%ds */
	{CODE("\x66\x0f\x38\x82\x3e"), ""}, /* invpcid (%rsi),%rdi */
	{CODE("\x0f\x01\x3f"), ""}, /* invlpg (%rdi) */
	{CODE("\x0f\x0d\x0f"), ""}, /* prefetchw (%rdi) */
	{CODE("\x0f\x18\x0f"), ""}, /* prefetcht0 (%rdi) */
	{CODE("\x0f\x18\x17"), ""}, /* prefetcht1 (%rdi) */
	{CODE("\x0f\x18\x1f"), ""}, /* prefetcht2 (%rdi) */
	{CODE("\x0f\x18\x07"), ""}, /* prefetchnta (%rdi) */
	{CODE("\x0f\xae\x3f"), ""}, /* clflush (%rdi) */
	{CODE("\x66\x0f\xae\x3f"), ""}, /* clflushopt (%rdi) */
	{CODE("\x66\x0f\xae\x37"), ""}, /* clwb (%rdi) */
	{CODE("\x0f\x09"), ""}, /* wbinvd */
	{CODE("\x0f\x06"), ""}, /* clts */
	{CODE("\x0f\x84\xfa\x00\x00\x00"), ""}, /* je .+0x100 */
	{CODE("\x0f\x00\x6e\x08"), ""}, /* verw 8(%rsi) */
	{CODE("\xee"), ""}, /* out %al,%dx */
	{CODE("\x0f\x94\x46\x08"), ""}, /* sete 8(%rsi) */
};
/* clang-format on */

/* mov %rdi,REG */
static size_t put_copy(uint8_t *code, unsigned reg)
{
	code[0] = reg < 8 ? 0x48 : 0x49;
	code[1] = 0x89;
	code[2] = (uint8_t)(0xf8 | (reg & 7));
	return 3;
}

/* cmpb $0,N(REG) with the number of the register as N. rsp and r12 have a SIB byte. */
static size_t put_use(uint8_t *code, unsigned reg)
{
	size_t len = 0;

	code[len++] = reg < 8 ? 0x40 : 0x41;
	code[len++] = 0x80;
	code[len++] = (uint8_t)(0x78 | (reg & 7));
	if ((reg & 7) == 4)
		code[len++] = 0x24;
	code[len++] = (uint8_t)reg;
	code[len++] = 0;
	return len;
}

static void note_register(void *ctx, const struct hv_member_use *use)
{
	unsigned *kept = ctx;

	/* The tested instruction may use a member, too. */
	if (use->has_mask && use->kind == HV_MEMBER_READ && !use->mask && !use->nr_steps)
		*kept |= 1u << use->off;
}

/* All registers point to a structure. After the instruction, only unchanged ones still do.
 * _i: the instruction */
START_TEST(changed_registers_are_forgotten)
{
	char changed[128] = "";
	unsigned kept = 0;
	uint8_t code[256];
	size_t len = 0;

	for (unsigned reg = 0; reg < HV_ARRAY_LEN(names); reg++)
		len += put_copy(code + len, reg);
	memcpy(code + len, changes[_i].code, changes[_i].len);
	len += changes[_i].len;
	for (unsigned reg = 0; reg < HV_ARRAY_LEN(names); reg++)
		len += put_use(code + len, reg);
	ck_assert_uint_le(len, sizeof(code));
	hv_arch_x86_64.follow_members((struct hv_span){code, len}, hv_gva(FUNCTION), note_register,
				      &kept);
	for (unsigned reg = 0; reg < HV_ARRAY_LEN(names); reg++)
		if (!(kept & 1u << reg)) {
			strcat(changed, *changed ? " " : "");
			strcat(changed, names[reg]);
		}
	ck_assert_str_eq(changed, changes[_i].changed);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, changed_registers_are_forgotten, 0, (int)HV_ARRAY_LEN(changes));
}

int main(void)
{
	return run_suite("members_registers", add_tests);
}
