/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Golden transcripts of the tree: a small shell on a session without a guest. Lines of an .in file:
 *
 *   # comment                        blank lines and comments are ignored
 *
 *   cpus NR                          starts over with another guest and a new tree
 *   ...                              the guest and its events: see tree_guest.h
 *
 *   ls [DIR], stat PATH, mkdir DIR, rmdir DIR
 *   cat FILE
 *   echo TEXT > FILE                 or >> FILE; also printf
 *   open HANDLE MODE FILE            MODE: letters of r, w, t (truncate), n (non-blocking)
 *   read HANDLE LEN, hex HANDLE LEN, write HANDLE TEXT, ready HANDLE, close HANDLE
 *   as RIGHT[,RIGHT]...              rights of later lines: root, read, control, events, a tracer
 *   rights                           which files each right can open, and how
 *   try TEXT >> FILE                 which rights may write TEXT
 *   fail ERRNO                       the next change of the guest fails
 *   taken                            the guest's own tracers take a site
 *   dump                             reads pending dumps to their end
 *   second                           runs the work of each second
 *   guest                            prints the guest's settings: sites, pids, recording
 *
 * The output shows each line from ls on after a '$', followed by its result. TEXT may contain the
 * escapes \n, \t, \\, \0 and \xNN. HANDLE is a digit. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tests/golden/golden.h"
#include "tests/golden/tree_guest.h"
#include "tests/lib/script.h"
#include "tree/files/node.h"
#include "tree/lookup.h"
#include "tree/tree.h"

struct shell {
	struct golden_guest guest;
	struct hv_tree *tree;
	struct hv_file *handles[10];
	struct hv_rights given[16]; /* for each `as`; borrowed by open files */
	unsigned nr_given;
	const struct hv_rights *rights;
	FILE *out;
};

/* Prints ERR as its errno and frees it. Returns false if ERR is NULL. */
static bool failed(struct shell *sh, struct hv_err *err)
{
	if (!err)
		return false;
	fprintf(sh->out, "= %s: %s\n", strerrorname_np(err->code), err->message);
	hv_err_free(err);
	return true;
}

/* Starts over with a new tree for another guest. */
static void do_cpus(struct shell *sh, unsigned nr)
{
	hv_fake_cpus(sh->guest.session, nr);
	hv_tree_free(sh->tree);
	if (hv_tree_new(sh->guest.session, &sh->tree))
		abort();
}

static void do_ls(struct shell *sh, const char *dir)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	if (!failed(sh, hv_tree_list(sh->tree, dir, &text)))
		fprintf(sh->out, "%s", text.data ? text.data : "");
}

static void do_stat(struct shell *sh, const char *path)
{
	struct hv_tree_stat stat;

	if (!failed(sh, hv_tree_stat(sh->tree, path, &stat)))
		fprintf(sh->out, "= %s %04o\n", stat.kind == HV_TREE_DIR ? "directory" : "file",
			stat.mode);
}

static void do_cat(struct shell *sh, char *path)
{
	struct hv_file *f;
	char buf[8192];
	size_t len;

	unescape(path);
	if (failed(sh, hv_tree_open(sh->tree, sh->rights, path, O_RDONLY, &f)))
		return;
	while (!failed(sh, hv_file_read(f, buf, sizeof(buf), &len)) && len)
		fwrite(buf, 1, len, sh->out);
	failed(sh, hv_file_close(f));
}

/* Writes like a shell's echo and printf: continues after a short write and stops at an error. ARGS:
 * TEXT > FILE. */
