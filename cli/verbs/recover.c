/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace recover: undoes the changes that a dead service left in a guest. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/audit.h"
#include "cli/domain_state.h"
#include "cli/explain.h"
#include "cli/rundir.h"
#include "cli/service/btf_files.h"
#include "cli/service/kept_facts.h"
#include "cli/service/recovery.h"
#include "cli/spec.h"
#include "cli/terminal.h"
#include "cli/verbs/verb.h"
#include "vmm/hosttrace/instance.h"
#include "vmm/open.h"

#define WAIT_NS (60 * HV_NS_PER_S)
#define WAIT_MS 50

struct recover {
	struct recovery done;
	struct btf_files btf;
	struct kept_facts facts;
	bool was_given; /* --btf */
	/* The machine also has an ivshmem device, whose region requires the monitor. */
	bool has_other;
	uint64_t began_ns;
	bool is_over; /* the machine no longer exists, and the report includes that */
};

static void say(void *ctx hv_unused, const char *line)
{
	note(line);
}

static void audit_recover(const struct cli *cli, const struct hv_guest *guest,
			  const struct recover *r, const struct hv_err *err)
{
	const struct hv_guest_info *info = hv_guest_info(guest);
	struct audit a = {cli->audit_target, -1, hv_strdup(info->name), hv_strdup(info->id)};
	struct audit_actor who = audit_actor_self();
	struct audit_entry e = audit_begin(&a, &who, "recover");

	audit_text(&e, "result",
		   err		   ? err->message
		   : r->done.found ? "restored"
				   : "nothing to restore");
	audit_number(&e, "took_us", (hv_now_ns() - r->began_ns) / 1000);
	audit_end(&e);
	audit_close(&a);
}

/* Finds the directory of the domain. If another process recovers it, usually the broker of a
 * service that died, waits until that process has ended. */
static struct hv_err *wait_for_other(const struct cli *cli, const char *spec, const char *given,
				     bool *ret_found, struct rundir_info *ret)
{
	uint64_t until_ns = hv_now_ns() + WAIT_NS;
	bool is_said = false;

	for (;;) {
		struct hv_err *err =
			rundir_find(cli->run_dir, given, cli->libvirt_uri, ret_found, ret);

		if (err || !*ret_found || domain_state(ret) != DOMAIN_RECOVERING ||
		    hv_now_ns() >= until_ns)
			return err;
		if (!is_said)
			fprintf(stderr,
				"hvtrace: domain '%s': another process recovers it: waiting\n",
				spec);
		is_said = true;
		rundir_info_deinit(ret);
		*ret = (struct rundir_info){0};
		poll(NULL, 0, WAIT_MS);
	}
}

/* Call it first: a QMP socket accepts one client, so connecting would block if the domain has a
 * session. */
static struct hv_err *look_for_session(const struct cli *cli, const char *spec, struct recover *r)
{
	HV_AUTO_FREE char *given = spec_absolute(spec);
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	bool found = false;
	struct hv_err *err = wait_for_other(cli, spec, given, &found, &info);

	if (!err && found)
		err = domain_state_is_taken(&info, spec);
	if (err || !found)
		return err;
	r->is_over = domain_state(&info) == DOMAIN_GONE;
	if (!r->is_over)
		return NULL;
	hv_host_trace_clean(info.id);
	rundir_remove_dead(cli->run_dir, &info);
	hv_text_printf(&r->done.report,
		       "nothing to recover: the guest ended with its VMM (pid %d)\n",
		       (int)info.vmm_pid);
	return NULL;
}

/* Uses the BTF of the session that died: its copy or, if the copy is damaged, the file that was
 * copied. A file of --btf that is equal to the copy needs no second proof. */
static struct hv_err *use_left_btf(struct recover *r, const struct rundir *dir,
				   const struct rundir_info *left)
{
	HV_AUTO_FREE char *copy = rundir_path(dir->path, RUNDIR_BTF);
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!left->btf || !left->btf_release)
		return NULL;
	if (r->was_given) {
		r->btf.is_proved = left->btf_proved && btf_files_equal(&r->btf, copy);
		free(r->btf.release);
		r->btf.release = r->btf.is_proved ? hv_strdup(left->btf_release) : NULL;
		return NULL;
	}
	err = btf_files_load(&r->btf, copy, left->btf_bytes, left->btf, left->btf_release);
	r->btf.is_proved = !err && left->btf_proved;
	if (!err)
		return NULL;
	note(err->message);
	btf_files_close(&r->btf);
	return btf_files_open(&r->btf, left->btf, NULL, 0);
}

/* If the facts are lost, the recovery derives them again. */
static void use_left_facts(struct recover *r, const struct rundir *dir)
{
	HV_AUTO_FREE char *file = rundir_path(dir->path, RUNDIR_FACTS);
	HV_AUTO_ERR struct hv_err *err = NULL;

	kept_facts_deinit(&r->facts);
	err = kept_facts_load(&r->facts, file);
	if (err)
		note(err->message);
}

