/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/programs/cfi.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/grow.h"
#include "base/guard.h"
#include "kernel/programs/elf_file.h"

/* Limits on the file's data */
#define CIE_MAX		 1024u	    /* bytes */
#define FDE_MAX		 32768u	    /* bytes */
#define SECTION_MAX	 (4u << 20) /* bytes of an .eh_frame that is searched */
#define ENTRIES_MAX	 (1u << 20) /* of a table of .eh_frame_hdr */
#define LISTED_MAX	 32768u	    /* entries of a section */
#define STEPS_MAX	 (1u << 14) /* instructions for an address */
#define REMEMBERED_MAX	 8u	    /* rows */
#define AUGMENTATION_MAX 8u

/* .eh_frame_hdr (Linux Standard Base, 10.6.2) in the only form that linkers write */
#define HDR_VERSION    1
#define HDR_LEN	       12
#define PCREL_SDATA4   0x1b
#define UDATA4	       0x03
#define DATAREL_SDATA4 0x3b
#define HDR_PTR_OFF    4
#define HDR_NR_OFF     8

/* Encodings of pointers */
#define ENC_FORM 0x0f
#define ENC_BASE 0x70
#define ENC_PTR	 0x00
#define ENC_U4	 0x03
#define ENC_U8	 0x04
#define ENC_S4	 0x0b
#define ENC_S8	 0x0c
#define ENC_PC	 0x10
#define ENC_OMIT 0xff

#define LENGTH_BYTES 4
#define LENGTH_64    0xffffffffu /* the length has eight bytes */

/* An entry of the table, or of the section. */
struct place {
	uint64_t start; /* address of code */
	uint64_t off;	/* of its FDE, in the file */
};

struct hv_cfi {
	struct hv_elf elf;
	uint64_t hdr, hdr_off, nr; /* address, offset and number of places of .eh_frame_hdr */
	struct place *places;	   /* owned, sorted; NULL: there is an .eh_frame_hdr */
	size_t nr_places, places_cap;
	uint8_t cie[CIE_MAX], fde[FDE_MAX];
};

/* -- reading ------------------------------------------------------------------------------------ */

/* Bytes of the file from address VADDR on. */
struct reader {
	struct hv_span bytes;
	size_t at;
	uint64_t vaddr;
	bool is_bad;
};

static uint64_t number(struct reader *r, size_t size)
{
	uint64_t value = 0;

	r->is_bad = r->is_bad || !hv_span_copy(r->bytes, r->at, &value, size);
	r->at += size;
	return value;
}

static int64_t signed_number(struct reader *r, size_t size)
{
	unsigned unused_bits = 64 - 8 * (unsigned)size;

	return (int64_t)(number(r, size) << unused_bits) >> unused_bits;
}

static uint64_t uleb(struct reader *r)
{
	uint64_t value = 0, byte;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		byte = number(r, 1);
		value |= shift < 64 ? (byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			return value;
	}
	r->is_bad = true;
	return 0;
}

static int64_t sleb(struct reader *r)
{
	uint64_t value = 0, byte;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		byte = number(r, 1);
		value |= shift < 64 ? (byte & 0x7f) << shift : 0;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift + 7 < 64)
			value |= ~UINT64_C(0) << (shift + 7);
		return (int64_t)value;
	}
	r->is_bad = true;
	return 0;
}

/* Reads a pointer or, if BASE is 0, a length. */
static uint64_t pointer(struct reader *r, uint8_t form, uint8_t base)
{
	uint64_t from = base == ENC_PC ? r->vaddr + r->at : 0;

	if (base && base != ENC_PC)
		r->is_bad = true;
	switch (form) {
	case ENC_PTR:
	case ENC_U8:
	case ENC_S8:
		return from + number(r, 8);
	case ENC_U4:
		return from + number(r, 4);
	case ENC_S4:
		return from + (uint64_t)signed_number(r, 4);
	default:
		r->is_bad = true;
		return 0;
	}
}

/* Reads the block after its length. */
static struct hv_span block(struct reader *r)
{
	uint64_t len = uleb(r);
	struct hv_span ret = {0};

