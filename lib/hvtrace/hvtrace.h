/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libhvtrace: tracing the kernels of virtual machines from their host.
 *
 * A machine is a guest. A session is the connection to the hvtrace service that traces it. Through
 * a session, a program reads and writes the files of the guest's tracefs tree, and registers
 * callbacks that are called for functions of the guest's kernel.
 *
 * Errors. A function that can fail returns `struct hvt_error *`: NULL on success, otherwise an
 * error that the caller owns and frees with hvt_error_free(). Results come last, are named `ret`,
 * and stay unchanged on failure. A NULL handle is refused with EINVAL. Every function can fail with
 * ENOMEM, and every function that takes a session or ops with one of these:
 *
 *   EACCES      hvtrace.conf(5) does not permit it to this user
 *   ECONNRESET  the session has ended
 *   ENOTCONN    the session was closed
 *   EPROTO      the service sent an invalid reply, or uses another version of the protocol
 *   ESHUTDOWN   the service did not reply in time; all later calls fail, too
 *   ESRCH       the handle belongs to the parent of this process
 *   others      a system call on the connection failed, for example because a seccomp filter of
 *               this process refuses it; all later calls fail, too
 *
 * Ownership. A function named ..._new, ..._join, ..._open, ..._find, ..._list, ..._read or ..._take
 * gives the caller an object or memory that the function named in its description frees. All other
 * pointers are borrowed, from the object in the first argument.
 *
 * Threads. The library has no global state, starts no threads, handles no signals, and never ends
 * the process. Use a session, with everything that was created from it, in one thread at a time.
 * Different sessions are independent.
 *
 * Processes. File descriptors are closed by execve(2). After fork(2), the child cannot use the
 * parent's sessions: calls fail with ESRCH, and freeing them only releases the child's memory and
 * descriptors. The child should free them, because a session whose descriptors are open in any
 * process has not ended for its service.
 *
 * Security. The service parses the guest's memory, so a guest may have taken it over. The library
 * checks and bounds all that a service sends. Names and other text of a guest may be false. The
 * library cannot restrict the process that it is part of: a program with privileges should drop
 * those that it does not need before it joins a session.
 *
 * The program needs root, or a rule in hvtrace.conf(5). See libhvtrace(3). */
#ifndef HVTRACE_H
#define HVTRACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hvt_error;
struct hvt_machine;
struct hvt_session;
struct hvt_file;
struct hvt_instance;
struct hvt_probe;
struct hvt_ops;
struct hvt_event_type;
struct hvt_field;
struct hvt_symbols;
struct hvt_type;

/* -- errors ----------------------------------------------------------------------------------- */

/**
 * hvt_error_errno() - Get the errno value of an error
 * @error: the error, or NULL
 *
 * Return: the errno value; 0 if @error is NULL.
 */
int hvt_error_errno(const struct hvt_error *error);

/**
 * hvt_error_message() - Get the text of an error
 * @error: the error, or NULL
 *
 * The text is one line of UTF-8 for people, without control characters. Do not parse it.
 *
 * Return: the text, valid until the error is freed; "" if @error is NULL.
 */
const char *hvt_error_message(const struct hvt_error *error);

/**
 * hvt_error_reason() - Get the part of an error's text that follows the names of objects
 * @error: the error, or NULL
 *
 * For a program that names the object itself, such as the file that it wrote.
 *
 * Return: the end of the text, or all of it, valid until the error is freed; "" if @error is NULL.
 */
const char *hvt_error_reason(const struct hvt_error *error);

/**
 * hvt_error_free() - Free an error
 * @error: the error, or NULL
 */
void hvt_error_free(struct hvt_error *error);

/**
 * hvt_free() - Free memory that a function of this library returned
 * @memory: the memory, or NULL
 *
 * Like free(3), for languages that have another allocator.
 */
void hvt_free(void *memory);

/**
 * hvt_version() - Get the version of the library
 *
 * Return: a constant string such as "0.2.0".
 */
const char *hvt_version(void);

/* -- machines --------------------------------------------------------------------------------- */

/**
 * enum hvt_machine_state - Whether a machine can be traced now
 * @HVT_MACHINE_FREE: no session; hvt_machine_attach() can start one
 * @HVT_MACHINE_ATTACHING: a session is being started
 * @HVT_MACHINE_ATTACHED: there is a session; hvt_session_join() can join it
 * @HVT_MACHINE_RECOVERING: a session died, and its changes are being undone
 * @HVT_MACHINE_LEFT: a session died, and may have left changes in the guest
 * @HVT_MACHINE_GONE: a session died, and then the VMM ended
 */
enum hvt_machine_state {
	HVT_MACHINE_FREE,
	HVT_MACHINE_ATTACHING,
	HVT_MACHINE_ATTACHED,
	HVT_MACHINE_RECOVERING,
	HVT_MACHINE_LEFT,
	HVT_MACHINE_GONE,
};

/**
 * struct hvt_config - Where the library finds hvtrace
 * @size_bytes: sizeof(struct hvt_config), for future members
 * @run_dir: the directory of the sessions; NULL: /run/hvtrace
 * @program: the program that hvt_machine_attach() runs; NULL: the one of the installed package
 */
struct hvt_config {
	size_t size_bytes;
	const char *run_dir;
	const char *program;
};

/**
 * hvt_machine_list() - List the machines that have, or had, a session
 * @config: NULL for the defaults
 * @ret: the machines; free the list with hvt_machine_list_free()
 * @ret_nr: their number
 *
 * Lists only the sessions that this user may use. Does not contact any service.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_machine_list(const struct hvt_config *config, struct hvt_machine ***ret,
				   size_t *ret_nr);

/**
 * hvt_machine_list_free() - Free a list of machines, with the machines
 * @list: the list of hvt_machine_list(), or NULL
 * @nr: the number of machines
 */
void hvt_machine_list_free(struct hvt_machine **list, size_t nr);

/**
 * hvt_machine_find() - Find a machine that has, or had, a session
 * @config: NULL for the defaults
 * @name: the name or UUID of a libvirt domain, "qmp:PATH", "pid:N" or "vmm:ID"
 * @ret: the machine; free it with hvt_machine_free()
 *
 * Return: NULL, or an error: ENOENT if there is no such session that this user may use.
 */
