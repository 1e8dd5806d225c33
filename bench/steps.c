/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the instructions of each path through a trampoline by single-stepping. The counts are
 * exact and the same on every machine. Prints the table of bench/results/instructions.md.
 *
 *       bench/steps             exit status 77: not supported here (no ptrace, not x86-64) */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/native.h"

#define EXIT_SKIPPED  77
#define STEPS_MAX     100000 /* including libc code before and after */
#define STACK_WORDS   96     /* typical for a system call, a few functions deep */
/* Records of the stack, including the first and the last one */
#define STACK_RECORDS (2 + (STACK_WORDS / 3 + 2) / 3)

static void child(const struct world *w)
{
	uint32_t unused;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(EXIT_SKIPPED);
	raise(SIGSTOP);
	native_call(w, WORLD_TRACED_OFF, 1, &unused);
	_exit(0);
}

/* Builds the stack for a trampoline to record: STACK_WORDS above the caller's return address, every
 * third of them a kernel text address. In a hooked case, the first of these is the address of the
 * return handler. When the trampoline is entered, SP points to the return address of the site. The
 * child never uses the overwritten words: it is killed before. */
static void make_stack(const struct world *w, const struct world_case *c, pid_t pid, uint64_t sp)
{
	uint64_t first = sp + 16, end = first + 8 * STACK_WORDS;
	struct hv_stack *stack = world_home(w, w->stack.v);
	struct world_cpu *cpu = world_cpu(w);

	if (cpu->cat.stack == w->task_stack.v)
		ptrace(PTRACE_POKEDATA, pid, &cpu->cat.stack, end - w->stack_bytes);
	else
		ptrace(PTRACE_POKEDATA, pid, &cpu->irq_stack, end - 8);
	for (unsigned i = 0; i < STACK_WORDS; i++)
		ptrace(PTRACE_POKEDATA, pid, first + 8 * i, i % 3 ? 0 : -0x1000000L);
	if (!c->hooked)
		return;
	ptrace(PTRACE_POKEDATA, pid, first, world_handler(w).v);
	for (unsigned i = 0; i < 2; i++)
		ptrace(PTRACE_POKEDATA, pid, &stack->frames[i].retp_gva, first);
}

/* Returns whether RIP is in a trampoline or in a chain. */
static bool is_ours(const struct world *w, uint64_t rip)
{
	return rip - world_gva(w, WORLD_CODE_OFF).v < hv_arch_x86_64.trampolines.len_bytes ||
	       rip - world_gva(w, WORLD_CHAIN_OFF).v < WORLD_NR_CHAINS * HV_CHAIN_LEN;
}

/* Steps until the call returns, and counts the instructions in trampolines and chains. Returns -1
 * on failure. */
static int step_through(const struct world *w, const struct world_case *c, pid_t pid)
{
	struct user_regs_struct regs;
	int nr = 0, status;

	for (unsigned i = 0; i < STEPS_MAX; i++) {
		if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
			return -1;
		if (regs.rip == native_call_return())
			return nr;
		if (is_ours(w, regs.rip) && !nr++ && c->trampoline < WORLD_PROBE_SITE)
			make_stack(w, c, pid, regs.rsp);
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0 ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return -1;
	}
	return -1;
}

static int count(const struct world *w, const struct world_case *c)
{
	pid_t pid = fork();
	int status, nr = -1;

	if (pid == 0)
		child(w);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (!WIFSTOPPED(status))
		return -1;
	nr = step_through(w, c, pid);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return nr;
}

static unsigned nr_printed;

static bool print_cases(const struct world *w, const struct world_case *cases, unsigned nr_cases)
{
	for (unsigned i = 0; i < nr_cases; i++) {
		int nr;

		native_prepare(w, &cases[i]);
		if (cases[i].trampoline == WORLD_EVENT)
			world_make_event(w, WORLD_TRACED_OFF, cases[i].nr_data);
		nr = count(w, &cases[i]);
		if (nr < 0) {
			printf("failed: %s\n", cases[i].name);
			return false;
		}
		nr_printed++;
		printf("| %s | %d | %zu |\n", cases[i].name, nr,
		       world_case_bytes(&cases[i]) +
			       cases[i].nr_stacks * STACK_RECORDS * sizeof(struct hv_record));
	}
	return true;
}

int main(void)
{
	const char *lack = NULL;
	struct world *w = native_new(64, &lack);

	if (!w) {
		printf("skipped: %s\n", lack);
		return EXIT_SKIPPED;
	}
	printf("| function trampoline | instructions | bytes written to the ring "
	       "|\n|---|---:|---:|\n");
	if (!print_cases(w, world_cases, world_nr_cases) ||
	    !print_cases(w, world_stack_cases, world_nr_stack_cases) ||
	    !print_cases(w, world_graph_cases, world_nr_graph_cases) ||
	    !print_cases(w, world_probe_cases, world_nr_probe_cases) ||
	    !print_cases(w, world_probe_site_cases, world_nr_probe_site_cases) ||
	    !print_cases(w, world_event_cases, world_nr_event_cases)) {
		native_free(w);
		if (nr_printed)
			return 1;
		printf("skipped: a child cannot be stepped (ptrace)\n");
		return EXIT_SKIPPED;
	}
	native_free(w);
	return 0;
}
