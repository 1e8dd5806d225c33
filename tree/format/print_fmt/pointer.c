/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/pointer.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/guard.h"

/* -- names of errors (%pe) --------------------------------------------------------------------- */

/* Errors that the kernel never returns to user space (include/linux/errno.h). */
static const struct {
	int number;
	const char *name;
} internal[] = {
	{512, "ERESTARTSYS"},
	{513, "ERESTARTNOINTR"},
	{514, "ERESTARTNOHAND"},
	{515, "ENOIOCTLCMD"},
	{516, "ERESTART_RESTARTBLOCK"},
	{517, "EPROBE_DEFER"},
	{518, "EOPENSTALE"},
	{519, "ENOPARAM"},
	{521, "EBADHANDLE"},
	{522, "ENOTSYNC"},
	{523, "EBADCOOKIE"},
	{524, "ENOTSUPP"},
	{525, "ETOOSMALL"},
	{526, "ESERVERFAULT"},
	{527, "EBADTYPE"},
	{528, "EJUKEBOX"},
	{529, "EIOCBQUEUED"},
	{530, "ERECALLCONFLICT"},
};

const char *hv_print_errname(int number)
{
	for (unsigned i = 0; i < HV_ARRAY_LEN(internal); i++)
		if (internal[i].number == number)
			return internal[i].name;
	return strerrorname_np(number);
}

/* -- hashed pointers (%p) ---------------------------------------------------------------------- */

static uint64_t rotate(uint64_t x, unsigned nr)
{
	return x << nr | x >> (64 - nr);
}

static void half_round(uint64_t *a, uint64_t *b, unsigned nr)
{
	*a += *b;
	*b = rotate(*b, nr) ^ *a;
}

static void rounds(uint64_t v[4], unsigned nr)
{
	while (nr--) {
		half_round(&v[0], &v[1], 13);
		v[0] = rotate(v[0], 32);
		half_round(&v[2], &v[3], 16);
		half_round(&v[0], &v[3], 21);
		half_round(&v[2], &v[1], 17);
		v[2] = rotate(v[2], 32);
	}
}

static void absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
}

uint64_t hv_print_hash(uint64_t pointer, const uint64_t *key)
{
	/* "somepseudorandomlygeneratedbytes" */
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575,
		key[1] ^ 0x646f72616e646f6d,
		key[0] ^ 0x6c7967656e657261,
		key[1] ^ 0x7465646279746573,
	};

	absorb(v, pointer);
	absorb(v, (uint64_t)sizeof(pointer) << 56);
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* -- IP addresses (%pI, %pi) ------------------------------------------------------------------- */

#define FAMILY_INET  2
#define FAMILY_INET6 10
#define INET_BYTES   4
#define INET6_BYTES  16
#define INET6_WORDS  8
/* struct sockaddr_in, sockaddr_in6: family, port, then (IPv6) flow, address, scope. */
#define PORT_OFFSET  2
#define ADDR_OFFSET  4
#define FLOW_OFFSET  4
#define ADDR6_OFFSET 8
#define SCOPE_OFFSET 24
#define FLOW_MASK    0x0fffffffu
#define TEXT_MAX     96

static uint16_t be16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static uint32_t be32(const uint8_t *bytes)
{
	return (uint32_t)be16(bytes) << 16 | be16(bytes + 2);
}

/* ORDER: 'h' and 'l' print the last byte first. */
static void inet(struct hv_print_out *out, const uint8_t *bytes, char letter, char order)
{
	bool is_reversed = order == 'h' || order == 'l';

	for (unsigned i = 0; i < INET_BYTES; i++) {
		uint8_t byte = bytes[is_reversed ? INET_BYTES - 1 - i : i];

		if (i)
			hv_print_char(out, '.');
		if (letter == 'i')
			hv_print_repeat(out, '0', byte < 10 ? 2 : byte < 100);
		hv_print_decimal(out, byte);
	}
}

static void inet6_full(struct hv_print_out *out, const uint8_t *bytes, char letter)
{
	for (unsigned i = 0; i < INET6_BYTES; i++) {
		if (i && i % 2 == 0 && letter == 'I')
			hv_print_char(out, ':');
		hv_print_hex_byte(out, bytes[i]);
	}
}

