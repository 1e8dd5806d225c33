/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest that an administrator paused stays paused, whatever hold of hvtrace failed before. A
 * guest that a failed hold left stopped is resumed. Guardian and monitor are fakes. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "vmm/qemu/machine.h"

static struct {
	bool is_paused; /* as QEMU reports it */
	bool by_other;	/* as libvirt reports it */
	bool is_deaf;	/* the monitor does not answer */
	bool has_stub;
	unsigned nr_cont;
	struct hv_err *(*hold)(void); /* implementation of a hold */
	int release_code;	      /* errno of the release; 0: success */
	enum hv_guardian_state state;
	bool resumes; /* the guardian resumes the guest when asked for its state */
	unsigned nr_freed;
} vmm;

static struct hv_machine machine;

/* The guardian: guardian.h. */

struct hv_err *hv_guardian_hold(struct hv_guardian *g hv_unused, uint64_t max_ns hv_unused,
				uint64_t *ret_ns)
{
	*ret_ns = 1;
	return vmm.hold();
}

struct hv_err *hv_guardian_hold_asleep(struct hv_guardian *g, uint64_t max_ns, uint64_t *ret_ns)
{
	return hv_guardian_hold(g, max_ns, ret_ns);
}

struct hv_err *hv_guardian_release(struct hv_guardian *g hv_unused, uint64_t *ret_held_ns)
{
	*ret_held_ns = 1;
	return vmm.release_code ? hv_err_new(vmm.release_code, "release") : NULL;
}

bool hv_guardian_is_alive(const struct hv_guardian *g hv_unused)
{
	return true;
}

void hv_guardian_free(struct hv_guardian *g hv_unused)
{
	vmm.nr_freed++;
}

enum hv_guardian_state hv_guardian_state(struct hv_guardian *g hv_unused)
{
	if (vmm.resumes && vmm.state == HV_GUARDIAN_STOPPING) {
		vmm.is_paused = false;
		vmm.state = HV_GUARDIAN_RUNS;
	}
	return vmm.state;
}

void hv_guardian_forget_stop(struct hv_guardian *g hv_unused)
{
	vmm.state = HV_GUARDIAN_RUNS;
}

struct hv_err *hv_guardian_start(const char *path hv_unused, pid_t pid hv_unused,
				 struct hv_guardian **ret hv_unused)
{
	return hv_err_new(ENOTSUP, "not here");
}

static struct hv_err *has_ended(void)
{
	return hv_err_new(EPIPE, "guardian: it has ended");
}

struct hv_err *hv_guardian_describe(struct hv_guardian *g hv_unused,
				    const struct hv_arch *arch hv_unused)
{
	return has_ended();
}

struct hv_err *hv_guardian_look(struct hv_guardian *g hv_unused, unsigned expected hv_unused,
				struct hv_vcpu_regs **ret hv_unused, unsigned *ret_nr hv_unused)
{
	return has_ended();
}

struct hv_err *hv_guardian_flush(struct hv_guardian *g hv_unused)
{
	return has_ended();
}

struct hv_err *hv_guardian_execute(struct hv_guardian *g hv_unused,
				   const struct hv_packets *packets hv_unused)
{
	return has_ended();
}

/* The monitor. */

static struct hv_err *transact(void *self hv_unused, const char *request, char **ret)
{
	const char *answer = "{\"return\": {}}";

	if (vmm.is_deaf && !strstr(request, "\"cont\""))
		return hv_err_new(ETIMEDOUT, "no answer");
	if (strstr(request, "\"cont\"")) {
		vmm.nr_cont++;
		vmm.is_paused = false;
	}
	if (strstr(request, "query-status"))
		answer = vmm.is_paused
				 ? "{\"return\": {\"status\": \"paused\", \"running\": false}}"
				 : "{\"return\": {\"status\": \"running\", \"running\": true}}";
	if (strstr(request, "query-chardev"))
		answer = vmm.has_stub ? "{\"return\": [{\"label\": \"gdb\", \"filename\": "
					"\"disconnected:unix:/d/hvtrace-gdb.sock,server=on\"}]}"
				      : "{\"return\": []}";
	if (strstr(request, "human-monitor-command"))
		answer = "{\"return\": \"\"}";
	*ret = hv_strdup(answer);
	return NULL;
}

static bool is_paused_by_other(void *self hv_unused)
{
	return vmm.by_other;
}

static void free_nothing(void *self hv_unused)
{
}

static const struct hv_monitor_ops ops = {
	.free = free_nothing, .transact = transact, .is_paused_by_other = is_paused_by_other};

/* The guest does not stop in time because an administrator paused it before. */
static struct hv_err *pause_before(void)
{
	vmm.is_paused = true;
	vmm.state = HV_GUARDIAN_STOPPING;
	return hv_err_new(EBUSY, "guardian: the guest did not stop");
}

