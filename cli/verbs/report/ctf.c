/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/report/libraries.h"

#include <babeltrace2/babeltrace.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/verbs/verb.h"

#define MUCH_BYTES  (32 << 10)
#define DEPTH_MAX   8
#define STRING_MAX  4096
#define EVENT_BYTES (1u << 20) /* limit for an event's fields; hvtrace's events are smaller */
#define NO_LOGGING  BT_LOGGING_LEVEL_NONE

struct report {
	struct hv_text text; /* not yet printed */
	size_t end_bytes;    /* offset in `text` where the current event must end */
	bool is_cut;	     /* the event ends with a note that it was truncated */
	bool cannot_print;   /* put_out() printed the reason */
};

static void add_field(struct report *r, const bt_field *field, unsigned depth);

/* Bounds the untrusted numbers of elements and members. Adds one note about omitted elements; the
 * containing fields end, too. */
static bool has_room(struct report *r)
{
	if (r->text.len_bytes < r->end_bytes)
		return true;
	if (!r->is_cut)
		hv_text_add(&r->text, "...");
	r->is_cut = true;
	return false;
}

static void add_array(struct report *r, const bt_field *field, unsigned depth)
{
	uint64_t nr = bt_field_array_get_length(field);

	hv_text_add_char(&r->text, '{');
	for (uint64_t i = 0; i < nr && has_room(r); i++) {
		hv_text_add(&r->text, i ? "," : "");
		add_field(r, bt_field_array_borrow_element_field_by_index_const(field, i),
			  depth + 1);
	}
	hv_text_add_char(&r->text, '}');
}

static const bt_field_class_structure_member *member_at(const bt_field_class *class, uint64_t i)
{
	return bt_field_class_structure_borrow_member_by_index_const(class, i);
}

/* Whether member I is the length of the array after it. */
static bool is_length(const bt_field_class *class, uint64_t i)
{
	const bt_field_class *next;
	const bt_field_path *path;
	const bt_field_path_item *last;

	if (i + 1 >= bt_field_class_structure_get_member_count(class))
		return false;
	next = bt_field_class_structure_member_borrow_field_class_const(member_at(class, i + 1));
	if (bt_field_class_get_type(next) != BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY_WITH_LENGTH_FIELD)
		return false;
	path = bt_field_class_array_dynamic_with_length_field_borrow_length_field_path_const(next);
	if (!path || !bt_field_path_get_item_count(path))
		return false;
	last = bt_field_path_borrow_item_by_index_const(path,
							bt_field_path_get_item_count(path) - 1);
	return bt_field_path_item_get_type(last) == BT_FIELD_PATH_ITEM_TYPE_INDEX &&
	       bt_field_path_item_index_get_index(last) == i;
}

static void add_members(struct report *r, const bt_field *field, unsigned depth)
{
	const bt_field_class *class = bt_field_borrow_class_const(field);
	uint64_t nr = bt_field_class_structure_get_member_count(class);

	for (uint64_t i = 0; i < nr && has_room(r); i++) {
		if (is_length(class, i))
			continue;
		hv_text_add_char(&r->text, ' ');
		hv_text_add_utf8(&r->text,
				 bt_field_class_structure_member_get_name(member_at(class, i)),
				 STRING_MAX);
		hv_text_add_char(&r->text, '=');
		add_field(r, bt_field_structure_borrow_member_field_by_index_const(field, i),
			  depth + 1);
	}
}

static void add_unsigned(struct hv_text *out, const bt_field *field)
{
	const bt_field_class *class = bt_field_borrow_class_const(field);
	bool is_hex = bt_field_class_integer_get_preferred_display_base(class) ==
		      BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL;

	hv_text_printf(out, is_hex ? "0x%" PRIx64 : "%" PRIu64,
		       bt_field_integer_unsigned_get_value(field));
}

