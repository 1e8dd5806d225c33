/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of system call events, syscalls:sys_enter_NAME and sys_exit_NAME, which the kernel
 * prints without their print_fmt (print_syscall_enter and print_syscall_exit in
 * kernel/trace/trace_syscalls.c):
 *
 *	sys_mkdir(pathname: 7ffd31c54f1a, mode: 1ff)
 *	sys_mkdir(pathname: 0x7ffd31c54f1a "/tmp/m", mode: 0x1ff)	7.2
 *	sys_write(fd: 1, buf: 0x55d0c1 (68:69) "hi", count: 2)		7.2
 *	sys_openat(dfd: 3, filename: 1407 "/tmp", flags: O_RDONLY)	7.2
 *	sys_mkdir -> 0x0
 *
 * Not for raw_syscalls:* and unusual entries: print_fmt/print_fmt.h prints these. */
#pragma once

#include "base/bytes.h"
#include "base/text.h"
#include "tree/format/print_fmt/print_fmt.h"

enum hv_syscall_numbers {
	HV_SYSCALL_NUMBERS_HEX,	  /* 9, 1f: up to 6.12 */
	HV_SYSCALL_NUMBERS_PLAIN, /* 9, 0x1f: 7.2 */
};

struct hv_syscall_style {
	enum hv_syscall_numbers numbers;
	bool has_types; /* option verbose: "umode_t mode: 1ff" */
};

/* All pointers are borrowed. */
struct hv_syscall_event {
	const char *name; /* "sys_enter_mkdir" */
	const char *print_fmt;
	const struct hv_print_field *fields; /* may include the common ones */
	size_t nr_fields;
	/* The argument with the number of bytes that another argument points to, of which the entry
	 * may contain fewer. Negative: none. */
	int size_arg;
};

/* Adds the text without a newline. Returns false and adds nothing if the event is not a system call
 * event, ENTRY is too short, or its form is unusual. */
bool hv_format_syscall(struct hv_text *out, const struct hv_syscall_style *style,
		       const struct hv_syscall_event *event, struct hv_span entry);
