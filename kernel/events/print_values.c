/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/print_values.h"

#include <string.h>

#include "base/guard.h"
#include "kernel/kernel.h"

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

bool hv_print_value_size(const struct hv_kernel *k, const char *type, uint32_t *ret_bytes)
{
	return k->core.btf && hv_btf_size(k->core.btf, type, ret_bytes);
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

/* A key of zeros is not initialised yet. */
void hv_print_hashing_read(const struct hv_kernel *k, struct hv_print_hashing *ret)
{
	struct hv_gva at;
	uint8_t off = 0;

	*ret = (struct hv_print_hashing){.is_off = has_plain_pointers(k)};
	if (hv_kernel_symbol(k, "no_hash_pointers", &at) && read_bytes(k, at, &off, sizeof(off)))
		ret->is_off |= off != 0;
	ret->has_key = hv_kernel_symbol(k, "ptr_key", &at) &&
		       read_bytes(k, at, ret->key, sizeof(ret->key)) &&
		       (ret->key[0] || ret->key[1]);
}