struct hvt_error *hvt_machine_find(const struct hvt_config *config, const char *name,
				   struct hvt_machine **ret);

/**
 * hvt_machine_attach() - Start a session with a machine
 * @config: NULL for the defaults
 * @name: as for hvt_machine_find(), or the number of a libvirt domain
 * @options: more options of hvtrace-attach(8), ended by NULL; NULL for none
 * @ret: the machine; free it with hvt_machine_free()
 *
 * Runs hvtrace-attach(8) and waits until it ends. Needs root. The session continues when the
 * program ends, unless the program calls hvt_session_own() or hvt_session_detach(). A program that
 * ignores SIGCHLD, or waits for every child, must not do so during the call.
 *
 * Return: NULL, or an error: EIO with the message of hvtrace-attach(8), ENOENT if it is not
 * installed.
 */
struct hvt_error *hvt_machine_attach(const struct hvt_config *config, const char *name,
				     const char *const *options, struct hvt_machine **ret);

/**
 * hvt_machine_free() - Free a machine
 * @machine: the machine, or NULL
 */
void hvt_machine_free(struct hvt_machine *machine);

/**
 * hvt_machine_name() - Get the name of a machine
 * @machine: the machine
 *
 * Return: the name of the domain; NULL if @machine is NULL.
 */
const char *hvt_machine_name(const struct hvt_machine *machine);

/**
 * hvt_machine_id() - Get the unique name of a machine's session
 * @machine: the machine
 *
 * Return: the UUID of the domain, or another unique name; NULL if @machine is NULL.
 */
const char *hvt_machine_id(const struct hvt_machine *machine);

/**
 * hvt_machine_vmm_pid() - Get the process id of a machine's VMM
 * @machine: the machine
 *
 * Return: the process id; 0 if it is unknown or @machine is NULL.
 */
pid_t hvt_machine_vmm_pid(const struct hvt_machine *machine);

/**
 * hvt_machine_state() - Get the state of a machine
 * @machine: the machine
 *
 * Return: the state when the machine was listed or found; HVT_MACHINE_FREE if @machine is NULL.
 */
enum hvt_machine_state hvt_machine_state(const struct hvt_machine *machine);

/* -- sessions --------------------------------------------------------------------------------- */

/**
 * hvt_session_join() - Connect to the session of a machine
 * @machine: the machine; not needed after the call
 * @ret: the session; close it with hvt_session_close()
 *
 * Return: NULL, or an error: ENOTCONN if the machine has no session.
 */
struct hvt_error *hvt_session_join(const struct hvt_machine *machine, struct hvt_session **ret);

/**
 * hvt_session_close() - Disconnect from a session
 * @session: the session, or NULL
 *
 * Unregisters all ops, removes all instances and probes that were created with it, and ignores
 * errors: the service removes them, too, when the program ends or is killed. The ops can be
 * registered with another session; of instances and probes, only the name is still known, and the
 * caller frees them. In a
 * callback, the session is closed after the callback returns, and can no longer be used.
 */
void hvt_session_close(struct hvt_session *session);

/**
 * hvt_session_own() - Let the session end with this program
 * @session: the session
 *
 * When the session is closed, or the program ends or is killed, the service detaches from the
 * guest. Needs root.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_session_own(struct hvt_session *session);

/**
 * hvt_session_detach() - End the session, for all its clients
 * @session: the session, which only hvt_session_close() can use after success
 * @ret: the service's report on the restored guest; free it with hvt_free(). May be NULL
 *
 * Needs root.
 *
 * Return: NULL, or an error: EBUSY if the guest cannot be restored now.
 */
struct hvt_error *hvt_session_detach(struct hvt_session *session, char **ret);

/**
 * hvt_session_stat() - Get the state and the counts of a session
 * @session: the session
 * @ret: the JSON object of hvtrace-stat(8); free it with hvt_free()
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_session_stat(struct hvt_session *session, char **ret);

/**
 * hvt_session_set_timeout() - Limit the time of each request
 * @session: the session
 * @timeout_ms: the limit in milliseconds; 0: 600 s, the default
 *
 * A request that exceeds the limit fails with ESHUTDOWN, and so do all later ones. Ops that are
 * registered keep the limit that they were registered with.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_session_set_timeout(struct hvt_session *session, unsigned timeout_ms);

/**
 * hvt_session_set_deadline() - Limit the time of all following requests together
 * @session: the session
 * @total_ms: the limit in milliseconds from now; 0: no limit, the default
 *
 * For a program that must be done in time, whatever the service does. The limit of
 * hvt_session_set_timeout() applies to each request nevertheless. A request that exceeds one of
 * them fails with ESHUTDOWN, and so do all later ones. Does not apply to ops.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_session_set_deadline(struct hvt_session *session, unsigned total_ms);

/**
 * typedef hvt_note_t - Called for each line that a service sends while a request runs
 * @text: one line of UTF-8 for people, without control characters, valid during the call
 * @data: the pointer given to hvt_session_set_notes()
 *
 * The callback must not use the session.
 */
typedef void (*hvt_note_t)(const char *text, void *data);

/**
 * hvt_session_set_notes() - Receive what a service reports while a request runs
 * @session: the session
 * @note: called with each line; NULL: the lines are ignored, the default
 * @data: for the callback
 *
 * hvt_session_detach() reports what it waits for. A line without memory for it is skipped.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_session_set_notes(struct hvt_session *session, hvt_note_t note, void *data);

#define HVT_NO_LIMIT UINT32_MAX

/**
 * hvt_session_set_max_overhead() - Limit the part of the guest's time that tracing takes
 * @session: the session
 * @max_ppm: the limit for each vCPU, in parts per million; HVT_NO_LIMIT: only measure the cost
 *
 * If tracing exceeds the lowest limit of the session's clients, the service stops tracing the most
 * expensive functions (hvtrace-attach(8), --max-overhead). hvt_session_stat() has the cost and
 * names the functions. The limit lasts until the session is closed. A limit needs root.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_session_set_max_overhead(struct hvt_session *session, uint32_t max_ppm);

/**
 * hvt_session_watch() - Do not keep an idle session alive
 * @session: the session
 *
 * For a program that watches guests for long: the session ends after its idle time
 * (hvtrace-attach(8), --idle) although this program is connected. The service measures the cost of
 * tracing for the next two minutes; hvt_session_stat() has it.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_session_watch(struct hvt_session *session);

/* -- files ------------------------------------------------------------------------------------ */

