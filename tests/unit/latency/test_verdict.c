/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which stall causes which, whose fault it is, and the host's share. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/latency/planted.h"
#include "latency/sched.h"
#include "latency/stall.h"
#include "latency/verdict.h"

static struct hv_stalls stalls;
static struct hv_outages host, vmm;
static struct hv_verdict verdict;
static enum hv_host_view view;
static struct hv_share vcpus[2];
static struct hv_shares shares;

static void begin(void)
{
	stalls = (struct hv_stalls){0};
	view = HV_HOST_SEEN;
	memset(vcpus, 0, sizeof(vcpus));
	vcpus[1].cpu = 1;
	shares = (struct hv_shares){.list = vcpus, .nr = 2};
	hv_outages_init(&host, 2);
	hv_outages_init(&vmm, 1);
}

static void end(void)
{
	hv_outages_deinit(&host);
	hv_outages_deinit(&vmm);
	hv_stalls_deinit(&stalls);
}

static struct hv_stall *plant(enum hv_stall_kind kind, unsigned cpu, uint64_t from, uint64_t to,
			      uint32_t pid)
{
	struct hv_stall s = {
		.kind = kind,
		.cpu = cpu,
		.from_ns = from * MS,
		.to_ns = to * MS,
		.length_ns = (to - from) * MS,
		.task.pid = pid,
		.by_prio = -1,
	};

	hv_stalls_add(&stalls, &s);
	return &stalls.list[stalls.nr - 1];
}

/* The host took TAKEN of the time, in one piece. */
static void outage(unsigned cpu, uint64_t from, uint64_t to, uint64_t taken, enum hv_outage_why why)
{
	hv_outages_add(&host, cpu,
		       &(struct hv_outage){from * MS, to * MS, taken * MS, taken * MS, why});
}

static void find(void)
{
	hv_verdict_find(&(struct hv_verdict_input){.stalls = &stalls,
						   .host = &host,
						   .vmm = &vmm,
						   .shares = &shares,
						   .view = view,
						   .threshold_ns = 10 * MS,
						   .slack_ns = 20 * MS},
			&verdict);
}

/* Asserts that cause I has this KIND, FAULT, LENGTH and number of victims. */
static void is(size_t i, enum hv_stall_kind kind, enum hv_fault fault, uint64_t length,
	       uint64_t nr_victims)
{
	ck_assert_uint_lt(i, verdict.nr);
	ck_assert_int_eq(verdict.list[i].longest.kind, kind);
	ck_assert_int_eq(verdict.list[i].fault, fault);
	ck_assert_uint_eq(verdict.list[i].longest.length_ns, length * MS);
	ck_assert_uint_eq(verdict.list[i].nr_victims, nr_victims);
}

START_TEST(nothing)
{
	outage(0, 100, 110, 3, HV_OUTAGE_WAITED);
	find();
	ck_assert_uint_eq(verdict.nr, 0);
}
END_TEST

START_TEST(a_section_makes_others_wait)
{
	plant(HV_STALL_SECTION, 0, 100, 120, 7);
	plant(HV_STALL_RUNQUEUE, 0, 101, 121, 8)->by.pid = 7;
	plant(HV_STALL_SYSCALL, 0, 99, 121, 7);
	plant(HV_STALL_SOFTIRQ, 0, 100, 120, 7)->number = 3;
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_SECTION, HV_FAULT_TENANTS_KERNEL, 20, 2);
	ck_assert_uint_eq(verdict.list[0].inside.number, 3);
}
END_TEST

/* The section's stack was lost. The section may have been during the host's outage. */
START_TEST(a_section_at_an_unknown_time_has_no_cause)
{
	outage(0, 100, 140, 40, HV_OUTAGE_WAITED);
	plant(HV_STALL_SECTION, 0, 900, 941, 7)->slack_ns = 2000 * MS;
	find();
	is(0, HV_STALL_SECTION, HV_FAULT_UNKNOWN, 41, 0);
}
END_TEST

/* 100 ms passed. The section's length already excludes the 60 ms that the host reported as steal
 * time. */
