/* A graph's side of a session: whether this kernel can be traced so, its start and end, options.
 * For sites.c and detach.c. */
#pragma once

#include "tracer/session_state.h"

/* Before any site calls a stub of a graph. Frames that an earlier graph left open are put back, if
 * that can be done now. EOPNOTSUPP, EBUSY with the reason. */
struct hv_err *hv_graph_start(struct hv_session *s) hv_must_use;
/* After the last site has been restored: what returns from now on is not recorded. */
void hv_graph_stop(struct hv_session *s);

/* The first function that a new task calls, as an index into kernel->sites; SIZE_MAX: none. */
size_t hv_graph_new_task_site(const struct hv_session *s);

/* Where the stub of a site begins. STUB is not HV_STUB_NONE, or the site is the new task's. */
struct hv_gva hv_graph_stub_at(const struct hv_session *s, unsigned stub, bool is_new_task);
/* The stub that begins at AT: enum hv_stub. */
unsigned hv_graph_stub_of(const struct hv_session *s, struct hv_gva at);
