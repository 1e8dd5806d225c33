/* What each request of a client does: tree operations, counts, detach. */
#pragma once

#include "cli/serve.h"

void request_handle(struct service *s, struct peer *p, const struct wire_frame *frame);
/* Tries a waiting read again; answers when there is something or its time is over. */
void request_retry_read(struct service *s, struct peer *p, uint64_t now_ns);
/* As close(2) of everything PEER has open. */
void request_close_all(struct service *s, struct peer *p);
