#include "profile/schema.h"

#include <string.h>

#define TEXT(place, since, name, meaning)            \
    {                                                \
        name, SCHEMA_TEXT, place, since, "", meaning \
    }
#define SECONDS(place, since, name, meaning)            \
    {                                                   \
        name, SCHEMA_DOUBLE, place, since, "s", meaning \
    }
#define NUMBER(place, since, name, unit, meaning)        \
    {                                                    \
        name, SCHEMA_DOUBLE, place, since, unit, meaning \
    }
#define COUNT(place, since, name, meaning)             \
    {                                                  \
        name, SCHEMA_BIGINT, place, since, "", meaning \
    }
#define BYTES(place, since, name, meaning)                  \
    {                                                       \
        name, SCHEMA_BIGINT, place, since, "bytes", meaning \
    }
#define YES_NO(place, since, name, meaning)             \
    {                                                   \
        name, SCHEMA_BOOLEAN, place, since, "", meaning \
    }
#define ROWS(place, since, name, table, meaning)        \
    {                                                   \
        name, SCHEMA_LIST, place, since, table, meaning \
    }
#define BOTH  SCHEMA_IN_BOTH
#define TABLE SCHEMA_IN_TABLE
#define JSON  SCHEMA_IN_REPORT

#define RUN_ID TEXT(TABLE, 5, "run_id", "of the recording: names it in all tables")

static const struct schema_column session_columns[] = {
    RUN_ID,
    {"started_at", SCHEMA_TIMESTAMP, BOTH, 1, "", "when the command was started, UTC"},
    SECONDS(BOTH, 1, "elapsed_s", "from the start of the command to its end"),
    TEXT(BOTH, 1, "command", "the command line, quoted for a shell"),
    TEXT(JSON, 1, "directory", "the recording that was read"),
    TEXT(BOTH, 1, "tool", "what recorded: lamella, or the tool of an imported file"),
    TEXT(BOTH, 1, "tool_version", "its version"),
    TEXT(TABLE, 4, "compiler_version", "of the compiler that most units were made with"),
    TEXT(TABLE, 4, "compiler_commit", "its commit"),
    TEXT(TABLE, 4, "llvm_version", "its LLVM"),
    TEXT(BOTH, 1, "host", "the machine's name; absent when it was redacted"),
    TEXT(TABLE, 4, "profile", "of the build: dev, release, ..."),
    COUNT(TABLE, 4, "jobs", "how many units the build tool runs at once"),
    TEXT(TABLE, 5, "ci", "the continuous integration service it ran in"),
    YES_NO(BOTH, 1, "complete", "the launcher saw the end of the command"),
    COUNT(BOTH, 1, "exit_code", "of the command; 128 + n when signal n ended it"),
    COUNT(JSON, 1, "cores", "processors that the command could use"),
    TEXT(BOTH, 1, "engine", "how samples were taken: sigtrap, thread_perf, cpu_timer, none"),
    NUMBER(BOTH, 1, "rate_hz", "hz",
           "samples a second of CPU time of a thread; with rate_auto the first step"),
    YES_NO(JSON, 1, "rate_auto", "the rate steps down as a process ages"),
    YES_NO(BOTH, 1, "kernel_mode", "time in the kernel is interrupted too"),
    TEXT(JSON, 1, "self_profile",
         "events that compilers were asked for with --self-profile; default: their own choice; "
         "absent: they were not asked"),
    COUNT(JSON, 1, "self_profiles", "self-profiles that were read and belong to a process"),
    YES_NO(JSON, 1, "rustc_bootstrap",
           "RUSTC_BOOTSTRAP=1 was set for each compilation: not a usual build"),
    COUNT(BOTH, 1, "units", "compilations, links and build-script runs"),
    COUNT(TABLE, 5, "units_withheld", "units left out of what was sent"),
    COUNT(JSON, 1, "processes", "program images that ran, sampled or not"),
    COUNT(JSON, 1, "threads", "threads of sampled processes"),
    NUMBER(JSON, 1, "cores_used", "",
           "CPU time that the kernel charged to all processes, over elapsed_s"),
    COUNT(BOTH, 1, "peak_threads", "most threads that were working at once"),
    SECONDS(BOTH, 1, "serial_tail_s",
            "at the end of the run, how long never more than one thread was working"),
    SECONDS(JSON, 1, "handler_s",
            "time from entry to exit of the sampling handler, summed over threads; by the clock, "
            "so that waiting for a processor in it counts"),
    SECONDS(
        BOTH, 1, "critical_path_s",
        "the longest chain of units that had to wait for each other, its parts added up as they "
        "were; null: no units"),
    SECONDS(TABLE, 1, "sampled_cpu_s", "see coverage"),
    SECONDS(TABLE, 1, "late_cpu_s", "see coverage"),
    SECONDS(TABLE, 1, "startup_cpu_s", "see coverage"),
    SECONDS(TABLE, 1, "tail_cpu_s", "see coverage"),
    SECONDS(TABLE, 1, "unsampled_cpu_s", "see coverage"),
    SECONDS(TABLE, 1, "process_cpu_s", "see coverage"),
    NUMBER(TABLE, 1, "coverage", "1", "see coverage, ratio"),
    SECONDS(TABLE, 1, "sampled_span_s", "see coverage"),
    COUNT(TABLE, 1, "samples", "see coverage"),
    COUNT(TABLE, 1, "lost_samples", "see coverage"),
    COUNT(TABLE, 3, "lost_events", "events that an imported file says were lost"),
    COUNT(TABLE, 1, "frames", "see coverage"),
    COUNT(TABLE, 1, "unresolved_frames", "see coverage"),
    COUNT(TABLE, 1, "samples_without_symbols", "see coverage"),
    COUNT(TABLE, 1, "truncated_stacks", "see coverage"),
    COUNT(TABLE, 1, "units_unseen", "see coverage"),
    NUMBER(BOTH, 2, "cpu_busy_mean", "",
           "processors of the machine that were busy, mean over the run"),
    NUMBER(BOTH, 2, "loadavg_mean", "", "mean of load1"),
    TEXT(TABLE, 5, "machine_id", "of the machine, hashed"),
    TEXT(TABLE, 5, "client", "who sent it"),
    COUNT(TABLE, 5, "schema", "version of these tables"),
};

