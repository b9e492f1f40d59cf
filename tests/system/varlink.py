"""A small Varlink client: what a stranger would write from docs/PROTOCOL.md."""
import array
import json
import socket


class Varlink:
    def __init__(self, path, timeout=120):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(timeout)
        self.sock.connect(path)
        self.buffer = b''

    def send_raw(self, data, fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else []
        sent = self.sock.sendmsg([data], control)
        if sent < len(data):
            self.sock.sendall(data[sent:])

    def send(self, method, parameters=None, fds=(), **flags):
        call = {'method': method, **flags}
        if parameters is not None:
            call['parameters'] = parameters
        self.send_raw(json.dumps(call).encode() + b'\0', fds)

    def receive(self):
        """One reply, or None at end of file."""
        while b'\0' not in self.buffer:
            more = self.sock.recv(65536)
            if not more:
                return None
            self.buffer += more
        message, _, self.buffer = self.buffer.partition(b'\0')
        return json.loads(message)

    def call(self, method, parameters=None, fds=(), **flags):
        self.send(method, parameters, fds, **flags)
        return self.receive()

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
