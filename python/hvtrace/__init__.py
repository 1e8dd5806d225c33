# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces the kernels of virtual machines from their host, with libhvtrace.

    import hvtrace

    with hvtrace.join("web1") as session, session.trace("vfs_*") as calls:
        symbols = session.symbols()
        for call in calls:
            print(call.time_ns, session.task_name(call.pid), symbols.name(call.ip))

The program needs root, or a rule in hvtrace.conf(5). libhvtrace(3) describes the library: errors,
threads, fork, and the dangers of a guest's data.

Use a session, with everything that was created from it, in one thread at a time."""

from __future__ import annotations

import collections
import ctypes
import enum
import errno
import os
import select
import time
from types import TracebackType
from typing import Callable, Dict, Generic, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

__all__ = ["Call", "Error", "Event", "File", "Flag", "Graph", "Instance", "Machine", "Member", "MemberKind", "Object", "Ops", "Page", "Probe",
           "Records", "Session", "Stack", "State", "Symbol", "Symbols", "Type", "Types", "attach", "find", "join", "machines", "version"]


class Error(OSError):
    """An error of the library: errno and strerror. reason: the part of strerror that follows the names of objects."""

    reason: str = ""


class State(enum.IntEnum):
    """Whether a machine can be traced now."""

    FREE = 0
    ATTACHING = 1
    ATTACHED = 2
    RECOVERING = 3
    LEFT = 4
    GONE = 5


class Flag(enum.IntFlag):
    """The context of a call."""

    IRQS_OFF = 0x01
    NEED_RESCHED = 0x04
    HARDIRQ = 0x08
    SOFTIRQ = 0x10
    PREEMPT_NEEDED = 0x20
    NMI = 0x40
    BH_OFF = 0x80


class Call(NamedTuple):
    """A call of a function of the guest's kernel."""

    ip: int
    parent_ip: int
    time_ns: int
    cpu: int
    pid: int
    flags: Flag
    preempt_depth: int
    migrate_depth: int


class Graph(NamedTuple):
    """A call of a function of the guest's kernel, or its return. duration_ns: None for a call. return_value: None
    without options/funcgraph-retval. host_ns: None without options/funcgraph-host."""

    ip: int
    time_ns: int
    duration_ns: Optional[int]
    return_value: Optional[int]
    host_ns: Optional[int]
    depth: int
    cpu: int
    pid: int
    flags: Flag
    preempt_depth: int
    migrate_depth: int

    @property
    def is_return(self) -> bool:
        return self.duration_ns is not None


class Stack(NamedTuple):
    """The callers of the last call or event of the same task on the same vCPU, the innermost first."""

    callers: Tuple[int, ...]
    time_ns: int
    cpu: int
    pid: int


class Page(NamedTuple):
    """A page of events of a vCPU, as in trace_pipe_raw. nr_lost: the number of events that were lost before it; None: it is
    unknown."""

    data: bytes
    cpu: int
    time_ns: int
    nr_lost: Optional[int]


Value = Union[int, bytes, str, Tuple[int, ...], None]


class Event(NamedTuple):
    """A trace event. event["FIELD"] is the value of a field: a number, a string, bytes, or a tuple of larger numbers; None
    if the event is too short for it. For events of the host, pid is the thread."""

    system: str
    name: str
    fields: Dict[str, Value]
    time_ns: int
    cpu: int
    pid: int
    flags: Flag
    preempt_depth: int
    migrate_depth: int

    def __getitem__(self, field):  # type: ignore[no-untyped-def,override]
        return self.fields[field] if isinstance(field, str) else tuple.__getitem__(self, field)


class Symbol(NamedTuple):
    """The symbol at or before an address."""

    name: str
    offset: int
    module: Optional[str]

    def __str__(self) -> str:
        offset = f"+{self.offset:#x}" if self.offset else ""
        return f"{self.name}{offset} [{self.module}]" if self.module else self.name + offset


class MemberKind(enum.IntEnum):
    """The kind of a member of a structure, or of each element of an array."""

    OTHER = 0
    NUMBER = 1
    CHAR = 2
    POINTER = 3
    STRUCT = 4
    UNION = 5


class Member(NamedTuple):
    """A member of a structure or union. target: the name of the structure or union that it is or points to. nr_elements: None
    if it is no array. bits: None if it is no bit-field, which begins at bit first_bit of the byte at offset."""

    name: str
    type: str
    target: Optional[str]
    offset: int
    element_bytes: int
    nr_elements: Optional[int]
    kind: MemberKind
    depth: int
    bits: Optional[int]
    first_bit: int
    is_signed: bool

    @property
    def size(self) -> int:
        """The bytes that it occupies, of a bit-field those that contain a bit of it."""
        if self.bits:
            return (self.first_bit + self.bits + 7) // 8
        return self.element_bytes * (1 if self.nr_elements is None else self.nr_elements)


# -- the C library ---------------------------------------------------------------------------------


class _Config(ctypes.Structure):
    _fields_ = [("size_bytes", ctypes.c_size_t), ("run_dir", ctypes.c_char_p), ("program", ctypes.c_char_p)]


