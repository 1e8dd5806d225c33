/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File behaviour that transcripts (tests/golden) cannot show well: reads of every length, changes
 * between reads, large files. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/lib/fake_session.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/cursor.h"
#include "tracer/guest/trampolines.h"
#include "tracer/sites/site_trampolines.h"
#include "tree/tree.h"

static struct hv_session *session;
static struct hv_tree *tree;

static void set_up(void)
{
	char name[32];

	session = hv_fake_new();
	for (unsigned i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		hv_fake_site(session, 0x1000 + i * 16, name, NULL, 0);
	}
	ck_assert_ptr_null(hv_tree_new(session, &tree));
}

static void tear_down(void)
{
	hv_tree_free(tree);
	hv_fake_free(session);
}

static void add_events(unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		struct hv_event e = {.cpu = i % 2, .time_ns = i * 1000, .pid = i, .comm = "x"};

		e.ip = hv_gva(0x1000 + (i % 500) * 16);
		e.parent_ip = hv_gva(0x1000);
		hv_fake_event(session, &e);
	}
}

/* Reads all of PATH, LEN bytes at a time. */
static void slurp(const char *path, size_t len, struct hv_text *ret)
{
	struct hv_file *f;
	char buf[4096];
	size_t n;

	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, path, O_RDONLY, &f));
	do {
		ck_assert_ptr_null(hv_file_read(f, buf, len, &n));
		ck_assert_uint_le(n, len);
		hv_text_add_bytes(ret, buf, n);
	} while (n);
	ck_assert_ptr_null(hv_file_close(f));
}

START_TEST(reads_of_any_length)
{
	static const char *const paths[] = {"available_filter_functions", "trace", "README",
					    "set_ftrace_filter"};

	add_events(1200);
	for (size_t i = 0; i < HV_ARRAY_LEN(paths); i++) {
		HV_AUTO_TEXT struct hv_text whole = {0}, bytes = {0}, odd = {0};

		slurp(paths[i], 4096, &whole);
		slurp(paths[i], 1, &bytes);
		slurp(paths[i], 77, &odd);
		ck_assert_str_eq(whole.data, bytes.data);
		ck_assert_str_eq(whole.data, odd.data);
	}
}
END_TEST

const char *__asan_default_options(void);

/* Freed memory is returned early, so that most_kib() does not count it. */
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1";
}

static long most_kib(void)
{
	struct rusage usage;

	ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

#define OPEN_FILES 512

/* Clients that have the same long text open share one copy. Each client sees the text of its first
 * read. */
START_TEST(long_texts_are_shared)
{
	static struct hv_file *files[OPEN_FILES];
	char name[32], first[2];
	long before_kib;
	size_t n;

	for (unsigned i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "another_function_%u", i);
		hv_fake_site(session, 0x100000 + i * 16, name, NULL, 0);
	}
	before_kib = most_kib();
	for (unsigned i = 0; i < OPEN_FILES; i++) {
		ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, "available_filter_functions",
						O_RDONLY, &files[i]));
		ck_assert_ptr_null(hv_file_read(files[i], first, 1, &n));
	}
	ck_assert_int_lt(most_kib() - before_kib, 32 * 1024);
	for (unsigned i = 0; i < OPEN_FILES; i++) {
		ck_assert_ptr_null(hv_file_read(files[i], first, 2, &n));
		ck_assert_mem_eq(first, "un", 2);
		ck_assert_ptr_null(hv_file_close(files[i]));
	}
}
END_TEST

START_TEST(dump_is_bounded)
{
	unsigned nr_lines = 0;
	struct hv_file *f;
	char buf[4096];
	size_t n;

	add_events(1000);
	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, "trace", O_RDONLY, &f));
	do {
		ck_assert_ptr_null(hv_file_read(f, buf, sizeof(buf), &n));
		for (size_t i = 0; i < n; i++)
			nr_lines += buf[i] == '\n';
		add_events(100);
	} while (n);
	ck_assert_uint_eq(nr_lines, 12 + 1000);
	ck_assert_ptr_null(hv_file_close(f));
}
END_TEST