START_TEST(steal_time_is_subtracted_once)
{
	outage(0, 120, 180, 60, HV_OUTAGE_WAITED);
	plant(HV_STALL_SECTION, 0, 100, 200, 7)->length_ns = 40 * MS;
	find();
	is(1, HV_STALL_SECTION, HV_FAULT_UNKNOWN, 40, 0);
	ck_assert_uint_eq(verdict.list[1].host_ns, 60 * MS);
}
END_TEST

/* A stopped VMM does not wait for a CPU, so the host reports no steal time. */
START_TEST(outages_without_steal_time_are_subtracted)
{
	outage(0, 120, 180, 60, HV_OUTAGE_STOPPED);
	plant(HV_STALL_SECTION, 0, 100, 200, 7)->length_ns = 90 * MS;
	find();
	is(1, HV_STALL_SECTION, HV_FAULT_UNKNOWN, 40, 0);
}
END_TEST

START_TEST(an_outage_between_reclaims)
{
	outage(0, 120, 180, 60, HV_OUTAGE_WAITED);
	plant(HV_STALL_RECLAIM, 0, 100, 300, 7)->length_ns = 50 * MS;
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	is(0, HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER, 60, 0);
	is(1, HV_STALL_RECLAIM, HV_FAULT_UNKNOWN, 50, 0);
}
END_TEST

/* The task was on the vCPU for 40 ms, slept, and was then on another vCPU for 40 ms. */
static void plant_pieces(void)
{
	struct hv_stall *s = plant(HV_STALL_SYSCALL, 1, 100, 300, 7);

	s->length_ns = 80 * MS;
	s->pieces[0] = (struct hv_stall_piece){0, 100 * MS, 140 * MS};
	s->pieces[1] = (struct hv_stall_piece){1, 260 * MS, 300 * MS};
	s->nr_pieces = 2;
}

START_TEST(the_host_while_a_system_call_slept)
{
	outage(0, 165, 235, 70, HV_OUTAGE_WAITED);
	outage(1, 165, 235, 70, HV_OUTAGE_WAITED);
	plant_pieces();
	find();
	is(0, HV_STALL_SYSCALL, HV_FAULT_TENANTS_KERNEL, 80, 0);
	ck_assert_uint_eq(verdict.list[0].host_ns, 0);
}
END_TEST

START_TEST(the_host_while_a_system_call_ran)
{
	outage(0, 105, 110, 5, HV_OUTAGE_WAITED);
	outage(1, 270, 285, 15, HV_OUTAGE_WAITED);
	plant_pieces();
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	ck_assert_int_eq(verdict.list[0].longest.kind, HV_STALL_SYSCALL);
	ck_assert_uint_eq(verdict.list[0].longest.length_ns, 60 * MS);
	ck_assert_uint_eq(verdict.list[0].host_ns, 20 * MS);
}
END_TEST

/* A system call with too many pieces is treated as one without pieces. Half of it is outage, so the
 * fault is unknown. */
START_TEST(a_system_call_in_too_many_pieces)
{
	outage(1, 165, 235, 70, HV_OUTAGE_WAITED);
	plant(HV_STALL_SYSCALL, 1, 100, 300, 7);
	find();
	is(0, HV_STALL_SYSCALL, HV_FAULT_UNKNOWN, 130, 0);
}
END_TEST

/* Page faults that took 60 ms of 100. */
static struct hv_stall *plant_faults(uint64_t flags)
{
	struct hv_stall *s = plant(HV_STALL_FAULTS, 0, 100, 200, 7);

	s->length_ns = 60 * MS;
	s->flags = flags;
	return s;
}

START_TEST(page_faults_of_a_program_that_begins)
{
	plant_faults(0);
	plant(HV_STALL_SLEEP, 0, 120, 135, 7);
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_FAULTS, HV_FAULT_UNKNOWN, 60, 1);
}
END_TEST

START_TEST(page_faults_of_a_program_that_is_too_large)
{
	plant_faults(HV_SERIES_PRESSED);
	find();
	is(0, HV_STALL_FAULTS, HV_FAULT_TENANTS_PROGRAM, 60, 0);
}
END_TEST

