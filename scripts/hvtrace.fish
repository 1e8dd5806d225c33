# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion for hvtrace(8)

set -l verbs help list check attach ls cat echo mkdir rmdir reset record report hist top latency profile stream collect exporter mount umount exec sh run stat detach recover
set -l no_verb "not __fish_seen_subcommand_from $verbs"
set -l with_domain check attach ls cat echo mkdir rmdir reset record hist latency profile stream mount umount exec sh stat detach recover

# Prints the operands after the verb, one per line.
function __hvtrace_operands
    set -l words (commandline -opc)
    set -l with_value -c -p -e -f -k -l -n -g -P -o -d --connect --filter --for --format --max-overhead \
        --via --patch --vmlinux --btf --idle --agent --maps --threshold --functions --delay --iterations --sort --rows \
        --to --key --dev --mtu --listen --allow --max-guests --max-size --max-total --max-memory --max-rate --function
    set -l before
    for word in $words[3..-1]
        # Skip the value of an option.
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

# Completes names in the directory typed so far.
function __hvtrace_files
    set -l operands (__hvtrace_operands)
    set -l dir (string match -r '.*/' -- (commandline -ct))
    hvtrace ls $operands[1] $dir 2>/dev/null | string replace -r '^' "$dir"
end

# Completes values for the file given before.
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

# Completes after three characters because there are tens of thousands of functions.
function __hvtrace_functions
    test (string length -- (commandline -ct)) -ge 3; or return
    set -l operands (__hvtrace_operands)
    hvtrace cat $operands[1] available_filter_functions 2>/dev/null | string replace -r ' .*' ''
end

# Completes a system or SYSTEM:EVENT.
function __hvtrace_events
    set -l operands (__hvtrace_operands)
    set -l names (hvtrace cat $operands[1] available_events 2>/dev/null)
    printf '%s\n' $names
    string replace -r ':.*' '' -- $names | uniq
end

