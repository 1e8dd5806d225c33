/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors of processes, sockets and memory that belong to others: each names the object. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "vmm/held_writes.h"
#include "vmm/helper.h"
#include "vmm/open.h"
#include "vmm/process/maps.h"
#include "vmm/process/process.h"
#include "vmm/process/process_memory.h"
#include "vmm/root_path.h"
#include "vmm/shared_memory.h"
#include "vmm/unix_socket.h"

#define IF(n, v)                                                                                   \
	{                                                                                          \
		.arg = (n), .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)(v)                        \
	}
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* -- sockets ----------------------------------------------------------------------------------- */

static struct hv_err *open_socket(void *ctx hv_unused)
{
	struct sockaddr_un address;
	int fd = -1;

	return hv_unix_socket("/tmp/s", 0, &address, &fd);
}

START_TEST(no_more_files)
{
	static const struct failing_call calls[] = {{SCMP_SYS(socket), EMFILE}, {0}};

	expect_failure(calls, open_socket, NULL, EMFILE, "socket /tmp/s: Too many open files");
}
END_TEST

/* A server that accepts no connection. */
START_TEST(sockets_that_do_not_connect)
{
	HV_AUTO_FREE char *path = hv_format("/tmp/hvtrace-errors-%d", (int)getpid());
	HV_AUTO_FREE char *message = hv_format("socket %s: the connection is not accepted", path);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	HV_AUTO_FD int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct hv_err *err = NULL;
	int fds[8], nr = 0;

	expect_error(hv_unix_connect("/nowhere/s", 0, &fds[0]), ENOENT,
		     "socket /nowhere/s: No such file or directory");
	strcpy(address.sun_path, path);
	ck_assert_int_eq(bind(server, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(server, 0), 0);
	while (!err && nr < 8)
		err = hv_unix_connect(path, 0, &fds[nr++]);
	unlink(path);
	for (int i = 0; i < nr - 1; i++)
		close(fds[i]);
	expect_error(err, ETIMEDOUT, message);
}
END_TEST

START_TEST(peers_that_are_not_the_vmm)
{
	struct hv_unix_peer peer;
	HV_AUTO_FREE char *other =
		hv_format("socket s: it belongs to process %d, not to process 1", (int)getpid());
	HV_AUTO_FD int alone = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	expect_error(hv_unix_peer(-1, "s", 0, &peer), EBADF,
		     "socket s: its peer: Bad file descriptor");
	/* Unknown processes have id 0. */
	expect_error(hv_unix_peer(alone, "s", 0, &peer), ESRCH,
		     "socket s: its process is in a pid namespace that is not visible here: run "
		     "hvtrace in the pid namespace of the host");
	expect_error(hv_unix_peer(ends[0], "s", 1, &peer), ESRCH, other);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

static struct hv_err *find_peer(void *ctx)
{
	struct hv_unix_peer peer;

	return hv_unix_peer(*(int *)ctx, "s", 0, &peer);
}

START_TEST(peers_that_have_ended)
{
	static const struct failing_call gone[] = {
		{SCMP_SYS(getsockopt), ENOPROTOOPT, IF(2, SO_PEERPIDFD)},
		{SCMP_SYS(pidfd_open), ESRCH},
		{0},
	};
	static const struct failing_call reused[] = {
		{SCMP_SYS(getsockopt), ENOPROTOOPT, IF(2, SO_PEERPIDFD)},
		{SCMP_SYS(newfstatat), ENOENT},
		{SCMP_SYS(stat), ENOENT},
		{0},
	};
	HV_AUTO_FREE char *ended =
		hv_format("socket s: process %d, which made it, has ended or changed its user",
			  (int)getpid());
	HV_AUTO_FREE char *unknown =
		hv_format("socket s: process %d, which made it: No such process", (int)getpid());
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	expect_failure(gone, find_peer, &ends[0], ESRCH, unknown);
	expect_failure(reused, find_peer, &ends[0], ESRCH, ended);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* As if the VMM had executed a set-uid program since it called listen(2). */
START_TEST(a_peer_with_another_user)
{
	HV_AUTO_FREE char *message =
		hv_format("socket s: process %d, which made it, has ended or changed its user",
			  (int)getpid());
	struct hv_unix_peer peer;
	int ends[2];

	if (geteuid() != 0)
		return;
	ck_assert_int_eq(seteuid(65534), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	ck_assert_int_eq(seteuid(0), 0);
	expect_error(hv_unix_peer(ends[0], "s", 0, &peer), ESRCH, message);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* -- processes --------------------------------------------------------------------------------- */

START_TEST(paths_in_another_root)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/root/nowhere", (int)getpid());
	HV_AUTO_FREE char *message =
		hv_format("%s: in the mount namespace of process %d: No such file or directory",
			  path, (int)getpid());
	int fd = -1;

	expect_error(hv_root_path_open("/run/s", &fd), EINVAL,
		     "/run/s: not a path below /proc/PID/root");
	expect_error(hv_root_path_open(path, &fd), ENOENT, message);
}
END_TEST

static struct hv_err *open_process(void *ctx hv_unused)
{
	struct hv_process p;

	return hv_process_open(1, &p);
}

static struct hv_err *find_process(void *ctx hv_unused)
{
	pid_t pid;

	return hv_process_of_thread(1, &pid);
}

START_TEST(processes_without_a_status)
{
	static const struct failing_call empty[] = {{SCMP_SYS(read), 0, {2, SCMP_CMP_GT, 0, 0}},
						    {0}};
	struct hv_process p;

	expect_error(hv_process_open(INT32_MAX, &p), ESRCH, "process 2147483647: no such process");
	expect_failure(empty, open_process, NULL, EPROTO, "/proc/1/status: no Uid or Gid");
	expect_failure(empty, find_process, NULL, EPROTO, "/proc/1/status: no Tgid");
}
END_TEST

START_TEST(names_of_processes)
{
	struct hv_guest *g = NULL;

	expect_error(hv_guest_open("", NULL, HV_VIA_AUTO, &g), EINVAL, "no domain is named");
	expect_error(hv_guest_open("pid:0", NULL, HV_VIA_AUTO, &g), EINVAL,
		     "pid:0: a process id is a number greater than 0");
	expect_error(hv_guest_open("pid:web1", NULL, HV_VIA_AUTO, &g), EINVAL,
		     "pid:web1: a process id is a number greater than 0");
}
END_TEST

static void do_nothing(void *ctx hv_unused)
{
}

static struct hv_err *start_helper(void *ctx hv_unused)
{
	static const struct hv_helper_kind kind = {"keeper", "test-keeper", SOCK_STREAM,
						   do_nothing};
	struct hv_helper h = HV_HELPER_NONE;

	return hv_helper_start(&kind, NULL, &h);
}

START_TEST(helpers_that_do_not_start)
{
	static const struct {
		struct failing_call calls[3];
		int code;
		const char *message;
	} rows[] = {
		{{{SCMP_SYS(pidfd_open), EMFILE}}, EMFILE, "keeper: pidfd: Too many open files"},
		{{{SCMP_SYS(socketpair), EMFILE}},
		 EMFILE,
		 "keeper: socketpair: Too many open files"},
		{{{SCMP_SYS(clone), EAGAIN}, {SCMP_SYS(clone3), EAGAIN}},
		 EAGAIN,
		 "keeper: fork: Resource temporarily unavailable"},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(rows); i++)
		expect_failure(rows[i].calls, start_helper, NULL, rows[i].code, rows[i].message);
}
END_TEST

/* -- memory ------------------------------------------------------------------------------------ */

START_TEST(memory_that_cannot_be_written)
{
	static const char constant[4096] __attribute__((aligned(4096))) = "constant";
	HV_AUTO_FD int pidfd = pidfd_open(getpid(), 0);
	struct hv_process_memory *pm = hv_process_memory_new(getpid(), pidfd);
	HV_AUTO_FREE char *message =
		hv_format("process %d: its memory at 0x%lx is not mapped for reading and writing",
			  (int)getpid(), (unsigned long)(uintptr_t)constant);
	struct hv_piece piece;

	expect_error(hv_process_memory_piece(pm, (uintptr_t)constant, 8, &piece), EFAULT, message);
	hv_process_memory_free(pm);
}
END_TEST

START_TEST(memory_that_is_not_mapped)
{
	const uint64_t nowhere = 4096;
	HV_AUTO_FD int pidfd = pidfd_open(getpid(), 0);
	struct hv_process_memory *pm = hv_process_memory_new(getpid(), pidfd);
	uint8_t *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t last = (uintptr_t)pages + 4088;
	HV_AUTO_FREE char *missing =
		hv_format("process %d: nothing is mapped at 0x1000", (int)getpid());
	HV_AUTO_FREE char *cut = hv_format("process %d: reading 16 bytes at 0x%llx: only 8",
					   (int)getpid(), (unsigned long long)last);
	struct hv_piece piece;
	uint8_t bytes[16];

	ck_assert_ptr_ne(pages, MAP_FAILED);
	munmap(pages + 4096, 4096);
	expect_error(hv_process_memory_piece(pm, nowhere, 8, &piece), EFAULT, missing);
	expect_error(hv_process_memory_read(pm, last, bytes, sizeof(bytes)), EFAULT, cut);
	munmap(pages, 4096);
	hv_process_memory_free(pm);
}
END_TEST

START_TEST(files_that_are_not_memory)
{
	HV_AUTO_FD int pidfd = pidfd_open(getpid(), 0);
	struct hv_vmm_file file;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	HV_AUTO_FREE char *message = hv_format(
		"file %d of the VMM is not a regular file that it may read and write", ends[0]);
	expect_error(hv_vmm_file_take(getpid(), pidfd, ends[0], &file), EBADF, message);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(writes_of_a_hold)
{
	struct hv_held_write w = {.hva = 4096, .len_bytes = HV_HELD_WRITE_MAX + 1};
	const uint64_t late = 0, in_time = UINT64_MAX;

	expect_error(hv_held_writes_make(getpid(), &w, 1, in_time), EINVAL,
		     "a write of 9 bytes is not possible");
	w.len_bytes = 1;
	expect_error(hv_held_writes_make(getpid(), &w, 1, late), ETIMEDOUT,
		     "hold: timed out after 0 of 1 writes");
	expect_error(hv_held_writes_make(INT32_MAX, &w, 1, in_time), ESRCH,
		     "process 2147483647: writing: No such process");
}
END_TEST

START_TEST(regions_that_are_not_mapped)
{
	uint8_t byte = 0, *host;
	struct hv_region r = {.fd = -1};

	expect_error(hv_shared_map(-1, 0, 4096, PROT_READ, &host), EBADF,
		     "cannot map the guest's memory: mmap: Bad file descriptor");
	expect_error(hv_region_drop_pages(&r, 0, 1), ENODEV, "the region is not mapped");
	r.host = &byte;
	r.len_bytes = 1;
	expect_error(hv_region_drop_pages(&r, 2, 1), EINVAL, "offset 0x2 is outside the region");
	expect_error(hv_region_drop_pages(&r, 0, 1), EBADF,
		     "unmapping at 0x0: Bad file descriptor");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, no_more_files);
	tcase_add_test(tc, sockets_that_do_not_connect);
	tcase_add_test(tc, peers_that_are_not_the_vmm);
	tcase_add_test(tc, peers_that_have_ended);
	tcase_add_test(tc, a_peer_with_another_user);
	tcase_add_test(tc, paths_in_another_root);
	tcase_add_test(tc, processes_without_a_status);
	tcase_add_test(tc, names_of_processes);
	tcase_add_test(tc, helpers_that_do_not_start);
	tcase_add_test(tc, memory_that_cannot_be_written);
	tcase_add_test(tc, memory_that_is_not_mapped);
	tcase_add_test(tc, files_that_are_not_memory);
	tcase_add_test(tc, writes_of_a_hold);
	tcase_add_test(tc, regions_that_are_not_mapped);
}

int main(void)
{
	return run_suite("errors", add_tests);
}
