/* The guardian against a stub that behaves as QEMU 7.2's does: stops at a connection and at any
 * byte that comes while it runs, answers packets in order, lets nobody go on by itself. */
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
#include "tests/lib/run_suite.h"
#include "vmm/qemu/guardian.h"
#include "vmm/qemu/rsp.h"

#define ENOUGH_NS (60 * HV_NS_PER_S) /* for a hold that shall not be over */

struct machine {
	_Atomic unsigned runs;
	_Atomic unsigned nr_stops;
	_Atomic unsigned nr_writes;
	_Atomic int phys;	   /* Qqemu.PhyMemMode */
	_Atomic unsigned delay_us; /* a packet */
	_Atomic int deaf;	   /* does not stop when asked */
	_Atomic unsigned wakes_at; /* at that packet from now; 0: does not */
	_Atomic int unheard; /* an answer that was not acknowledged: an interrupt is not seen */
};

static struct machine *m;
static char dir[32];
static char path[sizeof(dir) + 8];
static pid_t stub;

static void say(int fd, const char *payload)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	m->unheard = 1;
	hv_rsp_frame(&t, payload, strlen(payload));
	if (write(fd, t.data, t.len_bytes) < 0)
		_exit(0);
}

static void obey(int fd, const char *packet)
{
	bool goes_on = packet[0] == 'c';

	/* Before the guardian may tell anybody that it does. */
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
		obey(fd, packet->data);
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

/* Of what the guardian does by itself: as long as it takes, short of for ever. */
static bool comes(const _Atomic unsigned *what)
{
	for (unsigned ms = 0; ms < 20000 && !*what; ms++)
		usleep(1000);
	return *what;
}

#define EIGHT_NOPS "9090909090909090"

/* A thousand of them are twice what a pipe holds. */
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

/* Whatever came before: it can be held, and runs on. */
static void is_as_good_as_new(struct hv_guardian *g)
{
	uint64_t held_ns = 0;

	ok(hv_guardian_hold(g, ENOUGH_NS));
	ok(hv_guardian_release(g, &held_ns));
	ck_assert(comes(&m->runs));
}

START_TEST(hold_and_release)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(1000);
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, &g));
	ck_assert(comes(&m->runs));
	ok(hv_guardian_hold(g, ENOUGH_NS));
	ck_assert(!m->runs);
	ok(hv_guardian_exchange(g, &p, &answers));
	ck_assert_uint_eq(answers.nr, 1002);
	ck_assert_str_eq(answers.bytes.data, "OK");
	ck_assert_uint_eq(m->nr_writes, 1000);
	usleep(20000);
	ok(hv_guardian_release(g, &held_ns));
	ck_assert(comes(&m->runs));
	ck_assert_uint_ge(held_ns, 20 * HV_NS_PER_MS);
	fails(hv_guardian_release(g, &held_ns), EPIPE);
	ok(hv_guardian_hold(g, ENOUGH_NS));
	ok(hv_guardian_release(g, &held_ns));
	usleep(20000); /* nothing that is said to the running machine stops it */
	ck_assert_uint_eq(m->nr_stops, 2);
	ck_assert(m->runs);
	hv_guardian_free(g);
	ck_assert(m->runs);
}
END_TEST

START_TEST(too_long)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(1);
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, &g));
	ok(hv_guardian_hold(g, 50 * HV_NS_PER_MS));
	usleep(60000);
	ck_assert(comes(&m->runs));
	fails(hv_guardian_exchange(g, &p, &answers), ETIMEDOUT);
	ck_assert_uint_eq(m->nr_writes, 0);
	fails(hv_guardian_release(g, &held_ns), ETIMEDOUT);
	ck_assert_uint_ge(held_ns, 50 * HV_NS_PER_MS);
	is_as_good_as_new(g);
	hv_guardian_free(g);
}
END_TEST

/* Stands by itself; told to go on, it would do so without having woken up. */
static void fall_asleep(void)
{
	ck_assert(comes(&m->runs)); /* not in the middle of going on */
	m->runs = 0;
}

START_TEST(asleep)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(100);
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, &g));
	fall_asleep();
	for (unsigned i = 1; i <= 2; i++) {
		ok(hv_guardian_hold_asleep(g, ENOUGH_NS));
		fails(hv_guardian_hold_asleep(g, ENOUGH_NS), EBUSY);
		ok(hv_guardian_exchange(g, &p, &answers));
		ck_assert_uint_eq(m->nr_writes, 100 * i);
		ok(hv_guardian_release(g, &held_ns));
		usleep(20000);
		ck_assert(!m->runs); /* and was not made to */
	}
	ck_assert_uint_eq(m->nr_stops, 0);
	m->runs = 1; /* it wakes up */
	is_as_good_as_new(g);
	hv_guardian_free(g);
}
END_TEST

/* A hold whose end nobody tells: it sleeps on. */
START_TEST(asleep_for_too_long)
{
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, &g));
	fall_asleep();
	ok(hv_guardian_hold_asleep(g, 50 * HV_NS_PER_MS));
	usleep(100000);
	fails(hv_guardian_release(g, &held_ns), ETIMEDOUT);
	ck_assert(!m->runs);
	ck_assert(!m->phys);
	hv_guardian_free(g);
	ck_assert(!m->runs);
}
END_TEST