static bool is_zero(const uint8_t *bytes, unsigned word)
{
	return !bytes[2 * word] && !bytes[2 * word + 1];
}

/* Addresses that end with an IPv4 address: ::ffff:1.2.3.4, and ISATAP's interface identifiers (RFC
 * 5214). */
static bool ends_with_inet(const uint8_t *bytes)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(bytes, mapped, sizeof(mapped)) == 0 ||
	       ((be32(bytes + 8) | 0x02000000) == 0x02005efe);
}

/* Finds the longest run of at least two zero words, the first one if several are equally long.
 * Returns its length, or 0. */
static unsigned longest_zeros(const uint8_t *bytes, unsigned nr_words, unsigned *ret_start)
{
	unsigned longest = 1;

	for (unsigned start = 0; start < nr_words; start++) {
		unsigned len = 0;

		while (start + len < nr_words && is_zero(bytes, start + len))
			len++;
		if (len <= longest)
			continue;
		longest = len;
		*ret_start = start;
	}
	return longest > 1 ? longest : 0;
}

static void put_word(struct hv_print_out *out, uint16_t word)
{
	const struct hv_print_spec hex = {
		.conv = 'x', .number_bytes = 2, .width = -1, .precision = -1};

	hv_print_number(out, &hex, word);
}

static void inet6_short(struct hv_print_out *out, const uint8_t *bytes)
{
	bool has_inet = ends_with_inet(bytes);
	unsigned nr_words = has_inet ? INET6_WORDS - 2 : INET6_WORDS;
	unsigned zeros_start = 0;
	unsigned nr_zeros = longest_zeros(bytes, nr_words, &zeros_start);
	bool needs_colon = false;

	for (unsigned word = 0; word < nr_words; word++) {
		if (nr_zeros && word == zeros_start) {
			hv_print_text(out, "::");
			needs_colon = false;
			word += nr_zeros - 1;
			continue;
		}
		if (needs_colon)
			hv_print_char(out, ':');
		put_word(out, be16(bytes + 2 * word));
		needs_colon = true;
	}
	if (!has_inet)
		return;
	if (needs_colon)
		hv_print_char(out, ':');
	inet(out, bytes + INET6_BYTES - INET_BYTES, 'I', 'b');
}

/* Prints a number after an address, with the flags and the width of SPEC, like the kernel. */
static void put_number(struct hv_print_out *out, const struct hv_print_spec *spec, char before,
		       uint32_t number)
{
	struct hv_print_spec decimal = *spec;

	decimal.conv = 'd';
	decimal.number_bytes = 4;
	decimal.flags &= (uint8_t)~HV_PRINT_SIGNED;
	hv_print_char(out, before);
	hv_print_number(out, &decimal, number);
}

/* LETTERS: the letters after "IS" in the conversion. */
static bool sockaddr_inet(struct hv_print_out *out, const struct hv_print_spec *spec,
			  const char *letters, const uint8_t *bytes, size_t len_bytes)
{
	const char *order = strpbrk(letters, "hlnb");

	if (len_bytes < ADDR_OFFSET + INET_BYTES)
		return false;
	inet(out, bytes + ADDR_OFFSET, spec->ext[0], order ? *order : 'b');
	if (strchr(letters, 'p'))
		put_number(out, spec, ':', be16(bytes + PORT_OFFSET));
	return true;
}

static bool sockaddr_inet6(struct hv_print_out *out, const struct hv_print_spec *spec,
			   const char *letters, const uint8_t *bytes, size_t len_bytes)
{
	bool has_more = strpbrk(letters, "psf") != NULL;
	uint32_t scope;

	if (len_bytes < SCOPE_OFFSET + sizeof(scope))
		return false;
	if (has_more)
		hv_print_char(out, '[');
	if (spec->ext[0] == 'I' && strchr(letters, 'c'))
		inet6_short(out, bytes + ADDR6_OFFSET);
	else
		inet6_full(out, bytes + ADDR6_OFFSET, spec->ext[0]);
	if (has_more)
		hv_print_char(out, ']');
	if (strchr(letters, 'p'))
		put_number(out, spec, ':', be16(bytes + PORT_OFFSET));
	if (strchr(letters, 'f'))
		put_number(out, spec, '/', be32(bytes + FLOW_OFFSET) & FLOW_MASK);
	memcpy(&scope, bytes + SCOPE_OFFSET, sizeof(scope));
	if (strchr(letters, 's'))
		put_number(out, spec, '%', scope);
	return true;
}

