#!/usr/bin/env python3
"""embed.py SYMBOL FILE: prints FILE as a C array, aligned as the ELF reader wants it."""
import sys

symbol, path = sys.argv[1:]
with open(path, 'rb') as f:
    data = f.read()
print(f'static const unsigned char {symbol}[{len(data)}] __attribute__((aligned(8))) = {{')
for at in range(0, len(data), 20):
    print('\t' + ','.join(str(b) for b in data[at:at + 20]) + ',')
print('};')
