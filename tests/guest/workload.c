/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work for traced guests: deterministic, in a process with a known pid. Runs in the guest; a static
 * program that uses little of libc. Built by scripts/initramfs.
 *
 *	workload syscalls N	N rounds of a fixed list of system calls
 *	workload threads N	two threads, a ping-pong of N rounds through pipes
 *	workload forkstorm N	N times fork, exit, wait
 *	workload spin SECONDS	reads as fast as it can
 *	workload getppid N	N system calls that do nothing
 *	workload calls N	N rounds of system calls that fail, are made like a 32-bit program,
 *				are restarted, and never return
 *	workload names N	N times getpgid under each of the names of its two threads:
 *				as started, by prctl, by a write to /proc, by exec
 *	workload starve MS	a real-time task keeps another one from its CPU (taskset)
 *	workload stay MS	like starve; then it does not end
 *	workload urgent MS	sleeps often for a moment, with nice -10
 *	workload realtime MS	sleeps often for a moment, with SCHED_FIFO
 *	workload deadline MS	sleeps often for a moment, with SCHED_DEADLINE
 *	workload exits MS	CPUID, which KVM emulates (x86-64)
 *	workload today N	N times: prints the time, unshare(0), prints the time
 *	workload clocks N	N times: prints CLOCK_MONOTONIC, CLOCK_BOOTTIME and CLOCK_TAI in
 *				ns, unshare(0), prints the three again
 *	workload pressure MIB	touches MIB of memory, each page once
 *	workload thrash MIB	touches MIB of memory, and once more after SIGUSR1
 *	workload exec N		N times fork, exec, wait
 *	workload switch N	N times a byte to another process and back
 *	workload pipe N		N times a write to a pipe and a read from it
 *	workload file N		N times open, read, close
 *
 * exec, switch, pipe, file and getppid print "ns X" for one of the N (bench/guest).
 *
 * Prints its pid and waits for SIGUSR1, so that a tracer can set its filter before anything
 * happens. Prints "done" at the end. starve, stay, urgent, realtime, deadline, exits, today and clocks
 * start without the signal. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DIR_NAME "/tmp/workload"
#define CLOCK_NS 105 /* clock period on riscv64's machine virt */

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* All pages that the rounds use are touched before, so that a round has no page faults. */
static char buffer[8192];
static int pipe_fds[2];

/* A mode calls this when it is ready. Waits for SIGUSR1. */
static void wait_for_go(void)
{
	sigset_t go;
	int got;
	printf("pid %d\n", getpid());
	fflush(stdout);
	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	must(sigwait(&go, &got) == 0, "sigwait");
}

/* Resets the pipe's timestamps first. A write or read updates a timestamp only if it is out of date,
 * which would depend on the time since the last round. */