/* No single request takes half of the faults' time. */
START_TEST(page_faults_that_wait_for_a_slow_disk)
{
	plant_faults(HV_SERIES_PRESSED);
	for (uint64_t from = 100; from < 180; from += 20)
		plant(HV_STALL_IO_DEVICE, 1, from, from + 15, 7)->device = 0x800010;
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_IO_DEVICE, HV_FAULT_HOSTS_IO, 15, 1);
}
END_TEST

START_TEST(reclaim_next_to_a_balloon)
{
	plant(HV_STALL_RECLAIM, 1, 90, 120, 3)->flags = HV_SERIES_WORKERS;
	plant(HV_STALL_RECLAIM, 0, 100, 200, 7)->number = 1;
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	is(0, HV_STALL_RECLAIM, HV_FAULT_UNKNOWN, 100, 0);
	is(1, HV_STALL_RECLAIM, HV_FAULT_UNKNOWN, 30, 0);
}
END_TEST

START_TEST(a_section_that_may_wait_for_another_vcpu)
{
	outage(1, 100, 200, 30, HV_OUTAGE_WAITED);
	plant(HV_STALL_SECTION, 0, 100, 200, 7);
	find();
	is(0, HV_STALL_SECTION, HV_FAULT_UNKNOWN, 100, 0);
}
END_TEST

START_TEST(a_section_on_another_cpu_is_unrelated)
{
	plant(HV_STALL_SECTION, 1, 100, 120, 7);
	plant(HV_STALL_RUNQUEUE, 0, 101, 131, 8)->by.pid = 9;
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	is(0, HV_STALL_RUNQUEUE, HV_FAULT_TENANTS_PROGRAM, 30, 0);
	is(1, HV_STALL_SECTION, HV_FAULT_TENANTS_KERNEL, 20, 0);
}
END_TEST

START_TEST(stalls_in_an_outage_blame_the_host)
{
	outage(0, 100, 140, 40, HV_OUTAGE_STOPPED);
	plant(HV_STALL_SECTION, 0, 95, 141, 7);
	plant(HV_STALL_RUNQUEUE, 0, 90, 142, 8)->by.pid = 7;
	plant(HV_STALL_SYSCALL, 0, 80, 150, 7)->length_ns = 45 * MS;
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_HOST, HV_FAULT_HOST, 40, 3);
}
END_TEST

START_TEST(a_stall_that_is_long_without_the_host)
{
	outage(0, 100, 140, 40, HV_OUTAGE_STOPPED);
	plant(HV_STALL_RUNQUEUE, 0, 90, 290, 8)->by.pid = 7;
	plant(HV_STALL_RUNQUEUE, 0, 90, 240, 8)->by.pid = 9;
	find();
	ck_assert_uint_eq(verdict.nr, 3);
	is(0, HV_STALL_RUNQUEUE, HV_FAULT_TENANTS_PROGRAM, 160, 0);
	ck_assert_uint_eq(verdict.list[0].host_ns, 40 * MS);
	is(1, HV_STALL_RUNQUEUE, HV_FAULT_UNKNOWN, 110, 0);
	is(2, HV_STALL_HOST, HV_FAULT_HOST, 40, 0);
}
END_TEST

START_TEST(many_small_pieces_of_the_host)
{
	for (uint64_t ms = 0; ms < 1000; ms += 10)
		outage(1, ms, ms + 10, 4, HV_OUTAGE_WAITED);
	plant(HV_STALL_SECTION, 1, 500, 512, 7);
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	ck_assert_int_eq(verdict.list[0].longest.kind, HV_STALL_HOST);
	ck_assert_int_eq(verdict.list[0].fault, HV_FAULT_HOSTS_SCHEDULER);
	ck_assert_uint_eq(verdict.list[0].longest.length_ns, 400 * MS);
	ck_assert_uint_eq(verdict.list[0].longest.longest_ns, 4 * MS);
}
END_TEST

START_TEST(doubtful_stalls_have_an_unknown_fault)
{
	outage(0, 125, 140, 15, HV_OUTAGE_WAITED);
	plant(HV_STALL_SECTION, 0, 100, 120, 7);
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	is(0, HV_STALL_SECTION, HV_FAULT_UNKNOWN, 20, 0);
	ck_assert(verdict.list[0].is_doubtful);
	is(1, HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER, 15, 0);
}
END_TEST

