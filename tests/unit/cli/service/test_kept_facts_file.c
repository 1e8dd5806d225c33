/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file and the messages with a session's derived facts. */
#include "cli/service/kept_facts.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/lib/run_suite.h"
#include "vmm/broker/channel.h"

static char dir[] = "/tmp/test_kept_facts.XXXXXX";
static char *file;

static void setup(void)
{
	memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	file = hv_format("%s/facts", dir);
}

static void teardown(void)
{
	HV_AUTO_FREE char *command = hv_format("rm -rf %s", dir);

	ck_assert_int_eq(system(command), 0);
	free(file);
}

static struct kept_facts five(void)
{
	return (struct kept_facts){(uint8_t *)hv_strdup("facts"), 5};
}

static void check_refused(const char *message)
{
	struct kept_facts f = {0};
	HV_AUTO_ERR struct hv_err *err = kept_facts_load(&f, file);

	ck_assert_msg(err, "not refused: %s", message);
	ck_assert_msg(strstr(err->message, message), "%s", err->message);
	ck_assert_ptr_null(f.bytes);
}

START_TEST(stored_facts_are_loaded)
{
	struct kept_facts f = five(), loaded = {0};
	HV_AUTO_FREE char *new = hv_format("%s.new", file);
	struct stat st;

	ck_assert_ptr_null(kept_facts_load(&loaded, file));
	ck_assert_ptr_null(loaded.bytes);
	ck_assert_int_eq(symlink("/nonexistent/other", new), 0);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_ptr_null(kept_facts_store(&f, file));
	ck_assert_int_eq(lstat(file, &st), 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0600);
	ck_assert_int_ne(lstat(new, &st), 0);
	ck_assert_ptr_null(kept_facts_load(&loaded, file));
	ck_assert_uint_eq(loaded.len_bytes, 5);
	ck_assert_mem_eq(loaded.bytes, "facts", 5);
	kept_facts_deinit(&f);
	kept_facts_deinit(&loaded);
}
END_TEST

START_TEST(facts_that_cannot_be_stored_leave_no_file)
{
	struct kept_facts f = five();
	HV_AUTO_FREE char *new = hv_format("%s.new", file);
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct stat st;

	ck_assert_int_eq(mkdir(file, 0700), 0);
	err = kept_facts_store(&f, file);
	ck_assert(err && strstr(err->message, file));
	ck_assert_int_ne(lstat(new, &st), 0);
	kept_facts_deinit(&f);
}
END_TEST

START_TEST(other_files_are_refused)
{
	ck_assert_int_eq(mkdir(file, 0700), 0);
	check_refused("is not a file of this session");
	ck_assert_int_eq(rmdir(file), 0);
	ck_assert_int_eq(symlink("/etc/passwd", file), 0);
	check_refused("symbolic link");
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(mkfifo(file, 0600), 0);
	check_refused("is not a file of this session");
	ck_assert_int_eq(unlink(file), 0);
	close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	check_refused("is not a file of this session");
	ck_assert_int_eq(truncate(file, KEPT_FACTS_BYTES_MAX + 1), 0);
	check_refused("is not a file of this session");
}
END_TEST

START_TEST(the_length_of_a_message_is_limited)
{
	struct kept_facts f = {0};
	struct hv_message question = {.bytes = (uint8_t *)"facts", .len_bytes = 5};
	struct hv_message answer = {0};
	HV_AUTO_ERR struct hv_err *none = NULL, *many = NULL;

	kept_facts_answer(&f, &answer);
	ck_assert_uint_eq(answer.len_bytes, 0);
	ck_assert_ptr_null(kept_facts_take(&f, &question));
	kept_facts_answer(&f, &answer);
	ck_assert_uint_eq(answer.len_bytes, 5);
	ck_assert_mem_eq(answer.bytes, "facts", 5);
	question.len_bytes = 0;
	none = kept_facts_take(&f, &question);
	ck_assert(none && none->code == E2BIG);
	question.len_bytes = KEPT_FACTS_BYTES_MAX + 1;
	many = kept_facts_take(&f, &question);
	ck_assert(many && many->code == E2BIG);
	ck_assert_str_eq(many->message, "too many derived facts: 262145 bytes");
	ck_assert_uint_eq(f.len_bytes, 5);
	hv_message_deinit(&answer);
	kept_facts_deinit(&f);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, stored_facts_are_loaded);
	tcase_add_test(tests, facts_that_cannot_be_stored_leave_no_file);
	tcase_add_test(tests, other_files_are_refused);
	tcase_add_test(tests, the_length_of_a_message_is_limited);
}

int main(void)
{
	return run_suite("kept_facts_file", add_tests);
}
