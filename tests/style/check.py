#!/usr/bin/env python3
"""House rules that a compiler does not know: sizes, names, who may include whom, what a program may link.

usage: check.py TOP [BUILD]
"""
import os
import re
import subprocess
import sys

FILE_LINES = 500
FUNCTION_LINES = 70
FORBIDDEN_NAMES = re.compile(r'(^|_)(utils?|misc|common|helpers?)(_|\.|$)')

# Which rooms a room may include headers of (itself always). The table of docs/ARCHITECTURE.md.
MAY_INCLUDE = {
    'base': set(),
    'json': {'base'},
    'proto': {'base', 'json'},
    'view': {'base'},
    'policy': {'base', 'json', 'view', 'sshagent', 'gpgagent'},
    'git': {'base'},
    'sshagent': {'base'},
    'gpgagent': {'base'},
    'guard': {'base'},
    'client': {'base', 'json', 'proto', 'policy', 'view', 'git', 'sshagent', 'guard'},
    'daemon/wire': {'base', 'view'},
    'daemon/linux': {'base', 'view', 'daemon/wire'},
    'daemon/late': {'base', 'view', 'daemon/wire', 'daemon/linux'},
    'daemon/monitor': {'base', 'view', 'daemon/wire', 'daemon/linux'},
    'daemon/launch': {'base', 'view', 'daemon/wire', 'daemon/linux'},
    'daemon/session': {'base', 'daemon/wire', 'policy', 'proto', 'sshagent', 'gpgagent'},
    # Of session its gateway, of control the form of an audit line.
    'daemon/proxy': {'base', 'json', 'policy', 'daemon/wire', 'daemon/linux', 'daemon/session', 'daemon/control'},
    'daemon/control': {'base', 'json', 'proto', 'policy', 'view', 'daemon/wire', 'sshagent', 'gpgagent'},
}
# Of text parsers' rooms only these headers are let through.
ALLOWED_HEADERS = {
    'daemon/session': {'proto/stream.h', 'policy/egress.h', 'policy/egress_budget.h', 'policy/egress_proxy.h', 'policy/egress_tls.h',
                       'policy/egress_wire.h', 'policy/hostname.h', 'policy/address.h'},
}
# Library headers and the only files that may include them.
ONLY_IN = {
    'yajl/yajl_parse.h': {'json/read.c'},
    'yajl/yajl_gen.h': {'json/write.c'},
    'idn2.h': {'policy/hostname_idn.c'},
    'ares.h': {'daemon/session/gateway/stub.c'},
    'libpsl.h': {'client/policy/registrable.c'},
    'openssl/ssl.h': {'daemon/session/gateway/proxy_tls_client.h'},
}
# Programs and the libraries they must not need.
MUST_NOT_LINK = {
    'isod': ('bpf', 'elf', 'yajl', 'idn2', 'crypto', 'ssl', 'cares'),
    'isod-late': ('yajl', 'uv', 'idn2', 'crypto', 'ssl', 'nftnl', 'mnl', 'seccomp', 'cares'),
    'isod-launch': ('bpf', 'elf', 'yajl', 'uv', 'idn2', 'crypto', 'ssl', 'nftnl', 'mnl', 'seccomp', 'cares'),
    'isod-session': ('yajl', 'nftnl', 'idn2', 'crypto', 'ssl'),
    'isod-session-ssh': ('yajl', 'nftnl', 'idn2', 'ssl'),
    'isod-session-tls': ('yajl', 'nftnl', 'idn2'),
    'isod-gateway': ('nftnl', 'seccomp', 'cap'),
    'isoctl': ('nftnl', 'seccomp', 'cap', 'cares'),
}


def tracked(top, *patterns):
    out = subprocess.run(['git', '-C', top, 'ls-files', '-z', *patterns], check=True, capture_output=True).stdout
    return [os.fsdecode(p) for p in out.split(b'\0') if p]


def room_of(path):
    parts = path.split('/')
    if parts[0] == 'daemon':
        return '/'.join(parts[:2])
    return parts[0]


def check_sizes(top, path, text, complain):
    lines = text.split('\n')
    if len(lines) - 1 > FILE_LINES:
        complain(path, f'{len(lines) - 1} lines, at most {FILE_LINES}')
    start = None
    for number, line in enumerate(lines, 1):
        # house format: a function's body is the braces in column 1
        if line == '{':
            start = number
        elif line == '}' and start is not None:
            if number - start - 1 > FUNCTION_LINES:
                complain(f'{path}:{start}', f'function of {number - start - 1} lines, at most {FUNCTION_LINES}')
            start = None