static const struct schema_column coverage_columns[] = {
    SECONDS(JSON, 1, "sampled_cpu_s",
            "CPU time that samples stand for, those at the return of a long call included"),
    SECONDS(JSON, 1, "process_cpu_s",
            "CPU time that the kernel charged to the command and all its descendants that ended"),
    NUMBER(JSON, 1, "ratio", "1", "coverage: sampled_cpu_s over process_cpu_s and running_cpu_s"),
    SECONDS(JSON, 1, "closing_cpu_s",
            "part of sampled_cpu_s that threads used after their last sample, put on its stack"),
    SECONDS(
        JSON, 1, "late_cpu_s",
        "excess over one period of samples that is not known to be spent where their stacks point; "
        "not part of sampled_cpu_s"),
    SECONDS(JSON, 1, "startup_cpu_s",
            "used from exec to the start of the sampler, by sampled processes"),
    SECONDS(
        JSON, 1,
        "tail_cpu_s", "used by sampled processes after the sampler's end, and by their threads where no sample follows"),
    SECONDS(JSON, 1, "unsampled_cpu_s", "used by processes that were not sampled"),
    SECONDS(JSON, 1, "unaccounted_cpu_s",
            "of process_cpu_s, what none of the above holds; samples, startup, tail and unsampled "
            "processes account for the rest"),
    SECONDS(JSON, 1, "running_cpu_s",
            "used by processes that still ran at the end, which the kernel had not charged yet"),
    COUNT(JSON, 1, "expected_samples", "CPU time of sampled threads over the period in force"),
    COUNT(JSON, 1, "samples", "taken"),
    COUNT(JSON, 1, "at_return_samples",
          "of these, stored at the return of a long system call and not by an interrupt"),
    COUNT(JSON, 1, "merged_samples",
          "whole periods that the kernel merged into other samples; their time is in those"),
    COUNT(JSON, 1, "lost_samples",
          "and events, that could not be stored (no space on the disk, a size limit)"),
    COUNT(JSON, 1, "truncated_stacks",
          "samples whose stack does not reach the thread's first function"),
    COUNT(JSON, 1, "frames", "frames of all samples' stacks, added up"),
    COUNT(JSON, 1, "unresolved_frames", "of these, without a name"),
    COUNT(JSON, 1, "samples_without_symbols",
          "samples whose innermost frame lies in a module without symbols"),
    COUNT(JSON, 1, "units_unseen",
          "units that cargo ran and for which no process was recorded, in cargo.unseen; null: its "
          "record is not here"),
    COUNT(JSON, 1, "units_without_samples", "units in whose processes no sample was taken"),
    SECONDS(JSON, 1, "sampled_span_s", "from the first sampled process's start to the last sample"),
    SECONDS(JSON, 1, "elapsed_s", "see session"),
    COUNT(JSON, 1, "streams", "stream files read"),
    COUNT(JSON, 1, "damaged_streams", "of these, in which something could not be read"),
    COUNT(JSON, 1, "unreadable_streams",
          "stream files beside these that could not be opened, are no streams, or are missing"),
    COUNT(JSON, 1, "overwritten_pages",
          "of events, by mode=flight of instrumented programs: what was in them is gone"),
    COUNT(JSON, 1, "untold_calls",
          "of instrumented programs, that found no room in a full tree of calls"),
    COUNT(JSON, 1, "cut_texts",
          "arguments of events longer than 8 KiB, of which the beginning was read"),
    COUNT(JSON, 1, "unbalanced_exits",
          "calls closed without an exit of their own, and exits without a call"),
    COUNT(
        JSON, 1, "refused_ends",
        "of intervals that had ended already or that a forked parent began, and switches to tracks "
        "that were never made"),
    COUNT(JSON, 1, "refused_recorders",
          "processes that were to record themselves (LAMELLA_OUT), and could not"),
    COUNT(JSON, 1, "clamped_times",
          "that ran backwards within their thread and were moved to the one before"),
};

static const struct schema_column machine_columns[] = {
    RUN_ID,
    TEXT(BOTH, 2, "machine_id", "hashed"),
    TEXT(BOTH, 2, "cpu_model", "as the processor calls itself"),
    COUNT(BOTH, 2, "cores", "processors that the command could use"),
    BYTES(BOTH, 2, "mem_bytes", "memory"),
    TEXT(BOTH, 2, "kernel", "version"),
    TEXT(BOTH, 2, "os", "distribution"),
    TEXT(BOTH, 2, "arch", "x86_64, aarch64"),
    TEXT(BOTH, 2, "virt", "what it runs in: kvm, docker, ...; none"),
    TEXT(BOTH, 4, "cpu_shares",
         "to whom the kernel gives equal parts of a processor: groups (control groups), sessions, "
         "threads"),
};

static const struct schema_column environment_columns[] = {
    RUN_ID,
    TEXT(BOTH, 2, "key", "a setting that moves compile time"),
    TEXT(BOTH, 2, "value", "what looks like a secret was removed when it was recorded"),
};

static const struct schema_column class_columns[] = {
    RUN_ID,
    TEXT(BOTH, 5, "class_id",
         "hash of what makes it the same work in another build; without the toolchain"),
    TEXT(BOTH, 5, "package", "name"),
    TEXT(BOTH, 5, "version", "of the package"),
    TEXT(BOTH, 5, "source", "registry, path, git"),
    TEXT(BOTH, 5, "features", "switched on, sorted"),
    TEXT(BOTH, 5, "profile", "of the build"),
    TEXT(BOTH, 5, "flags", "that move compile time"),
    TEXT(BOTH, 5, "target", "triple"),
    TEXT(BOTH, 5, "dep_class_ids", "of what it depends on, sorted"),
    TEXT(TABLE, 5, "cone_class_ids", "of all below it, sorted"),
};

