/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which attacks on the host a process can still make after hv_confine(). Each attack must first
 * succeed in an unconfined process, if the test's user has the rights for it. */
#include "base/confine.h"

#include <check.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"

#define ALL (HV_MAY_START | HV_MAY_READ | HV_MAY_LISTEN)

static char dir[] = "/tmp/hvtrace-confine-XXXXXX"; /* 0755, owned by the test's user */
static pid_t victim;				   /* a process of the test's user */

/* -- attacks: true if they succeed ------------------------------------------------------------ */

static bool opens(const char *name, int flags)
{
	HV_AUTO_FREE char *path = *name == '/' ? hv_strdup(name) : hv_format("%s/%s", dir, name);
	int fd = open(path, flags, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool writes_a_file(void)
{
	return opens("secret", O_WRONLY);
}

static bool reads_a_secret(void)
{
	return opens("secret", O_RDONLY);
}

static bool makes_a_file(void)
{
	return opens("cron", O_WRONLY | O_CREAT);
}

static bool makes_a_file_at_a_directory(void)
{
	return syscall(SYS_mknodat, AT_FDCWD, "/tmp/hvtrace-confine-node", S_IFREG | 0600, 0) == 0;
}

static bool removes_a_file(void)
{
	HV_AUTO_FREE char *path = hv_format("%s/removed", dir);

	return unlink(path) == 0;
}

static bool opens_by_openat2(void)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = {O_WRONLY, 0, 0};
	HV_AUTO_FREE char *path = hv_format("%s/open", dir);

	return syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)) >= 0;
}

static bool makes_a_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 && socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static bool signals_a_process(void)
{
	return kill(victim, 0) == 0;
}

static bool traces_a_process(void)
{
	if (ptrace(PTRACE_ATTACH, victim, NULL, NULL) != 0)
		return false;
	waitpid(victim, NULL, 0);
	ptrace(PTRACE_DETACH, victim, NULL, NULL);
	return true;
}

static bool reads_memory_of_a_process(void)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/mem", (int)victim);

	return opens(path, O_RDONLY);
}

static bool executes_a_program(void)
{
	execl("/bin/true", "true", NULL);
	return false; /* /bin/true ends with SUCCEEDED */
}

static bool makes_memory_executable(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) != MAP_FAILED;
}

static bool makes_a_namespace(void)
{
	return unshare(CLONE_NEWUSER) == 0;
}

static bool makes_a_namespace_by_clone(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

/* Attacks that need root to succeed. */

static bool becomes_root(void)
{
	return setresuid(0, 0, 0) == 0 && geteuid() == 0;
}

static bool becomes_root_for_files(void)
{
	syscall(SYS_setfsuid, 0);
	return (uid_t)syscall(SYS_setfsuid, -1) == 0;
}

static bool mounts(void)
{
	return mount("none", dir, "tmpfs", 0, "size=4k") == 0 && umount2(dir, MNT_DETACH) == 0;
}

static bool reads_shadow(void)
{
	return opens("/etc/shadow", O_RDONLY);
}

static bool changes_the_root(void)
{
	return chroot(dir) == 0;
}

static bool loads_bpf(void)
{
	char attr[128] = {0};

	return syscall(SYS_bpf, 0, attr, sizeof(attr)) >= 0 || errno == EINVAL;
}

struct attack {
	const char *name;
	bool (*succeeds)(void);
	bool needs_root;
};

#define ATTACK(f)                                                                                  \
	{                                                                                          \
#f, f, false                                                                       \
	}
#define ROOT_ATTACK(f)                                                                             \
	{                                                                                          \
#f, f, true                                                                        \
	}

static const struct attack attacks[] = {
	ATTACK(writes_a_file),
	ATTACK(reads_a_secret),
	ATTACK(makes_a_file),
	ATTACK(makes_a_file_at_a_directory),
	ATTACK(removes_a_file),
	ATTACK(opens_by_openat2),
	ATTACK(makes_a_socket),
	ATTACK(signals_a_process),
	ATTACK(traces_a_process),
	ATTACK(reads_memory_of_a_process),
	ATTACK(executes_a_program),
	ATTACK(makes_memory_executable),
	ROOT_ATTACK(makes_a_namespace),
	ROOT_ATTACK(makes_a_namespace_by_clone),
	ROOT_ATTACK(becomes_root),
	ROOT_ATTACK(becomes_root_for_files),
	ROOT_ATTACK(mounts),
	ROOT_ATTACK(reads_shadow),
	ROOT_ATTACK(changes_the_root),
	ROOT_ATTACK(loads_bpf),
};

/* -- running them ----------------------------------------------------------------------------- */

enum { SUCCEEDED = 0, FAILED = 3, NOT_CONFINED = 4 };

static bool (*before)(void); /* called before the confinement */
static bool hides_landlock;  /* as in a kernel without Landlock */

static bool hide_landlock(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);

	return seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SYS_landlock_create_ruleset, 0) == 0 &&
	       seccomp_load(f) == 0;
}

