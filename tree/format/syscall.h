/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of an entry of a system call's events, syscalls:sys_enter_NAME and sys_exit_NAME. The
 * kernel does not print them by their print_fmt (print_syscall_enter and print_syscall_exit in
 * kernel/trace/trace_syscalls.c):
 *
 *	sys_mkdir(pathname: 7ffd31c54f1a, mode: 1ff)
 *	sys_mkdir(pathname: 0x7ffd31c54f1a "/tmp/m", mode: 0x1ff)	by 7.2
 *	sys_write(fd: 1, buf: 0x55d0c1 (68:69) "hi", count: 2)		likewise
 *	sys_openat(dfd: 3, filename: 1407 "/tmp", flags: O_RDONLY)	likewise
 *	sys_mkdir -> 0x0
 *
 * Leaves to others: raw_syscalls:*, and entries that are in no such form. They can be printed by
 * their print_fmt (print_fmt/print_fmt.h). */
#pragma once

#include "base/bytes.h"
#include "base/text.h"
#include "tree/format/print_fmt/print_fmt.h"

enum hv_syscall_numbers {
	HV_SYSCALL_NUMBERS_HEX,	  /* 9, 1f: until 6.12 */
	HV_SYSCALL_NUMBERS_PLAIN, /* 9, 0x1f: 7.2 */
};

struct hv_syscall_style {
	enum hv_syscall_numbers numbers;
	bool has_types; /* the option verbose: "umode_t mode: 1ff" */
};

/* All is borrowed. */
struct hv_syscall_event {
	const char *name; /* "sys_enter_mkdir" */
	const char *print_fmt;
	const struct hv_print_field *fields; /* the common ones may be among them */
	size_t nr_fields;
	int size_arg; /* the argument that says how many bytes are where another one points to, of
		       * which the entry may have fewer; a negative number: none does */
};

/* Adds the text without a newline. False: it is no event of a system call, the entry is too short,
 * or it is left to others; nothing is added then. */
bool hv_format_syscall(struct hv_text *out, const struct hv_syscall_style *style,
		       const struct hv_syscall_event *event, struct hv_span entry);
