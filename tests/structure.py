#!/usr/bin/env python3
"""structure.py [FOLDER] - the shape of plugin/, sql/ and server/.

Files must not call each other round about, headers must not include each
other so, and folders must do neither.  What a folder uses is named in its
CMakeLists.txt, no more and no less, and never lies in a layer above: server ->
sql -> plugin.  Tests define no function of theirs, but by hw_wrap().  Calls are read from the objects of a build ($BUILD, else
build/release).  With FOLDER: prints what it uses, and by which calls.
"""
import collections
import functools
import json
import os
import re
import subprocess
import sys

LAYERS = ["plugin", "sql", "server"]
LINES = 600  # of a file
FILES = 25  # of a folder, the tests' too


# Their functions of libc's names are for hosts that they are preloaded into:
# what others of ours call begins otherwise.
WRAPS_LIBC = {"plugin/agent/preload/suspend.c": "suspend_",
              "plugin/recorder/interpose/interpose.c": "interpose_",
              "plugin/recorder/interpose/interpose_new.c": "interpose_",
              "plugin/recorder/interpose/interpose_other.c": "interpose_"}


def sources(*folders):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard",
                             *folders], check=True, text=True,
                            capture_output=True).stdout.split()
    return [f for f in listed if f.endswith((".c", ".h")) and os.path.exists(f)]


def objects(build, files):
    """Each source's object file."""
    found = {}
    with open(os.path.join(build, "compile_commands.json")) as database:
        for entry in json.load(database):
            source = os.path.relpath(entry["file"])
            output = re.search(r" -o (\S+)", entry["command"]).group(1)
            if source in files:
                found.setdefault(
                    source, os.path.join(entry["directory"], output))
    return found


@functools.lru_cache(maxsize=None)
def symbols(path):
    """What an object defines for others, and what it wants of them."""
    out = subprocess.run(["nm", path], check=True, text=True,
                         capture_output=True).stdout
    lines = [line.split() for line in out.splitlines()]
    return ({line[2] for line in lines if len(line) == 3 and line[1] in "TDBRVWC"},
            {line[1] for line in lines if len(line) == 2 and line[0] == "U"})


def given(source, path):
    """What a source defines for others of ours."""
    return {name for name in symbols(path)[0]
            if name.startswith(WRAPS_LIBC.get(source, ""))}


def check_fakes(product, tests):
    """That no test defines a function of the product: a fake's is wrapped."""
    ours = {}
    for source, path in product.items():
        ours.update(dict.fromkeys(given(source, path) - {"main"}, source))
    for source, path in sorted(tests.items()):
        for name in sorted(symbols(path)[0] & ours.keys()):
            fault(f"{source} defines {name} of {ours[name]}: see hw_wrap()")


def calls(found):
    """uses[file][other]: the functions and data of other that file uses."""
    defined, wanted = collections.defaultdict(list), {}
    for source, path in found.items():
        wanted[source] = symbols(path)[1]
        for name in given(source, path):
            defined[name].append(source)
    uses = collections.defaultdict(lambda: collections.defaultdict(set))
    for source, names in wanted.items():
        for name in names:
            # The agent has its own of some: what is nearest is meant.
            near = sorted(defined[name], key=lambda other: (
                os.path.dirname(other) != os.path.dirname(source),
                layer_of(other) != layer_of(source), other))
            if near and near[0] != source:
                uses[source][near[0]].add(name)
    return uses


def includes(files):
    """uses[file]: the headers of ours that it includes."""
    by_name = collections.defaultdict(list)
    for name in files:
        by_name[os.path.basename(name)].append(name)
    uses = collections.defaultdict(set)
    for name in files:
        with open(name) as text:
            for header in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text.read(),
                                     re.M):
                uses[name].update(by_name[os.path.basename(header)])
    for name, owners in by_name.items():
        if name.endswith(".h") and len(owners) > 1:
            fault(f"two headers are named {name}: {' '.join(owners)}")
    return uses


