/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/image/release.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/grow.h"
#include "kernel/image/page_hash.h"

#define STEP_PAGES 512u /* pages that a call releases */
#define READ_PAGES 256u /* pages that one request reads from the guest */
#define CODES_MAX  4000000u

enum page_state {
	PAGE_NEW,      /* in memory, not hashed yet */
	PAGE_SAME,     /* in memory, as it was copied first; hashed */
	PAGE_CHANGED,  /* in memory, but the guest changed it since it was copied first */
	PAGE_RELEASED, /* not in memory */
	PAGE_ZERO,     /* all bytes are zero, in memory or not */
};

struct code {
	uint32_t off;
	uint8_t bytes[HV_IMAGE_CODE_BYTES];
};

struct hold {
	struct hv_gva_range range;
	unsigned nr; /* 0: unused */
};

struct hv_image_pages {
	struct hv_guest *guest; /* borrowed */
	bool is_allowed;
	bool was_used; /* since the last hv_image_release_some() */
	hv_image_put_back_fn put_back;
	void *ctx;
	struct code *codes; /* owned; sorted by offset once a page was released */
	size_t nr_codes, cap_codes;
	struct hold *holds; /* owned */
	size_t nr_holds, cap_holds;
	struct hv_page_key key;
	/* Owned; NULL: no page was released yet. */
	uint8_t (*hashes)[HV_PAGE_HASH_BYTES];
	uint8_t *states; /* owned; enum page_state */
	size_t nr;
	size_t next; /* the page to release next */
	uint64_t nr_releases;
};

struct hv_image_pages *hv_image_pages_new(struct hv_guest *g)
{
	struct hv_image_pages *p = hv_alloc(sizeof(*p));

	p->guest = g;
	return p;
}

void hv_image_pages_free(struct hv_image_pages *p)
{
	if (!p)
		return;
	free(p->codes);
	free(p->holds);
	free(p->hashes);
	free(p->states);
	free(p);
}

void hv_image_allow_release(struct hv_image *image, hv_image_put_back_fn fn, void *ctx)
{
	if (!image->pages)
		return;
	image->pages->is_allowed = true;
	image->pages->put_back = fn;
	image->pages->ctx = ctx;
}

void hv_image_forbid_release(struct hv_image *image)
{
	if (!image->pages)
		return;
	image->pages->is_allowed = false;
	image->pages->put_back = NULL;
}

void hv_image_note_code(struct hv_image *image, struct hv_gva at)
{
	struct hv_image_pages *p = image->pages;
	uint64_t off = at.v - image->all.start.v;

	if (!p || p->hashes || p->nr_codes == CODES_MAX || image->len_bytes < HV_IMAGE_CODE_BYTES ||
	    off > image->len_bytes - HV_IMAGE_CODE_BYTES || off > UINT32_MAX)
		return;
	p->codes = hv_grow(p->codes, p->nr_codes, &p->cap_codes, 1024, sizeof(*p->codes));
	p->codes[p->nr_codes].off = (uint32_t)off;
	memcpy(p->codes[p->nr_codes++].bytes, image->bytes + off, HV_IMAGE_CODE_BYTES);
}

static int by_offset(const void *pa, const void *pb)
{
	const struct code *a = pa, *b = pb;

	return a->off < b->off ? -1 : a->off > b->off;
}

/* -- holds ------------------------------------------------------------------------------------- */

static struct hold *find_hold(struct hv_image_pages *p, struct hv_gva_range range)
{
	for (size_t i = 0; i < p->nr_holds; i++)
		if (p->holds[i].range.start.v == range.start.v &&
		    p->holds[i].range.end.v == range.end.v)
			return &p->holds[i];
	return NULL;
}

void hv_image_hold(const struct hv_image *image, struct hv_gva_range range)
{
	struct hv_image_pages *p = image->pages;
	struct hold *hold = p ? find_hold(p, range) : NULL;

	if (hold)
		hold->nr++;
	if (!p || hold)
		return;
	p->holds = hv_grow(p->holds, p->nr_holds, &p->cap_holds, 4, sizeof(*p->holds));
	p->holds[p->nr_holds++] = (struct hold){range, 1};
}

