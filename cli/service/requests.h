/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles a client's requests: stat, detach, owner and mount here, files of the tree in files.h. */
#pragma once

#include "cli/service/state.h"

void request_handle(struct service *s, struct peer *p, const struct wire_frame *frame);