class _Call(ctypes.Structure):
    _fields_ = [("ip", ctypes.c_uint64), ("parent_ip", ctypes.c_uint64), ("time_ns", ctypes.c_uint64), ("cpu", ctypes.c_uint32),
                ("pid", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("preempt_depth", ctypes.c_uint8),
                ("migrate_depth", ctypes.c_uint8)]


class _Graph(ctypes.Structure):
    _fields_ = [("ip", ctypes.c_uint64), ("time_ns", ctypes.c_uint64), ("duration_ns", ctypes.c_uint64),
                ("return_value", ctypes.c_uint64), ("host_ns", ctypes.c_uint64), ("what", ctypes.c_uint32),
                ("depth", ctypes.c_uint32), ("cpu", ctypes.c_uint32), ("pid", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("preempt_depth", ctypes.c_uint8), ("migrate_depth", ctypes.c_uint8)]


class _Event(ctypes.Structure):
    _fields_ = [("type", ctypes.c_void_p), ("entry", ctypes.c_void_p), ("entry_bytes", ctypes.c_size_t), ("time_ns", ctypes.c_uint64),
                ("cpu", ctypes.c_uint32), ("pid", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("preempt_depth", ctypes.c_uint8),
                ("migrate_depth", ctypes.c_uint8)]


class _Stack(ctypes.Structure):
    _fields_ = [("callers", ctypes.POINTER(ctypes.c_uint64)), ("nr_callers", ctypes.c_size_t), ("time_ns", ctypes.c_uint64),
                ("cpu", ctypes.c_uint32), ("pid", ctypes.c_uint32)]


class _Page(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_void_p), ("len_bytes", ctypes.c_size_t), ("time_ns", ctypes.c_uint64), ("nr_lost", ctypes.c_uint64),
                ("cpu", ctypes.c_uint32), ("has_lost", ctypes.c_uint32)]


class _PageEntry(ctypes.Structure):
    _fields_ = [("at", ctypes.c_size_t), ("time_ns", ctypes.c_uint64), ("bytes", ctypes.c_void_p), ("len_bytes", ctypes.c_size_t)]


class _Member(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_char_p), ("target", ctypes.c_char_p), ("offset", ctypes.c_uint64),
                ("element_bytes", ctypes.c_uint64), ("nr_elements", ctypes.c_uint64), ("kind", ctypes.c_uint32), ("depth", ctypes.c_uint32),
                ("bits", ctypes.c_uint32), ("first_bit", ctypes.c_uint32), ("is_signed", ctypes.c_uint32), ("is_array", ctypes.c_uint32)]


_FIELD_NUMBER, _FIELD_STRING, _FIELD_ARRAY = range(3)
_GRAPH_RETURN, _GRAPH_HAS_VALUE, _GRAPH_HAS_HOST = 1, 2, 4

_P, _S, _SIZE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Call), _P)
_GRAPH = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Graph), _P)
_EVENT = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Event), _P)
_STACK = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stack), _P)
_PAGE = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Page), _P)
_NOTE = ctypes.CFUNCTYPE(None, _S, _P)
_LOST = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint64, _P)
_lib = ctypes.CDLL("libhvtrace.so.0")

# {name: (result, arguments)}; the result _E is an error object.
_E = _P
_FUNCTIONS = {
    "hvt_error_errno": (ctypes.c_int, [_P]),
    "hvt_error_message": (_S, [_P]),
    "hvt_error_reason": (_S, [_P]),
    "hvt_error_free": (None, [_P]),
    "hvt_free": (None, [_P]),
    "hvt_version": (_S, []),
    "hvt_machine_list": (_E, [_P, _P, _P]),
    "hvt_machine_list_free": (None, [_P, _SIZE]),
    "hvt_machine_find": (_E, [_P, _S, _P]),
    "hvt_machine_attach": (_E, [_P, _S, _P, _P]),
    "hvt_machine_free": (None, [_P]),
    "hvt_machine_name": (_S, [_P]),
    "hvt_machine_id": (_S, [_P]),
    "hvt_machine_vmm_pid": (ctypes.c_int, [_P]),
    "hvt_machine_state": (ctypes.c_int, [_P]),
    "hvt_session_join": (_E, [_P, _P]),
    "hvt_session_close": (None, [_P]),
    "hvt_session_own": (_E, [_P]),
    "hvt_session_detach": (_E, [_P, _P]),
    "hvt_session_stat": (_E, [_P, _P]),
    "hvt_session_set_timeout": (_E, [_P, ctypes.c_uint]),
    "hvt_session_set_deadline": (_E, [_P, ctypes.c_uint]),
    "hvt_session_set_notes": (_E, [_P, _NOTE, _P]),
    "hvt_session_set_max_overhead": (_E, [_P, ctypes.c_uint32]),
    "hvt_session_watch": (_E, [_P]),
    "hvt_session_fd": (ctypes.c_int, [_P]),
    "hvt_session_dispatch": (_E, [_P, _SIZE, _P]),
    "hvt_session_task_name": (_E, [_P, ctypes.c_uint32, _P]),
    "hvt_file_read": (_E, [_P, _S, _P, _P]),
    "hvt_file_write": (_E, [_P, _S, ctypes.c_int, _S]),
    "hvt_file_list": (_E, [_P, _S, _P]),
    "hvt_file_open": (_E, [_P, _S, ctypes.c_int, _P]),
    "hvt_file_read_part": (_E, [_P, ctypes.c_uint32, _P, _P]),
    "hvt_file_write_part": (_E, [_P, _S, _SIZE]),
    "hvt_file_close": (_E, [_P]),
    "hvt_file_abandon": (_E, [_P]),
    "hvt_dir_make": (_E, [_P, _S]),
    "hvt_dir_remove": (_E, [_P, _S]),
    "hvt_instance_new": (_E, [_P, _S, _P]),
    "hvt_instance_path": (_S, [_P]),
    "hvt_instance_remove": (_E, [_P]),
    "hvt_instance_free": (None, [_P]),
    "hvt_probe_new": (_E, [_P, _S, _P]),
    "hvt_probe_event": (_S, [_P]),
    "hvt_probe_remove": (_E, [_P]),
    "hvt_probe_free": (None, [_P]),
    "hvt_ops_new": (_E, [_FUNCTION, _LOST, _P, _P]),
    "hvt_ops_new_graph": (_E, [_GRAPH, _GRAPH, _LOST, _P, _P]),
    "hvt_ops_new_events": (_E, [_S, _EVENT, _LOST, _P, _P]),
    "hvt_ops_set_stacks": (_E, [_P, _STACK]),
    "hvt_ops_set_pages": (_E, [_P, _PAGE]),
    "hvt_page_next": (ctypes.c_int, [_P, _P]),
    "hvt_ops_free": (None, [_P]),
    "hvt_ops_set_filter": (_E, [_P, _S]),
    "hvt_ops_set_notrace": (_E, [_P, _S]),
    "hvt_ops_set_file": (_E, [_P, _S, _S]),
    "hvt_ops_register": (_E, [_P, _P]),
    "hvt_ops_unregister": (_E, [_P]),
    "hvt_ops_pause": (_E, [_P]),
    "hvt_ops_resume": (_E, [_P]),
    "hvt_ops_path": (_S, [_P]),
    "hvt_event_type_system": (_S, [_P]),
    "hvt_event_type_name": (_S, [_P]),
    "hvt_event_type_field": (_P, [_P, _SIZE]),
    "hvt_event_type_find": (_P, [_P, _S]),
    "hvt_field_name": (_S, [_P]),
    "hvt_field_type": (_S, [_P]),
    "hvt_field_kind": (ctypes.c_int, [_P]),
    "hvt_field_is_signed": (ctypes.c_int, [_P]),
    "hvt_field_element_bytes": (_SIZE, [_P]),
    "hvt_event_number": (ctypes.c_int, [_P, _P, _P]),
    "hvt_event_string": (ctypes.c_ssize_t, [_P, _P, _P, _SIZE]),
    "hvt_event_element": (ctypes.c_int, [_P, _P, _SIZE, _P]),
    "hvt_event_bytes": (_P, [_P, _P, _P]),
    "hvt_symbols_read": (_E, [_P, _P]),
    "hvt_symbols_free": (None, [_P]),
    "hvt_symbols_name": (_S, [_P, ctypes.c_uint64, _P, _P]),
    "hvt_symbols_address": (ctypes.c_uint64, [_P, _S]),
    "hvt_type_find": (_E, [_P, _S, _P]),
    "hvt_type_free": (None, [_P]),
    "hvt_type_name": (_S, [_P]),
    "hvt_type_bytes": (ctypes.c_uint64, [_P]),
    "hvt_type_is_whole": (ctypes.c_int, [_P]),
    "hvt_type_member": (ctypes.POINTER(_Member), [_P, _S]),
    "hvt_type_member_at": (ctypes.POINTER(_Member), [_P, _SIZE]),
    "hvt_member_number": (ctypes.c_int, [ctypes.POINTER(_Member), _SIZE, _P, _P]),
    "hvt_memory_read": (_E, [_P, ctypes.c_uint64, _P, _SIZE, _P]),
    "hvt_memory_of_cpu": (_E, [_P, ctypes.c_uint64, ctypes.c_uint, _P]),
}
for _name, (_result, _arguments) in _FUNCTIONS.items():
    _function = getattr(_lib, _name)
    _function.restype, _function.argtypes = _result, _arguments


