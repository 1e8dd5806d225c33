/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of a fake kernel that explain where sites lead which the guest uses, valid and
 * hostile. */
#include <check.h>

#include "kernel/sites/ftrace_users.h"
#include "kernel/sites/sites.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/sites/fake_users.h"

#define SITE   (FK_BASE + 0x100)
#define DIRECT (FK_MODULES + 0x8000)

static struct fk f;
static struct fu u;
static struct hv_ftrace_users users;

static void setup(void)
{
	fk_init(&f);
	fu_declare(&f, &u);
	fk_done(&f);
	users = (struct hv_ftrace_users){0};
}

static void teardown(void)
{
	hv_ftrace_users_deinit(&users);
	fk_deinit(&f);
}

static bool explains(uint64_t ip, uint64_t target)
{
	return hv_ftrace_users_explain(&users, hv_gva(ip), hv_gva(target));
}

static void read_users(void)
{
	hv_ftrace_users_deinit(&users);
	expect_success(hv_ftrace_users_read(&f.k.core, &users));
}

static void check_refused(const char *why)
{
	hv_ftrace_users_deinit(&users);
	expect_error(hv_ftrace_users_read(&f.k.core, &users), EINVAL, why);
	ck_assert(!explains(SITE, FU_CALLER));
}

START_TEST(the_kernel_s_own_trampolines)
{
	read_users();
	ck_assert(explains(SITE, FU_CALLER) && explains(SITE, FU_REGS_CALLER));
	ck_assert(!explains(SITE, FU_CALLER + 1) && !explains(SITE, FU_TRAMPOLINE));
	ck_assert(!explains(SITE, 0));
}
END_TEST

START_TEST(a_trampoline_of_each_ops)
{
	fu_ops(&f, &u, FU_TRAMPOLINE + 0x100);
	fu_ops(&f, &u, 0);
	fu_ops(&f, &u, FU_TRAMPOLINE);
	read_users();
	ck_assert(explains(SITE, FU_TRAMPOLINE) && explains(SITE + 16, FU_TRAMPOLINE + 0x100));
	ck_assert(!explains(SITE, FU_TRAMPOLINE + 0x200) && !explains(SITE, 0));
}
END_TEST

/* A direct call is explained at its own site only. */
START_TEST(direct_calls)
{
	uint64_t entry = fu_direct(&f, &u, 3, SITE, DIRECT), second = fk_alloc(&f, 32);

	fk_u64(&f, entry, second);
	fk_u64(&f, second + FU_ENTRY_IP, SITE + 16);
	fk_u64(&f, second + FU_ENTRY_DIRECT, DIRECT + 0x40);
	read_users();
	ck_assert(explains(SITE, DIRECT) && explains(SITE + 16, DIRECT + 0x40));
	ck_assert(!explains(SITE + 16, DIRECT) && !explains(SITE, DIRECT + 0x40));
}
END_TEST

START_TEST(lists_that_do_not_end)
{
	uint64_t ops = fu_ops(&f, &u, FU_TRAMPOLINE), entry;

	fk_u64(&f, ops + FU_OPS_NEXT, ops);
	check_refused("ftrace_ops_list does not end");
	fk_u64(&f, ops + FU_OPS_NEXT, u.end);
	entry = fu_direct(&f, &u, 0, SITE, DIRECT);
	fk_u64(&f, entry, entry);
	check_refused("direct_functions does not end after ");
	fk_u64(&f, entry, 0);
	read_users();
	ck_assert(explains(SITE, DIRECT) && explains(SITE, FU_TRAMPOLINE));
}
END_TEST

START_TEST(a_table_that_is_too_large)
{
	uint64_t hash;

	fu_direct(&f, &u, 0, SITE, DIRECT);
	memcpy(&hash, fk_host(&f, u.directs), sizeof(hash));
	fk_u64(&f, hash, 21);
	check_refused("direct_functions has 2^21 buckets");
	fk_u64(&f, hash, UINT64_MAX);
	check_refused("direct_functions has 2^18446744073709551615 buckets");
	fk_u64(&f, hash + 8, 0); /* no buckets */
	read_users();
}
END_TEST

START_TEST(addresses_that_are_not_mapped)
{
	struct hv_err *err;

	fk_u64(&f, u.list, FK_BASE - 0x100000);
	err = hv_ftrace_users_read(&f.k.core, &users);
	ck_assert(err && strstr(err->message, "users of ftrace"));
	hv_err_free(err);
	ck_assert(!explains(SITE, FU_CALLER));
}
END_TEST