static const struct schema_column unit_columns[] = {
    RUN_ID,
    TEXT(BOTH, 1, "unit", "its name for people: 'serde 1.0.229'"),
    TEXT(BOTH, 5, "class_id",
         "of the class of compilations it belongs to; null: class_missing says why"),
    TEXT(JSON, 5, "class_missing",
         "what it was compiled against that was fresh, or has no class itself: no command line of "
         "it was seen; null: nothing"),
    TEXT(BOTH, 1, "kind", "rustc, rustdoc, compile, assemble, link, build_script"),
    TEXT(BOTH, 1, "crate", "name of the crate"),
    TEXT(BOTH, 1, "package", "name of the package, from the path"),
    TEXT(BOTH, 1, "version", "of the package, from the path"),
    TEXT(BOTH, 1, "crate_type", "lib, bin, proc-macro, ..."),
    TEXT(BOTH, 1, "mode",
         "build, check, clippy, test, build-script, run, doc, doctest, preprocess, probe, ..."),
    TEXT(BOTH, 1, "language", "rust, c, c++, asm, ..."),
    TEXT(JSON, 1, "edition", "of the language"),
    TEXT(JSON, 1, "target", "triple; absent: the host"),
    TEXT(JSON, 1, "opt_level", "optimisation"),
    TEXT(JSON, 1, "codegen_units", "as asked for"),
    TEXT(JSON, 1, "lto", "kind of link-time optimisation"),
    TEXT(JSON, 1, "debug_info", "level"),
    TEXT(JSON, 1, "incremental", "directory of the incremental cache; absent: none"),
    TEXT(JSON, 1, "features", "switched on"),
    TEXT(JSON, 1, "metadata", "cargo's -C metadata: tells two builds of a crate apart"),
    TEXT(JSON, 1, "source", "the first source file"),
    TEXT(JSON, 1, "output", "what it writes"),
    TEXT(BOTH, 4, "capture",
         "clean or incremental: what its times are times of; cached: the program of a cache "
         "(sccache, ccache), which had the result: no claim about a compilation; null: no "
         "compilation"),
    ROWS(JSON, 4, "flags", "unit_flags", "flags that move compile time, scrubbed of paths"),
    ROWS(JSON, 4, "artifacts", "artifacts", "files that it wrote, as they were at the command's end"),
    COUNT(BOTH, 1, "pid", "of its process"),
    COUNT(BOTH, 1, "exit_code", "of its process; null when a signal ended it or nobody said"),
    YES_NO(JSON, 1, "sampled", "samples were taken"),
    SECONDS(BOTH, 1, "start_s", "when its process began"),
    SECONDS(BOTH, 1, "end_s", "when its process ended"),
    SECONDS(BOTH, 1, "wall_s", "end minus start"),
    SECONDS(BOTH, 1, "cpu_s",
            "CPU time of all its threads, as the kernel charged it, without child processes"),
    SECONDS(BOTH, 1, "user_s", "of that, outside of the kernel"),
    SECONDS(BOTH, 1, "sys_s", "of that, in the kernel"),
    BYTES(BOTH, 1, "max_rss_bytes", "its peak resident memory"),
    COUNT(BOTH, 1, "minor_faults", "page faults without I/O"),
    COUNT(BOTH, 1, "major_faults", "page faults with I/O"),
    COUNT(BOTH, 1, "switches_voluntary", "times it gave a processor away"),
    COUNT(BOTH, 1, "switches_forced", "times a processor was taken from it"),
    COUNT(JSON, 1, "blocks_in", "blocks of 512 bytes read from storage"),
    COUNT(JSON, 1, "blocks_out", "blocks of 512 bytes written to storage"),
    SECONDS(JSON, 1, "lifetime_s", "sum of its threads' lifetimes; the next four add up to it"),
    SECONDS(BOTH, 1, "run_s", "thread-seconds on a processor"),
    SECONDS(BOTH, 1, "core_wait_s", "thread-seconds ready to run, waiting for a processor"),
    SECONDS(BOTH, 1, "blocked_s",
            "thread-seconds waiting for something else: the waits, and the residual"),
    SECONDS(BOTH, 1, "residual_s", "of blocked_s, what no wait of a known kind explains"),
    COUNT(JSON, 1, "samples", "taken in it"),
    SECONDS(JSON, 1, "sampled_cpu_s", "CPU time that they stand for"),
    SECONDS(JSON, 1, "late_cpu_s", "see coverage"),
    ROWS(JSON, 1, "phases", "phases", "where its CPU time went"),
    ROWS(JSON, 1, "waits", "waits", "what its threads waited for, by kind"),
    TEXT(BOTH, 4, "status",
         "new or dirty: whether cargo had built it here before; null: not one of cargo's units"),
    TEXT(BOTH, 4, "reason", "why it was built: 'src/lib.rs changed'; null: not known"),
    SECONDS(
        BOTH, 4, "cargo_frontend_s",
        "cargo's section, wall clock, up to the metadata; as measured: can be slightly below 0"),
    SECONDS(BOTH, 4, "cargo_codegen_s", "cargo's section, wall clock"),
    SECONDS(BOTH, 4, "cargo_link_s", "cargo's section, wall clock; null: cargo did not measure it"),
    SECONDS(BOTH, 4, "rmeta_s", "when its metadata was there, after its start, by cargo's clock"),
    COUNT(BOTH, 4, "unblocked", "units that could start at its end or its metadata, by cargo's word"),
    TEXT(JSON, 1, "inside", "unit that it ran inside of; null: none"),
    COUNT(JSON, 1, "inside_pid", "its process"),
    SECONDS(
        JSON, 1, "metadata_at_s",
        "when what other units need of it to be compiled was there; null: nobody can start before "
        "its end"),
    TEXT(JSON, 1, "metadata_from",
         "how that is known: cargo (its record); inferred: encode (its last sample of that), "
         "codegen "
         "(its back end began), dependent (the first unit that needed it began)"),
    SECONDS(JSON, 1, "ready_s", "when all that it needed was there; null: it ran inside another"),
    TEXT(JSON, 1, "unblocked_by", "unit that came last of what it needed; null: it needed none"),
    COUNT(JSON, 1, "unblocked_by_pid", "its process"),
    SECONDS(
        JSON, 1, "slack_s",
        "how much later it could have ended without making the critical path longer; null: it ran "
        "inside another"),
    YES_NO(JSON, 1, "on_critical_path", "it is a part of that"),
    SECONDS(JSON, 1, "share_s",
            "its fair share of the wall time, see wall_shares; null: it ran inside another"),
};

static const struct schema_column cargo_columns[] = {
    TEXT(JSON, 4,
         "source", "timings: its page; log: the session log of -Z build-analysis; messages: its list alone, without times"),
    YES_NO(JSON, 4, "messages", "what --message-format=json listed is in it"),
    TEXT(JSON, 4, "profile", "dev, release, a custom one"),
    TEXT(JSON, 4, "rustc", "the compiler and its version"),
    TEXT(JSON, 4, "host", "triple"),
    COUNT(JSON, 4, "jobs", "how many units cargo runs at once"),
    COUNT(JSON, 4, "cores", "as cargo counted them"),
    COUNT(JSON, 4, "fresh", "units with nothing to do"),
    COUNT(JSON, 4, "built", "units that were new or dirty"),
    COUNT(JSON, 4, "not_begun", "of these, what a failed build did not get to"),
    COUNT(JSON, 4, "known_before",
          "fingerprints in the target directory before the build; null: not looked at"),
    YES_NO(JSON, 4, "success", "the build as its list ended; null: it did not say"),
    SECONDS(JSON, 4, "zero_s", "where cargo's clock begins"),
    SECONDS(JSON, 4, "before_first_s", "from the command's start to the start of the first unit"),
    SECONDS(JSON, 4, "after_last_s", "from the end of the last unit to the command's end"),
    SECONDS(JSON, 4, "resolve_s", "resolution of dependencies, wall clock; null: not measured"),
    SECONDS(JSON, 4, "units_known_s",
            "by cargo's clock, when all units were known; null: not measured"),
    ROWS(JSON, 4, "own", "phases", "CPU time of cargo's own processes, without role and codegen unit"),
    ROWS(JSON, 4, "concurrency", "cargo_concurrency", "units that ran and waited"),
    ROWS(JSON, 4, "fresh_units", "cargo_fresh",
         "units with nothing to do, as far as it is known which"),
    ROWS(JSON, 4, "unseen", "cargo_unseen",
         "units that cargo ran and for which no process was recorded"),
};

static const struct schema_column cargo_concurrency_columns[] = {
    SECONDS(JSON, 4, "t_s", "from here on"),
    COUNT(JSON, 4, "running", "units that ran"),
    COUNT(JSON, 4, "waiting", "units that could run and did not"),
    COUNT(JSON, 4, "inactive", "units that could not run yet"),
};

static const struct schema_column cargo_fresh_columns[] = {
    TEXT(JSON, 4, "unit", "as cargo calls it"),
    TEXT(JSON, 4, "package", "name"),
    TEXT(JSON, 4, "version", "of the package"),
    TEXT(JSON, 4, "mode", "build, check, test, run-custom-build, ..."),
    TEXT(JSON, 4, "features", "as resolved; null: not said"),
    TEXT(JSON, 4, "opt_level", "optimisation; messages only"),
    TEXT(JSON, 4, "debug_info", "level; messages only"),
    TEXT(JSON, 4, "files", "what it left earlier, names without directories; messages only"),
};

