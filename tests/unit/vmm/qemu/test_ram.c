/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAM that is plugged and unplugged. This process is the VMM: it plugs and unplugs memory devices,
 * and its monitor reports this. Reads and writes must use the memory that the guest has at that
 * time. */
#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/lib/run_suite.h"
#include "vmm/qemu/machine.h"

#define BASE_GPA   0x0ull
#define WINDOW_GPA 0x4000ull
#define DIMM_GPA   0x100000000ull
#define PAGE	   4096ull
#define SIZE	   (16 * PAGE)

/* Memory of the VMM that is the guest's RAM. */
static struct block {
	uint8_t *host;
	bool is_plugged;
} base, dimm;
static bool has_no_such_command;
static bool has_pci;
/* The monitor's description of a page that hides RAM; NULL: no page hides it. */
static const char *window;
static unsigned nr_views; /* how often the monitor was asked for the memory tree */
static unsigned nr_asked; /* for how many addresses the monitor was asked */
static struct hv_machine machine;

/* m0 has two pieces, with a region between them that is not RAM. A device's memory follows it. */
static void add_view(struct hv_text *t)
{
	nr_views++;
	hv_text_printf(t, "address-space: memory\\n"
			  "  0000000000000000-ffffffffffffffff (prio 0, i/o): system\\n"
			  "    0000000000000000-000000000000ffff (prio 0, ram): m0\\n"
			  "    0000000000004000-0000000000004fff (prio 1, i/o): window\\n"
			  "    00000000000a0000-00000000000affff (prio 0, ram): vram"
			  " owner:{dev id=vga}\\n");
	if (dimm.is_plugged)
		hv_text_printf(t, "    0000000100000000-000000010000ffff (prio 0, ram): m1\\n");
}

static void add_hva(struct hv_text *t, const char *request)
{
	const char *at = strstr(request, "gpa2hva 0x");
	uint64_t gpa = strtoull(at + strlen("gpa2hva "), NULL, 16);
	const struct block *b = gpa >= DIMM_GPA ? &dimm : &base;
	uint64_t off = b == &dimm ? gpa - DIMM_GPA : gpa;

	nr_asked++;
	if (gpa >= WINDOW_GPA && gpa < WINDOW_GPA + PAGE && window)
		hv_text_add(t, window);
	else if (b->is_plugged)
		hv_text_printf(t, "Host virtual address for 0x%" PRIx64 " (%s) is %p\\n", gpa,
			       b == &dimm ? "m1" : "m0", (void *)(b->host + off));
	else
		hv_text_printf(t, "No memory is mapped at address 0x%" PRIx64 "\\n", gpa);
}

static struct hv_err *transact(void *self, const char *request, char **ret)
{
	struct hv_text t = {0};

	(void)self;
	hv_text_add(&t, "{\"return\": ");
	if (strstr(request, "query-memory-devices")) {
		hv_text_add(&t, dimm.is_plugged ? "[{\"type\": \"dimm\"}]" : "[]");
	} else if (strstr(request, "query-pci")) {
		hv_text_add(&t, has_pci ? "[{\"bus\": 0, \"devices\": []}]" : "[]");
	} else {
		hv_text_add(&t, "\"");
		if (strstr(request, "mtree"))
			add_view(&t);
		else
			add_hva(&t, request);
		hv_text_add(&t, "\"");
	}
	hv_text_add(&t, "}");
	if (has_no_such_command && strstr(request, "query-memory-devices")) {
		free(hv_text_take(&t));
		hv_text_add(&t, "{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"no\"}}");
	}
	*ret = hv_text_take(&t);
	return NULL;
}

static void free_nothing(void *self)
{
	(void)self;
}

static const struct hv_monitor_ops ops = {.free = free_nothing, .transact = transact};

/* AT: NULL: anywhere. The file stays open, as in QEMU. */
static uint8_t *map_file(const char *name, uint8_t *at, uint8_t fill)
{
	int fd = memfd_create(name, 0);
	uint8_t *host;

	ck_assert_int_eq(ftruncate(fd, (off_t)SIZE), 0);
	host = mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
	ck_assert_ptr_ne(host, MAP_FAILED);
	memset(host, fill, SIZE);
	return host;
}

