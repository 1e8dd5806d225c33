/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host events of vCPUs: the tasks on their CPUs, exits and storms of exits, and the resulting
 * verdict. */
#include <check.h>

#include "latency/vcpu_threads.h"
#include "latency/verdict.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/latency/planted.h"

#define TID	100 /* thread of vCPU 0; vCPU 1 has the next id */
#define HOG	500
#define US	(MS / 1000)
#define KERNEL	UINT64_C(0xffffffff81000000)
#define PROGRAM 0x400000

enum { SVM = 2, CPUID = 0x72, HLT = 0x78, NPF = 0x400 };

static struct hv_stalls stalls;
static struct hv_outages host;
static struct hv_vcpu_threads threads;
static struct hv_verdict verdict;

static void begin(void)
{
	stalls = (struct hv_stalls){0};
	hv_outages_init(&host, 2);
	hv_vcpu_threads_init(&threads, 2, &host, &stalls);
	threads.exits.threshold_ns = 10 * MS;
	hv_exits_name(&threads.exits, hv_exit_key(SVM, CPUID), "cpuid");
	hv_exits_name(&threads.exits, hv_exit_key(SVM, HLT), "hlt");
	hv_exits_name(&threads.exits, hv_exit_key(SVM, NPF), "npf");
}

static void end(void)
{
	hv_vcpu_threads_deinit(&threads);
	hv_outages_deinit(&host);
	hv_stalls_deinit(&stalls);
}

static void see(struct hv_moment m)
{
	hv_vcpu_threads_see(&threads, &m);
}

/* CPU is in an exit from US_FROM to US_TO (microseconds). */
static void leaves(unsigned cpu, uint64_t us, uint64_t reason, uint64_t address)
{
	see((struct hv_moment){.kind = HV_MOMENT_HOST_EXIT,
			       .cpu = cpu,
			       .time_ns = us * US,
			       .pid = TID + cpu,
			       .state = SVM,
			       .number = reason,
			       .address = address});
}

static void enters(unsigned cpu, uint64_t us)
{
	see((struct hv_moment){
		.kind = HV_MOMENT_HOST_ENTRY, .cpu = cpu, .time_ns = us * US, .pid = TID + cpu});
}

/* The host CPU of vCPU CPU switches from PID to OTHER. */
static void switches(unsigned cpu, uint64_t ms, uint32_t pid, uint64_t state, uint32_t other)
{
	struct hv_moment m = sw(cpu, ms, pid, state, other);

	m.kind = HV_MOMENT_HOST_SWITCH;
	strcpy(m.comm, !pid ? "swapper/0" : pid == HOG ? "hog" : "CPU");
	strcpy(m.other_comm, !other ? "swapper/0" : other == HOG ? "hog" : "CPU");
	see(m);
}

static void wakes(unsigned cpu, uint64_t ms)
{
	struct hv_moment m = wake(cpu, ms, 7, TID + cpu);

	m.kind = HV_MOMENT_HOST_WAKING;
	see(m);
}

static void guest_runs(unsigned cpu, uint64_t ms, uint32_t pid)
{
	struct hv_moment m = sw(cpu, ms, 0, 0, pid);

	strcpy(m.other_comm, "storm");
	hv_vcpu_threads_see_guest(&threads, &m);
}

static void find(void)
{
	hv_verdict_find(&(struct hv_verdict_input){.stalls = &stalls,
						   .host = &host,
						   .takers = &threads.takers,
						   .exits = &threads.exits,
						   .threads = &threads,
						   .view = HV_HOST_SEEN,
						   .threshold_ns = 10 * MS,
						   .slack_ns = MS},
			&verdict);
}

static void find_at(uint64_t ms)
{
	hv_vcpu_threads_end(&threads, ms * MS);
	find();
}

/* From FROM to TO (ms), an exit of LENGTH_US every 100 us. */
static void storm(unsigned cpu, uint64_t from, uint64_t to, uint64_t length_us, uint64_t reason,
		  uint64_t address)
{
	for (uint64_t us = from * 1000; us < to * 1000; us += 100) {
		leaves(cpu, us, reason, address);
		enters(cpu, us + length_us);
	}
}

