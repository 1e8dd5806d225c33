/* saved_cmdlines, saved_cmdlines_size and saved_tgids: what is known of tasks. */
#include <inttypes.h>

#include "tracer/comms.h"
#include "tree/node.h"

void hv_comms_show(struct hv_file *f)
{
	const char *comm;
	uint32_t pid;

	for (size_t i = 0; hv_session_comm_at(f->tree->instances.session, i, &pid, &comm); i++) {
		hv_text_printf(&f->text, "%u ", pid);
		hv_text_add_guest(&f->text, comm, 16);
		hv_text_add(&f->text, "\n");
	}
}

void hv_comms_size_show(struct hv_file *f)
{
	hv_text_printf(&f->text, "%zu\n", hv_session_comms_max(f->tree->instances.session));
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
	hv_session_keep_comms(f->tree->instances.session, value);
	*ret_len = len_bytes;
	return NULL;
}

/* Nothing before the option record-tgid is on for the first time. */
void hv_tgids_show(struct hv_file *f)
{
	const char *comm;
	uint32_t pid, tgid;

	if (!f->tree->instances.shows_tgids)
		return;
	for (size_t i = 0; hv_session_comm_at(f->tree->instances.session, i, &pid, &comm); i++) {
		tgid = hv_session_tgid(f->tree->instances.session, pid);
		if (tgid)
			hv_text_printf(&f->text, "%" PRIu32 " %" PRIu32 "\n", pid, tgid);
	}
}
