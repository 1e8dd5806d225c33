/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What arguments of system calls point to: strings of the program, and bytes that it writes. Since
 * 7.0 events of system calls have them, in fields __NAME_val behind the arguments
 * (syscall_get_data() and syscall_put_data() in kernel/trace/trace_syscalls.c):
 *
 *	number | arguments | places: offset, length << 16 | bytes of the first | of the second | ...
 *
 * The guest reads them while it records the event that carries those of all system calls, by a
 * program of that event (tracer/stub_programs.h). This has steps for sets of system calls that have
 * the same argument read, of 64 numbers each, so it has room for all of them:
 *
 *	FIELD number, IN set, FIELD argument, READ
 *
 * The kernel's own function waits until the page is there, and the guest's function that may be
 * used where the program is obeyed does not. So a string whose page is not there is "(fault)", and
 * bytes are none. Leaves to others: which events are made (syscalls.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "tracer/stub_programs.h"

struct hv_catalogue;
struct hv_event_type;
struct hv_instances;
struct hv_syscall;

/* The most bytes that an entry has of one argument: with three dots and a NUL. */
#define HV_SYSCALL_MEMORY_MAX 169

/* Which arguments of a system call point to something that its event has. */
struct hv_syscall_memory {
	uint8_t mask;  /* bits of arguments; 0: none */
	bool is_sized; /* it is bytes, as many as the argument SIZE_ARG says; else strings */
	uint8_t size_arg;
};

/* False: what the guest says of CALL cannot be. */
bool hv_syscall_memory_of(const struct hv_syscall *call, struct hv_syscall_memory *ret);
unsigned hv_syscall_memory_nr(const struct hv_syscall_memory *m);

/* Adds the steps that read what the events of system calls that any instance wants have, if TYPE
 * of C carries them. ENOSPC: there is no room for them. */
struct hv_err *hv_syscall_reads_add(const struct hv_instances *all, const struct hv_catalogue *c,
				    const struct hv_event_type *type,
				    struct hv_stub_program *ret) hv_must_use;

struct hv_syscall_filling {
	uint32_t nr;		/* of the system call */
	uint32_t user_bytes;	/* of each argument, at most HV_USER_BYTES_MAX, is shown */
	struct hv_span results; /* HV_FETCH_HEAD; hostile */
	const uint8_t *words;	/* the arguments, in ENTRY */
	uint8_t *entry;		/* with room for HV_SYSCALL_MEMORY_MAX bytes of each argument */
	uint32_t places_off;	/* in ENTRY: of the place of the first one */
};
/* Adds places and bytes. Returns the length of the entry; 0: the guest has not read any. */
uint32_t hv_syscall_memory_fill(const struct hv_syscall_memory *m,
				const struct hv_syscall_filling *f);