/* If C is NULL, the process is not confined. */
static int run(bool (*function)(void), const struct hv_confinement *c)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		HV_AUTO_ERR struct hv_err *err = NULL;

		if ((hides_landlock && !hide_landlock()) || (before && !before()))
			_exit(NOT_CONFINED);
		err = c ? hv_confine(c) : NULL;

		if (err)
			fprintf(stderr, "%s\n", err->message);
		_exit(err ? NOT_CONFINED : function() ? SUCCEEDED : FAILED);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void make(const char *name, mode_t mode)
{
	HV_AUTO_FREE char *path = hv_format("%s/%s", dir, name);
	HV_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT, mode);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
}

static void remove_made(void)
{
	static const char *const names[] = {"secret", "cron", "removed", "open", "shown"};

	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++) {
		HV_AUTO_FREE char *path = hv_format("%s/%s", dir, names[i]);

		unlink(path);
	}
	unlink("/tmp/hvtrace-confine-node");
}

static void set_up(void)
{
	remove_made();
	make("secret", 0600);
	make("removed", 0600);
	make("open", 0666);
	make("shown", 0644);
}

static bool can_run(const struct attack *a)
{
	return geteuid() == 0 || !a->needs_root;
}

START_TEST(attacks_succeed_without_confinement)
{
	const struct attack *a = &attacks[_i];

	set_up();
	if (can_run(a))
		ck_assert_msg(run(a->succeeds, NULL) == SUCCEEDED, "%s", a->name);
}
END_TEST

/* Without Landlock, a user other than root can still read all files that he owns, if reading is
 * allowed. */
static bool is_his_right(const struct attack *a, unsigned may)
{
	return geteuid() != 0 && hides_landlock && may & HV_MAY_READ &&
	       (a->succeeds == reads_a_secret || a->succeeds == reads_memory_of_a_process);
}

static void fails(const struct attack *a)
{
	static const unsigned mays[] = {0, HV_MAY_START, HV_MAY_READ, HV_MAY_LISTEN, ALL};

	for (size_t i = 0; i < HV_ARRAY_LEN(mays); i++) {
		struct hv_confinement c = HV_CONFINEMENT_NONE;

		set_up();
		c.may = mays[i];
		c.readable[0] = "/proc";
		if (!is_his_right(a, c.may))
			ck_assert_msg(run(a->succeeds, &c) == FAILED, "%s, may %u", a->name, c.may);
	}
}

START_TEST(attacks_fail)
{
	fails(&attacks[_i]);
}
END_TEST

START_TEST(attacks_fail_without_landlock)
{
	hides_landlock = true;
	fails(&attacks[_i]);
	hides_landlock = false;
}
END_TEST

/* -- operations that are still possible ----------------------------------------------------- */

static bool reads_allowed_files(void)
{
	return opens("/proc/version", O_RDONLY);
}

static bool reads_elsewhere(void)
{
	return opens("shown", O_RDONLY);
}

static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0;
}

START_TEST(reads_where_it_may)
{
	struct hv_confinement c = HV_CONFINEMENT_NONE;

	set_up();
	c.readable[0] = "/proc";
	ck_assert_int_eq(run(reads_allowed_files, &c), FAILED);
	c.may = HV_MAY_READ;
	ck_assert_int_eq(run(reads_allowed_files, &c), SUCCEEDED);
	ck_assert_int_eq(run(reads_elsewhere, &c), has_landlock() ? FAILED : SUCCEEDED);
}
END_TEST

