/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves that BTF from a file describes the guest's kernel. The release is no proof: distributions
 * build several kernels with the same one. Three independent proofs compare the file with guest
 * memory, and each must succeed:
 *
 *   per-CPU variables   the file's offset of each one is that of the guest's symbol. It depends on
 *                       the size and the order of all of them. Some files have none (Debian 5.10).
 *   functions           each function of the file is a symbol of the guest
 *   sizes               variables of known types end where the guest's next symbol begins
 *   values              members of the first task and of what it points to contain what every
 *                       kernel has there: addresses of known variables, names, numbers
 *
 * The first three prove the build, and with it every offset. The last one does not trust the
 * file's origin and proves the offsets that trampolines load. The guest's memory is as untrusted as
 * the file: the number of steps is bounded. Private to kernel/. */
#pragma once

#include "kernel/core/core.h"

/* Fails with EINVAL and a reason if BTF is of another build than CORE, or if too little of it can
 * be compared. Needs the guest's release and all of the image, and does not use core->btf. */
struct hv_err *hv_btf_prove(const struct hv_kernel_core *core, const struct hv_btf *btf,
			    const char *release, struct hv_btf_proof *ret) hv_must_use;
