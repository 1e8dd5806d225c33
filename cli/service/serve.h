/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop of the service: handles clients until the session is detached, the guest ends, or a
 * signal asks the service to end.
 * Leaves to others: becoming a service and attaching (service.h), single requests (requests.h). */
#pragma once

#include "cli/service/state.h"

/* Returns after SERVE_DONE and ending_finish(). */
void serve(struct service *s);
