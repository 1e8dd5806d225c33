/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations that no process in an hvtrace sandbox can do, tried by such a process. The tests of
 * each sandbox try the operations specific to it. Needs root. */
#pragma once

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/err.h"

/* Returns whether TRIAL returns true in a child that has entered the sandbox by ENTER. */
static inline bool holds_in_child(struct hv_err *(*enter)(void), bool (*trial)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct hv_err *err = enter();

		_exit(err || !trial());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status == 0;
}

static inline bool refuses(long result)
{
	return result < 0 && (errno == EPERM || errno == ENOENT || errno == EROFS);
}

static inline bool is_nobody(void)
{
	return getuid() != 0 && geteuid() != 0 && getegid() != 0;
}

static inline bool has_no_common_files(void)
{
	return refuses(syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY)) &&
	       refuses(syscall(SYS_openat, AT_FDCWD, "/x", O_CREAT | O_WRONLY, 0600)) &&
	       refuses(syscall(SYS_unlink, "/etc/passwd")) && refuses(syscall(SYS_chroot, "/")) &&
	       refuses(syscall(SYS_mount, 0, "/", 0, 0, 0));
}

static inline bool has_no_other_processes(void)
{
	return refuses(syscall(SYS_fork)) && refuses(syscall(SYS_tgkill, 1, 1, 0)) &&
	       refuses(syscall(SYS_execve, "/bin/true", NULL, NULL)) &&
	       refuses(ptrace(PTRACE_ATTACH, 1, NULL, NULL));
}

static inline bool has_no_sockets(void)
{
	return refuses(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0)) &&
	       refuses(syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0)) &&
	       refuses(syscall(SYS_bpf, 0, NULL, 0)) &&
	       refuses(syscall(SYS_io_uring_setup, 1, NULL));
}

static inline bool makes_nothing_executable(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page != MAP_FAILED && refuses(mprotect(page, 4096, PROT_READ | PROT_EXEC)) &&
	       mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		       MAP_FAILED;
}
