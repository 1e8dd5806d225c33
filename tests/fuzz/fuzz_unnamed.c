/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches for variables without names in a hostile guest's image: by exported symbols, by types,
 * and by the code that uses them. The input is repeated to fill an image with room for tables; its
 * first byte selects the length of the text. Then the input changes words (changes.h) of a kernel
 * in which all variables can be found. */
#include <string.h>

#include "kernel/image/exports.h"
#include "tests/fuzz/changes.h"
#include "tests/unit/kernel/fake_unnamed.h"

#define BASE	    0xffff800008000000ull
#define IMAGE_BYTES 16384u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool may_be(const struct hv_kernel_core *core, struct hv_gva at)
{
	if (!hv_gva_in(at, core->image.all) || hv_gva_in(at, core->image.text))
		abort();
	return true;
}

static void search(struct hv_kernel_core *core)
{
	struct hv_unnamed u = {.functions = {"a", "b"},
			       .functions_min = 1,
			       .len_bytes = 8,
			       .called = "b",
			       .is_at = may_be};

	for (u.kind = HV_DATA_ADDRESS; u.kind <= HV_DATA_PASS; u.kind++) {
		struct hv_gva at;

		hv_unnamed_search(core, &u, &at);
	}
}

/* A lying guest can cause wrong results, but the properties that the search proves must hold. */
static void check_found(const struct fu *u)
{
	const struct hv_kernel_core *core = &u->f.k.core;
	struct hv_gva at;
	uint64_t table;
	uint32_t pid;

	if (hv_symbols_find(&core->unnamed, "linux_banner", &at) &&
	    memcmp(hv_image_at(&core->image, at).data, "Linux version ", 14) != 0)
		abort();
	if (hv_symbols_find(&core->unnamed, "init_mm", &at) &&
	    (hv_read_u64(&core->as, hv_gva_add(at, FU_PGD), &table) || table != u->root))
		abort();
	if (hv_symbols_find(&core->unnamed, "init_task", &at) &&
	    (hv_read_u32(&core->as, hv_gva_add(at, FU_PID), &pid) || pid))
		abort();
}

static void find_changed(const uint8_t *data, size_t len)
{
	static struct saved saved;
	static struct fu u;

	if (!saved.data) {
		fu_init(&u);
		save(&u.f, &saved);
	}
	restore(&u.f, &saved);
	change(&u.f, data, len);
	fu_forget(&u);
	hv_err_free(hv_unnamed_find(&u.f.k.core));
	check_found(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hv_symbol symbols[] = {{hv_gva(BASE), "a", 'T'}, {hv_gva(BASE + 0x200), "b", 'T'}};
	struct hv_kernel_core core = {.as = {.arch = &hv_arch_arm64}};
	struct hv_exports exports;
	struct hv_gva at;

	if (len < 8)
		return 0;
	core.image = (struct hv_image){
		.all = {hv_gva(BASE), hv_gva(BASE + IMAGE_BYTES)},
		.text = {hv_gva(BASE), hv_gva(BASE + data[0] % 32 * 512)},
		.bytes = hv_alloc(IMAGE_BYTES),
		.len_bytes = IMAGE_BYTES,
	};
	for (size_t i = 0; i < IMAGE_BYTES; i++)
		core.image.bytes[i] = data[i % len];
	core.symbols = (struct hv_symbols){.by_addr = symbols, .nr = HV_ARRAY_LEN(symbols)};
	hv_symbols_index(&core.symbols);
	exports = hv_exports_find(&core.image);
	hv_exports_lookup(&core.image, &exports, "init_task", &at);
	hv_unnamed_find_types(&core);
	search(&core);
	core.symbols.by_addr = NULL;
	hv_symbols_deinit(&core.symbols);
	hv_symbols_deinit(&core.unnamed);
	hv_image_deinit(&core.image);
	find_changed(data, len);
	return 0;
}
