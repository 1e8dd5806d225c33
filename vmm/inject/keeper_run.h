/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The message between service and keeper, which is both request and answer, and the keeper's main
 * function. Both ends are this program. */
#pragma once

#include "vmm/inject/keeper.h"

/* Enough for most holds, so that they need one request. */
#define KEEPER_WRITES_MAX 4096

enum keeper_op { KEEPER_HOLD, KEEPER_CALLS, KEEPER_WRITE, KEEPER_RELEASE };

/* A message ends after the part that its request or answer uses (keeper_request_bytes(),
 * keeper_answer_bytes()). */
struct keeper_message {
	uint32_t op;
	int32_t code; /* answer: errno value; 0: success */
	uint32_t nr;  /* of threads, calls or writes */
	uint32_t len_bytes;
	uint32_t all_in_run; /* answer of hold */
	/* hold: its limit; answer of hold: the start of the limit; answer of release: the
	 * duration */
	uint64_t ns;
	char text[256];
	union {
		pid_t tids[HV_KEEPER_THREADS_MAX];
		struct hv_held_write writes[KEEPER_WRITES_MAX];
		struct {
			struct hv_call calls[HV_KEEPER_CALLS_MAX];
			uint8_t data[HV_CALL_DATA_MAX];
		};
	};
};

#define KEEPER_HEAD_BYTES offsetof(struct keeper_message, tids)

static inline size_t keeper_request_bytes(const struct keeper_message *m)
{
	switch (m->op) {
	case KEEPER_HOLD:
		return KEEPER_HEAD_BYTES + m->nr * sizeof(m->tids[0]);
	case KEEPER_CALLS:
		return offsetof(struct keeper_message, data) + m->len_bytes;
	case KEEPER_WRITE:
		return KEEPER_HEAD_BYTES + m->nr * sizeof(m->writes[0]);
	default:
		return KEEPER_HEAD_BYTES;
	}
}

static inline size_t keeper_answer_bytes(const struct keeper_message *m)
{
	return m->op == KEEPER_CALLS ? keeper_request_bytes(m) : KEEPER_HEAD_BYTES;
}

/* The main function of the keeper's process (vmm/helper.h). */
_Noreturn void keeper_run(pid_t vmm, const struct hv_call_code *code);