/* Handles the kinds of fields that hvtrace writes. */
static void add_field(struct report *r, const bt_field *field, unsigned depth)
{
	bt_field_class_type type = bt_field_get_class_type(field);

	if (depth > DEPTH_MAX)
		hv_text_add(&r->text, "...");
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		add_unsigned(&r->text, field);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		hv_text_printf(&r->text, "%" PRId64, bt_field_integer_signed_get_value(field));
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STRING))
		hv_text_add_utf8(&r->text, bt_field_string_get_value(field), STRING_MAX);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY))
		add_array(r, field, depth);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STRUCTURE))
		add_members(r, field, depth);
	else
		hv_text_add(&r->text, "?");
}

/* Returns NULL if STRUCTURE has no member NAME of that type. */
static const bt_field *member(const bt_field *structure, const char *name, bt_field_class_type type)
{
	const bt_field *field =
		structure ? bt_field_structure_borrow_member_field_by_name_const(structure, name)
			  : NULL;

	return field && bt_field_class_type_is(bt_field_get_class_type(field), type) ? field : NULL;
}

static uint64_t number(const bt_field *structure, const char *name)
{
	const bt_field *field = member(structure, name, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER);

	return field ? bt_field_integer_unsigned_get_value(field) : 0;
}

static const bt_field *packet_context(const bt_event *event)
{
	const bt_stream *stream = bt_event_borrow_stream_const(event);

	if (!bt_stream_class_supports_packets(bt_stream_borrow_class_const(stream)))
		return NULL;
	return bt_packet_borrow_context_field_const(bt_event_borrow_packet_const(event));
}

/* Uses the columns of `trace` where they exist. */
static void add_event(struct report *r, const bt_message *message)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	const bt_field *context = bt_event_borrow_common_context_field_const(event);
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	const bt_field *comm = member(context, "comm", BT_FIELD_CLASS_TYPE_STRING);
	const char *name = bt_event_class_get_name(bt_event_borrow_class_const(event));
	HV_AUTO_TEXT struct hv_text task = {0};
	uint64_t time_ns = 0;

	if (bt_stream_class_borrow_default_clock_class_const(
		    bt_stream_borrow_class_const(bt_event_borrow_stream_const(event))))
		time_ns = bt_clock_snapshot_get_value(
			bt_message_event_borrow_default_clock_snapshot_const(message));
	hv_text_add_utf8(&task, comm ? bt_field_string_get_value(comm) : "<...>", STRING_MAX);
	hv_text_add(&task, "");
	hv_text_printf(&r->text, "%16s-%-7" PRIu64 " [%03" PRIu64 "] %6" PRIu64 ".%09" PRIu64 ": ",
		       task.data, number(context, "pid"), number(packet_context(event), "cpu_id"),
		       time_ns / HV_NS_PER_S, time_ns % HV_NS_PER_S);
	hv_text_add_utf8(&r->text, name ? name : "?", STRING_MAX);
	hv_text_add_char(&r->text, ':');
	r->end_bytes = r->text.len_bytes + EVENT_BYTES;
	r->is_cut = false;
	if (payload)
		add_members(r, payload, 0);
	hv_text_add_char(&r->text, '\n');
}

static void add_lost(struct report *r, const bt_message *message)
{
	uint64_t nr;

	if (bt_message_discarded_events_get_count(message, &nr) ==
	    BT_PROPERTY_AVAILABILITY_AVAILABLE)
		hv_text_printf(&r->text, "[LOST %" PRIu64 " EVENTS]\n", nr);
	else
		hv_text_add(&r->text, "[LOST EVENTS]\n");
}

static void put(struct report *r)
{
	if (!r->cannot_print)
		r->cannot_print = put_out(r->text.data, r->text.len_bytes) != 0;
	hv_text_clear(&r->text);
}

static void take(struct report *r, const bt_message *message)
{
	bt_message_type type = bt_message_get_type(message);

	if (type == BT_MESSAGE_TYPE_EVENT)
		add_event(r, message);
	else if (type == BT_MESSAGE_TYPE_DISCARDED_EVENTS)
		add_lost(r, message);
	bt_message_put_ref(message);
	if (r->text.len_bytes >= MUCH_BYTES)
		put(r);
}

