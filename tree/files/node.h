/* What a name in the tree stands for: a file or a directory, and what is done with it.
 * Leaves to others: open files (file.h), which node stands where (nodes.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"

struct hv_file;
struct hv_instance;
struct hv_node;
struct hv_tree;

/* Where a path leads. */
struct hv_place {
	struct hv_tree *tree;
	struct hv_instance *instance;
	const struct hv_node *node;
	const char *name; /* the last of the path; of an entry as README shows it: "cpuN" */
	int cpu;	  /* the vCPU whose file or directory this is, or HV_ALL_CPUS */
	unsigned entry;	  /* which entry of a directory with entries, for all below it */
};

/* One of the names that a directory always has. */
struct hv_child {
	const char *name;
	const struct hv_node *node;
	const char *help;      /* what README says of it; NULL: the node's */
	unsigned only_top : 1; /* directories of instances/ do not have it */
};

/* The names that come and go in a directory. All of them stand for one node. */
struct hv_entries {
	const char *shown_as; /* in README, instead of their names: "cpuN" */
	/* Adds the name of the INDEXth entry of DIR. False: there are no more. */
	bool (*name)(const struct hv_place *dir, size_t index, struct hv_text *ret);
	/* Makes AT, the directory, its entry NAME: sets instance, cpu or entry. False: there is no
	 * entry of that name. */
	bool (*find)(struct hv_place *at, const char *name);
	/* mkdir and rmdir. NULL: EPERM. NAME does not exist yet; AT is the entry. */
	hv_must_use struct hv_err *(*make)(const struct hv_place *dir, const char *name);
	hv_must_use struct hv_err *(*remove)(const struct hv_place *at);
};

/* Operations that are NULL do nothing (open, close, release) or fail with EINVAL (read, write). */
struct hv_node {
	const char *help; /* what README says of it, unless struct hv_child says something else */
	unsigned mode;	  /* permissions; 0: those that fit the operations (lookup.h) */
	unsigned arg;	  /* tells nodes that share operations from each other */

	/* Of a file. f->state has STATE_BYTES for an open file of this node, zeros at first. */
	size_t state_bytes;
	hv_must_use struct hv_err *(*open)(struct hv_file *f);
	/* Adds all that the file says to f->text. */
	void (*show)(struct hv_file *f);
	/* Instead of show(): adds what comes next to f->text. Adding nothing is the end. */
	hv_must_use struct hv_err *(*fill)(struct hv_file *f);
	/* As write(2): *RET_LEN may be less than LEN_BYTES. */
	hv_must_use struct hv_err *(*write)(struct hv_file *f, const char *buf, size_t len_bytes,
					    size_t *ret_len);
	/* For poll(2), before it is tried whether a read finds something. EAGAIN: there is too
	 * little yet. *RET_ALWAYS true: the file is readable, whatever a read would find. */
	hv_must_use struct hv_err *(*ready)(struct hv_file *f, bool *ret_always);
	/* Publishes what was written. The file is gone afterwards, whatever this returns. */
	hv_must_use struct hv_err *(*close)(struct hv_file *f);
	/* Frees what the state owns. Also called when open() has failed. */
	void (*release)(struct hv_file *f);

	/* Of a directory: it has children, entries or both. */
	const struct hv_child *children; /* ended by one without a name */
	const struct hv_entries *entries;
	const struct hv_node *entry; /* what each entry is */
};

static inline bool hv_node_is_dir(const struct hv_node *n)
{
	return n->children || n->entries;
}
