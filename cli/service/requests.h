/* What each request of a client does: counts, detach; files.h: the tree's files. */
#pragma once

#include "cli/service/state.h"

void request_handle(struct service *s, struct peer *p, const struct wire_frame *frame);
