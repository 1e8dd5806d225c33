/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service is stopped during a hold, between its last check of the hold's age and its writes.
 * The hold times out, and the service must not write into the guest that runs again.
 *
 * The VMM is a process with a guest on this host's KVM. The service and its keeper are processes,
 * too. Only the monitor's answers come from the test. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/kvm/machine.h"
#include "tests/lib/run_suite.h"
#include "vmm/inject/inject.h"
#include "vmm/qemu/machine.h"

#define HOLD_NS	    (300 * HV_NS_PER_MS)
#define COUNT_OFF   MACHINE_FREE_OFF
#define WORD_OFF    (MACHINE_FREE_OFF + 0x100)
#define SITE_OFF    (MACHINE_FREE_OFF + 0x200)
#define SITE_LEN    5u
#define ENOUGH_NS   (20 * HV_NS_PER_S)
#define AS_EXPECTED 0
#define AS_NOT	    1

static pid_t vmm;
static uint64_t memory; /* address of the guest's memory in the VMM */

static const uint8_t nop[SITE_LEN] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static const uint8_t call[SITE_LEN] = {0xe8, 0x11, 0x22, 0x33, 0x44};

/* ---- the VMM ---- */

static _Noreturn void run_guest(int said)
{
	/* l: incq COUNT; jmp l */
	static const uint8_t code[] = {0x48, 0xff, 0x07, 0xeb, 0xfb};
	struct kvm_regs regs = {.rip = machine_gva(MACHINE_TEXT_OFF).v,
				.rdi = machine_gva(COUNT_OFF).v,
				.rflags = 2};
	const char *lack;
	struct machine *m = machine_new(&lack);
	unsigned port;

	if (!m || write(said, &m->memory, sizeof(m->memory)) < 0)
		_exit(1);
	memcpy(m->memory + MACHINE_TEXT_OFF, code, sizeof(code));
	memcpy(m->memory + SITE_OFF, nop, SITE_LEN);
	machine_set_regs(m, &regs, hv_gva(0));
	for (;;)
		machine_run(m, &port);
}

static void read_guest(uint64_t off, void *to, size_t len)
{
	struct iovec ours = {to, len}, theirs = {(void *)(uintptr_t)(memory + off), len};

	ck_assert_int_eq(process_vm_readv(vmm, &ours, 1, &theirs, 1, 0), len);
}

static uint64_t word_at(uint64_t off)
{
	uint64_t word;

	read_guest(off, &word, sizeof(word));
	return word;
}

static bool runs(void)
{
	uint64_t before = word_at(COUNT_OFF), until_ns = hv_now_ns() + ENOUGH_NS;

	while (word_at(COUNT_OFF) == before && hv_now_ns() < until_ns)
		usleep(1000);
	return word_at(COUNT_OFF) != before;
}

/* ---- the service ---- */

static struct hv_err *transact(void *self hv_unused, const char *request, char **ret)
{
	if (strstr(request, "query-cpus-fast"))
		*ret = hv_format("{\"return\": [{\"thread-id\": %d}]}", (int)vmm);
	else if (strstr(request, "query-status"))
		*ret = hv_strdup("{\"return\": {\"running\": true}}");
	else
		*ret = hv_strdup("{\"return\": []}");
	return NULL;
}

static void free_nothing(void *self hv_unused)
{
}

static const struct hv_monitor_ops ops = {.free = free_nothing, .transact = transact};

static struct hv_machine *make_machine(int is_mapped)
{
	struct hv_machine *m = hv_alloc(sizeof(*m));
	struct hv_ram_range *range = hv_alloc(sizeof(*range));
	struct hv_piece piece = {0};

	m->monitor = hv_parser_relay(hv_monitor_new(&ops, NULL));
	m->monitor_kind = hv_strdup("test");
	m->name = hv_strdup("test");
	m->id = hv_strdup("test");
	m->process.pid = vmm;
	m->pidfd = pidfd_open(vmm, 0);
	m->memory = hv_process_memory_new(vmm, m->pidfd);
	m->accel = HV_ACCEL_KVM;
	m->arch = &hv_arch_x86_64;
	m->nr_vcpus = 1;
	m->region.fd = -1;
	hv_err_free(hv_process_memory_piece(m->memory, memory, MACHINE_LEN, &piece));
	*range = (struct hv_ram_range){
		.len_bytes = MACHINE_LEN, .hva = memory, .host = is_mapped ? piece.host : NULL};
	m->ram = (struct hv_ram){
		.process = m->memory, .ranges = range, .nr_ranges = 1, .len_bytes = MACHINE_LEN};
	return m;
}

