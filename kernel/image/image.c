/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the kernel image.
 *
 * The address range for images also contains modules, BPF programs and, in a guest that was traced
 * before, hvtrace's memory. Unlike these, the image is physically contiguous: all its pages have
 * the same distance between virtual and physical address (x86: __START_KERNEL_map - phys_base,
 * arm64: kimage_voffset). Pages that are freed after boot may be unmapped (x86 with KPTI:
 * free_kernel_image_pages()), so a hole does not end the image. */
#include "kernel/image/image.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/grow.h"
#include "kernel/image/release.h"

/* swapper_pg_dir follows the text in every arm64 image (arch/arm64/kernel/vmlinux.lds.S), and
 * images are physically contiguous. The header of the image contains the page size, but its memory
 * is freed after boot (e2a073dde921, v5.11). */

/* For an image with all debug options. */
#define SEARCHED_BYTES_MAX (256ull << 20)
#define CHUNK_BYTES	   (1u << 20)
/* How far to search after a match, which may be in KPTI's tables for user mode (tramp_pg_dir): they
 * also map the entry code, and swapper_pg_dir is a few pages after them. */
#define BEHIND_CHUNKS	   2

/* If all vCPUs of a guest compute in user mode, the timer tick interrupts them at least every 10
 * ms, but may take only a few microseconds. So the registers are read often. */
#define LOOKS_MAX    2000
#define LOOK_NS	     250000
#define NR_ADDRESSES 8

/* A virtual address with a known physical address. */
struct anchor {
	struct hv_gva gva;
	struct hv_gpa gpa;
};

static bool leads_there(const struct hv_address_space *as, struct anchor anchor)
{
	struct hv_mapping m;
	HV_AUTO_ERR struct hv_err *err = hv_walk(as, anchor.gva, &m);

	return !err && m.present && m.executable && m.gpa.v == anchor.gpa.v;
}

/* The best root found. The kernel's own has the most entries; KPTI's root has one. */
struct best {
	struct hv_address_space as;
	unsigned nr_entries; /* 0: not found yet */
};

/* Returns the number of present entries in the root table TABLE. CHUNK, which is at AT, contains
 * it. */
static unsigned count_entries(const struct hv_arch *arch, struct hv_span chunk, struct hv_gpa at,
			      struct hv_gpa table)
{
	unsigned levels = arch->format_levels, nr = 0;
	uint64_t first = arch->entry_at(table, levels, arch->kernel_start(levels)).v - at.v;
	uint64_t last = arch->entry_at(table, levels, hv_gva(UINT64_MAX)).v - at.v;
	uint64_t entry;

	for (uint64_t off = first; off <= last && hv_span_u64(chunk, off, &entry); off += 8)
		nr += arch->decode_entry(levels, entry).present;
	return nr;
}

/* Tries each page of CHUNK, which is at AT, as a root in the format of ARCH. */
static void search_chunk(struct hv_guest *g, const struct hv_arch *arch, struct hv_span chunk,
			 struct hv_gpa at, struct anchor anchor, struct best *best)
{
	unsigned levels = arch->format_levels;
	uint64_t page_bytes = arch->entry_span(1);

	for (uint64_t off = -at.v & (page_bytes - 1); off < chunk.len_bytes; off += page_bytes) {
		struct hv_gpa table = hv_gpa_add(at, off);
		struct hv_address_space as = {g, arch, table, levels};
		uint64_t entry_off = arch->entry_at(table, levels, anchor.gva).v - at.v;
		struct hv_pt_entry e;
		uint64_t entry;
		unsigned nr;

		if (!hv_span_u64(chunk, entry_off, &entry))
			continue;
		e = arch->decode_entry(levels, entry);
		if (!e.present || e.leaf || !leads_there(&as, anchor))
			continue;
		nr = count_entries(arch, chunk, at, table);
		if (nr > best->nr_entries)
			*best = (struct best){as, nr};
	}
}

/* Tries the pages from START on, in one format. */
static struct hv_err *search_in(struct hv_guest *g, const struct hv_arch *format,
				struct hv_gpa start, struct anchor anchor, struct best *best)
{
	HV_AUTO_FREE uint8_t *bytes = hv_alloc(CHUNK_BYTES);
	unsigned left = SEARCHED_BYTES_MAX / CHUNK_BYTES;