static struct hv_err *stop_late(void)
{
	vmm.is_paused = true;
	vmm.resumes = true;
	vmm.state = HV_GUARDIAN_STOPPING;
	return hv_err_new(EBUSY, "guardian: the guest did not stop");
}

static struct hv_err *die(void)
{
	vmm.is_paused = true;
	vmm.state = HV_GUARDIAN_UNREACHED;
	return hv_err_new(EPIPE, "guardian: it has ended");
}

static struct hv_err *lose_stub(void)
{
	vmm.state = HV_GUARDIAN_UNREACHED;
	return hv_err_new(EBUSY, "guardian: the gdb stub is lost");
}

static void setup(void)
{
	memset(&vmm, 0, sizeof(vmm));
	vmm.state = HV_GUARDIAN_RUNS;
	machine = (struct hv_machine){
		.arch = hv_arch_find("x86_64"),
		.nr_vcpus = 2,
		.prepared = true,
		.guardian = (void *)&vmm,
		.monitor = hv_parser_relay(hv_monitor_new(&ops, NULL)),
	};
}

static void teardown(void)
{
	hv_parser_free(machine.monitor);
}

static void hold_fails(struct hv_err *(*how)(void), int code)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	vmm.hold = how;
	err = hv_machine_hold_begin(&machine, 1000000);
	ck_assert_msg(err && err->code == code, "%s", err ? err->message : "");
}

START_TEST(paused_before_the_interrupt)
{
	hold_fails(pause_before, EBUSY);
	ck_assert_int_eq(vmm.state, HV_GUARDIAN_RUNS); /* otherwise it would end the next pause */
	hv_machine_drop_hold(&machine);
	ck_assert(vmm.is_paused && vmm.nr_cont == 0);
}
END_TEST

/* The guardian has resumed the guest, and an administrator pauses it later. */
START_TEST(paused_after_a_hold_that_failed)
{
	hold_fails(stop_late, EBUSY);
	ck_assert(!vmm.is_paused);
	vmm.is_paused = true;
	hv_machine_drop_hold(&machine);
	ck_assert(vmm.is_paused && vmm.nr_cont == 0);
}
END_TEST

/* _i: an administrator has paused the guest through libvirt. */
START_TEST(a_guardian_dies)
{
	vmm.by_other = _i;
	hold_fails(die, EPIPE);
	ck_assert_int_eq(vmm.is_paused, _i);
	hv_machine_drop_hold(&machine);
	ck_assert_int_eq(vmm.is_paused, _i);
}
END_TEST

START_TEST(a_guardian_dies_in_a_hold)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	vmm.by_other = _i;
	vmm.is_paused = true;
	vmm.release_code = EPIPE;
	err = hv_machine_hold_end(&machine);
	ck_assert(err && err->code == EPIPE);
	ck_assert_int_eq(vmm.is_paused, _i);
}
END_TEST

/* A request sent now would be executed when the VMM answers again. */
START_TEST(the_monitor_does_not_answer)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	vmm.is_paused = vmm.is_deaf = true;
	vmm.release_code = EPIPE;
	err = hv_machine_hold_end(&machine);
	ck_assert(err && err->code == EPIPE);
	ck_assert_uint_eq(vmm.nr_cont, 0);
	vmm.is_deaf = false;
	vmm.state = HV_GUARDIAN_UNREACHED;
	hv_machine_drop_hold(&machine);
	ck_assert(!vmm.is_paused && vmm.nr_cont == 1);
}
END_TEST

START_TEST(a_stub_is_left)
{
	bool was_stopped = false;

	machine.guardian = NULL;
	vmm.by_other = _i;
	vmm.is_paused = vmm.has_stub = true;
	ck_assert_ptr_null(hv_machine_let_run(&machine, &was_stopped));
	ck_assert_int_eq(was_stopped, !_i);
	ck_assert_int_eq(vmm.is_paused, _i);
}
END_TEST

/* The guardian is replaced because it would refuse all later holds. */
START_TEST(a_guardian_without_a_stub)
{
	hold_fails(lose_stub, EBUSY);
	ck_assert_ptr_null(machine.guardian);
	ck_assert_uint_eq(vmm.nr_freed, 1);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, paused_before_the_interrupt);
	tcase_add_test(tc, paused_after_a_hold_that_failed);
	tcase_add_loop_test(tc, a_guardian_dies, 0, 2);
	tcase_add_loop_test(tc, a_guardian_dies_in_a_hold, 0, 2);
	tcase_add_test(tc, the_monitor_does_not_answer);
	tcase_add_loop_test(tc, a_stub_is_left, 0, 2);
	tcase_add_test(tc, a_guardian_without_a_stub);
}

int main(void)
{
	return run_suite("paused", add_tests);
}