complete -c hvtrace -f
complete -c hvtrace -n $no_verb -a "$verbs"
complete -c hvtrace -s h -l help -d 'Help'
complete -c hvtrace -s c -l connect -x -d 'Libvirt URI'
complete -c hvtrace -n $no_verb -s V -l version -d 'Print the version'
complete -c hvtrace -n "__fish_seen_subcommand_from help" -a "$verbs"
complete -c hvtrace -n "__fish_seen_subcommand_from $with_domain; and __hvtrace_nr_operands 0" -a '(__hvtrace_domains)'
complete -c hvtrace -n "__fish_seen_subcommand_from ls cat echo mkdir rmdir; and __hvtrace_nr_operands 1" -a '(__hvtrace_files)'
complete -c hvtrace -n "__fish_seen_subcommand_from echo; and not __hvtrace_nr_operands 0; and not __hvtrace_nr_operands 1" -a '(__hvtrace_values)'
complete -c hvtrace -n "__fish_seen_subcommand_from report" -F
complete -c hvtrace -n "__fish_seen_subcommand_from hist; and not __hvtrace_nr_operands 0" -a '(__hvtrace_functions)'
complete -c hvtrace -n "__fish_seen_subcommand_from stream" -l to -x -d 'HOST[:PORT] of the collector'
complete -c hvtrace -n "__fish_seen_subcommand_from stream" -l tcp -d 'Use TCP instead of UDP'
complete -c hvtrace -n "__fish_seen_subcommand_from stream" -l mtu -x -d 'UDP packet size in bytes'
complete -c hvtrace -n "__fish_seen_subcommand_from stream collect" -l key -r -F -d 'Key file'
complete -c hvtrace -n "__fish_seen_subcommand_from stream collect" -l dev -x -a '(command ls /sys/class/net)' -d 'Use AF_XDP on this device'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l listen -x -d 'ADDRESS[:PORT]'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l allow -x -d 'Accept frames only from ADDRESS[/BITS]'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l format -x -a 'trace.dat perfetto ctf jsonl' -d 'Format of the files'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l max-guests -x -d 'Maximum number of streams'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l max-size -x -d 'Maximum size of a file'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l max-total -x -d 'Maximum size of all files'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l max-memory -x -d 'Maximum memory of all streams'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l max-rate -x -d 'Maximum bytes per second and guest'
complete -c hvtrace -n "__fish_seen_subcommand_from collect" -l idle -x -d 'End a stream without frames for this time'
complete -c hvtrace -n "__fish_seen_subcommand_from collect; and __hvtrace_nr_operands 0" -a '(__fish_complete_directories)'
complete -c hvtrace -n "__fish_seen_subcommand_from exporter" -l listen -x -d 'ADDRESS:PORT or unix:PATH'
complete -c hvtrace -n "__fish_seen_subcommand_from exporter" -l function -x -d 'Export hits and time of this function'
complete -c hvtrace -n "__fish_seen_subcommand_from exporter" -l runqueue -d 'Export waits of tasks for a vCPU'
complete -c hvtrace -n "__fish_seen_subcommand_from exporter" -l steal -d 'Export waits of vCPUs for a CPU'
complete -c hvtrace -n "__fish_seen_subcommand_from exporter" -l max-overhead -x -d 'Stop above this part of a vCPU'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -a '(__hvtrace_domains)'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -s l -l functions -x -a '(__hvtrace_functions)' -d 'Count these functions'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -s d -l delay -x -d 'Update interval'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -s n -l iterations -x -d 'Exit after this number of updates'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -l sort -x -a 'time hits average name domain' -d 'Sort order of functions'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -l reverse -d 'Reverse the sort order'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -l rows -x -d 'Maximum number of functions'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -l runqueue -d 'Show how long tasks wait for a vCPU'
complete -c hvtrace -n "__fish_seen_subcommand_from top" -l programs -d 'Show the functions of programs with most samples'
complete -c hvtrace -n "__fish_seen_subcommand_from list check stat hist top latency attach detach recover record stream report" -s j -l json -d 'Print JSON'
complete -c hvtrace -n "__fish_seen_subcommand_from stat" -l agent -r -F -d 'Show the report of the agent in the guest'
complete -c hvtrace -n "__fish_seen_subcommand_from stat" -l maps -x -d 'Show executable mappings of a process from the agent'
complete -c hvtrace -n "__fish_seen_subcommand_from echo" -s a -l append -d 'Do not truncate the file first'
complete -c hvtrace -n "__fish_seen_subcommand_from umount" -s l -l lazy -d 'Unmount even if in use'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l via -x -a 'auto inject monitor' -d 'How to reach the guest'
complete -c hvtrace -n "__fish_seen_subcommand_from attach run" -l patch -x -a 'in-place shadow' -d 'How to modify kernel text'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l vmlinux -r -F -d 'Kernel image with symbols'
complete -c hvtrace -n "__fish_seen_subcommand_from check attach recover" -l btf -r -F -d 'Types of a kernel without BTF'
complete -c hvtrace -n "__fish_seen_subcommand_from attach record stream latency profile" -l max-overhead -x -d 'Maximum overhead in percent of vCPU time'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l for -x -d 'Detach after this time'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l idle -x -d 'Detach after this time without clients'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l force -d 'Attach even if the guest checks its text or coverage is low'
complete -c hvtrace -n "__fish_seen_subcommand_from attach" -l mount -d 'Also mount the tree'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream run" -s p -x -a 'function function_graph' -d 'Tracer'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream run" -s l -x -a '(__hvtrace_functions)' -d 'Trace only these functions'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream run" -s n -x -a '(__hvtrace_functions)' -d 'Do not trace these functions'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -s e -x -a '(__hvtrace_events)' -d 'Record these events of the guest'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -s f -l filter -x -d 'Filter for the preceding events'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -l marks -d 'Record marks of guest programs'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -s k -x -d 'Define a function probe'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -s g -x -a '(__hvtrace_functions)' -d 'Trace only these functions and their callees'
complete -c hvtrace -n "__fish_seen_subcommand_from record hist stream" -l host-time -d 'Record the time lost to the host'
complete -c hvtrace -n "__fish_seen_subcommand_from record hist stream" -s P -x -d 'Trace only this guest task'
complete -c hvtrace -n "__fish_seen_subcommand_from record hist stream latency profile" -l for -x -d 'Record for this time'
complete -c hvtrace -n "__fish_seen_subcommand_from record" -s o -r -F -d 'Write the events to this file'
complete -c hvtrace -n "__fish_seen_subcommand_from record" -l format -x -a 'trace.dat perfetto ctf jsonl text histogram histogram-json' -d 'Format of the file'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream collect" -l compress -d 'Compress with zstd'
complete -c hvtrace -n "__fish_seen_subcommand_from record stream" -l date -d 'Use wall clock times'
complete -c hvtrace -n "__fish_seen_subcommand_from latency" -l threshold -x -d 'Ignore shorter stalls'
complete -c hvtrace -n "__fish_seen_subcommand_from latency" -s l -x -a '(__hvtrace_functions)' -d 'Also report the longest calls of these functions'
complete -c hvtrace -n "__fish_seen_subcommand_from latency" -s a -l all -d 'Print all causes and vCPUs'
complete -c hvtrace -n "__fish_seen_subcommand_from latency" -s w -l watch -d 'Wait for the first stall'
complete -c hvtrace -n "__fish_seen_subcommand_from profile" -s o -r -F -d 'Write the profile to this file'
complete -c hvtrace -n "__fish_seen_subcommand_from profile" -l off-cpu -d 'Measure blocked time by stack'
complete -c hvtrace -n "__fish_seen_subcommand_from profile" -l wakeups -d 'Measure blocked time by waker'
complete -c hvtrace -n "__fish_seen_subcommand_from profile" -l on-cpu -d 'Add the time that tasks run'
complete -c hvtrace -n "__fish_seen_subcommand_from profile" -l rate -x -d 'Count one of N ticks'
complete -c hvtrace -n "__fish_seen_subcommand_from profile" -l diff -d 'Compare two files'
complete -c hvtrace -n "__fish_seen_subcommand_from profile" -l per -x -a 'name task container cpu' -d 'Group the samples'
complete -c hvtrace -n "__fish_seen_subcommand_from profile" -l min -x -d 'Leave smaller parts out of the tree'
complete -c hvtrace -n "__fish_seen_subcommand_from profile" -l user-stack -x -a 'fp dwarf' -d 'How callers in programs are found'
complete -c hvtrace -n "__fish_seen_subcommand_from latency profile" -l symfs -r -F -d 'Directory with files of the guest'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l kernel -r -F -d 'A bzImage or an ELF vmlinux'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l initrd -r -F -d 'Initial RAM disk'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l append -x -d 'Kernel command line'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l memory -x -d 'Memory size'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l smp -x -d 'Number of vCPUs'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l name -x -d 'Name of the domain'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -s o -l output -r -F -d 'Trace output file'
complete -c hvtrace -n "__fish_seen_subcommand_from run" -l trace-boot -d 'Start tracing at ftrace_init'