	for (struct hv_gpa at = start; left; left--, at = hv_gpa_add(at, CHUNK_BYTES)) {
		struct hv_err *err = hv_cancel_check();

		if (err)
			return err;
		err = hv_guest_read(g, at, bytes, CHUNK_BYTES);
		if (err && err->code == EFAULT) { /* the end of RAM */
			hv_err_free(err);
			return NULL;
		}
		if (err)
			return err;
		search_chunk(g, format, (struct hv_span){bytes, CHUNK_BYTES}, at, anchor, best);
		if (best->nr_entries && left > BEHIND_CHUNKS)
			left = BEHIND_CHUNKS;
	}
	return NULL;
}

static struct hv_err *search_from(struct hv_guest *g, struct anchor anchor,
				  struct hv_address_space *ret, bool *ret_found)
{
	const struct hv_arch *const *formats = hv_guest_info(g)->arch->formats;
	struct hv_gpa start = {anchor.gpa.v & ~(uint64_t)(CHUNK_BYTES - 1)};
	struct best best = {0};
	struct hv_err *err = NULL;

	for (const struct hv_arch *const *f = formats; !err && !best.nr_entries && *f; f++)
		err = search_in(g, *f, start, anchor, &best);
	if (err || !best.nr_entries)
		return err;
	*ret = best.as;
	*ret_found = true;
	return NULL;
}

/* Code in hvtrace's region, which a vCPU may execute, is not in RAM and not followed by an
 * image. */
static struct hv_err *is_in_ram(struct hv_guest *g, struct hv_gpa at, bool *ret)
{
	uint8_t byte;
	struct hv_err *err = hv_guest_read(g, at, &byte, sizeof(byte));

	*ret = !err;
	if (!err || err->code != EFAULT)
		return err;
	hv_err_free(err);
	return NULL;
}

/* Searches from the addresses in REGS that were not tried before. */
static struct hv_err *search_by(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
				uint64_t *tried, unsigned *nr_tried, struct hv_address_space *ret,
				bool *ret_found)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; !err && !*ret_found && i < nr && *nr_tried < NR_ADDRESSES; i++) {
		struct anchor anchor = {regs[i].ip, regs[i].ip_gpa};
		bool was_tried = false, in_ram = false;

		for (unsigned j = 0; j < *nr_tried; j++)
			was_tried |= tried[j] == anchor.gva.v;
		if (anchor.gpa.v && !was_tried)
			err = is_in_ram(g, anchor.gpa, &in_ram);
		if (err || !in_ram)
			continue;
		tried[(*nr_tried)++] = anchor.gva.v;
		err = search_from(g, anchor, ret, ret_found);
	}
	return err;
}

struct hv_err *hv_root_search(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
			      struct hv_address_space *ret)
{
	HV_AUTO_FREE struct hv_vcpu_regs *now = hv_alloc(nr * sizeof(*now));
	uint64_t tried[NR_ADDRESSES];
	unsigned nr_tried = 0;
	bool found = false;
	struct hv_err *err = NULL;

	memcpy(now, regs, nr * sizeof(*now));
	for (unsigned i = 0; !err && i < LOOKS_MAX; i++) {
		err = search_by(g, now, nr, tried, &nr_tried, ret, &found);
		if (found || nr_tried == NR_ADDRESSES)
			break;
		if (!err)
			err = hv_cancel_check();
		if (!err)
			nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		if (!err)
			err = hv_guest_registers(g, now, nr);
	}
	if (err || found)
		return err;
	if (!nr_tried)
		return hv_err_new(ENOENT,
				  "no vCPU was seen in a kernel: firmware or a boot loader, or "
				  "all of them run in user mode");
	return hv_err_new(ENOENT,
			  "no page tables at 0x%llx: firmware or a boot loader, or a kernel "
			  "that is starting",
			  (unsigned long long)tried[0]);
}

/* The largest hole in an image is the freed init code and data. */
#define HOLE_MAX_BYTES	(64ull << 20)
#define IMAGE_MAX_BYTES (512ull << 20)
#define FIRST_ALIGN	4096

/* x86 has 512. arm64 has 512 with 4 KiB pages, which are usual, and 8192 with 64 KiB pages. */
#define TABLE_ENTRIES_MAX 8192

#define TRAP_TABLE_BYTES 4096

