/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system call events syscalls:sys_enter_NAME and sys_exit_NAME.
 *
 * The kernel records them with two internal probes, which hvtrace does not use. Instead the guest
 * records the carriers raw_syscalls:sys_enter and sys_exit, and the host derives the event of each
 * system call, like ftrace_syscall_enter() and ftrace_syscall_exit() in
 * kernel/trace/trace_syscalls.c:
 *
 *	sys_enter   id, six arguments  ->  sys_enter_NAME   number, the arguments of NAME
 *	sys_exit    id, result         ->  sys_exit_NAME    number, result
 *
 * Since 7.0 some sys_enter_NAME events also contain memory that arguments point to. The guest reads
 * it for the carrier (below).
 *
 * While an instance has such an event enabled, the rings are drained (demux.h), and only instances
 * that enabled the carriers see them. Calls of another ABI (32-bit programs) use different numbers
 * and make no event, as in the kernel. publish.h enables events; tree/format/arg_texts.h prints
 * them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "tracer/events/event.h"
#include "tracer/guest/trampoline_programs.h"
#include "tree/settings/event_set.h"
#include "tree/settings/kprobe.h"

struct hv_catalogue;
struct hv_event_type;
struct hv_instances;
struct hv_part;
struct hv_syscall;

/* System call numbers are below this limit. */
#define HV_SYSCALL_NR_MAX 1024

/* The longest entry of a system call event: the common fields, the system call number, the
 * arguments, and the memory that the arguments point to. */
#define HV_SYSCALL_ENTRY_MAX 1152

extern const struct hv_part hv_syscalls_part;

/* If TYPE is a system call event, reads from the guest's catalogue C how such events are made,
 * unless this is known. Borrows nothing from C. */
void hv_syscalls_need(struct hv_instances *all, const struct hv_catalogue *c,
		      const struct hv_event_type *type);

/* Returns whether hv_syscalls_need() found a system call event. The functions below with ALL need
 * that, unless they say otherwise. */
bool hv_syscalls_are_known(const struct hv_instances *all);

/* Returns whether TYPE is a system call event. */
bool hv_syscalls_is(const struct hv_event_type *type);

/* Returns whether the system call event TYPE contains memory that arguments point to. */
bool hv_syscalls_has_memory(const struct hv_event_type *type);

/* Sets *RET to the type in C that is the carrier of TYPE, a system call event. EOPNOTSUPP: the
 * layout of one of the two is unknown. */
struct hv_err *hv_syscalls_carrier(const struct hv_instances *all, const struct hv_catalogue *c,
				   const struct hv_event_type *type,
				   const struct hv_event_type **ret) hv_must_use;

/* Returns the layout of the carrier of TYPE, which must have one. */
struct hv_kprobe_carrier hv_syscalls_in_carrier(const struct hv_instances *all,
						const struct hv_event_type *type);

/* Makes the system call event *RET from RAW, a guest event. ENTRY, HV_SYSCALL_ENTRY_MAX bytes,
 * receives the entry; its common fields are RAW's, with the id of RET. Returns false if RAW is not
 * a carrier or not a known system call, or the guest read no memory although the event needs it. */
bool hv_syscalls_event(const struct hv_instances *all, const struct hv_event *raw,
		       struct hv_event *ret, uint8_t *entry);

/* -- memory that arguments point to ------------------------------------------------------------ */

/* Memory that arguments of system calls point to: strings that the program passes, and bytes that
 * it writes. Since 7.0, system call events contain these in fields __NAME_val after the arguments
 * (syscall_get_data() and syscall_put_data() in kernel/trace/trace_syscalls.c):
 *
 *	number | arguments | locs: offset, length << 16 | bytes of the first | of the second | ...
 *
 * The guest reads them while it records the carrier event of all system calls, with a program
 * (tracer/guest/trampoline_programs.h). To save space, the program has steps for sets of 64 system
 * call numbers that read the same argument:
 *
 *	FIELD number, IN set, FIELD argument, READ
 *
 * The kernel's own function can fault pages in; the function that the trampoline may call cannot.
 * So a string on an absent page is "(fault)", and bytes there are omitted. */

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
				    struct hv_trampoline_program *ret) hv_must_use;

struct hv_syscall_filling {
	uint32_t nr;		/* system call number */
	uint32_t user_bytes;	/* maximum shown per argument, at most HV_USER_BYTES_MAX */
	struct hv_span results; /* HV_FETCH_HEAD; untrusted */
	const uint8_t *words;	/* the arguments, in ENTRY */
	uint8_t *entry;		/* with room for HV_SYSCALL_MEMORY_MAX bytes of each argument */
	uint32_t locs_off;	/* offset in ENTRY of the first argument's offset and length */
};
/* Adds offsets, lengths and bytes. Returns the length of the entry, or 0 if the guest read
 * nothing. */
uint32_t hv_syscall_memory_fill(const struct hv_syscall_memory *m,
				const struct hv_syscall_filling *f);
