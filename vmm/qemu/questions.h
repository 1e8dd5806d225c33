/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries the monitor and converts its answers to values of fixed size. Only the unprivileged
 * process does this (parser_run.c). ram_layout.h queries RAM, pin.h the pin. */
#pragma once

#include <sys/types.h>

#include "arch/arch.h"
#include "vmm/qemu/facts.h"
#include "vmm/qemu/monitor.h"

struct hv_err *hv_ask_kind(struct hv_monitor *m, struct hv_vmm_kind *ret) hv_must_use;
struct hv_err *hv_ask_status(struct hv_monitor *m, struct hv_vmm_status *ret) hv_must_use;
struct hv_err *hv_ask_migration(struct hv_monitor *m, struct hv_vmm_migration *ret) hv_must_use;
/* Returns 0 for a VMM without support for SEV. */
struct hv_err *hv_ask_sev(struct hv_monitor *m, uint32_t *ret) hv_must_use;
/* Returns the threads of the vCPUs as reported by the VMM, 0 if not reported. The caller frees
 * *RET. */
struct hv_err *hv_ask_threads(struct hv_monitor *m, pid_t **ret, unsigned *ret_nr) hv_must_use;
/* Like hv_machine_registers(). */
struct hv_err *hv_ask_registers(struct hv_monitor *m, const struct hv_arch *arch,
				struct hv_vcpu_regs *ret, size_t nr) hv_must_use;
struct hv_err *hv_ask_ivshmem(struct hv_monitor *m, struct hv_vmm_ivshmem *ret) hv_must_use;
struct hv_err *hv_ask_stub(struct hv_monitor *m, struct hv_vmm_stub *ret) hv_must_use;
/* Starts the gdb stub on the socket PATH; "": stops it. RET is the first line of output. */
struct hv_err *hv_ask_gdbserver(struct hv_monitor *m, const char *path,
				char ret[HV_VMM_TEXT_BYTES]) hv_must_use;
struct hv_err *hv_ask_cont(struct hv_monitor *m) hv_must_use;
/* Returns a device of the host or another process that accesses guest RAM without the VMM's
 * mappings. */
struct hv_err *hv_ask_devices(struct hv_monitor *m, enum hv_vmm_device *ret) hv_must_use;
/* Finds an address for the region (memory_tree.h). Fails with ENOSPC if there is no free range. */
struct hv_err *hv_ask_place(struct hv_monitor *m, unsigned phys_bits, uint64_t floor,
			    uint64_t len_bytes, struct hv_gpa *ret) hv_must_use;
