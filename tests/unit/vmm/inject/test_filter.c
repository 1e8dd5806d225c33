/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a seccomp filter decides. Random programs are also given to the kernel, which must decide the
 * same where the result is definite. */
#include <check.h>
#include <errno.h>
#include <linux/audit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guard.h"
#include "tests/lib/run_suite.h"
#include "vmm/inject/filter.h"

#define NR_PROGRAMS 3000
#define LEN_MAX	    24
#define A_CALL	    SYS_getpriority /* changes nothing, whatever its arguments are */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define S(code, k)	   ((struct sock_filter)BPF_STMT(code, k))
#define J(code, k, jt, jf) ((struct sock_filter)BPF_JUMP(code, k, jt, jf))
#define LD_ABS		   (BPF_LD | BPF_W | BPF_ABS)
#define ARG(n)		   ((uint32_t)offsetof(struct seccomp_data, args) + 8 * (n))
#define ALLOW		   S(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE		   S(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77)

static const struct hv_filter_call call = {
	.data = {.nr = A_CALL,
		 .arch = ARCH,
		 .instruction_pointer = 0x7f0012345678,
		 .args = {1, 0x100000002, 3, 0xffffffff, 5, 6}},
};

static bool decide(const struct sock_filter *insns, size_t nr, uint32_t unknown, uint32_t *ret)
{
	struct hv_filter_call with = call;

	with.unknown_args = unknown;
	return hv_filter_decide(&(struct hv_filter){insns, nr}, &with, ret);
}

