/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinds the stack of a thread of this process with pages that a session answers, which may lie. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guard.h"
#include "cli/verbs/profile/stacks.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/programs/unwind_sample.h"

#define PAGE  4096u
#define PAGES 32u
#define DEPTH 12
#define FILES 64

static struct programs programs;
static struct stacks stacks;
static struct hv_text maps;
static int fds[FILES]; /* file N has the mapping N + 1 */
static unsigned nr_files, nr_asked;
static bool is_gone, is_lying;
static uint64_t absent; /* pages of each answer */

/* Lists the mappings with code of this process, as programs_map() does. */
static void list_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512], path[256], rights[8];

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		unsigned long start, end, off;
		struct stat st;

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, rights, &off,
			   path) != 5 ||
		    rights[2] != 'x' || path[0] != '/' || nr_files == FILES)
			continue;
		fds[nr_files] = open(path, O_RDONLY | O_CLOEXEC);
		ck_assert(fstat(fds[nr_files], &st) == 0);
		nr_files++;
		hv_text_printf(&maps, "%lx %lx %lx %x 1 %lx - %s\n", start, end, off, nr_files,
			       (unsigned long)st.st_size, path);
	}
	fclose(file);
}

static struct hv_span answer_pages(const char *place)
{
	static uint8_t answer[8 + PAGES * PAGE];
	unsigned long mapping, ino, len, first;
	uint64_t present = 0;

	ck_assert_int_eq(sscanf(place, "%lx %lx %lx %lx", &mapping, &ino, &len, &first), 4);
	ck_assert(mapping >= 1 && mapping <= nr_files);
	memset(answer, 0, sizeof(answer));
	for (unsigned i = 0; i < PAGES; i++)
		if (pread(fds[mapping - 1], answer + 8 + i * PAGE, PAGE,
			  (off_t)(first + i) * PAGE) > 0)
			present |= UINT64_C(1) << i;
	present &= ~absent;
	memcpy(answer, &present, sizeof(present));
	return (struct hv_span){answer, is_lying ? sizeof(answer) - 1 : sizeof(answer)};
}

struct hv_err *client_program(struct client *c hv_unused, uint32_t pid hv_unused, char **ret)
{
	*ret = hv_strdup(maps.data);
	return NULL;
}

struct hv_err *client_functions(struct client *c hv_unused, const char *places hv_unused,
				char **ret)
{
	*ret = hv_strdup(maps.data);
	return NULL;
}

struct hv_err *client_pages(struct client *c hv_unused, uint32_t pid hv_unused, const char *place,
			    struct hv_span *ret)
{
	nr_asked++;
	*ret = answer_pages(place);
	return is_gone ? hv_err_new(ECONNRESET, "gone") : NULL;
}

bool client_is_gone(const struct hv_err *err)
{
	return err && err->code == ECONNRESET;
}

static void *run_sample(void *arg hv_unused)
{
	sample_nest(DEPTH, 0);
	return NULL;
}

static void set_up(void)
{
	pthread_t thread;

	sample_reset();
	nr_files = nr_asked = 0;
	is_gone = is_lying = false;
	absent = 0;
	ck_assert_int_eq(pthread_create(&thread, NULL, run_sample, NULL), 0);
	pthread_join(thread, NULL);
	list_maps();
	stacks.programs = &programs;
}

static void tear_down(void)
{
	stacks_deinit(&stacks);
	programs_deinit(&programs);
	hv_text_deinit(&maps);
	for (unsigned i = 0; i < nr_files; i++)
		close(fds[i]);
}

static uint64_t words[HV_PROFILE_USER_MAX];

static size_t unwind(size_t len)
{
	return stacks_unwind(&stacks, 7, "sample", (struct hv_span){sample.copy, len},
			     (struct hv_span){0}, words);
}

static bool has_calls(size_t nr)
{
	size_t at = 1;

	for (size_t i = sample.nr; i-- > 0; at++) {
		while (at < nr && words[at] != sample.returns[i])
			at++;
		if (at >= nr)
			return false;
	}
	return true;
}

static void check_report(const char *wanted)
{
	HV_AUTO_TEXT struct hv_text out = {0};

	hv_text_add(&out, "");
	stacks_report(&stacks, &out);
	ck_assert_str_eq(out.data, wanted);
}

START_TEST(a_stack)
{
	unsigned nr_first;

	ck_assert(has_calls(unwind(sizeof(sample.copy))));
	nr_first = nr_asked;
	ck_assert_uint_ge(nr_first, 2);
	for (unsigned i = 0; i < 100; i++)
		ck_assert(has_calls(unwind(sizeof(sample.copy))));
	ck_assert_uint_eq(nr_asked, nr_first); /* pages are kept */
	check_report("");
}
END_TEST

