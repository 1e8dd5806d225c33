/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors of a QEMU guest that is reached through its monitor. The monitor is a fake; this process acts
 * as the VMM. One case needs root; skipped without it. */
#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "vmm/open.h"
#include "vmm/qemu/machine.h"
#include "vmm/qemu/parser_wire.h"

#define RETURN(value) "{\"return\": " value "}"
#define ARRAY_MAX     8
#define BAR_GPA	      0x100000000ull
#define RUNNING                                                                                    \
	{                                                                                          \
		"query-status", RETURN("{\"status\": \"running\", \"running\": true}")             \
	}

/* The answer to each command that contains the words. */
struct answer {
	const char *words;
	const char *answer;
};

static const struct answer *answers; /* ends with NULL words */
static struct hv_machine machine;

static struct hv_err *transact(void *self hv_unused, const char *request, char **ret)
{
	const char *answer = RETURN("{}");

	for (const struct answer *a = answers; a->words; a++)
		if (strstr(request, a->words)) {
			answer = a->answer;
			break;
		}
	*ret = hv_strdup(answer);
	return NULL;
}

static void free_nothing(void *self hv_unused)
{
}

static const struct hv_monitor_ops ops = {.free = free_nothing, .transact = transact};

static void setup(void)
{
	int pidfd = pidfd_open(getpid(), 0);

	machine = (struct hv_machine){
		.name = (char *)"web1",
		.arch = hv_arch_find("x86_64"),
		.nr_vcpus = 1,
		.monitor = hv_parser_relay(hv_monitor_new(&ops, NULL)),
		.process = {.pid = getpid(), .uid = geteuid(), .gid = getegid()},
		.pidfd = pidfd,
		.memory = hv_process_memory_new(getpid(), pidfd),
		.qmp_dir_fd = -1,
		.region.fd = -1,
	};
}

static void teardown(void)
{
	hv_parser_free(machine.monitor);
	hv_process_memory_free(machine.memory);
	close(machine.pidfd);
}

/* -- the ivshmem device ------------------------------------------------------------------------ */

#define DEVICE(slot, address, size)                                                                \
	"{\"bus\": 0, \"slot\": " slot ", \"function\": 0, \"id\": {\"vendor\": 6900, "            \
	"\"device\": 4368}, \"regions\": [{\"bar\": 2, \"type\": \"memory\", "                     \
	"\"address\": " address ", \"size\": " size "}]}"
#define DEVICES(list)                                                                              \
	{                                                                                          \
		"query-pci", RETURN("[{\"devices\": [" list "]}]")                                 \
	}
#define MIB_64 "67108864"

static const struct {
	struct answer answers[ARRAY_MAX];
	int code;
	const char *message;
} devices[] = {
	{{DEVICES(DEVICE("3", "4294967296", MIB_64) "," DEVICE("4", "8589934592", MIB_64))},
	 ENOTUNIQ,
	 "2 ivshmem devices: cannot tell which one is for tracing"},
	{{DEVICES(DEVICE("3", "-1", MIB_64))},
	 ENXIO,
	 "ivshmem device 0:3.0: the guest has switched its memory off or not given it an address "
	 "yet"},
	{{DEVICES(DEVICE("3", "4294967296", "1048576"))},
	 ENOSPC,
	 "ivshmem device 0:3.0: 1 MiB, at least 16 needed"},
	{{DEVICES(DEVICE("3", "4294967296", "1073741825"))},
	 E2BIG,
	 "ivshmem device 0:3.0: 1024 MiB, at most 1024 possible"},
	{{DEVICES(DEVICE("3", "4294967296", MIB_64)),
	  {"gpa2hva", RETURN("\"No memory is mapped at address 0x100000000\\r\\n\"")}},
	 ENXIO,
	 "ivshmem device 0:3.0: the guest has switched its memory off"},
};

START_TEST(devices_that_are_not_for_tracing)
{
	struct hv_region region;

	answers = devices[_i].answers;
	expect_error(hv_machine_region(&machine, &region), devices[_i].code, devices[_i].message);
}
END_TEST