#define DECIDE(unknown, ret, ...)                                                                  \
	decide((struct sock_filter[]){__VA_ARGS__},                                                \
	       sizeof((struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter), unknown,  \
	       ret)

START_TEST(words_of_a_call)
{
	static const uint32_t words[] = {A_CALL, ARCH, 0x12345678, 0x7f00, 1, 0, 2, 1,
					 3,	 0,    0xffffffff, 0,	   5, 0, 6, 0};
	uint32_t got = 0;

	for (uint32_t i = 0; i < HV_ARRAY_LEN(words); i++) {
		ck_assert(DECIDE(0, &got, S(LD_ABS, 4 * i), S(BPF_RET | BPF_A, 0)));
		ck_assert_uint_eq(got, words[i]);
	}
	ck_assert(!DECIDE(0, &got, S(LD_ABS, 64), ALLOW));
	ck_assert(!DECIDE(0, &got, S(LD_ABS, 61), ALLOW));
	ck_assert(!DECIDE(0, &got, S(LD_ABS, 2), ALLOW));
	ck_assert(!DECIDE(0, &got, S(LD_ABS, UINT32_MAX - 3), ALLOW));
	ck_assert(!DECIDE(0, &got, S(BPF_LD | BPF_H | BPF_ABS, 0), ALLOW));
}
END_TEST

START_TEST(arithmetic)
{
	uint32_t got = 0;

	ck_assert(DECIDE(0, &got, S(BPF_LD | BPF_IMM, 7), S(BPF_MISC | BPF_TAX, 0),
			 S(BPF_ALU | BPF_MUL | BPF_X, 0), S(BPF_ALU | BPF_SUB | BPF_K, 50),
			 S(BPF_ALU | BPF_NEG, 0), S(BPF_ALU | BPF_LSH | BPF_K, 4),
			 S(BPF_ALU | BPF_OR | BPF_K, 3), S(BPF_ALU | BPF_XOR | BPF_K, 1),
			 S(BPF_ALU | BPF_ADD | BPF_X, 0), S(BPF_ALU | BPF_DIV | BPF_K, 5),
			 S(BPF_ST, 15), S(BPF_LDX | BPF_MEM, 15), S(BPF_LD | BPF_W | BPF_LEN, 0),
			 S(BPF_ALU | BPF_RSH | BPF_X, 0), S(BPF_RET | BPF_A, 0)));
	ck_assert_uint_eq(got, 64 >> (((16 | 3) ^ 1) + 7) / 5);
	/* a division by 0 returns 0 */
	ck_assert(DECIDE(0, &got, S(BPF_LDX | BPF_IMM, 0), S(BPF_ALU | BPF_DIV | BPF_X, 0), ALLOW));
	ck_assert_uint_eq(got, 0);
}
END_TEST

/* Programs that no kernel accepts, or that kernels execute differently. */
START_TEST(undecidable_programs)
{
	struct sock_filter many[HV_FILTER_INSNS_MAX + 1];
	uint32_t got = 0;

	ck_assert(!decide(NULL, 0, 0, &got));
	ck_assert(!DECIDE(0, &got, S(BPF_LD | BPF_IMM, 1)));
	ck_assert(!DECIDE(0, &got, S(BPF_JMP | BPF_JA, 1), ALLOW));
	ck_assert(!DECIDE(0, &got, S(BPF_JMP | BPF_JA, UINT32_MAX), ALLOW));
	ck_assert(!DECIDE(0, &got, J(BPF_JMP | BPF_JEQ | BPF_K, 0, 200, 0), ALLOW));
	ck_assert(!DECIDE(0, &got, S(BPF_LD | BPF_MEM, 3), ALLOW));
	ck_assert(!DECIDE(0, &got, S(BPF_LD | BPF_MEM, 16), ALLOW));
	ck_assert(!DECIDE(0, &got, S(BPF_ST, 16), ALLOW));
	ck_assert(!DECIDE(0, &got, S(BPF_ALU | BPF_MOD | BPF_K, 2), ALLOW));
	ck_assert(!DECIDE(0, &got, S(BPF_ALU | BPF_DIV | BPF_K, 0), ALLOW));
	ck_assert(!DECIDE(0, &got, S(BPF_ALU | BPF_LSH | BPF_K, 32), ALLOW));
	ck_assert(!DECIDE(0, &got, S(BPF_LDX | BPF_W | BPF_ABS, 0), ALLOW));
	ck_assert(!DECIDE(0, &got, S(BPF_RET | BPF_X, 0)));
	ck_assert(!DECIDE(0, &got, S(0x100 | BPF_RET, SECCOMP_RET_ALLOW)));
	ck_assert(!DECIDE(0, &got, S(BPF_LDX | BPF_IMM, 33), S(BPF_ALU | BPF_LSH | BPF_X, 0),
			  S(BPF_RET | BPF_A, 0)));
	for (size_t i = 0; i < HV_ARRAY_LEN(many); i++)
		many[i] = ALLOW;
	ck_assert(!decide(many, HV_ARRAY_LEN(many), 0, &got));
	ck_assert(decide(many, HV_FILTER_INSNS_MAX, 0, &got));
}
END_TEST

START_TEST(unknown_arguments)
{
	uint32_t got = 0;

	/* loaded, but the result does not depend on it */
	ck_assert(DECIDE(2, &got, S(LD_ABS, ARG(1)), ALLOW));
	ck_assert_uint_eq(got, SECCOMP_RET_ALLOW);
	ck_assert(DECIDE(2, &got, S(LD_ABS, ARG(2)), J(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 1), ALLOW,
			 REFUSE));
	ck_assert(!DECIDE(4, &got, S(LD_ABS, ARG(2)), J(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 1), ALLOW,
			  REFUSE));
	ck_assert(!DECIDE(4, &got, S(LD_ABS, ARG(2) + 4), S(BPF_ALU | BPF_AND | BPF_K, 4),
			  S(BPF_ST, 0), S(BPF_LD | BPF_IMM, 0), S(BPF_LDX | BPF_MEM, 0),
			  S(BPF_ALU | BPF_ADD | BPF_X, 0), S(BPF_RET | BPF_A, 0)));
	ck_assert(!DECIDE(4, &got, S(LD_ABS, ARG(2)), S(BPF_MISC | BPF_TAX, 0),
			  S(BPF_LD | BPF_IMM, 8), S(BPF_ALU | BPF_DIV | BPF_X, 0),
			  S(BPF_RET | BPF_A, 0)));
	/* a division by 0 would end the program */
	ck_assert(!DECIDE(4, &got, S(LD_ABS, ARG(2)), S(BPF_MISC | BPF_TAX, 0),
			  S(BPF_ALU | BPF_DIV | BPF_X, 0), ALLOW));
}
END_TEST

START_TEST(actions)
{
	ck_assert(hv_filter_action_allows(SECCOMP_RET_ALLOW));
	ck_assert(hv_filter_action_allows(SECCOMP_RET_LOG | 5));
	ck_assert(!hv_filter_action_allows(SECCOMP_RET_TRAP));
	ck_assert(!hv_filter_action_allows(SECCOMP_RET_USER_NOTIF));
	ck_assert(!hv_filter_action_allows(0x12340000));
	ck_assert_str_eq(hv_filter_action_name(SECCOMP_RET_TRAP | 3), "trap");
	ck_assert_str_eq(hv_filter_action_name(0x12340000), "kill_process");
}
END_TEST

/* ---- agreement with the kernel ---- */

static uint32_t pick(const uint32_t *list, size_t nr)
{
	return list[(size_t)rand() % nr];
}

#define PICK(...)                                                                                  \
	pick((uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* Makes an instruction that the kernel nearly always accepts. */
static struct sock_filter random_insn(unsigned left)
{
	uint32_t k = PICK(0, 1, 2, 3, 5, 7, 31, 64, 0x80000000, 0xffffffff, (uint32_t)rand());
	uint16_t src = (uint16_t)PICK(BPF_K, BPF_X);
	uint8_t jt = (uint8_t)((unsigned)rand() % left), jf = (uint8_t)((unsigned)rand() % left);

	switch (rand() % 9) {
	case 0:
	case 1:
		return S(LD_ABS, 4 * ((uint32_t)rand() % 16));
	case 2:
		return S((uint16_t)PICK(BPF_LD | BPF_IMM, BPF_LDX | BPF_IMM,
					BPF_LD | BPF_W | BPF_LEN, BPF_LDX | BPF_W | BPF_LEN),
			 k);
	case 3:
		return S((uint16_t)PICK(BPF_ST, BPF_STX, BPF_LD | BPF_MEM, BPF_LDX | BPF_MEM),
			 (uint32_t)rand() % 3);
	case 4:
		return S((uint16_t)PICK(BPF_MISC | BPF_TAX, BPF_MISC | BPF_TXA, BPF_ALU | BPF_NEG),
			 0);
	case 5:
		return S((uint16_t)(BPF_ALU | PICK(BPF_LSH, BPF_RSH) | src), k % 32);
	case 6:
		return S((uint16_t)(BPF_ALU |
				    PICK(BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND, BPF_OR,
					 BPF_XOR) |
				    src),
			 k ? k : 1);
	default:
		return J((uint16_t)(BPF_JMP | PICK(BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET) | src), k,
			 jt, jf);
	}
}

/* Makes a program that returns an errno from 32 to 63, by A, for A_CALL, and allows other calls.
 * Returns its length. */
static size_t random_program(struct sock_filter ret[LEN_MAX + 8])
{
	size_t nr = 0, len = 4 + (size_t)rand() % (LEN_MAX - 4);

	ret[nr++] = S(LD_ABS, 0);
	ret[nr++] = J(BPF_JMP | BPF_JEQ | BPF_K, A_CALL, 1, 0);
	ret[nr++] = ALLOW;
	for (size_t i = 0; i < len; i++)
		ret[nr++] = random_insn((unsigned)(len - i));
	ret[nr++] = S(BPF_ALU | BPF_AND | BPF_K, 31);
	ret[nr++] = S(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO | 32);
	ret[nr++] = S(BPF_RET | BPF_A, 0);
	return nr;
}

/* The kernel's answer to A_CALL: the errno, or 0 if it does not accept the program. The call's
 * instruction is at *IP. */
struct answer {
	volatile int code;
	volatile uint64_t ip;
};

static long make_the_call(uint64_t *ret_ip)
{
	const uint64_t *a = (const uint64_t *)call.data.args;
	long result;

#if defined(__x86_64__)
	register uint64_t r10 __asm__("r10") = a[3];
	register uint64_t r8 __asm__("r8") = a[4];
	register uint64_t r9 __asm__("r9") = a[5];
	uint64_t ip;

	__asm__ volatile("syscall\n\tleaq (%%rip), %1"
			 : "=a"(result), "=r"(ip)
			 : "a"((long)A_CALL), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	*ret_ip = ip - 7; /* the length of the leaq */
#else
	register uint64_t x0 __asm__("x0") = a[0];
	register uint64_t x1 __asm__("x1") = a[1];
	register uint64_t x2 __asm__("x2") = a[2];
	register uint64_t x3 __asm__("x3") = a[3];
	register uint64_t x4 __asm__("x4") = a[4];
	register uint64_t x5 __asm__("x5") = a[5];
	register uint64_t x8 __asm__("x8") = A_CALL;
	uint64_t ip;

	__asm__ volatile("svc #0\n\tadr %1, ."
			 : "+r"(x0), "=r"(ip)
			 : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8)
			 : "memory");
	result = (long)x0;
	*ret_ip = ip;
#endif
	return result;
}

static void ask_kernel(struct sock_filter *insns, size_t nr, struct answer *ret)
{
	struct sock_fprog program = {(unsigned short)nr, insns};
	uint64_t ip = 0;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		long result;

		ret->code = 0;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
			_exit(0);
		result = make_the_call(&ip);
		ret->ip = ip;
		ret->code = (int)-result;
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

START_TEST(agrees_with_the_kernel)
{
	struct answer *answer =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned nr_definite = 0, nr_accepted = 0, seen[128] = {0}, nr_seen = 0;

	srand(20261129);
	for (unsigned i = 0; i < NR_PROGRAMS; i++) {
		struct sock_filter insns[LEN_MAX + 8];
		struct hv_filter_call with = call;
		size_t nr = random_program(insns);
		uint32_t action = 0;
		bool is_definite;

		ask_kernel(insns, nr, answer);
		if (!answer->code)
			continue;
		nr_accepted++;
		with.data.instruction_pointer = answer->ip;
		is_definite = hv_filter_decide(&(struct hv_filter){insns, nr}, &with, &action);
		nr_definite += is_definite;
		/* a division by 0 returns 0, which kills the child */
		ck_assert_msg(!is_definite ||
				      action == (SECCOMP_RET_ERRNO | (uint32_t)answer->code),
			      "program %u: errno %d, but 0x%x", i, answer->code, action);
		nr_seen += seen[answer->code & 127]++ == 0;
	}
	/* most programs are accepted, most results are definite, and they differ */
	ck_assert_uint_gt(nr_accepted, NR_PROGRAMS / 3);
	ck_assert_uint_gt(nr_definite, nr_accepted / 2);
	ck_assert_uint_gt(nr_seen, 16);
	munmap(answer, 4096);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, words_of_a_call);
	tcase_add_test(tc, arithmetic);
	tcase_add_test(tc, undecidable_programs);
	tcase_add_test(tc, unknown_arguments);
	tcase_add_test(tc, actions);
	tcase_add_test(tc, agrees_with_the_kernel);
}

int main(void)
{
	return run_suite("inject_filter", add_tests);
}
