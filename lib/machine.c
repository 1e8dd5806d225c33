/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "lib/alloc.h"
#include "lib/error.h"

#define RUN_DIR	    "/run/hvtrace"
#define OPTIONS_MAX 64
#define OUTPUT_MAX  4096

struct hvt_machine {
	struct rundir_info info;
	enum domain_state state;
};

const char *hvt_version(void)
{
	return HVTRACE_VERSION;
}

const struct rundir_info *machine_info(const struct hvt_machine *machine)
{
	return machine ? &machine->info : NULL;
}

void hvt_machine_free(struct hvt_machine *machine)
{
	if (!machine)
		return;
	rundir_info_deinit(&machine->info);
	free(machine);
}

void hvt_machine_list_free(struct hvt_machine **list, size_t nr)
{
	for (size_t i = 0; list && i < nr; i++)
		hvt_machine_free(list[i]);
	free(list);
}

const char *hvt_machine_name(const struct hvt_machine *machine)
{
	return machine ? machine->info.name : NULL;
}

const char *hvt_machine_id(const struct hvt_machine *machine)
{
	return machine ? machine->info.id : NULL;
}

pid_t hvt_machine_vmm_pid(const struct hvt_machine *machine)
{
	return machine ? machine->info.vmm_pid : 0;
}

_Static_assert((int)HVT_MACHINE_FREE == DOMAIN_FREE &&
		       (int)HVT_MACHINE_ATTACHING == DOMAIN_ATTACHING &&
		       (int)HVT_MACHINE_ATTACHED == DOMAIN_ATTACHED &&
		       (int)HVT_MACHINE_RECOVERING == DOMAIN_RECOVERING &&
		       (int)HVT_MACHINE_LEFT == DOMAIN_LEFT && (int)HVT_MACHINE_GONE == DOMAIN_GONE,
	       "the states are equal");

enum hvt_machine_state hvt_machine_state(const struct hvt_machine *machine)
{
	return machine ? (enum hvt_machine_state)machine->state : HVT_MACHINE_FREE;
}

/* -- the run directory ------------------------------------------------------------------------ */

static struct hvt_error *check_config(const struct hvt_config *config, const char **ret_run_dir,
				      const char **ret_program)
{
	if (config && config->size_bytes != sizeof(*config))
		return error_new(EINVAL, "unknown size of the config: %zu bytes",
				 config->size_bytes);
	*ret_run_dir = config && config->run_dir ? config->run_dir : RUN_DIR;
	*ret_program = config && config->program ? config->program : HVTRACE_PROGRAM;
	return NULL;
}

/* Adds the session in DIR, if there is one. */
static struct hvt_error *add(const char *dir, struct hvt_machine ***list, size_t *nr)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	int code = session_info_read(dir, &info);
	struct hvt_machine **grown;

	if (code)
		return code == ENOMEM ? error_no_memory() : NULL;
	grown = lib_realloc_array(*list, *nr + 1, sizeof(*grown));
	if (!grown)
		return error_no_memory();
	*list = grown;
	grown[*nr] = lib_alloc(sizeof(**grown));
	if (!grown[*nr])
		return error_no_memory();
	*grown[*nr] = (struct hvt_machine){info, domain_state(&info)};
	(*nr)++;
	info = (struct rundir_info){0};
	return NULL;
}