def _check(error: Optional[int]) -> None:
    """Raises ERROR, which may be None, and frees it."""
    if error:
        raised = Error(_lib.hvt_error_errno(error), _lib.hvt_error_message(error).decode())
        raised.reason = _lib.hvt_error_reason(error).decode()
        _lib.hvt_error_free(error)
        raise raised


def _take_text(memory: ctypes.c_void_p, length: Optional[int] = None) -> str:
    data = ctypes.string_at(memory, -1 if length is None else length)
    _lib.hvt_free(memory)
    return data.decode(errors="replace")


def _bytes(text: str) -> bytes:
    """A C string cannot contain a NUL."""
    if "\0" in text:
        raise ValueError("the text contains a NUL")
    return text.encode(errors="surrogateescape")


def _config(run_dir: Optional[str], program: Optional[str] = None) -> _Config:
    return _Config(ctypes.sizeof(_Config), run_dir and _bytes(run_dir), program and _bytes(program))


def version() -> str:
    """The version of the library."""
    return _lib.hvt_version().decode()


class _Handle:
    """An object of the library, which close() and the end of a `with` statement free."""

    _free = ""

    def __init__(self, pointer: Optional[int]) -> None:
        self._pointer = pointer

    @property
    def _p(self) -> int:
        if not self._pointer:
            raise ValueError(f"the {type(self).__name__} is closed")
        return self._pointer

    def close(self) -> None:
        """Frees the object. Does nothing if it is closed."""
        pointer, self._pointer = self._pointer, None
        if pointer:
            getattr(_lib, self._free)(pointer)

    def __enter__(self):  # type: ignore[no-untyped-def]
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_pointer", None) and _lib is not None:
            self.close()


# -- machines --------------------------------------------------------------------------------------


class Machine(_Handle):
    """A guest that has, or had, a session."""

    _free = "hvt_machine_free"

    @property
    def name(self) -> str:
        return _lib.hvt_machine_name(self._p).decode(errors="replace")

    @property
    def id(self) -> str:
        return _lib.hvt_machine_id(self._p).decode(errors="replace")

    @property
    def vmm_pid(self) -> int:
        """The process id of the VMM; 0 if it is unknown."""
        return _lib.hvt_machine_vmm_pid(self._p)

    @property
    def state(self) -> State:
        """The state when the machine was found."""
        return State(_lib.hvt_machine_state(self._p))

    def join(self) -> Session:
        """Connects to the machine's session."""
        pointer = _P()
        _check(_lib.hvt_session_join(self._p, ctypes.byref(pointer)))
        return Session(pointer.value)

    def __repr__(self) -> str:
        return f"<Machine {self.name}: {self.state.name}>" if self._pointer else "<Machine: closed>"


