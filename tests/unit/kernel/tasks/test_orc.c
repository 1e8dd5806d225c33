/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ORC tables in all forms, stack walks with them, and hostile tables, for x86-64. */
#include <check.h>
#include <stdarg.h>

#include "kernel/tasks/unwind.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/fake_orc.h"

#define SP	0x10002000u /* the sp of the tests' stacks */
#define CALL	2	    /* types of FO_SIGNAL */
#define REGS	3
#define PARTIAL 4

static struct fo o;
static struct hv_orc *orc;
static struct hv_stack_words words;
static struct hv_gva callers[HV_CALLERS_MAX];
static struct hv_unwind_trampolines trampolines;
static bool early;

static void start(enum fo_form form)
{
	struct hv_err *err;

	fo_init(&o, form);
	for (unsigned i = 0; i < FO_ENTRIES; i++)
		fo_rule(&o, i, (struct fo_rule){.ip = FK_DATA - 1});
	err = fo_derive(&o);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	err = hv_orc_new(&o.f.k, &orc);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	words = (struct hv_stack_words){.text_base = hv_arch_x86_64.text_base, .sp = SP};
	trampolines = (struct hv_unwind_trampolines){{{0}, {0}},
						     hv_arch_x86_64.trampolines.ftrace_reader_rule};
}

static void end(void)
{
	hv_orc_free(orc);
	fo_deinit(&o);
}

static void word(uint32_t at, uint64_t value)
{
	bool is_text = value >= FK_BASE;

	words.list[words.nr].at = at;
	words.list[words.nr].value =
		(uint32_t)(is_text ? value - words.text_base.v : value) & 0x7fffffff;
	words.list[words.nr++].is_text = is_text;
}

static size_t walk(void)
{
	return hv_unwind(orc, &hv_arch_x86_64, &words, &trampolines, callers, HV_CALLERS_MAX,
			 &early);
}

/* Functions of 0x100 bytes; the call is at 0x80. */
#define FUNCTION(n) (FK_BASE + 0x1000 + 0x100 * (n))
#define INSIDE(n)   (FUNCTION(n) + 0x80)

static void expect(size_t nr, ...)
{
	va_list list;

	ck_assert_uint_eq(walk(), nr);
	va_start(list, nr);
	for (size_t i = 0; i < nr; i++)
		ck_assert_uint_eq(callers[i].v, va_arg(list, uint64_t));
	va_end(list);
}

START_TEST(calls_up_to_the_end)
{
	start(FO_SIGNAL);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_REG, 0x20, UNDEFINED, 0, CALL, 0});
	fo_rule(&o, 1, (struct fo_rule){FUNCTION(1), SP_REG, 0x18, PREV_SP, -16, CALL, 0});
	fo_rule(&o, 2, (struct fo_rule){FUNCTION(2), BP, 16, PREV_SP, -16, CALL, 0});
	fo_rule(&o, 3, (struct fo_rule){FUNCTION(3), .type = 1});
	word(SP, INSIDE(0));
	word(SP + 8, FUNCTION(7)); /* stale: not read */
	word(SP + 0x20, INSIDE(1));
	word(SP + 0x28 + 8, SP + 0x80); /* the frame pointer that FUNCTION(1) saved */
	word(SP + 0x28 + 0x10, INSIDE(2));
	word(SP + 0x88, INSIDE(3));
	word(SP + 0x90, INSIDE(4));
	expect(4, INSIDE(0), INSIDE(1), INSIDE(2), INSIDE(3));
	ck_assert(!early);
	words.list[5].at++; /* the word where the last caller should be is missing */
	expect(3, INSIDE(0), INSIDE(1), INSIDE(2));
	ck_assert(early);
	end();
}
END_TEST

/* Other architectures can have their kernel at another address than x86-64. */
START_TEST(text_is_recognized_by_its_base)
{
	start(FO_SIGNAL);
	words.text_base = hv_gva(FK_BASE - 0xc0001000);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_REG, 8, UNDEFINED, 0, CALL, 0});
	fo_rule(&o, 1, (struct fo_rule){FUNCTION(1), .type = 1});
	word(SP, INSIDE(0));
	word(SP + 8, INSIDE(1));
	expect(2, INSIDE(0), INSIDE(1));
	end();
}
END_TEST

/* A function can end with a call. The return address then belongs to the next function. */
START_TEST(a_call_at_the_end_of_its_function)
{
	start(FO_SIGNAL);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_REG, 8, UNDEFINED, 0, CALL, 0});
	fo_rule(&o, 1, (struct fo_rule){FUNCTION(1), .type = 0});
	word(SP, FUNCTION(1));
	word(SP + 8, INSIDE(0));
	expect(2, FUNCTION(1), INSIDE(0));
	end();
}
END_TEST

