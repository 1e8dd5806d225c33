/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that arguments of system calls point to: strings that the program passes, and bytes that
 * it writes. Since 7.0, system call events contain these in fields __NAME_val after the arguments
 * (syscall_get_data() and syscall_put_data() in kernel/trace/trace_syscalls.c):
 *
 *	number | arguments | places: offset, length << 16 | bytes of the first | of the second | ...
 *
 * The guest reads them while it records the carrier event of all system calls, with a program
 * (tracer/guest/stub_programs.h). To save space, the program has steps for sets of 64 system call
 *numbers that read the same argument:
 *
 *	FIELD number, IN set, FIELD argument, READ
 *
 * The kernel's own function can fault pages in; the function that the stub may call cannot. So a
 * string on an absent page is "(fault)", and bytes there are omitted. syscalls.h makes the
 * events. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "tracer/guest/stub_programs.h"

struct hv_catalogue;
struct hv_event_type;
struct hv_instances;
struct hv_syscall;

/* The most bytes that an entry stores for one argument, including three dots and a NUL. */
#define HV_SYSCALL_MEMORY_MAX 169

/* The arguments of a system call whose memory its event contains. */
struct hv_syscall_memory {
	uint8_t mask;  /* bit mask of arguments; may be 0 */
	bool is_sized; /* bytes with their number in argument SIZE_ARG; otherwise strings */
	uint8_t size_arg;
};

/* Returns false if the guest's description of CALL is inconsistent. */
bool hv_syscall_memory_of(const struct hv_syscall *call, struct hv_syscall_memory *ret);
unsigned hv_syscall_memory_nr(const struct hv_syscall_memory *m);

/* Adds the steps for the system call events that any instance wants, if TYPE of C is their carrier.
 * ENOSPC: there is no room for them. */
struct hv_err *hv_syscall_reads_add(const struct hv_instances *all, const struct hv_catalogue *c,
				    const struct hv_event_type *type,
				    struct hv_stub_program *ret) hv_must_use;

struct hv_syscall_filling {
	uint32_t nr;		/* system call number */
	uint32_t user_bytes;	/* maximum shown per argument, at most HV_USER_BYTES_MAX */
	struct hv_span results; /* HV_FETCH_HEAD; untrusted */
	const uint8_t *words;	/* the arguments, in ENTRY */
	uint8_t *entry;		/* with room for HV_SYSCALL_MEMORY_MAX bytes of each argument */
	uint32_t places_off;	/* offset in ENTRY of the first argument's offset and length */
};
/* Adds offsets, lengths and bytes. Returns the length of the entry, or 0 if the guest read
 * nothing. */
uint32_t hv_syscall_memory_fill(const struct hv_syscall_memory *m,
				const struct hv_syscall_filling *f);
