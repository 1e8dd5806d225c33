/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts for host events, for people and for programs. */
#include <check.h>
#include <string.h>

#include "base/clock.h"
#include "cli/verbs/latency/report.h"
#include "tests/lib/run_suite.h"

#define MS HV_NS_PER_MS

static struct hv_latency latency;
static struct hv_verdict verdict;
static struct hv_text gaps, out;
static struct latency_report report;

static void begin(void)
{
	latency = (struct hv_latency){.has_host_events = true};
	hv_exits_init(&latency.threads.exits, 2, NULL);
	verdict = (struct hv_verdict){.nr = 1};
	gaps = out = (struct hv_text){0};
	report = (struct latency_report){
		.domain = "web1",
		.latency = &latency,
		.verdict = &verdict,
		.measured_ns = 1000 * MS,
		.threshold_ns = 10 * MS,
		.nr_cpus = 2,
		.vmm_pid = 77,
		.gaps = &gaps,
	};
}

static void end(void)
{
	hv_exits_deinit(&latency.threads.exits);
	hv_text_deinit(&out);
}

/* The host did not run vCPU 1 because a thread of KIND, in DOMAIN, had its CPU. */
static void plant_outage(enum hv_taker_kind kind, uint32_t pid, const char *domain)
{
	struct hv_stall_task by = hv_stall_task(pid, "CPU\x1b 0/KVM");
	struct hv_taker *t = latency.threads.takers.list;

	hv_takers_add(&latency.threads.takers, &by, 40 * MS);
	t->kind = kind;
	strcpy(t->domain, domain);
	verdict.list[0] = (struct hv_cause){
		.fault = kind == HV_TAKER_VM ? HV_FAULT_OTHER_TENANT : HV_FAULT_HOSTS_SCHEDULER,
		.longest = {.kind = HV_STALL_HOST,
			    .cpu = 1,
			    .to_ns = 40 * MS,
			    .length_ns = 40 * MS,
			    .longest_ns = 40 * MS,
			    .by = by},
		.nr = 1,
		.total_ns = 40 * MS,
	};
}

static void has(const char *words)
{
	ck_assert_msg(strstr(out.data, words), "'%s' is not in:\n%s", words, out.data);
}

START_TEST(another_tenant)
{
	plant_outage(HV_TAKER_VM, 55, "web\x1b 2");
	latency_text(&out, &report);
	has("1. the host did not run the vCPU: CPU? 0/KVM-55 of domain 'web? 2' had the CPU: 40.0 "
	    "ms, "
	    "vCPU 1\n   fault: another tenant\n   once\n"
	    "   more: hvtrace record web1 -e host:sched_switch --for=10s\n");
	hv_text_deinit(&out);
	out = (struct hv_text){0};
	latency_json(&out, &report);
	has("\"fault\":\"other-tenant\"");
	has("\"by\":{\"pid\":55,\"comm\":\"CPU? 0\\/KVM\",\"of\":\"guest\",\"domain\":\"web? 2\"}");
	has("\"takers\":[{\"pid\":55,");
	has("\"taken_ns\":40000000}]");
}
END_TEST

START_TEST(the_cpu_went_to_the_guests_vmm)
{
	plant_outage(HV_TAKER_OWN, 55, "");
	latency_text(&out, &report);
	has("CPU? 0/KVM-55 of the guest's VMM had the CPU: 40.0 ms");
	has("fault: the host's scheduler");
}
END_TEST

START_TEST(nobody)
{
	plant_outage(HV_TAKER_NOBODY, 0, "");
	latency_text(&out, &report);
	has("the host did not run the vCPU, though its CPU was idle");
}
END_TEST

START_TEST(not_known)
{
	verdict.list[0] = (struct hv_cause){
		.fault = HV_FAULT_HOSTS_SCHEDULER,
		.longest = {.kind = HV_STALL_HOST, .length_ns = 40 * MS, .longest_ns = 40 * MS},
		.nr = 1};
	latency_text(&out, &report);
	has("1. the host did not run the vCPU: 40.0 ms, vCPU 0\n");
	has("more: threads of pid 77 on this host");
}
END_TEST

