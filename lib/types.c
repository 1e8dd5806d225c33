/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structures of the guest's kernel, parsed from the service's text (kernel/types/type_text.h), which
 * can contain anything. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/alloc.h"
#include "lib/session.h"

#define TYPES_DIR   "types/"
#define MEMBERS_MAX 65536 /* as in the service */
#define DEPTH_MAX   32
#define BITS_MAX    64

struct hvt_type {
	char *text; /* owned; contains the names */
	const char *name;
	uint64_t len_bytes;
	bool is_whole;
	struct hvt_member *list;
	size_t nr;
};

void hvt_type_free(struct hvt_type *type)
{
	if (!type)
		return;
	free(type->text);
	free(type->list);
	free(type);
}

static void free_at(struct hvt_type **type)
{
	hvt_type_free(*type);
}

/* -- the service's text ----------------------------------------------------------------------- */

/* Takes the next word of *LINE as a decimal number of at most MAX. */
static bool take_number(char **line, uint64_t max, uint64_t *ret)
{
	const char *word = strsep(line, "\t");
	uint64_t n = 0;

	if (!word || !*word)
		return false;
	for (; *word; word++) {
		if (*word < '0' || *word > '9' || n > max / 10)
			return false;
		n = n * 10 + (uint64_t)(*word - '0');
	}
	*ret = n;
	return n <= max;
}

/* Takes the next word of *LINE. "-" becomes NULL. Returns false at the end. */
static bool take_word(char **line, const char **ret)
{
	const char *word = strsep(line, "\t");

	*ret = word && strcmp(word, "-") == 0 ? NULL : word;
	return word;
}

static bool parse_kind(const char *word, struct hvt_member *m)
{
	static const char letters[] = "oicpsnu";
	static const uint32_t kinds[] = {
		HVT_MEMBER_OTHER,  HVT_MEMBER_NUMBER, HVT_MEMBER_CHAR,	 HVT_MEMBER_POINTER,
		HVT_MEMBER_STRUCT, HVT_MEMBER_UNION,  HVT_MEMBER_NUMBER,
	};
	const char *letter = word && word[0] && !word[1] ? strchr(letters, word[0]) : NULL;

	if (!letter)
		return false;
	m->kind = kinds[letter - letters];
	m->is_signed = *letter == 'i';
	return true;
}

static bool is_compound(const struct hvt_member *m)
{
	return m->kind == HVT_MEMBER_STRUCT || m->kind == HVT_MEMBER_UNION;
}

static bool is_number(const struct hvt_member *m)
{
	return m->kind == HVT_MEMBER_NUMBER || m->kind == HVT_MEMBER_CHAR ||
	       m->kind == HVT_MEMBER_POINTER;
}

/* The bytes that contain the bits of a bit-field, or the bytes of all elements. */
static uint64_t bytes_of(const struct hvt_member *m)
{
	return m->bits ? (m->first_bit + m->bits + 7) / 8 : m->element_bytes * m->nr_elements;
}

/* Whether M has a possible size, and lies within the type. */
static bool is_possible(const struct hvt_type *t, const struct hvt_member *m)
{
	uint64_t size = m->element_bytes;

	if (is_number(m) && size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	if (m->bits && (m->is_array || m->kind != HVT_MEMBER_NUMBER || m->bits > size * 8))
		return false;
	return m->offset <= t->len_bytes && bytes_of(m) <= t->len_bytes - m->offset;
}

/* A member is in the structure or union before it, or in one around that. */
static bool is_in_order(const struct hvt_type *t, const struct hvt_member *m)
{
	const struct hvt_member *last = t->nr ? &t->list[t->nr - 1] : NULL;

	if (!last)
		return !m->depth;
	return m->depth <= last->depth + is_compound(last);
}

static bool parse_member(const struct hvt_type *t, char *line, struct hvt_member *ret)
{
	struct hvt_member m = {.nr_elements = 1};
	uint64_t depth, at, bits;
	char *elements;

	if (!take_number(&line, DEPTH_MAX, &depth) || !take_number(&line, UINT64_MAX / 2, &at) ||
	    !take_number(&line, BITS_MAX, &bits) ||
	    !take_number(&line, UINT32_MAX, &m.element_bytes) ||
	    !parse_kind(strsep(&line, "\t"), &m))
		return false;
	elements = strsep(&line, "\t");
	m.is_array = elements && strcmp(elements, "-") != 0;
	if (m.is_array && !take_number(&elements, UINT32_MAX, &m.nr_elements))
		return false;
	if (!take_word(&line, &m.type) || !m.type || !take_word(&line, &m.target) || !line)
		return false;
	m.name = line;
	m.depth = (uint32_t)depth;
	m.offset = at / 8;
	m.bits = (uint32_t)bits;
	m.first_bit = bits ? (uint32_t)(at % 8) : 0;
	*ret = m;
	return (bits || at % 8 == 0) && is_possible(t, &m) && is_in_order(t, &m) &&
	       (*m.name || is_compound(&m));
}

/* Parses "struct|union BYTES whole|part NAME". */
static bool parse_head(struct hvt_type *t, char *line)
{
	const char *kind = line ? strsep(&line, "\t") : NULL, *whole;

	if (!kind || (strcmp(kind, "struct") != 0 && strcmp(kind, "union") != 0) ||
	    !take_number(&line, UINT32_MAX, &t->len_bytes) || !take_word(&line, &whole) || !whole ||
	    !line)
		return false;
	t->is_whole = strcmp(whole, "whole") == 0;
	t->name = line;
	return true;
}

static struct hvt_error *wrong(const char *name)
{
	return error_new(EPROTO, "%s: the service's description of the type is wrong", name);
}

static size_t count_lines(const char *text)
{
	size_t nr = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		nr++;
	}
	return nr;
}

