/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs detours of many kinds of instructions inside functions, and the trampoline that records
 * registers there, in a machine without a kernel. A program has a probe site at almost every
 * instruction, including several probe sites that one jump replaces; so has an interrupt handler.
 * The handler interrupts the program before each instruction, including those in detours and
 * trampolines. In all cases registers, flags and memory must match a run without detours, and each
 * probe site is recorded once, with its registers. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tests/kvm/machine.h"
#include "tests/lib/run_suite.h"
#include "tests/lib/trampoline_world.h"

#define EXIT_SKIPPED 77
#define NR_SLOTS     256
#define VECTOR	     0x20
#define STEPS_MAX    20000
#define FLAGS	     (0x202 | 0x8c1) /* interrupts on; the status flags for the program */

/* Offsets in the world */
#define PROGRAM_OFF  (WORLD_TEXT_OFF + 0x200)
#define FUNCTION_OFF (WORLD_TEXT_OFF + 0x280)
#define HANDLER_OFF  (WORLD_TEXT_OFF + 0x2c0)
#define DETOURS_OFF  (WORLD_TEXT_OFF + 0x400)

/* The program, one probe site per line. The displacements of its call and its jump are in the
 * bytes. */
static const struct {
	uint64_t off;
	const char *code;
	size_t len;
	unsigned nr;
} sites[] = {
	/* leaq 0x100(%rip), %rdx */
	{PROGRAM_OFF, "\x48\x8d\x15\x00\x01\x00\x00", 7, 1},
	/* cmpq $5, %rcx; jne to the call */
	{PROGRAM_OFF + 7, "\x48\x83\xf9\x05\x75\x05", 6, 2},
	/* movl $0x11223344, %eax */
	{PROGRAM_OFF + 13, "\xb8\x44\x33\x22\x11", 5, 1},
	/* call the function */
	{PROGRAM_OFF + 18, "\xe8\x69\x00\x00\x00", 5, 1},
	/* adcq $0, %r10; setc %bl */
	{PROGRAM_OFF + 23, "\x49\x83\xd2\x00\x0f\x92\xc3", 7, 2},
	/* jmp to the end */
	{PROGRAM_OFF + 30, "\xe9\x01\x00\x00\x00", 5, 1},
	/* movq (%rsp), %rsi; stc */
	{FUNCTION_OFF, "\x48\x8b\x34\x24\xf9", 5, 2},
	/* pushq %rax; clc; popq %rax; cmc; stc */
	{FUNCTION_OFF + 5, "\x50\xf8\x58\xf5\xf9", 5, 5},
	/* leaq 0(%rsp), %rsp in the handler */
	{HANDLER_OFF, "\x48\x8d\x64\x24\x00", 5, 1},
};
#define HANDLER	 8
#define SKIPPED	 2 /* the branch skips it if %rcx is not 5 */
#define END_OFF	 (PROGRAM_OFF + 36)
#define NR_WORDS HV_ALL_REGS_WORDS

/* The probes in the order of execution: the probe site whose jump replaced the probe's instruction,
 * and the probe's offset from it. Some probe sites have no probe at their first instruction. */
static const struct {
	unsigned site, off;
} probes[] = {
	{0, 0}, {1, 0}, {1, 4}, {2, 0}, {3, 0}, {6, 0}, {6, 4},	      {7, 0},
	{7, 1}, {7, 2}, {7, 3}, {7, 4}, {4, 4}, {5, 0}, {HANDLER, 0},
};
#define NR_PROBES    HV_ARRAY_LEN(probes)
#define BRANCH_PROBE 2
#define CALL_PROBE   4
#define ENTRY_PROBE  5 /* of the function */
#define PUSH_PROBE   7
#define LAST_PROBE   (NR_PROBES - 1) /* of the handler */

static struct machine *machine;
static struct world world;
static struct hv_trampoline_values values;

/* The records of each probe. */
static struct {
	unsigned nr;
	uint64_t words[NR_WORDS];
} recorded[NR_PROBES];

static void nothing(const struct world *w)
{
	(void)w;
}

static const struct world_case plain = {.name = "", .prepare = nothing};

