/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The results of a fetch program, which an event's record contains after its entry
 * (HV_FETCH_HEAD in ringbuf/abi_bits.h). The guest wrote them, so they are untrusted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct hv_fetch_result {
	uint32_t tag;
	bool is_fault;	      /* a step could not read its memory; BYTES is empty */
	struct hv_span bytes; /* in the results */
};

/* Reads the result at *AT, which is 0 for the first, and advances *AT. Returns false after the last
 * one. */
bool hv_fetch_results_next(struct hv_span results, uint64_t *at, struct hv_fetch_result *ret);
/* Finds the first result with TAG. Returns false if there is none. */
bool hv_fetch_results_find(struct hv_span results, uint32_t tag, struct hv_fetch_result *ret);
