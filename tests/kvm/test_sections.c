/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs detours and the trampolines that measure sections in a machine without a kernel. A program
 * and an interrupt handler switch preemption off and on. The handler interrupts the program before
 * each instruction, including those in detours and trampolines. In all cases registers and flags
 * must match a run without detours, and the kept section must be a whole section of one of them. */
#include <check.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tests/kvm/section_room.h"

#define FLAGS	  0x202 /* interrupts on */
#define STEPS_MAX 1000

/* Offsets in the world */
#define PROGRAM_OFF (WORLD_TEXT_OFF + 0x200)
#define HANDLER_OFF (WORLD_TEXT_OFF + 0x280)
#define DETOURS_OFF (WORLD_TEXT_OFF + 0x400) /* one for each of the sites below */
#define NO_RESCHED  0x80000000u
#define CALLER_WORD 0xffffffff81234567ull
#define COUNT_OFF   offsetof(struct world_cpu, preempt_count)

static uint32_t more_flags;	/* HV_SECTIONS_* */
static bool by_register;	/* the program adds and subtracts registers */
static bool by_negative;	/* by_register, and the end adds a negative number */
static bool is_wide;		/* the count has 64 bits */
static bool may_be_missed;	/* the beginning of a section may be missed */
static unsigned without_caller; /* not 0: the detours do not know the caller */
static uint64_t stack_ptr = MACHINE_STACK_END - 0x800;

/* The instructions that change the count, in the order of their addresses. */
enum { INC, INC_NESTED, DEC_NESTED, DEC, IRQ_ADD, IRQ_SUB, NR_SITES };
static struct {
	uint64_t off; /* in the world */
	struct hv_count_insn count;
	uint8_t insn[HV_DETOUR_INSN_MAX];
} sites[NR_SITES];

/* Puts an instruction that changes the count, with an address relative to the next instruction. */
static uint8_t *put_site(uint8_t *at, unsigned nr, uint8_t opcode, uint8_t modrm, const void *imm,
			 size_t imm_len)
{
	uint64_t off = (uint64_t)(at - world.host);
	int32_t disp = (int32_t)(COUNT_OFF - (world_gva(&world, off).v + 7 + is_wide + imm_len));
	uint8_t *insn = at;
	bool found;

	*at++ = 0x65;
	if (is_wide)
		*at++ = 0x48;
	*at++ = opcode;
	*at++ = modrm;
	at = put(at, &disp, sizeof(disp));
	at = put(at, imm, imm_len);
	sites[nr].off = off;
	memcpy(sites[nr].insn, insn, (size_t)(at - insn));
	found = hv_arch_x86_64.classify_count((struct hv_span){insn, 16}, world_gva(&world, off),
					      COUNT_OFF, &sites[nr].count);
	ck_assert(found);
	ck_assert_uint_eq(sites[nr].count.len_bytes, (size_t)(at - insn));
	ck_assert_uint_eq(sites[nr].count.is_wide, is_wide);
	return at;
}

/* set_amounts() sets the registers. */
static void make_register_program(void)
{
	uint8_t *at = world.host + PROGRAM_OFF;

	at = put_site(at, INC, 0x01, 0x3d, "", 0); /* addl %edi */
	at = PUT(at, "\x90");
	at = put_site(at, INC_NESTED, 0x01, 0x05, "", 0); /* addl %eax */
	at = put_site(at, DEC_NESTED, 0x29, 0x3d, "", 0);
	at = PUT(at, "\x90");
	if (by_negative) /* addl %edx */
		at = put_site(at, DEC, 0x01, 0x15, "", 0);
	else
		at = put_site(at, DEC, 0x29, 0x05, "", 0);
	sites[DEC].count.subtracts = true;
	PUT(at, "\x0f\x94\xc3\xf4"); /* sete %bl; hlt */
	at = world.host + HANDLER_OFF;
	at = put_site(at, IRQ_ADD, 0x01, 0x0d, "", 0); /* addl %ecx */
	at = PUT(at, "\x90");
	at = put_site(at, IRQ_SUB, 0x29, 0x0d, "", 0);
	PUT(at, "\x48\xcf"); /* iretq */
}