static void round_of_syscalls(void)
{
	static const struct timespec epoch[2];
	syscall(SYS_getppid);
	must(futimens(pipe_fds[0], epoch) == 0, "futimens of a pipe");
	int fd = open(DIR_NAME "/file", O_RDONLY);
	must(fd >= 0, "open");
	must(read(fd, buffer, 4096) == 4096, "read");
	must(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	must(close(fd) == 0, "close");
	must(write(pipe_fds[1], buffer, 100) == 100, "write to a pipe");
	must(read(pipe_fds[0], buffer, 100) == 100, "read from a pipe");
	struct stat st;
	must(stat(DIR_NAME "/file", &st) == 0, "stat");
	must(access(DIR_NAME "/absent", R_OK) < 0, "access");
	must(mkdir(DIR_NAME "/dir", 0700) == 0, "mkdir");
	must(rmdir(DIR_NAME "/dir") == 0, "rmdir");
}

static void syscalls(long rounds)
{
	round_of_syscalls();
	wait_for_go();
	for (long i = 0; i < rounds; i++)
		round_of_syscalls();
}

static int ping[2], pong[2];

static void *answer(void *arg)
{
	long rounds = *(long *)arg;
	char byte;
	for (long i = 0; i < rounds; i++) {
		must(read(ping[0], &byte, 1) == 1, "read ping");
		must(write(pong[1], &byte, 1) == 1, "write pong");
	}
	return NULL;
}

static void threads(long rounds)
{
	pthread_t other;
	char byte = 1;
	must(pipe(ping) == 0 && pipe(pong) == 0, "pipe");
	wait_for_go();
	must(pthread_create(&other, NULL, answer, &rounds) == 0, "pthread_create");
	for (long i = 0; i < rounds; i++) {
		must(write(ping[1], &byte, 1) == 1, "write ping");
		must(read(pong[0], &byte, 1) == 1, "read pong");
	}
	pthread_join(other, NULL);
}

static void forkstorm(long times)
{
	wait_for_go();
	for (long i = 0; i < times; i++) {
		pid_t child = fork();
		must(child >= 0, "fork");
		if (child == 0)
			_exit(0);
		must(waitpid(child, NULL, 0) == child, "waitpid");
	}
}

static void spin(long seconds)
{
	wait_for_go();
	time_t end = time(NULL) + seconds;
	int fd = open("/dev/zero", O_RDONLY);
	must(fd >= 0, "open /dev/zero");
	while (time(NULL) < end)
		for (int i = 0; i < 1000; i++)
			must(read(fd, buffer, 1) == 1, "read /dev/zero");
	close(fd);
}

static void nothing(int signal)
{
	(void)signal;
}

/* Runs FN in a child, sends it the signals FIRST and SECOND (0: none), and waits for its end. */
static void in_child(void (*fn)(void), int first, int second)
{
	static const struct timespec a_little = {.tv_nsec = 50000000};
	pid_t child = fork();

	must(child >= 0, "fork");
	if (child == 0) {
		fn();
		_exit(0);
	}
	nanosleep(&a_little, NULL);
	kill(child, first);
	nanosleep(&a_little, NULL);
	if (second)
		kill(child, second);
	must(waitpid(child, NULL, 0) == child, "waitpid");
}

static void sleep_a_while(void)
{
	static const struct timespec a_while = {.tv_nsec = 200000000};

	nanosleep(&a_while, NULL);
}

/* The read is restarted when the handler has returned. */
static void read_nothing(void)
{
	const struct sigaction restart = {.sa_handler = nothing, .sa_flags = SA_RESTART};

	sigaction(SIGUSR2, &restart, NULL);
	read(pipe_fds[0], buffer, 1);
}

/* Calls getpid() like a 32-bit program, where its number is 20. In 64 bits, 20 is writev(). */
static long getpid_of_32_bits(void)
{
	long result = 20;

#ifdef __x86_64__
	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
#else
	result = getpid();
#endif
	return result;
}

static void calls(long rounds)
{
	wait_for_go();
	for (long i = 0; i < rounds; i++) {
		must(open(DIR_NAME "/absent", O_RDONLY) < 0, "open a missing file");
		must(syscall(100000) < 0 && syscall(-1) < 0, "no system call");
		must(getpid_of_32_bits() == getpid(), "getpid of a 32-bit program");
		in_child(sleep_a_while, SIGSTOP, SIGCONT);
		in_child(read_nothing, SIGUSR2, SIGKILL);
	}
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void do_getppid(void)
{
	syscall(SYS_getppid);
}

static void do_exec(void)
{
	pid_t child = vfork();

	if (child == 0) {
		execl("/bin/busybox", "true", (char *)NULL);
		_exit(1);
	}
	must(child > 0 && waitpid(child, NULL, 0) == child, "exec");
}

static void do_pipe(void)
{
	must(write(pipe_fds[1], buffer, 100) == 100, "write to a pipe");
	must(read(pipe_fds[0], buffer, 100) == 100, "read from a pipe");
}

static void do_file(void)
{
	int fd = open(DIR_NAME "/file", O_RDONLY);

	must(fd >= 0, "open");
	must(read(fd, buffer, 4096) == 4096, "read");
	must(close(fd) == 0, "close");
}

/* Returns the mean of the pieces that differ from the median by CLOCK_NS at most. This excludes
 * pieces in which another task took the CPU, and tolerates a coarse clock. */
static double usual(double *ns, long nr)
{
	double sum = 0, median;
	long nr_usual = 0;

	qsort(ns, (size_t)nr, sizeof(*ns), compare);
	median = ns[nr / 2];
	for (long i = 0; i < nr; i++) {
		if (ns[i] < median - CLOCK_NS || ns[i] > median + CLOCK_NS)
			continue;
		sum += ns[i];
		nr_usual++;
	}
	return sum / (double)nr_usual;
}

static void measure(void (*fn)(void), long times, int piece)
{
	long nr = times / piece;
	double *ns = calloc((size_t)nr + 1, sizeof(*ns));

	must(ns && nr > 0, "number: too small");
	memset(ns, 1, (size_t)nr * sizeof(*ns));
	wait_for_go();
	for (long i = 0; i < nr; i++) {
		double start = now_ns();

		for (int n = 0; n < piece; n++)
			fn();
		ns[i] = now_ns() - start;
	}
	printf("ns %.2f\n", usual(ns, nr) / piece);
	free(ns);
}

static void measure_getppid(long times)
{
	measure(do_getppid, times, 100);
}

static void measure_exec(long times)
{
	measure(do_exec, times, 1);
}

static void do_switch(void)
{
	char byte = 1;

	must(write(ping[1], &byte, 1) == 1, "write ping");
	must(read(pong[0], &byte, 1) == 1, "read pong");
}

static void measure_switch(long times)
{
	pid_t other;
	char byte;

	must(pipe(ping) == 0 && pipe(pong) == 0, "pipe");
	other = fork();
	must(other >= 0, "fork");
	while (other == 0 && read(ping[0], &byte, 1) == 1)
		must(write(pong[1], &byte, 1) == 1, "write pong");
	measure(do_switch, times, 10);
	kill(other, SIGKILL);
	must(waitpid(other, NULL, 0) == other, "waitpid");
}

static void measure_pipe(long times)
{
	measure(do_pipe, times, 10);
}

static void measure_file(long times)
{
	measure(do_file, times, 10);
}

static void spin_ns(double ns)
{
	double end = now_ns() + ns;

	while (now_ns() < end)
		;
}

/* Keeps the CPU busy in this function. Its symbol is not stripped (scripts/initramfs). */
__attribute__((noinline, noclone)) static void hog(double ns)
{
	double end = now_ns() + ns;

	while (now_ns() < end)
		for (volatile unsigned turns = 0; turns < 10000; turns++)
			;
}

/* Two programs on one CPU: "starved" runs all the time, and "greedy" with a real-time priority
 * takes the CPU for MS milliseconds. */
static void starve(long ms)
{
	const struct sched_param param = {.sched_priority = 50};
	pid_t starved = fork();

	must(starved >= 0, "fork");
	if (starved == 0) {
		prctl(PR_SET_NAME, "starved");
		spin_ns(60e9);
		_exit(0);
	}
	prctl(PR_SET_NAME, "greedy");
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	must(sched_setscheduler(0, SCHED_FIFO, &param) == 0, "sched_setscheduler");
	hog((double)ms * 1e6);
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	kill(starved, SIGKILL);
	must(waitpid(starved, NULL, 0) == starved, "waitpid");
}

static void starve_and_stay(long ms)
{
	starve(ms);
	for (;;)
		pause();
}

static void sleep_often(long ms)
{
	double end = now_ns() + (double)ms * 1e6;

	while (now_ns() < end)
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void be_urgent(long ms)
{
	must(setpriority(PRIO_PROCESS, 0, -10) == 0, "setpriority");
	sleep_often(ms);
}

static void be_realtime(long ms)
{
	const struct sched_param param = {.sched_priority = 30};

	must(sched_setscheduler(0, SCHED_FIFO, &param) == 0, "sched_setscheduler");
	sleep_often(ms);
}

/* The kernel's struct sched_attr, which not every libc has. */
static void have_deadline(long ms)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {
		.size = sizeof(attr),
		.policy = 6, /* SCHED_DEADLINE */
		.runtime = 2000000,
		.deadline = 10000000,
		.period = 10000000,
	};

	must(syscall(SYS_sched_setattr, 0, &attr, 0) == 0, "sched_setattr");
	sleep_often(ms);
}

/* For MS milliseconds, executes an instruction that KVM must emulate, on x86-64 only. */
static void provoke_exits(long ms)
{
	double end = now_ns() + (double)ms * 1e6;

	while (now_ns() < end)
		for (int i = 0; i < 100; i++) {
#ifdef __x86_64__
			unsigned a = 0, b, c = 0, d;

			__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
#endif
		}
}

static char *map(size_t len)
{
	char *memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	must(memory != MAP_FAILED, "mmap");
	return memory;
}

/* Touches more memory than the process may have. */
static void touch(long mib)
{
	size_t len = (size_t)mib << 20;
	char *memory = map(len);

	wait_for_go();
	for (size_t at = 0; at < len; at += 4096)
		memory[at] = 1;
}

static void print_stat(void)
{
	char line[1024];
	FILE *file = fopen("/proc/self/stat", "r");

	must(file && fgets(line, sizeof(line), file), "/proc/self/stat");
	fclose(file);
	printf("%s", line);
	fflush(stdout);
}

/* Like touch(), then reads it back from swap. Prints its statistics before and after. */
static void thrash(long mib)
{
	size_t len = (size_t)mib << 20;
	char *memory = map(len);

	for (size_t at = 0; at < len; at += 4096)
		memory[at] = 1;
	wait_for_go();
	print_stat();
	for (size_t at = 0; at < len; at += 4096)
		must(*(volatile char *)&memory[at] == 1, "swapped memory has changed");
	print_stat();
}

static unsigned long long time_of_day_ns(void)
{
	struct timespec now;

	must(clock_gettime(CLOCK_REALTIME, &now) == 0, "clock_gettime");
	return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

static void report_time(long times)
{
	for (long i = 0; i < times; i++) {
		unsigned long long before = time_of_day_ns();

		must(syscall(SYS_unshare, 0) == 0, "unshare");
		printf("%llu %llu\n", before, time_of_day_ns());
	}
}

static void report_clocks(long times)
{
	static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI};
	struct timespec told[6];

	wait_for_go();
	for (long i = 0; i < times; i++) {
		for (int c = 0; c < 3; c++)
			clock_gettime(clocks[c], &told[c]);
		must(syscall(SYS_unshare, 0) == 0, "unshare");
		for (int c = 0; c < 3; c++)
			clock_gettime(clocks[c], &told[3 + c]);
		for (int c = 0; c < 6; c++)
			printf("%lld%c", told[c].tv_sec * 1000000000LL + told[c].tv_nsec,
			       c < 5 ? ' ' : '\n');
		usleep(i % 16 * 1000);
	}
}

static void ask_for_group(long times)
{
	for (long i = 0; i < times; i++)
		syscall(SYS_getpgid, 0);
}

static int other_tid;

/* Waits for a byte before each of its two names. */
static void *be_renamed(void *arg)
{
	char byte;

	other_tid = (int)syscall(SYS_gettid);
	for (int name = 0; name < 2; name++) {
		must(read(ping[0], &byte, 1) == 1, "read ping");
		ask_for_group(*(long *)arg);
		must(write(pong[1], &byte, 1) == 1, "write pong");
	}
	return NULL;
}

static void let_other_go(void)
{
	char byte = 1;

	must(write(ping[1], &byte, 1) == 1, "write ping");
	must(read(pong[0], &byte, 1) == 1, "read pong");
}

static void rename_other(const char *name)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", other_tid);
	file = fopen(path, "w");
	must(file && fputs(name, file) >= 0 && fclose(file) == 0, path);
}

static void names(long times)
{
	static const char path[] = DIR_NAME "/by-other-name";
	pthread_t other;
	char number[32];

	unlink(path);
	must(symlink("/proc/self/exe", path) == 0, path);
	must(pipe(ping) == 0 && pipe(pong) == 0, "pipe");
	must(pthread_create(&other, NULL, be_renamed, &times) == 0, "pthread_create");
	wait_for_go();
	ask_for_group(times);
	let_other_go();
	must(prctl(PR_SET_NAME, "second") == 0, "prctl");
	ask_for_group(times);
	rename_other("renamed");
	let_other_go();
	pthread_join(other, NULL);
	snprintf(number, sizeof(number), "%ld", times);
	execl(path, path, "again", number, (char *)NULL);
	must(0, path);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(long n);
	} modes[] = {
		{"syscalls", syscalls},	  {"threads", threads},		{"forkstorm", forkstorm},
		{"spin", spin},		  {"getppid", measure_getppid}, {"exec", measure_exec},
		{"calls", calls},	  {"switch", measure_switch},	{"pipe", measure_pipe},
		{"file", measure_file},	  {"starve", starve},		{"stay", starve_and_stay},
		{"exits", provoke_exits}, {"pressure", touch},		{"thrash", thrash},
		{"urgent", be_urgent},	  {"realtime", be_realtime},	{"deadline", have_deadline},
		{"today", report_time},	  {"clocks", report_clocks},	{"names", names},
		{"again", ask_for_group}};
	sigset_t go;

	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go, NULL);

	memset(buffer, 'x', sizeof(buffer));
	mkdir(DIR_NAME, 0700);
	int fd = open(DIR_NAME "/file", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && write(fd, buffer, sizeof(buffer)) == sizeof(buffer),
	     "make " DIR_NAME "/file");
	close(fd);
	must(pipe(pipe_fds) == 0, "pipe");

	for (size_t i = 0; argc == 3 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		modes[i].run(atol(argv[2]));
		printf("done\n");
		return 0;
	}
	fprintf(stderr,
		"usage: workload "
		"syscalls|threads|forkstorm|spin|getppid|calls|exec|pipe|file|starve|urgent|"
		"realtime|deadline|today|clocks|names NUMBER\n");
	return 2;
}
