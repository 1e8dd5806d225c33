/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domains of a fake libvirt: this program exports libvirt's functions, and its dlopen() opens the
 * program itself. The process of the domain is this one. */
#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "vmm/domains.h"
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

	virt = (__typeof__(virt)){.xml = "", .arch = "x86_64"};
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

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_host_without_libvirt);
	tcase_add_test(tc, a_daemon_that_does_not_answer);
	tcase_add_test(tc, domains_that_cannot_be_opened);
	tcase_add_test(tc, a_process_that_claims_a_domain);
	tcase_add_test(tc, lists_of_domains);
}

int main(void)
{
	return run_suite("libvirt", add_tests);
}
