/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run directory /run/hvtrace has one directory for each domain that has, or had, a service.
 *
 *      RUN/ID/lock   locked (open file description lock) while the service lives
 *      RUN/ID/sock   the service's socket      RUN/ID/pid   its process id
 *      RUN/ID/info   the session, as JSON      RUN/ID/log   the service's log
 *      RUN/ID/mounts mounts of the session's tree (mountpoint.h)
 *      RUN/ID/btf    the copy of the BTF file that the session uses (service/btf_files.h)
 *      RUN/ID/facts  the offsets that the session derived (service/kept_facts.h)
 *      RUN/ID/dump   dumps.h; never removed with the other files; later services append to it
 *
 * The process that holds the lock owns the directory. A service that died or ended leaves an
 * unlocked directory, which stays as long as changes of a dead session may be in the guest.
 *
 * The broker and root's clients create all of these files. The service cannot access the directory;
 * it can only write to the log, the dump and the socket that it received. So clients trust the
 * info, not the service, for the session's domain and processes.
 *
 * lib/session_info.h reads a session's info, domain_state.h derives the state of a domain, wire.h is
 * the protocol of the socket, and audit.h writes the log. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "lib/session_info.h"

#define RUNDIR_DUMP   "dump"
#define RUNDIR_MOUNTS "mounts"
#define RUNDIR_BTF    "btf"
#define RUNDIR_FACTS  "facts"

struct rundir {
	char *path;  /* owned; NULL: no directory */
	int lock_fd; /* -1: not locked */
	/* Changes of a session that died may be in the guest. The owner updates it as soon as it
	 * knows. */
	bool has_left;
};
#define RUNDIR_NONE                                                                                \
	{                                                                                          \
		.lock_fd = -1                                                                      \
	}

/* Creates RUN_DIR (0700) and ID's directory in it, locks it, and removes the files of a dead
 * service except the info and the dump and, if it may have left changes in the guest, the BTF and
 * the facts that undoing them needs. Sets has_left then. EBUSY: a service is running there. */
struct hv_err *rundir_take(const char *run_dir, const char *id, struct rundir *ret) hv_must_use;
/* Returns whether the lock file is still in the directory. If not, the directory was removed, and
 * another service may have created a new one; rundir_remove() and rundir_leave() then change
 * nothing. */
bool rundir_is_ours(const struct rundir *d);
/* Removes the directory, unless it contains a dump, and unlocks it. With has_left, does the same as
 * rundir_leave() without a reason. */
void rundir_remove(struct rundir *d);
/* Removes the socket, the pid and the lock file, stores REASON for later clients, and unlocks the
 * directory. The other files stay. */
void rundir_leave(struct rundir *d, const char *reason);
/* Closes the lock file and frees D's memory, but leaves the directory unchanged: for a process that
 * does not own it (after fork). */
void rundir_forget(struct rundir *d);

static inline void rundir_remove_at(struct rundir *d)
{
	rundir_remove(d);
}
#define AUTO_RUNDIR hv_cleanup(rundir_remove_at)

/* Returns the path of FILE in DIR. The caller frees it. */
char *rundir_path(const char *dir, const char *file) hv_must_use;

/* Reads the info of the session that had D before. Returns false if there is none. */
bool rundir_read_info(const struct rundir *d, struct rundir_info *ret);

/* Writes INFO. Ignores its path, live and listens, and determines vmm_start itself. */
struct hv_err *rundir_write_info(const struct rundir *d,
				 const struct rundir_info *info) hv_must_use;

/* Lists all directories in RUN_DIR that have a readable info. Returns an empty list if RUN_DIR does
 * not exist. */
struct hv_err *rundir_list(const char *run_dir, struct rundir_info **ret,
			   size_t *ret_nr) hv_must_use;
void rundir_list_free(struct rundir_info *list, size_t nr);

/* Returns whether INFO describes a machine of `hvtrace run` that was killed together with its
 * session. There is nothing to recover. */
bool rundir_is_dead_machine(const struct rundir_info *info);
/* Removes the directory of a session whose guest has ended, unless a service has taken it. */
void rundir_remove_dead(const char *run_dir, const struct rundir_info *info);

/* Finds the directory that SPEC names by name, id, the name given to attach, or "pid:N" of the VMM.
 * Prefers a live service. *RET_FOUND is false if there is no match. URI NULL matches every URI. */
struct hv_err *rundir_find(const char *run_dir, const char *spec, const char *uri, bool *ret_found,
			   struct rundir_info *ret) hv_must_use;
