/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A node describes a file or directory of the tree by its operations. file.h has open files;
 * nodes.c assigns nodes to directories. */
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

/* A resolved path. */
struct hv_path {
	struct hv_tree *tree;
	struct hv_instance *instance;
	const struct hv_node *node;
	const char *name; /* the last name in the path; for an entry its name in README: "cpuN" */
	int cpu;	  /* the vCPU that the path belongs to, or HV_ALL_CPUS */
	unsigned entry;	  /* index of the last entry in the path (struct hv_entries) */
};

/* A fixed name in a directory. */
struct hv_child {
	const char *name;
	const struct hv_node *node;
	const char *help;      /* its text in README; NULL: the node's */
	unsigned only_top : 1; /* not in the directories of instances/ */
	/* Returns whether DIR has it; NULL: always. */
	bool (*is_in)(const struct hv_path *dir);
};

/* Variable names in a directory, which depend on the session. All have the same node. */
struct hv_entries {
	const char *shown_as; /* one name for all of them in README: "cpuN" */
	/* Adds the name of the INDEXth entry of DIR. Returns false after the last one. */
	bool (*name)(const struct hv_path *dir, size_t index, struct hv_text *ret);
	/* Moves AT from the directory to its entry NAME: sets instance, cpu or entry. Returns false
	 * if there is no such entry. */
	bool (*find)(struct hv_path *at, const char *name);
	/* mkdir and rmdir; NULL: EPERM. NAME does not exist yet; AT is the entry. */
	hv_must_use struct hv_err *(*make)(const struct hv_path *dir, const char *name);
	hv_must_use struct hv_err *(*remove)(const struct hv_path *at);
};

/* Operations may be NULL: open, close and release then do nothing, read and write return EINVAL. */
struct hv_node {
	const char *help; /* its text in README, unless struct hv_child has one */
	/* Returns more text for KERNEL, static, or NULL. May be NULL. */
	const char *(*more_help)(const struct hv_kernel *kernel);
	unsigned mode; /* permissions; 0: derived from the operations (hv_node_mode) */
	unsigned arg;  /* distinguishes nodes with the same operations */

	/* Rights for reading a file, and for opening it for writing, writing and publishing; for
	 * directories, for creating and removing entries. 0: only root. */
	uint32_t reads, writes;

	/* Files. f->state of an open file has STATE_BYTES, initially zeros. */
	size_t state_bytes;
	hv_must_use struct hv_err *(*open)(struct hv_file *f);
	/* Adds the complete contents to f->text. */
	void (*show)(struct hv_file *f);
	/* Alternative to show(): adds the next part to f->text. Adding nothing means end of
	 * file. */
	hv_must_use struct hv_err *(*fill)(struct hv_file *f);
	/* Like write(2): *RET_LEN may be less than LEN_BYTES. */
	hv_must_use struct hv_err *(*write)(struct hv_file *f, const char *buf, size_t len_bytes,
					    size_t *ret_len);
	/* For poll(2), called before a read is tried. EAGAIN: too little data yet. *RET_ALWAYS
	 * true: the file is readable even if a read returns nothing. */
	hv_must_use struct hv_err *(*ready)(struct hv_file *f, bool *ret_always);
	/* Publishes writes. The file is closed afterwards, even on error. */
	hv_must_use struct hv_err *(*close)(struct hv_file *f);
	/* Frees resources of the state. Also called if open() failed. */
	void (*release)(struct hv_file *f);

	/* Directories, with children, entries or both. */
	const struct hv_child *children; /* terminated by an entry without a name */
	const struct hv_entries *entries;
	const struct hv_node *entry; /* the node of all entries */
};

static inline bool hv_node_is_dir(const struct hv_node *n)
{
	return n->children || n->entries;
}