START_TEST(a_storm)
{
	const struct hv_exit exit = {.key = 1, .entry_ns = MS, .length_ns = 2 * MS};
	const struct hv_exit halt = {.key = 2, .entry_ns = MS, .length_ns = 500 * MS};

	verdict.list[0] = (struct hv_cause){
		.fault = HV_FAULT_TENANTS_PROGRAM,
		.longest = {.kind = HV_STALL_EXITS,
			    .name = "cpuid",
			    .to_ns = 1000 * MS,
			    .length_ns = 830 * MS,
			    .longest_ns = 2 * MS,
			    .nr = 415,
			    .task = hv_stall_task(9, "stormy")},
		.nr = 1,
	};
	hv_exits_name(&latency.threads.exits, 1, "cpuid");
	hv_exits_name(&latency.threads.exits, 2, "hlt");
	hv_exits_add(&latency.threads.exits, 0, &exit);
	hv_exits_add(&latency.threads.exits, 0, &halt);
	latency.threads.wakeups = (struct hv_wakeups){4, 8 * MS, 5 * MS};
	latency_text(&out, &report);
	has("1. exit storm: cpuid took 83 % of the vCPU's time: 830 ms, vCPU 0, stormy-9\n"
	    "   fault: the tenant's program\n   once; 415 exits, the longest 2.0 ms\n"
	    "   more: hvtrace record web1 -e 'host:kvm_*' --for=10s\n");
	has("\nexits: cpuid 1 in 2.0 ms (longest 2.0 ms); "
	    "vCPUs woken 4 times, then ran after 2.0 ms (longest 5.0 ms)\n");
	hv_text_deinit(&out);
	out = (struct hv_text){0};
	latency_json(&out, &report);
	has("\"cause\":\"exits\"");
	has("\"reason\":\"cpuid\",\"exits\":415,\"longest_exit_ns\":2000000,\"passed_ns\":"
	    "1000000000");
	has("\"exits\":[{\"reason\":\"hlt\",\"times\":1,\"total_ns\":500000000,\"longest_ns\":"
	    "500000000}");
	has("\"wakeups\":{\"times\":4,\"total_ns\":8000000,\"longest_ns\":5000000}");
}
END_TEST

/* A slow device and the function in which a task slept for it. */
START_TEST(the_function_of_a_victim)
{
	verdict.list[0] = (struct hv_cause){
		.fault = HV_FAULT_HOSTS_IO,
		.longest = {.kind = HV_STALL_IO_DEVICE, .length_ns = 40 * MS},
		.nr = 1,
		.nr_victims = 1,
		.victim = {.kind = HV_STALL_SLEEP,
			   .length_ns = 39 * MS,
			   .end = "folio_wait_bit_common",
			   .callers = {"filemap_read", "vfs\x1b_read"},
			   .task = hv_stall_task(9, "cat")},
	};
	latency_text(&out, &report);
	has("the longest 39.0 ms of cat-9 (uninterruptible)\n"
	    "   it was in folio_wait_bit_common <- filemap_read <- vfs?_read\n   more:");
	hv_text_deinit(&out);
	out = (struct hv_text){0};
	latency_json(&out, &report);
	has("\"victim\":{\"pid\":9,\"comm\":\"cat\",\"cause\":\"uninterruptible\",\"function\":"
	    "\"folio_wait_bit_common\",\"callers\":[\"filemap_read\",\"vfs?_read\"]}");
}
END_TEST

START_TEST(where_a_task_waits)
{
	verdict.list[0] = (struct hv_cause){
		.longest = {.kind = HV_STALL_LOCK,
			    .length_ns = 40 * MS,
			    .end = "__mutex_lock",
			    .callers = {"do_unlinkat"},
			    .task = hv_stall_task(9, "rm")},
		.nr = 1,
	};
	latency_text(&out, &report);
	has("rm-9\n   fault: not known\n   in __mutex_lock <- do_unlinkat\n   once\n");
	latency_json(&out, &report);
	has("\"function\":\"__mutex_lock\",\"callers\":[\"do_unlinkat\"]");
	ck_assert_ptr_null(strstr(out.data, "\"from\""));
}
END_TEST

START_TEST(system_calls_have_names)
{
	verdict.list[0] = (struct hv_cause){
		.longest = {.kind = HV_STALL_SYSCALL, .length_ns = 40 * MS, .number = 87}, .nr = 1};
	latency_text(&out, &report);
	has("1. system call unlink kept the vCPU: 40.0 ms");
	has("\n   where is not known: no sample of the timer was taken\n");
	verdict.list[0].longest.number = 99999;
	latency_json(&out, &report);
	has("\"number\":99999,\"system_call\":\"99999\"");
	verdict.list[0].longest.number = UINT64_MAX;
	latency_text(&out, &report);
	has("system call 18446744073709551615 kept");
}
END_TEST