	if (r->is_bad || r->at > r->bytes.len_bytes || len > r->bytes.len_bytes - r->at) {
		r->is_bad = true;
		return ret;
	}
	ret = (struct hv_span){r->bytes.data + r->at, (size_t)len};
	r->at += (size_t)len;
	return ret;
}

/* -- entries ------------------------------------------------------------------------------------ */

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_reg;
	uint8_t encoding; /* of pointers to code */
	bool has_data;	  /* its FDEs have augmentation data */
	bool is_signal;
	struct reader code;
};

struct fde {
	uint64_t start, len;
	struct reader code;
};

/* Copies the entry at OFF of the file to BUF, which has MAX bytes. *RET: after its length. */
static bool read_entry(const struct hv_cfi *c, uint64_t off, uint8_t *buf, size_t max,
		       struct reader *ret)
{
	uint32_t len;
	uint64_t vaddr = hv_elf_address(&c->elf, off);

	if (!vaddr || !hv_elf_read(c->elf.file, off, &len, sizeof(len)) || len == LENGTH_64 ||
	    len > max || len < LENGTH_BYTES ||
	    !hv_elf_read(c->elf.file, off + LENGTH_BYTES, buf, len))
		return false;
	*ret = (struct reader){.bytes = {buf, len}, .vaddr = vaddr + LENGTH_BYTES};
	return true;
}

/* Parses the data of the augmentation NAMES, after their 'z'. Unknown names end them. */
static void parse_augmentation(const char *names, struct reader *r, struct cie *ret)
{
	for (; *names && !r->is_bad; names++) {
		uint8_t encoding;

		if (*names == 'R')
			ret->encoding = (uint8_t)number(r, 1);
		else if (*names == 'S')
			ret->is_signal = true;
		else if (*names == 'L')
			number(r, 1);
		else if (*names == 'P') {
			encoding = (uint8_t)number(r, 1);
			if (encoding != ENC_OMIT)
				pointer(r, encoding & ENC_FORM, 0);
		} else
			return;
	}
}

static bool parse_cie(struct reader r, struct cie *ret)
{
	char names[AUGMENTATION_MAX];
	uint64_t id = number(&r, 4), version = number(&r, 1);
	struct reader data;
	size_t nr = 0;

	*ret = (struct cie){0};
	do {
		if (nr == sizeof(names))
			return false;
		names[nr] = (char)number(&r, 1);
	} while (names[nr++]);
	ret->code_align = uleb(&r);
	ret->data_align = sleb(&r);
	ret->return_reg = version == 1 ? number(&r, 1) : uleb(&r);
	ret->has_data = names[0] == 'z';
	if (r.is_bad || id || (version != 1 && version != 3) || (names[0] && !ret->has_data))
		return false;
	data = (struct reader){.vaddr = r.vaddr};
	if (ret->has_data)
		data.bytes = block(&r);
	if (ret->has_data)
		parse_augmentation(names + 1, &data, ret);
	ret->code = r;
	return !r.is_bad && !data.is_bad && ret->return_reg < HV_DWARF_REGS_MAX;
}

/* Reads the FDE at OFF and its CIE. */
static bool read_fde(struct hv_cfi *c, uint64_t off, struct cie *cie, struct fde *ret)
{
	struct reader r, of_cie;
	uint64_t back;

	if (!read_entry(c, off, c->fde, sizeof(c->fde), &r))
		return false;
	back = number(&r, 4);
	if (!back || back > off + LENGTH_BYTES ||
	    !read_entry(c, off + LENGTH_BYTES - back, c->cie, sizeof(c->cie), &of_cie) ||
	    !parse_cie(of_cie, cie))
		return false;
	ret->start = pointer(&r, cie->encoding & ENC_FORM, cie->encoding & (uint8_t)~ENC_FORM);
	ret->len = pointer(&r, cie->encoding & ENC_FORM, 0);
	if (cie->has_data)
		block(&r);
	ret->code = r;
	return !r.is_bad;
}

