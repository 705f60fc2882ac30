"""What byte-order marks, syslog and container runtimes put before a line of an access log."""

import orjson

BOM = "\xef\xbb\xbf"  # UTF-8's, read as Latin-1
MONTHS = {name: number for number, name in enumerate(
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
)}  # fmt: skip
STREAMS = ("stdout", "stderr")
PRIORITY = 5  # characters of `<191>`
BSD_TIME = 15  # characters of `Nov 24 10:00:00`
DOCKER = '{"log":"'


def without_prefix(line: str) -> str:
    """Return the line without a byte-order mark and a prefix of syslog or of a container's log.

    Read are syslog's two forms (RFC 3164 and 5424, with or without a priority), and lines such as
    `2026-11-24T10:00:00Z stdout F …`, and Docker's `{"log":"…"}`.
    """
    line = line.removeprefix(BOM)
    if line.startswith(DOCKER):
        return docker_line(line)
    if line.startswith("<"):
        priority, end, text = line[: PRIORITY + 1].partition(">")
        if not end or not (priority.isascii() and priority[1:].isdigit()):
            return line
        line = text + line[PRIORITY + 1 :]
        brace = line.find("{")
        if brace > 1 and line[brace - 2 : brace] == ": ":
            return line[brace:]
    if line.startswith("1 "):
        return without_header(line)
    if line[:3] in MONTHS and line[3:4] == " " and line[9:10] == line[12:13] == ":":
        return without_tag(line, line[BSD_TIME + 1 :])
    if line[:4].isdigit() and line[4:5] == "-" and line[10:11] == "T":
        _, _, text = line.partition(" ")
        stream, _, tagged = text.partition(" ")
        if stream in STREAMS and tagged.startswith("F "):
            return tagged[2:]
        return without_tag(line, text)
    return line


def without_header(line: str) -> str:
    """Remove the header of RFC 5424: version, time, host, program, process, message id, and no structured data."""
    fields = line.split(" ", 7)
    if len(fields) < 8 or "T" not in fields[1] or fields[6] != "-":
        return line
    return fields[7].removeprefix(BOM)


def without_tag(line: str, rest: str) -> str:
    """Return what follows `host program[1]: ` in `rest`, or the whole line if it does not begin so."""
    _, _, tagged = rest.partition(" ")
    tag, end, text = tagged.partition(": ")
    return text if end and " " not in tag else line


def docker_line(line: str) -> str:
    """Return the text in a line of Docker's json-file log."""
    try:
        row = orjson.loads(line.encode("latin-1"))
    except ValueError:
        return line
    return str(row["log"]).rstrip("\n").encode("utf-8", "surrogatepass").decode("latin-1")
