/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Releases the memory of the image's copy while the copy is not in use.
 *
 * Before a page is released, its keyed hash is stored. When the page is needed again, it is read
 * from the guest into private memory; bytes of code that the kernel or hvtrace may have changed
 * since are put back; and the hash of the result is compared with the stored one. A page that
 * matches is the page that was copied first. A page that does not match is *changed*: the guest
 * wrote to it elsewhere, and it contains what the guest has now.
 *
 * One thread. Memory that other objects borrow must be held. */
#pragma once

#include "kernel/image/image.h"

#define HV_IMAGE_PAGE	    4096u
#define HV_IMAGE_CODE_BYTES 8 /* the longest instruction that a kernel patches while it runs */

/* Puts original bytes into BYTES, a new copy of LEN_BYTES of the guest's memory at AT. */
typedef void (*hv_image_put_back_fn)(void *ctx, struct hv_gva at, uint8_t *bytes, size_t len_bytes);

/* Makes the state that release needs; hv_image_deinit() frees it. */
struct hv_image_pages *hv_image_pages_new(struct hv_guest *g);
void hv_image_pages_free(struct hv_image_pages *p);

/* Allows releases. FN, which may be NULL, puts back what hvtrace has patched. */
void hv_image_allow_release(struct hv_image *image, hv_image_put_back_fn fn, void *ctx);
/* Ends the use of FN. Released pages can still be read again. */
void hv_image_forbid_release(struct hv_image *image);
/* Stores the bytes of the copy at AT, which the kernel may change while it runs. Has no effect
 * outside the copy. Call it before the first release. */
void hv_image_note_code(struct hv_image *image, struct hv_gva at);

/* Keeps RANGE in memory until hv_image_unhold() was called as often as hv_image_hold(). Does
 * nothing for an image that is never released. */
void hv_image_hold(const struct hv_image *image, struct hv_gva_range range);
void hv_image_unhold(const struct hv_image *image, struct hv_gva_range range);

/* Releases a part of the copy that is not held, if no page was used since the last call. Returns
 * whether more can be released: then call it again, soon; otherwise after about a second. A call
 * takes about 3 ms. */
bool hv_image_release_some(const struct hv_image *image);

/* Reads the released pages of LEN_BYTES at OFF again. */
struct hv_err *hv_image_load(const struct hv_image *image, size_t off,
			     size_t len_bytes) hv_must_use;
/* Like hv_image_load(), but also reads changed pages again. */
struct hv_err *hv_image_load_again(const struct hv_image *image,
				   struct hv_gva_range range) hv_must_use;
/* Returns whether the page that contains AT is changed. */
bool hv_image_is_changed(const struct hv_image *image, struct hv_gva at);
bool hv_image_has_changed(const struct hv_image *image, struct hv_gva_range range);
/* Notes a use of the copy, and returns a number that changes when a page is released. */
uint64_t hv_image_use(const struct hv_image *image);
/* Returns the number of bytes that are released. */
size_t hv_image_released_bytes(const struct hv_image *image);
