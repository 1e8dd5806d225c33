/* One guest being traced: the kernel, the changes in it, the rings, and what the tracefs files set.
 * What attach makes and detach takes away.
 * Leaves to others: names and texts of files (tree.h), processes and sockets (cli/). One thread. */
#pragma once

#include "base/text.h"
#include "kernel/clock.h"
#include "kernel/kernel.h"
#include "tracer/buffer.h"
#include "tracer/event.h"

struct hv_session;

struct hv_session_stat {
	size_t nr_sites;    /* traceable */
	size_t nr_patched;  /* now */
	size_t nr_refused;  /* of the sites last asked for: in use by the guest, or changed by it */
	uint64_t nr_events; /* records ever reserved by the stubs since attach, task records
			       included */
	uint64_t nr_lost;   /* overwritten before a trace_pipe read them, or torn */
	uint64_t nr_no_stack; /* calls a graph missed: more kernel stacks in traced calls at once
				 than return stacks */
	uint64_t nr_no_room;  /* calls a graph missed: too deep a stack */
	uint64_t nr_no_count; /* calls a profile missed: more functions than counts of a vCPU */
	uint64_t nr_holds;
	uint64_t hold_last_ns;
	uint64_t hold_max_ns;
	uint64_t region_bytes;
	uint64_t ring_bytes; /* of all vCPUs */
	unsigned nr_cpus;
};

/* Maps the region into the guest. GUEST and KERNEL are borrowed and must outlive the session.
 * Errors leave every byte as it was, but those with HV_ERR_NEEDS_RECOVERY. EEXIST, with that fact:
 * the region holds changes of a service that died. */
struct hv_err *hv_session_attach(struct hv_guest *guest, struct hv_kernel *kernel,
				 struct hv_session **ret) hv_must_use;

/* Takes every change back, flushes translations, unmaps, compares the kernel's text with what it
 * was, clears the region. REPORT gets one or more lines of what was proven, differences that are
 * the guest's own among them. EBUSY: a task may still return into a stub (the message says which);
 * sites are restored, the session stays, and detach can be tried again. */
struct hv_err *hv_session_detach(struct hv_session *s, struct hv_text *report) hv_must_use;

/* Frees the host side only; a session that is still attached leaves its journal for recover. */
void hv_session_free(struct hv_session *s);

/* Puts back what a dead service left, by the journal in the region: only what is plainly ours.
 * REPORT and EBUSY as for detach. *RET_FOUND false: nobody left anything. */
struct hv_err *hv_session_recover(struct hv_guest *guest, struct hv_kernel *kernel,
				  struct hv_text *report, bool *ret_found) hv_must_use;

/* The region held the journal of an earlier boot of the guest, which attach discarded. */
bool hv_session_found_stale(const struct hv_session *s);

struct hv_kernel *hv_session_kernel(struct hv_session *s);
void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret);

/* ECONNRESET when the guest was rebooted under us: nothing may be written into it any more. Cheap;
 * ask every 100 ms or so. Other errors: its tables could not be read. */
struct hv_err *hv_session_alive(struct hv_session *s) hv_must_use;

/* Looks whether modules came or went, and reads them and the sites anew if so, and whether the
 * guest stands where it frees its init code (hv_guest_stop_fd), whose sites go then: 1, and
 * everything taken from kernel->sites is stale. 0: nothing changed, or the guest's lists could not
 * be read now. */
unsigned hv_session_refresh(struct hv_session *s);

/* What a site calls. The kinds of a graph differ in what their own call means for the calls that
 * it makes; graph options say which calls are recorded. */
enum hv_stub {
	HV_STUB_NONE = 0,
	HV_STUB_FUNCTION = 1,
	HV_STUB_FUNCTION_STACK, /* likewise, and who called it; needs hv_session_can_unwind */
	HV_STUB_GRAPH,		/* call and return */
	HV_STUB_GRAPH_ROOT,	/* likewise, and with HV_GRAPH_SUBTREE what it calls is recorded:
				   a function of set_graph_function */
	HV_STUB_GRAPH_NOTRACE,	/* neither it nor what it calls: a function of set_graph_notrace */
	HV_STUB_ACTIONS,	/* nothing but actions; never wanted */
	/* With any of the others: calls are counted and timed, too (hv_session_set_profile). */
	HV_STUB_PROFILED = 0x80,
};

