/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/line_texts.h"

#include <string.h>

#include "base/text.h"

#define NR_KEPT	     256 /* a power of two */
#define HASH_SHIFT   (64 - 8)
#define SECOND_MAX   24
#define SECOND_WIDTH 5

/* Everything that the text depends on, except options. */
struct key {
	char comm[16];
	uint64_t ids; /* pid and cpu */
	uint32_t context;
};

struct kept {
	struct key key;
	uint8_t len; /* 0: unused */
	char text[HV_LINE_PART_MAX];
};

struct hv_line_texts {
	uint64_t options;
	uint64_t second;
	uint8_t second_len; /* 0: unused */
	char second_text[SECOND_MAX];
	struct kept list[NR_KEPT];
};

_Static_assert(SECOND_MAX >= HV_DIGITS_MAX && SECOND_MAX + 7 <= HV_LINE_PART_MAX, "room");
_Static_assert(NR_KEPT == UINT64_C(1) << (64 - HASH_SHIFT), "as many as the hash has values");

struct hv_line_texts *hv_line_texts_new(void)
{
	return hv_alloc(sizeof(struct hv_line_texts));
}

void hv_line_texts_free(struct hv_line_texts *t)
{
	free(t);
}

void hv_line_texts_of(struct hv_line_texts *t, uint64_t options)
{
	if (t->options != options)
		memset(t, 0, sizeof(*t));
	t->options = options;
}

static inline uint64_t ids_of(const struct hv_event *e)
{
	return e->pid | (uint64_t)e->cpu << 32;
}

static inline uint32_t context_of(const struct hv_event *e)
{
	return e->flags | (uint32_t)e->preempt_depth << 8 | (uint32_t)e->migrate_depth << 16 |
	       (uint32_t)e->lazy_depth << 24;
}

static inline size_t place_of(const struct hv_event *e)
{
	uint64_t mixed = ids_of(e) ^ (uint64_t)context_of(e) << 24;

	return (size_t)(mixed * UINT64_C(0x9e3779b97f4a7c15) >> HASH_SHIFT);
}

char *hv_line_texts_put_context(const struct hv_line_texts *t, const struct hv_event *e, char *at)
{
	const struct kept *k = &t->list[place_of(e)];

	if (!k->len || k->key.ids != ids_of(e) || k->key.context != context_of(e) ||
	    memcmp(k->key.comm, e->comm, sizeof(e->comm)) != 0)
		return NULL;
	memcpy(at, k->text, HV_LINE_PART_MAX);
	return at + k->len;
}

void hv_line_texts_keep_context(struct hv_line_texts *t, const struct hv_text *out, size_t start,
				const struct hv_event *e)
{
	size_t len = out->len_bytes - start;
	struct kept *k = &t->list[place_of(e)];

	if (len > HV_LINE_PART_MAX)
		return;
	memcpy(k->key.comm, e->comm, sizeof(k->key.comm));
	k->key.ids = ids_of(e);
	k->key.context = context_of(e);
	k->len = (uint8_t)len;
	memcpy(k->text, out->data + start, len);
}

static void keep_second(struct hv_line_texts *t, uint64_t second)
{
	char *end = hv_put_number(t->second_text, second, SECOND_WIDTH);

	t->second = second;
	t->second_len = (uint8_t)(end - t->second_text);
}

static inline char *put_pair(char *at, unsigned value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	memcpy(at, pairs + (size_t)2 * value, 2);
	return at + 2;
}

char *hv_line_texts_put_time(struct hv_line_texts *t, uint64_t time_ns, char *at)
{
	uint64_t usecs = time_ns / 1000 + (time_ns % 1000 >= 500), second = usecs / 1000000;
	unsigned rest = (unsigned)(usecs % 1000000);

	if (second != t->second || !t->second_len)
		keep_second(t, second);
	memcpy(at, t->second_text, SECOND_MAX);
	at += t->second_len;
	*at++ = '.';
	at = put_pair(at, rest / 10000);
	at = put_pair(at, rest / 100 % 100);
	return put_pair(at, rest % 100);
}
