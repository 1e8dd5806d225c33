/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads symbols from kallsyms in memory: first the compressed names, then the addresses, which are
 * in a table before or after them. The table is tried with each format that some kernel version
 * uses until the addresses are plausible. */
#include "kernel/image/kallsyms.h"

#include <string.h>

#include "base/bytes.h"
#include "base/cancel.h"
#include "base/err.h"
#include "kernel/image/symbols.h"

#define KALLSYMS_NAME_MAX 512 /* the type comes first; no trailing NUL */
_Static_assert(KALLSYMS_NAME_MAX == HV_SYMBOL_NAME_MAX, "a type takes as much as a NUL");

#define KALLSYMS_SHORT	     15 /* most tokens have two or three bytes */
#define KALLSYMS_TOKEN_BYTES (KALLSYMS_SHORT + 1)

/* A token with its length, copied in one step. */
struct kallsyms_token {
	char text[KALLSYMS_SHORT]; /* without a NUL */
	uint8_t len_bytes;	   /* above KALLSYMS_SHORT: the text is stored elsewhere */
};
_Static_assert(sizeof(struct kallsyms_token) == KALLSYMS_TOKEN_BYTES, "a token has no padding");

/* Offsets are into the image. */
struct kallsyms_names {
	struct hv_span image; /* borrowed */
	size_t num_syms_off;
	size_t names_off;
	size_t names_end_off;
	size_t token_table_off;
	size_t token_index_off;
	uint32_t nr;
	uint16_t token_len[256];
	const char *token[256]; /* NUL-terminated, points into the image */
	struct kallsyms_token short_token[256];
};

#define KALLSYMS_NAME_ROOM (KALLSYMS_NAME_MAX + KALLSYMS_TOKEN_BYTES)

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

/* Returns 0 if the word is not in S. */
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
			struct kallsyms_names *ret)
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

static bool find_token_table(struct search *s, size_t index, struct kallsyms_names *ret)
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
static bool find_tokens(struct search *s, size_t *off, size_t alignment, struct kallsyms_names *ret)
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
static bool find_names(struct search *s, const struct markers *m, struct kallsyms_names *ret)
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
static bool find_markers_and_names(struct search *s, struct kallsyms_names *ret)
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
static void lay_out_tokens(struct kallsyms_names *names)
{
	for (unsigned i = 0; i < NR_TOKENS; i++) {
		struct kallsyms_token *t = &names->short_token[i];

		t->len_bytes = KALLSYMS_SHORT + 1;
		if (names->token_len[i] > KALLSYMS_SHORT)
			continue;
		t->len_bytes = (uint8_t)names->token_len[i];
		memcpy(t->text, names->token[i], t->len_bytes);
	}
}

/* Searches from OFF on, a multiple of ALIGNMENT. *RET_ANY: tokens were found. */
static bool find_from(struct search *s, size_t off, size_t alignment, struct kallsyms_names *found,
		      bool *ret_any)
{
	for (; find_tokens(s, &off, alignment, found); off += alignment) {
		*ret_any = true;
		if (find_markers_and_names(s, found))
			return true;
	}
	return false;
}

/* Searches IMAGE, the copy of a kernel image that starts at a multiple of 8. Starts at
 * TEXT_END_OFF, because linkers put read-only data after the text. Fails with ENOENT; the message
 * names the missing table. */
static struct hv_err *kallsyms_names_find(struct hv_span image, size_t text_end_off,
					  struct kallsyms_names *ret)
{
	struct search s = {.image = image, .steps = STEPS_MAX};
	struct kallsyms_names found = {.image = image};
	bool any = false;
	struct hv_err *err;

