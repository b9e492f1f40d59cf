"""How allowed names are resolved on the host's side: which questions leave, and what a server that is silent can hold up."""
import os
import socket
import subprocess
import threading

import pytest

from waiting import wait_for


class Server:
    """A name server that knows no name, and never answers for those that begin with "slow"."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 53))
        self.asked = []
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            query, peer = self.socket.recvfrom(4096)
            if not query:
                return
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1:at + 1 + query[at]].decode())
                at += 1 + query[at]
            self.asked.append('.'.join(labels))
            if not labels[0].startswith('slow'):
                self.socket.sendto(query[:2] + b'\x81\x83' + query[4:6] + bytes(6) + query[12:at + 5], peer)

    def stop(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b'', ('127.0.0.1', 53))
        self.thread.join()
        self.socket.close()


@pytest.fixture
def resolver(root_dir):
    server = Server()
    mine, real = os.path.join(root_dir, 'resolv.conf'), os.path.realpath('/etc/resolv.conf')
    with open(mine, 'w', encoding='ascii') as f:
        f.write('search leak.example corp.example\nnameserver 127.0.0.1\noptions timeout:30 attempts:1\n')
    # in the mount namespace of the tests
    subprocess.run(['mount', '--bind', mine, real], check=True)
    yield server
    subprocess.run(['umount', real], check=True)
    server.stop()


ASK = '''
import socket, sys
def ask(name):
    s = socket.create_connection(("127.0.0.1", 61080))
    s.sendall(f"CONNECT {name}:443 HTTP/1.1\\r\\n\\r\\n".encode())
    return s
'''


def test_names_are_asked_as_they_were_judged(resolver, own_isod):
    r = own_isod.run('/usr/bin/python3', '-c', ASK + 'for n in sys.argv[1:]: print(ask(n).recv(20)[9:12].decode())', 'miss.example',
                     'a.miss.example', 'buildbox', options=['--allow-domain', 'miss.example', '--allow-domain', '*.miss.example',
                                                           '--allow-domain', 'buildbox'])
    assert r.text.split() == ['502', '502', '502'], r
    # A and AAAA of each, once
    assert sorted(resolver.asked) == sorted(('miss.example', 'a.miss.example', 'buildbox') * 2)


def test_a_silent_server_holds_up_only_its_names(resolver, own_isod):
    r = own_isod.run('/usr/bin/python3', '-c', ASK + 'held = [ask("slow.example") for _ in range(64)] + [ask("slow2.example")]\n'
                     'print(ask("miss.example").recv(20)[9:12].decode())',
                     options=['--allow-domain', 'slow.example', '--allow-domain', 'slow2.example', '--allow-domain', 'miss.example'])
    assert r.text == '502\n', r
    # A and AAAA, once for all that wait
    assert resolver.asked.count('slow.example') <= 2
    # and the look-up that still hangs keeps nothing of the session
    wait_for(lambda: len(own_isod.helpers()) <= 1, 'only isod-control is left')
