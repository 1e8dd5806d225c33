/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domains of a fake libvirt: this program exports libvirt's functions, and its dlopen() opens the
 * program itself. The process of the domain is this one. */
#include <check.h>
#include <pthread.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "vmm/domains.h"
#include "vmm/qemu/libvirt.h"
#include "vmm/qemu/machine.h"

#define EXPORTED __attribute__((visibility("default")))
#define URI	 "qemu:///system"
#define STATE	 "/run/libvirt/qemu" /* of URI */
#define UUID	 "191e232b-2f69-40a6-8df6-3f6eed6cf7af"
#define XML	 "<domain type='kvm'>%s</domain>"

static struct {
	bool is_missing;
	bool has_no_uuid, has_no_list;
	unsigned nr_active; /* this request finds the domain inactive; 0: none does */
	const char *xml;    /* in the domain's description */
	const char *arch;
	/* A command that ends when a byte can be read; -1: it ends immediately. */
	int wait_fd;
	unsigned nr_commands, nr_freed;
} virt;

static char dir[32], file[64];

/* -- libvirt ------------------------------------------------------------------------------------ */

void *dlopen(const char *name, int flags)
{
	HV_AUTO_FREE char *missing = hv_format("/nowhere/%s", name);

	return dlmopen(LM_ID_BASE, virt.is_missing ? missing : NULL, flags);
}

EXPORTED virConnectPtr virConnectOpen(const char *name)
{
	return strcmp(name, URI) ? NULL : (virConnectPtr)&virt;
}

EXPORTED int virConnectClose(virConnectPtr conn hv_unused)
{
	return 0;
}

EXPORTED char *virConnectGetURI(virConnectPtr conn hv_unused)
{
	return hv_strdup(URI);
}

EXPORTED int virConnectListAllDomains(virConnectPtr conn hv_unused, virDomainPtr **ret,
				      unsigned flags hv_unused)
{
	if (virt.has_no_list)
		return -1;
	*ret = hv_alloc(sizeof(**ret));
	(*ret)[0] = (virDomainPtr)&virt;
	return 1;
}

EXPORTED virDomainPtr virDomainLookupByName(virConnectPtr conn hv_unused, const char *name)
{
	return strcmp(name, "web1") ? NULL : (virDomainPtr)&virt;
}

EXPORTED virDomainPtr virDomainLookupByUUIDString(virConnectPtr conn hv_unused, const char *uuid)
{
	return strcmp(uuid, UUID) ? NULL : (virDomainPtr)&virt;
}

EXPORTED virDomainPtr virDomainLookupByID(virConnectPtr conn hv_unused, int id hv_unused)
{
	return NULL;
}

EXPORTED int virDomainFree(virDomainPtr dom hv_unused)
{
	__atomic_add_fetch(&virt.nr_freed, 1, __ATOMIC_SEQ_CST);
	return 0;
}

EXPORTED unsigned virDomainGetID(virDomainPtr dom hv_unused)
{
	return 1;
}

EXPORTED const char *virDomainGetName(virDomainPtr dom hv_unused)
{
	return "web1";
}

EXPORTED int virDomainGetState(virDomainPtr dom hv_unused, int *state, int *reason hv_unused,
			       unsigned flags hv_unused)
{
	*state = VIR_DOMAIN_RUNNING;
	return 0;
}

EXPORTED int virDomainGetUUIDString(virDomainPtr dom hv_unused, char *ret)
{
	strcpy(ret, UUID);
	return virt.has_no_uuid ? -1 : 0;
}

EXPORTED char *virDomainGetXMLDesc(virDomainPtr dom hv_unused, unsigned flags hv_unused)
{
	return hv_format(XML, virt.xml);
}

EXPORTED int virDomainIsActive(virDomainPtr dom hv_unused)
{
	return virt.nr_active && !--virt.nr_active ? 0 : 1;
}

EXPORTED int virDomainQemuMonitorCommand(virDomainPtr dom hv_unused, const char *command,
					 char **ret, unsigned flags hv_unused)
{
	char byte;

	virt.nr_commands++;
	if (virt.wait_fd >= 0)
		ck_assert_int_eq(read(virt.wait_fd, &byte, 1), 1);
	if (strstr(command, "query-cpus-fast"))
		*ret = hv_format("{\"return\": [{\"thread-id\": %d}]}", (int)getpid());
	else if (strstr(command, "query-target"))
		*ret = hv_format("{\"return\": {\"arch\": \"%s\"}}", virt.arch);
	else
		*ret = hv_strdup("{\"return\": {\"enabled\": true}}");
	return 0;
}

EXPORTED const char *virGetLastErrorMessage(void)
{
	return "no way";
}

EXPORTED void virSetErrorFunc(void *data hv_unused, virErrorFunc fn hv_unused)
{
}

/* -- its status file ---------------------------------------------------------------------------- */

/* Replaces the function of the C library. */
int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	return (int)syscall(SYS_openat, AT_FDCWD, strcmp(path, STATE) ? path : dir, flags, mode);
}

