/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The console on a terminal. The test acts as the shell with job control. */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cli/verbs/console.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"

#define OK   0
#define KEYS 77 /* the job's exit status after it has read "k" on a raw terminal */

static unsigned is_raw(void);

static int keyboard;
static void (*before_console)(void); /* called first in the job; may be NULL */

/* The job: a console. */

static int ended[2];

static void on_end(void *ctx)
{
	(void)ctx;
	if (write(ended[1], "e", 1) != 1)
		_exit(1);
}

static void job_main(void)
{
	struct console *c;
	char key = 0;
	int in;
	struct pollfd fds[2];

	if (before_console)
		before_console();
	if (pipe(ended) != 0 || console_open(&c, &in) || console_start(c, on_end, NULL))
		_exit(1);
	fds[0] = (struct pollfd){ended[0], POLLIN, 0};
	fds[1] = (struct pollfd){in, POLLIN, 0};
	while (poll(fds, 2, -1) < 0)
		;
	if (fds[1].revents && read(in, &key, 1) != 1)
		_exit(1);
	if (key == 'k')
		key = is_raw() ? KEYS : 1;
	_exit(console_close(c) + key);
}

/* The shell. Its exit status is the line of the failed check. */

#define expect(condition)                                                                          \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ & 0xff ? __LINE__ & 0xff : 1);                              \
	} while (0)

static pid_t job;

static unsigned is_raw(void)
{
	struct termios now;

	expect(tcgetattr(STDIN_FILENO, &now) == 0);
	return !(now.c_lflag & ICANON);
}

static void until_raw(void)
{
	while (!is_raw())
		poll(NULL, 0, 5);
}

static void begin_job(void)
{
	signal(SIGTTOU, SIG_IGN);
	job = fork();
	expect(job >= 0);
	setpgid(job, job);
	if (job == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (tcgetpgrp(STDIN_FILENO) != getpid())
			poll(NULL, 0, 1);
		signal(SIGTTOU, SIG_DFL);
		job_main();
	}
	expect(tcsetpgrp(STDIN_FILENO, job) == 0);
}

static void expect_stopped(int signo)
{
	int status;

	kill(job, signo);
	expect(waitpid(job, &status, WUNTRACED) == job);
	expect(WIFSTOPPED(status) && WSTOPSIG(status) == signo);
}

static int end_of_job(void)
{
	int status;

	expect(waitpid(job, &status, 0) == job);
	return status;
}

static void stop_and_continue(void)
{
	struct termios before;

	expect(tcgetattr(STDIN_FILENO, &before) == 0);
	begin_job();
	until_raw();
	expect_stopped(SIGTSTP);
	expect(!is_raw());
	kill(job, SIGCONT);
	until_raw();
	/* The job cannot catch SIGSTOP to restore the terminal. A shell then sets its own. */
	expect_stopped(SIGSTOP);
	expect(tcsetattr(STDIN_FILENO, TCSANOW, &before) == 0);
	kill(job, SIGCONT);
	until_raw();
	kill(job, SIGTERM);
	expect(end_of_job() == SIGTERM << 8);
	expect(!is_raw());
}

static void in_the_background(void)
{
	struct termios before;

	expect(tcgetattr(STDIN_FILENO, &before) == 0);
	begin_job();
	until_raw();
	expect_stopped(SIGSTOP);
	expect(tcsetattr(STDIN_FILENO, TCSANOW, &before) == 0);
	expect(tcsetpgrp(STDIN_FILENO, getpgrp()) == 0);
	kill(job, SIGCONT);
	kill(job, SIGTERM);
	expect(end_of_job() == SIGTERM << 8); /* it ends, it does not stop */
	expect(!is_raw());
}

static void deaths(void)
{
	static const int signals[] = {SIGALRM, SIGSEGV, SIGXCPU};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		begin_job();
		until_raw();
		kill(job, signals[i]);
		expect((end_of_job() & 0x7f) == signals[i]);
		expect(!is_raw());
	}
	begin_job();
	until_raw();
	kill(job, SIGQUIT);
	expect(end_of_job() == SIGQUIT << 8);
	expect(!is_raw());
}