/* A short read takes only the events it needs from the buffer. */
START_TEST(pipe_takes_only_what_is_read)
{
	struct hv_buffer_stat stat;
	struct hv_file *f;
	char buf[200];
	size_t n;

	add_events(1000);
	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, "trace_pipe", O_RDONLY, &f));
	ck_assert_ptr_null(hv_file_read(f, buf, 100, &n));
	ck_assert_uint_eq(n, 100);
	hv_buffer_stat(session->buffer, -1, NULL, &stat);
	ck_assert_uint_eq(stat.entries, 998);
	ck_assert_ptr_null(hv_file_close(f));
	hv_buffer_stat(session->buffer, -1, NULL, &stat);
	ck_assert_uint_eq(stat.entries, 998);
}
END_TEST

/* As in tracing_mark_write() and tracing_mark_raw_write() of a kernel with 4 KiB pages. */
START_TEST(a_marker_is_cut_to_fit_a_page)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	static const size_t lens[] = {1024, 4054, 4060};
	char text[6000], page[4096];
	struct hv_file *f, *marker;
	size_t n;

	memset(text, 'x', sizeof(text));
	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, "trace_marker", O_WRONLY, &f));
	ck_assert_ptr_null(hv_file_write(f, text, sizeof(text), &n));
	ck_assert_uint_eq(n, 1024);
	ck_assert_ptr_null(hv_file_close(f));
	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, "trace_marker_raw", O_WRONLY, &f));
	err = hv_file_write(f, text, 3073, &n);
	ck_assert(err && err->code == EINVAL);
	hv_err_free(err);
	hv_fake_site(session, 0x9000, "ring_buffer_max_event_size", NULL, 0);
	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, "trace_marker", O_WRONLY, &marker));
	ck_assert_ptr_null(hv_file_write(marker, text, sizeof(text), &n));
	ck_assert_uint_eq(n, 4054);
	ck_assert_ptr_null(hv_file_close(marker));
	ck_assert_ptr_null(hv_file_write(f, text, 4060, &n));
	ck_assert_uint_eq(n, 4060);
	err = hv_file_write(f, text, 4061, &n);
	ck_assert(err && err->code == EINVAL);
	ck_assert_ptr_null(hv_file_close(f));
	/* Each marker has a whole page. */
	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, "per_cpu/cpu0/trace_pipe_raw",
					O_RDONLY | O_NONBLOCK, &f));
	for (unsigned i = 0; i < HV_ARRAY_LEN(lens); i++) {
		size_t nr_x = 0;

		ck_assert_ptr_null(hv_file_read(f, page, sizeof(page), &n));
		ck_assert_uint_eq(n, sizeof(page));
		for (size_t at = 0; at < n; at++)
			nr_x += page[at] == 'x';
		ck_assert_uint_eq(nr_x, lens[i]);
	}
	ck_assert_ptr_null(hv_file_close(f));
}
END_TEST

/* At the detach, a client has truncated the filter and not yet written to it. */
START_TEST(an_ending_tree_publishes_nothing)
{
	struct hv_file *f;
	size_t n;

	ck_assert_ptr_null(
		hv_tree_open(tree, &hv_root_rights, "set_ftrace_filter", O_WRONLY | O_TRUNC, &f));
	ck_assert_ptr_null(hv_file_write(f, "function_7\n", 11, &n));
	ck_assert_ptr_null(hv_file_close(f));
	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, "current_tracer", O_WRONLY, &f));
	ck_assert_ptr_null(hv_file_write(f, "function", 8, &n));
	ck_assert_ptr_null(hv_file_close(f));
	ck_assert(hv_site_trampolines_now(session->trampolines)[7] &&
		  !hv_site_trampolines_now(session->trampolines)[8]);

	ck_assert_ptr_null(
		hv_tree_open(tree, &hv_root_rights, "set_ftrace_filter", O_WRONLY | O_TRUNC, &f));
	hv_tree_end(tree);
	ck_assert_ptr_null(hv_file_close(f));
	ck_assert(!hv_site_trampolines_now(session->trampolines)[8]);
}
END_TEST