/* -- finding an entry --------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Lists the FDEs of a section. Its bytes may be wrong anywhere: then the rest is not listed. */
static void list_section(struct hv_cfi *c, uint64_t off, uint64_t len)
{
	uint64_t end = off + len;

	while (off < end && c->nr_places < LISTED_MAX && !hv_cancel_now(c->nr_places + 1)) {
		uint32_t entry[2];
		struct cie cie;
		struct fde fde;

		if (!hv_elf_read(c->elf.file, off, entry, sizeof(entry)) || !entry[0] ||
		    entry[0] == LENGTH_64)
			return;
		if (entry[1] && read_fde(c, off, &cie, &fde)) {
			c->places = hv_grow(c->places, c->nr_places, &c->places_cap, 256,
					    sizeof(*c->places));
			c->places[c->nr_places++] = (struct place){fde.start, off};
		}
		off += LENGTH_BYTES + (uint64_t)entry[0];
	}
}

static bool is_named(const struct hv_cfi *c, const Elf64_Shdr *strings, uint32_t off,
		     const char *name)
{
	char found[16] = "";
	size_t len = strlen(name) + 1;

	return len <= sizeof(found) && off < strings->sh_size && len <= strings->sh_size - off &&
	       hv_elf_read(c->elf.file, strings->sh_offset + off, found, len) &&
	       memcmp(found, name, len) == 0;
}

static void find_section(struct hv_cfi *c)
{
	const Elf64_Ehdr *h = &c->elf.head;
	Elf64_Shdr section, strings;

	if (h->e_shentsize != sizeof(section) || h->e_shstrndx >= h->e_shnum ||
	    !hv_elf_read(c->elf.file, h->e_shoff + h->e_shstrndx * sizeof(section), &strings,
			 sizeof(strings)))
		return;
	for (unsigned i = 0; i < h->e_shnum && i < HV_ELF_SECTIONS_MAX; i++) {
		if (!hv_elf_read(c->elf.file, h->e_shoff + i * sizeof(section), &section,
				 sizeof(section)) ||
		    section.sh_type == SHT_NOBITS || section.sh_size > SECTION_MAX ||
		    !is_named(c, &strings, section.sh_name, ".eh_frame"))
			continue;
		list_section(c, section.sh_offset, section.sh_size);
		break;
	}
	if (c->nr_places)
		qsort(c->places, c->nr_places, sizeof(*c->places), compare);
}

/* Returns false if there is no .eh_frame_hdr with a table. */
static bool find_hdr(struct hv_cfi *c)
{
	uint8_t bytes[HDR_LEN];
	uint32_t nr;

	for (unsigned i = 0; i < c->elf.nr_phdrs; i++) {
		const Elf64_Phdr *p = &c->elf.phdrs[i];

		if (p->p_type != PT_GNU_EH_FRAME)
			continue;
		c->hdr = p->p_vaddr;
		c->hdr_off = hv_elf_offset(&c->elf, p->p_vaddr);
		if (!c->hdr_off || !hv_elf_read(c->elf.file, c->hdr_off, bytes, sizeof(bytes)) ||
		    bytes[0] != HDR_VERSION || bytes[1] != PCREL_SDATA4 || bytes[2] != UDATA4 ||
		    bytes[3] != DATAREL_SDATA4)
			return false;
		memcpy(&nr, bytes + HDR_NR_OFF, sizeof(nr));
		c->nr = nr;
		return nr && nr <= ENTRIES_MAX;
	}
	return false;
}

struct hv_cfi *hv_cfi_new(const struct hv_elf_file *f)
{
	HV_AUTO_FREE struct hv_cfi *c = hv_alloc(sizeof(*c));

	if (!hv_elf_open(f, &c->elf))
		return NULL;
	if (!find_hdr(c))
		find_section(c);
	return c->nr || c->nr_places ? hv_take(c) : NULL;
}

void hv_cfi_free(struct hv_cfi *c)
{
	if (!c)
		return;
	free(c->places);
	free(c);
}

/* Reads place INDEX of .eh_frame_hdr. */
static bool read_place(const struct hv_cfi *c, uint64_t index, struct place *ret)
{
	int32_t pair[2];

	if (!hv_elf_read(c->elf.file, c->hdr_off + HDR_LEN + index * sizeof(pair), pair,
			 sizeof(pair)))
		return false;
	*ret = (struct place){.start = c->hdr + (uint64_t)(int64_t)pair[0],
			      .off = hv_elf_offset(&c->elf, c->hdr + (uint64_t)(int64_t)pair[1])};
	return true;
}