	if (find_from(&s, text_end_off & ~(size_t)(TABLE_ALIGN - 1), TABLE_ALIGN, &found, &any) ||
	    find_from(&s, 0, 4, &found, &any)) {
		lay_out_tokens(&found);
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

/* Expands the name at *OFF and advances *OFF to the next name. *OFF starts as names_off. The type
 * comes first; no NUL is added. TO has room for KALLSYMS_NAME_ROOM bytes; the bytes after the name
 * are undefined. Returns the length including the type, or 0 if it exceeds KALLSYMS_NAME_MAX or the
 * type is missing. */
static size_t kallsyms_name(const struct kallsyms_names *names, size_t *off, char *to)
{
	const struct kallsyms_token *short_token = names->short_token;
	const uint8_t *token, *end;
	size_t nr_tokens, len = 0;

	if (!name_length(names->image, off, &nr_tokens))
		return 0;
	token = names->image.data + *off;
	for (end = token + nr_tokens; token < end; token++) {
		const struct kallsyms_token *t = short_token + *token;
		size_t token_len = t->len_bytes;

		/* The next token overwrites any excess bytes. */
		memcpy(to + len, t, sizeof(*t));
		if (token_len > KALLSYMS_SHORT) {
			token_len = names->token_len[*token];
			if (token_len > KALLSYMS_NAME_MAX - len)
				return 0;
			memcpy(to + len, names->token[*token], token_len);
		}
		len += token_len;
		if (len > KALLSYMS_NAME_MAX)
			return 0;
	}
	*off += nr_tokens;
	return len;
}

/* Returns an upper bound for the total size of all expanded names. */
static size_t kallsyms_names_max(const struct kallsyms_names *names)
{
	size_t longest = 1, len_bytes = names->names_end_off - names->names_off;

	for (unsigned i = 0; i < NR_TOKENS; i++)
		if (names->token_len[i] > longest)
			longest = names->token_len[i];
	return len_bytes * longest;
}

/* Kernels have some 200,000 names of 20 bytes. */
#define NAMES_MAX	2000000u
#define NAMES_MAX_BYTES (64ull << 20)
/* Average memory per name. */
#define NAME_BYTES	((size_t)24)

#define BANNER	   "Linux version "
/* Minimum alignment of _stext. An address of another symbol, from a wrong index, hardly has it. */
#define TEXT_ALIGN 4096

/* The formats of the table, as kallsyms_sym_address() of some kernel reads it. */
enum reading {
	PLACE_RELATIVE,	 /* s32 from the entry's own address: 7.0 */
	BASE_RELATIVE,	 /* u32 from relative_base: 4.6 (2213e9a66bb8) with !SMP, all since 6.15 */
	ABSOLUTE_PERCPU, /* u32 from relative_base, but constants and per-CPU offsets are not
			    negative and others are -1 - s32: 4.6 to 6.14 */
	ABSOLUTE,	 /* u64: before 4.6, or without KALLSYMS_BASE_RELATIVE, gone in 6.11 */
};

struct addresses {
	enum reading reading;
	struct hv_span table; /* starting with the first entry */
	struct hv_gva at;
	uint64_t base;
};

static size_t align_up(size_t v, size_t to)
{
	return (v + to - 1) & ~(to - 1);
}

/* Finds the table for READING, and its base. The table is immediately before num_syms (until 6.3)
 * or after the token index (since 6.4, 404bad70fcf7). Tables are aligned to 8 bytes, or to 4 if
 * they contain nothing larger (7.x). */
static bool find_table(const struct hv_image *image, const struct kallsyms_names *names,
		       enum reading reading, bool behind, size_t alignment, struct addresses *ret)
{
	struct hv_span all = names->image;
	size_t width = reading == ABSOLUTE ? 8 : 4;
	size_t table_len = align_up(names->nr * width, alignment);
	size_t base_len = reading == BASE_RELATIVE || reading == ABSOLUTE_PERCPU ? 8 : 0;
	size_t start = align_up(names->token_index_off + 256 * sizeof(uint16_t), alignment);

	if (!behind) {
		start = names->num_syms_off & ~(alignment - 1);
		if (start < table_len + base_len)
			return false;
		start -= table_len + base_len;
	}
	if (!hv_span_has(all, start, table_len + base_len))
		return false;
	*ret = (struct addresses){
		.reading = reading,
		.table = {all.data + start, all.len_bytes - start},
		.at = hv_gva_add(image->all.start, start),
	};
	return !base_len || hv_span_u64(all, start + table_len, &ret->base);
}

static struct hv_gva address(const struct addresses *a, size_t i)
{
	uint64_t whole = 0;
	uint32_t half = 0;
	int32_t offset;

	if (a->reading == ABSOLUTE) {
		hv_span_u64(a->table, i * sizeof(whole), &whole);
		return hv_gva(whole);
	}
	hv_span_u32(a->table, i * sizeof(half), &half);
	offset = (int32_t)half;
	if (a->reading == BASE_RELATIVE)
		return hv_gva(a->base + half);
	if (a->reading == PLACE_RELATIVE)
		return hv_gva(a->at.v + i * sizeof(half) + (uint64_t)(int64_t)offset);
	if (offset >= 0)
		return hv_gva((uint64_t)offset);
	return hv_gva(a->base - 1 - (uint64_t)(int64_t)offset);
}

/* Indices of the symbols that show whether a reading is correct; the number of symbols if the
 * symbol does not exist. */
struct proof {
	size_t banner;
	size_t text;
};

static struct proof find_proof(const struct hv_symbols *s)
{
	struct proof p = {s->nr, s->nr};

	for (size_t i = 0; i < s->nr; i++) {
		const char *name = s->by_addr[i].name;

		if (name[0] == 'l' && !strcmp(name, "linux_banner"))
			p.banner = i;
		else if (name[0] == '_' && !strcmp(name, "_stext"))
			p.text = i;
	}
	return p;
}

/* Fills in the addresses and checks them: they must ascend, linux_banner must be at the banner, and
 * _stext in the text. A kernel without KALLSYMS_ALL has only functions, hence no linux_banner. */
static bool read_right(const struct hv_image *image, const struct addresses *a,
		       const struct proof *proof, struct hv_symbols *s)
{
	struct hv_gva last = hv_gva(0);
	const size_t nr = s->nr;

	if (proof->banner < nr) {
		struct hv_span at = hv_image_at(image, address(a, proof->banner));

		if (!hv_span_has(at, 0, strlen(BANNER)) || memcmp(at.data, BANNER, strlen(BANNER)))
			return false;
	}
	if (proof->text >= nr || !hv_gva_in(address(a, proof->text), image->text) ||
	    address(a, proof->text).v % TEXT_ALIGN)
		return false;
	for (size_t i = 0; i < nr; i++) {
		struct hv_gva here = address(a, i);

		if (here.v < last.v)
			return false;
		last = here;
		s->by_addr[i].addr = here;
	}
	return true;
}

static bool find_addresses(const struct hv_image *image, const struct kallsyms_names *names,
			   struct hv_symbols *s)
{
	static const enum reading readings[] = {ABSOLUTE_PERCPU, BASE_RELATIVE, PLACE_RELATIVE,
						ABSOLUTE};
	struct proof proof = find_proof(s);
	struct addresses a;

	for (size_t i = 0; i < HV_ARRAY_LEN(readings); i++)
		for (unsigned layout = 0; layout < 4; layout++)
			if (find_table(image, names, readings[i], layout & 1, layout & 2 ? 4 : 8,
				       &a) &&
			    read_right(image, &a, &proof, s))
				return true;
	return false;
}

/* Expands all names into RET->names, which has LEN_BYTES and room for one more name. Each name is
 * preceded by its type; after that is stored in by_addr, its byte becomes the NUL of the previous
 * name. Returns the number of bytes used, or 0 if a name is invalid or the names do not fit. */
static size_t expand_names(const struct kallsyms_names *names, size_t len_bytes,
			   struct hv_symbols *ret)
{
	size_t off = names->names_off, at = 0;

	for (uint32_t i = 0; i < names->nr; i++) {
		char *name = ret->names + at;
		size_t len = kallsyms_name(names, &off, name);

		if (!len || len > len_bytes - at || hv_cancel_now(i))
			return 0;
		ret->by_addr[i] = (struct hv_symbol){hv_gva(0), name + 1, name[0]};
		/* The byte of the type is the NUL of the previous name. */
		name[0] = '\0';
		at += len;
	}
	ret->names[at] = '\0';
	return at + 1;
}

/* Releases the unused part of the memory for names. */
static void trim_names(struct hv_symbols *s, size_t len_bytes)
{
	const uintptr_t before = (uintptr_t)s->names;

	s->names = hv_realloc_array(s->names, len_bytes, 1);
	for (size_t i = 0; (uintptr_t)s->names != before && i < s->nr; i++)
		s->by_addr[i].name = s->names + ((uintptr_t)s->by_addr[i].name - before);
}

static struct hv_err *read_names(const struct kallsyms_names *names, struct hv_symbols *ret)
{
	size_t max = kallsyms_names_max(names), total;
	struct hv_err *err;

	if (max > NAMES_MAX_BYTES)
		max = NAMES_MAX_BYTES;
	ret->nr = names->nr;
	ret->names = hv_realloc_array(NULL, max + KALLSYMS_NAME_ROOM, 1);
	ret->by_addr = hv_realloc_array(NULL, names->nr, sizeof(*ret->by_addr));
	hv_populate(ret->names, max < names->nr * NAME_BYTES ? max : names->nr * NAME_BYTES);
	hv_populate(ret->by_addr, names->nr * sizeof(*ret->by_addr));
	total = expand_names(names, max, ret);
	err = hv_cancel_check();
	if (err)
		return err;
	if (!total)
		return hv_err_new(ENOENT, "%u names at +0x%zx of the kernel image do not expand",
				  names->nr, names->names_off);
	trim_names(ret, total);
	return NULL;
}

static struct hv_err *read_symbols(const struct hv_image *image, struct hv_symbols *ret)
{
	size_t text_end_off = (size_t)(image->text.end.v - image->all.start.v);
	struct kallsyms_names names;
	struct hv_err *err = kallsyms_names_find((struct hv_span){image->bytes, image->len_bytes},
						 text_end_off, &names);

	if (!err && names.nr > NAMES_MAX)
		err = hv_err_new(ENOENT, "%u names: more than any kernel has", names.nr);
	if (!err)
		err = read_names(&names, ret);
	if (!err)
		err = hv_cancel_check();
	if (err)
		return err;
	if (!find_addresses(image, &names, ret))
		return hv_err_new(ENOENT,
				  "%u names at +0x%zx of the kernel image, but no table of their "
				  "addresses",
				  names.nr, names.names_off);
	hv_symbols_index(ret);
	return NULL;
}

struct hv_err *hv_kallsyms_read(const struct hv_image *image, struct hv_symbols *ret)
{
	struct hv_symbols s = {0};
	struct hv_err *err = read_symbols(image, &s);

	if (err) {
		hv_symbols_deinit(&s);
		return hv_err_in(err, "kallsyms");
	}
	*ret = s;
	return NULL;
}