def machines(run_dir: Optional[str] = None) -> List[Machine]:
    """The machines that have, or had, a session that this user may use."""
    found, nr = ctypes.POINTER(_P)(), _SIZE()
    _check(_lib.hvt_machine_list(ctypes.byref(_config(run_dir)), ctypes.byref(found), ctypes.byref(nr)))
    result = [Machine(found[i]) for i in range(nr.value)]
    _lib.hvt_free(ctypes.cast(found, _P))
    return result


def find(name: str, run_dir: Optional[str] = None) -> Machine:
    """The machine that NAME names: a domain's name or UUID, "qmp:PATH", "pid:N" or "vmm:ID"."""
    pointer = _P()
    _check(_lib.hvt_machine_find(ctypes.byref(_config(run_dir)), _bytes(name), ctypes.byref(pointer)))
    return Machine(pointer.value)


def attach(name: str, options: Sequence[str] = (), run_dir: Optional[str] = None, program: Optional[str] = None) -> Machine:
    """Starts a session with the machine NAME, as hvtrace-attach(8) does with OPTIONS."""
    pointer = _P()
    words = (_S * (len(options) + 1))(*[_bytes(option) for option in options], None)
    _check(_lib.hvt_machine_attach(ctypes.byref(_config(run_dir, program)), _bytes(name), words, ctypes.byref(pointer)))
    return Machine(pointer.value)


def join(name: str, run_dir: Optional[str] = None) -> Session:
    """Connects to the session of the machine that NAME names."""
    with find(name, run_dir) as machine:
        return machine.join()


# -- sessions --------------------------------------------------------------------------------------


