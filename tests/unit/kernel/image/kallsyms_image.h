/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes kallsyms, as scripts/kallsyms.c of any kernel version does, into a small image that also
 * has text, a banner and random bytes. For the unit test and the fuzzer. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "kernel/image/kallsyms.h"

enum kimg_reading { KIMG_ABSOLUTE, KIMG_BASE_RELATIVE, KIMG_ABSOLUTE_PERCPU, KIMG_PLACE_RELATIVE };

struct kimg_layout {
	const char *what;
	enum kimg_reading reading;
	bool behind;	       /* addresses after the token index */
	bool seqs_between;     /* seqs_of_names before the token table */
	unsigned marker_width; /* length of a marker, and of num_syms */
	bool long_names;       /* with two-byte lengths */
	size_t alignment;      /* of the tables; 0: 8 */
};

static const struct kimg_layout kimg_layouts[] = {
	{"absolute, before 4.6", KIMG_ABSOLUTE, false, false, 8, false},
	{"base-relative, 4.6", KIMG_BASE_RELATIVE, false, false, 8, false},
	{"absolute-percpu, 4.6", KIMG_ABSOLUTE_PERCPU, false, false, 8, false},
	{"absolute, 4.20", KIMG_ABSOLUTE, false, false, 4, false},
	{"absolute-percpu, 4.20", KIMG_ABSOLUTE_PERCPU, false, false, 4, false},
	{"base-relative, 6.1", KIMG_BASE_RELATIVE, false, false, 4, true},
	{"absolute-percpu, 6.1", KIMG_ABSOLUTE_PERCPU, false, false, 4, true},
	{"absolute-percpu, 6.2", KIMG_ABSOLUTE_PERCPU, false, true, 4, true},
	{"absolute, 6.2", KIMG_ABSOLUTE, false, true, 4, true},
	{"absolute, 6.4", KIMG_ABSOLUTE, true, false, 4, true},
	{"absolute-percpu, 6.4", KIMG_ABSOLUTE_PERCPU, true, false, 4, true},
	{"base-relative, 6.15", KIMG_BASE_RELATIVE, true, false, 4, true},
	{"place-relative, 7.0", KIMG_PLACE_RELATIVE, true, false, 4, true, 8},
	{"place-relative, 7.2", KIMG_PLACE_RELATIVE, true, false, 4, true, 4},
};

#define KIMG_BASE	0xffffffff9ac00000ull
#define KIMG_TEXT_BYTES 0x10000
#define KIMG_BANNER_OFF (KIMG_TEXT_BYTES + 0x40)
#define KIMG_TABLES_OFF (KIMG_TEXT_BYTES + 0x1008)
#define KIMG_BYTES	0x60000
#define KIMG_NR_PERCPU	20
#define KIMG_NR		3001
#define KIMG_BANNER	"Linux version 6.1.0-test (a@b) (gcc) #1 SMP\n"

struct kimg {
	const struct kimg_layout *layout;
	uint8_t *bytes;
	size_t end; /* end of the output */
	struct hv_gva addr[KIMG_NR];
	char name[KIMG_NR][320]; /* type first */
	/* offsets of the tables */
	size_t names, markers, addresses, base, num_syms, token_table, token_index;
};

/* Tokens of more than one character, at codes that no name uses. */
static const char *const kimg_tokens[] = {"T__x64_sys_",
					  "init",
					  "__",
					  "sys_",
					  "ttest_",
					  "dev_",
					  "_of_",
					  "module",
					  "t:14_character",
					  "t:15_characters",
					  "t:16_characters_",
					  "t:more_than_16_characters"};
#define KIMG_LONG_TOKEN 8 /* code of the first one */

static inline const char *kimg_token(unsigned code, char buf[2])
{
	if (code >= 0x80 && code - 0x80 < HV_ARRAY_LEN(kimg_tokens))
		return kimg_tokens[code - 0x80];
	buf[0] = code > 0x20 && code < 0x7f ? (char)code : '\0';
	if (code >= 0xa0)
		return "ab";
	buf[1] = '\0';
	return buf;
}

static inline void kimg_put(struct kimg *k, const void *bytes, size_t len)
{
	if (k->end + len > KIMG_BYTES)
		abort();
	memcpy(k->bytes + k->end, bytes, len);
	k->end += len;
}

static inline void kimg_put_int(struct kimg *k, uint64_t v, unsigned width)
{
	kimg_put(k, &v, width);
}

static inline size_t kimg_align(struct kimg *k)
{
	size_t alignment = k->layout->alignment ? k->layout->alignment : 8;

	while (k->end % alignment)
		kimg_put_int(k, 0, 1);
	return k->end;
}

static inline void kimg_symbols(struct kimg *k)
{
	bool percpu_low =
		k->layout->reading == KIMG_ABSOLUTE_PERCPU || k->layout->reading == KIMG_ABSOLUTE;

	for (size_t i = 0; i < KIMG_NR; i++) {
		k->addr[i] = hv_gva(KIMG_BASE + (i - i % 3) * 16); /* some are aliases */
		snprintf(k->name[i], sizeof(k->name[i]), "%s%zu",
			 i % 5 ? "ttest_dev_of_module" : "T__x64_sys_init_", i);
		if (percpu_low && i < KIMG_NR_PERCPU) {
			k->addr[i] = hv_gva(i * 0x1000);
			k->name[i][0] = 'A';
		}
	}
	k->addr[KIMG_NR_PERCPU] = hv_gva(KIMG_BASE);
	k->addr[KIMG_NR_PERCPU + 1] = hv_gva(KIMG_BASE);
	if (!percpu_low)
		for (size_t i = 0; i < KIMG_NR_PERCPU; i++)
			k->addr[i] = hv_gva(KIMG_BASE);
	strcpy(k->name[KIMG_NR_PERCPU], "T_text");
	strcpy(k->name[KIMG_NR_PERCPU + 1], "T_stext");
	k->addr[KIMG_NR - 1] = hv_gva(KIMG_BASE + KIMG_BANNER_OFF);
	strcpy(k->name[KIMG_NR - 1], "Dlinux_banner");
	for (size_t t = KIMG_LONG_TOKEN; t < HV_ARRAY_LEN(kimg_tokens); t++)
		snprintf(k->name[800 + t], sizeof(k->name[0]), "%s_0%s", kimg_tokens[t],
			 kimg_tokens[t]);
	if (k->layout->long_names) {
		memset(k->name[700], 'z', 300);
		k->name[700][0] = 't';
		k->name[700][300] = '\0';
	}
}

