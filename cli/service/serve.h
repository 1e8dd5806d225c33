/* The service's loop: answers clients until the session is detached, the guest ends, or a signal
 * asks it to go.
 * Leaves to others: becoming a service and attaching (service.h), single requests (requests.h). */
#pragma once

#include "cli/service/state.h"

/* Runs until SERVE_DONE, and then ending_finish(). */
void serve(struct service *s);