START_TEST(the_hottest_function_of_a_system_call)
{
	verdict.list[0] = (struct hv_cause){.longest = {.kind = HV_STALL_SYSCALL,
							.length_ns = 40 * MS,
							.number = 1,
							.nr_samples = 17,
							.nr_most = 12,
							.most_name = "io_serial\x1bin",
							.most_caller_name = "console",
							.end = "io_serial\x1bin",
							.callers = {"console"}},
					    .nr = 1};
	latency_text(&out, &report);
	has("\n   in io_serial?in <- console\n   12 of 17 samples in io_serial?in\n   once\n");
	verdict.list[0].longest.kind = HV_STALL_SECTION;
	latency_text(&out, &report);
	has("\n   12 of 17 samples in io_serial?in <- console\n");
	latency_json(&out, &report);
	has("\"samples\":{\"taken\":17,\"in_function\":12,\"function\":\"io_serial?in\",\"caller\":"
	    "\"console\"}");
}
END_TEST

/* A program that kept another task waiting: 6 of 8 samples are in one function. */
START_TEST(the_function_of_a_program)
{
	char path[600] = "/";
	struct latency_function f = {
		.name = "sp\x1bin", .file = "/bin/h\x1bog", .nr = 6, .nr_samples = 8};

	verdict.list[0] = (struct hv_cause){
		.fault = HV_FAULT_TENANTS_PROGRAM,
		.longest = {.kind = HV_STALL_RUNQUEUE,
			    .length_ns = 300 * MS,
			    .task = hv_stall_task(9, "sh"),
			    .by = hv_stall_task(8, "h\x1bog"),
			    .by_prio = 120},
		.nr = 2,
		.total_ns = 400 * MS,
	};
	report.functions = &f;
	latency_text(&out, &report);
	has("sh-9 waits 300 ms for a vCPU that h?og-8 used, mostly in sp?in of /bin/h?og, 2 times; "
	    "fault: the tenant's program.\n");
	has("\n   fault: the tenant's program\n   6 of 8 samples of h?og-8 in sp?in of /bin/h?og\n"
	    "   2 times");
	latency_json(&out, &report);
	has("\"program\":{\"samples\":8,\"in_function\":6,\"function\":\"sp?in\",\"file\":"
	    "\"\\/bin\\/h?og\"}");
	memset(path + 1, 'x', sizeof(path) - 4);
	memcpy(path + sizeof(path) - 3, "/h", 3);
	f.file = path;
	latency_text(&out, &report);
	has(" of ...xxx");
	has("x/h\n");
}
END_TEST

/* The address of memory without a file, which is rarely the same, is not where the program mostly is. */
START_TEST(a_function_without_a_name)
{
	struct latency_function f = {.name = "0x7f0000", .nr = 4, .nr_samples = 8};

	verdict.list[0] = (struct hv_cause){
		.fault = HV_FAULT_TENANTS_PROGRAM,
		.longest = {.kind = HV_STALL_RECLAIM,
			    .length_ns = 300 * MS,
			    .task = hv_stall_task(9, "sh")},
		.nr = 1,
	};
	report.functions = &f;
	latency_text(&out, &report);
	has("sh-9 waits 300 ms: looking for free memory; fault: ");
	has("\n   4 of 8 samples of sh-9 in 0x7f0000\n   once\n");
	f.nr = f.nr_samples = 3;
	latency_text(&out, &report);
	ck_assert_ptr_null(strstr(out.data, "mostly"));
	f.nr = 0;
	f.name = NULL;
	hv_text_deinit(&out);
	out = (struct hv_text){0};
	latency_text(&out, &report);
	ck_assert_ptr_null(strstr(out.data, "samples"));
	latency_json(&out, &report);
	ck_assert_ptr_null(strstr(out.data, "\"program\""));
}
END_TEST

START_TEST(no_events_of_the_host)
{
	latency.has_host_events = false;
	verdict.nr = 0;
	latency_text(&out, &report);
	ck_assert_ptr_null(strstr(out.data, "exits:"));
	latency_json(&out, &report);
	ck_assert_ptr_null(strstr(out.data, "\"host\""));
}
END_TEST

/* -- the answer -------------------------------------------------------------------------------- */

