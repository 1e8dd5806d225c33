/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/sets_arm64.h"

#include <errno.h>

/* Register sets (include/uapi/linux/elf.h: NT_ARM_ZA, NT_ARM_POE, NT_ARM_GCS) that older C
 * libraries do not define. */
#define SET_ZA	0x40c
#define SET_POE 0x40f
#define SET_GCS 0x410

/* A frame without SME matrices disables them; one without permission overlays (POR_EL0) may set them
 * to any value; and a guarded control stack would lack its token. */
struct hv_err *hv_arm64_check_sets(const struct hv_thread *t, hv_get_set_fn get)
{
	struct {
		uint32_t size, max_size;
		uint16_t vl, max_vl, flags, reserved;
	} za = {0};
	uint64_t gcs[3] = {0}, poe;

	if (get(t, SET_ZA, &za, sizeof(za)) && za.size > sizeof(za))
		return hv_err_new(ENOTSUP,
				  "thread %d uses SME matrices, which an injected call would erase",
				  (int)t->tid);
	if (get(t, SET_POE, &poe, sizeof(poe)))
		return hv_err_new(ENOTSUP,
				  "thread %d has permission overlays (POE), which an injected call "
				  "would change",
				  (int)t->tid);
	if (get(t, SET_GCS, gcs, sizeof(gcs)) && gcs[0])
		return hv_err_new(
			ENOTSUP,
			"thread %d has a guarded control stack, so an injected call would "
			"kill it",
			(int)t->tid);
	return NULL;
}
