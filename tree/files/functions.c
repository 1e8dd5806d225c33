/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of functions: available_filter_functions, available_filter_functions_addrs, and
 * enabled_functions. */
#include <inttypes.h>

#include "kernel/kernel.h"
#include "tracer/site_stubs.h"
#include "tree/files/files.h"

static const struct hv_sites *sites_of(const struct hv_file *f)
{
	return &hv_file_session(f)->kernel->sites;
}

static void show_functions(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);

	for (size_t i = 0; i < sites->nr; i++) {
		hv_site_text(&sites->list[i], &f->text);
		hv_text_add(&f->text, "\n");
	}
}

static void show_addresses(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);

	for (size_t i = 0; i < sites->nr; i++) {
		hv_text_printf(&f->text, "%" PRIx64 " ", sites->list[i].ip.v);
		hv_site_text(&sites->list[i], &f->text);
		hv_text_add(&f->text, "\n");
	}
}

/* Shows each function as the kernel does if it has one user, no flags and no trampoline. */
static void show_enabled(struct hv_file *f)
{
	const uint8_t *patched = hv_site_stubs_now(hv_file_session(f)->stubs);
	const struct hv_sites *sites = sites_of(f);

	for (size_t i = 0; i < sites->nr; i++) {
		if (!patched[i])
			continue;
		hv_site_text(&sites->list[i], &f->text);
		hv_text_add(&f->text, " (1)           \n");
	}
}

const struct hv_node hv_functions_node = {
	.reads = HV_RIGHT_READ,
	.help = "the functions that can be traced, in the order of their indices, from 1",
	.show = show_functions,
};

const struct hv_node hv_function_addrs_node = {
	.reads = HV_RIGHT_READ,
	.help = "the same functions, each after its address",
	.show = show_addresses,
};

const struct hv_node hv_enabled_functions_node = {
	.reads = HV_RIGHT_READ,
	.help = "the functions that are traced now",
	.show = show_enabled,
};
