/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of text pages. This process acts as the VMM. A fake keeper makes its calls. It can lose
 * their answers, or make the calls late, as when a keeper is killed. Needs permission to take the
 * descriptors of a process (pidfd_getfd); skipped without it. */
#include <check.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>

#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/inject/fake_keeper.h"
#include "vmm/inject/state.h"
#include "vmm/qemu/machine.h"

#define PAGE	4096u
#define RAM	(64 * PAGE)
#define START	0x100000u
#define SITE	(START + 3 * PAGE + 0x10)
#define OTHER	(START + 9 * PAGE + 0x20)
#define THE_OWN (SITE + 0x100) /* a byte that the guest itself changes */
#define LEN	5

static const uint8_t nop[LEN] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static const uint8_t call[LEN] = {0xe8, 0x11, 0x22, 0x33, 0x44};

/* ---- a keeper ---- */

static enum loss { NOTHING, ANSWER, UNMADE, LATE } loss_of_next; /* for the next mmap() */
static bool refuses_maps, seals_files;
static struct hv_call late[HV_KEEPER_CALLS_MAX];
static size_t nr_late;

static void make_late(void)
{
	for (size_t i = 0; i < nr_late; i++)
		make_call(&late[i], NULL);
	nr_late = 0;
}

struct hv_err *hv_keeper_calls(struct hv_keeper *k, struct hv_call *calls, size_t nr, void *data,
			       size_t len_bytes)
{
	enum loss loss = calls[0].nr == SYS_mmap ? loss_of_next : NOTHING;

	(void)k, (void)len_bytes;
	if (refuses_maps && calls[0].nr == SYS_mmap) {
		for (size_t i = 0; i < nr; i++)
			calls[i].result = -ENOMEM;
		return NULL;
	}
	if (loss == LATE) {
		memcpy(late, calls, nr * sizeof(*calls));
		nr_late = nr;
	}
	for (size_t i = 0; i < nr && (loss == NOTHING || loss == ANSWER); i++)
		make_call(&calls[i], data);
	if (seals_files && calls[0].nr == SYS_memfd_create)
		fcntl((int)calls[0].result, F_ADD_SEALS, F_SEAL_GROW);
	if (loss == NOTHING)
		return NULL;
	loss_of_next = NOTHING;
	keeper.is_dead = true;
	return hv_err_new(EPIPE, "keeper: it has died");
}

/* ---- a machine ---- */

static struct hv_machine machine;
static struct hv_ram_range range;
static struct hv_inject inject;
static uint8_t *vmm; /* the guest's RAM */
static int ram_fd;
static bool may_look;
static pid_t tid;
static struct kvm_run run; /* of the vCPU */
static uint64_t run_hva;

static struct hv_err *transact(void *self, const char *request, char **ret)
{
	char answer[96];

	(void)self;
	snprintf(answer, sizeof(answer),
		 strstr(request, "query-cpus-fast") ? "{\"return\": [{\"thread-id\": %d}]}"
						    : "{\"return\": \"\"}",
		 (int)getpid());
	*ret = hv_strdup(answer);
	return NULL;
}

static void free_nothing(void *self)
{
	(void)self;
}

static const struct hv_monitor_ops ops = {.free = free_nothing, .transact = transact};

static void setup(void)
{
	struct hv_piece piece = {0};

	ram_fd = memfd_create("ram", 0);
	ck_assert_int_eq(ftruncate(ram_fd, RAM), 0);
	vmm = mmap(NULL, RAM, PROT_READ | PROT_WRITE, MAP_SHARED, ram_fd, 0);
	ck_assert_ptr_ne(vmm, MAP_FAILED);
	memset(vmm, 0xcc, RAM);
	memcpy(vmm + (SITE - START), nop, LEN);
	memcpy(vmm + (OTHER - START), nop, LEN);
	keeper = (struct keeper_of_ours){0};
	loss_of_next = NOTHING;
	refuses_maps = false;
	nr_late = 0;
	machine = (struct hv_machine){.monitor = hv_parser_relay(hv_monitor_new(&ops, NULL)),
				      .nr_vcpus = 1,
				      .region.fd = -1};
	machine.process.pid = getpid();
	machine.pidfd = pidfd_open(getpid(), 0);
	machine.memory = hv_process_memory_new(getpid(), machine.pidfd);
	hv_err_free(hv_process_memory_piece(machine.memory, (uint64_t)(uintptr_t)vmm, RAM, &piece));
	may_look = piece.host;
	range = (struct hv_ram_range){.start = hv_gpa(START),
				      .len_bytes = RAM,
				      .hva = (uint64_t)(uintptr_t)vmm,
				      .host = piece.host};
	machine.ram = (struct hv_ram){
		.process = machine.memory, .ranges = &range, .nr_ranges = 1, .len_bytes = RAM};
	tid = getpid();
	run_hva = (uint64_t)(uintptr_t)&run;
	inject = (struct hv_inject){
		.vmm = hv_machine_vmm(&machine),
		.region.fd = -1,
		.tids = &tid,
		.kvm = {.pid = getpid(), .nr_vcpus = 1, .run_hvas = &run_hva},
	};
	hv_shadow_init(&inject.shadow);
	if (may_look)
		ck_assert_ptr_null(hv_shadow_want(&inject));
	else
		printf("skipped: no right to take descriptors of a process\n");
}

