/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/pprof.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/grow.h"
#include "base/map.h"
#include "export/protobuf.h"

enum { /* numbers of message fields */
       PROFILE_SAMPLE_TYPE = 1,
       PROFILE_SAMPLE = 2,
       PROFILE_MAPPING = 3,
       PROFILE_LOCATION = 4,
       PROFILE_FUNCTION = 5,
       PROFILE_STRING = 6,
       PROFILE_TIME = 9,
       PROFILE_DURATION = 10,
       TYPE_TYPE = 1,
       TYPE_UNIT = 2,
       SAMPLE_LOCATIONS = 1,
       SAMPLE_VALUES = 2,
       SAMPLE_LABEL = 3,
       LABEL_KEY = 1,
       LABEL_STRING = 2,
       MAPPING_ID = 1,
       MAPPING_START = 2,
       MAPPING_LIMIT = 3,
       MAPPING_PATH = 5,
       MAPPING_BUILD_ID = 6,
       MAPPING_HAS_FUNCTIONS = 7,
       LOCATION_ID = 1,
       LOCATION_MAPPING = 2,
       LOCATION_ADDRESS = 3,
       LOCATION_LINE = 4,
       LINE_FUNCTION = 1,
       FUNCTION_ID = 1,
       FUNCTION_NAME = 2,
       FUNCTION_SYSTEM_NAME = 3,
};

#define KERNEL_FILE    "[kernel.kallsyms]"
#define KERNEL_START   (UINT64_C(1) << 63)
#define KERNEL_MAPPING 1u /* file N has the mapping N + 1 */
#define GZIP	       16 /* added to the number of window bits */

struct writer {
	const struct hv_chains *c;
	const struct hv_pprof *p;
	struct hv_map index;  /* by a hash of the string; the value is its number, plus 1 */
	const char **strings; /* owned; elements are borrowed */
	bool *is_function;    /* owned, by string: it is the name of a written function */
	size_t nr, cap;
	bool *uses_frame, *uses_file; /* owned */
	struct hv_text *out, part, inner;
};

/* FNV-1a. Strings with equal hashes use the next free key. */
static uint64_t hash(const char *s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * UINT64_C(0x100000001b3);
	return h | 1;
}

/* Returns the number of S in the table of strings. */
static uint64_t string(struct writer *w, const char *s)
{
	uint64_t key = hash(s);
	uintptr_t found;

	for (; (found = (uintptr_t)hv_map_find(&w->index, key)); key += 2)
		if (strcmp(w->strings[found - 1], s) == 0)
			return found - 1;
	w->strings = hv_grow(w->strings, w->nr, &w->cap, 64, sizeof(char *));
	w->strings[w->nr++] = s;
	hv_map_add(&w->index, key, (void *)(uintptr_t)w->nr);
	return w->nr - 1;
}

/* Ends the message in PART. */
static void put(struct writer *w, unsigned field)
{
	hv_protobuf_message(w->out, field, &w->part);
	hv_text_clear(&w->part);
}

static void put_type(struct writer *w)
{
	bool is_time = w->c->unit == HV_CHAIN_NS;

	hv_protobuf_number(&w->part, TYPE_TYPE, string(w, is_time ? "time" : "samples"));
	hv_protobuf_number(&w->part, TYPE_UNIT, string(w, is_time ? "nanoseconds" : "count"));
	put(w, PROFILE_SAMPLE_TYPE);
}

static void add_label(struct writer *w, const char *key, const char *value)
{
	hv_text_clear(&w->inner);
	hv_protobuf_number(&w->inner, LABEL_KEY, string(w, key));
	hv_protobuf_number(&w->inner, LABEL_STRING, string(w, value));
	hv_protobuf_message(&w->part, SAMPLE_LABEL, &w->inner);
}

/* Returns whether node AT, at this DEPTH, is a label. */
static bool is_label(const struct writer *w, uint32_t at, unsigned depth)
{
	return depth <= w->p->nr_groups &&
	       w->c->frames[w->c->nodes[at].frame].kind == HV_CHAIN_GROUP;
}

/* Locations have the numbers of their frames, plus 1; the innermost one is the first. */
static void put_sample(struct writer *w, uint32_t leaf)
{
	const struct hv_chain_node *nodes = w->c->nodes;
	const char *key = "task";
	unsigned leaf_depth = 0, depth;

	for (uint32_t at = leaf; at != HV_CHAINS_ROOT; at = nodes[at].parent)
		leaf_depth++;
	hv_text_clear(&w->inner);
	depth = leaf_depth;
	for (uint32_t at = leaf; at != HV_CHAINS_ROOT; at = nodes[at].parent) {
		if (is_label(w, at, depth--))
			continue;
		w->uses_frame[nodes[at].frame] = true;
		hv_protobuf_element(&w->inner, (uint64_t)nodes[at].frame + 1);
	}
	hv_protobuf_message(&w->part, SAMPLE_LOCATIONS, &w->inner);
	hv_text_clear(&w->inner);
	hv_protobuf_element(&w->inner, nodes[leaf].self);
	hv_protobuf_message(&w->part, SAMPLE_VALUES, &w->inner);
	depth = leaf_depth;
	for (uint32_t at = leaf; at != HV_CHAINS_ROOT; at = nodes[at].parent) {
		if (!is_label(w, at, depth--))
			continue;
		add_label(w, key, w->c->frames[nodes[at].frame].name);
		key = "group";
	}
	put(w, PROFILE_SAMPLE);
}

