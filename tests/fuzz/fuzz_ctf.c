/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts any event format and any entries to a CTF trace. Field names must be unique, because
 * readers crash otherwise, and strings in the metadata must be terminated correctly. The input is
 * the length of the format's text, the text, and the bytes of an entry. */
#include <stdlib.h>
#include <string.h>

#include "export/ctf_classes.h"

#define ID "ID: 300\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_class(const struct hv_ctf_class *class)
{
	for (size_t i = 0; i < class->nr_fields; i++) {
		const struct hv_ctf_field *f = &class->fields[i];

		if (f->name[0] != '_' || strspn(f->name, "_abcdefghijklmnopqrstuvwxyz"
							 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
							 "0123456789") != strlen(f->name))
			abort();
		for (size_t k = 0; k < i; k++) {
			const struct hv_ctf_field *other = &class->fields[k];

			if (strcmp(f->name, other->name) == 0 ||
			    (other->length && strcmp(f->name, other->length) == 0) ||
			    (f->length && strcmp(f->length, other->name) == 0))
				abort();
		}
	}
}

static void add_events(const struct hv_ctf_classes *c, const uint8_t *entry, size_t len)
{
	HV_AUTO_TEXT struct hv_text out = {0};
	struct hv_event e = {.kind = HV_EVENT_GUESTS, .id = 300, .entry = {entry, len}};
	uint16_t id;

	hv_ctf_classes_add(c, &e, &out, &id);
	e = (struct hv_event){.kind = HV_EVENT_PRINT, .text = (const char *)entry, .text_len = len};
	hv_ctf_classes_add(c, &e, &out, &id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = size > 2 ? (size_t)data[0] << 8 | data[1] : 0;
	HV_AUTO_TEXT struct hv_text text = {0}, metadata = {0};
	struct hv_export_event event = {.system = "fuzz"};
	struct hv_export_head head = {.nr_cpus = 1, .events = &event, .nr_events = 1};
	struct hv_page_decode decode;
	struct hv_ctf_classes classes;

	if (size <= 2 || len > size - 2)
		return 0;
	hv_text_add(&text, "name: x\n" ID);
	hv_text_add_bytes(&text, data + 2, len);
	event.format = (struct hv_export_text){text.data, text.len_bytes};
	hv_page_decode_init(&decode, &head);
	hv_ctf_classes_init(&classes, &decode);
	hv_ctf_classes_describe(&classes, &metadata);
	for (size_t i = 0; i < classes.nr; i++)
		check_class(&classes.list[i]);
	if (memchr(metadata.data, '\0', metadata.len_bytes) || strchr(metadata.data, '\033'))
		abort();
	add_events(&classes, data + 2 + len, size - 2 - len);
	hv_ctf_classes_deinit(&classes);
	hv_page_decode_deinit(&decode);
	return 0;
}
