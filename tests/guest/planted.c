/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A section in which preemption is off, of a known time, for the tests of the tracer preemptoff.
 * Runs in the guest; built by scripts/initramfs.
 *
 *	planted N [of]	prints "ns TIME", how long the section took by the kernel's own clock;
 *			of: as user 1000, with nice -3 and the real-time priority 7
 *
 * The kernel runs a program of the type FLOW_DISSECTOR once with preemption off when it is tested
 * (BPF_PROG_TEST_RUN, bpf_prog_test_run_flow_dissector), and measures that itself. The program
 * reads the clock N times. */
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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

static int load(int32_t nr)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 6, .imm = nr},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns},
		{.code = BPF_ALU64 | BPF_SUB | BPF_K, .dst_reg = 6, .imm = 1},
		{.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 6, .off = -3},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_FLOW_DISSECTOR,
		.insn_cnt = sizeof(program) / sizeof(program[0]),
		.insns = (uintptr_t)program,
		.license = (uintptr_t) "GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

static void become(void)
{
	const struct sched_param param = {.sched_priority = 7};

	must(setpriority(PRIO_PROCESS, 0, -3) == 0, "setpriority");
	must(sched_setscheduler(0, SCHED_FIFO, &param) == 0, "sched_setscheduler");
	must(setreuid(1000, (uid_t)-1) == 0, "setreuid"); /* and root still in effect */
}

int main(int argc, char **argv)
{
	static uint8_t packet[64], keys[256];
	union bpf_attr attr = {.test = {.data_in = (uintptr_t)packet,
					.data_size_in = sizeof(packet),
					.data_out = (uintptr_t)keys,
					.data_size_out = sizeof(keys),
					.repeat = 1}};
	int fd;

	if (argc < 2) {
		fprintf(stderr, "usage: planted NUMBER [of]\n");
		return 2;
	}
	fd = load(atoi(argv[1]));
	must(fd >= 0, "load");
	if (argc > 2)
		become();
	attr.test.prog_fd = (uint32_t)fd;
	must(bpf(BPF_PROG_TEST_RUN, &attr) == 0, "run");
	printf("ns %u\n", attr.test.duration);
	return 0;
}
