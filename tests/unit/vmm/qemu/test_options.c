/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the monitor in QEMU's command line, and sizes. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "vmm/qemu/options.h"

#define GIB (1ull << 30)

static struct hv_process with(char **args)
{
	struct hv_process p = {.pid = 77, .args = args};

	while (args[p.nr_args])
		p.nr_args++;
	return p;
}

static void expect(char *got, const char *want)
{
	HV_AUTO_FREE char *taken = got;

	if (!want) {
		ck_assert_ptr_null(taken);
		return;
	}
	ck_assert_ptr_nonnull(taken);
	ck_assert_str_eq(taken, want);
}

START_TEST(option_values)
{
	expect(hv_option_value("guest=web1,debug-threads=on", "guest", "guest"), "web1");
	expect(hv_option_value("web1,debug-threads=on", "guest", "guest"), "web1");
	expect(hv_option_value("web,,1", "guest", "guest"), "web,1");
	expect(hv_option_value("socket,id=m,path=/a,,b,server=on", "path", NULL), "/a,b");
	expect(hv_option_value("socket,id=m,xpath=/a", "path", NULL), NULL);
	expect(hv_option_value("pc,confidential-guest-support=lsec0", "confidential-guest-support",
			       "type"),
	       "lsec0");
	expect(hv_option_value("", "path", "path"), NULL);
}
END_TEST

START_TEST(qmp_by_short_option)
{
	struct hv_process p = with((char *[]){"qemu", "-qmp", "tcp:localhost:1", "--qmp",
					      "unix:/run/q.sock,server=on,wait=off", NULL});

	expect(hv_process_qmp_path(&p), "/run/q.sock");
}
END_TEST

START_TEST(qmp_by_mon)
{
	struct hv_process p =
		with((char *[]){"qemu", "-chardev", "socket,id=other,path=/other", "-chardev",
				"socket,path=q.sock,id=mon0", "-mon", "chardev=other,mode=readline",
				"-mon", "mon0,mode=control", NULL});

	expect(hv_process_qmp_path(&p), "/proc/77/cwd/q.sock");
}
END_TEST

START_TEST(no_qmp)
{
	/* libvirt's form: a descriptor that it passes */
	struct hv_process p = with(
		(char *[]){"qemu", "-chardev", "socket,id=charmonitor,fd=24,server=on,wait=off",
			   "-mon", "chardev=charmonitor,id=monitor,mode=control", "-qmp", NULL});

	expect(hv_process_qmp_path(&p), NULL);
	/* not a file: only processes in the same network namespace can connect */
	p = with((char *[]){"qemu", "-chardev", "socket,path=x,abstract=on,id=m", "-mon",
			    "m,mode=control", NULL});
	expect(hv_process_qmp_path(&p), NULL);
	p = with((char *[]){"qemu", "-chardev", "socket,path=/x,abstract=off,id=m", "-mon",
			    "m,mode=control", NULL});
	expect(hv_process_qmp_path(&p), "/x");
}
END_TEST

#define HOSTILE_MONITORS 20000
#define HOSTILE_BYTES	 (1u << 20)

/* A VMM can change its arguments: many monitors, and a chardev that is long to parse. */
START_TEST(arguments_of_a_hostile_vmm)
{
	static char *args[2 * HOSTILE_MONITORS + 4], chardev[HOSTILE_BYTES + 1];
	char path[] = "socket,path=/x,id=", word[] = "-mon", value[] = "m,mode=control";
	uint64_t begun_ns = hv_now_ns();
	struct hv_process p;

	memset(chardev, 'm', HOSTILE_BYTES);
	memcpy(chardev, path, strlen(path));
	args[0] = (char *)"qemu";
	args[1] = (char *)"-chardev";
	args[2] = chardev;
	for (size_t i = 0; i < HOSTILE_MONITORS; i++) {
		args[3 + 2 * i] = word;
		args[4 + 2 * i] = value;
	}
	p = with(args);
	expect(hv_process_qmp_path(&p), NULL);
	ck_assert_uint_lt(hv_now_ns() - begun_ns, 60 * HV_NS_PER_S);
}
END_TEST

START_TEST(sizes)
{
	uint64_t bytes = 0;

	ck_assert(hv_size_parse("4194304k", &bytes));
	ck_assert_uint_eq(bytes, 4 * GIB);
	ck_assert(hv_size_parse("2G", &bytes));
	ck_assert_uint_eq(bytes, 2 * GIB);
	ck_assert(hv_size_parse("512", &bytes));
	ck_assert_uint_eq(bytes, GIB / 2);
	ck_assert(!hv_size_parse("G", &bytes));
	ck_assert(!hv_size_parse("4x", &bytes));
	ck_assert(!hv_size_parse("4Gx", &bytes));
	ck_assert(!hv_size_parse("-1b", &bytes));
	ck_assert(!hv_size_parse(" 4G", &bytes));
	ck_assert(!hv_size_parse("99999999999T", &bytes));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, option_values);
	tcase_add_test(tc, qmp_by_short_option);
	tcase_add_test(tc, qmp_by_mon);
	tcase_add_test(tc, no_qmp);
	tcase_add_test(tc, arguments_of_a_hostile_vmm);
	tcase_add_test(tc, sizes);
}

int main(void)
{
	return run_suite("options", add_tests);
}
