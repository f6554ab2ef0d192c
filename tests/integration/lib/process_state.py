"""What is a process's own: /proc tells most of it, gdb the rest, by calls that
only ask, made on its main thread while its others stand still."""
import collections
import os
import re
import subprocess
import tempfile

# Of /proc/PID/status: numbers of the process, and what its work changes.
PASSING = re.compile("(Vm|Rss|Huge|Threads|FDSize|State|SigQ|SigPnd|ShdPnd|"
                     "voluntary|nonvoluntary|N?S?(Pid|Tgid|tgid|pid|pgid|sid)|"
                     "Ngid|PPid|Seccomp_filters|untag)")
# What a thread has of its own.
OF_THREAD = re.compile("(Name|Umask|Uid|Gid|Groups|SigBlk|CapEff|NoNewPrivs|"
                       "Seccomp|Cpus_allowed_list)$")
SCHEDULING = {"priority": 15, "nice": 16, "realtime": 37, "policy": 38}
FILES = ("limits", "timers", "oom_score_adj", "coredump_filter", "personality",
         "cgroup")
LINKS = ("cwd", "root", "exe")
ASK = """
set debuginfod enabled off
set auto-load off
set auto-solib-add off
attach {pid}
sharedlibrary libc.so
sharedlibrary libjemalloc
set scheduler-locking on
set $at = (long)$sp - 65536
set $i = 1
while $i < 65
  if ((int(*)(int, long, long))sigaction)($i, 0, $at) == 0
    printf "signal %d: %#lx mask %#lx flags %#x\\n", $i, *(long *)$at, \
        *(long *)($at + 8), *(int *)($at + 136)
  end
  set $i = $i + 1
end
set $i = 0
while $i < 3
  call (void)((int(*)(int, long))getitimer)($i, $at)
  printf "itimer %d: each %ld.%06ld s, armed %d\\n", $i, *(long *)$at, \
      *(long *)($at + 8), (*(long *)($at + 16) | *(long *)($at + 24)) != 0
  set $i = $i + 1
end
printf "locale: %s\\n", ((char *(*)(int, long))setlocale)(6, 0)
printf "dumpable: %d\\n", ((int(*)(int))prctl)(3)
call (void)((int(*)(int, long))prctl)(2, $at)
printf "dies with its parent: %d\\n", *(int *)$at
set $e = *(char ***)&environ
while *$e
  printf "environment %s\\n", *$e
  set $e = $e + 1
end
set {{char[12]}}$at = "prof.active"
set {{char}}($at + 16) = 0
set {{long}}($at + 24) = 1
call (void)((int(*)(long, long, long, long, long))mallctl)($at, $at + 16, \
    $at + 24, 0, 0)
printf "jemalloc samples: %d\\n", *(char *)($at + 16)
detach
"""


def read(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as f:
        return f.read()


def scheduling(stat):
    fields = stat.rpartition(") ")[2].split()
    return {name: fields[i] for name, i in SCHEDULING.items()}


def status(pid):
    return dict(line.split(":\t", 1) for line in
                read(pid, "status").splitlines() if ":\t" in line)


def descriptors(pid):
    """By number: what each is, and how it was opened."""
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
            flags = re.search(r"flags:\s+(\d+)", read(pid, f"fdinfo/{fd}"))
        except FileNotFoundError:
            continue
        found[int(fd)] = f"{target} {flags[1]}"
    return found


def threads(pid):
    """How many there are of each kind, and the numbers of heapwire's.  Without
    jemalloc's own, one for each arena at work: the agent's thread uses one."""
    kinds, ours = collections.Counter(), []
    for task in os.listdir(f"/proc/{pid}/task"):
        at = f"{pid}/task/{task}"
        try:
            what = status(at)
            kind = [f"{k}={v}" for k, v in what.items() if OF_THREAD.match(k)]
            kind += [f"{k}={v}" for k, v in scheduling(read(at, "stat")).items()]
            kind.append("cwd=" + os.readlink(f"/proc/{at}/cwd"))
        except (FileNotFoundError, ProcessLookupError):
            continue
        if what["Name"] == "heapwire":
            ours.append(int(task))
        elif what["Name"] != "jemalloc_bg_thd":
            kinds["; ".join(kind)] += 1
    return kinds, ours


def loaded(pid):
    """The files of which code is mapped."""
    return set(re.findall(r" r-xp .*?(/.*)$", read(pid, "maps"), re.M))


def place_of(pid, address):
    """Of code, wherever it is loaded; SIG_DFL and SIG_IGN are 0 and 1."""
    for line in read(pid, "maps").splitlines():
        start, end = (int(n, 16) for n in line.split()[0].split("-"))
        if start <= address < end:
            return f"{line.split()[-1]}+{address - start:#x}"
    return str(address)


def asked(pid):
    """What no file of /proc says."""
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
        script.write(ASK.format(pid=pid))
        script.flush()
        done = subprocess.run(
            ["gdb", "-nx", "-batch", "-x", script.name], text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=60)
    found = dict(re.findall("^(signal [0-9]+|itimer [0-9]|locale|dumpable|dies "
                            "with its parent|jemalloc samples): (.*)$",
                            done.stdout, re.M))
    for name in [name for name in found if name.startswith("signal ")]:
        handler, rest = found[name].split(" ", 1)
        found[name] = f"{place_of(pid, int(handler, 16))} {rest}"
    for name, value in re.findall("^environment ([^=\n]*)=(.*)$", done.stdout,
                                  re.M):
        found[f"environment {name}"] = value
    # It ends at mallctl where there is no jemalloc.
    assert len(found) > 70 and "dies with its parent" in found, done.stdout
    return found


def process_state(pid):
    """By name; equal values are an equal state."""
    found = {f"status {k}": v for k, v in status(pid).items()
             if not PASSING.match(k)}
    found |= scheduling(read(pid, "stat"))
    found |= {name: read(pid, name) for name in FILES}
    found |= {name: os.readlink(f"/proc/{pid}/{name}") for name in LINKS}
    found |= {f"fd {n}": what for n, what in descriptors(pid).items()}
    kinds, _ = threads(pid)
    found |= {f"threads {kind}": True for kind in kinds}
    found["number of threads"] = kinds.total()
    found |= {f"loaded {path}": True for path in loaded(pid)}
    return found | asked(pid)


def differences(before, after):
    """Name: (before, after); None is nothing of that name."""
    return {name: (before.get(name), after.get(name))
            for name in sorted({*before, *after})
            if before.get(name) != after.get(name)}