static const struct hv_cause *the_only_one(enum hv_stall_kind kind, enum hv_fault fault)
{
	ck_assert_uint_eq(verdict.nr, 1);
	ck_assert_int_eq(verdict.list[0].longest.kind, kind);
	ck_assert_int_eq(verdict.list[0].fault, fault);
	return &verdict.list[0];
}

START_TEST(the_thread_that_took_the_cpu_is_named)
{
	const struct hv_cause *c;

	leaves(0, 1000, NPF, KERNEL);
	switches(0, 2, TID, HV_LEFT_PREEMPTED, HOG);
	switches(0, 42, HOG, HV_LEFT_RUNNABLE, TID);
	enters(0, 43000);
	find_at(50);
	c = the_only_one(HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER);
	ck_assert_uint_eq(c->longest.length_ns, 40 * MS);
	ck_assert_uint_eq(c->longest.by.pid, HOG);
	ck_assert_str_eq(c->longest.by.comm, "hog");
	ck_assert_uint_eq(threads.takers.nr, 1);
	ck_assert_uint_eq(threads.takers.list[0].taken_ns, 40 * MS);
	/* The hog's time does not count as the exit's. */
	ck_assert_uint_eq(threads.exits.reasons[2].total_ns, 2 * MS);
}
END_TEST

START_TEST(another_tenant_took_the_cpu)
{
	leaves(0, 1000, NPF, KERNEL);
	switches(0, 2, TID, HV_LEFT_RUNNABLE, HOG);
	switches(0, 42, HOG, HV_LEFT_RUNNABLE, TID);
	threads.takers.list[0].kind = HV_TAKER_VM;
	find_at(50);
	the_only_one(HV_STALL_HOST, HV_FAULT_OTHER_TENANT);
}
END_TEST

START_TEST(the_last_thread_is_named)
{
	leaves(0, 1000, NPF, KERNEL);
	switches(0, 2, TID, HV_LEFT_PREEMPTED, 600);
	switches(0, 42, HOG, HV_LEFT_RUNNABLE, TID);
	find_at(50);
	ck_assert_uint_eq(the_only_one(HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER)->longest.by.pid,
			  HOG);
}
END_TEST

START_TEST(a_limit_leaves_the_cpu_idle)
{
	leaves(0, 1000, NPF, KERNEL);
	switches(0, 2, TID, HV_LEFT_RUNNABLE, 0);
	switches(0, 42, 0, HV_LEFT_RUNNABLE, TID);
	find_at(50);
	the_only_one(HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER);
	ck_assert_int_eq(threads.takers.list[0].kind, HV_TAKER_NOBODY);
}
END_TEST

START_TEST(woken_and_kept_waiting)
{
	leaves(0, 1000, HLT, KERNEL);
	switches(0, 2, TID, 1, 0);
	wakes(0, 100);
	switches(0, 130, HOG, HV_LEFT_RUNNABLE, TID);
	enters(0, 131000);
	find_at(140);
	ck_assert_uint_eq(the_only_one(HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER)->longest.length_ns,
			  30 * MS);
	ck_assert_uint_eq(verdict.list[0].longest.by.pid, HOG);
	ck_assert_uint_eq(threads.wakeups.nr, 1);
	ck_assert_uint_eq(threads.wakeups.longest_ns, 30 * MS);
}
END_TEST

START_TEST(a_wait_that_has_not_ended)
{
	leaves(0, 1000, NPF, KERNEL);
	switches(0, 2, TID, HV_LEFT_PREEMPTED, HOG);
	find_at(50);
	ck_assert_uint_eq(the_only_one(HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER)->longest.length_ns,
			  48 * MS);
	ck_assert_uint_eq(verdict.list[0].longest.by.pid, HOG);
}
END_TEST