/* Limits on guest page tables. A range of 1 GiB (x86) needs some 500 tables of 512 entries; one
 * with vmalloc() mappings and the array of all pages (arm64) a few thousand. */
#define ENTRIES_MAX (65536u * 512)
#define EXTENTS_MAX 4194304u

/* Tables in the region; their real number is lower (HV_REGION_TABLES_BYTES). */
#define ELSEWHERE_MAX 64

struct extent { /* adjacent mappings with equal distance and access */
	uint64_t start;
	uint64_t end;
	uint64_t distance; /* gva - gpa */
	bool executable;
};

struct window {
	struct extent *list; /* owned; ascending, disjoint */
	size_t nr;
	size_t cap;
	uint64_t nr_entries; /* table entries that were read */
	uint64_t mapped_bytes;
	unsigned nr_elsewhere; /* tables outside RAM */
};

static void window_deinit(struct window *w)
{
	free(w->list);
	*w = (struct window){0};
}

static void window_add(struct window *w, uint64_t start, uint64_t len_bytes, uint64_t distance,
		       bool executable)
{
	struct extent *last = w->nr ? &w->list[w->nr - 1] : NULL;

	w->mapped_bytes += len_bytes;
	if (last && last->end == start && last->distance == distance &&
	    last->executable == executable) {
		last->end += len_bytes;
		return;
	}
	w->list = hv_grow(w->list, w->nr, &w->cap, 64, sizeof(*w->list));
	w->list[w->nr++] = (struct extent){start, start + len_bytes, distance, executable};
}

/* Returns whether a table of LEVEL is unreadable because hvtrace may have mapped the region with
 * it: the region is not RAM. */
static bool is_of_region(const struct hv_arch *arch, unsigned level, const struct hv_err *err,
			 struct window *w)
{
	return arch->make_table && level < arch->map_level && err->code == EFAULT &&
	       w->nr_elsewhere++ < ELSEWHERE_MAX;
}

/* Adds the mappings of FIRST..LAST in TABLE, which has LEVEL and covers both. Reads each table in
 * one piece; the recursion depth is the number of levels. */
static struct hv_err *scan_table(const struct hv_address_space *as, struct hv_gpa table,
				 unsigned level, uint64_t first, uint64_t last, bool executable,
				 struct window *w)
{
	uint64_t span = as->arch->entry_span(level);
	uint64_t nr = last / span - first / span + 1;
	HV_AUTO_FREE uint64_t *entries = NULL;
	struct hv_err *err;

	assert(nr <= TABLE_ENTRIES_MAX);
	w->nr_entries += nr;
	if (w->nr_entries > ENTRIES_MAX || w->nr > EXTENTS_MAX)
		return hv_err_new(E2BIG,
				  "page tables: they have more than %u entries, or map more than "
				  "%u pieces",
				  ENTRIES_MAX, EXTENTS_MAX);
	err = level > 1 ? hv_cancel_check() : NULL;
	if (err)
		return err;
	entries = hv_realloc_array(NULL, nr, sizeof(*entries));
	err = hv_guest_read(as->guest, as->arch->entry_at(table, level, hv_gva(first)), entries,
			    nr * sizeof(*entries));
	if (err && is_of_region(as->arch, level, err, w)) {
		hv_err_free(err);
		return NULL;
	}
	if (err)
		return hv_err_in(err, "page table of level %u", level);
	for (uint64_t i = 0; i < nr; i++) {
		struct hv_pt_entry e = as->arch->decode_entry(level, entries[i]);
		uint64_t start = (first / span + i) * span;
		uint64_t from = start < first ? first : start;
		uint64_t to = start + (span - 1) > last ? last : start + (span - 1);
		bool x = executable && e.executable;

		if (!e.present)
			continue;
		if (e.leaf)
			window_add(w, from, to - from + 1, start - e.to.v, x);
		else if (level > 1)
			err = scan_table(as, e.to, level - 1, from, to, x, w);
		if (err)
			return err;
	}
	return NULL;
}

static struct hv_err *scan_window(const struct hv_address_space *as, struct window *ret)
{
	struct hv_gva_range range = as->arch->image_range;
	struct hv_err *err;

	*ret = (struct window){0};
	err = scan_table(as, as->root, as->levels, range.start.v, range.end.v - 1, true, ret);
	if (err)
		window_deinit(ret);
	return err;
}