static void set_amounts(struct kvm_regs *regs)
{
	regs->rax = is_wide ? 1 : UINT64_C(0x7777777700000001);
	regs->rdi = is_wide ? 1 : UINT64_C(0x9999999900000001);
	regs->rcx = 0x10000;
	regs->rdx = UINT64_C(0x55555555ffffffff); /* -1 */
}

static void make_program(void)
{
	uint8_t *at = world.host + PROGRAM_OFF;

	at = put_site(at, INC, 0xff, 0x05, "", 0);
	at = PUT(at, "\x90");
	at = put_site(at, INC_NESTED, 0xff, 0x05, "", 0);
	at = put_site(at, DEC_NESTED, 0x83, 0x2d, "\x01", 1); /* subl $1 */
	at = PUT(at, "\x90");
	at = put_site(at, DEC, 0xff, 0x0d, "", 0);
	PUT(at, "\x0f\x94\xc3\xf4"); /* sete %bl; hlt */
	at = world.host + HANDLER_OFF;
	at = put_site(at, IRQ_ADD, 0x81, 0x05, "\x00\x00\x01\x00", 4);
	at = PUT(at, "\x90");
	at = put_site(at, IRQ_SUB, 0x81, 0x05, "\x00\x00\xff\xff", 4);
	PUT(at, "\x48\xcf"); /* iretq */
}

static void detour(unsigned nr)
{
	const struct hv_arch *arch = &hv_arch_x86_64;
	uint64_t code = world_gva(&world, WORLD_CODE_OFF).v, off = DETOURS_OFF + nr * HV_DETOUR_LEN;
	uint8_t patch[HV_DETOUR_PATCH_MAX];
	struct hv_gva site = world_gva(&world, sites[nr].off);
	bool ends = sites[nr].count.subtracts, made;
	size_t ends_off = may_be_missed ? arch->trampolines.section_ends_unless_missed_off
					: arch->trampolines.section_ends_off;
	size_t len;
	const struct hv_detour d = {
		.kind = ends ? HV_DETOUR_ENDS : HV_DETOUR_BEGINS,
		.at = world_gva(&world, off),
		.next = hv_gva_add(site, sites[nr].count.len_bytes),
		.trampoline =
			hv_gva(code + (ends ? ends_off : arch->trampolines.section_begins_off)),
		.insn = sites[nr].insn,
		.count = sites[nr].count,
		.percpu = COUNT_OFF,
		.flag = 0x80000000,
		.has_caller = !without_caller && (nr == INC || nr == DEC),
		.caller_off = 8,
	};

	made = arch->make_detour(&d, world.host + off);
	ck_assert(made);
	len = arch->encode_detour_jump(sites[nr].count.len_bytes, site, d.at, patch);
	ck_assert_uint_ne(len, 0);
	ck_assert_uint_le(len, sites[nr].count.len_bytes);
	memcpy(world.host + sites[nr].off, patch, len);
}

static void no_steal(const struct world *w)
{
	w->values->alternatives |= 1u << HV_ALT_NO_STEAL;
}

static const struct world_case knows_no_steal = {.name = "", .prepare = no_steal};
static const struct world_case counts_wide = {.name = "", .prepare = world_count_widely};

/* Starts the program with the count BASE, which includes the inverted need-resched bit. */
static void begin(bool detours, uint32_t base, struct kvm_regs *regs)
{
	uint64_t *reg = (uint64_t *)regs;

	if (by_register)
		make_register_program();
	else
		make_program();
	machine_set_handler(machine, SECTION_VECTOR, world_gva(&world, HANDLER_OFF));
	for (unsigned nr = 0; detours && nr < NR_SITES; nr++)
		detour(nr);
	world_cpu(&world)->preempt_count = is_wide ? base & ~NO_RESCHED : base;
	world_cpu(&world)->preempt_high = is_wide ? base & NO_RESCHED : 0;
	world_control(&world)->sections = HV_SECTIONS_ON | HV_SECTIONS_PREEMPT;
	memset(sections(), 0, sizeof(*sections()));
	for (unsigned i = 0; i < sizeof(*regs) / sizeof(*reg); i++)
		reg[i] = UINT64_C(0x8111111111111111) * i + 7;
	if (by_register)
		set_amounts(regs);
	regs->rip = world_gva(&world, PROGRAM_OFF).v;
	regs->rsp = machine_gva(stack_ptr).v;
	regs->rflags = FLAGS;
	*(uint64_t *)(machine->memory + stack_ptr + 8) = CALLER_WORD;
	machine_set_regs(machine, regs, world_gva(&world, WORLD_CPU_OFF));
}

