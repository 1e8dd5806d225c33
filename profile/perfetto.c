/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/perfetto.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "export/protobuf.h"

/* tests/files/perfetto.proto has the used part of the schema. */
enum { /* numbers of message fields */
       TRACE_PACKET = 1,
       PACKET_TIMESTAMP = 8,
       PACKET_SEQUENCE_ID = 10,
       PACKET_INTERNED_DATA = 12,
       PACKET_SEQUENCE_FLAGS = 13,
       PACKET_TRACK_DESCRIPTOR = 60,
       PACKET_SAMPLE = 66,
       SAMPLE_CPU = 1,
       SAMPLE_PID = 2,
       SAMPLE_TID = 3,
       SAMPLE_CALLSTACK = 4,
       SAMPLE_MODE = 5,
       INTERNED_FUNCTIONS = 5,
       INTERNED_FRAMES = 6,
       INTERNED_CALLSTACKS = 7,
       INTERNED_BUILD_IDS = 16,
       INTERNED_PATHS = 17,
       INTERNED_MAPPINGS = 19,
       STRING_IID = 1,
       STRING_BYTES = 2,
       MAPPING_IID = 1,
       MAPPING_BUILD_ID = 2,
       MAPPING_START = 4,
       MAPPING_END = 5,
       MAPPING_PATH = 7,
       FRAME_IID = 1,
       FRAME_FUNCTION = 2,
       FRAME_MAPPING = 3,
       FRAME_PC = 4,
       CALLSTACK_IID = 1,
       CALLSTACK_FRAMES = 2,
       TRACK_UUID = 1,
       TRACK_THREAD = 4,
       THREAD_PID = 1,
       THREAD_TID = 2,
       THREAD_NAME = 5,
};

enum { MODE_KERNEL = 1, MODE_USER = 2 };

#define SEQUENCE_ID    1
#define STATE_CLEARED  1
#define NEEDS_STATE    2
#define TRACK_TASKS    (UINT64_C(3) << 32) /* of a task: plus its pid */
#define KERNEL_PATH    "/[kernel.kallsyms]"
#define KERNEL_START   (UINT64_C(1) << 63)
#define KERNEL_MAPPING 1u  /* file N has the mapping N + 1; 0 has no file */
#define DEPTH_MAX      512 /* frames; a sample has fewer */

struct writer {
	const struct hv_chains *c;
	const struct hv_pprof *p;
	bool *has_node, *has_frame, *has_mapping; /* owned; which were written */
	struct hv_map tasks;			  /* by pid */
	struct hv_text *out, packet, interned, part, inner;
};

/* Ends the packet. */
static void put(struct writer *w)
{
	hv_protobuf_number(&w->packet, PACKET_SEQUENCE_ID, SEQUENCE_ID);
	hv_protobuf_message(w->out, TRACE_PACKET, &w->packet);
	hv_text_clear(&w->packet);
}

/* Ends the message in PART. */
static void intern(struct writer *w, unsigned field)
{
	hv_protobuf_message(&w->interned, field, &w->part);
	hv_text_clear(&w->part);
}

static void intern_bytes(struct writer *w, unsigned field, uint64_t iid, const struct hv_text *s)
{
	hv_protobuf_number(&w->part, STRING_IID, iid);
	hv_protobuf_message(&w->part, STRING_BYTES, s);
	intern(w, field);
}

static void intern_string(struct writer *w, unsigned field, uint64_t iid, const char *s)
{
	hv_text_clear(&w->inner);
	hv_text_add_utf8(&w->inner, s, SIZE_MAX);
	intern_bytes(w, field, iid, &w->inner);
}

static int digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Build ids are hexadecimal; Perfetto's are bytes. */
static void intern_build_id(struct writer *w, uint64_t iid, const char *id)
{
	hv_text_clear(&w->inner);
	for (; digit(id[0]) >= 0 && digit(id[1]) >= 0; id += 2)
		hv_text_add_char(&w->inner, (char)(digit(id[0]) << 4 | digit(id[1])));
	intern_bytes(w, INTERNED_BUILD_IDS, iid, &w->inner);
}

static void intern_mapping(struct writer *w, uint64_t iid, const char *path, const char *build_id,
			   uint64_t start, uint64_t end)
{
	if (w->has_mapping[iid])
		return;
	w->has_mapping[iid] = true;
	/* Perfetto puts a slash before each part of a path. */
	intern_string(w, INTERNED_PATHS, iid, *path == '/' ? path + 1 : path);
	intern_build_id(w, iid, build_id);
	hv_protobuf_number(&w->part, MAPPING_IID, iid);
	hv_protobuf_number(&w->part, MAPPING_BUILD_ID, iid);
	hv_protobuf_number(&w->part, MAPPING_START, start);
	hv_protobuf_number(&w->part, MAPPING_END, end);
	hv_protobuf_number(&w->part, MAPPING_PATH, iid);
	intern(w, INTERNED_MAPPINGS);
}

/* Returns the mapping of FRAME, 0: none. */
static uint64_t mapping_of(struct writer *w, const struct hv_chain_frame *frame)
{
	const struct hv_pprof_file *f;

	if (frame->kind == HV_CHAIN_KERNEL) {
		intern_mapping(w, KERNEL_MAPPING, KERNEL_PATH, "", KERNEL_START, UINT64_MAX);
		return KERNEL_MAPPING;
	}
	if (!frame->file || frame->file > w->p->nr_files)
		return 0;
	f = &w->p->files[frame->file - 1];
	intern_mapping(w, KERNEL_MAPPING + frame->file, f->path, f->build_id, 0, f->len_bytes);
	return KERNEL_MAPPING + frame->file;
}

