/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of containers and services from paths of cgroups. */
#include <check.h>

#include "base/text.h"
#include "profile/container.h"
#include "tests/lib/run_suite.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *path, *name;
} names[] = {
	{"/docker/" ID, "docker:0123456789ab"},
	{"/system.slice/docker-" ID ".scope", "docker:0123456789ab"},
	{"/machine.slice/libpod-" ID ".scope/container", "libpod:0123456789ab"},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/"
	 "cri-containerd-" ID ".scope",
	 "cri-containerd:0123456789ab"},
	{"/kubepods/burstable/pod1-2/" ID, "pod1-2:0123456789ab"},
	{"/system.slice/nginx.service", "nginx.service"},
	{"/user.slice/user-1.slice/user@1.service/app.slice/x.scope", "x.scope"},
	{"/system.slice", "/system.slice"},
	{"/lxc/web shop", "/lxc/web shop"},
	{"/", "/"},
	{"", ""},
	{"/.service", "/.service"},
	{"/" ID, ":0123456789ab"},
	{"/x" ID, "/x" ID},
	{"/" ID "0", "/" ID "0"},
	{"//a//b/", "//a//b/"},
};

START_TEST(paths)
{
	HV_AUTO_FREE char *name = hv_container_name(names[_i].path);

	ck_assert_str_eq(name, names[_i].name);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, paths, 0, HV_ARRAY_LEN(names));
}

int main(void)
{
	return run_suite("container", add_tests);
}