START_TEST(a_short_copy)
{
	ck_assert(!has_calls(unwind(SAMPLE_REGS_LEN + 64)));
	unwind(sizeof(sample.copy));
	check_report("1 of 2 stacks of programs end early: 1: longer than the copy\n");
}
END_TEST

/* A copy that is too short, and its rest, are the whole stack; without one word of the first, or with
 * other registers, they are not. */
START_TEST(a_copy_and_its_rest)
{
	static uint8_t rest[SAMPLE_REGS_LEN + 4096];
	struct hv_span copy = {sample.copy, SAMPLE_REGS_LEN + HV_USER_COPY_REST};
	struct hv_span both = {rest, sizeof(rest)};
	size_t nr;

	memcpy(rest, sample.copy, SAMPLE_REGS_LEN);
	memcpy(rest + SAMPLE_REGS_LEN, sample.copy + SAMPLE_REGS_LEN + HV_USER_COPY_REST, 4096);
	nr = stacks_unwind(&stacks, 7, "sample", copy, (struct hv_span){0}, words);
	ck_assert(!has_calls(nr));
	ck_assert(has_calls(stacks_unwind(&stacks, 7, "sample", copy, both, words)));
	copy.len_bytes += 300; /* both have these bytes */
	ck_assert(has_calls(stacks_unwind(&stacks, 7, "sample", copy, both, words)));
	copy.len_bytes -= 308;
	ck_assert(!has_calls(stacks_unwind(&stacks, 7, "sample", copy, both, words)));
	copy.len_bytes += 8;
	rest[8]++;
	ck_assert(!has_calls(stacks_unwind(&stacks, 7, "sample", copy, both, words)));
}
END_TEST

START_TEST(a_program_of_32_bits)
{
	const uint64_t cs = 0x23, ip = 0x8048000;

	memcpy(sample.copy + 136, &cs, sizeof(cs));
	memcpy(sample.copy + 128, &ip, sizeof(ip));
	ck_assert_uint_eq(unwind(SAMPLE_REGS_LEN), 1);
	ck_assert_uint_eq(words[0], ip);
	ck_assert_uint_eq(unwind(0), 0);
	check_report("2 of 2 stacks of programs end early: 2: 32-bit programs\n");
}
END_TEST

/* Pages that are not there, answers that are too short, no session: the innermost function is known. */
START_TEST(no_pages)
{
	is_gone = _i == 0;
	is_lying = _i == 1;
	absent = _i == 2 ? UINT64_MAX : 0;
	ck_assert_uint_eq(unwind(sizeof(sample.copy)), 1);
	ck_assert_uint_eq(unwind(sizeof(sample.copy)), 1);
	check_report("2 of 2 stacks of programs end early: 2: no call frame information of a "
		     "function\n");
	ck_assert_uint_le(nr_asked, 1);
}
END_TEST

START_TEST(a_frame_in_no_file)
{
	const uint64_t ip = 0x1000;

	memcpy(sample.copy + 128, &ip, sizeof(ip));
	ck_assert_uint_eq(unwind(sizeof(sample.copy)), 1);
	ck_assert_uint_eq(words[0], ip);
}
END_TEST

/* Unwinding takes only a part of the time. */
START_TEST(no_time)
{
	unwind(sizeof(sample.copy));
	stacks.spent_ns = UINT64_C(1) << 40;
	ck_assert_uint_eq(unwind(sizeof(sample.copy)), 1);
	check_report("1 of 2 stacks of programs end early: 1: no time to unwind them\n");
	stacks.period_ns = 0; /* the next period */
	ck_assert(has_calls(unwind(sizeof(sample.copy))));
}
END_TEST

/* Pages are read again when there are too many. */
START_TEST(too_many_pages)
{
	unsigned nr_first;

	unwind(sizeof(sample.copy));
	nr_first = nr_asked;
	stacks_deinit(&stacks);
	stacks.programs = &programs;
	stacks.nr_chunks = 1024;
	ck_assert(has_calls(unwind(sizeof(sample.copy))));
	ck_assert_uint_lt(stacks.nr_chunks, 64);
	ck_assert_uint_gt(nr_asked, nr_first);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_stack);
	tcase_add_test(tc, a_short_copy);
	tcase_add_test(tc, a_copy_and_its_rest);
	tcase_add_test(tc, a_program_of_32_bits);
	tcase_add_loop_test(tc, no_pages, 0, 3);
	tcase_add_test(tc, a_frame_in_no_file);
	tcase_add_test(tc, no_time);
	tcase_add_test(tc, too_many_pages);
}

int main(void)
{
	return run_suite("profile_stacks", add_tests);
}
