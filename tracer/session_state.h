/* What a session is made of; for the files that implement session.h only. */
#pragma once

#include "base/clock.h"
#include "patcher/mapping.h"
#include "tracer/events/decoder.h"
#include "tracer/session.h"
#include "tracer/tracee.h"

struct hv_session {
	struct hv_tracee *tracee;
	struct hv_clock *clock; /* the guest's; owned by clocks */
	struct hv_clocks *clocks;
	struct hv_names *names;
	struct hv_callers *callers;
	struct hv_decoder *decoder;
	struct hv_buffer *buffer; /* over the region's rings */
	uint64_t modules_signature;
	struct hv_site_actions *actions; /* owned, ascending by ip */
	size_t nr_actions;
	enum hv_forks forks;
	uint64_t fork_ip; /* the functions that tell of them */
	uint64_t end_ip;
	struct hv_action_slot {
		uint64_t ip; /* 0: of any function that does the same */
		unsigned bits;
		uint32_t goes_on;    /* as in the slot itself */
		unsigned stands : 1; /* sites call it */
		unsigned wanted : 1; /* sites are being made to call it */
	} slots[HV_NR_SLOTS];
	uint8_t *patched; /* owned, one a site of kernel->sites */
	size_t nr_refused;
	uint32_t looks;	       /* of the guest's ftrace at sites, that were noticed */
	uint64_t looked_ns;    /* when that was; 0: never */
	uint64_t look_told_ns; /* and when it was last told of */
	struct hv_graph_options graph;
	bool frames_on;	 /* sites may call stubs that raise frames */
	bool graph_on;	 /* returns are recorded */
	bool profile_on; /* calls are counted */
	bool stale;	 /* the region held an earlier boot's journal */
};

/* What a call of the function at IP does to the pid bitmap: HV_SLOT_PID_*. */
unsigned hv_session_task_bits(const struct hv_session *s, uint64_t ip);

/* EBUSY when a site that the kernel knows of calls the range: it must not be unmapped. */
struct hv_err *hv_session_check_calls(struct hv_session *s) hv_must_use;

/* Every site's bytes and the page-table slots back, translations flushed, text compared, region
 * cleared: what detach and recover share. */
struct hv_err *hv_session_restore(struct hv_session *s, struct hv_text *report) hv_must_use;

/* Whose journal is in a region. */
enum hv_region_use {
	HV_REGION_UNUSED,
	HV_REGION_STALE, /* of another boot of the guest: nothing of it can be in memory now */
	HV_REGION_LIVE,	 /* changes may stand in the guest */
};

/* RET: a checked copy of the region's header, valid when the use is not HV_REGION_UNUSED. */
struct hv_err *hv_region_use(const struct hv_kernel *k, const struct hv_region *region,
			     struct hv_region_header *ret, enum hv_region_use *ret_use) hv_must_use;

/* EUCLEAN when a slot of the guest's page tables leads into the region: clearing it is right only
 * when none does. The guest's root can wipe a journal, or entries of it, that are still needed, and
 * sites may call what would be cleared. */
struct hv_err *hv_region_check_not_mapped(const struct hv_kernel *k,
					  const struct hv_region *region) hv_must_use;

/* A session with all its parts, and nothing in the guest yet. Range and handler of the tracee are
 * the caller's to set. */
struct hv_err *hv_session_new(struct hv_guest *guest, struct hv_kernel *kernel,
			      struct hv_session **ret) hv_must_use;
