/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The derived facts of a session (kernel/types/kept_facts.h) in its run directory, for its recovery.
 * The service derives them from the guest and sends them to the broker before it changes anything.
 * They are untrusted, so the broker does not read them: it only limits their length, and gives them
 * to the unprivileged process that recovers. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

#define KEPT_FACTS_BYTES_MAX (256u << 10)

struct hv_message;

struct kept_facts {
	uint8_t *bytes; /* owned; NULL: none */
	size_t len_bytes;
};

void kept_facts_deinit(struct kept_facts *f);
/* Writes them to FILE, which appears when it is complete. */
struct hv_err *kept_facts_store(const struct kept_facts *f, const char *file) hv_must_use;
/* Reads FILE. Leaves F empty if there is no such file. */
struct hv_err *kept_facts_load(struct kept_facts *f, const char *file) hv_must_use;

/* Both ends of a message with facts, whose kind is the caller's: from the service, and to the
 * process that recovers. */
struct hv_err *kept_facts_send(int socket, unsigned kind, struct hv_span facts) hv_must_use;
struct hv_err *kept_facts_take(struct kept_facts *f, const struct hv_message *question) hv_must_use;
struct hv_err *kept_facts_ask(int socket, unsigned kind, uint8_t **ret,
			      size_t *ret_len_bytes) hv_must_use;
void kept_facts_answer(const struct kept_facts *f, struct hv_message *ret);
