/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/kvm/trampoline_room.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tracer/events/decode.h"

#define CALLER_OFF	   MACHINE_TEXT_OFF
#define CLOCK_OFF	   (MACHINE_TEXT_OFF + 0x40)
#define HANDLER_OFF	   (MACHINE_TEXT_OFF + 0x80)
#define STACK_PTR	   (MACHINE_STACK_END - 0x800)
/* The task's stack ends a few words above the caller. */
#define ROOM_STACK_TOP_OFF (STACK_PTR + 0x20)
#define ROOM_ABOVE_OFF	   (STACK_PTR + 8)

static void place_call(struct room *r, uint64_t off, uint64_t world_off)
{
	bool reaches = hv_arch_x86_64.encode_call(machine_gva(off), world_gva(&r->world, world_off),
						  r->machine->memory + off);

	assert(reaches);
	(void)reaches;
}

static void make_text(struct room *r)
{
	static const uint8_t before[] = {0x50, 0x51, 0x56, 0x57, 0x41, 0x50, 0x41,
					 0x51, 0x41, 0x52, 0x41, 0x53, 0xe6, ROOM_PORT_IN};
	static const uint8_t after[] = {0xe6, ROOM_PORT_OUT, 0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59,
					0x41, 0x58,	     0x5f, 0x5e, 0x59, 0x58, 0x48, 0xcf};
	static const uint8_t rdtsc_halt[] = {0x0f, 0x31, 0xf4};
	uint8_t *text = r->machine->memory;

	/* call traced; hlt */
	place_call(r, CALLER_OFF, WORLD_TRACED_OFF);
	text[CALLER_OFF + 5] = 0xf4;
	memcpy(text + CLOCK_OFF, rdtsc_halt, sizeof(rdtsc_halt));
	/* push %rax, %rcx, %rsi, %rdi, %r8 to %r11; out; call traced_other; out; pops; iretq */
	memcpy(text + HANDLER_OFF, before, sizeof(before));
	place_call(r, HANDLER_OFF + sizeof(before), WORLD_TRACED_OTHER_OFF);
	memcpy(text + HANDLER_OFF + sizeof(before) + 5, after, sizeof(after));
	machine_set_handler(r->machine, ROOM_VECTOR, machine_gva(HANDLER_OFF));
	machine_set_handler(r->machine, MACHINE_NMI, machine_gva(HANDLER_OFF));
}

struct room *room_new(const char **ret_lack)
{
	struct machine *m = machine_new(ret_lack);
	struct room *r;

	if (!m)
		return NULL;
	r = calloc(1, sizeof(*r));
	assert(r);
	r->machine = m;
	r->world = (struct world){.host = m->memory + MACHINE_FREE_OFF,
				  .gva = machine_gva(MACHINE_FREE_OFF),
				  .nr_slots = ROOM_NR_SLOTS,
				  .values = &r->values,
				  .stack = machine_gva(ROOM_STACK_OFF),
				  .stack_bytes = ROOM_STACK_LEN,
				  .task_stack = machine_gva(ROOM_STACK_TOP_OFF - ROOM_STACK_LEN),
				  .above = machine_gva(ROOM_ABOVE_OFF)};
	assert(MACHINE_FREE_OFF + WORLD_LEN(ROOM_NR_SLOTS) <= MACHINE_LEN);
	machine_protect(m, MACHINE_FREE_OFF, WORLD_PIDS_OFF, HV_ACCESS_READ_EXECUTE);
	machine_protect(m, MACHINE_FREE_OFF + WORLD_PIDS_OFF, 0x1000, HV_ACCESS_READ);
	make_text(r);
	return r;
}

void room_free(struct room *r)
{
	if (r)
		machine_free(r->machine);
	free(r);
}

void room_set_up(struct room *r, const struct world_case *c)
{
	memset(r->machine->memory + MACHINE_STACK_OFF, 0xa5, MACHINE_STACK_END - MACHINE_STACK_OFF);
	world_set_up(&r->world, c);
	if (c->hooked)
		*(uint64_t *)(r->machine->memory + ROOM_ABOVE_OFF) = world_handler(&r->world).v;
	r->graph = c->trampoline >= WORLD_GRAPH;
	r->nr_stacks = 0;
	r->stepped = false;
	r->trampoline_stack_bytes = r->graph ? ROOM_GRAPH_STACK_BYTES : ROOM_STACK_BYTES;
	if (c->trampoline == WORLD_FUNCTION_STACK || c->nr_stacks)
		r->trampoline_stack_bytes = ROOM_STACK_STACK_BYTES;
	if (c->trampoline >= WORLD_REGS)
		r->trampoline_stack_bytes = ROOM_PROBED_STACK_BYTES;
	if (c->trampoline >= WORLD_PROBED_ARGS && c->trampoline <= WORLD_PROBED_ARGS_GRAPH)
		r->trampoline_stack_bytes = ROOM_ARGS_STACK_BYTES;
	r->stack_used_max = 8 + r->trampoline_stack_bytes;
}

