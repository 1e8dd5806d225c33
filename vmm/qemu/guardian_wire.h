/* What service and guardian say to each other over their socketpair: a head, then LEN_BYTES of
 * strings (struct hv_packets). Both ends are this program. */
#pragma once

#include <stdint.h>

#define GUARDIAN_BYTES_MAX (8u << 20)

enum guardian_op {
	GUARDIAN_OPEN,	      /* string: the stub's socket */
	GUARDIAN_HOLD,	      /* arg: max_ns */
	GUARDIAN_HOLD_ASLEEP, /* likewise */
	GUARDIAN_EXCHANGE,
	GUARDIAN_RELEASE,
};

struct guardian_request {
	uint32_t op;
	uint32_t nr;
	uint32_t len_bytes;
	uint32_t unused;
	uint64_t arg;
};

struct guardian_reply {
	int32_t code; /* errno value, 0: done; then the string is the message */
	uint32_t nr;
	uint32_t len_bytes;
	uint32_t unused;
	uint64_t held_ns;
};

/* The guardian's life, in the process made for it (vmm/helper.h); does not return. */
_Noreturn void guardian_run(void);
