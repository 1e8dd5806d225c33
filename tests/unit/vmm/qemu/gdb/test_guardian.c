/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guardian with a gdb stub that behaves like QEMU 7.2's: it stops the guest on a connection and
 * on any byte received while the guest runs, answers packets in order, and resumes the guest only
 * on request. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "vmm/helper.h"
#include "vmm/qemu/gdb/gdb_stub.h"
#include "vmm/qemu/gdb/guardian.h"

#define ENOUGH_NS (60 * HV_NS_PER_S) /* for a hold that must not time out */

struct machine {
	_Atomic unsigned runs;
	_Atomic unsigned nr_stops;
	_Atomic unsigned nr_writes;
	_Atomic int phys;	   /* Qqemu.PhyMemMode */
	_Atomic unsigned delay_us; /* per packet */
	_Atomic int deaf;	   /* does not stop on request */
	_Atomic unsigned wakes_at; /* packets until the guest wakes up; 0: it does not */
	_Atomic int to_kill;	   /* a process to kill when the stub is connected; 0: none */
	_Atomic int unheard;	   /* an unacknowledged answer hides interrupts */
};

static struct machine *m;
static char dir[32];
static char path[sizeof(dir) + 8];
static pid_t stub, vmm;

static void say(int fd, const char *payload)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	m->unheard = 1;
	hv_rsp_frame(&t, payload, strlen(payload));
	if (write(fd, t.data, t.len_bytes) < 0)
		_exit(0);
}

static void run_command(int fd, const char *packet)
{
	bool goes_on = packet[0] == 'c';

	/* Set before the acknowledgement: after it, the guardian may report that the guest runs. */
	if (goes_on) {
		m->runs = 1;
		m->unheard = 0;
	}
	if (write(fd, "+", 1) < 0)
		_exit(0);
	if (goes_on)
		return;
	if (m->delay_us)
		usleep(m->delay_us);
	if (packet[0] == 'M')
		m->nr_writes++;
	if (!strncmp(packet, "Qqemu.PhyMemMode:", 17))
		m->phys = packet[17] == '1';
	say(fd, packet[0] == 'q' ? "PacketSize=1000" : "OK");
}

static void take_byte(int fd, char c, struct hv_text *packet, int *state)
{
	if (m->wakes_at && c == '$' && !--m->wakes_at) {
		m->runs = 1;
	}
	if (m->runs && m->unheard && c != '$') {
		m->unheard = c != '+';
	} else if (m->runs) {
		while (m->deaf)
			usleep(1000);
		m->runs = 0;
		m->nr_stops++;
		say(fd, "T02thread:01;");
	} else if (c == '+' && *state == 0) {
		m->unheard = 0;
	} else if (c == '$' && *state == 0) {
		hv_text_clear(packet);
		*state = 1;
	} else if (*state == 1 && c == '#') {
		*state = 2;
	} else if (*state == 1) {
		hv_text_add_bytes(packet, &c, 1);
	} else if (*state == 2) {
		*state = 3;
	} else if (*state == 3) {
		*state = 0;
		run_command(fd, packet->data);
	}
}

static _Noreturn void be_stub(int listener)
{
	struct hv_text packet = {0};
	int fd, state = 0;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = accept(listener, NULL, NULL);
	m->runs = 0;
	if (m->to_kill)
		kill(m->to_kill, SIGKILL);
	while (read(fd, &c, 1) == 1)
		take_byte(fd, c, &packet, &state);
	_exit(0);
}

