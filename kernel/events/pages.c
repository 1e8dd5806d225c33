/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/pages.h"

#include <string.h>

#include "base/guard.h"

#define PAGE_BYTES 4096u

/* The events of a kernel with all its modules take about 4,000 pages. */
#define PAGES_MAX 32768u

void hv_pages_init(struct hv_pages *p, const struct hv_address_space *as)
{
	*p = (struct hv_pages){.as = as};
}

void hv_pages_deinit(struct hv_pages *p)
{
	for (size_t i = 0; i < p->map.cap; i++)
		free(p->map.entries[i].value);
	hv_map_deinit(&p->map);
	hv_text_deinit(&p->string);
}

static struct hv_err *copy_page(struct hv_pages *p, uint64_t at)
{
	HV_AUTO_FREE uint8_t *bytes = NULL;
	struct hv_err *err;

	if (!at)
		return hv_err_new(EFAULT, "the address is 0");
	if (p->map.nr == PAGES_MAX)
		return hv_err_new(E2BIG, "the list does not end after %u pages", PAGES_MAX);
	bytes = hv_alloc(PAGE_BYTES);
	err = hv_read(p->as, hv_gva(at), bytes, PAGE_BYTES);
	if (!err)
		hv_map_add(&p->map, at, hv_take(bytes));
	return err;
}

/* Returns the *RET_LEN bytes from AT to the end of its page. */
static struct hv_err *find_bytes(struct hv_pages *p, uint64_t at, const uint8_t **ret,
				 size_t *ret_len)
{
	size_t off = at % PAGE_BYTES;
	struct hv_err *err = NULL;

	if (!p->last_bytes || p->last != at - off) {
		const uint8_t *bytes = hv_map_find(&p->map, at - off);

		if (!bytes)
			err = copy_page(p, at - off);
		if (err)
			return err;
		p->last = at - off;
		p->last_bytes = bytes ? bytes : hv_map_find(&p->map, at - off);
	}
	*ret = p->last_bytes + off;
	*ret_len = PAGE_BYTES - off;
	return NULL;
}

struct hv_err *hv_pages_read(struct hv_pages *p, struct hv_gva at, void *buf, size_t len_bytes)
{
	uint8_t *to = buf;

	while (len_bytes) {
		const uint8_t *bytes;
		size_t len;
		struct hv_err *err = find_bytes(p, at.v, &bytes, &len);

		if (err)
			return err;
		if (len > len_bytes)
			len = len_bytes;
		memcpy(to, bytes, len);
		to += len;
		at.v += len;
		len_bytes -= len;
	}
	return NULL;
}

struct hv_err *hv_pages_u64(struct hv_pages *p, struct hv_gva at, uint64_t *ret)
{
	uint64_t value;
	struct hv_err *err = hv_pages_read(p, at, &value, sizeof(value));

	if (!err)
		*ret = value;
	return err;
}

/* Copies the string at AT to p->string. If it is longer than MAX_BYTES, copies more than MAX_BYTES
 * of it. */
static struct hv_err *gather(struct hv_pages *p, uint64_t at, size_t max_bytes)
{
	const uint8_t *end = NULL;

	hv_text_clear(&p->string);
	while (!end && p->string.len_bytes <= max_bytes) {
		const uint8_t *bytes;
		size_t len;
		struct hv_err *err = find_bytes(p, at, &bytes, &len);

		if (err)
			return err;
		end = memchr(bytes, 0, len);
		hv_text_add_bytes(&p->string, bytes, end ? (size_t)(end - bytes) : len);
		at += len;
	}
	return NULL;
}

/* Returns the string at AT and its length; valid until the next read. Fails with E2BIG if it is
 * longer than MAX_BYTES. */
static struct hv_err *pages_string(struct hv_pages *p, struct hv_gva at, size_t max_bytes,
				   const char **ret, size_t *ret_len)
{
	const uint8_t *bytes, *end;
	size_t len;
	struct hv_err *err = find_bytes(p, at.v, &bytes, &len);

	if (err)
		return err;
	end = memchr(bytes, 0, len);
	if (end) {
		len = (size_t)(end - bytes);
	} else {
		err = gather(p, at.v, max_bytes);
		if (err)
			return err;
		bytes = (const uint8_t *)p->string.data;
		len = p->string.len_bytes;
	}
	if (len > max_bytes)
		return hv_err_new(E2BIG, "0x%llx: a string of more than %zu bytes",
				  (unsigned long long)at.v, max_bytes);
	*ret = (const char *)bytes;
	*ret_len = len;
	return NULL;
}

/* A kernel with all its modules has less than 4 MiB of them. */
#define STRINGS_BYTES_MAX (64u << 20)

void hv_strings_init(struct hv_strings *s, struct hv_pages *pages, struct hv_store *store)
{
	*s = (struct hv_strings){.pages = pages, .store = store};
}

void hv_strings_deinit(struct hv_strings *s)
{
	hv_map_deinit(&s->map);
}

static struct hv_err *read_new(struct hv_strings *s, struct hv_gva at, size_t max_bytes,
			       const char **ret)
{
	const char *bytes = NULL;
	char *string;
	size_t len = 0;
	struct hv_err *err = pages_string(s->pages, at, max_bytes, &bytes, &len);

	if (err)
		return err;
	if (s->store->len_bytes + len > STRINGS_BYTES_MAX)
		return hv_err_new(E2BIG, "more than %u bytes of strings", STRINGS_BYTES_MAX);
	string = hv_store_string(s->store, bytes, len);
	hv_map_add(&s->map, at.v, string);
	*ret = string;
	return NULL;
}

struct hv_err *hv_strings_read(struct hv_strings *s, struct hv_gva at, size_t max_bytes,
			       const char **ret)
{
	const char *string = hv_map_find(&s->map, at.v);

	if (!string)
		return read_new(s, at, max_bytes, ret);
	if (strnlen(string, max_bytes + 1) > max_bytes)
		return hv_err_new(E2BIG, "0x%llx: a string of more than %zu bytes",
				  (unsigned long long)at.v, max_bytes);
	*ret = string;
	return NULL;
}