static void run_to_end(void)
{
	unsigned port;

	ck_assert_int_eq(machine_run(machine, &port), MACHINE_HALT);
}

static uint64_t end_of_program(void)
{
	return world_gva(&world, sites[DEC].off + sites[DEC].count.len_bytes + 4).v;
}

/* All registers are unchanged except %bl, which contains ZF after the last instruction. */
static void check_end(const struct kvm_regs *before, uint32_t base)
{
	struct kvm_regs after;

	machine_get_regs(machine, &after);
	ck_assert_uint_eq(after.rbx & 0xff, base == 0);
	after.rbx = before->rbx;
	ck_assert_uint_eq(after.rip, end_of_program());
	after.rip = before->rip;
	ck_assert_uint_eq(after.rflags & ~0x8d5ull, before->rflags & ~0x8d5ull);
	after.rflags = before->rflags;
	ck_assert_mem_eq(&after, before, sizeof(after));
	ck_assert_uint_eq(world_cpu(&world)->preempt_count | world_cpu(&world)->preempt_high, base);
}

/* Returns the site of the detour that contains the address DETOUR. */
static unsigned site_of(uint32_t detour)
{
	return (unsigned)((detour - (uint32_t)world_gva(&world, DETOURS_OFF).v) / HV_DETOUR_LEN);
}

/* The kept section is the program's or the handler's. */
static void check_kept(bool handler_ran)
{
	const struct hv_sections *s = sections();
	unsigned from = site_of(s->from.detour), to = site_of(s->to.detour);
	bool is_handlers = handler_ran && from == IRQ_ADD;

	ck_assert_uint_eq(s->open.tsc, 0);
	ck_assert_uint_eq(s->nr_no_begin, 0);
	ck_assert_uint_ne(s->seq, 0);
	ck_assert_uint_eq(s->seq % 2, 0);
	ck_assert_uint_eq(s->to.tsc - s->from.tsc, s->longest);
	ck_assert_uint_eq(from, is_handlers ? IRQ_ADD : INC);
	ck_assert_uint_eq(to, is_handlers ? IRQ_SUB : DEC);
	ck_assert_uint_eq(s->from.caller, is_handlers ? 0 : (uint32_t)CALLER_WORD);
	ck_assert_uint_eq(s->to.caller, is_handlers ? 0 : (uint32_t)CALLER_WORD);
	ck_assert_uint_eq(s->from.preempt_count, is_handlers ? 0x10000 : 1);
	ck_assert_uint_eq(s->to.preempt_count, is_handlers ? 0x10000 : 1);
	ck_assert_uint_eq(s->to.pid, world_cpu(&world)->cat.pid);
	ck_assert_uint_eq(s->from.pid, world_cpu(&world)->cat.pid);
	ck_assert_uint_eq(s->to.cpu_flags & 0x200, is_handlers ? 0 : 0x200);
	ck_assert_mem_eq(s->comm, world_cpu(&world)->cat.comm, sizeof(s->comm));
}

/* Forms of the instructions that change the count. */
enum { CONSTANTS, REGISTERS, NEGATIVES, WIDE_CONSTANTS, WIDE_REGISTERS, NR_FORMS };

static void choose(int form)
{
	by_register = form == REGISTERS || form == NEGATIVES || form == WIDE_REGISTERS;
	by_negative = form == NEGATIVES;
	is_wide = form >= WIDE_CONSTANTS;
	if (is_wide)
		world_set_up(&world, &counts_wide);
}