static bool sockaddr(struct hv_print_out *out, const struct hv_print_spec *spec,
		     const uint8_t *bytes, size_t len_bytes)
{
	uint16_t family;

	if (len_bytes < sizeof(family))
		return false;
	memcpy(&family, bytes, sizeof(family));
	if (family == FAMILY_INET)
		return sockaddr_inet(out, spec, spec->ext + 2, bytes, len_bytes);
	if (family == FAMILY_INET6)
		return sockaddr_inet6(out, spec, spec->ext + 2, bytes, len_bytes);
	hv_print_text(out, "(einval)");
	return true;
}

static bool put_address(struct hv_print_out *out, const struct hv_print_spec *spec,
			const uint8_t *bytes, size_t len_bytes)
{
	switch (spec->ext[1]) {
	case '4':
		if (len_bytes < INET_BYTES)
			return false;
		inet(out, bytes, spec->ext[0], spec->ext[2]);
		return true;
	case '6':
		if (len_bytes < INET6_BYTES)
			return false;
		if (spec->ext[0] == 'I' && spec->ext[2] == 'c')
			inet6_short(out, bytes);
		else
			inet6_full(out, bytes, spec->ext[0]);
		return true;
	case 'S':
		return sockaddr(out, spec, bytes, len_bytes);
	}
	hv_print_text(out, spec->ext[0] == 'i' ? "(%pi?)" : "(%pI?)");
	return true;
}

/* SPEC's letters begin with 'I' or 'i'. Returns false if BYTES is too short. Width and precision
 * apply to the complete text, so it is built in a buffer first. */
static bool print_inet(struct hv_print_out *out, const struct hv_print_spec *spec,
		       const uint8_t *bytes, size_t len_bytes)
{
	char text[TEXT_MAX];
	struct hv_print_out whole = {.start = text, .at = text, .end = text + sizeof(text)};

	if (!put_address(&whole, spec, bytes, len_bytes))
		return false;
	hv_print_string(out, spec, text, (size_t)(whole.at - text));
	return true;
}

/* -- all letters after %p ---------------------------------------------------------------------- */

#define POINTER_DIGITS 16
#define HEX_BYTES_MAX  64 /* limit of %*ph */
#define PAGE_BYTES     4096
#define MAC_BYTES      6
#define UUID_BYTES     16
#define FOURCC_BYTES   4
#define ERRNO_MAX      4095
#define ERROR_TEXT_MAX 16 /* length limit of an error text without a precision */

static bool is_error(uint64_t addr)
{
	return addr >= (uint64_t)-ERRNO_MAX;
}

const char *hv_print_bad_pointer(struct hv_gva addr)
{
	if (!addr.v)
		return "(null)";
	if (addr.v < PAGE_BYTES || is_error(addr.v))
		return "(efault)";
	return NULL;
}

void hv_print_error(struct hv_print_out *out, const struct hv_print_spec *spec, const char *text)
{
	struct hv_print_spec cut = *spec;

	if (cut.precision < 0)
		cut.precision = ERROR_TEXT_MAX;
	hv_print_string(out, &cut, text, strlen(text));
}

static void plain(struct hv_print_out *out, const struct hv_print_spec *spec, uint64_t addr)
{
	struct hv_print_spec hex = *spec;

	hex.conv = 'x';
	hex.number_bytes = 8;
	if (hex.width < 0) {
		hex.width = POINTER_DIGITS;
		hex.flags |= HV_PRINT_ZERO;
	}
	hv_print_number(out, &hex, addr);
}

static void hashed(struct hv_print_out *out, const struct hv_print_spec *spec, uint64_t addr,
		   const struct hv_print_env *env)
{
	struct hv_print_spec wide = *spec;

	if (!addr || is_error(addr) || env->pointers == HV_PRINT_POINTERS_PLAIN) {
		plain(out, spec, addr);
		return;
	}
	if (env->pointer_key) {
		plain(out, spec, (uint32_t)hv_print_hash(addr, env->pointer_key));
		return;
	}
	wide.width = POINTER_DIGITS;
	hv_print_error(out, &wide, "(____ptrval____)");
}

