/* Keeps a machine where it is: QEMU migrates, saves and snapshots no machine that has a block node
 * whose format cannot be migrated, whether or not the guest has a disk on it. So a small image of
 * such a format (a fixed VHD, read only) is opened as a node that no device uses. QEMU decides
 * between it and a migration that begins at the same moment, and says why it refuses; the node
 * outlives us, as what it protects does.
 * Leaves to others: how the image gets into the VMM (inject/region.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "vmm/qemu/monitor.h"

#define HV_PIN_NODE	   "hvtrace-attached" /* in QEMU's refusal */
#define HV_PIN_IMAGE_BYTES 4608

void hv_pin_image(uint8_t ret[HV_PIN_IMAGE_BYTES]);

/* Whether the machine says that the node keeps it. */
struct hv_err *hv_pin_stands(struct hv_monitor *m, bool *ret) hv_must_use;
/* PATH: of the image, as the VMM opens it. Errors: the node is there; a migration is under way; the
 * VMM may not have such nodes (-only-migratable) or cannot. */
struct hv_err *hv_pin_set(struct hv_monitor *m, const char *path) hv_must_use;
/* No error when there is no node. */
struct hv_err *hv_pin_clear(struct hv_monitor *m) hv_must_use;
