/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds kallsyms_names by the tables around it.
 *
 *   until 6.3:   offsets relative_base num_syms names markers [seqs] token_table token_index
 *   since 6.4:   num_syms names markers token_table token_index offsets relative_base seqs
 *
 * 404bad70fcf7 moved the addresses. 6.2 and 6.3 have seqs_of_names.
 *
 * The token index is easy to recognise: 256 ascending offsets of two bytes into the table of
 * strings immediately before it. Before those are the markers, the offset of every 256th name: a
 * long ascending run that starts with 0, of u32 since 4.20 (80ffbaa5b1bd) and of u64 before. The
 * markers determine the number and size of all names except the last 256. So the number of names is
 * searched for at all remaining positions, and decoding the names must match every marker. */
#include "kernel/image/kallsyms_names.h"

#include <string.h>

#include "base/cancel.h"

#define NR_TOKENS	  256
#define TOKEN_INDEX_BYTES (NR_TOKENS * sizeof(uint16_t))
#define TOKEN_MAX	  512
#define TABLE_ALIGN	  8 /* of all tables; 4 is tried as well */

#define BLOCK		256 /* names from marker to marker */
#define BLOCK_MIN_BYTES (BLOCK * 2ull)
#define BLOCK_MAX_BYTES (BLOCK * (2ull + TOKEN_MAX))
#define MARKERS_MIN	8 /* kernels have hundreds */

/* Upper bound for the steps of a search, even in a misleading image. */
#define STEPS_MAX (1u << 28)

struct search {
	struct hv_span image;
	uint64_t steps; /* remaining steps */
	size_t nr_asked;
};

static bool spend(struct search *s, uint64_t steps)
{
	if (s->steps < steps)
		return false;
	s->steps -= steps;
	if (hv_cancel_now(++s->nr_asked))
		s->steps = 0;
	return true;
}

static uint16_t u16_at(struct hv_span s, size_t off)
{
	uint16_t v = 0;

	hv_span_u16(s, off, &v);
	return v;
}

/* 0 outside */
static uint64_t word_at(struct hv_span s, size_t off, unsigned width)
{
	uint64_t v64 = 0;
	uint32_t v32 = 0;

	if (width == sizeof(v64)) {
		hv_span_u64(s, off, &v64);
		return v64;
	}
	hv_span_u32(s, off, &v32);
	return v32;
}

/* Returns whether the offsets at OFF ascend. Unused tokens are empty; there are few. */
static bool is_token_index(struct hv_span image, size_t off)
{
	unsigned nr_empty = 0;

	for (unsigned i = 1; i < NR_TOKENS; i++) {
		unsigned before = u16_at(image, off + 2 * (i - 1));
		unsigned here = u16_at(image, off + 2 * i);

		if (here <= before || here - before > TOKEN_MAX)
			return false;
		nr_empty += here == before + 1;
	}
	return nr_empty < NR_TOKENS / 2;
}

/* Returns whether the strings from TABLE on match the index at INDEX and end just before it. */
static bool read_tokens(struct hv_span image, size_t table, size_t index,
			struct hv_kallsyms_names *ret)
{
	for (unsigned i = 0; i < NR_TOKENS; i++) {
		size_t start = table + u16_at(image, index + 2 * i);
		size_t limit =
			i + 1 < NR_TOKENS ? table + u16_at(image, index + 2 * (i + 1)) : index;
		const char *token = (const char *)image.data + start;
		const char *nul;

		if (start >= limit || limit > index)
			return false;
		nul = memchr(token, '\0', limit - start);
		if (!nul || nul - token > TOKEN_MAX)
			return false;
		if (i + 1 < NR_TOKENS ? nul + 1 != token + (limit - start)
				      : (size_t)(nul + 1 - token) + TABLE_ALIGN <= limit - start)
			return false;
		ret->token[i] = token;
		ret->token_len[i] = (uint16_t)(nul - token);
	}
	ret->token_table_off = table;
	ret->token_index_off = index;
	return true;
}