uint64_t room_tsc(struct room *r)
{
	struct kvm_regs regs = {.rip = machine_gva(CLOCK_OFF).v, .rflags = 2};
	enum machine_stop stop;
	unsigned port;

	machine_set_regs(r->machine, &regs, hv_gva(0));
	stop = machine_run(r->machine, &port);
	assert(stop == MACHINE_HALT);
	(void)stop;
	machine_get_regs(r->machine, &regs);
	return regs.rdx << 32 | (uint32_t)regs.rax;
}

void room_begin(struct room *r, uint64_t flags)
{
	uint64_t *reg = (uint64_t *)&r->before;

	r->before_tsc = room_tsc(r);
	for (unsigned i = 0; i < sizeof(r->before) / sizeof(*reg); i++)
		reg[i] = UINT64_C(0x8111111111111111) * i + 7;
	r->before.rip = machine_gva(CALLER_OFF).v;
	r->before.rsp = machine_gva(STACK_PTR).v;
	r->before.rflags = flags | 2;
	machine_set_regs(r->machine, &r->before, world_gva(&r->world, WORLD_CPU_OFF));
	machine_get_rest(r->machine, &r->before_system, &r->before_fpu);
	memcpy(r->expected, r->machine->memory, MACHINE_LEN);
}

struct room_call room_outer(const struct room *r)
{
	const struct world_cpu *cpu = world_cpu(&r->world);

	return (struct room_call){
		.site_off = WORLD_TRACED_OFF,
		.caller = machine_gva(CALLER_OFF + 5),
		.task = cpu->current.v == world_gva(&r->world, WORLD_CPU_OFF).v +
						  offsetof(struct world_cpu, dd)
				? &cpu->dd
				: &cpu->cat,
		.preempt_count = cpu->preempt_count,
		.flags = (uint16_t)r->before.rflags,
	};
}

static bool wrong(const char *what, uint64_t is, uint64_t must_be)
{
	printf("%s: %#lx, not %#lx\n", what, (unsigned long)is, (unsigned long)must_be);
	return false;
}

bool room_registers_are_right(struct room *r)
{
	struct kvm_regs after;
	struct kvm_sregs system;
	struct kvm_fpu fpu;
	uint64_t flags_free = ROOM_STATUS_FLAGS | ROOM_FLAG_TF;

	machine_get_regs(r->machine, &after);
	machine_get_rest(r->machine, &system, &fpu);
	if (after.rip != ROOM_END_GVA)
		return wrong("rip", after.rip, ROOM_END_GVA);
	if ((after.rflags ^ r->before.rflags) & ~flags_free)
		return wrong("rflags", after.rflags, r->before.rflags);
	after.rip = r->before.rip;
	after.rflags = r->before.rflags;
	after.r10 = r->before.r10;
	after.r11 = r->before.r11;
	if (after.rax != r->before.rcx)
		return wrong("return value", after.rax, r->before.rcx);
	after.rax = r->before.rax;
	if (r->graph) { /* the traced function may change these */
		after.rcx = r->before.rcx;
		after.rsi = r->before.rsi;
		after.rdi = r->before.rdi;
		after.r8 = r->before.r8;
		after.r9 = r->before.r9;
	}
	for (unsigned i = 0; i < sizeof(after) / 8; i++)
		if (((uint64_t *)&after)[i] != ((uint64_t *)&r->before)[i]) {
			printf("register %u of struct kvm_regs: ", i);
			return wrong("it is", ((uint64_t *)&after)[i], ((uint64_t *)&r->before)[i]);
		}
	if (memcmp(&system, &r->before_system, sizeof(system)) != 0)
		return wrong("system registers differ", 0, 0);
	if (memcmp(&fpu, &r->before_fpu, sizeof(fpu)) != 0)
		return wrong("floating-point registers differ", 0, 0);
	return true;
}