static void set_up(void)
{
	const char *lack;

	machine = machine_new(&lack);
	ck_assert_msg(machine != NULL, "%s", lack);
	world = (struct world){.host = machine->memory + MACHINE_FREE_OFF,
			       .gva = machine_gva(MACHINE_FREE_OFF),
			       .nr_slots = NR_SLOTS,
			       .values = &values,
			       .stack = machine_gva(MACHINE_STACK_OFF),
			       .stack_bytes = 0x4000};
	machine_protect(machine, MACHINE_FREE_OFF, WORLD_PIDS_OFF, HV_ACCESS_READ_EXECUTE);
	machine_protect(machine, MACHINE_FREE_OFF + WORLD_PIDS_OFF, 0x1000, HV_ACCESS_READ);
}

static void tear_down(void)
{
	machine_free(machine);
}

static void make_program(void)
{
	for (unsigned i = 0; i < HV_ARRAY_LEN(sites); i++)
		memcpy(world.host + sites[i].off, sites[i].code, sites[i].len);
	memcpy(world.host + END_OFF - 1, "\xcc\xf4", 2); /* int3, hlt */
	memcpy(world.host + FUNCTION_OFF + 10, "\xc3", 1);
	memcpy(world.host + HANDLER_OFF + 5, "\x48\xcf", 2); /* iretq */
}

static void add_probes(unsigned site, struct hv_detour *d)
{
	for (unsigned i = 0; i < NR_PROBES; i++)
		if (probes[i].site == site)
			d->probes[d->nr_probes++] =
				(struct hv_detour_probe){probes[i].off, WORLD_FETCH_GROUP};
}

static void detour(unsigned i)
{
	const struct hv_arch *arch = &hv_arch_x86_64;
	uint64_t off = DETOURS_OFF + i * HV_DETOUR_LEN_MAX;
	struct hv_gva site = world_gva(&world, sites[i].off);
	struct hv_span code = {(const uint8_t *)sites[i].code, sites[i].len};
	uint8_t patch[HV_DETOUR_PATCH_MAX];
	struct hv_detour d = {
		.kind = HV_DETOUR_PROBE_SITE,
		.at = world_gva(&world, off),
		.trampoline = world_gva(&world, WORLD_CODE_OFF + arch->trampolines.probe_site_off),
		.insn = code.data,
		.probe_site = site,
	};
	unsigned nr;
	size_t len;

	ck_assert_ptr_null(arch->find_movable(code, site, &d.len_bytes, &nr));
	ck_assert_uint_eq(d.len_bytes, sites[i].len);
	ck_assert_uint_eq(nr, sites[i].nr);
	d.next = hv_gva_add(site, d.len_bytes);
	add_probes(i, &d);
	ck_assert(arch->make_detour(&d, world.host + off));
	ck_assert(arch->is_probe_detour(&d, world.host + off));
	len = arch->encode_detour_jump(d.len_bytes, site, d.at, patch);
	ck_assert_uint_ne(len, 0);
	memcpy(world.host + sites[i].off, patch, len);
}

/* The program of the action group: reads memory at %r10. */
static const struct hv_fetch_step reads[] = {
	{.does = HV_FETCH_WORD, .tag = 1, .value = 16},
	{.does = HV_FETCH_READS | HV_FETCH_KEEPS, .len_bytes = 8, .tag = 1},
};

/* Starts the program. The action group does DOES; if 0, there are no detours. */
static void begin(uint32_t does, uint64_t rcx, struct kvm_regs *regs)
{
	uint64_t *reg = (uint64_t *)regs;

	world_set_up(&world, &plain);
	make_program();
	machine_set_handler(machine, VECTOR, world_gva(&world, HANDLER_OFF));
	for (unsigned i = 0; does && i < HV_ARRAY_LEN(sites); i++)
		detour(i);
	world_action_group(&world, WORLD_FETCH_GROUP)->does = does;
	memcpy(world.host + WORLD_PROGRAM_OFF, reads, sizeof(reads));
	for (unsigned i = 0; i < sizeof(*regs) / sizeof(*reg); i++)
		reg[i] = UINT64_C(0x8111111111111111) * i + 7;
	regs->rcx = rcx;
	regs->r10 = UINT64_MAX; /* the carry propagates through it */
	regs->rip = world_gva(&world, PROGRAM_OFF).v;
	regs->rsp = machine_gva(MACHINE_STACK_END - 0x100).v;
	regs->rflags = FLAGS;
	machine_set_regs(machine, regs, world_gva(&world, WORLD_CPU_OFF));
}

