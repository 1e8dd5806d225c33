/* function_profile_enabled and trace_stat/functionN (kernel/trace/ftrace.c, trace_stat.c): what the
 * calls of each function come to, on each vCPU.
 * Leaves to others: counting (arch/, session_profile.c), which functions (instance_trace.c). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tree/node.h"

#define NAME_WIDTH 30

void hv_profile_enabled_show(struct hv_file *f)
{
	hv_text_printf(&f->text, "%u\n", f->tree->instances.profiles);
}

/* What was counted stays until it is switched on again. */
struct hv_err *hv_profile_enabled_write(struct hv_file *f, const char *buf, size_t len_bytes,
					size_t *ret_len)
{
	struct hv_instances *all = &f->tree->instances;
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);
	unsigned on = value != 0;

	if (err)
		return err;
	if (on && !all->profiles)
		hv_session_clear_profile(all->session);
	if (on != all->profiles)
		err = hv_instances_set_profile(all, on);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

bool hv_profile_name(const struct hv_place *dir, size_t index, struct hv_text *ret)
{
	if (index >= dir->tree->instances.nr_cpus)
		return false;
	hv_text_printf(ret, "function%zu", index);
	return true;
}

bool hv_profile_find(struct hv_place *at, const char *name)
{
	HV_AUTO_TEXT struct hv_text want = {0};
	unsigned long cpu;

	if (strncmp(name, "function", 8) != 0)
		return false;
	cpu = strtoul(name + 8, NULL, 10);
	if (!hv_profile_name(at, cpu, &want) || strcmp(want.data, name) != 0)
		return false;
	at->cpu = (int)cpu;
	return true;
}

/* The longest first; of equal ones, the kernel's order is that of its pages. */
static int compare_times(const void *pa, const void *pb)
{
	const struct hv_profile_count *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? 1 : -1;
	return (a->site > b->site) - (a->site < b->site);
}

static void add_row(struct hv_file *f, const struct hv_profile_count *c)
{
	const struct hv_kernel *kernel = hv_session_kernel(f->tree->instances.session);
	HV_AUTO_TEXT struct hv_text name = {0};
	uint64_t average_ns = c->time_ns / c->hits;

	if (f->tree->instances.thresh_ns && average_ns < f->tree->instances.thresh_ns)
		return;
	hv_text_add_guest(&name, kernel->sites.list[c->site].name, NAME_WIDTH);
	hv_text_printf(&f->text, "  %-*.*s  %10" PRIu64 "    ", NAME_WIDTH, NAME_WIDTH, name.data,
		       c->hits);
	hv_graph_duration(&f->text, c->time_ns);
	hv_text_add(&f->text, "    ");
	hv_graph_duration(&f->text, average_ns);
	hv_text_add(&f->text, "    ");
	hv_graph_duration(&f->text, c->spread_ns2);
	hv_text_add(&f->text, "\n");
}

void hv_profile_show(struct hv_file *f)
{
	HV_AUTO_FREE struct hv_profile_count *counts = NULL;
	size_t nr = hv_session_profile(f->tree->instances.session, (unsigned)f->cpu, &counts);

	hv_text_add(&f->text, "  Function                               Hit    Time            Avg "
			      "            s^2\n"
			      "  --------                               ---    ----            --- "
			      "            ---\n");
	qsort(counts, nr, sizeof(*counts), compare_times);
	for (size_t i = 0; i < nr; i++)
		add_row(f, &counts[i]);
}