/* Paths are relative to the top of the guest's tracefs tree: "current_tracer",
 * "instances/mine/set_ftrace_filter". The tree has the errors of the kernel's tracefs. */

#define HVT_FILE_MAX_BYTES (64u << 20)

/**
 * hvt_file_read() - Read a whole file
 * @session: the session
 * @path: its path
 * @ret: the contents, followed by a NUL that is not counted; free it with hvt_free()
 * @ret_bytes: the length; may be NULL
 *
 * Return: NULL, or an error: EFBIG if the file has more than HVT_FILE_MAX_BYTES, EAGAIN if there is
 * nothing to read now (trace_pipe).
 */
struct hvt_error *hvt_file_read(struct hvt_session *session, const char *path, char **ret,
				size_t *ret_bytes);

/**
 * enum hvt_write_mode - How to treat the old contents of a file
 * @HVT_WRITE_REPLACE: like `> FILE`
 * @HVT_WRITE_APPEND: like `>> FILE`
 */
enum hvt_write_mode {
	HVT_WRITE_REPLACE,
	HVT_WRITE_APPEND,
};

/**
 * hvt_file_write() - Write a file
 * @session: the session
 * @path: its path
 * @mode: how to treat the old contents
 * @text: what to write, without a newline
 *
 * Like `echo TEXT > PATH`. Opens, writes and closes the file. A filter takes effect when the file
 * is closed, so the guest is changed when the call returns.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_file_write(struct hvt_session *session, const char *path,
				 enum hvt_write_mode mode, const char *text);

/**
 * hvt_file_list() - List the names in a directory
 * @session: the session
 * @path: the path of the directory; "" for the top
 * @ret: the names, each followed by a newline, those of directories by '/' and a newline; free it
 *       with hvt_free()
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_file_list(struct hvt_session *session, const char *path, char **ret);

/**
 * hvt_file_open() - Open a file, to read or write it in parts
 * @session: the session
 * @path: its path
 * @flags: O_RDONLY, O_WRONLY or O_RDWR of open(2), with O_TRUNC or O_APPEND
 * @ret: the file; free it with hvt_file_close() or hvt_file_abandon()
 *
 * A file that is open can keep others from changing settings, as in the kernel. When the session is
 * closed, the service closes the file as hvt_file_abandon() does; the program must still free it.
 *
 * Other flags are ignored.
 *
 * Return: NULL, or an error: EMFILE if the program has too many open files.
 */
struct hvt_error *hvt_file_open(struct hvt_session *session, const char *path, int flags,
				struct hvt_file **ret);

#define HVT_WAIT_FOREVER UINT32_MAX

/**
 * hvt_file_read_part() - Read the next part of a file
 * @file: the file
 * @wait_ms: how long to wait for data, in milliseconds; HVT_WAIT_FOREVER: no limit
 * @ret: the data, which the library owns; valid until the next call for the same session
 * @ret_bytes: its length, at most HVT_PART_MAX_BYTES; 0 at the end of the file
 *
 * Only files of events have to wait for data (trace_pipe, trace_pipe_raw); they have no end.
 *
 * Return: NULL, or an error: EAGAIN if there was no data within @wait_ms.
 */
struct hvt_error *hvt_file_read_part(struct hvt_file *file, uint32_t wait_ms, const void **ret,
				     size_t *ret_bytes);

#define HVT_PART_MAX_BYTES (256u << 10)

/**
 * hvt_file_write_part() - Write the next part of a file
 * @file: the file
 * @data: what to write
 * @len_bytes: its length
 *
 * Writes all of it, like a loop around write(2). A word that the part does not end, by white space,
 * continues in the next part.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_file_write_part(struct hvt_file *file, const void *data, size_t len_bytes);

/**
 * hvt_file_close() - Close a file
 * @file: the file, which is freed in any case, or NULL
 *
 * A filter takes effect now.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_file_close(struct hvt_file *file);

/**
 * hvt_file_abandon() - Close a file, and discard a filter that was written to it
 * @file: the file, which is freed in any case, or NULL
 *
 * For a filter of which only a part could be written: a part would be another filter.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_file_abandon(struct hvt_file *file);

/**
 * hvt_dir_make() - Make a directory that stays
 * @session: the session
 * @path: its path, such as "instances/mine"
 *
 * The directory exists until hvt_dir_remove() or the end of the service. hvt_instance_new() makes
 * one that ends with the program.
 *
 * Return: NULL, or an error: EEXIST if it exists, EPERM outside of instances/.
 */
struct hvt_error *hvt_dir_make(struct hvt_session *session, const char *path);

/**
 * hvt_dir_remove() - Remove a directory, with its settings and events
 * @session: the session
 * @path: its path
 *
 * Return: NULL, or an error: EBUSY if one of its files is open.
 */
struct hvt_error *hvt_dir_remove(struct hvt_session *session, const char *path);

/* -- instances -------------------------------------------------------------------------------- */

/**
 * hvt_instance_new() - Make an instance for this program
 * @session: the session
 * @name: the name of the directory in instances/; NULL: a unique one
 * @ret: the instance; free it with hvt_instance_free()
 *
 * An instance has its own tracer, filters, events and buffer. It is removed with its settings when
 * it is freed, when the session is closed, and when the program ends or is killed.
 *
 * Return: NULL, or an error: EEXIST if there is an instance of that name.
 */
struct hvt_error *hvt_instance_new(struct hvt_session *session, const char *name,
				   struct hvt_instance **ret);

/**
 * hvt_instance_path() - Get the path of an instance
 * @instance: the instance
 *
 * Return: the path, such as "instances/mine"; NULL if @instance is NULL.
 */
const char *hvt_instance_path(const struct hvt_instance *instance);

/**
 * hvt_instance_remove() - Remove an instance from the guest's tree
 * @instance: the instance, which the caller must still free
 *
 * Return: NULL, or an error: EBUSY if one of its files is open.
 */
struct hvt_error *hvt_instance_remove(struct hvt_instance *instance);

/**
 * hvt_instance_free() - Free an instance, and remove it if hvt_instance_remove() did not
 * @instance: the instance, or NULL
 */
