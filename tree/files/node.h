/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A node describes a file or a directory of the tree by its operations.
 * Leaves to others: open files (file.h), which directory contains which node (nodes.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "tree/settings/rights.h"

struct hv_file;
struct hv_instance;
struct hv_kernel;
struct hv_node;
struct hv_tree;

/* What a path names. */
struct hv_place {
	struct hv_tree *tree;
	struct hv_instance *instance;
	const struct hv_node *node;
	const char *name; /* the last name of the path; for an entry as README has it: "cpuN" */
	int cpu;	  /* the vCPU to which this file or directory belongs, or HV_ALL_CPUS */
	unsigned entry;	  /* which entry this is or is below, in a directory with entries */
};

/* A name that a directory contains. */
struct hv_child {
	const char *name;
	const struct hv_node *node;
	const char *help;      /* the text in README; NULL: the node's */
	unsigned only_top : 1; /* directories of instances/ do not have it */
	/* Whether DIR has it; NULL: always. */
	bool (*is_in)(const struct hv_place *dir);
};

/* The names in a directory that depend on the session. All of them have the same node. */
struct hv_entries {
	const char *shown_as; /* one name for all of them in README: "cpuN" */
	/* Adds the name of the INDEXth entry of DIR. Returns false when there are no more. */
	bool (*name)(const struct hv_place *dir, size_t index, struct hv_text *ret);
	/* Moves AT from the directory to its entry NAME: sets instance, cpu or entry. Returns false
	 * when there is no such entry. */
	bool (*find)(struct hv_place *at, const char *name);
	/* mkdir and rmdir; NULL: they fail with EPERM. NAME does not exist yet; AT is the entry. */
	hv_must_use struct hv_err *(*make)(const struct hv_place *dir, const char *name);
	hv_must_use struct hv_err *(*remove)(const struct hv_place *at);
};

/* Operations that are NULL do nothing (open, close, release) or fail with EINVAL (read, write). */
struct hv_node {
	const char *help; /* the text in README, unless struct hv_child has another one */
	/* More of that text: what is there for KERNEL, static. NULL: nothing. */
	const char *(*more_help)(const struct hv_kernel *kernel);
	unsigned mode; /* permissions; 0: the operations decide (hv_node_mode) */
	unsigned arg;  /* distinguishes nodes that share operations */

	/* The rights to open a file for reading, and to open it for writing, to write, and to
	 * publish what was written; of a directory, to make and remove entries. 0: only root. */
	uint32_t reads, writes;

	/* For a file. f->state of an open file has STATE_BYTES, at first zeros. */
	size_t state_bytes;
	hv_must_use struct hv_err *(*open)(struct hv_file *f);
	/* Adds the whole contents to f->text. */
	void (*show)(struct hv_file *f);
	/* Instead of show(): adds the next part to f->text. Adding nothing means the end. */
	hv_must_use struct hv_err *(*fill)(struct hv_file *f);
	/* Like write(2): *RET_LEN may be less than LEN_BYTES. */
	hv_must_use struct hv_err *(*write)(struct hv_file *f, const char *buf, size_t len_bytes,
					    size_t *ret_len);
	/* For poll(2), called before anybody tries whether a read finds something. EAGAIN: there is
	 * too little to read yet. *RET_ALWAYS true: the file is readable, whatever a read finds. */
	hv_must_use struct hv_err *(*ready)(struct hv_file *f, bool *ret_always);
	/* Publishes what was written. The file is closed afterwards, also on error. */
	hv_must_use struct hv_err *(*close)(struct hv_file *f);
	/* Frees what the state owns. Also called when open() has failed. */
	void (*release)(struct hv_file *f);

	/* For a directory, which has children, entries or both. */
	const struct hv_child *children; /* the last one has no name */
	const struct hv_entries *entries;
	const struct hv_node *entry; /* the node of all entries */
};

static inline bool hv_node_is_dir(const struct hv_node *n)
{
	return n->children || n->entries;
}
