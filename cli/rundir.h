/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /run/hvtrace: one directory for each domain that has, or had, a service.
 *
 *      RUN/ID/lock   locked (an open-file-description lock) while the service lives
 *      RUN/ID/sock   where it listens          RUN/ID/pid   its process id
 *      RUN/ID/info   whom it serves, as JSON   RUN/ID/log   what it did
 *      RUN/ID/mounts where its tree is mounted (mountpoint.h)
 *      RUN/ID/dump   dumps.h; it stays when the others are removed, and the next service appends to
 * it
 *
 * The process that has the lock owns everything in the directory. A directory that nobody has
 * locked was left by a service that died or ended; it stays as long as changes of a session that
 * died may be in the guest.
 *
 * The warden and root's clients make all of these files. The service has no way to the directory;
 * it can write the log, the dump and the socket only, which it was given. So clients take whom a
 * session serves, and its processes, from the info, not from what the service says.
 * Leaves to others: what that means for a verb (domain_state.h), what is said over the socket
 * (wire.h), the lines of the log (audit.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define RUNDIR_DUMP   "dump"
#define RUNDIR_MOUNTS "mounts"

struct rundir {
	char *path;  /* owned; NULL: no directory */
	int lock_fd; /* -1: not locked */
	/* Changes of a session that died may be in the guest. The owner sets and clears it as soon
	 * as it knows. */
	bool has_left;
};
#define RUNDIR_NONE                                                                                \
	{                                                                                          \
		.lock_fd = -1                                                                      \
	}

/* Makes RUN_DIR (0700) and ID's directory in it, locks it, and removes what a dead service left
 * there, but for the info. RET says whether that service may have left changes in the guest. EBUSY:
 * a service lives there. */
struct hv_err *rundir_take(const char *run_dir, const char *id, struct rundir *ret) hv_must_use;
/* Returns whether the lock file is still in its place. If not, somebody has removed the directory,
 * and another service may have made it again; rundir_remove() and rundir_leave() then touch
 * nothing. */
bool rundir_is_ours(const struct rundir *d);
/* Removes the directory, unless a dump is in it, and unlocks it. If has_left is set, the log and
 * the info stay, too. */
void rundir_remove(struct rundir *d);
/* Removes all but the log, the info and the dump, notes REASON for those who ask later, and unlocks
 * the directory. */
void rundir_leave(struct rundir *d, const char *reason);
/* Closes the lock file, frees what D owns, and leaves the directory as it is: for a process that
 * does not own it (after fork). */
void rundir_forget(struct rundir *d);

static inline void rundir_remove_at(struct rundir *d)
{
	rundir_remove(d);
}
#define AUTO_RUNDIR hv_cleanup(rundir_remove_at)

/* Returns the path of FILE in DIR. The caller frees it. */
char *rundir_path(const char *dir, const char *file) hv_must_use;

struct rundir_info {
	char *path; /* of the directory */
	char *id;
	char *name;
	char *spec;  /* as the user gave it to attach */
	char *uri;   /* NULL: libvirt's default */
	char *ended; /* NULL, or why the service left */
	pid_t vmm_pid;
	uint64_t vmm_start; /* of the VMM's process, by proc(5); 0: it is not known */
	pid_t service_pid;  /* or that of the process that recovers */
	bool recovers;	    /* it does not attach, but recovers */
	bool has_left;	    /* changes of a session that died may be in the guest */
	bool live;	    /* a process has locked the directory */
	bool listens;	    /* there is a socket */
};

void rundir_info_deinit(struct rundir_info *info);
#define AUTO_RUNDIR_INFO hv_cleanup(rundir_info_deinit)

/* Does not write path, live and listens, and looks up vmm_start. */
struct hv_err *rundir_write_info(const struct rundir *d,
				 const struct rundir_info *info) hv_must_use;

/* Lists every directory in RUN_DIR with an info that can be read; none if there is no RUN_DIR. */
struct hv_err *rundir_list(const char *run_dir, struct rundir_info **ret,
			   size_t *ret_nr) hv_must_use;
void rundir_list_free(struct rundir_info *list, size_t nr);

/* Returns whether the process that was the VMM has ended. */
bool rundir_vmm_has_ended(const struct rundir_info *info);
/* Returns whether the process that served has ended. If the directory is locked nevertheless, its
 * warden is about to recover (service/warden.h). */
bool rundir_service_has_ended(const struct rundir_info *info);
/* Returns whether INFO is of a machine of `hvtrace run` that was killed, with its session. There is
 * nothing to recover. */
bool rundir_is_dead_machine(const struct rundir_info *info);
/* Removes the directory of such a machine, unless a service lives there by now. */
void rundir_remove_dead(const char *run_dir, const struct rundir_info *info);

/* Finds the directory that SPEC names by name, id, the words given to attach, or "pid:N" of the
 * VMM. A live service comes before a dead one. *RET_FOUND false: there is none. URI NULL matches
 * every URI. */
struct hv_err *rundir_find(const char *run_dir, const char *spec, const char *uri, bool *ret_found,
			   struct rundir_info *ret) hv_must_use;