START_TEST(an_unseen_host_gives_an_unknown_fault)
{
	view = HV_HOST_UNSEEN;
	outage(0, 100, 140, 40, HV_OUTAGE_WAITED);
	plant(HV_STALL_SECTION, 0, 100, 120, 7);
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_SECTION, HV_FAULT_UNKNOWN, 20, 0);
	view = HV_HOST_APART;
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_SECTION, HV_FAULT_TENANTS_KERNEL, 20, 0);
}
END_TEST

/* The vCPU was idle while the device worked, so its wait for the host is not the reason. */
START_TEST(a_slow_device)
{
	outage(0, 150, 300, 100, HV_OUTAGE_WAITED);
	plant(HV_STALL_IO_DEVICE, 0, 100, 350, 7);
	plant(HV_STALL_IO_QUEUE, 0, 90, 100, 7);
	plant(HV_STALL_SLEEP, 1, 90, 351, 7);
	find();
	ck_assert_uint_eq(verdict.nr, 3);
	is(0, HV_STALL_IO_DEVICE, HV_FAULT_HOSTS_IO, 250, 1);
	is(1, HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER, 100, 0);
	is(2, HV_STALL_IO_QUEUE, HV_FAULT_HOSTS_IO, 10, 0);
}
END_TEST

/* A loop device runs in the guest's own kernel, and so does the guest's access to a network block
 * device. */
START_TEST(a_guest_device_does_not_blame_the_host)
{
	plant(HV_STALL_IO_DEVICE, 0, 100, 350, 7)->device = 7 << 20;
	plant(HV_STALL_IO_QUEUE, 0, 60, 90, 7)->device = 7 << 20;
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	is(0, HV_STALL_IO_DEVICE, HV_FAULT_UNKNOWN, 250, 0);
	is(1, HV_STALL_IO_QUEUE, HV_FAULT_UNKNOWN, 30, 0);
}
END_TEST

START_TEST(a_guest_device_waits_for_a_host_device)
{
	plant(HV_STALL_IO_DEVICE, 0, 100, 350, 7)->device = 7 << 20;
	plant(HV_STALL_IO_DEVICE, 0, 110, 345, 8)->device = 8 << 20;
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_IO_DEVICE, HV_FAULT_HOSTS_IO, 235, 1);
}
END_TEST

START_TEST(a_device_reply_delayed_by_an_outage)
{
	outage(0, 100, 400, 300, HV_OUTAGE_STOPPED);
	plant(HV_STALL_IO_DEVICE, 0, 99, 401, 7);
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_HOST, HV_FAULT_HOST, 300, 1);
}
END_TEST

/* A task spins for a lock whose owner on another vCPU has interrupts off. */
START_TEST(a_lock_that_is_held)
{
	plant(HV_STALL_LOCK, 1, 101, 130, 8)->flags = HV_LOCK_SPINS;
	plant(HV_STALL_SECTION, 1, 101, 130, 8);
	strcpy(plant(HV_STALL_SECTION, 0, 100, 131, 7)->name, "holder");
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_SECTION, HV_FAULT_TENANTS_KERNEL, 31, 2);
	ck_assert_str_eq(verdict.list[0].longest.name, "holder");
}
END_TEST

START_TEST(equal_causes_are_merged)
{
	for (uint64_t i = 0; i < 5; i++)
		plant(HV_STALL_RUNQUEUE, 0, 100 * i, 100 * i + 20 + i, 8)->by.pid = 9;
	plant(HV_STALL_RUNQUEUE, 0, 700, 730, 8)->by.pid = 10;
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	is(0, HV_STALL_RUNQUEUE, HV_FAULT_TENANTS_PROGRAM, 30, 0);
	is(1, HV_STALL_RUNQUEUE, HV_FAULT_TENANTS_PROGRAM, 24, 0);
	ck_assert_uint_eq(verdict.list[1].nr, 5);
	ck_assert_uint_eq(verdict.list[1].total_ns, 110 * MS);
}
END_TEST

