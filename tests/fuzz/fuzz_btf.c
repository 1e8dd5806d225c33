/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses any bytes as BTF, and makes the queries that the rest of hvtrace makes. */
#include <string.h>

#include "kernel/types/type_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Follows the members and pointers of a value of type ID, like an argument of a probe does. */
static void follow(const struct hv_btf *btf, uint32_t id)
{
	static const char *const names[] = {"a", "slots", "value", "flag"};
	struct hv_btf_value value;
	struct hv_btf_field field;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!hv_btf_value(btf, id, &value))
			return;
		if (value.form == HV_BTF_POINTER && !hv_btf_value(btf, value.to, &value))
			return;
		id = value.to;
		if (hv_btf_field(btf, &value, names[i], strlen(names[i]), &field))
			id = field.id;
	}
}

static void call(const struct hv_btf *btf, const struct hv_btf_func *func, size_t size)
{
	uint32_t id, nr = func->nr_params < 8 ? func->nr_params : 8;

	follow(btf, func->return_id);
	for (uint32_t i = 0; i <= nr; i++) {
		if (strlen(hv_btf_param(btf, func, i, &id)) >= size)
			__builtin_trap();
		follow(btf, id);
	}
}

/* A client may ask for the text of any type. */
static void describe(const struct hv_btf *btf, const char *name)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_err_free(hv_type_text(btf, name, true, &text));
	if (text.len_bytes > HV_TYPE_TEXT_MAX + 4096)
		__builtin_trap();
	for (size_t i = 0; i < text.len_bytes; i++)
		if ((text.data[i] < ' ' && text.data[i] != '\t' && text.data[i] != '\n') ||
		    text.data[i] == 0x7f)
			__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hv_btf *btf;
	struct hv_err *err = hv_btf_new((struct hv_span){data, size}, NULL, &btf);
	uint32_t off, len;
	struct hv_btf_func func;
	int64_t value;

	if (err) {
		hv_err_free(err);
		return 0;
	}
	hv_btf_member(btf, "task", "slots.value", &off, &len);
	hv_btf_member(btf, "task", "b", &off, &len);
	hv_btf_size(btf, "u32", &len);
	describe(btf, "task");
	describe(btf, "u32");
	hv_btf_enumerator(btf, "TWO", &value);
	if (hv_btf_func_find(btf, "function", &func))
		call(btf, &func, size);
	for (uint32_t id = 0; id < 64; id++) {
		const char *name = hv_btf_func_name(btf, id);

		if (name && strlen(name) >= size)
			__builtin_trap();
		follow(btf, id);
		for (uint32_t i = 0; hv_btf_variable(btf, id, i, &name, &off) && i < 64; i++)
			if (strlen(name) >= size)
				__builtin_trap();
	}
	hv_btf_section(btf, ".data..percpu");
	hv_btf_free(btf);
	return 0;
}
