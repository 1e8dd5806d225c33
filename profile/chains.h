/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts samples by call chain, in a tree: the path from the root to a node is a chain, and the node
 * counts the samples with exactly this chain. A node stands for a frame: a group (a task, a
 * vCPU), a function of the kernel, or an address in a file of a program. Equal frames are stored
 * once, and get their names later.
 *
 * A guest chooses the addresses, so the numbers of nodes and frames are bounded: a chain that does
 * not fit is not counted. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define HV_CHAINS_NODES_MAX  (1u << 20)
#define HV_CHAINS_FRAMES_MAX (1u << 18)
#define HV_CHAINS_ROOT	     0u /* the node without a frame */

enum hv_chain_kind {
	HV_CHAIN_GROUP,	 /* VALUE: unused */
	HV_CHAIN_KERNEL, /* VALUE: the function's address */
	HV_CHAIN_USER,	 /* VALUE: the offset in FILE, or the address if FILE is 0 */
};

struct hv_chain_frame {
	enum hv_chain_kind kind;
	uint32_t file; /* the caller's number of a file, from 1; 0: none */
	uint64_t value;
	char *name; /* owned, untrusted; NULL: not known yet */
};

struct hv_chain_node {
	uint32_t parent, frame;
	uint64_t self;	 /* number of samples, or nanoseconds */
	uint64_t before; /* like SELF, in a profile that this one is compared with */
};

enum hv_chain_unit { HV_CHAIN_SAMPLES, HV_CHAIN_NS };

/* Zero-initialised is empty. */
struct hv_chains {
	struct hv_chain_frame *frames; /* owned */
	size_t nr_frames, frames_cap;
	struct hv_chain_node *nodes; /* owned; the first one is the root */
	size_t nr, cap;
	struct hv_map frame_index, name_index, node_index;
	enum hv_chain_unit unit; /* of all nodes */
};

void hv_chains_deinit(struct hv_chains *c);
/* Find a frame, or add it. Return false if there are too many. */
bool hv_chains_group(struct hv_chains *c, const char *name, uint32_t *ret);
/* Like hv_chains_group(), for a frame that is known by its kind and name only. */
bool hv_chains_named(struct hv_chains *c, enum hv_chain_kind kind, const char *name, uint32_t *ret);
bool hv_chains_frame(struct hv_chains *c, enum hv_chain_kind kind, uint32_t file, uint64_t value,
		     uint32_t *ret);
/* Names FRAME, which has no name yet. Takes NAME. */
void hv_chains_name(struct hv_chains *c, uint32_t frame, char *name);
/* Finds PARENT's child with FRAME, or adds it. Returns false if there are too many. */
bool hv_chains_child(struct hv_chains *c, uint32_t parent, uint32_t frame, uint32_t *ret);
