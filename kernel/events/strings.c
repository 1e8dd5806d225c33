/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/strings.h"

#include <string.h>

/* A kernel with all its modules has less than 4 MiB of them. */
#define STRINGS_BYTES_MAX (64u << 20)

void hv_strings_init(struct hv_strings *s, struct hv_pages *pages, struct hv_store *store)
{
	*s = (struct hv_strings){.pages = pages, .store = store};
}

void hv_strings_deinit(struct hv_strings *s)
{
	hv_gva_map_deinit(&s->map);
}

static struct hv_err *read_new(struct hv_strings *s, struct hv_gva at, size_t max_bytes,
			       const char **ret)
{
	const char *bytes;
	char *string;
	size_t len;
	struct hv_err *err = hv_pages_string(s->pages, at, max_bytes, &bytes, &len);

	if (err)
		return err;
	if (s->store->len_bytes + len > STRINGS_BYTES_MAX)
		return hv_err_new(E2BIG, "more than %u bytes of strings", STRINGS_BYTES_MAX);
	string = hv_store_string(s->store, bytes, len);
	hv_gva_map_add(&s->map, at, string);
	*ret = string;
	return NULL;
}

struct hv_err *hv_strings_read(struct hv_strings *s, struct hv_gva at, size_t max_bytes,
			       const char **ret)
{
	const char *string = hv_gva_map_find(&s->map, at);

	if (!string)
		return read_new(s, at, max_bytes, ret);
	if (strnlen(string, max_bytes + 1) > max_bytes)
		return hv_err_new(E2BIG, "0x%llx: a string of more than %zu bytes",
				  (unsigned long long)at.v, max_bytes);
	*ret = string;
	return NULL;
}