static bool find_symbol(const struct hv_print_resolver *resolver, struct hv_gva addr,
			struct hv_print_symbol *ret)
{
	return resolver->symbol && resolver->symbol(resolver->of, addr, ret);
}

static void add_module(struct hv_print_out *out, const struct hv_print_symbol *symbol)
{
	if (!symbol->module)
		return;
	hv_print_text(out, " [");
	hv_print_text(out, symbol->module);
	hv_print_char(out, ']');
}

static void with_offset(struct hv_print_out *out, const struct hv_print_symbol *symbol,
			uint64_t offset)
{
	hv_print_text(out, symbol->name);
	hv_print_char(out, '+');
	hv_print_hex(out, offset);
	hv_print_char(out, '/');
	hv_print_hex(out, symbol->size_bytes);
	add_module(out, symbol);
}

/* LETTER: 'S', 's', or 'B' for a return address, which may be after the end of the calling
 * function. */
static void print_symbol(struct hv_print_out *out, char letter, struct hv_gva addr,
			 const struct hv_print_resolver *resolver)
{
	unsigned behind = letter == 'B';
	struct hv_print_symbol symbol;

	if (!find_symbol(resolver, hv_gva(addr.v - behind), &symbol)) {
		hv_print_hex(out, addr.v);
	} else if (letter == 's') {
		hv_print_text(out, symbol.name);
		add_module(out, &symbol);
	} else {
		with_offset(out, &symbol, symbol.offset + behind);
	}
}

/* Older kernels, such as 4.19, print names of functions with %pf, and offsets in them with %pF. */
static char symbol_letter(const struct hv_print_spec *spec)
{
	if (spec->ext[0] == 'f' && spec->ext[1] != 'w') /* %pfw is another conversion */
		return 's';
	return spec->ext[0] == 'F' ? 'S' : spec->ext[0];
}

/* Width and precision apply to the complete text, so it is built in a buffer first. */
static bool symbol(struct hv_print_out *out, const struct hv_print_spec *spec, struct hv_gva addr,
		   const struct hv_print_resolver *resolver)
{
	char text[1024];
	struct hv_print_out whole = {.start = text, .at = text, .end = text + sizeof(text)};
	const char letter = symbol_letter(spec);

	if (letter != 's' && strchr(spec->ext, 'b'))
		return false; /* build ids are unknown */
	print_symbol(&whole, letter, addr, resolver);
	hv_print_string(out, spec, text, (size_t)(whole.at - text));
	return true;
}

/* Conversions that print the bytes at a pointer. */

static bool hex_bytes(struct hv_print_out *out, const struct hv_print_spec *spec,
		      const uint8_t *bytes, size_t len_bytes)
{
	static const char letters[] = "CDN";
	static const char separators[] = ":-";
	const char *found = spec->ext[1] ? strchr(letters, spec->ext[1]) : NULL;
	char separator = found ? separators[found - letters] : ' ';
	int nr = spec->width < 0 ? 1 : spec->width;

	if (nr > HEX_BYTES_MAX)
		nr = HEX_BYTES_MAX;
	if ((size_t)nr > len_bytes)
		return false;
	for (int i = 0; i < nr; i++) {
		if (i && separator)
			hv_print_char(out, separator);
		hv_print_hex_byte(out, bytes[i]);
	}
	return true;
}

static bool bit(const uint8_t *bytes, unsigned nr)
{
	return bytes[nr / 8] >> (nr % 8) & 1;
}

void hv_print_bitmap(struct hv_print_out *out, const uint8_t *bytes, unsigned nr_bits)
{
	unsigned nr_words = (nr_bits + 31) / 32;

	for (unsigned left = nr_words; left-- && !out->full;) {
		unsigned nr = nr_bits - 32 * left < 32 ? nr_bits - 32 * left : 32;
		struct hv_print_spec spec = {
			.conv = 'x',
			.number_bytes = 4,
			.flags = HV_PRINT_ZERO,
			.width = (int32_t)(nr + 3) / 4,
			.precision = -1,
		};
		uint32_t word = 0;

		for (unsigned i = 0; i < nr; i++)
			word |= (uint32_t)bit(bytes, 32 * left + i) << i;
		if (left != nr_words - 1)
			hv_print_char(out, ',');
		hv_print_number(out, &spec, word);
	}
}

