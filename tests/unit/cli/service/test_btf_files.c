/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which BTF files the privileged process opens. */
#include "cli/service/btf_files.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/lib/run_suite.h"

#define NAME "6.1.0-56-cloud_amd64+1~x"

static char dir[] = "/tmp/test_btf_files.XXXXXX";

static char *path_of(const char *name)
{
	return hv_format("%s/%s", dir, name);
}

static void write_file(const char *name)
{
	HV_AUTO_FREE char *path = path_of(name);
	HV_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, 0644), 0);
}

static void setup(void)
{
	memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
}

static void teardown(void)
{
	HV_AUTO_FREE char *command = hv_format("rm -rf %s", dir);

	ck_assert_int_eq(system(command), 0);
}

static void check_opened(const char *given, const char *release, const char *name)
{
	HV_AUTO_FREE char *wanted = path_of(name);
	HV_AUTO_FREE char *path = NULL;
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = btf_files_open(given, release, &fd, &path);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_int_ge(fd, 0);
	ck_assert_str_eq(path, wanted);
}

static void check_refused(const char *given, const char *release, int code, const char *message)
{
	HV_AUTO_FREE char *path = NULL;
	HV_AUTO_FD int fd = -1;
	HV_AUTO_ERR struct hv_err *err = btf_files_open(given, release, &fd, &path);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, code);
	ck_assert_msg(strstr(err->message, message), "%s", err->message);
	ck_assert_int_lt(fd, 0);
}

START_TEST(files_by_release)
{
	HV_AUTO_FREE char *missing = path_of("missing");

	write_file(NAME ".btf");
	check_opened(dir, NAME, NAME ".btf");
	check_refused(dir, "6.1.0", ENOENT, "no file 6.1.0.btf in /tmp/test_btf_files.");
	check_refused(missing, "6.1.0", EINVAL, "/missing: No such file or directory");
	check_refused(NULL, "0.0.0-none", ENOENT,
		      "no file 0.0.0-none.btf in /usr/share/hvtrace/btf or /var/lib/hvtrace/btf");
}
END_TEST

/* The release is the guest's. */
START_TEST(hostile_releases)
{
	static const char *const releases[] = {
		"",
		".",
		"..",
		"../x",
		"x/y",
		".x",
		"a b",
		"a\nb",
		"a\x80",
		"%s",
		"0123456789012345678901234567890123456789012345678901"
		"23456789012345"};
	HV_AUTO_FREE char *sub = path_of("sub");

	ck_assert_int_eq(mkdir(sub, 0755), 0);
	write_file("x.btf");
	write_file(".btf");
	write_file("..btf");
	for (size_t i = 0; i < HV_ARRAY_LEN(releases); i++)
		check_refused(sub, releases[i], ENOENT,
			      "the kernel's release cannot be the name of a file");
}
END_TEST

START_TEST(files_that_others_could_have_written)
{
	HV_AUTO_FREE char *path = path_of("6.1.btf");
	HV_AUTO_FREE char *link = path_of("6.2.btf");
	HV_AUTO_FREE char *fifo = path_of("6.3.btf");
	HV_AUTO_FREE char *sub = path_of("6.4.btf");

	write_file("6.1.btf");
	ck_assert_int_eq(chmod(path, 0664), 0);
	check_refused(dir, "6.1", EACCES, "6.1.btf: other users than its owner may write to it");
	ck_assert_int_eq(chmod(path, 0644), 0);
	check_opened(dir, "6.1", "6.1.btf");
	ck_assert_int_eq(symlink(path, link), 0);
	check_refused(dir, "6.2", ELOOP, "6.2.btf: is a symbolic link: replace it by a file");
	check_opened(link, "6.2", "6.2.btf"); /* the user named it */
	ck_assert_int_eq(mkfifo(fifo, 0644), 0);
	check_refused(dir, "6.3", EACCES, "6.3.btf: is not a regular file");
	check_refused(fifo, "6.3", EINVAL, "6.3.btf: is not a regular file");
	ck_assert_int_eq(mkdir(sub, 0755), 0);
	check_refused(dir, "6.4", EACCES, "6.4.btf: is not a regular file");
	ck_assert_int_eq(chmod(dir, 0777), 0);
	check_refused(dir, "6.1", EACCES, ": other users than its owner may write to it");
	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(dir, 0755), 0);
		ck_assert_int_eq(chown(path, 65534, 65534), 0);
		check_refused(dir, "6.1", EACCES, "6.1.btf: belongs to uid 65534");
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, files_by_release);
	tcase_add_test(tc, hostile_releases);
	tcase_add_test(tc, files_that_others_could_have_written);
}

int main(void)
{
	return run_suite("btf_files", add_tests);
}
