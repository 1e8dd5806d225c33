/* The VMM process's memory as we reach it: mapped where its own mapping is a shared file (memfd,
 * file, hugetlbfs), else copied with process_vm_readv/writev. Addresses are the VMM's, as its
 * monitor tells them (gpa2hva). Leaves to others: what is there. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct hv_process_memory;

struct hv_process_memory *hv_process_memory_new(pid_t pid);
void hv_process_memory_free(struct hv_process_memory *pm);

/* Part of the VMM's memory that lies in one of its mappings. */
struct hv_piece {
	uint64_t hva; /* in the VMM */
	uint64_t len_bytes;
	uint8_t *host; /* the same bytes here, read-write; NULL: not shared */
	int fd;	       /* of the shared file, borrowed; -1: not shared */
	uint64_t file_off;
};

/* The piece at the start of [HVA, HVA + LEN). EFAULT: the VMM has nothing there, or not for reading
 * and writing. EPERM: we may not look. */
struct hv_err *hv_process_memory_piece(struct hv_process_memory *pm, uint64_t hva,
				       uint64_t len_bytes, struct hv_piece *ret) hv_must_use;

/* The VMM unmaps memory and maps other memory in its place (plugged and unplugged). Looks at what
 * it has now: pieces of what it has not any more are not given again, and stay mapped here until
 * they are dropped. A file of which it has some part still where it was is there. */
struct hv_err *hv_process_memory_look_again(struct hv_process_memory *pm) hv_must_use;
/* Gives back, file and all, what no piece was asked of since the last look; older pieces of it are
 * dangling. */
void hv_process_memory_drop_unused(struct hv_process_memory *pm);
/* The mapping that P is a piece of is not dropped before PM is freed. */
void hv_process_memory_keep(struct hv_process_memory *pm, const struct hv_piece *p);

/* HVA is the VMM's and BUF ours. EFAULT with the address when it cannot be done whole. */
struct hv_err *hv_process_memory_read(struct hv_process_memory *pm, uint64_t hva, void *buf,
				      size_t len_bytes) hv_must_use;
struct hv_err *hv_process_memory_write(struct hv_process_memory *pm, uint64_t hva, const void *buf,
				       size_t len_bytes) hv_must_use;
