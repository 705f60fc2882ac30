from accounts.keys import pepper
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Makes a changed API_KEY_PEPPER the one of this database, so that the service starts. Keys made before end."

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        keys = pepper.accept()
        sentence = (
            f"The service starts with this API_KEY_PEPPER. Keys made with another one ({keys} at most) are refused."
        )
        return sentence, {"object": "pepper", "accepted": True, "keys": keys}
