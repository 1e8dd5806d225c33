/* The Linux in a machine: where it is, what it calls things. Read-only; nothing from the user is
 * required. Everything read is hostile and checked.
 * Leaves to others: changing anything (patcher/). */
#pragma once

#include "kernel/address_space.h"
#include "kernel/btf.h"
#include "kernel/image.h"
#include "kernel/modules.h"
#include "kernel/sites.h"
#include "kernel/symbols.h"

/* Offsets that stubs and readers need; from BTF, symbols and the per-CPU area. */
struct hv_layout {
	uint64_t cpu_number_percpu; /* per-CPU offset (or kernel address) of the u32 CPU number */
	uint64_t current_percpu;    /* of the current task's pointer */
	uint64_t preempt_count_percpu; /* of the u32 preempt count */
	uint32_t task_pid_off;
	uint32_t task_tgid_off;
	uint32_t task_comm_off;
	uint32_t task_flags_off; /* thread_info.flags */
	uint32_t task_stack_off; /* of the pointer to its stack's lowest byte; valid when
				    has_task_stack */
	bool has_task_stack;
	uint32_t task_migrate_off; /* migration_disabled; valid when has_migrate */
	bool has_migrate;
	/* PREEMPT_RT's own lazy preemption, before 6.12; valid when has_lazy, which the columns of
	 * a trace show then, too */
	uint32_t task_lazy_off; /* thread_info.preempt_lazy_count */
	uint32_t lazy_mask;	/* of thread flags; 0: not known */
	bool has_lazy;
	struct hv_resched_masks resched;
	unsigned nr_cpus;     /* nr_cpu_ids */
	uint32_t stack_bytes; /* of a task's stack: a power of two, and aligned to it */
	bool has_irq_stack;
	uint64_t irq_stack_percpu; /* of the pointer to the interrupt stack's end or last word;
				      valid when has_irq_stack */
};

struct hv_kernel {
	struct hv_guest *guest; /* borrowed */
	struct hv_address_space as;
	struct hv_image image;
	struct hv_symbols symbols;
	struct hv_modules modules;
	struct hv_btf *btf; /* NULL: the kernel has none */
	char *banner;	    /* owned, safe to print, no newline */
	char *release;	    /* owned, safe to print: "6.1.0-56-cloud-amd64" */
	uint8_t build_id[32];
	size_t build_id_len_bytes; /* 0: none */
	struct hv_gva_range text;  /* _stext .. _etext */
	bool kpti;
	struct hv_layout layout;
	struct hv_sites sites;
	struct hv_gva return_thunk; /* 0: the kernel returns with a bare return */
	bool is_starting;    /* its code is not final: return_thunk is 0 until hv_kernel_settle */
	bool has_init_sites; /* its init code can be traced: somebody says before it is freed */
};

/* VMLINUX_PATH may be NULL; a file of another build id is refused with both ids. */
struct hv_err *hv_kernel_open(struct hv_guest *g, const char *vmlinux_path,
			      struct hv_kernel **ret) hv_must_use;
void hv_kernel_free(struct hv_kernel *k);

/* Modules and sites anew (a module came or went). */
struct hv_err *hv_kernel_refresh(struct hv_kernel *k) hv_must_use;

/* Once a kernel that was starting is up, finds what its code became. *RET_CHANGED: return_thunk
 * did. Cheap when there is nothing to do. */
struct hv_err *hv_kernel_settle(struct hv_kernel *k, bool *ret_changed) hv_must_use;

/* As ftrace's latency format names it: server, desktop, preempt, preempt_rt, lazy, unknown. */
const char *hv_kernel_preempt_model(const struct hv_kernel *k);

/* The code that a kernel frees when it has started; empty when the kernel does not say. */
struct hv_gva_range hv_kernel_init_text(const struct hv_kernel *k);

bool hv_kernel_symbol(const struct hv_kernel *k, const char *name, struct hv_gva *ret);
/* ENOENT with the name, and CONFIG_KALLSYMS_ALL where the kernel seems to lack it. */
struct hv_err *hv_kernel_need(const struct hv_kernel *k, const char *name,
			      struct hv_gva *ret) hv_must_use;
/* As kallsyms_lookup: vmlinux, then modules. False: nobody's address. *RET_MODULE NULL for vmlinux.
 */
bool hv_kernel_symbol_at(const struct hv_kernel *k, struct hv_gva addr, const char **ret_name,
			 const char **ret_module, uint64_t *ret_off);
/* Bytes from the symbol that ADDR is in to the next one (get_symbol_pos); 0: nobody's address. */
uint64_t hv_kernel_symbol_size(const struct hv_kernel *k, struct hv_gva addr);
/* Address of CPU's copy of a per-CPU variable. */
struct hv_err *hv_kernel_percpu(const struct hv_kernel *k, uint64_t percpu, unsigned cpu,
				struct hv_gva *ret) hv_must_use;

static inline void hv_kernel_free_at(struct hv_kernel **k)
{
	hv_kernel_free(*k);
}
#define HV_AUTO_KERNEL hv_cleanup(hv_kernel_free_at)
