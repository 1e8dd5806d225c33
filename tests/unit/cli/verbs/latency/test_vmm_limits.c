/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the cgroups of the VMM's threads and the limits that applied. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/text.h"
#include "cli/verbs/latency/host.h"
#include "tests/lib/run_suite.h"

#define V2     "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
#define HYBRID "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"
#define V1     "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"

static void root_is(const char *mounts, const char *root, bool is_v1)
{
	bool found_v1 = !is_v1;
	HV_AUTO_FREE char *found = vmm_limits_find_root(mounts, &found_v1);

	ck_assert_pstr_eq(found, root);
	ck_assert_int_eq(found_v1, is_v1);
}

START_TEST(where_cgroups_are)
{
	root_is("", NULL, false);
	root_is("proc /proc proc rw 0 0\n" HYBRID, NULL, false);
	root_is("proc /proc proc rw 0 0\n" V2, "/sys/fs/cgroup", false);
	root_is(V2 HYBRID V1, "/sys/fs/cgroup/cpu,cpuacct", true);
	root_is("cgroup2\ncgroup2 /x\n\n   \n", NULL, false);
}
END_TEST

static void path_is(const char *cgroups, enum cgroup_version version, const char *path)
{
	HV_AUTO_FREE char *found = vmm_limits_find_path(cgroups, version);

	ck_assert_pstr_eq(found, path);
}

START_TEST(the_cgroup_of_a_thread)
{
	const char *both = "9:name=cpu:/wrong\n4:cpuset:/wrong\n2:cpu,cpuacct:/a/b:c\n0::/d/e\n";

	path_is(both, CGROUP_V1, "/a/b:c");
	path_is(both, CGROUP_V2, "/d/e");
	path_is("0::/\n", CGROUP_V2, "/");
	path_is("0::/../../x\n", CGROUP_V2, NULL);
	path_is("0::/d", CGROUP_V1, NULL);
	path_is("1:cpu:/d", CGROUP_V2, NULL);
	path_is("", CGROUP_V1, NULL);
	path_is("\n\n:\n::\n:::::\n0:", CGROUP_V2, NULL);
}
END_TEST

static void put(int fd, const char *text)
{
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

static void add(struct vmm_limits *l, const char *path, const char *max)
{
	l->list[l->nr] = (struct vmm_limit){
		.path = hv_strdup(path),
		.stat = memfd_create("stat", 0),
		.max = memfd_create("max", 0),
		.period = -1,
	};
	put(l->list[l->nr].stat,
	    "usage_usec 5\nnr_periods 7\nnr_throttled 2\nthrottled_usec 300\n");
	put(l->list[l->nr++].max, max);
}

START_TEST(the_limit_that_throttled)
{
	hv_cleanup(vmm_limits_deinit) struct vmm_limits l = {0};
	const struct vmm_limit *worst;

	add(&l, "/vm", "20000 100000\n");
	add(&l, "/vm/vcpu0", "max 100000\n");
	add(&l, "/vm2", "max 100000\n");
	vmm_limits_begin(&l);
	vmm_limits_end(&l);
	ck_assert_ptr_null(vmm_limits_worst(&l, "/vm/vcpu0"));
	put(l.list[0].stat, "nr_throttled 12\nthrottled_usec 900300\n");
	put(l.list[2].stat, "nr_throttled 12\nthrottled_usec 9900300\n");
	vmm_limits_end(&l);
	worst = vmm_limits_worst(&l, "/vm/vcpu0");
	ck_assert_ptr_eq(worst, &l.list[0]);
	ck_assert_uint_eq(worst->nr, 10);
	ck_assert_uint_eq(worst->throttled_ns, 900000000);
	ck_assert_uint_eq(worst->quota_us, 20000);
	ck_assert_uint_eq(worst->period_us, 100000);
	ck_assert_ptr_null(vmm_limits_worst(&l, "/other"));
	ck_assert_ptr_null(vmm_limits_worst(&l, NULL));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, where_cgroups_are);
	tcase_add_test(tc, the_cgroup_of_a_thread);
	tcase_add_test(tc, the_limit_that_throttled);
}

int main(void)
{
	return run_suite("latency_vmm_limits", add_tests);
}