static unsigned nr_mappings_of(const char *name)
{
	HV_AUTO_FREE char *line = NULL;
	unsigned nr = 0;
	size_t cap = 0;
	FILE *f = fopen("/proc/self/maps", "re");

	ck_assert_ptr_nonnull(f);
	while (getline(&line, &cap, f) > 0)
		nr += strstr(line, name) != NULL;
	fclose(f);
	return nr;
}

static bool may_look(void)
{
	if (machine.ram.ranges[0].host)
		return true;
	printf("skipped: no right to take descriptors of a process\n");
	return false;
}

static void plug(uint8_t *host)
{
	dimm = (struct block){.host = host, .is_plugged = true};
}

static void unplug(void)
{
	munmap(dimm.host, SIZE);
	dimm.is_plugged = false;
}

static void setup(void)
{
	base = (struct block){.host = map_file("base", NULL, 0xb0), .is_plugged = true};
	plug(map_file("first", NULL, 1));
	nr_views = nr_asked = 0;
	has_no_such_command = has_pci = false;
	window = NULL;
	machine = (struct hv_machine){.monitor = hv_parser_relay(hv_monitor_new(&ops, NULL)),
				      .region.fd = -1};
	machine.pidfd = pidfd_open(getpid(), 0);
	machine.memory = hv_process_memory_new(getpid(), machine.pidfd);
	ck_assert_ptr_null(hv_ram_load(machine.monitor, machine.memory, &machine.ram));
	machine.ram_loaded_ns = hv_now_ns();
	ck_assert_uint_eq(machine.ram.nr_ranges, 2);
	ck_assert_uint_eq(machine.ram.len_bytes, 2 * SIZE);
}

static void teardown(void)
{
	hv_ram_deinit(&machine.ram);
	hv_process_memory_free(machine.memory);
	close(machine.pidfd);
	hv_parser_free(machine.monitor);
	munmap(base.host, SIZE);
	if (dimm.is_plugged)
		munmap(dimm.host, SIZE);
}

/* Reads the RAM's layout again even if that was done recently. */
static struct hv_err *look(void)
{
	machine.ram_loaded_ns = 0;
	return hv_machine_look_at_ram(&machine);
}

static uint8_t byte_at(uint64_t gpa)
{
	uint8_t byte = 0;

	ck_assert_ptr_null(hv_machine_read(&machine, hv_gpa(gpa), &byte, 1));
	return byte;
}

static uint64_t hva_of(uint64_t gpa)
{
	uint64_t hva = 0, len = 0;

	ck_assert(hv_ram_find(&machine.ram, hv_gpa(gpa), &hva, &len));
	ck_assert_uint_ge(len, 1);
	return hva;
}

static void must_not_be_there(uint64_t gpa)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	uint8_t byte;

	err = hv_machine_read(&machine, hv_gpa(gpa), &byte, 1);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EFAULT);
}

START_TEST(unplugged_memory_is_given_back)
{
	if (!may_look())
		return;
	ck_assert_uint_eq(byte_at(DIMM_GPA), 1);
	ck_assert_uint_eq(nr_mappings_of("memfd:first"), 2);
	unplug();
	ck_assert_uint_eq(nr_mappings_of("memfd:first"), 1);
	ck_assert_ptr_null(look());
	ck_assert_uint_eq(nr_mappings_of("memfd:first"), 0);
	ck_assert_uint_eq(nr_mappings_of("memfd:base"), 2);
	must_not_be_there(DIMM_GPA);
	ck_assert_uint_eq(byte_at(BASE_GPA), 0xb0);
}
END_TEST

/* The device is removed first. Its memory is removed later, without another request to the
 * monitor. */
START_TEST(memory_of_a_device_that_is_gone)
{
	if (!may_look())
		return;
	dimm.is_plugged = false;
	ck_assert_ptr_null(look());
	ck_assert(!machine.ram.can_go);
	ck_assert_uint_eq(nr_mappings_of("memfd:first"), 1);
	ck_assert_uint_eq(nr_mappings_of("memfd:base"), 2);
	munmap(dimm.host, SIZE);
}
END_TEST

/* The second device has the addresses of the first, for the guest and in the VMM. */
START_TEST(another_device_at_the_same_address)
{
	uint8_t *at = dimm.host;

	unplug();
	plug(map_file("second", at, 2));
	ck_assert_ptr_null(look());
	ck_assert_uint_eq(byte_at(DIMM_GPA), 2);
	ck_assert_uint_eq(hva_of(DIMM_GPA), (uint64_t)(uintptr_t)dimm.host);
	ck_assert_uint_eq(nr_mappings_of("memfd:first"), 0);
	ck_assert_uint_eq(machine.ram.len_bytes, 2 * SIZE);
}
END_TEST

