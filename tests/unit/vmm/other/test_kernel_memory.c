/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels that do not let hvtrace read their memory. */
#include <check.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "vmm/other/kernel_memory.h"

/* A file in place of the map of the BPF program. */
static struct hv_err *open_memory(void *ctx hv_unused)
{
	struct hv_kernel_memory k;
	int fd = memfd_create("map", MFD_CLOEXEC);

	return fd < 0 || dup2(fd, 0) != 0 || ftruncate(0, 4096) != 0 ? hv_err_new(errno, "file")
								     : hv_kernel_memory_open(&k);
}

#define BPF_FAILS(command, code)                                                                   \
	{                                                                                          \
		SCMP_SYS(bpf), code,                                                               \
		{                                                                                  \
			0, SCMP_CMP_EQ, command, 0                                                 \
		}                                                                                  \
	}

/* The kernel may refuse each step, and older ones do not run such a program on request. */
START_TEST(memory_that_the_kernel_does_not_show)
{
	static const struct failing_call map[] = {BPF_FAILS(BPF_MAP_CREATE, EPERM), {0}},
					 mapping[] = {BPF_FAILS(BPF_MAP_CREATE, 0),
						      {SCMP_SYS(mmap),
						       EACCES,
						       {3, SCMP_CMP_EQ, MAP_SHARED, 0}},
						      {0}},
					 program[] = {BPF_FAILS(BPF_MAP_CREATE, 0),
						      BPF_FAILS(BPF_PROG_LOAD, EPERM),
						      {0}},
					 test_run[] = {BPF_FAILS(BPF_MAP_CREATE, 0),
						       BPF_FAILS(BPF_PROG_LOAD, 0),
						       BPF_FAILS(BPF_PROG_TEST_RUN, ENOTSUP),
						       {0}};

	expect_failure(map, open_memory, NULL, ENOTSUP,
		       "the host's kernel does not let hvtrace read its memory: BPF map: "
		       "Operation not permitted");
	expect_failure(mapping, open_memory, NULL, ENOTSUP,
		       "the host's kernel does not let hvtrace read its memory: BPF map: "
		       "Permission denied");
	expect_failure(program, open_memory, NULL, ENOTSUP,
		       "the host's kernel does not let hvtrace read its memory: BPF program: "
		       "Operation not permitted");
	expect_failure(test_run, open_memory, NULL, ENOTSUP,
		       "the host's kernel does not let hvtrace read its memory: running a BPF "
		       "program: Operation not supported");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, memory_that_the_kernel_does_not_show);
}

int main(void)
{
	return run_suite("kernel_memory", add_tests);
}
