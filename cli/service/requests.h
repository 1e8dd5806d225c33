/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles the requests of a client: counts, detach, owner and mount here, the tree's files in
 * files.h. */
#pragma once

#include "cli/service/state.h"

void request_handle(struct service *s, struct peer *p, const struct wire_frame *frame);