static bool put_samples(struct writer *w, size_t max_bytes)
{
	for (uint32_t i = 0; i < w->c->nr; i++) {
		if (!w->c->nodes[i].self)
			continue;
		if (w->out->len_bytes >= max_bytes)
			return false;
		put_sample(w, i);
	}
	return true;
}

/* Returns the number of FRAME's mapping, or 0. */
static uint64_t mapping_of(const struct writer *w, const struct hv_chain_frame *frame)
{
	if (frame->kind == HV_CHAIN_KERNEL)
		return KERNEL_MAPPING;
	return frame->file <= w->p->nr_files && frame->file ? KERNEL_MAPPING + frame->file : 0;
}

static void put_location(struct writer *w, uint32_t at)
{
	const struct hv_chain_frame *frame = &w->c->frames[at];
	uint64_t mapping = mapping_of(w, frame);

	hv_protobuf_number(&w->part, LOCATION_ID, (uint64_t)at + 1);
	if (mapping)
		hv_protobuf_number(&w->part, LOCATION_MAPPING, mapping);
	if (mapping > KERNEL_MAPPING)
		w->uses_file[frame->file - 1] = true;
	hv_protobuf_number(&w->part, LOCATION_ADDRESS, frame->value);
	hv_text_clear(&w->inner);
	hv_protobuf_number(&w->inner, LINE_FUNCTION, string(w, frame->name) + 1);
	hv_protobuf_message(&w->part, LOCATION_LINE, &w->inner);
	put(w, PROFILE_LOCATION);
}

static void put_locations(struct writer *w)
{
	for (uint32_t i = 0; i < w->c->nr_frames; i++)
		if (w->uses_frame[i])
			put_location(w, i);
}

/* A function has the number of its name, plus 1. */
static void put_functions(struct writer *w)
{
	w->is_function = hv_alloc(w->nr * sizeof(*w->is_function));
	for (uint32_t i = 0; i < w->c->nr_frames; i++) {
		uint64_t name = w->uses_frame[i] ? string(w, w->c->frames[i].name) : 0;

		if (!w->uses_frame[i] || w->is_function[name])
			continue;
		w->is_function[name] = true;
		hv_protobuf_number(&w->part, FUNCTION_ID, name + 1);
		hv_protobuf_number(&w->part, FUNCTION_NAME, name);
		hv_protobuf_number(&w->part, FUNCTION_SYSTEM_NAME, name);
		put(w, PROFILE_FUNCTION);
	}
}

static void put_mapping(struct writer *w, uint64_t id, uint64_t start, uint64_t limit,
			const char *path, const char *build_id)
{
	hv_protobuf_number(&w->part, MAPPING_ID, id);
	hv_protobuf_number(&w->part, MAPPING_START, start);
	hv_protobuf_number(&w->part, MAPPING_LIMIT, limit);
	hv_protobuf_number(&w->part, MAPPING_PATH, string(w, path));
	hv_protobuf_number(&w->part, MAPPING_BUILD_ID, string(w, build_id));
	hv_protobuf_number(&w->part, MAPPING_HAS_FUNCTIONS, 1);
	put(w, PROFILE_MAPPING);
}

static void put_mappings(struct writer *w)
{
	put_mapping(w, KERNEL_MAPPING, KERNEL_START, UINT64_MAX, KERNEL_FILE, "");
	for (size_t i = 0; i < w->p->nr_files; i++) {
		const struct hv_pprof_file *f = &w->p->files[i];

		if (w->uses_file[i])
			put_mapping(w, KERNEL_MAPPING + 1 + i, 0, f->len_bytes, f->path,
				    f->build_id);
	}
}

static void put_strings(struct writer *w)
{
	for (size_t i = 0; i < w->nr; i++) {
		hv_text_clear(&w->inner);
		hv_text_add_utf8(&w->inner, w->strings[i], SIZE_MAX);
		hv_protobuf_message(w->out, PROFILE_STRING, &w->inner);
	}
}

static void compress_text(const struct hv_text *in, struct hv_text *out)
{
	z_stream z = {0};
	size_t room;
	char *at;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, MAX_MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	room = deflateBound(&z, in->len_bytes);
	at = hv_text_room(out, room);
	z.next_in = (Bytef *)in->data;
	z.avail_in = (uInt)in->len_bytes;
	z.next_out = (Bytef *)at;
	z.avail_out = (uInt)room;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	hv_text_end(out, at + z.total_out);
	deflateEnd(&z);
}

bool hv_pprof_write(const struct hv_chains *c, const struct hv_pprof *p, size_t max_bytes,
		    struct hv_text *out)
{
	HV_AUTO_TEXT struct hv_text message = {0};
	struct writer w = {
		.c = c,
		.p = p,
		.uses_frame = hv_alloc((c->nr_frames + 1) * sizeof(bool)),
		.uses_file = hv_alloc((p->nr_files + 1) * sizeof(bool)),
		.out = &message,
	};
	bool is_complete;

	string(&w, ""); /* must be the first one */
	put_type(&w);
	is_complete = put_samples(&w, max_bytes);
	put_locations(&w);
	put_functions(&w);
	put_mappings(&w);
	put_strings(&w);
	hv_protobuf_number(&message, PROFILE_TIME, p->begin_ns);
	hv_protobuf_number(&message, PROFILE_DURATION, p->duration_ns);
	compress_text(&message, out);
	hv_map_deinit(&w.index);
	free(w.strings);
	free(w.is_function);
	free(w.uses_frame);
	free(w.uses_file);
	hv_text_deinit(&w.part);
	hv_text_deinit(&w.inner);
	return is_complete;
}
