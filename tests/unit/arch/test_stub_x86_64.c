/* The function stub, the very bytes a guest gets, run in this process: gs points at a per-CPU area
 * of ours, a page of code stands for a traced function. Runs on an x86-64 host only. */
#include <asm/prctl.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "tests/lib/run_suite.h"

#define NR_SLOTS 8
#define NR_CPUS	 2

struct task {
	uint64_t flags;
	uint32_t lazy_count;
	uint32_t pid;
	uint32_t tgid;
	uint16_t migration_disabled;
	char comm[16];
};

static struct {
	uint32_t cpu_number;
	uint32_t preempt_count;
	struct task *current;
} percpu;

static struct task cat = {
	.flags = 0x8, .pid = 71, .tgid = 70, .migration_disabled = 2, .comm = "cat"};
static struct task dd = {.pid = 40000,
			 .tgid = 0x2aaaaa,
			 .comm = "d\xc3\xa9"
				 "d-co\xff-last"};

static struct hv_params *params;
static uint8_t *code;	/* of the stubs */
static uint8_t *traced; /* call stub; ret */
static struct hv_state *states;
static struct hv_record *rings[NR_CPUS];
static uint64_t pids[16];
static struct hv_control control;
static struct task *argument; /* of the traced function */

/* General registers in the order of their numbers, rsp (4) unused, r10 and r11 free to change. */
struct registers {
	uint64_t r[16];
};

void call_with(void *fn, const struct registers *in, struct registers *out);
__asm__(".text\n"
	"call_with:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	push %rdx; push %rdi\n"
	"	mov %rsi, %rax\n"
	"	mov 8(%rax), %rcx; mov 16(%rax), %rdx; mov 24(%rax), %rbx; mov 40(%rax), %rbp\n"
	"	mov 48(%rax), %rsi; mov 56(%rax), %rdi; mov 64(%rax), %r8; mov 72(%rax), %r9\n"
	"	mov 96(%rax), %r12; mov 104(%rax), %r13; mov 112(%rax), %r14; mov 120(%rax), %r15\n"
	"	mov (%rax), %rax\n"
	"	call *(%rsp)\n"
	"	.globl call_with_return\n"
	"call_with_return:\n"
	"	mov 8(%rsp), %r10\n"
	"	mov %rax, (%r10); mov %rcx, 8(%r10); mov %rdx, 16(%r10); mov %rbx, 24(%r10)\n"
	"	mov %rbp, 40(%r10); mov %rsi, 48(%r10); mov %rdi, 56(%r10); mov %r8, 64(%r10)\n"
	"	mov %r9, 72(%r10); mov %r12, 96(%r10); mov %r13, 104(%r10); mov %r14, 112(%r10)\n"
	"	mov %r15, 120(%r10)\n"
	"	pop %rdi; pop %rdx\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n");
extern const uint8_t call_with_return[];

