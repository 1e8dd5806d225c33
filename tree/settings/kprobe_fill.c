/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the program that reads memory for a probe, and the entry of its event. */
#include <string.h>

#include "tree/settings/kprobe_parse.h"

#define LOC_LEN_SHIFT 16 /* __data_loc */
#define LOC_OFF_MASK  0xffff
#define STRING_MAX    4096 /* MAX_STRING_SIZE */
#define WORD	      8

/* -- the program ------------------------------------------------------------------------------- */

struct program {
	struct hv_fetch_step *steps;
	size_t nr;
	bool is_full;
	uint32_t tag;
	const struct hv_kprobe_carrier *carrier; /* NULL: a function is probed */
};

static void add_step(struct program *p, unsigned does, uint64_t value, size_t len_bytes)
{
	p->is_full = p->is_full || p->nr >= HV_FETCH_STEPS_MAX;
	if (p->is_full)
		return;
	p->steps[p->nr++] = (struct hv_fetch_step){
		.does = (uint8_t)does,
		.len_bytes = (uint16_t)len_bytes,
		.tag = p->tag,
		.value = value,
	};
}

uint16_t hv_kprobe_nr_results(const struct hv_kprobe_arg *arg)
{
	if (!arg->nr_derefs)
		return 0;
	return hv_kprobe_is_string(arg) && arg->count ? (uint16_t)arg->count : 1;
}

/* Loads SIZE_BYTES at OFF of an entry; unusual sizes load a word (get_event_field()). */
static void load_field(struct program *p, uint64_t off, uint32_t size_bytes, bool is_signed)
{
	bool is_small = size_bytes == 1 || size_bytes == 2 || size_bytes == 4;
	unsigned unused_bits = is_small ? 64 - 8 * size_bytes : 0;

	add_step(p, HV_FETCH_FIELD, offsetof(struct hv_draft, entry) + off,
		 unused_bits | (is_signed ? HV_FETCH_SIGNED : 0));
}

/* Skips the reads if the entry belongs to another event of the carrier. */
static void check_event(struct program *p)
{
	if (!p->carrier || !p->carrier->is_of_several)
		return;
	load_field(p, p->carrier->nr_off, WORD, false);
	add_step(p, HV_FETCH_IS, p->carrier->nr, 0);
}

/* Loads the probed event's field from its carrier. */
static void load_event_field(struct program *p, const struct hv_kprobe_event_field *field)
{
	const struct hv_kprobe_carrier *c = p->carrier;

	if (!c->is_of_several) {
		load_field(p, field->off, field->size_bytes, field->is_signed);
		return;
	}
	if (field->off >= c->words_off)
		load_field(p, field->off - c->words_off + c->carrier_words_off, WORD, false);
}

/* Reads string INDEX of an array; 0 if ARG is not an array of strings. */
static void read_result(struct program *p, const struct hv_kprobe_arg *arg, unsigned index)
{
	bool is_string = hv_kprobe_is_string(arg), is_const = arg->number.word == HV_ARCH_NO_WORD;
	uint64_t addend = (uint64_t)arg->number.addend;
	unsigned last = arg->nr_derefs - 1, word = arg->number.word;

	check_event(p);
	if (arg->source == HV_KPROBE_FIELD)
		load_event_field(p, &arg->event_field);
	else if (is_const)
		add_step(p, HV_FETCH_NUMBER, addend, 0);
	else
		add_step(p, HV_FETCH_WORD, word, 0);
	for (unsigned i = 0; i <= last; i++) {
		const struct hv_kprobe_deref *d = &arg->derefs[i];
		unsigned does = HV_FETCH_READS | (d->is_user ? HV_FETCH_USER : 0);
		uint64_t off = (uint64_t)d->off + (i || is_const ? 0 : addend);
		size_t len = 0;

		if (i == last && is_string) {
			does |= HV_FETCH_STRING;
			does |= strcmp(arg->type->name, "ustring") == 0 ? HV_FETCH_USER : 0;
			len = STRING_MAX;
		} else if (i == last) {
			does |= HV_FETCH_KEEPS;
			len = arg->type->size_bytes * (arg->count ? arg->count : 1);
		} else if (i + 1 == last) {
			off += (uint64_t)index * WORD;
		}
		add_step(p, does, off, len);
	}
}