static struct hv_share vcpus[12];
static struct vmm_limit vmm_limit = {
	.path = (char *)"/vm\x1b", .nr = 58, .quota_us = 20000, .period_us = 100000};
static struct latency_neighbours neighbours;
static struct hv_limits limits;

/* NR vCPUs. The first NR_WAITING ran for RAN and waited for WAITED of 1000 ms. */
static void share(unsigned nr, unsigned nr_waiting, uint64_t ran, uint64_t waited)
{
	for (unsigned i = 0; i < nr; i++)
		vcpus[i] = (struct hv_share){.cpu = i, .window_ns = 1000 * MS, .ran_ns = 100 * MS};
	for (unsigned i = 0; i < nr_waiting; i++) {
		vcpus[i].ran_ns = ran * MS;
		vcpus[i].waited_ns = waited * MS;
	}
	latency.shares = (struct hv_shares){.list = vcpus, .nr = nr};
	neighbours = (struct latency_neighbours){.nr_cpus = 2};
	report.neighbours = &neighbours;
}

static void answers(const char *words)
{
	hv_text_deinit(&out);
	out = (struct hv_text){0};
	latency_add_answer(&out, &report);
	ck_assert_str_eq(out.data, words);
}

static void cause(enum hv_stall_kind kind, enum hv_fault fault, uint64_t ms)
{
	verdict.nr = 1;
	verdict.list[0] = (struct hv_cause){
		.fault = fault,
		.longest = {.kind = kind,
			    .length_ns = ms * MS,
			    .task = hv_stall_task(9, "s\x1bh"),
			    .by = hv_stall_task(8, "hog"),
			    .by_prio = 120},
		.nr = 1,
		.total_ns = ms * MS,
	};
}

START_TEST(nothing_is_slow)
{
	verdict.nr = 0;
	answers("nothing above 10.0 ms\n");
	share(2, 1, 300, 199);
	answers("nothing above 10.0 ms\n");
}
END_TEST

START_TEST(the_host_withholds_its_cpus)
{
	verdict.nr = 0;
	share(2, 1, 310, 690);
	answers("The host ran vCPU 0 for 31 % of the time it wanted.\n");
	neighbours.busiest = hv_stall_task(5, "h\x1bog");
	neighbours.busiest_ppm = 970000;
	answers("The host ran vCPU 0 for 31 % of the time it wanted: h?og-5 of the host used 97 % "
		"of a CPU.\n");
	neighbours.nr_guests = 2;
	answers("The host ran vCPU 0 for 31 % of the time it wanted: 3 guests share 2 CPUs.\n");
	share(4, 3, 310, 690);
	answers("The host ran vCPU 0 for 31 % of the time it wanted (and similarly 2 other "
		"vCPUs).\n");
}
END_TEST

START_TEST(the_host_limits_the_vmm)
{
	verdict.nr = 0;
	share(2, 1, 310, 690);
	vcpus[0].limited_ns = 600 * MS;
	report.vmm_limit = &vmm_limit;
	neighbours.nr_guests = 2;
	answers("The host ran vCPU 0 for 31 % of the time it wanted: its cgroup /vm? (20.0 ms of "
		"each 100 ms) was at its limit in 58 periods.\n");
}
END_TEST

START_TEST(the_host_stops_the_guest)
{
	verdict.nr = 0;
	share(2, 1, 100, 0);
	vcpus[0].stopped_ns = 400 * MS;
	answers("vCPU 0 was stopped on the host for 40 % of the time.\n");
}
END_TEST

START_TEST(the_host_and_the_tenant)
{
	share(2, 1, 310, 690);
	cause(HV_STALL_SYSCALL, HV_FAULT_UNKNOWN, 70);
	answers("The host ran vCPU 0 for 31 % of the time it wanted.\n");
	cause(HV_STALL_SECTION, HV_FAULT_TENANTS_KERNEL, 70);
	answers("The host ran vCPU 0 for 31 % of the time it wanted. Besides: s?h-9: interrupts or "
		"preemption off for 70.0 ms; fault: the tenant's kernel.\n");
}
END_TEST