static const char *where; /* the directory that the process may read */

static bool opens_there(const char *name, int flags)
{
	HV_AUTO_FREE char *path = hv_format("%s/%s", where, name);

	return opens(path, flags);
}

static bool finds_its_directory(void)
{
	where = hv_confined_path(dir);
	return true;
}

static bool reads_secret_in_its_directory(void)
{
	return opens_there("secret", O_RDONLY);
}

static bool writes_in_its_directory(void)
{
	return opens_there("secret", O_WRONLY) || opens_there("cron", O_WRONLY | O_CREAT);
}

static bool leaves_its_directory(void)
{
	return opens_there("../../../etc/passwd", O_RDONLY) ||
	       opens_there("../etc/passwd", O_RDONLY) || opens("/etc/passwd", O_RDONLY);
}

/* The process reads the directory's files as their owner. It cannot access other files. */
static void reads_its_directory(void)
{
	HV_AUTO_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct hv_confinement c = {.may = HV_MAY_READ, .dir_fd = fd};

	set_up();
	before = finds_its_directory;
	ck_assert_int_eq(chmod(dir, 0700), 0);
	ck_assert_int_eq(run(reads_secret_in_its_directory, &c), SUCCEEDED);
	ck_assert_int_eq(run(writes_in_its_directory, &c), FAILED);
	ck_assert_int_eq(run(leaves_its_directory, &c), FAILED);
	ck_assert_int_eq(run(becomes_root, &c), FAILED);
	ck_assert_int_eq(run(reads_shadow, &c), FAILED);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	before = NULL;
}

START_TEST(reads_its_directory_as_the_owner)
{
	if (geteuid() == 0)
		reads_its_directory();
}
END_TEST

START_TEST(reads_its_directory_as_the_owner_without_landlock)
{
	if (geteuid() != 0)
		return;
	hides_landlock = true;
	reads_its_directory();
	hides_landlock = false;
}
END_TEST

/* The process's /proc/self/status, opened before the confinement. */
static int status_fd = -1;

static bool opens_status(void)
{
	status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	return status_fd >= 0 && setgroups(1, &(gid_t){0}) == 0;
}

static bool says(const char *status, const char *key, const char *value)
{
	const char *at = strstr(status, key);

	return at && strncmp(at + strlen(key), value, strlen(value)) == 0;
}

/* Returns whether one of the first NR ids (real, effective, saved, file system) is root's. */
static bool has_root_id(const char *status, const char *key, unsigned nr)
{
	unsigned id[4] = {0};
	const char *at = strstr(status, key);

	if (!at || sscanf(at + strlen(key), "%u %u %u %u", &id[0], &id[1], &id[2], &id[3]) != 4)
		return true;
	for (unsigned i = 0; i < nr; i++)
		if (!id[i])
			return true;
	return false;
}

static bool has_no_rights(void)
{
	char status[8192] = "";

	return read(status_fd, status, sizeof(status) - 1) > 0 &&
	       !has_root_id(status, "\nUid:", 3) && !has_root_id(status, "\nGid:", 3) &&
	       says(status, "\nGroups:\t", " \n") &&
	       says(status, "\nCapPrm:\t", "0000000000000000\n") &&
	       says(status, "\nCapEff:\t", "0000000000000000\n") &&
	       says(status, "\nCapBnd:\t", "0000000000000000\n") &&
	       says(status, "\nNoNewPrivs:\t", "1\n") && says(status, "\nSeccomp:\t", "2\n");
}

START_TEST(root_becomes_another_user)
{
	HV_AUTO_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct hv_confinement c = HV_CONFINEMENT_NONE;

	if (geteuid() != 0)
		return;
	before = opens_status;
	ck_assert_int_eq(run(has_no_rights, NULL), FAILED);
	ck_assert_int_eq(run(has_no_rights, &c), SUCCEEDED);
	c.dir_fd = fd;
	ck_assert_int_eq(run(has_no_rights, &c), SUCCEEDED);
	before = NULL;
}
END_TEST

