/* RUN/ID/dump: what the commands dump and cpudump of functions have written, the newest last. The
 * kernel prints it to its console; the guest's is the tenant's. It outlives the session: whoever
 * was called once, in the night, is looked for later.
 * Leaves to others: what a dump says (tree/files/dump.h), and when there is time to write
 * (serve.h). */
#pragma once

#include "cli/audit.h"
#include "cli/rundir.h"
#include "tree/tree.h"

/* Of one dump. A file that has more starts anew, with the next dump. */
#define DUMPS_MAX_BYTES (64u << 20)

struct dumps {
	struct hv_file *file; /* that is being written; NULL: none */
	const char *why;      /* of it */
	int fd;
	uint64_t nr;	   /* since the attach of which something was written */
	uint64_t nr_bytes; /* of the one being written */
	bool is_over;	   /* that one cannot be written, or has all it may have */
};
#define DUMPS_NONE                                                                                 \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Writes a piece of what there is to write. False: there was nothing. */
bool dumps_write(struct dumps *d, struct hv_tree *tree, const struct rundir *dir, struct audit *a);
/* Writes what is still to be written: TREE is about to end. */
void dumps_finish(struct dumps *d, struct hv_tree *tree, const struct rundir *dir, struct audit *a);
static inline bool dumps_has_work(const struct dumps *d)
{
	return d->file != NULL;
}