START_TEST(a_stopped_thread_blames_the_host)
{
	leaves(0, 1000, NPF, KERNEL);
	switches(0, 2, TID, HV_LEFT_STOPPED, HOG);
	wakes(0, 300);
	switches(0, 301, HOG, 0, TID);
	find_at(400);
	the_only_one(HV_STALL_HOST, HV_FAULT_HOST);
}
END_TEST

/* The first vCPU's thread takes the second one's CPU: one event for both. */
START_TEST(two_vcpus_on_one_cpu)
{
	leaves(0, 1000, NPF, KERNEL);
	leaves(1, 1000, NPF, KERNEL);
	for (unsigned cpu = 0; cpu < 2; cpu++)
		switches(cpu, 2, TID + 1, HV_LEFT_PREEMPTED, TID);
	for (unsigned cpu = 0; cpu < 2; cpu++)
		switches(cpu, 22, TID, 1, TID + 1);
	find_at(50);
	ck_assert_uint_eq(the_only_one(HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER)->longest.cpu, 1);
	ck_assert_uint_eq(verdict.list[0].longest.by.pid, TID);
}
END_TEST

/* Each piece is short; together they are a fifth of the time. */
START_TEST(short_waits_are_summed)
{
	const struct hv_cause *c;

	leaves(0, 1000, NPF, KERNEL);
	for (uint64_t ms = 10; ms < 1500; ms += 2) {
		switches(0, ms, TID, HV_LEFT_PREEMPTED, HOG);
		switches(0, ms + 1, HOG, HV_LEFT_RUNNABLE, TID);
	}
	find_at(1500);
	c = the_only_one(HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER);
	ck_assert_uint_gt(c->longest.length_ns, 400 * MS);
	ck_assert_uint_eq(c->longest.by.pid, HOG);
	ck_assert_uint_lt(host.cpus[0].nr, 800);
}
END_TEST

START_TEST(a_storm)
{
	const struct hv_cause *c;

	guest_runs(1, 0, 33);
	storm(1, 1, 3001, 40, CPUID, PROGRAM);
	find();
	the_only_one(HV_STALL_EXITS, HV_FAULT_TENANTS_PROGRAM);
	find_at(3001);
	c = the_only_one(HV_STALL_EXITS, HV_FAULT_TENANTS_PROGRAM);
	ck_assert_str_eq(c->longest.name, "cpuid");
	ck_assert_uint_eq(c->longest.cpu, 1);
	ck_assert_uint_eq(c->longest.task.pid, 33);
	ck_assert_uint_ge(c->longest.length_ns, 1190 * MS);
	ck_assert_uint_le(c->longest.length_ns, 1200 * MS);
	ck_assert_uint_eq(c->longest.longest_ns, 40 * US);
}
END_TEST

START_TEST(a_storm_of_the_kernels)
{
	storm(0, 1, 2001, 40, CPUID, KERNEL);
	find_at(2001);
	the_only_one(HV_STALL_EXITS, HV_FAULT_TENANTS_KERNEL);
}
END_TEST

/* 40 %, then 15 % of the time, which would be no storm by itself. */
START_TEST(a_storm_continues_at_half_strength)
{
	const struct hv_cause *c;

	storm(0, 1, 1001, 40, CPUID, PROGRAM);
	storm(0, 1001, 3001, 15, CPUID, PROGRAM);
	storm(0, 3001, 4001, 40, CPUID, PROGRAM);
	find_at(4001);
	c = the_only_one(HV_STALL_EXITS, HV_FAULT_TENANTS_PROGRAM);
	ck_assert_uint_eq(c->nr, 1);
	ck_assert_uint_ge(c->longest.to_ns - c->longest.from_ns, 3900 * MS);
	ck_assert_uint_ge(c->longest.length_ns, 1080 * MS);
}
END_TEST

