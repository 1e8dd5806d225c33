/* The tracefs tree of one guest: files and directories by their names, with tracefs's semantics and
 * errnos. One thread.
 *
 * Files are opened, read, written and closed as by the system calls. A write may take less than it
 * is given (filter files take a word a call); the caller goes on with the rest, as a shell does. A
 * filter is published when its file is closed. The errno of an error is in err->code.
 *
 * Leaves to others: transport (cli/service/, cli/mount/); blocking (a read of trace_pipe that finds
 * nothing is EAGAIN, and the caller waits and asks again); what tracers do to the guest
 * (session.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"

struct hv_session;
struct hv_tree;
struct hv_file;

struct hv_err *hv_tree_new(struct hv_session *session, struct hv_tree **ret) hv_must_use;
void hv_tree_free(struct hv_tree *tree);
/* The session is about to end: files that are closed from now on publish nothing. A filter file
 * that was truncated and not yet written would otherwise have every function traced. */
void hv_tree_end(struct hv_tree *tree);

/* Takes note of modules that came or went: what is traced is published again, so that without a
 * filter a new module's functions are traced, too. Done at each open. To be called each second or
 * so, for the names of functions in what is read meanwhile. */
void hv_tree_refresh(struct hv_tree *tree);

/* Takes commands whose counts are used up away from the guest's functions. To be called each second
 * or so. */
void hv_tree_retire(struct hv_tree *tree);

/* The dump that a command of a function (dump, cpudump) has asked for; NULL: none waits. It is read
 * to its end, which takes what is read out of the buffer, and closed. There is no other one until
 * then. RET_WHY says what asked for it, is safe to print, and is borrowed until then. */
struct hv_file *hv_tree_next_dump(struct hv_tree *tree, const char **ret_why);

/* Makes way for a livepatch that the guest cannot finish while a graph or the profile is on. They
 * end: the tracer is nop then, and what was recorded stays. EBUSY: a livepatch waits, also for the
 * return addresses of calls that have not returned, which are put back as soon as that can be done.
 * To be called each second or so. */
struct hv_err *hv_tree_step_aside(struct hv_tree *tree) hv_must_use;

/* True: hv_tree_drain() is to be called every HV_DRAIN_NS or so, since what the guest records is
 * taken out of its rings as it comes. */
#define HV_DRAIN_NS 10000000ull
bool hv_tree_drains(const struct hv_tree *tree);
void hv_tree_drain(struct hv_tree *tree);

enum hv_tree_kind { HV_TREE_FILE, HV_TREE_DIR };

struct hv_tree_stat {
	enum hv_tree_kind kind;
	unsigned mode; /* permission bits, as tracefs has them */
};

/* PATH: names with slashes between them. Slashes before and behind do not count; "" is the top.
 * ENOENT, ENOTDIR. */
struct hv_err *hv_tree_stat(struct hv_tree *tree, const char *path,
			    struct hv_tree_stat *ret) hv_must_use;
/* EEXIST, ENOENT, ENOTDIR; EPERM: directories come and go below instances/ only; EBUSY: a file of
 * the directory is open. */
struct hv_err *hv_tree_mkdir(struct hv_tree *tree, const char *path) hv_must_use;
struct hv_err *hv_tree_rmdir(struct hv_tree *tree, const char *path) hv_must_use;

/* The names in DIR, one a line. Those of directories end with '/'. ENOENT, ENOTDIR. */
struct hv_err *hv_tree_list(struct hv_tree *tree, const char *dir, struct hv_text *ret) hv_must_use;

/* FLAGS: O_RDONLY, O_WRONLY or O_RDWR, and O_TRUNC, O_NONBLOCK. EBUSY for a second trace_pipe. */
struct hv_err *hv_tree_open(struct hv_tree *tree, const char *path, int flags,
			    struct hv_file **ret) hv_must_use;
/* Reads what comes next. *RET_LEN 0 is the end of the file. */
struct hv_err *hv_file_read(struct hv_file *file, void *buf, size_t len_bytes,
			    size_t *ret_len) hv_must_use;
struct hv_err *hv_file_write(struct hv_file *file, const void *buf, size_t len_bytes,
			     size_t *ret_len) hv_must_use;
/* Publishes what was written, and frees FILE in any case. An error is one of publishing: the guest
 * could not be changed. Errors of a last word without white space behind it go to error_log only,
 * as in tracefs. */
struct hv_err *hv_file_close(struct hv_file *file) hv_must_use;
/* Frees FILE without publishing, since its writer has died, perhaps in the middle of a write. A
 * filter file that was truncated and not yet written would otherwise have every function traced. */
void hv_file_abandon(struct hv_file *file);
/* EAGAIN: a read would find nothing now. What is found is kept for the next read. */
struct hv_err *hv_file_ready(struct hv_file *file) hv_must_use;
