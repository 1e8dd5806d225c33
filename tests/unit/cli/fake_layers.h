/* See fake_layers.c. */
#pragma once

#include "kernel/kernel.h"
#include "tracer/session.h"

struct hv_session {
	struct hv_kernel *kernel;
	struct hv_guest *guest;
	unsigned busy;
	bool rebooted;
	size_t nr_patched;
	uint64_t nr_holds;
};

/* The VMM process ends. */
void fake_guest_ends(struct hv_guest *g);
