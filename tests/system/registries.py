"""Package registries as plain files for nginx: one package of each language, and where the tools that ask for them are."""
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile

# What tests/run.sh fetches of tools.txt.
NPM_TOOLS = '/var/cache/isod-test/tools/node_modules'


def put(web, path, content):
    """One file below www."""
    path = os.path.join(web.dir, 'www', path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(content if isinstance(content, bytes) else content.encode())


def node_options():
    """Where node and npm live when they are not below /usr: granted read-only."""
    node = os.path.realpath(subprocess.run(['sh', '-c', 'command -v node'], capture_output=True, text=True, check=True).stdout.strip())
    top = os.path.dirname(os.path.dirname(node))
    return [] if node.startswith('/usr/') else ['--allow-read', top], {} if node.startswith('/usr/') else {
        'PATH': os.path.dirname(node) + ':/usr/bin:/bin'}


def npm(web):
    d = os.path.join(web.dir, 'www/isod-test-package')
    if os.path.exists(d):
        return
    src = os.path.join(web.dir, 'pkg')
    os.makedirs(src)
    with open(src + '/package.json', 'w', encoding='ascii') as f:
        json.dump({'name': 'isod-test-package', 'version': '1.0.0', 'main': 'index.js'}, f)
    with open(src + '/index.js', 'w', encoding='ascii') as f:
        f.write('module.exports = 42\n')
    subprocess.run(['npm', 'pack', '--pack-destination', os.path.join(web.dir, 'www'), src], check=True, capture_output=True)
    with open(d + '-1.0.0.tgz', 'rb') as f:
        sha1 = hashlib.sha1(f.read()).hexdigest()
    put(web, 'isod-test-package', json.dumps({'name': 'isod-test-package', 'dist-tags': {'latest': '1.0.0'}, 'versions': {'1.0.0': {
        'name': 'isod-test-package', 'version': '1.0.0', 'main': 'index.js',
        'dist': {'tarball': 'https://npm.example/isod-test-package-1.0.0.tgz', 'shasum': sha1}}}}))


def cargo(web):
    """A sparse index at /cargo/."""
    files = {'Cargo.toml': '[package]\nname = "isod-test-crate"\nversion = "1.0.0"\nedition = "2021"\n', 'src/lib.rs': ''}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode='w:gz') as tar:
        for name, text in files.items():
            member = tarfile.TarInfo('isod-test-crate-1.0.0/' + name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    put(web, 'cargo/isod-test-crate-1.0.0.crate', packed.getvalue())
    put(web, 'cargo/config.json', json.dumps({'dl': 'https://ok.example/cargo/{crate}-{version}.crate'}))
    put(web, 'cargo/is/od/isod-test-crate', json.dumps({
        'name': 'isod-test-crate', 'vers': '1.0.0', 'deps': [], 'features': {}, 'yanked': False,
        'cksum': hashlib.sha256(packed.getvalue()).hexdigest()}) + '\n')


def go(web):
    """A GOPROXY at /go/."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, 'w') as z:
        z.writestr('go.example/mod@v1.0.0/go.mod', 'module go.example/mod\n')
        z.writestr('go.example/mod@v1.0.0/mod.go', 'package mod\n')
    for name, content in {'list': 'v1.0.0\n', 'v1.0.0.info': '{"Version":"v1.0.0"}', 'v1.0.0.mod': 'module go.example/mod\n',
                          'v1.0.0.zip': packed.getvalue()}.items():
        put(web, 'go/go.example/mod/@v/' + name, content)


def maven(web):
    """A repository at /maven2/."""
    model = '<modelVersion>4.0.0</modelVersion><groupId>t.example</groupId><version>1</version>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, 'w') as z:
        z.writestr('META-INF/MANIFEST.MF', 'Manifest-Version: 1.0\n')
    for name, content in {
            'parent/1/parent-1.pom': f'<project>{model}<artifactId>parent</artifactId><packaging>pom</packaging></project>',
            'thing/1/thing-1.pom': f'<project>{model}<artifactId>thing</artifactId></project>',
            'thing/1/thing-1.jar': packed.getvalue()}.items():
        put(web, 'maven2/t/example/' + name, content)
        content = content if isinstance(content, bytes) else content.encode()
        put(web, f'maven2/t/example/{name}.sha1', hashlib.sha1(content).hexdigest())
