/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/types/kept_facts.h"

#include <stdlib.h>
#include <string.h>

#define FIRST	   "hvtrace facts "
#define VERSION	   "1"
#define WORDS_MAX  9 /* of a line */
#define ALL_PROOFS (HV_PROVED_BY_INTERFACE * 2 - 1)

void hv_kept_facts_write(const struct hv_facts *f, const char *kernel, struct hv_text *ret)
{
	hv_text_printf(ret, FIRST VERSION "\nkernel %s\n", kernel);
	for (size_t i = 0; i < f->nr; i++) {
		const struct hv_fact *m = &f->list[i];

		hv_text_printf(ret, "member %s %s %u %u %s %u %u %u\n", m->type, m->member, m->off,
			       m->len_bytes, m->of ? m->of : "-", m->proofs, m->bits, m->bit);
	}
	for (size_t i = 0; i < f->nr_numbers; i++)
		hv_text_printf(ret, "number %s %d\n", f->numbers[i].name, f->numbers[i].value);
	for (size_t i = 0; i < f->nr_sizes; i++)
		hv_text_printf(ret, "size %s %u\n", f->sizes[i].type, f->sizes[i].len_bytes);
	hv_text_add(ret, "end\n");
}

static bool is_name(const char *word)
{
	size_t len = 0;

	for (; word[len] && len <= HV_KEPT_NAME_MAX; len++)
		if (!(word[len] >= 'a' && word[len] <= 'z') &&
		    !(word[len] >= 'A' && word[len] <= 'Z') &&
		    !(word[len] >= '0' && word[len] <= '9') && word[len] != '_')
			return false;
	return len && len <= HV_KEPT_NAME_MAX;
}

/* Reads a number below END. Also accepts other forms of it, such as +1 and 01: is_equal() rejects
 * these later. */
static bool take_number(const char *word, uint32_t end, uint32_t *ret)
{
	char *after;
	unsigned long value = strtoul(word, &after, 10);

	*ret = (uint32_t)value;
	return *word && !*after && value < end;
}

static bool take_value(const char *word, int32_t *ret)
{
	char *after;
	long value = strtol(word, &after, 10);

	*ret = (int32_t)value;
	return *word && !*after && value >= INT32_MIN && value <= INT32_MAX;
}

static bool read_member(char *const *words, unsigned nr, struct hv_facts *f)
{
	struct hv_fact m = {0};
	uint32_t proofs, bits, bit;
	bool has_of;

	if (nr != 9 || f->nr == HV_KEPT_FACTS_MAX || !is_name(words[1]) || !is_name(words[2]))
		return false;
	has_of = strcmp(words[5], "-") != 0;
	if ((has_of && !is_name(words[5])) || hv_facts_find(f, words[1], words[2]) ||
	    !take_number(words[3], HV_KEPT_STRUCT_BYTES, &m.off) ||
	    !take_number(words[4], HV_KEPT_STRUCT_BYTES - m.off, &m.len_bytes) ||
	    !take_number(words[6], ALL_PROOFS + 1, &proofs) || !proofs ||
	    !take_number(words[7], 65, &bits) || !take_number(words[8], 64, &bit) ||
	    (bits ? bit + bits > 8 * m.len_bytes : bit))
		return false;
	m.type = words[1];
	m.member = words[2];
	m.of = has_of ? words[5] : NULL;
	m.proofs = proofs;
	m.bits = (uint8_t)bits;
	m.bit = (uint8_t)bit;
	hv_facts_add(f, &m);
	return true;
}

static bool read_fact(char *const *words, unsigned nr, struct hv_facts *f)
{
	uint32_t len_bytes;
	int32_t value;

	if (!strcmp(words[0], "member"))
		return read_member(words, nr, f);
	if (nr == 3 && !strcmp(words[0], "number") && f->nr_numbers < HV_KEPT_FACTS_MAX &&
	    is_name(words[1]) && take_value(words[2], &value)) {
		hv_facts_add_number(f, words[1], value);
		return true;
	}
	if (nr == 3 && !strcmp(words[0], "size") && f->nr_sizes < HV_KEPT_FACTS_MAX &&
	    is_name(words[1]) && take_number(words[2], HV_KEPT_STRUCT_BYTES, &len_bytes)) {
		hv_facts_add_size(f, words[1], len_bytes);
		return true;
	}
	return false;
}

/* Ends each word of LINE with a NUL. Returns the number of words, and ignores those after WORDS_MAX:
 * then is_equal() finds the difference. */
static unsigned split(char *line, char **words)
{
	unsigned nr = 0;

	while (line && nr < WORDS_MAX)
		words[nr++] = strsep(&line, " ");
	return nr;
}

/* Reads the lines after those about the kernel. */
static bool read_facts(char *text, struct hv_facts *f)
{
	char *words[WORDS_MAX], *line;

	while ((line = strsep(&text, "\n"))) {
		if (!strcmp(line, "end"))
			return text && !*text;
		if (!read_fact(words, split(line, words), f))
			return false;
	}
	return false;
}

static bool is_equal(struct hv_span text, const struct hv_facts *f, const char *kernel)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_kept_facts_write(f, kernel, &t);
	return t.len_bytes == text.len_bytes && !memcmp(t.data, text.data, text.len_bytes);
}

struct hv_err *hv_kept_facts_read(struct hv_span text, const char *kernel, struct hv_facts *ret)
{
	HV_AUTO_FREE char *begin = hv_format(FIRST VERSION "\nkernel %s\n", kernel);
	hv_cleanup(hv_facts_deinit) struct hv_facts f = {0};
	size_t len = strlen(begin);
	char *lines;

	if (!hv_span_has(text, 0, strlen(FIRST)) || memcmp(text.data, FIRST, strlen(FIRST)) != 0)
		return hv_err_new(EINVAL, "they do not begin with '%s'", FIRST);
	if (!hv_span_has(text, 0, len) || memcmp(text.data, begin, len) != 0)
		return hv_err_new(ESTALE,
				  "they belong to another kernel or another version of hvtrace");
	lines = hv_alloc(text.len_bytes - len + 1);
	memcpy(lines, text.data + len, text.len_bytes - len);
	hv_facts_own(&f, lines);
	/* hvtrace writes each text in one form only, so a text is refused if it would be written in
	 * another. */
	if (!read_facts(lines, &f) || !is_equal(text, &f, kernel))
		return hv_err_new(EINVAL, "they are damaged");
	*ret = f;
	f = (struct hv_facts){0};
	return NULL;
}