static const struct schema_column cargo_unseen_columns[] = {
    TEXT(JSON, 4, "unit", "as cargo calls it"),
    TEXT(JSON, 4, "package", "name"),
    TEXT(JSON, 4, "version", "of the package"),
    TEXT(JSON, 4, "mode", "build, check, test, run-custom-build, ..."),
    SECONDS(JSON, 4, "start_s", "by cargo"),
    SECONDS(JSON, 4, "end_s", "by cargo; null: it had not ended"),
    YES_NO(JSON, 4, "finished", "cargo saw its end"),
    TEXT(JSON, 4,
         "capture", "cached: a wrapper of rustc's was set, whose cache may have had it: no claim about its time; else null"),
};

static const struct schema_column ninja_columns[] = {
    TEXT(JSON, 4, "output", "file that ninja had made"),
    SECONDS(JSON, 4, "start_s", "of its command, by ninja's clock from the start of its process"),
    SECONDS(JSON, 4, "end_s", "of its command"),
    TEXT(JSON, 4, "unit", "unit that wrote the file; null: none was seen to"),
};

static const struct schema_column header_columns[] = {
    TEXT(JSON, 4, "file", "as clang names it"),
    COUNT(JSON, 4, "count", "times that it was read"),
    SECONDS(JSON, 4, "total_s", "wall clock of its compilations, with what it includes"),
    SECONDS(JSON, 4, "self_s", "without that"),
    SECONDS(JSON, 4, "max_s", "the longest reading"),
};

static const struct schema_column unit_dep_columns[] = {
    RUN_ID,
    TEXT(BOTH, 1, "unit", "that waits"),
    COUNT(JSON, 1, "pid", "of its process"),
    TEXT(BOTH, 1, "dep", "that it waits for"),
    COUNT(JSON, 1, "dep_pid", "of its process"),
    TEXT(BOTH, 1, "kind",
         "what it waits for: metadata; objects (its end, and that of all libraries below it); file "
         "(its end); run (the end of a build script's run)"),
    YES_NO(JSON, 1, "contradicted", "the unit began before that was there: the edge does not count"),
};

static const struct schema_column path_step_columns[] = {
    TEXT(JSON, 1, "unit", "its name for people"),
    COUNT(JSON, 1, "pid", "of its process"),
    TEXT(JSON, 1, "need", "what the next one waited for, see unit_deps; of the last one file"),
    SECONDS(JSON, 1, "start_s", "when it began"),
    SECONDS(JSON, 1, "end_s", "when what the next one needed was there"),
    SECONDS(JSON, 1, "waited_s", "how much earlier it could have begun"),
};

static const struct schema_column idle_columns[] = {
    SECONDS(JSON, 1, "start_s", "when it began"),
    SECONDS(JSON, 1, "end_s", "when it ended"),
    SECONDS(JSON, 1, "idle_core_s", "cores less working threads, over the time"),
    COUNT(JSON, 1, "running", "units, the same from start to end"),
    TEXT(JSON, 1, "unit",
         "the only unit that ran; of several the one that ended with the stretch; null: none"),
    COUNT(JSON, 1, "pid", "its process"),
    COUNT(JSON, 1, "blocked", "units that could not begin, for they needed it or what needed it"),
    COUNT(JSON, 1, "ready", "units that had all they needed before it and began after it"),
    TEXT(JSON, 1, "next", "of those that waited for it last the first to begin; null: none"),
    COUNT(JSON, 1, "next_pid", "its process"),
};

static const struct schema_column wall_share_columns[] = {
    TEXT(JSON, 1, "unit",
         "the outermost that threads worked for; null: none, the build tool or another program"),
    COUNT(JSON, 1, "pid", "its process"),
    TEXT(JSON, 1, "segment", "first level; null: none of its threads worked, or nobody sampled it"),
    TEXT(JSON, 1, "phase", "second level"),
    SECONDS(
        JSON, 1, "wall_s",
        "each moment is divided equally among the threads that worked then; where none did, among "
        "the units that ran: the sum is the wall time"),
};

static const struct schema_column replay_columns[] = {
    SECONDS(JSON, 1, "measured_s", "what the build took"),
    SECONDS(JSON, 1, "replayed_s", "what the simulation of its schedule says that it takes"),
    NUMBER(JSON, 1, "error", "",
           "replayed_s over measured_s, less 1: how far the answers can be believed"),
    NUMBER(JSON, 1, "cores", "", "of the machine"),
    NUMBER(JSON, 1, "other_threads", "",
           "of other programs that wanted cores as well, mean: what explains how long the build's "
           "threads waited for one"),
    NUMBER(JSON, 4, "other_share", "1",
           "of the cores that the build wanted, what other sessions or control groups had; null: "
           "cores are shared by thread, or with nobody"),
    COUNT(JSON, 1, "jobs", "units at once"),
    YES_NO(JSON, 1, "jobs_seen", "nobody said how many jobs: most units that ran at once"),
    SECONDS(JSON, 1, "latency_s", "of the build tool, from an end to a start"),
};

static const struct schema_column what_if_columns[] = {
    TEXT(JSON, 1, "change",
         "as --what-if takes it: unit=NAME is each unit called so, or so and more after a blank"),
    SECONDS(JSON, 1, "wall_s", "what the replayed build takes with it"),
    SECONDS(JSON, 1, "saved_s", "replay.replayed_s less that"),
};

static const struct schema_column unit_flag_columns[] = {
    RUN_ID,
    TEXT(TABLE, 4, "unit", "that has it"),
    TEXT(BOTH, 4, "flag", "name"),
    TEXT(BOTH, 4, "value", "yes for a flag without one; (path) for a path"),
};

static const struct schema_column segment_columns[] = {
    TEXT(JSON, 1, "segment", "frontend, backend, link, process, wait, unknown"),
    COUNT(JSON, 1, "samples", "taken in it"),
    SECONDS(JSON, 1, "cpu_s", "CPU time that they stand for"),
    SECONDS(JSON, 1, "late_cpu_s", "see coverage"),
    NUMBER(JSON, 1, "share", "1", "of the CPU time of all samples"),
};

static const struct schema_column phase_columns[] = {
    RUN_ID,
    TEXT(TABLE, 1, "unit", "it belongs to"),
    TEXT(BOTH, 1,
         "role", "of the thread: serial, opt, codegen, lto, copy, coordinator, process, other (in units only)"),
    TEXT(BOTH, 1, "cgu", "codegen unit of the thread (in units only)"),
    TEXT(BOTH, 1, "segment", "first level"),
    TEXT(BOTH, 1, "phase", "second level"),
    TEXT(BOTH, 1,
         "detail", "third level; null: none claimed it; unresolved: the module that decides it has no symbols"),
    COUNT(BOTH, 1, "samples", "taken in it"),
    SECONDS(BOTH, 1, "cpu_s", "CPU time that they stand for"),
    SECONDS(BOTH, 1, "late_cpu_s", "see coverage"),
    NUMBER(JSON, 1, "share", "1", "of the CPU time of all samples (not in units)"),
};

