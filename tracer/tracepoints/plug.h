/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plugs: connect a tracepoint of the guest to the callback of one of its events, with an event file
 * of hvtrace, so that the callback's calls reach the trampolines (arch/x86_64/event.S).
 *
 * When the kernel registers the first callback of a tracepoint, it changes three things: the
 * tracepoint's array of callbacks, the count of its static key, and all static branches of the key.
 * A plug makes the same changes from outside. It must make all of them: otherwise the guest's next
 * own change runs into a BUG.
 *
 * If the guest already has callbacks on the tracepoint, hvtrace installs an array that contains
 * them too. When the guest adds or removes a callback, its kernel copies our entry into a new guest
 * array, and both still receive the events. From then on hvtrace owns only that entry.
 *
 * event_calls.h redirects the calls of callbacks; event_tracer.h decides which events are on. */
#pragma once

#include <stddef.h>

#include "base/addr.h"
#include "kernel/events/tracepoint_state.h"
#include "patcher/patcher.h"

struct hv_kernel;
struct hv_tracee;

#define HV_PLUG_PRIORITY 10u /* TRACEPOINT_DEFAULT_PRIO */

/* Replacement arrays for struct tracepoint.funcs, in the region: the guest's callbacks in their
 * order, then ours.
 *
 * The guest's kernel frees an array through the rcu_head in front of it. Our array has no rcu_head;
 * it stores the address of the guest's original array there, and the release trampoline
 * (arch/x86_64/event.S) frees that one. Arrays in guest memory are untrusted: they are copied once,
 * and their length is bounded. */
#define HV_PLUG_CALLBACKS_MAX 10u

enum hv_array_use { HV_ARRAY_UNUSED, HV_ARRAY_MAY_BE_USED };

/* The event of a plug. INDEX selects its file and its callback array in the region. */
struct hv_plug {
	const struct hv_event_type *type; /* borrowed */
	unsigned index;			  /* below HV_REGION_NR_EVENTS */
	enum hv_array_use array_use;
};

#define HV_PLUG_NR_PARTS 4u

struct hv_plug_changes {
	struct hv_change *list; /* owned; each part is written completely before the next one */
	size_t nr;
	size_t ends[HV_PLUG_NR_PARTS];
};
void hv_plug_changes_deinit(struct hv_plug_changes *c);

/* Returns why the event can never be recorded, or NULL. Ignores the present state of its
 * tracepoint. */
struct hv_err *hv_plug_check(const struct hv_kernel *k, const struct hv_tracepoint_layout *layout,
			     const struct hv_event_type *type) hv_must_use;

/* Fills the file in the region. If the guest may still use the file for the same event, it already
 * has these bytes, and nothing is written. */
void hv_plug_prepare(const struct hv_tracee *t, const struct hv_plug *plug);

/* Sets whether the trampoline records a stack with each event of a prepared plug. */
enum hv_plug_stacks { HV_PLUG_NO_STACKS, HV_PLUG_STACKS };
void hv_plug_set_stacks(const struct hv_tracee *t, unsigned index, enum hv_plug_stacks stacks);

/* Builds the array in the region, including the guest's callbacks if there are any, and the changes
 * that plug it in.
 *
 * EBUSY: the guest uses the tracepoint in a way that cannot be shared, or may still use an array of
 * the plug that has other callbacks. EINVAL: array, count and branches contradict each other. */
struct hv_err *hv_plug_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			    const struct hv_plug *plug, const struct hv_tracepoint_state *state,
			    struct hv_plug_changes *ret) hv_must_use;

/* Plans the changes that remove all our callbacks from TP. STATE must have been read with the
 * tracee's range. A callback belongs to hvtrace if its array is in the region, or if its data is a
 * file of the region. The plan is empty without such callbacks. A process that was killed may have
 * left only part of a plug.
 *
 * A region array that contains guest callbacks is replaced by the guest's own array. In an array of
 * the guest, our callback becomes the kernel's function that does nothing. If no guest callback
 * remains, the tracepoint is switched off. Its static branches get the bytes that the patcher
 * noted; branches in modules loaded later get the bytes of other branches. The array is changed
 * last, so it still identifies a tracepoint with other changes. If the guest added and removed
 * callbacks, the array is one of the guest's and is never freed.
 *
 * EINVAL: array and count contradict each other. EUCLEAN: the nop of a branch is unknown. */
struct hv_err *hv_unplug_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			      const struct hv_tracepoint *tp,
			      const struct hv_tracepoint_state *state,
			      struct hv_plug_changes *ret) hv_must_use;