/* Linux 4.19: only assembler code switches stacks, and `pop %rsp` switches back. HOW replaces that
 * instruction. */
static void start_old(uint8_t how)
{
	struct hv_err *err;

	fo_init(&o, FO_END);
	for (unsigned n = 0; n < FO_FUNCTIONS; n++)
		if (n % HV_ARRAY_LEN(fo_functions) == 3)
			memset(fk_host(&o.f, fo_function(n) + 1), 0xcc, 7);
	for (unsigned i = 0; i < FO_ENTRIES; i++)
		fo_rule(&o, i, (struct fo_rule){.ip = FK_DATA - 1});
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_INDIRECT, 0, UNDEFINED, 0, 1, 0});
	fo_rule(&o, 1, (struct fo_rule){INSIDE(0) + 1, SP_REG, 0, UNDEFINED, 0, 1, 0});
	*fk_host(&o.f, INSIDE(0)) = how;
	err = fo_derive(&o);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	err = hv_orc_new(&o.f.k, &orc);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	words = (struct hv_stack_words){.text_base = hv_arch_x86_64.text_base, .sp = SP};
	trampolines = (struct hv_unwind_trampolines){{{0}, {0}},
						     hv_arch_x86_64.trampolines.ftrace_reader_rule};
	fo_rule(&o, 2, (struct fo_rule){FUNCTION(1), .type = 0, .flag = 1});
	word(SP, INSIDE(0));
	word(SP + 8, 0x20000000); /* the link */
	word(0x20000000 + 128, INSIDE(1));
	word(0x20000000 + 152, 0x20000200);
}

START_TEST(interrupt_stack_of_old_kernels)
{
	start_old(0x5c);
	expect(2, INSIDE(0), INSIDE(1));
	ck_assert(!early);
	end();
	start_old(0x90);
	expect(1, INSIDE(0));
	ck_assert(early);
	end();
}
END_TEST

static void interrupt(enum fo_form form, unsigned call, unsigned regs, unsigned signal)
{
	start(form);
	/* on the interrupt stack, which begins with the task's sp */
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_INDIRECT, 8, UNDEFINED, 0, call, 0});
	/* the entry code, with all registers on the task's stack */
	fo_rule(&o, 1, (struct fo_rule){FUNCTION(1), SP_REG, 0, UNDEFINED, 0, regs, signal});
	/* the interrupt came at the first instruction of FUNCTION(3), so the rule of FUNCTION(2)
	 * does not apply */
	fo_rule(&o, 2, (struct fo_rule){FUNCTION(2), .sp_reg = UNDEFINED, .type = 0});
	fo_rule(&o, 3, (struct fo_rule){FUNCTION(3), SP_REG, 8, UNDEFINED, 0, call, 0});
	fo_rule(&o, 4, (struct fo_rule){FUNCTION(4), BP, 16, UNDEFINED, 0, call, 0});
	fo_rule(&o, 5, (struct fo_rule){FUNCTION(5), .sp_reg = UNDEFINED, .type = 0});
	word(SP, INSIDE(0));
	word(SP + 8, 0x20000000); /* the link */
	word(0x20000000, INSIDE(1));
	word(0x20000008 + 32, 0x20000200); /* regs: bp, ip, sp */
	word(0x20000008 + 128, FUNCTION(3));
	word(0x20000008 + 152, 0x20000100);
	word(0x20000100, INSIDE(4));
	word(0x20000208, INSIDE(5));
}

START_TEST(through_an_interrupt)
{
	interrupt(FO_SIGNAL, CALL, REGS, 1);
	expect(5, INSIDE(0), INSIDE(1), FUNCTION(3), INSIDE(4), INSIDE(5));
	end();
	interrupt(FO_RENUMBERED, CALL, REGS, 1);
	expect(5, INSIDE(0), INSIDE(1), FUNCTION(3), INSIDE(4), INSIDE(5));
	end();
	interrupt(FO_END, CALL - 2, REGS - 2, 0);
	expect(5, INSIDE(0), INSIDE(1), FUNCTION(3), INSIDE(4), INSIDE(5));
	end();
}
END_TEST

/* An interrupt came at an instruction whose entry ends the stack: a retpoline thunk, or the first
 * code of a thread. */
