/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the host's cost per event from the guest's ring to the reader of a tracefs file, for
 * text and raw pages. The session uses a guest made from a file (image.h). The benchmark fills the
 * rings like the trampolines do, with calls of the guest's own functions, and then reads
 * everything. Prints medians of ROUNDS, in processor time of the thread.
 *
 *	bench/events IMAGE [ROUNDS [TEXT]]	default 9; TEXT selects subjects by name */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/clock.h"
#include "bench/image.h"
#include "kernel/kernel.h"
#include "tracer/events/buffer_state.h"
#include "tracer/session.h"
#include "tree/tree.h"

#define REGION_BYTES (UINT64_C(64) << 20)
#define NR_CPUS	     2
#define NR_FUNCTIONS 1009 /* functions called in turn */
#define NR_CALLS     100000
#define READ_BYTES   65536
#define PID_FIRST    1000
#define TASK_RECORDS 512 /* records before the vCPU switches to another task */
#define TICKS	     100 /* between two records */

static struct hv_session *session;
static struct hv_tree *tree;
static uint64_t now_ticks;

static void must(struct hv_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", err->message);
	exit(1);
}

/* Guest side. */

static void put(unsigned cpu, uint64_t word1, uint64_t word2, uint64_t word3)
{
	const struct hv_record record = {{now_ticks += TICKS, word1, word2, word3}};

	hv_buffer_put_records(session->buffer, hv_lane_of_cpu(cpu), &record, 1);
}

static uint64_t site_end(uint64_t n)
{
	const struct hv_sites *sites = &session->kernel->sites;

	return sites->list[n % NR_FUNCTIONS * (sites->nr / NR_FUNCTIONS)].ip.v + 5;
}

static void put_task(unsigned cpu, uint32_t pid)
{
	put(cpu, UINT64_C(0x6b7361742d61), 0,
	    pid | (uint64_t)pid << HV_TASK_TGID_SHIFT |
		    (uint64_t)HV_RECORD_TASK << HV_RECORD_KIND_SHIFT);
}

static void put_call(unsigned cpu, uint32_t pid, uint64_t n, uint64_t kind)
{
	uint64_t caller = site_end(n * 7 + 1) + 0x20;

	put(cpu, site_end(n) ^ caller << HV_CALLER_SHIFT, (uint64_t)pid << HV_CALL_PID_SHIFT,
	    UINT64_C(0x0000020680000001) | kind << HV_RECORD_KIND_SHIFT);
}

static void put_exit(unsigned cpu, uint32_t pid, uint64_t n, uint64_t call_ticks)
{
	put(cpu, call_ticks, (site_end(n) & HV_EXIT_SITE_MASK) | (uint64_t)pid << HV_EXIT_PID_SHIFT,
	    UINT64_C(0x0000020680000001) | (uint64_t)HV_RECORD_EXIT << HV_RECORD_KIND_SHIFT);
}

/* Returns the number of events. */
static uint64_t put_functions(unsigned nr_cpus)
{
	for (uint64_t n = 0; n < NR_CALLS; n++)
		for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
			uint32_t pid = PID_FIRST + cpu + NR_CPUS * (n / TASK_RECORDS % 8);

			if (n % TASK_RECORDS == 0)
				put_task(cpu, pid);
			put_call(cpu, pid, n, HV_RECORD_FUNCTION);
		}
	return NR_CALLS * nr_cpus;
}

/* Each outer call makes one call, which is shown on one line with its return. */
static uint64_t put_graph(unsigned nr_cpus)
{
	for (uint64_t n = 0; n < NR_CALLS / 4; n++)
		for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
			uint32_t pid = PID_FIRST + cpu;
			uint64_t start;

			if (!n)
				put_task(cpu, pid);
			put_call(cpu, pid, n, HV_RECORD_ENTRY);
			start = now_ticks;
			put(cpu, site_end(n + 1) ^ site_end(n) << HV_CALLER_SHIFT,
			    (uint64_t)pid << HV_CALL_PID_SHIFT,
			    UINT64_C(0x0001020680000001) | (uint64_t)HV_RECORD_ENTRY
								   << HV_RECORD_KIND_SHIFT);
			put(cpu, now_ticks,
			    (site_end(n + 1) & HV_EXIT_SITE_MASK) | (uint64_t)pid
									    << HV_EXIT_PID_SHIFT,
			    UINT64_C(0x0001020680000001) | (uint64_t)HV_RECORD_EXIT
								   << HV_RECORD_KIND_SHIFT);
			put_exit(cpu, pid, n, start);
		}
	return NR_CALLS / 4 * 4 * nr_cpus;
}

/* Reader side. */

static void write_file(const char *path, const char *text)
{
	struct hv_file *file;
	size_t taken;

	must(hv_tree_open(tree, &hv_root_rights, path, O_WRONLY | O_TRUNC, &file));
	must(hv_file_write(file, text, strlen(text), &taken));
	must(hv_file_close(file));
}

