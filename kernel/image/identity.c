/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/image/identity.h"

#include <string.h>

#include "base/text.h"

/* init/version.c: "Linux version RELEASE (who@where) (compiler) VERSION\n" */
#define BANNER		 "Linux version "
#define BANNER_MAX_BYTES 1024

#define NOTE_HEADER_BYTES 12
#define NT_GNU_BUILD_ID	  3
#define BUILD_ID_MAX	  32

static size_t text_length(struct hv_span s, const char *end_at)
{
	size_t max = s.len_bytes < BANNER_MAX_BYTES ? s.len_bytes : BANNER_MAX_BYTES;
	size_t len = 0;

	while (len < max && s.data[len] && !strchr(end_at, s.data[len]))
		len++;
	return len;
}

static char *safe_text(struct hv_span s, const char *end_at)
{
	struct hv_text text = {0};

	hv_text_add_guest(&text, (const char *)s.data, text_length(s, end_at));
	return hv_text_take(&text);
}

static uint64_t align4(uint32_t v)
{
	return (v + 3ull) & ~3ull;
}

size_t hv_build_id_in_notes(struct hv_span notes, uint8_t ret[BUILD_ID_MAX])
{
	uint64_t off = 0;
	uint32_t name_len, desc_len, type;

	/* Elf64_Nhdr, then name and descriptor, each padded to 4 bytes. */
	while (off < notes.len_bytes && hv_span_u32(notes, off, &name_len) &&
	       hv_span_u32(notes, off + 4, &desc_len) && hv_span_u32(notes, off + 8, &type)) {
		uint64_t name = off + NOTE_HEADER_BYTES;
		uint64_t desc = name + align4(name_len);

		if (type == NT_GNU_BUILD_ID && name_len == 4 && desc_len > 0 &&
		    desc_len <= BUILD_ID_MAX && hv_span_has(notes, name, 4) &&
		    !memcmp(notes.data + name, "GNU", 4) &&
		    hv_span_copy(notes, desc, ret, desc_len))
			return desc_len;
		off = desc + align4(desc_len);
	}
	return 0;
}

static struct hv_span notes_in(const struct hv_image *image, const struct hv_symbols *symbols)
{
	struct hv_gva start, stop;
	struct hv_span notes;

	if (!hv_symbols_find(symbols, "__start_notes", &start) ||
	    !hv_symbols_find(symbols, "__stop_notes", &stop) || stop.v < start.v)
		return (struct hv_span){0};
	notes = hv_image_at(image, start);
	if (notes.len_bytes > stop.v - start.v)
		notes.len_bytes = stop.v - start.v;
	return notes;
}

char *hv_build_id_text(const uint8_t *build_id, size_t len_bytes)
{
	struct hv_text text = {0};

	if (!len_bytes)
		hv_text_add(&text, "none");
	for (size_t i = 0; i < len_bytes; i++)
		hv_text_printf(&text, "%02x", build_id[i]);
	return hv_text_take(&text);
}

struct hv_err *hv_identity_read(const struct hv_image *image, const struct hv_symbols *symbols,
				struct hv_identity *ret)
{
	struct hv_identity id = {0};
	struct hv_span banner;
	struct hv_gva at;

	if (!hv_symbols_find(symbols, "linux_banner", &at))
		return hv_err_mark(hv_err_new(ENOENT,
					      "no symbol linux_banner: the kernel was built "
					      "without CONFIG_KALLSYMS_ALL"),
				   HV_ERR_NEEDS_VMLINUX);
	banner = hv_image_at(image, at);
	if (!hv_span_has(banner, 0, strlen(BANNER)) || memcmp(banner.data, BANNER, strlen(BANNER)))
		return hv_err_new(ENOENT, "no \"" BANNER "\" at linux_banner 0x%llx",
				  (unsigned long long)at.v);
	id.banner = safe_text(banner, "\n");
	banner.data += strlen(BANNER);
	banner.len_bytes -= strlen(BANNER);
	id.release = safe_text(banner, " \n");
	id.build_id_len_bytes = hv_build_id_in_notes(notes_in(image, symbols), id.build_id);
	*ret = id;
	return NULL;
}

void hv_identity_deinit(struct hv_identity *id)
{
	free(id->banner);
	free(id->release);
	*id = (struct hv_identity){0};
}
