/* The tracefs tree of one guest: names -> open, read, write, close, with tracefs's semantics and
 * errnos, whoever mounts it (the socket of the command line, later FUSE). One thread.
 *
 * A handle is an open file. Writes are seen as write(2) sees them: *ret_len may be short (one token
 * a call for filter files); the caller loops as the shell does. What a filter file was told is
 * published at close. Errors carry the errno in err->code. Leaves to others: transport, blocking (a
 * read of trace_pipe that has nothing returns EAGAIN; the caller waits and asks again), what a
 * tracer does to the guest (session.h). */
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
/* The session is about to end: files that are closed from now on publish nothing. One that was
 * truncated and not yet written would have every function traced. */
void hv_tree_end(struct hv_tree *tree);

/* Takes note of modules that came or went: the current tracer is published again, so that with no
 * filter a new module's functions are traced as the others. Done at each open; call it each second
 * or so for the names in what is read meanwhile. */
void hv_tree_refresh(struct hv_tree *tree);

/* Functions are not called any more for commands whose counts are used up. Call it each second or
 * so. */
void hv_tree_retire(struct hv_tree *tree);

/* A dump that a command of a function asked for (dump, cpudump); NULL: none waits. It is read to
 * its end, which takes what is read out of the buffer, and closed; until then there is no other.
 * WHY, in words safe for a terminal, is borrowed until then. */
struct hv_file *hv_tree_next_dump(struct hv_tree *tree, const char **ret_why);

/* EBUSY: a livepatch waits for a graph. The graph is ended, its tracer is nop then and what was
 * recorded stays; the return addresses of calls that have not returned are put back as soon as that
 * can be done. Call it each second or so. */
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

/* PATH: names with slashes between them; those before and behind do not matter ("" is the top).
 * ENOENT, ENOTDIR. */
struct hv_err *hv_tree_stat(struct hv_tree *tree, const char *path,
			    struct hv_tree_stat *ret) hv_must_use;
/* EPERM where tracefs has none but its own directories, EEXIST, ENOENT, ENOTDIR; EBUSY: the
 * directory is in use. */
struct hv_err *hv_tree_mkdir(struct hv_tree *tree, const char *path) hv_must_use;
struct hv_err *hv_tree_rmdir(struct hv_tree *tree, const char *path) hv_must_use;

/* Names in DIR ("" is the top), one a line, directories with a trailing
 * '/'. ENOENT, ENOTDIR. */
struct hv_err *hv_tree_list(struct hv_tree *tree, const char *dir, struct hv_text *ret) hv_must_use;

/* FLAGS: O_RDONLY, O_WRONLY or O_RDWR, and O_TRUNC, O_NONBLOCK. EBUSY for a second trace_pipe. */
struct hv_err *hv_tree_open(struct hv_tree *tree, const char *path, int flags,
			    struct hv_file **ret) hv_must_use;
/* Reads from where the handle is; *RET_LEN 0 is the end of the file. */
struct hv_err *hv_file_read(struct hv_file *file, void *buf, size_t len_bytes,
			    size_t *ret_len) hv_must_use;
struct hv_err *hv_file_write(struct hv_file *file, const void *buf, size_t len_bytes,
			     size_t *ret_len) hv_must_use;
/* Publishes and frees. Errors of an unterminated last token are swallowed, as in tracefs; an error
 * is one of publishing (the guest could not be changed). */
struct hv_err *hv_file_close(struct hv_file *file) hv_must_use;
/* Frees without publishing: who wrote to it has died, perhaps in the middle. A filter file that was
 * truncated and not yet written would have every function traced. */
void hv_file_abandon(struct hv_file *file);
/* EAGAIN: a read would find nothing now. What it found is kept for the next read. */
struct hv_err *hv_file_ready(struct hv_file *file) hv_must_use;
