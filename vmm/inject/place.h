/* Where injected memory goes: a guest-physical place that nothing of the machine has or will have,
 * and what /proc says about the VMM's KVM files. Pure: text and numbers in, values out. */
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
	size_t nr;
};

void hv_taken_add(struct hv_taken_list *t, uint64_t start, uint64_t end);
void hv_taken_deinit(struct hv_taken_list *t);
/* Every range in the text of `info mtree`, of whatever address space and kind, but those that are
 * the whole of a space. */
void hv_taken_parse(struct hv_taken_list *t, const char *text);

#define HV_PLACE_UNIT (2ull << 20)

/* The highest place for LEN bytes, aligned to HV_PLACE_UNIT, in the lower three quarters of what
 * PHYS_BITS can address (firmware puts windows for PCI into the last eighth, AMD has
 * HyperTransport's hole in the last 12 GiB), above 4 GiB and FLOOR. False: none. */
bool hv_place_choose(const struct hv_taken_list *taken, unsigned phys_bits, uint64_t floor,
		     uint64_t len_bytes, struct hv_gpa *ret);

/* Bytes of a size as QEMU writes them ("4G", "524288k", no unit: MiB). False: no size. */
bool hv_size_parse(const char *text, uint64_t *ret);

/* The link of a file descriptor. */
enum hv_fd_kind { HV_FD_OTHER, HV_FD_VM, HV_FD_VCPU, HV_FD_REGION, HV_FD_PIN };
struct hv_fd_link {
	enum hv_fd_kind kind;
	unsigned vcpu; /* id, HV_FD_VCPU */
	uint32_t slot; /* HV_FD_REGION */
	struct hv_gpa gpa;
};
struct hv_fd_link hv_fd_link_parse(const char *target);
/* The name of the region's memfd, which says what a later hvtrace must know. */
#define HV_REGION_NAME_LEN 64
#define HV_PIN_FILE	   "hvtrace-pin" /* of the memfd with the image of vmm/qemu/pin.h */
void hv_region_name(uint32_t slot, struct hv_gpa gpa, char ret[HV_REGION_NAME_LEN]);

/* The shadow file's name (shadow.h): all of its window but the file's own number. */
struct hv_shadow;
#define HV_SHADOW_FILE	   "hvtrace-shadow-"
#define HV_SHADOW_NAME_LEN 160
void hv_shadow_name(const struct hv_shadow *s, char ret[HV_SHADOW_NAME_LEN]);
/* False: TARGET, the link of a file descriptor, is none. */
bool hv_shadow_parse(const char *target, struct hv_shadow *ret);