bool room_take_key(const struct room *r, struct hv_record *record, uint64_t position)
{
	uint64_t key = hv_record_key(position, r->world.nr_slots);

	for (unsigned i = 0; i < 4; i++) {
		record->word[i] ^= key;
		if (record->word[i] & HV_RECORD_ZEROS)
			return wrong("word of another position", record->word[i], key);
	}
	return true;
}

struct found {
	unsigned outer;
	unsigned inner;
	unsigned tasks;
	struct hv_parts words;
	uint64_t now; /* tsc */
};

/* Returns the lazy-preemption bits at the top of word 2. */
static uint64_t lazy_of(const struct room *r, const struct world_task *task)
{
	uint64_t asked = (task->flags & r->values.hole[HV_HOLE_lazy_mask]) != 0;
	uint64_t count = task->lazy_count;

	if (!(r->values.alternatives >> HV_ALT_LAZY & 1))
		return 0;
	return (count < HV_CALL_LAZY_MAX ? count : HV_CALL_LAZY_MAX) << HV_CALL_LAZY_SHIFT |
	       asked << HV_CALL_LAZY_ASKED;
}

static uint64_t migrate_of(const struct room *r, const struct world_task *task)
{
	return r->values.alternatives >> HV_ALT_NO_MIGRATE & 1 ? 0
							       : task->migration_disabled & 0xff;
}

static uint32_t softirqs_of(const struct room *r, const struct world_task *task)
{
	return r->values.alternatives >> HV_ALT_TASK_SOFTIRQS & 1 ? task->softirqs : 0;
}

static bool is_call(const struct room *r, const struct hv_record *record,
		    const struct room_call *call, unsigned kind)
{
	uint64_t site_end = world_gva(&r->world, call->site_off).v + hv_arch_x86_64.site_len_bytes;
	uint64_t free_bits = ROOM_STATUS_FLAGS | (r->stepped ? ROOM_FLAG_TF : 0);
	uint64_t word3 =
		call->preempt_count | softirqs_of(r, call->task) | (uint64_t)call->flags << 32;

	return hv_record_kind(record) == kind &&
	       record->word[1] == (site_end ^ call->caller.v << HV_CALLER_SHIFT) &&
	       record->word[2] == ((uint64_t)call->task->pid << HV_CALL_PID_SHIFT |
				   (call->task->flags & 0xff) << 8 | migrate_of(r, call->task) |
				   lazy_of(r, call->task)) &&
	       ((record->word[3] ^ word3) & ((UINT64_C(1) << HV_RECORD_DEPTH_SHIFT) - 1) &
		~(free_bits << 32)) == 0;
}

/* Returns whether RECORD is a stack with all its words. The trampoline reserves them together, so
 * that no other record can be between them. */
static bool is_stack(const struct room *r, const struct hv_record *record, uint64_t position,
		     const struct room_call *outer, const struct room_call *inner,
		     const struct found *found)
{
	return ((outer && is_call(r, record, outer, HV_RECORD_STACK)) ||
		(inner && is_call(r, record, inner, HV_RECORD_STACK))) &&
	       hv_parts_are_of(&found->words, record, position, 0);
}

static bool is_task(const struct hv_record *record, const struct world_task *task)
{
	uint64_t comm[2];

	memcpy(comm, task->comm, sizeof(comm));
	return record->word[1] == (comm[0] & ~HV_RECORD_ZEROS) && record->word[2] == comm[1] &&
	       record->word[3] == (task->pid | (uint64_t)task->tgid << HV_TASK_TGID_SHIFT |
				   comm[0] >> HV_WORD_BITS << HV_TASK_COMM7_SHIFT |
				   (uint64_t)HV_RECORD_TASK << HV_RECORD_KIND_SHIFT);
}

/* Checks the record at a position: it is complete, belongs to one of the calls, and its time is
 * within the run. */
static bool record_is_right(struct room *r, const struct room_call *outer,
			    const struct room_call *inner, unsigned cpu, uint64_t position,
			    struct found *found)
{
	const struct world_cpu *percpu = world_cpu(&r->world);
	struct hv_record record = world_ring(&r->world, cpu)[position % r->world.nr_slots];