static void ignore_some(void)
{
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
}

static void ignored_stays_ignored(void)
{
	before_console = ignore_some;
	begin_job();
	until_raw();
	kill(job, SIGHUP);
	kill(job, SIGUSR2);
	expect(write(keyboard, "k", 1) == 1);
	expect(end_of_job() == KEYS << 8);
}

/* The job's process group is orphaned: no shell would continue the job if it stopped. */
static void in_an_orphaned_group(void)
{
	job = fork();
	expect(job >= 0);
	if (job == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		job_main();
	}
	until_raw();
	kill(job, SIGTSTP);
	expect(write(keyboard, "k\n", 2) == 2);
	expect(end_of_job() == KEYS << 8);
}

/* The process that started the test in the background may ignore some signals. */
static void ignore_nothing(void)
{
	static const int heard[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
				    SIGTSTP, SIGCONT, SIGALRM, SIGXCPU};

	for (size_t i = 0; i < sizeof(heard) / sizeof(heard[0]); i++)
		signal(heard[i], SIG_DFL);
}

/* Runs PLAY as the leader of a session with a new terminal. */
static void play_shell(void (*play)(void))
{
	int line, status;
	pid_t shell;

	ck_assert_int_eq(openpty(&keyboard, &line, NULL, NULL, NULL), 0);
	shell = fork();
	if (shell == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		expect(setsid() > 0 && ioctl(line, TIOCSCTTY, 0) == 0);
		dup2(line, STDIN_FILENO);
		ignore_nothing();
		play();
		_exit(OK);
	}
	ck_assert_int_ge(shell, 0);
	ck_assert_int_eq(waitpid(shell, &status, 0), shell);
	ck_assert_msg(status == OK, "line %d mod 256 (status 0x%x)", status >> 8, status);
	close(keyboard);
	close(line);
}

START_TEST(stops_and_continues)
{
	play_shell(stop_and_continue);
}
END_TEST

START_TEST(does_not_take_the_terminal_in_background)
{
	play_shell(in_the_background);
}
END_TEST

START_TEST(an_orphaned_group_is_not_stopped)
{
	play_shell(in_an_orphaned_group);
}
END_TEST

START_TEST(restores_the_terminal_on_death)
{
	play_shell(deaths);
}
END_TEST

START_TEST(ignored_signals_stay_ignored)
{
	play_shell(ignored_stays_ignored);
}
END_TEST

static struct hv_err *open_console(void *ctx hv_unused)
{
	struct console *c = NULL;
	int in_fd;
	struct hv_err *err = console_open(&c, &in_fd);

	if (!err)
		err = console_start(c, NULL, NULL);
	console_close(c);
	return err;
}

START_TEST(missing_files_and_threads)
{
	static const struct failing_call no_files[] = {{SCMP_SYS(signalfd4), EMFILE}, {0}};
	static const struct failing_call no_threads[] = {
		{SCMP_SYS(clone), EAGAIN}, {SCMP_SYS(clone3), EAGAIN}, {0}};

	expect_failure(no_files, open_console, NULL, EMFILE,
		       "cannot prepare the console: Too many open files");
	expect_failure(no_threads, open_console, NULL, EAGAIN,
		       "cannot start the thread of the console: Resource temporarily unavailable");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 100);
	tcase_add_test(tc, missing_files_and_threads);
	tcase_add_test(tc, stops_and_continues);
	tcase_add_test(tc, does_not_take_the_terminal_in_background);
	tcase_add_test(tc, an_orphaned_group_is_not_stopped);
	tcase_add_test(tc, restores_the_terminal_on_death);
	tcase_add_test(tc, ignored_signals_stay_ignored);
}

int main(void)
{
	return run_suite("console", add_tests);
}