static struct hvt_error *list_dir(const char *run_dir, DIR *dir, struct hvt_machine ***list,
				  size_t *nr)
{
	struct hvt_error *error = NULL;
	struct dirent *entry;

	while (!error && (entry = readdir(dir))) {
		char path[PATH_MAX];

		if (entry->d_name[0] != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", run_dir, entry->d_name) < PATH_MAX)
			error = add(path, list, nr);
	}
	return error;
}

/* A missing directory contains no sessions. */
static struct hvt_error *list(const char *run_dir, struct hvt_machine ***ret, size_t *ret_nr)
{
	DIR *dir = opendir(run_dir);
	struct hvt_machine **machines = NULL;
	struct hvt_error *error = NULL;
	size_t nr = 0;

	if (!dir && errno != ENOENT)
		return error_new(errno, "%s: %s", run_dir, strerror(errno));
	if (dir) {
		error = list_dir(run_dir, dir, &machines, &nr);
		closedir(dir);
	}
	if (error) {
		hvt_machine_list_free(machines, nr);
		return error;
	}
	*ret = machines;
	*ret_nr = nr;
	return NULL;
}

struct hvt_error *hvt_machine_list(const struct hvt_config *config, struct hvt_machine ***ret,
				   size_t *ret_nr)
{
	const char *run_dir = NULL, *program = NULL;
	struct hvt_error *error = check_config(config, &run_dir, &program);

	if (error)
		return error;
	if (!ret || !ret_nr)
		return error_null(ret ? "ret_nr" : "ret");
	return list(run_dir, ret, ret_nr);
}

static struct hvt_error *find(const char *run_dir, const char *name, struct hvt_machine **ret)
{
	struct hvt_machine **machines = NULL;
	size_t nr = 0, best;
	struct hvt_error *error = list(run_dir, &machines, &nr);

	if (error)
		return error;
	best = nr;
	for (size_t i = 0; i < nr; i++)
		if (session_info_names(&machines[i]->info, name, NULL) &&
		    (best == nr || machines[i]->info.live))
			best = i;
	if (best < nr) {
		*ret = machines[best];
		machines[best] = NULL;
	} else {
		error = error_new(ENOENT, "domain '%s': there is no session that this user may use",
				  name);
	}
	hvt_machine_list_free(machines, nr);
	return error;
}

struct hvt_error *hvt_machine_find(const struct hvt_config *config, const char *name,
				   struct hvt_machine **ret)
{
	const char *run_dir = NULL, *program = NULL;
	struct hvt_error *error = check_config(config, &run_dir, &program);

	if (error)
		return error;
	if (!name || !ret)
		return error_null(name ? "ret" : "name");
	return find(run_dir, name, ret);
}

/* -- attach ----------------------------------------------------------------------------------- */

/* Returns the last line that the program wrote, without the program's name. */
static const char *last_line(int fd, char text[OUTPUT_MAX])
{
	off_t end = lseek(fd, 0, SEEK_END);
	ssize_t n = pread(fd, text, OUTPUT_MAX - 1, end < OUTPUT_MAX ? 0 : end - OUTPUT_MAX + 1);
	char *line;

	text[n > 0 ? n : 0] = '\0';
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	return strncmp(line, "hvtrace: ", 9) == 0 ? line + 9 : line;
}

/* Starts PROGRAM with ERR_FD as its standard error. Returns an errno value. The program gets a
 * fixed environment, because a library does not read the environment of its process. */
static int start(const char *program, char *const argv[], int err_fd, pid_t *ret)
{
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *environment[] = {path, NULL};
	posix_spawn_file_actions_t actions;
	int code = posix_spawn_file_actions_init(&actions);

	if (code)
		return code;
	code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!code)
		code = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	if (!code)
		code = posix_spawn_file_actions_adddup2(&actions, err_fd, 2);
	if (!code)
		code = posix_spawn(ret, program, &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	return code;
}

/* Returns whether the program succeeded, or it is unknown because the caller ignores SIGCHLD. */
static bool wait_for(pid_t pid)
{
	int status = 0;
	pid_t found;

	do
		found = waitpid(pid, &status, 0);
	while (found < 0 && errno == EINTR);
	return found < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static struct hvt_error *run(const char *program, const char *name, char *const argv[])
{
	HV_AUTO_FD int fd = memfd_create("attach", MFD_CLOEXEC);
	char text[OUTPUT_MAX];
	pid_t pid;
	int code;

	if (fd < 0)
		return error_new(errno, "domain '%s': cannot make a file for the output of %s: %s",
				 name, program, strerror(errno));
	code = start(program, argv, fd, &pid);
	if (code)
		return error_new(code, "%s: %s", program, strerror(code));
	if (!wait_for(pid))
		return error_new(EIO, "%s", last_line(fd, text));
	return NULL;
}

struct hvt_error *hvt_machine_attach(const struct hvt_config *config, const char *name,
				     const char *const *options, struct hvt_machine **ret)
{
	const char *argv[OPTIONS_MAX + 5] = {"hvtrace", "attach"};
	const char *run_dir = NULL, *program = NULL;
	struct hvt_error *error = check_config(config, &run_dir, &program);
	unsigned nr = 2;

	if (error)
		return error;
	if (!name || !ret)
		return error_null(name ? "ret" : "name");
	for (; options && *options; options++) {
		if (nr == OPTIONS_MAX + 2)
			return error_new(E2BIG, "more than %d options", OPTIONS_MAX);
		argv[nr++] = *options;
	}
	argv[nr++] = "--";
	argv[nr] = name;
	error = run(program, name, (char *const *)argv);
	return error ? error : find(run_dir, name, ret);
}
