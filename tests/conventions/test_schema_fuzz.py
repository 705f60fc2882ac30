import pytest
import schemathesis
from hypothesis import HealthCheck, settings, Phase
from config.wsgi import application
from drf_spectacular.generators import SchemaGenerator

conf = schemathesis.Config()
schema = schemathesis.openapi.from_dict(SchemaGenerator(api_version="v1").get_schema(request=None, public=True), config=conf)
schema.app = application
schema.location = "/v1/openapi.json"


@schema.parametrize()
@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_it(case, api):
    case.call_and_validate(headers=api.headers)
