/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A structure or union of the guest's kernel as text, for programs that read its objects. The first
 * line describes the type:
 *
 *      struct|union  BYTES  whole|part  NAME
 *
 * "part": the kernel has no BTF, and only the members that hvtrace derived are known. Each other
 * line describes a member, with tabs between the words:
 *
 *      DEPTH  BIT_OFFSET  BITS  ELEMENT_BYTES  KIND  NR  TYPE  TARGET  NAME
 *
 *      DEPTH         0, or 1 more than that of the structure or union that contains the member
 *      BIT_OFFSET    from the start of the type
 *      BITS          of a bit-field; 0: it is none
 *      ELEMENT_BYTES size of the member, or of an element of an array
 *      KIND          i signed number, u unsigned number, c char, p pointer, s structure, n union,
 *                    o anything else
 *      NR            elements of an array, of all dimensions; -: it is no array
 *      TYPE          in C
 *      TARGET        name of the structure or union that it is or points to; -: it has no name
 *      NAME          empty for an anonymous structure or union
 *
 * The members of a structure or union follow it, as do those of the first element of an array that
 * has elements. Names are safe to print and have no tabs. */
#pragma once

#include "base/text.h"
#include "kernel/types/btf.h"

#define HV_TYPE_TEXT_MAX (4u << 20) /* the largest type of a distribution's kernel has 100 KiB */

/* Appends the text of the type NAME. BTF can be NULL: the kernel has no known types. Fails with
 * ENOENT, or with E2BIG if the text would have more than HV_TYPE_TEXT_MAX bytes. */
struct hv_err *hv_type_text(const struct hv_btf *btf, const char *name, bool is_whole,
			    struct hv_text *ret) hv_must_use;