/* Private memory is accessed by its address in the VMM, which may have changed. */
START_TEST(private_memory_elsewhere)
{
	uint8_t *first =
		mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *second =
		mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	unplug();
	plug(first);
	ck_assert_ptr_null(look());
	dimm.host = second;
	ck_assert_ptr_null(look());
	second[0] = 3;
	ck_assert_uint_eq(byte_at(DIMM_GPA), 3);
	ck_assert_uint_eq(hva_of(DIMM_GPA), (uint64_t)(uintptr_t)second);
	munmap(first, SIZE);
}
END_TEST

START_TEST(reading_looks_again_after_a_second)
{
	uint8_t *at = dimm.host;
	unsigned before = nr_views;

	unplug();
	plug(map_file("second", at, 2));
	machine.ram_loaded_ns -= 2 * HV_NS_PER_S;
	machine.held = true;
	byte_at(BASE_GPA);
	ck_assert_uint_eq(nr_views, before); /* a request would have made the hold longer */
	machine.held = false;
	ck_assert_uint_eq(byte_at(DIMM_GPA), 2);
	ck_assert_uint_eq(nr_views, before + 1);
}
END_TEST

START_TEST(a_machine_without_devices_is_not_asked_again)
{
	unsigned before;

	unplug();
	ck_assert_ptr_null(look());
	ck_assert(!machine.ram.can_go);
	before = nr_views;
	ck_assert_ptr_null(look());
	machine.ram_loaded_ns -= 2 * HV_NS_PER_S;
	byte_at(BASE_GPA);
	ck_assert_uint_eq(nr_views, before);
	plug(map_file("second", NULL, 2)); /* hvtrace does not know DIMM_GPA yet */
	ck_assert_uint_eq(byte_at(DIMM_GPA), 2);
	ck_assert(machine.ram.can_go);
}
END_TEST

START_TEST(vmm_without_device_queries)
{
	has_no_such_command = true;
	ck_assert_ptr_null(hv_ram_load(machine.monitor, machine.memory, &machine.ram));
	ck_assert(!machine.ram.can_go);
	ck_assert_uint_eq(byte_at(DIMM_GPA), 1);
}
END_TEST