static void run_to_end(struct kvm_regs *ret)
{
	unsigned port;

	ck_assert_int_eq(machine_run(machine, &port), MACHINE_HALT);
	machine_get_regs(machine, ret);
	ck_assert_uint_eq(ret->rip, world_gva(&world, END_OFF).v + 1);
}

static void note_event(const struct hv_record *record, const uint64_t *words)
{
	unsigned i = 0;

	ck_assert_uint_eq((uint16_t)record->word[1], HV_EVENT_ID_ALL_REGS);
	while (i < NR_PROBES &&
	       world_gva(&world, sites[probes[i].site].off + probes[i].off).v != words[0])
		i++;
	ck_assert_uint_lt(i, NR_PROBES);
	recorded[i].nr++;
	memcpy(recorded[i].words, words, sizeof(recorded[i].words));
}

static void read_ring(void)
{
	static uint64_t words[HV_DATA_RECORDS_MAX * HV_DATA_LEN / 8];
	uint8_t *at = (uint8_t *)words;
	struct hv_record record;
	struct hv_ring ring;
	uint64_t lost;

	memset(recorded, 0, sizeof(recorded));
	hv_ring_init(&ring, world_state(&world, 0), world_ring(&world, 0), world.nr_slots);
	ring.position = 0;
	while (ring.position < world_head(&world, 0)) {
		ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_RECORD);
		if ((record.word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK) ==
		    HV_RECORD_EVENT) {
			note_event(&record, words);
			at = (uint8_t *)words;
			continue;
		}
		ck_assert_uint_eq(record.word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK,
				  HV_RECORD_DATA);
		record.word[1] |= record.word[3] >> HV_DATA_FIRST_SHIFT << HV_WORD_BITS;
		record.word[2] |= record.word[3] >> HV_DATA_SECOND_SHIFT << HV_WORD_BITS;
		memcpy(at, &record.word[1], 8);
		memcpy(at + 8, &record.word[2], 8);
		memcpy(at + 16, &record.word[3], 4);
		at += HV_DATA_LEN;
	}
}

static void check_first(const struct kvm_regs *before)
{
	const uint64_t *first = recorded[0].words;

	ck_assert_uint_eq(first[HV_REGS_STACK], before->rsp);
	ck_assert_uint_eq(first[3], before->rbx);
	ck_assert_uint_eq(first[6], before->rsi);
	ck_assert_uint_eq(first[14], before->r15);
	ck_assert_uint_eq(first[15], before->rax);
	ck_assert_uint_eq(first[16], before->r10);
	ck_assert_uint_eq(first[17], before->r11);
	ck_assert_uint_eq(first[18] & ~0x100ull, before->rflags); /* without the trap flag */
}

static void check_call(const struct kvm_regs *before)
{
	const uint64_t *call = recorded[CALL_PROBE].words;
	uint64_t behind = world_gva(&world, sites[3].off).v + 5;

	ck_assert_uint_eq(call[15], before->rcx == 5 ? 0x11223344 : before->rax);
	ck_assert_uint_eq(call[18] >> 6 & 1, before->rcx == 5); /* ZF */
	ck_assert_uint_eq(recorded[BRANCH_PROBE].words[18] >> 6 & 1, before->rcx == 5);
	ck_assert_uint_eq(recorded[ENTRY_PROBE].words[HV_REGS_STACK_WORD], behind);
	ck_assert_uint_eq(recorded[ENTRY_PROBE + 1].words[6], behind); /* %rsi */
}

#define FLAG_C 1

/* Between instructions that one jump replaces, a probe sees the registers, flags and stack of that
 * point. */
static void check_flags(uint64_t rax)
{
	static const unsigned carries[] = {1, 1, 0, 0, 1}; /* before each instruction */
	const uint64_t *push = recorded[PUSH_PROBE].words;

	for (unsigned i = 0; i < 5; i++) {
		const uint64_t *words = recorded[PUSH_PROBE + i].words;
		bool is_pushed = i == 1 || i == 2;

		ck_assert_uint_eq(words[18] & FLAG_C, carries[i]);
		ck_assert_uint_eq(words[HV_REGS_STACK], push[HV_REGS_STACK] - 8 * is_pushed);
		ck_assert_uint_eq(words[HV_REGS_STACK_WORD],
				  is_pushed ? rax : push[HV_REGS_STACK_WORD]);
	}
}

