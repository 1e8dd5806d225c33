/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests a section with preemption or interrupts off from the module planted (planted_module.c).
 * Runs in the guest; built by scripts/initramfs.
 *
 *	planted PLACE N [of]	prints "ns TIME", the duration by the kernel's own clock
 *	planted wait N		prints the duration of the request itself, without a section
 *	planted until_gone N	like PLACE; the module may be unloaded afterwards
 *
 * With `of` it makes the request as another user, with other priorities. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PARAMETERS "/sys/module/planted/parameters/"
#define PAUSE_NS   1000000
#define SLEEPS_MAX 1000
#define LOOKS_MAX  1000000

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "planted: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void become_another(void)
{
	const struct sched_param param = {.sched_priority = 7};

	must(setpriority(PRIO_PROCESS, 0, -3) == 0, "setpriority");
	must(sched_setscheduler(0, SCHED_FIFO, &param) == 0, "sched_setscheduler");
	must(setreuid(1000, (uid_t)-1) == 0, "setreuid"); /* the effective user stays root */
}

static void ask(const char *place, const char *nr)
{
	char words[64];
	int len = snprintf(words, sizeof(words), "%s %s", place, nr);
	int fd = open(PARAMETERS "section", O_WRONLY);

	must(fd >= 0, PARAMETERS "section");
	must(write(fd, words, (size_t)len) == len, words);
	close(fd);
}

static unsigned long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long)now.tv_sec * 1000000000 + (unsigned long)now.tv_nsec;
}

static unsigned long read_ns(void)
{
	char text[32] = "";
	int fd = open(PARAMETERS "ns", O_RDONLY);

	must(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0, PARAMETERS "ns");
	close(fd);
	return strtoul(text, NULL, 10);
}

/* Waits for the end of the section. A sleep starts a timer and switches tasks, which are such
 * places. A tick must interrupt this task, so it does not sleep then. */
static unsigned long wait_for_ns(const char *place)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int is_tick = strcmp(place, "tick") == 0;
	unsigned long ns = read_ns();

	for (unsigned i = 0; !ns && i < (is_tick ? LOOKS_MAX : SLEEPS_MAX); i++) {
		if (!is_tick)
			nanosleep(&pause, NULL);
		ns = read_ns();
	}
	errno = ETIMEDOUT;
	must(ns != 0, place);
	return ns;
}

int main(int argc, char **argv)
{
	unsigned long from_ns, to_ns;

	if (argc < 3) {
		fprintf(stderr, "usage: planted PLACE NUMBER [of]\n");
		return 2;
	}
	if (argc > 3)
		become_another();
	from_ns = now_ns();
	ask(argv[1], argv[2]);
	to_ns = now_ns();
	if (strcmp(argv[1], "wait") == 0 || strcmp(argv[1], "until_gone") == 0)
		printf("ns %lu\n", to_ns - from_ns);
	else
		printf("ns %lu\n", wait_for_ns(argv[1]));
	return 0;
}
