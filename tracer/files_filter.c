/* The files that say which functions and which tasks are traced. */
#include <inttypes.h>
#include <string.h>

#include "tracer/node.h"

#define NAME_LEN_MAX 512 /* KSYM_NAME_LEN */

static const struct hv_sites *sites_of(struct hv_file *f)
{
	return &hv_session_kernel(f->tree->session)->sites;
}

static void add_site(struct hv_text *out, const struct hv_site *site)
{
	hv_text_add_guest(out, site->name, NAME_LEN_MAX);
	if (!site->module)
		return;
	hv_text_add(out, " [");
	hv_text_add_guest(out, site->module, NAME_LEN_MAX);
	hv_text_add(out, "]");
}

void hv_sites_show(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);

	for (size_t i = 0; i < sites->nr; i++) {
		add_site(&f->text, &sites->list[i]);
		hv_text_add(&f->text, "\n");
	}
}

void hv_sites_addrs_show(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);

	for (size_t i = 0; i < sites->nr; i++) {
		hv_text_printf(&f->text, "%" PRIx64 " ", sites->list[i].ip.v);
		add_site(&f->text, &sites->list[i]);
		hv_text_add(&f->text, "\n");
	}
}

/* One user, none of the kernel's flags, no trampoline of the kernel's. */
void hv_patched_show(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);
	const uint8_t *patched = hv_session_patched(f->tree->session);

	for (size_t i = 0; i < sites->nr; i++) {
		if (!patched[i])
			continue;
		add_site(&f->text, &sites->list[i]);
		hv_text_add(&f->text, " (1)           \n");
	}
}

/* Writers edit a copy; truncation empties the copy, so that what is published never has a moment of
 * "nothing is listed, all are traced". Readers see the list of the moment they opened. */
struct hv_err *hv_list_open(struct hv_file *f)
{
	if (!hv_file_writes(f) || !(f->flags & O_TRUNC))
		f->list = hv_filter_dup(&f->instance->lists[f->arg]);
	return NULL;
}

static void add_list(struct hv_file *f)
{
	const struct hv_sites *sites = sites_of(f);

	if (!f->list.nr) {
		hv_text_add(&f->text, f->arg == HV_LIST_NOTRACE
					      ? "#### no functions disabled ####\n"
					      : "#### all functions enabled ####\n");
		return;
	}
	for (size_t i = 0; i < sites->nr; i++) {
		if (!hv_filter_has(&f->list, sites->list[i].ip))
			continue;
		add_site(&f->text, &sites->list[i]);
		hv_text_add(&f->text, "\n");
	}
}

/* Who has written and reads through the same handle reads from behind as many bytes. */
void hv_list_show(struct hv_file *f)
{
	add_list(f);
	f->text_pos = f->written_bytes < f->text.len_bytes ? f->written_bytes : f->text.len_bytes;
}

static struct hv_err *apply_token(struct hv_file *f)
{
	struct hv_err *err = hv_filter_apply(&f->list, sites_of(f), f->token.text);

	hv_token_clear(&f->token);
	return err;
}

struct hv_err *hv_list_write(struct hv_file *f, const char *buf, size_t len_bytes, size_t *ret_len)
{
	struct hv_err *err;
	size_t used;

	err = hv_token_take(&f->token, HV_TOKEN_SIZE_MAX, buf, len_bytes, &used);
	if (!err && f->token.len_bytes && !f->token.unfinished)
		err = apply_token(f);
	if (err)
		return err;
	f->written_bytes += used;
	*ret_len = used;
	return NULL;
}

struct hv_err *hv_list_close(struct hv_file *f)
{
	struct hv_instance *in = f->instance;
	struct hv_filter lists[HV_NR_FILTER_LISTS];
	struct hv_err *err = NULL;

	if (!hv_file_writes(f) || in->tree->ending)
		return NULL;
	if (f->token.len_bytes)
		hv_err_free(apply_token(f));
	memcpy(lists, in->lists, sizeof(lists));
	lists[f->arg] = f->list;
	if (in->tracer != HV_TRACER_NOP)
		err = hv_instance_trace(in, in->tracer, lists);
	if (err)
		return err;
	hv_filter_deinit(&in->lists[f->arg]);
	in->lists[f->arg] = f->list;
	f->list = (struct hv_filter){0};
	return NULL;
}

/* Takes LIST on success. */
static struct hv_err *publish_pids(struct hv_instance *in, struct hv_pidlist *list)
{
	struct hv_err *err = hv_session_filter_pids(in->tree->session, list->pids, list->nr);

	if (err)
		return err;
	hv_pidlist_deinit(&in->pids);
	in->pids = *list;
	*list = (struct hv_pidlist){0};
	return NULL;
}

struct hv_err *hv_pids_open(struct hv_file *f)
{
	struct hv_pidlist none = {0};

	if (!hv_file_writes(f) || !(f->flags & O_TRUNC))
		return NULL;
	return publish_pids(f->instance, &none);
}

void hv_pids_show(struct hv_file *f)
{
	hv_pidlist_text(&f->instance->pids, &f->text);
}

struct hv_err *hv_pids_write(struct hv_file *f, const char *buf, size_t len_bytes, size_t *ret_len)
{
	struct hv_pidlist list;
	struct hv_err *err;
	size_t used;

	err = hv_pidlist_add(&f->instance->pids, buf, len_bytes, &list, &used);
	if (err)
		return err;
	err = publish_pids(f->instance, &list);
	hv_pidlist_deinit(&list);
	if (!err)
		*ret_len = used;
	return err;
}
