/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constructors of events for the unit tests of the analysers. Times are in ms. */
#pragma once

#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "latency/finders.h"

#define MS HV_NS_PER_MS

static inline struct hv_moment at(enum hv_moment_kind kind, unsigned cpu, uint64_t ms, uint32_t pid)
{
	return (struct hv_moment){.kind = kind, .cpu = cpu, .time_ns = ms * MS, .pid = pid};
}

/* CPU switches from PID, which leaves in STATE, to OTHER. */
static inline struct hv_moment sw(unsigned cpu, uint64_t ms, uint32_t pid, uint64_t state,
				  uint32_t other)
{
	struct hv_moment m = at(HV_MOMENT_SWITCH, cpu, ms, pid);

	m.state = state;
	m.other = other;
	m.prio = pid == 99 ? 49 : 120;
	m.other_prio = other == 99 ? 49 : 120;
	strcpy(m.other_comm, other ? "next" : "swapper");
	strcpy(m.comm, "prev");
	return m;
}

static inline struct hv_moment wake(unsigned cpu, uint64_t ms, uint32_t pid, uint32_t other)
{
	struct hv_moment m = at(HV_MOMENT_WAKING, cpu, ms, pid);

	m.other = other;
	m.other_cpu = cpu;
	return m;
}

/* GROUP is throttled on CPU. PID is its running task, or 0. */
static inline struct hv_moment throttle(unsigned cpu, uint64_t ms, uint32_t pid, uint64_t group)
{
	struct hv_moment m = at(HV_MOMENT_THROTTLE, cpu, ms, pid);

	m.number = group;
	m.other_cpu = cpu;
	m.address = pid;
	return m;
}

/* The kernel usually unthrottles a group in an interrupt, here on vCPU 1. */
static inline struct hv_moment unthrottle(unsigned cpu, uint64_t ms, uint64_t group)
{
	struct hv_moment m = at(HV_MOMENT_UNTHROTTLE, 1, ms, 0);

	m.number = group;
	m.other_cpu = cpu;
	return m;
}

static inline struct hv_moment numbered(enum hv_moment_kind kind, unsigned cpu, uint64_t ms,
					uint32_t pid, uint64_t number)
{
	struct hv_moment m = at(kind, cpu, ms, pid);

	m.number = number;
	m.device = 0x800010;
	return m;
}
