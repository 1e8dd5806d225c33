/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at the guest from time to time while it runs: whether it is alive, asleep, and still in the
 * boot to which the session attached; updates what follows the guest.
 * Leaves to others: ending the session (ending.h). */
#pragma once

#include "cli/service/state.h"

struct watch {
	uint64_t alive_ns; /* time of the next look whether the guest is alive */
	uint64_t second_ns;
	unsigned nr_other_boot; /* successive looks that found another boot */
};

/* Does what is due at NOW_NS. */
void watch_guest(struct service *s, struct watch *w, uint64_t now_ns);
