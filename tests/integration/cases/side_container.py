"""docker/kubernetes/redis.yaml, played with namespaces: the pod's containers
share processes, network and a volume, and each has a root directory and an id
of its own.  The side container has no executable of the database's."""
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

import yaml

import machine
from node_under_test import BUILD, wait_for

BIN, LIB = os.path.abspath(BUILD + "/bin"), os.path.abspath(BUILD + "/lib")
# What the images have in /usr/local.  Debian's redis-server is a link to the other.
IMAGES = {
    "heapwire": f"mkdir lib bin; cp {LIB}/lib*.so {BIN}/heapwired "
                f"{BIN}/heapwire-symbolizer lib; mkdir lib/heapwire; "
                "mv lib/*.so lib/heapwired lib/heapwire-symbolizer lib/heapwire",
    "redis:7-bookworm": "mkdir bin; cp -L /usr/bin/redis-server bin"}
ENTRY = ["sh", "-c", "exec redis-server --save '' --dir /tmp"]  # redis' own


def script(work, pod, container, more):
    """A shell's, which becomes the container."""
    root = f"{work}/{container['name']}"
    ids = container.get("securityContext", {})
    lines = [
        f"mount -t tmpfs -o mode=755 none {root}; cd {root}",
        "mkdir usr proc dev etc tmp old; chmod 1777 tmp",
        "for name in bin sbin lib lib64; do ln -s usr/$name $name; done",
        "mount --rbind /usr usr; mount --rbind /dev dev",
        "mount -t proc proc proc",
        "cp /etc/passwd /etc/group /etc/ld.so.cache etc",
        "mount -t tmpfs -o mode=755 none usr/local",
        f"(cd usr/local; {IMAGES[container['image']]})",
        # The image brings its own.
        "mount --bind /dev/null usr/bin/redis-check-rdb"]
    for mount in container["volumeMounts"]:
        at = root + mount["mountPath"]
        lines.append(f"mkdir -p {at}; mount --bind {work}/{mount['name']} {at}")
    env = [f"{v['name']}={v['value']}" for v in container.get("env", [])]
    user = [f"--reuid={ids['runAsUser']}", f"--regid={ids['runAsGroup']}",
            f"--groups={pod['securityContext']['fsGroup']}", "--no-new-privs",
            "--bounding-set=-all", "--inh-caps=-all"] if ids else ["--keep-groups"]
    # No chroot: paths of the database's files are to be those of its own root.
    lines.append("pivot_root . old; umount -l old; exec " + shlex.join([
        "setpriv", *user, "env", "-i",
        "PATH=/usr/local/bin:/usr/bin:/bin", *env, *more,
        *container.get("command", ENTRY)]))
    return "\n".join(["set -eu", *lines, ""])


class Pod:
    def __init__(self, more=()):
        """more: of the environment of Redis."""
        with open("docker/kubernetes/redis.yaml", encoding="ascii") as f:
            pod = list(yaml.safe_load_all(f))[1]["spec"]["template"]["spec"]
        self.work = tempfile.mkdtemp()
        os.chmod(self.work, 0o755)
        group = pod["securityContext"]["fsGroup"]
        for volume in pod["volumes"]:
            place = f"{self.work}/{volume['name']}"
            os.mkdir(place)
            os.chown(place, 0, group)
            os.chmod(place, 0o2777)  # as kubelet makes them
        self.password = subprocess.run(
            [BIN + "/heapwire-passwd", place + "/heapwire.ini", "admin", "--privileges",
             "all"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
        os.chown(place + "/heapwire.ini", 0, group)
        os.chmod(place + "/heapwire.ini", volume["secret"]["defaultMode"])
        lines = ["ip link set lo up"]
        for container in pod["initContainers"] + pod["containers"]:
            os.mkdir(f"{self.work}/{container['name']}")
            path = f"{self.work}/{container['name']}.sh"
            with open(path, "w", encoding="ascii") as f:
                f.write(script(self.work, pod, container,
                               more if container["name"] == "redis" else ()))
            lines.append(f"unshare --mount sh {path}" +
                         (" &" if container in pod["containers"] else ""))
        self.log = open(self.work + "/log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--mount-proc", "--net", "--kill-child",
             "sh", "-euc", "\n".join([*lines, "wait"])],
            stdout=self.log, stderr=self.log)
        wait_for(lambda: self.ask("SELECT 1") == "1", tell=self.said)

    def said(self):
        logs = [self.work + "/log", self.work + "/heapwire/node/heapwired.log"]
        return subprocess.run(["tail", "-n", "15", *logs], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False).stdout.decode()

    def mariadb(self, *arguments, wrapper=()):
        done = subprocess.run(
            [*wrapper, "mariadb", "--no-defaults", "-N", "--raw", *arguments, "heapwire"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.stdout.decode().strip()

    def ask(self, statement):
        """As kubectl exec asks: of its own root, on the socket."""
        return self.mariadb("-S", self.work + "/heapwire/node/mysql.sock",
                            "--skip-ssl", "-e", statement)

    def inside(self, *command):
        """In the pod's network."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as f:
            pid = f.read().split()[0]
        return ["nsenter", f"--net=/proc/{pid}/ns/net", *command]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The first process of a namespace ends after all others, and so after
        # their writes; unshare waits for it.
        subprocess.run(["pkill", "-KILL", "-P", str(self.process.pid)],
                       check=False)
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.work)


def script_of(call):
    return f"ADMIN EXECUTE ON 10001 'System.print({call})'"


def load(pod):
    subprocess.run(pod.inside("redis-benchmark", "-n", "100000", "-r", "100000",
                              "-d", "200", "-P", "16", "-q", "-t", "set"),
                   stdout=subprocess.DEVNULL, check=True)


def as_it_is():
    with Pod() as pod:
        # By the secret's account, over TLS.
        got = pod.mariadb("-h", "127.0.0.1", "-P", "9036", "-u", "admin",
                          f"-p{pod.password}", "--ssl", "-e",
                          "SELECT user FROM sessions WHERE id = CONNECTION_ID()",
                          wrapper=pod.inside())
        assert got == "admin", (got, pod.said())
        wait_for(lambda: pod.ask("SELECT allocated > 0 AND rss > 0 FROM memory")
                 == "1", tell=pod.said)
        got = pod.ask("SELECT name, folded FROM threads WHERE name LIKE 'bio%' OR "
                      "name LIKE 'redis%'")
        assert "bioProcessBackgroundJobs" in got and "aeMain" in got, (got, pod.said())
        got = pod.ask(script_of("HeapProf.getInstance().enable_prof()"))
        assert "prof:true" in got, got


def with_profiles():
    # Sampled finely: a call path without a sample is not in a profile.
    with Pod(["MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:12"]) as pod:
        enabled = script_of("HeapProf.getInstance().enable_prof()")
        wait_for(lambda: "ERROR" not in pod.ask(enabled), tell=pod.said)
        load(pod)
        got = pod.ask("SELECT function FROM heap_functions ORDER BY cum_bytes DESC")
        assert "dictAddRaw" in got and "processCommand" in got, (got, pod.said())


def main():
    why = machine.no_root() or machine.no_namespaces()
    if why:
        print("skipped:", why)
        return
    for test in (as_it_is, with_profiles):
        test()
        print("ok", test.__name__)


with contextlib.suppress(KeyboardInterrupt):
    sys.exit(main())
