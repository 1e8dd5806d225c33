/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs detours of instructions that switch interrupts, and of kernel entry and exit code, in a
 * machine without a kernel. A program switches interrupts off and on. A handler that is entered and
 * left as in the kernel interrupts it before each instruction where an interrupt can arrive. In all
 * cases registers and flags must match a run without detours, and the kept section must be a whole
 * section of the program or the handler. */
#include <check.h>
#include <string.h>

#include "tests/kvm/section_room.h"

#define IF	   0x200
#define ARITHMETIC 0x8d5ull
#define STACK_PTR  (MACHINE_STACK_END - 0x800)
#define STEPS_MAX  600
#define STI	   0xfb
#define PF_VCPU	   1

/* Offsets in the world */
#define PROGRAM_OFF (WORLD_TEXT_OFF + 0x200)
#define HANDLER_OFF (WORLD_TEXT_OFF + 0x280)
#define C_CODE_OFF  (WORLD_TEXT_OFF + 0x300) /* called by the handler */
#define BACK_OFF    (WORLD_TEXT_OFF + 0x340) /* the handler jumps here to leave */
#define DETOURS_OFF (WORLD_TEXT_OFF + 0x400)
#define CALLER_WORD 0xffffffff81234567ull
#define COUNT_OFF   offsetof(struct world_cpu, preempt_count)
#define REGS_LEN    0x80 /* length of struct pt_regs up to ip */

static uint64_t end_gva; /* after the program's hlt */

/* The replaced instructions, in the order of the detours. */
enum { OFF, OFF_NESTED, ON, INC, DEC, ARRIVES, RETURNS, C_OFF, C_ON, C_OFF_AGAIN, NR_SITES };
static struct site {
	bool is_used;
	bool misses_beginning; /* of ON: as in struct hv_irq_site */
	uint64_t off;	       /* in the world */
	enum hv_detour_kind kind;
	size_t len;
	uint8_t insn[HV_DETOUR_INSN_MAX];
	struct hv_gva next, target;
	struct hv_count_insn count;
} sites[NR_SITES];

static struct hv_gva gva_of(const uint8_t *at)
{
	return world_gva(&world, (uint64_t)(at - world.host));
}

static uint8_t *put_site(uint8_t *at, unsigned nr, enum hv_detour_kind kind, const void *insn,
			 size_t len)
{
	sites[nr] = (struct site){.is_used = true,
				  .off = (uint64_t)(at - world.host),
				  .kind = kind,
				  .len = len,
				  .next = gva_of(at + len)};
	memcpy(sites[nr].insn, insn, len);
	return put(at, insn, len);
}

/* put_off() puts cli and put_on() puts sti, with the nop that the kernel has after both. */
static uint8_t *put_off(uint8_t *at, unsigned nr)
{
	return put_site(at, nr, HV_DETOUR_IRQS_OFF, "\xfa\x0f\x1f\x44\x00\x00", 6);
}

static uint8_t *put_on(uint8_t *at, unsigned nr)
{
	return put_site(at, nr, HV_DETOUR_IRQS_ON, "\xfb\x0f\x1f\x44\x00\x00", 6);
}

static uint8_t *put_count(uint8_t *at, unsigned nr, bool ends)
{
	uint8_t insn[7] = {0x65, 0xff, ends ? 0x0d : 0x05};
	int32_t disp = (int32_t)(COUNT_OFF - gva_of(at + 7).v);

	memcpy(insn + 3, &disp, sizeof(disp));
	at = put_site(at, nr, ends ? HV_DETOUR_ENDS : HV_DETOUR_BEGINS, insn, sizeof(insn));
	sites[nr].count = (struct hv_count_insn){7, 1, ends};
	return at;
}

static uint8_t *put_call(uint8_t *at, unsigned nr, uint64_t to_off)
{
	uint8_t insn[5];
	bool reaches = hv_arch_x86_64.encode_call(gva_of(at), world_gva(&world, to_off), insn);

	ck_assert(reaches);
	at = put_site(at, nr, HV_DETOUR_ARRIVES, insn, sizeof(insn));
	sites[nr].next = world_gva(&world, to_off);
	return at;
}