START_TEST(an_unexplained_sleep_comes_last)
{
	plant(HV_STALL_SLEEP, 0, 100, 200, 7);
	plant(HV_STALL_IRQ, 0, 300, 311, 8);
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	is(0, HV_STALL_IRQ, HV_FAULT_TENANTS_KERNEL, 11, 0);
	is(1, HV_STALL_SLEEP, HV_FAULT_UNKNOWN, 100, 0);
}
END_TEST

START_TEST(many_causes)
{
	for (uint32_t i = 1; i <= HV_STALLS_MAX; i++)
		plant(HV_STALL_RUNQUEUE, 0, 100 * i, 100 * i + 20, 8)->by.pid = i;
	find();
	ck_assert_uint_eq(verdict.nr, HV_CAUSES_MAX);
	ck_assert_uint_eq(verdict.nr_skipped, HV_STALLS_MAX - HV_CAUSES_MAX);
}
END_TEST

START_TEST(text_of_a_section)
{
	static const char text[] =
		"# tracer: irqsoff\n#\n# irqsoff latency trace v1.1.5 on 6.1.0\n# ---\n"
		"# latency: 20016 us, #3/3, CPU#1 | (M:desktop VP:0, KP:0, SP:0 HP:0 #P:2)\n"
		"#    -----------------\n#    | task: a - b-142 (uid:0 nice:0 policy:0 rt_prio:0)\n"
		"#  => started at: plant_cli\n#  => ended at:   plant_cli_end\n"
		"#  => not run by the host: 3000 us more\n#\n"
		" a-142 0d..1. 20016us : <stack trace>\n => plant\n => param_attr_store\n";
	struct hv_stall s;

	ck_assert(hv_section_text_read(text, &s));
	ck_assert_uint_eq(s.length_ns, 20016000);
	ck_assert_uint_eq(s.to_ns - s.from_ns, 23016000);
	ck_assert_uint_eq(s.cpu, 1);
	ck_assert_uint_eq(s.task.pid, 142);
	ck_assert_str_eq(s.task.comm, "a - b");
	ck_assert_str_eq(s.name, "plant_cli");
	ck_assert_str_eq(s.end, "plant_cli_end");
	ck_assert_str_eq(s.callers[0], "plant");
	ck_assert_str_eq(s.callers[1], "param_attr_store");
	ck_assert_str_eq(s.callers[2], "");
	ck_assert(!hv_section_text_read("# tracer: irqsoff\n", &s));
	ck_assert(!hv_section_text_read("# latency: x us, CPU#1", &s));
	ck_assert(!hv_section_text_read("# latency: 99999999999999999999 us, CPU#1", &s));
}
END_TEST

/* For TAKEN of the time, a thread of the VMM that runs no vCPU waited for a CPU. */
static void vmm_waits(uint64_t from, uint64_t to, uint64_t taken)
{
	struct hv_outage o = {from * MS, to * MS, taken * MS, taken * MS, HV_OUTAGE_WAITED};

	o.by = o.by_last = hv_stall_task(77, "IO iothread1");
	hv_outages_add(&vmm, 0, &o);
}

START_TEST(a_request_waits_for_a_thread_of_the_vmm)
{
	plant(HV_STALL_IO_DEVICE, 0, 100, 300, 7);
	vmm_waits(50, 250, 120);
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	ck_assert_int_eq(verdict.list[0].fault, HV_FAULT_HOSTS_SCHEDULER);
	ck_assert_uint_eq(verdict.list[0].longest.length_ns, 200 * MS);
	ck_assert_uint_eq(verdict.list[0].vmm_ns, 120 * MS);
	ck_assert_str_eq(verdict.list[0].vmm.comm, "IO iothread1");
}
END_TEST