static void teardown(void)
{
	int fd = inject.shadow.fd;

	hv_shadow_deinit(&inject.shadow);
	hv_process_memory_free(machine.memory);
	hv_parser_free(machine.monitor);
	munmap(vmm, RAM);
	close(machine.pidfd);
	close(ram_fd);
	if (fd >= 0)
		close(fd);
}

static struct hv_err *write_held(const struct hv_hold_write *writes, size_t nr)
{
	HV_AUTO_HELD_WRITES struct hv_held_writes in_place = {0};
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < nr; i++)
		err = hv_shadow_write(&inject, &writes[i], &in_place);
	if (!err)
		err = hv_keeper_write(inject.keeper, &in_place);
	return hv_shadow_put_in_place(&inject, err);
}

/* Announces the writes and makes them in a hold, as the patcher does. */
static struct hv_err *write_sites(const uint8_t *bytes)
{
	const struct hv_gpa gpas[] = {{SITE}, {OTHER}};
	struct hv_hold_write writes[2] = {{.gpa = gpas[0], .len_bytes = LEN},
					  {.gpa = gpas[1], .len_bytes = LEN}};
	struct hv_err *err = hv_shadow_prepare(&inject, gpas, 2);

	for (unsigned i = 0; i < 2; i++)
		memcpy(writes[i].bytes, bytes, LEN);
	if (!err)
		err = hv_inject_stop(&inject);
	return err ? err : hv_inject_go_on(&inject, write_held(writes, 2));
}

static void write_fails(const uint8_t *bytes)
{
	struct hv_err *err = write_sites(bytes);

	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
}

static void put_back_fails(int code, const char *message)
{
	expect_error(hv_shadow_put_back(&inject), code, message);
}

static void expect_guest(const uint8_t *bytes)
{
	ck_assert_mem_eq(vmm + (SITE - START), bytes, LEN);
	ck_assert_mem_eq(vmm + (OTHER - START), bytes, LEN);
}

static uint8_t ram_at(uint64_t gpa)
{
	uint8_t byte;

	ck_assert_int_eq(pread(ram_fd, &byte, 1, (off_t)(gpa - START)), 1);
	return byte;
}

static bool is_copy(uint64_t gpa)
{
	return hv_shadow_at(&inject.shadow, hv_gpa(gpa));
}

/* The original RAM is mapped again and contains the guest's own change. */
static void expect_all_back(uint8_t own)
{
	expect_guest(nop);
	ck_assert_uint_eq(inject.shadow.nr_in_place, 0);
	vmm[THE_OWN - START]++;
	ck_assert_uint_eq(ram_at(THE_OWN), (uint8_t)(own + 1));
}

/* ---- cases ---- */

START_TEST(pages_are_replaced_and_restored)
{
	if (!may_look)
		return;
	ck_assert_ptr_null(write_sites(call));
	expect_guest(call);
	ck_assert_uint_eq(ram_at(SITE), nop[0]);
	ck_assert(is_copy(SITE) && is_copy(OTHER) && !is_copy(START));
	vmm[THE_OWN - START] = 0x77;
	ck_assert_uint_eq(ram_at(THE_OWN), 0xcc);
	ck_assert_ptr_null(write_sites(nop));
	ck_assert_ptr_null(hv_shadow_put_back(&inject));
	expect_all_back(0x77);
}
END_TEST

START_TEST(answer_lost_and_made)
{
	if (!may_look)
		return;
	loss_of_next = ANSWER;
	write_fails(call);
	ck_assert(is_copy(SITE) && is_copy(OTHER));
	expect_guest(call);
	vmm[THE_OWN - START] = 0x77;
	ck_assert_ptr_null(write_sites(nop));
	ck_assert_ptr_null(hv_shadow_put_back(&inject));
	expect_all_back(0x77);
}
END_TEST

