/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations that the VMM of `hvtrace run` can no longer do when its guest runs, tried by such a
 * process and a thread of it; and the operations that it still can. Needs root; skipped without
 * it. */
#include <linux/kvm.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>

#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/sandboxed.h"
#include "vmm/minivm/minivm.h"

static int file;       /* opened before */
static int sockets[2]; /* the second one leads to the broker */
static int client[2];  /* the second one leads to the service */

static struct hv_err *enter(void)
{
	return hv_minivm_sandbox_enter(sockets[1], client[1]);
}

static bool holds_in_sandbox(bool (*trial)(void))
{
	bool holds;

	file = memfd_create("file", 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, client), 0);
	holds = holds_in_child(enter, trial);
	close(file);
	close(sockets[0]);
	close(sockets[1]);
	close(client[0]);
	close(client[1]);
	return holds;
}

static bool has_no_files(void)
{
	return has_no_common_files() &&
	       refuses(syscall(SYS_openat, AT_FDCWD, "/etc/shadow", O_RDONLY)) &&
	       refuses(syscall(SYS_open, "/etc/passwd", O_RDONLY)) &&
	       refuses(syscall(SYS_openat, AT_FDCWD, "/dev/kvm", O_RDWR));
}

static bool has_no_processes(void)
{
	return has_no_other_processes() && refuses(syscall(SYS_kill, getppid(), 0)) &&
	       refuses(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) &&
	       refuses(syscall(SYS_pidfd_open, 1, 0));
}

static bool has_no_network(void)
{
	return has_no_sockets() && refuses(ioctl(sockets[0], 0x8927 /* SIOCGIFHWADDR */, NULL));
}

static bool passes_files_to_two_sockets_only(void)
{
	struct msghdr msg = {0};

	return sendmsg(sockets[1], &msg, 0) == 0 && sendmsg(client[1], &msg, 0) == 0 &&
	       refuses(sendmsg(sockets[0], &msg, 0)) && refuses(recvmsg(sockets[0], &msg, 0)) &&
	       refuses(recvmsg(client[1], &msg, 0));
}

/* These requests would reach KVM. They fail because the file is not KVM's. */
static bool makes_only_needed_kvm_calls(void)
{
	return ioctl(file, KVM_RUN, 0) < 0 && errno == ENOTTY &&
	       ioctl(file, KVM_IRQ_LINE, NULL) < 0 && errno == ENOTTY &&
	       refuses(ioctl(file, KVM_CREATE_VM, 0)) && refuses(ioctl(file, KVM_CREATE_VCPU, 0)) &&
	       refuses(ioctl(file, KVM_SET_USER_MEMORY_REGION, NULL)) &&
	       refuses(ioctl(file, TIOCSTI, "x"));
}

static void *try_in_thread(void *ok)
{
	*(bool *)ok = is_nobody() && has_no_files() && has_no_processes() && has_no_network() &&
		      prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) < 0;
	return NULL;
}

static bool has_threads_without_rights(void)
{
	pthread_t thread;
	bool ok = false;

	return pthread_create(&thread, NULL, try_in_thread, &ok) == 0 &&
	       pthread_join(thread, NULL) == 0 && ok;
}

static bool writes_computes_and_receives_signals(void)
{
	void *much = malloc(64u << 20);

	signal(SIGUSR1, SIG_IGN);
	return much && hv_now_ns() > 0 && write(file, "x", 1) == 1 && raise(SIGUSR1) == 0 &&
	       waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static bool (*const trials[])(void) = {
	is_nobody,
	has_no_files,
	has_no_processes,
	has_no_network,
	passes_files_to_two_sockets_only,
	makes_nothing_executable,
	makes_only_needed_kvm_calls,
	has_threads_without_rights,
	writes_computes_and_receives_signals,
};

START_TEST(the_sandbox_holds)
{
	ck_assert(holds_in_sandbox(trials[_i]));
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, the_sandbox_holds, 0, HV_ARRAY_LEN(trials));
}

int main(void)
{
	if (geteuid() != 0)
		return 77; /* skipped */
	return run_suite("minivm_sandbox", add);
}
