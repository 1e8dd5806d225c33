/* RAM of a machine of our own: one file in memory, mapped here, below and above the hole that ends
 * at 4 GiB. Leaves to others: what lies in it (boot.h), telling KVM (minivm.c). */
#pragma once

#include "base/addr.h"
#include "base/err.h"

#define HV_MINIVM_HOLE	     UINT64_C(0xc0000000) /* no RAM from here to 4 GiB: interrupt controllers */
#define HV_MINIVM_HOLE_END   UINT64_C(0x100000000)
#define HV_MINIVM_MEMORY_MIN (UINT64_C(64) << 20)

struct hv_minivm_memory {
	uint8_t *host; /* owned mapping: RAM below the hole, then what is above it */
	int fd;	       /* of the file, which has HOST's offsets; owned when HOST is set */
	uint64_t len_bytes;
	uint64_t low_bytes; /* below the hole */
};

/* EINVAL: too little to boot anything, more than this host has, or no whole pages. */
struct hv_err *hv_minivm_memory_init(struct hv_minivm_memory *m, uint64_t len_bytes) hv_must_use;
void hv_minivm_memory_deinit(struct hv_minivm_memory *m);

/* NULL: some of [GPA, GPA + LEN) is no RAM. */
uint8_t *hv_minivm_memory_at(const struct hv_minivm_memory *m, struct hv_gpa gpa,
			     uint64_t len_bytes);
/* Where no RAM is any more. */
struct hv_gpa hv_minivm_memory_end(const struct hv_minivm_memory *m);
