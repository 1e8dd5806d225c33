/* A helper: a child of the service that stops a machine for the service and surely lets it run on.
 * It outlives the service for as long as something is held: it has a session of its own, ignores
 * the signals that end the service, and holds nothing but two files.
 *
 *   service --request--> helper       over a socketpair, one request at a time
 *           <--answer---
 *
 * Leaves to others: what the two say to each other, and what the child does (qemu/guardian.h,
 * inject/keeper.h). One thread on each side. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"

/* A helper bounds what it does itself; this is for one that does not answer at all. */
#define HV_HELPER_ANSWER_NS (20 * HV_NS_PER_S)

struct hv_helper_kind {
	const char *noun;	/* for messages */
	const char *comm;	/* of the process */
	int socket_type;	/* SOCK_STREAM, SOCK_SEQPACKET */
	void (*run)(void *ctx); /* the child's life, by the child's half below; does not return */
};

/* The service's half. */

struct hv_helper {
	const struct hv_helper_kind *kind;
	pid_t pid;
	int control; /* owned: our end of the socketpair; -1: there is no child */
};
#define HV_HELPER_NONE ((struct hv_helper){.pid = -1, .control = -1})

/* CTX is copied by fork. The process that starts a helper is the one that it watches: the service
 * starts it after it has become a daemon. */
struct hv_err *hv_helper_start(const struct hv_helper_kind *kind, void *ctx,
			       struct hv_helper *ret) hv_must_use;
/* Hangs up, and waits two seconds for the child's end. One that has something to do goes on. */
void hv_helper_end(struct hv_helper *h);
/* False as well when an answer did not come: nothing more is said to it. */
bool hv_helper_is_alive(const struct hv_helper *h);

/* All of BYTES. EPIPE: it has died. */
struct hv_err *hv_helper_send(const struct hv_helper *h, const void *bytes,
			      size_t len_bytes) hv_must_use;
/* LEN_BYTES of an answer. EPIPE; ETIME: not before DEADLINE_NS. After an error the connection is
 * shut down: a late answer would be taken for that to the next request. */
struct hv_err *hv_helper_receive(const struct hv_helper *h, void *bytes, size_t len_bytes,
				 uint64_t deadline_ns) hv_must_use;

/* The child's half. */

#define HV_HELPER_CONTROL 3 /* its end of the socketpair */
#define HV_HELPER_SERVICE 4 /* a pidfd of the service */

struct hv_helper_wake {
	bool is_asked;	/* there is something to read, or the service has hung up */
	bool is_alone;	/* the service has died */
	bool has_other; /* something is to be read from OTHER_FD */
};

/* Waits for the service, for OTHER_FD (-1: none) and until DEADLINE_NS (UINT64_MAX: for ever). */
struct hv_helper_wake hv_helper_wait(int other_fd, uint64_t deadline_ns);
