/* /run/hvtrace: one directory a domain that has, or had, a service.
 *
 *     RUN/ID/lock   locked (an open-file-description lock) for as long as the service lives
 *     RUN/ID/sock   where it listens          RUN/ID/pid   its process id
 *     RUN/ID/info   who it serves, as JSON    RUN/ID/log   what it did
 *     RUN/ID/dump   dumps.h; stays when the rest goes, for the next service to go on
 *
 * Who holds the lock owns everything in the directory; a directory nobody holds is left over.
 * Leaves to others: what is said over the socket (wire.h), the log's lines (audit.h). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define RUNDIR_DUMP "dump"

struct rundir {
	char *path;  /* owned; NULL when nothing is held */
	int lock_fd; /* -1 when nothing is held */
};
#define RUNDIR_NONE                                                                                \
	{                                                                                          \
		NULL, -1                                                                           \
	}

/* Makes RUN_DIR (0700) and ID's directory in it, takes the lock and clears what a dead service
 * left. EBUSY: a service lives there. */
struct hv_err *rundir_take(const char *run_dir, const char *id, struct rundir *ret) hv_must_use;
/* Its lock is still there. False: somebody has removed the directory, and another service may have
 * made it anew; rundir_remove() and rundir_leave() touch nothing then. */
bool rundir_stands(const struct rundir *d);
/* The directory goes, unless there is a dump in it, and the lock with it. */
void rundir_remove(struct rundir *d);
/* Only the log, the info and the dump stay, with REASON, for who asks later; the lock goes. */
void rundir_leave(struct rundir *d, const char *reason);
/* Forgets it in a process that does not own it (after fork). */
void rundir_forget(struct rundir *d);

static inline void rundir_remove_at(struct rundir *d)
{
	rundir_remove(d);
}
#define AUTO_RUNDIR hv_cleanup(rundir_remove_at)

/* A file in it; the caller frees. */
char *rundir_path(const char *dir, const char *file) hv_must_use;

struct rundir_info {
	char *path; /* of the directory */
	char *id;
	char *name;
	char *spec;  /* as it was given to attach */
	char *uri;   /* NULL: libvirt's default */
	char *ended; /* NULL, or why the service left */
	pid_t vmm_pid;
	pid_t service_pid;
	bool live;
};

void rundir_info_deinit(struct rundir_info *info);
#define AUTO_RUNDIR_INFO hv_cleanup(rundir_info_deinit)

/* path and live are not written. */
struct hv_err *rundir_write_info(const struct rundir *d,
				 const struct rundir_info *info) hv_must_use;

/* Every directory in RUN_DIR with a readable info; none when there is no RUN_DIR. */
struct hv_err *rundir_list(const char *run_dir, struct rundir_info **ret,
			   size_t *ret_nr) hv_must_use;
void rundir_list_free(struct rundir_info *list, size_t nr);

/* A machine of our own (`hvtrace run`) that was killed, with its service in it: nobody can recover
 * anything there. */
bool rundir_is_dead_machine(const struct rundir_info *info);
/* Removes the directory of one; nothing if somebody lives there by now. */
void rundir_remove_dead(const char *run_dir, const struct rundir_info *info);

/* The one that SPEC names: by name, id, as it was given, or "pid:N" of its VMM. A live one before a
 * left one. *RET_FOUND false: none. URI NULL matches every. */
struct hv_err *rundir_find(const char *run_dir, const char *spec, const char *uri, bool *ret_found,
			   struct rundir_info *ret) hv_must_use;