class Session(_Handle):
    """A connection to a session. Paths are relative to the guest's tracefs tree."""

    _free = "hvt_session_close"

    def __init__(self, pointer: Optional[int]) -> None:
        super().__init__(pointer)
        self._raised: Optional[BaseException] = None
        self._ops: List[Ops] = []  # the registered ones; the library calls their callbacks
        self._note: Optional[object] = None  # the callback of set_notes(), for the library
        self._types: Dict[str, Type] = {}  # those that were found

    def close(self) -> None:
        super().close()
        self._ops.clear()

    def read(self, path: str) -> str:
        """The contents of a file."""
        memory, length = _P(), _SIZE()
        _check(_lib.hvt_file_read(self._p, _bytes(path), ctypes.byref(memory), ctypes.byref(length)))
        return _take_text(memory, length.value)

    def write(self, path: str, text: str, append: bool = False) -> None:
        """Like `echo TEXT > PATH`, or `>> PATH`."""
        _check(_lib.hvt_file_write(self._p, _bytes(path), int(append), _bytes(text)))

    def list(self, path: str = "") -> List[str]:
        """The names in a directory. Names of directories end with '/'."""
        memory = _P()
        _check(_lib.hvt_file_list(self._p, _bytes(path), ctypes.byref(memory)))
        return _take_text(memory).splitlines()

    def stat(self) -> str:
        """The state and the counts of the session, as JSON."""
        memory = _P()
        _check(_lib.hvt_session_stat(self._p, ctypes.byref(memory)))
        return _take_text(memory)

    def own(self) -> None:
        """Lets the session end with this program."""
        _check(_lib.hvt_session_own(self._p))

    def detach(self) -> str:
        """Ends the session for all its clients. Returns the service's report on the guest."""
        memory = _P()
        _check(_lib.hvt_session_detach(self._p, ctypes.byref(memory)))
        return _take_text(memory)

    def set_timeout(self, seconds: float) -> None:
        """Limits the time of each request; 0: the default."""
        _check(_lib.hvt_session_set_timeout(self._p, int(seconds * 1000)))

    def set_deadline(self, seconds: float) -> None:
        """Limits the time of all following requests together, from now on; 0: no limit."""
        _check(_lib.hvt_session_set_deadline(self._p, int(seconds * 1000)))

    def set_notes(self, function: Optional[Callable[[str], None]]) -> None:
        """Calls FUNCTION with each line that the service sends while a request runs, such as detach(). It must not use the
        session; its exceptions are ignored."""
        callback = _NOTE(lambda text, data: function(text.decode())) if function else _NOTE()
        _check(_lib.hvt_session_set_notes(self._p, callback, None))
        self._note = callback

    def set_max_overhead(self, percent: Optional[float]) -> None:
        """Limits the part of the guest's time that tracing takes while this session is open. None: only measures it."""
        _check(_lib.hvt_session_set_max_overhead(self._p, 0xffffffff if percent is None else round(percent * 10000)))

    def watch(self) -> None:
        """Declares that the program only watches: the session may end after its idle time."""
        _check(_lib.hvt_session_watch(self._p))

    def open(self, path: str, flags: int = os.O_RDONLY) -> File:
        """Opens a file, to read or write it in parts. FLAGS: as for os.open()."""
        pointer = _P()
        _check(_lib.hvt_file_open(self._p, _bytes(path), flags, ctypes.byref(pointer)))
        return File(pointer.value)

    def mkdir(self, path: str) -> None:
        """Makes a directory that stays when this program ends."""
        _check(_lib.hvt_dir_make(self._p, _bytes(path)))

    def rmdir(self, path: str) -> None:
        """Removes a directory with its settings and events."""
        _check(_lib.hvt_dir_remove(self._p, _bytes(path)))

    def instance(self, name: Optional[str] = None) -> Instance:
        """Creates an instance. The service removes it when this program ends, if not before."""
        pointer = _P()
        _check(_lib.hvt_instance_new(self._p, name if name is None else _bytes(name), ctypes.byref(pointer)))
        return Instance(pointer.value, self)

    def probe(self, definition: str) -> Probe:
        """Defines an event by a line of dynamic_events, such as "p do_sys_openat2 path=+0($arg2):ustring". It exists as long
        as this program, at most. events() and register_events() enable Probe.event."""
        pointer = _P()
        _check(_lib.hvt_probe_new(self._p, _bytes(definition), ctypes.byref(pointer)))
        return Probe(pointer.value)

    def register(self, function: Callable[[Call], None], filter: Optional[str] = None, notrace: Optional[str] = None,
                 lost: Optional[Lost] = None, files: Optional[Mapping[str, str]] = None,
                 stack: Optional[Callable[[Stack], None]] = None) -> Ops:
        """Calls FUNCTION in dispatch() for each call of the functions that FILTER matches and NOTRACE does not, LOST with the
        vCPU and the number (0: unknown) if events were lost, and STACK for the stack of a call, after FUNCTION. Sets FILES
        in the instance first."""
        ops = Ops(self)
        callback = _FUNCTION(ops._guarded(function, _call))
        return ops._begin(lambda lost, ret: _lib.hvt_ops_new(callback, lost, None, ret), lost, filter, notrace, files, stack)

    def register_graph(self, call: Optional[Callable[[Graph], None]] = None, returned: Optional[Callable[[Graph], None]] = None,
                       filter: Optional[str] = None, notrace: Optional[str] = None, lost: Optional[Lost] = None,
                       files: Optional[Mapping[str, str]] = None) -> Ops:
        """Calls CALL for each call of functions, and RETURNED for each return. The other parameters are as for register()."""
        ops = Ops(self)
        callbacks = [_GRAPH(ops._guarded(each, _graph)) if each else _GRAPH() for each in (call, returned)]
        return ops._begin(lambda lost, ret: _lib.hvt_ops_new_graph(*callbacks, lost, None, ret), lost, filter, notrace, files)

    def register_events(self, events: str, function: Callable[[Event], None], lost: Optional[Lost] = None,
                        files: Optional[Mapping[str, str]] = None, stack: Optional[Callable[[Stack], None]] = None) -> Ops:
        """Calls FUNCTION for each of EVENTS, names or patterns such as "sched:sched_switch irq:*". FILES can contain filters:
        {"events/sched/sched_switch/filter": "prev_pid == 1"}. The other parameters are as for register()."""
        ops, types = Ops(self), {}  # type: ignore[var-annotated]
        callback = _EVENT(ops._guarded(function, lambda pointer: _event(pointer, types)))
        return ops._begin(lambda lost, ret: _lib.hvt_ops_new_events(_bytes(events), callback, lost, None, ret), lost, None, None, files, stack)

    def register_pages(self, function: Callable[[Page], None], events: Optional[str] = None, filter: Optional[str] = None,
                       notrace: Optional[str] = None, files: Optional[Mapping[str, str]] = None) -> Ops:
        """Calls FUNCTION for each page of EVENTS, or of calls of functions. The pages of different vCPUs have no order. The
        rest as for register()."""
        ops = Ops(self)
        pages, unused = _PAGE(ops._guarded(function, _page)), (_EVENT(lambda event, data: None), _FUNCTION(lambda call, data: None))

        def make(lost, ret):  # type: ignore[no-untyped-def]
            error = (_lib.hvt_ops_new(unused[1], lost, None, ret) if events is None else
                     _lib.hvt_ops_new_events(_bytes(events), unused[0], lost, None, ret))
            return error or _lib.hvt_ops_set_pages(ctypes.cast(ret, ctypes.POINTER(_P)).contents, pages)

        return ops._begin(make, None, filter, notrace, files)

    def trace(self, filter: Optional[str] = None, notrace: Optional[str] = None, seconds: Optional[float] = None,
              files: Optional[Mapping[str, str]] = None) -> Records[Call]:
        """Iterates over the calls of functions, for SECONDS or forever."""
        return Records(self, lambda add, lost: self.register(add, filter, notrace, lost, files), seconds)

    def graph(self, filter: Optional[str] = None, notrace: Optional[str] = None, seconds: Optional[float] = None,
              files: Optional[Mapping[str, str]] = None) -> Records[Graph]:
        """Iterates over calls and returns of functions, for SECONDS or forever."""
        return Records(self, lambda add, lost: self.register_graph(add, add, filter, notrace, lost, files), seconds)

    def events(self, events: str, seconds: Optional[float] = None, files: Optional[Mapping[str, str]] = None) -> Records[Event]:
        """Iterates over trace events, for SECONDS or forever."""
        return Records(self, lambda add, lost: self.register_events(events, add, lost, files), seconds)

    def fileno(self) -> int:
        """The descriptor that is readable when dispatch() has something to do, for select and asyncio."""
        return _lib.hvt_session_fd(self._p)

    def dispatch(self, max: int = 0) -> int:
        """Calls the callbacks for at most MAX calls (0: all) that were recorded. Returns their number. An exception of
        a callback is raised here, after which no callback is called until the next dispatch()."""
        nr = _SIZE()
        error = _lib.hvt_session_dispatch(self._p, max, ctypes.byref(nr))
        raised, self._raised = self._raised, None
        if raised:
            _lib.hvt_error_free(error)
            raise raised
        _check(error)
        return nr.value

    def wait(self, seconds: Optional[float] = None) -> bool:
        """Waits until dispatch() has something to do. Returns whether it has."""
        return bool(select.select([self], [], [], seconds)[0])

    def task_name(self, pid: int) -> str:
        """The name of a task of the guest; "<...>" if it is unknown."""
        name = ctypes.create_string_buffer(16)
        _check(_lib.hvt_session_task_name(self._p, pid, name))
        return name.value.decode(errors="replace")

    def symbols(self) -> Symbols:
        """The names of the guest's kernel."""
        pointer = _P()
        _check(_lib.hvt_symbols_read(self._p, ctypes.byref(pointer)))
        return Symbols(pointer.value)

    @property
    def types(self) -> Types:
        """The structures and unions of the guest's kernel."""
        return Types(self)

    def read_memory(self, address: int, nr: int) -> bytes:
        """NR bytes of the memory of the guest's kernel. Needs root or the right `memory`. The guest continues to run and
        can change the memory at any time. Raises EFAULT if a byte cannot be read."""
        buffer = ctypes.create_string_buffer(nr)
        _check(_lib.hvt_memory_read(self._p, address & _ADDRESS_MAX, buffer, nr, None))
        return buffer.raw

    def read_number(self, address: int, size: int = 8, signed: bool = False) -> int:
        """A number of the memory of the guest's kernel."""
        return int.from_bytes(self.read_memory(address, size), "little", signed=signed)

    def read_string(self, address: int, max_bytes: int = 4096) -> str:
        """The string at ADDRESS, up to its NUL or MAX_BYTES. It can contain control characters."""
        data = b""
        while len(data) < max_bytes and b"\0" not in data:
            at = address + len(data)  # a read up to the end of a page does not need the next one
            data += self.read_memory(at, min(_STRING_PART - at % _STRING_PART, max_bytes - len(data)))
        return data.split(b"\0")[0].decode(errors="replace")

    def address_of_cpu(self, address: int, cpu: int) -> int:
        """The address of CPU's copy of the per-CPU variable whose symbol has this address."""
        result = ctypes.c_uint64()
        _check(_lib.hvt_memory_of_cpu(self._p, address, cpu, ctypes.byref(result)))
        return result.value

    def object(self, type_name: str, address: int) -> Object:
        """The structure or union at ADDRESS of the guest's kernel."""
        return Object(self, self.types[type_name], address)

    def objects(self, head: int, type_name: str, member: str, max_nr: int = 1 << 20) -> Iterator[Object]:
        """Iterates over the objects on a list of the kernel (list_for_each_entry): HEAD is the address of its struct list_head,
        and MEMBER is the list_head in each object. Ends after MAX_NR objects, because a list that changes while it is read
        may have no end."""
        offset = self.types[type_name].member(member).offset
        at = self.object("list_head", head)["next"]
        for _ in range(max_nr):
            if at == head:
                return
            found = self.object(type_name, at - offset)
            yield found
            at = self.object("list_head", at)["next"]


