/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the frames that a collector receives into files: refuses unauthorized frames, finds the
 * stream of each frame, and writes the events of a stream as a file of export/ in the directory of
 * the guest. Counts lost frames and events, and records each loss in the file where the events are
 * missing. NAME.json next to the file holds the totals. in.h receives the frames.
 *
 * One thread. */
#pragma once

#include "export/export.h"
#include "export/output.h"
#include "stream/budget.h"
#include "stream/inet.h"
#include "stream/table.h"
#include "stream/window.h"

#define HV_STREAM_FIRST	      16 /* joined late if the first frame has at least this number */
#define HV_STREAM_EARLY_BYTES (16u << 20) /* limit for events that arrive before the head */

struct hv_stream_store {
	struct hv_maker maker; /* creates files below dir_path */
	const char *dir_path;
	const struct hv_export_format *format;
	enum hv_compression compression;
	uint64_t max_bytes; /* limit for the events in a file; 0: no limit */
	unsigned max_files; /* limit for open files of a stream, if `format` is a directory */
	uint64_t max_rate;  /* frame bytes per second and guest; 0: no limit */
	void (*note)(const char *line);
	struct hv_stream_budget *budget; /* borrowed; shared by all streams */
};

struct hv_stream_counts_of {
	uint64_t events;    /* written to the file */
	uint64_t lost;	    /* lost in transit */
	uint64_t before;    /* sent before the first frame arrived */
	uint64_t unwritten; /* received after writing stopped because of a limit or an error */
	uint64_t limited;   /* frames over the rate limit */
	uint64_t bad;	    /* frames with invalid contents */
};

struct hv_stream_lane {
	uint64_t next; /* number of the next expected event */
	uint64_t lost; /* events lost since the last page */
	bool has_begun;
};

enum hv_stream_phase {
	HV_STREAM_WAITS, /* waiting for the complete head */
	HV_STREAM_WRITES,
	HV_STREAM_IS_FULL, /* writing has stopped; frames are only counted */
	HV_STREAM_ENDED,   /* kept so that late frames do not start the stream again */
};

struct hv_stream_guest {
	uint64_t session;
	const struct hv_stream_store *store;
	struct hv_stream_address from;
	enum hv_stream_phase phase;
	struct hv_stream_window window;
	struct hv_stream_table tables[HV_STREAM_NR_TABLES];
	struct hv_stream_head head;
	struct hv_text early; /* events received before the head, each as u32 length and body */
	struct hv_stream_lane *lanes; /* owned; one per vCPU */
	struct hv_export *file;	      /* owned; NULL if not open */
	char *path;		      /* owned */
	int fd;			      /* the file, or the directory if the format is one */
	uint8_t *page;		      /* owned; buffer for one page, zero-padded */
	uint64_t written_bytes;
	struct hv_stream_counts_of counts;
	uint64_t came_ns, turned_ns;
	uint64_t bucket_bytes, filled_ns;  /* token bucket of the rate limit */
	bool joined_late;		   /* the collector missed the start of the stream */
	uint64_t memory_bytes, file_bytes; /* charged to the budget */
	uint64_t sent_bytes;		   /* frame bytes received from the sender */
	uint64_t looked_bytes; /* value of sent_bytes at the last size check of the file */
};

#define HV_STREAM_ALLOW_MAX 64

struct hv_stream_collector {
	struct hv_stream_store store;
	struct hv_stream_key key;
	struct hv_stream_network allow[HV_STREAM_ALLOW_MAX];
	unsigned nr_allow;   /* 0: any sender with the key */
	unsigned max_guests; /* concurrent streams */
	uint64_t idle_ns;    /* a stream ends if no frame arrives for this long */

	/* The fields below start zeroed, except the limits in `budget`. */
	struct hv_stream_budget budget;	 /* the caller sets its limits */
	struct hv_stream_guest **guests; /* owned */
	unsigned nr_guests, last; /* `last`: index of the stream that received the previous frame */
	uint64_t refused[HV_STREAM_NR_VERDICTS];
	uint64_t nr_strangers;	  /* frames from addresses outside `allow` */
	uint64_t nr_too_many;	  /* frames of streams beyond max_guests */
	uint64_t noted_ns, noted; /* time and total of the last refusal note */
};

void hv_stream_collector_deinit(struct hv_stream_collector *c);

bool hv_stream_collector_allows(const struct hv_stream_collector *c,
				const struct hv_stream_address *from);
/* Takes one frame received from FROM. Returns false if the frame is refused; refusals are
 * counted. */
bool hv_stream_collector_take(struct hv_stream_collector *c, const struct hv_stream_address *from,
			      struct hv_span frame, uint64_t now_ns);
/* Call at least ten times a second. */
void hv_stream_collector_turn(struct hv_stream_collector *c, uint64_t now_ns);
/* Ends all streams and completes their files. */
void hv_stream_collector_end(struct hv_stream_collector *c);
