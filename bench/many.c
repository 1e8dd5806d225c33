/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the combined cost of many idle guests on a host. Starts NR services, each in its own
 * process like real ones, with a session on a guest made from a file (image.h). Prints per service
 * the processor time until attached, the private memory then, and after the session has released
 * what it does not use: the processor time for that, and the memory: private, shared with the other
 * services, and proportional share (PSS). The guest's RAM and the region are excluded.
 *
 *	bench/many IMAGE [NR]	default 8 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/clock.h"
#include "bench/image.h"
#include "kernel/kernel.h"
#include "tracer/session.h"
#include "tree/tree.h"

#define REGION_BYTES (UINT64_C(64) << 20)
#define NR_MAX	     1000

struct result {
	double cpu_ms;
	double attached_mib; /* anonymous memory after attach */
	double release_ms;
	double own_mib;	   /* anonymous memory */
	double shared_mib; /* code, libraries */
	double pss_mib;
};

static void must(struct hv_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", err->message);
	exit(1);
}

/* Adds up the field NAME of all mappings except the mappings of IMAGE and the region. */
static double mapped_mib(const char *name, const char *image)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[4096];
	unsigned long kb, total_kb = 0;
	bool is_guest = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (strchr(line, '-') && strchr(line, ' ') > strchr(line, '-'))
			is_guest = strstr(line, image) || strstr(line, "/dev/zero");
		else if (!is_guest && !strncmp(line, name, strlen(name)) &&
			 sscanf(line + strlen(name), ": %lu", &kb) == 1)
			total_kb += kb;
	}
	if (f)
		fclose(f);
	return (double)total_kb / 1024;
}

/* Attaches, waits until all services have attached, and reports its memory to the parent. */
static void serve(const char *path, int tell, int start)
{
	struct hv_session *session;
	struct hv_kernel *kernel;
	struct hv_guest *guest;
	struct hv_tree *tree;
	struct result r;
	char byte;

	must(image_open_shared(path, REGION_BYTES, &guest));
	must(hv_kernel_open(guest, NULL, NULL, &kernel));
	must(hv_session_attach(guest, kernel, &session));
	must(hv_tree_new(session, &tree));
	r.cpu_ms = (double)clock_read(CLOCK_PROCESS_CPUTIME_ID) / 1e6;
	r.attached_mib = mapped_mib("Anonymous", path);
	r.release_ms = -(double)clock_read(CLOCK_PROCESS_CPUTIME_ID) / 1e6;
	for (unsigned calls = 0; calls < 2;
	     calls++) /* the first one only notes that memory was used */
		while (hv_session_release_memory(session))
			;
	r.release_ms += (double)clock_read(CLOCK_PROCESS_CPUTIME_ID) / 1e6;
	if (write(tell, "", 1) != 1 || read(start, &byte, 1) != 0)
		exit(1);
	r.own_mib = mapped_mib("Anonymous", path);
	r.pss_mib = mapped_mib("Pss", path);
	r.shared_mib = mapped_mib("Rss", path) - r.own_mib;
	if (write(tell, &r, sizeof(r)) != sizeof(r))
		exit(1);
	pause(); /* other services measure the memory that they share with this one */
}

int main(int argc, char **argv)
{
	size_t nr = argc > 2 ? strtoul(argv[2], NULL, 10) : 8;
	static double values[6][NR_MAX];
	static pid_t pids[NR_MAX];
	int tell[2], start[2];
	char byte;

	if (argc < 2 || argc > 3 || !nr || nr > NR_MAX) {
		fprintf(stderr, "usage: bench/many IMAGE [NR]; bench/image makes one\n");
		return 2;
	}
	if (pipe(tell) || pipe(start))
		return 1;
	for (size_t i = 0; i < nr; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			close(start[1]);
			serve(argv[1], tell[1], start[0]);
			return 0;
		}
		if (read(tell[0], &byte, 1) != 1)
			return 1;
	}
	close(start[1]);
	for (size_t i = 0; i < nr; i++) {
		struct result r;

		if (read(tell[0], &r, sizeof(r)) != sizeof(r))
			return 1;
		values[0][i] = r.cpu_ms;
		values[1][i] = r.own_mib;
		values[2][i] = r.shared_mib;
		values[3][i] = r.pss_mib;
		values[4][i] = r.attached_mib;
		values[5][i] = r.release_ms;
	}
	printf("| guests | CPU until attached, ms | own memory then, MiB | CPU to release, ms | "
	       "own memory, MiB |"
	       " shared, MiB | PSS, MiB |\n|---:|---:|---:|---:|---:|---:|---:|\n"
	       "| %zu | %.0f | %.1f | %.0f | %.1f | %.1f | %.1f |\n",
	       nr, median(values[0], nr), median(values[4], nr), median(values[5], nr),
	       median(values[1], nr), median(values[2], nr), median(values[3], nr));
	for (size_t i = 0; i < nr; i++)
		kill(pids[i], SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}