static void do_redirect(struct shell *sh, char *args, const char *end)
{
	char *arrow = strstr(args, "> ");
	bool append = arrow > args && arrow[-1] == '>';
	HV_AUTO_TEXT struct hv_text text = {0};
	size_t done = 0, used, len;
	struct hv_file *f;

	*(append ? arrow - 1 : arrow) = '\0';
	len = strlen(args);
	if (len && args[len - 1] == ' ')
		args[len - 1] = '\0';
	len = unescape(args);
	hv_text_add_bytes(&text, args, len);
	hv_text_add(&text, end);
	if (failed(sh, hv_tree_open(sh->tree, sh->rights, arrow + 2,
				    O_WRONLY | (append ? 0 : O_TRUNC), &f)))
		return;
	while (done < text.len_bytes) {
		if (failed(sh, hv_file_write(f, text.data + done, text.len_bytes - done, &used)))
			break;
		done += used;
	}
	failed(sh, hv_file_close(f));
}

static void do_open(struct shell *sh, char *args)
{
	unsigned handle = (unsigned)next_number(&args) % 10;
	const char *mode = next_word(&args);
	int flags = strchr(mode, 'r') ? strchr(mode, 'w') ? O_RDWR : O_RDONLY : O_WRONLY;

	flags |= strchr(mode, 't') ? O_TRUNC : 0;
	flags |= strchr(mode, 'n') ? O_NONBLOCK : 0;
	failed(sh, hv_tree_open(sh->tree, sh->rights, args, flags, &sh->handles[handle]));
}