START_TEST(a_device_whose_memory_is_not_shared)
{
	void *memory = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	HV_AUTO_FREE char *at = hv_format(
		"{\"return\": \"Host virtual address for 0x100000000 (hv) is %p\\r\\n\"}", memory);
	const struct answer list[] = {
		DEVICES(DEVICE("3", "4294967296", MIB_64)), {"gpa2hva", at}, {0}};
	struct hv_region region;

	answers = list;
	expect_error(hv_machine_region(&machine, &region), ENXIO,
		     "ivshmem device 0:3.0: the VMM's memory for it is not one shared mapping "
		     "(share=on)");
	munmap(memory, 64 << 20);
}
END_TEST

/* Otherwise the service would receive the whole file. */
START_TEST(a_device_whose_file_has_more)
{
	HV_AUTO_FD int fd = memfd_create("ivshmem", MFD_CLOEXEC);
	void *memory = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	HV_AUTO_FREE char *at = hv_format(
		"{\"return\": \"Host virtual address for 0x100000000 (hv) is %p\\r\\n\"}", memory);
	const struct answer list[] = {
		DEVICES(DEVICE("3", "4294967296", MIB_64)), {"gpa2hva", at}, {0}};
	struct hv_region region;

	ck_assert_int_eq(ftruncate(fd, (64 << 20) + 4096), 0);
	answers = list;
	expect_error(hv_machine_region(&machine, &region), ENXIO,
		     "ivshmem device 0:3.0: its file has 4096 bytes more than the device: give it "
		     "a separate file");
	munmap(memory, 64 << 20);
}
END_TEST

START_TEST(memory_that_cannot_be_allocated)
{
	uint8_t byte;

	expect_error(hv_machine_remap_region(&machine, 0, 4096), ENODEV,
		     "ivshmem memory: the region is not mapped");
	machine.region = (struct hv_region){.host = &byte, .len_bytes = 64 << 20, .fd = -1};
	expect_error(hv_machine_reserve_region(&machine), EBADF,
		     "ivshmem memory: no room for 64 MiB: Bad file descriptor");
}
END_TEST

static uint64_t free_mib; /* of all file systems; 0: not known */

/* Replaces the function of the C library. */
int fstatvfs(int fd, struct statvfs *ret)
{
	(void)fd;
	*ret = (struct statvfs){.f_frsize = 1 << 20, .f_blocks = 1 << 20, .f_bavail = free_mib};
	return free_mib ? 0 : -1;
}

/* The region's file is sparse, and other files have used up the memory. */
START_TEST(a_file_system_without_room)
{
	HV_AUTO_FD int fd = memfd_create("ivshmem", MFD_CLOEXEC);
	uint8_t byte;

	machine.region = (struct hv_region){.host = &byte, .len_bytes = 64 << 20, .fd = fd};
	free_mib = 63;
	expect_error(hv_machine_region_has_room(&machine), ENOSPC,
		     "ivshmem memory: its file system has 63 MiB free, 64 MiB needed (is /dev/shm "
		     "full?)");
	free_mib = 64;
	expect_success(hv_machine_region_has_room(&machine));
	free_mib = 0;
}
END_TEST

/* -- RAM and vCPUs ----------------------------------------------------------------------------- */

static struct hv_err *load_ram(void)
{
	return hv_ram_load(machine.monitor, machine.memory, &machine.ram);
}

START_TEST(a_machine_without_ram)
{
	static const struct answer list[] = {
		{"info mtree -o",
		 RETURN("\"address-space: memory\\r\\n  0000000000000000-ffffffffffffffff (prio 0, "
			"i/o): system\\r\\n\"")},
		{0}};

	answers = list;
	expect_error(load_ram(), EFAULT, "the machine has no RAM that can be read");
}
END_TEST

