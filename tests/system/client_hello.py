"""A ClientHello as bytes, with what the libraries of this machine do not say: no name, an encrypted_client_hello."""
import os
import struct


def client_hello(name=None, ech=False):
    def sized(data, width=2):
        return len(data).to_bytes(width, 'big') + data

    def extension(number, data):
        return struct.pack('>H', number) + sized(data)
    extensions = extension(10, sized(bytes.fromhex('001d0017')))  # x25519, secp256r1
    extensions += extension(11, b'\1\0') + extension(13, sized(bytes.fromhex('040308040401050308050501080606010201')))
    if name is not None:
        extensions += extension(0, sized(b'\0' + sized(name.encode())))
    if ech:
        # outer, HKDF-SHA256 and AES-128-GCM, a config that nobody has, a key and a payload of noise: GREASE
        extensions += extension(0xfe0d, b'\0\0\1\0\1\x5a' + sized(os.urandom(32)) + sized(os.urandom(144)))
    suites = bytes.fromhex('c02bc02fc02cc030cca9cca8c013c014009c002f')
    body = b'\3\3' + os.urandom(32) + b'\0' + sized(suites) + b'\1\0' + sized(extensions)
    return b'\x16\3\1' + sized(b'\1' + sized(body, 3))
