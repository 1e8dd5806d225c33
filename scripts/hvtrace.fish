# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion for hvtrace(8)

set -l verbs help list check attach ls cat echo mkdir rmdir reset record report hist top latency stream collect exporter mount umount exec sh run stat detach recover
set -l no_verb "not __fish_seen_subcommand_from $verbs"
set -l with_domain check attach ls cat echo mkdir rmdir reset record hist latency stream mount umount exec sh stat detach recover

# The words after the verb that are no options. Prints one a line.
function __hvtrace_operands
    set -l words (commandline -opc)
    set -l with_value -c -p -e -f -k -l -n -g -P -o -d --connect --filter --for --format --max-overhead \
        --via --patch --vmlinux --idle --agent --maps --threshold --functions --delay --iterations --sort --rows \
        --to --key --dev --mtu --listen --allow --max-guests --max-size --max-total --max-memory --max-rate --function
    set -l before
    for word in $words[3..-1]
        # The value of an option is no operand.
        if not string match -q -- '-*' $word; and not contains -- "$before" $with_value
            echo $word
        end
        set before $word
    end
end

function __hvtrace_nr_operands
    test (count (__hvtrace_operands)) -eq $argv[1]
end

function __hvtrace_domains
    hvtrace list 2>/dev/null | string match -rv '^NAME  ' | string replace -r ' .*' ''
end

# The names in the directory that is being typed.
function __hvtrace_files
    set -l operands (__hvtrace_operands)
    set -l dir (string match -r '.*/' -- (commandline -ct))
    hvtrace ls $operands[1] $dir 2>/dev/null | string replace -r '^' "$dir"
end

# What can be written to the file that was named.
function __hvtrace_values
    set -l operands (__hvtrace_operands)
    switch $operands[2]
        case '*current_tracer'
            hvtrace cat $operands[1] available_tracers 2>/dev/null | string split -n ' '
        case '*trace_options'
            hvtrace cat $operands[1] trace_options 2>/dev/null
        case '*set_ftrace_*trace' '*set_ftrace_filter' '*set_graph_function' '*set_graph_notrace'
            __hvtrace_functions
        case '*options/*' '*tracing_on' '*function_profile_enabled'
            echo 0
            echo 1
    end
end

# Functions are tens of thousands, so this waits for three characters.
function __hvtrace_functions
    test (string length -- (commandline -ct)) -ge 3; or return
    set -l operands (__hvtrace_operands)
    hvtrace cat $operands[1] available_filter_functions 2>/dev/null | string replace -r ' .*' ''
end

# A system, or SYSTEM:EVENT.
function __hvtrace_events
    set -l operands (__hvtrace_operands)
    set -l names (hvtrace cat $operands[1] available_events 2>/dev/null)
    printf '%s\n' $names
    string replace -r ':.*' '' -- $names | uniq
end

