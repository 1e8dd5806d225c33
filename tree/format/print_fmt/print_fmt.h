/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evaluates the print_fmt of a trace event: the text that the kernel shows after "EVENT: " in the
 * file trace. A print_fmt is the text of the arguments of TP_printk:
 *
 *	"comm=%s pid=%d state=%s", REC->comm, REC->pid, __print_symbolic(REC->state, { 0, "R" })
 *
 * It is compiled once per event type and evaluated once per entry. The print_fmt, the fields and
 * the entries come from the guest and are untrusted. There are limits on the length of a print_fmt,
 * the number and depth of its expressions, and the length of the output. Evaluation loops only over
 * tables of the print_fmt and bytes of the entry, and evaluates no expression twice. It reads
 * nothing outside the entry, except through the resolver.
 *
 * The result is the kernel's exact text or nothing: if it depends on something unknown here (a
 * kernel function, the value of a macro), evaluation fails and the caller shows the fields
 * (hv_print_fields). docs/users/events.md lists the unknowns.
 *
 * The kernel prints system calls (tree/format/arg_texts.h) and probes without their print_fmt.
 * tree/format/format.h prints the start of the line. */
#pragma once

#include "base/addr.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/text.h"

#define HV_PRINT_FMT_MAX    32768 /* length of a print_fmt; 7.2's longest has 7,083 */
#define HV_PRINT_TEXT_MAX   8192  /* length of the text; as in the kernel's trace_seq since 6.8 */
#define HV_PRINT_STRING_MAX 1024  /* length of a string in guest memory */

/* A field of an entry, as in the event's format file. The line
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
	uint64_t offset;    /* offset of the address in the function or variable */
	uint64_t size_bytes;
};

struct hv_print_member {
	uint32_t offset_bits;
	uint32_t nr_bits;
};

/* Resolves references to things outside the entry. Each function returns false for unknown names
 * and then leaves the result unchanged. Any function may be NULL. Results may be unchecked guest
 * data. */
struct hv_print_resolver {
	void *of; /* passed to each function */

	/* Called when an entry is printed: */

	/* Returns the function or variable that contains ADDR, for %pS. */
	bool (*symbol)(void *of, struct hv_gva addr, struct hv_print_symbol *ret);
	/* Copies the string at ADDR with its NUL, or its first MAX bytes, for %s. */
	bool (*string)(void *of, struct hv_gva addr, char *ret, size_t max_bytes);

	/* Returns the current value of an 8-byte variable: vmemmap_base, jiffies. Also called when
	 * a print_fmt is compiled. */
	bool (*variable)(void *of, const char *name, uint64_t *ret);

	/* Called when a print_fmt is compiled: */

	/* Returns the value of an enumerator: TCP_CLOSE. */
	bool (*constant)(void *of, const char *name, int64_t *ret);
	/* Returns the size of a struct or typedef: "page". */
	bool (*size)(void *of, const char *type, uint32_t *ret_bytes);
	bool (*member)(void *of, const char *type, const char *member, struct hv_print_member *ret);

	unsigned hz; /* CONFIG_HZ; 0: unknown */
};

/* How %p is shown. */
enum hv_print_pointers {
	HV_PRINT_POINTERS_HASHED, /* the default */
	/* The option hash-ptr is off or does not exist (5.10), or the guest has
	 * no_hash_pointers. */
	HV_PRINT_POINTERS_PLAIN,
};

struct hv_print_env {
	const struct hv_print_resolver *resolver; /* borrowed */
	enum hv_print_pointers pointers;
	/* The two words of the kernel's ptr_key, borrowed. NULL: the kernel has no key yet and
	 * shows "(____ptrval____)". */
	const uint64_t *pointer_key;
	/* The option bitmask-list of 7.x: cpumasks as "0-3,7". */
	bool bitmask_list;
};

struct hv_print_fmt;

/* Compiles TEXT. FIELDS are all fields of the event, including the common ones. TEXT, FIELDS and
 * RESOLVER are borrowed only during the call. EINVAL with the position: TEXT is not a print_fmt,
 * uses a name that is not a field, or exceeds a limit. */
struct hv_err *hv_print_fmt_compile(const char *text, const struct hv_print_field *fields,
				    size_t nr_fields, const struct hv_print_resolver *resolver,
				    struct hv_print_fmt **ret) hv_must_use;
void hv_print_fmt_free(struct hv_print_fmt *fmt);

/* Returns the first unknown name in the print_fmt, or NULL. Entries whose text does not depend on
 * it are still printed. */
const char *hv_print_fmt_unknown(const struct hv_print_fmt *fmt);

/* Adds the text of ENTRY, without the newline that the kernel adds. Control characters except
 * newline and tab become '?'. Truncates long text. Returns false and adds nothing if the text
 * depends on something unknown or on bytes outside ENTRY. */
bool hv_print_fmt_eval(const struct hv_print_fmt *fmt, struct hv_span entry,
		       const struct hv_print_env *env, struct hv_text *out);

/* -- fields one by one ------------------------------------------------------------------------- */

/* The fields of an entry one by one, for entries whose print_fmt cannot be evaluated. The text
 * matches libtraceevent, as shown by trace-cmd and perf:
 *
 *	[FAILED TO PARSE] cmnd=ARRAY[00, 2a] lun=0 name=sda
 *
 * hv_print_fmt_eval() adds the kernel's text. */

/* FIELDS excludes the common fields. A field that extends beyond ENTRY is shown as "?". Control
 * characters become '?'. */
void hv_print_fields(const struct hv_print_field *fields, size_t nr_fields, struct hv_span entry,
		     struct hv_text *out);