/* Ways back from the handler: a nop, a jump, a taken branch, a branch not taken. */
enum { NOP, JUMP, TAKEN, NOT_TAKEN, NR_WAYS };

static void put_way_back(uint8_t *at, unsigned way)
{
	uint8_t insn[6] = {0x0f, way == TAKEN ? 0x84 : 0x85};
	struct hv_gva back = world_gva(&world, BACK_OFF);
	int32_t distance;
	bool reaches = true;

	if (way == NOP) {
		at = put_site(at, RETURNS, HV_DETOUR_RETURNS, "\x0f\x1f\x44\x00\x00", 5);
		reaches = hv_arch_x86_64.encode_jump(gva_of(at), back, at);
	} else if (way == JUMP) {
		reaches = hv_arch_x86_64.encode_jump(gva_of(at), back, insn);
		put_site(at, RETURNS, HV_DETOUR_RETURNS, insn, 5);
		sites[RETURNS].next = back;
	} else {
		at = PUT(at, "\x39\xe4"); /* cmpl %esp, %esp: ZF */
		distance = (int32_t)(back.v - gva_of(at + 6).v);
		memcpy(insn + 2, &distance, sizeof(distance));
		at = put_site(at, RETURNS, HV_DETOUR_RETURNS, insn, 6);
		sites[RETURNS].target = back;
		if (way == NOT_TAKEN)
			reaches = hv_arch_x86_64.encode_jump(gva_of(at), back, at);
		else
			PUT(at, "\x0f\x0b"); /* ud2 */
	}
	ck_assert(reaches);
}

static void make_handler(unsigned way)
{
	uint8_t *at = world.host + HANDLER_OFF;

	at = PUT(at, "\x48\x81\xec\x80\x00\x00\x00"); /* subq $REGS_LEN, %rsp */
	at = put_call(at, ARRIVES, C_CODE_OFF);
	put_way_back(at, way);
	PUT(world.host + BACK_OFF, "\x48\x81\xc4\x80\x00\x00\x00\x48\xcf"); /* addq, iretq */
	at = put_off(world.host + C_CODE_OFF, C_OFF); /* nested in the interrupt */
	at = put_on(at, C_ON);
	at = put_off(at, C_OFF_AGAIN);
	PUT(at, "\xc3");
	machine_set_handler(machine, SECTION_VECTOR, world_gva(&world, HANDLER_OFF));
}

static void detour(unsigned nr)
{
	const struct hv_arch *arch = &hv_arch_x86_64;
	struct hv_gva code = world_gva(&world, WORLD_CODE_OFF),
		      at = world_gva(&world, sites[nr].off);
	const size_t trampolines[] = {
		[HV_DETOUR_BEGINS] = arch->trampolines.section_begins_off,
		[HV_DETOUR_ENDS] = arch->trampolines.section_ends_off,
		[HV_DETOUR_IRQS_OFF] = arch->trampolines.irqs_off_off,
		[HV_DETOUR_IRQS_ON] = arch->trampolines.irqs_on_off,
		[HV_DETOUR_ARRIVES] = arch->trampolines.irq_arrives_off,
		[HV_DETOUR_RETURNS] = arch->trampolines.irqs_on_off,
	};
	size_t trampoline = sites[nr].misses_beginning ? arch->trampolines.irqs_on_unless_missed_off
						       : trampolines[sites[nr].kind];
	const struct hv_detour d = {
		.kind = sites[nr].kind,
		.at = world_gva(&world, DETOURS_OFF + nr * HV_DETOUR_LEN),
		.next = sites[nr].next,
		.target = sites[nr].target,
		.trampoline = hv_gva_add(code, trampoline),
		.insn = sites[nr].insn,
		.count = sites[nr].count,
		.percpu = COUNT_OFF,
		.flag = 0x80000000,
		.has_caller = nr == OFF || nr == ON,
		.caller_off = 8,
	};
	uint8_t patch[HV_DETOUR_PATCH_MAX];
	size_t len = 5;
	bool done = arch->make_detour(&d, world.host + DETOURS_OFF + nr * HV_DETOUR_LEN);

	if (sites[nr].kind == HV_DETOUR_ARRIVES)
		done &= arch->encode_call(at, d.at, patch);
	else
		len = arch->encode_detour_jump(sites[nr].len, at, d.at, patch);
	ck_assert(done && len);
	memcpy(world.host + sites[nr].off, patch, len);
}

