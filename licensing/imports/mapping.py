"""Maps columns of a file to fields of content, and turns rows into request bodies."""

import re
from collections import abc
from dataclasses import dataclass, field
from unicodedata import normalize

from kit.http.errors import InvalidRequest
from kit.http.parsing import parse_value
from kit.values.json_values import JsonObject, JsonValue
from kit.values.metadata import match_key
from licensing.content.metadata import ATTRIBUTES, AttributeKind
from licensing.content.serializers import ContentSerializer
from licensing.imports.dates import DateOrder

FIELDS = tuple(name for name, field in ContentSerializer().fields.items() if not field.read_only)
TAGS = ("tags", *(f"metadata.{attribute.name}" for attribute in ATTRIBUTES if attribute.kind == AttributeKind.TEXTS))
INTEGERS = tuple(f"metadata.{attribute.name}" for attribute in ATTRIBUTES if attribute.kind == AttributeKind.INTEGER)
DATE = "metadata.publishedAt"
match_integer = re.compile(r"-?[0-9]{1,18}").fullmatch
# Column names that suggest a field, likeliest first; compared without case, accents, spaces and punctuation.
MEANING = {
    "externalId": (
        "externalid", "externeid", "identifiantexterne", "idexterne", "idexterno", "id", "itemid", "articleid",
        "artikelid", "contentid", "identifiant", "sku", "ref", "reference", "artikelnummer", "nr", "number", "nummer",
        "numero",
    ),
    "title": ("title", "headline", "name", "titel", "uberschrift", "ueberschrift", "titre", "titulo"),
    "type": ("type", "contenttype", "kind", "typ", "tipo"),
    "source": ("source", "url", "link", "permalink", "address", "adresse", "lien", "enlace"),
    "tags": (
        "tags", "keywords", "labels", "schlagworter", "schlagwoerter", "schlagworte", "stichworter", "stichwoerter",
        "stichworte", "motscles", "etiquettes", "palabrasclave", "etiquetas",
    ),
    "metadata.author": ("author", "byline", "writer", "creator", "autor", "verfasser", "auteur"),
    "metadata.publishedAt": (
        "publishedat", "published", "publicationdate", "pubdate", "erscheinungsdatum", "veroffentlichungsdatum",
        "veroeffentlichungsdatum", "veroffentlichtam", "veroeffentlichtam", "veroffentlicht", "veroeffentlicht",
        "datedepublication", "datedeparution", "fechadepublicacion", "date", "datum", "fecha",
    ),
    "metadata.category": (
        "category", "section", "rubrik", "ressort", "kategorie", "categorie", "rubrique", "categoria", "seccion",
    ),
    "metadata.wordCount": (
        "wordcount", "words", "worter", "woerter", "wortzahl", "wortanzahl", "anzahlworter", "anzahlwoerter", "mots",
        "nombredemots", "palabras", "numerodepalabras",
    ),
}  # fmt: skip


def is_target(name: str) -> bool:
    """Whether the name is a writable field of content or a metadata key such as `metadata.author`."""
    first, dot, key = name.partition(".")
    return name in FIELDS or (first == "metadata" and bool(dot) and bool(match_key(key)))


def columns_by_name(columns: list[str]) -> dict[str, str]:
    """Map fields to columns with the same name, then other fields to columns whose names suggest them."""
    targets = {name: name for name in columns if is_target(name)}
    normalised = {name: normalise_name(name) for name in columns}
    for target, spellings in MEANING.items():
        matches = [name for name in columns if name not in targets and normalised[name] in spellings]
        if target not in targets and matches:
            targets[target] = min(matches, key=lambda name: spellings.index(normalised[name]))
    return targets


def normalise_name(name: str) -> str:
    return re.sub(r"[\W_]", "", normalize("NFKD", name).lower())


def parse_pairs(option: str, pairs: list[str]) -> dict[str, str]:
    """Parse `["title=name"]` into `{"title": "name"}`. Raises InvalidRequest for unknown or repeated fields."""
    parsed: dict[str, str] = {}
    for pair in pairs:
        target, _, value = pair.partition("=")
        if not value:
            raise InvalidRequest(f"{option} {pair}: write it as {option} {target or 'title'}=…")
        if not is_target(target):
            fields = ", ".join(FIELDS)
            raise InvalidRequest(
                f"{option} {pair}: content has no field {target!r} to set. It has {fields}, "
                "metadata.author and other metadata keys."
            )
        if target in parsed:
            raise InvalidRequest(f"{option} {pair}: {target} is given twice.")
        parsed[target] = value
    return parsed


def parse_text(target: str, text: str) -> JsonValue:
    """Convert the text of a CSV cell to a JSON value. Raises InvalidRequest for invalid JSON."""
    if target in TAGS and not text.lstrip().startswith("["):
        return [tag.strip() for tag in text.split(";") if tag.strip()]
    if target in (*TAGS, "metadata"):
        return parse_value(text, "The cell", target)
    if target in INTEGERS and match_integer(text.strip()):
        return int(text)
    return text


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """The column for each field, default values for empty fields, and how the file writes dates."""

    columns: dict[str, str]
    defaults: dict[str, JsonValue]
    is_csv: bool
    dates: DateOrder = field(default_factory=DateOrder)

    def body(self, row: abc.Mapping[str, JsonValue]) -> JsonObject:
        """Build a request body from a row. Empty CSV cells count as absent; defaults replace absent and null values.

        Raises InvalidRequest for a cell that cannot be read.
        """
        body: JsonObject = {}
        for target, column in self.columns.items():
            if column not in row:
                continue
            value = row[column]
            if self.is_csv and isinstance(value, str):
                if not value.strip():
                    continue
                value = parse_text(target, value)
            if target == DATE and isinstance(value, str):
                value = self.dates.to_iso(value)
            elif target == "externalId" and isinstance(value, int) and not isinstance(value, bool):
                value = str(value)  # as other systems number their items
            put_value(body, target, value)
        for target, default in self.defaults.items():
            if get_value(body, target) is None:
                put_value(body, target, default)
        return body


def get_value(body: JsonObject, target: str) -> JsonValue:
    name, _, key = target.partition(".")
    value = body.get(name)
    return value.get(key) if key and isinstance(value, dict) else value


def put_value(body: JsonObject, target: str, value: JsonValue) -> None:
    name, _, key = target.partition(".")
    former = body.get(name)
    if not key:
        body[name] = value
    elif former is None:
        body[name] = {key: value}
    elif isinstance(former, dict):  # metadata of another type is rejected by the field
        body[name] = {**former, key: value}
