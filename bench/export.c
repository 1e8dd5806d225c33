/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the cost per event of the formats in export/. Writes full trace_pipe_raw pages of two
 * vCPUs into a file in the current directory.
 *
 *       bench/export [ROUNDS]     default 5 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "bench/clock.h"
#include "export/export.h"
#include "tree/format/raw_page.h"

#define NR_CPUS	 2
#define NR_PAGES 8000 /* per vCPU */
#define TURN	 64   /* pages per vCPU between two turns */
#define NR_FUNCS 500
#define BASE	 UINT64_C(0xffffffff81000000)
#define PATH	 "bench-export"

static const char format_text[] =
	"name: function\nID: 1\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"\"\n";
static const struct hv_export_event event = {"ftrace", {format_text, sizeof(format_text) - 1}};
static uint8_t page[HV_RAW_PAGE_LEN];
static struct hv_text kallsyms;

static unsigned make_page(unsigned cpu, uint64_t *time_ns)
{
	struct hv_event e = {.kind = HV_EVENT_FUNCTION, .pid = 100 + cpu};
	struct hv_raw_page p;
	unsigned nr = 0;

	memset(page, 0, sizeof(page));
	hv_raw_page_init(&p, &hv_raw_layout_known, page, HV_RAW_DATA_LEN);
	for (e.time_ns = *time_ns;; nr++, e.time_ns += 500) {
		e.ip = hv_gva(BASE + (e.time_ns * 7919) % NR_FUNCS * 64);
		e.parent_ip = hv_gva(BASE + (e.time_ns * 104729) % NR_FUNCS * 64 + 8);
		if (!hv_raw_page_add(&p, &e))
			break;
	}
	hv_raw_page_finish(&p);
	*time_ns = e.time_ns;
	return nr;
}

static uint64_t write_pages(struct hv_export *x)
{
	uint64_t times[NR_CPUS] = {1000, 1250}, nr = 0;
	struct hv_err *err = NULL;

	for (unsigned i = 0; i < NR_PAGES && !err; i++) {
		for (unsigned cpu = 0; cpu < NR_CPUS && !err; cpu++) {
			nr += make_page(cpu, &times[cpu]);
			err = hv_export_add(x, cpu, (struct hv_span){page, sizeof(page)});
		}
		if (!err && i % TURN == TURN - 1)
			err = hv_export_turn(x);
	}
	if (!err)
		err = hv_export_end(x);
	if (err)
		fprintf(stderr, "export: %s\n", err->message);
	hv_err_free(err);
	return nr;
}

/* Measures the cost of making the pages, which is subtracted. */
static double time_pages(void)
{
	uint64_t begin = clock_read(CLOCK_PROCESS_CPUTIME_ID), times[NR_CPUS] = {1000, 1250},
		 nr = 0;

	for (unsigned i = 0; i < NR_PAGES; i++)
		for (unsigned cpu = 0; cpu < NR_CPUS; cpu++)
			nr += make_page(cpu, &times[cpu]);
	return (double)(clock_read(CLOCK_PROCESS_CPUTIME_ID) - begin) / (double)nr;
}

static int open_output(const struct hv_export_format *format)
{
	if (!format->is_dir)
		return open(PATH, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	mkdir(PATH, 0700);
	return open(PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Removes the output. Returns its length in bytes. */
static double remove_output(const struct hv_export_format *format, int fd)
{
	static const char *const names[] = {"metadata", "vcpu0", "vcpu1"};
	struct stat st = {0};
	double bytes = 0;

	if (!format->is_dir) {
		fstat(fd, &st);
		unlink(PATH);
		return (double)st.st_size;
	}
	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++) {
		if (fstatat(fd, names[i], &st, 0) == 0)
			bytes += (double)st.st_size;
		unlinkat(fd, names[i], 0);
	}
	rmdir(PATH);
	return bytes;
}

static double time_format(const struct hv_export_format *format, enum hv_compression compression,
			  double *ret_bytes)
{
	const struct hv_export_head head = {
		.nr_cpus = NR_CPUS,
		.page_bytes = sizeof(page),
		.clock = "local",
		.kernel = "Linux version 6.1.0",
		.program = "bench",
		.trace_clock = {"[local]\n", 8},
		.events = &event,
		.nr_events = 1,
		.kallsyms = {kallsyms.data, kallsyms.len_bytes},
	};
	struct hv_export_config config = {
		.path = PATH,
		.fd = open_output(format),
		.compression = compression,
	};
	uint64_t begin = clock_read(CLOCK_PROCESS_CPUTIME_ID), nr = 1;
	struct hv_export *x = NULL;
	struct hv_err *err = hv_export_open(format, &config, &head, &x);
	double ns;

	if (!err)
		nr = write_pages(x);
	ns = (double)(clock_read(CLOCK_PROCESS_CPUTIME_ID) - begin) / (double)nr;
	if (err)
		fprintf(stderr, "export: %s\n", err->message);
	hv_err_free(err);
	hv_export_free(x);
	*ret_bytes = remove_output(format, config.fd) / (double)nr;
	close(config.fd);
	return ns;
}

static void show(const struct hv_export_format *format, enum hv_compression compression,
		 unsigned rounds)
{
	double *values = hv_realloc_array(NULL, rounds, sizeof(*values)), bytes = 0;

	for (unsigned i = 0; i < rounds; i++)
		values[i] = time_format(format, compression, &bytes) - time_pages();
	printf("%-10s %-5s %8.1f ns %8.1f bytes\n", format->name,
	       compression == HV_COMPRESSION_ZSTD ? "zstd" : "", median(values, rounds), bytes);
	free(values);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;

	for (unsigned i = 0; i < NR_FUNCS; i++)
		hv_text_printf(&kallsyms, "%016llx t function_%u\n",
			       (unsigned long long)BASE + 64ull * i, i);
	printf("an event of the function tracer: CPU time, length in the file\n");
	for (size_t i = 0; i < hv_nr_export_formats && rounds; i++) {
		if (hv_export_formats[i]->input != HV_EXPORT_PAGES)
			continue;
		show(hv_export_formats[i], HV_COMPRESSION_NONE, rounds);
		if (!hv_export_formats[i]->is_dir)
			show(hv_export_formats[i], HV_COMPRESSION_ZSTD, rounds);
	}
	hv_text_deinit(&kallsyms);
	return 0;
}
