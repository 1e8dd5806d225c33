/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Built without sanitizers, with -O2 -fomit-frame-pointer. */
#include "tests/unit/kernel/programs/unwind_sample.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define ROOM 320 /* bytes of a frame, so that the stack is longer than an event */
#define KEPT __attribute__((noinline, noclone, noipa))

struct sample sample;
static volatile unsigned long sink;
static volatile int is_taken; /* raise() does not look as if it changed it */

/* Has to be the first statement of a function. */
static inline __attribute__((always_inline)) void note(void *at)
{
	if (!is_taken)
		sample.returns[sample.nr++] = (uintptr_t)at;
}
#define NOTE() note(__builtin_return_address(0))

static void forget(void)
{
	if (!is_taken)
		sample.nr--;
}

/* Copies the registers in the order of struct pt_regs, and the stack. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	static const int order[] = {REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP, REG_RBX,
				    REG_R11, REG_R10, REG_R9,  REG_R8,	REG_RAX, REG_RCX,
				    REG_RDX, REG_RSI, REG_RDI, REG_RAX, REG_RIP};
	const greg_t *regs = ((const ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t words[SAMPLE_REGS_LEN / 8] = {0};
	const volatile uint8_t *sp = (const volatile uint8_t *)(uintptr_t)regs[REG_RSP];

	(void)number;
	(void)info;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		words[i] = (uint64_t)regs[order[i]];
	words[17] = 0x33; /* cs */
	words[19] = (uint64_t)regs[REG_RSP];
	memcpy(sample.copy, words, sizeof(words));
	for (size_t i = 0; i < SAMPLE_COPY_MAX; i++)
		sample.copy[SAMPLE_REGS_LEN + i] = sp[i];
	is_taken = 1;
}

void sample_reset(void)
{
	sample.nr = 0;
	is_taken = 0;
}

KEPT static void innermost(void)
{
	NOTE();
	if (!is_taken)
		__asm__ volatile("int3" ::: "memory");
	sink++;
}

KEPT static int compare(const void *a, const void *b)
{
	NOTE();
	innermost();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int number)
{
	NOTE();
	innermost();
	sink += (unsigned long)number;
}

KEPT static void sort(void)
{
	int numbers[] = {3, 1, 2};

	NOTE();
	qsort(numbers, 3, sizeof(*numbers), compare);
	sink += (unsigned long)numbers[0];
	forget();
}

KEPT static void interrupt(void)
{
	NOTE();
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	sink++;
	forget();
}

KEPT void sample_nest(unsigned depth, int by_signal)
{
	volatile char room[ROOM];
	static struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	NOTE();
	sigaction(SIGTRAP, &trap, NULL);
	room[depth] = 1;
	if (depth)
		sample_nest(depth - 1, by_signal);
	else if (by_signal)
		interrupt();
	else
		sort();
	sink += (unsigned long)room[depth];
	forget();
}