static void setup(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	m->runs = 1;
	vmm = getpid(); /* this process listens */
	strcpy(dir, "/tmp/hvtrace-guardian-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	memcpy(address.sun_path, path, strlen(path));
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	stub = fork();
	if (!stub)
		be_stub(listener);
	close(listener);
}

static void teardown(void)
{
	kill(stub, SIGKILL);
	waitpid(stub, NULL, 0);
	unlink(path);
	rmdir(dir);
}

static void ok(struct hv_err *err)
{
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void fails(struct hv_err *err, int code)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(err->code == code, "%d: %s", err->code, err->message);
	hv_err_free(err);
}

/* Waits for an action that the guardian takes by itself. The limit is long because the host may be
 * loaded. */
static bool comes(const _Atomic unsigned *what)
{
	for (unsigned ms = 0; ms < 20000 && !*what; ms++)
		usleep(1000);
	return *what;
}

#define EIGHT_NOPS "9090909090909090"

/* A thousand of these are twice the size of a pipe. */
static struct hv_packets writes(size_t nr)
{
	struct hv_packets p = {0};

	hv_packets_add(&p, "Qqemu.PhyMemMode:1");
	for (size_t i = 0; i < nr; i++)
		hv_packets_add(&p, "M1000,40:" EIGHT_NOPS EIGHT_NOPS EIGHT_NOPS EIGHT_NOPS
					   EIGHT_NOPS EIGHT_NOPS EIGHT_NOPS EIGHT_NOPS);
	hv_packets_add(&p, "Qqemu.PhyMemMode:0");
	return p;
}

/* The guest can be held and continues afterwards, whatever happened before. */
static void is_as_good_as_new(struct hv_guardian *g)
{
	uint64_t held_ns = 0;

	ok(hv_guardian_hold(g, ENOUGH_NS, NULL));
	ok(hv_guardian_release(g, &held_ns));
	ck_assert(comes(&m->runs));
}

START_TEST(hold_and_release)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(1000);
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, vmm, &g));
	ck_assert(comes(&m->runs));
	ok(hv_guardian_hold(g, ENOUGH_NS, NULL));
	ck_assert(!m->runs);
	ok(hv_guardian_execute(g, &p));
	ck_assert_uint_eq(m->nr_writes, 1000);
	usleep(20000);
	ok(hv_guardian_release(g, &held_ns));
	ck_assert(comes(&m->runs));
	ck_assert_uint_ge(held_ns, 20 * HV_NS_PER_MS);
	expect_error(hv_guardian_release(g, &held_ns), EPIPE, "guardian: the guest is not held");
	expect_error(hv_guardian_flush(g), EINVAL,
		     "guardian: hvtrace does not know the registers of this architecture");
	ok(hv_guardian_hold(g, ENOUGH_NS, NULL));
	ok(hv_guardian_release(g, &held_ns));
	usleep(20000); /* no byte to the running guest stops it */
	ck_assert_uint_eq(m->nr_stops, 2);
	ck_assert(m->runs);
	hv_guardian_free(g);
	ck_assert(m->runs);
}
END_TEST

START_TEST(a_hold_that_takes_too_long)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(1);
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, vmm, &g));
	ok(hv_guardian_hold(g, 50 * HV_NS_PER_MS, NULL));
	usleep(60000);
	ck_assert(comes(&m->runs));
	expect_error(hv_guardian_execute(g, &p), ETIMEDOUT, "guardian: the hold timed out after");
	ck_assert_uint_eq(m->nr_writes, 0);
	expect_error(hv_guardian_release(g, &held_ns), ETIMEDOUT,
		     "guardian: the hold timed out after");
	ck_assert_uint_ge(held_ns, 50 * HV_NS_PER_MS);
	is_as_good_as_new(g);
	hv_guardian_free(g);
}
END_TEST

/* Puts the guest to sleep: its vCPUs stop by themselves. If the guardian resumed it, it would run
 * without having woken up. */
static void fall_asleep(void)
{
	ck_assert(comes(&m->runs)); /* not while the guest is being resumed */
	m->runs = 0;
}

START_TEST(asleep)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(100);
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, vmm, &g));
	fall_asleep();
	for (unsigned i = 1; i <= 2; i++) {
		ok(hv_guardian_hold_asleep(g, ENOUGH_NS, NULL));
		fails(hv_guardian_hold_asleep(g, ENOUGH_NS, NULL), EBUSY);
		ok(hv_guardian_execute(g, &p));
		ck_assert_uint_eq(m->nr_writes, 100 * i);
		ok(hv_guardian_release(g, &held_ns));
		usleep(20000);
		ck_assert(!m->runs); /* the guardian did not resume it */
	}
	ck_assert_uint_eq(m->nr_stops, 0);
	m->runs = 1; /* the guest wakes up */
	is_as_good_as_new(g);
	hv_guardian_free(g);
}
END_TEST

