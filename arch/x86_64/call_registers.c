/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers in the record of a call with registers (event.S, .Lact_regs), by the names used in
 * kernel probes (regs_query_register_offset() in arch/x86/kernel/ptrace.c).
 *
 * Most probes do not need %rax, %r10, %r11 and the flags: functions do not expect values there, and
 * most stubs change them first. If a probe needs them, the call is recorded like a probe inside a
 * function (entry_regs.S, place.S). */
#include <string.h>

#include "arch/x86_64/x86_64.h"
#include "ringbuf/abi_bits.h"

/* Values that a kernel probe finds at a function's entry: the address after a one-byte breakpoint,
 * and __KERNEL_CS, __KERNEL_DS. */
#define BREAKPOINT_LEN 1
#define KERNEL_CS      0x10
#define KERNEL_DS      0x18
/* regs->orig_ax of a kprobe. At a function's entry save_mcount_regs of ftrace_64.S clears it.
 * Exceptions without an error code push -1, and optimized_callback() sets that, too. At a return it
 * is set by arch_rethook_trampoline_callback(), before 5.18 by trampoline_handler(). */
#define ENTRY_ORIG_AX  0
#define PLACE_ORIG_AX  -1
#define RETURN_ORIG_AX -1

static const struct {
	const char *name;
	struct hv_arch_register is;
} registers[] = {
	{"ip", {HV_REGS_SITE, BREAKPOINT_LEN}},
	{"sp", {HV_REGS_STACK, 0}},
	{"bx", {3, 0}},
	{"cx", {4, 0}},
	{"dx", {5, 0}},
	{"si", {6, 0}},
	{"di", {7, 0}},
	{"bp", {8, 0}},
	{"r8", {9, 0}},
	{"r9", {10, 0}},
	{"r12", {11, 0}},
	{"r13", {12, 0}},
	{"r14", {13, 0}},
	{"r15", {14, 0}},
	{"cs", {HV_ARCH_NO_WORD, KERNEL_CS}},
	{"ss", {HV_ARCH_NO_WORD, KERNEL_DS}},
	{"orig_ax", {HV_ARCH_NO_WORD, ENTRY_ORIG_AX}},
};

/* Registers at a return: the return value, and the registers that a function must preserve. */
static const struct {
	const char *name;
	struct hv_arch_register is;
} return_registers[] = {
	{"ax", {HV_REGS_RETVAL, 0}},
	{"sp", {HV_REGS_STACK, 0}},
	{"bx", {3, 0}},
	{"dx", {5, 0}},
	{"bp", {8, 0}},
	{"r12", {11, 0}},
	{"r13", {12, 0}},
	{"r14", {13, 0}},
	{"r15", {14, 0}},
	{"cs", {HV_ARCH_NO_WORD, KERNEL_CS}},
	{"ss", {HV_ARCH_NO_WORD, KERNEL_DS}},
	{"orig_ax", {HV_ARCH_NO_WORD, RETURN_ORIG_AX}},
};

/* Registers inside a function that its entry lacks, or that have another value there. */
static const struct {
	const char *name;
	struct hv_arch_register is;
} more_registers[] = {
	{"ax", {15, 0}},
	{"r10", {16, 0}},
	{"r11", {17, 0}},
	{"flags", {18, 0}},
	{"orig_ax", {HV_ARCH_NO_WORD, PLACE_ORIG_AX}},
};

static const char *const no_meaning[] = {"ax", "r10", "r11", "flags"};

bool x86_64_find_register(const char *name, struct hv_arch_register *ret)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(registers); i++) {
		if (strcmp(registers[i].name, name) != 0)
			continue;
		*ret = registers[i].is;
		return true;
	}
	return false;
}

bool x86_64_find_return_register(const char *name, struct hv_arch_register *ret)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(return_registers); i++) {
		if (strcmp(return_registers[i].name, name) != 0)
			continue;
		*ret = return_registers[i].is;
		return true;
	}
	return false;
}

bool x86_64_find_place_register(const char *name, struct hv_arch_register *ret)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(more_registers); i++) {
		if (strcmp(more_registers[i].name, name) != 0)
			continue;
		*ret = more_registers[i].is;
		return true;
	}
	return x86_64_find_register(name, ret);
}

bool x86_64_has_register(const char *name)
{
	struct hv_arch_register found;

	for (size_t i = 0; i < HV_ARRAY_LEN(no_meaning); i++)
		if (strcmp(no_meaning[i], name) == 0)
			return true;
	return x86_64_find_register(name, &found);
}