/* Reads available data, and writes it to OUT unless OUT is negative. Returns the number of
 * bytes. */
static uint64_t read_all(struct hv_file *file, int out)
{
	static char buf[READ_BYTES];
	uint64_t total = 0;
	struct hv_err *err;
	size_t len;

	while (!(err = hv_file_read(file, buf, sizeof(buf), &len)) && len) {
		total += len;
		if (out >= 0 && write(out, buf, len) != (ssize_t)len)
			abort();
	}
	if (err && err->code != EAGAIN)
		must(err);
	hv_err_free(err);
	return total;
}

struct way {
	const char *name;
	const char *tracer;
	const char *path;
	unsigned nr_cpus;
	uint64_t (*put)(unsigned nr_cpus);
	unsigned to_file; /* nonzero: write to a memory file */
};

static const struct way ways[] = {
	{"trace_pipe, functions", "function", "trace_pipe", 2, put_functions},
	{"trace, functions", "function", "trace", 2, put_functions},
	{"trace_pipe, calls and returns", "function_graph", "trace_pipe", 2, put_graph},
	{"trace, calls and returns", "function_graph", "trace", 2, put_graph},
	{"trace_pipe_raw, functions", "function", "per_cpu/cpu0/trace_pipe_raw", 1, put_functions},
	{"trace_pipe_raw, functions, into a file", "function", "per_cpu/cpu0/trace_pipe_raw", 1,
	 put_functions, 1},
	{"trace_pipe_raw, calls and returns", "function_graph", "per_cpu/cpu0/trace_pipe_raw", 1,
	 put_graph},
	{"trace_pipe_raw of an instance, functions", "function",
	 "instances/a/per_cpu/cpu0/trace_pipe_raw", 1, put_functions},
};

static void measure(const struct way *w, size_t nr_rounds)
{
	bool is_dump = !strcmp(w->path, "trace");
	double *ns = calloc(nr_rounds, sizeof(*ns)), middle;
	uint64_t nr_bytes = 0, nr = 0;
	int out = w->to_file ? memfd_create("events", MFD_CLOEXEC) : -1;
	struct hv_file *file = NULL;

	write_file("current_tracer", w->tracer);
	if (strstr(w->path, "instances/a/")) {
		must(hv_tree_mkdir(tree, &hv_root_rights, "instances/a"));
		write_file("current_tracer", "nop");
		write_file("instances/a/buffer_size_kb", "16384");
		write_file("instances/a/current_tracer", w->tracer);
	}
	if (!is_dump)
		must(hv_tree_open(tree, &hv_root_rights, w->path, O_RDONLY, &file));
	for (size_t r = 0; r < nr_rounds; r++) {
		uint64_t start;

		hv_buffer_clear(session->buffer, -1);
		nr = w->put(w->nr_cpus);
		start = clock_read(CLOCK_THREAD_CPUTIME_ID);
		if (is_dump)
			must(hv_tree_open(tree, &hv_root_rights, w->path, O_RDONLY, &file));
		if (out >= 0)
			lseek(out, 0, SEEK_SET); /* from the second round on, its pages exist */
		nr_bytes = read_all(file, out);
		ns[r] = (double)(clock_read(CLOCK_THREAD_CPUTIME_ID) - start) / (double)nr;
		if (is_dump)
			must(hv_file_close(file));
	}
	if (!is_dump)
		must(hv_file_close(file));
	middle = median(ns, nr_rounds);
	printf("| %s | %.1f | %.1f | %.1f |\n", w->name, middle, 1000 / middle,
	       (double)nr_bytes / (double)nr);
	free(ns);
	if (out >= 0)
		close(out);
}

int main(int argc, char **argv)
{
	size_t nr_rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 9;
	struct hv_text report = {0};
	struct hv_kernel *kernel;
	struct hv_guest *guest;

	if (argc < 2 || argc > 4 || !nr_rounds) {
		fprintf(stderr,
			"usage: bench/events IMAGE [ROUNDS [TEXT]]; bench/image makes one\n");
		return 2;
	}
	must(image_open(argv[1], REGION_BYTES, &guest));
	must(hv_kernel_open(guest, NULL, NULL, &kernel));
	must(hv_session_attach(guest, kernel, &session));
	must(hv_tree_new(session, &tree));
	now_ticks = UINT64_C(1) << 40;
	printf("| read from | ns an event | million events/s | bytes an event |\n");
	printf("|---|---:|---:|---:|\n");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (argc < 4 || strstr(ways[i].name, argv[3]))
			measure(&ways[i], nr_rounds);
	hv_tree_end(tree);
	hv_tree_free(tree);
	must(hv_session_detach(session, &report));
	hv_text_deinit(&report);
	hv_session_free(session);
	hv_kernel_free(kernel);
	hv_guest_free(guest);
	return 0;
}