bool hv_kprobe_program(const struct hv_kprobe *k, const struct hv_kprobe_carrier *carrier,
		       struct hv_fetch_step *ret, size_t *nr)
{
	struct program p = {
		.steps = ret, .nr = *nr, .tag = (uint32_t)k->serial << 16, .carrier = carrier};

	for (size_t i = 0; i < k->nr_args; i++) {
		const struct hv_kprobe_arg *arg = &k->args[i];

		for (unsigned n = 0; n < hv_kprobe_nr_results(arg); n++, p.tag++)
			read_result(&p, arg, n);
	}
	if (!p.is_full)
		*nr = p.nr;
	return !p.is_full;
}

/* -- the entry --------------------------------------------------------------------------------- */

/* An entry that is being filled. */
struct filling {
	const struct hv_kprobe *k;
	const struct hv_kprobe_call *call;
	uint8_t *entry;
	uint32_t end, max_bytes; /* END: offset of the next string */
};

/* A result in the recorded data. */
struct result {
	uint32_t tag;
	bool is_fault;
	struct hv_span bytes;
};

/* Reads the result at *AT and advances *AT. Returns false after the last one. */
static bool next_result(struct hv_span all, uint64_t *at, struct result *ret)
{
	uint32_t head[2];
	uint64_t len;

	if (!hv_span_copy(all, *at, head, sizeof(head)))
		return false;
	*at += HV_FETCH_HEAD;
	ret->tag = head[0];
	ret->is_fault = head[1] == HV_FETCH_FAULT;
	len = ret->is_fault ? 0 : head[1];
	if (len > all.len_bytes - *at)
		return false;
	ret->bytes = (struct hv_span){all.data + *at, len};
	*at += (len + HV_FETCH_ALIGN - 1) / HV_FETCH_ALIGN * HV_FETCH_ALIGN;
	return true;
}

/* Finds the bytes of a result. Returns false if it is absent or could not be read. */
static bool find_result(const struct filling *f, unsigned number, struct hv_span *ret)
{
	uint32_t tag = ((uint32_t)f->k->serial << 16) + number;
	struct result r;
	uint64_t at = 0;

	while (next_result(f->call->results, &at, &r)) {
		if (r.tag != tag)
			continue;
		*ret = r.bytes;
		return !r.is_fault;
	}
	return false;
}

bool hv_kprobe_has_results(const struct hv_kprobe *k, struct hv_span results)
{
	struct result r;
	uint64_t at = 0;

	while (next_result(results, &at, &r))
		if (r.tag >> 16 == k->serial)
			return true;
	return false;
}

/* Adds a string of LEN bytes with its NUL, truncated to the available room. Returns its
 * location. */
static uint32_t add_string(struct filling *f, const uint8_t *bytes, size_t len)
{
	uint32_t at = f->end;

	if (len > f->max_bytes - f->end)
		len = f->max_bytes - f->end;
	if (len) {
		memcpy(f->entry + at, bytes, len);
		f->entry[at + len - 1] = '\0';
	}
	f->end += (uint32_t)len;
	return (uint32_t)len << LOC_LEN_SHIFT | at;
}

/* Returns the value of a field of the probed event (get_event_field()), or 0 if the entry is too
 * short. */
static uint64_t value_of_field(struct hv_span event, const struct hv_kprobe_event_field *field)
{
	uint32_t size = field->size_bytes;
	unsigned unused_bits;
	uint64_t value = 0;

	if (size != 1 && size != 2 && size != 4)
		size = WORD;
	hv_span_copy(event, field->off, &value, size);
	unused_bits = 64 - 8 * size;
	return field->is_signed ? (uint64_t)((int64_t)(value << unused_bits) >> unused_bits)
				: value;
}

/* Returns the string in such a field, including a NUL if present. */
static struct hv_span text_of_field(struct hv_span event, const struct hv_kprobe_event_field *field)
{
	uint64_t off = field->off, len = field->size_bytes;
	uint32_t loc;
	const uint8_t *nul;

