/* Sites that do more than being recorded: which entry of the stubs they call, and what its slot
 * says (ringbuf/abi.h). For sites.c. One pass of sites.c is hv_actions_begin, hv_actions_stub for
 * each site that has one, the changes, hv_actions_end. Leaves to others: which functions have which
 * actions (hv_session_set_actions). */
#pragma once

#include "tracer/session_state.h"

void hv_actions_begin(struct hv_session *s);
/* False: nothing happens at IP. Else *RET is what its site is to call so as to go on to GOES_ON (0:
 * to nothing). ENOSPC: no slot is free. */
struct hv_err *hv_actions_stub(struct hv_session *s, uint64_t ip, struct hv_gva goes_on,
			       bool *ret_has, struct hv_gva *ret) hv_must_use;
/* DONE: the sites are as planned, and what was before is not called any more; else the other way
 * round. */
void hv_actions_end(struct hv_session *s, bool done);

/* Whether the function at IP has actions that somebody asked for. */
bool hv_actions_has(const struct hv_session *s, uint64_t ip);

/* What an entry at AT goes on to; false: AT is none. */
bool hv_actions_goes_on(const struct hv_session *s, struct hv_gva at, struct hv_gva *ret);