START_TEST(detours_do_not_change_the_program)
{
	const uint32_t bases[] = {0, 1, 0x100, 0x80000000, 0x80000001};
	struct kvm_regs before;

	choose(_i);
	for (unsigned i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		for (unsigned detours = 0; detours < 2; detours++) {
			begin(detours, bases[i], &before);
			run_to_end();
			check_end(&before, bases[i]);
			if (detours && !(bases[i] & 0x7fffffff))
				ck_assert_uint_ne(sections()->longest, 0);
			else
				ck_assert_uint_eq(sections()->longest, 0);
		}
}
END_TEST

START_TEST(a_section_is_kept)
{
	struct kvm_regs before;

	choose(_i);
	begin(true, 0, &before);
	run_to_end();
	check_kept(false);
}
END_TEST

START_TEST(only_longer_sections_are_kept)
{
	struct kvm_regs before;

	begin(true, 0, &before);
	sections()->longest = UINT64_MAX / 2;
	run_to_end();
	ck_assert_uint_eq(sections()->seq, 0);
	ck_assert_uint_eq(sections()->open.tsc, 0);
	begin(true, 0, &before);
	world_control(&world)->sections = HV_SECTIONS_ON | HV_SECTIONS_PREEMPT | HV_SECTIONS_FIXED;
	sections()->longest = 1;
	run_to_end();
	ck_assert_uint_eq(sections()->seq, 2);
	ck_assert_uint_eq(sections()->longest, 1);
}
END_TEST

START_TEST(nothing_is_kept_while_it_is_off)
{
	struct kvm_regs before;

	begin(true, 0, &before);
	world_control(&world)->sections = 0;
	run_to_end();
	check_end(&before, 0);
	ck_assert_uint_eq(sections()->seq, 0);
	for (uint32_t mode = HV_MODE_OFF; mode <= HV_MODE_SILENT; mode++) {
		begin(true, 0, &before);
		world_control(&world)->mode = mode;
		run_to_end();
		check_end(&before, 0);
		world_control(&world)->mode = 0;
		ck_assert_uint_eq(sections()->seq, 0);
		ck_assert_uint_eq(sections()->open.tsc, 0);
	}
}
END_TEST

/* A section that began before measuring was enabled is not kept when it ends. */
START_TEST(an_end_without_a_beginning_is_counted)
{
	struct kvm_regs before;

	begin(true, 1, &before);
	before.rip = world_gva(&world, sites[DEC].off).v;
	machine_set_regs(machine, &before, world_gva(&world, WORLD_CPU_OFF));
	run_to_end();
	ck_assert_uint_eq(sections()->nr_no_begin, 1);
	ck_assert_uint_eq(sections()->seq, 0);
}
END_TEST

/* Such an end ends a section like any other, and counts nothing if no section is open. */
START_TEST(an_end_with_an_uncovered_beginning)
{
	struct kvm_regs before;

	may_be_missed = true;
	begin(true, 0, &before);
	run_to_end();
	check_end(&before, 0);
	check_kept(false);
	begin(true, 1, &before);
	before.rip = world_gva(&world, sites[DEC].off).v;
	machine_set_regs(machine, &before, world_gva(&world, WORLD_CPU_OFF));
	run_to_end();
	ck_assert_uint_eq(sections()->nr_no_begin + sections()->nr_no_end, 0);
	ck_assert_uint_eq(sections()->seq, 0);
	may_be_missed = false;
}
END_TEST

/* Time during which the host did not run the vCPU does not count. The clock has two ticks per
 * nanosecond here. */
static void run_stolen(uint64_t stolen_ns)
{
	struct kvm_regs before;
	unsigned port;

	begin(true, 0, &before);
	world_params(&world)->ticks_per_ns = UINT64_C(2) << 32;
	world_cpu(&world)->steal_ns = 1000000;
	while (!sections()->open.tsc)
		ck_assert_int_eq(machine_step(machine, &port), MACHINE_STEP);
	world_cpu(&world)->steal_ns += stolen_ns;
	run_to_end();
	check_end(&before, 0);
}

START_TEST(stolen_time_does_not_count)
{
	uint64_t ticks;

	run_stolen(0);
	ticks = sections()->to.tsc - sections()->from.tsc;
	ck_assert_uint_eq(sections()->longest, ticks);
	run_stolen(3);
	ticks = sections()->to.tsc - sections()->from.tsc;
	ck_assert_uint_eq(sections()->longest, ticks - 6);
	ck_assert_uint_eq(sections()->to.steal_ns - sections()->from.steal_ns, 3);
	ck_assert_uint_eq(sections()->nr_stolen, 0);
	run_stolen(UINT64_C(1) << 40);
	ck_assert_uint_eq(sections()->seq, 0);
	ck_assert_uint_eq(sections()->longest, 0);
	ck_assert_uint_eq(sections()->nr_stolen, 1);
	world_set_up(&world, &knows_no_steal);
	run_stolen(UINT64_C(1) << 40);
	ck_assert_uint_eq(sections()->seq, 2);
	ck_assert_uint_eq(sections()->to.steal_ns, 0);
}
END_TEST

/* Consumes the next record of the ring. */
static struct hv_record next_record(struct hv_ring *ring)
{
	struct hv_record record;
	uint64_t lost;

	ck_assert_int_eq(hv_ring_read(ring, 0, &record, &lost), HV_RING_RECORD);
	return record;
}

static void check_section_record(const struct hv_record *record, unsigned site, bool ends)
{
	const uint64_t *word = record->word;
	uint32_t detour = (uint32_t)word[1] | 0x80000000;

	ck_assert_uint_eq(word[3] >> HV_RECORD_KIND_SHIFT, HV_RECORD_SECTION);
	ck_assert_uint_eq(word[3] >> HV_SECTION_ENDS_BIT & 1, ends);
	ck_assert_uint_eq((uint32_t)word[3], 1); /* the count */
	ck_assert_uint_eq(site_of(detour), site);
	ck_assert_uint_eq(hv_arch_x86_64.decode_call(word[1]).caller, CALLER_WORD & 0x7fffffff);
	ck_assert_uint_eq((uint32_t)(word[2] >> HV_CALL_PID_SHIFT), world_cpu(&world)->cat.pid);
}

/* The trampolines record the task and then both ends of the section, but not the ends of the section
 * nested in it. */
START_TEST(ends_are_recorded)
{
	struct kvm_regs before;
	struct hv_ring ring;
	struct hv_record record;

	begin(true, 0, &before);
	hv_ring_init(&ring, world_state(&world, 0), world_ring(&world, 0), world.nr_slots);
	world_state(&world, 0)->last_pid = 0;
	world_control(&world)->sections = HV_SECTIONS_ON | HV_SECTIONS_PREEMPT | HV_SECTIONS_LOG;
	run_to_end();
	check_end(&before, 0);
	check_kept(false);
	record = next_record(&ring);
	ck_assert_uint_eq(record.word[3] >> HV_RECORD_KIND_SHIFT, HV_RECORD_TASK);
	record = next_record(&ring);
	check_section_record(&record, INC, false);
	record = next_record(&ring);
	check_section_record(&record, DEC, true);
	ck_assert_uint_eq(world_head(&world, 0), 3);
	ck_assert_uint_eq(sections()->from_head, hv_ring_head_at(0, world.nr_slots));
	ck_assert_uint_eq(sections()->to_head, hv_ring_head_at(2, world.nr_slots));
}
END_TEST

/* The stack recorded at the end of a section begins with a word that the trampoline pushed. */
static void record_stack_of_end(void)
{
	struct kvm_regs before;
	struct hv_ring ring;
	struct hv_record record;

	begin(true, 0, &before);
	hv_ring_init(&ring, world_state(&world, 0), world_ring(&world, 0), world.nr_slots);
	world_control(&world)->sections = HV_SECTIONS_ON | HV_SECTIONS_PREEMPT | HV_SECTIONS_STACK;
	run_to_end();
	check_end(&before, 0);
	ck_assert_uint_eq(sections()->to_head, hv_ring_head_at(0, world.nr_slots));
	record = next_record(&ring);
	ck_assert_uint_eq(record.word[3] >> HV_RECORD_KIND_SHIFT, HV_RECORD_WORDS);
	ck_assert_uint_eq((record.word[1] + hv_arch_x86_64.trampolines.section_stack_bytes) << 2,
			  machine_gva(stack_ptr).v << 2);
	do {
		record = next_record(&ring);
	} while (record.word[3] >> HV_RECORD_KIND_SHIFT == HV_RECORD_WORDS);
	ck_assert_uint_eq(record.word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK,
			  HV_RECORD_STACK);
	ck_assert_uint_eq(record.word[3] >> HV_STACK_SECTION_BIT & 3, 3);
	ck_assert_uint_eq(site_of((uint32_t)record.word[1] | 0x80000000), DEC);
	ck_assert_uint_eq(hv_arch_x86_64.decode_call(record.word[1]).caller,
			  without_caller ? 0 : CALLER_WORD & 0x7fffffff);
	ck_assert_uint_eq(world_head(&world, 0), ring.position);
}

START_TEST(the_stack_of_the_end_is_recorded)
{
	record_stack_of_end();
	check_kept(false);
}
END_TEST

/* As in a module without ORC tables: the detour does not know the caller, but the record is complete.
 */
START_TEST(a_stack_without_a_caller_is_recorded)
{
	without_caller = 1;
	record_stack_of_end();
	without_caller = 0;
}
END_TEST

START_TEST(the_task_is_described)
{
	const struct world_task *task = &world_cpu(&world)->cat;
	struct kvm_regs before;

	begin(true, 0, &before);
	run_to_end();
	ck_assert_uint_eq(sections()->uid, task->uid);
	ck_assert_uint_eq(sections()->static_prio, task->static_prio);
	ck_assert_uint_eq(sections()->policy, task->policy);
	ck_assert_uint_eq(sections()->rt_priority, task->rt_priority);
}
END_TEST

/* Runs NR instructions, then injects an interrupt. Returns false if the program ended before. */
static bool interrupted_at(unsigned nr, uint32_t base, struct kvm_regs *before)
{
	struct kvm_regs regs;
	unsigned port;

	begin(true, base, before);
	world_control(&world)->sections |= more_flags;
	for (unsigned i = 0; i < nr; i++)
		if (machine_step(machine, &port) != MACHINE_STEP)
			return false;
	machine_get_regs(machine, &regs);
	if (regs.rip == end_of_program())
		return false;
	machine_interrupt(machine, SECTION_VECTOR);
	return true;
}

START_TEST(an_interrupt_before_each_instruction)
{
	static const int forms[] = {CONSTANTS, CONSTANTS, REGISTERS, NEGATIVES, WIDE_CONSTANTS};
	struct kvm_regs before;
	unsigned nr = 0;

	/* A short stack keeps the path through the trampolines short. */
	stack_ptr = MACHINE_STACK_END - 0x40;
	more_flags = _i & 1 ? HV_SECTIONS_LOG | HV_SECTIONS_STACK : 0;
	choose(forms[_i]);
	for (; interrupted_at(nr, 0, &before); nr++) {
		run_to_end();
		check_end(&before, 0);
		check_kept(true);
		ck_assert_uint_lt(nr, STEPS_MAX);
	}
	ck_assert_uint_gt(nr, 60);
}
END_TEST

/* With a count of 0x100 at the start, preemption is already off, so the program has no sections. */
START_TEST(no_section_while_preemption_is_off)
{
	struct kvm_regs before;
	unsigned nr = 0;

	for (; interrupted_at(nr, 0x100, &before); nr++) {
		run_to_end();
		check_end(&before, 0x100);
		ck_assert_uint_eq(sections()->seq, 0);
		ck_assert_uint_eq(sections()->nr_no_begin, 0);
	}
	ck_assert_uint_gt(nr, 15);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, section_room_set_up, section_room_tear_down);
	tcase_set_timeout(tc, 200);
	tcase_add_loop_test(tc, detours_do_not_change_the_program, 0, NR_FORMS);
	tcase_add_loop_test(tc, a_section_is_kept, 0, NR_FORMS);
	tcase_add_test(tc, only_longer_sections_are_kept);
	tcase_add_test(tc, nothing_is_kept_while_it_is_off);
	tcase_add_test(tc, an_end_without_a_beginning_is_counted);
	tcase_add_test(tc, an_end_with_an_uncovered_beginning);
	tcase_add_loop_test(tc, an_interrupt_before_each_instruction, 0, 5);
	tcase_add_test(tc, no_section_while_preemption_is_off);
	tcase_add_test(tc, ends_are_recorded);
	tcase_add_test(tc, the_stack_of_the_end_is_recorded);
	tcase_add_test(tc, a_stack_without_a_caller_is_recorded);
	tcase_add_test(tc, the_task_is_described);
	tcase_add_test(tc, stolen_time_does_not_count);
}

int main(void)
{
	return section_room_main("sections", add_tests);
}
