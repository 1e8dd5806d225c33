/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dispatches a client's requests. Handles stat, detach, owner and mount itself; files.h handles the
 * files of the tree. */
#pragma once

#include "cli/service/state.h"

void request_handle(struct service *s, struct peer *p, const struct wire_frame *frame);
