/* What service and keeper say to each other, one packet each way, and the keeper's side of it. Both
 * ends are this program. */
#pragma once

#include "vmm/inject/keeper.h"

enum keeper_op { KEEPER_HOLD, KEEPER_CALLS, KEEPER_RELEASE };

struct keeper_message {
	uint32_t op;
	int32_t code; /* answer: errno value, 0: done */
	uint32_t nr;  /* threads or calls */
	uint32_t len_bytes;
	uint32_t all_in_run; /* answer of hold */
	uint64_t ns;	     /* hold: its limit; answer of release: how long it was */
	char text[256];
	pid_t tids[HV_KEEPER_THREADS_MAX];
	struct hv_call calls[HV_KEEPER_CALLS_MAX];
	uint8_t data[HV_CALL_DATA_MAX];
};

/* The keeper's life, in the process made for it (vmm/helper.h); does not return. */
_Noreturn void keeper_run(pid_t vmm, const struct hv_call_code *code);
