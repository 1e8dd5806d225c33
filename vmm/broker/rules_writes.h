/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules about single writes, of code and of data, the state that they share, and the ranges that
 * were written. rules.h is implemented with them; private to vmm/broker/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/addr.h"
#include "vmm/broker/rules.h"
#include "vmm/broker/tables.h"

/* -- ranges that were written ------------------------------------------------------------------ */

/* The ranges in guest memory that the privileged side has written, with their original contents. A
 * range has up to eight bytes; ranges may overlap. rules.h decides on writes. */

struct hv_noted_range {
	struct hv_gpa gpa;
	struct hv_gva gva;
	uint8_t len_bytes;		 /* 0: an unused entry of the table */
	bool had_pointer;		 /* it has contained a pointer to the region */
	bool is_journalled;		 /* BEFORE comes from an earlier session's journal */
	uint8_t bit;			 /* the only bit of the byte that may change */
	uint8_t before[HV_SITE_LEN_MAX]; /* the guest's original bytes */
	uint8_t after[HV_SITE_LEN_MAX];	 /* the last bytes written, unless the write was not made */
	uint8_t was[HV_SITE_LEN_MAX];	 /* the bytes immediately before that write */
};

struct hv_noted {
	struct hv_noted_range *table; /* owned; NULL if empty */
	size_t nr, nr_buckets;	      /* nr_buckets: a power of two, or 0 */
};

/* Several times the capacity of the journal. */
#define HV_NOTED_MAX (1u << 19)

void hv_noted_deinit(struct hv_noted *p);

/* Returns NULL if no range begins at GPA. */
struct hv_noted_range *hv_noted_find(const struct hv_noted *p, struct hv_gpa gpa);
/* Reserves memory for NR more ranges, so that ranges do not move when they are added. */
void hv_noted_reserve(struct hv_noted *p, size_t nr);
/* Returns the range that begins at GPA, or adds one with only gpa and len_bytes (1 to 8) set. The
 * caller keeps the number of ranges below HV_NOTED_MAX. Moves other ranges unless memory was
 * reserved. */
struct hv_noted_range *hv_noted_add(struct hv_noted *p, struct hv_gpa gpa, uint32_t len_bytes);
/* Returns the next range after *NEXT, which starts as 0, that overlaps the LEN_BYTES at GPA.
 * Returns NULL at the end. */
struct hv_noted_range *hv_noted_overlapping(const struct hv_noted *p, struct hv_gpa gpa,
					    uint32_t len_bytes, uint64_t *next);
/* Reserves memory, so that many ranges can be added before the table grows. Drops ranges for which
 * KEEP returns false, if there are many. Called outside of holds. */
void hv_noted_tidy(struct hv_noted *p, bool (*keep)(const struct hv_noted_range *range));

/* -- rules about writes ------------------------------------------------------------------------ */

#define HV_RULES_PAGE_BYTES 4096
#define HV_RULES_LED_MAX    64
/* Limit for kinds of bits (struct hv_bit_kind): the flag of tasks for system-call tracepoints, and
 * the claim in a module's use count. */
#define HV_RULES_BITS_MAX   2

/* The kind of an allowed write. */
enum hv_write_kind {
	HV_WRITE_REFUSED,
	HV_WRITE_OF_REGION,
	HV_WRITE_SAME,	      /* the current contents */
	HV_WRITE_BACK,	      /* the original contents */
	HV_WRITE_PAGE_TABLE,  /* an entry of a page table */
	HV_WRITE_LEADS,	      /* text with a call of or jump into the region */
	HV_WRITE_KEY,	      /* a static key's nop or jump */
	HV_WRITE_LED,	      /* a kernel call retargeted to another function */
	HV_WRITE_LED_WORD,    /* the word with the target of such calls */
	HV_WRITE_POINTER,     /* to the region's data, or the original contents */
	HV_WRITE_NO_CALLBACK, /* the kernel's empty function, in place of an hvtrace callback */
	HV_WRITE_RETURN,      /* a return address in place of an hvtrace one */
	HV_WRITE_COUNT,
	HV_WRITE_BIT,
};

/* A write and the current contents. */
struct hv_looked {
	const struct hv_hold_write *write;
	uint8_t now[HV_SITE_LEN_MAX];
	struct hv_noted_range *range; /* the record that begins at WRITE; NULL: none */
	enum hv_write_kind kind;
};

/* A call that was retargeted from one function to another. */
struct hv_led {
	uint64_t from, to;
};

/* A bit that may change, and the offset of its byte in a cache line. All structures of one type
 * begin at a cache line, so the bit has the same offset in each of them. */
struct hv_bit_kind {
	uint8_t at, bit;
};

struct hv_rules {
	struct hv_guest *guest; /* borrowed */
	enum hv_adopts adopts;
	bool has_adopted;
	struct hv_region region;
	struct hv_tables *tables; /* owned */
	struct hv_leaves leaves;
	struct hv_noted ranges; /* text and words */
	struct hv_noted counts;
	struct hv_noted bits;
	struct hv_led led[HV_RULES_LED_MAX]; /* the most recent ones */
	size_t nr_led;
	struct hv_bit_kind bit_kinds[HV_RULES_BITS_MAX];
	unsigned nr_bit_kinds;
	uint64_t no_callback; /* the kernel's empty function; 0: not seen yet */
	/* The last page that was read. */
	struct hv_gpa page;
	bool has_page;
	uint8_t bytes[HV_RULES_PAGE_BYTES];
};

uint64_t hv_rules_word(const uint8_t *bytes, uint32_t len_bytes);
bool hv_rules_is_in_region(const struct hv_rules *r, struct hv_gpa gpa, uint64_t len_bytes);
/* The addresses at which the region may be mapped. This range can be larger than the real one,
 * which may depend on the address of the kernel image and which only the service knows. */
struct hv_gva_range hv_rules_range(const struct hv_arch *arch);
/* Reads the current contents at GPA. Caches the page, because many ranges share one. */
struct hv_err *hv_rules_read(struct hv_rules *r, struct hv_gpa gpa, uint32_t len_bytes,
			     uint8_t *ret) hv_must_use;

/* -- code -- */

/* The kind of a write to text. The caller has checked that the page tables map its address. */
enum hv_write_kind hv_rules_text(struct hv_rules *r, const struct hv_looked *l);
/* Whether CODE, at W's address and with its length, is a call of or jump into the region. */
bool hv_rules_leads_to_us(struct hv_rules *r, const uint8_t *code, const struct hv_hold_write *w);
struct hv_led hv_rules_led(const struct hv_rules *r, const struct hv_looked *l);

/* -- data -- */

/* The kind of a write to a word, a count or a bit. The caller has checked that the page tables map
 * its address. */
enum hv_write_kind hv_rules_data(struct hv_rules *r, const struct hv_looked *l);
/* Whether WORD is an address in the region, with or without a pointer authentication code. */
bool hv_rules_is_our_word(struct hv_rules *r, uint64_t word);
void hv_rules_note_count(struct hv_rules *r, const struct hv_looked *l);
void hv_rules_note_bit(struct hv_rules *r, const struct hv_looked *l);
