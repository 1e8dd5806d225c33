/* Function-entry sites from the kernel's own ftrace records, modules included, in the order of its
 * available_filter_functions (ascending address within a page, pages in list order), with the names
 * that file shows. */
#pragma once

#include "kernel/core.h"
#include "kernel/modules.h"

struct hv_site {
	struct hv_gva ip; /* of the nop; what trace output resolves */
	const char *
		name; /* owned by the table; "__ftrace_invalid_address___N" as the kernel says it */
	const char *module; /* NULL: vmlinux; owned by the table */
	bool invalid;	    /* the kernel itself disabled it: shown, never traced */
	bool busy;	    /* the guest's own ftrace, a kprobe or a livepatch uses it now */
};

struct hv_sites {
	struct hv_site *list; /* owned */
	size_t nr;
	char *names; /* owned */
};

/* All but those in LEFT_OUT. */
struct hv_err *hv_sites_read(const struct hv_kernel_core *core, const struct hv_modules *modules,
			     struct hv_gva_range left_out, struct hv_sites *ret) hv_must_use;
/* Those of TEXT are sites no more. */
void hv_sites_leave_out(struct hv_sites *s, struct hv_gva_range text);
/* The index of the kernel's own function NAME; CLONES: or of what the compiler made of it
 * (finish_task_switch.isra.0, whose arguments may be others). SIZE_MAX: none that is valid. */
size_t hv_sites_find(const struct hv_sites *s, const char *name, bool clones);
void hv_sites_deinit(struct hv_sites *s);
