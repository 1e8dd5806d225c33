/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/pointer.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "tree/format/print_fmt/errname.h"
#include "tree/format/print_fmt/siphash.h"
#include "tree/format/print_fmt/inet.h"

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

/* Width and precision apply to the complete text, so it is built in a buffer first. */
static bool symbol(struct hv_print_out *out, const struct hv_print_spec *spec, struct hv_gva addr,
		   const struct hv_print_resolver *resolver)
{
	char text[1024];
	struct hv_print_out whole = {.start = text, .at = text, .end = text + sizeof(text)};

	if (spec->ext[0] != 's' && strchr(spec->ext, 'b'))
		return false; /* build ids are unknown */
	print_symbol(&whole, spec->ext[0], addr, resolver);
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
		return hv_print_inet(out, spec, bytes, len_bytes);
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
	switch (spec->ext[0]) {
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

	if (!spec->ext[0] || !strchr("hbMmIiU4aNRrEVdDtCgGOfAuk", spec->ext[0]))
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
