// Tells briskd which app is in front: GNOME Shell tells no other program. SPDX-License-Identifier: MIT OR Apache-2.0
//
// One call of the varlink interface for each window that comes to the front: by its process, else by the id of its app.
// packaging/deb makes the form for GNOME 42 to 44 of this, which differs in its imports and its last line.
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import Shell from 'gi://Shell';
import {Extension} from 'resource:///org/gnome/shell/extensions/extension.js';

const SOCKET = '/run/brisk/session.varlink';
// An app may come to its group after it has a window; a daemon may be started later.
const UNKNOWN_TRIES = 5;
const UNKNOWN_AGAIN_MS = 2000;
const NONE_AGAIN_MS = 10000;

// Calls the daemon; `done` gets 'known', 'unknown' (no such app) or 'none' (no answer), and what the daemon said.
function tell(parameters, done) {
    const address = Gio.UnixSocketAddress.new(SOCKET);
    new Gio.SocketClient().connect_async(address, null, (client, connected) => {
        try {
            const connection = client.connect_finish(connected);
            const call = JSON.stringify({method: 'org.brisk.Daemon.SetFront', parameters});
            connection.get_output_stream().write_all(new TextEncoder().encode(`${call}\0`), null);
            connection.get_input_stream().read_bytes_async(4096, GLib.PRIORITY_DEFAULT, null, (stream, read) => {
                try {
                    const text = new TextDecoder().decode(stream.read_bytes_finish(read).toArray());
                    const {error, parameters: said} = JSON.parse(text.split('\0')[0]);
                    done(error ? (error.endsWith('NoSuchApp') ? 'unknown' : 'none') : 'known', said);
                } catch {
                    done('none');
                }
                connection.close_async(GLib.PRIORITY_DEFAULT, null, null);
            });
        } catch {
            done('none');
        }
    });
}

export default class BriskSession extends Extension {
    enable() {
        this._timer = 0;
        this._patienceMs = 0;
        this._changing = false;
        this._changed = global.display.connect('notify::focus-window', () => this._change());
        this._front(UNKNOWN_TRIES);
    }

    // At the lock screen too: then no app is in front.
    disable() {
        global.display.disconnect(this._changed);
        this._changed = 0;
        this._wait(0);
        tell({}, () => {});
    }

    // A change is told as late as the daemon allows: the app answers its user first, and of a change back nothing has
    // to be told.
    _change() {
        if (this._changing)
            return;
        if (!this._patienceMs)
            return this._front(UNKNOWN_TRIES);
        this._wait(this._patienceMs, UNKNOWN_TRIES);
        this._changing = true;
    }

    _front(tries) {
        this._wait(0);
        const window = global.display.focus_window;
        const named = [];
        if (window) {
            const app = Shell.WindowTracker.get_default().get_window_app(window);
            if (window.get_pid() > 0)
                named.push({pid: window.get_pid()});
            if (app)
                named.push({id: app.get_id()});
        }
        this._next(window, named, tries);
    }

    // Tells the first that the daemon knows; a window of no app puts no app in front.
    _next(window, named, tries) {
        const [parameters, ...others] = named;
        tell(parameters ?? {}, (answer, said) => {
            this._patienceMs = said?.patience_ms ?? 0;
            // Another window came meanwhile, or this was disabled.
            if (global.display.focus_window !== window || !this._changed)
                return;
            if (answer === 'none')
                this._wait(NONE_AGAIN_MS, tries);
            else if (parameters && answer === 'unknown')
                this._next(window, others, tries);
            else if (!parameters && window && tries > 1)
                this._wait(UNKNOWN_AGAIN_MS, tries - 1);
        });
    }

    // Tells again after a time; 0: not.
    _wait(ms, tries) {
        if (this._timer)
            GLib.source_remove(this._timer);
        this._timer = 0;
        this._changing = false;
        if (!ms)
            return;
        this._timer = GLib.timeout_add(GLib.PRIORITY_DEFAULT, ms, () => {
            this._timer = 0;
            this._front(tries);
            return GLib.SOURCE_REMOVE;
        });
    }
}
