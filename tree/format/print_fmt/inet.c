/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/inet.h"

#include <string.h>

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

/* Width and precision apply to the complete text, so it is built in a buffer first. */
bool hv_print_inet(struct hv_print_out *out, const struct hv_print_spec *spec, const uint8_t *bytes,
		   size_t len_bytes)
{
	char text[TEXT_MAX];
	struct hv_print_out whole = {.start = text, .at = text, .end = text + sizeof(text)};

	if (!put_address(&whole, spec, bytes, len_bytes))
		return false;
	hv_print_string(out, spec, text, (size_t)(whole.at - text));
	return true;
}