static bt_graph_simple_sink_component_initialize_func_status
begin(bt_message_iterator *messages hv_unused, void *ctx hv_unused)
{
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *messages,
								  void *ctx)
{
	struct report *r = ctx;
	bt_message_array_const list;
	uint64_t nr;

	switch (bt_message_iterator_next(messages, &list, &nr)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	default:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	}
	for (uint64_t i = 0; i < nr; i++)
		take(r, list[i]);
	return r->cannot_print ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END
			       : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* The graph: the source of files -> a muxer, which sorts by time -> this sink. */

/* Loaded plugins; NULL: unavailable. */
static const bt_plugin *ctf, *utils;

static const bt_plugin *plugin_of(const char *name)
{
	const bt_plugin *plugin = NULL;

	if (bt_plugin_find(name, BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK)
		return NULL;
	return plugin;
}

static const bt_component_source *add_source(bt_graph *graph, const char *path)
{
	const bt_component_class_source *class =
		bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs");
	bt_value *params = bt_value_map_create(), *inputs = NULL;
	const bt_component_source *source = NULL;

	if (class && params &&
	    bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) ==
		    BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
	    bt_value_array_append_string_element(inputs, path) ==
		    BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK &&
	    bt_graph_add_source_component(graph, class, "source", params, NO_LOGGING, &source) !=
		    BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		source = NULL;
	bt_value_put_ref(params);
	return source;
}

static bool connect_all(bt_graph *graph, const bt_component_source *source,
			const bt_component_filter *muxer, const bt_component_sink *sink)
{
	uint64_t nr = bt_component_source_get_output_port_count(source);

	for (uint64_t i = 0; i < nr; i++)
		if (bt_graph_connect_ports(
			    graph, bt_component_source_borrow_output_port_by_index_const(source, i),
			    bt_component_filter_borrow_input_port_by_index_const(muxer, i),
			    NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
			return false;
	return bt_graph_connect_ports(
		       graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
		       bt_component_sink_borrow_input_port_by_index_const(sink, 0),
		       NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;
}

static bool run(struct report *r, const char *path)
{
	bt_graph *graph = bt_graph_create(0);
	const bt_component_class_filter *class =
		bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer");
	const bt_component_source *source = graph ? add_source(graph, path) : NULL;
	const bt_component_filter *muxer;
	const bt_component_sink *sink;
	bt_graph_run_status status = BT_GRAPH_RUN_STATUS_ERROR;

	if (source && class &&
	    bt_graph_add_filter_component(graph, class, "muxer", NULL, NO_LOGGING, &muxer) ==
		    BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
	    bt_graph_add_simple_sink_component(graph, "sink", begin, consume, NULL, r, &sink) ==
		    BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
	    connect_all(graph, source, muxer, sink))
		do
			status = bt_graph_run(graph);
		while (status == BT_GRAPH_RUN_STATUS_AGAIN);
	put(r);
	bt_graph_put_ref(graph);
	bt_current_thread_clear_error();
	return status == BT_GRAPH_RUN_STATUS_OK;
}

void report_ctf_prepare(void)
{
	ctf = plugin_of("ctf");
	utils = plugin_of("utils");
}

struct hv_err *report_ctf(const char *path, const char *dir)
{
	struct report r = {0};
	struct hv_err *err = NULL;

	if (!ctf || !utils)
		err = hv_err_new(ENOTSUP,
				 "%s: a trace in CTF: libbabeltrace2's plugins are not installed",
				 path);
	else if (!run(&r, dir) && !r.cannot_print)
		err = hv_err_new(EINVAL,
				 "%s: not a whole trace in CTF that libbabeltrace2 can read", path);
	hv_text_deinit(&r.text);
	return err;
}