void hv_image_unhold(const struct hv_image *image, struct hv_gva_range range)
{
	struct hold *hold = image->pages ? find_hold(image->pages, range) : NULL;

	if (hold && hold->nr)
		hold->nr--;
}

static bool is_held(const struct hv_image_pages *p, struct hv_gva start, size_t len_bytes)
{
	for (size_t i = 0; i < p->nr_holds; i++)
		if (p->holds[i].nr && p->holds[i].range.start.v < start.v + len_bytes &&
		    start.v < p->holds[i].range.end.v)
			return true;
	return false;
}

/* -- releasing --------------------------------------------------------------------------------- */

static struct hv_span page_at(const struct hv_image *image, size_t index)
{
	size_t off = index * HV_IMAGE_PAGE, rest = image->len_bytes - off;

	return (struct hv_span){image->bytes + off, rest < HV_IMAGE_PAGE ? rest : HV_IMAGE_PAGE};
}

static bool is_zero(struct hv_span page)
{
	return !page.data[0] && !memcmp(page.data, page.data + 1, page.len_bytes - 1);
}

/* Returns false if pages can never be released. */
static bool prepare(const struct hv_image *image)
{
	struct hv_image_pages *p = image->pages;

	if (p->hashes)
		return true;
	if (!hv_page_key_make(&p->key))
		return false;
	p->nr = (image->len_bytes + HV_IMAGE_PAGE - 1) / HV_IMAGE_PAGE;
	p->hashes = hv_alloc(p->nr * sizeof(*p->hashes));
	p->states = hv_alloc(p->nr);
	if (p->nr_codes)
		qsort(p->codes, p->nr_codes, sizeof(*p->codes), by_offset);
	p->codes = hv_realloc_array(p->codes, p->nr_codes + 1, sizeof(*p->codes));
	return true;
}

/* Returns the pages of the host that are inside the copy of pages FROM..END. */
static void drop(const struct hv_image *image, size_t from, size_t end)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	size_t end_off = end * HV_IMAGE_PAGE;
	uintptr_t at = (uintptr_t)image->bytes + from * HV_IMAGE_PAGE, to;

	if (end_off > image->len_bytes)
		end_off = image->len_bytes;
	at = (at + page - 1) & ~(page - 1);
	to = ((uintptr_t)image->bytes + end_off) & ~(page - 1);
	if (at < to)
		(void)madvise((void *)at, to - at, MADV_DONTNEED);
}

/* Returns whether the memory of page INDEX can be returned. */
static bool release(const struct hv_image *image, size_t index)
{
	struct hv_image_pages *p = image->pages;
	struct hv_span page = page_at(image, index);

	if (is_held(p, hv_gva_add(image->all.start, index * HV_IMAGE_PAGE), page.len_bytes))
		return false;
	if (p->states[index] == PAGE_NEW && is_zero(page))
		p->states[index] = PAGE_ZERO;
	if (p->states[index] == PAGE_NEW)
		hv_page_hash(&p->key, page, p->hashes[index]);
	if (p->states[index] != PAGE_ZERO && p->states[index] != PAGE_RELEASED) {
		p->states[index] = PAGE_RELEASED;
		p->nr_releases++;
	}
	return true;
}

bool hv_image_release_some(const struct hv_image *image)
{
	struct hv_image_pages *p = image->pages;
	size_t from, end;

	if (!p || !p->is_allowed || !prepare(image))
		return false;
	if (p->was_used) {
		p->was_used = false;
		p->next = 0;
		return false;
	}
	end = p->nr - p->next < STEP_PAGES ? p->nr : p->next + STEP_PAGES;
	for (from = p->next; p->next < end; p->next++) {
		if (release(image, p->next))
			continue;
		drop(image, from, p->next);
		from = p->next + 1;
	}
	drop(image, from, end);
	return p->next < p->nr;
}

/* -- loading ----------------------------------------------------------------------------------- */

/* Puts the stored bytes of code into the copy at FROM_OFF..END_OFF. */
static void put_back_codes(const struct hv_image *image, size_t from_off, size_t end_off)
{
	const struct hv_image_pages *p = image->pages;
	size_t i = HV_BISECT(at, p->nr_codes, p->codes[at].off + HV_IMAGE_CODE_BYTES <= from_off);

	for (; i < p->nr_codes && p->codes[i].off < end_off; i++)
		for (size_t byte = 0; byte < HV_IMAGE_CODE_BYTES; byte++) {
			size_t off = p->codes[i].off + byte;

			if (off >= from_off && off < end_off)
				image->bytes[off] = p->codes[i].bytes[byte];
		}
}