/* The kernel's own tables are those that map most. The KPTI tables of user mode map only the entry
 * code of the image. */
static struct hv_err *choose_root(struct hv_guest *g, const struct hv_vcpu_regs *regs,
				  struct hv_address_space *ret_as, struct window *ret)
{
	const struct hv_arch *arch = hv_guest_info(g)->arch;
	struct hv_err *first_err = NULL;
	struct hv_gpa roots[2];
	unsigned nr = arch->roots(regs, roots);
	bool found = false;

	for (unsigned i = 0; i < nr; i++) {
		struct hv_address_space as = {g, arch, roots[i], regs->levels};
		struct window w;
		struct hv_err *err = scan_window(&as, &w);

		if (err && !first_err)
			first_err = err;
		else if (err)
			hv_err_free(err);
		else if (found && w.mapped_bytes <= ret->mapped_bytes)
			window_deinit(&w);
		else {
			if (found)
				window_deinit(ret);
			*ret = w;
			*ret_as = as;
			found = true;
		}
	}
	if (found)
		hv_err_free(first_err);
	else if (!first_err)
		first_err = hv_err_new(ENOENT, "no page tables");
	return found ? NULL : first_err;
}

static const struct extent *executable_at(const struct window *w, uint64_t addr)
{
	for (size_t i = 0; i < w->nr; i++)
		if (addr >= w->list[i].start && addr < w->list[i].end)
			return w->list[i].executable ? &w->list[i] : NULL;
	return NULL;
}

static const struct extent *biggest_executable(const struct window *w)
{
	const struct extent *best = NULL;

	for (size_t i = 0; i < w->nr; i++) {
		const struct extent *e = &w->list[i];

		if (e->executable && (!best || e->end - e->start > best->end - best->start))
			best = e;
	}
	return best;
}

/* Returns the extent of kernel text: the one that the trap table points into. If that table is
 * unknown or points nowhere (x86 with FRED needs none), returns the largest executable extent,
 * because modules and BPF programs are small. Returns NULL if nothing is executable. */
static const struct extent *find_text(const struct hv_address_space *as,
				      const struct hv_vcpu_regs *regs, const struct window *w)
{
	uint8_t table[TRAP_TABLE_BYTES];
	const struct extent *text = NULL;
	struct hv_gva target;

	if (regs->trap_table.v) {
		HV_AUTO_ERR struct hv_err *err =
			hv_read(as, regs->trap_table, table, sizeof(table));

		if (!err && as->arch->trap_target((struct hv_span){table, sizeof(table)}, &target))
			text = executable_at(w, target.v);
	}
	return text ? text : biggest_executable(w);
}

/* The bounds of the image: TEXT and the surrounding extents with the same distance. Unrelated
 * extents may be between them. */
static struct hv_gva_range image_bounds(const struct window *w, const struct extent *text)
{
	struct hv_gva_range all = {hv_gva(text->start), hv_gva(text->end)};

	for (const struct extent *e = text; e-- != w->list;)
		if (e->distance == text->distance && all.start.v - e->end <= HOLE_MAX_BYTES)
			all.start.v = e->start;
	for (const struct extent *e = text + 1; e < w->list + w->nr; e++)
		if (e->distance == text->distance && e->start - all.end.v <= HOLE_MAX_BYTES)
			all.end.v = e->end;
	return all;
}

static struct hv_err *copy_piece(struct hv_image *image, struct hv_guest *g, size_t from_off,
				 size_t end_off)
{
	struct hv_err *err;

	hv_populate(image->bytes + from_off, end_off - from_off);
	err = hv_guest_read(g, hv_gpa_add(image->gpa, from_off), image->bytes + from_off,
			    end_off - from_off);
	return err ? hv_err_in(err, "kernel image at 0x%llx",
			       (unsigned long long)(image->all.start.v + from_off))
		   : NULL;
}

