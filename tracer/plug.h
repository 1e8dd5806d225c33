/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plugs: makes a tracepoint of the guest call the probe of one of its events with a file of ours,
 * so that the probe's calls reach our stubs (arch/x86_64/event.S). What the kernel does when a
 * probe is the first one of a tracepoint is done from outside: the tracepoint's array of probes,
 * the count of its static key, and all places of the key. They belong together. One without the
 * others makes the guest's next own change of them end in a BUG.
 *
 * If the guest has probes there already, an array of ours has those, too. When the guest adds or
 * removes one of its own, its kernel copies our entry into an array of its own, and both get the
 * events. From then on only that entry is ours.
 *
 * Leaves to others: the calls of probes (event_calls.h), which events and when (event_tracer.h). */
#pragma once

#include "kernel/events/tracepoint_state.h"
#include "patcher/patcher.h"
#include "patcher/region.h"

struct hv_tracee;

#define HV_PLUG_PRIORITY 10u /* TRACEPOINT_DEFAULT_PRIO */

/* The arrays of probes in the region, which tracepoints of the guest get in place of their own: the
 * guest's probes, in their order, and behind them one of ours. The guest's kernel frees an array by
 * the struct rcu_head that it begins with. An array of ours has there instead where that of the
 * array is that it stands for: the stub of the release passes this on (arch/x86_64/event.S). What
 * the guest can reach is hostile: it is copied once, and bounded. */
#define HV_PLUG_PROBES_MAX 10u

struct hv_plug_array {
	uint64_t stands_for; /* of what array: its first probe; 0: of none */
	struct hv_tracepoint_probe probes[HV_PLUG_PROBES_MAX];
	size_t nr;
};

/* The address of the first probe of array INDEX. */
uint64_t hv_plug_array_funcs(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			     unsigned index);

enum hv_array_use { HV_ARRAY_UNUSED, HV_ARRAY_MAY_BE_USED };

/* FUNCS: the address of the first probe of an array of ours. EINVAL: it is none. */
struct hv_err *hv_plug_array_read(const struct hv_tracee *t,
				  const struct hv_tracepoint_layout *layout, uint64_t funcs,
				  struct hv_plug_array *ret) hv_must_use;

/* The event of a plug. Its file and its array of probes are those of that number in the region. */
struct hv_plug {
	const struct hv_event_type *type; /* borrowed */
	unsigned index;			  /* below HV_REGION_NR_EVENTS */
	enum hv_array_use array_use;
};

#define HV_PLUG_NR_PARTS 4u

struct hv_plug_changes {
	struct hv_change *list; /* owned, part behind part; one part is made before the next */
	size_t nr;
	size_t ends[HV_PLUG_NR_PARTS];
};
void hv_plug_changes_deinit(struct hv_plug_changes *c);

/* Why the event cannot be recorded, whatever its tracepoint is doing. NULL: it can. */
struct hv_err *hv_plug_check(const struct hv_kernel *k, const struct hv_tracepoint_layout *layout,
			     const struct hv_event_type *type) hv_must_use;

/* Fills the file in the region. The guest may still use it, as that of the same event: then it has
 * these bytes already, and nothing is written. */
void hv_plug_prepare(const struct hv_tracee *t, const struct hv_plug *plug);

/* Whether the stub records the stack behind each event of a plug that is prepared. */
enum hv_plug_stacks { HV_PLUG_NO_STACKS, HV_PLUG_STACKS };
void hv_plug_set_stacks(const struct hv_tracee *t, unsigned index, enum hv_plug_stacks stacks);

/* Makes the array in the region, and the changes that plug it in. If the guest has probes there,
 * the array has them, too. EBUSY: the guest uses the tracepoint in a way that cannot
 * be joined, or may still be using an array of the plug that has other probes; EINVAL: array, count
 * and places contradict each other. */
struct hv_err *hv_plug_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			    const struct hv_plug *plug, const struct hv_tracepoint_state *state,
			    struct hv_plug_changes *ret) hv_must_use;

/* The changes that take every probe of ours out of TP, whose STATE was read with the tracee's range
 * as ours: an array of ours, or those with a file of the region as their data. None if there is
 * none. It may have been plugged in only in part, by somebody who was killed. If an array of ours
 * has probes of the guest's, the guest gets back its own; if an array of the guest's has ours, that
 * becomes the kernel's function that does nothing. If the guest has none, the tracepoint is
 * switched off. Places of its static key get back the bytes that the patcher noted,
 * and those that came with a module meanwhile the bytes of the others. The array of probes comes
 * last: while anything of a tracepoint is ours, that is. If the guest's probes came and went, the
 * array is one of the guest's, which nobody frees. EINVAL: array and count contradict each other;
 * EUCLEAN: nobody knows what a place had. */