START_TEST(answer_lost_and_not_made)
{
	if (!may_look)
		return;
	loss_of_next = UNMADE;
	write_fails(call);
	ck_assert(!is_copy(SITE) && !is_copy(OTHER));
	expect_guest(nop);
	vmm[THE_OWN - START] = 0x77; /* newer than the copy */
	ck_assert_ptr_null(write_sites(call));
	expect_guest(call);
	ck_assert_uint_eq(vmm[THE_OWN - START], 0x77);
	ck_assert_ptr_null(write_sites(nop));
	ck_assert_ptr_null(hv_shadow_put_back(&inject));
	expect_all_back(0x77);
}
END_TEST

/* The thread left by the dead keeper makes its call after hvtrace has checked the mappings. */
START_TEST(answer_lost_and_made_late)
{
	if (!may_look)
		return;
	loss_of_next = LATE;
	write_fails(call);
	ck_assert(!is_copy(SITE));
	make_late();
	expect_guest(call);
	ck_assert_ptr_null(write_sites(nop)); /* a hold checks the mappings again */
	expect_guest(nop);
	ck_assert(is_copy(SITE));
	ck_assert_ptr_null(hv_shadow_put_back(&inject));
	expect_all_back(0xcc);
}
END_TEST

START_TEST(nothing_is_restored_in_doubt)
{
	if (!may_look)
		return;
	loss_of_next = LATE;
	write_fails(call);
	keeper.not_in_run = true;
	put_back_fails(EBUSY, "shadow: an injected call may not have ended yet");
	make_late();
	keeper.not_in_run = false;
	ck_assert_ptr_null(write_sites(nop));
	ck_assert_ptr_null(hv_shadow_put_back(&inject));
	expect_all_back(0xcc);
}
END_TEST

/* Changes that the guest makes after its RAM is mapped again must not be overwritten by the
 * copies. */
START_TEST(answer_lost_while_restoring)
{
	if (!may_look)
		return;
	ck_assert_ptr_null(write_sites(call));
	ck_assert_ptr_null(write_sites(nop));
	loss_of_next = ANSWER;
	put_back_fails(EPIPE, "keeper: it has died");
	vmm[THE_OWN - START] = 0x77;
	ck_assert_uint_eq(ram_at(THE_OWN), 0x77);
	ck_assert_ptr_null(hv_shadow_put_back(&inject));
	expect_all_back(0x77);
}
END_TEST

START_TEST(calls_that_the_vmm_refuses)
{
	if (!may_look)
		return;
	refuses_maps = true;
	expect_error(write_sites(call), ENOMEM, "shadow: mmap in the VMM: Cannot allocate memory");
	refuses_maps = false;
	expect_guest(nop);
	ck_assert_ptr_null(write_sites(call));
	ck_assert_ptr_null(write_sites(nop));
	refuses_maps = true;
	put_back_fails(ENOMEM, "shadow: mmap in the VMM: Cannot allocate memory");
	refuses_maps = false;
	ck_assert_ptr_null(hv_shadow_put_back(&inject));
	expect_all_back(0xcc);
}
END_TEST

static struct hv_err *want_with_filter(void *ctx hv_unused)
{
	machine.process.pid = getpid();
	return hv_shadow_want(&inject);
}

START_TEST(vmms_whose_pages_cannot_be_replaced)
{
	/* any filter */
	static const struct failing_call filter[] = {{SCMP_SYS(swapon), EPERM}, {0}};

	if (!may_look)
		return;
	expect_failure(filter, want_with_filter, NULL, ENOTSUP,
		       "the VMM has seccomp filters that may not allow the calls that replace "
		       "pages");
	range.host = NULL;
	expect_error(hv_shadow_want(&inject), ENOTSUP,
		     "the guest's RAM is private or has huge pages, so single pages of it cannot "
		     "be replaced");
}
END_TEST

/* The VMM has forbidden changes of the size. */
START_TEST(a_file_for_copies_that_is_sealed)
{
	seals_files = true;
	if (may_look)
		expect_error(write_sites(call), EPERM,
			     "shadow: sizing its file: Operation not permitted");
	seals_files = false;
}
END_TEST

