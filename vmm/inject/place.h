/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes what /proc says about the VMM's KVM files, and the names of the files that hvtrace has it
 * make. Pure: text and numbers in, values out. Leaves to others: the place of the region (vmm.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

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
#define HV_PIN_FILE	   "hvtrace-pin" /* the name of the memfd with the image of the pin */
void hv_region_name(uint32_t slot, struct hv_gpa gpa, char ret[HV_REGION_NAME_LEN]);

/* The name of the shadow file (shadow.h), which has everything about its window in it. */
struct hv_shadow;
#define HV_SHADOW_FILE	   "hvtrace-shadow-"
#define HV_SHADOW_NAME_LEN 160
void hv_shadow_name(const struct hv_shadow *s, char ret[HV_SHADOW_NAME_LEN]);
/* Decodes TARGET, the link of a file descriptor. False: it is not a shadow file's. */
bool hv_shadow_parse(const char *target, struct hv_shadow *ret);
