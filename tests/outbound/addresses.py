"""Addresses that no request may reach."""

HOSTILE = [
    "https://127.0.0.1/", "https://127.0.0.1:{port}/", "http://127.0.0.1:{port}/", "https://127.1/",
    "https://127.1:{port}/", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/", "https://0x7f.1/",
    "https://0/", "https://0.0.0.0/", "https://localhost/", "https://LOCALHOST./", "https://localhost:{port}/",
    "https://[::1]/", "https://[::1]:{port}/", "https://[::]/", "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/", "https://[::127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://[64:ff9b:1::7f00:1]/",
    "https://[2002:7f00:1::]/", "https://[2001:0:4136:e378:8000:63bf:807f:fffe]/", "https://[fe80::1]/",
    "https://[fe80::1%25lo]/", "https://[fc00::1]/", "https://[fd00:ec2::254]/", "https://[ff02::1]/",
    "https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.1.1/", "https://100.64.0.1/",
    "https://100.100.100.200/", "https://169.254.169.254/latest/meta-data/", "https://168.63.129.16/",
    "https://192.0.0.192/", "https://198.18.0.1/", "https://224.0.0.1/", "https://255.255.255.255/",
    "https://user:secret@127.0.0.1/", "https://example.com@127.0.0.1:{port}/",
    "https://127.0.0.1:{port}#@example.com/", "https://127.0.0.1\\@example.com/",
    "https://example.com\r\nHost: 127.0.0.1/", "https://①②⑦.⓪.⓪.①/", "https://127。0。0。1/", "https://%31%32%37.0.0.1/",
    "https:///127.0.0.1/", "https:127.0.0.1:{port}/", "file:///etc/passwd", "gopher://127.0.0.1:{port}/",
    "unix:///var/run/docker.sock",
]  # fmt: skip
# Resolvers read these as addresses, or their names are never public.
SPELLINGS = [
    "https://127.1/", "https://127.0.1/", "https://2130706433/", "https://0x7f.1/", "https://0x7f000001/",
    "https://0X7F.0.0.1/", "https://0x/", "https://0177.0.0.1/", "https://017700000001/", "https://127.0.0.01/",
    "https://127.0.0.1./", "https://134744072/", "https://example.1/", "https://999.999.999.999/",
]  # fmt: skip
INSIDE = [
    "https://localhost/", "https://localhost:443/", "https://LocalHost/", "https://hooks.localhost/",
    "https://localhost.localdomain/", "https://printer.local/", "https://metadata.google.internal/",
    "https://internal/", "https://router.home.arpa/", "https://intranet/",
]  # fmt: skip
