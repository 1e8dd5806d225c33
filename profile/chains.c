/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/chains.h"

#include <string.h>

#include "base/grow.h"

#define FILE_SHIFT 47 /* addresses and offsets in files are smaller; kernel addresses have bit 63 */
#define FILES_MAX  (1u << 15)
#define EQUAL_MAX  64 /* names with one hash */

/* A map's value is an index, plus one because NULL means absent. */
static void *value_of(size_t index)
{
	return (void *)(uintptr_t)(index + 1);
}

static bool find(const struct hv_map *m, uint64_t key, uint32_t *ret)
{
	const void *value = hv_map_find(m, key);

	if (!value)
		return false;
	*ret = (uint32_t)((uintptr_t)value - 1);
	return true;
}

void hv_chains_deinit(struct hv_chains *c)
{
	for (size_t i = 0; i < c->nr_frames; i++)
		free(c->frames[i].name);
	free(c->frames);
	free(c->nodes);
	hv_map_deinit(&c->frame_index);
	hv_map_deinit(&c->name_index);
	hv_map_deinit(&c->node_index);
	*c = (struct hv_chains){0};
}

static bool add_frame(struct hv_chains *c, const struct hv_chain_frame *frame, uint32_t *ret)
{
	if (c->nr_frames == HV_CHAINS_FRAMES_MAX)
		return false;
	c->frames = hv_grow(c->frames, c->nr_frames, &c->frames_cap, 256, sizeof(*c->frames));
	*ret = (uint32_t)c->nr_frames;
	c->frames[c->nr_frames++] = *frame;
	return true;
}

/* FNV-1a */
static uint64_t hash(enum hv_chain_kind kind, const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) + (uint64_t)kind;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return h | 1;
}

bool hv_chains_group(struct hv_chains *c, const char *name, uint32_t *ret)
{
	return hv_chains_named(c, HV_CHAIN_GROUP, name, ret);
}

/* Names with equal hashes use the next free key. Their number is bounded, because names can be chosen
 * so that they have equal hashes. */
bool hv_chains_named(struct hv_chains *c, enum hv_chain_kind kind, const char *name, uint32_t *ret)
{
	uint64_t key = hash(kind, name), last = key + 2 * EQUAL_MAX;

	for (; find(&c->name_index, key, ret); key += 2) {
		const struct hv_chain_frame *frame = &c->frames[*ret];

		if (frame->kind == kind && strcmp(frame->name, name) == 0)
			return true;
		if (key == last)
			return false;
	}
	if (!add_frame(c, &(struct hv_chain_frame){.kind = kind}, ret))
		return false;
	c->frames[*ret].name = hv_strdup(name);
	hv_map_add(&c->name_index, key, value_of(*ret));
	return true;
}

bool hv_chains_frame(struct hv_chains *c, enum hv_chain_kind kind, uint32_t file, uint64_t value,
		     uint32_t *ret)
{
	const struct hv_chain_frame frame = {.kind = kind, .file = file, .value = value};
	uint64_t key = (uint64_t)(file + 1) << FILE_SHIFT | value;

	if (kind == HV_CHAIN_KERNEL)
		key = value | UINT64_C(1) << 63;
	else if (file >= FILES_MAX || value >> FILE_SHIFT)
		return false;
	if (find(&c->frame_index, key, ret))
		return true;
	if (!add_frame(c, &frame, ret))
		return false;
	hv_map_add(&c->frame_index, key, value_of(*ret));
	return true;
}

void hv_chains_name(struct hv_chains *c, uint32_t frame, char *name)
{
	c->frames[frame].name = name;
}

static uint32_t add_node(struct hv_chains *c, uint32_t parent, uint32_t frame)
{
	c->nodes = hv_grow(c->nodes, c->nr, &c->cap, 256, sizeof(*c->nodes));
	c->nodes[c->nr] = (struct hv_chain_node){.parent = parent, .frame = frame};
	return (uint32_t)c->nr++;
}

bool hv_chains_child(struct hv_chains *c, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint64_t key = ((uint64_t)parent << 32 | frame) + 1;

	if (!c->nr)
		add_node(c, HV_CHAINS_ROOT, 0);
	if (find(&c->node_index, key, ret))
		return true;
	if (c->nr == HV_CHAINS_NODES_MAX)
		return false;
	*ret = add_node(c, parent, frame);
	hv_map_add(&c->node_index, key, value_of(*ret));
	return true;
}
