/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Creates the part of a trace.dat file, version 7, that precedes the first event
 * (trace-cmd.dat.v7(5)):
 *
 *   magic, version, page size, compression, offset of OPTIONS
 *   STRINGS, HEADER_INFO, FTRACE_EVENTS, EVENT_FORMATS, KALLSYMS, PRINTK
 *   OPTIONS: offsets of these and the following; BUFFER has the index of the vCPUs' data
 *   CMDLINES: with room for names that become known later
 *   BUFFER FLYRECORD: the vCPUs' data, up to the end of the file
 *
 * There are no gaps between sections, because readers search for STRINGS from section to section.
 *
 * dat.c writes this part and the vCPUs' data. Pure. */
#pragma once

#include <stddef.h>

#include "base/text.h"
#include "export/export.h"

#define HV_DAT_NAMES_BYTES (1u << 20) /* room for the text of saved_cmdlines */

/* Size of an index entry, packed: u32 cpu, u64 offset, u64 length of the data in bytes. */
#define HV_DAT_INDEX_ENTRY 20

struct hv_dat_head {
	struct hv_text bytes; /* owned; ends before the text of CMDLINES */
	uint64_t index_off;   /* file offset of the index, which is zeroed */
	uint64_t names_off;   /* of the length (u64) of the CMDLINES text, which follows it */
	uint64_t buffer_off;  /* of the section header of BUFFER FLYRECORD */
	uint64_t size_off;    /* of the length (u64) of the section BUFFER FLYRECORD */
	uint64_t data_off;    /* first offset for data */
};

/* Creates the head of a file whose sections and data are compressed with COMPRESSION. */
void hv_dat_head_init(struct hv_dat_head *h, const struct hv_export_head *head,
		      enum hv_compression compression);
void hv_dat_head_deinit(struct hv_dat_head *h);

/* Adds the section header of BUFFER FLYRECORD. */
void hv_dat_head_add_buffer(struct hv_text *out, enum hv_compression compression);

/* -- fields inside the record ------------------------------------------------------------------ */

/* Restricts an event format to fields that are inside the record. libtraceevent trusts the format
 * and reads fields without checking the length of the record. */

/* Adds FORMAT to OUT without malformed field lines and without fields that are not entirely in the
 * first MAX_BYTES of a record. Keeps the text before and after the fields. */
void hv_format_fields_add(struct hv_text *out, struct hv_export_text format, size_t max_bytes);
