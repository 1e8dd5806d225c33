/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes the /proc links of the VMM's KVM files, and the names of files that hvtrace creates in
 * it. Pure: text and numbers in, values out. vmm.h finds the region's address. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

/* The decoded /proc link of a file descriptor. */
enum hv_fd_kind { HV_FD_OTHER, HV_FD_VM, HV_FD_VCPU, HV_FD_REGION, HV_FD_PIN };
struct hv_fd_link {
	enum hv_fd_kind kind;
	unsigned vcpu; /* id; of HV_FD_VCPU */
	uint32_t slot; /* this and gpa: of HV_FD_REGION */
	struct hv_gpa gpa;
};
struct hv_fd_link hv_fd_link_parse(const char *target);
/* The name of the region's memfd. A later hvtrace reads the region's address from it. */
#define HV_REGION_NAME_LEN 64
#define HV_PIN_FILE	   "hvtrace-pin" /* the name of the memfd with the image of the pin */
void hv_region_name(uint32_t slot, struct hv_gpa gpa, char ret[HV_REGION_NAME_LEN]);

/* The name of the shadow file (shadow.h), which encodes all properties of its window. */
struct hv_shadow;
#define HV_SHADOW_FILE	   "hvtrace-shadow-"
#define HV_SHADOW_NAME_LEN 160
void hv_shadow_name(const struct hv_shadow *s, char ret[HV_SHADOW_NAME_LEN]);
/* Decodes TARGET, the link of a file descriptor. Returns false if it is not a shadow file's. */
bool hv_shadow_parse(const char *target, struct hv_shadow *ret);
