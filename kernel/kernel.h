/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Linux kernel in a machine: where it is and what its names mean. It is only read, nothing is
 * needed from the user, and everything that is read is hostile and checked.
 * Leaves to others: changing anything (patcher/). */
#pragma once

#include "kernel/core.h"
#include "kernel/layout.h"
#include "kernel/modules.h"
#include "kernel/sites.h"

struct hv_kernel {
	struct hv_guest *guest; /* borrowed */
	struct hv_kernel_core core;
	struct hv_modules modules;
	char *banner;  /* owned, safe to print, no newline */
	char *release; /* owned, safe to print: "6.1.0-56-cloud-amd64" */
	uint8_t build_id[32];
	size_t build_id_len_bytes; /* 0: none */
	struct hv_gva_range text;  /* _stext .. _etext */
	bool kpti;
	struct hv_layout layout;
	struct hv_sites sites;
	uint64_t symbols_version; /* another one after each change of modules */
	/* hv_modules_signature() right before modules and sites were read; 0: not known */
	uint64_t modules_signature;
	struct hv_gva return_thunk; /* 0: the kernel returns with a bare return */
	bool jumps_bare;     /* it jumps to an address in a register without a thunk, unchecked */
	bool is_starting;    /* its code is not final: return_thunk is 0 until hv_kernel_settle() */
	bool has_init_sites; /* its init code can be traced: its owner is told before it is freed */
};

struct hv_vmlinux_file;

/* VMLINUX may be NULL. A file with another build id is refused, with both ids. */
struct hv_err *hv_kernel_open(struct hv_guest *g, const struct hv_vmlinux_file *vmlinux,
			      struct hv_kernel **ret) hv_must_use;
/* Reads neither modules nor sites: there are none in *RET. For recover, which a guest must not be
 * able to prevent by lists that cannot be read. */
struct hv_err *hv_kernel_open_core(struct hv_guest *g, struct hv_kernel **ret) hv_must_use;
void hv_kernel_free(struct hv_kernel *k);

/* Reads modules and sites again, after a module came or went. */
struct hv_err *hv_kernel_refresh(struct hv_kernel *k) hv_must_use;

/* Once a kernel that was starting is up, finds out how its final code returns. *RET_CHANGED:
 * return_thunk was changed. Cheap when there is nothing to do. */
struct hv_err *hv_kernel_settle(struct hv_kernel *k, bool *ret_changed) hv_must_use;

/* As the latency format of the guest's ftrace names it: server, desktop, preempt, preempt_rt; in
 * newer kernels PREEMPT(lazy) and the like; unknown. */
const char *hv_kernel_preempt_model(const struct hv_kernel *k);
/* Whether AT is in a function that takes or releases a spin lock (in_lock_functions). */
bool hv_kernel_in_lock_functions(const struct hv_kernel *k, struct hv_gva at);

/* Whether tasks can be preempted in the kernel (CONFIG_PREEMPTION), which then counts where it must
 * not happen. */
bool hv_kernel_is_preemptible(const struct hv_kernel *k);

/* Whether a task may be preempted at any instruction of the kernel's, so that it goes on on another
 * CPU. Reads the guest's memory: a kernel with PREEMPT_DYNAMIC may be told to begin with it or to
 * stop. True also when that cannot be told. */
bool hv_kernel_preempts(const struct hv_kernel *k);

/* The code that a kernel frees when it has started; empty when that is not known. */
struct hv_gva_range hv_kernel_init_text(const struct hv_kernel *k);

bool hv_kernel_symbol(const struct hv_kernel *k, const char *name, struct hv_gva *ret);
/* As kallsyms_lookup(): looks at the core kernel, then at modules. False: the address belongs to no
 * symbol. *RET_MODULE is NULL for the core kernel. */
bool hv_kernel_symbol_at(const struct hv_kernel *k, struct hv_gva addr, const char **ret_name,
			 const char **ret_module, uint64_t *ret_off);
/* The running code that ADDR is in: the kernel's text, or that of a module in k->modules.
 * *RET_SYMBOLS are the symbols of the one or the other. False: it is in neither. */
bool hv_kernel_code_at(const struct hv_kernel *k, struct hv_gva addr, struct hv_gva_range *ret_text,
		       const struct hv_symbols **ret_symbols);
/* Bytes from the symbol that ADDR belongs to up to the next symbol (get_symbol_pos). 0: it belongs
 * to none. */
uint64_t hv_kernel_symbol_size(const struct hv_kernel *k, struct hv_gva addr);
/* The address of CPU's copy of a per-CPU variable. */
struct hv_err *hv_kernel_percpu(const struct hv_kernel *k, uint64_t percpu, unsigned cpu,
				struct hv_gva *ret) hv_must_use;

/* Check that stubs can recognise a stack of interrupts, or of exceptions, by its address.
 * EOPNOTSUPP with the reason when they cannot. */
struct hv_err *hv_kernel_need_irq_stack(const struct hv_kernel *k) hv_must_use;
struct hv_err *hv_kernel_need_exception_stacks(const struct hv_kernel *k) hv_must_use;
/* Checks that the host tells the kernel for how long it did not run a CPU. EOPNOTSUPP with the
 * reason when it does not. */
struct hv_err *hv_kernel_need_steal_time(const struct hv_kernel *k) hv_must_use;

static inline void hv_kernel_free_at(struct hv_kernel **k)
{
	hv_kernel_free(*k);
}
#define HV_AUTO_KERNEL hv_cleanup(hv_kernel_free_at)
