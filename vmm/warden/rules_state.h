/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the rules know, for the files that implement rules.h. */
#pragma once

#include "vmm/warden/leaves.h"
#include "vmm/warden/noted.h"
#include "vmm/warden/rules.h"
#include "vmm/warden/tables.h"

#define HV_RULES_PAGE_BYTES 4096
#define HV_RULES_LED_MAX    64
/* Of tasks that pass by the tracepoints of system calls, and of modules that are in use. */
#define HV_RULES_BITS_MAX   2

/* What a write is, if it is allowed. */
enum hv_write_kind {
	HV_WRITE_REFUSED,
	HV_WRITE_OF_REGION,
	HV_WRITE_SAME,	   /* what is there already */
	HV_WRITE_BACK,	   /* what was there before */
	HV_WRITE_SLOT,	   /* an entry of a page table */
	HV_WRITE_LEADS,	   /* text that leads into the region */
	HV_WRITE_KEY,	   /* a static key's nop or jump */
	HV_WRITE_LED,	   /* a call of the kernel's own that leads to another function */
	HV_WRITE_LED_WORD, /* the word that says where such calls lead */
	HV_WRITE_POINTER,  /* to the region's data, or what was there before one */
	HV_WRITE_NO_PROBE, /* the kernel's own function that does nothing, for a probe of ours */
	HV_WRITE_RETURN,   /* an address that a function returns to, for one of ours */
	HV_WRITE_COUNT,
	HV_WRITE_BIT,
};

/* A write, and what the guest has there now. */
struct hv_looked {
	const struct hv_hold_write *w;
	uint8_t now[HV_SITE_LEN_MAX];
	struct hv_noted_place
		*place; /* of text or a word, that begins there; NULL: none is noted */
	enum hv_write_kind kind;
};

/* A call that was led from one function to another. */
struct hv_led {
	uint64_t from, to;
};

/* Which bit of a byte may change, by the address of the byte in a cache line: the structures of a
 * kind begin at cache lines. */
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
	struct hv_noted places; /* text and words */
	struct hv_noted counts;
	struct hv_noted bits;
	struct hv_led led[HV_RULES_LED_MAX]; /* the last ones */
	size_t nr_led;
	struct hv_bit_kind bit_kinds[HV_RULES_BITS_MAX];
	unsigned nr_bit_kinds;
	uint64_t no_probe; /* the kernel's function that does nothing; 0: not seen yet */
	/* The page that was read last. */
	struct hv_gpa page;
	bool has_page;
	uint8_t bytes[HV_RULES_PAGE_BYTES];
};

uint64_t hv_rules_word(const uint8_t *bytes, uint32_t len_bytes);
bool hv_rules_is_in_region(const struct hv_rules *r, struct hv_gpa gpa, uint64_t len_bytes);
/* Where leaves may be. Where that depends on the image's place, only the service knows it. */
struct hv_gva_range hv_rules_window(const struct hv_arch *arch);
/* Whether AT is an address of the region; its code: one that may be executed. */
bool hv_rules_is_ours(struct hv_rules *r, struct hv_gva at);
bool hv_rules_is_our_code(struct hv_rules *r, struct hv_gva at);
bool hv_rules_is_our_data(struct hv_rules *r, struct hv_gva at);
/* Whether AT is an address of code of the kernel's own. */
bool hv_rules_is_kernel_code(struct hv_rules *r, struct hv_gva at);
/* Reads what is at GPA now. Many places are in one page. */
struct hv_err *hv_rules_read(struct hv_rules *r, struct hv_gpa gpa, uint32_t len_bytes,
			     uint8_t *ret) hv_must_use;

/* rules_text.c: text, where the tables lead to it. */
enum hv_write_kind hv_rules_text(struct hv_rules *r, const struct hv_looked *l);
/* Whether CODE, at W's address and as long, leads into the region. */
bool hv_rules_leads_to_us(struct hv_rules *r, const uint8_t *code, const struct hv_hold_write *w);
struct hv_led hv_rules_led(const struct hv_rules *r, const struct hv_looked *l);

/* rules_data.c: words, counts and bits, where the tables lead to them. */
enum hv_write_kind hv_rules_data(struct hv_rules *r, const struct hv_looked *l);
/* Whether WORD is an address of the region, perhaps a signed one. */
bool hv_rules_is_our_word(struct hv_rules *r, uint64_t word);
void hv_rules_note_count(struct hv_rules *r, const struct hv_looked *l);
void hv_rules_note_bit(struct hv_rules *r, const struct hv_looked *l);
