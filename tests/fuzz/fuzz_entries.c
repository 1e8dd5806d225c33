/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the functions of a hostile kernel without ftrace. The input is its text, its symbols and its
 * exception table. Whatever it contains, each site has whole instructions in one page, which a
 * detour can execute and which a jump can replace. */
#include <string.h>

#include "arch/arch.h"
#include "kernel/entries.h"
#include "tests/fuzz/input.h"
#include "tests/unit/kernel/fake_kernel.h"

#define TEXT_BYTES 4096u
#define NR_NAMES   24u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_site(const struct hv_site *site, const struct hv_function_entry *entry)
{
	const struct hv_arch *arch = &hv_arch_x86_64;
	uint8_t code[HV_DETOUR_LEN_MAX], jump[HV_DETOUR_PATCH_MAX];
	struct hv_detour d = {
		.kind = HV_DETOUR_ENTRY,
		.at = hv_gva(FK_BASE + 0x200000),
		.next = hv_gva_add(site->ip, entry->len_bytes),
		.trampoline = hv_gva(FK_BASE + 0x300000),
		.probe_site = site->ip,
		.insn = entry->insns,
		.len_bytes = entry->len_bytes,
	};

	if (!arch->encode_detour_jump(entry->len_bytes, site->ip, d.at, jump))
		abort();
	/* The only reason not to build the detour: an operand that is out of its reach. */
	if (arch->make_detour(&d, code) && !arch->is_probe_detour(&d, code))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const names[] = {"a", "b.cold", "__x86_indirect_thunk_rax",
					    "__fentry__"};
	static struct fk f;
	struct hv_sites sites = {0};
	struct hv_err *err;

	if (len < NR_NAMES * 2 || len > TEXT_BYTES)
		return 0;
	fk_init(&f);
	f.k.core.symbols.nr = 0;
	f.k.text.end = hv_gva(FK_BASE + TEXT_BYTES);
	fk_symbol(&f, "__entry_text_start", FK_BASE);
	fk_symbol(&f, "__entry_text_end", FK_BASE + 16);
	fk_symbol(&f, "__noinstr_text_start", FK_BASE + 16);
	fk_symbol(&f, "__noinstr_text_end", FK_BASE + 32);
	for (size_t i = 0; i < NR_NAMES; i++)
		fk_symbol(&f, names[data[2 * i] % HV_ARRAY_LEN(names)],
			  FK_BASE + (data[2 * i] | data[2 * i + 1] << 8) % (TEXT_BYTES + 16));
	fk_symbol(&f, "__start___ex_table", FK_BASE + 64);
	fk_symbol(&f, "__stop___ex_table", FK_BASE + 64 + data[0]);
	hv_symbols_index(&f.k.core.symbols);
	for (size_t off = 0; off < TEXT_BYTES; off++)
		*fk_host(&f, FK_BASE + off) = data[off % len];
	err = hv_entries_read(&f.k, (struct hv_gva_range){0}, &sites);
	hv_err_free(err);
	for (size_t i = 0; !err && i < sites.nr; i++)
		check_site(&sites.list[i], &sites.entries->list[i]);
	hv_sites_deinit(&sites);
	fk_deinit(&f);
	return 0;
}