static const struct schema_column role_columns[] = {
    TEXT(JSON, 1, "role", "what the threads are there for"),
    COUNT(JSON, 1, "samples", "taken in them"),
    SECONDS(
        JSON, 1,
        "cpu_s", "CPU time that they stand for. Roles run side by side: nothing here compares to the wall clock"),
    SECONDS(JSON, 1, "late_cpu_s", "see coverage"),
};

static const struct schema_column macro_columns[] = {
    TEXT(JSON, 2, "macro", "the crate, from its library's file name"),
    COUNT(JSON, 2, "samples", "taken inside its library"),
    SECONDS(JSON, 2, "cpu_s", "CPU time that they stand for"),
    COUNT(JSON, 2, "waits", "blocking calls made inside its library"),
    SECONDS(JSON, 2, "wait_s", "what they lasted, wall clock"),
    ROWS(JSON, 2, "uses", "macro_uses", "the same by unit, the dearest first"),
};

static const struct schema_column macro_use_columns[] = {
    TEXT(JSON, 2, "unit", "that expanded its macros"),
    COUNT(JSON, 2, "pid", "of its process"),
    COUNT(JSON, 2, "samples", "see macros"),
    SECONDS(JSON, 2, "cpu_s", "see macros"),
    COUNT(JSON, 2, "waits", "see macros"),
    SECONDS(JSON, 2, "wait_s", "see macros"),
};

static const struct schema_column phase_span_columns[] = {
    RUN_ID,
    TEXT(BOTH, 2, "unit", "it belongs to; null: a program that is none"),
    COUNT(JSON, 2, "pid", "of its process"),
    COUNT(BOTH, 2, "tid", "of the thread"),
    TEXT(BOTH, 2, "role", "of the thread meanwhile"),
    TEXT(BOTH, 2, "cgu", "codegen unit of the thread meanwhile; null: none"),
    TEXT(BOTH, 2, "segment", "first level"),
    TEXT(BOTH, 2, "phase", "second level"),
    SECONDS(BOTH, 2, "start_s", "of the first sample's CPU time"),
    SECONDS(BOTH, 2, "end_s", "of the last sample"),
    COUNT(BOTH, 2, "samples", "in a row, without a gap"),
    SECONDS(BOTH, 2, "cpu_s", "CPU time that they stand for"),
    SECONDS(JSON, 2, "gap_s", "a longer time without a sample would have ended it"),
};

static const struct schema_column wait_columns[] = {
    RUN_ID,
    TEXT(TABLE, 1, "unit", "it belongs to"),
    COUNT(TABLE, 1, "tid", "of the thread"),
    TEXT(BOTH, 1, "kind", "lock, child, jobserver, io, sleep, other"),
    COUNT(BOTH, 1, "count", "calls that blocked for a millisecond or more"),
    SECONDS(BOTH, 1, "seconds", "that they blocked"),
};

static const struct schema_column timeline_columns[] = {
    RUN_ID,
    SECONDS(BOTH, 1, "t_s", "time of the poll"),
    COUNT(BOTH, 2, "running", "units that ran; a linker under its compiler is not counted"),
    COUNT(BOTH, 4, "waiting", "units that could run and did not; null: not known"),
    COUNT(BOTH, 4, "inactive", "units that could not run yet; null: not known"),
    NUMBER(BOTH, 2, "threads_busy", "", "threads that were working, mean since the last row"),
    COUNT(JSON, 1, "processes", "of the command, alive"),
    COUNT(JSON, 1, "threads", "of the command, alive"),
    NUMBER(JSON, 1, "tree_busy", "", "processors that the command used, mean since the last row"),
    NUMBER(BOTH, 1, "cpu_busy", "",
           "processors of the machine that were busy, mean since the last row"),
    NUMBER(BOTH, 1, "load1", "", "load average of a minute"),
    NUMBER(BOTH, 1, "psi_cpu", "1",
           "share of the time since the last row in which something waited for a processor"),
    NUMBER(BOTH, 1, "psi_io", "1", "the same for I/O"),
    NUMBER(BOTH, 1, "psi_mem", "1", "the same for memory"),
    BYTES(BOTH, 1, "rss_bytes",
          "resident memory of the command's processes; shared pages count once for each of them"),
    BYTES(BOTH, 2, "anon_bytes", "of it, what belongs to no file and is not shared"),
    BYTES(BOTH, 2, "mem_available_bytes", "what the machine could still give without swapping"),
};

static const struct schema_column memory_columns[] = {
    TEXT(JSON, 2, "unit", "that held it; null: a program that is none"),
    COUNT(JSON, 2, "pid", "of its process"),
    SECONDS(JSON, 2, "t_s", "time of the poll"),
    BYTES(JSON, 2, "rss_bytes", "resident; shared pages included"),
    BYTES(JSON, 2, "anon_bytes", "of it, what belongs to no file and is not shared"),
};

static const struct schema_column memory_holder_columns[] = {
    TEXT(JSON, 2, "unit", "that held it; null: a program that is none"),
    COUNT(JSON, 2, "pid", "of its process"),
    BYTES(JSON, 2, "rss_bytes", "resident; shared pages included"),
    BYTES(JSON, 2, "anon_bytes", "of it, what belongs to no file and is not shared"),
};

static const struct schema_column memory_peak_columns[] = {
    SECONDS(JSON, 2, "t_s",
            "of the poll that met most; null: no poll, or none near the peak of a short run"),
    BYTES(JSON, 2, "rss_bytes", "resident, all processes"),
    BYTES(JSON, 2, "anon_bytes", "of it, what belongs to no file and is not shared"),
    ROWS(JSON, 2, "holders", "memory_holders", "the processes that lived then, largest first"),
};

static const struct schema_column thread_columns[] = {
    COUNT(JSON, 1, "pid", "of the process"),
    COUNT(JSON, 1, "tid", "of the thread"),
    TEXT(JSON, 1, "name", "the last it had"),
    TEXT(JSON, 1, "role", "what it is there for"),
    YES_NO(JSON, 1, "main", "the process's first thread"),
    SECONDS(JSON, 1, "start_s", "when it began"),
    SECONDS(JSON, 1, "end_s", "when it ended"),
    SECONDS(JSON, 1, "cpu_s", "CPU time"),
    SECONDS(JSON, 1, "lifetime_s", "end minus start; the next three add up to it"),
    SECONDS(JSON, 1, "run_s", "on a processor"),
    SECONDS(JSON, 1, "core_wait_s", "ready to run, waiting for a processor"),
    SECONDS(JSON, 1, "blocked_s", "waiting for something else"),
    SECONDS(JSON, 1, "residual_s", "of blocked_s, what no wait of a known kind explains"),
    SECONDS(JSON, 1, "handler_s", "time in the sampling handler, by the clock"),
    COUNT(JSON, 1, "samples", "taken"),
    SECONDS(JSON, 1, "sampled_cpu_s", "CPU time that they stand for"),
    ROWS(JSON, 1, "waits", "waits", "by kind"),
};