def check_includes(path, text, complain):
    room = room_of(path)
    for number, line in enumerate(text.split('\n'), 1):
        m = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
        if not m:
            continue
        kind, header = m.groups()
        if kind == '<':
            if header in ONLY_IN and path not in ONLY_IN[header]:
                complain(f'{path}:{number}', f'<{header}> belongs to {", ".join(sorted(ONLY_IN[header]))} alone')
            continue
        if header == 'isod_config.h':
            continue
        if '/' not in header:
            complain(f'{path}:{number}', f'"{header}": include from the root of the tree')
            continue
        other = room_of(header)
        if other == room or room not in MAY_INCLUDE:
            continue
        if other == 'daemon/launch' and re.match(r'daemon/linux/[a-z]+/launch_', path):
            continue  # the launcher's Linux steps
        if other not in MAY_INCLUDE[room]:
            complain(f'{path}:{number}', f'{room} may not include {other}')
        elif room in ALLOWED_HEADERS and other in ('proto', 'policy') and header not in ALLOWED_HEADERS[room]:
            complain(f'{path}:{number}', f'{room} may not include {header}')


def check_rooms(top, sources, complain):
    """docs/ARCHITECTURE.md says what is enforced here, of the rooms that there are."""
    told = {}
    with open(os.path.join(top, 'docs/ARCHITECTURE.md'), encoding='utf-8') as f:
        for line in f:
            m = re.match(r'\| `([a-z/]+)/` \|.*\| ([^|]*) \|$', line)
            if m:
                words = re.findall(r'[a-z_/.]+', m.group(2).split(';')[0].split(' and ')[0])
                told[m.group(1)] = {f'daemon/{w}' if os.path.isdir(f'{top}/daemon/{w}') else w.split('/')[0] for w in words}
    rooms = {room_of(p) for p in sources} - {'tests', 'bench'}
    for room in sorted(rooms | set(MAY_INCLUDE)):
        if told.get(room) != MAY_INCLUDE.get(room) or room not in rooms:
            complain('docs/ARCHITECTURE.md', f'{room}: {told.get(room)} told, {MAY_INCLUDE.get(room)} enforced')


def check_format(top, paths, complain):
    out = subprocess.run(['clang-format', '--dry-run', '-Werror', *paths], cwd=top, capture_output=True, text=True)
    for line in out.stderr.splitlines():
        m = re.match(r'(\S+):(\d+):\d+: error', line)
        if m:
            complain(f'{m.group(1)}:{m.group(2)}', 'clang-format would change this line')


def check_links(build, complain):
    for program, libraries in MUST_NOT_LINK.items():
        path = os.path.join(build, program)
        if not os.path.exists(path):
            complain(program, 'is not built')
            continue
        out = subprocess.run(['readelf', '-d', path], capture_output=True, text=True, check=True).stdout
        for needed in re.findall(r'NEEDED.*\[lib([^\].-]+)', out):
            if needed in libraries:
                complain(program, f'links lib{needed}')


def main():
    top = sys.argv[1]
    found = []

    def complain(where, what):
        found.append(f'{where}: {what}')

    sources = [p for p in tracked(top, '*.c', '*.h') if os.path.exists(os.path.join(top, p))]
    for path in sources:
        with open(os.path.join(top, path), encoding='utf-8') as f:
            text = f.read()
        if FORBIDDEN_NAMES.search(os.path.basename(path)):
            complain(path, 'the name says nothing about what is in it')
        check_sizes(top, path, text, complain)
        if not path.startswith('tests/'):
            check_includes(path, text, complain)
    for path in tracked(top, '*.py', '*.sh', 'setup'):
        with open(os.path.join(top, path), encoding='utf-8') as f:
            if sum(1 for _ in f) > FILE_LINES:
                complain(path, f'more than {FILE_LINES} lines')
    check_rooms(top, sources, complain)
    check_format(top, sources, complain)
    if len(sys.argv) > 2:
        check_links(sys.argv[2], complain)
    print('\n'.join(found) if found else f'{len(sources)} files: house rules hold')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
