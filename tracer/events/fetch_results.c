/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/fetch_results.h"

#include "ringbuf/abi_bits.h"

bool hv_fetch_results_next(struct hv_span results, uint64_t *at, struct hv_fetch_result *ret)
{
	uint32_t head[2];
	uint64_t len;

	if (!hv_span_copy(results, *at, head, sizeof(head)))
		return false;
	*at += HV_FETCH_HEAD;
	ret->tag = head[0];
	ret->is_fault = head[1] == HV_FETCH_FAULT;
	len = ret->is_fault ? 0 : head[1];
	if (len > results.len_bytes - *at)
		return false;
	ret->bytes = (struct hv_span){results.data + *at, len};
	*at += (len + HV_FETCH_ALIGN - 1) / HV_FETCH_ALIGN * HV_FETCH_ALIGN;
	return true;
}

bool hv_fetch_results_find(struct hv_span results, uint32_t tag, struct hv_fetch_result *ret)
{
	struct hv_fetch_result r;
	uint64_t at = 0;

	while (hv_fetch_results_next(results, &at, &r)) {
		if (r.tag != tag)
			continue;
		*ret = r;
		return true;
	}
	return false;
}
