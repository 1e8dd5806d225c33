/* A graph's side of a session: whether this kernel can be traced so, its start and end, options.
 * For sites.c and detach.c. */
#pragma once

#include "tracer/session_state.h"

/* Before any site calls a stub that raises frames. Those that an earlier graph left open are put
 * back, if that can be done now. EOPNOTSUPP, EBUSY with the reason. */
struct hv_err *hv_graph_start(struct hv_session *s) hv_must_use;
/* After the last such site has been restored. */
void hv_graph_stop(struct hv_session *s);
/* Whether returns are recorded from now on. */
void hv_graph_record(struct hv_session *s, bool on);

/* The sites whose calls mean something to return stacks, as indices into kernel->sites; SIZE_MAX:
 * none is needed. */
struct hv_graph_roles {
	size_t sites[HV_NR_ROLES];
};
/* EOPNOTSUPP: the kernel has none that tells what is needed. */
struct hv_err *hv_graph_find_roles(const struct hv_session *s,
				   struct hv_graph_roles *ret) hv_must_use;
enum hv_call_role hv_graph_role(const struct hv_graph_roles *roles, size_t site);