static struct hvt_error *parse_type(struct hvt_type *t, const char *name)
{
	size_t nr = count_lines(t->text); /* of members, and the first line */
	char *rest = t->text;

	if (!nr || nr > MEMBERS_MAX + 1 || !parse_head(t, strsep(&rest, "\n")))
		return wrong(name);
	t->list = lib_realloc_array(NULL, nr, sizeof(*t->list));
	if (!t->list)
		return error_no_memory();
	for (char *line; (line = strsep(&rest, "\n")) && rest; t->nr++)
		if (!parse_member(t, line, &t->list[t->nr]))
			return wrong(name);
	return NULL;
}

struct hvt_error *hvt_type_find(struct hvt_session *session, const char *name,
				struct hvt_type **ret)
{
	hv_cleanup(free_at) struct hvt_type *t = NULL;
	struct hvt_error *error = session_check(session);
	char path[WIRE_PATH_MAX];
	size_t len_bytes;

	if (!error && (!name || !ret))
		error = error_null(name ? "ret" : "name");
	if (!error && (size_t)snprintf(path, sizeof(path), TYPES_DIR "%s", name) >= sizeof(path))
		error = error_new(ENAMETOOLONG, "the name is too long");
	if (error)
		return error;
	t = lib_alloc(sizeof(*t));
	if (!t)
		return error_no_memory();
	error = conn_read_lines(session->conn, WIRE_OPEN_PROC, path, &t->text, &len_bytes);
	if (!error)
		error = parse_type(t, name);
	if (!error)
		*ret = hv_take(t);
	return error;
}

/* -- the type --------------------------------------------------------------------------------- */

const char *hvt_type_name(const struct hvt_type *type)
{
	return type ? type->name : NULL;
}

uint64_t hvt_type_bytes(const struct hvt_type *type)
{
	return type ? type->len_bytes : 0;
}

int hvt_type_is_whole(const struct hvt_type *type)
{
	return type && type->is_whole;
}

const struct hvt_member *hvt_type_member_at(const struct hvt_type *type, size_t index)
{
	return type && index < type->nr ? &type->list[index] : NULL;
}

/* Finds the member whose name is the first LEN bytes of NAME. Searches from AT up to the first
 * member whose depth is less than DEPTH. Members of an anonymous structure or union count as
 * members of the structure around it. Returns type->nr if there is no such member. */
static size_t find_in(const struct hvt_type *type, size_t at, uint32_t depth, const char *name,
		      size_t len)
{
	uint32_t named = depth; /* members up to this depth count as members of depth DEPTH */

	for (; at < type->nr && type->list[at].depth >= depth; at++) {
		const struct hvt_member *m = &type->list[at];

		if (m->depth > named)
			continue;
		named = m->depth + !*m->name;
		if (len && strncmp(m->name, name, len) == 0 && !m->name[len])
			return at;
	}
	return type->nr;
}

const struct hvt_member *hvt_type_member(const struct hvt_type *type, const char *path)
{
	uint32_t depth = 0;
	size_t at = 0;

	while (type && path) {
		size_t len = strcspn(path, ".");

		at = find_in(type, at, depth, path, len);
		if (at == type->nr)
			return NULL;
		if (!path[len])
			return &type->list[at];
		depth = type->list[at].depth + 1;
		path += len + 1;
		at++;
	}
	return NULL;
}

/* -- values ----------------------------------------------------------------------------------- */

/* Reads LEN_BYTES as a little-endian number. LEN_BYTES can be 9 for a bit-field; *RET_MORE is the
 * last byte then. */
static uint64_t little_endian(const uint8_t *bytes, uint64_t len_bytes, uint8_t *ret_more)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < len_bytes && i < 8; i++)
		n |= (uint64_t)bytes[i] << 8 * i;
	*ret_more = len_bytes > 8 ? bytes[8] : 0;
	return n;
}

int hvt_member_number(const struct hvt_member *member, size_t index, const void *object,
		      uint64_t *ret)
{
	uint64_t n, bits, len;
	uint8_t more;

	if (!member || !object || !ret || !is_number(member) || index >= member->nr_elements)
		return 0;
	len = member->bits ? bytes_of(member) : member->element_bytes;
	n = little_endian((const uint8_t *)object + member->offset + index * len, len, &more);
	n >>= member->first_bit;
	if (more && member->first_bit)
		n |= (uint64_t)more << (64 - member->first_bit);
	bits = member->bits ? member->bits : len * 8;
	if (bits < 64) {
		uint64_t sign = member->is_signed ? UINT64_C(1) << (bits - 1) : 0;

		n &= (UINT64_C(1) << bits) - 1;
		n = (n ^ sign) - sign;
	}
	*ret = n;
	return 1;
}
