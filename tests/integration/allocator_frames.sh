#!/bin/sh
# allocator_frames.sh - functions that a node counts among the allocator's: in
# all forms and tables, of kept snapshots, after a reload and in sums.
set -eu
exec /usr/bin/python3 "$(dirname "$0")/allocator_frames.py"
