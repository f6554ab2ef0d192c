"""What a machine may lack: looked for at the machine, never at what is tested.

Each look returns why not, or "".
"""
import os
import shutil
import socket
import subprocess


def no_terminal():
    try:
        for fd in os.openpty():
            os.close(fd)
    except OSError as err:
        return f"no terminal can be made here, where /dev/pts belongs: {err}"
    return ""


def no_localhost():
    try:
        socket.getaddrinfo("localhost", None)
    except OSError as err:
        return f"nothing resolves localhost here, as /etc/hosts does: {err}"
    return ""


def no_namespaces():
    """With mounts of their own: not where the root is no mount point."""
    done = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc",
         "true"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        check=False)
    return (f"no namespaces can be made here: {done.stderr.decode().strip()}"
            if done.returncode else "")


def no_zsh():
    return "" if shutil.which("zsh") else "zsh is not installed here"


def no_root():
    return "" if os.geteuid() == 0 else "root alone can act as other users here"


def no_realtime():
    done = subprocess.run(
        ["prlimit", "--rtprio=1", "true"], stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, check=False)
    return (f"no CAP_SYS_RESOURCE here: {done.stderr.decode().strip()}"
            if done.returncode else "")


def no_cgroup():
    return ("" if os.path.ismount("/sys/fs/cgroup") else
            "/sys/fs/cgroup is not mounted here")