static bool find_token_table(struct search *s, size_t index, struct hv_kallsyms_names *ret)
{
	size_t least = u16_at(s->image, index + 2 * (NR_TOKENS - 1)) + 1u;
	size_t most = least + TOKEN_MAX + TABLE_ALIGN;

	for (size_t back = (least + 3) & ~(size_t)3; back <= most && back <= index; back += 4)
		if (spend(s, 1) && read_tokens(s->image, index - back, index, ret))
			return true;
	return false;
}

/* Finds the next token index that follows its table, from *OFF on in steps of ALIGNMENT. This scans
 * the whole image, so it compares the first two offsets of an index, 0 and the length of a token,
 * in one step. */
static bool find_tokens(struct search *s, size_t *off, size_t alignment,
			struct hv_kallsyms_names *ret)
{
	for (; hv_span_has(s->image, *off, TOKEN_INDEX_BYTES); *off += alignment) {
		uint32_t first_two;

		memcpy(&first_two, s->image.data + *off, sizeof(first_two));
		if ((first_two & 0xffff) || first_two - 0x10000 >= TOKEN_MAX << 16)
			continue;
		if (spend(s, 16) && is_token_index(s->image, *off) &&
		    find_token_table(s, *off, ret))
			return true;
	}
	return false;
}

/* Reads the length before a name: one byte or, since 6.1 (73bbb94466fd), up to two. */
static bool name_length(struct hv_span image, size_t *off, size_t *ret)
{
	uint8_t low, high;

	if (!hv_span_u8(image, *off, &low))
		return false;
	*off += 1;
	*ret = low;
	if (low & 0x80) {
		if (!hv_span_u8(image, *off, &high))
			return false;
		*off += 1;
		*ret = (low & 0x7fu) | (size_t)high << 7;
	}
	return *ret > 0 && hv_span_has(image, *off, *ret);
}

struct markers {
	size_t off;
	size_t nr;
	unsigned width;
	uint64_t last; /* offset in names of the last block */
};

/* Returns the run of markers that starts at OFF; nr is 0 if no run starts there. */
static struct markers markers_at(struct search *s, size_t off, size_t end, unsigned width)
{
	struct markers m = {.off = off, .width = width};
	size_t nr = 1;

	if (word_at(s->image, off, width) != 0)
		return m;
	while (nr <= (end - off) / width - 1) {
		uint64_t next = word_at(s->image, off + nr * width, width);

		if (next < m.last + BLOCK_MIN_BYTES || next > m.last + BLOCK_MAX_BYTES)
			break;
		m.last = next;
		nr++;
	}
	if (spend(s, nr) && nr >= MARKERS_MIN)
		m.nr = nr;
	return m;
}

/* Returns whether N names from NAMES on match every marker and end just before the markers. */
static bool names_meet_markers(struct search *s, const struct markers *m, size_t names, uint32_t n,
			       size_t *ret_end)
{
	size_t off = names;

	for (uint32_t i = 0; i < n; i++) {
		size_t len;

		if (i % BLOCK == 0 &&
		    word_at(s->image, m->off + i / BLOCK * m->width, m->width) != off - names)
			return false;
		if (!spend(s, 1) || !name_length(s->image, &off, &len))
			return false;
		off += len;
		if (off > m->off)
			return false;
	}
	*ret_end = off;
	return m->off - off < TABLE_ALIGN;
}

/* The names start immediately after their number, which is padded to 8 bytes (to 4 in a 32-bit
 * kernel). */
static bool find_names(struct search *s, const struct markers *m, struct hv_kallsyms_names *ret)
{
	uint64_t most = m->last + BLOCK_MAX_BYTES + TABLE_ALIGN;
	size_t low = most + TABLE_ALIGN < m->off ? (m->off - most) & ~(size_t)3 : TABLE_ALIGN;

	for (size_t names = low; names + m->last < m->off; names += 4) {
		if (!spend(s, 1))
			return false;
		for (size_t back = 4; back <= TABLE_ALIGN; back += 4) {
			uint64_t n = word_at(s->image, names - back, 4);

			if ((n + BLOCK - 1) / BLOCK != m->nr ||
			    !names_meet_markers(s, m, names, (uint32_t)n, &ret->names_end_off))
				continue;
			ret->num_syms_off = names - back;
			ret->names_off = names;
			ret->nr = (uint32_t)n;
			return true;
		}
	}
	return false;
}

