/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One stream at a collector: its frames, which were authenticated, become a file of export/ in a
 * directory of its guest. Frames that are lost, and the events that were in them, are counted, and
 * written into the file where they are missing. Beside the file, NAME.json says what arrived.
 * Leaves to others: which frames are its own, who may send (collector.h).
 *
 * One thread. */
#pragma once

#include "export/export.h"
#include "export/maker.h"
#include "stream/address.h"
#include "stream/budget.h"
#include "stream/head.h"
#include "stream/table.h"
#include "stream/window.h"

#define HV_STREAM_FIRST	      16	  /* frames of a sender, all of which are of its head */
#define HV_STREAM_EARLY_BYTES (16u << 20) /* of events that come before the head */

struct hv_stream_store {
	struct hv_maker maker; /* of a directory that is called */
	const char *dir_path;
	const struct hv_export_format *format;
	enum hv_compression compression;
	uint64_t max_bytes; /* of the events in a file; 0: no limit */
	unsigned max_files; /* that a stream may have open, if FORMAT is a directory */
	uint64_t max_rate;  /* bytes of frames in a second, of each guest; 0: no limit */
	void (*note)(const char *line);
	struct hv_stream_budget *budget; /* borrowed; of all streams */
};

struct hv_stream_counts_of {
	uint64_t events;    /* are in the file */
	uint64_t lost;	    /* on the way */
	uint64_t before;    /* were sent before the first frame that came */
	uint64_t unwritten; /* came, but the file is full, or broken */
	uint64_t limited;   /* frames beyond the limit of the rate */
	uint64_t bad;	    /* frames whose contents were wrong */
};

struct hv_stream_lane {
	uint64_t next; /* number of the event that comes next */
	uint64_t lost; /* events that were lost since the last page */
	bool has_begun;
};

enum hv_stream_phase {
	HV_STREAM_WAITS, /* the head is not whole yet */
	HV_STREAM_WRITES,
	HV_STREAM_IS_FULL, /* frames are counted, and not written */
	HV_STREAM_ENDED,   /* only known so that late frames do not begin it again */
};

struct hv_stream_guest {
	uint64_t session;
	const struct hv_stream_store *store;
	struct hv_stream_address from;
	enum hv_stream_phase phase;
	struct hv_stream_window window;
	struct hv_stream_table tables[HV_STREAM_NR_TABLES];
	struct hv_stream_head head;
	struct hv_text early; /* bodies of events that came before the head: u32 length, body */
	struct hv_stream_lane *lanes; /* owned; one a vCPU */
	struct hv_export *file;	      /* owned; NULL: not open */
	char *path;		      /* owned */
	int fd;			      /* of the file, or of the directory that FORMAT is */
	uint8_t *page;		      /* owned; zeros behind what is in it */
	uint64_t written_bytes;
	struct hv_stream_counts_of counts;
	uint64_t came_ns, turned_ns;
	uint64_t bucket_bytes, filled_ns;  /* of the limit of the rate */
	bool joined_late;		   /* it did not begin with the sender */
	uint64_t memory_bytes, file_bytes; /* charged to the budget */
	uint64_t sent_bytes;		   /* by its sender, in frames */
	uint64_t looked_bytes;		   /* SENT_BYTES when the file's length was read last */
};

void hv_stream_guest_init(struct hv_stream_guest *g, uint64_t session,
			  const struct hv_stream_store *store,
			  const struct hv_stream_address *from);
void hv_stream_guest_deinit(struct hv_stream_guest *g);

/* Takes a frame of the session, which was decoded. FRAME is all of it. */
void hv_stream_guest_take(struct hv_stream_guest *g, struct hv_span frame, uint64_t now_ns);
/* Called often: gives up frames that are waited for, and makes the file readable. */
void hv_stream_guest_turn(struct hv_stream_guest *g, uint64_t now_ns);
/* Completes the file, and tells how much came. WHY it ends is for people. */
void hv_stream_guest_end(struct hv_stream_guest *g, const char *why);
