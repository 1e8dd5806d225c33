/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process without rights cannot do any more, tried by such a process. Needs root, and is
 * skipped without. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "vmm/warden/sandbox.h"

#define LEN (6ull << 30) /* crosses a 4 GiB boundary of the addresses */

/* Calls FN in a child that has entered the sandbox. It may use the whole memory of this process
 * that starts at RAM, by file. */
static bool holds_in_sandbox(bool (*fn)(int memory, uint64_t ram))
{
	uint8_t *ram = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int file = open("/proc/self/mem", O_RDONLY);
	struct hv_windows w = {.list = {{hv_gpa(0), LEN, (uint64_t)(uintptr_t)ram, NULL}},
			       .nr = 1,
			       .memory_fd = -1};
	int ends[2], status;
	pid_t pid;

	ck_assert_ptr_ne(ram, MAP_FAILED);
	memset(ram, 7, 4096);
	w.memory_fd = fcntl(file, F_DUPFD, HV_WINDOW_FD_MIN);
	close(file);
	ck_assert_int_ge(w.memory_fd, HV_WINDOW_FD_MIN);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	pid = fork();
	if (pid == 0) {
		struct hv_err *err = hv_sandbox_enter(ends[1], &w);

		_exit(err || !fn(w.memory_fd, w.list[0].off));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	close(w.memory_fd);
	close(ends[0]);
	close(ends[1]);
	munmap(ram, LEN);
	return status == 0;
}

static bool refuses(long result)
{
	return result < 0 && (errno == EPERM || errno == ENOENT || errno == EROFS);
}

static bool is_nobody(int memory hv_unused, uint64_t ram hv_unused)
{
	return geteuid() != 0 && getuid() != 0 && getegid() != 0;
}

static bool has_no_files(int memory hv_unused, uint64_t ram hv_unused)
{
	return refuses(syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY)) &&
	       refuses(syscall(SYS_openat, AT_FDCWD, "/x", O_CREAT | O_WRONLY, 0600)) &&
	       refuses(syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY)) &&
	       refuses(syscall(SYS_unlink, "/etc/passwd")) && refuses(syscall(SYS_chroot, "/")) &&
	       refuses(syscall(SYS_mount, 0, "/", 0, 0, 0));
}

static bool has_no_processes(int memory hv_unused, uint64_t ram hv_unused)
{
	struct iovec iov = {NULL, 0};

	return refuses(syscall(SYS_kill, getpid(), 0)) && refuses(syscall(SYS_fork)) &&
	       refuses(syscall(SYS_tgkill, 1, 1, 0)) &&
	       refuses(syscall(SYS_execve, "/bin/true", NULL, NULL)) &&
	       refuses(ptrace(PTRACE_ATTACH, 1, NULL, NULL)) &&
	       refuses(syscall(SYS_process_vm_writev, 1, &iov, 1, &iov, 1, 0));
}

static bool has_no_network(int memory hv_unused, uint64_t ram hv_unused)
{
	return refuses(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0)) &&
	       refuses(syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0)) &&
	       refuses(syscall(SYS_bpf, 0, NULL, 0)) &&
	       refuses(syscall(SYS_io_uring_setup, 1, NULL));
}

static bool makes_nothing_executable(int memory hv_unused, uint64_t ram hv_unused)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page != MAP_FAILED && refuses(mprotect(page, 4096, PROT_READ | PROT_EXEC)) &&
	       mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		       MAP_FAILED;
}

static bool reads_ram_and_no_other_memory(int memory, uint64_t ram)
{
	static const char secret[16] = "secret";
	uint8_t bytes[16];
	struct iovec iov = {bytes, sizeof(bytes)};
	/* the kernel takes 32 bits of a file's number */
	const long other_name = memory | 1l << 32;

	return pread(memory, bytes, 16, (off_t)ram) == 16 && bytes[3] == 7 &&
	       pread(memory, bytes, 16, (off_t)(ram + LEN - HV_WINDOW_READ_BYTES - 1)) == 16 &&
	       pread(memory, bytes, 16, (off_t)(ram + (5ull << 30))) == 16 &&
	       refuses(pread(memory, bytes, 16, (off_t)(uintptr_t)secret)) &&
	       refuses(pread(memory, bytes, 16, (off_t)(ram - 1))) &&
	       refuses(pread(memory, bytes, 16, (off_t)(ram + LEN - HV_WINDOW_READ_BYTES))) &&
	       refuses(syscall(SYS_pread64, memory, bytes, HV_WINDOW_READ_BYTES + 1, ram)) &&
	       refuses(syscall(SYS_pread64, other_name, bytes, 16, secret)) &&
	       lseek(memory, (off_t)(uintptr_t)secret, SEEK_SET) >= 0 &&
	       refuses(read(memory, bytes, 16)) && refuses(readv(memory, &iov, 1)) &&
	       refuses(syscall(SYS_read, other_name, bytes, 16)) &&
	       refuses(preadv(memory, &iov, 1, (off_t)(uintptr_t)secret)) &&
	       refuses(fcntl(memory, F_DUPFD, 0)) && refuses(dup(memory));
}

static bool computes_and_answers(int memory hv_unused, uint64_t ram hv_unused)
{
	void *much = malloc(64u << 20);

	return much && hv_now_ns() > 0 && getpid() > 0;
}

static bool (*const trials[])(int memory, uint64_t ram) = {
	is_nobody,
	has_no_files,
	has_no_processes,
	has_no_network,
	makes_nothing_executable,
	reads_ram_and_no_other_memory,
	computes_and_answers,
};

START_TEST(the_sandbox_holds)
{
	ck_assert(holds_in_sandbox(trials[_i]));
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, the_sandbox_holds, 0, HV_ARRAY_LEN(trials));
}

int main(void)
{
	if (geteuid() != 0)
		return 77; /* skipped */
	return run_suite("sandbox", add);
}