START_TEST(only_core_trampolines_without_types)
{
	fu_ops(&f, &u, FU_TRAMPOLINE);
	fu_direct(&f, &u, 0, SITE, DIRECT);
	hv_btf_free(f.k.core.btf);
	f.k.core.btf = NULL;
	read_users();
	ck_assert(explains(SITE, FU_CALLER));
	ck_assert(!explains(SITE, FU_TRAMPOLINE) && !explains(SITE, DIRECT));
}
END_TEST

static bool keeps(uint64_t ip, uint64_t target)
{
	return hv_ftrace_users_keep_returns(&users, hv_gva(ip), hv_gva(target));
}

/* Direct calls, function tracers and livepatches leave return addresses alone. */
START_TEST(targets_that_keep_return_addresses)
{
	static const uint64_t functions[] = {FU_FUNCTION, FU_LIVEPATCH, FU_CALLER, 0, FK_BASE};

	for (unsigned i = 0; i < HV_ARRAY_LEN(functions); i++)
		fk_u64(&f, fu_ops(&f, &u, FU_TRAMPOLINE + 0x100 * i), functions[i]);
	fu_direct(&f, &u, 0, SITE, DIRECT);
	read_users();
	ck_assert(keeps(SITE, FU_TRAMPOLINE) && keeps(SITE, FU_TRAMPOLINE + 0x100));
	for (unsigned i = 2; i < HV_ARRAY_LEN(functions); i++)
		ck_assert(!keeps(SITE, FU_TRAMPOLINE + 0x100 * i));
	ck_assert(keeps(SITE, DIRECT) && !keeps(SITE + 16, DIRECT));
	ck_assert(!keeps(SITE, FU_CALLER) && !keeps(SITE, FU_REGS_CALLER) && !keeps(SITE, 0));
}
END_TEST

/* Kprobes of trace events only record. Any other at the site may replace the return address. */
START_TEST(kprobes_that_keep_return_addresses)
{
	uint64_t last;

	fk_u64(&f, fu_ops(&f, &u, FU_TRAMPOLINE), FU_KPROBES);
	read_users();
	ck_assert(keeps(SITE, FU_TRAMPOLINE));
	fu_kprobe(&f, &u, 3, SITE, FU_RECORDS);
	last = fu_kprobe(&f, &u, 63, SITE + 16, FU_RECORDS + 1);
	fu_kprobe(&f, &u, 63, SITE + 32, FU_RECORDS);
	fu_kprobe(&f, &u, 3, SITE + 48, 0);
	read_users();
	ck_assert(keeps(SITE, FU_TRAMPOLINE) && keeps(SITE + 32, FU_TRAMPOLINE));
	ck_assert(!keeps(SITE + 16, FU_TRAMPOLINE) && !keeps(SITE + 48, FU_TRAMPOLINE));

	fk_u64(&f, last, last); /* a list that does not end */
	read_users();
	ck_assert(explains(SITE, FU_TRAMPOLINE) && !keeps(SITE, FU_TRAMPOLINE));
}
END_TEST

/* Of the sites in use: one whose call is explained, and one whose call is not. */
START_TEST(sites_that_can_be_joined_are_counted)
{
	struct hv_site list[] = {{.ip = hv_gva(SITE), .busy = true},
				 {.ip = hv_gva(SITE + 16), .busy = true},
				 {.ip = hv_gva(SITE + 32)},
				 {.ip = hv_gva(SITE + 48), .busy = true, .invalid = true}};
	const struct hv_sites sites = {.list = list, .nr = HV_ARRAY_LEN(list)};
	size_t nr = 0;

	for (size_t i = 0; i < sites.nr; i++)
		ck_assert(hv_arch_x86_64.encode_call(list[i].ip,
						     hv_gva(i == 1 ? FU_CALLER + 8 : FU_CALLER),
						     fk_host(&f, list[i].ip.v)));
	expect_success(hv_ftrace_users_count(&f.k.core, &sites, &nr));
	ck_assert_uint_eq(nr, 1);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_kernel_s_own_trampolines);
	tcase_add_test(tc, a_trampoline_of_each_ops);
	tcase_add_test(tc, direct_calls);
	tcase_add_test(tc, lists_that_do_not_end);
	tcase_add_test(tc, a_table_that_is_too_large);
	tcase_add_test(tc, addresses_that_are_not_mapped);
	tcase_add_test(tc, only_core_trampolines_without_types);
	tcase_add_test(tc, targets_that_keep_return_addresses);
	tcase_add_test(tc, kprobes_that_keep_return_addresses);
	tcase_add_test(tc, sites_that_can_be_joined_are_counted);
}

int main(void)
{
	return run_suite("ftrace_users", add_tests);
}
