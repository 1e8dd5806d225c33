/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The messages between service and guardian over their socketpair: a request, then LEN_BYTES of
 * strings (struct hv_packets); a reply, then LEN_BYTES. Both ends are this program, but a VMM may
 * have taken over the guardian. */
#pragma once

#include <stdint.h>

#define GUARDIAN_BYTES_MAX	   (8u << 20) /* of a request */
#define GUARDIAN_MESSAGE_MAX_BYTES 1024	      /* of an error's message */

enum guardian_op {
	GUARDIAN_READY,	      /* answered when the guardian has given up its rights */
	GUARDIAN_OPEN,	      /* the socket is connected */
	GUARDIAN_HOLD,	      /* arg: max_ns */
	GUARDIAN_HOLD_ASLEEP, /* arg: max_ns */
	GUARDIAN_DESCRIBE,    /* the name of an architecture */
	GUARDIAN_LOOK,	      /* arg: expected number of vCPUs -> array of struct hv_vcpu_regs */
	GUARDIAN_FLUSH,
	GUARDIAN_OBEY, /* packets */
	GUARDIAN_RELEASE,
	GUARDIAN_STATE,	 /* does nothing */
	GUARDIAN_FORGET, /* hv_guardian_forget_stop() */
};

struct guardian_request {
	uint32_t op;
	uint32_t nr;
	uint32_t len_bytes;
	uint32_t unused;
	uint64_t arg;
};

struct guardian_reply {
	int32_t code; /* errno value, and the bytes are the error's message; 0: success */
	uint32_t len_bytes;
	uint32_t state; /* enum hv_guardian_state */
	uint32_t unused;
	uint64_t since_ns; /* when the last hold began */
	uint64_t held_ns;  /* of the last hold that ended */
};

/* The main function of the guardian's process (vmm/helper.h). */
_Noreturn void guardian_run(void);