/* An already open descriptor stays writable, also for a different owner. */
static int kept = -1;

static bool writes_open_file(void)
{
	return write(kept, "x", 1) == 1 && ftruncate(kept, 0) == 0;
}

START_TEST(open_files_stay_usable)
{
	HV_AUTO_FREE char *path = hv_format("%s/secret", dir);
	struct hv_confinement c = HV_CONFINEMENT_NONE;

	set_up();
	kept = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(kept, 0);
	ck_assert_int_eq(run(writes_open_file, &c), SUCCEEDED);
	close(kept);
}
END_TEST

/* The keystroke would go to the shell that has started the program. */
static bool types_into_the_terminal(void)
{
	return ioctl(STDIN_FILENO, TIOCSTI, "x") == 0 || errno != EPERM;
}

START_TEST(cannot_insert_terminal_input)
{
	struct hv_confinement c = {.may = ALL, .dir_fd = -1};

	ck_assert_int_eq(run(types_into_the_terminal, NULL), SUCCEEDED);
	ck_assert_int_eq(run(types_into_the_terminal, &c), FAILED);
}
END_TEST

static bool asks_whether_processes_exist(void)
{
	/* no process has this id (proc_sys_kernel(5), pid_max) */
	return (kill(victim, 0) == 0 || errno == EPERM) && kill(INT_MAX, 0) != 0 && errno == ESRCH;
}

static bool sends_a_signal(void)
{
	return kill(victim, SIGCONT) == 0;
}

START_TEST(may_ask_whether_a_process_exists)
{
	struct hv_confinement c = HV_CONFINEMENT_NONE;

	ck_assert_int_eq(run(asks_whether_processes_exist, &c), FAILED);
	c.may = HV_MAY_PROBE;
	ck_assert_int_eq(run(asks_whether_processes_exist, &c), SUCCEEDED);
	ck_assert_int_eq(run(sends_a_signal, NULL), SUCCEEDED);
	ck_assert_int_eq(run(sends_a_signal, &c), FAILED);
}
END_TEST

/* -- system calls that fail ------------------------------------------------------------------- */

#define AS_ROOT                                                                                    \
	{                                                                                          \
		SCMP_SYS(geteuid), 0                                                               \
	} /* geteuid() returns 0 */
#define IF(n, v)                                                                                   \
	{                                                                                          \
		.arg = (n), .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)(v)                        \
	}
#define SUCCEEDS(name)                                                                             \
	{                                                                                          \
		SCMP_SYS(name), 0                                                                  \
	}

struct failing_confinement {
	struct failing_call calls[8];
	const char *message;
	int code;
	bool has_dir;
	bool needs_landlock;
};

