"""The reasons for denials that an endpoint can ask for; the app that decides registers them."""

reasons_for_denials: dict[str, str] = {}  # with their words
