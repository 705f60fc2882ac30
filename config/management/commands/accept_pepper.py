from django.conf import settings

from accounts.keys import pepper
from config import encrypted_columns
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = (
        "Makes a changed API_KEY_PEPPER the one of this database. What API_KEY_PEPPER_PREVIOUS encrypted is encrypted "
        "anew; what no pepper opens ends."
    )

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        encrypted, unreadable = encrypted_columns.encrypt_anew()
        keys = pepper.accept()
        sentence = (
            f"The service starts with this API_KEY_PEPPER. {encrypted} stored secrets are encrypted with it; "
            f"{unreadable} cannot be read and have to be set again. "
        )
        if settings.FORMER_PEPPERS:
            sentence += f"{keys} keys have not been used with it. Keep API_KEY_PEPPER_PREVIOUS until they are."
        else:
            sentence += f"Keys made with another one ({keys} at most) are refused."
        result = {"object": "pepper", "accepted": True, "keys": keys, "encrypted": encrypted, "unreadable": unreadable}
        return sentence, result
