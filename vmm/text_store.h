/* A few bytes of text written so that whoever writes may be killed at any instruction and they are
 * the old ones or the new ones: by one instruction that stores eight bytes, the neighbours as they
 * are. For text of a guest that stands: nobody else writes the neighbours meanwhile, which are of
 * the same page, and nobody sees the store half done where it crosses a cache line. */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <string.h>

struct hv_text_word {
	uint64_t bytes;
} __attribute__((packed, may_alias));

#define HV_TEXT_PAGE 4096u

/* Writes BYTES (LEN, at most 8) at START + OFF; START is that of a page, and so is the end of what
 * may be written. */
static inline void hv_text_store(uint8_t *start, uint64_t off, const void *bytes, size_t len)
{
	uint64_t last = (off | (HV_TEXT_PAGE - 1)) + 1 - sizeof(uint64_t); /* of this page */
	uint64_t at = off + len - 1 > (off | (HV_TEXT_PAGE - 1)) || off < last ? off : last;
	volatile struct hv_text_word *word = (void *)(start + at);
	uint64_t value = word->bytes;

	assert(len && len <= sizeof(value));
	memcpy((uint8_t *)&value + (off - at), bytes, len);
	word->bytes = value;
}