	if (!room_take_key(r, &record, position))
		return false;
	if (record.word[0] < r->before_tsc || record.word[0] > found->now)
		return wrong("time of a record", record.word[0], r->before_tsc);
	if (outer && is_call(r, &record, outer, HV_RECORD_FUNCTION))
		found->outer++;
	else if (inner && is_call(r, &record, inner, HV_RECORD_FUNCTION))
		found->inner++;
	else if (hv_record_kind(&record) == HV_RECORD_WORDS)
		hv_parts_add(&found->words, &record, position, 0);
	else if (is_stack(r, &record, position, outer, inner, found))
		r->nr_stacks++;
	else if (is_task(&record, &percpu->cat) || is_task(&record, &percpu->dd))
		found->tasks++;
	else {
		printf("cpu %u position %lu: %#lx %#lx %#lx %#lx is no record of this run\n", cpu,
		       (unsigned long)position, (unsigned long)record.word[0],
		       (unsigned long)record.word[1], (unsigned long)record.word[2],
		       (unsigned long)record.word[3]);
		return false;
	}
	return true;
}

struct hv_state *room_expected_state(struct room *r, unsigned cpu)
{
	return (struct hv_state *)(r->expected + MACHINE_FREE_OFF +
				   world_state_off(&r->world, cpu));
}

/* After records, last_pid must be the pid of one of the tasks; without records it is unchanged. */
static bool last_pid_is_right(struct room *r, unsigned cpu, uint64_t nr_records)
{
	const struct hv_state *was = room_expected_state(r, cpu);
	uint32_t last_pid = world_state(&r->world, cpu)->last_pid;
	const struct world_cpu *percpu = world_cpu(&r->world);

	if (nr_records == 0 ? last_pid == was->last_pid
			    : last_pid == percpu->cat.pid || last_pid == percpu->dd.pid)
		return true;
	return wrong("last pid", last_pid, was->last_pid);
}

/* Checks the records, and then adds them to the expected memory. */
static bool ring_is_right(struct room *r, const struct room_call *outer,
			  const struct room_call *inner, unsigned cpu, struct found *found)
{
	struct hv_state *was = room_expected_state(r, cpu);
	struct hv_record *ring = (struct hv_record *)(was + 1);
	uint64_t first = was->head / sizeof(struct hv_record) - r->world.nr_slots;
	uint64_t nr = world_head(&r->world, cpu) - first;

	if (nr > ROOM_NR_SLOTS)
		return wrong("records of one run", nr, ROOM_NR_SLOTS);
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t slot = (first + i) % r->world.nr_slots;

		if (!record_is_right(r, outer, inner, cpu, first + i, found))
			return false;
		ring[slot] = world_ring(&r->world, cpu)[slot];
	}
	if (!last_pid_is_right(r, cpu, nr))
		return false;
	was->head = world_state(&r->world, cpu)->head;
	was->last_pid = world_state(&r->world, cpu)->last_pid;
	return true;
}

bool room_memory_is_right(struct room *r)
{
	const uint8_t *memory = r->machine->memory;
	uint64_t stack_off = STACK_PTR - r->stack_used_max;

	memcpy(r->expected + stack_off, memory + stack_off, r->stack_used_max);
	/* Accept any value in `deepest`. It depends on the stacks recorded earlier in the run. */
	((struct hv_control *)(r->expected + MACHINE_FREE_OFF + WORLD_CONTROL_OFF))->deepest =
		world_control(&r->world)->deepest;
	if (memcmp(memory, r->expected, MACHINE_LEN) == 0) /* much faster than the loop */
		return true;
	for (uint64_t off = 0; off < MACHINE_LEN; off++)
		if (memory[off] != r->expected[off]) {
			printf("memory at %#lx: ", (unsigned long)off);
			return wrong("it is", memory[off], r->expected[off]);
		}
	return true;
}

bool room_check(struct room *r, const struct room_call *outer, const struct room_call *inner,
		unsigned *ret_tasks)
{
	struct found found = {0};

	if (!room_registers_are_right(r))
		return false;
	found.now = room_tsc(r);
	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		if (!ring_is_right(r, outer, inner, cpu, &found))
			return false;
	if (found.outer != (outer ? 1 : 0))
		return wrong("records of the call", found.outer, outer ? 1 : 0);
	if (found.inner != (inner ? 1 : 0))
		return wrong("records of the handler's call", found.inner, inner ? 1 : 0);
	*ret_tasks = found.tasks;
	return room_memory_is_right(r);
}
