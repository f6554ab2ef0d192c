"""What texts name is there: each relative link of each .md file points to a
file, a folder or, with #, a heading; each file, `function()` and `some_name`
that a README's code or a comment of plugin/, sql/ or server/ names is one of
the tree's.
"""
import glob
import os
import re
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

# What is named beside ours and the headers': jemalloc's, glibc's, the kernel's,
# Rust's, DWARF's, MySQL's, profilers', examples.
FOREIGN = set("""edata_t extent_t base_block_t heap_info malloc_chunk prev_size ar_ptr
    mprotect_size dl-cache.h to_vec default_is_stmt is_stmt
    elf_find_function rt_sigframe sw_reserved enum_field_types org_name
    org_table seed_random do_div_mod regcomp pprof_config process_cpu
    module_verb_object file.c node.html hw_v1 heap_20261121_151347_1""".split())
# Other tests compare these with a node.
COMPARED = {"CHANGELOG.md", "server/http/METRICS.md", "server/wire/PROTOCOL.md",
            "sql/REFERENCE.md"}
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'
                     r"'(?:\\.|[^'\\\n])*'", re.S)
NAME = re.compile(r"\b([a-z]\w*)\(\)|(?<![\w./%$-])([a-z][a-z0-9]*_[a-z0-9_]*[a-z0-9])\b"
                  r"(?!\(\d\)|[\w.-]*[/.]\w)")
FILE = re.compile(r"(?<![\w./<-])((?:[\w.-]+/)*[a-z][\w-]*\."
                  r"(?:c|h|py|sh|js|css|html|def|inc))\b(?!:\d)")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def prose(path):
    return re.sub(r"^```.*?^```$", lambda m: "\n" * m.group().count("\n"),
                  read(path), flags=re.M | re.S)


def anchors(path):
    """As GitHub names headings."""
    headings = re.findall(r"^#+ +(.*?) *$", prose(path), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-")
            for h in headings}


def fault_of(path, link):
    target, _, anchor = link.partition("#")
    whole = os.path.join(os.path.dirname(path), target) if target else path
    if not os.path.exists(whole):
        return "does not exist"
    if anchor and (not whole.endswith(".md") or anchor not in anchors(whole)):
        return "has no such heading"
    return None


def texts_and_words(files):
    """What may name something, as (path, line, text), and the words of all
    else: code, and the files that are neither C nor Markdown."""
    texts, words = [], set()
    for path in files:
        text = read(path)
        if path.endswith(".md"):
            of = re.finditer(r"`([^`\n]+)`", prose(path))
            of = of if path not in COMPARED else ()
        elif path.endswith((".c", ".h")):
            of = [m for m in COMMENT.finditer(text) if m.group()[0] == "/"]
            words.update(re.findall(r"\w+", COMMENT.sub(
                lambda m: " " if m.group()[0] == "/" else m.group(), text)))
            of = of if not path.startswith("tests/") else ()
        else:
            words.update(re.findall(r"\w+", text))
            continue
        texts += [(path, text.count("\n", 0, m.start()) + 1, m.group())
                  for m in of]
    return texts, words


def is_there(name, headers, folders):
    """Ours, a header of the system, or in a folder that is not ours."""
    folder, _, base = name.rpartition("/")
    return (base in folders.get(os.path.basename(folder), ()) if folder
            else any(base in names for names in folders.values())) or \
        (folder and os.path.basename(folder) not in folders) or \
        name in headers


def main():
    files = [f for f in subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], check=True, text=True,
        capture_output=True).stdout.split() if os.path.exists(f)]
    faults, count = [], 0
    for path in (f for f in files if f.endswith(".md")):
        for link in re.findall(r"\]\(([^)\s]+)[^)]*\)", prose(path)):
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            if fault := fault_of(path, link):
                faults.append(f"{path}: {link} {fault}")
    folders = {}
    for path in files:
        folders.setdefault(os.path.basename(os.path.dirname(path)), set()).add(
            os.path.basename(path))
    code = [f for f in files if "/corpus" not in f and f != "tests/links.py"]
    texts, words = texts_and_words(code)
    words.update(os.path.splitext(os.path.basename(f))[0] for f in files)
    headers = {h for f in code if f.endswith((".c", ".h"))
               for h in re.findall(r"#\s*include <(\S+)>", read(f))}
    for path in (p for h in headers for d in ("", "*-linux-gnu/")
                 for p in glob.glob(f"/usr/include/{d}{h}")):
        words.update(re.findall(r"\w+", read(path)))
    ends = "\n".join([*words, ""]).lower()  # of FORM_REF_ADDR, ref_addr
    for path, line, text in texts:
        for name in {m[0] or m[1] for m in NAME.findall(text)} - words - FOREIGN:
            if f"_{name}\n" not in ends:
                faults.append(f"{path}:{line}: there is no {name}")
        for name in set(FILE.findall(text)) - FOREIGN:
            if "NAME" not in name and not is_there(name, headers, folders):
                faults.append(f"{path}:{line}: there is no file {name}")
        count += 1
    for fault in faults:
        print(f"FAULT: {fault}")
    print(f"{count} links and texts, {len(faults)} faults")
    sys.exit(bool(faults) or count == 0)


main()