void hv_print_bitmap_list(struct hv_print_out *out, const uint8_t *bytes, unsigned nr_bits)
{
	bool is_first = true;

	for (unsigned first = 0, end; first < nr_bits && !out->full; first = end + 1) {
		end = first;
		while (end < nr_bits && bit(bytes, end))
			end++;
		if (end == first)
			continue;
		if (!is_first)
			hv_print_char(out, ',');
		is_first = false;
		hv_print_decimal(out, first);
		if (end == first + 1)
			continue;
		hv_print_char(out, '-');
		hv_print_decimal(out, end - 1);
	}
}

static bool bitmap(struct hv_print_out *out, const struct hv_print_spec *spec, const uint8_t *bytes,
		   size_t len_bytes)
{
	unsigned nr_bits = spec->width > 0 ? (unsigned)spec->width : 0;

	if ((nr_bits + 7) / 8 > len_bytes)
		return false;
	if (spec->ext[1] == 'l')
		hv_print_bitmap_list(out, bytes, nr_bits);
	else
		hv_print_bitmap(out, bytes, nr_bits);
	return true;
}

static bool mac_address(struct hv_print_out *out, const struct hv_print_spec *spec,
			const uint8_t *bytes, size_t len_bytes)
{
	char text[3 * MAC_BYTES];
	struct hv_print_out whole = {.start = text, .at = text, .end = text + sizeof(text)};
	bool is_reversed = spec->ext[1] == 'R';

	if (len_bytes < MAC_BYTES)
		return false;
	for (unsigned i = 0; i < MAC_BYTES; i++) {
		if (i && spec->ext[0] == 'M')
			hv_print_char(&whole, spec->ext[1] == 'F' ? '-' : ':');
		hv_print_hex_byte(&whole, bytes[is_reversed ? MAC_BYTES - 1 - i : i]);
	}
	hv_print_string(out, spec, text, (size_t)(whole.at - text));
	return true;
}

static bool uuid(struct hv_print_out *out, const struct hv_print_spec *spec, const uint8_t *bytes,
		 size_t len_bytes)
{
	static const uint8_t big[UUID_BYTES] = {0, 1, 2,  3,  4,  5,  6,  7,
						8, 9, 10, 11, 12, 13, 14, 15};
	static const uint8_t little[UUID_BYTES] = {3, 2, 1,  0,	 5,  4,	 7,  6,
						   8, 9, 10, 11, 12, 13, 14, 15};
	const uint8_t *order = tolower(spec->ext[1]) == 'l' ? little : big;
	bool is_upper = spec->ext[1] == 'L' || spec->ext[1] == 'B';
	char text[2 * UUID_BYTES + 4];
	struct hv_print_out whole = {.start = text, .at = text, .end = text + sizeof(text)};

	if (len_bytes < UUID_BYTES)
		return false;
	for (unsigned i = 0; i < UUID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			hv_print_char(&whole, '-');
		hv_print_hex_byte(&whole, bytes[order[i]]);
	}
	for (char *c = text; is_upper && c < whole.at; c++)
		*c = (char)toupper(*c);
	hv_print_string(out, spec, text, (size_t)(whole.at - text));
	return true;
}

/* Prints a number as 0x and all its digits, regardless of the conversion's width. */
static void full_hex(struct hv_print_out *out, uint64_t number, unsigned size_bytes)
{
	const struct hv_print_spec spec = {
		.conv = 'x',
		.number_bytes = (uint8_t)size_bytes,
		.flags = HV_PRINT_ZERO | HV_PRINT_SPECIAL,
		.width = (int32_t)(2 + 2 * size_bytes),
		.precision = -1,
	};

	hv_print_number(out, &spec, number);
}