START_TEST(a_request_waits_for_the_storage)
{
	plant(HV_STALL_IO_DEVICE, 0, 100, 300, 7);
	vmm_waits(90, 140, 30);
	vmm_waits(400, 900, 500);
	find();
	ck_assert_int_eq(verdict.list[0].fault, HV_FAULT_HOSTS_IO);
	ck_assert_uint_eq(verdict.list[0].vmm_ns, 30 * MS);
	view = HV_HOST_UNSEEN;
	vmm_waits(100, 300, 200);
	find();
	ck_assert_int_eq(verdict.list[0].fault, HV_FAULT_HOSTS_IO);
	ck_assert_uint_eq(verdict.list[0].vmm_ns, 0);
}
END_TEST

/* The guest itself implements the device. */
START_TEST(a_loop_device_does_not_wait_for_the_vmm)
{
	plant(HV_STALL_IO_DEVICE, 0, 100, 300, 7)->device = 7 << 20;
	vmm_waits(100, 300, 200);
	find();
	ck_assert_int_eq(verdict.list[0].fault, HV_FAULT_UNKNOWN);
}
END_TEST

static void wait_for(unsigned cpu, uint64_t from, uint64_t to, uint32_t pid, uint32_t by)
{
	struct hv_stall *s = plant(HV_STALL_RUNQUEUE, cpu, from, to, pid);

	s->by.pid = by;
	s->by_prio = 120;
}

/* If each wait were its own cause, there would be 4 causes. */
START_TEST(a_crowd_is_one_cause)
{
	wait_for(0, 100, 134, 1, 2);
	wait_for(0, 134, 168, 2, 3);
	wait_for(1, 100, 130, 3, 4);
	wait_for(1, 130, 160, 4, 1);
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_RUNQUEUE, HV_FAULT_TENANTS_PROGRAM, 34, 0);
	ck_assert_uint_eq(verdict.list[0].nr, 4);
	ck_assert_uint_eq(verdict.list[0].total_ns, 128 * MS);
	ck_assert_uint_eq(verdict.list[0].nr_crowd, 4);
	ck_assert_uint_eq(verdict.list[0].nr_crowd_cpus, 2);
}
END_TEST

/* Two crowds; a task that others wait for but that does not wait itself; and a real-time task. */
START_TEST(mutual_waits_that_are_no_crowd)
{
	wait_for(0, 100, 134, 1, 2);
	wait_for(0, 134, 168, 2, 1);
	wait_for(1, 100, 133, 3, 4);
	wait_for(1, 133, 160, 4, 3);
	wait_for(0, 200, 232, 1, 9);
	wait_for(0, 240, 271, 8, 7);
	stalls.list[5].by_prio = 50;
	wait_for(0, 280, 310, 7, 8);
	stalls.list[6].by_prio = 50;
	find();
	ck_assert_uint_eq(verdict.nr, 5);
	ck_assert_uint_eq(verdict.list[0].nr_crowd, 2);
	ck_assert_uint_eq(verdict.list[1].nr_crowd, 2);
	ck_assert_uint_eq(verdict.list[2].nr_crowd, 0);
	ck_assert_uint_eq(verdict.list[2].longest.by.pid, 9);
	ck_assert_uint_eq(verdict.list[3].nr_crowd, 0);
}
END_TEST

static void limit(unsigned cpu, uint64_t from, uint64_t to, uint64_t group)
{
	plant(HV_STALL_LIMIT, cpu, from, to, 7)->number = group;
}

START_TEST(waits_of_a_limited_group_are_the_limits)
{
	limit(0, 100, 190, 0x1000);
	plant(HV_STALL_RUNQUEUE, 0, 100, 191, 7)->number = 0x1000;
	limit(0, 200, 290, 0x1000);
	wait_for(0, 200, 291, 7, 8);
	stalls.list[3].number = 0x1000;
	wait_for(0, 200, 291, 6, 0);
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_LIMIT, HV_FAULT_TENANTS_LIMIT, 90, 3);
	ck_assert_uint_eq(verdict.list[0].nr, 2);
}
END_TEST

/* The task waited through two periods, and neither is half of its wait. */
START_TEST(a_wait_through_several_periods)
{
	limit(0, 100, 180, 0x1000);
	limit(0, 200, 280, 0x1000);
	limit(0, 300, 380, 0x1000);
	plant(HV_STALL_RUNQUEUE, 0, 100, 381, 7)->number = 0x1000;
	find();
	is(0, HV_STALL_LIMIT, HV_FAULT_TENANTS_LIMIT, 80, 1);
}
END_TEST

