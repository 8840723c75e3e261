#!/usr/bin/python3
"""What scripts/session-test does inside: starts one compositor with two windows, and checks what the daemon is told."""

import json
import os
import pathlib
import queue
import socket
import subprocess
import sys
import threading

PATIENCE_S = 60
RUNTIME = pathlib.Path("/tmp/runtime")
SOCKET = pathlib.Path("/run/brisk/session.varlink")
HEADLESS = {"WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman", "WLR_LIBINPUT_NO_DEVICES": "1"}
# Environment, command, and package of each; all but GNOME are watched by brisk-session.
COMPOSITORS = {
    "kwin": (
        {"KWIN_COMPOSE": "Q"},
        "/opt/plain/kwin_wayland --virtual --no-lockscreen --socket wayland-t",
        "kwin-wayland",
    ),
    "gnome": (
        {"XDG_CURRENT_DESKTOP": "GNOME"},
        "gnome-shell --unsafe-mode --headless --wayland --no-x11 --virtual-monitor 800x600 --wayland-display wayland-t",
        "gnome-shell",
    ),
    "sway": (HEADLESS, "sway -c /dev/null", "sway"),
    "phoc": (HEADLESS, "phoc -C /tmp/phoc.ini", "phoc"),
}
told = queue.Queue()


def fail(why):
    print("failed:", why, flush=True)
    sys.exit(1)


def listen():
    """Takes the daemon's place: notes each call, and knows every app."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(SOCKET))
    server.listen(16)

    def serve(client):
        data = b""
        while got := client.recv(4096):
            data += got
            while b"\0" in data:
                call, data = data.split(b"\0", 1)
                parameters = json.loads(call).get("parameters", {})
                given = {name: value for name, value in parameters.items() if value is not None}
                told.put(given)
                # A change is told so much later, by the windows that are there then.
                said = {"group": "app" if given else None, "patience_ms": 300}
                client.sendall(json.dumps({"parameters": said}).encode() + b"\0")

    def accept():
        while True:
            threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def hide_overview():
    """GNOME begins with its overview, in which no window has the keys; when that is complete is not told."""
    hide = "org.gnome.Shell -o /org/gnome/Shell -m org.gnome.Shell.Eval Main.overview.hide()"
    subprocess.run(["gdbus", "call", "--session", "-d", *hide.split()], check=True)


def await_told(what, is_it, meanwhile=None):
    seen = []
    for _ in range(PATIENCE_S):
        if meanwhile:
            meanwhile()
        try:
            seen.append(told.get(timeout=1))
        except queue.Empty:
            continue
        print("told", seen[-1], flush=True)
        if is_it(seen[-1]):
            return
    fail(f"{what} was not told; told were {seen}")


def main(name):
    environment, command, package = COMPOSITORS[name]
    version = subprocess.check_output(["dpkg-query", "-W", "-f", "${Package} ${Version}", package], text=True)
    print("version", version, flush=True)
    RUNTIME.mkdir(mode=0o700)
    os.environ.update(environment, XDG_RUNTIME_DIR=str(RUNTIME), GDK_BACKEND="wayland", GSETTINGS_BACKEND="memory")
    pathlib.Path("/tmp/phoc.ini").touch()
    listen()
    compositor = subprocess.Popen(command.split())
    # The first socket of a display that takes a connection.
    for _ in range(PATIENCE_S * 10):
        display = next((path.name for path in RUNTIME.glob("wayland-?") if path.is_socket()), None)
        if display:
            break
        if compositor.poll() is not None:
            fail(f"{name} ended with {compositor.returncode}")
        threading.Event().wait(0.1)
    else:
        fail(f"{name} has no display")
    os.environ["WAYLAND_DISPLAY"] = display

    def teller():
        return None if name == "gnome" else subprocess.Popen(["brisk-session", "--verbose", "--display", display])

    watch = teller()
    await_told("that nothing is in front", lambda given: not given)
    def is_of(program):
        return lambda given: given.get("pid") == program.pid or program.args[0] in given.get("id", "")

    one = subprocess.Popen(["zenity", "--info", "--text=one"])
    await_told("the first window", is_of(one), hide_overview if name == "gnome" else None)
    two = subprocess.Popen(["weston-terminal"])
    await_told("the second window", lambda given: given and not is_of(one)(given))
    two.kill()
    await_told("the first window again", is_of(one))
    if watch:
        # One that crashes is started again by the session, and tells at once.
        watch.kill()
        watch.wait()
        watch = teller()
        await_told("the first window by another program", is_of(one))
    one.kill()
    await_told("that nothing is in front again", lambda given: not given)
    if watch:
        compositor.terminate()
        if watch.wait(timeout=PATIENCE_S) != 0:
            fail("brisk-session did not end well with the display")
    print("passed", flush=True)
    # What else was started ends with this chroot.
    os._exit(0)


main(sys.argv[1])
