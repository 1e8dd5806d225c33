/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording: an instance of a session, and the file that its events go to, in the order in which
 * a verb calls the functions. The instance belongs to the connection: the service removes it
 * whatever ends the verb.
 * Leaves to others: what the instance records beyond the request, and when to stop. */
#pragma once

#include "cli/verbs/record/request.h"

struct recording {
	struct client *client; /* borrowed */
	char *dir;	       /* owned; of the instance. NULL: there is none */
	struct record_file file;
};
#define RECORDING_NONE                                                                             \
	{                                                                                          \
		.file = RECORD_FILE_NONE                                                           \
	}

void recording_init(struct recording *r, const struct record_target *target);
/* Frees memory. The instance stays until recording_remove() or the end of the connection. */
void recording_deinit(struct recording *r);

/* Makes the instance in the session of C, which must outlive R: not recording yet, with the name,
 * buffer and clock that Q asks for. */
struct hv_err *recording_begin(struct recording *r, struct client *c,
			       const struct record_request *q) hv_must_use;
/* Writes TEXT, as a line, into FILE of the instance. NULL: truncates it. */
struct hv_err *recording_set(const struct recording *r, const char *file,
			     const char *text) hv_must_use;
/* Begins the file, for which the instance must have its tracer and events. */
struct hv_err *recording_open(struct recording *r) hv_must_use;
struct hv_err *recording_start(const struct recording *r) hv_must_use;
/* As record_file_take(). */
struct hv_err *recording_take(struct recording *r, uint32_t wait_ms, bool *ret_more) hv_must_use;
/* Stops recording. Events already recorded can still be taken. */
struct hv_err *recording_stop(const struct recording *r) hv_must_use;
/* Whether the file was begun. */
static inline bool recording_is_open(const struct recording *r)
{
	return r->file.export;
}
/* Closes what is read of the instance. The file can still be completed by record_file_end(). */
struct hv_err *recording_close(struct recording *r) hv_must_use;
/* Removes the instance, if there is one. */
struct hv_err *recording_remove(struct recording *r) hv_must_use;
