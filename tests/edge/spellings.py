"""Random spellings of a URL that some origin resolves to the same page."""

from random import Random

OVERLONG = {".": "%c0%ae", "/": "%c0%af"}
DECOYS = ["free", ".well-known", "robots.txt", "free/closed", "premium/sample"]
JUNK = ["%00", "%00.html", "%09", "%0d%0a", "#part", "#/../free/x", "?#"]


def escaped(chance: Random, text: str) -> str:
    """Percent-encode some characters once or twice, and some dots and slashes as overlong UTF-8."""
    made = ""
    for letter in text:
        forms = [f"%{ord(letter):02x}", f"%{ord(letter):02X}", f"%25{ord(letter):02x}", OVERLONG.get(letter, letter)]
        made += chance.choice(forms) if chance.random() < 0.15 else letter
    return made


def slash(chance: Random) -> str:
    return chance.choice(["/", "/", "/", "/", "//", "/./", "\\", "%2f", "%5c", "%252F", "%c0%af", ";x=1/", ";/"])


def up(chance: Random) -> str:
    """Return a spelling of the `..` segment."""
    return chance.choice(["..", "%2e%2e", ".%2E", "%252e%252e", "..;", "..;x=1", "%c0%ae%c0%ae", "..%09", "%2e%2e;a"])


def spelled_path(chance: Random, path: str) -> str:
    made = ""
    if chance.random() < 0.4:
        decoy = chance.choice(DECOYS)
        made = f"/{decoy}" + "".join(f"{slash(chance)}{up(chance)}" for _ in decoy.split("/"))
    for segment in path.split("/")[1:]:
        made += slash(chance) if made else chance.choice(["/", "/", "//", "/./", "/.;/"])
        made += escaped(chance, segment) + chance.choice(["", "", "", ";", ";jsessionid=1", "%3bx"])
    return made + (chance.choice(JUNK) if chance.random() < 0.2 else "")


def spelled_query(chance: Random, query: str) -> str:
    """Shuffle the parameters, repeat some, and mix in others."""
    own = [chance.choice([pair, f"{escaped(chance, pair[:2])}{pair[2:]}", f"+{pair}", f"{pair}#x"])
           for pair in query.split("&")]  # fmt: skip
    others = ["x=1", "utm_source=mail", "", "id=1", "id", "id%5B%5D=1", "ID=7", "a;b=2"]
    pieces = own + chance.sample(others, chance.randrange(4))
    chance.shuffle(pieces)
    return chance.choice(["&", "&", "&&", ";"]).join(pieces)


def spelled_uri(chance: Random, uri: str) -> str:
    path, mark, query = uri.partition("?")
    if mark:
        return f"{spelled_path(chance, path).partition('?')[0]}?{spelled_query(chance, query)}"
    return spelled_path(chance, path) + chance.choice(["", "", "?", "?x=1", "?x=/free/", "?&a=b&a=c"])


def spelled_host(chance: Random, host: str) -> str:
    letters = "".join(chance.choice([letter, letter.upper()]) for letter in host)
    return letters + chance.choice(["", "", "."]) + chance.choice(["", "", ":443", ":80", ":8443"])
