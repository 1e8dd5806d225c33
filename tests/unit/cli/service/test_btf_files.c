/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which BTF files the privileged process opens. */
#include "cli/service/btf_files.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "kernel/core/core.h"
#include "tests/lib/run_suite.h"
#include "vmm/broker/channel.h"

#define NAME "6.1.0-56-cloud_amd64+1~x"

static char dir[] = "/tmp/test_btf_files.XXXXXX";

static char *path_of(const char *name)
{
	return hv_format("%s/%s", dir, name);
}

/* A header without types and strings. */
static const uint8_t no_types[24] = {0x9f, 0xeb, 1, 0, 24};

static void write_file(const char *name)
{
	HV_AUTO_FREE char *path = path_of(name);
	HV_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, 0644), 0);
	ck_assert_int_eq(write(fd, no_types, sizeof(no_types)), sizeof(no_types));
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

static struct hv_err *find(const char *given, const char *release, struct btf_files *ret)
{
	const char *const packaged[] = {dir, "/nonexistent"};
	struct hv_err *err = btf_files_open(ret, given, packaged, HV_ARRAY_LEN(packaged));

	return err ? err : btf_files_find(ret, release);
}

static void check_opened(const char *given, const char *release, const char *name)
{
	HV_AUTO_FREE char *wanted = path_of(name);
	AUTO_BTF_FILES struct btf_files files = BTF_FILES_NONE;
	struct hv_err *err = find(given, release, &files);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_int_ge(files.copy, 0);
	ck_assert_str_eq(files.path, wanted);
}

static void check_refused(const char *given, const char *release, int code, const char *message)
{
	AUTO_BTF_FILES struct btf_files files = BTF_FILES_NONE;
	HV_AUTO_ERR struct hv_err *err = find(given, release, &files);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, code);
	ck_assert_msg(strstr(err->message, message), "%s", err->message);
	ck_assert_int_lt(files.copy, 0);
}

START_TEST(files_by_release)
{
	HV_AUTO_FREE char *missing = path_of("missing");

	write_file(NAME ".btf");
	check_opened(dir, NAME, NAME ".btf");
	check_refused(dir, "6.1.0", EINVAL, "no file 6.1.0.btf in /tmp/test_btf_files.");
	check_refused(missing, "6.1.0", EINVAL, "/missing: No such file or directory");
	check_opened(NULL, NAME, NAME ".btf");
	check_refused(NULL, "0.0.0-none", ENOENT, " or /nonexistent");
}
END_TEST

/* The guest controls the release. */
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

START_TEST(files_writable_by_others_are_refused)
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
	check_refused(fifo, "6.3", EACCES, "6.3.btf: is not a regular file");
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

/* A file that the user names must meet the conditions for a file in a directory. */
START_TEST(a_named_file_writable_by_others)
{
	HV_AUTO_FREE char *path = path_of("x.btf");

	write_file("x.btf");
	check_opened(path, "6.1", "x.btf");
	ck_assert_int_eq(chmod(path, 0666), 0);
	check_refused(path, "6.1", EACCES, "x.btf: other users than its owner may write to it");
	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(path, 0644), 0);
		ck_assert_int_eq(chown(path, 65534, 65534), 0);
		check_refused(path, "6.1", EACCES,
			      "x.btf: belongs to uid 65534: it must belong to root");
	}
	check_refused("/proc/self/status", "6.1", EACCES, "is not stored in a file system");
	check_refused("/proc/self/exe", "6.1", ELOOP, "/proc/self/exe: ");
	check_refused("/sys/kernel/uevent_seqnum", "6.1", EACCES, "is not stored in a file system");
	check_refused("/dev/null", "6.1", EACCES, "/dev/null: is not a regular file");
}
END_TEST

/* The owner of the directory of a file that the user names can replace the file by a link to any
 * file of root's. The service must not get such a file, because the guest may control the
 * service. */
START_TEST(a_link_to_a_root_owned_file)
{
	HV_AUTO_FREE char *path = path_of("x.btf");

	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	check_refused(path, "6.1", EINVAL, "x.btf: no BTF: it begins with neither BTF's magic nor");
}
END_TEST

static ino_t inode(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_ino;
}

/* Changes after a file was opened have no effect. */
START_TEST(files_that_are_replaced)
{
	static const char *const ways[] = {"x.btf", ""};
	HV_AUTO_FREE char *path = path_of("x.btf");

	for (size_t i = 0; i < HV_ARRAY_LEN(ways); i++) {
		HV_AUTO_FREE char *given = path_of(ways[i]);
		AUTO_BTF_FILES struct btf_files files = BTF_FILES_NONE;
		ino_t first;
		struct hv_err *err;

		unlink(path);
		write_file("x.btf");
		ck_assert_ptr_null(btf_files_open(&files, given, NULL, 0));
		/* in a directory, the file is copied at the first request */
		ck_assert_int_eq(files.copy >= 0, i == 0);
		ck_assert_ptr_null(btf_files_find(&files, "x"));
		first = inode(files.copy);
		unlink(path);
		ck_assert_int_eq(symlink("/etc/shadow", path), 0);
		ck_assert_ptr_null(btf_files_find(&files, "x"));
		ck_assert_uint_eq(inode(files.copy), first);
		err = btf_files_find(&files, "y");
		ck_assert(err && err->code == EPERM);
		ck_assert_str_eq(err->message, "BTF of another release than x");
		hv_err_free(err);
	}
}
END_TEST

