import pytest
from django.db import connection, models
from django.db.models import Value
from django.db.models.signals import post_init, pre_init

from kit.storage.loading import QuicklyLoaded
from kit.storage.loading import QuicklyReadJSONField as Quick

DJANGOS = models.Model.from_db.__func__
each_model = pytest.mark.parametrize("model", QuicklyLoaded.__subclasses__(), ids=lambda model: model.__name__)


@each_model
@pytest.mark.parametrize("count", [None, 3], ids=["all fields", "three fields"])
def test_a_loaded_row_is_as_django_loads_it(model, count):
    names = [field.attname for field in model._meta.concrete_fields][:count]
    values = [object() for _ in names]
    loaded, usual = (load(model, "default", names, values) for load in (QuicklyLoaded.from_db.__func__, DJANGOS))
    attributes, expected = dict(vars(loaded)), dict(vars(usual))
    states = [(one.adding, one.db, one.fields_cache) for one in (attributes.pop("_state"), expected.pop("_state"))]
    assert states == [(False, "default", {})] * 2
    assert attributes == expected
    assert loaded.get_deferred_fields() == usual.get_deferred_fields()


@each_model
def test_models_have_no_receivers_of_signals_about_loading(model):
    assert not pre_init.has_listeners(model)
    assert not post_init.has_listeners(model)


@pytest.mark.parametrize(
    "text",
    [
        '{"url": "https://example.com/\\u00fc", "n": [1, -0.0, 1.5e300, 12345678901234567890123, 0.1], "none": null}',
        '"half of a pair: \\ud800"', '{"same": 1, "same": 2}', "1e400", "[NaN]", "no JSON",
    ],
)  # fmt: skip
def test_json_is_read_as_django_reads_it(text):
    expression = Value(text)
    loaded, usual = (field().from_db_value(text, expression, connection) for field in (Quick, models.JSONField))
    assert repr(loaded) == repr(usual)