/* Searches downwards: the markers are immediately before the token table, or before seqs_of_names,
 * which has three bytes for each name. */
static bool find_markers_and_names(struct search *s, struct hv_kallsyms_names *ret)
{
	size_t end = ret->token_table_off & ~(size_t)3;

	for (size_t off = end; off >= 8; off -= 4) {
		for (unsigned width = 4; width <= 8; width += 4) {
			struct markers m;

			if (word_at(s->image, off - 4, 4) != 0 || end - (off - 4) < 2 * width)
				continue;
			m = markers_at(s, off - 4, end, width);
			if (m.nr && find_names(s, &m, ret))
				return true;
		}
	}
	return false;
}

/* Copies the frequent, short tokens to an array with fixed-size elements. */
static void place_tokens(struct hv_kallsyms_names *names)
{
	for (unsigned i = 0; i < NR_TOKENS; i++) {
		struct hv_kallsyms_token *t = &names->short_token[i];

		t->len_bytes = HV_KALLSYMS_SHORT + 1;
		if (names->token_len[i] > HV_KALLSYMS_SHORT)
			continue;
		t->len_bytes = (uint8_t)names->token_len[i];
		memcpy(t->text, names->token[i], t->len_bytes);
	}
}

/* Searches from OFF on, a multiple of ALIGNMENT. *RET_ANY: tokens were found. */
static bool find_from(struct search *s, size_t off, size_t alignment,
		      struct hv_kallsyms_names *found, bool *ret_any)
{
	for (; find_tokens(s, &off, alignment, found); off += alignment) {
		*ret_any = true;
		if (find_markers_and_names(s, found))
			return true;
	}
	return false;
}

struct hv_err *hv_kallsyms_names_find(struct hv_span image, size_t text_end_off,
				      struct hv_kallsyms_names *ret)
{
	struct search s = {.image = image, .steps = STEPS_MAX};
	struct hv_kallsyms_names found = {.image = image};
	bool any = false;
	struct hv_err *err;

	if (find_from(&s, text_end_off & ~(size_t)(TABLE_ALIGN - 1), TABLE_ALIGN, &found, &any) ||
	    find_from(&s, 0, 4, &found, &any)) {
		place_tokens(&found);
		*ret = found;
		return NULL;
	}
	err = hv_cancel_check();
	if (err)
		return err;
	if (!any)
		return hv_err_new(ENOENT, "no table of name tokens in %zu bytes of kernel image",
				  image.len_bytes);
	return hv_err_new(ENOENT, "name tokens at +0x%zx of the kernel image, but no names before",
			  found.token_table_off);
}

size_t hv_kallsyms_name(const struct hv_kallsyms_names *names, size_t *off, char *to)
{
	const struct hv_kallsyms_token *short_token = names->short_token;
	const uint8_t *token, *end;
	size_t nr_tokens, len = 0;

	if (!name_length(names->image, off, &nr_tokens))
		return 0;
	token = names->image.data + *off;
	for (end = token + nr_tokens; token < end; token++) {
		const struct hv_kallsyms_token *t = short_token + *token;
		size_t token_len = t->len_bytes;

		/* The next token overwrites any excess bytes. */
		memcpy(to + len, t, sizeof(*t));
		if (token_len > HV_KALLSYMS_SHORT) {
			token_len = names->token_len[*token];
			if (token_len > HV_KALLSYMS_NAME_MAX - len)
				return 0;
			memcpy(to + len, names->token[*token], token_len);
		}
		len += token_len;
		if (len > HV_KALLSYMS_NAME_MAX)
			return 0;
	}
	*off += nr_tokens;
	return len;
}

size_t hv_kallsyms_names_max(const struct hv_kallsyms_names *names)
{
	size_t longest = 1, len_bytes = names->names_end_off - names->names_off;

	for (unsigned i = 0; i < NR_TOKENS; i++)
		if (names->token_len[i] > longest)
			longest = names->token_len[i];
	return len_bytes * longest;
}