static inline void kimg_put_name(struct kimg *k, const char *name)
{
	uint8_t codes[512];
	size_t nr = 0;

	while (*name) {
		unsigned code = (uint8_t)*name;
		size_t len = 1;

		for (unsigned t = 0; t < HV_ARRAY_LEN(kimg_tokens); t++)
			if (!strncmp(name, kimg_tokens[t], strlen(kimg_tokens[t])) && len == 1) {
				code = 0x80 + t;
				len = strlen(kimg_tokens[t]);
			}
		codes[nr++] = (uint8_t)code;
		name += len;
	}
	if (nr > 0x7f)
		kimg_put_int(k, (nr & 0x7f) | 0x80 | nr >> 7 << 8, 2);
	else
		kimg_put_int(k, nr, 1);
	kimg_put(k, codes, nr);
}

static inline void kimg_put_addresses(struct kimg *k)
{
	k->addresses = kimg_align(k);
	for (size_t i = 0; i < KIMG_NR; i++) {
		uint64_t a = k->addr[i].v;

		if (k->layout->reading == KIMG_ABSOLUTE)
			kimg_put_int(k, a, 8);
		else if (k->layout->reading == KIMG_BASE_RELATIVE)
			kimg_put_int(k, a - KIMG_BASE, 4);
		else if (k->layout->reading == KIMG_PLACE_RELATIVE)
			kimg_put_int(k, a - (KIMG_BASE + k->end), 4);
		else
			kimg_put_int(k, i < KIMG_NR_PERCPU ? a : KIMG_BASE - 1 - a, 4);
	}
	k->base = kimg_align(k);
	if (k->layout->reading == KIMG_BASE_RELATIVE || k->layout->reading == KIMG_ABSOLUTE_PERCPU)
		kimg_put_int(k, KIMG_BASE, 8);
}

static inline void kimg_put_names(struct kimg *k)
{
	uint64_t markers[KIMG_NR / 256 + 1];

	k->num_syms = kimg_align(k);
	kimg_put_int(k, KIMG_NR, k->layout->marker_width);
	k->names = kimg_align(k);
	for (size_t i = 0; i < KIMG_NR; i++) {
		if (i % 256 == 0)
			markers[i / 256] = k->end - k->names;
		kimg_put_name(k, k->name[i]);
	}
	k->markers = kimg_align(k);
	for (size_t i = 0; i < HV_ARRAY_LEN(markers); i++)
		kimg_put_int(k, markers[i], k->layout->marker_width);
}

static inline void kimg_put_seqs(struct kimg *k)
{
	kimg_align(k);
	for (size_t i = 0; i < KIMG_NR; i++) {
		uint32_t seq = (uint32_t)(i * 7919 % KIMG_NR);

		kimg_put_int(k, seq >> 16 | (seq & 0xff00) | (seq & 0xff) << 16, 3);
	}
}

static inline void kimg_put_tokens(struct kimg *k)
{
	uint16_t index[256];
	char buf[2];

	k->token_table = kimg_align(k);
	for (unsigned i = 0; i < 256; i++) {
		const char *token = kimg_token(i, buf);

		index[i] = (uint16_t)(k->end - k->token_table);
		kimg_put(k, token, strlen(token) + 1);
	}
	k->token_index = kimg_align(k);
	kimg_put(k, index, sizeof(index));
}

static inline void kimg_init(struct kimg *k, const struct kimg_layout *layout)
{
	uint32_t noise = 12345;

	*k = (struct kimg){.layout = layout, .bytes = hv_alloc(KIMG_BYTES)};
	for (size_t i = 0; i < KIMG_BYTES; i++) {
		noise = noise * 1103515245 + 12345;
		k->bytes[i] = i % 64 < 24 ? 0 : (uint8_t)(noise >> 20);
	}
	memcpy(k->bytes + KIMG_BANNER_OFF, KIMG_BANNER, sizeof(KIMG_BANNER));
	kimg_symbols(k);
	k->end = KIMG_TABLES_OFF;
	if (!layout->behind)
		kimg_put_addresses(k);
	kimg_put_names(k);
	if (layout->seqs_between)
		kimg_put_seqs(k);
	kimg_put_tokens(k);
	if (layout->behind)
		kimg_put_addresses(k);
	kimg_put_seqs(k);
}

static inline void kimg_deinit(struct kimg *k)
{
	free(k->bytes);
}

static inline struct hv_image kimg_image(const struct kimg *k)
{
	return (struct hv_image){
		.all = {hv_gva(KIMG_BASE), hv_gva(KIMG_BASE + KIMG_BYTES)},
		.text = {hv_gva(KIMG_BASE), hv_gva(KIMG_BASE + KIMG_TEXT_BYTES)},
		.bytes = k->bytes,
		.len_bytes = KIMG_BYTES,
	};
}
