/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The members that hvtrace writes in the guest or that a trampoline loads. If a wrong offset only
 * makes hvtrace read the wrong thing, checks of what was read suffice. These members need a second,
 * independent proof besides those of the build, because a file of a neighbouring build can pass the
 * latter. A row is a member; btf_proof.h proves it from values in guest memory.
 *
 * A member without its proof refuses the feature that uses it: code that writes or loads a member
 * finds it with hv_fields_find_proved() or hv_btf_need_proof(). Types that the kernel itself
 * contains are always proved. */
#pragma once

#include "kernel/core/fields.h"

struct hv_btf_member_row {
	const char *type, *member;
	const char *lacks; /* why it may be unproved, for messages */
};

#define HV_BTF_MEMBERS_MAX 64

/* Returns row INDEX, or NULL after the last one. */
const struct hv_btf_member_row *hv_btf_member_row(unsigned index);
/* Returns the bit of a member in struct hv_types.unproved. The table must have it. */
uint64_t hv_btf_member_bit(const char *type, const char *member);

/* Returns the bits of the members that only an equal build id proves. */
uint64_t hv_btf_members_never_proved(void);

/* ENOTSUP: MEMBER of TYPE, which the table has, is not proved. */
struct hv_err *hv_btf_need_proof(const struct hv_kernel_core *core, const char *type,
				 const char *member) hv_must_use;
/* Like hv_fields_find(), but also fails with ENOTSUP like hv_btf_need_proof(). */
struct hv_err *hv_fields_find_proved(const struct hv_kernel_core *core, const char *type,
				     const struct hv_field *fields, size_t nr) hv_must_use;
/* Finds a member that some kernels do not have. Returns false if it does not exist. ENOTSUP: it
 * exists and is not proved. */
struct hv_err *hv_member_find_proved(const struct hv_kernel_core *core, const char *type,
				     const char *member, uint32_t *ret_off,
				     bool *ret_exists) hv_must_use;