void hvt_instance_free(struct hvt_instance *instance);

/* -- probes ----------------------------------------------------------------------------------- */

/**
 * hvt_probe_new() - Define an event of the program's own
 * @session: the session
 * @definition: a line of dynamic_events, such as "p do_sys_openat2 path=+0($arg2):ustring"
 * @ret: the probe; free it with hvt_probe_free()
 *
 * The grammar is the kernel's: p and r for functions and their returns, f and t for functions and
 * tracepoints by fprobe, e for events. Without a name, the event gets a unique one. It is not
 * enabled: hvt_ops_new_events() does that. It is removed when the probe is freed, when the session
 * is closed, and when the program ends or is killed; if others have enabled it, as soon as they
 * disable it. Needs the right to control events.
 *
 * Return: NULL, or an error: EEXIST if there is an event of that name, EINVAL if the definition is
 * wrong.
 */
struct hvt_error *hvt_probe_new(struct hvt_session *session, const char *definition,
				struct hvt_probe **ret);

/**
 * hvt_probe_event() - Get the name of a probe's event
 * @probe: the probe
 *
 * Return: the name as for hvt_ops_new_events(), such as "kprobes:opens"; NULL if @probe is NULL.
 */
const char *hvt_probe_event(const struct hvt_probe *probe);

/**
 * hvt_probe_remove() - Remove a probe's event from the guest
 * @probe: the probe; free it nevertheless
 *
 * Return: NULL, or an error: EBUSY if the event is enabled.
 */
struct hvt_error *hvt_probe_remove(struct hvt_probe *probe);

/**
 * hvt_probe_free() - Free a probe, and remove its event if hvt_probe_remove() did not
 * @probe: the probe, or NULL
 */
void hvt_probe_free(struct hvt_probe *probe);

/* -- callbacks -------------------------------------------------------------------------------- */

/**
 * struct hvt_call - A call of a function of the guest's kernel
 * @ip: the address of the function, as in the kernel's function tracer
 * @parent_ip: the address that the function returns to
 * @time_ns: the time in nanoseconds, by the trace_clock of the ops' instance (local)
 * @cpu: the vCPU
 * @pid: the task's pid in the guest's initial pid namespace
 * @flags: HVT_CALL_...
 * @preempt_depth: how often preemption was disabled, at most 15
 * @migrate_depth: how often migration was disabled, at most 15
 *
 * The guest chooses all values. Later versions may add members at the end.
 */
struct hvt_call {
	uint64_t ip;
	uint64_t parent_ip;
	uint64_t time_ns;
	uint32_t cpu;
	uint32_t pid;
	uint32_t flags;
	uint8_t preempt_depth;
	uint8_t migrate_depth;
};

/* Flags of struct hvt_call and others, as in the kernel's enum trace_flag_type. */
#define HVT_CALL_IRQS_OFF	0x01 /* interrupts were disabled */
#define HVT_CALL_NEED_RESCHED	0x04 /* the task was about to be preempted */
#define HVT_CALL_HARDIRQ	0x08 /* in an interrupt handler */
#define HVT_CALL_SOFTIRQ	0x10 /* in a softirq */
#define HVT_CALL_PREEMPT_NEEDED 0x20 /* the vCPU was asked to reschedule */
#define HVT_CALL_NMI		0x40 /* in an NMI handler */
#define HVT_CALL_BH_OFF		0x80 /* softirqs were disabled */

/**
 * typedef hvt_function_t - Called for each call of a function
 * @call: the call, valid until the callback returns
 * @data: as given to hvt_ops_new()
 *
 * May use the session, and register and unregister any ops, including its own.
 */
typedef void (*hvt_function_t)(const struct hvt_call *call, void *data);

/**
 * struct hvt_graph - A call of a function of the guest's kernel, or its return
 * @ip: the address of the function
 * @time_ns: the time in nanoseconds, by the trace_clock of the ops' instance (local)
 * @duration_ns: the time between call and return, by the same clock; 0 for a call
 * @return_value: what the function returned, whatever its type is; 0 without HVT_GRAPH_HAS_VALUE
 * @host_ns: the part of @duration_ns in which the host did not run the vCPU; 0 without
 *           HVT_GRAPH_HAS_HOST
 * @what: HVT_GRAPH_...
 * @depth: the number of traced calls that this one is in
 * @cpu: the vCPU
 * @pid: the task's pid in the guest's initial pid namespace
 * @flags: HVT_CALL_...
 * @preempt_depth: how often preemption was disabled, at most 15
 * @migrate_depth: how often migration was disabled, at most 15
 *
 * The guest chooses all values. Later versions may add members at the end.
 */
struct hvt_graph {
	uint64_t ip;
	uint64_t time_ns;
	uint64_t duration_ns;
	uint64_t return_value;
	uint64_t host_ns;
	uint32_t what;
	uint32_t depth;
	uint32_t cpu;
	uint32_t pid;
	uint32_t flags;
	uint8_t preempt_depth;
	uint8_t migrate_depth;
};

/* Flags in `what` of struct hvt_graph. */
#define HVT_GRAPH_RETURN    0x01 /* the function returned; otherwise it was called */
#define HVT_GRAPH_HAS_VALUE 0x02 /* return_value; with options/funcgraph-retval */
#define HVT_GRAPH_HAS_HOST  0x04 /* host_ns; with options/funcgraph-host */

/**
 * typedef hvt_graph_t - Called for each call of a function, or for each return
 * @graph: the call or return, valid until the callback returns
 * @data: as given to hvt_ops_new_graph()
 *
 * May call the functions that hvt_function_t may call.
 */
typedef void (*hvt_graph_t)(const struct hvt_graph *graph, void *data);

/**
 * struct hvt_event - A trace event of the guest, or of the host's KVM
 * @type: its type, valid while the ops are registered
 * @entry: the record as in trace_pipe_raw, not aligned
 * @entry_bytes: its length
 * @time_ns: the time in nanoseconds, by the trace_clock of the ops' instance (local)
 * @cpu: the vCPU
 * @pid: the task's pid in the guest's initial pid namespace; for events of the host, the thread
 * @flags: HVT_CALL_...
 * @preempt_depth: how often preemption was disabled, at most 15
 * @migrate_depth: how often migration was disabled, at most 15
 *
 * The guest chooses all values. Later versions may add members at the end.
 */
