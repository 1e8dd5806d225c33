/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine without a kernel whose memory is a trampoline world. Tests put programs with detours
 * into it and check the sections that the trampolines measure. */
#pragma once

#include "tests/kvm/machine.h"
#include "tests/lib/run_suite.h"
#include "tests/lib/trampoline_world.h"

#define SECTION_VECTOR 0x20 /* of the test's interrupts */

/* Of the running test. */
extern struct machine *machine;
extern struct world world;

/* The fixture of each test. */
void section_room_set_up(void);
void section_room_tear_down(void);
/* Runs the suite NAME. Returns its exit status; 77 (skipped) if KVM is not available. */
int section_room_main(const char *name, void (*add_tests)(TCase *tc));

/* Returns the section state of vCPU 0. */
struct hv_sections *sections(void);

/* Copies code to AT. Returns its end. */
uint8_t *put(uint8_t *at, const void *bytes, size_t len);
#define PUT(at, code) put(at, code, sizeof(code) - 1)
