/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ACPI tables of an hvtrace machine, which describe CPUs, interrupt controllers and power-off
 * to its kernel. Pure. Source: ACPI 6.5, chapter 5. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define HV_MINIVM_CPUS_MAX    64
#define HV_MINIVM_TABLES_MAX  4096
#define HV_MINIVM_SCI	      9	     /* ACPI's interrupt */
#define HV_MINIVM_PM_EVENT    0x600u /* ports: status and enable, 4 bytes */
#define HV_MINIVM_PM_CONTROL  0x604u
#define HV_MINIVM_PM_TIMER    0x608u
#define HV_MINIVM_RESET	      0xcf9u
#define HV_MINIVM_RESET_VALUE 6
#define HV_MINIVM_OFF_TYPE    5 /* SLP_TYP of "off" */

/* Writes the tables for NR_CPUS, for address GPA; the first bytes are the root pointer. Returns
 * their length. */
size_t hv_minivm_tables(uint8_t ret[HV_MINIVM_TABLES_MAX], struct hv_gpa gpa, unsigned nr_cpus);
