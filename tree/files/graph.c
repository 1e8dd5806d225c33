/* max_graph_depth and tracing_thresh. */
#include <inttypes.h>

#include "tree/node.h"

#define NS_PER_US 1000

/* An unsigned int that is shown as an int (graph_depth_read, graph_depth_write). */
void hv_depth_show(struct hv_file *f)
{
	hv_text_printf(&f->text, "%" PRId32 "\n", (int32_t)f->tree->instances.max_graph_depth);
}

struct hv_err *hv_depth_write(struct hv_file *f, const char *buf, size_t len_bytes, size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	f->tree->instances.max_graph_depth = (uint32_t)value;
	hv_sites_publish_graph(&f->tree->instances.top);
	*ret_len = len_bytes;
	return NULL;
}

/* Microseconds, kept as nanoseconds; too many wrap (tracing_nsecs_write). */
void hv_thresh_show(struct hv_file *f)
{
	hv_text_printf(&f->text, "%" PRIu64 "\n", f->tree->instances.thresh_ns / NS_PER_US);
}

struct hv_err *hv_thresh_write(struct hv_file *f, const char *buf, size_t len_bytes,
			       size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	f->tree->instances.thresh_ns = value * NS_PER_US;
	hv_sites_publish_graph(&f->tree->instances.top);
	*ret_len = len_bytes;
	return NULL;
}
