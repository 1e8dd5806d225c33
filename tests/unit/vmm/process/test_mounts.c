/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File systems of mapped files. Needs root for a FUSE file system whose server, a VMM, does not
 * answer; skipped without it. */
#include <check.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "vmm/process/maps.h"
#include "vmm/process/mounts.h"
#include "vmm/process/process_memory.h"

#define DEV(major, minor) ((uint64_t)(major) << 32 | (minor))
#define SIZE		  4096u
#define HANGS_S		  10 /* then the server ends, and a reader that waits for it continues */

/* -- mountinfo --------------------------------------------------------------------------------- */

START_TEST(lines)
{
	static const char *const none[] = {
		"",
		"36 35 98:0",
		"36 35 98:0 /",
		"36 35 98:0 / /mnt rw,noatime",
		"36 35 98:0 / /mnt rw - ",
		"36 35 98 / /mnt rw - ext3 a rw",
		"36 35 a:b / /mnt rw - ext3 a rw",
		"- tmpfs a rw",
	};
	struct hv_mount m = {0};

	ck_assert(hv_mount_parse("36 35 98:7 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 "
				 "/dev/root rw,errors=continue",
				 &m));
	ck_assert_uint_eq(m.dev, DEV(98, 7));
	ck_assert_str_eq(m.type, "ext3");
	ck_assert(hv_mount_parse("36 35 0:50 / /mnt rw - fuse.sshfs", &m));
	ck_assert_str_eq(m.type, "fuse.sshfs");
	/* names that a user chose: the kernel escapes their blanks */
	ck_assert(hv_mount_parse("36 35 0:51 / /a\\040-\\040tmpfs rw - fuse a\\040-\\040ext4 rw",
				 &m));
	ck_assert_str_eq(m.type, "fuse");
	ck_assert(hv_mount_parse("36 35 0:51 / /-/-tmpfs rw - fuse - tmpfs rw", &m));
	ck_assert_str_eq(m.type, "fuse");
	ck_assert(hv_mount_parse("36 35 0:52 / /a rw - fuse.0123456789012345678901234567890123 b c",
				 &m));
	ck_assert_str_eq(m.type, "fuse.01234567890123456789012345");
	for (size_t i = 0; i < HV_ARRAY_LEN(none); i++)
		ck_assert_msg(!hv_mount_parse(none[i], &m), "%s", none[i]);
}
END_TEST

static struct hv_err *add_text(struct hv_mounts *m, const char *text)
{
	HV_AUTO_FD int fd = memfd_create("mountinfo", MFD_CLOEXEC);
	struct hv_err *err;

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	err = hv_mounts_add_fd(m, fd, "made up");
	hv_mounts_sort(m);
	return err;
}

static void check(const struct hv_mounts *m, uint64_t dev, const char *refusal)
{
	HV_AUTO_ERR struct hv_err *err = hv_mounts_check(m, dev, "/ram");

	ck_assert_msg(!err == !refusal, "%s", err ? err->message : "accepted");
	if (!err)
		return;
	ck_assert_int_eq(err->code, strstr(refusal, "unknown") ? ENODEV : ENOTSUP);
	ck_assert_str_eq(err->message, refusal);
}

#define REFUSED(what)                                                                              \
	"the file '/ram' is on " what                                                              \
	", whose server could block hvtrace; use a memory file, hugetlbfs or tmpfs"

