/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BTF, the kernel's own type information: tells where members are and which values enumerators
 * have. The bytes are hostile: every id, offset and string is checked, and recursion is limited.
 * Source: Documentation/bpf/btf.rst. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

struct hv_btf;

/* Copies BYTES. Fails with EINVAL when they are not BTF. BASE: the kernel's, when BYTES are those
 * of a module, whose ids and strings go on after it; borrowed for the life of *RET. Else NULL. By
 * their names, only types of BYTES are found. */
struct hv_err *hv_btf_new(struct hv_span bytes, const struct hv_btf *base,
			  struct hv_btf **ret) hv_must_use;
/* Likewise of the kernel's, without a copy: BYTES are borrowed for the life of *RET. */
struct hv_err *hv_btf_new_over(struct hv_span bytes, struct hv_btf **ret) hv_must_use;
void hv_btf_free(struct hv_btf *btf);

/* Finds the byte offset and the size of a member by its path, for example ("task_struct",
 * "thread_info.flags"). A path leads through anonymous structs and unions, and below an array into
 * its first element. Of several types with the name TYPE, the first that has the member counts. The
 * size of an array is that of all its elements. For a bit-field, the offset is that of the byte
 * with its first bit, and the size is the number of bytes that it touches. RET_SIZE may be NULL.
 * False: there is no such type or member. */
bool hv_btf_member(const struct hv_btf *btf, const char *type, const char *path, uint32_t *ret_off,
		   uint32_t *ret_size);
/* Likewise in bits from the start of the type. A member that is no bit-field has all bits of its
 * type. */
bool hv_btf_bits(const struct hv_btf *btf, const char *type, const char *member, uint32_t *ret_off,
		 uint32_t *ret_nr);
bool hv_btf_size(const struct hv_btf *btf, const char *type, uint32_t *ret_size);
/* Finds an enumerator of any enum, anonymous ones included. A 32-bit value is sign-extended only
 * where BTF says that it is signed; pahole before 1.24 never says so. */
bool hv_btf_enumerator(const struct hv_btf *btf, const char *name, int64_t *ret);
/* The id of a section, as ".data..percpu"; 0: there is none. Looks at all types. */
uint32_t hv_btf_section(const struct hv_btf *btf, const char *name);
/* Finds variable number INDEX of a section, and its offset in there. *RET_NAME is BTF's. False:
 * there are no more. */
bool hv_btf_variable(const struct hv_btf *btf, uint32_t section, uint32_t index,
		     const char **ret_name, uint32_t *ret_off);
/* Of its own, without those of a base. */
size_t hv_btf_nr_types(const struct hv_btf *btf);
size_t hv_btf_strings_bytes(const struct hv_btf *btf);
