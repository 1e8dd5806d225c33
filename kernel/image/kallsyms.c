/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads symbols from kallsyms in memory. kallsyms_names.h finds the names. The addresses are in a
 * table before or after them. It is tried with each format that some kernel version uses until the
 * addresses are plausible. */
#include "kernel/image/kallsyms.h"

#include <string.h>

#include "base/cancel.h"
#include "kernel/image/kallsyms_names.h"

/* Kernels have some 200,000 names of 20 bytes. */
#define NAMES_MAX	2000000u
#define NAMES_MAX_BYTES (64ull << 20)
/* Average memory per name. */
#define NAME_BYTES	((size_t)24)

#define BANNER	   "Linux version "
/* Minimum alignment of _stext. An address of another symbol, from a wrong index, hardly has it. */
#define TEXT_ALIGN 4096

/* The formats of the table, as kallsyms_sym_address() of some kernel reads it. */
enum reading {
	PLACE_RELATIVE,	 /* s32 from the entry's own address: 7.0 */
	BASE_RELATIVE,	 /* u32 from relative_base: 4.6 (2213e9a66bb8) with !SMP, all since 6.15 */
	ABSOLUTE_PERCPU, /* u32 from relative_base, but constants and per-CPU offsets are not
			    negative and others are -1 - s32: 4.6 to 6.14 */
	ABSOLUTE,	 /* u64: before 4.6, or without KALLSYMS_BASE_RELATIVE, gone in 6.11 */
};

struct addresses {
	enum reading reading;
	struct hv_span table; /* starting with the first entry */
	struct hv_gva at;
	uint64_t base;
};

static size_t align_up(size_t v, size_t to)
{
	return (v + to - 1) & ~(to - 1);
}

/* Finds the table for READING, and its base. The table is immediately before num_syms (until 6.3)
 * or after the token index (since 6.4, 404bad70fcf7). Tables are aligned to 8 bytes, or to 4 if
 * they contain nothing larger (7.x). */
static bool place_table(const struct hv_image *image, const struct hv_kallsyms_names *names,
			enum reading reading, bool behind, size_t alignment, struct addresses *ret)
{
	struct hv_span all = names->image;
	size_t width = reading == ABSOLUTE ? 8 : 4;
	size_t table_len = align_up(names->nr * width, alignment);
	size_t base_len = reading == BASE_RELATIVE || reading == ABSOLUTE_PERCPU ? 8 : 0;
	size_t start = align_up(names->token_index_off + 256 * sizeof(uint16_t), alignment);

	if (!behind) {
		start = names->num_syms_off & ~(alignment - 1);
		if (start < table_len + base_len)
			return false;
		start -= table_len + base_len;
	}
	if (!hv_span_has(all, start, table_len + base_len))
		return false;
	*ret = (struct addresses){
		.reading = reading,
		.table = {all.data + start, all.len_bytes - start},
		.at = hv_gva_add(image->all.start, start),
	};
	return !base_len || hv_span_u64(all, start + table_len, &ret->base);
}

static struct hv_gva address(const struct addresses *a, size_t i)
{
	uint64_t whole = 0;
	uint32_t half = 0;
	int32_t offset;

	if (a->reading == ABSOLUTE) {
		hv_span_u64(a->table, i * sizeof(whole), &whole);
		return hv_gva(whole);
	}
	hv_span_u32(a->table, i * sizeof(half), &half);
	offset = (int32_t)half;
	if (a->reading == BASE_RELATIVE)
		return hv_gva(a->base + half);
	if (a->reading == PLACE_RELATIVE)
		return hv_gva(a->at.v + i * sizeof(half) + (uint64_t)(int64_t)offset);
	if (offset >= 0)
		return hv_gva((uint64_t)offset);
	return hv_gva(a->base - 1 - (uint64_t)(int64_t)offset);
}

/* Indices of the symbols that show whether a reading is correct; the number of symbols if the
 * symbol does not exist. */
struct proof {
	size_t banner;
	size_t text;
};

static struct proof find_proof(const struct hv_symbols *s)
{
	struct proof p = {s->nr, s->nr};

	for (size_t i = 0; i < s->nr; i++) {
		const char *name = s->by_addr[i].name;

		if (name[0] == 'l' && !strcmp(name, "linux_banner"))
			p.banner = i;
		else if (name[0] == '_' && !strcmp(name, "_stext"))
			p.text = i;
	}
	return p;
}

/* Fills in the addresses and checks them: they must ascend, linux_banner must be at the banner, and
 * _stext in the text. A kernel without KALLSYMS_ALL has only functions, hence no linux_banner. */
