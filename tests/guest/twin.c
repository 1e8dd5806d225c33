/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A VMM like Firecracker or cloud-hypervisor, for tests: the machine of `hvtrace run` without a
 * session, whose main thread and vCPU threads have that VMM's seccomp filters, in an empty root,
 * another pid namespace and another user:
 *
 *    twin firecracker|cloud-hypervisor KERNEL INITRD APPEND [--id NAME]
 *
 * The console is stdin and stdout. It prints "filtered" on stderr when all threads have their
 * filters. SIGUSR2 pauses the machine, as these VMMs do: its vCPU threads wait outside KVM_RUN;
 * SIGHUP resumes it. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/lib/vmm_filters.h"
#include "vmm/minivm/machine.h"

#define USER  65534
#define ROOT  "/tmp/twin-root"
#define KICKS SIGUSR1 /* also the machine's own signal for its vCPU threads */

/* System calls that this machine's devices need in addition to the VMM's. */
static const struct allowed own[] = {IOCTL(KVM_IRQ_LINE), IF(futex, 1, 393), ANY(write)};

#define LIST_MAX 128
static struct allowed vcpu_list[LIST_MAX], vmm_list[LIST_MAX];
static size_t nr_vcpu, nr_vmm;
static _Atomic unsigned nr_filtered;
static _Atomic uint32_t is_paused; /* the vCPU threads wait while it is 1 */
static _Thread_local bool is_filtered;

static void add(struct allowed *to, size_t *nr, const struct allowed *list, size_t nr_list)
{
	memcpy(to + *nr, list, nr_list * sizeof(*list));
	*nr += nr_list;
}

#define ADD(to, nr, list) add(to, &(nr), list, sizeof(list) / sizeof((list)[0]))

static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

/* Runs in a vCPU thread, which leaves KVM_RUN for it. */
static void on_signal(int signo, siginfo_t *info, void *context)
{
	sigset_t *mask = &((ucontext_t *)context)->uc_sigmask;

	(void)signo, (void)info;
	if (!is_filtered && !sigismember(mask, SIGTERM))
		return; /* the thread is still starting */
	sigdelset(mask, SIGSYS);
	if (!is_filtered && filter_enter(vcpu_list, nr_vcpu) != 0)
		_exit(3);
	if (!is_filtered)
		nr_filtered++;
	is_filtered = true;
	while (is_paused)
		syscall(SYS_futex, &is_paused, 0, 1, NULL, NULL, 0);
}

/* Handles SIGSYS: a filter does not allow a system call. */
static void on_trap(int signo, siginfo_t *info, void *context)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "twin: system call %d is not allowed\n",
			   info->si_syscall);

	(void)signo, (void)context;
	_exit(write(2, text, (size_t)len) == len ? 128 + SIGSYS : 1);
}

static void signal_vcpus(struct hv_minivm *o)
{
	for (unsigned i = 0; i < o->nr_vcpus; i++)
		pthread_kill(o->vcpus[i].thread, KICKS);
}

static void leave_root(void)
{
	mkdir(ROOT, 0755);
	if (chroot(ROOT) != 0 || chdir("/") != 0 || setgid(USER) != 0 || setuid(USER) != 0)
		fail("root");
}

static void choose(const char *kind)
{
	if (!strcmp(kind, "firecracker")) {
		ADD(vcpu_list, nr_vcpu, firecracker_vcpu);
		ADD(vmm_list, nr_vmm, firecracker_vmm);
	} else {
		ADD(vcpu_list, nr_vcpu, cloud_hypervisor_vcpu);
		ADD(vmm_list, nr_vmm, cloud_hypervisor_vmm);
	}
	ADD(vcpu_list, nr_vcpu, own);
	ADD(vmm_list, nr_vmm, own);
	vmm_list[nr_vmm++] = (struct allowed)IF(tkill, 1, KICKS);
	vmm_list[nr_vmm++] = (struct allowed)IF(tgkill, 2, KICKS);
	vmm_list[nr_vmm++] = (struct allowed)ANY(getpid);
}

static void pause_or_resume(struct hv_minivm *o, bool pause)
{
	is_paused = pause;
	if (pause)
		signal_vcpus(o);
	else
		syscall(SYS_futex, &is_paused, 1, 1000, NULL, NULL, 0);
}

static _Noreturn void run(struct hv_minivm *o, int signals)
{
	int epoll = epoll_create1(0), end = hv_minivm_end_fd(o);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = end};

	epoll_ctl(epoll, EPOLL_CTL_ADD, end, &event);
	event.data.fd = signals;
	epoll_ctl(epoll, EPOLL_CTL_ADD, signals, &event);
	if (filter_enter(vmm_list, nr_vmm) != 0 || write(2, "filtered\n", 9) != 9)
		fail("filter");
	for (;;) {
		struct signalfd_siginfo info;

		if (syscall(SYS_epoll_pwait, epoll, &event, 1, -1, NULL, 8) != 1)
			continue;
		if (event.data.fd == end)
			_exit(0);
		if (read(signals, &info, sizeof(info)) == sizeof(info))
			pause_or_resume(o, info.ssi_signo == SIGUSR2);
	}
}

static void machine(char **argv)
{
	const struct hv_minivm_config config = {
		.name = "twin",
		.kernel_path = argv[2],
		.initrd_path = argv[3],
		.append = argv[4],
		.memory_bytes = 256ull << 20,
		.nr_vcpus = 2,
		.console_in_fd = 0,
		.console_out_fd = 1,
	};
	const struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	const struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	struct hv_minivm *o = NULL;
	sigset_t set;
	struct hv_err *err = hv_minivm_new(&config, &o);

	if (err) {
		dprintf(2, "twin: %s\n", err->message);
		_exit(1);
	}
	choose(argv[1]);
	sigaction(SIGSYS, &trap, NULL);
	leave_root();
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* after setuid(), which would clear it */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	err = hv_minivm_start(o);
	if (err)
		fail(err->message);
	while (nr_filtered < config.nr_vcpus) {
		sigaction(KICKS, &action, NULL); /* each starting thread replaces the handler */
		signal_vcpus(o);
		usleep(10000);
	}
	run(o, signalfd(-1, &set, SFD_CLOEXEC));
}

int main(int argc, char **argv)
{
	pid_t child;
	int status = 1;

	if (argc < 5)
		return 2;
	if (unshare(CLONE_NEWPID) != 0)
		fail("unshare");
	child = fork();
	if (child == 0)
		machine(argv);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