/* A limit of another vCPU; of another group while the vCPU was in use; and one that no task waited
 * for. */
START_TEST(waits_that_no_limit_explains)
{
	limit(1, 100, 190, 0x1000);
	wait_for(0, 100, 190, 7, 0);
	limit(0, 200, 290, 0x1000);
	wait_for(0, 200, 291, 6, 8);
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	is(0, HV_STALL_RUNQUEUE, HV_FAULT_TENANTS_PROGRAM, 91, 0);
	is(1, HV_STALL_RUNQUEUE, HV_FAULT_UNKNOWN, 90, 0);
}
END_TEST

/* The host did not run the vCPU during part of the time for which the group was throttled. */
START_TEST(a_limit_while_the_host_does_not_run_the_vcpu)
{
	outage(0, 120, 180, 60, HV_OUTAGE_WAITED);
	limit(0, 100, 190, 0x1000);
	plant(HV_STALL_RUNQUEUE, 0, 100, 191, 7)->number = 0x1000;
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	is(0, HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER, 60, 0);
	is(1, HV_STALL_LIMIT, HV_FAULT_TENANTS_LIMIT, 30, 1);
}
END_TEST

START_TEST(a_realtime_limit)
{
	plant(HV_STALL_LIMIT, 0, 950, 1000, 7)->flags = HV_LIMIT_REALTIME;
	find();
	is(0, HV_STALL_LIMIT, HV_FAULT_TENANTS_LIMIT, 50, 0);
}
END_TEST

static void share(unsigned cpu, uint64_t ran, uint64_t waited, uint64_t limited)
{
	vcpus[cpu] = (struct hv_share){.cpu = cpu,
				       .window_ns = 1000 * MS,
				       .ran_ns = ran * MS,
				       .waited_ns = waited * MS,
				       .limited_ns = limited * MS};
}

/* It is unknown when the host did not run the vCPU, so no single delay is attributed to the
 * tenant. */
START_TEST(the_share_of_the_host_decides)
{
	view = HV_HOST_UNSEEN;
	share(0, 300, 500, 0);
	for (uint64_t i = 0; i < 20; i++) {
		plant(HV_STALL_SYSCALL, 0, 100 * i, 100 * i + 90, 7)->number = i;
		wait_for(1, 100 * i, 100 * i + 90, 7, 8 + i);
	}
	plant(HV_STALL_SECTION, 0, 100, 190, 7);
	plant(HV_STALL_SLEEP, 0, 100, 190, 9);
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER, 500, 42);
	ck_assert(verdict.list[0].decides);
}
END_TEST

/* The tenant's own fault is still reported, after the host. */
START_TEST(the_share_of_the_host_hides_no_fault_of_the_tenant)
{
	share(0, 300, 500, 0);
	outage(0, 100, 600, 500, HV_OUTAGE_WAITED);
	plant(HV_STALL_SECTION, 0, 2000, 2600, 7);
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	is(0, HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER, 500, 0);
	is(1, HV_STALL_SECTION, HV_FAULT_TENANTS_KERNEL, 600, 0);
}
END_TEST

/* The host withheld less time in total. */
START_TEST(a_stall_that_is_longer_than_the_hosts_share)
{
	view = HV_HOST_UNSEEN;
	share(0, 300, 500, 0);
	plant(HV_STALL_SECTION, 0, 2000, 2501, 7);
	plant(HV_STALL_SECTION, 0, 3000, 3499, 8)->name[0] = 'x';
	find();
	ck_assert_uint_eq(verdict.nr, 2);
	is(0, HV_STALL_HOST, HV_FAULT_HOSTS_SCHEDULER, 500, 1);
	is(1, HV_STALL_SECTION, HV_FAULT_UNKNOWN, 501, 0);
}
END_TEST

START_TEST(a_small_share_of_the_host_decides_nothing)
{
	view = HV_HOST_UNSEEN;
	share(0, 300, 199, 0);
	plant(HV_STALL_SECTION, 0, 100, 190, 7);
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_SECTION, HV_FAULT_UNKNOWN, 90, 0);
}
END_TEST

