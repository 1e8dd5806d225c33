/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with known call chains and shares of time, for `hvtrace profile`. It keeps frame pointers
 * and its symbols. Built by scripts/initramfs.
 *
 *	frames SECONDS	main calls nest() DEPTH times in itself, that calls outer(), and outer() calls
 *			spin_left() for two thirds of the time and spin_right() for the rest
 *	frames block	main repeats: rest() sleeps for 300 ms in nap(), ask() waits in take() for an answer of
 *			the thread "giver", which sleeps for 100 ms first, and outer() runs for 50 ms */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define DEPTH	20
#define NAP_MS	300
#define GIVE_MS 100
#define SPIN_MS 50
#define TURNS	20000
#define KEPT	__attribute__((noinline, noclone, noipa))

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

static int questions[2], answers[2];

static unsigned long now_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (unsigned long)now.tv_sec * 1000 + (unsigned long)now.tv_nsec / 1000000;
}

KEPT void nap(unsigned ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000L};

	nanosleep(&time, NULL);
	sink++;
}

KEPT void rest(void)
{
	nap(NAP_MS);
	sink++;
}

KEPT void take(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		exit(1);
	sink++;
}

KEPT void give(int fd)
{
	if (write(fd, "", 1) != 1)
		exit(1);
	sink++;
}

KEPT void ask(void)
{
	give(questions[1]);
	take(answers[0]);
	sink++;
}

static void *giver(void *arg)
{
	prctl(PR_SET_NAME, "giver");
	for (;;) {
		take(questions[0]);
		nap(GIVE_MS);
		give(answers[1]);
	}
	return arg;
}

static int block(void)
{
	pthread_t thread;

	if (pipe(questions) || pipe(answers) || pthread_create(&thread, NULL, giver, NULL))
		return 1;
	for (;;) {
		unsigned long end_ms = now_ms(CLOCK_THREAD_CPUTIME_ID) + SPIN_MS;

		rest();
		ask();
		while (now_ms(CLOCK_THREAD_CPUTIME_ID) < end_ms)
			outer();
	}
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);

	puts("running");
	fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "block") == 0)
		return block();
	while (time(NULL) < end)
		nest(DEPTH);
	return 0;
}