/* cli; nop; cli; nop; sti; nop; hlt */
static void put_switches(void)
{
	uint8_t *at = put_off(world.host + PROGRAM_OFF, OFF);

	at = put_off(PUT(at, "\x90"), OFF_NESTED);
	at = put_on(PUT(at, "\x90"), ON);
	end_gva = gva_of(PUT(at, "\x90\xf4")).v;
}

/* Starts the program. Sites whose bit is set in LEFT get no detour. */
static void begin(unsigned left, struct kvm_regs *regs)
{
	uint64_t *reg = (uint64_t *)regs;

	for (unsigned nr = 0; nr < NR_SITES; nr++)
		if (sites[nr].is_used && !(left >> nr & 1))
			detour(nr);
	memset(sections(), 0, sizeof(*sections()));
	for (unsigned i = 0; i < sizeof(*regs) / sizeof(*reg); i++)
		reg[i] = UINT64_C(0x8111111111111111) * i + 7;
	regs->rip = world_gva(&world, PROGRAM_OFF).v;
	regs->rsp = machine_gva(STACK_PTR).v;
	regs->rflags = 2 | IF;
	*(uint64_t *)(machine->memory + STACK_PTR + 8) = CALLER_WORD;
	machine_set_regs(machine, regs, world_gva(&world, WORLD_CPU_OFF));
}

static void prepare(unsigned way, uint32_t measured)
{
	memset(sites, 0, sizeof(sites));
	make_handler(way);
	put_switches();
	world_cpu(&world)->preempt_count = 0;
	world_cpu(&world)->cat.pf = 0;
	world_control(&world)->sections = HV_SECTIONS_ON | measured;
}

static void run_to_end(const struct kvm_regs *before)
{
	struct kvm_regs after;
	unsigned port;

	ck_assert_int_eq(machine_run(machine, &port), MACHINE_HALT);
	machine_get_regs(machine, &after);
	ck_assert_uint_eq(after.rip, end_gva);
	ck_assert_uint_eq(after.rflags & ~ARITHMETIC, before->rflags & ~ARITHMETIC);
	after.rip = before->rip;
	after.rflags = before->rflags;
	ck_assert_mem_eq(&after, before, sizeof(after));
	ck_assert_uint_eq(world_cpu(&world)->preempt_count, 0);
}

/* Returns the site of the detour that contains the address DETOUR. */
static unsigned site_of(uint32_t detour)
{
	return (unsigned)((detour - (uint32_t)world_gva(&world, DETOURS_OFF).v) / HV_DETOUR_LEN);
}

static void check_kept(unsigned from, unsigned to)
{
	const struct hv_sections *s = sections();

	ck_assert_uint_eq(s->seq, 2);
	ck_assert_uint_eq(s->to.tsc - s->from.tsc, s->longest);
	ck_assert_uint_eq(site_of(s->from.detour), from);
	ck_assert_uint_eq(site_of(s->to.detour), to);
}

static void check_none(void)
{
	ck_assert_uint_eq(sections()->seq, 0);
	ck_assert_uint_eq(sections()->longest, 0);
}