START_TEST(an_end_in_the_middle_of_a_stack)
{
	interrupt(FO_END, CALL - 2, REGS - 2, 0);
	fo_rule(&o, 3, (struct fo_rule){FUNCTION(3), .sp_reg = UNDEFINED, .flag = 1});
	expect(3, INSIDE(0), INSIDE(1), FUNCTION(3));
	ck_assert(early);
	words.nr -= 2; /* the interrupted code has no caller */
	expect(3, INSIDE(0), INSIDE(1), FUNCTION(3));
	ck_assert(!early);
	end();
}
END_TEST

/* Registers at the end of a stack belong to user code, whatever address they contain. Other
 * registers belong to the kernel, and their address must be in text. */
START_TEST(user_code_is_the_end)
{
	interrupt(FO_SIGNAL, CALL, REGS, 1);
	words.list[4].is_text = false; /* the ip */
	expect(2, INSIDE(0), INSIDE(1));
	ck_assert(early);
	fo_rule(&o, 1, (struct fo_rule){FUNCTION(1), SP_REG, 0xf58 - 8, UNDEFINED, 0, REGS, 1});
	expect(2, INSIDE(0), INSIDE(1));
	ck_assert(!early);
	end();
}
END_TEST

START_TEST(the_hardwares_part_of_the_registers)
{
	start(FO_SIGNAL);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_REG, 8, UNDEFINED, 0, PARTIAL, 1});
	word(SP, INSIDE(0));
	word(SP + 16, INSIDE(6));
	word(SP + 16 + 24, SP + 0x100);
	expect(2, INSIDE(0), INSIDE(6));
	end();
}
END_TEST

START_TEST(registers_that_only_interrupts_have)
{
	static const struct {
		unsigned reg;
		uint32_t off; /* in struct pt_regs */
	} regs[] = {{R10, 56}, {R13, 16}};

	for (unsigned i = 0; i < HV_ARRAY_LEN(regs); i++) {
		interrupt(FO_SIGNAL, CALL, REGS, 1);
		fo_rule(&o, 3,
			(struct fo_rule){FUNCTION(3), regs[i].reg, 0, UNDEFINED, 0, CALL, 0});
		expect(3, INSIDE(0), INSIDE(1), FUNCTION(3));
		word(0x20000008 + regs[i].off, 0x20000300);
		word(0x200002f8, INSIDE(6));
		expect(4, INSIDE(0), INSIDE(1), FUNCTION(3), INSIDE(6));
		/* a call's frame has no registers, whatever is at their offsets */
		fo_rule(&o, 0,
			(struct fo_rule){FUNCTION(0), regs[i].reg, 0, UNDEFINED, 0, CALL, 0});
		word(regs[i].off, 0x20000300);
		expect(1, INSIDE(0));
		end();
	}
}
END_TEST

START_TEST(frames_found_by_the_frame_pointer)
{
	start(_i ? FO_RENUMBERED : FO_SIGNAL);
	words.bp = SP + 0x40;
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), BP_INDIRECT, -8, BP, 0x10, CALL, 0});
	fo_rule(&o, 1, (struct fo_rule){FUNCTION(1), BP, 8, UNDEFINED, 0, CALL, 0});
	fo_rule(&o, 2, (struct fo_rule){FUNCTION(2), .type = 1});
	word(SP, INSIDE(0));
	word(SP + 0x38, SP + 0x60); /* the caller's sp */
	word(SP + 0x50, SP + 0x80); /* and its frame pointer */
	word(SP + 0x58, INSIDE(1));
	word(SP + 0x80, INSIDE(2));
	expect(3, INSIDE(0), INSIDE(1), INSIDE(2));
	end();
}
END_TEST

/* The signal bit marks exact addresses, of calls and interrupts. */
START_TEST(the_bit_says_whether_an_address_is_exact)
{
	start(FO_SIGNAL);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_REG, 8, UNDEFINED, 0, CALL, 1});
	fo_rule(&o, 1, (struct fo_rule){FUNCTION(1), .type = 1});
	fo_rule(&o, 2, (struct fo_rule){FUNCTION(2), SP_REG, 8, UNDEFINED, 0, CALL, 0});
	word(SP, INSIDE(0));
	word(SP + 8, FUNCTION(2));
	word(SP + 16, INSIDE(1));
	expect(3, INSIDE(0), FUNCTION(2), INSIDE(1));
	end();
}
END_TEST