/* Takes the domain's directory, and records the recovery there. The info keeps the BTF until the
 * changes are undone. */
static struct hv_err *take(const struct cli *cli, const char *spec, struct hv_guest *guest,
			   struct recover *r, struct rundir *ret)
{
	const struct hv_guest_info *guest_info = hv_guest_info(guest);
	AUTO_RUNDIR_INFO struct rundir_info left = {0};
	struct rundir_info info = {
		.id = (char *)guest_info->id,
		.name = (char *)guest_info->name,
		.spec = (char *)spec,
		.uri = (char *)cli->libvirt_uri,
		.vmm_pid = guest_info->pid,
		.service_pid = getpid(),
		.recovers = true,
	};
	struct hv_err *err = domain_state_take(cli->run_dir, guest_info->id, spec, ret);

	if (err)
		return err;
	hv_host_trace_clean(guest_info->id);
	if (ret->has_left && rundir_read_info(ret, &left)) {
		err = use_left_btf(r, ret, &left);
		use_left_facts(r, ret);
		info.btf = left.btf;
		info.btf_release = left.btf_release;
		info.btf_bytes = left.btf_bytes;
		info.btf_proved = left.btf_proved;
	}
	return err ? err : rundir_write_info(ret, &info);
}

static struct hv_err *recover_by(const struct cli *cli, const char *spec, enum hv_via via,
				 struct recover *r)
{
	HV_AUTO_GUEST struct hv_guest *guest = NULL;
	AUTO_RUNDIR struct rundir dir = RUNDIR_NONE;
	struct hv_err *err = hv_guest_open(spec, cli->libvirt_uri, via, &guest);

	r->done.btf = &r->btf;
	r->done.facts = &r->facts;
	if (err)
		return err;
	err = take(cli, spec, guest, r, &dir);
	if (err)
		return err;
	/* The directory is locked, so no other process can attach now. */
	err = recovery_run(guest, NULL, &r->done, say, NULL);
	if (err && hv_guest_has_ended(guest))
		err->facts &= ~(unsigned)HV_ERR_NEEDS_RECOVERY;
	dir.has_left = err && (dir.has_left || r->done.found) && !hv_guest_has_ended(guest);
	audit_recover(cli, guest, r, err);
	r->has_other = hv_guest_info(guest)->has_other_region;
	return err;
}

static struct hv_err *recover(const struct cli *cli, const char *spec, struct recover *r)
{
	struct hv_err *err = look_for_session(cli, spec, r);

	if (err || r->is_over)
		return err;
	err = recover_by(cli, spec, HV_VIA_LEFT, r);
	if (!err && r->has_other)
		err = recover_by(cli, spec, HV_VIA_MONITOR, r);
	if (!err && !r->done.found)
		hv_text_add(&r->done.report, "nothing to recover\n");
	return err;
}

/* Takes ERR. */
static struct hv_err *advise_recover(struct hv_err *err, const char *spec)
{
	if (!err || !(err->facts & HV_ERR_NEEDS_BTF))
		return err;
	err->facts &= ~(unsigned)HV_ERR_NEEDS_BTF;
	return hv_err_add(err,
			  "; `hvtrace recover --btf=FILE %s%s` gets the types of the kernel's "
			  "structures from a BTF file of this kernel",
			  spec_dashes(spec), spec);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct recover r = {.btf = BTF_FILES_NONE, .began_ns = hv_now_ns()};
	struct progress progress = {0};
	const char *btf;
	struct hv_err *err;
	int exit_code;
	bool is_json;
	const char *spec = verb_shown_kernel(cli, argc, argv, &is_json, &btf, &exit_code);

	if (!spec)
		return exit_code;
	if (!have_root(cli))
		return EXIT_FAILED;
	r.was_given = btf != NULL;
	progress_begin(&progress, 0, "recovering", spec);
	err = btf_files_open(&r.btf, btf, btf_files_packaged, BTF_FILES_DIRS_MAX);
	if (!err)
		err = recover(cli, spec, &r);
	progress_end(&progress);
	if (is_json && !err)
		put_report(spec, r.done.report.data, r.done.report.len_bytes);
	else if (r.done.report.data)
		printf("%s", r.done.report.data);
	hv_text_deinit(&r.done.report);
	btf_files_close(&r.btf);
	kept_facts_deinit(&r.facts);
	return fail_if(explain(advise_recover(err, spec), spec));
}

static const char help[] =
	"Reads the journal in the region shared with the guest, and undoes only changes that\n"
	"hvtrace certainly made. If a task may still return into a trampoline, recover waits up to "
	"ten\n"
	"seconds for it.\n\n" VERB_BTF_HELP VERB_SHOWN_HELP;

const struct verb verb_recover = {
	.name = "recover",
	.args = "[--btf=FILE|DIR] [--json] DOMAIN",
	.summary = "Undo the changes that a dead service left in a guest",
	.help = help,
	.run = run,
};
