/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds BTF for tests. The state is static: build one BTF at a time. */
#pragma once

#include <string.h>

#include "base/text.h"
#include "kernel/types/btf.h"

enum {
	INT = 1,
	PTR,
	ARRAY,
	STRUCT,
	UNION,
	ENUM,
	FWD,
	TYPEDEF,
	VOLATILE,
	CONST,
	RESTRICT,
	FUNC,
	FUNC_PROTO,
	ENUM64 = 19
};

static struct hv_text types, strings;
static uint32_t nr_types;
static uint32_t strings_start; /* for a module: length of the kernel's strings */

static inline void u32(uint32_t v)
{
	hv_text_add_bytes(&types, &v, sizeof(v));
}

static inline uint32_t str(const char *s)
{
	uint32_t off = strings_start + (uint32_t)strings.len_bytes;

	hv_text_add_bytes(&strings, s, strlen(s) + 1);
	return off;
}

static inline uint32_t type(unsigned kind, const char *name, unsigned vlen, unsigned kflag,
			    uint32_t size_or_type)
{
	u32(*name ? str(name) : 0);
	u32(kflag << 31 | kind << 24 | vlen);
	u32(size_or_type);
	return ++nr_types;
}

/* The members of a type directly follow it. Create the types that they refer to first. */
static inline void member(const char *name, uint32_t type_id, uint32_t bits)
{
	u32(*name ? str(name) : 0);
	u32(type_id);
	u32(bits);
}

static inline uint32_t array(uint32_t elem, uint32_t nr)
{
	uint32_t id = type(ARRAY, "", 0, 0, 0);

	u32(elem);
	u32(elem);
	u32(nr);
	return id;
}

static inline uint32_t integer(const char *name, uint32_t size)
{
	uint32_t id = type(INT, name, 0, 0, size);

	u32(size * 8);
	return id;
}

static inline void enumerator(const char *name, uint32_t value)
{
	type(ENUM, "", 1, 0, 4);
	u32(str(name));
	u32(value);
}

static inline void begin(void)
{
	hv_text_deinit(&types);
	hv_text_deinit(&strings);
	nr_types = strings_start = 0;
	str("");
}

/* The following calls build the BTF of a module. BASE is its kernel's BTF. */
static inline void begin_module(const struct hv_btf *base)
{
	begin();
	nr_types = (uint32_t)hv_btf_nr_types(base);
	strings_start = (uint32_t)hv_btf_strings_bytes(base);
}

static inline struct hv_text assemble(void)
{
	struct hv_text file = {0};
	uint32_t header[6] = {0x0001eb9f,
			      24,
			      0,
			      (uint32_t)types.len_bytes,
			      (uint32_t)types.len_bytes,
			      (uint32_t)strings.len_bytes};

	hv_text_add_bytes(&file, header, sizeof(header));
	if (types.len_bytes)
		hv_text_add_bytes(&file, types.data, types.len_bytes);
	hv_text_add_bytes(&file, strings.data, strings.len_bytes);
	return file;
}
