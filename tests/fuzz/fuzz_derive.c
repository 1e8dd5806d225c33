/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives types from a guest whose code and memory are hostile. The first byte of the input is the
 * number of bytes that change the code of functions (a function, an offset and a length of one byte
 * each, and the new bytes); the rest changes words of the guest's data (changes.h). Deriving must
 * end. If it succeeds, its BTF must have each member that it found. */
#include <string.h>

#define FUNCTION_BYTES 64u /* shorter functions take less time */
#include "tests/unit/kernel/derive/fake_guest.h"

#include "tests/fuzz/changes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CODE_BYTES (HV_ARRAY_LEN(codes) * FUNCTION_BYTES)
#define LONGEST	   32u

static void change_code(const uint8_t *data, size_t size)
{
	while (size > 3) {
		unsigned function = data[0] % HV_ARRAY_LEN(codes), off = data[1] % FUNCTION_BYTES;
		size_t len = data[2] % (LONGEST + 1);

		if (len > size - 3)
			len = size - 3;
		if (len > FUNCTION_BYTES - off)
			len = FUNCTION_BYTES - off;
		memcpy(fk_host(&fk, function_at(function) + off), data + 3, len);
		data += 3 + len;
		size -= 3 + len;
	}
}

/* The BTF must have each member at its offset. */
static void check_types(void)
{
	const struct hv_facts *facts = fk.k.core.types.facts;

	for (size_t i = 0; i < facts->nr; i++) {
		const struct hv_fact *f = &facts->list[i];
		const struct hv_fact *first = hv_facts_find(facts, f->type, f->member);
		uint32_t off;

		if (!hv_btf_member(fk.k.core.btf, f->type, f->member, &off, NULL) ||
		    off != first->off)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct saved saved;
	static uint8_t code[CODE_BYTES];
	size_t nr_code;
	struct hv_err *err;

	if (!size)
		return 0;
	if (!saved.data) {
		make_guest(10);
		make_modules(MEM);
		save(&fk, &saved);
		memcpy(code, fk_host(&fk, FK_BASE), CODE_BYTES);
	}
	nr_code = data[0] < size - 1 ? data[0] : size - 1;
	change_code(data + 1, nr_code);
	change(&fk, data + 1 + nr_code, size - 1 - nr_code);
	err = hv_types_derive(&fk.k.core, BANNER);
	if (!err) {
		check_types();
		err = hv_types_derive_rest(&fk.k.core);
	}
	hv_err_free(err);
	forget_types();
	restore(&fk, &saved);
	memcpy(fk_host(&fk, FK_BASE), code, CODE_BYTES);
	return 0;
}
