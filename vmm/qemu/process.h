/* The VMM as a process: who it is and how it was started, from /proc. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct hv_process {
	pid_t pid;
	uid_t uid; /* effective */
	gid_t gid;
	char **args; /* nr_args strings and NULL; owned */
	size_t nr_args;
};

/* ESRCH: there is none. */
struct hv_err *hv_process_open(pid_t pid, struct hv_process *ret) hv_must_use;
void hv_process_close(struct hv_process *p);

/* The process that thread TID belongs to. */
struct hv_err *hv_process_of_thread(pid_t tid, pid_t *ret) hv_must_use;

/* Looks for argument OPTION ("-name", also "--name"), at first from FROM 0. Returns the index
 * behind it, 0: it is not there. *RET_VALUE (may be NULL) is what follows it, "" at the end. */
size_t hv_process_arg(const struct hv_process *p, const char *option, size_t from,
		      const char **ret_value);

/* KEY's value in a QEMU option "type,key=value,..", where ",," is a comma. Caller frees; NULL:
 * none. IMPLIED (may be NULL): the key of a first part without "=". */
char *hv_option_value(const char *option, const char *key, const char *implied);

/* Whether one of the process's open files links to TARGET_PART ("kvm-gmem"). */
bool hv_process_has_file(const struct hv_process *p, const char *target_part);

/* Path of the QMP socket in its arguments, which the process listens on; caller frees, NULL: none.
 * Relative ones are made absolute by the directory it is in. */
char *hv_process_qmp_path(const struct hv_process *p);