/* What is sent then stops it: it must run on. */
START_TEST(wakes_up_when_held_asleep)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(100);
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, &g));
	fall_asleep();
	m->wakes_at = 5;
	ok(hv_guardian_hold_asleep(g, 2 * HV_NS_PER_S));
	fails(hv_guardian_exchange(g, &p, &answers), ETIMEDOUT);
	ck_assert_uint_eq(m->nr_stops, 1);
	ck_assert(comes(&m->runs));
	fails(hv_guardian_release(g, &held_ns), ETIMEDOUT);
	is_as_good_as_new(g);
	hv_guardian_free(g);
}
END_TEST

/* The stop that it was asked for never comes: it is not waited for, and all can be taken back. */
START_TEST(falls_asleep_when_asked_to_stop)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(100);
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, &g));
	fall_asleep();
	fails(hv_guardian_hold(g, ENOUGH_NS), EBUSY);
	ok(hv_guardian_hold_asleep(g, ENOUGH_NS));
	ok(hv_guardian_exchange(g, &p, &answers));
	ck_assert_uint_eq(m->nr_writes, 100);
	ok(hv_guardian_release(g, &held_ns));
	ck_assert(!m->runs);
	m->runs = 1; /* it wakes up */
	is_as_good_as_new(g);
	hv_guardian_free(g);
}
END_TEST

START_TEST(over_in_the_middle)
{
	HV_AUTO_PACKETS struct hv_packets p = writes(2000);
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, &g));
	m->delay_us = 100;
	ok(hv_guardian_hold(g, 50 * HV_NS_PER_MS));
	fails(hv_guardian_exchange(g, &p, &answers), ETIMEDOUT);
	ck_assert(comes(&m->runs));
	ck_assert(!m->phys);
	fails(hv_guardian_release(g, &held_ns), ETIMEDOUT);
	hv_guardian_free(g);
	ck_assert(m->runs);
}
END_TEST

/* A service that holds, says so and stays. */
static pid_t service_that_holds(int *ret_guardian)
{
	int ends[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		struct hv_guardian *g = NULL;
		struct hv_err *err = hv_guardian_start(path, &g);
		int said;

		if (!err)
			err = hv_guardian_hold(g, ENOUGH_NS);
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
	for (int sig = 1; sig < 16; sig += 14) { /* SIGHUP, SIGTERM: not for the guardian */
		kill(guardian, sig);
		usleep(20000);
		ck_assert(!m->runs);
	}
	kill(service, SIGKILL);
	waitpid(service, NULL, 0);
	ck_assert(comes(&m->runs));
	for (int i = 0; i < 1000 && !kill(guardian, 0); i++) /* gone, once init has reaped it */
		usleep(1000);
}
END_TEST

START_TEST(guardian_killed)
{
	struct hv_guardian *g = NULL;
	uint64_t held_ns = 0;

	ok(hv_guardian_start(path, &g));
	ck_assert(hv_guardian_is_alive(g));
	ok(hv_guardian_hold(g, ENOUGH_NS));
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

	ok(hv_guardian_start(path, &g));
	kill(stub, SIGKILL);
	waitid(P_PID, (id_t)stub, &ended, WEXITED | WNOWAIT);
	/* The guardian has seen it by now, or does so when it asks for a stop. */
	err = hv_guardian_hold(g, ENOUGH_NS);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	fails(hv_guardian_hold(g, ENOUGH_NS), EBUSY);
	fails(hv_guardian_release(g, &held_ns), EPIPE);
	hv_guardian_free(g);
}
END_TEST

START_TEST(no_stub)
{
	struct hv_guardian *g = NULL;

	fails(hv_guardian_start("/nonexistent/s", &g), ENOENT);
	ck_assert_ptr_null(g);
}
END_TEST

/* Asked to stop, does so only after the service has given up. */
START_TEST(late_stop)
{
	struct hv_guardian *g = NULL;

	ok(hv_guardian_start(path, &g));
	m->deaf = 1;
	fails(hv_guardian_hold(g, ENOUGH_NS), EBUSY);
	ck_assert_uint_eq(m->nr_stops, 0);
	m->deaf = 0;
	ck_assert(comes(&m->nr_stops));
	ck_assert_uint_eq(m->nr_stops, 1);
	ck_assert(comes(&m->runs));
	ok(hv_guardian_hold(g, ENOUGH_NS));
	hv_guardian_free(g);
	ck_assert(comes(&m->runs));
}

/* The same, and the service dies before. */
START_TEST(late_stop_alone)
{
	struct hv_guardian *g = NULL;

	ok(hv_guardian_start(path, &g));
	m->deaf = 1;
	fails(hv_guardian_hold(g, ENOUGH_NS), EBUSY);
	hv_guardian_free(g);
	m->deaf = 0;
	ck_assert(comes(&m->nr_stops));
	ck_assert_uint_eq(m->nr_stops, 1);
	ck_assert(comes(&m->runs));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, hold_and_release);
	tcase_add_test(tc, too_long);
	tcase_add_test(tc, asleep);
	tcase_add_test(tc, asleep_for_too_long);
	tcase_add_test(tc, wakes_up_when_held_asleep);
	tcase_add_test(tc, falls_asleep_when_asked_to_stop);
	tcase_add_test(tc, over_in_the_middle);
	tcase_add_test(tc, service_killed);
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