/* Every piece has the same address in the VMM, so that pieces are not joined. */
START_TEST(a_machine_with_too_much_ram)
{
	HV_AUTO_TEXT struct hv_text tree = {0};
	struct answer list[] = {
		{"info mtree -o", NULL},
		{"gpa2hva", RETURN("\"Host virtual address for 0x0 (ram) is 0x1000\\r\\n\"")},
		{0}};

	hv_text_add(&tree, "{\"return\": \"address-space: memory\\r\\n  "
			   "0000000000000000-ffffffffffffffff (prio 0, i/o): system\\r\\n");
	for (unsigned i = 0; i <= HV_VMM_RANGES_MAX; i++)
		hv_text_printf(&tree,
			       "    %016x-%016x (prio 0, ram): ram owner:{obj path=/objects/ram}"
			       "\\r\\n",
			       i * 0x2000, i * 0x2000 + 0xfff);
	hv_text_add(&tree, "\"}");
	list[0].answer = tree.data;
	answers = list;
	expect_error(load_ram(), E2BIG, "the guest's RAM is in more than 1024 pieces");
}
END_TEST

START_TEST(a_machine_with_too_many_bars)
{
	HV_AUTO_TEXT struct hv_text pci = {0};
	struct answer list[] = {{"query-pci", NULL}, {0}};
	struct hv_region region;

	hv_text_add(&pci, "{\"return\": [{\"devices\": [{\"bus\": 0, \"slot\": 3, \"function\": 0, "
			  "\"id\": {\"vendor\": 1, \"device\": 1}, \"regions\": [");
	for (unsigned i = 0; i <= 4096; i++)
		hv_text_printf(
			&pci,
			"%s{\"bar\": 0, \"type\": \"memory\", \"address\": %u, \"size\": 4096}",
			i ? "," : "", i * 4096);
	hv_text_add(&pci, "]}]}]}");
	list[0].answer = pci.data;
	answers = list;
	expect_error(hv_machine_region(&machine, &region), EPROTO,
		     "monitor: query-pci: more than 4096 BARs");
}
END_TEST

START_TEST(no_address_for_a_region)
{
	static const struct answer list[] = {
		{"info mtree",
		 RETURN("\"address-space: memory\\r\\n  0000000000000000-000000003fffffff (prio 0, "
			"ram): ram\\r\\n\"")},
		{0}};
	struct hv_gpa gpa;

	answers = list;
	expect_error(hv_parser_free_gpa(machine.monitor, 36, 1ull << 36, 64 << 20, &gpa), ENOSPC,
		     "inject: no free guest-physical addresses above the guest's RAM for the "
		     "region");
}
END_TEST

START_TEST(vcpus_that_are_not_the_vmms)
{
	HV_AUTO_FREE char *ours = hv_format("{\"return\": [{\"thread-id\": %d}]}", (int)getpid());
	HV_AUTO_FREE char *message =
		hv_format("vCPU 0 is not a thread of process %d", (int)getpid());
	struct answer list[] = {{"query-cpus-fast", RETURN("[{\"thread-id\": 1}]")}, {0}};
	unsigned nr;
	size_t nr_found;
	pid_t tid;

	answers = list;
	expect_error(hv_machine_first_threads(&machine, &tid, 1, &nr_found), ESRCH, message);
	list[0].answer = ours;
	expect_error(hv_machine_first_threads(&machine, &tid, 0, &nr_found), E2BIG,
		     "the guest has 1 vCPUs; at most 0 are supported");
	list[0].answer = RETURN("[]");
	expect_error(hv_machine_count_vcpus(&machine, &nr), EPROTO,
		     "monitor: query-cpus-fast: the VMM reports a guest without vCPUs");
	list[0].answer = "{}";
	expect_error(hv_machine_count_vcpus(&machine, &nr), EPROTO,
		     "monitor: query-cpus-fast: answer is neither return nor error");
}
END_TEST

/* -- holds ------------------------------------------------------------------------------------- */

static const struct answer running[] = {RUNNING,
					{"query-chardev", RETURN("[]")},
					{"human-monitor-command", RETURN("\"no way\"")},
					{0}};

