#!/usr/bin/env python3
# ctest: TIMEOUT 60
"""Calls by each policy among intervals, and open when the process ends, calls _exit or is killed: self times are exact, and add up
to the time that was covered."""

import json
import os
import subprocess
import tempfile

LAMELLA = os.environ["LAMELLA"]
BUILD = os.environ["LAMELLA_BUILD"]
SOURCE = os.environ["LAMELLA_SRC"]

# The program's clock is its own: figures are known beforehand.
PROGRAM = r"""
#include <lamella/lamella.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static unsigned long now;
int clock_gettime(clockid_t clock, struct timespec *ts)
{
    if (!now) { /* later than what the recorder reads elsewhere */
        syscall(SYS_clock_gettime, clock, ts);
        now = ((unsigned long)ts->tv_sec + 1000) * 1000000000;
    }
    ts->tv_sec = (time_t)(now / 1000000000);
    ts->tv_nsec = (long)(now % 1000000000);
    return 0;
}

static void enter(const char *name) { lam_call_enter(LAM_DEFAULT, lam_label_intern(LAM_DEFAULT, name, 1)); }
static void leave(const char *name) { lam_call_exit(LAM_DEFAULT, lam_label_intern(LAM_DEFAULT, name, 1)); }

static void step(void)
{
    LAM_SCOPE("S");
    now += 10;
    enter("f");
    now += 20;
    {
        LAM_SCOPE("s");
        now += 30;
        enter("g");
        now += 40;
        {
            LAM_SCOPE("u");
            now += 5;
        }
        leave("g");
        now += 3;
    }
    now += 2;
    leave("f");
    now += 7;
}

/* A coroutine that one thread begins and another ends, in the middle of calls and an interval. */
static struct lam_track coroutine;
static const struct lam_track none;

static void *second_half(void *unused)
{
    now += 5;
    lam_track_switch(LAM_DEFAULT, coroutine);
    now += 4;
    enter("g");
    now += 40;
    leave("g");
    leave("f");
    lam_track_switch(LAM_DEFAULT, none);
    now += 1000;
    lam_track_switch(LAM_DEFAULT, coroutine);
    now += 3;
    return unused;
}

static void coroutines(void)
{
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "GenericActivity");
    struct lam_track other = lam_track_create(LAM_DEFAULT, lam_label_intern(LAM_DEFAULT, "other", 5));
    coroutine = lam_track_create(LAM_DEFAULT, lam_label_intern(LAM_DEFAULT, "coroutine", 9));
    struct lam_handle outer = lam_begin(LAM_DEFAULT, kind, lam_label_intern(LAM_DEFAULT, "O", 1));
    lam_track_switch(LAM_DEFAULT, coroutine); /* told: the first */
    enter("h");
    now += 11;
    struct lam_handle inner = lam_begin(LAM_DEFAULT, kind, lam_label_intern(LAM_DEFAULT, "S", 1));
    now += 17;
    enter("f");
    now += 18;
    lam_track_switch(LAM_DEFAULT, other); /* not told, as nothing follows, and so are the others of these 10 ms */
    now += 7;
    lam_track_switch(LAM_DEFAULT, none);
    now += 6;
    lam_end(LAM_DEFAULT, outer);
    now += 50;
    enter("p"); /* the thread's own, and stored when it is over */
    now += 2;
    lam_track_switch(LAM_DEFAULT, other);
    now += 100;
    lam_track_switch(LAM_DEFAULT, none);
    leave("p");
    pthread_t thread;
    pthread_create(&thread, NULL, second_half, NULL);
    pthread_join(thread, NULL);
    lam_track_switch(LAM_DEFAULT, coroutine);
    now += 2;
    lam_end(LAM_DEFAULT, inner);
    leave("h");
    lam_track_switch(LAM_DEFAULT, none);
}

/* A function in itself, by way of another one: 97 ns, of which 60 are its own. */
static void recurse(int left)
{
    enter("r");
    now += 10;
    enter("x");
    now += 5;
    leave("x");
    if (left > 1) {
        enter("y");
        now += 3;
        recurse(left - 1);
        leave("y");
    }
    now += 2;
    leave("r");
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (strcmp(argv[2], "recursion") == 0) {
        enter("h");
        for (int i = atoi(argv[1]); i > 0; i--)
            recurse(5);
        leave("h");
        return 0;
    }
    if (strcmp(argv[2], "coroutines") == 0) {
        coroutines();
        return 0;
    }
    if (strcmp(argv[2], "calls") == 0) {
        enter("h");
        now += 11;
        enter("p");
        now += 2000000;
        leave("p");
        leave("h");
        return 0;
    }
    for (int i = atoi(argv[1]); i > 0; i--)
        step();
    enter("h");
    now += 11;
    leave("h");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "GenericActivity");
    lam_begin(LAM_DEFAULT, kind, lam_label_intern(LAM_DEFAULT, "O", 1));
    now += 1;
    enter("p");
    now += 2;
    for (int i = 0; i < 3; i++) {
        enter("g");
        now += 50;
        leave("g");
    }
    enter("q");
    now += 4;
    lam_instant(LAM_DEFAULT, kind, lam_label_intern(LAM_DEFAULT, "last known", 10));
    if (strcmp(argv[2], "_exit") == 0)
        _exit(0);
    if (strcmp(argv[2], "kill") == 0)
        kill(getpid(), SIGKILL);
    return 0;
}
"""
STEPS = 2000
SELF = {"S": 17, "f": 22, "s": 33, "g": 40, "u": 5}
ONCE = {"h": 11, "O": 1, "p": 2, "q": 4, "g": 150}