START_TEST(the_end_marker_of_older_kernels)
{
	struct hv_unwind_rule rule;

	start(FO_END);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_REG, 8, UNDEFINED, 0, 0, 0});
	fo_rule(&o, 1, (struct fo_rule){FUNCTION(1), .flag = 1});
	word(SP, INSIDE(0));
	word(SP + 8, INSIDE(1));
	word(SP + 16, INSIDE(0));
	expect(2, INSIDE(0), INSIDE(1));
	ck_assert(hv_orc_find(orc, hv_gva(FUNCTION(1)), &rule));
	ck_assert_int_eq(rule.kind, HV_UNWIND_END);
	end();
}
END_TEST

/* The kernel's own stack traces contain freed code, too. An address that is not code and never was
 * ends a stack. */
START_TEST(code_that_was_freed)
{
	start(FO_SIGNAL);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_REG, 8, UNDEFINED, 0, CALL, 0});
	fo_rule(&o, 1, (struct fo_rule){FK_DATA, SP_REG, 8, UNDEFINED, 0, CALL, 0});
	for (unsigned i = 2; i < FO_ENTRIES; i++)
		fo_rule(&o, i, (struct fo_rule){FK_END - 1});
	word(SP, INSIDE(0));
	word(SP + 8, FK_DATA + 0x80);
	word(SP + 16, INSIDE(0));
	expect(3, INSIDE(0), (uint64_t)FK_DATA + 0x80, INSIDE(0));
	words.list[1].value += 0x1000; /* data */
	expect(1, INSIDE(0));
	ck_assert(early);
	words.list[1].value -= 0x1000;
	o.f.k.is_starting = true;
	expect(3, INSIDE(0), (uint64_t)FK_DATA + 0x80, INSIDE(0));
	end();
}
END_TEST

/* Code without a rule is assumed to have a frame pointer, as in the kernel. */
START_TEST(unknown_code)
{
	start(FO_SIGNAL);
	words.bp = SP + 0x40;
	word(SP, 0xfffffffff0000000);
	word(SP + 0x40, SP + 0x80);
	word(SP + 0x48, INSIDE(0));
	expect(2, UINT64_C(0xfffffffff0000000), INSIDE(0));
	end();
}
END_TEST

START_TEST(a_module)
{
	start(FO_SIGNAL);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), .type = 1});
	fo_module_rule(&o, 0, (struct fo_rule){FO_MODULE, SP_REG, 0x10, UNDEFINED, 0, CALL, 0});
	fo_module_rule(&o, 1, (struct fo_rule){FO_MODULE + 0x100, .type = 1});
	word(SP, FO_MODULE + 0x80);
	word(SP + 0x10, INSIDE(0));
	expect(2, (uint64_t)FO_MODULE + 0x80, INSIDE(0));
	/* the table is kept until modules are read again */
	fo_module_rule(&o, 0, (struct fo_rule){FO_MODULE, .type = 1});
	expect(2, (uint64_t)FO_MODULE + 0x80, INSIDE(0));
	hv_orc_forget_modules(orc);
	expect(1, (uint64_t)FO_MODULE + 0x80);
	/* a table that cannot be read, and one with a senseless length */
	hv_orc_forget_modules(orc);
	o.f.k.modules.list[0].orcs = hv_gva(0x1000);
	expect(1, (uint64_t)FO_MODULE + 0x80);
	hv_orc_forget_modules(orc);
	o.f.k.modules.list[0].nr_orcs = UINT32_MAX;
	expect(1, (uint64_t)FO_MODULE + 0x80);
	end();
}
END_TEST

/* hvtrace's trampoline in ftrace_reader.S is called in place of a kernel function, calls that
 * function, and has three words on the stack. */
START_TEST(through_a_trampoline)
{
	const uint64_t trampoline = FK_BASE + 0x20000000;

	start(FO_SIGNAL);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_REG, 16, UNDEFINED, 0, CALL, 0});
	fo_rule(&o, 1, (struct fo_rule){FUNCTION(1), BP, 16, UNDEFINED, 0, CALL, 0});
	fo_rule(&o, 2, (struct fo_rule){FUNCTION(2), .type = 1});
	words.bp = SP + 0x60;
	word(SP, INSIDE(0));
	word(SP + 16, trampoline + 5);
	word(SP + 24, FUNCTION(7)); /* the trampoline's own word: the address that it reads */
	word(SP + 48, INSIDE(1));
	word(SP + 0x68, INSIDE(2));
	expect(3, INSIDE(0), trampoline + 5,
	       INSIDE(2)); /* handled like guest code without a rule */
	trampolines.code = (struct hv_gva_range){{trampoline}, {trampoline + 10}};
	expect(3, INSIDE(0), INSIDE(1), INSIDE(2));
	/* a stack that begins in the trampoline */
	words.sp = SP + 16;
	expect(2, INSIDE(1), INSIDE(2));
	/* An interrupt came in the trampoline: the rule does not cover the stack at that
	 * instruction. */
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_REG, 8, UNDEFINED, 0, REGS, 1});
	words = (struct hv_stack_words){.text_base = hv_arch_x86_64.text_base, .sp = SP};
	word(SP, INSIDE(0));
	word(SP + 16 + 128, trampoline + 5);
	word(SP + 16 + 152, SP + 0x100);
	word(SP + 0x118, INSIDE(1));
	expect(2, INSIDE(0), trampoline + 5);
	/* A stack with only trampolines, and without an end. */
	words = (struct hv_stack_words){.text_base = hv_arch_x86_64.text_base, .sp = SP};
	trampolines.rule.sp_off = 0;
	word(SP, trampoline + 5);
	expect(0);
	end();
}
END_TEST

