"""Real tools with no word of configuration beyond what a user would give: git over https and ssh, npm, Node, Python."""
import os
import pwd
import subprocess

import pytest

from conftest import USERS, project_of
from registries import node_options, npm
from waiting import wait_for
from servers import listening

ALLOW = ['--allow-domain', 'git.example', '--allow-domain', 'ok.example']


@pytest.fixture
def ca(web, project):
    path = os.path.join(project, 'ca.crt')
    with open(web.ca, encoding='ascii') as f, open(path, 'w', encoding='ascii') as g:
        g.write(f.read())
    os.chmod(path, 0o644)
    return path


@pytest.fixture
def bare(web):
    """A repository served by nginx as plain files (git's dumb protocol)."""
    path = os.path.join(web.dir, 'www/repo.git')
    if not os.path.exists(path):
        work = os.path.join(web.dir, 'work')
        script = ('set -e; git init -q work; cd work; git config user.name T; git config user.email t@ok.example; echo one > file; '
                  'git add file; git commit -qm one; git clone -q --bare . ../www/repo.git; cd ../www/repo.git; git update-server-info')
        subprocess.run(['sh', '-c', script], cwd=web.dir, check=True, env={**os.environ, 'HOME': web.dir})
    return path


@pytest.mark.parametrize('way', ['', 'unset https_proxy HTTPS_PROXY http_proxy HTTP_PROXY;'])
def test_git_over_https(isod, web, bare, ca, project, way):
    r = isod.sh(f'{way} git -c http.sslCAInfo={ca} clone -q https://git.example/repo.git c && cat c/file && rm -rf c', cwd=project,
                options=ALLOW)
    assert r.rc == 0 and r.text == 'one\n', r
    r = isod.sh(f'{way} git -c http.sslCAInfo={ca} clone -q https://evil.example/repo.git d', cwd=project, options=ALLOW)
    assert r.rc != 0 and not os.path.exists(os.path.join(project, 'd')), r


@pytest.fixture
def sshd(root_dir, bare):
    """sshd on 127.0.0.77:22 (or a high port's stand-in is not needed: the address is ours)."""
    d = os.path.join(root_dir, 'ssh')
    os.makedirs(d, exist_ok=True)
    if not os.path.exists(d + '/key'):
        for name in ('host', 'key'):
            subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', f'{d}/{name}'], check=True)
    os.makedirs('/run/sshd', mode=0o755, exist_ok=True)
    with open(d + '/config', 'w', encoding='ascii') as f:
        f.write(f'ListenAddress 127.0.0.77\nPort 22\nHostKey {d}/host\nPidFile none\nAuthorizedKeysFile {d}/key.pub\nStrictModes no\n'
                f'UsePAM no\nPasswordAuthentication no\n')
    os.chmod(d, 0o755)
    os.chmod(d + '/key.pub', 0o644)
    p = subprocess.Popen(['/usr/sbin/sshd', '-D', '-e', '-f', d + '/config'], stderr=open(d + '/log', 'wb'))
    wait_for(lambda: listening('127.0.0.77', 22), 'sshd listens')
    yield d
    p.terminate()
    p.wait()


def test_git_over_ssh(isod, sshd, bare, project):
    """Captured: no ProxyCommand, no variable. Allowed by name and port alone."""
    key = os.path.join(project, 'key')
    with open(sshd + '/key', encoding='ascii') as f, open(key, 'w', encoding='ascii') as g:
        g.write(f.read())
    os.chmod(key, 0o600)
    entry = pwd.getpwnam(USERS[0])
    os.chown(key, entry.pw_uid, entry.pw_gid)
    os.chmod(bare, 0o755)
    script = (f'git -c safe.directory="*" -c core.sshCommand="ssh -i {key} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR" '
              f'clone -q -u "git -c safe.directory=* upload-pack" {USERS[0]}@git.example:{bare} c && cat c/file')
    r = isod.sh(script, cwd=project, options=['--allow-domain', 'git.example:22'])
    assert r.rc == 0 and r.text == 'one\n', r
    entry = [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'connection'][-1]
    assert (entry['name'], entry['port'], entry['verdict'], entry['via']) == ('git.example', 22, 'allow', 'capture') and 'ssh' in entry['program'], entry
    r = isod.sh(script.replace(' c ', ' e '), cwd=project, options=['--allow-domain', 'git.example'])
    assert r.rc != 0 and not os.path.exists(os.path.join(project, 'e')), r


def test_npm_install(isod, web, ca, project):
    npm(web)
    options, env = node_options()
    r = isod.sh(f'npm install --no-audit --no-fund --cafile {ca} --registry https://npm.example/ isod-test-package && '
                'node -e "console.log(require(\'isod-test-package\'))"', cwd=project, options=[*options, '--allow-domain', 'npm.example'], env=env)
    assert r.rc == 0 and r.text.strip().endswith('42'), r


def test_node_fetch_ignores_proxies_and_is_captured(isod, web, ca):
    options, env = node_options()
    script = f'''fetch("https://ok.example/hello").then(r => r.text()).then(t => {{ console.log(t);
      return fetch("https://evil.example/hello") }}).then(() => console.log("REACHED"), e => console.log("refused", e.cause?.code))'''
    r = isod.run('node', '-e', script, options=[*options, *ALLOW, '--env', f'NODE_EXTRA_CA_CERTS={ca}'], env=env)
    assert r.rc == 0 and 'hello from nginx' in r.text and 'refused' in r.text and 'REACHED' not in r.text, r


@pytest.mark.parametrize('proxies', ['', 'import os; [os.environ.pop(k) for k in list(os.environ) if k.lower().endswith("_proxy")];'])
def test_python(isod, web, ca, proxies):
    code = (f'{proxies}import ssl, urllib.request as u; c = ssl.create_default_context(cafile="{ca}"); '
            'o = u.build_opener(u.ProxyHandler(), u.HTTPSHandler(context=c)); print(o.open("https://ok.example/hello").read());\n'
            'try: o.open("https://evil.example/hello"); print("REACHED")\nexcept OSError as e: print("refused")')
    r = isod.run('/usr/bin/python3', '-c', code, options=ALLOW)
    assert r.rc == 0 and 'hello from nginx' in r.text and 'refused' in r.text, r


def test_wget(isod, web, ca):
    r = isod.sh(f'wget -q -O - --ca-certificate {ca} https://ok.example/hello; wget -q -O - --no-proxy http://ok.example/hello; '
                f'wget -q -O - --ca-certificate {ca} https://evil.example/hello', options=ALLOW)
    assert r.text == 'hello from nginx\n' * 2 and r.rc != 0, r


def test_loopback_inside_is_the_sessions_own(isod):
    code = ('import http.server, threading, urllib.request as u\n'
            's = http.server.HTTPServer(("127.0.0.1", 80), http.server.SimpleHTTPRequestHandler)\n'
            'threading.Thread(target=s.serve_forever, daemon=True).start()\n'
            'for h in ("127.0.0.1", "localhost"): print(u.urlopen(f"http://{h}/").status)')
    r = isod.run('/usr/bin/python3', '-c', code)
    assert r.text == '200\n200\n', r
