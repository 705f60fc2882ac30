"""The admin's first page: figures, what needs attention, and on a new installation what to do next.

`choice` reads what is asked for, `figures` collects it from the services that the API's reports come from, `charts`
draws, `first_steps` leads whoever has no decisions yet, `page` puts them together.
"""