complete -c hvtrace -f
complete -c hvtrace -n $no_verb -a "$verbs"
complete -c hvtrace -s h -l help -d 'Help'
complete -c hvtrace -s c -l connect -x -d 'libvirt to ask'
complete -c hvtrace -n $no_verb -s V -l version -d 'The version'
complete -c hvtrace -n "__fish_seen_subcommand_from help" -a "$verbs"
complete -c hvtrace -n "__fish_seen_subcommand_from $with_domain; and __hvtrace_nr_operands 0" -a '(__hvtrace_domains)'
complete -c hvtrace -n "__fish_seen_subcommand_from ls cat echo mkdir rmdir; and __hvtrace_nr_operands 1" -a '(__hvtrace_files)'
complete -c hvtrace -n "__fish_seen_subcommand_from echo; and not __hvtrace_nr_operands 0; and not __hvtrace_nr_operands 1" -a '(__hvtrace_values)'
complete -c hvtrace -n "__fish_seen_subcommand_from report" -F
complete -c hvtrace -n "__fish_seen_subcommand_from hist; and not __hvtrace_nr_operands 0" -a '(__hvtrace_functions)'
complete -c hvtrace -n "__fish_seen_subcommand_from stream" -l to -x -d 'HOST[:PORT] of the collector'
complete -c hvtrace -n "__fish_seen_subcommand_from stream" -l tcp -d 'By TCP instead of UDP'
complete -c hvtrace -n "__fish_seen_subcommand_from stream" -l mtu -x -d 'Bytes of a packet of UDP'
complete -c hvtrace -n "__fish_seen_subcommand_from stream collect" -l key -r -F -d 'The key'
complete -c hvtrace -n "__fish_seen_subcommand_from stream collect" -l dev -x -a '(command ls /sys/class/net)' -d 'By AF_XDP at this device'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l listen -x -d 'ADDRESS[:PORT]'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l allow -x -d 'Take frames only from ADDRESS[/BITS]'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l format -x -a 'trace.dat perfetto ctf jsonl' -d 'Format of files'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l max-guests -x -d 'Streams at a time'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l max-size -x -d 'Size of a file'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l max-total -x -d 'Bytes of all files'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l max-memory -x -d 'Memory of all streams'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l max-rate -x -d 'Bytes a second of a stream'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l idle -x -d 'A stream that is silent for so long has ended'
complete -c hvtrace -n "__fish_seen_subcommand_from collect; and __hvtrace_nr_operands 0" -a '(__fish_complete_directories)'
complete -c hvtrace -n "__fish_seen_subcommand_from exporter" -l listen -x -d 'ADDRESS:PORT or unix:PATH'
complete -c hvtrace -n "__fish_seen_subcommand_from exporter" -l function -x -d 'Also hits and time of this function'
complete -c hvtrace -n "__fish_seen_subcommand_from exporter" -l runqueue -d 'Also waits for a vCPU'
complete -c hvtrace -n "__fish_seen_subcommand_from exporter" -l steal -d 'Also waits of vCPUs'
complete -c hvtrace -n "__fish_seen_subcommand_from exporter" -l max-overhead -x -d 'Give up above this part of a vCPU'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -a '(__hvtrace_domains)'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -s l -l functions -x -a '(__hvtrace_functions)' -d 'Count these functions'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -s d -l delay -x -d 'The interval'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -s n -l iterations -x -d 'End after so many tables'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -l sort -x -a 'time hits average name domain' -d 'The order of functions'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -l reverse -d 'The other way'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -l rows -x -d 'At most so many functions'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -l runqueue -d 'How long tasks wait for a vCPU'
complete -c hvtrace -n "__fish_seen_subcommand_from list check stat hist top latency attach detach recover record stream report" -s j -l json -d 'For programs'
complete -c hvtrace -n "__fish_seen_subcommand_from stat" -l agent -r -F -d 'What the agent in the guest says'
complete -c hvtrace -n "__fish_seen_subcommand_from stat" -l maps -x -d 'Executable mappings of a process, as the agent says'
complete -c hvtrace -n "__fish_seen_subcommand_from echo" -s a -l append -d 'Do not truncate the file first'
complete -c hvtrace -n "__fish_seen_subcommand_from umount" -s l -l lazy -d 'Also while it is in use'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l via -x -a 'auto inject monitor' -d 'How to reach the guest'
complete -c hvtrace -n "__fish_seen_subcommand_from attach run" -l patch -x -a 'in-place shadow' -d 'How text is changed'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l vmlinux -r -F -d 'The kernel with its symbols'
complete -c hvtrace -n "__fish_seen_subcommand_from attach record stream latency" -l max-overhead -x -d 'Limit of the vCPUs\' time, in percent'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l for -x -d 'Detach after this time'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l idle -x -d 'Detach without clients for this time'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l force -d 'Also a guest that checks its text, or of which too little is covered'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l mount -d 'Mount the tree, too'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream run" -s p -x -a 'function function_graph' -d 'Tracer'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream run" -s l -x -a '(__hvtrace_functions)' -d 'Trace only these functions'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream run" -s n -x -a '(__hvtrace_functions)' -d 'Do not trace these'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -s e -x -a '(__hvtrace_events)' -d 'Events of the guest\'s own'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -s f -l filter -x -d 'Only those of these events that pass'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -l marks -d 'Marks of the guest\'s programs'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -s k -x -d 'A probe of a function'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -s g -x -a '(__hvtrace_functions)' -d 'Only these and what they call'
complete -c hvtrace -n "__fish_seen_subcommand_from record hist stream" -l host-time -d 'What the host took of calls'
complete -c hvtrace -n "__fish_seen_subcommand_from record hist stream" -s P -x -d 'Only this task of the guest'
complete -c hvtrace -n "__fish_seen_subcommand_from record hist stream latency" -l for -x -d 'For this time'
complete -c hvtrace -n "__fish_seen_subcommand_from record" -s o -r -F -d 'Write the events to this file'
complete -c hvtrace -n "__fish_seen_subcommand_from record" -l format -x -a 'trace.dat perfetto ctf jsonl text histogram histogram-json' -d 'Format of the file'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream collect" -l compress -d 'Compress by zstd'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -l date -d 'Times of day'
complete -c hvtrace -n "__fish_seen_subcommand_from latency" -l threshold -x -d 'What is shorter is not told'
complete -c hvtrace -n "__fish_seen_subcommand_from latency" -s l -x -a '(__hvtrace_functions)' -d 'Also the longest calls of these functions'
complete -c hvtrace -n "__fish_seen_subcommand_from latency" -s a -l all -d 'Print all causes and vCPUs'
complete -c hvtrace -n "__fish_seen_subcommand_from latency" -s w -l watch -d 'Wait for the first stall'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l kernel -r -F -d 'A bzImage or an ELF vmlinux'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l initrd -r -F -d 'Its initial RAM disk'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l append -x -d 'Its command line'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l memory -x -d 'Its memory'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l smp -x -d 'Its vCPUs'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l name -x -d 'What the domain is called'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -s o -l output -r -F -d 'Where the trace is written'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l trace-boot -d 'Trace from ftrace_init on'