/* A hold of a sleeping guest times out: the guest stays asleep. */
START_TEST(asleep_for_too_long)
{
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, vmm, &g));
	fall_asleep();
	ok(hv_guardian_hold_asleep(g, 50 * HV_NS_PER_MS, NULL));
	usleep(100000);
	fails(hv_guardian_release(g, &held_ns), ETIMEDOUT);
	ck_assert(!m->runs);
	ck_assert(!m->phys);
	hv_guardian_free(g);
	ck_assert(!m->runs);
}
END_TEST

/* A packet stops the guest that has woken up, so the guardian must resume it. */
START_TEST(wakes_up_when_held_asleep)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(100);
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, vmm, &g));
	fall_asleep();
	m->wakes_at = 5;
	ok(hv_guardian_hold_asleep(g, 2 * HV_NS_PER_S, NULL));
	fails(hv_guardian_execute(g, &p), ETIMEDOUT);
	ck_assert_uint_eq(m->nr_stops, 1);
	ck_assert(comes(&m->runs));
	fails(hv_guardian_release(g, &held_ns), ETIMEDOUT);
	is_as_good_as_new(g);
	hv_guardian_free(g);
}
END_TEST

/* Another process has paused the guest, so the interrupt has no effect. The guardian must not take
 * the next pause for its own. */
START_TEST(paused_when_asked_to_stop)
{
	struct hv_guardian *g = NULL;

	ok(hv_guardian_start(path, vmm, &g));
	ck_assert_int_eq(hv_guardian_state(g), HV_GUARDIAN_RUNS);
	fall_asleep(); /* to the stub, a paused guest looks the same */
	fails(hv_guardian_hold(g, ENOUGH_NS, NULL), EBUSY);
	ck_assert_int_eq(hv_guardian_state(g), HV_GUARDIAN_STOPPING);
	hv_guardian_forget_stop(g);
	ck_assert_int_eq(hv_guardian_state(g), HV_GUARDIAN_RUNS);
	m->runs = 1;
	is_as_good_as_new(g);
	hv_guardian_free(g);
}
END_TEST

/* The stop has arrived, but the guardian did not run. The guardian must remember it, because it
 * alone can resume the guest. */
START_TEST(a_stop_that_has_come_is_not_forgotten)
{
	struct hv_guardian *g = NULL;
	pid_t pid;

	ok(hv_guardian_start(path, vmm, &g));
	ck_assert(comes(&m->runs));
	m->deaf = 1;
	fails(hv_guardian_hold(g, ENOUGH_NS, NULL), EBUSY);
	kill(hv_guardian_pid(g), SIGSTOP);
	ck_assert_int_eq(waitpid(hv_guardian_pid(g), NULL, WUNTRACED), hv_guardian_pid(g));
	m->deaf = 0;
	ck_assert(comes(&m->nr_stops));
	usleep(50000); /* the stub sends its reply */
	pid = fork();
	if (!pid) {
		usleep(100000); /* the request is sent */
		kill(hv_guardian_pid(g), SIGCONT);
		_exit(0);
	}
	hv_guardian_forget_stop(g);
	waitpid(pid, NULL, 0);
	ck_assert(comes(&m->runs));
	ck_assert_int_eq(hv_guardian_state(g), HV_GUARDIAN_RUNS);
	is_as_good_as_new(g);
	hv_guardian_free(g);
}
END_TEST

/* The requested stop never arrives. The guardian does not wait for it: it can hold the sleeping
 * guest. */
START_TEST(falls_asleep_when_asked_to_stop)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(100);
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, vmm, &g));
	fall_asleep();
	fails(hv_guardian_hold(g, ENOUGH_NS, NULL), EBUSY);
	ok(hv_guardian_hold_asleep(g, ENOUGH_NS, NULL));
	ok(hv_guardian_execute(g, &p));
	ck_assert_uint_eq(m->nr_writes, 100);
	ok(hv_guardian_release(g, &held_ns));
	ck_assert(!m->runs);
	m->runs = 1; /* the guest wakes up */
	is_as_good_as_new(g);
	hv_guardian_free(g);
}
END_TEST

