/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests the errors of system calls that hardly ever fail: a function runs in a child process that has
 * a seccomp filter, which makes them fail with a chosen errno. */
#pragma once

#include <check.h>
#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

/* A call that fails with CODE; with CODE 0 it does nothing and returns 0. An element of zeros ends a
 * list, so read(), whose number is 0 on x86-64, needs a condition. */
struct failing_call {
	int call; /* SCMP_SYS() */
	int code;
	struct scmp_arg_cmp only_if; /* SCMP_A0(...); all zero: always */
};

struct failing_result {
	int code;
	char message[512];
};

/* Makes CALLS fail in this process for good: use it in a child. Returns whether it worked. */
static inline bool fail_calls(const struct failing_call *calls)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int failed = !f;

	for (const struct failing_call *c = calls; !failed && (c->call || c->only_if.op); c++)
		failed = seccomp_rule_add_array(f, SCMP_ACT_ERRNO((unsigned)c->code), c->call,
						c->only_if.op != 0, &c->only_if);
	if (!failed)
		failed = seccomp_load(f);
	seccomp_release(f);
	return !failed;
}

/* Calls FN with CTX in a child process in which CALLS fail. Its error must be CODE with MESSAGE. */
static inline void expect_failure(const struct failing_call *calls, struct hv_err *(*fn)(void *ctx),
				  void *ctx, int code, const char *message)
{
	struct failing_result *result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	ck_assert_ptr_ne(result, MAP_FAILED);
	pid = fork();
	if (pid == 0) {
		struct hv_err *err;

		if (!fail_calls(calls))
			_exit(1);
		err = fn(ctx);
		result->code = err ? err->code : 0;
		snprintf(result->message, sizeof(result->message), "%s",
			 err ? err->message : "no error");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "status 0x%x for: %s", (unsigned)status, message);
	ck_assert_str_eq(result->message, message);
	ck_assert_int_eq(result->code, code);
	munmap(result, sizeof(*result));
}
