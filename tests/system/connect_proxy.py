"""A proxy as networks have them: CONNECT, Basic authentication, its own idea of names."""
import base64
import contextlib
import socket
import threading

from tls_stream import TlsStream


class ConnectProxy:
    """names: host -> address it is reached at. answers: host -> bytes said instead of asking it; b'' closes. tls: the context of
    a proxy that is spoken to by https://."""

    def __init__(self, address, port, login=None, names=(), answers=(), tls=None):
        self.login = login
        self.tls = tls
        self.cut = set()  # hosts whose tunnels end without TLS's own end
        self.alerts = []  # why TLS has failed
        self.names = dict(names)
        self.answers = dict(answers)
        self.asked = []  # authority of every CONNECT
        self.headers = []  # and its head
        self.listener = socket.create_server((address, port))
        self.url = f'http{"s" if tls else ""}://{address}:{port}'
        threading.Thread(target=self.serve, daemon=True).start()

    def stop(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.handle, args=(client,), daemon=True).start()

    def handle(self, client):
        with client, contextlib.suppress(OSError):
            if self.tls:
                try:
                    stream = TlsStream(client, self.tls)
                except OSError as e:
                    self.alerts.append(str(e))
                    raise
                self.talk(stream)
                stream.shutdown(socket.SHUT_WR)
            else:
                self.talk(client)

    def talk(self, client):
        with contextlib.suppress(OSError):
            head = b''
            while b'\r\n\r\n' not in head:
                data = client.recv(65536)
                if not data:
                    return
                head += data
            lines = head.decode('latin-1').split('\r\n')
            method, authority, _ = lines[0].split(' ')
            self.asked.append(authority if method == 'CONNECT' else lines[0])
            self.headers.append(head.decode('latin-1'))
            host, _, port = authority.rpartition(':')
            answer = self.refusal(lines, host)
            if answer is not None:
                client.sendall(answer)
                return
            with socket.create_connection((self.names[host], int(port))) as server:
                # Behind an interim answer, and with the first bytes of the host in the same packet where it speaks first.
                first = b''
                if port == '22':
                    first = server.recv(65536)
                client.sendall(b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nVia: 1.1 test\r\n\r\n' + first)
                back = threading.Thread(target=self.copy, args=(server, client, host in self.cut), daemon=True)
                back.start()
                self.copy(client, server)
                back.join()

    def refusal(self, lines, host):
        wanted = 'Proxy-Authorization: Basic ' + base64.b64encode((self.login or '').encode()).decode()
        if self.login and wanted not in lines:
            return b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\n\r\n'
        if host in self.answers:
            return self.answers[host]
        return None if host in self.names else b'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno'

    @staticmethod
    def copy(source, target, cut=False):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            if cut:
                target.cut()
            target.shutdown(socket.SHUT_WR)
