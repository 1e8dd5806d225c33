/* BTF, the kernel's own type information, from memory: where a member is, what an enumerator is.
 * Input is hostile: every id, offset and string is bounded, no recursion without a limit.
 * Source: Documentation/bpf/btf.rst. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

struct hv_btf;

/* Copies BYTES. EINVAL when it is not BTF. */
struct hv_err *hv_btf_new(struct hv_span bytes, struct hv_btf **ret) hv_must_use;
void hv_btf_free(struct hv_btf *btf);

/* Byte offset and size of a member, by a path: ("task_struct", "thread_info.flags"); anonymous
 * structs and unions are looked through; below an array, its first element. False: no such type or
 * member. RET_SIZE may be NULL. Arrays: the whole array's size. Bit-fields: the byte of the first
 * bit and the bytes touched. Of several types of one name, the first that has the member. */
bool hv_btf_member(const struct hv_btf *btf, const char *type, const char *path, uint32_t *ret_off,
		   uint32_t *ret_size);
/* Likewise in bits, from the start of the type; of a member that is no bit-field all of it. */
bool hv_btf_bits(const struct hv_btf *btf, const char *type, const char *member, uint32_t *ret_off,
		 uint32_t *ret_nr);
bool hv_btf_size(const struct hv_btf *btf, const char *type, uint32_t *ret_size);
/* Any enumerator of any enum, anonymous ones included. 32-bit ones are sign-extended only where the
 * BTF says they are signed (pahole before 1.24 never does). */
bool hv_btf_enumerator(const struct hv_btf *btf, const char *name, int64_t *ret);
size_t hv_btf_nr_types(const struct hv_btf *btf);