def circles(graph):
    """The strongly connected components of more than one node (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in list(graph):
        if node not in number:
            visit(node)
    return found


def targets():
    """Each folder of a target, and the targets that each folder names."""
    of, named, groups = {}, collections.defaultdict(set), {}
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard",
                             "*CMakeLists.txt"], check=True, text=True,
                            capture_output=True).stdout.split()
    for path in listed:
        folder = os.path.dirname(path)
        if folder.split("/")[0] not in LAYERS or not os.path.exists(path):
            continue
        with open(path) as text:
            script = re.sub(r"#.*", "", text.read())
        for group in re.findall(
                r"target_link_libraries\((hw_\w+) INTERFACE([^)]*)\)", script):
            groups[group[0]] = re.findall(r"hw_\w+", group[1])
        for target in re.findall(
                r"(?:hw_folder|hw_agent_folder|add_library)\(\s*(hw_\w+)", script):
            of.setdefault(target, folder)
        named[folder].update(re.findall(r"\bhw_\w+", script))
        for source in re.findall(r"\.\./[\w./-]+", script):
            # A folder that compiles another's files itself: the agent.
            path = os.path.normpath(os.path.join(folder, source))
            other = path if os.path.isdir(path) else os.path.dirname(path)
            of[other] = other
            named[folder].add(other)
    for group in groups:
        of.pop(group)
        for folder in named:
            if group in named[folder]:
                named[folder].update(groups[group])
    return of, named


faults = []


def fault(text):
    faults.append(text)
    print(text)


def layer_of(folder):
    return LAYERS.index(folder.split("/")[0])


def main():
    sys.setrecursionlimit(10000)
    os.chdir(os.path.join(os.path.dirname(__file__), ".."))
    files, tests = sources(*LAYERS), sources("tests")
    build = os.environ.get("BUILD", "build/release")
    found = objects(build, set(files))
    called = calls(found)
    included = includes(files)

    folders = collections.defaultdict(lambda: collections.defaultdict(set))
    for name, others in called.items():
        for other, names in others.items():
            folders[os.path.dirname(name)][os.path.dirname(other)].add(
                f"{name} calls {other}: {' '.join(sorted(names))}")
    for name, others in included.items():
        for other in others:
            folders[os.path.dirname(name)][os.path.dirname(other)].add(
                f"{name} includes {other}")
    for folder in folders:
        folders[folder].pop(folder, None)

    if len(sys.argv) > 1:
        for other, how in sorted(folders[sys.argv[1].rstrip("/")].items()):
            print(other, *sorted(how), sep="\n    ")
        return

    for circle in circles(called):
        fault(f"files call each other round about: {' '.join(circle)}")
    for circle in circles({name: others for name, others in included.items()
                           if name.endswith(".h")}):
        fault(f"headers include each other round about: {' '.join(circle)}")
    for circle in circles(folders):
        fault(f"folders use each other round about: {' '.join(circle)}")

    check_fakes(found, objects(build, set(tests)))
    of, named = targets()
    for folder, others in sorted(folders.items()):
        allowed = {of[target] for target in named[folder] if target in of}
        for other in sorted(others):
            if layer_of(other) > layer_of(folder):
                fault(f"{folder} uses {other}, a layer above")
            if other not in allowed:
                fault(f"{folder}/CMakeLists.txt does not name {other}: "
                      f"{min(others[other])}")
        for other in sorted(allowed - set(others) - {folder}):
            if os.path.dirname(other) not in others:
                fault(f"{folder}/CMakeLists.txt names {other}: it is not used")

    for folder, count in sorted(collections.Counter(
            map(os.path.dirname, [*files, *tests])).items()):
        if count > FILES:
            fault(f"{folder} has {count} files, of {FILES}")
    for name in files:
        with open(name) as text:
            lines = sum(1 for _ in text)
        if lines > LINES:
            fault(f"{name} has {lines} lines, of {LINES}")
        with open(name) as text:
            if (re.search(r'^\s*#\s*include\s*[<"](bfd|libiberty|demangle)\.h',
                          text.read(), re.M)
                    and not name.startswith("plugin/symbolizer/")):
                fault(f"{name}: only plugin/symbolizer may use libbfd")
    for folder, _, names in os.walk("tests"):
        for name in names:
            stem, extension = os.path.splitext(name)
            if extension == ".py" and stem in sys.stdlib_module_names:
                fault(f"{folder}/{name} hides a module of Python's own")
    sys.exit(bool(faults))


main()
