/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of a CTF trace in which another process has started a trace. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"
#include "tests/lib/run_suite.h"

static const struct hv_export_head head = {
	.nr_cpus = 2, .page_bytes = 4096, .program = "p", .kernel = "k", .clock = "global"};

static void put(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

/* An existing file stays, and files created before it was found are removed. */
static void check_that_it_stays(const char *name)
{
	static const char *const all[] = {"metadata", "vcpu0", "vcpu1"};
	char path[] = "/tmp/hvtrace-ctf-XXXXXX";
	struct hv_export_config config = {.path = path};
	struct hv_export *x;
	struct hv_err *err;

	ck_assert_ptr_nonnull(mkdtemp(path));
	config.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(config.fd, name);
	err = hv_export_open(&hv_export_ctf, &config, &head, &x);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EEXIST);
	hv_err_free(err);
	for (size_t i = 0; i < HV_ARRAY_LEN(all); i++)
		ck_assert_int_eq(unlinkat(config.fd, all[i], 0), strcmp(all[i], name) ? -1 : 0);
	close(config.fd);
	ck_assert_int_eq(rmdir(path), 0);
}

START_TEST(other_files_are_not_removed)
{
	check_that_it_stays("metadata");
	check_that_it_stays("vcpu0");
	check_that_it_stays("vcpu1");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, other_files_are_not_removed);
}

int main(void)
{
	return run_suite("ctf", add_tests);
}
