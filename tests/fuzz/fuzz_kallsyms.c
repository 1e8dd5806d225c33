/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads kallsyms from a hostile guest's image. The first byte chooses a layout, and pairs of a u32
 * offset and a byte that change the image follow; if it is 0xff, the image itself follows. */
#include "tests/unit/kernel/image/kallsyms_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_image(const struct hv_image *image)
{
	struct hv_symbols s;
	HV_AUTO_ERR struct hv_err *err = hv_kallsyms_read(image, &s);

	if (err)
		return;
	for (size_t i = 0; i < s.nr; i += 97) {
		struct hv_gva at;

		if (!hv_symbols_find(&s, s.by_addr[i].name, &at) || !hv_symbols_at(&s, at))
			abort();
	}
	hv_symbols_deinit(&s);
}

static void read_changed(const uint8_t *data, size_t len)
{
	static struct kimg originals[HV_ARRAY_LEN(kimg_layouts)];
	struct kimg *k = &originals[data[0] % HV_ARRAY_LEN(kimg_layouts)];
	struct hv_image image;

	if (!k->bytes)
		kimg_init(k, &kimg_layouts[data[0] % HV_ARRAY_LEN(kimg_layouts)]);
	image = kimg_image(k);
	image.bytes = hv_alloc(KIMG_BYTES);
	memcpy(image.bytes, k->bytes, KIMG_BYTES);
	for (size_t i = 1; i + 5 <= len; i += 5) {
		uint32_t off;

		memcpy(&off, data + i, sizeof(off));
		/* Change only the tables, not the noise around them. */
		off = (uint32_t)(KIMG_TABLES_OFF + off % (k->end - KIMG_TABLES_OFF));
		image.bytes[off] = data[i + 4];
	}
	read_image(&image);
	hv_image_deinit(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hv_image image;

	if (!len)
		return 0;
	if (data[0] != 0xff) {
		read_changed(data, len);
		return 0;
	}
	image = (struct hv_image){
		.all = {hv_gva(KIMG_BASE), hv_gva(KIMG_BASE + len - 1)},
		.text = {hv_gva(KIMG_BASE), hv_gva(KIMG_BASE + len - 1)},
		.bytes = hv_alloc(len - 1),
		.len_bytes = len - 1,
	};
	memcpy(image.bytes, data + 1, len - 1);
	read_image(&image);
	hv_image_deinit(&image);
	return 0;
}
