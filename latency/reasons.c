/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/reasons.h"

#define DEV_MINOR_BITS 20 /* as in the kernel's dev_t */
#define MAJOR_LOOP     7
#define MAJOR_NBD      43

bool hv_stall_is_io(const struct hv_stall *s)
{
	return s->kind == HV_STALL_IO_DEVICE || s->kind == HV_STALL_IO_QUEUE;
}

/* Loop and nbd have fixed major numbers (Documentation/admin-guide/devices.txt). */
bool hv_stall_is_guests_own(const struct hv_stall *s)
{
	unsigned major = s->device >> DEV_MINOR_BITS;

	return hv_stall_is_io(s) && (major == MAJOR_LOOP || major == MAJOR_NBD);
}

bool hv_stall_same_task(const struct hv_stall *a, const struct hv_stall *b)
{
	return a->task.pid && a->task.pid == b->task.pid;
}

bool hv_stall_is_series(const struct hv_stall *s)
{
	return s->kind == HV_STALL_RECLAIM || s->kind == HV_STALL_FAULTS;
}

static bool explains_lock(const struct hv_stall *by, const struct hv_stall *lock)
{
	if (by->kind == HV_STALL_SECTION)
		return (lock->flags & HV_LOCK_SPINS) && by->cpu != lock->cpu;
	return hv_stall_is_io(by) && !(lock->flags & HV_LOCK_SPINS);
}

/* The group is unknown for tasks that never used up its time themselves. But only a limit leaves a
 * vCPU idle while a task waits for it. */
static bool is_limited(const struct hv_stall *limit, const struct hv_stall *wait)
{
	return wait->number == limit->number || !wait->by.pid;
}

static bool explains_wait(const struct hv_stall *by, const struct hv_stall *wait)
{
	switch (by->kind) {
	case HV_STALL_SECTION:
	case HV_STALL_IRQ:
	case HV_STALL_SOFTIRQ:
		return by->cpu == wait->cpu;
	case HV_STALL_EXITS:
	case HV_STALL_RECLAIM:
	case HV_STALL_SYSCALL:
		return by->cpu == wait->cpu && by->task.pid == wait->by.pid;
	case HV_STALL_LIMIT:
		return by->cpu == wait->cpu && by->number && is_limited(by, wait);
	default:
		return false;
	}
}

static bool explains_syscall(const struct hv_stall *by, const struct hv_stall *call)
{
	switch (by->kind) {
	case HV_STALL_SECTION:
	case HV_STALL_IRQ:
	case HV_STALL_SOFTIRQ:
		return by->cpu == call->cpu;
	case HV_STALL_EXITS:
		return by->cpu == call->cpu && hv_stall_same_task(by, call);
	case HV_STALL_LOCK:
		return hv_stall_same_task(by, call);
	default:
		return false;
	}
}

bool hv_stall_explains(const struct hv_stall *by, const struct hv_stall *s)
{
	switch (s->kind) {
	case HV_STALL_LOCK:
		return explains_lock(by, s);
	case HV_STALL_SECTION:
		return by->kind == HV_STALL_LOCK && by->cpu == s->cpu && hv_stall_same_task(by, s);
	case HV_STALL_IRQ:
		return by->kind == HV_STALL_SECTION && by->cpu == s->cpu;
	case HV_STALL_SOFTIRQ:
		return (by->kind == HV_STALL_SECTION || by->kind == HV_STALL_IRQ) &&
		       by->cpu == s->cpu;
	case HV_STALL_IO_DEVICE:
	case HV_STALL_IO_QUEUE:
		if (hv_stall_is_io(by))
			return hv_stall_is_guests_own(s) && !hv_stall_is_guests_own(by);
		return (by->kind == HV_STALL_SECTION || by->kind == HV_STALL_SOFTIRQ) &&
		       by->cpu == s->cpu;
	case HV_STALL_RUNQUEUE:
		return explains_wait(by, s);
	case HV_STALL_SYSCALL:
		return explains_syscall(by, s);
	case HV_STALL_FAULTS:
		return hv_stall_is_io(by);
	case HV_STALL_SLEEP:
		return hv_stall_is_io(by) ||
		       ((by->kind == HV_STALL_LOCK || hv_stall_is_series(by)) &&
			hv_stall_same_task(by, s));
	default:
		return false;
	}
}

uint64_t hv_stall_explained_ns(const struct hv_stall *by, const struct hv_stall *s)
{
	uint64_t overlap = hv_stall_overlap(by, s->from_ns, s->to_ns);

	return hv_stall_is_series(by) && by->length_ns < overlap ? by->length_ns : overlap;
}