/* Finds the last place that starts at or before VADDR. */
static bool find_place(const struct hv_cfi *c, uint64_t vaddr, struct place *ret)
{
	uint64_t low = 0, high = c->places ? c->nr_places : c->nr;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct place p;

		if (c->places)
			p = c->places[middle];
		else if (!read_place(c, middle, &p))
			return false;
		if (p.start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	if (!c->places)
		return read_place(c, low - 1, ret);
	*ret = c->places[low - 1];
	return true;
}

/* -- rows --------------------------------------------------------------------------------------- */

/* An interpreter of the instructions of a CIE and an FDE. */
struct machine {
	const struct cie *cie;
	struct hv_cfi_row row, initial, remembered[REMEMBERED_MAX];
	unsigned nr_remembered, steps;
	uint64_t at, target; /* addresses of code */
};

static void set_rule(struct machine *m, uint64_t reg, struct hv_cfi_rule rule)
{
	if (reg < HV_DWARF_REGS_MAX) /* others, such as vector registers, are not followed */
		m->row.regs[reg] = rule;
}

static void set_number(struct machine *m, uint64_t reg, enum hv_cfi_kind kind, int64_t value)
{
	set_rule(m, reg, (struct hv_cfi_rule){.kind = kind, .number = value});
}

static void set_cfa(struct machine *m, struct reader *r, uint64_t reg, int64_t value)
{
	if (reg >= HV_DWARF_REGS_MAX)
		r->is_bad = true;
	m->row.cfa =
		(struct hv_cfi_rule){.kind = HV_CFI_REGISTER, .reg = (uint8_t)reg, .number = value};
}

/* Multiplies as unsigned numbers, because the file chooses both. */
static int64_t factored(const struct machine *m, int64_t value)
{
	return (int64_t)((uint64_t)value * (uint64_t)m->cie->data_align);
}

static void advance(struct machine *m, uint64_t delta)
{
	m->at += delta * m->cie->code_align;
}

/* Changes only the CFA's rule for a register. */
static void change_cfa(struct machine *m, struct reader *r, uint64_t reg, int64_t value)
{
	if (m->row.cfa.kind != HV_CFI_REGISTER)
		r->is_bad = true;
	set_cfa(m, r, reg, value);
}

static void remember(struct machine *m, struct reader *r)
{
	if (m->nr_remembered == REMEMBERED_MAX)
		r->is_bad = true;
	else
		m->remembered[m->nr_remembered++] = m->row;
}

static void restore_state(struct machine *m, struct reader *r)
{
	if (!m->nr_remembered)
		r->is_bad = true;
	else
		m->row = m->remembered[--m->nr_remembered];
}

static void restore(struct machine *m, uint64_t reg)
{
	if (reg < HV_DWARF_REGS_MAX)
		m->row.regs[reg] = m->initial.regs[reg];
}

/* The instructions that change the rule of a register other than the CFA's (DWARF 5, 6.4.2.3). */
static bool run_register(struct machine *m, struct reader *r, uint8_t op)
{
	uint64_t reg = uleb(r), other;

	switch (op) {
	case 0x05: /* DW_CFA_offset_extended */
		set_number(m, reg, HV_CFI_AT_CFA, factored(m, (int64_t)uleb(r)));
		break;
	case 0x06: /* DW_CFA_restore_extended */
		restore(m, reg);
		break;
	case 0x07: /* DW_CFA_undefined */
		set_number(m, reg, HV_CFI_UNDEFINED, 0);
		break;
	case 0x08: /* DW_CFA_same_value */
		set_number(m, reg, HV_CFI_SAME, 0);
		break;
	case 0x09: /* DW_CFA_register */
		other = uleb(r);
		if (other >= HV_DWARF_REGS_MAX)
			return false;
		set_rule(m, reg,
			 (struct hv_cfi_rule){.kind = HV_CFI_REGISTER, .reg = (uint8_t)other});
		break;
	case 0x10: /* DW_CFA_expression */
		set_rule(
			m, reg,
			(struct hv_cfi_rule){.kind = HV_CFI_AT_EXPRESSION, .expression = block(r)});
		break;
	case 0x11: /* DW_CFA_offset_extended_sf */
		set_number(m, reg, HV_CFI_AT_CFA, factored(m, sleb(r)));
		break;
	case 0x14: /* DW_CFA_val_offset */
		set_number(m, reg, HV_CFI_CFA, factored(m, (int64_t)uleb(r)));
		break;
	case 0x15: /* DW_CFA_val_offset_sf */
		set_number(m, reg, HV_CFI_CFA, factored(m, sleb(r)));
		break;
	case 0x16: /* DW_CFA_val_expression */
		set_rule(m, reg,
			 (struct hv_cfi_rule){.kind = HV_CFI_EXPRESSION, .expression = block(r)});
		break;
	default:
		return false;
	}
	return true;
}

/* Returns false if the instruction is unknown. */
static bool run_other(struct machine *m, struct reader *r, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x00: /* DW_CFA_nop */
		return true;
	case 0x01: /* DW_CFA_set_loc */
		m->at = pointer(r, m->cie->encoding & ENC_FORM,
				m->cie->encoding & (uint8_t)~ENC_FORM);
		return true;
	case 0x02: /* DW_CFA_advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		advance(m, number(r, (size_t)1 << (op - 2)));
		return true;
	case 0x0a: /* DW_CFA_remember_state */
		remember(m, r);
		return true;
	case 0x0b: /* DW_CFA_restore_state */
		restore_state(m, r);
		return true;
	case 0x0c: /* DW_CFA_def_cfa */
		reg = uleb(r);
		set_cfa(m, r, reg, (int64_t)uleb(r));
		return true;
	case 0x0d: /* DW_CFA_def_cfa_register */
		change_cfa(m, r, uleb(r), m->row.cfa.number);
		return true;
	case 0x0e: /* DW_CFA_def_cfa_offset */
		change_cfa(m, r, m->row.cfa.reg, (int64_t)uleb(r));
		return true;
	case 0x0f: /* DW_CFA_def_cfa_expression */
		m->row.cfa =
			(struct hv_cfi_rule){.kind = HV_CFI_EXPRESSION, .expression = block(r)};
		return true;
	case 0x12: /* DW_CFA_def_cfa_sf */
		reg = uleb(r);
		set_cfa(m, r, reg, factored(m, sleb(r)));
		return true;
	case 0x13: /* DW_CFA_def_cfa_offset_sf */
		change_cfa(m, r, m->row.cfa.reg, factored(m, sleb(r)));
		return true;
	case 0x2e: /* DW_CFA_GNU_args_size */
		uleb(r);
		return true;
	default:
		return run_register(m, r, op);
	}
}