/* A clock that counts instructions stands still during the outage. */
START_TEST(a_share_that_the_guest_does_not_notice)
{
	view = HV_HOST_APART;
	share(0, 300, 500, 0);
	plant(HV_STALL_SECTION, 0, 100, 190, 7);
	find();
	ck_assert_uint_eq(verdict.nr, 1);
	is(0, HV_STALL_SECTION, HV_FAULT_TENANTS_KERNEL, 90, 0);
}
END_TEST

START_TEST(a_limit_of_the_vmm)
{
	share(0, 300, 500, 400);
	outage(0, 100, 190, 90, HV_OUTAGE_WAITED);
	find();
	is(0, HV_STALL_HOST, HV_FAULT_HOSTS_LIMIT, 90, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, a_request_waits_for_a_thread_of_the_vmm);
	tcase_add_test(tc, a_request_waits_for_the_storage);
	tcase_add_test(tc, a_loop_device_does_not_wait_for_the_vmm);
	tcase_add_test(tc, a_crowd_is_one_cause);
	tcase_add_test(tc, mutual_waits_that_are_no_crowd);
	tcase_add_test(tc, waits_of_a_limited_group_are_the_limits);
	tcase_add_test(tc, a_wait_through_several_periods);
	tcase_add_test(tc, waits_that_no_limit_explains);
	tcase_add_test(tc, a_limit_while_the_host_does_not_run_the_vcpu);
	tcase_add_test(tc, a_realtime_limit);
	tcase_add_test(tc, the_share_of_the_host_decides);
	tcase_add_test(tc, the_share_of_the_host_hides_no_fault_of_the_tenant);
	tcase_add_test(tc, a_stall_that_is_longer_than_the_hosts_share);
	tcase_add_test(tc, a_small_share_of_the_host_decides_nothing);
	tcase_add_test(tc, a_share_that_the_guest_does_not_notice);
	tcase_add_test(tc, a_limit_of_the_vmm);
	tcase_add_test(tc, nothing);
	tcase_add_test(tc, a_section_makes_others_wait);
	tcase_add_test(tc, a_section_at_an_unknown_time_has_no_cause);
	tcase_add_test(tc, steal_time_is_subtracted_once);
	tcase_add_test(tc, outages_without_steal_time_are_subtracted);
	tcase_add_test(tc, an_outage_between_reclaims);
	tcase_add_test(tc, a_guest_device_does_not_blame_the_host);
	tcase_add_test(tc, a_guest_device_waits_for_a_host_device);
	tcase_add_test(tc, the_host_while_a_system_call_slept);
	tcase_add_test(tc, the_host_while_a_system_call_ran);
	tcase_add_test(tc, a_system_call_in_too_many_pieces);
	tcase_add_test(tc, page_faults_of_a_program_that_begins);
	tcase_add_test(tc, page_faults_of_a_program_that_is_too_large);
	tcase_add_test(tc, page_faults_that_wait_for_a_slow_disk);
	tcase_add_test(tc, reclaim_next_to_a_balloon);
	tcase_add_test(tc, a_section_that_may_wait_for_another_vcpu);
	tcase_add_test(tc, a_section_on_another_cpu_is_unrelated);
	tcase_add_test(tc, stalls_in_an_outage_blame_the_host);
	tcase_add_test(tc, a_stall_that_is_long_without_the_host);
	tcase_add_test(tc, many_small_pieces_of_the_host);
	tcase_add_test(tc, doubtful_stalls_have_an_unknown_fault);
	tcase_add_test(tc, an_unseen_host_gives_an_unknown_fault);
	tcase_add_test(tc, a_slow_device);
	tcase_add_test(tc, a_device_reply_delayed_by_an_outage);
	tcase_add_test(tc, a_lock_that_is_held);
	tcase_add_test(tc, equal_causes_are_merged);
	tcase_add_test(tc, an_unexplained_sleep_comes_last);
	tcase_add_test(tc, many_causes);
	tcase_add_test(tc, text_of_a_section);
}

int main(void)
{
	return run_suite("verdict", add_tests);
}
