import pytest
import schemathesis
from hypothesis import HealthCheck, settings, Phase
from config.wsgi import application

config = schemathesis.Config()
@pytest.fixture(scope="module")
def document():
    import schemathesis.config as c
    conf = c.SchemathesisConfig()
    conf.generation if hasattr(conf,'generation') else None
    p = conf.projects.default
    p.generation.update(modes=list(schemathesis.GenerationMode)) if hasattr(p.generation,'update') else None
    return schemathesis.openapi.from_wsgi("/v1/openapi.json", application, config=conf)

schema = schemathesis.pytest.from_fixture("document")

@schema.parametrize()
@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_it(case, api):
    case.call_and_validate(headers=api.headers)