/* Runs instructions up to the target. */
static bool run(struct machine *m, struct reader r)
{
	while (r.at < r.bytes.len_bytes) {
		uint8_t op = (uint8_t)number(&r, 1), low = op & 0x3f;
		bool is_known = true;

		if (++m->steps > STEPS_MAX)
			return false;
		switch (op >> 6) {
		case 1: /* DW_CFA_advance_loc */
			advance(m, low);
			break;
		case 2: /* DW_CFA_offset */
			set_number(m, low, HV_CFI_AT_CFA, factored(m, (int64_t)uleb(&r)));
			break;
		case 3: /* DW_CFA_restore */
			restore(m, low);
			break;
		default:
			is_known = run_other(m, &r, low);
		}
		if (r.is_bad || !is_known)
			return false;
		if (m->at > m->target)
			return true;
	}
	return true;
}

bool hv_cfi_find(struct hv_cfi *c, uint64_t off, struct hv_cfi_row *ret)
{
	uint64_t vaddr = hv_elf_address(&c->elf, off);
	struct machine m = {.target = vaddr};
	struct place place;
	struct cie cie;
	struct fde fde;

	if (!vaddr || !find_place(c, vaddr, &place) || !place.off ||
	    !read_fde(c, place.off, &cie, &fde) || vaddr < fde.start ||
	    vaddr - fde.start >= fde.len)
		return false;
	m.cie = &cie;
	m.at = fde.start;
	m.row.return_reg = (uint8_t)cie.return_reg;
	m.row.is_signal = cie.is_signal;
	if (!run(&m, cie.code) || m.at != fde.start)
		return false;
	m.initial = m.row;
	if (!run(&m, fde.code))
		return false;
	*ret = m.row;
	return true;
}
