"""docs/POLICY.md names every key and every protection, and its examples are policies. Arguments: the tree, isoctl."""
import re
import subprocess
import sys
import tempfile

root, isoctl = sys.argv[1:]


def read(path):
    with open(f'{root}/{path}', encoding='utf-8') as f:
        return f.read()


text = read('docs/POLICY.md')
known = re.findall(r'\{ "([A-Za-z.]+)", (policy_read_\w+|NULL), ', read('policy/policy_key.c'))
groups = re.findall(r'\[PROTECT_\w+\] = \{ "(\w+)", (true|false) \}', read('view/protect.c'))
assert len(known) > 30 and len(groups) > 10, (known, groups)
for key, reader in known:
    name = key.rpartition('.')[2]
    wanted = f'`{key}`' if not key.startswith('sandbox.filesystem.') else f'| `{name}` |'
    if reader not in ('NULL', 'policy_read_later') and wanted not in text:
        sys.exit(f'{key} is not in docs/POLICY.md')
for name, on in groups:
    row = re.search(rf'^\| `{name}` \|.*\| (on|off) \|$', text, re.M)
    if not row or row[1] != ('on' if on == 'true' else 'off'):
        sys.exit(f'the protection {name} is not in docs/POLICY.md as it is')
reasons = re.findall(r'\[EGRESS_\w+\] = \{\s*"([a-z-]+)",', read('policy/egress_reason.c'))
assert len(reasons) > 20, reasons
for reason in reasons:
    if f'`{reason}`' not in read('docs/EGRESS.md'):
        sys.exit(f'the reason {reason} is not in docs/EGRESS.md')
examples = re.findall(r'^```json( administrator)?\n(.*?)^```$', text, re.M | re.S)
assert len(examples) == 2, examples
for administrator, example in examples:
    with tempfile.NamedTemporaryFile('w', suffix='.json') as f:
        f.write(example)
        f.flush()
        r = subprocess.run([isoctl, 'policy', 'check', '--administrator' if administrator else '--user', f.name],
                           capture_output=True, text=True, check=False)
        if r.returncode != 0:
            sys.exit(f'an example of docs/POLICY.md is refused: {r.stdout}{r.stderr}')