static void setup(void)
{
	FILE *f;

	virt = (__typeof__(virt)){.xml = "", .arch = "x86_64", .wait_fd = -1};
	strcpy(dir, "/tmp/libvirt-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/web1.xml", dir);
	f = fopen(file, "we");
	ck_assert_ptr_nonnull(f);
	fprintf(f,
		"<domstatus state='running' pid='%d'>\n  <libDir path='/var/lib/libvirt/web1'/>\n"
		"  <domain type='kvm' id='1'>\n    <uuid>" UUID
		"</uuid>\n  </domain>\n</domstatus>\n",
		(int)getpid());
	fclose(f);
	ck_assert_int_eq(chmod(file, 0600), 0);
}

static void teardown(void)
{
	unlink(file);
	rmdir(dir);
}

/* -- cases -------------------------------------------------------------------------------------- */

static struct hv_err *open_web1(void)
{
	struct hv_machine *m = NULL;
	struct hv_err *err = hv_machine_open_libvirt("web1", URI, &m);

	ck_assert_ptr_null(m);
	return err;
}

static struct hv_err *open_without_libvirt(void *ctx hv_unused)
{
	virt.is_missing = true;
	return open_web1();
}

/* In a child process, because a process loads libvirt once. */
START_TEST(a_host_without_libvirt)
{
	static const struct failing_call none[] = {{0}};

	expect_failure(none, open_without_libvirt, NULL, ENOTCONN,
		       "libvirt: /nowhere/libvirt-qemu.so.0: cannot open shared object file: No "
		       "such file or directory (a QEMU can be named without libvirt: qmp:SOCKET, "
		       "pid:N)");
}
END_TEST

START_TEST(a_daemon_that_does_not_answer)
{
	struct hv_machine *m = NULL;

	expect_error(hv_machine_open_libvirt("web1", "qemu+tcp://x/", &m), ENOTCONN,
		     "libvirt: no connection to qemu+tcp://x/: no way (a QEMU can be named without "
		     "libvirt: qmp:SOCKET, pid:N)");
}
END_TEST

START_TEST(domains_that_cannot_be_opened)
{
	virt.has_no_uuid = true;
	expect_error(open_web1(), EIO, "libvirt: the UUID of domain 'web1': no way");
	virt.has_no_uuid = false;
	virt.nr_active = 2;
	expect_error(open_web1(), EHOSTDOWN, "libvirt: the domain has ended");
	virt.nr_active = 1;
	expect_error(open_web1(), EHOSTDOWN, "the domain is shut off");
	virt.arch = "s390x";
	expect_error(open_web1(), ENOTSUP, "the guest's architecture s390x is not supported");
}
END_TEST

