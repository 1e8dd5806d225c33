/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See fake_layers.c. */
#pragma once

#include "kernel/kernel.h"
#include "tracer/session.h"

struct fake_session {
	struct hv_session session;
	struct hv_guest *guest;
	unsigned busy;
	bool rebooted;
	bool is_torn; /* a detach fails half way */
	bool lost_region;
	bool hibernates;
	size_t nr_patched;
	size_t nr_counted; /* included in nr_bytes */
	uint64_t nr_bytes; /* changed in the guest */
	size_t nr_refused;
	bool holds_modules;
	uint64_t nr_holds;
	uint64_t nr_events, nr_events_more; /* since the last query */
};

static inline struct fake_session *fake_session_of(struct hv_session *s)
{
	return (struct fake_session *)s;
}

/* The VMM process ends. */
void fake_guest_ends(struct hv_guest *g);

void fake_guest_sleeps(struct hv_guest *g);

/* The types of the kernel, with struct task_struct. The caller frees them. */
struct hv_btf *fake_types(void);
