/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracefs tree of one guest: its files and directories, with tracefs's semantics and errnos.
 * One thread.
 *
 * Callers open, read, write and close files as with the system calls. A write may be short (filter
 * files take one word per call); the caller then writes the rest, as a shell does. Closing a filter
 * file publishes the filter. err->code is the errno.
 *
 * cli/service/ and cli/mount/ transport requests. Nothing blocks: a read of an empty trace_pipe
 * returns EAGAIN, and the caller waits and retries. session.h carries out changes in the guest. */
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
/* Prepares for the end of the session: files closed from now on publish nothing. Otherwise a filter
 * file that was truncated and not yet written would enable tracing of all functions. */
void hv_tree_end(struct hv_tree *tree);

/* Detects loaded and removed modules, and publishes again, so that without a filter the functions
 * of new modules are traced too. hv_tree_open() does this as well. Call it about once a second, so
 * that the functions of new modules are shown by name. */
void hv_tree_refresh(struct hv_tree *tree);

/* Patches the sites again that the guest's own tracers have taken. Call it every HV_REJOIN_NS
 * (guest_ftrace.h) while hv_session_is_followed(). */
void hv_tree_rejoin(struct hv_tree *tree);

/* Removes commands with used-up counts from the guest's functions, and retries updates that failed
 * because the guest had changed. Call it about once a second. */
void hv_tree_retire(struct hv_tree *tree);

/* Adds a line for each set_ftrace_pid with pids that no guest task has: its path, a colon and up
 * to eight of these pids. The user may have meant future tasks, or mistaken host pids for guest
 * pids. */
void hv_tree_missing_tasks(struct hv_tree *tree, struct hv_text *ret);

/* Opens the dump that a function command (dump, cpudump) requested; NULL if there is none. Read it
 * to the end, which consumes its events, and close it. No other dump starts before that. RET_WHY
 * describes the request, is safe to print, and is valid until the file is closed. */
struct hv_file *hv_tree_next_dump(struct hv_tree *tree, const char **ret_why);

/* Lets a livepatch proceed, which the guest cannot complete while function_graph, the profile or a
 * return probe is active: stops these, so that the tracer is nop, and keeps recorded events. EBUSY:
 * a livepatch waits, possibly for return addresses of open calls; these are restored as soon as
 * possible. Call it about once a second. */
struct hv_err *hv_tree_step_aside(struct hv_tree *tree) hv_must_use;

/* Keeps the guest from spending more than LIMIT_PPM parts per million of a vCPU's time in
 * trampolines: functions that are too expensive are no longer traced, until the tracer or a filter
 * is set again. *RET_NR: number of functions newly affected. Call it about every HV_BUDGET_NS. */
#define HV_BUDGET_NS 200000000ull
struct hv_err *hv_tree_keep_budget(struct hv_tree *tree, uint64_t limit_ppm, uint64_t now_ns,
				   size_t *ret_nr) hv_must_use;
/* Returns the latest measured load in parts per million. RET_NAMES receives the names of the
 * functions that are not traced because of it. */
uint64_t hv_tree_load(const struct hv_tree *tree, struct hv_text *ret_names);
/* Returns the total time spent in trampolines while measuring. Each interval counts the vCPU with
 * the largest load. */
uint64_t hv_tree_taken_ns(const struct hv_tree *tree);

/* Returns whether events are moved out of the guest's rings, or copied, as they arrive. If so, call
 * hv_tree_drain() about every HV_DRAIN_NS. */
#define HV_DRAIN_NS 10000000ull
bool hv_tree_drains(const struct hv_tree *tree);
void hv_tree_drain(struct hv_tree *tree);

enum hv_tree_kind { HV_TREE_FILE, HV_TREE_DIR };

struct hv_tree_stat {
	enum hv_tree_kind kind;
	unsigned mode; /* permission bits, as in tracefs */
};

/* PATH consists of names separated by slashes. Leading and trailing slashes are ignored; "" is the
 * top directory. ENOENT, ENOTDIR. */
struct hv_err *hv_tree_stat(struct hv_tree *tree, const char *path,
			    struct hv_tree_stat *ret) hv_must_use;
/* If a client lacks a right (rights.h), a function returns EACCES and changes nothing. Returns the
 * right that the last refused client lacked, and resets it; 0: none was refused. */
uint32_t hv_tree_lacked(struct hv_tree *tree);

/* EEXIST, ENOENT, ENOTDIR. EPERM: directories can be created and removed only in instances/. EBUSY:
 * a file in the directory is open. */
struct hv_err *hv_tree_mkdir(struct hv_tree *tree, const struct hv_rights *rights,
			     const char *path) hv_must_use;
struct hv_err *hv_tree_rmdir(struct hv_tree *tree, const struct hv_rights *rights,
			     const char *path) hv_must_use;

/* Adds the names in DIR, one per line. Names of directories end with '/'. ENOENT, ENOTDIR. */
struct hv_err *hv_tree_list(struct hv_tree *tree, const char *dir, struct hv_text *ret) hv_must_use;

/* FLAGS: O_RDONLY, O_WRONLY or O_RDWR, and O_TRUNC, O_NONBLOCK. EBUSY: PATH is a trace_pipe that is
 * already open. RIGHTS must outlive the file: each write and the close check them again. */
struct hv_err *hv_tree_open(struct hv_tree *tree, const struct hv_rights *rights, const char *path,
			    int flags, struct hv_file **ret) hv_must_use;
/* Reads the next bytes. *RET_LEN 0: end of file. */
struct hv_err *hv_file_read(struct hv_file *file, void *buf, size_t len_bytes,
			    size_t *ret_len) hv_must_use;
struct hv_err *hv_file_write(struct hv_file *file, const void *buf, size_t len_bytes,
			     size_t *ret_len) hv_must_use;
/* Publishes writes and always frees FILE. An error means that the guest could not be changed. An
 * error in a last word without white space after it only goes to error_log, as in tracefs. EACCES:
 * nothing was published because the writer no longer has the rights. */
struct hv_err *hv_file_close(struct hv_file *file) hv_must_use;
/* Frees FILE without publishing, because its writer died, perhaps between two writes. Otherwise a
 * filter file that was truncated and not yet written would enable tracing of all functions. */
void hv_file_abandon(struct hv_file *file);
/* Prepares FILE for a read. EAGAIN: a read would return nothing now. */
struct hv_err *hv_file_ready(struct hv_file *file) hv_must_use;
