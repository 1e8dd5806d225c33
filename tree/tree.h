/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracefs tree of one guest: its files and directories, with tracefs's semantics and errnos.
 * One thread.
 *
 * Callers open, read, write and close files as with the system calls. A write may take less than it
 * is given (filter files take one word per call); the caller then writes the rest, as a shell does.
 * Closing a filter file publishes the filter. The errno of an error is in err->code.
 *
 * Leaves to others: transport (cli/service/, cli/mount/); blocking (a read of trace_pipe that finds
 * nothing returns EAGAIN, and the caller waits and asks again); what tracers do to the guest
 * (session.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"
#include "tree/settings/rights.h"

struct hv_session;
struct hv_tree;
struct hv_file;

struct hv_err *hv_tree_new(struct hv_session *session, struct hv_tree **ret) hv_must_use;
void hv_tree_free(struct hv_tree *tree);
/* Prepares for the end of the session: files that are closed from now on publish nothing. Otherwise
 * a filter file that was truncated and not written yet would cause every function to be traced. */
void hv_tree_end(struct hv_tree *tree);

/* Notices modules that were loaded or removed, and publishes again what is traced, so that without
 * a filter a new module's functions are traced, too. hv_tree_open does this. The caller does it
 * about once a second, so that events that are read get the names of new functions. */
void hv_tree_refresh(struct hv_tree *tree);

/* Removes commands whose counts are used up from the guest's functions, and tries again what could
 * not be published when the guest had changed. The caller does this about once a second. */
void hv_tree_retire(struct hv_tree *tree);

/* Adds a line for each set_ftrace_pid with pids that no task of the guest has now: its path, a
 * colon and the first of them. They may be pids of tasks to come, or of the host's. */
void hv_tree_missing_tasks(struct hv_tree *tree, struct hv_text *ret);

/* Opens the dump that a command of a function (dump, cpudump) asked for; NULL if none waits. The
 * caller reads it to its end, which takes its events out of the buffer, and closes it. Until then
 * there is no other dump. RET_WHY says what asked for it, is safe to print, and is valid until the
 * file is closed. */
struct hv_file *hv_tree_next_dump(struct hv_tree *tree, const char **ret_why);

/* Makes way for a livepatch, which the guest cannot finish while function_graph, the profile or
 * a return probe is on: ends all of them, so that the tracer is nop, and keeps what was recorded.
 * EBUSY: a livepatch waits. It may wait for the return addresses of calls that have not returned
 * yet, too; these are put back as soon as possible. The caller does this about once a second. */
struct hv_err *hv_tree_step_aside(struct hv_tree *tree) hv_must_use;

/* Keeps the guest from spending more than LIMIT_PPM parts per million of a vCPU's time in stubs:
 * functions that cost too much are no longer traced, until the tracer or a filter is set again.
 * *RET_NR: how many more these are. The caller does this about every HV_BUDGET_NS. */
#define HV_BUDGET_NS 200000000ull
struct hv_err *hv_tree_keep_budget(struct hv_tree *tree, uint64_t limit_ppm, uint64_t now_ns,
				   size_t *ret_nr) hv_must_use;
/* Returns the load that was measured last, in parts per million. RET_NAMES gets the names of the
 * functions that are not traced because of it. */
uint64_t hv_tree_load(const struct hv_tree *tree, struct hv_text *ret_names);
/* For how long stubs ran in all, while it was measured: each time on the vCPU with the largest
 * load. */
uint64_t hv_tree_taken_ns(const struct hv_tree *tree);

/* Returns whether events are taken out of the guest's rings, or copied, as they come. The caller
 * then calls hv_tree_drain about every HV_DRAIN_NS. */
#define HV_DRAIN_NS 10000000ull
bool hv_tree_drains(const struct hv_tree *tree);
void hv_tree_drain(struct hv_tree *tree);

enum hv_tree_kind { HV_TREE_FILE, HV_TREE_DIR };

struct hv_tree_stat {
	enum hv_tree_kind kind;
	unsigned mode; /* permission bits, as tracefs has them */
};

/* PATH consists of names with slashes between them. Slashes at the beginning and the end are
 * ignored; "" is the top. ENOENT, ENOTDIR. */
struct hv_err *hv_tree_stat(struct hv_tree *tree, const char *path,
			    struct hv_tree_stat *ret) hv_must_use;
/* A client lacks a right (rights.h): the function returns EACCES, and nothing changes. Returns the
 * right that the last refused client lacked, and forgets it; 0: none was refused. */
uint32_t hv_tree_lacked(struct hv_tree *tree);

/* EEXIST, ENOENT, ENOTDIR. EPERM: directories can be made and removed only in instances/. EBUSY: a
 * file of the directory is open. */
struct hv_err *hv_tree_mkdir(struct hv_tree *tree, const struct hv_rights *rights,
			     const char *path) hv_must_use;
struct hv_err *hv_tree_rmdir(struct hv_tree *tree, const struct hv_rights *rights,
			     const char *path) hv_must_use;

/* Adds the names in DIR, one a line. Names of directories end with '/'. ENOENT, ENOTDIR. */
struct hv_err *hv_tree_list(struct hv_tree *tree, const char *dir, struct hv_text *ret) hv_must_use;

/* FLAGS: O_RDONLY, O_WRONLY or O_RDWR, and O_TRUNC, O_NONBLOCK. EBUSY: PATH is a trace_pipe that
 * somebody has open. RIGHTS must outlive the file: each write and the close are checked against
 * them again. */
struct hv_err *hv_tree_open(struct hv_tree *tree, const struct hv_rights *rights, const char *path,
			    int flags, struct hv_file **ret) hv_must_use;
/* Reads the next bytes. *RET_LEN 0: the end of the file. */
struct hv_err *hv_file_read(struct hv_file *file, void *buf, size_t len_bytes,
			    size_t *ret_len) hv_must_use;
struct hv_err *hv_file_write(struct hv_file *file, const void *buf, size_t len_bytes,
			     size_t *ret_len) hv_must_use;
/* Publishes what was written, and frees FILE in any case. An error means that the guest could not
 * be changed. An error in a last word that no white space follows goes to error_log only, as in
 * tracefs. EACCES: nothing was published, since the writer may not change FILE now. */
struct hv_err *hv_file_close(struct hv_file *file) hv_must_use;
/* Frees FILE without publishing: its writer has died, perhaps between two writes. Otherwise a
 * filter file that was truncated and not written yet would cause every function to be traced. */
void hv_file_abandon(struct hv_file *file);
/* Makes FILE ready for a read. EAGAIN: a read would find nothing now. */
struct hv_err *hv_file_ready(struct hv_file *file) hv_must_use;