	if (field->form != HV_FIELD_ARRAY) {
		if (!hv_span_u32(event, off, &loc))
			return (struct hv_span){0};
		off = (loc & LOC_OFF_MASK) +
		      (field->form == HV_FIELD_RELATIVE ? off + sizeof(loc) : 0);
		len = event.len_bytes > off ? event.len_bytes - off : 0;
	}
	if (!len || !hv_span_has(event, off, len))
		return (struct hv_span){0};
	nul = memchr(event.data + off, '\0', len);
	return (struct hv_span){event.data + off, nul ? (size_t)(nul - event.data - off) + 1 : len};
}

/* Returns strings that need no memory read. */
static const char *known_string(const struct hv_kprobe_call *call, const struct hv_kprobe_arg *arg)
{
	if (arg->source == HV_KPROBE_COMM)
		return call->comm;
	return arg->source == HV_KPROBE_MARK ? call->mark : arg->string;
}

static void fill_strings(struct filling *f, const struct hv_kprobe_arg *arg, uint8_t *to)
{
	const char *known = known_string(f->call, arg);

	for (unsigned i = 0; i < (arg->count ? arg->count : 1); i++) {
		struct hv_span bytes = {(const uint8_t *)known, known ? strlen(known) + 1 : 0};
		uint32_t loc;

		if (arg->source == HV_KPROBE_FIELD && !arg->nr_derefs)
			bytes = text_of_field(f->call->event, &arg->event_field);
		if (arg->nr_derefs && !find_result(f, arg->first_result + i, &bytes))
			bytes.len_bytes = 0;
		loc = add_string(f, bytes.data, bytes.len_bytes);
		memcpy(to + i * sizeof(loc), &loc, sizeof(loc));
	}
}

static uint64_t bits_of(const struct hv_kprobe_arg *arg, uint64_t value)
{
	uint32_t bits = arg->type->size_bytes * 8;
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;

	return arg->is_bitfield ? ((value << arg->left) & mask) >> arg->right : value;
}

/* Numbers that cannot be read become 0. */
static void fill_numbers(const struct filling *f, const struct hv_kprobe_arg *arg, uint8_t *to)
{
	uint32_t size = arg->type->size_bytes;
	struct hv_span bytes = {0};
	uint64_t value = arg->number.word < HV_WORDS_MAX ? f->call->words[arg->number.word] : 0;

	if (arg->source == HV_KPROBE_FIELD)
		value = value_of_field(f->call->event, &arg->event_field);
	value += (uint64_t)arg->number.addend;
	if (arg->nr_derefs && !find_result(f, arg->first_result, &bytes))
		bytes.len_bytes = 0;
	for (unsigned i = 0; i < (arg->count ? arg->count : 1); i++) {
		if (arg->nr_derefs) {
			value = 0;
			hv_span_copy(bytes, (uint64_t)i * size, &value, size);
		}
		value = bits_of(arg, value);
		memcpy(to + i * size, &value, size);
	}
}

bool hv_kprobe_has_mark(const struct hv_kprobe *k)
{
	for (size_t i = 0; i < k->nr_args; i++)
		if (k->args[i].source == HV_KPROBE_MARK)
			return true;
	return false;
}

uint32_t hv_kprobe_fill(const struct hv_kprobe *k, const struct hv_kprobe_call *call,
			uint32_t args_off, uint8_t *entry, uint32_t max_bytes)
{
	struct filling f = {.k = k,
			    .call = call,
			    .entry = entry,
			    .end = args_off + k->len_bytes,
			    .max_bytes = max_bytes};

	if (f.end > max_bytes || (hv_kprobe_has_mark(k) && !call->mark))
		return 0;
	for (size_t i = 0; i < k->nr_args; i++) {
		const struct hv_kprobe_arg *arg = &k->args[i];
		uint8_t *to = entry + args_off + arg->off;

		if (hv_kprobe_is_string(arg))
			fill_strings(&f, arg, to);
		else
			fill_numbers(&f, arg, to);
	}
	return f.end;
}
