/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/monitor_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

static const char *line_end(const char *line)
{
	return line + strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
	const char *end = line_end(line);

	return *end ? end + 1 : end;
}

/* "Host virtual address for 0x100000000 (m1) is 0x7f3dabc00000" */
bool hv_gpa2hva_parse(const char *text, uint64_t *ret_hva, char **ret_name)
{
	static const char head[] = "Host virtual address for ";
	const char *at = strstr(text, head);
	const char *name = at ? strstr(at, " (") : NULL;
	const char *is = name ? strstr(name, ") is 0x") : NULL;
	uint64_t hva;

	if (!is || sscanf(is, ") is 0x%" SCNx64, &hva) != 1 || !hva)
		return false;
	*ret_hva = hva;
	*ret_name = strndup(name + 2, (size_t)(is - name - 2));
	if (!*ret_name)
		abort();
	return true;
}

/* "gpa: 0x41200000", or "Unmapped" */
bool hv_gva2gpa_parse(const char *text, struct hv_gpa *ret)
{
	uint64_t gpa;

	if (sscanf(text, "gpa: 0x%" SCNx64, &gpa) != 1)
		return false;
	*ret = hv_gpa(gpa);
	return true;
}

/* Returns the heading of the next vCPU from LINE on, or the end of the text. */
static const char *next_vcpu(const char *line)
{
	while (*line && strncmp(line, "CPU#", 4) != 0)
		line = next_line(line);
	return line;
}

bool hv_vcpu_text_next(const char **at, char **ret)
{
	const char *line = next_vcpu(*at), *start, *end;
	size_t len;

	if (!*line)
		return false;
	start = next_line(line);
	end = next_vcpu(start);
	len = (size_t)(end - start);
	*ret = strndup(start, len < HV_VCPU_TEXT_MAX_BYTES ? len : HV_VCPU_TEXT_MAX_BYTES);
	if (!*ret)
		abort();
	*at = end;
	return true;
}
