"""Each relative link of each .md file of the tree points to a file, a folder
or, with #, a heading that exists."""
import os
import re
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def prose(path):
    with open(path, encoding="utf-8") as f:
        return re.sub(r"^```.*?^```$", "", f.read(), flags=re.M | re.S)


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


files = subprocess.run(["git", "ls-files", "*.md"], check=True, text=True,
                       capture_output=True).stdout.split()
count, faults = 0, 0
for path in files:
    for link in re.findall(r"\]\(([^)\s]+)[^)]*\)", prose(path)):
        if re.match(r"[a-z]+:", link):
            continue
        count += 1
        fault = fault_of(path, link)
        if fault:
            faults += 1
            print(f"FAULT: {path}: {link} {fault}")
print(f"{count} links in {len(files)} files, {faults} faults")
sys.exit(faults > 0 or count == 0)
