/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps a domain from being migrated, saved or snapshot. QEMU refuses all of that while there is a
 * block node whose format cannot be migrated, whether or not the guest has a disk on it. So a small
 * image of such a format (a fixed VHD, read only) is opened as a node that no device uses. When a
 * migration begins at the same moment, QEMU decides which of the two fails, and says why. The node
 * stays when this process dies, as what is patched in the guest does. Leaves to others: how the VMM
 * gets the image (inject/region.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "vmm/qemu/monitor.h"

#define HV_PIN_NODE	   "hvtrace-attached" /* QEMU's message of a refused migration names it */
#define HV_PIN_IMAGE_BYTES 4608

void hv_pin_image(uint8_t ret[HV_PIN_IMAGE_BYTES]);

/* Whether QEMU says that the node blocks migrations. */
struct hv_err *hv_pin_is_set(struct hv_monitor *m, bool *ret) hv_must_use;
/* PATH is the path by which the VMM opens the image. It fails when the node exists, when a
 * migration is under way, and when the VMM must not have such nodes (-only-migratable) or does not
 * support them. */
struct hv_err *hv_pin_set(struct hv_monitor *m, const char *path) hv_must_use;
/* Succeeds when there is no node. */
struct hv_err *hv_pin_clear(struct hv_monitor *m) hv_must_use;