/* Copies the parts of the image in W up to the end of the copy, and records the rest. */
static struct hv_err *copy_image(const struct hv_address_space *as, const struct window *w,
				 const struct extent *text, struct hv_image *image)
{
	image->rest = image->len_bytes < image->all.end.v - image->all.start.v
			      ? hv_realloc_array(NULL, w->nr, sizeof(*image->rest))
			      : NULL;
	for (size_t i = 0; i < w->nr; i++) {
		const struct extent *e = &w->list[i];
		size_t from = e->start - image->all.start.v, end = e->end - image->all.start.v;
		size_t end_now = end < image->len_bytes ? end : image->len_bytes;
		struct hv_err *err = NULL;

		if (e->distance != text->distance || !hv_gva_in(hv_gva(e->start), image->all))
			continue;
		if (from < end_now)
			err = copy_piece(image, as->guest, from, end_now);
		if (err)
			return err;
		if (end > end_now)
			image->rest[image->nr_rest++] =
				(struct hv_image_piece){from > end_now ? from : end_now, end};
	}
	return NULL;
}

/* Copies the parts of PIECE that are before END_OFF and outside EXCLUDED. */
static struct hv_err *copy_around(struct hv_image *image, struct hv_guest *g,
				  const struct hv_image_piece *piece, size_t end_off,
				  const struct hv_image_piece *excluded)
{
	size_t end = piece->end_off < end_off ? piece->end_off : end_off;
	size_t before = end < excluded->from_off ? end : excluded->from_off;
	size_t behind = piece->from_off > excluded->end_off ? piece->from_off : excluded->end_off;
	struct hv_err *err = NULL;

	if (piece->from_off < before)
		err = copy_piece(image, g, piece->from_off, before);
	if (!err && behind < end)
		err = copy_piece(image, g, behind, end);
	return err;
}

struct hv_err *hv_image_copy_rest(struct hv_image *image, struct hv_guest *g, struct hv_gva end,
				  struct hv_gva_range excluded)
{
	HV_AUTO_FREE struct hv_image_piece *rest = hv_take(image->rest);
	size_t all = image->all.end.v - image->all.start.v;
	size_t end_off = end.v - image->all.start.v;
	struct hv_image_piece hole = {excluded.start.v - image->all.start.v,
				      excluded.end.v - image->all.start.v};
	struct hv_err *err = NULL;

	if (!rest)
		return NULL;
	if (end_off < image->len_bytes || end_off > all)
		end_off = all;
	if (hole.from_off > hole.end_off || hole.end_off > end_off)
		hole = (struct hv_image_piece){end_off, end_off};
	image->len_bytes = end_off;
	image->bytes = hv_realloc_array(image->bytes, end_off, 1);
	for (size_t i = 0; !err && i < image->nr_rest && rest[i].from_off < end_off; i++)
		err = copy_around(image, g, &rest[i], end_off, &hole);
	image->nr_rest = 0;
	return err;
}

/* Two thirds: Linux links text first, then constants including the symbols, then data, and bss
 * last. */
static size_t first_part(const struct hv_image *image)
{
	return image->len_bytes / 3 * 2 / FIRST_ALIGN * FIRST_ALIGN;
}

/* Amount to copy. */
enum part {
	PART_ALL,
	PART_FIRST,
};

static struct hv_err *image_from_window(const struct hv_address_space *as,
					const struct hv_vcpu_regs *regs, const struct window *w,
					enum part part, struct hv_image *ret)
{
	const struct extent *text;
	struct hv_image image = {0};
	struct hv_err *err;

	if (!w->nr)
		return hv_err_new(
			ENOENT, "no Linux kernel, or none yet: nothing is mapped at 0x%llx..0x%llx",
			(unsigned long long)as->arch->image_range.start.v,
			(unsigned long long)as->arch->image_range.end.v);
	text = find_text(as, regs, w);
	if (!text)
		return hv_err_new(
			ENOENT,
			"no Linux kernel, or none yet: nothing executable at 0x%llx..0x%llx",
			(unsigned long long)as->arch->image_range.start.v,
			(unsigned long long)as->arch->image_range.end.v);
	image.text = (struct hv_gva_range){hv_gva(text->start), hv_gva(text->end)};
	image.all = image_bounds(w, text);
	image.gpa = hv_gpa(image.all.start.v - text->distance);
	image.len_bytes = image.all.end.v - image.all.start.v;
	if (image.len_bytes > IMAGE_MAX_BYTES)
		return hv_err_new(ENOENT,
				  "kernel image of %zu MiB at 0x%llx: more than %llu MiB, "
				  "the kernel may still be starting",
				  image.len_bytes >> 20, (unsigned long long)image.all.start.v,
				  IMAGE_MAX_BYTES >> 20);
	image.bytes = hv_alloc(image.len_bytes);
	image.pages = hv_image_pages_new(as->guest);
	if (part == PART_FIRST)
		image.len_bytes = first_part(&image);
	err = copy_image(as, w, text, &image);
	if (err) {
		hv_image_deinit(&image);
		return err;
	}
	*ret = image;
	return NULL;
}