/* Which sites are traced: WANTED has one byte a site of kernel->sites, enum hv_stub; of a graph and
 * of functions at a time, not both. Changes only what differs; on error every byte is as before.
 * Sites that cannot be traced are counted as refused. With a graph or a profile, sites may be
 * changed that nobody asked for (where a new task begins, where tasks leave the CPU and come back);
 * hv_session_patched does not show it. EOPNOTSUPP, EBUSY for a graph or a profile: this kernel
 * cannot be traced so, or not now (a livepatch is in transition), with the reason. */
struct hv_err *hv_session_trace_sites(struct hv_session *s, const uint8_t *wanted) hv_must_use;
/* EBUSY: a livepatch is in transition, and a graph or what it left open keeps the guest from
 * reading its stacks. NULL: none waits. Ask each second or so. */
struct hv_err *hv_session_livepatch(struct hv_session *s) hv_must_use;
/* Return stacks of a graph whose kernel stack is not mapped any more (its task died in traced
 * functions) are given free, in a hold, once they are many. Ask each second or so. */
void hv_session_sweep(struct hv_session *s);
/* Tries once to put back the return addresses that a graph which has ended left open. */
void hv_session_put_back(struct hv_session *s);
/* What of a graph is recorded; may be set at any time, and is kept while no graph is traced.
 * HV_GRAPH_SUBTREE without any site that is HV_STUB_GRAPH_ROOT records nothing. */
struct hv_graph_options {
	unsigned flags;	   /* HV_GRAPH_SUBTREE, HV_GRAPH_RETVAL, HV_GRAPH_NO_IRQS, HV_GRAPH_OWN_TIME
			      (ringbuf/abi.h) */
	unsigned no_sleep; /* not 0: times are without what a task was off the CPU for. Obeyed from
			      the next hv_session_trace_sites on */
	unsigned max_depth; /* frames recorded of a stack; 0: no limit */
	uint64_t thresh_ns; /* not 0: only returns are recorded, of calls that took as long */
};
void hv_session_graph_options(struct hv_session *s, const struct hv_graph_options *options);
/* The function profile: while it is on, what calls of sites that are HV_STUB_PROFILED come to is
 * counted in the guest, for each vCPU; nothing is lost but what hv_session_stat tells. */
void hv_session_set_profile(struct hv_session *s, unsigned on);
void hv_session_clear_profile(struct hv_session *s);
struct hv_profile_count {
	size_t site;	     /* of kernel->sites */
	uint64_t hits;	     /* at least 1 */
	uint64_t time_ns;    /* of the calls that returned */
	uint64_t spread_ns2; /* the variance of their times, in 1000 ns^2 */
};
/* What there is of CPU: *RET is the caller's, with one for each function that is a site now, in the
 * order of sites. Returns their number. */
size_t hv_session_profile(struct hv_session *s, unsigned cpu, struct hv_profile_count **ret);

/* What a call of a function does, just before it is recorded itself. A counted action is done LEFT
 * times at most, and counted when it changes something; none is done when LEFT is 0 or less. */
enum hv_action {
	HV_ACTION_ON,
	HV_ACTION_OFF,
	HV_ACTION_ON_COUNTED,
	HV_ACTION_OFF_COUNTED,
	HV_ACTION_STACK, /* who called is recorded; needs hv_session_can_unwind */
	HV_ACTION_STACK_COUNTED,
	HV_ACTION_TELL, /* the host obeys: an HV_EVENT_COMMAND for the drain, recording or not */
	HV_ACTION_TELL_COUNTED,
	HV_NR_ACTIONS
};
struct hv_site_actions {
	uint64_t ip;
	unsigned bits; /* bit N: enum hv_action N */
	int64_t left[HV_NR_ACTIONS];
};
/* Functions that can have a counted action at a time. */
#define HV_ACTIONS_COUNTED_MAX 60
/* From the next hv_session_trace_sites on, for all sites; LIST (copied) is ascending by ip, no two
 * alike. What is counted and was there already goes on from where it is. ENOSPC: too many that are
 * counted. */
