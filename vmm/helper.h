/* A child of the service that outlives it for as long as something is to be ended well: it has a
 * session of its own, ignores what signals mean for the service, and holds nothing but two files.
 * Leaves to others: what the two say to each other, and what the child does. One thread. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define HV_HELPER_CONTROL 3 /* the child's end of a socketpair */
#define HV_HELPER_SERVICE 4 /* a pidfd of the service */

struct hv_helper {
	pid_t pid;
	int control; /* owned: our end; -1: there is no child */
};

struct hv_helper_kind {
	const char *noun; /* for messages */
	const char *comm; /* of the process */
	int socket_type;  /* SOCK_STREAM, SOCK_SEQPACKET */
	/* The child's life, with the two files above; does not return. */
	void (*run)(void *ctx);
};

/* CTX is copied by fork. */
struct hv_err *hv_helper_start(const struct hv_helper_kind *kind, void *ctx,
			       struct hv_helper *ret) hv_must_use;
/* Hangs up, and waits so long for its end: one that still has to do goes on. */
void hv_helper_end(struct hv_helper *h, int wait_ms);

bool hv_helper_is_alive(const struct hv_helper *h);
