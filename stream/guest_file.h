/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Creates the output files of a stream: DIR/GUEST@HOST/TIME-SESSION.SUFFIX, and its totals as JSON.
 * The sender chooses GUEST and HOST; they are sanitized so that no path leaves DIR.
 *
 * guest.h writes the contents. */
#pragma once

#include "stream/guest.h"

/* Creates the directory and the file of G. The head of G must be complete. */
struct hv_err *hv_stream_guest_open(struct hv_stream_guest *g) hv_must_use;
/* Writes NAME.json. WHY is NULL while the stream is active. */
struct hv_err *hv_stream_guest_save_counts(const struct hv_stream_guest *g,
					   const char *why) hv_must_use;
/* Returns the disk space that the file uses. */
uint64_t hv_stream_guest_file_bytes(const struct hv_stream_guest *g);
/* Returns ENOSPC if the file system is almost full. This leaves room for other users. */
struct hv_err *hv_stream_guest_check_room(const struct hv_stream_guest *g) hv_must_use;