/* Some of its pages may have been replaced by hvtrace itself (inject/shadow.h). */
START_TEST(a_part_that_is_left_is_enough)
{
	if (!may_look())
		return;
	ck_assert_ptr_ne(mmap(dimm.host, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 MAP_FAILED);
	ck_assert_ptr_null(look());
	ck_assert_uint_eq(byte_at(DIMM_GPA), 1);
	ck_assert_uint_eq(machine.ram.nr_ranges, 2);
}
END_TEST

START_TEST(windows_over_ram_are_skipped)
{
	ck_assert_uint_eq(machine.ram.nr_ranges, 2); /* its pieces are one range */
	ck_assert_uint_eq(nr_asked, 4);
	for (unsigned i = 0; i < 2; i++) {
		window = i ? "Host virtual address for 0x4000 (vram) is 0x1000\\n"
			   : "Memory at address 0x4000 is not RAM\\n";
		ck_assert_ptr_null(look());
		ck_assert_uint_eq(machine.ram.nr_ranges, 3);
		ck_assert_uint_eq(machine.ram.len_bytes, 2 * SIZE - PAGE);
		must_not_be_there(WINDOW_GPA);
		base.host[WINDOW_GPA + PAGE] = 7;
		ck_assert_uint_eq(byte_at(WINDOW_GPA + PAGE), 7);
		ck_assert_uint_eq(byte_at(WINDOW_GPA - 1), 0xb0);
	}
}
END_TEST

/* The message names only possible remedies. */
START_TEST(no_free_gpa_for_a_region)
{
	struct hv_region region;
	char dir[] = "/run";

	machine.qmp_dir = dir;
	for (unsigned i = 0; i < 2; i++) {
		HV_AUTO_ERR struct hv_err *err = NULL;

		has_pci = i;
		err = hv_machine_region(&machine, &region);
		ck_assert_ptr_nonnull(err);
		ck_assert_int_eq(err->code, ENODEV);
		ck_assert_int_eq(strstr(err->message, "start QEMU with") != NULL, has_pci);
		ck_assert_int_eq(strstr(err->message, "no PCI bus") != NULL, !has_pci);
	}
}
END_TEST

START_TEST(kept_memory_stays_mapped)
{
	struct hv_piece piece;

	ck_assert_ptr_null(hv_process_memory_piece(machine.memory, (uint64_t)(uintptr_t)dimm.host,
						   SIZE, &piece));
	if (!may_look())
		return;
	hv_process_memory_keep(machine.memory, &piece);
	unplug();
	ck_assert_ptr_null(look());
	ck_assert_uint_eq(nr_mappings_of("memfd:first"), 1);
	ck_assert_uint_eq(piece.host[PAGE], 1);
}
END_TEST

/* A VMM whose pages were replaced maps its RAM in many pieces. */
START_TEST(adjacent_pieces_are_joined)
{
	struct hv_ram_range ranges[] = {{hv_gpa(0), 0x3000, 0x7000, NULL, -1, 0},
					{hv_gpa(0x3000), 0x1000, 0xa000, NULL, -1, 0},
					{hv_gpa(0x4000), 0x1000, 0xc000, NULL, -1, 0},
					{hv_gpa(0x6000), 0x1000, 0xd000, NULL, -1, 0}};
	struct hv_ram ram = {.process = machine.memory, .ranges = ranges, .nr_ranges = 4};
	struct hv_ram_file files[3];

	ck_assert_uint_eq(hv_ram_files(&ram, HV_RAM_BY_MEMORY, files, 3), 3);
	ck_assert_uint_eq(files[0].len_bytes, 0x4000);
	ck_assert_uint_eq(files[0].off, 0x7000);
	ck_assert_uint_eq(files[1].start.v, 0x4000);
	ck_assert_uint_eq(files[2].start.v, 0x6000);
	ck_assert(files[2].is_memory && files[2].fd == hv_process_memory_fd(machine.memory));
	ck_assert_uint_eq(hv_ram_files(&ram, HV_RAM_BY_MEMORY, files, 1), 1);
	ck_assert_uint_eq(files[0].len_bytes, 0x4000);
}
END_TEST

/* The rest of the file belongs to another guest. */
START_TEST(a_file_that_guests_share_is_not_given)
{
	struct hv_ram_file files[3];
	int fd = machine.ram.ranges[0].fd;

	ck_assert(machine.ram.ranges[0].host);
	machine.ram.can_go = false;
	ck_assert_uint_eq(hv_ram_files(&machine.ram, HV_RAM_BY_FILES, files, 3), 2);
	ck_assert(!files[0].is_memory && files[0].fd == fd);
	ck_assert_int_eq(ftruncate(fd, SIZE + (65 << 20)), 0);
	ck_assert_uint_eq(hv_ram_files(&machine.ram, HV_RAM_BY_FILES, files, 3), 2);
	ck_assert(files[0].is_memory && files[0].fd == hv_process_memory_fd(machine.memory));
	ck_assert_uint_eq(files[0].off, machine.ram.ranges[0].hva);
	ck_assert(!files[1].is_memory);
}
END_TEST

/* The VMM may only read the file. hvtrace, as root, could write it. */
START_TEST(a_file_that_the_vmm_may_not_write_is_not_mapped)
{
	static const char path[] = "/proc/self/fd/%d";
	int fd = memfd_create("roots", 0), readable;
	HV_AUTO_FREE char *name = hv_format(path, fd);
	struct hv_piece piece;
	uint8_t *host;

	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	host = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(host, MAP_FAILED);
	readable = open(name, O_RDONLY);
	ck_assert_int_ge(readable, 0);
	close(fd); /* the mapping remains */
	ck_assert_ptr_null(
		hv_process_memory_piece(machine.memory, (uint64_t)(uintptr_t)host, SIZE, &piece));
	ck_assert_ptr_null(piece.host);
	ck_assert_int_eq(piece.fd, -1);
	munmap(host, SIZE);
	close(readable);
}
END_TEST

#define PIECES	    12000ull
#define DESCRIPTORS 800
#define CPU_S	    10

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A hostile VMM maps a file page by page, has closed it, and has many other descriptors. Looking for
 * its descriptor once for each page would take minutes. */
START_TEST(ram_in_many_pieces_is_found_in_time)
{
	int fd = memfd_create("pieces", 0), others[DESCRIPTORS];
	struct hv_ram ram = {.process = machine.memory};
	double begun_s;
	uint8_t byte = 0;
	uint8_t *host;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, PIECES * PAGE), 0);
	host = mmap(NULL, PIECES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (uint64_t i = 0; i < PIECES; i++)
		ck_assert_ptr_ne(mmap(host + i * PAGE, PAGE, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_FIXED, fd, (off_t)((PIECES - 1 - i) * PAGE)),
				 MAP_FAILED);
	host[(PIECES - 1) * PAGE] = 7;
	close(fd);
	for (unsigned i = 0; i < DESCRIPTORS; i++)
		ck_assert_int_ge(others[i] = memfd_create("other", 0), 0);
	begun_s = cpu_s();
	ck_assert_ptr_null(hv_process_memory_look_again(machine.memory));
	ck_assert_ptr_null(hv_ram_add(&ram, hv_gpa(0), PIECES * PAGE, (uint64_t)(uintptr_t)host));
	hv_process_memory_end_look(machine.memory);
	ck_assert_double_lt(cpu_s() - begun_s, CPU_S);
	ck_assert_uint_eq(ram.len_bytes, PIECES * PAGE);
	ck_assert_ptr_null(hv_ram_read(&ram, hv_gpa((PIECES - 1) * PAGE), &byte, 1));
	ck_assert_uint_eq(byte, 7);
	hv_ram_deinit(&ram);
	munmap(host, PIECES * PAGE);
	for (unsigned i = 0; i < DESCRIPTORS; i++)
		close(others[i]);
}
END_TEST

