/* SPDX-License-Identifier: GPL-2.0-or-later */
/* failing_call CALL[:ARGUMENT=VALUE] ERRNO PROGRAM [WORD]... : runs a program in which a system call
 * fails, for example "failing_call pipe2 EMFILE hvtrace top". ARGUMENT is the number of an
 * argument, from 0: only calls in which it is VALUE fail. */
#include "tests/lib/failing_call.h"

#define ERRNO_MAX 133

static int number_of(const char *name)
{
	for (int i = 1; i <= ERRNO_MAX; i++)
		if (strerrorname_np(i) && !strcmp(strerrorname_np(i), name))
			return i;
	return 0;
}

int main(int argc, char **argv)
{
	struct failing_call calls[2] = {{0}};
	char *condition;

	if (argc < 4)
		return 2;
	condition = strchr(argv[1], ':');
	if (condition) {
		unsigned arg;
		long long value;

		if (sscanf(condition, ":%u=%lli", &arg, &value) != 2)
			return 2;
		*condition = '\0';
		calls[0].only_if = (struct scmp_arg_cmp){arg, SCMP_CMP_EQ, (scmp_datum_t)value, 0};
	}
	calls[0].call = seccomp_syscall_resolve_name(argv[1]);
	calls[0].code = number_of(argv[2]);
	if (calls[0].call < 0 || !calls[0].code || !fail_calls(calls))
		return 2;
	execvp(argv[3], argv + 3);
	return 2;
}