static int is_late(struct hv_err *err, const char *what)
{
	int late = err && err->code == ETIMEDOUT;

	printf("%s: %s\n", what, err ? err->message : "was done");
	hv_err_free(err);
	return late;
}

static struct hv_err *write_word(struct hv_hold *hold)
{
	uint64_t to = 0x7777;
	struct hv_hold_write w = {.gpa = hv_gpa(WORD_OFF), .len_bytes = sizeof(to)};

	memcpy(w.bytes, &to, sizeof(to));
	return hv_hold_write(hold, &w, 1);
}

static struct hv_err *write_site(struct hv_hold *hold)
{
	struct hv_hold_write w = {.gpa = hv_gpa(SITE_OFF), .len_bytes = SITE_LEN};

	memcpy(w.bytes, call, SITE_LEN);
	return hv_hold_write(hold, &w, 1);
}

/* Starts a hold and writes. If STOPS, stops itself before the writes. Returns the exit status of
 * the process. */
static int hold_and_write(int is_mapped, int stops)
{
	HV_AUTO_GUEST struct hv_guest *g = NULL;
	struct hv_hold *hold = NULL;
	struct hv_vmm its_vmm = hv_machine_vmm(make_machine(is_mapped));
	struct hv_err *err = hv_inject_guest(&its_vmm, &g);
	int word, site, end;

	if (!err)
		err = hv_guest_prepare_hold(g);
	if (!err)
		err = hv_hold_begin(g, stops ? HOLD_NS : ENOUGH_NS, &hold);
	if (!err)
		err = hv_hold_check(hold);
	if (err) {
		printf("no hold: %s\n", err->message);
		hv_err_free(err);
		return AS_NOT;
	}
	if (stops)
		raise(SIGSTOP);
	word = is_late(write_word(hold), "word");
	site = is_late(write_site(hold), "site");
	end = is_late(hv_hold_end(hold, NULL), "end");
	return word == stops && site == stops && end == stops ? AS_EXPECTED : AS_NOT;
}

static pid_t start_service(int is_mapped, int stops)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		exit(hold_and_write(is_mapped, stops));
	return pid;
}

/* ---- cases ---- */

static void setup(void)
{
	int said[2];

	ck_assert_int_eq(pipe(said), 0);
	vmm = fork();
	if (vmm == 0)
		run_guest(said[1]);
	ck_assert_int_eq(read(said[0], &memory, sizeof(memory)), sizeof(memory));
	ck_assert(runs());
}

static void teardown(void)
{
	kill(vmm, SIGKILL);
	waitpid(vmm, NULL, 0);
}

static void expect(uint64_t word, const uint8_t *site)
{
	uint8_t now[SITE_LEN];

	ck_assert_uint_eq(word_at(WORD_OFF), word);
	read_guest(SITE_OFF, now, SITE_LEN);
	ck_assert_mem_eq(now, site, SITE_LEN);
}

static void expect_end(pid_t service)
{
	int status = -1;

	ck_assert_int_eq(waitpid(service, &status, 0), service);
	ck_assert_int_eq(status, AS_EXPECTED);
}

static const int kinds_of_ram[] = {0, 1};

START_TEST(writes_in_time)
{
	expect_end(start_service(kinds_of_ram[_i], 0));
	expect(0x7777, call);
	ck_assert(runs());
}
END_TEST

START_TEST(nothing_is_written_late)
{
	pid_t service = start_service(kinds_of_ram[_i], 1);
	int status = -1;

	ck_assert_int_eq(waitpid(service, &status, WUNTRACED), service);
	ck_assert(WIFSTOPPED(status));
	ck_assert(runs()); /* because the keeper has ended the hold */
	expect(0, nop);
	kill(service, SIGCONT);
	expect_end(service);
	expect(0, nop);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, writes_in_time, 0, 2);
	tcase_add_loop_test(tc, nothing_is_written_late, 0, 2);
}

int main(void)
{
	const char *lack;

	struct machine *m = machine_new(&lack);

	if (!m) {
		printf("skip: %s\n", lack);
		return 77;
	}
	machine_free(m);
	return run_suite("late_writes", add_tests);
}
