/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peers and libraries that fail in ways which no transcript (tests/golden) can produce: another
 * process of hvtrace answers wrongly or not at all, a machine ends early, libtracecmd gives up. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <trace-cmd/trace-cmd.h>

#include "cli/errand.h"
#include "cli/service/config.h"
#include "cli/service/service.h"
#include "cli/verbs/report/libraries.h"
#include "cli/verbs/run/session.h"
#include "cli/service/frames.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/part_guest.h"
#include "tests/lib/run_suite.h"
#include "vmm/broker/channel.h"

/* -- the errand process ------------------------------------------------------------------------ */

START_TEST(a_session_that_has_ended)
{
	char dir[] = "/tmp/hvtrace-refusals-XXXXXX", id[] = "absent";
	const struct hv_message what = {
		.kind = SESSIONS_CONNECT, .bytes = (uint8_t *)id, .len_bytes = sizeof(id)};
	struct hv_message ret = {0};

	ck_assert_ptr_nonnull(mkdtemp(dir));
	expect_error(sessions_run(dir, &what, &ret), ENOTCONN, "no session of that id");
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

static void *answer_without_a_file(void *socket)
{
	HV_AUTO_MESSAGE struct hv_message question = {0};

	expect_success(hv_channel_receive(*(int *)socket, &question));
	expect_success(hv_channel_answer(*(int *)socket, NULL, &(struct hv_message){0}));
	return NULL;
}

START_TEST(a_connection_that_was_not_passed)
{
	struct errand e = ERRAND_NONE;
	struct client c = CLIENT_NONE;
	pthread_t thread;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	e.socket = ends[0];
	ck_assert_int_eq(pthread_create(&thread, NULL, answer_without_a_file, &ends[1]), 0);
	expect_error(sessions_connect(&e, "web1", &c), EPROTO,
		     "domain 'web1': the helper process sent no connection to the session");
	pthread_join(thread, NULL);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* -- the service ------------------------------------------------------------------------------- */

START_TEST(a_service_that_sends_garbage)
{
	struct service_child c = SERVICE_CHILD_NONE;
	char *line = NULL;
	bool has_attached;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	c.report_fd = ends[0];
	ck_assert_int_eq(write(ends[1], "this is no frame of the protocol", 32), 32);
	expect_error(service_hear(&c, &line, &has_attached), EPROTO,
		     "the service sent a reply that cannot be understood");
	service_child_close(&c);
	close(ends[1]);
}
END_TEST

/* -- the session of a machine of `hvtrace run` ------------------------------------------------- */

static struct service_machine machine;
static int reports = -1; /* the service's end of its reports */
static time_t late_s;	 /* each reading advances the clock by this */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
struct hv_err *__wrap_service_fork(const struct service_config *config, struct service_child *ret);
int __wrap_hv_minivm_end_fd(const struct hv_minivm *o);
bool __wrap_hv_minivm_is_patched(struct hv_minivm *o);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	static time_t passed_s;
	int failed = __real_clock_gettime(clock, ret);

	passed_s += late_s;
	ret->tv_sec += passed_s;
	return failed;
}

struct hv_err *__wrap_service_fork(const struct service_config *config, struct service_child *ret)
{
	int ends[2];

	machine = *config->machine;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ret->report_fd = ends[0];
	reports = ends[1];
	return NULL;
}

int __wrap_hv_minivm_end_fd(const struct hv_minivm *o hv_unused)
{
	return -1;
}

bool __wrap_hv_minivm_is_patched(struct hv_minivm *o hv_unused)
{
	return false;
}

static struct hv_err *begin(void *ret)
{
	const struct service_config config = {.spec = "vm1"};

	return run_session_new(NULL, &config, 0, ret);
}

START_TEST(no_sockets)
{
	static const struct failing_call no_socket[] = {{SCMP_SYS(socketpair), EMFILE}, {0}};
	static const struct failing_call no_flags[] = {
		{SCMP_SYS(fcntl), EINVAL, {1, SCMP_CMP_EQ, F_SETFL, 0}}, {0}};
	struct run_session *s = NULL;

	expect_failure(
		no_socket, begin, &s, EMFILE,
		"cannot connect the machine to its session: socketpair: Too many open files");
	expect_failure(no_flags, begin, &s, EINVAL,
		       "cannot connect the machine to its session: fcntl: Invalid argument");
}
END_TEST

static struct hv_guest *a_guest(void)
{
	static struct hv_guest_ops ops;
	static const struct hv_guest_info info = {
		.name = "vm1", .id = "vm1", .nr_vcpus = 1, .arch = &hv_arch_x86_64};

	return part_guest_new(&ops, NULL, &info);
}

static void say(void *ctx hv_unused, const char *line hv_unused)
{
}

static void tell(const char *line hv_unused)
{
}

START_TEST(a_machine_that_ends_at_once)
{
	struct hv_guest *g = a_guest();
	struct run_session *s = NULL;
	int ended[2];

	expect_success(begin(&s));
	ck_assert_int_eq(pipe(ended), 0);
	close(ended[1]);
	machine.end_fd = ended[0];
	expect_error(machine.until_up(g, &machine, say, NULL), ECANCELED,
		     "the machine ended before its kernel was up");
	close(ended[0]);
	close(reports);
	run_session_free(s);
	hv_guest_free(g);
}
END_TEST

static void report(enum wire_kind kind, unsigned nr)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	for (unsigned i = 0; i < nr; i++)
		wire_encode(&text, &(struct wire_frame){.kind = kind,
							.data = {(const uint8_t *)"line", 4}});
	ck_assert_int_eq(write(reports, text.data, text.len_bytes), (ssize_t)text.len_bytes);
}

