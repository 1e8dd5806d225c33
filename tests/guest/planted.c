/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections in which preemption or interrupts are off, of a known time, for the tests of the tracers
 * that measure them. Runs in the guest; built by scripts/initramfs.
 *
 *	planted WHERE N [of]	prints "ns TIME", how long the kernel's own clock says that it took
 *
 * A BPF program reads the clock N times, once, where the kernel has switched something off:
 *
 *	preempt	preemption: the kernel tests a program (bpf_prog_test_run_flow_dissector)
 *	switch	interrupts, by a cli: the scheduler changes to another task
 *	timer	interrupts, by spin_lock_irqsave: a task starts a timer
 *	irq	interrupts, by an interrupt: a clock of perf has counted enough */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_NS  1000000
#define WAIT_TRIES 1000

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "planted: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int load(enum bpf_prog_type type, const struct bpf_insn *program, uint32_t nr)
{
	static char log[16384];
	union bpf_attr attr = {
		.prog_type = type,
		.insn_cnt = nr,
		.insns = (uintptr_t)program,
		.license = (uintptr_t) "GPL",
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 4, /* only numbers */
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	must(fd >= 0, "load");
	return fd;
}
#define LOAD(type, program) load(type, program, sizeof(program) / sizeof((program)[0]))

static bool is_other; /* another user, with other priorities: of "preempt" */

static void become(void)
{
	const struct sched_param param = {.sched_priority = 7};

	must(setpriority(PRIO_PROCESS, 0, -3) == 0, "setpriority");
	must(sched_setscheduler(0, SCHED_FIFO, &param) == 0, "sched_setscheduler");
	must(setreuid(1000, (uid_t)-1) == 0, "setreuid"); /* and root still in effect */
}

#define MOV(reg, value)                                                                            \
	{                                                                                          \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = reg, .imm = value                  \
	}
#define COPY(to, from)                                                                             \
	{                                                                                          \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = to, .src_reg = from                \
	}
#define CALL(function)                                                                             \
	{                                                                                          \
		.code = BPF_JMP | BPF_CALL, .imm = function                                        \
	}
#define LEAVE                                                                                      \
	{                                                                                          \
		.code = BPF_JMP | BPF_EXIT                                                         \
	}
#define STORE(at, offset, from)                                                                    \
	{                                                                                          \
		.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = at, .src_reg = from, .off = offset  \
	}
/* Reads the clock until register 6 is 0. */
#define READ_CLOCK                                                                                 \
	CALL(BPF_FUNC_ktime_get_ns),                                                               \
		{.code = BPF_ALU64 | BPF_SUB | BPF_K, .dst_reg = 6, .imm = 1},                     \
	{                                                                                          \
		.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 6, .off = -3                         \
	}

static uint64_t plant_preempt(int32_t nr)
{
	static uint8_t packet[64], keys[256];
	const struct bpf_insn program[] = {MOV(6, nr), READ_CLOCK, MOV(0, 0), LEAVE};
	union bpf_attr attr = {.test = {.data_in = (uintptr_t)packet,
					.data_size_in = sizeof(packet),
					.data_out = (uintptr_t)keys,
					.data_size_out = sizeof(keys),
					.repeat = 1}};

	attr.test.prog_fd = (uint32_t)LOAD(BPF_PROG_TYPE_FLOW_DISSECTOR, program);
	if (is_other)
		become();
	must(bpf(BPF_PROG_TEST_RUN, &attr) == 0, "run");
	return attr.test.duration;
}

/* What the program has done. */
struct result {
	uint64_t has_run;
	uint64_t ns;
};

static int make_map(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
			       .key_size = 4,
			       .value_size = sizeof(struct result),
			       .max_entries = 1};
	int fd = bpf(BPF_MAP_CREATE, &attr);

	must(fd >= 0, "map");
	return fd;
}