struct hv_err *hv_session_set_actions(struct hv_session *s, const struct hv_site_actions *list,
				      size_t nr) hv_must_use;
/* What is left of a counted action; NOT_SET where the function has none. */
int64_t hv_session_action_left(const struct hv_session *s, uint64_t ip, enum hv_action action,
			       int64_t not_set);

/* Whether this kernel's stacks can be read. EOPNOTSUPP with the reason. */
struct hv_err *hv_session_can_unwind(struct hv_session *s) hv_must_use;

/* Only the pids of ONLY (NR_ONLY 0: all), without those of NOT; both ascending. A pid beyond what a
 * kernel can have is nobody's. */
struct hv_err *hv_session_filter_pids(struct hv_session *s, const uint32_t *only, size_t nr_only,
				      const uint32_t * not, size_t nr_not) hv_must_use;
/* Whether a task that another one makes is recorded as that one, and what becomes of pids whose
 * task has ended: nobody's of those that are recorded alone, everybody's of those that are not.
 * From the next hv_session_trace_sites on. EOPNOTSUPP: the kernel does not say. */
enum hv_forks { HV_FORKS_NOT, HV_FORKS_OF_ONLY, HV_FORKS_OF_OTHERS };
struct hv_err *hv_session_follow_forks(struct hv_session *s, enum hv_forks how) hv_must_use;
/* The pids that are recorded, or those that are not, as the guest has them now, ascending; at most
 * HV_SESSION_PIDS_MAX of them. RET is the caller's to free. */
enum hv_pid_kind { HV_PIDS_RECORDED, HV_PIDS_NOT_RECORDED };
#define HV_SESSION_PIDS_MAX 65536
size_t hv_session_pids(const struct hv_session *s, enum hv_pid_kind kind, uint32_t **ret);

/* Nothing is recorded on the vCPUs for which MUTED has not 0, a byte each; NULL: on all it is. */
void hv_session_mute_cpus(struct hv_session *s, const uint8_t *muted);
void hv_session_set_recording(struct hv_session *s, unsigned on);
/* As set, or as the guest did it by an action. */
unsigned hv_session_recording(const struct hv_session *s);
/* One byte a site of kernel->sites: the stub it calls now, enum hv_stub. Borrowed, until the next
 * change. */
const uint8_t *hv_session_patched(const struct hv_session *s);

enum hv_clock_kind hv_session_guest_clock(const struct hv_session *s);
/* Whether events can have the host's time: it is known how the guest's counter follows the host's.
 */
bool hv_session_has_host_clock(const struct hv_session *s);
void hv_session_refresh_clock(struct hv_session *s); /* each second or so */
/* What the guest reads from CLOCK at this moment: what stamps a line that the host itself adds.
 * Never ahead of what the guest's next event will have, but by a moment in which the guest stood;
 * behind by what kernel/now.h says. False: it cannot be told. */
bool hv_session_now_ns(struct hv_session *s, enum hv_trace_clock clock, uint64_t *ret);

/* comm of a pid, as recorded or as the guest's task list has it: 16 bytes, hostile; NULL: unknown.
 */
const char *hv_session_comm(struct hv_session *s, uint32_t pid);
/* The INDEXth pid whose comm is known. False: there are no more (saved_cmdlines). */
bool hv_session_comm_at(struct hv_session *s, size_t index, uint32_t *ret_pid,
			const char **ret_comm);
/* The thread group of a pid, as recorded; 0: unknown. */
uint32_t hv_session_tgid(const struct hv_session *s, uint32_t pid);
/* How many are kept, 1 .. HV_COMMS_MAX (comms.h). */
size_t hv_session_comms_max(const struct hv_session *s);
void hv_session_keep_comms(struct hv_session *s, size_t nr_max);
/* Whether names and thread groups of tasks are taken note of; at first they are. */
void hv_session_note_comms(struct hv_session *s, unsigned on);