struct hv_err *hv_unplug_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			      const struct hv_tracepoint *tp,
			      const struct hv_tracepoint_state *state,
			      struct hv_plug_changes *ret) hv_must_use;

/* A tracepoint that something is plugged into, or taken out of. */
struct hv_plug_step {
	const struct hv_plug *plug; /* borrowed; NULL: everything of ours is taken out of TP */
	struct hv_tracepoint tp;
	struct hv_tracepoint_state state; /* owned, as the changes */
	struct hv_plug_changes changes;
	bool is_made;
	bool is_passing; /* why_not is about a change that the guest was just making */
	/* Owned. NULL: made, or planned. EBUSY: it can be tried again, from the plan on. */
	struct hv_err *why_not;
};
void hv_plug_steps_deinit(struct hv_plug_step *steps, size_t nr);

/* Reads the state of the step's tracepoint and plans its changes. It is planned outside of a hold,
 * and sets why_not. */
void hv_plug_step_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
		       struct hv_plug_step *step);

/* Carries out all that are planned, in one hold. Each is made as a whole or not at all, and if not,
 * why_not says why: the guest changed the tracepoint since the plan, or a vCPU is in a place. The
 * arrays and files of plugs are prepared. After a plug was taken out, the guest may use its memory
 * still (hv_plugs_check_unused). EBUSY: the guest is changing tracepoints or code just now. After
 * other errors it is not known what was made. */
struct hv_err *hv_plug_steps_make(struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
				  struct hv_plug_step *steps, size_t nr) hv_must_use;

/* Plans and carries out STEPS, in as few holds as possible, and again for some 40 ms what was
 * refused for a passing reason. Afterwards each was made, or why_not says why it was not.
 * *RET_SYSCALLS, also on error: one of them is of system calls, and tasks are to be looked at
 * (syscall_tasks.h). */
struct hv_err *hv_plug_steps_make_all(struct hv_tracee *t,
				      const struct hv_tracepoint_layout *layout,
				      struct hv_plug_step *steps, size_t nr,
				      bool *ret_syscalls) hv_must_use;

/* Why the first one of STEPS that was not made was not; NULL: all were. The caller owns it. */
struct hv_err *hv_plug_steps_take_error(struct hv_plug_step *steps, size_t nr) hv_must_use;

/* Finds the tracepoints of the kernel and of its modules that have a probe of ours, whoever plugged
 * it in: *RET, owned by the caller, has *RET_NR steps that take them out, not planned yet. */
struct hv_err *hv_plugs_find(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			     struct hv_plug_step **ret, size_t *ret_nr) hv_must_use;
/* Takes out what is found, until a second look finds nothing: the guest runs while it is looked
 * for, and what was missed would go on calling what is not there any more. *RET_NR, also on error:
 * tracepoints that were found. EBUSY: some were not taken out, or others come again and again. */
struct hv_err *hv_plugs_take_out(struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
				 size_t *ret_nr) hv_must_use;
/* *RET: E, an entry of an untrusted journal, says only what a place of a static key has while the
 * key is off, or that a static call called something. Neither is put back by entries: they tell
 * hv_unplug_plan() the bytes of the one, and that the other was changed. */
struct hv_err *hv_plugs_know_place(const struct hv_tracee *t, const struct hv_journal_entry *e,
				   bool *ret) hv_must_use;

struct hv_iterators;

/* In HOLD, after all plugs were taken out: nobody in the guest has the address of a file, an array
 * of probes or a draft in a register or on a stack any more, so no probe is on its way to our
 * stubs. WHICH, by index, HV_REGION_NR_EVENTS of them: only these plugs were taken out, and only
 * their files and arrays count; NULL: all were. SLEEPERS: whether a task can be switched out while
 * it calls probes. If not, what sleeping tasks have is left over from long ago. ITERATORS: nobody
 * is in one of these either; NULL: nobody can have an array of the guest's with a probe of ours.
 * EBUSY: somebody has or is, or what a vCPU is doing is not known; it can be tried again. */
enum hv_plug_sleepers { HV_PLUG_NO_SLEEPERS, HV_PLUG_SLEEPERS };
struct hv_err *hv_plugs_check_unused(struct hv_tracee *t, struct hv_hold *hold,
				     enum hv_plug_sleepers sleepers, const bool *which,
				     const struct hv_iterators *iterators) hv_must_use;
