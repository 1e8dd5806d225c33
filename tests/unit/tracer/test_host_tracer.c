/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts whose events cannot be recorded. */
#include <check.h>

#include "tests/lib/expect.h"
#include "tests/lib/part_guest.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/clocks.h"
#include "tracer/host_tracer.h"

static const struct hv_guest_info info = {.name = "fake", .id = "fake", .nr_vcpus = 1};
static bool has_clock;

bool __wrap_hv_clocks_has_host(const struct hv_clocks *c);

bool __wrap_hv_clocks_has_host(const struct hv_clocks *c hv_unused)
{
	return has_clock;
}

/* One text per event that hvtrace knows. */
static struct hv_err *give_formats(void *self hv_unused, struct hv_text *ret)
{
	hv_text_add_bytes(ret, "\0name: sched_switch\nformat:\n", 29);
	return NULL;
}

static struct hv_err *no_trace(void *self hv_unused, uint32_t mask hv_unused,
			       struct hv_host_threads *ret hv_unused)
{
	ck_abort();
}

static struct hv_err *no_pipes(void *self hv_unused, unsigned first hv_unused,
			       int *ret_fds hv_unused, size_t max hv_unused,
			       size_t *ret_nr hv_unused, unsigned *ret_next hv_unused)
{
	ck_abort();
}

static void check_why_not(int code, const char *message)
{
	struct hv_guest_ops ops = {
		.host_formats = give_formats, .host_trace = no_trace, .host_pipes = no_pipes};
	struct hv_guest *g = part_guest_new(&ops, NULL, &info);
	struct hv_host_tracer *t = hv_host_tracer_new(g, NULL, NULL, 1);

	expect_error(hv_err_copy(hv_host_tracer_why_not(t)), code, message);
	hv_host_tracer_free(t);
	hv_guest_free(g);
}

START_TEST(why_not)
{
	has_clock = false;
	check_why_not(EOPNOTSUPP, "cannot read how the guest's clock follows the host's");
	has_clock = true;
	check_why_not(ENOENT, "this host's kernel does not have them");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, why_not);
}

int main(void)
{
	return run_suite("host_tracer", add_tests);
}