/* From the middle of a function: its own rule gives the position of its return address. */
START_TEST(from_an_instruction)
{
	start(FO_SIGNAL);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_REG, 32, UNDEFINED, 0, CALL, 0});
	fo_rule(&o, 1, (struct fo_rule){FUNCTION(1), SP_REG, 8, UNDEFINED, 0, CALL, 0});
	words.ip = hv_gva(INSIDE(0));
	word(SP + 24, INSIDE(1));
	word(SP + 32, INSIDE(2));
	expect(3, INSIDE(0), INSIDE(1), INSIDE(2));
	words.ip = hv_gva(0);
	expect(0);
	end();
}
END_TEST

/* A stack that leads back to itself: the number of callers is limited. */
START_TEST(a_stack_without_an_end)
{
	start(FO_SIGNAL);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), SP_REG, 0, UNDEFINED, 0, CALL, 0});
	word(SP, INSIDE(0));
	ck_assert_uint_eq(walk(), HV_CALLERS_MAX);
	ck_assert(early);
	words.nr = 0;
	ck_assert_uint_eq(walk(), 0);
	end();
}
END_TEST

START_TEST(unsorted_tables)
{
	struct hv_unwind_rule rule;

	start(FO_SIGNAL);
	for (unsigned i = 0; i < FO_ENTRIES; i++)
		fo_rule(&o, i, (struct fo_rule){FUNCTION(FO_ENTRIES - i), 15, -1, 15, -1, 7, 1});
	for (unsigned i = 0; i < 2 * FO_ENTRIES; i++)
		if (hv_orc_find(orc, hv_gva(FUNCTION(i)), &rule))
			ck_assert(rule.sp_reg < HV_UNWIND_NR_REGS &&
				  rule.bp_reg < HV_UNWIND_NR_REGS);
	ck_assert(!hv_orc_find(orc, hv_gva(FK_BASE), &rule));
	end();
}
END_TEST

/* A register that no code uses gets no number, and a rule that refers to it is unusable. */
START_TEST(a_rule_with_an_unknown_register)
{
	start(FO_SIGNAL);
	fo_rule(&o, 0, (struct fo_rule){FUNCTION(0), DX, 8, UNDEFINED, 0, CALL, 0});
	word(SP, INSIDE(0));
	word(SP + 8, INSIDE(1));
	expect(1, INSIDE(0));
	ck_assert(early);
	end();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_rule_with_an_unknown_register);
	tcase_add_test(tc, calls_up_to_the_end);
	tcase_add_test(tc, text_is_recognized_by_its_base);
	tcase_add_test(tc, a_call_at_the_end_of_its_function);
	tcase_add_test(tc, interrupt_stack_of_old_kernels);
	tcase_add_test(tc, through_an_interrupt);
	tcase_add_test(tc, an_end_in_the_middle_of_a_stack);
	tcase_add_test(tc, user_code_is_the_end);
	tcase_add_test(tc, the_hardwares_part_of_the_registers);
	tcase_add_test(tc, registers_that_only_interrupts_have);
	tcase_add_loop_test(tc, frames_found_by_the_frame_pointer, 0, 2);
	tcase_add_test(tc, the_bit_says_whether_an_address_is_exact);
	tcase_add_test(tc, the_end_marker_of_older_kernels);
	tcase_add_test(tc, code_that_was_freed);
	tcase_add_test(tc, unknown_code);
	tcase_add_test(tc, a_module);
	tcase_add_test(tc, through_a_trampoline);
	tcase_add_test(tc, from_an_instruction);
	tcase_add_test(tc, a_stack_without_an_end);
	tcase_add_test(tc, unsorted_tables);
}

int main(void)
{
	return run_suite("orc", add_tests);
}
