/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trampoline that a kernel calls before it hibernates, with the code bytes that a guest gets,
 * run in this process (bench/native.h). A test function replaces msleep(). Runs on an x86-64 host
 * only. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "bench/native.h"
#include "tests/lib/run_suite.h"

#define NR_SLEEPS 3
#define RESULT	  7

static struct world *world;
static uint8_t *call; /* in a kernel function */
static int (*function)(void);

static struct {
	unsigned nr;
	unsigned ms;
	const void *caller;
} sleeps;

/* In the last sleep, the host restores the call: from then on the function returns RESULT. */
static void sleeper(unsigned ms)
{
	static const uint8_t back[] = {0xb8, RESULT, 0, 0, 0}; /* mov $RESULT, %eax */

	sleeps.nr++;
	sleeps.ms = ms;
	sleeps.caller = __builtin_return_address(0);
	if (sleeps.nr == NR_SLEEPS)
		memcpy(call, back, sizeof(back));
}

static void bare_return(const struct world *w hv_unused)
{
}

static void thunk(const struct world *w)
{
	w->values->return_thunk = world_gva(w, WORLD_THUNK_OFF);
}

static void set_up_as(void (*prepare)(const struct world *w))
{
	static const uint8_t code[] = {0x48, 0x83, 0xec, 0x08,	  /* sub $8, %rsp */
				       0xe8, 0,	   0,	 0,    0, /* call */
				       0x48, 0x83, 0xc4, 0x08,	  /* add $8, %rsp */
				       0xc3};
	const struct world_case c = {"", 0, 0, prepare};
	uint8_t *at;

	world_set_up(world, &c);
	world_params(world)->sleep_gva = (uintptr_t)sleeper;
	memset(&sleeps, 0, sizeof(sleeps));
	at = world->host + NATIVE_PLACED_OFF;
	memcpy(at, code, sizeof(code));
	call = at + 4;
	ck_assert(hv_arch_x86_64.encode_call(hv_gva((uintptr_t)call),
					     hv_gva((uintptr_t)world->host + WORLD_CODE_OFF +
						    hv_arch_x86_64.trampolines.hibernation_off),
					     call));
	function = (int (*)(void))(uintptr_t)at;
}

static void set_up(void)
{
	const char *lack = NULL;

	world = native_new(64, &lack);
	ck_assert_msg(world != NULL, "%s", lack);
}

static void tear_down(void)
{
	native_free(world);
}

/* While the trampoline sleeps, the return address is the call itself, so that the kernel's stack
 * contains no trampoline address. */
START_TEST(hibernation_waits_until_the_call_is_restored)
{
	set_up_as(_i ? thunk : bare_return);
	ck_assert_int_eq(function(), RESULT);
	ck_assert_uint_eq(sleeps.nr, NR_SLEEPS);
	ck_assert_uint_eq(sleeps.ms, HV_HIBERNATION_WAIT_MS);
	ck_assert_ptr_eq(sleeps.caller, call);
	ck_assert_uint_eq(world_control(world)->hibernates, NR_SLEEPS);
}
END_TEST

START_TEST(hibernation_fails_if_hvtrace_stays)
{
	set_up_as(_i ? thunk : bare_return);
	world_control(world)->hibernates = HV_HIBERNATION_WAITS;
	ck_assert_int_eq(function(), -EBUSY);
	ck_assert_uint_eq(sleeps.nr, 0);
	ck_assert_uint_eq(world_control(world)->hibernates, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, hibernation_waits_until_the_call_is_restored, 0, 2);
	tcase_add_loop_test(tc, hibernation_fails_if_hvtrace_stays, 0, 2);
}

int main(void)
{
	return run_suite("trampoline_hibernation", add_tests);
}
