/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a trace.dat file, version 7, that is written before the first event
 * (trace-cmd.dat.v7(5)):
 *
 *   magic, version, page size, compression, offset of OPTIONS
 *   STRINGS, HEADER_INFO, FTRACE_EVENTS, EVENT_FORMATS, KALLSYMS, PRINTK
 *   OPTIONS: where these and the following are; BUFFER has the index of the vCPUs' data
 *   CMDLINES: with room for names that are known later
 *   BUFFER FLYRECORD: the vCPUs' data, up to the end of the file
 *
 * Sections follow each other without a gap, since readers look for STRINGS from section to section.
 * Leaves to others: writing it, the vCPUs' data (dat.c). Pure. */
#pragma once

#include "base/text.h"
#include "export/export.h"

#define HV_DAT_NAMES_BYTES (1u << 20) /* room for the text of saved_cmdlines */

/* An entry of the index, packed: u32 cpu, u64 offset, u64 length of the data in bytes. */
#define HV_DAT_INDEX_ENTRY 20

struct hv_dat_head {
	struct hv_text bytes; /* owned; up to the text of CMDLINES */
	uint64_t index_off;   /* in the file: of the index, which is zeros */
	uint64_t names_off;   /* of the length (u64) of the text of CMDLINES, which follows it */
	uint64_t buffer_off;  /* of the section's header */
	uint64_t size_off;    /* of the length (u64) of the section BUFFER FLYRECORD */
	uint64_t data_off;    /* where data may begin */
};

/* Makes the head of a file in which sections and data are compressed by COMPRESSION. */
void hv_dat_head_init(struct hv_dat_head *h, const struct hv_export_head *head,
		      enum hv_compression compression);
void hv_dat_head_deinit(struct hv_dat_head *h);

/* Adds the header of the section BUFFER FLYRECORD. */
void hv_dat_head_add_buffer(struct hv_text *out, enum hv_compression compression);
