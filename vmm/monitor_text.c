#include "vmm/monitor_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

#define RANGES_MAX 4096

static const char *line_end(const char *line)
{
	return line + strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
	const char *end = line_end(line);

	return *end ? end + 1 : end;
}

static bool line_has(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	return at && at < line_end(line);
}

/* The name ends where what mtree_print_flatview adds begins; it may hold blanks itself. */
static size_t name_len(const char *name)
{
	static const char *const after[] = {" @", " KVM", " owner:{", " parent:{"};
	size_t len = strcspn(name, "\n");

	for (size_t i = 0; i < HV_ARRAY_LEN(after); i++) {
		const char *at = memmem(name, len, after[i], strlen(after[i]));

		if (at)
			len = (size_t)(at - name);
	}
	return len;
}

static void add_range(struct hv_flat_view *v, uint64_t start, uint64_t end, const char *name,
		      size_t len)
{
	struct hv_flat_range *r;

	v->ram = hv_realloc_array(v->ram, v->nr_ram + 1, sizeof(*v->ram));
	r = &v->ram[v->nr_ram++];
	r->start = hv_gpa(start);
	r->len_bytes = end - start;
	r->name = strndup(name, len);
	if (!r->name)
		abort();
}

/* "  0000000000100000-000000001fffffff (prio 0, ram): ram @0000000000100000 owner:{obj path=..}" */
static void parse_range(struct hv_flat_view *v, const char *line)
{
	uint64_t first, last;
	int prio, name_off = 0;

	if (sscanf(line, " %16" SCNx64 "-%16" SCNx64 " (prio %d, ram): %n", &first, &last, &prio,
		   &name_off) != 3 ||
	    !name_off || line + name_off > line_end(line))
		return;
	if (last < first || last == UINT64_MAX || v->nr_ram >= RANGES_MAX)
		return;
	if (v->nr_ram && first < v->ram[v->nr_ram - 1].start.v + v->ram[v->nr_ram - 1].len_bytes)
		return;
	if (line_has(line, " owner:{dev "))
		return;
	add_range(v, first, last + 1, line + name_off, name_len(line + name_off));
}

static const char *find_system_view(const char *text)
{
	static const char head[] = " AS \"memory\", root: system";

	for (const char *line = text; *line; line = next_line(line))
		if (!strncmp(line, head, sizeof(head) - 1))
			return line;
	return NULL;
}

bool hv_flat_view_parse(const char *text, struct hv_flat_view *ret)
{
	const char *line = find_system_view(text);
	struct hv_flat_view v = {0};

	if (!line)
		return false;
	for (; *line && strncmp(line, "FlatView", 8); line = next_line(line))
		parse_range(&v, line);
	*ret = v;
	return true;
}

void hv_flat_view_deinit(struct hv_flat_view *v)
{
	for (size_t i = 0; i < v->nr_ram; i++)
		free(v->ram[i].name);
	free(v->ram);
	*v = (struct hv_flat_view){0};
}

void hv_flat_view_cut(struct hv_flat_view *v, struct hv_gpa start, uint64_t len_bytes)
{
	struct hv_flat_view old = *v;
	uint64_t end = start.v + len_bytes;

	*v = (struct hv_flat_view){0};
	for (size_t i = 0; i < old.nr_ram; i++) {
		const struct hv_flat_range *r = &old.ram[i];
		uint64_t r_end = r->start.v + r->len_bytes;
		size_t len = strlen(r->name);

		if (r_end <= start.v || r->start.v >= end) {
			add_range(v, r->start.v, r_end, r->name, len);
			continue;
		}
		if (r->start.v < start.v)
			add_range(v, r->start.v, start.v, r->name, len);
		if (r_end > end)
			add_range(v, end, r_end, r->name, len);
	}
	hv_flat_view_deinit(&old);
}

/* "Host virtual address for 0x100000000 (m1) is 0x7f3dabc00000" */
bool hv_gpa2hva_parse(const char *text, uint64_t *ret_hva)
{
	static const char head[] = "Host virtual address for ";
	const char *at = strstr(text, head);
	const char *is = at ? strstr(at, ") is 0x") : NULL;
	uint64_t hva;

	if (!is || sscanf(is, ") is 0x%" SCNx64, &hva) != 1 || !hva)
		return false;
	*ret_hva = hva;
	return true;
}

/* From LINE on; the end of the text when there is none. */
static const char *next_vcpu(const char *line)
{
	while (*line && strncmp(line, "CPU#", 4) != 0)
		line = next_line(line);
	return line;
}

unsigned hv_vcpu_text_count(const char *text)
{
	unsigned nr = 0;

	for (const char *line = next_vcpu(text); *line; line = next_vcpu(next_line(line)))
		nr++;
	return nr;
}

bool hv_vcpu_text(const char *text, unsigned nr, char **ret)
{
	const char *line = next_vcpu(text), *start, *end;

	for (; *line && nr; nr--)
		line = next_vcpu(next_line(line));
	if (!*line)
		return false;
	start = next_line(line);
	end = next_vcpu(start);
	*ret = strndup(start, (size_t)(end - start));
	if (!*ret)
		abort();
	return true;
}

bool hv_vma_parse(const char *line, struct hv_vma *ret)
{
	uint64_t start, end, off;
	unsigned long inode;
	char perms[5];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %lu", &start, &end, perms,
		   &off, &inode) != 5 ||
	    strlen(perms) != 4 || end <= start)
		return false;
	*ret = (struct hv_vma){
		.start = start,
		.end = end,
		.file_off = off,
		.readable = perms[0] == 'r',
		.writable = perms[1] == 'w',
		.shared = perms[3] == 's',
		.has_file = inode != 0,
	};
	return true;
}