START_TEST(detours_keep_the_interrupt_flag)
{
	struct kvm_regs before;

	for (unsigned detours = 0; detours < 2; detours++) {
		prepare(JUMP, HV_SECTIONS_IRQS);
		begin(detours ? 0 : ~0u, &before);
		run_to_end(&before);
	}
	check_kept(OFF, ON);
	ck_assert_uint_eq(sections()->from.caller, (uint32_t)CALLER_WORD);
	ck_assert_uint_eq(sections()->to.caller, (uint32_t)CALLER_WORD);
	ck_assert_uint_eq(sections()->from.cpu_flags & IF, 0);
	ck_assert_uint_eq(sections()->open.tsc, 0);
	ck_assert_uint_eq(sections()->nr_no_begin + sections()->nr_no_end, 0);
}
END_TEST

/* If the end of a section is missed, sections that begin later do not become longer. */
START_TEST(an_end_that_is_missed_is_forgotten)
{
	struct kvm_regs before;
	uint8_t *at;

	prepare(JUMP, HV_SECTIONS_IRQS);
	at = put_off(world.host + PROGRAM_OFF, OFF);
	at = PUT(at, "\xfb\x90"); /* sti */
	at = put_off(at, OFF_NESTED);
	at = put_on(at, ON);
	end_gva = gva_of(PUT(at, "\xf4")).v;
	begin(0, &before);
	run_to_end(&before);
	check_kept(OFF_NESTED, ON);
	ck_assert_uint_eq(sections()->nr_no_end, 1);
	/* The beginning of a section is missed, and its end is counted. */
	begin(1u << OFF_NESTED, &before);
	memcpy(world.host + sites[OFF_NESTED].off, sites[OFF_NESTED].insn, 6);
	memcpy(world.host + sites[OFF].off, "\x0f\x1f\x44\x00\x00\x90", 6);
	run_to_end(&before);
	check_none();
	ck_assert_uint_eq(sections()->nr_no_begin, 1);
}
END_TEST

/* Such an end ends a section like any other, and counts nothing if no section is open. */
START_TEST(an_end_with_an_uncovered_beginning)
{
	struct kvm_regs before;

	for (unsigned missed = 0; missed < 2; missed++) {
		prepare(JUMP, HV_SECTIONS_IRQS);
		sites[ON].misses_beginning = true;
		begin(missed ? 1u << OFF | 1u << OFF_NESTED : 0, &before);
		run_to_end(&before);
		if (missed)
			check_none();
		else
			check_kept(OFF, ON);
		ck_assert_uint_eq(sections()->open.tsc, 0);
		ck_assert_uint_eq(sections()->nr_no_begin + sections()->nr_no_end, 0);
	}
}
END_TEST

/* Preemption off, interrupts off, preemption on, interrupts on. */
static void put_overlap(void)
{
	uint8_t *at = put_count(world.host + PROGRAM_OFF, INC, false);

	at = put_off(at, OFF);
	at = put_count(at, DEC, true);
	at = put_on(at, ON);
	end_gva = gva_of(PUT(at, "\xf4")).v;
}

/* Overlapping sections of preemption and of interrupts form one section. */
START_TEST(overlapping_sections_are_one_section)
{
	struct kvm_regs before;
	uint8_t *at;

	prepare(JUMP, HV_SECTIONS_IRQS | HV_SECTIONS_PREEMPT);
	put_overlap();
	begin(0, &before);
	run_to_end(&before);
	check_kept(INC, ON);
	ck_assert_uint_eq(sections()->nr_no_begin + sections()->nr_no_end, 0);

	prepare(JUMP, HV_SECTIONS_IRQS | HV_SECTIONS_PREEMPT);
	at = put_off(world.host + PROGRAM_OFF, OFF);
	at = put_count(at, INC, false);
	at = put_on(at, ON);
	at = put_count(at, DEC, true);
	end_gva = gva_of(PUT(at, "\xf4")).v;
	begin(0, &before);
	run_to_end(&before);
	check_kept(OFF, DEC);
	ck_assert_uint_eq(sections()->nr_no_begin + sections()->nr_no_end, 0);
	/* With only one kind enabled, the detours of the other kind do nothing. */
	world_control(&world)->sections = HV_SECTIONS_ON | HV_SECTIONS_IRQS;
	begin(0, &before);
	run_to_end(&before);
	check_kept(OFF, ON);
	world_control(&world)->sections = HV_SECTIONS_ON | HV_SECTIONS_PREEMPT;
	begin(0, &before);
	run_to_end(&before);
	check_kept(INC, DEC);
}
END_TEST