class File(_Handle):
    """An open file. close() makes a filter that was written take effect, and raises its errors; a `with` statement that an
    exception ends abandons the file."""

    def read(self, seconds: Optional[float] = 0) -> bytes:
        """The next part of the file, b"" at its end. If a file of events is empty, waits up to SECONDS (None: forever), and
        then raises EAGAIN."""
        data, length = _P(), _SIZE()
        wait_ms = 0xffffffff if seconds is None else min(int(seconds * 1000), 0xfffffffe)
        _check(_lib.hvt_file_read_part(self._p, wait_ms, ctypes.byref(data), ctypes.byref(length)))
        return ctypes.string_at(data, length.value)

    def write(self, data: bytes) -> None:
        """Writes all of DATA as the next part of the file."""
        _check(_lib.hvt_file_write_part(self._p, data, len(data)))

    def close(self) -> None:
        pointer, self._pointer = self._pointer, None
        _check(_lib.hvt_file_close(pointer))

    def abandon(self) -> None:
        """Closes the file and discards a filter that was written to it."""
        pointer, self._pointer = self._pointer, None
        _check(_lib.hvt_file_abandon(pointer))

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if kind is None:
            self.close()
        else:
            self._release()

    def _release(self) -> None:
        pointer, self._pointer = self._pointer, None
        _lib.hvt_error_free(_lib.hvt_file_abandon(pointer))

    def __del__(self) -> None:
        if getattr(self, "_pointer", None) and _lib is not None:
            self._release()


class Instance(_Handle):
    """A directory of instances/. close() removes it."""

    _free = "hvt_instance_free"

    def __init__(self, pointer: Optional[int], session: Session) -> None:
        super().__init__(pointer)
        self._session = session

    @property
    def path(self) -> str:
        return _lib.hvt_instance_path(self._p).decode(errors="replace")

    def read(self, name: str) -> str:
        return self._session.read(f"{self.path}/{name}")

    def write(self, name: str, text: str, append: bool = False) -> None:
        self._session.write(f"{self.path}/{name}", text, append)

    def remove(self) -> None:
        """Removes the directory, and unlike close() raises an error if that fails."""
        _check(_lib.hvt_instance_remove(self._p))


Lost = Callable[[int, int], None]


def _call(pointer) -> Call:  # type: ignore[no-untyped-def]
    c = pointer.contents
    return Call(c.ip, c.parent_ip, c.time_ns, c.cpu, c.pid, Flag(c.flags), c.preempt_depth, c.migrate_depth)


def _graph(pointer) -> Graph:  # type: ignore[no-untyped-def]
    g = pointer.contents
    return Graph(g.ip, g.time_ns, g.duration_ns if g.what & _GRAPH_RETURN else None,
                 g.return_value if g.what & _GRAPH_HAS_VALUE else None, g.host_ns if g.what & _GRAPH_HAS_HOST else None,
                 g.depth, g.cpu, g.pid, Flag(g.flags), g.preempt_depth, g.migrate_depth)


class Probe(_Handle):
    """An event that the program has defined. close() removes it."""

    _free = "hvt_probe_free"

    @property
    def event(self) -> str:
        """The name, for register_events()."""
        return _lib.hvt_probe_event(self._p).decode(errors="replace")

    def remove(self) -> None:
        """Removes the event, and unlike close() raises an error if that fails."""
        _check(_lib.hvt_probe_remove(self._p))


class _Field(NamedTuple):
    name: str
    pointer: int
    kind: int
    is_signed: bool
    element_bytes: int

    def value(self, event) -> Value:  # type: ignore[no-untyped-def]
        if self.kind == _FIELD_NUMBER:
            number = ctypes.c_int64() if self.is_signed else ctypes.c_uint64()
            return number.value if _lib.hvt_event_number(event, self.pointer, ctypes.byref(number)) else None
        length = _SIZE()
        memory = _lib.hvt_event_bytes(event, self.pointer, ctypes.byref(length))
        if not memory:
            return None
        data = ctypes.string_at(memory, length.value)
        if self.kind == _FIELD_STRING:
            return data.decode(errors="replace")
        if self.element_bytes == 1:
            return data
        return tuple(int.from_bytes(data[i : i + self.element_bytes], "little", signed=self.is_signed)
                     for i in range(0, len(data), self.element_bytes))