START_TEST(a_storm_ends)
{
	storm(0, 1, 1001, 40, CPUID, PROGRAM);
	storm(0, 1001, 3001, 5, CPUID, PROGRAM);
	storm(0, 3001, 4001, 40, CPUID, PROGRAM);
	find_at(4001);
	ck_assert_uint_eq(the_only_one(HV_STALL_EXITS, HV_FAULT_TENANTS_PROGRAM)->nr, 2);
}
END_TEST

/* The host's actions on guest memory are not the tenant's fault. */
START_TEST(a_storm_of_host_page_faults)
{
	storm(0, 1, 2001, 40, NPF, PROGRAM);
	find_at(2001);
	the_only_one(HV_STALL_EXITS, HV_FAULT_UNKNOWN);
}
END_TEST

START_TEST(short_exit_times_are_no_storm)
{
	storm(0, 1, 2001, 15, CPUID, PROGRAM);
	find_at(2001);
	ck_assert_uint_eq(verdict.nr, 0);
	ck_assert_uint_eq(threads.exits.reasons[0].nr, 20000);
}
END_TEST

START_TEST(halts_are_not_reported)
{
	storm(0, 1, 2001, 99, HLT, KERNEL);
	find_at(2001);
	ck_assert_uint_eq(verdict.nr, 0);
	ck_assert_uint_eq(threads.exits.reasons[1].nr, 20000);
}
END_TEST

/* The exits are long because another thread has the CPU. */
START_TEST(preempted_exits_are_no_storm)
{
	for (uint64_t ms = 1; ms < 2001; ms += 4) {
		leaves(0, ms * 1000, CPUID, PROGRAM);
		switches(0, ms + 1, TID, HV_LEFT_PREEMPTED, HOG);
		switches(0, ms + 3, HOG, HV_LEFT_RUNNABLE, TID);
		enters(0, (ms + 3) * 1000 - 300);
	}
	find_at(2001);
	the_only_one(HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER);
}
END_TEST

START_TEST(waits_caused_by_a_storm)
{
	struct hv_stall wait = {.kind = HV_STALL_RUNQUEUE,
				.cpu = 0,
				.from_ns = 500 * MS,
				.to_ns = 600 * MS,
				.length_ns = 100 * MS,
				.by.pid = 33,
				.task.pid = 44};

	guest_runs(0, 0, 33);
	storm(0, 1, 2001, 50, CPUID, PROGRAM);
	hv_stalls_add(&stalls, &wait);
	find_at(2001);
	ck_assert_uint_eq(the_only_one(HV_STALL_EXITS, HV_FAULT_TENANTS_PROGRAM)->nr_victims, 1);
}
END_TEST

/* Lost events do not mean a time without exits, and nothing is known to wait. */
START_TEST(lost_events)
{
	for (uint64_t ms = 1; ms < 2001; ms += 50) {
		hv_vcpu_threads_lose(&threads, 0, ms * MS);
		storm(0, ms, ms + 5, 50, CPUID, PROGRAM);
	}
	switches(0, 2001, TID, HV_LEFT_PREEMPTED, HOG);
	hv_vcpu_threads_lose(&threads, 0, 2100 * MS);
	find_at(2101);
	the_only_one(HV_STALL_EXITS, HV_FAULT_TENANTS_PROGRAM);
}
END_TEST

/* If the host's behaviour during a wait is unknown, the fault is unknown, too. */
START_TEST(a_vcpu_that_was_not_seen)
{
	struct hv_stall wait = {.kind = HV_STALL_RUNQUEUE,
				.cpu = 1,
				.from_ns = 500 * MS,
				.to_ns = 600 * MS,
				.length_ns = 100 * MS,
				.by.pid = 33,
				.task.pid = 44};
	const struct {
		uint64_t seen_ms, lost_ms;
		enum hv_fault fault;
	} cases[] = {
		{0, 0, HV_FAULT_UNKNOWN},
		{600, 0, HV_FAULT_UNKNOWN},
		{400, 0, HV_FAULT_TENANTS_PROGRAM},
		{400, 450, HV_FAULT_UNKNOWN},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(cases); i++) {
		end();
		begin();
		enters(0, 1000);
		if (cases[i].seen_ms)
			enters(1, cases[i].seen_ms * 1000);
		if (cases[i].lost_ms)
			hv_vcpu_threads_lose(&threads, 1, cases[i].lost_ms * MS);
		hv_stalls_add(&stalls, &wait);
		find_at(700);
		the_only_one(HV_STALL_RUNQUEUE, cases[i].fault);
	}
}
END_TEST

