/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of a call that was recorded with them (event.S, .Lact_regs), by the names that the
 * kernel's probes have for them (regs_query_register_offset() in arch/x86/kernel/ptrace.c). Most
 * probes do without %rax, %r10, %r11 and the flags, which are free at a function's entry and which
 * most stubs change before anything else. With them the call is recorded as a place inside a
 * function is (entry_regs.S, place.S). */
#include <string.h>

#include "arch/x86_64/x86_64.h"
#include "ringbuf/record_bits.h"

/* What a probe of the kernel's finds at a function's entry: the address behind a breakpoint of one
 * byte, and __KERNEL_CS, __KERNEL_DS. */
#define BREAKPOINT_LEN 1
#define KERNEL_CS      0x10
#define KERNEL_DS      0x18
/* regs->orig_ax of a kprobe: save_mcount_regs of ftrace_64.S clears it; an exception without an
 * error code pushes -1, as optimized_callback() sets it. Of a return it is what
 * arch_rethook_trampoline_callback(), and before 5.18 trampoline_handler(), sets. */
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

/* What a return has: what is returned, and what a function must leave as it was. */
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

/* What a place inside a function has besides what its entry has, or otherwise. */
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
