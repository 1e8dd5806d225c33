/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with known call chains and shares of CPU time, for `hvtrace profile`. It keeps frame pointers
 * and its symbols. Built by scripts/initramfs.
 *
 *	frames SECONDS	main calls nest() DEPTH times in itself, that calls outer(), and outer() calls
 *			spin_left() for two thirds of the time and spin_right() for the rest */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH 20
#define TURNS 20000
#define KEPT  __attribute__((noinline, noclone, noipa))

/* Makes the compiler store the frame pointer also in a function that calls nothing. */
#define KEEP_FRAME() __asm__ volatile("" ::"r"(__builtin_frame_address(0)))

static volatile unsigned long sink;

KEPT void spin_left(unsigned long turns)
{
	KEEP_FRAME();
	while (turns--)
		sink += turns;
}

KEPT void spin_right(unsigned long turns)
{
	KEEP_FRAME();
	while (turns--)
		sink += turns;
}

KEPT void outer(void)
{
	spin_left(2 * TURNS);
	spin_right(TURNS);
	sink++; /* no tail call */
}

KEPT void nest(unsigned depth)
{
	if (depth)
		nest(depth - 1);
	else
		outer();
	sink++;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);

	puts("running");
	fflush(stdout);
	while (time(NULL) < end)
		nest(DEPTH);
	return 0;
}
