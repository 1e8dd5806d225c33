/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the region goes when it is injected: guest-physical addresses that nothing in the guest
 * uses or will use. Also decodes what /proc says about the VMM's KVM files. Pure: text and numbers
 * in, values out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct hv_taken { /* [start, end) of guest-physical space */
	uint64_t start;
	uint64_t end;
};

struct hv_taken_list {
	struct hv_taken *list; /* owned */
	size_t nr, cap;
};

void hv_taken_add(struct hv_taken_list *t, uint64_t start, uint64_t end);
void hv_taken_deinit(struct hv_taken_list *t);
#define HV_TAKEN_MAX 65536
/* Adds every range in the text of `info mtree`, of all address spaces and kinds, except those that
 * are as large as an address space. False: there are more than HV_TAKEN_MAX. */
bool hv_taken_parse(struct hv_taken_list *t, const char *text);

#define HV_PLACE_UNIT (2ull << 20)

/* Chooses the highest place for LEN bytes that is aligned to HV_PLACE_UNIT, above 4 GiB and FLOOR,
 * and in the lower three quarters of what PHYS_BITS can address: firmware puts windows for PCI into
 * the last eighth, and AMD has HyperTransport's hole in the last 12 GiB. False: there is none. */
bool hv_place_choose(const struct hv_taken_list *taken, unsigned phys_bits, uint64_t floor,
		     uint64_t len_bytes, struct hv_gpa *ret);

/* Decodes a size as QEMU's options have it ("4G", "524288k"; MiB without a unit). False: TEXT is
 * not a size. */
bool hv_size_parse(const char *text, uint64_t *ret);

/* What the link of a file descriptor in /proc says. */
enum hv_fd_kind { HV_FD_OTHER, HV_FD_VM, HV_FD_VCPU, HV_FD_REGION, HV_FD_PIN };
struct hv_fd_link {
	enum hv_fd_kind kind;
	unsigned vcpu; /* id; of HV_FD_VCPU */
	uint32_t slot; /* this and gpa: of HV_FD_REGION */
	struct hv_gpa gpa;
};
struct hv_fd_link hv_fd_link_parse(const char *target);
/* The name of the region's memfd, from which a later hvtrace learns where the region is. */
#define HV_REGION_NAME_LEN 64
#define HV_PIN_FILE	   "hvtrace-pin" /* the name of the memfd with the image of vmm/qemu/pin.h */
void hv_region_name(uint32_t slot, struct hv_gpa gpa, char ret[HV_REGION_NAME_LEN]);

/* The name of the shadow file (shadow.h), which has everything about its window in it. */
struct hv_shadow;
#define HV_SHADOW_FILE	   "hvtrace-shadow-"
#define HV_SHADOW_NAME_LEN 160
void hv_shadow_name(const struct hv_shadow *s, char ret[HV_SHADOW_NAME_LEN]);
/* Decodes TARGET, the link of a file descriptor. False: it is not a shadow file's. */
bool hv_shadow_parse(const char *target, struct hv_shadow *ret);