static const struct failing_confinement failing[] = {
	{{{SCMP_SYS(prlimit64), EPERM, IF(1, RLIMIT_CORE)}},
	 "cannot drop privileges: core dumps: Operation not permitted",
	 EPERM},
	{{{SCMP_SYS(prlimit64), EPERM, IF(1, RLIMIT_NOFILE)}},
	 "cannot drop privileges: number of files: Operation not permitted",
	 EPERM},
	{{{SCMP_SYS(prlimit64), EPERM, IF(1, RLIMIT_DATA)}},
	 "cannot drop privileges: memory: Operation not permitted",
	 EPERM},
	{{{SCMP_SYS(prctl), EINVAL, IF(0, PR_SET_NO_NEW_PRIVS)}},
	 "cannot drop privileges: no_new_privs: Invalid argument",
	 EINVAL},
	{{{SCMP_SYS(capget), EPERM}},
	 "cannot drop privileges: capabilities: Operation not permitted",
	 EPERM},
	{{{SCMP_SYS(capset), EPERM}},
	 "cannot drop privileges: capabilities: Operation not permitted",
	 EPERM},
	{{AS_ROOT, {SCMP_SYS(setresgid), EPERM}},
	 "cannot drop privileges: group: Operation not permitted",
	 EPERM},
	{{AS_ROOT, SUCCEEDS(setresgid), {SCMP_SYS(setgroups), EPERM}},
	 "cannot drop privileges: groups: Operation not permitted",
	 EPERM},
	{{AS_ROOT, SUCCEEDS(setresgid), SUCCEEDS(setgroups), {SCMP_SYS(setresuid), EAGAIN}},
	 "cannot drop privileges: user: Resource temporarily unavailable",
	 EAGAIN},
	{{AS_ROOT,
	  SUCCEEDS(setresgid),
	  SUCCEEDS(setgroups),
	  {SCMP_SYS(prctl), EPERM, IF(0, PR_SET_KEEPCAPS)}},
	 "cannot drop privileges: user: Operation not permitted",
	 EPERM,
	 true,
	 true},
	{{AS_ROOT,
	  SUCCEEDS(setresgid),
	  SUCCEEDS(setgroups),
	  SUCCEEDS(setresuid),
	  {SCMP_SYS(newfstatat), EIO},
	  {SCMP_SYS(fstat), EIO}},
	 "cannot drop privileges: user for file access: Input/output error",
	 EIO,
	 true,
	 true},
	{{AS_ROOT,
	  {SCMP_SYS(landlock_create_ruleset), ENOSYS},
	  SUCCEEDS(fchdir),
	  {SCMP_SYS(unshare), EPERM}},
	 "cannot drop privileges: new root directory (the kernel has no Landlock): Operation not "
	 "permitted",
	 EPERM,
	 true},
	{{{SCMP_SYS(prctl), EINVAL, IF(0, PR_SET_DUMPABLE)}},
	 "cannot drop privileges: PR_SET_DUMPABLE: Invalid argument",
	 EINVAL},
	{{{SCMP_SYS(landlock_create_ruleset), EMFILE, IF(2, 0)}},
	 "cannot drop privileges: Landlock: Too many open files",
	 EMFILE,
	 false,
	 true},
	{{{SCMP_SYS(landlock_restrict_self), E2BIG}},
	 "cannot drop privileges: Landlock: Argument list too long",
	 E2BIG,
	 false,
	 true},
	{{{SCMP_SYS(seccomp), ENOMEM}, {SCMP_SYS(prctl), ENOMEM, IF(0, PR_SET_SECCOMP)}},
	 "cannot drop privileges: system call filter: Cannot allocate memory",
	 ENOMEM},
};

static struct hv_err *confine_failing(void *ctx)
{
	const struct failing_confinement *f = ctx;
	struct hv_confinement c = {
		.may = ALL, .dir_fd = -1, .nr_files = 16, .memory_bytes = 1u << 30};

	if (f->has_dir)
		c.dir_fd = STDIN_FILENO;
	return hv_confine(&c);
}

START_TEST(an_error_names_the_right_that_is_kept)
{
	const struct failing_confinement *f = &failing[_i];

	if (!f->needs_landlock || has_landlock())
		expect_failure(f->calls, confine_failing, (void *)f, f->code, f->message);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, an_error_names_the_right_that_is_kept, 0, HV_ARRAY_LEN(failing));
	tcase_add_loop_test(tc, attacks_succeed_without_confinement, 0, HV_ARRAY_LEN(attacks));
	tcase_add_loop_test(tc, attacks_fail, 0, HV_ARRAY_LEN(attacks));
	tcase_add_loop_test(tc, attacks_fail_without_landlock, 0, HV_ARRAY_LEN(attacks));
	tcase_add_test(tc, reads_where_it_may);
	tcase_add_test(tc, reads_its_directory_as_the_owner);
	tcase_add_test(tc, reads_its_directory_as_the_owner_without_landlock);
	tcase_add_test(tc, root_becomes_another_user);
	tcase_add_test(tc, open_files_stay_usable);
	tcase_add_test(tc, cannot_insert_terminal_input);
	tcase_add_test(tc, may_ask_whether_a_process_exists);
}

static void end(void)
{
	remove_made();
	rmdir(dir);
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
}

int main(void)
{
	int ret;

	if (!mkdtemp(dir) || chmod(dir, 0755) != 0)
		return 1;
	victim = fork();
	if (victim == 0)
		for (;;)
			pause();
	ret = run_suite("confine", add_tests);
	end();
	return ret;
}
