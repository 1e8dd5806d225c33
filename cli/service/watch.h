/* What a service looks at now and then, while the guest runs: whether it is alive, asleep, and
 * still the boot that was attached to; and what has to follow the guest. Leaves to others: what
 * ends then (ending.h). */
#pragma once

#include "cli/service/state.h"

struct watch {
	uint64_t alive_ns; /* when it is time to look whether the guest is alive */
	uint64_t second_ns;
	unsigned nr_other_boot; /* looks in a row that found another boot */
};

/* Looks at what it is time for. */
void watch_guest(struct service *s, struct watch *w, uint64_t now_ns);
