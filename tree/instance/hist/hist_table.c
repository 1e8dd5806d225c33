/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/hist/hist_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tracer/events/names.h"
#include "tree/format/hist_text.h"

/* -- sorting ----------------------------------------------------------------------------------- */

/* Sorts the entries of a histogram as the kernel does (tracing_map_sort_entries). The kernel's heap
 * sort leaves equal entries in an order that depends on the algorithm; kernels before 6.10 produce
 * the same order as this function. */

/* The sort key: the bytes of all keys, or a field. */
struct order {
	const struct hv_hist_spec *spec;
	const struct hv_hist_sort *sort; /* NULL: compare bytes */
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a > b ? 1 : a < b ? -1 : 0;
}

/* Reduces the key to the field's size, as a signed or unsigned number. */
static uint64_t narrowed(const struct hv_hist_field *f, const uint8_t *key)
{
	unsigned unused_bits = 64 - 8 * f->size_bytes;
	uint64_t value;

	memcpy(&value, key, sizeof(value));
	if (f->kind != HV_HIST_NUMBER)
		return value;
	value <<= unused_bits;
	return f->is_signed ? (uint64_t)((int64_t)value >> unused_bits) : value >> unused_bits;
}

static int compare_keys(const struct hv_hist_field *f, const uint8_t *a, const uint8_t *b)
{
	/* Adding the bias makes signed numbers compare as unsigned. */
	uint64_t bias = f->is_signed ? UINT64_C(1) << 63 : 0;

	if (f->is_stack)
		return 0;
	if (f->kind == HV_HIST_TEXT)
		return strcmp((const char *)a, (const char *)b);
	return compare_numbers(narrowed(f, a) ^ bias, narrowed(f, b) ^ bias);
}

static int compare(const struct order *o, const struct hv_hist_entry *a,
		   const struct hv_hist_entry *b)
{
	const struct hv_hist_spec *s = o->spec;
	unsigned by;
	int result;

	if (!o->sort)
		return memcmp(a->key, b->key, s->key_bytes);
	by = o->sort->by;
	if (by < s->nr_values)
		result = compare_numbers(a->sums[by], b->sums[by]);
	else
		result = compare_keys(hv_hist_spec_field(s, by),
				      a->key + s->key_off[by - s->nr_values],
				      b->key + s->key_off[by - s->nr_values]);
	return o->sort->descending ? -result : result;
}

static void swap(struct hv_hist_entry *a, struct hv_hist_entry *b)
{
	struct hv_hist_entry kept = *a;

	*a = *b;
	*b = kept;
}

static size_t parent_of(size_t at)
{
	return (at - 1) / 2;
}

/* Moves the entry at ROOT down in a heap of NR: follows the larger children to the bottom, then
 * goes up to the first entry that is not smaller. */
static void sift(const struct order *o, struct hv_hist_entry *e, size_t root, size_t nr)
{
	size_t at = root, child, leaf;

	for (child = 2 * at + 1; child + 1 < nr; child = 2 * at + 1)
		at = compare(o, &e[child], &e[child + 1]) >= 0 ? child : child + 1;
	if (child + 1 == nr)
		at = child;
	while (at != root && compare(o, &e[root], &e[at]) >= 0)
		at = parent_of(at);
	for (leaf = at; at != root;) {
		at = parent_of(at);
		swap(&e[at], &e[leaf]);
	}
}

/* lib/sort.c */
static void heap_sort(const struct order *o, struct hv_hist_entry *e, size_t nr)
{
	for (size_t root = nr / 2; root-- > 0;)
		sift(o, e, root, nr);
	while (nr-- > 1) {
		swap(&e[0], &e[nr]);
		sift(o, e, 0, nr);
	}
}

/* Sorts each run of entries that are equal in the first sort (sort_secondary). */
static void sort_runs(const struct hv_hist_spec *s, struct hv_hist_entry *e, size_t nr)
{
	const struct order first = {s, &s->sorts[0]}, second = {s, &s->sorts[1]};
	size_t start = 0;

	for (size_t i = 1; i <= nr; i++) {
		if (i < nr && compare(&first, &e[start], &e[i]) == 0)
			continue;
		heap_sort(&second, e + start, i - start);
		start = i;
	}
}

static void sort_entries(const struct hv_hist_spec *s, struct hv_hist_entry *entries, size_t nr)
{
	const struct order bytes = {s, NULL}, first = {s, &s->sorts[0]};

	heap_sort(&bytes, entries, nr);
	heap_sort(&first, entries, nr);
	if (s->nr_sorts > 1)
		sort_runs(s, entries, nr);
}

