/* A session with no guest behind it, for tests of the tree: the parts of a session and the symbols
 * of kernel.h that the tree uses, over lists that the test fills. Linked instead of tracer/, but
 * for the names of tasks, which are the real ones. */
#pragma once

#include "kernel/kernel.h"
#include "tracer/actions.h"
#include "tracer/call_counts.h"
#include "tracer/events/clocks.h"
#include "tracer/events/event.h"
#include "tracer/graph_tracer.h"
#include "tracer/scope.h"
#include "tracer/session.h"
#include "tracer/site_stubs.h"

struct hv_session *hv_fake_new(void);
void hv_fake_free(struct hv_session *s);

/* NAME and MODULE (may be NULL) are copied. A site is a symbol too, until the next. */
void hv_fake_site(struct hv_session *s, uint64_t ip, const char *name, const char *module,
		  unsigned invalid);
void hv_fake_event(struct hv_session *s, const struct hv_event *e);
/* Events that were overwritten. */
void hv_fake_overrun(struct hv_session *s, uint64_t nr);
/* TGID 0: unknown. */
void hv_fake_comm(struct hv_session *s, uint32_t pid, uint32_t tgid, const char *comm);
/* The task PID makes CHILD. */
void hv_fake_fork(struct hv_session *s, uint32_t pid, uint32_t child);
void hv_fake_cpus(struct hv_session *s, unsigned nr);
/* The kernel has PREEMPT_RT's own lazy preemption. */
void hv_fake_lazy(struct hv_session *s);
/* The host's clock can be chosen. */
void hv_fake_host_clock(struct hv_session *s);
void hv_fake_clock(struct hv_session *s, enum hv_clock_kind clock);
/* Calls on CPU of a site, if the profile counts them now. */
void hv_fake_count(struct hv_session *s, unsigned cpu, const struct hv_profile_count *count);
/* The next change of the guest fails with CODE. */
void hv_fake_fail(struct hv_session *s, int code);

/* One waits until what a graph left open is put back. */
void hv_fake_livepatch(struct hv_session *s);

/* What the guest was made to be. */
unsigned hv_fake_recording(const struct hv_session *s);
const struct hv_graph_options *hv_fake_graph(const struct hv_session *s);
const uint32_t *hv_fake_pids(const struct hv_session *s, size_t *ret_nr);
const uint32_t *hv_fake_not_pids(const struct hv_session *s, size_t *ret_nr);
/* A byte each of 16 vCPUs. */
const uint8_t *hv_fake_muted(const struct hv_session *s);
enum hv_forks hv_fake_forks(const struct hv_session *s);
const struct hv_site_actions *hv_fake_actions(const struct hv_session *s, size_t *ret_nr);
