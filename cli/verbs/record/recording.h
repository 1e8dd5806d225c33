/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording: an instance of a session, and the file for its events. Functions are in the order in
 * which a verb calls them. The instance belongs to the connection: the service removes it when the
 * verb ends for any reason. The verb makes further settings and decides when to stop. */
#pragma once

#include "cli/verbs/record/request.h"

struct recording {
	struct client *client; /* borrowed */
	char *dir;	       /* owned; path of the instance. NULL: no instance */
	struct record_file file;
};
#define RECORDING_NONE                                                                             \
	{                                                                                          \
		.file = RECORD_FILE_NONE                                                           \
	}

void recording_init(struct recording *r, const struct record_target *target);
/* Frees memory. The instance stays until recording_remove() or the end of the connection. */
void recording_deinit(struct recording *r);

/* Creates the instance in the session of C, which must outlive R, with the name, buffer and clock
 * that Q requests. It does not record yet. */
struct hv_err *recording_begin(struct recording *r, struct client *c,
			       const struct record_request *q) hv_must_use;
/* Writes TEXT as a line to FILE of the instance. NULL: truncates it. */
struct hv_err *recording_set(const struct recording *r, const char *file,
			     const char *text) hv_must_use;
/* Begins the file; the instance must have its tracer and events. */
struct hv_err *recording_open(struct recording *r) hv_must_use;
struct hv_err *recording_start(const struct recording *r) hv_must_use;
/* Like record_file_take(). */
struct hv_err *recording_take(struct recording *r, uint32_t wait_ms, bool *ret_more) hv_must_use;
/* Stops recording. Recorded events can still be taken. */
struct hv_err *recording_stop(const struct recording *r) hv_must_use;
static inline bool recording_is_open(const struct recording *r)
{
	return r->file.export;
}
/* Closes the sources in the instance. The file can still be completed by record_file_end(). */
struct hv_err *recording_close(struct recording *r) hv_must_use;
/* Removes the instance, if there is one. */
struct hv_err *recording_remove(struct recording *r) hv_must_use;

/* -- the longest section or wait -------------------------------------------------------------- */

/* `hvtrace record` with a tracer that keeps the longest section or the longest wait of a woken task
 * (docs/users/latency-tracers.md): prints that section at the end, in addition to the events. */

/* Whether TRACER, the name of a tracer or NULL, keeps the longest section or wait. */
bool record_section_has(const char *tracer);
/* The noun for such a tracer's result: "section" or "wait". */
const char *record_section_noun(const char *tracer);
/* Prints the file `trace` of the instance DIR to FD, standard output or standard error. Sets
 * *RET_OUT_ERROR to the result of put_out (verb.h). */
struct hv_err *record_section_print(struct client *c, const char *dir, int fd,
				    int *ret_out_error) hv_must_use;
/* Returns the length of the longest section in us; 0: there was no section. */
struct hv_err *record_section_longest_us(struct client *c, const char *dir,
					 uint64_t *ret) hv_must_use;
