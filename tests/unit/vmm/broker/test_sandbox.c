/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations that a process without privileges cannot do, tried by such a process. Needs root;
 * skipped without it. */
#include <sys/uio.h>

#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/sandboxed.h"
#include "vmm/broker/sandbox.h"

#define LEN (6ull << 30) /* crosses a 4 GiB boundary of the addresses */

/* A child's access to this process: the file MEMORY, and this process's memory that starts at
 * RAM. */
static int memory;
static uint64_t ram;

/* A file that the broker gave to the service, like its log. */
static int given = -1;

static struct hv_readable_ram readable;
static int ends[2];

static struct hv_err *enter(void)
{
	return hv_sandbox_enter(ends[1], &readable);
}

static bool holds_in_sandbox(bool (*trial)(void))
{
	uint8_t *start = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int file = open("/proc/self/mem", O_RDONLY);
	bool holds;

	ck_assert_ptr_ne(start, MAP_FAILED);
	memset(start, 7, 4096);
	ram = (uint64_t)(uintptr_t)start;
	memory = fcntl(file, F_DUPFD, HV_READABLE_FD_MIN);
	close(file);
	ck_assert_int_ge(memory, HV_READABLE_FD_MIN);
	readable = (struct hv_readable_ram){
		.list = {{hv_gpa(0), LEN, ram, NULL}}, .nr = 1, .memory_fd = memory};
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	given = memfd_create("log", 0);
	ck_assert_int_ge(given, 0);
	holds = holds_in_child(enter, trial);
	close(given);
	close(memory);
	close(ends[0]);
	close(ends[1]);
	munmap(start, LEN);
	return holds;
}

static bool has_no_files(void)
{
	return has_no_common_files() &&
	       refuses(syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY));
}

static bool has_no_processes(void)
{
	struct iovec iov = {NULL, 0};

	return has_no_other_processes() && refuses(syscall(SYS_kill, getpid(), 0)) &&
	       refuses(syscall(SYS_process_vm_writev, 1, &iov, 1, &iov, 1, 0));
}

static bool reads_ram_and_no_other_memory(void)
{
	static const char secret[16] = "secret";
	uint8_t bytes[16];
	struct iovec iov = {bytes, sizeof(bytes)};
	/* the kernel uses 32 bits of a file descriptor */
	const long other_name = memory | 1l << 32;

	return pread(memory, bytes, 16, (off_t)ram) == 16 && bytes[3] == 7 &&
	       pread(memory, bytes, 16, (off_t)(ram + LEN - HV_READABLE_BYTES_MAX - 1)) == 16 &&
	       pread(memory, bytes, 16, (off_t)(ram + (5ull << 30))) == 16 &&
	       refuses(pread(memory, bytes, 16, (off_t)(uintptr_t)secret)) &&
	       refuses(pread(memory, bytes, 16, (off_t)(ram - 1))) &&
	       refuses(pread(memory, bytes, 16, (off_t)(ram + LEN - HV_READABLE_BYTES_MAX))) &&
	       refuses(syscall(SYS_pread64, memory, bytes, HV_READABLE_BYTES_MAX + 1, ram)) &&
	       refuses(syscall(SYS_pread64, other_name, bytes, 16, secret)) &&
	       lseek(memory, (off_t)(uintptr_t)secret, SEEK_SET) >= 0 &&
	       refuses(read(memory, bytes, 16)) && refuses(readv(memory, &iov, 1)) &&
	       refuses(syscall(SYS_read, other_name, bytes, 16)) &&
	       refuses(preadv(memory, &iov, 1, (off_t)(uintptr_t)secret)) &&
	       refuses(fcntl(memory, F_DUPFD, 0)) && refuses(dup(memory));
}

static bool fills_no_file_system(void)
{
	const off_t most = 128 << 20;

	signal(SIGXFSZ, SIG_IGN);
	return pwrite(given, "x", 1, most - 1) == 1 && pwrite(given, "x", 1, most) < 0 &&
	       errno == EFBIG && pwrite(given, "xx", 2, most - 1) == 1;
}

static bool computes_and_answers(void)
{
	void *much = malloc(64u << 20);

	return much && hv_now_ns() > 0 && getpid() > 0;
}

static bool (*const trials[])(void) = {
	is_nobody,
	has_no_files,
	has_no_processes,
	has_no_sockets,
	makes_nothing_executable,
	reads_ram_and_no_other_memory,
	fills_no_file_system,
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