START_TEST(many_reasons)
{
	for (uint64_t i = 2000; i < 2100; i++) {
		if (!hv_exits_knows(&threads.exits, hv_exit_key(SVM, i)))
			hv_exits_name(&threads.exits, hv_exit_key(SVM, i), "strange");
		leaves(0, i * 10, i, KERNEL);
		enters(0, i * 10 + 1);
	}
	ck_assert_uint_eq(threads.exits.nr_reasons, HV_EXIT_REASONS_MAX);
	ck_assert_str_eq(threads.exits.reasons[HV_EXIT_REASONS_MAX - 1].name, "others");
	ck_assert_uint_eq(threads.exits.reasons[HV_EXIT_REASONS_MAX - 1].nr,
			  100 - (HV_EXIT_REASONS_MAX - 1 - 3));
}
END_TEST

START_TEST(many_takers)
{
	leaves(0, 1, NPF, KERNEL);
	for (uint32_t i = 0; i < 1000; i++) {
		switches(0, 10 + 2 * i, TID, HV_LEFT_PREEMPTED, i == 3 ? HOG : 1000 + i);
		switches(0, 11 + 2 * i + (i == 3), i == 3 ? HOG : 1000 + i, 0, TID);
	}
	ck_assert_uint_eq(threads.takers.nr, HV_TAKERS_MAX);
	ck_assert_ptr_nonnull(hv_takers_find(&threads.takers, &(struct hv_stall_task){HOG, "hog"}));
}
END_TEST

/* A CPU that the guest does not have, an entry without its exit, a decreasing time. */
START_TEST(strange_events)
{
	leaves(2, 1, NPF, KERNEL);
	enters(0, 5);
	leaves(0, 10, NPF, KERNEL);
	enters(0, 9);
	switches(0, 2, TID, HV_LEFT_PREEMPTED, HOG);
	switches(0, 1, HOG, 0, TID);
	hv_vcpu_threads_lose(&threads, 7, 1);
	find_at(1);
	ck_assert_uint_eq(verdict.nr, 0);
	ck_assert_uint_eq(threads.exits.reasons[2].nr, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, the_thread_that_took_the_cpu_is_named);
	tcase_add_test(tc, another_tenant_took_the_cpu);
	tcase_add_test(tc, the_last_thread_is_named);
	tcase_add_test(tc, a_limit_leaves_the_cpu_idle);
	tcase_add_test(tc, woken_and_kept_waiting);
	tcase_add_test(tc, a_wait_that_has_not_ended);
	tcase_add_test(tc, a_stopped_thread_blames_the_host);
	tcase_add_test(tc, two_vcpus_on_one_cpu);
	tcase_add_test(tc, short_waits_are_summed);
	tcase_add_test(tc, a_storm);
	tcase_add_test(tc, a_storm_of_the_kernels);
	tcase_add_test(tc, a_storm_of_host_page_faults);
	tcase_add_test(tc, a_storm_continues_at_half_strength);
	tcase_add_test(tc, a_storm_ends);
	tcase_add_test(tc, short_exit_times_are_no_storm);
	tcase_add_test(tc, halts_are_not_reported);
	tcase_add_test(tc, preempted_exits_are_no_storm);
	tcase_add_test(tc, waits_caused_by_a_storm);
	tcase_add_test(tc, lost_events);
	tcase_add_test(tc, a_vcpu_that_was_not_seen);
	tcase_add_test(tc, many_reasons);
	tcase_add_test(tc, many_takers);
	tcase_add_test(tc, strange_events);
}

int main(void)
{
	return run_suite("vcpu_threads", add_tests);
}