struct hvt_event {
	const struct hvt_event_type *type;
	const void *entry;
	size_t entry_bytes;
	uint64_t time_ns;
	uint32_t cpu;
	uint32_t pid;
	uint32_t flags;
	uint8_t preempt_depth;
	uint8_t migrate_depth;
};

/**
 * typedef hvt_event_t - Called for each event
 * @event: the event, valid until the callback returns or unregisters its ops
 * @data: as given to hvt_ops_new_events()
 *
 * May call the functions that hvt_function_t may call.
 */
typedef void (*hvt_event_t)(const struct hvt_event *event, void *data);

/**
 * typedef hvt_lost_t - Called when events were lost
 * @cpu: the vCPU
 * @nr: the number of lost events; 0: it is unknown
 * @data: as given when the ops were made
 *
 * The events were lost because the program did not read them in time. They happened just before the
 * next event of this vCPU.
 */
typedef void (*hvt_lost_t)(uint32_t cpu, uint64_t nr, void *data);

/**
 * hvt_ops_new() - Make callbacks for functions of a guest's kernel
 * @function: called for each call
 * @lost: called when calls were lost; may be NULL
 * @data: for the callbacks
 * @ret: the ops; free them with hvt_ops_free()
 *
 * Like the kernel's struct ftrace_ops. Without a filter, the callback is called for every function.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_ops_new(hvt_function_t function, hvt_lost_t lost, void *data,
			      struct hvt_ops **ret);

/**
 * hvt_ops_new_graph() - Make callbacks for calls and returns of functions
 * @call: called for each call; may be NULL if @returned is not
 * @returned: called for each return; may be NULL if @call is not
 * @lost: called when calls or returns were lost; may be NULL
 * @data: for the callbacks
 * @ret: the ops; free them with hvt_ops_free()
 *
 * Like the kernel's struct fgraph_ops and its function_graph. The callbacks receive no return of a
 * call that is open when the ops are registered or unregistered. hvt_ops_set_file() sets more:
 * "set_graph_function" chooses functions that are traced with all that they call,
 * "options/funcgraph-retval" 1 records return values.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_ops_new_graph(hvt_graph_t call, hvt_graph_t returned, hvt_lost_t lost,
				    void *data, struct hvt_ops **ret);

/**
 * hvt_ops_new_events() - Make a callback for trace events
 * @events: names or patterns such as "sched:sched_switch irq:*", as in set_event
 * @event: called for each event
 * @lost: called when events were lost; may be NULL
 * @data: for the callbacks
 * @ret: the ops; free them with hvt_ops_free()
 *
 * The events are those that exist when the ops are registered. hvt_ops_set_file() sets filters:
 * "events/sched/sched_switch/filter" to "prev_pid == 1". hvt_ops_set_filter() and
 * hvt_ops_set_notrace() fail with EINVAL.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_ops_new_events(const char *events, hvt_event_t event, hvt_lost_t lost,
				     void *data, struct hvt_ops **ret);

/**
 * struct hvt_stack - The callers of a call or event
 * @callers: addresses of the guest's kernel, the innermost first, valid until the callback returns
 * @nr_callers: their number, at most HVT_CALLERS_MAX
 * @time_ns: the time in nanoseconds, which is a little later than that of the event
 * @cpu: the vCPU
 * @pid: the task's pid in the guest's initial pid namespace
 *
 * The guest chooses all values. Use only the members that the version of this header has.
 */
struct hvt_stack {
	const uint64_t *callers;
	size_t nr_callers;
	uint64_t time_ns;
	uint32_t cpu;
	uint32_t pid;
};

#define HVT_CALLERS_MAX 128

/**
 * typedef hvt_stack_t - Called for each stack
 * @stack: the stack, valid until the callback returns
 * @data: as given when the ops were made
 *
 * The stack belongs to the last event of the same task on the same vCPU that has no stack yet: its
 * callback was called before. An event whose stack was lost has none. As for hvt_function_t.
 */
typedef void (*hvt_stack_t)(const struct hvt_stack *stack, void *data);

/**
 * hvt_ops_set_stacks() - Receive the stack of each call or event
 * @ops: the ops of hvt_ops_new() or hvt_ops_new_events(), not registered
 * @stack: called for each stack; NULL: stacks are not recorded
 *
 * Return: NULL, or an error: EALREADY if @ops are registered, EINVAL for a graph.
 */
struct hvt_error *hvt_ops_set_stacks(struct hvt_ops *ops, hvt_stack_t stack);

/**
 * struct hvt_page - A page of events of one vCPU
 * @bytes: the page, as in the kernel's trace_pipe_raw
 * @len_bytes: its length
 * @time_ns: the time of the page in nanoseconds, by the trace_clock of the ops' instance
 * @nr_lost: the number of events that were lost before the page; 0: it is unknown
 * @cpu: the vCPU
 * @has_lost: 1 if events were lost before the page, else 0
 *
 * The guest chooses all values. Use only the members that the version of this header has.
 */
struct hvt_page {
	const void *bytes;
	size_t len_bytes;
	uint64_t time_ns;
	uint64_t nr_lost;
	uint32_t cpu;
	uint32_t has_lost;
};

/**
 * typedef hvt_page_t - Called for each page of events
 * @page: the page, valid until the callback returns or unregisters its ops
 * @data: as given when the ops were made
 *
 * As for hvt_function_t.
 */
typedef void (*hvt_page_t)(const struct hvt_page *page, void *data);

/**
 * hvt_ops_set_pages() - Receive pages in place of events
 * @ops: the ops, not registered
 * @page: called for each page in place of the callbacks of @ops; NULL: these are called
 *
 * For programs that want millions of events a second: events are neither copied nor sorted. The
 * pages of a vCPU are in the order of time; those of different vCPUs have no order. The ops' lost
 * callback is not called. hvt_session_dispatch() counts pages in place of events.
 *
 * Return: NULL, or an error: EALREADY if @ops are registered.
 */
struct hvt_error *hvt_ops_set_pages(struct hvt_ops *ops, hvt_page_t page);