START_TEST(the_tenants_programs_compete)
{
	cause(HV_STALL_RUNQUEUE, HV_FAULT_TENANTS_PROGRAM, 50);
	answers("s?h-9 waits 50.0 ms for a vCPU that hog-8 used; fault: the tenant's "
		"program.\n");
	verdict.list[0].nr_crowd = 8;
	verdict.list[0].nr_crowd_cpus = 2;
	verdict.list[0].nr = 100;
	verdict.list[0].total_ns = 3400 * MS;
	answers("8 programs of the tenant compete for 2 vCPUs; each waits 34.0 ms at a time; "
		"fault: "
		"the tenant's program.\n");
}
END_TEST

START_TEST(a_cgroup_has_a_limit)
{
	latency.finders.limits = &limits;
	hv_limits_set_group(&limits, &(struct hv_limit_group){.key = 0x1000,
							      .path = "/we\x1b",
							      .quota_ns = 10 * MS,
							      .period_ns = 100 * MS});
	cause(HV_STALL_LIMIT, HV_FAULT_TENANTS_LIMIT, 90);
	verdict.list[0].longest.number = 0x1000;
	verdict.list[0].nr = 98;
	answers("s?h-9 waits 90.0 ms: the CPU limit of cgroup /we? (10.0 ms of each 100 ms), 98 "
		"times; fault: the tenant's limit of CPU time.\n");
	latency_json(&out, &report);
	has("\"limit\":{\"cgroup\":\"\\/we?\",\"quota_ns\":10000000,\"period_ns\":100000000}");
	verdict.list[0].longest.number = 0x2000;
	answers("s?h-9 waits 90.0 ms: the CPU limit of cgroup at 0x2000, 98 times; fault: the "
		"tenant's limit of CPU time.\n");
	verdict.list[0].longest.flags = HV_LIMIT_REALTIME;
	answers("s?h-9 waits 90.0 ms: the limit of real-time tasks (sched_rt_runtime_us), 98 "
		"times; "
		"fault: the tenant's limit of CPU time.\n");
	latency_json(&out, &report);
	has("\"limit\":{\"class\":\"realtime\"}");
}
END_TEST

START_TEST(five_causes_and_eight_vcpus)
{
	verdict.nr = 7;
	for (size_t i = 0; i < verdict.nr; i++)
		verdict.list[i] = (struct hv_cause){
			.longest = {.kind = HV_STALL_IRQ, .number = i, .length_ns = 40 * MS},
			.nr = 1};
	share(12, 1, 310, 100);
	latency_text(&out, &report);
	has("\n5. ");
	has("\n2 more causes: --all\nvCPU 0: ran 31 %, waited for a CPU of the host 10 %, stopped "
	    "0 %, halted 59 %\nvCPU 1: ran 10 %, waited for a CPU of the host 0 %, stopped 0 %, "
	    "halted 90 %\n");
	has("\n4 more vCPUs: --all\n");
	ck_assert_ptr_null(strstr(out.data, "\n6. "));
	report.reports_all = true;
	latency_text(&out, &report);
	has("\n7. ");
	has("\nvCPU 11: ran 10 %");
	latency_json(&out, &report);
	has("\"vcpus\":[{\"cpu\":0,\"window_ns\":1000000000,\"ran_ns\":310000000,\"waited_ns\":"
	    "100000000,\"limited_ns\":0,\"stopped_ns\":0,\"halted_ns\":590000000},");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, nothing_is_slow);
	tcase_add_test(tc, the_host_withholds_its_cpus);
	tcase_add_test(tc, the_host_limits_the_vmm);
	tcase_add_test(tc, the_host_stops_the_guest);
	tcase_add_test(tc, the_host_and_the_tenant);
	tcase_add_test(tc, the_tenants_programs_compete);
	tcase_add_test(tc, a_cgroup_has_a_limit);
	tcase_add_test(tc, five_causes_and_eight_vcpus);
	tcase_add_test(tc, another_tenant);
	tcase_add_test(tc, the_cpu_went_to_the_guests_vmm);
	tcase_add_test(tc, nobody);
	tcase_add_test(tc, not_known);
	tcase_add_test(tc, a_storm);
	tcase_add_test(tc, the_function_of_a_victim);
	tcase_add_test(tc, where_a_task_waits);
	tcase_add_test(tc, system_calls_have_names);
	tcase_add_test(tc, the_hottest_function_of_a_system_call);
	tcase_add_test(tc, the_function_of_a_program);
	tcase_add_test(tc, a_function_without_a_name);
	tcase_add_test(tc, no_events_of_the_host);
}

int main(void)
{
	return run_suite("latency_report", add_tests);
}
