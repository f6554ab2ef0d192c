#!/bin/sh
# Programs whose start scripts set jemalloc's variable are executed again with
# prof:true: once, with all else as it was.
. tests/integration/lib/agent.inc
cat >"$WORK/host.c" <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef COMPILED
const char *malloc_conf = COMPILED;
#endif
extern char **environ;
static void *sleeper(void *arg)
{
    return pause(), arg;
}
__attribute__((constructor)) static void born(int argc, char **argv)
{
    int fd = open(getenv("BIRTHS"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    pthread_t thread;

    (void)argc, (void)argv;
    dprintf(fd, "%d\n", (int)getpid());
    close(fd);
    if (getenv("THREAD"))
        pthread_create(&thread, NULL, sleeper, NULL);
}
int main(int argc, char **argv)
{
    char *kept[64] = {"CLEANED=1", "MALLOC_CONF=narenas:3"};
    int used = 2;

    if (getenv("CLEAN") && !getenv("CLEANED")) {
        for (char **e = environ; *e && used < 62; e++)
            if (strncmp(*e, "MALLOC_CONF=", 12) && strncmp(*e, "CLEANED=", 8) &&
                strncmp(*e, "HEAPWIRE_AGAIN=", 15))
                kept[used++] = *e;
        execve("/proc/self/exe", argv, kept);
    }
    for (int i = 0; i < argc; i++)
        printf("argv=%s\n", argv[i]);
    printf("conf=%s\n", getenv("MALLOC_CONF") ? getenv("MALLOC_CONF") : "");
    printf("fd8=%d\n", fcntl(8, F_GETFD));
    printf("again=%d\n", getenv("HEAPWIRE_AGAIN") != NULL);
    puts("descriptors=");
    fflush(stdout);
    getchar();
    return 7;
}
END
cc -o "$WORK/host" "$WORK/host.c" -Wl,--no-as-needed -ljemalloc &&
    cc -o "$WORK/compiled" \
        -DCOMPILED='"prof_active:true,prof_thread_active_init:false"' \
        "$WORK/host.c" -Wl,--no-as-needed -ljemalloc || fail "no hosts"
mkfifo "$WORK/stdin"
# As such scripts do: whatever was there before is gone.
cat >"$WORK/start.sh" <<'END'
#!/bin/sh
[ "$SCRIPT_CONF" = none ] || export MALLOC_CONF="$SCRIPT_CONF"
exec -a "the server" "$HOST" one "two words" ""
END
sed -i '1s/.*/#!\/bin\/bash/' "$WORK/start.sh"
export BIRTHS="$WORK/births" HOST="$WORK/host"
export HEAPWIRE_PROFILING=prof:true,prof_active:false

host_up() {
    : >"$BIRTHS"
    : >"$WORK/stdout" # what the host before said
    (CONF=prof:true,prof_active:false,narenas:9 with_agent "$HOST" bash \
        "$WORK/start.sh") <"$WORK/stdin" >"$WORK/stdout" 2>"$WORK/stderr" \
        8</dev/null &
    host=$!
    started $host
    exec 9>"$WORK/stdin"
    wait_for 60 file_has "$WORK/stdout" descriptors= ||
        fail "no host: $(cat "$WORK/stderr")"
}
host_down() {
    exec 9>&-
    wait $host
    expect "its own status" 7 $?
    expect "what is said" "" "$(cat "$WORK/stderr")"
}
# births WHAT COUNT: always in the same process
births() {
    expect "$1: starts" "$2" "$(wc -l <"$BIRTHS")"
    expect "$1: processes" "$host" "$(sort -u "$BIRTHS")"
}
told() { field "$1" <"$WORK/stdout"; }

export SCRIPT_CONF="narenas:2,background_thread:true"
host_up
births "a start script" 2
expect "the variable" "prof:true,prof_active:false,$SCRIPT_CONF" "$(told conf)"
expect "its arguments" "the server+one+two words++" "$(told argv | tr '\n' +)"
expect "its descriptors" 0 "$(told fd8)"
expect "profiling" "0 1 0" "$(agent_field allocator) $(agent_field opt_prof) \
$(agent_field active)"
expect "its settings" 2 "$(agent stats "$WORK/stats" >/dev/null &&
    sed -n 's/^opt.narenas //p' "$WORK/stats")"
agent enable >/dev/null || fail "enable"
host_down

# The same process is not started a third time by what forgets all that.
# Without jemalloc's own threads: one that makes the next during this program's
# own execve() gets EAGAIN, and says so.
SCRIPT_CONF=narenas:2
export CLEAN=1
host_up
births "a program that clears its environment" 3
expect "cleared" "narenas:3 0" "$(told conf) $(told again)"
expect "opt.prof" "3 0" "$(agent_field allocator) $(agent_field opt_prof)"
agent_field note | grep -q "^it was executed again with MALLOC_CONF=.*, and \
opt.prof is false still" || fail "cleared: $(agent_field note)"
host_down
unset CLEAN
SCRIPT_CONF=narenas:2,background_thread:true

# The variable turns out to be another: once, and said.
id=$(readelf -n "$(realpath "$JEMALLOC")" | sed -n 's/ *Build ID: //p')
address=$(nm -D "$JEMALLOC" | sed -n 's/^0*\([0-9a-f]*\) T mallctl$/\1/p')
export HEAPWIRE_JEMALLOC="$id,$address,,NOT_MALLOC_CONF,given"
host_up
births "a variable that is not read" 2
expect "opt.prof" "3 0" "$(agent_field allocator) $(agent_field opt_prof)"
agent enable | grep -q "opt.prof is false" || fail "enable does not say why"
host_down
unset HEAPWIRE_JEMALLOC

# What the program says itself stays.
SCRIPT_CONF=narenas:2,prof:false
host_up
births "prof:false" 1
expect "prof:false" "$SCRIPT_CONF" "$(told conf)"
host_down
SCRIPT_CONF=prof_active:true,narenas:2
host_up
births "prof_active:true" 2
expect "active, as it says" "prof:true,$SCRIPT_CONF 1" \
    "$(told conf) $(agent_field active)"
host_down
HOST=$WORK/compiled
SCRIPT_CONF=narenas:2
host_up
births "compiled in" 2
expect "active, as compiled in" "prof:true,narenas:2 1" \
    "$(told conf) $(agent_field active)"
host_down
HOST=$WORK/host

# Not where it is on already, was not asked for, or could do harm.
SCRIPT_CONF=prof:true,prof_active:false
host_up
births "on already" 1
host_down
SCRIPT_CONF=narenas:2
export THREAD=1
host_up
births "a thread before main" 1
agent_field note | grep -q "it has threads before its main" || fail "threads"
host_down
unset THREAD
mkdir "$STATE/agent.again.d" && rm -f "$STATE/agent.again" &&
    mv "$STATE/agent.again.d" "$STATE/agent.again"
host_up
births "nowhere to write it down" 1
agent_field note | grep -q "cannot be executed again .*: File exists" ||
    fail "nowhere: $(agent_field note)"
host_down
rmdir "$STATE/agent.again"
# What the directory's owner put there is neither opened nor written to.
mkfifo "$STATE/agent.again"
host_up
births "a fifo" 2
host_down
echo precious >"$STATE/other" && ln -f "$STATE/other" "$STATE/agent.again"
host_up
births "another file's name" 2
expect "that file" precious "$(cat "$STATE/other")"
host_down
rm -f "$STATE/other"
unset HEAPWIRE_PROFILING
host_up
births "not asked for" 1
host_down
exit 0