/* Nothing of a dead writer's data is published. */
START_TEST(an_abandoned_file_publishes_nothing)
{
	const uint8_t *patched = hv_site_trampolines_now(session->trampolines);
	struct hv_file *f;
	size_t n;

	ck_assert_ptr_null(
		hv_tree_open(tree, &hv_root_rights, "set_ftrace_filter", O_WRONLY | O_TRUNC, &f));
	ck_assert_ptr_null(hv_file_write(f, "function_7\n", 11, &n));
	ck_assert_ptr_null(hv_file_close(f));
	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, "current_tracer", O_WRONLY, &f));
	ck_assert_ptr_null(hv_file_write(f, "function", 8, &n));
	ck_assert_ptr_null(hv_file_close(f));

	ck_assert_ptr_null(
		hv_tree_open(tree, &hv_root_rights, "set_ftrace_filter", O_WRONLY | O_TRUNC, &f));
	hv_file_abandon(f);
	ck_assert(patched[7] && !patched[8]);
	ck_assert_ptr_null(
		hv_tree_open(tree, &hv_root_rights, "set_ftrace_filter", O_WRONLY | O_TRUNC, &f));
	ck_assert_ptr_null(hv_file_write(f, "function_8 function_9", 21, &n));
	hv_file_abandon(f);
	ck_assert(patched[7] && !patched[8]);
	/* The next writer's list is published. */
	ck_assert_ptr_null(
		hv_tree_open(tree, &hv_root_rights, "set_ftrace_filter", O_WRONLY | O_APPEND, &f));
	ck_assert_ptr_null(hv_file_write(f, "function_8\n", 11, &n));
	ck_assert_ptr_null(hv_file_close(f));
	ck_assert(patched[7] && patched[8]);
}
END_TEST

/* The next reader gets the events that did not fit into the previous page. */
START_TEST(raw_readers_leave_remaining_events)
{
	struct hv_buffer_stat stat;
	struct hv_file *f;
	char buf[4096];
	size_t n;

	add_events(300);
	ck_assert_ptr_null(
		hv_tree_open(tree, &hv_root_rights, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY, &f));
	ck_assert_ptr_null(hv_file_read(f, buf, sizeof(buf), &n));
	ck_assert_uint_eq(n, sizeof(buf));
	ck_assert_ptr_null(hv_file_close(f));
	hv_buffer_stat(session->buffer, 0, NULL, &stat);
	ck_assert_uint_eq(stat.read, 4080 / 28);
	ck_assert_uint_eq(stat.entries, 150 - 4080 / 28);
	ck_assert_ptr_null(
		hv_tree_open(tree, &hv_root_rights, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY, &f));
	ck_assert_ptr_null(hv_file_read(f, buf, sizeof(buf), &n));
	ck_assert_ptr_null(hv_file_close(f));
	hv_buffer_stat(session->buffer, 0, NULL, &stat);
	ck_assert_uint_eq(stat.entries, 0);
}
END_TEST

START_TEST(ready_keeps_found_events)
{
	struct hv_file *pipe;
	struct hv_err *err;
	char buf[4096];
	size_t n;

	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, "trace_pipe", O_RDONLY, &pipe));
	err = hv_file_ready(pipe);
	ck_assert_int_eq(err->code, EAGAIN);
	hv_err_free(err);
	hv_fake_event(session, &(struct hv_event){.time_ns = 1000, .ip = hv_gva(0x1000)});
	ck_assert_ptr_null(hv_file_ready(pipe));
	ck_assert_ptr_null(hv_file_ready(pipe));
	ck_assert_ptr_null(hv_file_read(pipe, buf, sizeof(buf), &n));
	ck_assert_uint_ne(n, 0);
	ck_assert_ptr_nonnull(memchr(buf, '\n', n));
	err = hv_file_ready(pipe);
	ck_assert_int_eq(err->code, EAGAIN);
	hv_err_free(err);
	ck_assert_ptr_null(hv_file_close(pipe));
}
END_TEST

/* Between truncation and close, the sites do not follow the empty list, which would mean all
 * functions. */
