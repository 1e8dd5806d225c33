/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of programs that top shows, from samples and a session's answers. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "base/guard.h"
#include "cli/verbs/profile/ticks.h"
#include "cli/verbs/top/programs.h"
#include "tests/lib/run_suite.h"

static struct top_programs programs;
static struct hv_profile profile;
static const char *names;
static unsigned nr_asked;
static bool is_gone;

struct hv_err *client_program(struct client *c hv_unused, uint32_t pid hv_unused, char **ret)
{
	*ret = hv_strdup("401000 479000 1000 ffff888001 7 1000 abcd12 /bin/fra mes\n");
	return NULL;
}

struct hv_err *client_functions(struct client *c hv_unused, const char *places hv_unused,
				char **ret)
{
	nr_asked++;
	if (is_gone)
		return hv_err_new(ECONNRESET, "gone");
	*ret = hv_strdup(names);
	return NULL;
}

bool client_is_gone(const struct hv_err *err)
{
	return err && err->code == ECONNRESET;
}

/* -- not used here ------------------------------------------------------------------------------ */

void recording_init(struct recording *r hv_unused, const struct record_target *target hv_unused)
{
}

void recording_deinit(struct recording *r hv_unused)
{
}

struct hv_err *recording_begin(struct recording *r hv_unused, struct client *c hv_unused,
			       const struct record_request *q hv_unused)
{
	return NULL;
}

struct hv_err *recording_set(const struct recording *r hv_unused, const char *file hv_unused,
			     const char *text hv_unused)
{
	return NULL;
}

struct hv_err *recording_open(struct recording *r hv_unused)
{
	return NULL;
}

struct hv_err *recording_start(const struct recording *r hv_unused)
{
	return NULL;
}

struct hv_err *recording_take(struct recording *r hv_unused, uint32_t wait_ms hv_unused,
			      bool *ret_more hv_unused)
{
	return NULL;
}

struct hv_err *recording_close(struct recording *r hv_unused)
{
	return NULL;
}

struct hv_err *recording_remove(struct recording *r hv_unused)
{
	return NULL;
}

struct hv_err *profile_ticks_define(struct profile_probe *p hv_unused, struct client *c hv_unused)
{
	return NULL;
}

struct hv_err *profile_probe_remove(struct profile_probe *p hv_unused, struct client *c hv_unused)
{
	return NULL;
}

/* -- samples ------------------------------------------------------------------------------------ */

static void set_up(void)
{
	uint32_t file;
	uint64_t off;

	programs = (struct top_programs)TOP_PROGRAMS_NONE;
	profile = (struct hv_profile){0};
	names = "";
	nr_asked = 0;
	is_gone = false;
	/* The file of the samples gets the number 1. */
	ck_assert_int_eq(programs_find(&programs.programs, 5, "a", 0x401200, &file, &off),
			 HV_PROFILE_FILE);
	ck_assert_uint_eq(file, 1);
}

static void tear_down(void)
{
	hv_chains_deinit(&profile.chains);
	top_programs_deinit(&programs);
}

/* NR samples of tasks named GROUP at OFF in FILE, called from another function. */
static void sample(const char *group, uint32_t file, uint64_t off, uint64_t nr)
{
	uint32_t node = HV_CHAINS_ROOT, frame;

	ck_assert(hv_profile_add_group(&profile, group, &node));
	ck_assert(hv_chains_frame(&profile.chains, HV_CHAIN_USER, 1, 0x9999, &frame));
	ck_assert(hv_chains_child(&profile.chains, node, frame, &node));
	ck_assert(hv_chains_frame(&profile.chains, HV_CHAIN_USER, file, off, &frame));
	ck_assert(hv_chains_child(&profile.chains, node, frame, &node));
	profile.chains.nodes[node].self += nr;
	profile.nr_user += nr;
}

static void look(void)
{
	ck_assert_ptr_null(top_programs_count(&programs, &profile));
}

static void is_row(size_t i, const char *program, const char *function, const char *file,
		   uint64_t nr)
{
	const struct top_program *row = &programs.list[i];

	ck_assert_uint_lt(i, programs.nr);
	ck_assert_str_eq(row->program, program);
	ck_assert_str_eq(row->function, function);
	ck_assert_pstr_eq(row->file, file);
	ck_assert_uint_eq(row->nr, nr);
}

/* The addresses of a function count together, those of another task's name apart. */
START_TEST(functions_with_most_samples)
{
	sample("a", 1, 0x1200, 1);
	sample("a", 1, 0x1204, 2);
	sample("a", 1, 0x1300, 2);
	sample("b", 1, 0x1200, 5);
	sample("b", 0, 0x7f0010, 4);
	profile.nr_kernel = 6;
	names = "1200 401200 spin\n1204 401204 spin\n1300 401300 -\n";
	look();
	ck_assert_uint_eq(programs.nr, 4);
	ck_assert_uint_eq(programs.nr_samples, 20);
	is_row(0, "b", "spin", "/bin/fra mes", 5);
	is_row(1, "b", "0x7f0010", NULL, 4);
	is_row(2, "a", "spin", "/bin/fra mes", 3);
	is_row(3, "a", "fra mes+0x1300 [abcd12]", "/bin/fra mes", 2);
}
END_TEST

/* Each interval begins without samples; names are not looked up again. */
START_TEST(intervals)
{
	sample("a", 1, 0x1200, 1);
	names = "1200 401200 spin\n";
	look();
	sample("a", 1, 0x1200, 3);
	look();
	ck_assert_uint_eq(programs.nr, 1);
	ck_assert_uint_eq(programs.nr_samples, 3);
	is_row(0, "a", "spin", "/bin/fra mes", 3);
	ck_assert_uint_eq(nr_asked, 1);
	look();
	ck_assert_uint_eq(programs.nr, 0);
	ck_assert_uint_eq(programs.nr_samples, 0);
}
END_TEST

/* The guest chooses how many functions have samples. */
START_TEST(names_without_end)
{
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 1u << 15; i++)
			sample("a", 0, 0x1000000 + (round << 20) + i, 1);
		look();
		ck_assert_uint_eq(programs.nr, 1u << 15);
		ck_assert_uint_le(programs.names.nr_frames, 70000);
	}
}
END_TEST

START_TEST(the_session_ends)
{
	struct hv_err *err;

	sample("a", 1, 0x1200, 1);
	is_gone = true;
	err = top_programs_count(&programs, &profile);
	ck_assert(client_is_gone(err));
	hv_err_free(err);
	ck_assert_uint_eq(programs.nr, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, functions_with_most_samples);
	tcase_add_test(tc, intervals);
	tcase_add_test(tc, names_without_end);
	tcase_add_test(tc, the_session_ends);
}

int main(void)
{
	return run_suite("top's programs", add_tests);
}