/* Omits trailing zeros. */
static void show_hex(struct shell *sh, const char *buf, size_t len)
{
	fprintf(sh->out, "= %zu", len);
	while (len && !buf[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		fprintf(sh->out, "%s%02x", i % 4 ? "" : i % 32 ? " " : "\n  ", (uint8_t)buf[i]);
	fprintf(sh->out, "\n");
}

static void do_handle(struct shell *sh, const char *command, char *args)
{
	unsigned handle = (unsigned)next_number(&args) % 10;
	struct hv_file *f = sh->handles[handle];
	char buf[4096];
	size_t len;

	if (strcmp(command, "write") == 0) {
		len = unescape(args);
		if (!failed(sh, hv_file_write(f, args, len, &len)))
			fprintf(sh->out, "= %zu\n", len);
	} else if (strcmp(command, "read") == 0) {
		len = next_number(&args);
		if (!failed(sh, hv_file_read(f, buf, len < 4096 ? len : 4096, &len)))
			fprintf(sh->out, "= %zu '%.*s'\n", len, (int)len, buf);
	} else if (strcmp(command, "hex") == 0) {
		len = next_number(&args);
		if (!failed(sh, hv_file_read(f, buf, len < 4096 ? len : 4096, &len)))
			show_hex(sh, buf, len);
	} else if (strcmp(command, "ready") == 0) {
		if (!failed(sh, hv_file_ready(f)))
			fprintf(sh->out, "= ready\n");
	} else {
		sh->handles[handle] = NULL;
		failed(sh, hv_file_close(f));
	}
}

static void do_missing(struct shell *sh)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_tree_missing_tasks(sh->tree, &text);
	fprintf(sh->out, "%s", text.data ? text.data : "");
}

/* The guest takes a site that hvtrace has changed. */
static void do_taken(struct shell *sh)
{
	hv_fake_take(sh->guest.session);
	hv_tree_rejoin(sh->tree);
}

static void do_dumps(struct shell *sh)
{
	struct hv_file *f;
	const char *why;
	char buf[8192];
	size_t len;

	hv_tree_drain(sh->tree);
	while ((f = hv_tree_next_dump(sh->tree, &why))) {
		fprintf(sh->out, "= %s\n", why);
		while (!failed(sh, hv_file_read(f, buf, sizeof(buf), &len)) && len)
			fwrite(buf, 1, len, sh->out);
		failed(sh, hv_file_close(f));
	}
}

/* -- rights ------------------------------------------------------------------------------------ */

static const char *const tried[] = {
	"",
	"read",
	"read,control,nop",
	"read,control,nop,events",
	"read,control,nop,function",
	"read,control,nop,function_graph",
	"read,control,nop,irqsoff",
	"read,control,nop,wakeup",
	"read,control,nop,events,function,function_graph,preemptoff,irqsoff,preemptirqsoff,"
	"wakeup,wakeup_rt,wakeup_dl",
	"root",
};

static uint32_t right_named(const char *name)
{
	for (unsigned bit = 0; bit < 32; bit++)
		if (strcmp(hv_right_name(1u << bit), name) == 0)
			return 1u << bit;
	abort();
}

static struct hv_rights rights_of(const char *names)
{
	struct hv_rights r = {.who = "the user", .says = "hvtrace.conf"};
	HV_AUTO_FREE char *copy = hv_strdup(names);
	char *rest = copy;

	if (strcmp(names, "root") == 0)
		return hv_root_rights;
	for (char *name; (name = strsep(&rest, ","));)
		if (*name)
			r.may |= right_named(name);
	return r;
}

static void do_as(struct shell *sh, const char *names)
{
	struct hv_rights *r = &sh->given[sh->nr_given++ % HV_ARRAY_LEN(sh->given)];

	*r = rights_of(names);
	sh->rights = r;
}

static void show_need(FILE *out, const char *verb, uint32_t need)
{
	fprintf(out, " %s:", verb);
	if (!need)
		fprintf(out, " root");
	for (unsigned bit = 0; bit < 32; bit++)
		if (need >> bit & 1)
			fprintf(out, " %s", hv_right_name(1u << bit));
}

static bool may_open(struct shell *sh, const struct hv_rights *r, const char *path, int flags)
{
	struct hv_file *f = NULL;
	struct hv_err *err = hv_tree_open(sh->tree, r, path, flags, &f);
	bool may = !err || err->code != EACCES;

	if (f)
		hv_file_abandon(f);
	hv_err_free(err);
	return may;
}

/* Prints the rights that the file declares, and which of tried[] can open it. */
static void show_file(struct shell *sh, const char *path)
{
	struct hv_path at;

	if (hv_lookup(sh->tree, path, &at))
		abort();
	fprintf(sh->out, "%-50s", path);
	for (size_t i = 0; i < HV_ARRAY_LEN(tried); i++) {
		struct hv_rights r = rights_of(tried[i]);

		fprintf(sh->out, " %c%c", may_open(sh, &r, path, O_RDONLY) ? 'r' : '-',
			may_open(sh, &r, path, O_WRONLY) ? 'w' : '-');
		if (!may_open(sh, &r, path, O_RDONLY | O_TRUNC) !=
		    !(may_open(sh, &r, path, O_RDONLY) && may_open(sh, &r, path, O_WRONLY)))
			fprintf(sh->out, "!");
	}
	show_need(sh->out, "| read", at.node->reads);
	show_need(sh->out, "| write", at.node->writes);
	fprintf(sh->out, "\n");
}

/* Prints all files of DIR and of the directories below it. */
static void do_rights(struct shell *sh, const char *dir)
{
	HV_AUTO_TEXT struct hv_text names = {0};
	char *rest = NULL;

	if (failed(sh, hv_tree_list(sh->tree, dir, &names)))
		return;
	for (char *name = names.data ? strtok_r(names.data, "\n", &rest) : NULL; name;
	     name = strtok_r(NULL, "\n", &rest)) {
		HV_AUTO_FREE char *path = hv_format("%s%s", dir, name);

		if (name[strlen(name) - 1] == '/')
			do_rights(sh, path);
		else
			show_file(sh, path);
	}
}

static bool may_write(struct shell *sh, const struct hv_rights *r, const char *path,
		      const char *text, size_t len)
{
	struct hv_file *f = NULL;
	struct hv_err *err = hv_tree_open(sh->tree, r, path, O_WRONLY, &f);
	bool may = true;
	size_t used;

	for (size_t done = 0; !err && done < len; done += used)
		err = hv_file_write(f, text + done, len - done, &used);
	may = !err || err->code != EACCES;
	hv_err_free(err);
	err = f ? hv_file_close(f) : NULL;
	may &= !err || err->code != EACCES;
	hv_err_free(err);
	return may;
}

/* ARGS: TEXT >> FILE. */
static void do_try(struct shell *sh, char *args)
{
	char *arrow = strstr(args, " >> ");
	size_t len;

	*arrow = '\0';
	len = unescape(args);
	fprintf(sh->out, "=");
	for (size_t i = 0; i < HV_ARRAY_LEN(tried); i++) {
		struct hv_rights r = rights_of(tried[i]);
		const char *last = strrchr(tried[i], ',');

		if (may_write(sh, &r, arrow + 4, args, len))
			fprintf(sh->out, " %s", i == 8 ? "all" : last ? last + 1 : tried[i]);
	}
	fprintf(sh->out, "\n");
}

static void do_line(struct shell *sh, char *line)
{
	HV_AUTO_FREE char *shown = hv_strdup(line);
	const char *command = next_word(&line);

	if (golden_guest_line(&sh->guest, command, line))
		return;
	if (strcmp(command, "cpus") == 0) {
		do_cpus(sh, (unsigned)next_number(&line));
		return;
	}
	fprintf(sh->out, "$ %s\n", shown);
	if (strcmp(command, "ls") == 0)
		do_ls(sh, line);
	else if (strcmp(command, "stat") == 0)
		do_stat(sh, line);
	else if (strcmp(command, "mkdir") == 0)
		failed(sh, hv_tree_mkdir(sh->tree, sh->rights, line));
	else if (strcmp(command, "rmdir") == 0)
		failed(sh, hv_tree_rmdir(sh->tree, sh->rights, line));
	else if (strcmp(command, "cat") == 0)
		do_cat(sh, line);
	else if (strcmp(command, "echo") == 0)
		do_redirect(sh, line, "\n");
	else if (strcmp(command, "printf") == 0)
		do_redirect(sh, line, "");
	else if (strcmp(command, "open") == 0)
		do_open(sh, line);
	else if (strcmp(command, "as") == 0)
		do_as(sh, line);
	else if (strcmp(command, "rights") == 0)
		do_rights(sh, line);
	else if (strcmp(command, "try") == 0)
		do_try(sh, line);
	else if (strcmp(command, "guest") == 0)
		golden_guest_show(&sh->guest, sh->out);
	else if (strcmp(command, "dump") == 0)
		do_dumps(sh);
	else if (strcmp(command, "missing") == 0)
		do_missing(sh);
	else if (strcmp(command, "second") == 0)
		hv_tree_retire(sh->tree);
	else if (strcmp(command, "taken") == 0)
		do_taken(sh);
	else if (strcmp(command, "fail") == 0)
		hv_fake_fail(sh->guest.session, (int)next_number(&line));
	else if (strcmp(command, "write") == 0 || strcmp(command, "read") == 0 ||
		 strcmp(command, "hex") == 0 || strcmp(command, "ready") == 0 ||
		 strcmp(command, "close") == 0)
		do_handle(sh, command, line);
	else
		fprintf(sh->out, "= unknown command '%s'\n", command);
}

static void run(FILE *in, FILE *out)
{
	struct shell sh = {
		.guest = {.session = hv_fake_new()}, .out = out, .rights = &hv_root_rights};
	char line[8192];

	if (hv_tree_new(sh.guest.session, &sh.tree))
		abort();
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] && line[0] != '#')
			do_line(&sh, line);
	}
	for (unsigned i = 0; i < 10; i++)
		if (sh.handles[i])
			failed(&sh, hv_file_close(sh.handles[i]));
	hv_tree_free(sh.tree);
	hv_fake_free(sh.guest.session);
}

int main(int argc, char **argv)
{
	return hv_golden_main(argc, argv, run);
}
