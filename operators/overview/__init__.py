"""The overview: figures, items that need attention, and first steps on a new installation.

`operators.base.figures.choice` reads the query, `figures` collects figures from the services behind the API's reports,
`first_steps` guides operators without decisions, and `page` assembles the parts.
"""