class _Type(NamedTuple):
    system: str
    name: str
    fields: List[_Field]


def _type(pointer: int) -> _Type:
    fields: List[_Field] = []
    while field := _lib.hvt_event_type_field(pointer, len(fields)):
        fields.append(_Field(_lib.hvt_field_name(field).decode(), field, _lib.hvt_field_kind(field),
                             bool(_lib.hvt_field_is_signed(field)), _lib.hvt_field_element_bytes(field)))
    return _Type(_lib.hvt_event_type_system(pointer).decode(), _lib.hvt_event_type_name(pointer).decode(), fields)


def _event(pointer, types: Dict[int, _Type]) -> Event:  # type: ignore[no-untyped-def]
    """TYPES caches the types of the events of one ops."""
    e = pointer.contents
    if e.type not in types:
        types[e.type] = _type(e.type)
    system, name, fields = types[e.type]
    return Event(system, name, {field.name: field.value(pointer) for field in fields}, e.time_ns, e.cpu, e.pid, Flag(e.flags),
                 e.preempt_depth, e.migrate_depth)


def _stack(pointer) -> Stack:  # type: ignore[no-untyped-def]
    s = pointer.contents
    return Stack(tuple(s.callers[: s.nr_callers]), s.time_ns, s.cpu, s.pid)


def _page(pointer) -> Page:  # type: ignore[no-untyped-def]
    p = pointer.contents
    return Page(ctypes.string_at(p.bytes, p.len_bytes), p.cpu, p.time_ns, (p.nr_lost or None) if p.has_lost else 0)


class Ops(_Handle):
    """Registered callbacks. close() unregisters them."""

    _free = "hvt_ops_free"

    def __init__(self, session: Session) -> None:
        super().__init__(None)
        self._session = session

    def _begin(self, make, lost: Optional[Lost], filter: Optional[str], notrace: Optional[str],  # type: ignore[no-untyped-def]
               files: Optional[Mapping[str, str]], stack: Optional[Callable[[Stack], None]] = None) -> Ops:
        """Registers the ops that MAKE creates from a callback for lost events and a pointer to the result."""
        pointer = _P()

        def call_lost(cpu, nr, _data):  # type: ignore[no-untyped-def]
            if lost and self._session._raised is None:
                self._guard(lost, cpu, nr)

        # The library calls these until the object is freed, so they must exist as long.
        self._callbacks = make, _LOST(call_lost), _STACK(self._guarded(stack, _stack)) if stack else _STACK()
        _check(make(self._callbacks[1], ctypes.byref(pointer)))
        self._pointer = pointer.value
        try:
            self.set_filter(filter)
            self.set_notrace(notrace)
            if stack:
                _check(_lib.hvt_ops_set_stacks(self._p, self._callbacks[2]))
            for name, text in (files or {}).items():
                self.set_file(name, text)
            _check(_lib.hvt_ops_register(self._p, self._session._p))
        except BaseException:
            self.close()
            raise
        self._session._ops.append(self)
        return self

    def _guarded(self, function, convert):  # type: ignore[no-untyped-def]
        """Returns a callback for the library, which calls FUNCTION with the structure that CONVERT converted."""

        def callback(pointer, _data):  # type: ignore[no-untyped-def]
            if self._session._raised is None:
                self._guard(function, convert(pointer))

        return callback

    def _guard(self, function, *arguments) -> None:  # type: ignore[no-untyped-def]
        try:
            function(*arguments)
        except BaseException as raised:  # pylint: disable=broad-exception-caught # dispatch() raises it
            self._session._raised = raised

    @property
    def path(self) -> Optional[str]:
        """The path of the instance that the callbacks use."""
        path = _lib.hvt_ops_path(self._p)
        return path and path.decode()

    def set_filter(self, functions: Optional[str]) -> None:
        """Chooses the functions: names or patterns; None: all."""
        _check(_lib.hvt_ops_set_filter(self._p, functions if functions is None else _bytes(functions)))

    def set_notrace(self, functions: Optional[str]) -> None:
        """Chooses functions to leave out; None: none."""
        _check(_lib.hvt_ops_set_notrace(self._p, functions if functions is None else _bytes(functions)))

    def set_file(self, name: str, text: str) -> None:
        """Sets a file of the instance that the callbacks use."""
        _check(_lib.hvt_ops_set_file(self._p, _bytes(name), _bytes(text)))

    def pause(self) -> None:
        """Records no more events until resume()."""
        _check(_lib.hvt_ops_pause(self._p))

    def resume(self) -> None:
        _check(_lib.hvt_ops_resume(self._p))

    def close(self) -> None:
        if self in self._session._ops:
            self._session._ops.remove(self)
        super().close()


R = TypeVar("R")


class Records(Generic[R]):
    """An iterator over recorded events. LOST counts lost events, except losses of an unknown number."""

    def __init__(self, session: Session, register: Callable[[Callable[[R], None], Lost], Ops], seconds: Optional[float]) -> None:
        self._session, self._end = session, None if seconds is None else time.monotonic() + seconds
        self._records: collections.deque[R] = collections.deque()
        self.lost = 0
        self.ops = register(self._records.append, self._count_lost)

    def _count_lost(self, _cpu: int, nr: int) -> None:
        self.lost += nr

    def __iter__(self) -> Iterator[R]:
        return self

    def __next__(self) -> R:
        while not self._records:
            left = None if self._end is None else self._end - time.monotonic()
            if left is not None and left <= 0:
                raise StopIteration
            if self._session.wait(left):
                self._session.dispatch()
        return self._records.popleft()

    def close(self) -> None:
        self.ops.close()

    def __enter__(self) -> Records[R]:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()