START_TEST(a_timeout_during_writes)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(2000);
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, vmm, &g));
	m->delay_us = 100;
	ok(hv_guardian_hold(g, 50 * HV_NS_PER_MS, NULL));
	fails(hv_guardian_execute(g, &p), ETIMEDOUT);
	ck_assert(comes(&m->runs));
	ck_assert(!m->phys);
	fails(hv_guardian_release(g, &held_ns), ETIMEDOUT);
	hv_guardian_free(g);
	ck_assert(m->runs);
}
END_TEST

/* Makes a service that begins a hold, reports it and does nothing more. */
static pid_t service_that_holds(int *ret_guardian)
{
	int ends[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		struct hv_guardian *g = NULL;
		struct hv_err *err = hv_guardian_start(path, vmm, &g);
		int said;

		if (!err)
			err = hv_guardian_hold(g, ENOUGH_NS, NULL);
		said = err ? -1 : (int)hv_guardian_pid(g);
		if (write(ends[1], &said, sizeof(said)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(ends[0], ret_guardian, sizeof(*ret_guardian)), sizeof(int));
	close(ends[0]);
	close(ends[1]);
	return pid;
}

START_TEST(service_killed)
{
	int guardian = -1;
	pid_t service = service_that_holds(&guardian);

	ck_assert_int_gt(guardian, 0);
	ck_assert(!m->runs);
	for (int sig = 1; sig < 16; sig += 14) { /* the guardian ignores SIGHUP and SIGTERM */
		kill(guardian, sig);
		usleep(20000);
		ck_assert(!m->runs);
	}
	kill(service, SIGKILL);
	waitpid(service, NULL, 0);
	ck_assert(comes(&m->runs));
	for (int i = 0; i < 1000 && !kill(guardian, 0); i++) /* until init has reaped it */
		usleep(1000);
}
END_TEST

/* A request that it does not know must not end it before it has resumed the guest. */
START_TEST(an_unknown_request)
{
	const struct guardian_request request = {.op = GUARDIAN_FORGET + 1};
	struct hv_guardian *g = NULL;
	int control;

	ok(hv_guardian_start(path, vmm, &g));
	ck_assert(comes(&m->runs));
	ok(hv_guardian_hold(g, ENOUGH_NS, NULL));
	ck_assert_uint_eq(m->runs, 0);
	control = ((const struct hv_helper *)g)->control; /* the first member (guardian.c) */
	ck_assert_int_eq(send(control, &request, sizeof(request), 0), sizeof(request));
	ck_assert(comes(&m->runs));
	hv_guardian_free(g);
}
END_TEST

/* The stub stops the guest when the service connects, and the service dies at this moment. */
START_TEST(service_killed_while_it_connects)
{
	pid_t service = fork();

	if (!service) {
		struct hv_guardian *g = NULL;

		m->to_kill = getpid();
		hv_err_free(hv_guardian_start(path, vmm, &g));
		pause();
	}
	waitpid(service, NULL, 0);
	ck_assert(comes(&m->runs));
}
END_TEST

START_TEST(guardian_killed)
{
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, vmm, &g));
	ck_assert(hv_guardian_is_alive(g));
	ok(hv_guardian_hold(g, ENOUGH_NS, NULL));
	kill(hv_guardian_pid(g), SIGKILL);
	fails(hv_guardian_release(g, &held_ns), EPIPE);
	ck_assert(!hv_guardian_is_alive(g));
	hv_guardian_free(g);
}
END_TEST

