#!/bin/sh
# users.sh - entry points that change the user before they run the database:
# heapwired goes after it, or it is said why it cannot, and what helps.
. tests/integration/lib/lib.inc
[ "$(id -u)" = 0 ] || {
    echo "skipped: needs root"
    exit 0
}
chmod 755 "$work"
bin=$(readable "${bin%/bin}" "$work/build")/bin
fault=$bin/start_fault
uid=$(id -u nobody)
cat >"$work/gosu" <<'END'
import os, pwd, sys
user = pwd.getpwnam(sys.argv[1])
os.setgroups([])
os.setgid(user.pw_gid)
os.setuid(user.pw_uid)
os.execvp(sys.argv[2], sys.argv[2:])
END
setpriv_entry() {
    printf '#!/bin/sh\nexec setpriv --reuid=nobody --clear-groups "$@"\n'
}
su_entry() { # which keeps the environment, as its option says
    printf '#!/bin/sh\nexec su -m -s /bin/sh nobody -c "exec $*"\n'
}
gosu_entry() {
    printf '#!/bin/sh\nexec %s %s nobody "$@"\n' "$python" "$work/gosu"
}
state_of() {
    mariadb --no-defaults --skip-ssl -S "$work/state/mysql.sock" -u root -N -B \
        --raw -e "ADMIN EXECUTE ON 10001 \
        'System.print(HeapProf.getInstance().state())'" 2>&1
}
tells() {
    state_of | grep -q -- "$1"
}
left_root() {
    [ "$(stat -c %u "/proc/$(cat "$work/state/heapwired.lock")")" = "$uid" ]
}
begin() { # OPTION... -- COMMAND...
    "$bin/heapwire-run" --listen none --exe "$fault" "$@" >"$work/out" \
        2>"$work/err" &
    run=$!
    pids="$run $pids"
}
end() {
    kill "$run"
    wait "$run" || true
}
said() {
    grep '^heapwire' "$work/err" | grep -v ': socket '
}

# Followed without a word; a second time, in the directory, now of user nobody;
# and with --user, which is there first.
for way in setpriv su gosu; do
    ${way}_entry >"$work/$way.sh"
    for options in "" "" "--user nobody"; do
        # shellcheck disable=SC2086
        begin --state-dir "$work/state" $options -- sh "$work/$way.sh" \
            "$fault" never 0 stay
        check
        wait_for 60 tells "^database: $fault" ||
            fault "$way $options: $(state_of) $(cat "$work/err")"
        check
        wait_for 60 left_root || fault "$way $options: heapwired stays root"
        same "$way $options: whose directory" "$uid 700" \
            "$(stat -c '%u %a' "$work/state")"
        same "$way $options: said" "" "$(said)"
        end
    done
    rm -rf "$work/state"
done

# A daemon that leaves root behind its main, as memcached -d -u: followed; and
# with --user, it is said whose directory it is.
cp "$bin/forker" "$work/forker"
begin --state-dir "$work/state" --exe "$work/forker" -- "$work/forker" daemon \
    "$uid"
check
wait_for 60 tells "^database: $work/forker" ||
    fault "a daemon: $(state_of) $(cat "$work/err")"
check
wait_for 60 left_root || fault "a daemon: heapwired stays root"
same "a daemon: said" "" "$(said)"
end
rm -rf "$work/state"
begin --state-dir "$work/state" --exe "$work/forker" --user daemon -- \
    "$work/forker" daemon "$uid"
check
wait_for 60 tells "the database runs as uid $uid (nobody), the state directory \
$work/state belongs to uid $(id -u daemon) (daemon): start heapwire-run with \
--user nobody" || fault "a daemon of another user: $(state_of)"
end
rm -rf "$work/state"

# What another user has there is not given away with it: the directory's owner
# may have moved it there.
begin --state-dir "$work/state" -- sh "$work/setpriv.sh" "$fault" never 0 stay
check
wait_for 60 left_root || fault "heapwired stays root"
end
for file in deaths linger heapwired.log server-key.pem; do
    rm -f "$work/state/$file"
    (umask 077 && echo "root's own" >"$work/state/$file")
done
begin --state-dir "$work/state" -- sh "$work/setpriv.sh" "$fault" never 0 stay
check
wait_for 60 left_root || fault "heapwired stays root: $(cat "$work/err")"
same "a key of its own" "$uid" "$(stat -c %u "$work/state/server-key.pem")"
same "root's own" "" "$(find "$work/state" -type f -user "$uid" \
    -exec grep -l "root's own" {} +)"
end
rm -f "$work/state/heapwired.lock"
echo "root's own" >"$work/secret"
ln "$work/secret" "$work/state/heapwired.lock"
begin --state-dir "$work/state" -- sh "$work/setpriv.sh" "$fault" never 0 stay
linked() {
    grep -q "heapwired.lock is not a regular file with one name" "$work/err"
}
check
wait_for 60 linked || fault "the lock may be a link: $(cat "$work/err")"
same "what it is a link to" "root's own" "$(cat "$work/secret")"
end
rm -rf "$work/state"

# Another user than the one that is named.
begin --state-dir "$work/state" --user daemon -- sh "$work/setpriv.sh" \
    "$fault" never 0 stay
cure="the database runs as uid $uid (nobody), the state directory $work/state \
belongs to uid $(id -u daemon) (daemon): start heapwire-run with --user nobody"
check
wait_for 60 tells "$cure" || fault "not in its state: $(state_of)"
same "heapwire-run says it" "heapwire-run: $cure" \
    "$(said | grep -v '^heapwire:')"
end
# Without heapwire-run nothing is to be waited for.
HEAPWIRE_EXE=$fault HEAPWIRE_STATE_DIR=$work/state \
    LD_PRELOAD=$(realpath "$bin/../lib/libheapwire.so") \
    setpriv --reuid=nobody --clear-groups "$fault" never 0 stay \
    >"$work/out" 2>"$work/err" &
pids="$! $pids"
agent_says() {
    grep -q "^heapwire: the database runs as uid $uid, which may not open the \
state directory $work/state: start heapwire-run with --user" "$work/err"
}
check
wait_for 60 agent_says || fault "not the agent: $(cat "$work/err")"
rm -rf "$work/state"

# A directory that the user does not come to.
mkdir -m 700 "$work/root"
begin --state-dir "$work/root/state" -- sh "$work/setpriv.sh" "$fault" never 0 \
    stay
barred() {
    said | grep -q "uid $uid (nobody), which may not pass through $work/root \
(mode 0700), where its state directory lies: start heapwire-run with another"
}
check
wait_for 60 barred || fault "not said: $(cat "$work/err")"
end
finish_test
