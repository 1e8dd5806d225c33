/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a trace event as its print_fmt describes it: what the kernel itself shows after
 * "EVENT: " in the file trace. A print_fmt is the text of the arguments of TP_printk:
 *
 *	"comm=%s pid=%d state=%s", REC->comm, REC->pid, __print_symbolic(REC->state, { 0, "R" })
 *
 * It is compiled once for each event and evaluated for each entry. The print_fmt, the fields and
 * the entries are the guest's, and hostile. The length of a print_fmt, the number and depth of its
 * expressions and the length of what is printed are bounded. Evaluation has loops only over a table
 * of the print_fmt or over bytes of the entry, and evaluates no expression twice. It reads nothing
 * outside the entry, except through the resolver.
 *
 * The text is the kernel's own or none: if an entry's text depends on something that is not known
 * here (a function of the kernel, the value of a macro), evaluation reports this, and the caller
 * shows the fields (fields.h). docs/users/events.md says what is not known.
 *
 * Leaves to others: entries of system calls (tree/format/syscall.h) and of probes, which the kernel
 * prints without their print_fmt; what is in a line before the text (tree/format/format.h). */
#pragma once

#include "base/addr.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/text.h"

#define HV_PRINT_FMT_MAX    32768 /* bytes of a print_fmt; 7.2's longest has 7,083 */
#define HV_PRINT_TEXT_MAX   8192  /* bytes of text; the kernel's trace_seq since 6.8 has as many */
#define HV_PRINT_STRING_MAX 1024  /* bytes of a string in the guest's memory */

/* A field of an entry, as a line of the event's format file describes it:
 *
 *	field:unsigned char addr[6];	offset:12;	size:6;	signed:0;
 *
 * has the name "addr" and the type "unsigned char[6]". The type of a dynamic field begins with
 * "__data_loc" or "__rel_loc". */
struct hv_print_field {
	const char *name;      /* borrowed */
	const char *type;      /* borrowed */
	uint32_t offset_bytes; /* in the entry, which begins with the common fields */
	uint32_t size_bytes;   /* 0: the rest of the entry ("char buf[]") */
	bool is_signed;
};

struct hv_print_symbol {
	const char *name;   /* borrowed until the next call */
	const char *module; /* NULL: the core kernel */
	uint64_t offset;    /* of the address in the function or variable */
	uint64_t size_bytes;
};

struct hv_print_member {
	uint32_t offset_bits;
	uint32_t nr_bits;
};

/* What a print_fmt may refer to outside the entry. Each function returns false for what it does not
 * know, and leaves the result untouched then. Any of them may be NULL. Results may be unchecked
 * data of the guest. */
struct hv_print_resolver {
	void *of; /* passed to each function */

	/* Asked when an entry is printed. */

	/* The function or variable that ADDR is in, for %pS. */
	bool (*symbol)(void *of, struct hv_gva addr, struct hv_print_symbol *ret);
	/* Copies the text at ADDR with its NUL, or the first MAX bytes of it; for %s. */
	bool (*string)(void *of, struct hv_gva addr, char *ret, size_t max_bytes);

	/* The value that a variable of 8 bytes has now: vmemmap_base, jiffies. Also asked when a
	 * print_fmt is compiled. */
	bool (*variable)(void *of, const char *name, uint64_t *ret);

	/* Asked when a print_fmt is compiled. */

	/* An enumerator: TCP_CLOSE. */
	bool (*constant)(void *of, const char *name, int64_t *ret);
	/* sizeof a struct or a typedef: "page". */
	bool (*size)(void *of, const char *type, uint32_t *ret_bytes);
	bool (*member)(void *of, const char *type, const char *member, struct hv_print_member *ret);

	unsigned hz; /* CONFIG_HZ; 0: not known */
};

/* How %p is shown. */
enum hv_print_pointers {
	HV_PRINT_POINTERS_HASHED, /* the default */
	/* The option hash-ptr is off or not there (5.10), or the guest has no_hash_pointers. */
	HV_PRINT_POINTERS_PLAIN,
};

struct hv_print_env {
	const struct hv_print_resolver *resolver; /* borrowed */
	enum hv_print_pointers pointers;
	/* The two words of the kernel's ptr_key, borrowed. NULL: the kernel has none yet, and shows
	 * "(____ptrval____)". */
	const uint64_t *pointer_key;
	/* The option bitmask-list of 7.x: cpumasks as "0-3,7". */
	bool bitmask_list;
};

struct hv_print_fmt;

/* Compiles TEXT. FIELDS are all fields of the event, the common ones included. They, TEXT and
 * RESOLVER are borrowed for the time of the call only. Fails with EINVAL, and says where, if the
 * text is not a print_fmt, names no field of FIELDS, or is beyond a limit. */
struct hv_err *hv_print_fmt_compile(const char *text, const struct hv_print_field *fields,
				    size_t nr_fields, const struct hv_print_resolver *resolver,
				    struct hv_print_fmt **ret) hv_must_use;
void hv_print_fmt_free(struct hv_print_fmt *fmt);

/* The first name in the print_fmt that is not known. NULL: all are known. Entries whose text does
 * not depend on the name are printed all the same. */
const char *hv_print_fmt_unknown(const struct hv_print_fmt *fmt);

/* Adds the text of ENTRY, without the newline that the kernel adds. Control characters other than
 * newline and tab become '?'. A text that is too long is cut. False: the text depends on something
 * that is not known, or on bytes outside ENTRY, and nothing is added. */
bool hv_print_fmt_eval(const struct hv_print_fmt *fmt, struct hv_span entry,
		       const struct hv_print_env *env, struct hv_text *out);
