"""The server's side of TLS on a connected socket, whose halves end one by one: what ssl.SSLSocket cannot."""
import socket
import ssl
import threading

RECORDS = 65536


class TlsStream:
    def __init__(self, sock, context):
        self.sock = sock
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.lock = threading.Lock()  # of .tls and the BIOs
        self.sending = threading.Lock()  # keeps records in order
        self.closed = False  # close_notify has come
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.flush()
                self.fill()
            except ssl.SSLError:
                self.flush()
                raise
        self.flush()

    def flush(self):
        with self.sending:
            with self.lock:
                data = self.outgoing.read()
            if data:
                self.sock.sendall(data)

    def fill(self):
        data = self.sock.recv(RECORDS)
        with self.lock:
            if data:
                self.incoming.write(data)
            else:
                self.incoming.write_eof()

    def recv(self, size):
        """b'' is close_notify; ssl.SSLError an end without it."""
        while not self.closed:
            try:
                with self.lock:
                    return self.tls.read(size)
            except ssl.SSLZeroReturnError:
                self.closed = True
            except ssl.SSLWantReadError:
                self.fill()
        return b''

    def sendall(self, data):
        with self.lock:
            self.tls.write(data)
        self.flush()

    def shutdown(self, _how):
        try:
            with self.lock:
                self.tls.unwrap()
        except ssl.SSLError:
            pass  # the other half is still open
        self.flush()

    def cut(self):
        """An end without close_notify, as by somebody in between."""
        self.sock.shutdown(socket.SHUT_RDWR)
