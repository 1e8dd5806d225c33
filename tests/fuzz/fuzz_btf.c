/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads any bytes as BTF, and asks what the rest of hvtrace asks. */
#include "kernel/btf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hv_btf *btf;
	struct hv_err *err = hv_btf_new((struct hv_span){data, size}, &btf);
	uint32_t off, len;
	int64_t value;

	if (err) {
		hv_err_free(err);
		return 0;
	}
	hv_btf_member(btf, "task", "slots.value", &off, &len);
	hv_btf_member(btf, "task", "b", &off, &len);
	hv_btf_size(btf, "u32", &len);
	hv_btf_enumerator(btf, "TWO", &value);
	hv_btf_free(btf);
	return 0;
}
