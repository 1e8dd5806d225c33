/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format of the journal in the region: every byte that a session has changed in the guest. The
 * guest can write to it, so an entry alone proves nothing. patcher/journal.h writes it,
 * tracer/recover.c undoes changes with it, and vmm/warden/rules.h validates it for the privileged
 * side. */
#pragma once

#include <assert.h>
#include <stdint.h>

#define HV_REGION_JOURNAL_OFF 0x1000ULL
#define HV_REGION_TABLES_OFF  0x3c0000ULL /* the end of the journal */

enum hv_journal_state {
	HV_JOURNAL_FREE = 0,
	HV_JOURNAL_USED = 1, /* the change may have been written */
};

struct hv_journal_entry {
	uint64_t gpa;
	uint64_t gva;
	uint32_t state; /* written last when an entry is added, first when freed */
	uint16_t kind;
	uint16_t len_bytes;
	uint8_t old_bytes[8];
	uint8_t new_bytes[8];
};
_Static_assert(sizeof(struct hv_journal_entry) == 40, "journal entry");

#define HV_JOURNAL_CAP                                                                             \
	((HV_REGION_TABLES_OFF - HV_REGION_JOURNAL_OFF) / sizeof(struct hv_journal_entry))