START_TEST(a_filter_that_is_being_replaced_is_never_empty)
{
	const uint8_t *patched = hv_site_trampolines_now(session->trampolines);
	struct hv_file *f, *tracer;
	size_t n;

	ck_assert_ptr_null(
		hv_tree_open(tree, &hv_root_rights, "set_ftrace_filter", O_WRONLY | O_TRUNC, &f));
	ck_assert_ptr_null(hv_file_write(f, "function_7\n", 11, &n));
	ck_assert_ptr_null(hv_file_close(f));
	ck_assert_ptr_null(
		hv_tree_open(tree, &hv_root_rights, "current_tracer", O_WRONLY, &tracer));
	ck_assert_ptr_null(hv_file_write(tracer, "function", 8, &n));
	ck_assert_ptr_null(hv_file_close(tracer));
	ck_assert_ptr_null(
		hv_tree_open(tree, &hv_root_rights, "set_ftrace_filter", O_WRONLY | O_TRUNC, &f));
	ck_assert(patched[7] && !patched[8]);
	ck_assert_ptr_null(hv_file_write(f, "function_8\n", 11, &n));
	ck_assert(patched[7] && !patched[8]);
	ck_assert_ptr_null(hv_file_close(f));
	ck_assert(!patched[7] && patched[8]);
}
END_TEST

static void put(const char *path, const char *text)
{
	struct hv_file *f;
	size_t n;

	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, path, O_WRONLY, &f));
	ck_assert_ptr_null(hv_file_write(f, text, strlen(text), &n));
	ck_assert_ptr_null(hv_file_close(f));
}

START_TEST(a_livepatch_ends_a_graph)
{
	static const char *const tracers[] = {"function", "function_graph"};

	for (unsigned i = 0; i < 2; i++) {
		HV_AUTO_TEXT struct hv_text tracer = {0};
		struct hv_err *err;

		put("current_tracer", tracers[i]);
		ck_assert_ptr_null(hv_tree_step_aside(tree));
		if (i)
			hv_fake_livepatch(session);
		err = hv_tree_step_aside(tree);
		ck_assert(i ? err && err->code == EBUSY : !err);
		hv_err_free(err);
		ck_assert_ptr_null(hv_tree_step_aside(tree));
		slurp("current_tracer", 64, &tracer);
		ck_assert_str_eq(tracer.data, i ? "nop\n" : "function\n");
		ck_assert_uint_eq(hv_site_trampolines_now(session->trampolines)[0],
				  i ? HV_TRAMPOLINE_NONE : HV_TRAMPOLINE_FUNCTION);
	}
}
END_TEST

START_TEST(a_livepatch_ends_return_probes)
{
	HV_AUTO_TEXT struct hv_text events = {0};
	struct hv_err *err;

	hv_fake_event_type(session, "sched", "sched_switch", 314, 0);
	put("kprobe_events", "r:mine function_0\np:other function_0\n");
	put("events/kprobes/enable", "1");
	ck_assert_ptr_null(hv_tree_step_aside(tree));
	slurp("set_event", 64, &events);
	ck_assert_str_eq(events.data, "kprobes:mine\nkprobes:other\n");
	hv_fake_livepatch(session);
	err = hv_tree_step_aside(tree);
	ck_assert(err && err->code == EBUSY);
	hv_err_free(err);
	hv_text_deinit(&events);
	events = (struct hv_text){0};
	slurp("set_event", 64, &events);
	ck_assert_str_eq(events.data, "kprobes:other\n");
	ck_assert_uint_eq(hv_site_trampolines_now(session->trampolines)[0], HV_TRAMPOLINE_ACTIONS);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, reads_of_any_length);
	tcase_add_test(tc, long_texts_are_shared);
	tcase_add_test(tc, dump_is_bounded);
	tcase_add_test(tc, pipe_takes_only_what_is_read);
	tcase_add_test(tc, a_marker_is_cut_to_fit_a_page);
	tcase_add_test(tc, an_ending_tree_publishes_nothing);
	tcase_add_test(tc, an_abandoned_file_publishes_nothing);
	tcase_add_test(tc, raw_readers_leave_remaining_events);
	tcase_add_test(tc, ready_keeps_found_events);
	tcase_add_test(tc, a_filter_that_is_being_replaced_is_never_empty);
	tcase_add_test(tc, a_livepatch_ends_a_graph);
	tcase_add_test(tc, a_livepatch_ends_return_probes);
}

int main(void)
{
	return run_suite("tree", add_tests);
}
