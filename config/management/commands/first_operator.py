from config.first_operator import first_operator, in_words
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Creates an operator who may do everything in the admin, if there is none, and prints the password, once."

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        operator = first_operator()
        sentence = in_words(operator).rstrip() or "Nothing was made: there is an operator, or the admin is off."
        return sentence, {"object": "first_operator", "operator": operator}