/* -- the table --------------------------------------------------------------------------------- */

#define STEPS_MAX  256
#define FIRST_ROOM 128
#define WORD	   sizeof(uint64_t)
#define COMM_BYTES ((size_t)HV_COMM_LEN)
#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

/* An entry consists of its sums, the task's name, its key, and, if the table has variables, a bit
 * mask of the set variables, their numbers, and their strings. */
struct hv_hist_table {
	unsigned nr_refs;
	uint32_t size;	   /* number of entries; a power of two */
	size_t sums_bytes; /* per entry */
	size_t key_bytes;  /* per entry */
	unsigned nr_variables;
	unsigned nr_texts;
	uint8_t text_of[HV_HIST_VARIABLES_MAX]; /* index of its string plus one; 0: a number */
	bool is_stack[HV_HIST_VARIABLES_MAX];	/* it is a stack, stored like a string */
	uint8_t *entries;			/* owned */
	uint32_t nr, room;			/* number of entries, used and allocated */
	uint32_t *buckets; /* owned; 2 * size elements: index of an entry plus one */
	uint64_t hits, drops;
};

static size_t variables_bytes(unsigned nr, unsigned nr_texts)
{
	return nr ? (1 + (size_t)nr) * WORD + (size_t)nr_texts * HV_HIST_TEXT_BYTES : 0;
}

static size_t entry_bytes(const struct hv_hist_table *t)
{
	return t->sums_bytes + COMM_BYTES + t->key_bytes +
	       variables_bytes(t->nr_variables, t->nr_texts);
}

static uint8_t *entry_at(const struct hv_hist_table *t, uint32_t index)
{
	return t->entries + index * entry_bytes(t);
}

static uint8_t *key_of(const struct hv_hist_table *t, uint8_t *entry)
{
	return entry + t->sums_bytes + COMM_BYTES;
}

/* A stack is stored like a string. */
static bool is_text(const struct hv_hist_variable *v)
{
	return v->field && (v->field->is_text || v->field->is_stack);
}

static unsigned nr_texts_of(const struct hv_hist_spec *s)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < s->nr_variables; i++)
		nr += is_text(&s->variables[i]);
	return nr;
}

uint64_t hv_hist_table_bytes(const struct hv_hist_spec *s)
{
	uint64_t one = s->nr_values * WORD + COMM_BYTES + s->key_bytes +
		       variables_bytes(s->nr_variables, nr_texts_of(s)) + 2 * sizeof(uint32_t);

	return s->size * one;
}

struct hv_hist_table *hv_hist_table_new(const struct hv_hist_spec *s)
{
	struct hv_hist_table *t = hv_alloc(sizeof(*t));

	t->nr_refs = 1;
	t->size = s->size;
	t->sums_bytes = s->nr_values * WORD;
	t->key_bytes = s->key_bytes;
	t->nr_variables = s->nr_variables;
	for (unsigned i = 0; i < s->nr_variables; i++)
		if (is_text(&s->variables[i]))
			t->text_of[i] = (uint8_t)++t->nr_texts;
	for (unsigned i = 0; i < s->nr_variables; i++)
		t->is_stack[i] = s->variables[i].field && s->variables[i].field->is_stack;
	t->buckets = hv_alloc(2 * (size_t)t->size * sizeof(*t->buckets));
	return t;
}

struct hv_hist_table *hv_hist_table_ref(struct hv_hist_table *t)
{
	t->nr_refs++;
	return t;
}

void hv_hist_table_unref(struct hv_hist_table *t)
{
	if (!t || --t->nr_refs)
		return;
	free(t->entries);
	free(t->buckets);
	free(t);
}

void hv_hist_table_clear(struct hv_hist_table *t)
{
	memset(t->buckets, 0, 2 * (size_t)t->size * sizeof(*t->buckets));
	t->nr = 0;
	t->hits = 0;
	t->drops = 0;
}

/* -- variables --------------------------------------------------------------------------------- */

/* Returns the bit mask of the set variables; their numbers follow it. */
static uint64_t *variables_of(const struct hv_hist_table *t, uint32_t at)
{
	/* The size of each part of an entry is a multiple of the word size. */
	return (uint64_t *)(void *)(key_of(t, entry_at(t, at)) + t->key_bytes);
}

static char *text_at(const struct hv_hist_table *t, uint32_t at, unsigned variable)
{
	char *texts = (char *)(variables_of(t, at) + 1 + t->nr_variables);

	return texts + (size_t)(t->text_of[variable] - 1) * HV_HIST_TEXT_BYTES;
}