START_TEST(a_hold_that_was_not_prepared)
{
	struct hv_vcpu_regs regs[1];

	expect_error(hv_machine_hold_begin(&machine, 1), EINVAL, "hold: not prepared");
	expect_error(hv_machine_hold_registers(&machine, regs, 1), EINVAL,
		     "registers: the guest is not held");
}
END_TEST

START_TEST(a_stub_without_a_directory)
{
	answers = running;
	expect_error(hv_machine_prepare_hold(&machine), ENOENT,
		     "gdb stub: the domain has no directory for its socket");
	machine.private_dir = (char *)"/nowhere";
	expect_error(hv_machine_prepare_hold(&machine), ENOENT,
		     "gdb stub: directory /nowhere: No such file or directory");
	machine.private_dir = (char *)"/tmp";
	expect_error(hv_machine_prepare_hold(&machine), EIO, "gdb stub: not started: no way");
}
END_TEST

/* Starts a process whose root is the directory DIR. */
static pid_t start_elsewhere(const char *dir)
{
	int ready[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) != 0 || chroot(dir) != 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* The VMM's namespace lacks the directory. */
START_TEST(a_stub_of_a_vmm_in_another_mount_namespace)
{
	HV_AUTO_FREE char *place = hv_strdup("/tmp/hvtrace-test-XXXXXX");
	HV_AUTO_FREE char *message = NULL;
	HV_AUTO_FREE char *no_monitor = NULL;
	struct hv_machine *other = NULL;
	pid_t pid;

	ck_assert_ptr_nonnull(mkdtemp(place));
	pid = start_elsewhere(place);
	message = hv_format("gdb stub: process %d is in another mount namespace, where %s does not "
			    "exist or is another directory: name the guest pid:%d, or "
			    "qmp:/proc/%d/root/PATH with the socket's path there",
			    (int)pid, place, (int)pid, (int)pid);
	no_monitor = hv_format(
		"process %d is in another mount namespace and has no QMP socket with a path there; "
		"hvtrace does not use a libvirt, a TCP port or an abstract socket of another "
		"namespace: start QEMU with -qmp unix:PATH,server=on,wait=off (a path in its "
		"namespace)",
		(int)pid);
	answers = running;
	machine.process.pid = pid;
	machine.qmp_dir = place;
	expect_error(hv_machine_prepare_hold(&machine), EXDEV, message);
	expect_error(hv_machine_open_pid(pid, NULL, &other), ENOTCONN, no_monitor);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	rmdir(place);
}
END_TEST

START_TEST(a_stub_whose_path_is_too_long)
{
	HV_AUTO_FREE char *place = hv_strdup("/tmp/hvtrace-test-XXXXXX");
	HV_AUTO_FREE char *message = NULL;
	char dir[256];

	ck_assert_ptr_nonnull(mkdtemp(place));
	snprintf(dir, sizeof(dir), "%s/%0100d", place, 1);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	message = hv_format("gdb stub: socket path %s/hvtrace-gdb.sock is too long", dir);
	answers = running;
	machine.private_dir = dir;
	expect_error(hv_machine_prepare_hold(&machine), ENAMETOOLONG, message);
	rmdir(dir);
	rmdir(place);
}
END_TEST

START_TEST(a_stub_of_another_hvtrace)
{
	static const struct answer list[] = {
		{"query-chardev", RETURN("[{\"label\": \"gdb\", \"filename\": "
					 "\"unix:/a/hvtrace-gdb.sock,server=on\"}]")},
		{0}};
	bool is_on;

	answers = list;
	expect_error(hv_machine_stub_state(&machine, &is_on), EBUSY,
		     "another hvtrace uses the gdb stub (unix:/a/hvtrace-gdb.sock");
}
END_TEST

/* -- refusals ---------------------------------------------------------------------------------- */

/* A guest_memfd has this name: only the guest can access its memory. */
START_TEST(a_guest_with_its_own_memory)
{
	static const struct answer list[] = {
		RUNNING,
		{"query-sev", "{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"no\"}}"},
		{0}};
	int fd = memfd_create("kvm-gmem", MFD_CLOEXEC);

	answers = list;
	expect_error(hv_machine_refusal(&machine), EPERM,
		     "confidential guest (guest_memfd): its memory cannot be read");
	close(fd);
}
END_TEST

START_TEST(a_clock_under_tcg)
{
	struct hv_machine *m = hv_alloc(sizeof(*m));
	struct hv_guest *guest;
	struct hv_tsc tsc;

	answers = running;
	*m = (struct hv_machine){
		.name = hv_strdup("web1"),
		.id = hv_strdup("web1"),
		.monitor_kind = hv_strdup("qmp"),
		.accel = HV_ACCEL_TCG,
		.arch = machine.arch,
		.nr_vcpus = 1,
		.monitor = hv_take(machine.monitor),
		.memory = hv_take(machine.memory),
		.pidfd = dup(machine.pidfd),
		.qmp_dir_fd = -1,
		.region.fd = -1,
	};
	guest = hv_machine_guest(m);
	expect_error(hv_guest_tsc(guest, 0, &tsc), ENOTSUP,
		     "web1: the offset of its clock can be read only under KVM");
	hv_guest_free(guest);
}
END_TEST

START_TEST(questions_that_the_parser_does_not_answer)
{
	HV_AUTO_MONITOR struct hv_monitor *m = hv_monitor_new(&ops, NULL);
	const struct parser_head unknown = {.kind = 999};
	const struct parser_head registers = {.kind = PARSER_REGISTERS, .args = {1}};
	HV_AUTO_TEXT struct hv_text out = {0};
	char path[PARSER_ASKED_MAX_BYTES + 2], said[HV_VMM_TEXT_BYTES];
	uint64_t args[3];

	expect_error(parser_answer(m, &unknown, "", args, &out), EPROTO, "unknown question 999");
	expect_error(parser_answer(m, &registers, "vax", args, &out), ENOTSUP,
		     "the architecture vax is not supported");
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	expect_error(hv_parser_gdbserver(machine.monitor, path, said), ENAMETOOLONG,
		     "xxx' is too long");
}
END_TEST

START_TEST(a_process_that_is_not_a_vmm)
{
	HV_AUTO_FREE char *spec = hv_format("pid:%d", (int)getpid());
	HV_AUTO_FREE char *message = hv_format(
		"pid:%d: process %d: no monitor found: it is not a libvirt domain and has "
		"neither -qmp unix:PATH nor -mon mode=control with -chardev "
		"socket,path=PATH",
		(int)getpid(), (int)getpid());
	struct hv_guest *g = NULL;

	expect_error(hv_guest_open(spec, NULL, HV_VIA_AUTO, &g), ENOTCONN, message);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, devices_that_are_not_for_tracing, 0, HV_ARRAY_LEN(devices));
	tcase_add_test(tc, a_device_whose_memory_is_not_shared);
	tcase_add_test(tc, a_device_whose_file_has_more);
	tcase_add_test(tc, memory_that_cannot_be_allocated);
	tcase_add_test(tc, a_file_system_without_room);
	tcase_add_test(tc, a_machine_without_ram);
	tcase_add_test(tc, a_machine_with_too_much_ram);
	tcase_add_test(tc, a_machine_with_too_many_bars);
	tcase_add_test(tc, no_address_for_a_region);
	tcase_add_test(tc, vcpus_that_are_not_the_vmms);
	tcase_add_test(tc, a_hold_that_was_not_prepared);
	tcase_add_test(tc, a_stub_without_a_directory);
	if (geteuid() == 0)
		tcase_add_test(tc, a_stub_of_a_vmm_in_another_mount_namespace);
	tcase_add_test(tc, a_stub_whose_path_is_too_long);
	tcase_add_test(tc, a_stub_of_another_hvtrace);
	tcase_add_test(tc, a_guest_with_its_own_memory);
	tcase_add_test(tc, a_process_that_is_not_a_vmm);
	tcase_add_test(tc, questions_that_the_parser_does_not_answer);
	tcase_add_test(tc, a_clock_under_tcg);
}

int main(void)
{
	return run_suite("machine", add_tests);
}