static bool read_right(const struct hv_image *image, const struct addresses *a,
		       const struct proof *proof, struct hv_symbols *s)
{
	struct hv_gva last = hv_gva(0);
	const size_t nr = s->nr;

	if (proof->banner < nr) {
		struct hv_span at = hv_image_at(image, address(a, proof->banner));

		if (!hv_span_has(at, 0, strlen(BANNER)) || memcmp(at.data, BANNER, strlen(BANNER)))
			return false;
	}
	if (proof->text >= nr || !hv_gva_in(address(a, proof->text), image->text) ||
	    address(a, proof->text).v % TEXT_ALIGN)
		return false;
	for (size_t i = 0; i < nr; i++) {
		struct hv_gva here = address(a, i);

		if (here.v < last.v)
			return false;
		last = here;
		s->by_addr[i].addr = here;
	}
	return true;
}

static bool find_addresses(const struct hv_image *image, const struct hv_kallsyms_names *names,
			   struct hv_symbols *s)
{
	static const enum reading readings[] = {ABSOLUTE_PERCPU, BASE_RELATIVE, PLACE_RELATIVE,
						ABSOLUTE};
	struct proof proof = find_proof(s);
	struct addresses a;

	for (size_t i = 0; i < HV_ARRAY_LEN(readings); i++)
		for (unsigned place = 0; place < 4; place++)
			if (place_table(image, names, readings[i], place & 1, place & 2 ? 4 : 8,
					&a) &&
			    read_right(image, &a, &proof, s))
				return true;
	return false;
}

/* Expands all names into RET->names, which has LEN_BYTES and room for one more name. Each name is
 * preceded by its type; after that is stored in by_addr, its byte becomes the NUL of the previous
 * name. Returns the number of bytes used, or 0 if a name is invalid or the names do not fit. */
static size_t expand_names(const struct hv_kallsyms_names *names, size_t len_bytes,
			   struct hv_symbols *ret)
{
	size_t off = names->names_off, at = 0;

	for (uint32_t i = 0; i < names->nr; i++) {
		char *name = ret->names + at;
		size_t len = hv_kallsyms_name(names, &off, name);

		if (!len || len > len_bytes - at || hv_cancel_now(i))
			return 0;
		ret->by_addr[i] = (struct hv_symbol){hv_gva(0), name + 1, name[0]};
		/* The byte of the type is the NUL of the previous name. */
		name[0] = '\0';
		at += len;
	}
	ret->names[at] = '\0';
	return at + 1;
}

/* Releases the unused part of the memory for names. */
static void trim_names(struct hv_symbols *s, size_t len_bytes)
{
	const uintptr_t before = (uintptr_t)s->names;

	s->names = hv_realloc_array(s->names, len_bytes, 1);
	for (size_t i = 0; (uintptr_t)s->names != before && i < s->nr; i++)
		s->by_addr[i].name = s->names + ((uintptr_t)s->by_addr[i].name - before);
}

static struct hv_err *read_names(const struct hv_kallsyms_names *names, struct hv_symbols *ret)
{
	size_t max = hv_kallsyms_names_max(names), total;
	struct hv_err *err;

	if (max > NAMES_MAX_BYTES)
		max = NAMES_MAX_BYTES;
	ret->nr = names->nr;
	ret->names = hv_realloc_array(NULL, max + HV_KALLSYMS_NAME_ROOM, 1);
	ret->by_addr = hv_realloc_array(NULL, names->nr, sizeof(*ret->by_addr));
	hv_populate(ret->names, max < names->nr * NAME_BYTES ? max : names->nr * NAME_BYTES);
	hv_populate(ret->by_addr, names->nr * sizeof(*ret->by_addr));
	total = expand_names(names, max, ret);
	err = hv_cancel_check();
	if (err)
		return err;
	if (!total)
		return hv_err_new(ENOENT, "%u names at +0x%zx of the kernel image do not expand",
				  names->nr, names->names_off);
	trim_names(ret, total);
	return NULL;
}

static struct hv_err *read_symbols(const struct hv_image *image, struct hv_symbols *ret)
{
	size_t text_end_off = (size_t)(image->text.end.v - image->all.start.v);
	struct hv_kallsyms_names names;
	struct hv_err *err = hv_kallsyms_names_find(
		(struct hv_span){image->bytes, image->len_bytes}, text_end_off, &names);

	if (!err && names.nr > NAMES_MAX)
		err = hv_err_new(ENOENT, "%u names: more than any kernel has", names.nr);
	if (!err)
		err = read_names(&names, ret);
	if (!err)
		err = hv_cancel_check();
	if (err)
		return err;
	if (!find_addresses(image, &names, ret))
		return hv_err_new(ENOENT,
				  "%u names at +0x%zx of the kernel image, but no table of their "
				  "addresses",
				  names.nr, names.names_off);
	hv_symbols_index(ret);
	return NULL;
}

struct hv_err *hv_kallsyms_read(const struct hv_image *image, struct hv_symbols *ret)
{
	struct hv_symbols s = {0};
	struct hv_err *err = read_symbols(image, &s);

	if (err) {
		hv_symbols_deinit(&s);
		return hv_err_in(err, "kallsyms");
	}
	*ret = s;
	return NULL;
}