static const struct schema_column process_columns[] = {
    RUN_ID,
    COUNT(BOTH, 1, "pid",
          "one pid comes several times: an exec begins a new row, and pids are used again"),
    COUNT(BOTH, 1, "ppid", "the parent's"),
    TEXT(BOTH, 1, "exe", "path of the program"),
    TEXT(BOTH, 1, "role", "kind of the unit that it is; other when it is none"),
    TEXT(JSON, 1, "unit", "that it is; null: none"),
    SECONDS(BOTH, 1, "start_s", "when it began"),
    SECONDS(BOTH, 1, "end_s", "when it ended"),
    SECONDS(JSON, 1, "wall_s", "end minus start"),
    SECONDS(BOTH, 1, "cpu_s", "CPU time as the kernel charged it, without child processes"),
    SECONDS(JSON, 1, "user_s", "of that, outside of the kernel"),
    SECONDS(JSON, 1, "sys_s", "of that, in the kernel"),
    BYTES(BOTH, 1, "max_rss_bytes", "peak resident memory"),
    COUNT(JSON, 1, "minor_faults", "page faults without I/O"),
    COUNT(JSON, 1, "major_faults", "page faults with I/O"),
    COUNT(JSON, 1, "switches_voluntary", "times it gave a processor away"),
    COUNT(JSON, 1, "switches_forced", "times a processor was taken from it"),
    COUNT(JSON, 1, "blocks_in", "blocks of 512 bytes read from storage"),
    COUNT(JSON, 1, "blocks_out", "blocks of 512 bytes written to storage"),
    YES_NO(JSON, 1, "forked", "it began by a fork, and runs its parent's program"),
    YES_NO(JSON, 1, "running", "it still ran when the recording ended"),
    YES_NO(BOTH, 1, "sampled", "samples were taken"),
    TEXT(BOTH, 1, "why_not", "why it was not sampled, in words; null when it was"),
    TEXT(JSON, 1, "engine", "how it was sampled; null when it was not"),
    COUNT(BOTH, 1, "exit_code", "null when a signal ended it or nobody said"),
    COUNT(BOTH, 1, "signal", "that ended it; null when none did"),
    SECONDS(JSON, 1, "startup_cpu_s", "CPU time from exec to the start of the sampler"),
    SECONDS(JSON, 1, "tail_cpu_s", "CPU time after the sampler's end"),
    COUNT(JSON, 1, "samples", "taken"),
    SECONDS(JSON, 1, "sampled_cpu_s", "CPU time that they stand for"),
    SECONDS(JSON, 1, "late_cpu_s", "see coverage"),
    COUNT(JSON, 1, "lost", "records that could not be stored"),
};

static const struct schema_column artifact_columns[] = {
    RUN_ID,
    TEXT(TABLE, 4, "unit", "that wrote it"),
    TEXT(JSON, 4, "file", "its name, without the directory"),
    TEXT(BOTH, 4, "kind", "rmeta, rlib, obj, exe, shared, archive, dwo, asm, file"),
    BYTES(BOTH, 4, "bytes", "size"),
};

/* Seconds where a profile measures time. Where it counts something else (session: intervals.measure) the same figure stands
 * under the second name, in that unit, and the first is null. */
#define AMOUNT(place, name, meaning)       \
    SECONDS(place, 1, name "_s", meaning), \
        COUNT(place, 1, name "_units",     \
              "the same where intervals.measure is no time; null where it is")

static const struct schema_column interval_columns[] = {
    TEXT(JSON, 1,
         "measure", "time, cpu_time, instructions, instructions_minus_irqs, cycles, other: what events were measured in"),
    COUNT(JSON, 1, "events", "intervals, those that were stored together included"),
    COUNT(JSON, 1, "instants", "and integers"),
    COUNT(JSON, 1, "threads", "with intervals"),
    COUNT(JSON, 1, "processes", "with intervals"),
    AMOUNT(JSON, "self", "of all labels"),
    AMOUNT(
        JSON, "thread",
        "from the first start to the last end of an interval of a thread, added up over threads"),
    AMOUNT(JSON, "whole",
           "what shares are of: of each thread its time as above or, where that is more, its self "
           "time; and the self time of "
           "detached intervals"),
    COUNT(JSON, 1, "folded", "of the events, calls that were stored as sums"),
    COUNT(JSON, 1, "one_in",
          "the most calls that one recorded call stands for; where it is more than 1 counts and "
          "times "
          "are estimates"),
    COUNT(JSON, 1, "open",
          "intervals that never ended: counted up to the last time known of their thread"),
    COUNT(JSON, 1,
          "backward", "stored with an end before their start, or ended by the counter of another thread; counted as empty"),
    COUNT(JSON, 1, "overlapping", "begun inside another interval and ended after it: nobody's child"),
};

static const struct schema_column activity_columns[] = {
    RUN_ID,
    TEXT(BOTH, 1, "unit", "it belongs to; null: all of the input together"),
    COUNT(BOTH, 1, "pid", "of its process; null: all"),
    TEXT(BOTH, 1, "kind",
         "family of the label: Query, GenericActivity, Call, ... Parts of a query that rustc "
         "stores under kinds of their own "
         "(QueryBlocked, QueryCacheHit, QueryCacheHitCount, IncrementalLoadResult, "
         "IncrementalResultHashing) are columns of "
         "its Query"),
    TEXT(BOTH, 1, "label", "what the event is called"),
    COUNT(BOTH, 1, "count", "how often, parts of queries not counted"),
    COUNT(BOTH, 1, "cache_hits", "answers from a cache"),
    AMOUNT(BOTH, "self", "active time without the events inside; parts of queries included"),
    NUMBER(BOTH, 1, "share", "1", "self over intervals.whole"),
    AMOUNT(BOTH, "active", "time without pauses; an event inside one of the same label adds nothing"),
    AMOUNT(BOTH, "time", "wall time; an event inside one of the same label adds nothing"),
    AMOUNT(BOTH, "wall", "wall time of every event, also inside one of the same label"),
    AMOUNT(BOTH, "blocked", "of wall: waiting for another thread's answer"),
    AMOUNT(BOTH, "load", "of self: loading from the incremental cache"),
    AMOUNT(BOTH, "hashing", "of self: hashing for the incremental cache"),
    AMOUNT(BOTH, "min", "shortest event, active time; null when none was stored singly"),
    AMOUNT(BOTH, "p50", "half of the events took no longer, to 3%"),
    AMOUNT(BOTH, "p90", "nine of ten took no longer"),
    AMOUNT(BOTH, "p99", "99 of 100 took no longer"),
    AMOUNT(BOTH, "max", "longest event"),
    COUNT(BOTH, 1, "open", "of count: never ended"),
    COUNT(BOTH, 1, "folded", "of count: stored together with others, not in the percentiles"),
};

static const struct schema_column activity_kind_columns[] = {
    TEXT(JSON, 1, "kind", "as it was recorded; parts of queries under their own"),
    COUNT(JSON, 1, "count", "events"),
    AMOUNT(JSON, "self", "of them"),
};

static const struct schema_column activity_unit_columns[] = {
    TEXT(JSON, 1, "unit", "its name for people"), COUNT(JSON, 1, "pid", "of its process"),
    COUNT(JSON, 1, "events", "intervals"),        COUNT(JSON, 1, "threads", "with intervals"),
    AMOUNT(JSON, "self", "of all labels"),        AMOUNT(JSON, "thread", "see intervals"),
};

