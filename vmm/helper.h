/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A helper: a child process of the service that stops a guest on its behalf and ensures that the
 * guest is resumed. While the guest is held, the helper outlives the service: it calls setsid(2),
 * ignores the signals that end the service, and keeps only two files open.
 *
 *   service --request--> helper       over a socketpair; one request at a time
 *           <--answer---
 *
 * qemu/gdb/guardian.h and inject/keeper.h define requests, answers and the child's work. One thread
 * on each side. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* How long the service waits for an answer, and for a request to be read. Helpers limit the
 * duration of their work; this timeout is for a helper that hangs. Tests change it. */
extern uint64_t hv_helper_answer_ns;

struct hv_helper_kind {
	const char *noun;	/* for messages */
	const char *comm;	/* of the process */
	int socket_type;	/* SOCK_STREAM, SOCK_SEQPACKET */
	void (*run)(void *ctx); /* the child's main function, which uses the child's half below */
	uint64_t needs;		/* the capabilities that the child keeps (base/capabilities.h) */
	int other_fd;		/* passed to the child as HV_HELPER_OTHER; 0: none */
};

/* The service's half. */

struct hv_helper {
	const struct hv_helper_kind *kind;
	pid_t pid;
	int control; /* owned: the service's end of the socketpair; -1: no child */
};
#define HV_HELPER_NONE ((struct hv_helper){.pid = -1, .control = -1})

/* fork(2) copies the data at CTX. A helper watches the process that started it, so the service
 * starts its helpers after it has become a daemon. */
struct hv_err *hv_helper_start(const struct hv_helper_kind *kind, void *ctx,
			       struct hv_helper *ret) hv_must_use;
/* Closes the connection and waits up to two seconds for the child to end. A child with unfinished
 * work continues without the service. */
void hv_helper_end(struct hv_helper *h);
/* Also false after hv_helper_send() or hv_helper_receive() failed: such a helper gets no further
 * requests. */
bool hv_helper_is_alive(const struct hv_helper *h);

/* Sends all of BYTES. Fails with EPIPE if the helper has ended, or ETIME if it does not read; then
 * the connection is shut down, as after an error of hv_helper_receive(). */
struct hv_err *hv_helper_send(const struct hv_helper *h, const void *bytes,
			      size_t len_bytes) hv_must_use;
/* Receives LEN_BYTES of an answer. Fails with EPIPE if the helper has ended, or ETIME if the answer
 * did not arrive by DEADLINE_NS; time during which this process could not run does not count. After
 * an error the connection is shut down, because a late answer would be mistaken for the answer to
 * the next request. */
struct hv_err *hv_helper_receive(const struct hv_helper *h, void *bytes, size_t len_bytes,
				 uint64_t deadline_ns) hv_must_use;

/* The child's half. */

#define HV_HELPER_CONTROL 3 /* its end of the socketpair */
#define HV_HELPER_SERVICE 4 /* a pidfd of the service */
#define HV_HELPER_OTHER	  5

struct hv_helper_wake {
	bool is_asked;	/* a request can be read, or the service has closed the connection */
	bool is_alone;	/* the service has ended */
	bool has_other; /* OTHER_FD is readable */
};

/* Waits for the service or OTHER_FD (-1: none), until DEADLINE_NS (UINT64_MAX: without limit). */
struct hv_helper_wake hv_helper_wait(int other_fd, uint64_t deadline_ns);
