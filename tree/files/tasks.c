/* saved_cmdlines, saved_cmdlines_size and saved_tgids: what is known of tasks. */
#include <inttypes.h>

#include "tracer/events/comms.h"
#include "tracer/events/names.h"
#include "tree/node.h"

void hv_comms_show(struct hv_file *f)
{
	const char *comm;
	uint32_t pid;

	for (size_t i = 0; hv_names_at(f->tree->session->names, i, &pid, &comm); i++) {
		hv_text_printf(&f->text, "%u ", pid);
		hv_text_add_guest(&f->text, comm, 16);
		hv_text_add(&f->text, "\n");
	}
}

void hv_comms_size_show(struct hv_file *f)
{
	hv_text_printf(&f->text, "%zu\n", hv_names_max(f->tree->session->names));
}

struct hv_err *hv_comms_size_write(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err && (!value || value > HV_COMMS_MAX))
		err = hv_err_new(EINVAL, "%" PRIu64 " names: 1 to %d are kept", value,
				 HV_COMMS_MAX);
	if (err)
		return err;
	hv_names_set_max(f->tree->session->names, value);
	*ret_len = len_bytes;
	return NULL;
}

/* Nothing before the option record-tgid is on for the first time. */
void hv_tgids_show(struct hv_file *f)
{
	const char *comm;
	uint32_t pid, tgid;

	if (!f->tree->shows_tgids)
		return;
	for (size_t i = 0; hv_names_at(f->tree->session->names, i, &pid, &comm); i++) {
		tgid = hv_names_tgid(f->tree->session->names, pid);
		if (tgid)
			hv_text_printf(&f->text, "%" PRIu32 " %" PRIu32 "\n", pid, tgid);
	}
}
