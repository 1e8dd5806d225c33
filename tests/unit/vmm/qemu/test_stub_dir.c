/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that already has the directory's name is not used, and its owner is not changed. Needs
 * root to change owners; skipped without it. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "vmm/qemu/machine.h"

#define UID 54321
#define GID 54322

static char place[] = "/tmp/stub_dir-XXXXXX";
static char path[64], other[64];

static void setup(void)
{
	strcpy(place, "/tmp/stub_dir-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(place));
	ck_assert_int_eq(chown(place, UID, GID), 0);
	snprintf(path, sizeof(path), "%s/hvtrace-1", place);
	snprintf(other, sizeof(other), "%s/other", place);
}

static void teardown(void)
{
	unlink(path);
	rmdir(path);
	unlink(other);
	rmdir(other);
	rmdir(place);
}

static uid_t owner(const char *of)
{
	struct stat st;

	ck_assert_int_eq(lstat(of, &st), 0);
	return st.st_uid;
}

/* PROBLEM follows the path in the message. */
static void refused(const char *before, const char *problem)
{
	HV_AUTO_FREE char *message = hv_format("gdb stub: %s%s%s", before, path, problem);

	expect_error(hv_stub_dir_make(path, UID, GID), EEXIST, message);
}

START_TEST(a_directory_is_reused)
{
	ck_assert_ptr_null(hv_stub_dir_make(path, UID, GID));
	ck_assert_uint_eq(owner(path), UID);
	ck_assert_ptr_null(hv_stub_dir_make(path, UID, GID));
}
END_TEST

START_TEST(a_hard_link)
{
	int fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(link(other, path), 0);
	refused("", " is there, and is not a directory");
	ck_assert_uint_eq(owner(other), 0);
}
END_TEST

START_TEST(a_symbolic_link)
{
	ck_assert_int_eq(mkdir(other, 0700), 0);
	ck_assert_int_eq(symlink(other, path), 0);
	refused("", " is there, and is not a directory");
	ck_assert_uint_eq(owner(path), 0);
	ck_assert_uint_eq(owner(other), 0);
}
END_TEST

START_TEST(a_directory_of_another_user)
{
	char in_it[80];

	snprintf(in_it, sizeof(in_it), "%s/secret", path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(mkdir(in_it, 0700), 0);
	refused("directory ", " is there, and belongs to user 0, not to the VMM's, 54321");
	ck_assert_uint_eq(owner(path), 0);
	rmdir(in_it);
}
END_TEST

/* A VMM may redirect the path. No file may appear where its user has no write permission. */
START_TEST(a_path_owned_by_root)
{
	HV_AUTO_FREE char *message =
		hv_format("gdb stub: directory %s: the VMM's user, 54321, may not make it", path);

	ck_assert_int_eq(chown(place, 0, 0), 0);
	expect_error(hv_stub_dir_make(path, UID, GID), EACCES, message);
	ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_link_to_a_path_owned_by_root)
{
	char led[96], real[96];
	struct hv_err *err;

	ck_assert_int_eq(mkdir(other, 0755), 0);
	ck_assert_int_eq(symlink(other, path), 0);
	snprintf(led, sizeof(led), "%s/hvtrace-2", path);
	snprintf(real, sizeof(real), "%s/hvtrace-2", other);
	err = hv_stub_dir_make(led, UID, GID);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EACCES);
	hv_err_free(err);
	ck_assert_int_ne(access(real, F_OK), 0);
	/* hvtrace removes nothing there */
	ck_assert_int_eq(mkdir(real, 0700), 0);
	hv_stub_dir_remove(led, UID, GID);
	hv_stub_file_remove(led, UID, GID);
	ck_assert_int_eq(access(real, F_OK), 0);
	hv_stub_dir_remove(real, 0, 0);
	ck_assert_int_ne(access(real, F_OK), 0);
}
END_TEST

/* An administrator may put the QMP socket there, for a VMM that has given up root's privileges. */
START_TEST(a_path_that_only_root_can_change)
{
	HV_AUTO_FREE char *in_run = hv_format("/run/hvtrace-test-%d", (int)getpid());

	ck_assert_ptr_null(hv_stub_dir_make(in_run, UID, GID));
	ck_assert_uint_eq(owner(in_run), UID);
	hv_stub_dir_remove(in_run, UID, GID);
	ck_assert_int_ne(access(in_run, F_OK), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_directory_is_reused);
	tcase_add_test(tc, a_path_owned_by_root);
	tcase_add_test(tc, a_link_to_a_path_owned_by_root);
	tcase_add_test(tc, a_path_that_only_root_can_change);
	tcase_add_test(tc, a_hard_link);
	tcase_add_test(tc, a_symbolic_link);
	tcase_add_test(tc, a_directory_of_another_user);
}

int main(void)
{
	if (geteuid() != 0) {
		printf("skip: root is needed to change owners\n");
		return 77;
	}
	return run_suite("stub_dir", add_tests);
}
