/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks migration, saving and snapshots of a domain. QEMU rejects these while there is a block
 * node whose format cannot be migrated, even if the guest has no disk on it. So a small image in
 * such a format (a fixed VHD, read-only) is opened as a node that no device uses. If a migration
 * starts at the same time, QEMU fails one of the two with a reason. The node outlives this process,
 * like the patches in the guest. inject/region.c passes the image to the VMM. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "vmm/qemu/monitor.h"

#define HV_PIN_NODE	   "hvtrace-attached" /* named in QEMU's error for a blocked migration */
#define HV_PIN_IMAGE_BYTES 4608

void hv_pin_image(uint8_t ret[HV_PIN_IMAGE_BYTES]);

/* Whether QEMU reports that the node blocks migrations. */
struct hv_err *hv_pin_is_set(struct hv_monitor *m, bool *ret) hv_must_use;
/* PATH is the VMM's path of the image. Fails if the node exists, if a migration is in progress, and
 * if the VMM forbids such nodes (-only-migratable) or does not support them. */
struct hv_err *hv_pin_set(struct hv_monitor *m, const char *path) hv_must_use;
/* Succeeds if there is no node. */
struct hv_err *hv_pin_clear(struct hv_monitor *m) hv_must_use;