/* "AB12 little-endian (0x32314241)" */
static bool fourcc(struct hv_print_out *out, const struct hv_print_spec *spec, const uint8_t *bytes,
		   size_t len_bytes)
{
	char text[64];
	struct hv_print_out whole = {.start = text, .at = text, .end = text + sizeof(text)};
	uint32_t code;

	if (strcmp(spec->ext, "4cc") != 0 || len_bytes < FOURCC_BYTES)
		return false;
	memcpy(&code, bytes, sizeof(code));
	for (unsigned i = 0; i < FOURCC_BYTES; i++) {
		uint8_t letter = (uint8_t)((code & ~(1u << 31)) >> (8 * i));

		hv_print_char(&whole, letter >= 0x20 && letter < 0x7f ? (char)letter : '.');
	}
	hv_print_text(&whole, code >> 31 ? " big-endian (" : " little-endian (");
	full_hex(&whole, code, sizeof(code));
	hv_print_char(&whole, ')');
	hv_print_string(out, spec, text, (size_t)(whole.at - text));
	return true;
}

/* %pa (phys_addr_t, dma_addr_t), %pNF (netdev_features_t): a number of 8 bytes. */
static bool pointed_number(struct hv_print_out *out, const uint8_t *bytes, size_t len_bytes)
{
	uint64_t number;

	if (len_bytes < sizeof(number))
		return false;
	memcpy(&number, bytes, sizeof(number));
	full_hex(out, number, sizeof(number));
	return true;
}

static bool pointed(struct hv_print_out *out, const struct hv_print_spec *spec,
		    const uint8_t *bytes, size_t len_bytes)
{
	switch (spec->ext[0]) {
	case 'h':
		return hex_bytes(out, spec, bytes, len_bytes);
	case 'b':
		return bitmap(out, spec, bytes, len_bytes);
	case 'M':
	case 'm':
		return mac_address(out, spec, bytes, len_bytes);
	case 'I':
	case 'i':
		return print_inet(out, spec, bytes, len_bytes);
	case 'U':
		return uuid(out, spec, bytes, len_bytes);
	case '4':
		return fourcc(out, spec, bytes, len_bytes);
	case 'a':
		return pointed_number(out, bytes, len_bytes);
	case 'N':
		return spec->ext[1] == 'F' && pointed_number(out, bytes, len_bytes);
	}
	return false;
}

static void error_name(struct hv_print_out *out, const struct hv_print_spec *spec, uint64_t addr)
{
	const char *name = hv_print_errname((int)-addr);
	struct hv_print_spec number = *spec;
	char text[32];
	struct hv_print_out whole = {.start = text, .at = text, .end = text + sizeof(text)};

	if (name) {
		hv_print_char(&whole, '-');
		hv_print_text(&whole, name);
		hv_print_string(out, spec, text, (size_t)(whole.at - text));
		return;
	}
	number.conv = 'd';
	number.number_bytes = 8;
	number.flags |= HV_PRINT_SIGNED;
	hv_print_number(out, &number, addr);
}

/* Conversions that print the pointer value. */
static bool shown_itself(struct hv_print_out *out, const struct hv_print_spec *spec,
			 struct hv_gva addr, const struct hv_print_env *env)
{
	switch (symbol_letter(spec)) {
	case 'S':
	case 's':
	case 'B':
		return symbol(out, spec, addr, env->resolver);
	case 'x':
		plain(out, spec, addr.v);
		return true;
	case 'e':
		if (!is_error(addr.v))
			break;
		error_name(out, spec, addr.v);
		return true;
	}
	hashed(out, spec, addr.v, env);
	return true;
}

bool hv_print_pointer(struct hv_print_out *out, const struct hv_print_spec *spec,
		      struct hv_print_pointer ptr, const struct hv_print_env *env)
{
	const char *bad;

	if (!spec->ext[0] || !strchr("hbMmIiU4aNRrEVdDtCgGOfAuk", symbol_letter(spec)))
		return !ptr.bytes && shown_itself(out, spec, ptr.addr, env);
	if (spec->ext[0] == 'h' && spec->width == 0)
		return true;
	if (ptr.bytes)
		return pointed(out, spec, ptr.bytes, ptr.len_bytes);
	bad = hv_print_bad_pointer(ptr.addr);
	if (bad)
		hv_print_error(out, spec, bad);
	return bad != NULL;
}
