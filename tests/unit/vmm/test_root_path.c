/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process with a separate pid namespace, mount namespace and root: its sockets, links that try to
 * leave its root, and its thread ids. Needs root; skipped without it. */
#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "vmm/process/process.h"
#include "vmm/root_path.h"
#include "vmm/unix_socket.h"

static char place[32];
static pid_t child;
static int ready[2];

static void listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 4) != 0)
		_exit(1);
}

/* The parent's socket "secret" is next to the child's root. */
static void be_elsewhere(void)
{
	if (unshare(CLONE_NEWNS) != 0 || chroot("root") != 0 || chdir("/run") != 0)
		_exit(1);
	listen_at("/run/s");
	if (symlink("/run/s", "/absolute") != 0 || symlink("/../secret", "/escape") != 0 ||
	    symlink("../../../../../../secret", "/climb") != 0 || write(ready[1], "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void in_place(const char *name, char ret[64])
{
	snprintf(ret, 64, "%s/%s", place, name);
}

static void setup(void)
{
	char path[64], byte;
	int ns = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

	strcpy(place, "/tmp/root_path-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(place));
	in_place("root", path);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	in_place("root/run", path);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	in_place("secret", path);
	listen_at(path);
	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	ck_assert_int_eq(unshare(CLONE_NEWPID), 0);
	child = fork();
	if (child == 0) {
		if (chdir(place) != 0)
			_exit(1);
		be_elsewhere();
	}
	ck_assert_int_eq(setns(ns, CLONE_NEWPID), 0);
	close(ns);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
}

static void teardown(void)
{
	HV_AUTO_FREE char *command = hv_format("rm -rf %s", place);

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ck_assert_int_eq(system(command), 0);
}

static int connect_to(const char *rest, pid_t expected)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/root%s", (int)child, rest);
	struct hv_unix_peer peer = HV_UNIX_PEER_NONE;
	HV_AUTO_FD int fd = -1;
	HV_AUTO_ERR struct hv_err *err = hv_unix_connect(path, hv_now_ns() + HV_NS_PER_S, &fd);

	if (!err)
		err = hv_unix_peer(fd, path, expected, &peer);
	hv_close_at(&peer.pidfd);
	return err ? err->code : 0;
}

START_TEST(sockets)
{
	ck_assert_int_eq(connect_to("/run/s", child), 0);
	ck_assert_int_eq(connect_to("/run/s", getpid()), ESRCH);
	/* as the process itself would follow it */
	ck_assert_int_eq(connect_to("/absolute", child), 0);
	ck_assert_int_eq(connect_to("/escape", 0), ENOENT);
	ck_assert_int_eq(connect_to("/climb", 0), ENOENT);
	ck_assert_int_eq(connect_to("/../secret", 0), ENOENT);
	ck_assert_int_eq(connect_to("/none", 0), ENOENT);
}
END_TEST

START_TEST(forms)
{
	HV_AUTO_FREE char *relative = hv_format("/proc/%d/cwd/s", (int)child);
	HV_AUTO_FREE char *its_path = hv_root_path_of(child, "/run/s");
	pid_t pid = 0;

	ck_assert_ptr_null(hv_root_path_rest("/run/s", &pid));
	ck_assert_ptr_null(hv_root_path_rest("/proc/self/root/s", &pid));
	ck_assert_ptr_null(hv_root_path_rest("/proc/7/rooted", &pid));
	ck_assert_ptr_null(hv_root_path_rest("/proc/1234567890/root/s", &pid));
	ck_assert_int_eq(pid, 0);
	ck_assert_str_eq(hv_root_path_rest("/proc/7/root", &pid), "/");
	ck_assert_str_eq(hv_root_path_rest(its_path, &pid), "/run/s");
	ck_assert_int_eq(pid, child);
	ck_assert(hv_root_is_elsewhere(child));
	ck_assert(!hv_root_is_elsewhere(getpid()));
	ck_assert(hv_root_path_is_same(getpid(), place));
	ck_assert(!hv_root_path_is_same(child, place));
	ck_assert(!hv_root_path_is_same(child, relative));
}
END_TEST

START_TEST(threads)
{
	pid_t own[] = {1}, none[] = {1, child}, ours[] = {getpid()};

	ck_assert_uint_eq(hv_process_find_threads(child, own, 1), 1);
	ck_assert_int_eq(own[0], child);
	ck_assert_uint_eq(hv_process_find_threads(child, none, 2), 1);
	ck_assert_uint_eq(hv_process_find_threads(getpid(), ours, 1), 1);
	ck_assert_int_eq(ours[0], getpid());
	ours[0] = 0;
	ck_assert_uint_eq(hv_process_find_threads(getpid(), ours, 1), 0);
	ck_assert_uint_eq(hv_process_find_threads(child, ours, 1), 0);
}
END_TEST

/* A name below an open directory: no link is followed. */
START_TEST(below_a_directory)
{
	HV_AUTO_FREE char *dir_path = hv_format("/proc/%d/root/", (int)child);
	HV_AUTO_FD int dir = -1;
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = hv_root_path_open(dir_path, &dir);

	ck_assert_ptr_null(err);
	ck_assert_ptr_null(hv_root_path_open_at(dir, "run/s", "s", &fd));
	err = hv_root_path_open_at(dir, "absolute", "link", &fd);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ELOOP);
	hv_err_free(err);
	err = hv_root_path_open_at(dir, "../secret", "secret", &fd);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EXDEV);
	hv_err_free(err);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, sockets);
	tcase_add_test(tc, forms);
	tcase_add_test(tc, threads);
	tcase_add_test(tc, below_a_directory);
}

int main(void)
{
	if (geteuid() != 0) {
		printf("skip: root is needed for namespaces\n");
		return 77;
	}
	return run_suite("root_path", add_tests);
}