START_TEST(types)
{
	HV_AUTO_MOUNTS struct hv_mounts m = {0};

	ck_assert_ptr_null(add_text(&m, "9 1 0:9 / /h rw - hugetlbfs h rw\n"
					"8 1 0:8 / /o rw - overlay o rw\n"
					"7 1 0:7 / /b rw - fuseblk /dev/sda rw\n"
					"6 1 0:6 / /v rw - virtiofs v rw\n"
					"no mount\n"
					"5 1 0:5 / /t rw - tmpfs t rw\n"
					"4 1 0:4 / /x rw - tmpfs t rw\n"
					"3 1 0:4 / /f rw - fuse.a t rw\n"
					"2 1 0:4 / /y rw - tmpfs t rw\n"
					"1 1 0:3 / /cut rw - tmpfs t rw"));
	ck_assert_uint_eq(m.nr, 8);
	check(&m, DEV(0, 9), NULL);
	check(&m, DEV(0, 5), NULL);
	check(&m, DEV(0, 8), REFUSED("a file system of type overlay"));
	check(&m, DEV(0, 7), REFUSED("a file system of type fuseblk"));
	check(&m, DEV(0, 6), REFUSED("a file system of type virtiofs"));
	/* should a device number ever have two types */
	check(&m, DEV(0, 4), REFUSED("a file system of type fuse.a"));
	check(&m, DEV(0, 3), REFUSED("an unknown file system (device 0:3)"));
	check(&m, DEV(5, 0), REFUSED("an unknown file system (device 5:0)"));
}
END_TEST

START_TEST(more_than_there_can_be)
{
	HV_AUTO_FREE char *line = hv_alloc((1u << 20) + 2);
	HV_AUTO_MOUNTS struct hv_mounts m = {0};
	HV_AUTO_TEXT struct hv_text text = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	memset(line, 'x', (1u << 20) + 1);
	err = add_text(&m, line);
	ck_assert(err && err->code == EFBIG &&
		  strstr(err->message, "made up: a line of more than 1048576 bytes"));
	hv_err_free(hv_take(err));
	for (unsigned i = 0; i <= HV_MOUNTS_MAX; i++)
		hv_text_add(&text, "5 1 0:5 / /t rw - tmpfs t rw\n");
	err = add_text(&m, text.data);
	ck_assert(err && err->code == EFBIG && strstr(err->message, "more than 262144 mounts"));
}
END_TEST

/* -- this process ------------------------------------------------------------------------------ */

static uint64_t dev_at(const void *host)
{
	HV_AUTO_MAPS struct hv_maps maps = {0};

	ck_assert_ptr_null(hv_maps_read(getpid(), &maps));
	for (size_t i = 0; i < maps.nr; i++)
		if (maps.list[i].start <= (uintptr_t)host && maps.list[i].end > (uintptr_t)host)
			return maps.list[i].dev;
	ck_abort_msg("not mapped");
}

static void must_be_accepted(const void *host)
{
	HV_AUTO_MOUNTS struct hv_mounts m = {0};

	ck_assert_ptr_ne(host, MAP_FAILED);
	ck_assert_ptr_null(hv_mounts_read(getpid(), &m));
	ck_assert_uint_ne(dev_at(host), 0);
	check(&m, dev_at(host), NULL);
}

