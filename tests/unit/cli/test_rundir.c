/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which data in a session's directory clients trust, and that they can always read it. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/rundir.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"

static char run_dir[] = "/tmp/hvtrace-rundir-XXXXXX";
static struct rundir dir;

static void begin(void)
{
	ck_assert_ptr_nonnull(mkdtemp(run_dir));
	ck_assert_ptr_null(rundir_take(run_dir, "1-2", &dir));
}

static void end(void)
{
	HV_AUTO_FREE char *command = hv_format("rm -rf %s", run_dir);

	rundir_forget(&dir);
	ck_assert_int_eq(system(command), 0);
	memset(strrchr(run_dir, '-') + 1, 'X', 6);
}

static struct hv_err *write_info(const char *id, const char *name)
{
	struct rundir_info info = {.id = (char *)id, .name = (char *)name, .spec = (char *)"web1"};

	return rundir_write_info(&dir, &info);
}

static bool is_found(struct rundir_info *ret)
{
	bool found = false;

	ck_assert_ptr_null(rundir_find(run_dir, "web1", NULL, &found, ret));
	return found;
}

START_TEST(only_own_private_files_are_an_info)
{
	HV_AUTO_FREE char *path = rundir_path(dir.path, "info"), *other = rundir_path(run_dir, "x");
	AUTO_RUNDIR_INFO struct rundir_info info = {0};

	ck_assert_ptr_null(write_info("1-2", "web1"));
	ck_assert(is_found(&info));
	ck_assert_str_eq(info.id, "1-2");
	rundir_info_deinit(&info);
	ck_assert_int_eq(chmod(path, 0602), 0);
	ck_assert(!is_found(&info));
	ck_assert_int_eq(chmod(path, 0600), 0);
	ck_assert_int_eq(rename(path, other), 0);
	ck_assert_int_eq(symlink(other, path), 0);
	ck_assert(!is_found(&info));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert(!is_found(&info));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_ptr_null(write_info("../1-2", "web1"));
	ck_assert(!is_found(&info));
}
END_TEST

START_TEST(unreadably_long_info_is_not_written)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	HV_AUTO_TEXT struct hv_text name = {0};
	HV_AUTO_FREE char *message = hv_format("%s/1-2/info: cannot be written", run_dir);

	hv_text_add_fill(&name, 'x', 1 << 20);
	ck_assert_ptr_null(write_info("1-2", "web1"));
	expect_error(write_info("1-2", name.data), EIO, message);
	ck_assert(is_found(&info));
}
END_TEST

START_TEST(directories_that_cannot_be_taken)
{
	HV_AUTO_FREE char *running = hv_format("%s/1-2: a service is running there", run_dir);
	struct rundir other;

	expect_error(rundir_take(run_dir, "1-2", &other), EBUSY, running);
	expect_error(rundir_take(run_dir, "../1-2", &other), EINVAL,
		     "id '../1-2' cannot be a file's name");
	expect_error(rundir_take("/proc/hvtrace", "1-2", &other), ENOENT,
		     "/proc/hvtrace: cannot be made: No such file or directory");
}
END_TEST

/* The reason comes from a service that may have been taken over. */
START_TEST(a_long_reason_keeps_the_info_readable)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	HV_AUTO_TEXT struct hv_text reason = {0};

	hv_text_add_fill(&reason, '"', 1 << 20);
	ck_assert_ptr_null(write_info("1-2", "web1"));
	dir.has_left = true;
	rundir_leave(&dir, reason.data);
	ck_assert(is_found(&info));
	ck_assert(info.has_left && info.ended && info.ended[0] == '"');
}
END_TEST

static bool has_file(const char *name)
{
	HV_AUTO_FREE char *path = hv_format("%s/1-2/%s", run_dir, name);

	return access(path, F_OK) == 0;
}

static void put_types(void)
{
	struct rundir_info info = {.id = (char *)"1-2",
				   .name = (char *)"web1",
				   .spec = (char *)"web1",
				   .btf = (char *)"/x.btf",
				   .btf_release = (char *)"6.1",
				   .btf_bytes = 5,
				   .btf_proved = true};
	HV_AUTO_FREE char *path = hv_format("%s/1-2/btf", run_dir);
	HV_AUTO_FREE char *facts = hv_format("%s/1-2/facts", run_dir);

	fclose(fopen(path, "we"));
	fclose(fopen(facts, "we"));
	ck_assert_ptr_null(rundir_write_info(&dir, &info));
}

/* Recovery needs the BTF and the facts of a session that died. */
START_TEST(types_stay_while_changes_may_be_left)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};

	put_types();
	rundir_forget(&dir); /* the session dies */
	ck_assert_ptr_null(rundir_take(run_dir, "1-2", &dir));
	ck_assert(dir.has_left && has_file("btf") && has_file("facts"));
	ck_assert(rundir_read_info(&dir, &info));
	ck_assert_str_eq(info.btf, "/x.btf");
	ck_assert_str_eq(info.btf_release, "6.1");
	ck_assert(info.btf_bytes == 5 && info.btf_proved);
	rundir_remove(&dir); /* an attach that was refused */
	ck_assert(has_file("btf") && has_file("facts") && has_file("info"));
	ck_assert_ptr_null(rundir_take(run_dir, "1-2", &dir));
	ck_assert(dir.has_left);
	dir.has_left = false; /* recovered */
	rundir_remove(&dir);
	ck_assert(!has_file("btf") && !has_file("facts") && !has_file("info"));
	ck_assert_ptr_null(rundir_take(run_dir, "1-2", &dir));
	put_types();
	rundir_leave(&dir, "the guest rebooted");
	ck_assert_ptr_null(rundir_take(run_dir, "1-2", &dir));
	ck_assert(!dir.has_left && !has_file("btf") && !has_file("facts"));
}
END_TEST

/* Each session removes its files in the other process. */
static void begin_and_end_sessions(unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		ck_assert_ptr_null(rundir_take(run_dir, "1-2", &dir));
		ck_assert_ptr_null(write_info("1-2", "web1"));
		rundir_remove(&dir);
	}
	_exit(0);
}

START_TEST(a_session_that_ends_does_not_look_dead)
{
	pid_t pid;
	int status;

	rundir_remove(&dir);
	pid = fork();
	if (pid == 0)
		begin_and_end_sessions(200);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		AUTO_RUNDIR_INFO struct rundir_info info = {0};

		if (is_found(&info))
			ck_assert(info.live);
	}
	ck_assert_int_eq(status, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, types_stay_while_changes_may_be_left);
	tcase_add_test(tc, only_own_private_files_are_an_info);
	tcase_add_test(tc, unreadably_long_info_is_not_written);
	tcase_add_test(tc, directories_that_cannot_be_taken);
	tcase_add_test(tc, a_long_reason_keeps_the_info_readable);
	tcase_add_test(tc, a_session_that_ends_does_not_look_dead);
}

int main(void)
{
	return run_suite("rundir", add_tests);
}