START_TEST(a_service_that_reports_for_ever)
{
	struct hv_guest *g = a_guest();
	struct run_session *s = NULL;

	expect_success(begin(&s));
	report(WIRE_NOTE, 101);
	expect_error(run_session_serve(s, g, say, NULL, tell), EPROTO,
		     "the service sent too many reports");
	close(reports);
	run_session_free(s);
	hv_guest_free(g);
}
END_TEST

START_TEST(a_process_that_does_not_end)
{
	struct hv_guest *g = a_guest();
	struct run_session *s = NULL;
	pid_t pid;

	expect_success(begin(&s));
	report(WIRE_OK, 1);
	pid = fork();
	if (pid == 0)
		pause();
	late_s = 1;
	expect_error(run_session_serve(s, g, say, NULL, tell), ETIME,
		     "the session is over, but not all of its processes have ended");
	late_s = 0;
	kill(pid, SIGKILL);
	close(reports);
	run_session_free(s);
	hv_guest_free(g);
}
END_TEST

/* -- libtracecmd ------------------------------------------------------------------------------- */

struct tracecmd_input *__wrap_tracecmd_open_fd(int fd, int flags);
void __wrap_tracecmd_set_private(struct tracecmd_input *input, void *data);
int __wrap_tracecmd_iterate_events(struct tracecmd_input *input, cpu_set_t *cpus, int cpu_size,
				   int (*fn)(struct tracecmd_input *, struct tep_record *, int,
					     void *),
				   void *ctx);
void __wrap_tracecmd_close(struct tracecmd_input *input);

struct tracecmd_input *__wrap_tracecmd_open_fd(int fd, int flags hv_unused)
{
	static char input;

	close(fd);
	return (struct tracecmd_input *)&input;
}

void __wrap_tracecmd_set_private(struct tracecmd_input *input hv_unused, void *data hv_unused)
{
}

int __wrap_tracecmd_iterate_events(struct tracecmd_input *input hv_unused,
				   cpu_set_t *cpus hv_unused, int cpu_size hv_unused,
				   int (*fn)(struct tracecmd_input *, struct tep_record *, int,
					     void *) hv_unused,
				   void *ctx hv_unused)
{
	return -1;
}

void __wrap_tracecmd_close(struct tracecmd_input *input hv_unused)
{
}

START_TEST(a_file_that_ends_in_the_middle)
{
	const char *path = "t.dat";
	int fd = open("/dev/null", O_RDONLY);

	expect_error(report_dat(&path, &fd, 1, REPORT_JSON), EIO,
		     "t.dat: damaged: only the events above can be read");
	close(fd);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_session_that_has_ended);
	tcase_add_test(tc, a_connection_that_was_not_passed);
	tcase_add_test(tc, a_service_that_sends_garbage);
	tcase_add_test(tc, no_sockets);
	tcase_add_test(tc, a_machine_that_ends_at_once);
	tcase_add_test(tc, a_service_that_reports_for_ever);
	tcase_add_test(tc, a_process_that_does_not_end);
	tcase_add_test(tc, a_file_that_ends_in_the_middle);
}

int main(void)
{
	return run_suite("cli_refusals", add_tests);
}
