/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Linux kernel in a guest: its location and symbols. This code only reads guest memory and
 * needs no information from the user. All that it reads is untrusted and checked. patcher/ makes
 * changes. */
#pragma once

#include "kernel/core/core.h"
#include "kernel/layout.h"
#include "kernel/sites/modules.h"
#include "kernel/sites/sites.h"

/* The types in the copy of the image, once pages are released (events/idle_memory.h). */
struct hv_idle_types {
	struct hv_gva_range range;
	uint64_t nr_releases; /* when they were loaded */
	bool are_same;	      /* as they were when they were checked */
};

struct hv_kernel {
	struct hv_guest *guest; /* borrowed */
	struct hv_kernel_core core;
	struct hv_modules modules;
	char *banner;  /* owned, safe to print, no newline */
	char *release; /* owned, safe to print: "6.1.0-56-cloud-amd64" */
	uint8_t build_id[32];
	size_t build_id_len_bytes; /* 0: unknown */
	struct hv_gva_range text;  /* _stext .. _etext */
	bool kpti;
	struct hv_layout layout;
	struct hv_sites sites; /* with `entries`: a kernel without ftrace */
	struct hv_idle_types idle_types;
	uint64_t symbols_version; /* changes whenever modules change */
	/* hv_modules_signature() immediately before modules and sites were read; 0: unknown */
	uint64_t modules_signature;
	struct hv_gva return_thunk; /* 0: the kernel uses plain return instructions */
	bool jumps_bare;     /* it uses bare indirect jumps: no thunk, no CPU check of the target */
	bool is_starting;    /* the kernel is still patching its code: return_thunk is 0 until
				hv_kernel_settle() */
	bool has_init_sites; /* its init code can be traced: the guest stops before it is freed */
};

struct hv_vmlinux_file;

/* VMLINUX may be NULL. Rejects a file with a different build id and reports both ids. FILES
 * supplies BTF if the kernel contains none and may be NULL; a file of another build is rejected
 * (btf_proof.h). */
struct hv_err *hv_kernel_open(struct hv_guest *g, const struct hv_vmlinux_file *vmlinux,
			      const struct hv_btf_files *files, struct hv_kernel **ret) hv_must_use;
/* Leaves modules and sites empty. `recover` uses this function so that a guest cannot prevent
 * recovery with unreadable lists. */
struct hv_err *hv_kernel_open_core(struct hv_guest *g, const struct hv_btf_files *files,
				   struct hv_kernel **ret) hv_must_use;
void hv_kernel_free(struct hv_kernel *k);

/* Fails with ENOTSUP if the vCPUs with paging on have execute permission on every page, because a
 * bit in the region's page-table entries is then reserved. A kernel at the start of boot looks like
 * that too. */
struct hv_err *hv_core_check_nx(const struct hv_vcpu_regs *regs, unsigned nr) hv_must_use;

/* Reads modules and sites again after modules changed. */
struct hv_err *hv_kernel_refresh(struct hv_kernel *k) hv_must_use;

/* If the kernel was starting and has booted since, determines return_thunk from its final code.
 * *RET_CHANGED: return_thunk changed. Cheap if there is nothing to do. */
struct hv_err *hv_kernel_settle(struct hv_kernel *k, bool *ret_changed) hv_must_use;

/* Returns the preemption model as the latency format of the guest's ftrace prints it: server,
 * desktop, preempt or preempt_rt; in newer kernels PREEMPT(lazy) and similar; or unknown. */
const char *hv_kernel_preempt_model(const struct hv_kernel *k);
/* Returns whether AT is in a function that takes or releases a spin lock (in_lock_functions). */
bool hv_kernel_in_lock_functions(const struct hv_kernel *k, struct hv_gva at);

/* Returns whether the kernel is preemptible (CONFIG_PREEMPTION), so that it counts sections that
 * must not be preempted. */
bool hv_kernel_is_preemptible(const struct hv_kernel *k);

/* Returns whether the kernel can preempt a task at any kernel instruction and continue it on
 * another CPU. Reads guest memory, because PREEMPT_DYNAMIC can change the mode at run time. True if
 * unknown. */
bool hv_kernel_preempts(const struct hv_kernel *k);

/* The code that the kernel frees after boot; empty if unknown. */
struct hv_gva_range hv_kernel_init_text(const struct hv_kernel *k);

bool hv_kernel_symbol(const struct hv_kernel *k, const char *name, struct hv_gva *ret);
/* Like kallsyms_lookup(): searches the core kernel, then modules. Returns false if no symbol
 * contains the address. *RET_MODULE is NULL for the core kernel. */
bool hv_kernel_symbol_at(const struct hv_kernel *k, struct hv_gva addr, const char **ret_name,
			 const char **ret_module, uint64_t *ret_off);
/* Finds the code that contains ADDR: the kernel's text or the text of a module in k->modules, and
 * its symbols. Returns false if neither contains ADDR. */
bool hv_kernel_code_at(const struct hv_kernel *k, struct hv_gva addr, struct hv_gva_range *ret_text,
		       const struct hv_symbols **ret_symbols);
/* Returns the distance from the symbol that contains ADDR to the next symbol (get_symbol_pos), or 0
 * if no symbol contains it. */
uint64_t hv_kernel_symbol_size(const struct hv_kernel *k, struct hv_gva addr);
/* Returns the address of CPU's copy of a per-CPU variable. */
struct hv_err *hv_kernel_percpu(const struct hv_kernel *k, uint64_t percpu, unsigned cpu,
				struct hv_gva *ret) hv_must_use;

/* Check that trampolines can recognise an interrupt stack or exception stacks by address. Fail with
 * EOPNOTSUPP and the reason if they cannot. */
struct hv_err *hv_kernel_need_irq_stack(const struct hv_kernel *k) hv_must_use;
struct hv_err *hv_kernel_need_exception_stacks(const struct hv_kernel *k) hv_must_use;
/* Checks that the host reports steal time to the kernel. Fails with EOPNOTSUPP and the reason if it
 * does not. */
struct hv_err *hv_kernel_need_steal_time(const struct hv_kernel *k) hv_must_use;

static inline void hv_kernel_free_at(struct hv_kernel **k)
{
	hv_kernel_free(*k);
}
#define HV_AUTO_KERNEL hv_cleanup(hv_kernel_free_at)