static void check_recorded(const struct kvm_regs *before, bool handler_ran)
{
	for (unsigned n = 0; n < LAST_PROBE; n++)
		ck_assert_uint_eq(recorded[n].nr,
				  probes[n].site != SKIPPED || before->rcx == 5 ? 1 : 0);
	/* While the trampoline reads memory, a call in the same context is not recorded, but
	 * counted. */
	ck_assert_uint_eq(recorded[LAST_PROBE].nr + world_state(&world, 0)->nr_no_draft,
			  handler_ran);
	check_first(before);
	check_flags(before->rcx == 5 ? 0x11223344 : before->rax);
	check_call(before);
}

static const uint32_t does_what[] = {HV_DOES_REGS, HV_DOES_REGS | HV_DOES_FETCH};
static const uint64_t counts[] = {5, 6};

START_TEST(detours_do_not_change_the_program)
{
	struct kvm_regs before, own, ours;

	for (unsigned i = 0; i < HV_ARRAY_LEN(counts); i++) {
		begin(0, counts[i], &before);
		run_to_end(&own);
		ck_assert_uint_eq(own.r10, 0); /* the function's carry propagated through it */
		ck_assert_uint_eq(own.rsi, world_gva(&world, sites[3].off).v + 5);
		begin(does_what[_i], counts[i], &before);
		run_to_end(&ours);
		ck_assert_mem_eq(&own, &ours, sizeof(own));
		read_ring();
		check_recorded(&before, false);
	}
}
END_TEST

START_TEST(nothing_is_recorded_while_it_is_off)
{
	struct kvm_regs before, own, ours;

	begin(0, 5, &before);
	run_to_end(&own);
	begin(does_what[_i], 5, &before);
	world_control(&world)->mode = HV_MODE_OFF;
	run_to_end(&ours);
	ck_assert_mem_eq(&own, &ours, sizeof(own));
	ck_assert_uint_eq(world_head(&world, 0), 0);
}
END_TEST

/* A snapshot of the machine before one of the program's instructions. */
static struct {
	struct kvm_regs regs;
	uint8_t memory[MACHINE_LEN];
} before_insn;

static void keep(void)
{
	machine_get_regs(machine, &before_insn.regs);
	memcpy(before_insn.memory, machine->memory, MACHINE_LEN);
}

static void go_back(void)
{
	memcpy(machine->memory, before_insn.memory, MACHINE_LEN);
	machine_set_regs(machine, &before_insn.regs, world_gva(&world, WORLD_CPU_OFF));
}

/* Executes one instruction from the snapshot and updates the snapshot. Returns false if the program
 * ended. */
static bool goes_on(void)
{
	unsigned port;

	go_back();
	if (machine_step(machine, &port) != MACHINE_STEP)
		return false;
	keep();
	return before_insn.regs.rip != world_gva(&world, END_OFF).v + 1;
}

START_TEST(an_interrupt_before_each_instruction)
{
	struct kvm_regs before, own, ours;
	unsigned nr = 0;

	begin(0, 5, &before);
	run_to_end(&own);
	begin(does_what[_i], 5, &before);
	keep();
	do {
		machine_interrupt(machine, VECTOR);
		run_to_end(&ours);
		ck_assert_mem_eq(&own, &ours, sizeof(own));
		read_ring();
		check_recorded(&before, true);
		ck_assert_uint_lt(++nr, STEPS_MAX);
	} while (goes_on());
	ck_assert_uint_gt(nr, 900); /* including the trampoline's instructions */
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 200);
	tcase_add_loop_test(tc, detours_do_not_change_the_program, 0, 2);
	tcase_add_loop_test(tc, nothing_is_recorded_while_it_is_off, 0, 2);
	tcase_add_loop_test(tc, an_interrupt_before_each_instruction, 0, 2);
}

int main(void)
{
	const char *lack;

	machine = machine_new(&lack);
	if (!machine) {
		printf("skipped: %s\n", lack);
		return EXIT_SKIPPED;
	}
	machine_free(machine);
	return run_suite("probe_sites", add_tests);
}
