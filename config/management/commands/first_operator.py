from config.first_operator import describe_first_operator, first_operator
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Creates an operator who may do everything in the admin, if there is none, and prints the password, once."

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        operator = first_operator()
        sentence = describe_first_operator(operator).rstrip()
        if operator is None:
            sentence = "Nothing was made: there is an operator, or the admin is off."
        return sentence, {"object": "first_operator", "operator": operator}
