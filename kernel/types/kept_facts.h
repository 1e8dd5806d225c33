/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text in which a session keeps its derived facts, so that its recovery need not derive them
 * from a guest that may have changed since. The text is untrusted: the process that wrote it may
 * have been under the guest's control. It has one form only, which begins with a version. Private to
 * kernel/.
 *
 *      hvtrace facts 1
 *      kernel KERNEL
 *      member TYPE NAME OFF LEN_BYTES OF PROOFS BITS BIT        (OF is - for a number)
 *      number NAME VALUE
 *      size TYPE LEN_BYTES
 *      end
 */
#pragma once

#include "base/text.h"
#include "kernel/types/facts.h"

#define HV_KEPT_FACTS_MAX    1024u /* members, numbers and sizes each */
#define HV_KEPT_NAME_MAX     63u
#define HV_KEPT_STRUCT_BYTES 0x100000u /* no structure is larger */

/* KERNEL is a line that identifies the kernel's build. */
void hv_kept_facts_write(const struct hv_facts *f, const char *kernel, struct hv_text *ret);
/* Fails with EINVAL if TEXT has another form, or with ESTALE if its facts are of another kernel or
 * version of the text. */
struct hv_err *hv_kept_facts_read(struct hv_span text, const char *kernel,
				  struct hv_facts *ret) hv_must_use;