/* A frame and its name have the frame's number, plus 1. */
static void intern_frame(struct writer *w, uint32_t at)
{
	const struct hv_chain_frame *frame = &w->c->frames[at];
	uint64_t mapping;

	if (w->has_frame[at])
		return;
	w->has_frame[at] = true;
	mapping = mapping_of(w, frame);
	intern_string(w, INTERNED_FUNCTIONS, (uint64_t)at + 1, frame->name);
	hv_protobuf_number(&w->part, FRAME_IID, (uint64_t)at + 1);
	hv_protobuf_number(&w->part, FRAME_FUNCTION, (uint64_t)at + 1);
	if (mapping) {
		hv_protobuf_number(&w->part, FRAME_MAPPING, mapping);
		hv_protobuf_number(&w->part, FRAME_PC,
				   frame->value - (mapping == KERNEL_MAPPING ? KERNEL_START : 0));
	}
	intern(w, INTERNED_FRAMES);
}

/* A call stack has the number of its node, plus 1. Its outermost frame is the first. */
static void intern_callstack(struct writer *w, uint32_t leaf)
{
	uint32_t path[DEPTH_MAX];
	size_t nr = 0;

	if (w->has_node[leaf])
		return;
	w->has_node[leaf] = true;
	for (uint32_t at = leaf; at != HV_CHAINS_ROOT && nr < DEPTH_MAX;
	     at = w->c->nodes[at].parent)
		if (w->c->frames[w->c->nodes[at].frame].kind != HV_CHAIN_GROUP)
			path[nr++] = w->c->nodes[at].frame;
	for (size_t i = 0; i < nr; i++)
		intern_frame(w, path[i]);
	hv_protobuf_number(&w->part, CALLSTACK_IID, (uint64_t)leaf + 1);
	while (nr-- > 0)
		hv_protobuf_number(&w->part, CALLSTACK_FRAMES, (uint64_t)path[nr] + 1);
	intern(w, INTERNED_CALLSTACKS);
}

static void put_task(struct writer *w, uint32_t pid, const char *comm)
{
	/* 0 is no key, and no task has it */
	if (!pid || hv_map_find(&w->tasks, pid))
		return;
	hv_map_add(&w->tasks, pid, w);
	hv_text_clear(&w->inner);
	hv_text_add_utf8(&w->inner, comm, SIZE_MAX);
	hv_protobuf_number(&w->interned, THREAD_PID, pid);
	hv_protobuf_number(&w->interned, THREAD_TID, pid);
	hv_protobuf_message(&w->interned, THREAD_NAME, &w->inner);
	hv_protobuf_number(&w->part, TRACK_UUID, TRACK_TASKS + pid);
	hv_protobuf_message(&w->part, TRACK_THREAD, &w->interned);
	hv_text_clear(&w->interned);
	hv_protobuf_message(&w->packet, PACKET_TRACK_DESCRIPTOR, &w->part);
	hv_text_clear(&w->part);
	put(w);
}

static void put_sample(struct writer *w, const struct hv_flame_sample *s)
{
	bool is_kernel = w->c->frames[w->c->nodes[s->node].frame].kind == HV_CHAIN_KERNEL;

	intern_callstack(w, s->node);
	if (w->interned.len_bytes)
		hv_protobuf_message(&w->packet, PACKET_INTERNED_DATA, &w->interned);
	hv_text_clear(&w->interned);
	hv_protobuf_number(&w->part, SAMPLE_CPU, s->cpu);
	hv_protobuf_number(&w->part, SAMPLE_PID, s->pid);
	hv_protobuf_number(&w->part, SAMPLE_TID, s->pid);
	hv_protobuf_number(&w->part, SAMPLE_CALLSTACK, (uint64_t)s->node + 1);
	hv_protobuf_number(&w->part, SAMPLE_MODE, is_kernel ? MODE_KERNEL : MODE_USER);
	hv_protobuf_number(&w->packet, PACKET_TIMESTAMP, s->time_ns);
	hv_protobuf_message(&w->packet, PACKET_SAMPLE, &w->part);
	hv_text_clear(&w->part);
	hv_protobuf_number(&w->packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	put(w);
}

bool hv_flame_perfetto(const struct hv_chains *c, const struct hv_flame_sample *samples, size_t nr,
		       const struct hv_pprof *p,
		       const char *(*comm)(const struct hv_chains *c, uint32_t node),
		       size_t max_bytes, struct hv_text *out)
{
	struct writer w = {
		.c = c,
		.p = p,
		.has_node = hv_alloc((c->nr + 1) * sizeof(bool)),
		.has_frame = hv_alloc((c->nr_frames + 1) * sizeof(bool)),
		.has_mapping = hv_alloc((p->nr_files + 2) * sizeof(bool)),
		.out = out,
	};
	size_t i = 0;

	hv_protobuf_number(&w.packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
	put(&w);
	for (; i < nr && out->len_bytes < max_bytes; i++) {
		put_task(&w, samples[i].pid, comm(c, samples[i].node));
		put_sample(&w, &samples[i]);
	}
	hv_map_deinit(&w.tasks);
	free(w.has_node);
	free(w.has_frame);
	free(w.has_mapping);
	hv_text_deinit(&w.packet);
	hv_text_deinit(&w.interned);
	hv_text_deinit(&w.part);
	hv_text_deinit(&w.inner);
	return i == nr;
}