static const struct schema_column activity_thread_columns[] = {
    TEXT(JSON, 1, "unit", "it belongs to"),         COUNT(JSON, 1, "pid", "of its process"),
    COUNT(JSON, 1, "tid", "of the thread"),         TEXT(JSON, 1, "name", "the last it had"),
    COUNT(JSON, 1, "events", "intervals"),          AMOUNT(JSON, "self", "of all labels"),
    AMOUNT(JSON, "start", "of its first interval"), AMOUNT(JSON, "end", "of its last interval"),
};

static const struct schema_column activity_track_columns[] = {
    TEXT(JSON, 1, "unit", "it belongs to"),
    COUNT(JSON, 1, "pid", "of its process"),
    COUNT(JSON, 1, "tid", "of the thread that it ran on; null: on several"),
    TEXT(JSON, 1, "name", "what the program calls it"),
    COUNT(JSON, 1, "events", "intervals; they are among those of the threads, too"),
    AMOUNT(JSON, "self", "of all labels"),
    AMOUNT(JSON, "start", "of its first interval"),
    AMOUNT(JSON, "end", "of its last interval"),
};

static const struct schema_column artifact_size_columns[] = {
    TEXT(JSON, 1, "unit", "that made it; null: all together"),
    COUNT(JSON, 1, "pid", "of its process; null: all"),
    TEXT(JSON, 1, "label", "what the program calls it"),
    BYTES(JSON, 1, "bytes", "all of that name, added up"),
};

static const struct schema_column instant_columns[] = {
    TEXT(JSON, 1, "kind", "family of the label"),
    TEXT(JSON, 1, "label", "what the instant or integer is called"),
    COUNT(JSON, 1, "count", "how often"),
    COUNT(JSON, 1, "values", "of count: with a value"),
    COUNT(JSON, 1, "sum", "of the values; null: none has one"),
    COUNT(JSON, 1, "min", "least value"),
    COUNT(JSON, 1, "max", "largest value"),
    COUNT(JSON, 1, "last",
          "value of the last one; null: none has one, or the input stores no times of them"),
};

#define COUNTED(name, meaning)                                              \
    SECONDS(JSON, 1, name "_s", meaning "; null where measure is no time"), \
        COUNT(JSON, 1, name "_units", "the same where it is none")

static const struct schema_column counter_columns[] = {
    TEXT(JSON, 1, "counter", "its name"),
    TEXT(JSON, 1, "measure", "as intervals.measure: cpu_time, instructions, ..."),
    TEXT(JSON, 1, "kind", "family of the label"),
    TEXT(JSON, 1, "label", "what the intervals are called"),
    COUNT(JSON, 1, "count", "intervals in which it counted"),
    COUNTED("self", "counted in them, without what it counted in intervals inside"),
    COUNTED("total", "counted in them; an interval inside one of the same label adds nothing"),
    COUNTED("max", "most of one interval"),
};

static const struct schema_column argument_columns[] = {
    TEXT(JSON, 1, "kind", "family of the label"),
    TEXT(JSON, 1, "label", "what the event is called"),
    TEXT(JSON, 1, "argument", "its arguments, ', ' between them"),
    COUNT(JSON, 1, "count", "events with them"),
    AMOUNT(JSON, "self", "of these events"),
    AMOUNT(JSON, "time", "active; an event inside one of the same label adds nothing"),
    AMOUNT(JSON, "max", "longest of them, active"),
};

static const struct schema_column path_columns[] = {
    COUNT(JSON, 1, "path", "number of the path, from 1"),
    COUNT(JSON, 1, "parent", "path around it; null: outermost"),
    COUNT(JSON, 1, "depth", "labels around it"),
    TEXT(JSON, 1, "kind", "of the innermost label"),
    TEXT(JSON, 1, "label", "innermost label"),
    COUNT(JSON, 1, "count", "events there"),
    AMOUNT(JSON, "self", "of these events"),
    AMOUNT(JSON, "time", "active"),
};

#define CALL_SOURCE \
    TEXT(JSON, 1, "of", "events: their labels, by the clock; samples: their functions, by CPU time")
#define CALL_NAME                                                                            \
    TEXT(JSON, 1, "kind", "family of the label; null: a sampled function of a loaded file"), \
        TEXT(JSON, 1, "function", "label or function; null: outermost, nobody called"),      \
        TEXT(JSON, 1, "module", "file that the sampled function is in; null: not known, or a label")
#define CALL_COUNTS                                     \
    COUNT(JSON, 1, "count", "calls; null: of samples"), \
        COUNT(JSON, 1, "samples", "that it was seen in; null: of events")

static const struct schema_column around_columns[] = {
    CALL_SOURCE,
    CALL_NAME,
    TEXT(JSON, 1, "file", "source of the sampled function; a label has it in its name"),
    COUNT(JSON, 1, "line",
          "of file, where it was most of its time, in what it calls included; null: not known"),
    CALL_COUNTS,
    COUNT(JSON, 1, "calls_of_itself", "of count: by the function itself; null: of samples"),
    AMOUNT(JSON, "self", "without what it calls"),
    AMOUNT(JSON, "time", "with what it calls; of calls inside of one another the outermost counts"),
    NUMBER(JSON, 1, "share", "1", "time over all time"),
    ROWS(JSON, 1, "callers", "neighbours", "who calls it: their times add up to its time"),
    ROWS(JSON, 1, "callees", "neighbours",
         "whom it calls: their times and its self add up to its time"),
};

static const struct schema_column neighbour_columns[] = {
    CALL_NAME,
    CALL_COUNTS,
    AMOUNT(JSON, "time", "part of the function's time"),
    NUMBER(JSON, 1, "share", "1", "time over the function's time"),
};

static const struct schema_column call_columns[] = {
    CALL_SOURCE,
    TEXT(JSON, 1, "caller_kind", "family of the caller's label; null: none"),
    TEXT(JSON, 1, "caller", "who calls; null: outermost, nobody called"),
    TEXT(JSON, 1, "caller_module", "file that the sampled caller is in"),
    CALL_NAME,
    CALL_COUNTS,
    AMOUNT(JSON, "self", "of function, when called from there"),
    AMOUNT(JSON, "time",
           "of function, when called from there; of calls inside of one another the outermost "
           "counts, so that the "
           "rows of a function add up to its time"),
    NUMBER(JSON, 1, "share", "1", "time over all time"),
};

static const struct schema_column function_columns[] = {
    CALL_NAME,
    TEXT(JSON, 1, "file", "its source"),
    COUNT(JSON, 1, "samples", "in which it was the innermost"),
    AMOUNT(JSON, "self", "CPU time without what it calls"),
    AMOUNT(JSON, "time", "with what it calls"),
    NUMBER(JSON, 1, "share", "1", "self over all"),
};

static const struct schema_column finding_columns[] = {
    TEXT(JSON, 1, "id", "stays the same from version to version"),
    TEXT(JSON, 1, "severity", "info, warning, ..."),
    TEXT(JSON, 1, "text", "one sentence for people"),
    SECONDS(JSON, 1, "seconds", "that it is about"),
    TEXT(JSON, 1, "unit", "that it is about"),
};

