/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "vmm/inject/shadow.h"

#define REGION_WORD "memfd:hvtrace-region-"

struct hv_fd_link hv_fd_link_parse(const char *target)
{
	struct hv_fd_link link = {0};
	const char *at = strstr(target, REGION_WORD);

	if (hv_starts_with(target, "anon_inode:kvm-vm") && !target[17])
		link.kind = HV_FD_VM;
	else if (sscanf(target, "anon_inode:kvm-vcpu:%u", &link.vcpu) == 1)
		link.kind = HV_FD_VCPU;
	else if (at && sscanf(at + strlen(REGION_WORD), "%" SCNu32 "-%" SCNx64, &link.slot,
			      &link.gpa.v) == 2)
		link.kind = HV_FD_REGION;
	else if (!strcmp(target, "/memfd:" HV_PIN_FILE " (deleted)"))
		link.kind = HV_FD_PIN;
	return link;
}

void hv_region_name(uint32_t slot, struct hv_gpa gpa, char ret[HV_REGION_NAME_LEN])
{
	snprintf(ret, HV_REGION_NAME_LEN, "hvtrace-region-%" PRIu32 "-%" PRIx64, slot, gpa.v);
}

void hv_shadow_name(const struct hv_shadow *s, char ret[HV_SHADOW_NAME_LEN])
{
	snprintf(ret, HV_SHADOW_NAME_LEN,
		 HV_SHADOW_FILE "%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%d-%" PRIx64, s->start.v,
		 s->len_bytes, s->hva, s->ram_fd, s->ram_off);
}

bool hv_shadow_parse(const char *target, struct hv_shadow *ret)
{
	struct hv_shadow s = *ret;
	const char *at = strstr(target, "memfd:" HV_SHADOW_FILE);

	if (!at || sscanf(at + strlen("memfd:" HV_SHADOW_FILE),
			  "%" SCNx64 "-%" SCNx64 "-%" SCNx64 "-%d-%" SCNx64, &s.start.v,
			  &s.len_bytes, &s.hva, &s.ram_fd, &s.ram_off) != 5)
		return false;
	*ret = s;
	return true;
}
