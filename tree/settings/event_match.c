/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evaluates predicates for a record (filter_pred_*, regex_match_*). */
#include <string.h>

#include "kernel/events/print_values.h"
#include "tree/settings/cpulist.h"
#include "tree/settings/event_predicate.h"

#define POINTED_MAX 1024 /* USTRING_BUF_SIZE */

/* -- numbers ----------------------------------------------------------------------------------- */

static uint64_t extend(uint64_t value, uint32_t size_bytes, bool is_signed)
{
	unsigned shift = 64 - 8 * size_bytes;

	return is_signed ? (uint64_t)((int64_t)(value << shift) >> shift) : value << shift >> shift;
}

/* SIZE_BYTES is 1, 2, 4 or 8. */
static bool read_number(struct hv_span entry, uint32_t off, uint32_t size_bytes, uint64_t *ret)
{
	*ret = 0;
	return hv_span_copy(entry, off, ret, size_bytes);
}

static bool compare(enum hv_filter_op op, bool is_signed, uint64_t a, uint64_t b)
{
	bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (op) {
	case HV_FILTER_EQ:
		return a == b;
	case HV_FILTER_NE:
		return a != b;
	case HV_FILTER_LT:
		return less;
	case HV_FILTER_LE:
		return less || a == b;
	case HV_FILTER_GT:
		return !less && a != b;
	case HV_FILTER_GE:
		return !less;
	case HV_FILTER_AND:
		return a & b;
	default:
		return false;
	}
}

static bool number_holds(const struct hv_predicate *p, struct hv_span entry)
{
	uint64_t value;

	if (!read_number(entry, p->off, p->size_bytes, &value))
		return false;
	return compare(p->op, p->is_signed, extend(value, p->size_bytes, p->is_signed),
		       extend(p->value, p->size_bytes, p->is_signed));
}

static bool range_holds(const struct hv_predicate *p, struct hv_span entry)
{
	uint64_t value;
	bool inside;

	if (!hv_span_u64(entry, p->off, &value))
		return false;
	inside = value >= p->value && value < p->end;
	return inside == (p->op == HV_FILTER_EQ);
}

/* The kernel does not implement & for raw_smp_processor_id() (filter_pred_cpu). */
static bool cpu_holds(const struct hv_predicate *p, unsigned cpu)
{
	/* Parsed as a 64-bit number, but the kernel compares an int. */
	int32_t than = (int32_t)p->value;

	return p->op != HV_FILTER_AND && compare(p->op, true, cpu, (uint64_t)(int64_t)than);
}

/* -- sets of CPUs ------------------------------------------------------------------------------ */

/* For CPUS with several CPUs or none (do_filter_scalar_cpumask). */
static bool is_of_cpus(const struct hv_predicate *p, uint64_t cpu)
{
	if (cpu >= p->nr_cpus)
		return false;
	return p->op == HV_FILTER_AND ? hv_cpumask_has(p->cpus, cpu) : p->op == HV_FILTER_NE;
}

static bool of_cpus_holds(const struct hv_predicate *p, struct hv_span entry)
{
	uint64_t value;

	if (!read_number(entry, p->off, p->size_bytes, &value))
		return false;
	return is_of_cpus(p, (uint32_t)value);
}

static uint64_t mask_word(struct hv_span mask, size_t word, unsigned nr_cpus)
{
	unsigned nr_bits = nr_cpus - (unsigned)word * 64;
	uint64_t bits = 0;

	hv_span_copy(mask, word * 8, &bits, 8);
	return nr_bits < 64 ? bits & ((UINT64_C(1) << nr_bits) - 1) : bits;
}

/* -- texts ------------------------------------------------------------------------------------- */

/* Finds the string of a __data_loc field or, if RELATIVE, of a __rel_loc field. The span extends to
 * the end of the entry; *RET_LEN is the length from the field, unchecked. */
static bool find_dynamic(const struct hv_predicate *p, struct hv_span entry, struct hv_span *ret,
			 size_t *ret_len)
{
	bool relative = p->kind == HV_PREDICATE_RELATIVE;
	uint32_t item;
	size_t off;

	if (!hv_span_u32(entry, p->off, &item))
		return false;
	off = (item & 0xffff) + (relative ? p->off + sizeof(item) : 0);
	if (off > entry.len_bytes)
		return false;
	*ret = (struct hv_span){entry.data + off, entry.len_bytes - off};
	*ret_len = item >> 16;
	return true;
}