#define ROW_WHEN(name, row, key, is_list, since, when, columns)                         \
    {                                                                                   \
        name, row, key, is_list, since, when, columns, sizeof columns / sizeof *columns \
    }
#define ROW(name, row, key, is_list, since, columns) \
    ROW_WHEN(name, row, key, is_list, since, NULL, columns)
#define EVENTS "there are events"
#define UNITS  "units were recorded"

const struct schema_table schema_tables[] = {
    ROW("sessions", "recording", "session", 0, 1, session_columns),
    ROW("coverage", "recording; in tables its columns are part of sessions", "coverage", 0, 1,
        coverage_columns),
    ROW("segments", "segment of the whole run", "segments", 1, 1, segment_columns),
    ROW("phases", "segment, phase and detail of the whole run; in units also by role and codegen unit",
        "phases", 1, 1, phase_columns),
    ROW("roles", "thread role", "roles", 1, 1, role_columns),
    ROW("units", "unit: one compilation, link or build-script run", "units", 1, 1, unit_columns),
    ROW("critical_path", "unit on the longest chain of units that waited for each other, in order",
        "critical_path", 1, 1, path_step_columns),
    ROW("unit_deps", "unit that another one waits for", "unit_deps", 1, 1, unit_dep_columns),
    ROW("idle_stretches", "time in which cores were idle and the same units ran", "idle_stretches",
        1, 1, idle_columns),
    ROW_WHEN("wall_shares", "unit and phase", "wall_shares", 1, 1, "there are samples",
             wall_share_columns),
    ROW_WHEN("replay", "recording", "replay", 0, 1, UNITS, replay_columns),
    ROW_WHEN("what_if", "change that was asked about; with no --what-if what is usually asked",
             "what_if", 1, 1, UNITS, what_if_columns),
    ROW_WHEN("cargo", "recording of a cargo build", "cargo", 0, 4, "cargo's own record was kept",
             cargo_columns),
    ROW_WHEN("headers", "header that clang read, by its traces; the dearest first", "headers", 1, 4,
             "clang wrote traces (-ftime-trace)", header_columns),
    ROW_WHEN("ninja", "file that ninja had made, by its log", "ninja", 1, 4,
             "ninja ran and kept a log", ninja_columns),
    ROW("cargo_concurrency", "change in what cargo ran", NULL, 1, 4, cargo_concurrency_columns),
    ROW("cargo_fresh", "unit of cargo's with nothing to do", NULL, 1, 4, cargo_fresh_columns),
    ROW("cargo_unseen", "unit of cargo's without a process", NULL, 1, 4, cargo_unseen_columns),
    ROW("macros", "crate of procedural macros that was used", "macros", 1, 2, macro_columns),
    ROW("macro_uses", "unit that used a crate of procedural macros", NULL, 1, 2, macro_use_columns),
    ROW("waits", "kind of wait, of a unit or a thread", NULL, 1, 1, wait_columns),
    ROW_WHEN("intervals", "report: its events, added up", "intervals", 0, 1, EVENTS, interval_columns),
    ROW("activities", "kind and label of an instrumented unit", "activities", 1, 1, activity_columns),
    ROW_WHEN("activity_kinds", "kind of event", "activity_kinds", 1, 1, EVENTS, activity_kind_columns),
    ROW_WHEN("activity_units", "process with events", "activity_units", 1, 1, EVENTS,
             activity_unit_columns),
    ROW_WHEN("activity_threads", "thread with events", "activity_threads", 1, 1, EVENTS,
             activity_thread_columns),
    ROW_WHEN(
        "activity_tracks",
        "track with events: a line of execution that the program schedules itself, as a coroutine",
        "activity_tracks", 1, 1, EVENTS, activity_track_columns),
    ROW_WHEN("counters", "counter beside the clock, and label", "counters", 1, 1, EVENTS,
             counter_columns),
    ROW_WHEN("artifact_sizes", "name of an artifact", "artifact_sizes", 1, 1, EVENTS,
             artifact_size_columns),
    ROW_WHEN("instants", "kind and label of instants and integers", "instants", 1, 1, EVENTS,
             instant_columns),
    ROW_WHEN("arguments", "label and arguments", "arguments", 1, 1, "--by argument was given",
             argument_columns),
    ROW_WHEN("paths", "way from the outermost label to an event", "paths", 1, 1,
             "--by path was given", path_columns),
    ROW_WHEN("around", "label or function that is called as --around says", "around", 1, 1,
             "--around was given", around_columns),
    ROW("neighbours", "caller or callee of a function", NULL, 1, 1, neighbour_columns),
    ROW_WHEN("calls", "caller and what it calls", "calls", 1, 1, "--by caller was given",
             call_columns),
    ROW_WHEN("functions", "function in samples", "functions", 1, 1, "--by function was given",
             function_columns),
    ROW("threads", "thread of a sampled process", "threads", 1, 1, thread_columns),
    ROW("processes", "program image", "processes", 1, 1, process_columns),
    ROW("timeline", "poll of the machine, ten a second", "timeline", 1, 1, timeline_columns),
    ROW("findings", "finding", "findings", 1, 1, finding_columns),
    ROW_WHEN("phase_spans", "stretch of samples of one thread in one phase", "phase_spans", 1, 2,
             "--by span was given", phase_span_columns),
    ROW("unit_flags", "flag of a unit", NULL, 1, 4, unit_flag_columns),
    ROW("artifacts", "file that a unit wrote", NULL, 1, 4, artifact_columns),
    ROW("machines", "recording", "machine", 0, 2, machine_columns),
    ROW("environments", "setting of a recording", "settings", 1, 2, environment_columns),
    ROW("memory_peak", "recording: the time at which its processes held most memory of their own",
        "memory_peak", 0, 2, memory_peak_columns),
    ROW("memory_holders", "process that held memory then", NULL, 1, 2, memory_holder_columns),
    ROW_WHEN("memory", "reading of a process's memory; those that hardly differ are left out",
             "memory", 1, 2, "--by memory was given", memory_columns),
    ROW("classes", "class of compilations of the units shown", "classes", 1, 4, class_columns),
};
const size_t schema_table_count = sizeof schema_tables / sizeof *schema_tables;

const struct schema_table *schema_table(const char *name)
{
    for (size_t i = 0; i < schema_table_count; i++) {
        if (strcmp(schema_tables[i].name, name) == 0)
            return &schema_tables[i];
    }
    return NULL;
}

const struct schema_column *schema_column(const struct schema_table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i].name, name) == 0)
            return &table->columns[i];
    }
    return NULL;
}

const struct schema_table *schema_report_part(const char *report_key)
{
    for (size_t i = 0; i < schema_table_count; i++) {
        if (schema_tables[i].report_key && strcmp(schema_tables[i].report_key, report_key) == 0)
            return &schema_tables[i];
    }
    return NULL;
}

const char *schema_type_name(enum schema_type type)
{
    static const char *const names[] = {"text",          "number", "integer",
                                        "true or false", "time",   "list"};
    return (size_t)type < sizeof names / sizeof *names ? names[type] : "?";
}
