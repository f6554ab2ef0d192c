#!/bin/sh
# What the agent's file may and may not contain.
. tests/integration/lib/agent.inc
lib=$BUILD/lib/libheapwire.so

expect "libraries needed" "libc.so.6" \
    "$(readelf -d "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')"
expect "exported names" "_Fork __libc_start_main capset chroot daemon \
heapwire_borrowed heapwire_start heapwire_stop heapwire_use initgroups prctl \
setegid seteuid setgid setgroups setns setregid setresgid setresuid setreuid \
setsid setuid syscall unshare" \
    "$(nm -D --defined-only "$lib" | awk '{print $3}' | sort | xargs)"
readelf -d "$lib" | grep -q NODELETE || fail "not marked nodelete"
readelf -d "$lib" | grep -q STATIC_TLS && fail "uses static TLS"
readelf -lW "$lib" | grep -q ' TLS ' && fail "has a TLS segment"
# None of the functions that a guest must not call.
for name in abort exit fork system signal sigaction setlocale umask chdir \
    setenv putenv unsetenv; do
    nm -D --undefined-only "$lib" | awk '{print $2}' |
        grep -qx "$name\(@.*\)\?" && fail "uses $name"
done
# A frame of ours at the bottom of every stack would be in every profile.
objdump -d --no-show-raw-insn --disassemble=main_with_agent "$lib" |
    grep -q 'jmp .*<host>' || fail "main is not entered by a tail call"

# What a host calls often passes by a jump.
objdump -d --no-show-raw-insn --disassemble=prctl "$lib" |
    grep -q 'jmp *\*%r' || fail "prctl is no tail call"
for lean in "$BUILD/lib/heapwire.so" "$BUILD/lib/libheapwire.a"; do
    nm -A "$lean" 2>/dev/null | grep -E ' [TW] (setuid|prctl|syscall)$' &&
        fail "$lean wraps libc's functions"
done

# Preloaded into what it was not named for, it does nothing at all.
if ! strace -o /dev/null true 2>/dev/null; then
    echo "skipped: in a shell (nothing can be traced here)"
    exit 0
fi
LD_PRELOAD=$lib HEAPWIRE_EXE=/no/such HEAPWIRE_STATE_DIR=$STATE \
    strace -f -o "$WORK/trace" sh -c 'ls / >/dev/null; :' || fail "strace"
grep -E 'clone3?\(|socket\(|pthread' "$WORK/trace" |
    grep -vE 'SIGCHLD' | grep -q . && fail "a thread or socket in a shell"
[ -e "$STATE/agent.sock" ] && fail "a shell serves"
exit 0
