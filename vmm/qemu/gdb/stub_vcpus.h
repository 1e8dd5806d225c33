/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the vCPUs of a paused guest through QEMU's gdb stub: list, registers, cached translations.
 * This file decodes the stub's answers, so it runs in the unprivileged guardian (guardian.h). Its
 * run time is proportional to the length of the answers, which the exchange limits. gdb_stub.h does
 * the framing. */
#pragma once

#include "arch/arch.h"
#include "vmm/qemu/gdb/gdb_stub.h"

#define HV_STUB_NAME_BYTES 48 /* a vCPU's name with its NUL */

/* Sends PACKETS to the stub and appends the answers, one for each. */
typedef struct hv_err *(*hv_stub_exchange_fn)(void *ctx, const struct hv_packets *packets,
					      struct hv_packets *answers);

/* The caller sets EXCHANGE and CTX and zeroes the rest. */
struct hv_stub_vcpus {
	hv_stub_exchange_fn exchange;
	void *ctx;
	const struct hv_arch *arch; /* NULL: hv_stub_vcpus_describe() was not called */
	/* The stub's numbers of the registers in gdb_named of struct hv_arch; 0: this CPU lacks the
	 * register. */
	unsigned named_registers[HV_GDB_NAMED_MAX];
	char (*names)[HV_STUB_NAME_BYTES]; /* the last list of vCPUs; owned */
	unsigned nr;
};

void hv_stub_vcpus_deinit(struct hv_stub_vcpus *v);

/* Requests the stub's description of the registers of ARCH: QEMU answers p and P only to clients
 * that have requested it. Fails with ENOTSUP if it does not describe a register that every CPU
 * has. */
struct hv_err *hv_stub_vcpus_describe(struct hv_stub_vcpus *v,
				      const struct hv_arch *arch) hv_must_use;
/* Lists the vCPUs, EXPECTED as far as the caller knows, and reads the registers of each. *RET_NR is
 * at least 1 and at most HV_VCPUS_MAX. The caller frees *RET. Fails with EPROTO if the stub's
 * answer is not a list, or not the registers of a vCPU. */
struct hv_err *hv_stub_vcpus_look(struct hv_stub_vcpus *v, unsigned expected,
				  struct hv_vcpu_regs **ret, unsigned *ret_nr) hv_must_use;
/* Makes TCG drop every translation of the vCPUs that were last listed. */
struct hv_err *hv_stub_vcpus_flush(struct hv_stub_vcpus *v) hv_must_use;
