/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of a guest at a collector: DIR/GUEST@HOST/TIME-SESSION.SUFFIX, and beside it what came
 * of its stream, as JSON. Names that the sender chooses cannot leave DIR. Leaves to others: what is
 * written (guest.h). */
#pragma once

#include "stream/guest.h"

/* Makes the directory and the file of G, whose head is known. */
struct hv_err *hv_stream_guest_open(struct hv_stream_guest *g) hv_must_use;
/* Writes NAME.json. WHY is NULL while the stream goes on. */
struct hv_err *hv_stream_guest_save_counts(const struct hv_stream_guest *g,
					   const char *why) hv_must_use;
/* Returns the bytes that the file has on its disk. */
uint64_t hv_stream_guest_file_bytes(const struct hv_stream_guest *g);
/* ENOSPC: too little room is left for others on the file system. */
struct hv_err *hv_stream_guest_check_room(const struct hv_stream_guest *g) hv_must_use;