uint64_t hv_hist_table_number(const struct hv_hist_table *t, uint32_t at, unsigned variable)
{
	return variables_of(t, at)[1 + variable];
}

void hv_hist_table_set_number(struct hv_hist_table *t, uint32_t at, unsigned variable,
			      uint64_t number)
{
	uint64_t *variables = variables_of(t, at);

	variables[0] |= UINT64_C(1) << variable;
	variables[1 + variable] = number;
}

/* Truncates the string at the end of its field and always adds a NUL (strscpy). */
static void set_text(struct hv_hist_table *t, uint32_t at, unsigned variable,
		     const struct hv_hist_field *f, struct hv_span text)
{
	size_t max = f->size_bytes < HV_HIST_TEXT_BYTES ? f->size_bytes : HV_HIST_TEXT_BYTES;
	size_t len = text.len_bytes ? strnlen((const char *)text.data, text.len_bytes) : 0;
	char *to = text_at(t, at, variable);

	len = len < max ? len : max ? max - 1 : 0;
	memset(to, 0, HV_HIST_TEXT_BYTES);
	if (len)
		memcpy(to, text.data, len);
}

static void set_variables(struct hv_hist_table *t, const struct hv_hist_spec *s, uint32_t at,
			  enum hv_hist_variable_role role, const struct hv_hist_record *record)
{
	struct hv_hist_record own = *record;

	own.first_comm = hv_hist_table_comm(t, at);
	for (unsigned i = 0; i < s->nr_variables; i++) {
		const struct hv_hist_field *f = s->variables[i].field;

		if (s->variables[i].role != role || !f)
			continue;
		hv_hist_table_set_number(t, at, i, hv_hist_field_value(f, &own));
		if (f->is_text)
			set_text(t, at, i, f, hv_hist_field_text(f, &own));
		if (f->is_stack) {
			uint64_t stack[HV_HIST_STACK_MAX];

			hv_hist_field_stack(f, &own, stack);
			memcpy(text_at(t, at, i), stack, sizeof(stack));
		}
	}
}

void hv_hist_table_save(struct hv_hist_table *t, const struct hv_hist_spec *s, uint32_t at,
			const struct hv_hist_record *record)
{
	set_variables(t, s, at, HV_HIST_SAVED, record);
}

const char *hv_hist_table_comm(const struct hv_hist_table *t, uint32_t at)
{
	return (const char *)entry_at(t, at) + t->sums_bytes;
}

bool hv_hist_table_read(struct hv_hist_table *t, uint32_t at, unsigned variable,
			enum hv_hist_reading how, char *text, struct hv_hist_value *ret)
{
	uint64_t *variables = variables_of(t, at), bit = UINT64_C(1) << variable;

	if (!(variables[0] & bit))
		return false;
	if (how == HV_HIST_READ_ONCE)
		variables[0] &= ~bit;
	*ret = (struct hv_hist_value){.number = variables[1 + variable]};
	if (t->text_of[variable]) {
		memcpy(text, text_at(t, at, variable), HV_HIST_TEXT_BYTES);
		if (t->is_stack[variable])
			ret->stack = (const uint64_t *)(const void *)text;
		else
			ret->text = text;
	}
	return true;
}

/* -- counting ---------------------------------------------------------------------------------- */

static uint32_t bucket_of(const struct hv_hist_table *t, const uint8_t *key)
{
	uint64_t hash = 0, word;

	for (size_t at = 0; at < t->key_bytes; at += WORD) {
		memcpy(&word, key + at, WORD);
		hash = (hash ^ word) * MULTIPLIER;
		hash ^= hash >> 32;
	}
	return (uint32_t)hash & (2 * t->size - 1);
}

static void append(struct hv_hist_table *t, const uint8_t *key, const char *comm)
{
	uint8_t *entry;

	if (t->nr == t->room) {
		t->room = t->room ? 2 * t->room : FIRST_ROOM;
		t->entries = hv_realloc_array(t->entries, t->room, entry_bytes(t));
	}
	entry = entry_at(t, t->nr++);
	memset(entry, 0, entry_bytes(t));
	memcpy(entry + t->sums_bytes, comm, COMM_BYTES);
	memcpy(key_of(t, entry), key, t->key_bytes);
}

/* Returns the index of KEY's entry. If there is none, *RET_FREE is a free bucket, or NULL. */
static uint32_t find(const struct hv_hist_table *t, const uint8_t *key, uint32_t **ret_free)
{
	uint32_t home = bucket_of(t, key);

	*ret_free = NULL;
	for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
		uint32_t *at = &t->buckets[(home + steps) & (2 * t->size - 1)];

		if (!*at) {
			*ret_free = at;
			return HV_HIST_NOWHERE;
		}
		if (memcmp(key_of(t, entry_at(t, *at - 1)), key, t->key_bytes) == 0)
			return *at - 1;
	}
	return HV_HIST_NOWHERE;
}

