/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classifies threads of the host: of this VMM, of another one, of neither, or gone. */
#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/verbs/latency/neighbours.h"
#include "tests/lib/run_suite.h"

static struct hv_takers takers;

static const struct hv_taker *look(pid_t tid, const char *comm, uint64_t vmm_pid)
{
	struct hv_stall_task task = hv_stall_task((uint32_t)tid, comm);

	takers = (struct hv_takers){0};
	hv_takers_add(&takers, &task, HV_NS_PER_MS);
	latency_takers_look(&takers, vmm_pid);
	ck_assert_uint_eq(takers.nr, 1);
	ck_assert(takers.list[0].was_looked_at);
	return &takers.list[0];
}

/* Starts a shell named NAME with an argument like QEMU's. It has called execve() when this returns,
 * and blocks with any standard input. */
static pid_t start(const char *name)
{
	int ready[2];
	pid_t pid;
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ready[1], 1);
		execl("/bin/sh", name, "-c", "echo; kill -STOP $$", "-name",
		      "guest=a,,b,debug-threads=on", NULL);
		_exit(1);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(its_own)
{
	ck_assert_int_eq(look(getpid(), "CPU 1/KVM", (uint64_t)getpid())->kind, HV_TAKER_OWN);
}
END_TEST

/* Starts a process that ends. A zombie has no arguments, like a kernel thread. */
static pid_t start_bare(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	return pid;
}

START_TEST(another_guest)
{
	pid_t bare = start_bare();
	pid_t pid = start("/usr/bin/qemu-system-x86_64");
	HV_AUTO_FREE char *vhost = hv_format("vhost-%d", (int)pid);
	const struct hv_taker *t = look(pid, "CPU 0/KVM", (uint64_t)getpid());

	ck_assert_int_eq(t->kind, HV_TAKER_VM);
	ck_assert_str_eq(t->domain, "a,b");
	/* A program's name must not put the blame on another guest. */
	ck_assert_int_eq(look(bare, vhost, (uint64_t)getpid())->kind, HV_TAKER_HOST);
	ck_assert_int_eq(look(bare, vhost, (uint64_t)pid)->kind, HV_TAKER_HOST);
	ck_assert_int_eq(look(getppid(), vhost, (uint64_t)getpid())->kind, HV_TAKER_HOST);
	ck_assert_int_eq(look(getppid(), vhost, (uint64_t)pid)->kind, HV_TAKER_HOST);
	end(pid);
	end(bare);
}
END_TEST

START_TEST(a_program)
{
	pid_t pid = start("qemu");
	const struct hv_taker *t = look(pid, "sh", (uint64_t)getpid());

	ck_assert_int_eq(t->kind, HV_TAKER_HOST);
	ck_assert_str_eq(t->domain, "");
	end(pid);
	ck_assert_int_eq(look(pid, "sh", (uint64_t)getpid())->kind, HV_TAKER_UNKNOWN);
}
END_TEST

START_TEST(nobody)
{
	ck_assert_int_eq(look(0, "swapper/1", (uint64_t)getpid())->kind, HV_TAKER_NOBODY);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, its_own);
	tcase_add_test(tc, another_guest);
	tcase_add_test(tc, a_program);
	tcase_add_test(tc, nobody);
}

int main(void)
{
	return run_suite("latency_takers", add_tests);
}
