/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of system calls, syscalls:sys_enter_NAME and sys_exit_NAME. The kernel records all of
 * them by two probes of its own, which hvtrace does not use. In the guest their carriers are on,
 * raw_syscalls:sys_enter and sys_exit, and the host makes of each raw event the event of its system
 * call, as the kernel's own probes do (ftrace_syscall_enter() and ftrace_syscall_exit() in
 * kernel/trace/trace_syscalls.c):
 *
 *	sys_enter   id, six arguments  ->  sys_enter_NAME   number, as many arguments as NAME has
 *	sys_exit    id, result         ->  sys_exit_NAME    number, result
 *
 * Since 7.0 some of sys_enter_NAME also have what arguments point to. The guest reads it for the
 * carrier (syscall_reads.h).
 *
 * So while an instance has such an event on, the host takes the guest's rings (demux.h), and the
 * carriers are only for the instances that have them on themselves. A call of another ABI (32-bit
 * programs) has the numbers of that ABI and becomes no event, as in the kernel.
 * Leaves to others: which events an instance has on (events.h), their text (tree/format/syscall.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ringbuf/abi.h"
#include "tracer/events/event.h"
#include "tree/settings/event_set.h"
#include "tree/settings/kprobe.h"

struct hv_catalogue;
struct hv_event_type;
struct hv_instances;
struct hv_part;
struct hv_syscalls;

/* Numbers of system calls are below this. */
#define HV_SYSCALL_NR_MAX 1024

/* The longest entry of a system call event: the common fields, the system call number, the
 * arguments, and the memory that the arguments point to. */
#define HV_SYSCALL_ENTRY_MAX 1152

extern const struct hv_part hv_syscalls_part;

/* Learns from the guest's catalogue C, of which nothing is borrowed, how such events are made, if
 * TYPE is one and they are not known yet. */
void hv_syscalls_need(struct hv_instances *all, const struct hv_catalogue *c,
		      const struct hv_event_type *type);

/* Whether TYPE is an event of one system call. */
bool hv_syscalls_is(const struct hv_event_type *type);

/* Whether the event TYPE of a system call has what arguments point to. */
bool hv_syscalls_has_memory(const struct hv_event_type *type);

/* Whether TYPE carries such events. S may be NULL. */
bool hv_syscalls_carries_memory(const struct hv_syscalls *s, const struct hv_event_type *type);

/* Sets *RET to the type of C that carries TYPE, an event of one system call. EOPNOTSUPP: the form
 * of one of the two is not known. */
struct hv_err *hv_syscalls_carrier(const struct hv_syscalls *s, const struct hv_catalogue *c,
				   const struct hv_event_type *type,
				   const struct hv_event_type **ret) hv_must_use;

/* How the carrier of TYPE, which has one, has its fields. */
struct hv_kprobe_carrier hv_syscalls_in_carrier(const struct hv_syscalls *s,
						const struct hv_event_type *type);

/* Makes of RAW, one of the guest's own events, the event *RET of its system call, whose entry is in
 * ENTRY, of HV_SYSCALL_ENTRY_MAX bytes; what all entries begin with is that of RAW, with the id of
 * RET. False: RAW is no carrier, or no event of a known system call, or the guest has read nothing
 * of what its arguments point to. S may be NULL. */
bool hv_syscalls_event(const struct hv_syscalls *s, const struct hv_event *raw,
		       struct hv_event *ret, uint8_t *entry);
