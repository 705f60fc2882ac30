"""The admin's first page: figures, things that need attention, and first steps on a new installation.

`choice` reads the query, `figures` collects the figures from the services behind the API's reports, `charts` draws
them, `first_steps` guides operators who have no decisions yet, and `page` puts the parts together.
"""
