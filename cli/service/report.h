/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a service says to the process that started it until it has attached: frames of wire.h over a
 * socket. WIRE_NOTE is a line for the user; WIRE_OK, with the last line, or WIRE_ERROR ends it.
 * Leaves to others: starting a service, which process hears (service.h). */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "cli/wire.h"

/* The service's side. CODE: the errno of a WIRE_ERROR. False: nobody hears any more. */
bool report_text(int fd, enum wire_kind kind, int code, const char *text);

/* The error that a FRAME of a service has. */
struct hv_err *report_error(const struct wire_frame *frame) hv_must_use;

/* The side of the process that forked it as its child. */
struct service_child {
	pid_t pid;
	int report_fd; /* owned; to be closed when the service has reported */
	struct hv_text in;
};
#define SERVICE_CHILD_NONE ((struct service_child){.pid = -1, .report_fd = -1})
/* To be called when there is something to read. *RET_LINE, owned by the caller: a line for the
 * user; NULL: there is no whole one. *RET_ATTACHED: it is the last one. An error is the service's,
 * and it has ended. */
struct hv_err *service_hear(struct service_child *c, char **ret_line,
			    bool *ret_attached) hv_must_use;
/* Hears no more. A service that has not attached undoes what it has begun. */
void service_child_close(struct service_child *c);