/**
 * struct hvt_page_entry - An event in a page
 * @at: the place in the page; 0 before the first event
 * @time_ns: the time in nanoseconds
 * @bytes: the record, not aligned, valid as long as the page; its first two bytes are its
 *         common_type, and events/SYSTEM/EVENT/format of the ops' instance describes it
 * @len_bytes: its length, a multiple of 4
 */
struct hvt_page_entry {
	size_t at;
	uint64_t time_ns;
	const void *bytes;
	size_t len_bytes;
};

/**
 * hvt_page_next() - Find the next event of a page
 * @page: the page
 * @entry: the last event, which is replaced; initially all zeros
 *
 * Return: 1; 0 after the last event.
 */
int hvt_page_next(const struct hvt_page *page, struct hvt_page_entry *entry);

/**
 * hvt_ops_free() - Free ops, and unregister them if they are registered
 * @ops: the ops, or NULL
 */
void hvt_ops_free(struct hvt_ops *ops);

/**
 * hvt_ops_set_filter() - Choose the functions
 * @ops: the ops, registered or not
 * @functions: names or patterns such as "vfs_* do_exit", as in set_ftrace_filter; NULL: all
 *
 * Return: NULL, or an error: EINVAL if @ops are registered and a pattern matches no function; the
 * filter is then unchanged.
 */
struct hvt_error *hvt_ops_set_filter(struct hvt_ops *ops, const char *functions);

/**
 * hvt_ops_set_notrace() - Choose functions to leave out
 * @ops: the ops, registered or not
 * @functions: as for hvt_ops_set_filter(); NULL: none
 *
 * Return: NULL, or an error, as for hvt_ops_set_filter().
 */
struct hvt_error *hvt_ops_set_notrace(struct hvt_ops *ops, const char *functions);

/**
 * hvt_ops_set_file() - Set a file of the instance that ops use
 * @ops: the ops, registered or not
 * @name: its path in the instance, such as "set_ftrace_pid" or "options/funcgraph-retval"
 * @text: what to write, as for hvt_file_write() with HVT_WRITE_REPLACE
 *
 * The file is written at each registration before the first event, in the order in which the files
 * were set first, and now if @ops are registered. Options that change the format of events, such
 * as funcgraph-retval, have an effect only at a registration.
 *
 * Return: NULL, or an error: EPERM if the library uses the file itself (current_tracer, set_event,
 * set_ftrace_filter, set_ftrace_notrace, tracing_on, buffer_percent). If @ops are registered, also
 * an error of writing the file; the setting is then unchanged.
 */
struct hvt_error *hvt_ops_set_file(struct hvt_ops *ops, const char *name, const char *text);

/**
 * hvt_ops_register() - Start to trace
 * @ops: the ops, not registered
 * @session: the session, borrowed until the ops are unregistered
 *
 * Several ops can be registered, with filters that overlap. Each has a separate instance and a
 * connection to the service. The service limits both.
 *
 * Return: NULL, or an error: EALREADY if @ops are registered, EINVAL if a pattern of a filter
 * matches no function.
 */
struct hvt_error *hvt_ops_register(struct hvt_ops *ops, struct hvt_session *session);

/**
 * hvt_ops_unregister() - Stop to trace
 * @ops: the ops, registered
 *
 * The guest's functions are restored, and no callback is called, when the call returns. Calls that
 * hvt_session_dispatch() has not delivered are dropped; hvt_ops_pause() avoids that.
 *
 * Return: NULL, or an error: ENOENT if @ops are not registered. If the error is another one, the
 * ops are unregistered nevertheless.
 */
struct hvt_error *hvt_ops_unregister(struct hvt_ops *ops);

/**
 * hvt_ops_pause() - Record no more calls until hvt_ops_resume()
 * @ops: the ops, registered
 *
 * Like the kernel's tracing_on. The next hvt_session_dispatch() begins to deliver the recorded
 * calls, whether or not hvt_session_fd() is readable.
 *
 * Return: NULL, or an error: ENOENT if @ops are not registered.
 */
struct hvt_error *hvt_ops_pause(struct hvt_ops *ops);

/**
 * hvt_ops_resume() - Record calls again
 * @ops: the ops, registered
 *
 * Return: NULL, or an error: ENOENT if @ops are not registered.
 */
struct hvt_error *hvt_ops_resume(struct hvt_ops *ops);

/**
 * hvt_ops_path() - Get the path of the instance that ops use
 * @ops: the ops
 *
 * Its files show what was recorded. hvt_ops_set_file() sets them.
 *
 * Return: the path, such as "instances/api-4711-1", valid until the ops are unregistered; NULL if
 * they are not registered.
 */
const char *hvt_ops_path(const struct hvt_ops *ops);

/**
 * hvt_session_fd() - Get the descriptor that shows that there is something to dispatch
 * @session: the session
 *
 * When poll(2) reports the descriptor readable, call hvt_session_dispatch(). Do not read or close
 * it. It stays the same while the session is open.
 *
 * Return: the descriptor; -1 if @session is NULL or was closed.
 */
int hvt_session_fd(const struct hvt_session *session);

/**
 * hvt_session_dispatch() - Call the callbacks for the calls that have been recorded
 * @session: the session
 * @max: the maximum number of calls to deliver; 0: no limit
 * @ret_nr: the number of delivered calls; may be NULL
 *
 * Does not wait for the guest. The calls of one ops are in the order of their times, over all
 * vCPUs; different ops have no common order. To establish the order, calls are held back until
 * the vCPUs are known to have no earlier ones: for about 20 ms if the guest is quiet. Not to be
 * called in a callback.
 *
 * Return: NULL, or an error: ECONNRESET if the session has ended, ECANCELED if a callback closed
 * it, EBUSY in a callback.
 */
struct hvt_error *hvt_session_dispatch(struct hvt_session *session, size_t max, size_t *ret_nr);

/**
 * hvt_session_task_name() - Find the name of a task of the guest
 * @session: the session
 * @pid: as in struct hvt_call
 * @ret: the name, at most 15 bytes and a NUL; "<...>" if it is unknown
 *
 * Names are requested from the service at most ten times a second: a new task, and one that was
 * renamed, have their name after 100 ms.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_session_task_name(struct hvt_session *session, uint32_t pid, char ret[16]);

/* -- events ----------------------------------------------------------------------------------- */

