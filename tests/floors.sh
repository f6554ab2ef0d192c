#!/bin/sh
# floors.sh - the house's one-way floors: server -> sql -> plugin -> base.
# The compiler enforces it by include directories; this says so in words, and
# that nothing but the symboliser reaches libbfd.
set -eu
cd "$(dirname "$0")/.."
status=0

# includes FOLDER: the names of our headers that its files include.
includes() {
    find "$1" -name '*.[ch]' -exec grep -hoE '^ *# *include *"[^"]+"' {} + |
        sed 's/.*"\(.*\)"/\1/' | sort -u
}

# forbid FOLDER UPPER...: FOLDER may include no header that lives in UPPER.
forbid() {
    folder=$1
    shift
    for header in $(includes "$folder"); do
        for upper in "$@"; do
            if [ -n "$(find "$upper" -name "$header")" ] &&
                [ -z "$(find "$folder" -name "$header")" ]; then
                echo "$folder includes $header of $upper"
                status=1
            fi
        done
    done
}

forbid plugin/base plugin/profile plugin/symbolizer plugin/agent sql server
forbid plugin/profile plugin/symbolizer plugin/agent sql server
forbid plugin sql server
forbid sql server

if grep -rlE '# *include *[<"](bfd|libiberty|demangle)\.h' plugin sql server |
    grep -v '^plugin/symbolizer/'; then
    echo "only plugin/symbolizer may use libbfd"
    status=1
fi
exit $status
