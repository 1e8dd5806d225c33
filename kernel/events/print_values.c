/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/print_values.h"

#include <string.h>

#include "base/grow.h"
#include "base/guard.h"
#include "kernel/core/fields.h"
#include "kernel/events/pages.h"
#include "kernel/kernel.h"

/* -- values of a print_fmt --------------------------------------------------------------------- */

#define PAGE_BYTES 4096u
#define NS_PER_S   UINT64_C(1000000000)
#define NS_PER_US  1000u

static bool read_bytes(const struct hv_kernel *k, struct hv_gva at, void *ret, size_t len_bytes)
{
	HV_AUTO_ERR struct hv_err *err = hv_read(&k->core.as, at, ret, len_bytes);

	return !err;
}

/* Reads page by page, because the page after the text may not be mapped. */
bool hv_print_value_string(const struct hv_kernel *k, struct hv_gva addr, char *ret,
			   size_t max_bytes)
{
	size_t len = 0;

	while (len < max_bytes) {
		struct hv_gva at = hv_gva_add(addr, len);
		size_t part = PAGE_BYTES - at.v % PAGE_BYTES;

		if (part > max_bytes - len)
			part = max_bytes - len;
		if (!read_bytes(k, at, ret + len, part))
			return false;
		if (memchr(ret + len, '\0', part))
			return true;
		len += part;
	}
	return true;
}

bool hv_print_value_variable(const struct hv_kernel *k, const char *name, uint64_t *ret)
{
	struct hv_gva at;
	uint64_t value;

	if (!hv_kernel_symbol(k, name, &at) || !read_bytes(k, at, &value, sizeof(value)))
		return false;
	*ret = value;
	return true;
}

bool hv_print_value_enumerator(const struct hv_kernel *k, const char *name, int64_t *ret)
{
	return k->core.btf && hv_btf_enumerator(k->core.btf, name, ret);
}

/* A derived structure ends with its last known member. */
bool hv_print_value_size(const struct hv_kernel *k, const char *type, uint32_t *ret_bytes)
{
	return k->core.btf && k->core.types.from != HV_TYPES_DERIVED &&
	       hv_btf_size(k->core.btf, type, ret_bytes);
}

bool hv_print_value_member(const struct hv_kernel *k, const char *type, const char *member,
			   uint32_t *ret_off_bits, uint32_t *ret_nr_bits)
{
	return k->core.btf && hv_btf_bits(k->core.btf, type, member, ret_off_bits, ret_nr_bits);
}

/* Returns the length of a tick: tick_nsec, since 6.13 in struct ntp_data (ec93ec22aa10). */
static bool find_tick_ns(const struct hv_kernel *k, uint64_t *ret)
{
	struct hv_gva at;
	uint32_t off, size;
	uint64_t usec;

	if (hv_print_value_variable(k, "tick_nsec", ret))
		return true;
	if (!k->core.btf || !hv_kernel_symbol(k, "tk_ntp_data", &at) ||
	    !hv_btf_member(k->core.btf, "ntp_data", "tick_usec", &off, &size) ||
	    size != sizeof(usec) || !read_bytes(k, hv_gva_add(at, off), &usec, sizeof(usec)))
		return false;
	*ret = usec * NS_PER_US;
	return true;
}

/* The guest's clock may be slewed by up to a tenth, so this returns the nearest possible value. */
unsigned hv_print_value_hz(const struct hv_kernel *k)
{
	static const unsigned known[] = {100, 250, 300, 1000};
	uint64_t tick_ns;

	if (!find_tick_ns(k, &tick_ns) || !tick_ns)
		return 0;
	for (size_t i = 0; i < HV_ARRAY_LEN(known); i++) {
		uint64_t ns = NS_PER_S / known[i], off = ns > tick_ns ? ns - tick_ns : tick_ns - ns;

		if (off < ns / 20)
			return known[i];
	}
	return 0;
}

/* Returns whether the kernel prints pointers in events unhashed (trace_event_format()) and has no
 * option to hash them (hash-ptr), like Debian's 5.10. */
static bool has_plain_pointers(const struct hv_kernel *k)
{
	const struct hv_btf *btf = k->core.btf;
	struct hv_gva at;
	int64_t unused;

	return hv_kernel_symbol(k, "trace_event_format", &at) &&
	       hv_btf_enumerator(btf, "TRACE_ITER_MARKERS_BIT", &unused) &&
	       !hv_btf_enumerator(btf, "TRACE_ITER_HASH_PTR_BIT", &unused);
}

/* Kernels hash pointers since 4.15 (ad67b74d2469). */
static bool lacks_key(const struct hv_kernel *k)
{
	struct hv_gva at;

	return !k->core.unnamed.nr && hv_kernel_symbol(k, "linux_banner", &at) &&
	       !hv_kernel_symbol(k, "ptr_key", &at);
}

