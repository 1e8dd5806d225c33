/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads and guests of an arm64 host that cannot be reached by injected calls. */
#include <check.h>
#include <linux/kvm.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/inject/fake_keeper.h"
#include "vmm/inject/el2_arm64.h"
#include "vmm/inject/sets_arm64.h"

#define SET_ZA	0x40c
#define SET_POE 0x40f
#define SET_GCS 0x410
#define HCR_EL2 0x603000000013e088ull

/* A register set that the thread has, and its first word. */
static struct {
	unsigned set;
	uint32_t word;
} has;
static int64_t answer_of_kvm;

static size_t get_set(const struct hv_thread *t, unsigned set, void *to, size_t len)
{
	ck_assert_int_eq(t->tid, 7);
	if (set != has.set)
		return 0;
	memcpy(to, &has.word, sizeof(has.word));
	return len;
}

struct hv_err *hv_keeper_calls(struct hv_keeper *k, struct hv_call *calls, size_t nr, void *data,
			       size_t len_bytes)
{
	const struct kvm_one_reg *asked = (void *)((uint8_t *)data + calls[0].args[2]);

	(void)k;
	ck_assert_uint_eq(nr, 1);
	ck_assert_uint_le(calls[0].args[2] + sizeof(*asked), len_bytes);
	ck_assert_uint_eq(calls[0].args[1], KVM_GET_ONE_REG);
	ck_assert_uint_eq(asked->id, HCR_EL2);
	calls[0].result = answer_of_kvm;
	return NULL;
}

START_TEST(state_that_would_be_lost)
{
	static const struct {
		__typeof__(has) has;
		const char *message; /* NULL: the thread can be used */
	} rows[] = {
		{{0}, NULL},
		{{SET_ZA, 16}, NULL}, /* the head alone: no matrices */
		{{SET_ZA, 16 + 1024},
		 "thread 7 uses SME matrices, which an injected call would erase"},
		{{SET_POE, 0},
		 "thread 7 has permission overlays (POE), which an injected call would change"},
		{{SET_GCS, 0}, NULL},
		{{SET_GCS, 1},
		 "thread 7 has a guarded control stack, so an injected call would kill it"},
	};
	const struct hv_thread thread = {.tid = 7};

	for (size_t i = 0; i < HV_ARRAY_LEN(rows); i++) {
		struct hv_err *err;

		has = rows[i].has;
		err = hv_arm64_check_sets(&thread, get_set);
		if (rows[i].message)
			expect_error(err, ENOTSUP, rows[i].message);
		else
			expect_success(err);
	}
}
END_TEST

START_TEST(a_guest_that_is_a_host)
{
	int fd = 1000;
	const struct hv_kvm kvm = {.vcpu_fds = &fd, .nr_vcpus = 1};

	expect_error(hv_arm64_check_el2(&kvm, NULL), ENOTSUP,
		     "injection does not support a guest that has EL2 (nested virtualization)");
	answer_of_kvm = -EIO;
	expect_error(hv_arm64_check_el2(&kvm, NULL), EIO,
		     "inject: KVM_GET_ONE_REG: Input/output error");
	answer_of_kvm = -ENOENT;
	expect_success(hv_arm64_check_el2(&kvm, NULL));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, state_that_would_be_lost);
	tcase_add_test(tc, a_guest_that_is_a_host);
}

int main(void)
{
	return run_suite("inject_refusal_arm64", add_tests);
}