static uint32_t find_or_append(struct hv_hist_table *t, const uint8_t *key, const char *comm)
{
	uint32_t *bucket, at = find(t, key, &bucket);

	if (at != HV_HIST_NOWHERE || !bucket || t->nr == t->size)
		return at;
	append(t, key, comm);
	*bucket = t->nr;
	return t->nr - 1;
}

uint32_t hv_hist_table_find(const struct hv_hist_table *t, const uint8_t *key, uint32_t key_bytes)
{
	uint32_t *unused;

	return key_bytes < t->key_bytes ? HV_HIST_NOWHERE : find(t, key, &unused);
}

static void add_sums(uint8_t *entry, const struct hv_hist_spec *s,
		     const struct hv_hist_record *record)
{
	for (unsigned i = 0; i < s->nr_values; i++) {
		uint64_t sum;

		memcpy(&sum, entry + i * WORD, WORD);
		sum += hv_hist_field_value(s->values[i], record);
		memcpy(entry + i * WORD, &sum, WORD);
	}
}

uint32_t hv_hist_table_add(struct hv_hist_table *t, const struct hv_hist_spec *s,
			   const uint8_t *key, const struct hv_hist_record *record,
			   const char *comm)
{
	uint32_t at = find_or_append(t, key, comm);

	if (at == HV_HIST_NOWHERE) {
		t->drops++;
		return at;
	}
	t->hits++;
	add_sums(entry_at(t, at), s, record);
	set_variables(t, s, at, HV_HIST_DEFINED, record);
	set_variables(t, s, at, HV_HIST_PARAMETER, record);
	return at;
}

/* -- showing ----------------------------------------------------------------------------------- */

static void entries_of(const struct hv_hist_table *t, struct hv_hist_entry *ret)
{
	for (uint32_t i = 0; i < t->nr; i++) {
		uint8_t *entry = entry_at(t, i);

		/* The size of each part of an entry is a multiple of the word size. */
		ret[i] = (struct hv_hist_entry){
			.key = key_of(t, entry),
			.comm = (const char *)entry + t->sums_bytes,
			.sums = (const uint64_t *)(const void *)entry,
			.variables = t->nr_variables ? variables_of(t, i) + 1 : NULL,
		};
		if (t->nr_texts)
			ret[i].texts = (const char *)(ret[i].variables + t->nr_variables);
	}
}

static void sum_up(const struct hv_hist_entry *entries, uint32_t nr, unsigned nr_values,
		   struct hv_hist_names *names)
{
	for (unsigned v = 0; v < nr_values; v++) {
		names->max[v] = 0;
		names->total[v] = 0;
		for (uint32_t i = 0; i < nr; i++) {
			names->total[v] += entries[i].sums[v];
			if (names->max[v] < entries[i].sums[v])
				names->max[v] = entries[i].sums[v];
		}
	}
}

void hv_hist_table_text(const struct hv_hist_table *t, const struct hv_hist_spec *s,
			const struct hv_hist_shot *shot, struct hv_hist_names *names,
			struct hv_text *ret)
{
	HV_AUTO_FREE struct hv_hist_entry *entries = hv_alloc((t->nr + 1) * sizeof(*entries));

	entries_of(t, entries);
	sum_up(entries, t->nr, s->nr_values, names);
	hv_hist_names_find_syscalls(names);
	sort_entries(s, entries, t->nr);
	for (uint32_t i = 0; i < t->nr; i++)
		hv_hist_text_entry(s, names, &entries[i], ret);
	if (shot)
		hv_hist_text_shot(s, names, shot, ret);
	hv_text_printf(ret,
		       "\nTotals:\n    Hits: %" PRIu64 "\n    Entries: %" PRIu32
		       "\n    Dropped: %" PRIu64 "\n",
		       t->hits, t->nr, t->drops);
}

/* The kernel's per-CPU buffer has room for one stack. Kernels before 6.12 do not have it, and use
 * the same depth. */
unsigned hv_hist_stack_depth(const struct hv_kernel *k)
{
	uint32_t off, len_bytes, depth;

	if (!k->core.btf || !hv_btf_member(k->core.btf, "hist_pad", "entries", &off, &len_bytes))
		return HV_HIST_STACK_USUAL;
	depth = len_bytes / sizeof(uint64_t);
	return depth && depth <= HV_HIST_STACK_MAX ? depth : HV_HIST_STACK_USUAL;
}