/* Finds the image in the address space AS. */
static struct hv_err *find_in(const struct hv_address_space *as, struct hv_image *ret)
{
	const struct hv_vcpu_regs no_trap_table = {0};
	struct window w = {0};
	struct hv_err *err = scan_window(as, &w);

	if (!err)
		err = image_from_window(as, &no_trap_table, &w, PART_ALL, ret);
	window_deinit(&w);
	return err;
}

static struct hv_err *find_with(struct hv_guest *g, const struct hv_vcpu_regs *regs, enum part part,
				struct hv_address_space *ret_as, struct hv_image *ret)
{
	struct hv_address_space as;
	struct window w = {0};
	struct hv_err *err;

	if (!regs->levels)
		return hv_err_new(ENOENT,
				  "not in 64-bit mode with paging: "
				  "firmware, a boot loader or a 32-bit kernel, not 64-bit Linux");
	err = choose_root(g, regs, &as, &w);
	if (err)
		return err;
	err = image_from_window(&as, regs, &w, part, ret);
	window_deinit(&w);
	if (!err)
		*ret_as = as;
	return err;
}

static struct hv_err *find(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
			   enum part part, struct hv_address_space *ret_as, struct hv_image *ret)
{
	struct hv_err *told = NULL;

	if (hv_guest_info(g)->arch->formats) {
		told = hv_root_search(g, regs, nr, ret_as);
		return told ? told : find_in(ret_as, ret);
	}
	for (unsigned i = 0; i < nr; i++) {
		struct hv_err *err = find_with(g, &regs[i], part, ret_as, ret);

		if (!err) {
			hv_err_free(told);
			return NULL;
		}
		/* The error of a running vCPU explains more than the error of one that was never
		 * started. */
		if (told && !regs[i].levels) {
			hv_err_free(err);
			continue;
		}
		hv_err_free(told);
		told = hv_err_in(err, "vCPU %u", i);
	}
	return told ? told : hv_err_new(ENOENT, "the guest has no vCPU");
}

struct hv_err *hv_image_find(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
			     struct hv_address_space *ret_as, struct hv_image *ret)
{
	return find(g, regs, nr, PART_ALL, ret_as, ret);
}

struct hv_err *hv_image_find_first(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
				   struct hv_address_space *ret_as, struct hv_image *ret)
{
	return find(g, regs, nr, PART_FIRST, ret_as, ret);
}

/* The memory does not move, because other objects (types) borrow from it. */
void hv_image_keep_until(struct hv_image *image, struct hv_gva end)
{
	uint64_t len_bytes = end.v - image->all.start.v;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at, to;

	if (!len_bytes || len_bytes >= image->len_bytes)
		return;
	at = ((uintptr_t)image->bytes + len_bytes + page - 1) & ~(page - 1);
	to = ((uintptr_t)image->bytes + image->len_bytes) & ~(page - 1);
	if (at < to)
		(void)madvise((void *)at, to - at, MADV_DONTNEED);
	image->len_bytes = len_bytes;
}

void hv_image_deinit(struct hv_image *image)
{
	free(image->bytes);
	free(image->rest);
	hv_image_pages_free(image->pages);
	*image = (struct hv_image){0};
}

struct hv_span hv_image_part(const struct hv_image *image, struct hv_gva gva, size_t max_bytes)
{
	uint64_t off = gva.v - image->all.start.v;
	HV_AUTO_ERR struct hv_err *err = NULL;
	size_t len_bytes;

	if (off >= image->len_bytes)
		return (struct hv_span){NULL, 0};
	len_bytes = image->len_bytes - off < max_bytes ? image->len_bytes - off : max_bytes;
	err = hv_image_load(image, off, len_bytes);
	return err ? (struct hv_span){NULL, 0} : (struct hv_span){image->bytes + off, len_bytes};
}

struct hv_span hv_image_at(const struct hv_image *image, struct hv_gva gva)
{
	return hv_image_part(image, gva, SIZE_MAX);
}