START_TEST(stub_gone)
{
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;
	struct hv_err *err;
	siginfo_t ended;

	ok(hv_guardian_start(path, vmm, &g));
	kill(stub, SIGKILL);
	waitid(P_PID, (id_t)stub, &ended, WEXITED | WNOWAIT);
	/* The guardian has noticed the end of the stub, or notices it when it requests a stop. */
	err = hv_guardian_hold(g, ENOUGH_NS, NULL);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	fails(hv_guardian_hold(g, ENOUGH_NS, NULL), EBUSY);
	fails(hv_guardian_release(g, &held_ns), EPIPE);
	hv_guardian_free(g);
}
END_TEST

START_TEST(no_stub)
{
	struct hv_guardian *g = NULL;

	fails(hv_guardian_start("/nonexistent/s", vmm, &g), ENOENT);
	ck_assert_ptr_null(g);
}
END_TEST

/* The guest stops only after the service has given up. */
START_TEST(late_stop)
{
	struct hv_guardian *g = NULL;

	ok(hv_guardian_start(path, vmm, &g));
	m->deaf = 1;
	fails(hv_guardian_hold(g, ENOUGH_NS, NULL), EBUSY);
	ck_assert_uint_eq(m->nr_stops, 0);
	m->deaf = 0;
	ck_assert(comes(&m->nr_stops));
	ck_assert_uint_eq(m->nr_stops, 1);
	ck_assert(comes(&m->runs));
	ok(hv_guardian_hold(g, ENOUGH_NS, NULL));
	hv_guardian_free(g);
	ck_assert(comes(&m->runs));
}

/* As above, but the service has ended before the stop. */
START_TEST(late_stop_alone)
{
	struct hv_guardian *g = NULL;

	ok(hv_guardian_start(path, vmm, &g));
	m->deaf = 1;
	fails(hv_guardian_hold(g, ENOUGH_NS, NULL), EBUSY);
	hv_guardian_free(g);
	m->deaf = 0;
	ck_assert(comes(&m->nr_stops));
	ck_assert_uint_eq(m->nr_stops, 1);
	ck_assert(comes(&m->runs));
}
END_TEST

START_TEST(no_rights)
{
	struct hv_guardian *g = NULL;
	char file[64], line[256];
	unsigned uid = 0, seccomp = 0;
	unsigned long long caps = 1;
	FILE *f;

	ok(hv_guardian_start(path, vmm, &g));
	snprintf(file, sizeof(file), "/proc/%d/status", (int)hv_guardian_pid(g));
	f = fopen(file, "re");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "Uid:\t%u", &uid);
		sscanf(line, "CapPrm:\t%llx", &caps);
		sscanf(line, "Seccomp:\t%u", &seccomp);
	}
	fclose(f);
	ck_assert_uint_ne(uid, 0);
	ck_assert_uint_eq(caps, 0);
	ck_assert_uint_eq(seccomp, 2);
	hv_guardian_free(g);
}
END_TEST

/* The VMM may have replaced the socket by another process's. */
START_TEST(a_socket_of_another_process)
{
	struct hv_guardian *g = NULL;

	fails(hv_guardian_start(path, 1, &g), ESRCH);
	ck_assert_ptr_null(g);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, no_rights);
	tcase_add_test(tc, a_socket_of_another_process);
	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, hold_and_release);
	tcase_add_test(tc, a_hold_that_takes_too_long);
	tcase_add_test(tc, asleep);
	tcase_add_test(tc, asleep_for_too_long);
	tcase_add_test(tc, wakes_up_when_held_asleep);
	tcase_add_test(tc, paused_when_asked_to_stop);
	tcase_add_test(tc, a_stop_that_has_come_is_not_forgotten);
	tcase_add_test(tc, falls_asleep_when_asked_to_stop);
	tcase_add_test(tc, a_timeout_during_writes);
	tcase_add_test(tc, service_killed);
	tcase_add_test(tc, an_unknown_request);
	tcase_add_test(tc, service_killed_while_it_connects);
	tcase_add_test(tc, guardian_killed);
	tcase_add_test(tc, stub_gone);
	tcase_add_test(tc, no_stub);
	tcase_add_test(tc, late_stop);
	tcase_add_test(tc, late_stop_alone);
}

int main(void)
{
	return run_suite("guardian", add_tests);
}
