/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The core kernel, without modules: symbols, types, a copy of the image, and the address space for
 * reading the kernel's variables. kernel.h finds it. layout.h, modules.h, sites.h and tasks.h
 * interpret the variables. */
#pragma once

#include "base/addr.h"
#include "kernel/image/address_space.h"
#include "kernel/image/image.h"
#include "kernel/image/symbols.h"
#include "kernel/types/btf.h"

#define HV_MODULE_AREAS 2

/* The range of kernel addresses that its text can call: where trampolines can be mapped, and how a
 * record encodes a text address. On some architectures it is the same in every kernel
 * (arch/arch.h); on others it is computed from the image's address (kernel_arch.h).
 * patcher/mapping.h chooses an address. */
struct hv_reach {
	/* Records encode an address of kernel text as an offset from here, with HV_TEXT_BIT. */
	struct hv_gva text_base;
	/* hvtrace may use free page-table entries in this range. It does not change while the
	 * kernel runs: recover looks for hvtrace's entries here. */
	struct hv_gva_range free_range;
	/* Code that starts here can be called from everywhere in the image. */
	struct hv_gva_range code;
	/* Where code starts if `code` has no room. Then some modules cannot call it or, if veneers
	 * are possible, all modules call veneers, which are in `code`. */
	struct hv_gva_range code_else;
	/* A call target must be ENTRY_OFF after a multiple of ENTRY_BYTES. 0: no restriction. */
	unsigned entry_bytes;
	unsigned entry_off;
	/* Ranges in or around free_range where the kernel maps modules, each at the lowest free
	 * address. hvtrace leaves room at their starts. Empty: there are no such ranges. */
	struct hv_gva_range module_areas[HV_MODULE_AREAS];
	/* Where veneers may be mapped, for modules that cannot reach the trampolines; not
	 * necessarily in free_range. Empty: there are no such modules. */
	struct hv_gva_range veneers;
	struct hv_gva_range kept; /* in free_range, but reserved: the kernel maps it */
};

struct hv_facts;
struct hv_orc_found;

enum hv_types_from {
	HV_TYPES_NONE,
	HV_TYPES_IN_MEMORY,
	HV_TYPES_IN_VMLINUX,
	HV_TYPES_IN_DWARF, /* of the vmlinux */
	HV_TYPES_IN_FILE,
	HV_TYPES_DERIVED, /* from the guest's code and memory (derive/derive.h) */
};

/* How often the proofs of btf_proof.h compared the file with the guest. */
struct hv_btf_proof {
	unsigned nr_percpu;	     /* per-CPU variables */
	unsigned nr_functions;	     /* functions */
	unsigned nr_sizes;	     /* structures */
	unsigned nr_values;	     /* values in memory */
	unsigned nr_guest_functions; /* functions of the guest */
	unsigned nr_missing;	     /* functions of the guest that the file lacks */
	bool build_id_equal;	     /* both have one, and they are equal */
};

/* A file that was given for a guest kernel without BTF. */
struct hv_btf_given {
	int fd;		/* owned: a copy (btf_copy.h) */
	char *path;	/* owned; of the file, for messages */
	bool is_proved; /* by an earlier session of this boot */
};

/* Gives the file for a guest kernel that contains no BTF. */
struct hv_btf_files {
	/* RELEASE is the kernel's and untrusted. *RET is the caller's. ENOENT: there is no file,
	 * and the message lists the paths that were tried. */
	struct hv_err *(*open)(void *ctx, const char *release, struct hv_btf_given *ret);
	void *ctx;
	/* Keeps derived facts for the recovery of this session. FACTS is a text
	 * (types/kept_facts.h). NULL: they are not kept. */
	struct hv_err *(*keep_facts)(void *ctx, struct hv_span facts);
	/* Sets *RET to the facts that the dead session kept, which the caller frees, or to NULL.
	 * The member is NULL if there was no such session. */
	struct hv_err *(*kept_facts)(void *ctx, uint8_t **ret, size_t *ret_len_bytes);
};

/* The origin of the types (type_sources.h). */
struct hv_types {
	enum hv_types_from from;
	char *path;		   /* owned; of HV_TYPES_IN_FILE */
	struct hv_btf_proof proof; /* of HV_TYPES_IN_FILE */
	struct hv_facts *facts;	   /* owned; of HV_TYPES_DERIVED */
	struct hv_btf *replaced; /* owned; BTF of fewer facts, which may still be in use; or NULL */
	/* Members that may not be written or loaded: a bit for each row of btf_members.h. */
	uint64_t unproved;
};

/* Whether the kernel lists functions without a name (hv_sites_lists_invalid()). */
enum hv_invalid_sites {
	HV_INVALID_SITES_UNKNOWN,
	HV_INVALID_SITES_HIDDEN,
	HV_INVALID_SITES_LISTED,
};

struct hv_kernel_core {
	struct hv_address_space as;
	struct hv_image image;
	struct hv_symbols symbols;
	/* Variables missing from SYMBOLS, found without their names (unnamed.h). */
	struct hv_symbols unnamed;
	struct hv_btf *btf; /* owned; NULL: no source has the kernel's types */
	struct hv_types types;
	struct hv_err *no_types;  /* owned; why no file has them, or NULL */
	struct hv_orc_found *orc; /* owned: hv_orc_form_of(); NULL: not searched */
	enum hv_invalid_sites invalid_sites;
	/* Empty if all kernels of the architecture have the same reach (use hv_reach_of()), or if
	 * it is unknown (no_reach is the reason). */
	struct hv_reach reach;
	struct hv_err *no_reach; /* owned; why `reach` is unknown, or NULL */
};

/* Returns an empty free_range if no address is known. */
struct hv_reach hv_reach_of(const struct hv_kernel_core *core);

/* Returns whether the kernel has no type or member that core->btf lacks. False if the types were
 * derived: then a type or member that core->btf lacks is only unknown. */
static inline bool hv_types_are_whole(const struct hv_kernel_core *core)
{
	return core->btf && core->types.from != HV_TYPES_DERIVED;
}

void hv_core_deinit(struct hv_kernel_core *core);
/* Frees CORE->orc, as hv_core_deinit() does. */
void hv_orc_found_free(struct hv_orc_found *f);

bool hv_core_symbol(const struct hv_kernel_core *core, const char *name, struct hv_gva *ret);
/* Fails with ENOENT and the name. The message mentions CONFIG_KALLSYMS_ALL if the kernel seems to
 * lack it. */
struct hv_err *hv_core_need(const struct hv_kernel_core *core, const char *name,
			    struct hv_gva *ret) hv_must_use;
/* Returns the address of CPU's copy of a per-CPU variable. Does not check CPU. */
struct hv_err *hv_core_percpu(const struct hv_kernel_core *core, uint64_t percpu, unsigned cpu,
			      struct hv_gva *ret) hv_must_use;