/* In the idle loop only interrupt handlers have sections, unless another task runs. */
START_TEST(the_idle_loop_has_no_sections)
{
	struct kvm_regs before;
	uint32_t pid = world_cpu(&world)->cat.pid;

	prepare(JUMP, HV_SECTIONS_IRQS);
	begin(0, &before);
	sections()->idle = 1;
	world_cpu(&world)->cat.pid = 0;
	run_to_end(&before);
	check_none();
	ck_assert_uint_eq(sections()->nr_no_begin, 0);
	ck_assert_uint_eq(sections()->idle, 1);
	begin(0, &before);
	sections()->idle = 1;
	world_cpu(&world)->cat.pid = pid;
	run_to_end(&before);
	check_kept(OFF, ON);
	ck_assert_uint_eq(sections()->idle, 0);
}
END_TEST

START_TEST(a_task_that_runs_a_guest_has_no_section)
{
	struct kvm_regs before;

	prepare(JUMP, HV_SECTIONS_IRQS);
	world_cpu(&world)->cat.pf = PF_VCPU;
	begin(0, &before);
	run_to_end(&before);
	check_none();
	ck_assert_uint_eq(sections()->open.tsc, 0);
}
END_TEST

/* Returns whether an interrupt can arrive before the next instruction: interrupts are on, and the
 * last instruction did not switch them on. */
static bool can_interrupt(const struct kvm_regs *last, const struct kvm_regs *now)
{
	return now->rflags & IF && last->rflags & IF;
}

/* Runs NR instructions, then injects an interrupt if one can arrive. Returns false if the program
 * ended before. */
static bool interrupted_at(unsigned nr, struct kvm_regs *before, bool *ret_came)
{
	struct kvm_regs last, now;
	unsigned port;

	begin(0, before);
	last = now = *before;
	for (unsigned i = 0; i < nr; i++) {
		last = now;
		if (machine_step(machine, &port) != MACHINE_STEP)
			return false;
		machine_get_regs(machine, &now);
	}
	if (now.rip == end_gva)
		return false;
	*ret_came = can_interrupt(&last, &now);
	if (*ret_came)
		machine_interrupt(machine, SECTION_VECTOR);
	return true;
}

START_TEST(an_interrupt_before_each_instruction)
{
	struct kvm_regs before;
	unsigned nr_came = 0;
	bool came;

	prepare((unsigned)_i, HV_SECTIONS_IRQS);
	for (unsigned nr = 0; interrupted_at(nr, &before, &came); nr++) {
		const struct hv_sections *s = sections();
		unsigned from, to;

		run_to_end(&before);
		nr_came += came;
		from = site_of(s->from.detour);
		to = site_of(s->to.detour);
		ck_assert_uint_eq(s->open.tsc, 0);
		ck_assert_uint_eq(s->nr_no_begin + s->nr_no_end, 0);
		ck_assert_uint_ge(s->seq, 2);
		ck_assert_uint_eq(s->seq % 2, 0);
		ck_assert_uint_eq(s->to.tsc - s->from.tsc, s->longest);
		ck_assert((from == OFF && to == ON) || (from == ARRIVES && to == C_ON) ||
			  (from == C_OFF_AGAIN && to == RETURNS));
		ck_assert(came || from == OFF);
		ck_assert_uint_lt(nr, STEPS_MAX);
	}
	ck_assert_uint_ge(nr_came, 5); /* before jump, pushf, cli; nop and hlt after the section */
}
END_TEST