class Symbols(_Handle):
    """The names of a guest's kernel."""

    _free = "hvt_symbols_free"

    def name(self, address: int) -> Optional[Symbol]:
        """The symbol at or before an address, or None."""
        offset, module = ctypes.c_uint64(), _S()
        name = _lib.hvt_symbols_name(self._p, address, ctypes.byref(offset), ctypes.byref(module))
        return Symbol(name.decode(), offset.value, module.value and module.value.decode()) if name else None

    def address(self, name: str) -> Optional[int]:
        """The lowest address of a symbol of that name, or None."""
        return _lib.hvt_symbols_address(self._p, _bytes(name)) or None


# -- types and memory ------------------------------------------------------------------------------

_ADDRESS_MAX = (1 << 64) - 1
_STRING_PART = 256


def _member(pointer) -> Member:  # type: ignore[no-untyped-def]
    m = pointer.contents
    return Member(m.name.decode(), m.type.decode(), m.target and m.target.decode(), m.offset, m.element_bytes,
                  m.nr_elements if m.is_array else None, MemberKind(m.kind), m.depth, m.bits or None, m.first_bit, bool(m.is_signed))


class Type(_Handle):
    """A structure or union of the guest's kernel."""

    _free = "hvt_type_free"

    @property
    def name(self) -> str:
        return _lib.hvt_type_name(self._p).decode()

    @property
    def size(self) -> int:
        """The size in bytes."""
        return _lib.hvt_type_bytes(self._p)

    @property
    def is_whole(self) -> bool:
        """Whether all members are known. If the kernel has no BTF, only some are."""
        return bool(_lib.hvt_type_is_whole(self._p))

    def member(self, path: str) -> Member:
        """The member of that name, or at a path such as "se.vruntime". Raises KeyError if it is not found."""
        pointer = _lib.hvt_type_member(self._p, _bytes(path))
        if not pointer:
            raise KeyError(f"{self.name} has no member {path}")
        return _member(pointer)

    def __contains__(self, path: str) -> bool:
        return bool(_lib.hvt_type_member(self._p, _bytes(path)))

    def __iter__(self) -> Iterator[Member]:
        """The members in the order of their declaration. The members of a nested structure or union follow it, with a larger depth."""
        index = 0
        while pointer := _lib.hvt_type_member_at(self._p, index):
            yield _member(pointer)
            index += 1

    def __repr__(self) -> str:
        return f"<Type {self.name}>" if self._pointer else "<Type: closed>"


class Types:
    """The structures and unions of a guest's kernel by their names: types["task_struct"]. Raises KeyError if it is not found."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getitem__(self, name: str) -> Type:
        found = self._session._types
        if name not in found:
            pointer = _P()
            try:
                _check(_lib.hvt_type_find(self._session._p, _bytes(name), ctypes.byref(pointer)))
            except Error as error:
                if error.errno == errno.ENOENT:
                    raise KeyError(error.strerror) from error
                raise
            found[name] = Type(pointer.value)
        return found[name]

    def __contains__(self, name: str) -> bool:
        try:
            return bool(self[name])
        except KeyError:
            return False


class Object:
    """A structure or union in the memory of a guest's kernel. object["PATH"] reads a member: a number or address, the text of an
    array of char, bytes for other arrays of bytes, a tuple for arrays of larger numbers, an Object for a structure or union, or
    bytes for anything else. Each access reads the memory again."""

    def __init__(self, session: Session, type_: Type, address: int, prefix: str = "") -> None:
        self._session, self.type, self._base, self._prefix = session, type_, address, prefix

    @property
    def address(self) -> int:
        return self._base + (self.type.member(self._prefix).offset if self._prefix else 0)

    def _path(self, path: str) -> str:
        return f"{self._prefix}.{path}" if self._prefix else path

    def address_of(self, path: str) -> int:
        """The address of a member."""
        return self._base + self.type.member(self._path(path)).offset

    def follow(self, path: str) -> Optional[Object]:
        """The object that a pointer to a structure or union points to; None for NULL."""
        member = self.type.member(self._path(path))
        if member.kind != MemberKind.POINTER or not member.target or member.nr_elements is not None:
            raise TypeError(f"{member.name} of type {member.type} points to no structure")
        address = self[path]
        return self._session.object(member.target, address) if address else None

    def __getitem__(self, path: str) -> Union[int, str, bytes, Tuple[int, ...], Object]:
        member = self.type.member(self._path(path))
        is_compound = member.kind in (MemberKind.STRUCT, MemberKind.UNION)
        if is_compound and member.nr_elements is None:
            return Object(self._session, self.type, self._base, self._path(path))
        data = self._session.read_memory(self._base + member.offset, member.size)
        if is_compound or member.kind == MemberKind.OTHER:
            return data
        if member.nr_elements is None:
            return _number(member, 0, data)
        if member.kind == MemberKind.CHAR:
            return data.split(b"\0")[0].decode(errors="replace")
        if member.element_bytes == 1:
            return data
        return tuple(_number(member, index, data) for index in range(member.nr_elements))

    def __repr__(self) -> str:
        return f"<{self.type.name} at {self._base:#x}{' ' + self._prefix if self._prefix else ''}>"


def _number(member: Member, index: int, data: bytes) -> int:
    """A number of DATA, which begins with the first byte of the member."""
    if not member.bits:
        at = index * member.element_bytes
        return int.from_bytes(data[at : at + member.element_bytes], "little", signed=member.is_signed)
    number = int.from_bytes(data, "little") >> member.first_bit & (1 << member.bits) - 1
    return number - (1 << member.bits if member.is_signed and number >> member.bits - 1 else 0)
