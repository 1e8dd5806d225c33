/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/profile/diff.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/guard.h"
#include "base/prefix.h"
#include "cli/verbs/profile/write.h"
#include "cli/verbs/verb.h"
#include "profile/diff.h"
#include "profile/read.h"

#define FILE_MAX     (512u << 20) /* bytes */
#define MEMORY_BYTES (2ull << 30)
#define HOTTEST	     10

struct comparison {
	const struct profile_diff *d;
	int fds[2]; /* owned */
	struct profile_file out;
	struct hv_chains chains;
	struct hv_diff diff;
	struct hv_read reads[2];
};

static void comparison_deinit(struct comparison *c)
{
	hv_close_at(&c->fds[0]);
	hv_close_at(&c->fds[1]);
	profile_file_close(&c->out);
	hv_read_deinit(&c->reads[0]);
	hv_read_deinit(&c->reads[1]);
	hv_diff_deinit(&c->diff);
	hv_chains_deinit(&c->chains);
}

static struct hv_err *open_files(struct comparison *c)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(c->fds); i++) {
		c->fds[i] = open(c->d->paths[i], O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (c->fds[i] < 0)
			return hv_err_new(errno, "%s: %s", c->d->paths[i], strerror(errno));
	}
	return c->d->out_path ? profile_file_open(&c->out, c->d->out_path) : NULL;
}

static struct hv_err *read_file(struct hv_read *r, int fd)
{
	struct hv_err *err = NULL;
	char bytes[64 << 10];

	while (!err) {
		ssize_t nr = read(fd, bytes, sizeof(bytes));

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return hv_err_new(errno, "%s: %s", r->path, strerror(errno));
		if (!nr)
			return hv_read_end(r);
		err = hv_read_add(r, bytes, (size_t)nr);
	}
	return err;
}

static struct hv_err *read_files(struct comparison *c)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(c->fds); i++) {
		c->reads[i] = (struct hv_read){
			.path = c->d->paths[i], .chains = &c->chains, .is_before = i == 0};
		err = read_file(&c->reads[i], c->fds[i]);
		if (!err && !c->reads[i].sum)
			err = hv_err_new(EINVAL, "%s: no samples", c->d->paths[i]);
	}
	if (!err && c->reads[0].is_timed != c->reads[1].is_timed)
		err = hv_err_new(EINVAL, "%s has samples and %s has times",
				 c->d->paths[c->reads[0].is_timed],
				 c->d->paths[c->reads[1].is_timed]);
	return err;
}

static void add_summary(const struct comparison *c, bool is_complete, struct hv_text *out)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(c->reads); i++) {
		const struct hv_read *r = &c->reads[i];

		hv_text_add(out, i ? " with " : "compared ");
		hv_text_add_utf8(out, r->path, SIZE_MAX);
		hv_text_printf(out, " (%" PRIu64 "%s)", r->sum, r->is_timed ? " ns" : "");
	}
	if (c->reads[0].is_cut || c->reads[1].is_cut)
		hv_text_add(out, "; some stacks not counted, because there was no room");
	if (!is_complete)
		hv_text_printf(out, "; %s is incomplete, because it would be too large",
			       c->d->out_path);
	hv_text_add(out, "\n");
}

static void add_tree(const struct comparison *c, struct hv_text *out)
{
	hv_text_add(out, "shares of the second, and their changes in percentage points\n\n"
			 "functions by the change of their own time:\n");
	hv_diff_changed(&c->diff, HOTTEST, out);
	hv_text_add(out, "\ncalls, by time including callees:\n");
	hv_diff_text(&c->diff, c->d->min_ppm, out);
}

static struct hv_err *write_output(struct comparison *c, bool *ret_complete)
{
	HV_AUTO_TEXT struct hv_text out = {0};
	HV_AUTO_FREE char *title = hv_format("%s compared with %s", c->d->paths[1], c->d->paths[0]);

	*ret_complete = hv_ends_with(c->d->out_path, ".svg")
				? hv_flame_svg(&c->diff.flame, title, FILE_MAX, &out)
				: hv_diff_folded(&c->diff, FILE_MAX, &out);
	return profile_file_write(&c->out, &out);
}

static struct hv_err *show(struct comparison *c, int *ret_out_error)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = NULL;
	bool is_complete = true;

	hv_diff_make(&c->chains, &c->diff);
	if (c->d->out_path)
		err = write_output(c, &is_complete);
	if (err)
		return err;
	add_summary(c, is_complete, &text);
	if (!c->d->out_path)
		add_tree(c, &text);
	*ret_out_error = put_out(text.data, text.len_bytes);
	return NULL;
}

struct hv_err *profile_diff(const struct profile_diff *d, int *ret_out_error)
{
	hv_cleanup(comparison_deinit) struct comparison c = {
		.d = d, .fds = {-1, -1}, .out = PROFILE_FILE_NONE};
	struct hv_confinement none = HV_CONFINEMENT_NONE;
	struct hv_err *err = open_files(&c);

	none.memory_bytes = MEMORY_BYTES;
	if (!err)
		err = hv_confine(&none);
	if (!err)
		err = read_files(&c);
	return err ? err : show(&c, ret_out_error);
}