static struct result read_map(int map)
{
	struct result result = {0};
	uint32_t key = 0;
	union bpf_attr attr = {
		.map_fd = (uint32_t)map, .key = (uintptr_t)&key, .value = (uintptr_t)&result};

	must(bpf(BPF_MAP_LOOKUP_ELEM, &attr) == 0, "read");
	return result;
}

/* A program that reads the clock when it runs in this task for the first time. */
static int load_once(enum bpf_prog_type type, int map, int32_t nr)
{
	const struct bpf_insn program[] = {
		CALL(BPF_FUNC_get_current_pid_tgid),
		{.code = BPF_JMP32 | BPF_JNE | BPF_K, .dst_reg = 0, .imm = getpid(), .off = 22},
		{.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4, .imm = 0},
		COPY(2, 10),
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4},
		{.code = BPF_LD | BPF_IMM | BPF_DW,
		 .dst_reg = 1,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = map},
		{.code = 0},
		CALL(BPF_FUNC_map_lookup_elem),
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .imm = 0, .off = 15},
		COPY(7, 0),
		{.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 7, .off = 0},
		{.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 1, .imm = 0, .off = 12},
		MOV(1, 1),
		STORE(7, 0, 1),
		CALL(BPF_FUNC_ktime_get_ns),
		COPY(8, 0),
		MOV(6, nr),
		READ_CLOCK,
		CALL(BPF_FUNC_ktime_get_ns),
		{.code = BPF_ALU64 | BPF_SUB | BPF_X, .dst_reg = 0, .src_reg = 8},
		STORE(7, 8, 0),
		MOV(0, 0),
		MOV(0, 0),
		LEAVE,
	};

	return LOAD(type, program);
}

static uint64_t wait_for(int map)
{
	const struct timespec pause = {.tv_nsec = SAMPLE_NS};

	for (unsigned i = 0; i < WAIT_TRIES && !read_map(map).ns; i++)
		nanosleep(&pause, NULL);
	errno = ETIMEDOUT;
	must(read_map(map).ns != 0, "wait");
	return read_map(map).ns;
}

static uint64_t plant_tracepoint(const char *name, int32_t nr)
{
	int map = make_map();
	union bpf_attr attr = {.raw_tracepoint = {.name = (uintptr_t)name}};

	attr.raw_tracepoint.prog_fd = (uint32_t)load_once(BPF_PROG_TYPE_RAW_TRACEPOINT, map, nr);
	must(bpf(BPF_RAW_TRACEPOINT_OPEN, &attr) >= 0, name);
	return wait_for(map);
}

/* The program runs when this task has used the CPU for a millisecond. */
static uint64_t plant_irq(int32_t nr)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = SAMPLE_NS};
	int map = make_map();
	int program = load_once(BPF_PROG_TYPE_PERF_EVENT, map, nr);
	int event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	must(event >= 0, "perf_event_open");
	must(ioctl(event, PERF_EVENT_IOC_SET_BPF, program) == 0, "attach");
	for (unsigned i = 0; i < WAIT_TRIES && !read_map(map).ns; i++)
		for (volatile unsigned work = 0; work < 100000; work++)
			;
	return wait_for(map);
}

int main(int argc, char **argv)
{
	uint64_t ns;
	int32_t nr;

	if (argc < 3) {
		fprintf(stderr, "usage: planted preempt|switch|timer|irq NUMBER [of]\n");
		return 2;
	}
	is_other = argc > 3;
	nr = atoi(argv[2]);
	if (strcmp(argv[1], "switch") == 0)
		ns = plant_tracepoint("sched_switch", nr);
	else if (strcmp(argv[1], "timer") == 0)
		ns = plant_tracepoint("hrtimer_start", nr);
	else if (strcmp(argv[1], "irq") == 0)
		ns = plant_irq(nr);
	else
		ns = plant_preempt(nr);
	printf("ns %llu\n", (unsigned long long)ns);
	return 0;
}