/* Another process may have the VMM's pid. */
START_TEST(a_process_that_has_ended_is_not_read)
{
	static uint8_t byte = 7;
	uint64_t hva = (uint64_t)(uintptr_t)&byte;
	struct hv_process_memory *memory;
	struct hv_piece piece;
	struct hv_err *err;
	uint8_t now = 0;
	int pidfd;
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	pidfd = pidfd_open(pid, 0);
	/* as if this process had received that pid */
	memory = hv_process_memory_new(getpid(), pidfd);
	ck_assert_ptr_null(hv_process_memory_read(memory, hva, &now, 1));
	ck_assert_uint_eq(now, 7);
	kill(pid, SIGKILL);
	ck_assert_int_eq(poll(&(struct pollfd){pidfd, POLLIN, 0}, 1, -1), 1);
	err = hv_process_memory_piece(memory, hva, 1, &piece);
	ck_assert(err && err->code == ESRCH);
	hv_err_free(err);
	err = hv_process_memory_look_again(memory);
	ck_assert(err && err->code == ESRCH);
	hv_err_free(err);
	hv_process_memory_free(memory);
	memory = hv_process_memory_new(getpid(), pidfd);
	ck_assert_int_eq(hv_process_memory_fd(memory), -1);
	err = hv_process_memory_read(memory, hva, &now, 1);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	hv_process_memory_free(memory);
	waitpid(pid, NULL, 0);
	close(pidfd);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, unplugged_memory_is_given_back);
	tcase_add_test(tc, memory_of_a_device_that_is_gone);
	tcase_add_test(tc, another_device_at_the_same_address);
	tcase_add_test(tc, private_memory_elsewhere);
	tcase_add_test(tc, reading_looks_again_after_a_second);
	tcase_add_test(tc, a_machine_without_devices_is_not_asked_again);
	tcase_add_test(tc, vmm_without_device_queries);
	tcase_add_test(tc, a_part_that_is_left_is_enough);
	tcase_add_test(tc, windows_over_ram_are_skipped);
	tcase_add_test(tc, no_free_gpa_for_a_region);
	tcase_add_test(tc, adjacent_pieces_are_joined);
	tcase_add_test(tc, a_file_that_guests_share_is_not_given);
	tcase_add_test(tc, a_file_that_the_vmm_may_not_write_is_not_mapped);
	tcase_add_test(tc, ram_in_many_pieces_is_found_in_time);
	tcase_add_test(tc, a_process_that_has_ended_is_not_read);
	tcase_add_test(tc, kept_memory_stays_mapped);
}

int main(void)
{
	return run_suite("ram", add_tests);
}