/* A plug or unplug operation on one tracepoint. */
struct hv_plug_step {
	const struct hv_plug *plug; /* borrowed; NULL: remove all our callbacks from TP */
	struct hv_tracepoint tp;
	struct hv_tracepoint_state state; /* owned, like `changes` */
	struct hv_plug_changes changes;
	bool is_made;
	bool is_passing; /* temporary: the guest was changing the tracepoint */
	/* Owned. NULL: made, or planned. EBUSY: plan it again and retry. */
	struct hv_err *why_not;
};
void hv_plug_steps_deinit(struct hv_plug_step *steps, size_t nr);

/* Reads the tracepoint of STEP and plans its changes, outside of a hold. Sets why_not. */
void hv_plug_step_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
		       struct hv_plug_step *step);

/* Carries out all planned steps in one hold. Each step is made completely or not at all. why_not
 * reports the reason if not: the guest changed the tracepoint since the plan, or a vCPU is in the
 * bytes to change. The arrays and files of plugs must be prepared. After an unplug the guest may
 * still use the plug's memory (hv_plugs_check_unused).
 *
 * EBUSY: the guest is changing tracepoints or code. After other errors it is unknown which steps
 * were made. */
struct hv_err *hv_plug_steps_make(struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
				  struct hv_plug_step *steps, size_t nr) hv_must_use;

/* Plans and carries out STEPS in as few holds as possible. Retries steps that fail for a temporary
 * reason for about 40 ms. Afterwards why_not is set in each step that was not made. *RET_SYSCALLS
 * is also set on error: a step concerns system calls, so call hv_syscall_tasks_set()
 * (event_tracer.h). */
struct hv_err *hv_plug_steps_make_all(struct hv_tracee *t,
				      const struct hv_tracepoint_layout *layout,
				      struct hv_plug_step *steps, size_t nr,
				      bool *ret_syscalls) hv_must_use;

/* Returns the error of the first step that was not made, or NULL. The caller owns it. */
struct hv_err *hv_plug_steps_take_error(struct hv_plug_step *steps, size_t nr) hv_must_use;

/* Finds all tracepoints of the kernel and its modules that have one of our callbacks, including
 * callbacks that another process of hvtrace plugged in. *RET, owned by the caller, has *RET_NR
 * steps that remove them; they are not planned yet. */
struct hv_err *hv_plugs_find(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			     struct hv_plug_step **ret, size_t *ret_nr) hv_must_use;
/* Finds and removes our callbacks until a search finds none. The guest runs during the search, and
 * a missed callback would call unmapped code later. *RET_NR is the number of tracepoints found,
 * also on error. EBUSY: some could not be removed, or new ones keep appearing. */
struct hv_err *hv_plugs_take_out(struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
				 size_t *ret_nr) hv_must_use;
/* Sets *RET to whether E, an entry of an untrusted journal, records only the nop of a static
 * branch, or the earlier target of a static call. Such entries are not used to restore bytes:
 * hv_unplug_plan() takes from them the branch's nop, or the fact that the call was changed. */
struct hv_err *hv_plugs_know_change(const struct hv_tracee *t, const struct hv_journal_entry *e,
				    bool *ret) hv_must_use;

/* The guest's functions that call all callbacks of a tracepoint in order from an array
 * (__traceiter_*). A task inside one may still use an array that the guest has replaced, until the
 * guest's RCU frees it.
 *
 * kernel/tasks/tasks.h finds these tasks. */
struct hv_iterators {
	struct hv_gva_range *list; /* owned, sorted */
	size_t nr;
};

/* Finds the iterators of the kernel and its modules. If a kernel has none, any code of the kernel
 * and its modules can call callbacks, with preemption disabled: *RET is all code, and a vCPU is
 * outside while it executes user code or its idle loop halts it. */
void hv_iterators_find(const struct hv_kernel *k, const struct hv_tracepoint_layout *layout,
		       struct hv_iterators *ret);
void hv_iterators_deinit(struct hv_iterators *i);

/* Checks in HOLD, after all plugs were removed, that no register or stack in the guest contains the
 * address of a file, a callback array or a draft, so no callback is on its way to our trampolines.
 *
 * WHICH: HV_REGION_NR_EVENTS flags that select the plugs to check, by index; NULL: all. SLEEPERS:
 * whether a task can be switched out while it calls callbacks; if not, addresses on the stacks of
 * sleeping tasks are stale and ignored. ITERATORS: additionally checks that no task executes one of
 * these functions; NULL if no array of the guest can contain our callbacks.
 *
 * EBUSY: an address or a task was found, or the state of a vCPU is unknown; retry later. */
enum hv_plug_sleepers { HV_PLUG_NO_SLEEPERS, HV_PLUG_SLEEPERS };
struct hv_err *hv_plugs_check_unused(struct hv_tracee *t, struct hv_hold *hold,
				     enum hv_plug_sleepers sleepers, const bool *which,
				     const struct hv_iterators *iterators) hv_must_use;