/* The file of the RAM cannot be read, or not be written. */
START_TEST(ram_that_cannot_be_put_back)
{
	HV_AUTO_FREE char *path = hv_format("/proc/self/fd/%d", ram_fd);
	int *here = &inject.shadow.ram_here, kept;

	if (!may_look)
		return;
	ck_assert_ptr_null(write_sites(call));
	vmm[THE_OWN - START] = 0x77;
	ck_assert_ptr_null(write_sites(nop));
	kept = *here;
	*here = -1;
	put_back_fails(EIO, "shadow: cannot read the file of the guest's RAM");
	*here = open(path, O_RDONLY | O_CLOEXEC);
	put_back_fails(EIO, "shadow: cannot write the file of the guest's RAM");
	close(*here);
	*here = kept;
	ck_assert_ptr_null(hv_shadow_put_back(&inject));
	expect_all_back(0x77);
}
END_TEST

/* Creates a file for copies as the VMM does, with the values of S in its name. */
static int make_window_file(struct hv_shadow s)
{
	char name[HV_SHADOW_NAME_LEN];

	hv_shadow_name(&s, name);
	return memfd_create(name, MFD_ALLOW_SEALING);
}

static struct hv_shadow window_of(uint64_t off, uint64_t len_bytes)
{
	return (struct hv_shadow){.start = hv_gpa(START + off),
				  .len_bytes = len_bytes,
				  .hva = (uint64_t)(uintptr_t)vmm + off,
				  .ram_fd = ram_fd,
				  .ram_off = off};
}

/* The copy of a page would reach beyond the mapping of such a range. */
START_TEST(a_window_is_of_whole_pages_of_ram)
{
	const struct hv_shadow bad[] = {
		window_of(16, PAGE),
		window_of(0, PAGE + 16),
		window_of(0, 0),
		window_of(PAGE, RAM),
		window_of(RAM, PAGE),
		window_of(0, 1ull << 62),
		window_of(UINT64_MAX - PAGE + 1, PAGE),
	};

	for (size_t i = 0; may_look && i < HV_ARRAY_LEN(bad); i++) {
		int fd = make_window_file(bad[i]);

		expect_error(hv_shadow_find(&inject), EPROTO,
			     " does not consist of whole pages of RAM");
		hv_shadow_deinit(&inject.shadow);
		close(fd);
	}
}
END_TEST

/* Copies in place split the RAM's mapping. */
START_TEST(a_window_spans_mappings)
{
	struct hv_ram_range halves[] = {range, range};
	const uint64_t half = RAM / 2;
	int fd = make_window_file(window_of(0, RAM));

	if (!may_look)
		return;
	ck_assert_int_eq(ftruncate(fd, RAM), 0);
	halves[0].len_bytes = halves[1].len_bytes = half;
	halves[1].start = hv_gpa_add(halves[0].start, half);
	machine.ram.ranges = halves;
	machine.ram.nr_ranges = 2;
	expect_error(hv_shadow_find(&inject), EPROTO, " does not consist of whole pages of RAM");
	hv_shadow_deinit(&inject.shadow);
	halves[1].hva += half;
	expect_success(hv_shadow_find(&inject));
	ck_assert_uint_eq(inject.shadow.len_bytes, RAM);
	close(fd);
}
END_TEST

/* The VMM's F_SEAL_SEAL keeps hvtrace from adding F_SEAL_SHRINK. */
START_TEST(a_truncated_window_does_not_kill)
{
	int fd = make_window_file(window_of(0, RAM));
	const struct hv_gpa gpa = hv_gpa(SITE);

	if (!may_look)
		return;
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL), 0);
	ck_assert_ptr_null(hv_shadow_find(&inject));
	inject.shadow.wanted = true;
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_ptr_null(hv_shadow_prepare(&inject, &gpa, 1));
	ck_assert_ptr_null(write_sites(call));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, pages_are_replaced_and_restored);
	tcase_add_test(tc, answer_lost_and_made);
	tcase_add_test(tc, answer_lost_and_not_made);
	tcase_add_test(tc, answer_lost_and_made_late);
	tcase_add_test(tc, nothing_is_restored_in_doubt);
	tcase_add_test(tc, answer_lost_while_restoring);
	tcase_add_test(tc, calls_that_the_vmm_refuses);
	tcase_add_test(tc, vmms_whose_pages_cannot_be_replaced);
	tcase_add_test(tc, a_file_for_copies_that_is_sealed);
	tcase_add_test(tc, ram_that_cannot_be_put_back);
	tcase_add_test(tc, a_window_is_of_whole_pages_of_ram);
	tcase_add_test(tc, a_window_spans_mappings);
	tcase_add_test(tc, a_truncated_window_does_not_kill);
}

int main(void)
{
	return run_suite("shadow", add_tests);
}