/* An interrupt in a context with interrupts off is nested in that context's section. */
START_TEST(an_exception_in_a_section_is_nested)
{
	struct kvm_regs before;
	unsigned port;

	prepare(JUMP, HV_SECTIONS_IRQS);
	PUT(world.host + C_CODE_OFF, "\xc3");
	sites[C_OFF].is_used = sites[C_ON].is_used = sites[C_OFF_AGAIN].is_used = false;
	begin(0, &before);
	while (!sections()->open.tsc)
		ck_assert_int_eq(machine_step(machine, &port), MACHINE_STEP);
	machine_interrupt(machine, SECTION_VECTOR);
	run_to_end(&before);
	check_kept(OFF, ON);
	ck_assert_uint_eq(sections()->nr_no_begin + sections()->nr_no_end, 0);
}
END_TEST

/* Runs NR instructions. Returns false if the program ended. */
static bool stepped(unsigned nr)
{
	struct kvm_regs now;
	unsigned port;

	while (nr--)
		ck_assert_int_eq(machine_step(machine, &port), MACHINE_STEP);
	machine_get_regs(machine, &now);
	return now.rip != end_gva;
}

/* A section that began before the host enabled measuring is not measured. Its end does not count as
 * one without a beginning, even if its task has left the idle loop. */
START_TEST(measuring_begins_before_each_instruction)
{
	const uint32_t measured = (uint32_t)_i;
	struct kvm_regs before;
	unsigned nr = 0, nr_kept = 0;

	prepare(JUMP, measured);
	if (measured & HV_SECTIONS_PREEMPT)
		put_overlap();
	for (;; nr++) {
		begin(0, &before);
		sections()->idle = 1;
		world_control(&world)->sections = 0;
		if (!stepped(nr))
			break;
		world_control(&world)->sections = HV_SECTIONS_ON | measured;
		run_to_end(&before);
		nr_kept += sections()->seq / 2;
		ck_assert_uint_eq(sections()->nr_no_begin + sections()->nr_no_end, 0);
		ck_assert_uint_lt(nr, STEPS_MAX);
	}
	ck_assert_uint_gt(nr_kept, 0);
	ck_assert_uint_lt(nr_kept, nr);
}
END_TEST

/* As above, when tracing_on becomes 1. */
START_TEST(recording_begins_before_each_instruction)
{
	struct kvm_regs before;
	unsigned nr = 0, nr_kept = 0;

	prepare(JUMP, HV_SECTIONS_IRQS);
	for (;; nr++) {
		begin(0, &before);
		world_control(&world)->mode = HV_MODE_OFF;
		if (!stepped(nr))
			break;
		world_control(&world)->mode = 0;
		run_to_end(&before);
		nr_kept += sections()->seq / 2;
		ck_assert_uint_eq(sections()->nr_no_begin + sections()->nr_no_end, 0);
		ck_assert_uint_lt(nr, STEPS_MAX);
	}
	world_control(&world)->mode = 0;
	ck_assert_uint_gt(nr_kept, 0);
	ck_assert_uint_lt(nr_kept, nr);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, section_room_set_up, section_room_tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, detours_keep_the_interrupt_flag);
	tcase_add_test(tc, an_end_that_is_missed_is_forgotten);
	tcase_add_test(tc, an_end_with_an_uncovered_beginning);
	tcase_add_test(tc, overlapping_sections_are_one_section);
	tcase_add_test(tc, the_idle_loop_has_no_sections);
	tcase_add_test(tc, a_task_that_runs_a_guest_has_no_section);
	tcase_add_loop_test(tc, an_interrupt_before_each_instruction, 0, NR_WAYS);
	tcase_add_test(tc, an_exception_in_a_section_is_nested);
	tcase_add_loop_test(tc, measuring_begins_before_each_instruction, HV_SECTIONS_IRQS,
			    HV_SECTIONS_IRQS + 1);
	tcase_add_loop_test(tc, measuring_begins_before_each_instruction,
			    HV_SECTIONS_IRQS | HV_SECTIONS_PREEMPT,
			    (HV_SECTIONS_IRQS | HV_SECTIONS_PREEMPT) + 1);
	tcase_add_test(tc, recording_begins_before_each_instruction);
}

int main(void)
{
	return section_room_main("irq_sections", add_tests);
}
