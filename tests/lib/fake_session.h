/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session without a guest, for tests of the tree. It implements the parts of a session, and the
 * functions of kernel.h that the tree uses, with lists that the test fills. Link it instead of
 * tracer/; only the names of tasks use the real code. */
#pragma once

#include "kernel/kernel.h"
#include "tracer/events/clocks.h"
#include "tracer/events/event.h"
#include "tracer/graph/call_counts.h"
#include "tracer/graph/graph_tracer.h"
#include "tracer/guest/actions.h"
#include "tracer/guest/scope.h"
#include "tracer/sections/section_tracer.h"
#include "tracer/session.h"
#include "tracer/sites/site_trampolines.h"

struct hv_session *hv_fake_new(void);
void hv_fake_free(struct hv_session *s);

/* Adds a site. Copies NAME and MODULE (may be NULL). A site is also a symbol that extends to the
 * next one. */
void hv_fake_site(struct hv_session *s, uint64_t ip, const char *name, const char *module,
		  unsigned invalid);
void hv_fake_event(struct hv_session *s, const struct hv_event *e);
/* Adds a type of the guest's own events with one field. REG 0: the event cannot be enabled. Without
 * types, reading the catalogue fails. */
void hv_fake_event_type(struct hv_session *s, const char *system, const char *name, uint32_t id,
			uint64_t reg);
/* Adds the two types of a system call: ID for its sys_enter, ID + 1 for its sys_exit. The first
 * call also adds raw_syscalls:* with IDs 20 and 21. The strings are copied. The prefix of an
 * argument defines what the event records:
 *
 *   - `*`: 16 bytes of the memory that the argument points to
 *   - `#`: the argument is the length of that memory
 *   - `**`: like `*`, but the kernel marks the next argument as the pointer */
void hv_fake_syscall(struct hv_session *s, uint32_t id, int32_t nr, const char *name,
		     char *const *args, unsigned nr_args);
/* From now on callbacks of raw_syscalls:* may sleep. */
void hv_fake_syscalls_sleep(struct hv_session *s);
void hv_fake_forget_event_types(struct hv_session *s);
/* Adds a string of printk_formats (copied); at most four. */
void hv_fake_print_string(struct hv_session *s, uint64_t at, const char *string);
/* Sets the number of events that were overwritten. */
void hv_fake_overrun(struct hv_session *s, uint64_t nr);
/* Names a task. TGID 0: unknown. */
void hv_fake_comm(struct hv_session *s, uint32_t pid, uint32_t tgid, const char *comm);
/* The task PID creates CHILD. */
void hv_fake_fork(struct hv_session *s, uint32_t pid, uint32_t child);
void hv_fake_cpus(struct hv_session *s, unsigned nr);
/* The host reports steal time to the kernel. */
void hv_fake_steal_time(struct hv_session *s);
/* The kernel has PREEMPT_RT's own lazy preemption. */
void hv_fake_lazy(struct hv_session *s);
/* Gives the kernel the BTF of fake_btf.c. */
void hv_fake_types(struct hv_session *s);
/* Returns that BTF. The caller owns it. */
struct hv_btf *hv_fake_btf(void);
/* Gives the kernel that BTF, and marks it as one whose own probes support typecasts. */
void hv_fake_casts(struct hv_session *s);
struct hv_btf *hv_fake_btf_with_casts(void);
void hv_fake_host_clock(struct hv_session *s);
/* Makes the guest's clock unstable, as it may become at any time. */
void hv_fake_unstable_clock(struct hv_session *s);
void hv_fake_clock(struct hv_session *s, enum hv_clock_kind clock);
/* Adds calls of a site on CPU if the profile counts them at this time. */
void hv_fake_count(struct hv_session *s, unsigned cpu, const struct hv_profile_count *count);
/* Makes the next change of the guest fail with CODE. ENOTRECOVERABLE: with HV_ERR_NEEDS_RECOVERY
 * set. */
void hv_fake_fail(struct hv_session *s, int code);
/* The guest has taken a site. */
void hv_fake_take(struct hv_session *s);
/* Returns the error that the next change must have, or NULL. Sets *FAIL to 0. */
struct hv_err *fake_change(int *fail);

/* Makes SECTION the longest section, or none if NULL. Takes the caller's reference. */
void hv_fake_section(struct hv_session *s, struct hv_section *section);
/* Adds the types that the wakeup tracers need. Their fields are 8 bytes each:
 *
 *    sched_wakeup (310), sched_wakeup_new (311): pid prio target_cpu comm (16 bytes)
 *    sched_switch (312): prev_pid prev_prio prev_state next_pid next_prio next_comm (16 bytes)
 *    sched_migrate_task (313): pid dest_cpu */
void hv_fake_scheduler(struct hv_session *s);
/* Adds the types that the option event-fork needs, with fields of 8 bytes:
 *
 *    sched_process_fork (320): parent_pid child_pid
 *    sched_process_free (321): pid */
void hv_fake_event_forks(struct hv_session *s);
/* Adds the type that the option userstacktrace needs: ftrace:user_stack (12), with tgid at 8 and eight
 * callers from 16 on. Process 7 has these mappings with code:
 *
 *    401000 - 403000  /bin/frames		7000000000 - 7000001000  the vdso
 *    403000 - 404000  /lib/a<newline>b.so (deleted) */
void hv_fake_user_stacks(struct hv_session *s);
/* Returns whether calls in sections are recorded. */
bool hv_fake_logs(const struct hv_session *s);

/* Simulates a function command that switches recording in the guest. */
void hv_fake_switch(struct hv_session *s, unsigned on);

/* A livepatch waits until hvtrace restores the frames that a graph left open. */
void hv_fake_livepatch(struct hv_session *s);

/* Return the settings that the guest received. */
unsigned hv_fake_recording(const struct hv_session *s);
unsigned hv_fake_paused(const struct hv_session *s);
/* Returns the recorded events of the guest, each as " SYSTEM:EVENT" and its features. */
const char *hv_fake_events_on(const struct hv_session *s);
const struct hv_graph_options *hv_fake_graph(const struct hv_session *s);
const uint32_t *hv_fake_pids(const struct hv_session *s, size_t *ret_nr);
const uint32_t *hv_fake_not_pids(const struct hv_session *s, size_t *ret_nr);
/* Returns HV_FAKE_NR_CPUS bytes, one per vCPU. */
const uint8_t *hv_fake_muted(const struct hv_session *s);
enum hv_forks hv_fake_forks(const struct hv_session *s);
const struct hv_site_actions *hv_fake_actions(const struct hv_session *s, size_t *ret_nr);