/* None of these file systems is mounted at a path. */
START_TEST(file_systems_of_the_kernel)
{
	int shm = shmget(IPC_PRIVATE, SIZE, 0600);
	uint8_t *huge;

	must_be_accepted(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, memfd_create("ram", 0), 0));
	must_be_accepted(mmap(NULL, SIZE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	must_be_accepted(shmat(shm, NULL, 0));
	shmctl(shm, IPC_RMID, NULL);
	huge = mmap(NULL, 2u << 20, PROT_READ,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
	if (huge != MAP_FAILED)
		must_be_accepted(huge);
}
END_TEST

START_TEST(mounts_of_a_missing_process)
{
	struct hv_mounts m = {0};
	HV_AUTO_ERR struct hv_err *err = hv_mounts_read(0x7fffffff, &m);

	ck_assert(err && err->code == ENOENT);
}
END_TEST

/* -- FUSE -------------------------------------------------------------------------------------- */

/* A file system with one file, its root. The server never answers requests to flush, read or
 * describe the file system. It claims inode number 0, which anonymous memory has. */

static void answer(int fuse, const struct fuse_in_header *in, const void *out, size_t len)
{
	struct {
		struct fuse_out_header head;
		uint8_t body[128];
	} reply = {{.len = (uint32_t)(sizeof(reply.head) + len), .unique = in->unique}, {0}};

	if (out)
		memcpy(reply.body, out, len);
	else
		reply.head.error = -ENOSYS;
	if (write(fuse, &reply, reply.head.len) != (ssize_t)reply.head.len)
		_exit(3);
}

static void serve(int fuse)
{
	static const struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 4096};
	static const struct fuse_attr_out attr = {
		.attr_valid = 3600,
		.attr = {.size = SIZE, .mode = S_IFREG | 0600, .nlink = 1},
	};
	static const struct fuse_open_out opened = {.fh = 1};
	static _Alignas(8) uint8_t buf[FUSE_MIN_READ_BUFFER + 8192];
	const struct fuse_in_header *in = (const void *)buf;

	while (read(fuse, buf, sizeof(buf)) > 0) {
		if (in->opcode == FUSE_INIT)
			answer(fuse, in, &init, sizeof(init));
		else if (in->opcode == FUSE_GETATTR)
			answer(fuse, in, &attr, sizeof(attr));
		else if (in->opcode == FUSE_OPEN)
			answer(fuse, in, &opened, sizeof(opened));
		else if (in->opcode != FUSE_FLUSH && in->opcode != FUSE_READ &&
			 in->opcode != FUSE_STATFS)
			answer(fuse, in, NULL, 0);
	}
}

/* What the VMM has: a mapping of the file, and a descriptor of it. */
struct ram {
	uint8_t *host;
	int fd;
	pid_t server;
};

/* Mounts the file system in a mount namespace of the VMM, so only the VMM can see the mount. */
static void be_vmm(const char *path, struct ram *ret)
{
	int fuse = open("/dev/fuse", O_RDWR);
	pid_t server;
	HV_AUTO_FREE char *options = hv_format("fd=%d,rootmode=100000,user_id=0,group_id=0", fuse);

	if (fuse < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("ram", path, "fuse.ram", 0, options) < 0)
		_exit(77);
	server = fork();
	if (!server) {
		alarm(HANGS_S);
		serve(fuse);
		_exit(0);
	}
	ret->server = server;
	close(fuse);
	ret->fd = open(path, O_RDWR);
	ret->host = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, 0);
	if (ret->fd < 0 || ret->host == MAP_FAILED)
		_exit(2);
	raise(SIGSTOP);
	_exit(0);
}

START_TEST(files_that_the_vmm_serves)
{
	struct ram *ram =
		mmap(NULL, sizeof(*ram), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char path[] = "/tmp/hvtrace-test-mounts-XXXXXX";
	HV_AUTO_FREE char *refusal = NULL;
	struct hv_vmm_file file = HV_VMM_FILE_NONE;
	struct hv_process_memory *memory;
	HV_AUTO_FD int pidfd = -1;
	HV_AUTO_ERR struct hv_err *mapped = NULL, *taken = NULL;
	struct hv_piece piece;
	int status = 0;
	pid_t vmm;

	close(mkstemp(path));
	vmm = fork();
	if (!vmm)
		be_vmm(path, ram);
	waitpid(vmm, &status, WUNTRACED);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		unlink(path);
		printf("skipped: FUSE cannot be mounted\n");
		return;
	}
	ck_assert_msg(WIFSTOPPED(status), "the VMM has ended with status %x", status);
	pidfd = pidfd_open(vmm, 0);
	memory = hv_process_memory_new(vmm, pidfd);
	mapped = hv_process_memory_piece(memory, (uintptr_t)ram->host, SIZE, &piece);
	taken = hv_vmm_file_take(vmm, pidfd, ram->fd, &file);
	hv_process_memory_free(memory);
	refusal = hv_format("the file '%s' is on a file system of type fuse.ram, whose", path);
	kill(ram->server, SIGKILL);
	kill(vmm, SIGKILL);
	waitpid(vmm, NULL, 0);
	unlink(path); /* this would have unmounted the file system */
	expect_error(hv_take(mapped), ENOTSUP, refusal);
	expect_error(hv_take(taken), ENOTSUP, "a file system of type fuse.ram, whose");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, lines);
	tcase_add_test(tc, types);
	tcase_add_test(tc, more_than_there_can_be);
	tcase_add_test(tc, file_systems_of_the_kernel);
	tcase_add_test(tc, mounts_of_a_missing_process);
	tcase_add_test(tc, files_that_the_vmm_serves);
}

int main(void)
{
	return run_suite("mounts", add_tests);
}