/* A process that was under the guest's control cannot prevent recovery. */
START_TEST(a_request_is_forgotten)
{
	AUTO_BTF_FILES struct btf_files files = BTF_FILES_NONE;

	write_file("x.btf");
	write_file("y.btf");
	ck_assert_ptr_null(btf_files_open(&files, dir, NULL, 0));
	ck_assert_ptr_null(btf_files_find(&files, "y"));
	btf_files_renew(&files);
	ck_assert_ptr_null(btf_files_find(&files, "x"));
	ck_assert(strstr(files.path, "/x.btf"));
	files.is_proved = true;
	btf_files_renew(&files);
	ck_assert(btf_files_are_used(&files));
}
END_TEST

START_TEST(the_copy_of_a_session)
{
	HV_AUTO_FREE char *path = path_of("x.btf"), *stored = path_of("btf");
	AUTO_BTF_FILES struct btf_files files = BTF_FILES_NONE, loaded = BTF_FILES_NONE;
	AUTO_BTF_FILES struct btf_files with_dirs = BTF_FILES_NONE;
	struct hv_err *err;
	struct stat st;
	int fd;

	write_file("x.btf");
	ck_assert_ptr_null(btf_files_open(&files, path, NULL, 0));
	ck_assert_ptr_null(btf_files_store(&files, stored));
	ck_assert_ptr_null(btf_files_store(&files, stored)); /* again */
	ck_assert_int_eq(stat(stored, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(st.st_size, (off_t)files.copy_bytes);
	unlink(path);
	ck_assert_ptr_null(btf_files_load(&loaded, stored, files.copy_bytes, path, "x"));
	ck_assert_str_eq(loaded.path, path);
	ck_assert(btf_files_equal(&loaded, stored));
	ck_assert(!btf_files_equal(&with_dirs, stored)); /* it has no copy */
	ck_assert(!btf_files_equal(&loaded, path));
	ck_assert_int_lt(pwrite(loaded.copy, "x", 1, 0), 0);
	err = btf_files_find(&loaded, "y"); /* the guest has rebooted */
	ck_assert(err && err->code == ENOENT);
	ck_assert_str_eq(err->message, "the BTF of the session that died is of Linux x, not y");
	hv_err_free(err);
	ck_assert_ptr_null(btf_files_find(&loaded, "x"));
	err = btf_files_find(&loaded,
			     "y"); /* the process that asks may be under the guest's control */
	ck_assert(err && err->code == EPERM);
	hv_err_free(err);
	ck_assert_ptr_null(btf_files_open(&with_dirs, dir, NULL, 0));
	ck_assert_ptr_null(btf_files_load(&with_dirs, stored, files.copy_bytes, path, "x"));
	with_dirs.is_proved = true;
	write_file("y.btf");
	ck_assert_ptr_null(btf_files_find(&with_dirs, "y"));
	ck_assert(strstr(with_dirs.path, "/y.btf") && !with_dirs.is_proved);
	fd = open(stored, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "x", 1, 3), 1);
	ck_assert(!btf_files_equal(&loaded, stored));
	ck_assert_int_eq(ftruncate(fd, 9), 0);
	close(fd);
	err = btf_files_load(&loaded, stored, files.copy_bytes, path, "x");
	ck_assert(err && err->code == EIO &&
		  strstr(err->message, "/btf: it was changed: it has 9 bytes, not "));
	hv_err_free(err);
	unlink(stored);
	err = btf_files_load(&loaded, stored, files.copy_bytes, path, "x");
	ck_assert(err && err->code == ENOENT);
	hv_err_free(err);
}
END_TEST

static void ask(int socket, const char *release, const char *message, struct hv_btf_given *ret)
{
	HV_AUTO_ERR struct hv_err *err = btf_files_ask(socket, 7, release, ret);

	ck_assert_str_eq(err ? err->message : "", message);
}

START_TEST(over_a_socket)
{
	AUTO_BTF_FILES struct btf_files files = BTF_FILES_NONE;
	HV_AUTO_FREE char *path = path_of("x.btf");
	struct hv_btf_given given;
	int ends[2], status;
	pid_t pid;

	write_file("x.btf");
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	ck_assert_ptr_null(btf_files_open(&files, dir, NULL, 0));
	pid = fork();
	if (pid == 0) {
		for (unsigned i = 0; i < 3; i++) {
			HV_AUTO_MESSAGE struct hv_message question = {0}, answer = {0};
			struct hv_err *err = hv_channel_receive(ends[1], &question);

			if (!err && i == 2) /* a peer that is not hvtrace's broker sends no file */
				err = hv_channel_answer(ends[1], NULL, &answer);
			else if (!err)
				err = hv_channel_answer(
					ends[1], btf_files_answer(&files, &question, &answer),
					&answer);
			files.is_proved = true;
			if (err || question.kind != 7)
				_exit(1);
		}
		_exit(0);
	}
	ask(ends[0], "x", "", &given);
	ck_assert_str_eq(given.path, path);
	ck_assert(!given.is_proved);
	ck_assert_int_gt(lseek(given.fd, 0, SEEK_END), 0);
	close(given.fd);
	free(given.path);
	ask(ends[0], "../x", "BTF of another release than x", &given);
	ask(ends[0], "x", "the BTF file cannot be passed", &given);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, files_by_release);
	tcase_add_test(tc, hostile_releases);
	tcase_add_test(tc, files_writable_by_others_are_refused);
	tcase_add_test(tc, a_named_file_writable_by_others);
	tcase_add_test(tc, a_link_to_a_root_owned_file);
	tcase_add_test(tc, files_that_are_replaced);
	tcase_add_test(tc, a_request_is_forgotten);
	tcase_add_test(tc, the_copy_of_a_session);
	tcase_add_test(tc, over_a_socket);
}

int main(void)
{
	return run_suite("btf_files", add_tests);
}