/**
 * hvt_event_type_system() - Get the system of a type of events
 * @type: the type
 *
 * Return: the name, such as "sched"; NULL if @type is NULL.
 */
const char *hvt_event_type_system(const struct hvt_event_type *type);

/**
 * hvt_event_type_name() - Get the name of a type of events
 * @type: the type
 *
 * Return: the name, such as "sched_switch"; NULL if @type is NULL.
 */
const char *hvt_event_type_name(const struct hvt_event_type *type);

/**
 * hvt_event_type_field() - Get a field of a type of events
 * @type: the type
 * @index: 0 for the first field; the common_... fields are the first ones
 *
 * Return: the field, valid as long as the type; NULL after the last one.
 */
const struct hvt_field *hvt_event_type_field(const struct hvt_event_type *type, size_t index);

/**
 * hvt_event_type_find() - Find a field of a type of events
 * @type: the type
 * @name: the name of the field
 *
 * Return: the field, valid as long as the type; NULL if the type has no field of that name.
 */
const struct hvt_field *hvt_event_type_find(const struct hvt_event_type *type, const char *name);

/**
 * enum hvt_field_kind - What the value of a field is
 * @HVT_FIELD_NUMBER: a number or an address: hvt_event_number()
 * @HVT_FIELD_STRING: a string: hvt_event_string()
 * @HVT_FIELD_ARRAY: an array of numbers, or of bytes: hvt_event_element(), hvt_event_bytes()
 */
enum hvt_field_kind {
	HVT_FIELD_NUMBER,
	HVT_FIELD_STRING,
	HVT_FIELD_ARRAY,
};

/**
 * hvt_field_name() - Get the name of a field
 * @field: the field
 *
 * Return: the name; NULL if @field is NULL.
 */
const char *hvt_field_name(const struct hvt_field *field);

/**
 * hvt_field_type() - Get the C type of a field
 * @field: the field
 *
 * Return: the type, such as "pid_t", "char[16]" or "__data_loc char[]"; NULL if @field is NULL.
 */
const char *hvt_field_type(const struct hvt_field *field);

/**
 * hvt_field_kind() - Get the kind of a field
 * @field: the field
 *
 * Return: the kind; HVT_FIELD_ARRAY if @field is NULL.
 */
enum hvt_field_kind hvt_field_kind(const struct hvt_field *field);

/**
 * hvt_field_is_signed() - Find out whether the numbers of a field are signed
 * @field: the field
 *
 * Return: 1 if they are, else 0.
 */
int hvt_field_is_signed(const struct hvt_field *field);

/**
 * hvt_field_element_bytes() - Get the size of the numbers of a field
 * @field: the field
 *
 * Return: 1, 2, 4 or 8; 1 if the type of the elements of an array is unknown; 0 if @field is NULL.
 */
size_t hvt_field_element_bytes(const struct hvt_field *field);

/**
 * hvt_event_number() - Get a number of an event
 * @event: the event
 * @field: a field of its type
 * @ret: the number; a signed one is extended to 64 bits
 *
 * Return: 1; 0 if the event does not contain the field or it is not a number.
 */
int hvt_event_number(const struct hvt_event *event, const struct hvt_field *field, uint64_t *ret);

/**
 * hvt_event_string() - Get a string of an event
 * @event: the event
 * @field: a field of its type
 * @ret: the string, cut if it is too long, and a NUL
 * @ret_bytes: the size of @ret, at least 1
 *
 * The string can contain any bytes, including control characters.
 *
 * Return: the length of the whole string; -1 if the event does not contain the field or it is not a
 * string.
 */
ssize_t hvt_event_string(const struct hvt_event *event, const struct hvt_field *field, char *ret,
			 size_t ret_bytes);

/**
 * hvt_event_element() - Get a number of an array of an event
 * @event: the event
 * @field: a field of its type
 * @index: 0 for the first element
 * @ret: the number; a signed one is extended to 64 bits
 *
 * Return: 1; 0 after the last element, and if the event does not contain the field or it is not an
 * array.
 */
int hvt_event_element(const struct hvt_event *event, const struct hvt_field *field, size_t index,
		      uint64_t *ret);

/**
 * hvt_event_bytes() - Get the bytes of a string or an array of an event
 * @event: the event
 * @field: a field of its type
 * @ret_bytes: their number, without the NUL of a string
 *
 * Return: the bytes, not aligned, valid as long as the event; NULL if the event does not contain
 * the field or it is a number.
 */
const void *hvt_event_bytes(const struct hvt_event *event, const struct hvt_field *field,
			    size_t *ret_bytes);

/* -- symbols ---------------------------------------------------------------------------------- */

/**
 * hvt_symbols_read() - Read the names of the guest's kernel
 * @session: the session; not needed after the call
 * @ret: the symbols; free them with hvt_symbols_free()
 *
 * The symbols of modules that the guest loads later are not in it.
 *
 * Return: NULL, or an error.
 */
struct hvt_error *hvt_symbols_read(struct hvt_session *session, struct hvt_symbols **ret);

/**
 * hvt_symbols_free() - Free symbols
 * @symbols: the symbols, or NULL
 */
void hvt_symbols_free(struct hvt_symbols *symbols);

/**
 * hvt_symbols_name() - Find the symbol at or before an address
 * @symbols: the symbols, which any number of threads may use at the same time
 * @address: an address of the guest's kernel
 * @ret_offset: @address minus the symbol's address; may be NULL
 * @ret_module: the name of the symbol's module, or NULL for the kernel itself; may be NULL
 *
 * Return: the name, valid until the symbols are freed; NULL if no symbol is found.
 */
const char *hvt_symbols_name(const struct hvt_symbols *symbols, uint64_t address,
			     uint64_t *ret_offset, const char **ret_module);

/**
 * hvt_symbols_address() - Find the address of a symbol
 * @symbols: the symbols
 * @name: its name
 *
 * Return: the lowest address of a symbol of that name; 0 if no symbol is found.
 */
uint64_t hvt_symbols_address(const struct hvt_symbols *symbols, const char *name);

/* -- types ------------------------------------------------------------------------------------ */

/**
 * hvt_type_find() - Find a structure or union of the guest's kernel
 * @session: the session; not needed after the call
 * @name: its name, such as "task_struct", or that of a typedef
 * @ret: the type with all members; free it with hvt_type_free()
 *
 * The types of the kernel itself are known, not those of its modules. If the kernel has no BTF, and
 * none was given to hvtrace-attach(8), only some structures with some members are known.
 *
 * Return: NULL, or an error: ENOENT if there is no such structure or union.
 */