/* Starts a process whose arguments claim that it is the domain's. */
static pid_t start_claimant(void)
{
	const char *const argv[] = {"sh", "-c", "read x", "-name", "web1", "-uuid", UUID, NULL};
	int started[2], input[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe2(started, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		dup2(input[0], STDIN_FILENO);
		execv("/bin/sh", (char *const *)argv);
		_exit(1);
	}
	close(started[1]);
	ck_assert_int_eq(read(started[0], &byte, 1), 0);
	close(started[0]);
	close(input[0]);
	return pid;
}

START_TEST(a_process_that_claims_a_domain)
{
	HV_AUTO_FREE char *message = hv_format(
		"domain 'web1': libvirt: the domain belongs to process %d", (int)getpid());
	pid_t pid = start_claimant();
	struct hv_machine *m = NULL;

	expect_error(hv_machine_open_pid(pid, URI, &m), ESRCH, message);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(lists_of_domains)
{
	struct hv_domain *list = NULL;
	size_t nr = 0;

	virt.has_no_list = true;
	expect_error(hv_domain_list(URI, &list, &nr), EIO, "libvirt: list of domains: no way");
	virt.has_no_list = false;
	virt.xml = "<launchSecurity type='sev'/>";
	expect_success(hv_domain_list(URI, &list, &nr));
	ck_assert_uint_eq(nr, 1);
	ck_assert_str_eq(list[0].reason, "confidential guest: its memory cannot be read");
	ck_assert_int_eq(list[0].pid, getpid());
	hv_domain_list_free(list, nr);
}
END_TEST

/* A command that the VMM answers late, and the commands after it. */

#define TIMEOUT_NS (HV_NS_PER_S / 5)
#define LATE	   "libvirt: the VMM's monitor did not answer within 0 s"
#define BUSY	   "libvirt: the VMM's monitor has not answered an earlier command"

static struct hv_err *ask(struct hv_monitor *m, char **ret)
{
	return hv_monitor_transact(m, "{\"execute\":\"x\"}", ret);
}

/* Sends a command that is not answered. Write to *RET_FD to answer it. */
static struct hv_monitor *ask_in_vain(int *ret_fd)
{
	struct hv_libvirt_domain d = {0};
	uint64_t begun_ns;
	char *answer = NULL;
	int ends[2];

	hv_qmp_timeout_ns = TIMEOUT_NS;
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	expect_success(hv_libvirt_open("web1", URI, &d));
	virt.wait_fd = ends[0];
	begun_ns = hv_now_ns();
	expect_error(ask(d.monitor, &answer), ETIMEDOUT, LATE);
	ck_assert_uint_lt(hv_now_ns() - begun_ns, 10 * HV_NS_PER_S);
	free(d.name);
	free(d.uuid);
	close(d.pidfd);
	hv_libvirt_state_deinit(&d.state);
	*ret_fd = ends[1];
	return d.monitor;
}

/* Waits until the call in progress has ended. */
static struct hv_err *ask_until_idle(struct hv_monitor *m, char **ret)
{
	struct hv_err *err = NULL;
	uint64_t deadline_ns = hv_now_ns() + 10 * HV_NS_PER_S;

	do {
		hv_err_free(err);
		err = ask(m, ret);
	} while (err && err->code == ETIMEDOUT && hv_now_ns() < deadline_ns);
	return err;
}

static void *answer_soon(void *fd)
{
	usleep(20000);
	ck_assert_int_eq(write(*(int *)fd, "", 1), 1);
	return NULL;
}

/* The guest must not stay stopped if the VMM continues: the command that resumes it comes later. */
START_TEST(a_command_waits_for_a_late_one)
{
	HV_AUTO_FREE char *answer = NULL;
	pthread_t thread;
	int fd;
	struct hv_monitor *m = ask_in_vain(&fd);

	virt.wait_fd = -1;
	ck_assert_int_eq(pthread_create(&thread, NULL, answer_soon, &fd), 0);
	expect_success(ask(m, &answer));
	ck_assert_uint_eq(virt.nr_commands, 2);
	pthread_join(thread, NULL);
	hv_monitor_free(m);
	close(fd);
}
END_TEST

START_TEST(a_monitor_that_answers_late)
{
	HV_AUTO_FREE char *answer = NULL;
	int fd;
	struct hv_monitor *m = ask_in_vain(&fd);

	expect_error(ask(m, &answer), ETIMEDOUT, BUSY);
	ck_assert_uint_eq(virt.nr_commands, 1);
	virt.wait_fd = -1;
	ck_assert_int_eq(write(fd, "", 1), 1);
	expect_success(ask_until_idle(m, &answer));
	ck_assert_str_eq(answer, "{\"return\": {\"enabled\": true}}");
	ck_assert_uint_eq(virt.nr_commands, 2);
	hv_monitor_free(m);
	close(fd);
}
END_TEST

static struct hv_err *open_and_ask(void *ctx hv_unused)
{
	struct hv_libvirt_domain d = {0};
	HV_AUTO_FREE char *answer = NULL;
	struct hv_err *err = hv_libvirt_open("web1", URI, &d);

	return err ? err : ask(d.monitor, &answer);
}

START_TEST(a_process_that_gets_no_thread)
{
	static const struct failing_call none[] = {
		{SCMP_SYS(clone3), EAGAIN, {0}}, {SCMP_SYS(clone), EAGAIN, {0}}, {0}};

	expect_failure(none, open_and_ask, NULL, EAGAIN,
		       "libvirt: cannot start a thread: Resource temporarily unavailable");
}
END_TEST

START_TEST(a_domain_that_is_freed_during_a_command)
{
	int fd;
	struct hv_monitor *m = ask_in_vain(&fd);

	hv_monitor_free(m);
	ck_assert_uint_eq(virt.nr_freed, 0);
	ck_assert_int_eq(write(fd, "", 1), 1);
	while (!__atomic_load_n(&virt.nr_freed, __ATOMIC_SEQ_CST))
		sched_yield();
	usleep(100000); /* the thread also frees its memory */
	close(fd);
}
END_TEST

/* The child has only the thread that forked. */
START_TEST(a_child_of_a_process_with_a_late_command)
{
	int fd, status;
	struct hv_monitor *m = ask_in_vain(&fd);
	pid_t pid = fork();

	if (!pid) {
		free(hv_alloc(100));
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(write(fd, "", 1), 1);
	hv_monitor_free(m);
	usleep(100000);
	close(fd);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_host_without_libvirt);
	tcase_add_test(tc, a_daemon_that_does_not_answer);
	tcase_add_test(tc, domains_that_cannot_be_opened);
	tcase_add_test(tc, a_process_that_claims_a_domain);
	tcase_add_test(tc, lists_of_domains);
	tcase_add_test(tc, a_command_waits_for_a_late_one);
	tcase_add_test(tc, a_monitor_that_answers_late);
	tcase_add_test(tc, a_process_that_gets_no_thread);
	tcase_add_test(tc, a_domain_that_is_freed_during_a_command);
	tcase_add_test(tc, a_child_of_a_process_with_a_late_command);
}

int main(void)
{
	return run_suite("libvirt", add_tests);
}
