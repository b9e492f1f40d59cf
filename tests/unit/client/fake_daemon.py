"""A Varlink server that plays isod's part of the conversation with isoctl, one scripted method a call."""
import array
import json
import os
import socket
import struct
import threading

STDIN, RESIZE, SIGNAL, CONTINUE, STDOUT, STDERR, STOPPED, EXIT = 1, 2, 3, 4, 16, 17, 18, 19
EXIT_CODE, EXIT_SIGNAL = 1, 2
ID = "0123456789ab"


def session(**more):
    base = {"id": ID, "name": "n", "state": "running", "argv": ["true"], "project": "/p", "uid": 0,
            "started": "2026-01-01T00:00:00.000Z", "ended": None, "exit": None, "signal": None}
    return {**base, **more}


class Connection:
    """The server's end of one connection."""

    def __init__(self, sock):
        self.sock, self.data, self.fds = sock, b"", []

    def receive(self):
        """One call with its descriptors, or None at end of file."""
        while b"\0" not in self.data:
            data, ancillary, _, _ = self.sock.recvmsg(65536, socket.CMSG_SPACE(16 * 4))
            for level, kind, payload in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    got = array.array("i")
                    got.frombytes(payload[:len(payload) - len(payload) % 4])
                    self.fds += list(got)
            if not data:
                return None
            self.data += data
        message, self.data = self.data.split(b"\0", 1)
        return json.loads(message)

    def reply(self, parameters, continues=False):
        message = {"parameters": parameters}
        if continues:
            message["continues"] = True
        self.sock.sendall(json.dumps(message).encode() + b"\0")

    def error(self, name, **parameters):
        self.sock.sendall(json.dumps({"error": name, "parameters": parameters}).encode() + b"\0")

    def fail(self, name, step, message, remedy="", errno=0):
        self.error("org.isod." + name, step=step, message=message, remedy=remedy, errno=errno)

    def started(self, **more):
        self.reply({"event": "started", "session": session(), **more}, continues=True)

    def exited(self, code):
        self.reply({"event": "exited", "session": session(state="ended", exit=code)})

    def close_fds(self):
        for fd in self.fds:
            os.close(fd)
        self.fds = []

    # frames of an upgraded connection

    def frame(self, kind, payload=b""):
        self.sock.sendall(struct.pack("<BxxxI", kind, len(payload)) + payload)

    def next_frame(self):
        while len(self.data) < 8 or len(self.data) < 8 + struct.unpack("<xxxxI", self.data[:8])[0]:
            data = self.sock.recv(65536)
            if not data:
                return None, b""
            self.data += data
        kind, length = struct.unpack("<BxxxI", self.data[:8])
        payload, self.data = self.data[8:8 + length], self.data[8 + length:]
        return kind, payload

    def expect(self, kind):
        """The next frame of that kind; others are skipped."""
        while True:
            got, payload = self.next_frame()
            if got == kind:
                return payload
            if got is None:
                raise EOFError("the client left")


class FakeDaemon:
    """methods: {"org.isod.Run": function(connection, call)}; each connection has its own thread."""

    def __init__(self, path, methods):
        self.path, self.methods, self.errors = path, methods, []
        self.listener = socket.socket(socket.AF_UNIX)
        folder = os.open(os.path.dirname(path), os.O_PATH)  # the path may be longer than a socket address
        self.listener.bind("/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
        os.close(folder)
        self.listener.listen(16)
        self.threads = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(Connection(sock),), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _serve(self, connection):
        try:
            while True:
                call = connection.receive()
                if call is None:
                    return
                method = self.methods.get(call["method"])
                if method is None:
                    connection.error("org.varlink.service.MethodNotFound", method=call["method"])
                else:
                    method(connection, call)
                if call.get("upgrade"):
                    return  # no more messages come, but frames
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client left first, as some cases want it
        except Exception as e:  # shown by the test, which checks .errors
            self.errors.append(repr(e))
        finally:
            connection.close_fds()
            connection.sock.close()

    def close(self):
        if self.listener.fileno() < 0:
            return
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(10)
        if os.path.exists(self.path):
            os.unlink(self.path)