struct hvt_error *hvt_type_find(struct hvt_session *session, const char *name,
				struct hvt_type **ret);

/**
 * hvt_type_free() - Free a type
 * @type: the type, or NULL
 */
void hvt_type_free(struct hvt_type *type);

/**
 * hvt_type_name() - Get the name of a type
 * @type: the type
 *
 * Return: the name, without "struct" or "union"; NULL if @type is NULL.
 */
const char *hvt_type_name(const struct hvt_type *type);

/**
 * hvt_type_bytes() - Get the size of a type
 * @type: the type
 *
 * Return: the size in bytes; 0 if @type is NULL. If hvt_type_is_whole() is 0, the type can be larger.
 */
uint64_t hvt_type_bytes(const struct hvt_type *type);

/**
 * hvt_type_is_whole() - Find out whether all members of a type are known
 * @type: the type
 *
 * Return: 1 if they are; 0 if the kernel has no BTF, and for NULL.
 */
int hvt_type_is_whole(const struct hvt_type *type);

/**
 * enum hvt_member_kind - The kind of a member, or of each element of an array
 * @HVT_MEMBER_OTHER: anything else, such as a floating point number
 * @HVT_MEMBER_NUMBER: a number, a truth value or an enum, of 1, 2, 4 or 8 bytes
 * @HVT_MEMBER_CHAR: a char
 * @HVT_MEMBER_POINTER: an address
 * @HVT_MEMBER_STRUCT: a structure
 * @HVT_MEMBER_UNION: a union
 */
enum hvt_member_kind {
	HVT_MEMBER_OTHER,
	HVT_MEMBER_NUMBER,
	HVT_MEMBER_CHAR,
	HVT_MEMBER_POINTER,
	HVT_MEMBER_STRUCT,
	HVT_MEMBER_UNION,
};

/**
 * struct hvt_member - A member of a structure or union
 * @name: its name; "" for an anonymous structure or union
 * @type: its C type without qualifiers, such as "struct list_head *" or "char[16]"
 * @target: the name of the structure or union that it is or points to, for hvt_type_find(); NULL if
 *          there is none, or it has no name
 * @offset: bytes from the start of the type
 * @element_bytes: the size in bytes, of an element if it is an array
 * @nr_elements: the elements of an array, of all its dimensions; 1 if it is no array
 * @kind: an enum hvt_member_kind
 * @depth: the number of structures and unions inside the type that contain the member
 * @bits: the number of bits of a bit-field; 0 if it is none
 * @first_bit: the lowest bit of a bit-field in the byte at @offset
 * @is_signed: 1 if its numbers are signed, else 0
 * @is_array: 1 if it is an array, else 0
 *
 * The guest chooses all values, but the whole member lies within hvt_type_bytes(). Use only the
 * members that the version of this header has.
 */
struct hvt_member {
	const char *name;
	const char *type;
	const char *target;
	uint64_t offset;
	uint64_t element_bytes;
	uint64_t nr_elements;
	uint32_t kind;
	uint32_t depth;
	uint32_t bits;
	uint32_t first_bit;
	uint32_t is_signed;
	uint32_t is_array;
};

/**
 * hvt_type_member() - Find a member by its path
 * @type: the type
 * @path: a name, or names with dots between them: "comm", "se.vruntime"
 *
 * Members of anonymous structures and unions have no dot before them. A path leads through the first
 * element of an array, but not of one without elements, such as the last member of some structures.
 *
 * Return: the member, valid as long as the type; NULL if there is no such member.
 */
const struct hvt_member *hvt_type_member(const struct hvt_type *type, const char *path);

/**
 * hvt_type_member_at() - Get a member by its number
 * @type: the type
 * @index: 0 for the first member
 *
 * The members are in the order of their declaration. The members of a structure or union follow it,
 * with a @depth that is 1 larger.
 *
 * Return: the member, valid as long as the type; NULL after the last one.
 */
const struct hvt_member *hvt_type_member_at(const struct hvt_type *type, size_t index);

/**
 * hvt_member_number() - Get a number from a copy of an object
 * @member: a member of the object's type
 * @index: the element of an array; 0 if the member is no array
 * @object: a copy of the object, of hvt_type_bytes() bytes
 * @ret: the number or address; a signed one is extended to 64 bits
 *
 * Return: 1; 0 if the member is not a number, char or pointer, and after the last element.
 */
int hvt_member_number(const struct hvt_member *member, size_t index, const void *object,
		      uint64_t *ret);

/* -- memory ----------------------------------------------------------------------------------- */

/**
 * hvt_memory_read() - Read the memory of the guest's kernel
 * @session: the session
 * @address: an address of the guest's kernel, such as hvt_symbols_address() returns
 * @buffer: receives the bytes
 * @len_bytes: their number
 * @ret_bytes: the number of bytes before the first one that could not be read, also if the call
 *             fails; may be NULL
 *
 * The guest does not notice, continues to run, and can change the memory at any time: bytes that
 * were read together may be from different moments, and an object may have been freed. Reads RAM
 * only, never a device. Needs root or the right `memory` of hvtrace.conf(5).
 *
 * Return: NULL, or an error: EFAULT if no RAM is mapped at one of the bytes, or @address is not an
 * address of the kernel. @buffer is then changed up to this byte.
 */
struct hvt_error *hvt_memory_read(struct hvt_session *session, uint64_t address, void *buffer,
				  size_t len_bytes, size_t *ret_bytes);

/**
 * hvt_memory_of_cpu() - Find a CPU's copy of a per-CPU variable
 * @session: the session
 * @address: the address of the variable's symbol, as hvt_symbols_address() returns it
 * @cpu: the CPU
 * @ret: the address of the copy
 *
 * Needs root or the right `memory` of hvtrace.conf(5).
 *
 * Return: NULL, or an error: EINVAL if there is no such CPU.
 */
struct hvt_error *hvt_memory_of_cpu(struct hvt_session *session, uint64_t address, unsigned cpu,
				    uint64_t *ret);

#ifdef __cplusplus
}
#endif

#endif