def report(path, *options):
    out = subprocess.run([LAMELLA, "report", *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert out.returncode == 0, out.stderr
    return out.stdout.decode()


def check(program, directory, calls, how):
    path = os.path.join(directory, "out.lam")
    if os.path.exists(path):
        os.unlink(path)
    done = subprocess.run([program, str(STEPS), how], env={**os.environ, "LAMELLA_OUT": path, "LAMELLA_OPTIONS": f"clock=monotonic,calls={calls}"},
                          check=False)
    assert done.returncode == (-9 if how == "kill" else 0), done
    what = (calls, how)
    told = json.loads(report(path, "--format", "json"))
    rows = {row["label"]: row for row in told["activities"]}
    expected = {label: STEPS * SELF.get(label, 0) + ONCE.get(label, 0) for label in {**SELF, **ONCE}}
    # What is folded is written every eighth of a second, and by an orderly end.
    lost = expected.pop("h") if calls.endswith("threshold:25ns") and how != "return" else 0
    found = {label: round(row["self_s"] * 1e9) for label, row in rows.items()}
    assert found == expected, (what, found, expected)
    assert {label for label, row in rows.items() if row["open"]} == {"O", "p", "q"}, (what, rows)
    counts = {label: row["count"] for label, row in rows.items()}
    assert all(counts[label] == 1 for label in "Opq") and counts["g"] == STEPS + 3, (what, counts)
    assert round(rows["p"]["time_s"] * 1e9) == 156 and round(rows["O"]["time_s"] * 1e9) == 157, (what, rows["p"], rows["O"])
    covered = sum(row["end_s"] - row["start_s"] for row in told["activity_threads"])
    assert round(covered * 1e9) == sum(expected.values()) + lost, (what, covered, sum(expected.values()), lost)
    return path


def check_calls_alone(program, directory):
    """A recording that holds a tree and no event: its thread, and with it its unit in a table of runs, has the time of the calls."""
    path = os.path.join(directory, "alone.lam")
    subprocess.run([program, "0", "calls"], env={**os.environ, "LAMELLA_OUT": path, "LAMELLA_OPTIONS": "clock=monotonic,calls=tree"}, check=True)
    told = json.loads(report(path, "--format", "json"))
    spans = [row["end_s"] - row["start_s"] for row in told["activity_threads"]]
    assert [round(span * 1e9) for span in spans] == [2000011], told["activity_threads"]
    assert "the thread's 2.00 ms from first" in report(path), report(path)


def check_coroutines(program, directory, calls):
    """An interval and calls in a track that goes from thread to thread; switches that are not told."""
    path = os.path.join(directory, "coroutines.lam")
    if os.path.exists(path):
        os.unlink(path)
    subprocess.run([program, "0", "coroutines"], env={**os.environ, "LAMELLA_OUT": path, "LAMELLA_OPTIONS": f"clock=monotonic,calls={calls}"}, check=True)
    told = json.loads(report(path, "--format", "json"))
    rows = {row["label"]: row for row in told["activities"]}
    expected = {"h": 11, "S": 22, "f": 22, "g": 40, "p": 102, "O": 59}
    assert {label: round(row["self_s"] * 1e9) for label, row in rows.items()} == expected, (calls, rows)
    active = {label: round(row["active_s"] * 1e9) for label, row in rows.items()}
    assert active == {"h": 95, "S": 84, "f": 62, "g": 40, "p": 102, "O": 59}, (calls, active)
    assert all(row["count"] == 1 and not row["open"] for row in rows.values()), (calls, rows)


def check_recursion(program, directory, calls):
    """The time of a function that calls itself is that of its outermost calls, also of those that were not stored one by one."""
    path = os.path.join(directory, "recursion.lam")
    if os.path.exists(path):
        os.unlink(path)
    runs = 20000
    subprocess.run([program, str(runs), "recursion"], env={**os.environ, "LAMELLA_OUT": path, "LAMELLA_OPTIONS": f"clock=monotonic,calls={calls}"}, check=True)
    rows = {row["label"]: row for row in json.loads(report(path, "--format", "json"))["activities"]}
    # Of one in N which of the five calls is recorded is drawn: 15% are six standard deviations.
    off = 0.15 if calls.startswith("one_in:16") else 0
    for label, ns in {"r": 97, "y": 80, "x": 25, "h": 97}.items():
        time = rows[label]["time_s"] * 1e9 / runs
        assert abs(time - ns) <= ns * off + 1e-6, (calls, label, time, ns)


def check_paths(path, calls):
    """By path: intervals inside of calls, calls inside of intervals."""
    lines = report(path, "--by", "path", "--top", "0").split("By path")[1].splitlines()[2:]
    names, stack = set(), []
    for line in lines:
        if not line.strip():
            break
        depth = len(line) - len(line.lstrip()) - 2
        stack = stack[:depth] + [line.split()[0]]
        names.add("/".join(stack))
    assert names == {"S", "S/f", "S/f/s", "S/f/s/g", "S/f/s/g/u", "h", "O", "O/p", "O/p/g", "O/p/q"}, (calls, names)


def main():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        program = os.path.join(directory, "program")
        subprocess.run(["cc", "-O1", "-std=gnu17", "-Wall", "-Werror", f"-I{SOURCE}/include", "-x", "c", "-", "-x", "none",
                        os.path.join(BUILD, "liblamella.a"), "-lpthread", "-o", program], input=PROGRAM.encode(), check=True)
        for calls in ("all", "tree", "threshold:8ns", "threshold:25ns", "threshold:1s", "one_in:1", "one_in:1+threshold:25ns", "auto:64K"):
            for how in ("return", "_exit", "kill"):
                if calls == "threshold:1s" and how != "return":
                    continue
                path = check(program, directory, calls, how)
                if calls in ("all", "tree", "one_in:1", "auto:64K"):
                    check_paths(path, calls)
        check_calls_alone(program, directory)
        for calls in ("all", "tree", "threshold:8ns", "threshold:50ns", "one_in:1", "one_in:1+threshold:50ns"):
            check_coroutines(program, directory, calls)
        for calls in ("all", "tree", "threshold:50ns", "threshold:200ns", "auto:64K", "one_in:1", "one_in:16", "one_in:16+threshold:50ns", "one_in:16+threshold:1us"):
            check_recursion(program, directory, calls)
    print("every policy: exact")


if __name__ == "__main__":
    main()
