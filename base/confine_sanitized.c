/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The leak sanitizer inspects all threads from a separate process at exit, and sanitizer reports
 * read the program and its libraries. */
#include "base/confine.h"

#include <seccomp.h>

const int hv_sanitizer_calls[] = {
	SCMP_SYS(clone),
	SCMP_SYS(ptrace),
	SCMP_SYS(openat),
	SCMP_SYS(open),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler),
	SCMP_SYS(prctl),
	SCMP_SYS(sched_setaffinity),
	SCMP_SYS(getrlimit),
	SCMP_SYS(prlimit64),
	SCMP_SYS(newfstatat),
	SCMP_SYS(stat),
	SCMP_SYS(getdents),
};
const size_t hv_nr_sanitizer_calls = sizeof(hv_sanitizer_calls) / sizeof(*hv_sanitizer_calls);
const char *const hv_sanitizer_readable = "/";
const bool hv_sanitizer_maps_code = true;
const unsigned long hv_sanitizer_traces_itself = 1;