/* A key of zeros is not initialised yet. */
void hv_print_hashing_read(const struct hv_kernel *k, struct hv_print_hashing *ret)
{
	struct hv_gva at;
	uint8_t off = 0;

	*ret = (struct hv_print_hashing){.is_off = has_plain_pointers(k) || lacks_key(k)};
	if (hv_kernel_symbol(k, "no_hash_pointers", &at) && read_bytes(k, at, &off, sizeof(off)))
		ret->is_off |= off != 0;
	ret->has_key = hv_kernel_symbol(k, "ptr_key", &at) &&
		       read_bytes(k, at, ret->key, sizeof(ret->key)) &&
		       (ret->key[0] || ret->key[1]);
}

/* -- strings ----------------------------------------------------------------------------------- */

/* Reads the strings in the order of the kernel's find_next() (kernel/trace/trace_printk.c): first
 * two arrays of pointers that the linker created, then a list to which the kernel adds the formats
 * of modules. */

/* Limits on guest data. A kernel with all its modules has less than 4 MiB. */
#define STRINGS_MAX 100000u
#define STRING_MAX  65535u
#define BYTES_MAX   (32u << 20) /* of all strings, including duplicates */
#define WALKS_MAX   3

struct reading {
	const struct hv_kernel *k;
	struct hv_pages pages;
	struct hv_strings strings;
	struct hv_print_strings found;
	size_t cap;
	size_t len_bytes; /* of all strings found */
};

static struct hv_err *add(struct reading *r, uint64_t at)
{
	struct hv_print_string s = {.at = hv_gva(at)};
	struct hv_err *err;

	/* The kernel leaves NULL for a removed module. */
	if (!at)
		return NULL;
	if (r->found.nr == STRINGS_MAX)
		return hv_err_new(E2BIG, "the list does not end after %u entries", STRINGS_MAX);
	err = hv_strings_read(&r->strings, s.at, STRING_MAX, &s.string);
	if (err)
		return err;
	r->len_bytes += strlen(s.string);
	if (r->len_bytes > BYTES_MAX)
		return hv_err_new(E2BIG, "more than %u MiB of them", BYTES_MAX >> 20);
	r->found.list = hv_grow(r->found.list, r->found.nr, &r->cap, 256, sizeof(*r->found.list));
	r->found.list[r->found.nr++] = s;
	return NULL;
}

static struct hv_err *add_array(struct reading *r, const char *start_name, const char *end_name)
{
	struct hv_gva at, end;
	struct hv_err *err = NULL;

	if (!hv_kernel_symbol(r->k, start_name, &at) || !hv_kernel_symbol(r->k, end_name, &end))
		return NULL;
	for (; !err && at.v < end.v; at.v += 8) {
		uint64_t string;

		err = hv_pages_u64(&r->pages, at, &string);
		if (!err)
			err = add(r, string);
	}
	return err;
}

/* Adds the formats of modules, each in a struct trace_bprintk_fmt. */
static struct hv_err *add_list(struct reading *r)
{
	uint32_t list, fmt;
	const struct hv_field fields[] = {{"list", 16, &list}, {"fmt", 8, &fmt}};
	struct hv_circle circle = {0};
	struct hv_gva head;
	uint64_t at;
	struct hv_err *err;

	if (!hv_kernel_symbol(r->k, "trace_bprintk_fmt_list", &head))
		return NULL;
	err = hv_fields_find(&r->k->core, "trace_bprintk_fmt", fields, HV_ARRAY_LEN(fields));
	if (!err)
		err = hv_pages_u64(&r->pages, head, &at);
	while (!err && at != head.v) {
		uint64_t string;

		if (hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "the list has a loop at 0x%llx",
					  (unsigned long long)at);
		err = hv_pages_u64(&r->pages, hv_gva(at - list + fmt), &string);
		if (!err)
			err = add(r, string);
		if (!err)
			err = hv_pages_u64(&r->pages, hv_gva(at), &at);
	}
	return err;
}

static struct hv_err *read_once(const struct hv_kernel *k, struct hv_print_strings *ret)
{
	struct reading r = {.k = k};
	struct hv_err *err;

	hv_pages_init(&r.pages, &k->core.as);
	hv_strings_init(&r.strings, &r.pages, &r.found.store);
	err = add_array(&r, "__start___trace_bprintk_fmt", "__stop___trace_bprintk_fmt");
	if (!err)
		err = add_array(&r, "__start___tracepoint_str", "__stop___tracepoint_str");
	if (!err)
		err = add_list(&r);
	hv_strings_deinit(&r.strings);
	hv_pages_deinit(&r.pages);
	if (err)
		hv_print_strings_deinit(&r.found);
	else
		*ret = r.found;
	return err;
}

struct hv_err *hv_print_strings_read(const struct hv_kernel *k, struct hv_print_strings *ret)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; i < WALKS_MAX; i++) {
		hv_err_free(err);
		err = read_once(k, ret);
		if (!err)
			return NULL;
	}
	return hv_err_in(err, "printk_formats");
}

void hv_print_strings_deinit(struct hv_print_strings *s)
{
	free(s->list);
	hv_store_deinit(&s->store);
	*s = (struct hv_print_strings){0};
}