static void set_up(void)
{
	const struct hv_stub_image *stubs = &hv_arch_x86_64.stubs;
	uint8_t *pages = mmap(NULL, 0x5000, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	params = (struct hv_params *)pages;
	code = pages + HV_STUBS_CODE_OFF;
	traced = pages + 0x4000;
	memcpy(code, stubs->code, stubs->len_bytes);
	ck_assert(hv_arch_x86_64.encode_call(
		hv_gva((uintptr_t)traced), hv_gva((uintptr_t)code + stubs->function_off), traced));
	traced[5] = 0xc3;
	states = calloc(NR_CPUS, sizeof(*states));
	rings[0] = calloc(NR_CPUS * NR_SLOTS, sizeof(struct hv_record));
	rings[1] = rings[0] + NR_SLOTS;
	memset(pids, 0, sizeof(pids));
	control = (struct hv_control){0};
	percpu.cpu_number = 0;
	percpu.preempt_count = 0x80000102;
	percpu.current = &cat;
	argument = NULL;
	*params = (struct hv_params){
		.nr_cpus = NR_CPUS,
		.cpu_number_percpu = 0,
		.preempt_count_percpu = 4,
		.current_percpu = 8,
		.task_pid_off = offsetof(struct task, pid),
		.task_tgid_off = offsetof(struct task, tgid),
		.task_comm_off = offsetof(struct task, comm),
		.task_flags_off = offsetof(struct task, flags),
		.task_migrate_off = offsetof(struct task, migration_disabled),
		.migrate_mask = 0xff,
		.states_gva = (uintptr_t)states,
		.rings_gva = (uintptr_t)rings[0],
		.slot_mask = NR_SLOTS - 1,
		.ring_shift = __builtin_ctz(NR_SLOTS * sizeof(struct hv_record)),
		.lap_shift = __builtin_ctz(NR_SLOTS),
		.pids_gva = (uintptr_t)pids,
		.nr_pids = sizeof(pids) * 8,
		.control_gva = (uintptr_t)&control,
	};
	syscall(SYS_arch_prctl, ARCH_SET_GS, &percpu);
}

static void run(void)
{
	struct registers in, out;

	for (unsigned i = 0; i < 16; i++)
		in.r[i] = 0x1111111111111111ULL * i + 7;
	in.r[7] = (uintptr_t)argument;
	memset(&out, 0, sizeof(out));
	call_with(traced, &in, &out);
	for (unsigned i = 0; i < 16; i++)
		if (i != 4 && i != 10 && i != 11)
			ck_assert_uint_eq(out.r[i], in.r[i]);
}

/* The word without its lap bit, which must be LAP's. */
static uint64_t word(const struct hv_record *record, unsigned i, unsigned lap)
{
	ck_assert_uint_eq(record->word[i] >> HV_LAP_BIT, lap);
	return record->word[i] & ~(1ULL << HV_LAP_BIT);
}

START_TEST(a_record_of_a_call)
{
	const struct hv_record *r = &rings[0][1];
	uint64_t before = __builtin_ia32_rdtsc();

	run();
	ck_assert_uint_eq(states[0].head, 2);
	ck_assert_uint_eq(states[1].head, 0);
	ck_assert(word(r, 0, 1) >= before && word(r, 0, 1) <= __builtin_ia32_rdtsc());
	ck_assert_uint_eq((uint32_t)word(r, 1, 1), (uint32_t)(uintptr_t)traced);
	ck_assert_uint_eq(word(r, 1, 1) >> 32, (uintptr_t)call_with_return & 0x7fffffff);
	ck_assert_uint_eq((uint32_t)word(r, 2, 1), 71);
	ck_assert_uint_eq(word(r, 2, 1) >> 32 & 0xffff, 0x8);
	ck_assert_uint_eq(word(r, 2, 1) >> 48, 2);
	ck_assert_uint_eq((uint32_t)word(r, 3, 1), 0x80000102);
	ck_assert_uint_eq(word(r, 3, 1) >> 32 & 0x200, 0x200); /* interrupts are on here */
	ck_assert_uint_eq(word(r, 3, 1) >> HV_RECORD_KIND_SHIFT, HV_RECORD_FUNCTION);
}
END_TEST

START_TEST(a_task_is_told_before_its_first_record)
{
	const struct hv_record *r = rings[0];
	char comm[16];
	uint64_t half;

	run();
	run();
	ck_assert_uint_eq(states[0].head, 3);
	ck_assert_uint_eq(word(&r[0], 3, 1) >> HV_RECORD_KIND_SHIFT, HV_RECORD_TASK);
	ck_assert_uint_eq((uint32_t)word(&r[0], 3, 1), 71);
	ck_assert_uint_eq(word(&r[2], 3, 1) >> HV_RECORD_KIND_SHIFT, HV_RECORD_FUNCTION);

	percpu.current = &dd;
	run();
	ck_assert_uint_eq(states[0].head, 5);
	ck_assert_uint_eq((uint32_t)word(&r[3], 3, 1), 40000);
	ck_assert_uint_eq(word(&r[0], 3, 1) >> HV_TASK_TGID_SHIFT & 0x7fff, 70);
	ck_assert_uint_eq(word(&r[3], 3, 1) >> HV_TASK_TGID_SHIFT & 0x7fff, 0x2aaaaa & 0x7fff);
	ck_assert_uint_eq(word(&r[3], 3, 1) >> HV_TASK_TGID_SHIFT2, 0x2aaaaa >> 15);
	half = word(&r[3], 1, 1) | (word(&r[3], 3, 1) >> HV_TASK_COMM7_SHIFT & 1) << 63;
	memcpy(comm, &half, 8);
	half = word(&r[3], 2, 1);
	memcpy(comm + 8, &half, 8);
	ck_assert_mem_eq(comm, dd.comm, 16);
	ck_assert_uint_eq((uint32_t)word(&r[4], 2, 1), 40000);
}
END_TEST

START_TEST(laps)
{
	for (unsigned i = 0; i < 2 * NR_SLOTS; i++)
		run();
	/* position 16 is slot 0 of the third lap, 9..15 are of the second */
	ck_assert_uint_eq(states[0].head, 2 * NR_SLOTS + 1);
	for (unsigned i = 0; i < 4; i++) {
		word(&rings[0][0], i, 1);
		word(&rings[0][1], i, 0);
		word(&rings[0][7], i, 0);
	}
	ck_assert_uint_eq(rings[1][0].word[0], 0);
}
END_TEST

START_TEST(every_cpu_has_its_ring)
{
	percpu.cpu_number = 1;
	run();
	ck_assert_uint_eq(states[0].head, 0);
	ck_assert_uint_eq(states[1].head, 2);
	ck_assert_uint_eq((uint32_t)word(&rings[1][1], 2, 1), 71);

	percpu.cpu_number = NR_CPUS;
	run();
	ck_assert_uint_eq(states[0].head + states[1].head, 2);
}
END_TEST

START_TEST(off_writes_nothing)
{
	control.mode = HV_MODE_OFF;
	run();
	control.mode = HV_MODE_OFF | HV_MODE_PID_FILTER;
	pids[1] = 1 << (71 - 64);
	run();
	ck_assert_uint_eq(states[0].head, 0);
}
END_TEST

START_TEST(pid_filter)
{
	control.mode = HV_MODE_PID_FILTER;
	run();
	ck_assert_uint_eq(states[0].head, 0);
	pids[1] = 1 << (71 - 64);
	run();
	ck_assert_uint_eq(states[0].head, 2);
	percpu.current = &dd; /* beyond the bitmap */
	run();
	ck_assert_uint_eq(states[0].head, 2);
}
END_TEST

START_TEST(muted_cpus)
{
	control.mode = HV_MODE_CPUS;
	states[0].muted = 1;
	run();
	ck_assert_uint_eq(states[0].head, 0);
	percpu.cpu_number = 1;
	run();
	ck_assert_uint_eq(states[1].head, 2);
	control.mode |= HV_MODE_PID_FILTER;
	run();
	ck_assert_uint_eq(states[1].head, 2);
	pids[1] = 1 << (71 - 64);
	run();
	ck_assert_uint_eq(states[1].head, 3);
	states[1].muted = 1;
	run();
	percpu.cpu_number = NR_CPUS;
	run();
	ck_assert_uint_eq(states[1].head, 3);
	states[0].muted = 0;
	percpu.cpu_number = 0;
	run();
	ck_assert_uint_eq(states[0].head, 2);
}
END_TEST

/* The traced function calls entry NR, which DOES and goes on to the function stub or to nothing. */
static void call_entry(unsigned nr, unsigned does, bool recorded)
{
	const struct hv_stub_image *stubs = &hv_arch_x86_64.stubs;
	struct hv_slot *slots = (struct hv_slot *)((uint8_t *)params + HV_SLOTS_OFF);
	uint64_t entry = (uintptr_t)code + stubs->actions_off + nr * stubs->action_len_bytes;

	slots[nr].does = does;
	slots[nr].goes_on = recorded ? (uint32_t)(HV_STUBS_CODE_OFF + stubs->function_off) : 0;
	ck_assert(hv_arch_x86_64.encode_call(hv_gva((uintptr_t)traced), hv_gva(entry), traced));
}

START_TEST(actions_switch)
{
	call_entry(0, HV_SLOT_OFF, true);
	run();
	ck_assert_uint_eq(control.mode, HV_MODE_OFF);
	ck_assert_uint_eq(states[0].head, 0);
	control.mode = HV_MODE_OFF | HV_MODE_PID_FILTER;
	call_entry(HV_NR_SLOTS - 1, HV_SLOT_ON, false);
	run();
	ck_assert_uint_eq(control.mode, HV_MODE_PID_FILTER);
	ck_assert_uint_eq(states[0].head, 0);
	control.mode = HV_MODE_OFF;
	call_entry(5, HV_SLOT_ON, true);
	run();
	ck_assert_uint_eq(control.mode, 0);
	ck_assert_uint_eq(states[0].head, 2);
	ck_assert_uint_eq((uint32_t)word(&rings[0][1], 1, 1), (uint32_t)(uintptr_t)traced);
	call_entry(6, 0, true);
	run();
	ck_assert_uint_eq(states[0].head, 3);
}
END_TEST

/* Counted when something changes, and not below 0. */
START_TEST(actions_are_counted)
{
	control.left[7].off = 2;
	control.left[7].on = 1;
	call_entry(7, HV_SLOT_OFF_COUNTED, false);
	run();
	ck_assert_uint_eq(control.mode, HV_MODE_OFF);
	run();
	ck_assert_int_eq(control.left[7].off, 1);
	call_entry(7, HV_SLOT_ON_COUNTED, false);
	run();
	run();
	ck_assert_uint_eq(control.mode, 0);
	ck_assert_int_eq(control.left[7].on, 0);
	call_entry(7, HV_SLOT_OFF_COUNTED, true);
	run();
	ck_assert_uint_eq(control.mode, HV_MODE_OFF);
	ck_assert_int_eq(control.left[7].off, 0);
	control.mode = 0;
	run();
	ck_assert_uint_eq(control.mode, 0);
	ck_assert_uint_eq(states[0].head, 2);
	control.left[7].off = -1;
	run();
	ck_assert_uint_eq(control.mode, 0);
}
END_TEST

static bool has_pid(uint32_t pid)
{
	return pids[pid / 64] >> pid % 64 & 1;
}

/* The function's argument is a task that the current one forked, or that ends. */
START_TEST(tasks_come_and_go)
{
	struct task child = {.pid = 72}, beyond = {.pid = sizeof(pids) * 8};

	argument = &child;
	call_entry(9, HV_SLOT_PID_INHERITS, true);
	pids[1] = 1 << (72 - 64);
	run();
	ck_assert(!has_pid(72));
	ck_assert_uint_eq(states[0].head, 2);
	pids[1] = 1 << (71 - 64);
	run();
	ck_assert(has_pid(71) && has_pid(72));
	call_entry(9, HV_SLOT_PID_CLEARS, false);
	run();
	ck_assert(has_pid(71) && !has_pid(72));
	call_entry(9, HV_SLOT_PID_SETS, false);
	run();
	ck_assert(has_pid(72));
	argument = &beyond;
	run();
	call_entry(9, HV_SLOT_PID_INHERITS, false);
	run();
	/* Of a task beyond the bitmap nothing is inherited. */
	argument = &child;
	percpu.current = &dd;
	run();
	ck_assert(has_pid(72));
	ck_assert_uint_eq(states[0].head, 3);
}
END_TEST

START_TEST(a_kernel_without_migration_counts)
{
	params->task_migrate_off = params->task_pid_off;
	params->migrate_mask = 0;
	run();
	ck_assert_uint_eq(word(&rings[0][1], 2, 1) >> 48, 0);
}
END_TEST

/* Of a kernel with lazy preemption of its own: the count, the largest there is room for if it is
 * more, and the flag. */
START_TEST(a_kernel_with_lazy_preemption)
{
	struct task lazy = cat;

	percpu.current = &lazy;
	lazy.lazy_count = 0x45;
	run();
	ck_assert_uint_eq(word(&rings[0][1], 2, 1) >> 56, 0);
	params->task_lazy_off = offsetof(struct task, lazy_count);
	params->lazy_mask = 0x80000;
	run();
	ck_assert_uint_eq(word(&rings[0][2], 2, 1),
			  UINT64_C(63) << 56 | UINT64_C(2) << 48 | UINT64_C(8) << 32 | 71);
	lazy.lazy_count = 0x3e;
	run();
	ck_assert_uint_eq(word(&rings[0][3], 2, 1),
			  UINT64_C(0x3e) << 56 | UINT64_C(2) << 48 | UINT64_C(8) << 32 | 71);
	lazy.flags |= 0x80000;
	lazy.lazy_count = 0;
	run();
	ck_assert_uint_eq(word(&rings[0][4], 2, 1),
			  UINT64_C(1) << 62 | UINT64_C(2) << 48 | UINT64_C(8) << 32 | 71);
}
END_TEST

START_TEST(guests_heads_stay_in_the_ring)
{
	states[0].head = UINT64_MAX - 1;
	run();
	run();
	ck_assert_uint_eq(states[0].head, 1);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, a_record_of_a_call);
	tcase_add_test(tc, a_task_is_told_before_its_first_record);
	tcase_add_test(tc, laps);
	tcase_add_test(tc, every_cpu_has_its_ring);
	tcase_add_test(tc, off_writes_nothing);
	tcase_add_test(tc, pid_filter);
	tcase_add_test(tc, muted_cpus);
	tcase_add_test(tc, actions_switch);
	tcase_add_test(tc, tasks_come_and_go);
	tcase_add_test(tc, actions_are_counted);
	tcase_add_test(tc, a_kernel_without_migration_counts);
	tcase_add_test(tc, a_kernel_with_lazy_preemption);
	tcase_add_test(tc, guests_heads_stay_in_the_ring);
}

int main(void)
{
	return run_suite("stub_x86_64", add_tests);
}