/* Reads pages FROM..END again. On failure they stay released. */
static struct hv_err *read_pages(const struct hv_image *image, size_t from, size_t end)
{
	struct hv_image_pages *p = image->pages;
	size_t off = from * HV_IMAGE_PAGE, end_off = end * HV_IMAGE_PAGE;
	struct hv_err *err;

	if (end_off > image->len_bytes)
		end_off = image->len_bytes;
	hv_populate(image->bytes + off, end_off - off);
	err = hv_guest_read(p->guest, hv_gpa_add(image->gpa, off), image->bytes + off,
			    end_off - off);
	if (err)
		return hv_err_in(err, "kernel image at 0x%llx",
				 (unsigned long long)(image->all.start.v + off));
	put_back_codes(image, off, end_off);
	if (p->put_back)
		p->put_back(p->ctx, hv_gva_add(image->all.start, off), image->bytes + off,
			    end_off - off);
	for (size_t i = from; i < end; i++) {
		uint8_t hash[HV_PAGE_HASH_BYTES];

		hv_page_hash(&p->key, page_at(image, i), hash);
		p->states[i] = memcmp(hash, p->hashes[i], sizeof(hash)) ? PAGE_CHANGED : PAGE_SAME;
	}
	return NULL;
}

struct hv_err *hv_image_load(const struct hv_image *image, size_t off, size_t len_bytes)
{
	struct hv_image_pages *p = image->pages;
	struct hv_err *err = NULL;
	size_t end, last;

	if (!p || !p->hashes || !len_bytes)
		return NULL;
	p->was_used = true;
	last = (off + len_bytes - 1) / HV_IMAGE_PAGE;
	for (size_t from = off / HV_IMAGE_PAGE; !err && from <= last; from = end) {
		for (end = from;
		     end <= last && end - from < READ_PAGES && p->states[end] == PAGE_RELEASED;
		     end++)
			;
		if (end > from)
			err = read_pages(image, from, end);
		else
			end++;
	}
	return err;
}

struct hv_err *hv_image_load_again(const struct hv_image *image, struct hv_gva_range range)
{
	struct hv_image_pages *p = image->pages;
	uint64_t off = range.start.v - image->all.start.v;
	uint64_t len_bytes = range.end.v - range.start.v;

	if (!p || !p->hashes || off >= image->len_bytes || !len_bytes)
		return NULL;
	if (len_bytes > image->len_bytes - off)
		len_bytes = image->len_bytes - off;
	for (size_t i = off / HV_IMAGE_PAGE; i <= (off + len_bytes - 1) / HV_IMAGE_PAGE; i++)
		if (p->states[i] == PAGE_CHANGED)
			p->states[i] = PAGE_RELEASED;
	return hv_image_load(image, off, len_bytes);
}

bool hv_image_is_changed(const struct hv_image *image, struct hv_gva at)
{
	const struct hv_image_pages *p = image->pages;
	uint64_t off = at.v - image->all.start.v;

	return p && p->hashes && off < image->len_bytes &&
	       p->states[off / HV_IMAGE_PAGE] == PAGE_CHANGED;
}

bool hv_image_has_changed(const struct hv_image *image, struct hv_gva_range range)
{
	for (struct hv_gva at = range.start; at.v < range.end.v; at = hv_gva_add(at, HV_IMAGE_PAGE))
		if (hv_image_is_changed(image, at))
			return true;
	return range.end.v > range.start.v && hv_image_is_changed(image, hv_gva(range.end.v - 1));
}

uint64_t hv_image_use(const struct hv_image *image)
{
	if (!image->pages)
		return 0;
	image->pages->was_used = true;
	return image->pages->nr_releases;
}

size_t hv_image_released_bytes(const struct hv_image *image)
{
	const struct hv_image_pages *p = image->pages;
	size_t nr = 0;

	for (size_t i = 0; p && p->hashes && i < p->nr; i++)
		nr += p->states[i] == PAGE_RELEASED;
	return nr * HV_IMAGE_PAGE;
}
