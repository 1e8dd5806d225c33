/* One guest being traced: the kernel, the changes in it, the rings, and the state that tracefs files
 * show and set. What attach makes and detach takes away.
 * Leaves to others: names and texts of files (tree.h), processes and sockets (cli/). One thread. */
#pragma once

#include "kernel/kernel.h"
#include "tracer/event.h"

struct hv_session;

struct hv_session_stat {
	size_t nr_sites;	 /* traceable */
	size_t nr_patched;	 /* now */
	size_t nr_refused;	 /* of the current filter: busy, invalid or changed by the guest */
	uint64_t nr_events;	 /* records read or passed by a clear, since attach */
	uint64_t nr_lost;
	uint64_t nr_holds;
	uint64_t hold_last_ns;
	uint64_t hold_max_ns;
	uint64_t region_bytes;
	uint64_t ring_bytes;	 /* of all vCPUs */
};

/* Maps the region into the guest. GUEST and KERNEL must outlive the session. Errors leave every byte as it was. */
struct hv_err *hv_session_attach(struct hv_guest *guest, struct hv_kernel *kernel,
				 struct hv_session **ret) hv_must_use;
/* Takes every change back, flushes, unmaps, compares. EBUSY: a task may still return into a stub
 * (said which); sites are restored, the session stays and detach can be tried again. */
struct hv_err *hv_session_detach(struct hv_session *s) hv_must_use;
/* Frees the host side only; a session that is still attached leaves its journal for recover. */
void hv_session_free(struct hv_session *s);
/* Puts back what a dead service left: journal in REGION. *RET_NR: bytes runs restored. */
struct hv_err *hv_session_recover(struct hv_guest *guest, size_t *ret_nr) hv_must_use;

const struct hv_kernel *hv_session_kernel(const struct hv_session *s);
void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret);
/* ECONNRESET when the guest was rebooted or replaced under us. Cheap; ask often. */
struct hv_err *hv_session_alive(struct hv_session *s) hv_must_use;

/* Which sites are traced: WANTED has one byte a site of kernel->sites, 0 or 1. Changes only what
 * differs; on error every byte is as before. */
struct hv_err *hv_session_trace_sites(struct hv_session *s, const uint8_t *wanted) hv_must_use;
/* PIDS: NR ascending; NR 0 with FILTER_ALL... see HV_MODE_PID_FILTER. NULL: no pid filter. */
struct hv_err *hv_session_filter_pids(struct hv_session *s, const uint32_t *pids, size_t nr) hv_must_use;
void hv_session_set_recording(struct hv_session *s, unsigned on);

/* Events in time order, from the rings. A cursor has its own position in every ring. */
struct hv_cursor;
struct hv_cursor *hv_cursor_new(struct hv_session *s); /* at the oldest record not yet consumed */
void hv_cursor_free(struct hv_cursor *c);
enum hv_next {
	HV_NEXT_EMPTY,
	HV_NEXT_EVENT,
};
/* FINAL != 0: nothing newer is waited for to sort (a dump); 0: events younger than the sort window are held back. */
enum hv_next hv_cursor_next(struct hv_cursor *c, unsigned final, struct hv_event *ret);
/* Makes the session's consumed position the cursor's (trace_pipe). */
void hv_cursor_consume(struct hv_cursor *c);
void hv_session_clear(struct hv_session *s); /* `> trace` */
/* comm of a pid as recorded or as the guest's task list has it; NULL: unknown. 16 bytes, hostile. */
const char *hv_session_comm(struct hv_session *s, uint32_t pid);
/* Entries that a `trace` header counts. */
void hv_session_entries(struct hv_session *s, uint64_t *ret_in_buffer, uint64_t *ret_written);
