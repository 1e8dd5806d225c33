/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of a task's cgroup in a fake kernel. */
#include <check.h>

#include "kernel/programs/cgroup.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define CGROUPS 8u  /* struct task_struct */
#define DFL	0u  /* struct css_set */
#define SUBSYS	8u  /* two of them */
#define STATE	16u /* cgroup in struct cgroup_subsys_state */
#define KN	24u /* struct cgroup */
#define PARENT	8u  /* struct kernfs_node */
#define NAME	16u

static struct fk f;
static uint64_t task, set, root;

static uint64_t make_node(uint64_t parent, uint64_t name)
{
	uint64_t node = fk_alloc(&f, 64);

	fk_u64(&f, node + PARENT, parent);
	fk_u64(&f, node + NAME, name);
	return node;
}

static uint64_t make_named(uint64_t parent, const char *name)
{
	uint64_t text = fk_alloc(&f, 512);

	fk_str(&f, text, name);
	return make_node(parent, text);
}

static uint64_t make_group(uint64_t node)
{
	uint64_t group = fk_alloc(&f, 64);

	fk_u64(&f, group + KN, node);
	return group;
}

static void init(const char *parent)
{
	fk_init(&f);
	FK_STRUCT("task_struct", 64, {"cgroups", CGROUPS, 8});
	FK_STRUCT("css_set", 64, {"dfl_cgrp", DFL, 8}, {"subsys", SUBSYS, 16});
	FK_STRUCT("cgroup_subsys_state", 64, {"cgroup", STATE, 8});
	FK_STRUCT("cgroup", 64, {"kn", KN, 8});
	FK_STRUCT("kernfs_node", 64, {parent, PARENT, 8}, {"name", NAME, 8});
	fk_done(&f);
	task = fk_alloc(&f, 64);
	set = fk_alloc(&f, 64);
	root = make_named(0, "");
	fk_u64(&f, task + CGROUPS, set);
	fk_u64(&f, set + DFL, make_group(root));
}

static void set_up(void)
{
	init("__parent");
}

static void tear_down(void)
{
	fk_deinit(&f);
}

static void check_path(const char *path)
{
	HV_AUTO_FREE char *found = hv_cgroup_path(&f.k.core, hv_gva(task));

	if (path)
		ck_assert_str_eq(found, path);
	else
		ck_assert_ptr_null(found);
}

static void join(uint64_t node)
{
	fk_u64(&f, set + DFL, make_group(node));
}

START_TEST(paths)
{
	uint64_t slice = make_named(root, "system.slice");

	check_path("/");
	join(make_named(slice, "web shop.service"));
	check_path("/system.slice/web shop.service");
	fk_str(&f, FK_END - 5, "last");
	join(make_node(slice, FK_END - 5)); /* nothing is mapped after it */
	check_path("/system.slice/last");
	tear_down();
	init("parent"); /* before 6.15 */
	join(make_named(root, "a"));
	check_path("/a");
}
END_TEST

START_TEST(version_1)
{
	uint64_t state = fk_alloc(&f, 64);

	fk_u64(&f, set + SUBSYS, 8); /* nothing is mapped there */
	fk_u64(&f, set + SUBSYS + 8, state);
	fk_u64(&f, state + STATE, make_group(make_named(root, "docker")));
	check_path("/docker");
	join(make_named(root, "unified"));
	check_path("/unified");
}
END_TEST

START_TEST(nodes_that_lie)
{
	char name[258] = "/";
	uint64_t node = make_named(root, "x");

	join(node);
	fk_u64(&f, node + PARENT, node);
	check_path(NULL);
	fk_u64(&f, node + PARENT, 8);
	check_path(NULL);
	fk_u64(&f, node + PARENT, root);
	fk_u64(&f, node + NAME, 8);
	check_path(NULL);
	fk_u64(&f, node + NAME, FK_END - 4);
	fk_u32(&f, FK_END - 4, 0x41414141); /* without an end */
	check_path(NULL);
	memset(name + 1, 'y', 255);
	join(make_named(root, name + 1));
	check_path(name);
	name[256] = 'y'; /* longer than a name can be */
	join(make_named(root, name + 1));
	check_path(NULL);
	fk_u64(&f, set + DFL, 0);
	check_path(NULL);
	fk_u64(&f, task + CGROUPS, 0);
	check_path(NULL);
}
END_TEST

START_TEST(a_kernel_without_types)
{
	tear_down();
	init("ancestor");
	check_path(NULL);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, paths);
	tcase_add_test(tc, version_1);
	tcase_add_test(tc, nodes_that_lie);
	tcase_add_test(tc, a_kernel_without_types);
}

int main(void)
{
	return run_suite("cgroup", add_tests);
}
