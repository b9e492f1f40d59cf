"""Real servers on loopback addresses for the sessions to reach by pinned names."""
import os
import subprocess

import pytest

from waiting import wait_for


def listening(address, port):
    import socket
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    with socket.socket(family) as s:
        s.settimeout(1)
        return s.connect_ex((address, port)) == 0


def make_ca(directory):
    """A CA and one certificate for every name of the tests; returns the CA's path."""
    ca, key = os.path.join(directory, 'ca.pem'), os.path.join(directory, 'ca.key')
    ssl = ['openssl']
    subprocess.run([*ssl, 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30',
                    '-subj', '/CN=isod test CA', '-keyout', key, '-out', ca], check=True, capture_output=True)
    names = ['ok.example', 'two.example', 'evil.example', 'sub.ok.example', 'six.example', 'git.example', 'npm.example']
    csr = os.path.join(directory, 'srv.csr')
    subprocess.run([*ssl, 'req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=ok.example',
                    '-keyout', os.path.join(directory, 'srv.key'), '-out', csr], check=True, capture_output=True)
    ext = os.path.join(directory, 'ext')
    with open(ext, 'w', encoding='ascii') as f:
        f.write('subjectAltName=' + ','.join('DNS:' + n for n in names) + '\n')
    subprocess.run([*ssl, 'x509', '-req', '-in', csr, '-CA', ca, '-CAkey', key, '-CAcreateserial', '-days', '30',
                    '-extfile', ext, '-out', os.path.join(directory, 'srv.pem')], check=True, capture_output=True)
    return ca


NGINX = '''
daemon off; master_process off; worker_processes 1; pid {d}/nginx.pid; error_log {d}/error.log;
events {{ worker_connections 2048; }}
http {{
  access_log {d}/access.log combined; client_body_temp_path {d}/body; proxy_temp_path {d}/p; fastcgi_temp_path {d}/f;
  uwsgi_temp_path {d}/u; scgi_temp_path {d}/s; keepalive_requests 100000;
  server {{
    listen 127.0.0.77:80; listen 127.0.0.78:80; listen [::1]:80 ipv6only=on;
    listen 127.0.0.77:443 ssl; listen 127.0.0.78:443 ssl; listen [::1]:443 ssl ipv6only=on;
    ssl_certificate {d}/srv.pem; ssl_certificate_key {d}/srv.key;
    root {d}/www;
    location = /host {{ default_type text/plain; return 200 "$host $server_addr\\n"; }}
    location /echo {{ client_max_body_size 10m; default_type text/plain; return 200 "$request_method $request_uri $content_length\\n"; }}
  }}
}}
'''


class Web:
    def __init__(self, directory):
        self.dir = directory
        self.ca = make_ca(directory)
        os.makedirs(os.path.join(directory, 'www'))
        with open(os.path.join(directory, 'www/hello'), 'w', encoding='ascii') as f:
            f.write('hello from nginx\n')
        with open(os.path.join(directory, 'www/big'), 'wb') as f:
            f.write(os.urandom(1 << 20) * 16)
        conf = os.path.join(directory, 'nginx.conf')
        with open(conf, 'w', encoding='ascii') as f:
            f.write(NGINX.format(d=directory))
        os.chmod(directory, 0o755)
        self.process = subprocess.Popen(['nginx', '-c', conf, '-p', directory], stderr=subprocess.DEVNULL)
        wait_for(lambda: listening('127.0.0.77', 443), 'nginx listens')

    def requests(self):
        with open(os.path.join(self.dir, 'access.log'), encoding='ascii', errors='replace') as f:
            return f.read()

    def stop(self):
        self.process.terminate()
        self.process.wait(120)


@pytest.fixture(scope='session')
def web(root_dir):
    d = os.path.join(root_dir, 'web')
    os.makedirs(d)
    w = Web(d)
    yield w
    w.stop()
