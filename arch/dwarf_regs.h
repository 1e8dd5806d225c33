/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF's numbers of an architecture's registers, for unwinding programs. Apart from struct hv_arch,
 * because the command that unwinds uses nothing else of an architecture. */
#pragma once

#include <stdint.h>

#define HV_DWARF_REGS_MAX 17

/* Where DWARF's registers are among the saved registers of a program (HV_FETCH_USER_COPY). */
struct hv_dwarf_regs {
	uint16_t offs[HV_DWARF_REGS_MAX];
	uint8_t nr, sp,
		ip; /* SP, IP: numbers of registers; IP is also where the return address is */
	uint16_t len_bytes; /* of the saved registers */
	/* The 16 bits at MODE_OFF have the value MODE if the program has these registers, and no
	 * smaller ones. */
	uint16_t mode_off, mode;
};

extern const struct hv_dwarf_regs hv_dwarf_regs_x86_64;
