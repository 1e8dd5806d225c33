/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members that hvtrace derived in a kernel without BTF. hv_facts_to_btf() turns them into BTF, so
 * all other code reads them like the kernel's own. Pure. Private to kernel/. */
#pragma once

#include "base/err.h"
#include "kernel/types/btf.h"

/* Independent proofs of an offset. */
enum hv_proof {
	/* a function of the guest's kernel uses it */
	HV_PROVED_BY_CODE = 1 << 0,
	/* a second function does */
	HV_PROVED_BY_OTHER_CODE = 1 << 1,
	/* memory at this offset, and at few others, contains what the member must contain */
	HV_PROVED_BY_MEMORY = 1 << 2,
	/* memory shows it in a second way */
	HV_PROVED_BY_OTHER_MEMORY = 1 << 3,
	/* it is equal in all kernels, or defined by the CPU or the hypervisor */
	HV_PROVED_BY_INTERFACE = 1 << 4,
};

struct hv_fact {
	const char *type;   /* static, as all names here, or in hv_facts.texts */
	const char *member; /* of TYPE; a name without a dot */
	uint32_t off;
	uint32_t len_bytes;
	const char *of;	 /* the type of the member or of its elements; NULL: a number */
	unsigned proofs; /* of enum hv_proof */
	/* A bit-field has BITS bits from bit BIT of the byte at OFF; its type has LEN_BYTES. BITS
	 * 0: not a bit-field. */
	uint8_t bits, bit;
};

/* The size of a structure that is longer than its known members. */
struct hv_size_fact {
	const char *type;
	uint32_t len_bytes;
};

struct hv_number_fact {
	const char *name; /* of an enumerator */
	int32_t value;
};

struct hv_facts {
	struct hv_fact *list; /* owned */
	size_t nr, cap;
	struct hv_number_fact *numbers; /* owned */
	size_t nr_numbers, numbers_cap;
	struct hv_size_fact *sizes; /* owned */
	size_t nr_sizes, sizes_cap;
	char **texts; /* owned, as their elements: names that are not static */
	size_t nr_texts, texts_cap;
};

void hv_facts_deinit(struct hv_facts *f);
void hv_facts_add(struct hv_facts *f, const struct hv_fact *fact);
void hv_facts_add_number(struct hv_facts *f, const char *name, int32_t value);
void hv_facts_add_size(struct hv_facts *f, const char *type, uint32_t len_bytes);
/* Takes TEXT, which lives as long as the facts, and returns it. */
const char *hv_facts_own(struct hv_facts *f, char *text);
/* Adds PROOFS to those of a member, if it is known. */
void hv_facts_add_proof(struct hv_facts *f, const char *type, const char *member, unsigned proofs);
/* Takes back all members after the first NR, and all numbers after the first NR_NUMBERS. */
void hv_facts_shorten(struct hv_facts *f, size_t nr, size_t nr_numbers);
/* Returns NULL if MEMBER of TYPE is unknown. */
const struct hv_fact *hv_facts_find(const struct hv_facts *f, const char *type, const char *member);

/* Makes BTF with the facts. A structure without a known size ends with its last known member. */
struct hv_err *hv_facts_to_btf(const struct hv_facts *f, struct hv_btf **ret) hv_must_use;
