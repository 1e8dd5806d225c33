/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/profile/write.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/guard.h"
#include "cli/verbs/record/apart.h"

enum { KEEP = ERRAND_OWN };

/* -- the process with rights -------------------------------------------------------------------- */

struct new_file {
	const char *path;
	bool is_kept;
};

static struct hv_err *run(void *ctx, const struct hv_message *what,
			  struct hv_message *ret hv_unused)
{
	struct new_file *f = ctx;

	if (what->kind != KEEP)
		return hv_err_new(EPROTO, "%s", strerror(EPROTO));
	f->is_kept = true;
	return NULL;
}

static void end(void *ctx)
{
	const struct new_file *f = ctx;

	if (!f->is_kept)
		unlink(f->path);
}

/* -- the verb ----------------------------------------------------------------------------------- */

static struct hv_err *start_helper(struct profile_file *f)
{
	struct errand_config config = ERRAND_CONFIG_NONE;
	struct new_file file = {.path = f->path};
	struct hv_err *err;

	config.needs = HV_CAP(DAC_OVERRIDE);
	config.run = run;
	config.end = end;
	config.ctx = &file;
	err = errand_begin(&f->helper, &config);
	if (err)
		unlink(f->path);
	return err;
}

struct hv_err *profile_file_open(struct profile_file *f, const char *path)
{
	bool is_new = false;
	struct hv_err *err = output_open(path, OUTPUT_FOLLOWS_LINKS, &f->fd, &is_new);

	f->path = path;
	return err || !is_new ? err : start_helper(f);
}

struct hv_err *profile_file_write(struct profile_file *f, const struct hv_text *text)
{
	int code = f->helper.pid ? errand_do(&f->helper, KEEP, "", NULL) : 0;

	if (code || ftruncate(f->fd, 0) < 0)
		return hv_err_new(code ? code : errno, "%s: %s", f->path,
				  strerror(code ? code : errno));
	for (size_t at = 0; at < text->len_bytes;) {
		ssize_t nr = write(f->fd, text->data + at, text->len_bytes - at);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return hv_err_new(errno, "%s: %s", f->path, strerror(errno));
		at += (size_t)nr;
	}
	return NULL;
}

void profile_file_close(struct profile_file *f)
{
	hv_close_at(&f->fd);
	errand_end(&f->helper);
}