static bool cpumask_holds(const struct hv_predicate *p, struct hv_span entry)
{
	bool same = true, common = false;
	struct hv_span mask;
	size_t len;

	if (!find_dynamic(p, entry, &mask, &len))
		return false;
	for (size_t i = 0; i < hv_cpumask_words(p->nr_cpus); i++) {
		uint64_t word = mask_word(mask, i, p->nr_cpus);

		same &= word == p->cpus[i];
		common |= (word & p->cpus[i]) != 0;
	}
	if (p->op == HV_FILTER_AND)
		return common;
	return same == (p->op == HV_FILTER_EQ);
}

/* Like hv_glob_match(), for a shell pattern and a text that may lack a NUL. */
static bool match_shell(const struct hv_glob *glob, struct hv_span text)
{
	size_t len = strnlen((const char *)text.data, text.len_bytes);
	char *name = hv_alloc(len + 1);
	bool matches;

	memcpy(name, text.data, len);
	name[len] = '\0';
	matches = hv_glob_match(glob, name);
	free(name);
	return matches;
}

/* strncmp() for a text that may lack a NUL: returns whether TEXT equals PATTERN in the first LEN
 * bytes. */
static bool same_text(struct hv_span text, const char *pattern, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = i < text.len_bytes ? (char)text.data[i] : '\0';

		if (c != pattern[i])
			return false;
		if (!c)
			return true;
	}
	return true;
}

/* LEN is the length of the field including a NUL; 0: up to a NUL. TEXT extends to the end of the
 * entry, because the kernel reads beyond the field in one case: a shell pattern on an array without
 * a NUL. */
static bool match(const struct hv_glob *glob, struct hv_span text, size_t len)
{
	size_t nr = glob->len_bytes;

	if (glob->kind == HV_GLOB_SHELL)
		return match_shell(glob, text);
	if (glob->kind == HV_GLOB_SUFFIX && len <= nr)
		return false;
	if (!len)
		len = strnlen((const char *)text.data, text.len_bytes) + 1;
	switch (glob->kind) {
	case HV_GLOB_PREFIX:
		return len >= nr && same_text(text, glob->search, nr);
	case HV_GLOB_SUFFIX:
		return text.len_bytes >= len - 1 &&
		       memcmp(text.data + len - 1 - nr, glob->search, nr) == 0;
	case HV_GLOB_SUBSTRING:
		if (len > text.len_bytes)
			len = text.len_bytes;
		return memmem(text.data, len, glob->search, nr) != NULL;
	default:
		return same_text(text, glob->search, len);
	}
}

static bool pointed_holds(const struct hv_predicate *p, const struct hv_filter_record *record)
{
	char text[POINTED_MAX];
	uint64_t at;

	if (!record->kernel || !hv_span_u64(record->entry, p->off, &at) ||
	    !hv_print_value_string(record->kernel, hv_gva(at), text, sizeof(text)))
		return false;
	text[sizeof(text) - 1] = '\0';
	return match(&p->glob, (struct hv_span){(const uint8_t *)text, sizeof(text)},
		     strlen(text) + 1) != p->negated;
}

static bool text_holds(const struct hv_predicate *p, const struct hv_filter_record *record)
{
	struct hv_span text = {(const uint8_t *)record->comm, HV_COMM_LEN};
	size_t len = HV_COMM_LEN;

	if (p->kind == HV_PREDICATE_ARRAY) {
		if (!hv_span_has(record->entry, p->off, p->size_bytes))
			return false;
		len = p->size_bytes;
		text = (struct hv_span){record->entry.data + p->off,
					record->entry.len_bytes - p->off};
	} else if (p->kind != HV_PREDICATE_COMM && !find_dynamic(p, record->entry, &text, &len)) {
		return false;
	}
	return match(&p->glob, text, len) != p->negated;
}

bool hv_predicate_holds(const struct hv_predicate *p, const struct hv_filter_record *record)
{
	switch (p->kind) {
	case HV_PREDICATE_NEVER:
		return false;
	case HV_PREDICATE_NUMBER:
		return number_holds(p, record->entry);
	case HV_PREDICATE_OF_CPUS:
		return of_cpus_holds(p, record->entry);
	case HV_PREDICATE_RANGE:
		return range_holds(p, record->entry);
	case HV_PREDICATE_CPU:
		return cpu_holds(p, record->cpu);
	case HV_PREDICATE_CPU_OF:
		return is_of_cpus(p, record->cpu);
	case HV_PREDICATE_CPUMASK:
		return cpumask_holds(p, record->entry);
	case HV_PREDICATE_POINTER:
		return pointed_holds(p, record);
	default:
		return text_holds(p, record);
	}
}
