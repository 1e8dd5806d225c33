/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads any text as kept facts, after the lines that identify the kernel unless the first byte of the
 * input is odd. Accepted facts must be written as the same text. In BTF made from them, members must
 * have their offsets. */
#include <stdlib.h>
#include <string.h>

#include "kernel/types/kept_facts.h"

#define KERNEL "Linux version 6"
#define BEGIN  "hvtrace facts 1\nkernel " KERNEL "\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hv_facts *f, struct hv_span text)
{
	HV_AUTO_TEXT struct hv_text again = {0};
	struct hv_btf *btf = NULL;
	struct hv_err *err = hv_facts_to_btf(f, &btf);

	hv_kept_facts_write(f, KERNEL, &again);
	if (again.len_bytes != text.len_bytes || memcmp(again.data, text.data, text.len_bytes) != 0)
		abort();
	for (size_t i = 0; !err && i < f->nr; i++) {
		uint32_t off;

		if (!hv_btf_member(btf, f->list[i].type, f->list[i].member, &off, NULL))
			continue;
		if (off != f->list[i].off + f->list[i].bit / 8)
			abort();
	}
	hv_err_free(err);
	hv_btf_free(btf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t begin = size && !(data[0] & 1) ? strlen(BEGIN) : 0;
	struct hv_facts f = {0};
	struct hv_span text;
	struct hv_err *err;
	uint8_t *bytes;

	if (!size)
		return 0;
	/* The buffer ends at the last byte of the text. */
	bytes = hv_alloc(begin + size - 1 ? begin + size - 1 : 1);
	memcpy(bytes, BEGIN, begin);
	memcpy(bytes + begin, data + 1, size - 1);
	text = (struct hv_span){bytes, begin + size - 1};
	err = hv_kept_facts_read(text, KERNEL, &f);
	if (!err)
		check(&f, text);
	hv_err_free(err);
	hv_facts_deinit(&f);
	free(bytes);
	return 0;
}
