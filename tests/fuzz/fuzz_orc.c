/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinds a stack with ORC tables; both come from the input. The first byte selects the form of the
 * tables. The code of a function, the tables and the stack's records follow. */
#include "kernel/tasks/unwind.h"
#include "tests/unit/kernel/tasks/fake_orc.h"
#include "tracer/events/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t fill(uint8_t *to, size_t len, const uint8_t **data, size_t *size)
{
	size_t nr = *size < len ? *size : len;

	memcpy(to, *data, nr);
	*data += nr;
	*size -= nr;
	return nr;
}

static void derive(struct fo *o)
{
	struct hv_orc_form form;

	hv_err_free(hv_orc_form_find(&o->f.k.core, &form));
}

static void walk(struct hv_orc *orc, const uint8_t *data, size_t size)
{
	static struct hv_parts records;
	static struct hv_stack_words words;
	struct hv_gva callers[HV_CALLERS_MAX];
	bool early;
	struct hv_record r = {0};
	uint64_t position = 0;
	const struct hv_decode decode = {.text_base = hv_arch_x86_64.text_base};
	const struct hv_unwind_trampolines trampolines = {
		{{FK_BASE + 0x10000}, {FK_BASE + 0x20000}},
		hv_arch_x86_64.trampolines.ftrace_reader_rule};

	records = (struct hv_parts){0};
	while (fill((uint8_t *)&r, sizeof(r), &data, &size))
		hv_parts_add(&records, &r, position++, 0);
	if (hv_parts_are_of(&records, &r, position, 0) || records.nr) {
		hv_decode_words(&decode, records.list, records.nr, &words);
		if (words.nr > HV_STACK_WORDS_MAX ||
		    hv_unwind(orc, &hv_arch_x86_64, &words, &trampolines, callers, HV_CALLERS_MAX,
			      &early) > HV_CALLERS_MAX)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fo kernels[3];
	static bool made[3];
	unsigned form = size ? data[0] % 3 : 0;
	struct fo *o = &kernels[form];
	struct hv_orc *orc = NULL;
	struct hv_err *err;

	if (!made[form]) {
		fo_init(o, form);
		err = fo_derive(o);
		if (err)
			abort();
	}
	made[form] = true;
	if (size) {
		data++;
		size--;
	}
	fill(fk_host(&o->f, fo_function(0)), FO_FUNCTION_LEN, &data, &size);
	fill(fk_host(&o->f, o->ips), 4 * FO_ALL, &data, &size);
	fill(fk_host(&o->f, o->entries), 6 * FO_ALL, &data, &size);
	derive(o);
	fill(fk_host(&o->f, o->module_ips), 4 * FO_MODULE_ENTRIES, &data, &size);
	fill(fk_host(&o->f, o->module_entries), 6 * FO_MODULE_ENTRIES, &data, &size);
	err = hv_orc_new(&o->f.k, &orc);
	if (err)
		abort();
	walk(orc, data, size);
	hv_orc_free(orc);
	return 0;
}
