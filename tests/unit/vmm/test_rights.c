/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each step in which a process gives up its rights fails once: the process must not keep some of
 * them and continue. No step is executed, so this needs no privileges. broker/test_sandbox.c tests
 * the sandbox itself. */
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/guard.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "vmm/broker/sandbox.h"
#include "vmm/rights.h"

#define CALLS_MAX 16
#define SUCCEEDS(name)                                                                             \
	{                                                                                          \
		SCMP_SYS(name), 0                                                                  \
	}
#define IF(n, v)                                                                                   \
	{                                                                                          \
		.arg = (n), .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)(v)                        \
	}

/* Steps that succeed before a failing one. */
#define LIMITS SUCCEEDS(geteuid), SUCCEEDS(prlimit64)
#define MOUNTS SUCCEEDS(unshare), SUCCEEDS(mount)
#define ROOT   MOUNTS, SUCCEEDS(chdir), SUCCEEDS(pivot_root)
#define USER   ROOT, SUCCEEDS(umount2), SUCCEEDS(setresgid), SUCCEEDS(setresuid)

struct row {
	struct failing_call calls[CALLS_MAX];
	const char *message;
	int code;
};

static struct hv_err *leave_root(void *ctx hv_unused)
{
	return hv_rights_leave_root();
}

static const struct row of_root[] = {
	{{{SCMP_SYS(unshare), EPERM}},
	 "giving up rights: namespaces: Operation not permitted",
	 EPERM},
	{{SUCCEEDS(unshare), {SCMP_SYS(mount), ENOMEM}},
	 "giving up rights: an empty file system: Cannot allocate memory",
	 ENOMEM},
	{{MOUNTS, {SCMP_SYS(chdir), EACCES}},
	 "giving up rights: an empty file system: Permission denied",
	 EACCES},
	{{MOUNTS, SUCCEEDS(chdir), {SCMP_SYS(pivot_root), EBUSY}},
	 "giving up rights: pivot_root: Device or resource busy",
	 EBUSY},
	{{MOUNTS, SUCCEEDS(chdir), {SCMP_SYS(pivot_root), EINVAL}, {SCMP_SYS(chroot), EPERM}},
	 "giving up rights: pivot_root: Operation not permitted",
	 EPERM},
	{{ROOT, {SCMP_SYS(umount2), EBUSY}},
	 "giving up rights: the old root: Device or resource busy",
	 EBUSY},
	{{USER, {SCMP_SYS(setgroups), EPERM}},
	 "giving up rights: user: Operation not permitted",
	 EPERM},
	{{USER, SUCCEEDS(setgroups), {SCMP_SYS(prctl), EINVAL, IF(0, PR_SET_NO_NEW_PRIVS)}},
	 "giving up rights: no_new_privs: Invalid argument",
	 EINVAL},
};

START_TEST(keeping_root_is_an_error)
{
	const struct row *r = &of_root[_i];

	expect_failure(r->calls, leave_root, NULL, r->code, r->message);
}
END_TEST

static struct hv_err *leave_calls(void *ctx hv_unused)
{
	return hv_rights_leave_calls(3, &(struct hv_syscalls){.most_frequent = -1});
}

START_TEST(a_filter_that_cannot_be_set)
{
	static const struct failing_call calls[] = {
		{SCMP_SYS(seccomp), ENOMEM},
		{SCMP_SYS(prctl), ENOMEM, IF(0, PR_SET_SECCOMP)},
		{0},
	};

	expect_failure(calls, leave_calls, NULL, ENOMEM,
		       "giving up rights: a filter of system calls: Cannot allocate memory");
}
END_TEST

static struct hv_err *enter(void *ctx hv_unused)
{
	return hv_sandbox_enter(3, &HV_READABLE_RAM_NONE);
}

static const struct row of_service[] = {
	{{SUCCEEDS(geteuid), {SCMP_SYS(prlimit64), EPERM, IF(1, RLIMIT_NOFILE)}},
	 "giving up rights: number of files: Operation not permitted",
	 EPERM},
	{{SUCCEEDS(geteuid), {SCMP_SYS(prlimit64), EPERM, IF(1, RLIMIT_FSIZE)}},
	 "giving up rights: size of files: Operation not permitted",
	 EPERM},
	{{LIMITS, {SCMP_SYS(unshare), ENOSPC}},
	 "giving up rights: namespaces: No space left on device",
	 ENOSPC},
	{{LIMITS, USER, SUCCEEDS(setgroups), {SCMP_SYS(prctl), EACCES, IF(0, PR_SET_SECCOMP)}},
	 "giving up rights: a filter of reads: Permission denied",
	 EACCES},
};

START_TEST(a_service_enters_all_of_its_sandbox)
{
	const struct row *r = &of_service[_i];

	expect_failure(r->calls, enter, NULL, r->code, r->message);
}
END_TEST

START_TEST(the_brokers_socket_is_open)
{
	int closed = -1;
	HV_AUTO_ERR struct hv_err *err = hv_sandbox_keep(&closed);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBADF);
	ck_assert_str_eq(err->message,
			 "giving up rights: the broker's socket: Bad file descriptor");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, keeping_root_is_an_error, 0, HV_ARRAY_LEN(of_root));
	tcase_add_test(tc, a_filter_that_cannot_be_set);
	tcase_add_loop_test(tc, a_service_enters_all_of_its_sandbox, 0, HV_ARRAY_LEN(of_service));
	tcase_add_test(tc, the_brokers_socket_is_open);
}

int main(void)
{
	return run_suite("rights", add_tests);
}
