/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of a call that was recorded with them (event.S, .Lact_regs), by the names that the
 * kernel's probes have for them (regs_query_register_offset() in arch/x86/kernel/ptrace.c). Before
 * a stub can record them, the function's own call of it has changed %rax, %r10, %r11 and the flags,
 * which have no meaning there. At a place inside a function they have one (place.S). */
#include <string.h>

#include "arch/x86_64/x86_64.h"
#include "ringbuf/record_bits.h"

/* What a probe of the kernel's finds at a function's entry: the address behind a breakpoint of one
 * byte, and __KERNEL_CS, __KERNEL_DS. */
#define BREAKPOINT_LEN 1
#define KERNEL_CS      0x10
#define KERNEL_DS      0x18

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
};

/* What a place inside a function has besides what its entry has. */
static const struct {
	const char *name;
	struct hv_arch_register is;
} more_registers[] = {
	{"ax", {15, 0}},
	{"r10", {16, 0}},
	{"r11", {17, 0}},
	{"flags", {18, 0}},
};

static const char *const not_recorded[] = {"ax", "r10", "r11", "flags", "orig_ax"};

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

	for (size_t i = 0; i < HV_ARRAY_LEN(not_recorded); i++)
		if (strcmp(not_recorded[i], name) == 0)
			return true;
	return x86_64_find_register(name, &found);
}
