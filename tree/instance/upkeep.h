/* What is to be done for instances each second or so, and when the guest has changed by itself.
 * Nobody has asked for these changes, so nobody is told of an error; they are tried again with the
 * next change. */
#pragma once

#include "tree/instance/instance.h"

/* Takes note of modules that came or went: words that waited for them become functions, and what is
 * traced is published again, so that without a filter a new module's functions are traced, too. */
void hv_instances_refresh(struct hv_instances *all);
/* Functions are not called any more for commands whose counts are used up. */
void hv_instances_retire(struct hv_instances *all);
/* Ends graph and profile when a livepatch waits for them. EBUSY: it waits still, until the return
 * addresses of calls that have not returned are put back. */
struct hv_err *hv_instances_step_aside(struct hv_instances *all) hv_must_use;
