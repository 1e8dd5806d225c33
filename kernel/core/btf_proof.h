/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves that BTF from a file describes the guest's kernel. The release is no proof: distributions
 * build several kernels with the same one. The file is compared with guest memory:
 *
 *   build id            if both have one (type_sources.c)
 *   per-CPU variables   the file's offset of each one is that of the guest's symbol. It depends on
 *                       the size and the order of all of them.
 *   functions           each function of the file is a function of the guest, and the file has
 *                       nearly all of the guest's
 *   sizes               variables of known types end where the guest's next symbol begins
 *   values              members of the first tasks and of what they point to contain what every
 *                       kernel has there: addresses of known variables, names, numbers
 *
 * The first four prove a build of similar source and configuration. A neighbouring build can pass
 * them. So each member that hvtrace writes or that a trampoline loads also needs a proof by values;
 * the members without one are returned, and btf_members.h refuses the features that use them. The
 * guest's memory is as untrusted as the file: the number of steps is bounded. Private to
 * kernel/. */
#pragma once

#include "kernel/core/core.h"

enum hv_build_ids { HV_BUILD_IDS_UNKNOWN, HV_BUILD_IDS_EQUAL };

/* Fails with EINVAL and a reason if BTF is of another build than CORE, and with ENOTSUP if what
 * would show it cannot be compared. Other errors are of reading guest memory and prove nothing.
 * IDS: of the file and the guest's kernel. Needs the guest's release, all of the image and the
 * kernel's own page tables, and does not use core->btf. *RET_UNPROVED: as in struct hv_types. */
struct hv_err *hv_btf_prove(const struct hv_kernel_core *core, const struct hv_btf *btf,
			    const char *release, enum hv_build_ids ids, struct hv_btf_proof *ret,
			    uint64_t *ret_unproved) hv_must_use;
