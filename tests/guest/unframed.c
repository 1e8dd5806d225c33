/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with known call chains that has no frame pointers, for `hvtrace profile --user-stack=dwarf`. It
 * uses Debian's libc, which has none either. Built by scripts/initramfs.
 *
 *	unframed SECONDS	main calls nest() DEPTH times in itself, that calls outer(), and outer()
 *				calls spin(), search() with memchr(), order() with qsort() and
 *				compare(), ask() with clock_gettime(), and signaled() with raise() and
 *				the handler on_signal()
 *	unframed deep		the same with frames that are together longer than a copy of the stack */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEPTH	 20
#define DEEP	 60
#define ROOM	 256
#define TURNS	 30000
#define SEARCHES 20
#define TIMES	 300
#define NR	 400
#define KEPT	 __attribute__((noinline, noclone, noipa))

static volatile unsigned long sink;
static char text[65536];
static int numbers[NR];

KEPT void spin(unsigned long turns)
{
	while (turns--)
		sink += turns;
}

KEPT void search(void)
{
	for (unsigned i = 0; i < SEARCHES; i++)
		sink += memchr(text, 'x', sizeof(text)) != NULL;
}

/* Takes long enough to be in most samples of order(). */
KEPT int compare(const void *a, const void *b)
{
	for (unsigned i = 0; i < 10; i++)
		sink += i;
	return *(const int *)a - *(const int *)b;
}

KEPT void order(void)
{
	for (unsigned i = 0; i < NR; i++)
		numbers[i] = (int)(i * 7919 % NR);
	qsort(numbers, NR, sizeof(*numbers), compare);
	sink++;
}

KEPT void ask(void)
{
	struct timespec now;

	for (unsigned i = 0; i < TIMES; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		sink += (unsigned long)now.tv_nsec;
	}
}

static void on_signal(int number)
{
	spin(TURNS);
	sink += (unsigned long)number;
}

KEPT void signaled(void)
{
	raise(SIGUSR1);
	sink++;
}

KEPT void outer(void)
{
	spin(TURNS);
	search();
	order();
	ask();
	signaled();
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

KEPT void nest_deep(unsigned depth)
{
	volatile char room[ROOM];

	room[0] = (char)depth;
	if (depth)
		nest_deep(depth - 1);
	else
		outer();
	sink += (unsigned long)room[0];
}

int main(int argc, char **argv)
{
	int is_deep = argc > 1 && strcmp(argv[1], "deep") == 0;
	time_t end = time(NULL) + (argc > 1 && !is_deep ? atoi(argv[1]) : 600);

	signal(SIGUSR1, on_signal);
	puts("running");
	fflush(stdout);
	while (time(NULL) < end) {
		if (is_deep)
			nest_deep(DEEP);
		else
			nest(DEPTH);
	}
	return 0;
}
