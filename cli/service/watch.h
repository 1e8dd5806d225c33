/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the running guest regularly: whether it is alive, asleep, and still in the boot to which
 * the session attached. Also updates state that follows the guest. ending.h ends the session. */
#pragma once

#include "cli/service/state.h"

struct watch {
	uint64_t alive_ns; /* time of the next check that the guest is alive */
	uint64_t second_ns;
	bool releases;		/* memory that is not in use can be released now */
	bool has_released;	/* the last step released memory */
	unsigned nr_other_boot; /* successive checks that found another boot */
};

/* Performs the checks due at NOW_NS. Call it before requests of clients are handled, because the
 * checks are overdue if the service slept. */
void watch_guest(struct service *s, struct watch *w, uint64_t now_ns);
/* Releases some memory that is not in use. Takes a few ms; serve requests of clients between two
 * calls. */
void watch_release_memory(struct service *s, struct watch *w);
/* Returns the time until which the service may sleep if nothing else happens. */
uint64_t watch_next_ns(const struct service *s, const struct watch *w);
